"""Misprints of the papers: what docs/errata.md says of formulas and orders is what they have.

Splittings are written out here, with kicks in plain NumPy; only the free flight between them is polhode's.
"""

from __future__ import annotations

import numpy as np
import pytest

import polhode as ph
from polhode import rotation

INERTIA = np.array([0.6, 0.8, 1.0])
START = np.array([1.0, -0.4, 0.7]), rotation.normalize((0.8, 0.3, -0.4, 0.2))
STEPS = (8, 16, 32)


def third_row(q):
    return rotation.matrix(q)[2]


def kick(state, time):
    """U = Q33: the torque is (Q32, -Q31, 0)."""
    (m, q), (u1, u2, _) = state, third_row(state[1])
    return m + time * np.array([u2, -u1, 0.0]), q


def drift(state, time):
    return ph.propagate(INERTIA, *state, time)


def end(step, n):
    state = START
    for _ in range(n):
        state = step(state, 1.0 / n)
    return state[1]


@pytest.fixture(scope="module")
def truth():
    top = ph.Problem(INERTIA, ph.State(*START), ph.Potential(lambda t, Q, p: Q[2][2]), (0, 1))
    return ph.integrate(top, method="RKN8_19", h=1 / 64).q[-1]


def orders(step, truth):
    errors = np.array([np.linalg.norm(end(step, n) - truth) for n in STEPS])
    return np.log2(errors[:-1] / errors[1:])


def s4_6(b2):
    """(4.6) of Celledoni et al. 2008: drifts a, kicks b, a palindrome."""
    a = [0.07920369643119565, 0.353172906049774, -0.04206508035771952]
    b = [0.209515106613362, b2]
    a, b = [*a, 1 - 2 * sum(a)], [*b, 0.5 - sum(b)]

    def step(state, h):
        for drift_part, kick_part in zip([*a, *a[2::-1]], [*b, *b[::-1], 0.0], strict=True):
            state = kick(drift(state, h * drift_part), h * kick_part)
        return state

    return step


def nystrom(flow_of_v):
    """The scheme of order 4 of Vilmart 2013 with {U, {U, T}}: flow_of_v(u1, u2, u3) is its torque, for -h^3/72."""

    def step(state, h):
        m, q = kick(drift(kick(state, h / 6), h / 2), 2 * h / 3)
        state = m - h**3 / 72 * np.array(flow_of_v(*third_row(q))), q
        return kick(drift(state, h / 2), h / 6)

    return step


def printed_v(u1, u2, u3):
    I1, I2, _ = INERTIA
    return u2 * u3 / I1, -u1 * u3 / I2, 0.0


def corrected_v(u1, u2, u3):
    I1, I2, _ = INERTIA
    return -2 * u2 * u3 / I1, 2 * u1 * u3 / I2, 2 * u1 * u2 * (1 / I1 - 1 / I2)


@pytest.mark.parametrize(
    ("step", "order"),
    [
        pytest.param(s4_6(0.143851773179818), 2, id="S4_6 as printed"),
        pytest.param(s4_6(-0.143851773179818), 4, id="S4_6"),
        pytest.param(nystrom(printed_v), 2, id="Nystrom scheme as printed"),
        pytest.param(nystrom(corrected_v), 4, id="Nystrom scheme"),
    ],
)
def test_order(step, order, truth):
    np.testing.assert_allclose(orders(step, truth), order, atol=0.06)


def test_gradient_of_w():
    """The corrected V is the torque of W = f.(I^-1 f), by differences."""

    def w(q):
        u1, u2, _ = third_row(q)
        f = np.array([u2, -u1, 0.0])
        return f @ (f / INERTIA)

    q, h = START[1], 1e-5
    turns = [rotation.from_rotation_vector(h * axis) for axis in np.eye(3)]
    torque = [
        -(w(rotation.multiply(q, turn)) - w(rotation.multiply(q, rotation.conjugate(turn)))) / (2 * h) for turn in turns
    ]
    np.testing.assert_allclose(torque, corrected_v(*third_row(q)), atol=1e-9)


def test_third_order_condition_of_rkn6_14a():
    """a4 ends in 47, not in 77: the condition sum b_i c_i^2 = 1/3 holds to rounding with the former only."""
    b = [0.09171915262446165, 0.183983170005006, -0.05653436583288827, 0.004914688774712854, 0.143761127168358]
    b += [0.328567693746804]
    b += [0.5 - sum(b)]

    def defect(a4):
        a = [0.0378593198406116, 0.102635633102435, -0.0258678882665587, a4, -0.130144459517415, 0.106417700369543]
        a += [-0.00879424312851058]
        a += [1 - 2 * sum(a)]
        times = np.cumsum([*a, *a[6:0:-1]])
        return abs(np.dot([*b, *b[::-1]], times**2) - 1 / 3)

    assert defect(0.314241403071447) < 3e-16
    assert defect(0.314241403071477) > 2e-15


@pytest.mark.parametrize(("side", "image"), [(1.0, -1.0), (-1.0, 1.0)], ids=["as printed", "corrected"])
def test_kosenko_axes_are_left_handed_as_printed(side, image):
    """001, remark with (2.22): p m p^-1 = v3 for p = v2 + v1 m holds for right-handed v1, v2, v3."""
    v1, v2 = np.array([0.0, 0.6, 0.8, 0.0]), side * np.array([0.0, 0.8, -0.6, 0.0])
    m = np.array([0.48, -0.6, 0.64])
    p = rotation.normalize(v2 + rotation.multiply(v1, (0.0, *m)))
    np.testing.assert_allclose(rotation.rotate(p, m), (0.0, 0.0, image), rtol=0, atol=1e-15)
