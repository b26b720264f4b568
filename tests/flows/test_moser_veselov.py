"""Discrete Moser-Veselov steps against their defining equation, printed coefficients and numbers, and their limits."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from mpmath import mp, mpf

import polhode as ph
from conftest import EPS, random_attitude
from multiprecision import in_digits, number, uncompiled_only
from oracles.addition import addition_flow
from polhode.core.errors import InputError, StepError
from polhode.flows.modified_inertia import coefficients
from polhode.flows.moser_veselov import SOLVERS, MoserVeselov, modified
from polhode.kernels.compiler import JIT
from test_chain import bodies as chain_bodies
from test_chain import drifts, rms

I, M, Q = (1.0, 1.65, 1.97), (0.5, -0.6, 0.7), (0.5, 0.5, -0.5, 0.5)
MANY = 200 if JIT else 24
EVERY_ORDER = range(2, 21, 2)

both_solvers = pytest.mark.parametrize("solver", SOLVERS)


# The modified moments of inertia


def elementary(x):
    return x[0] + x[1] + x[2], x[0] * x[1] + x[1] * x[2] + x[2] * x[0], x[0] * x[1] * x[2]


def bracket(letter, k, a, x):
    """The polynomial in front of C^a H^(k-a), from the table, for x = 1/I."""
    e1, e2, e3 = elementary(x)
    weight = k + a + (letter == "t")
    powers = [(weight - 3 * l - 2 * j, j, l) for l in range(weight + 1) for j in range(weight + 1)]
    terms = [e1**i * e2**j * e3**l for i, j, l in powers if i >= 0 and i + j + l <= k]
    return sum(c * term for c, term in zip(coefficients(letter, k, a), terms, strict=True))


def printed(inertia):
    """Table 1 of Vilmart 2013 as printed: factors of H^k, C H^(k-1), ... for each of s and t."""
    I1, I2, I3 = inertia
    delta = I1 * I2 * I3

    def sigma(a):
        return I1**a + I2**a + I3**a

    def tau(b, c):
        return (I2**b + I3**b) / I1**c + (I3**b + I1**b) / I2**c + (I1**b + I2**b) / I3**c

    return {
        ("s", 1): [-sigma(-1) / 3, sigma(1) / (6 * delta)],
        ("t", 1): [sigma(1) / (6 * delta), -1 / (3 * delta)],
        ("s", 2): [
            (3 * sigma(1) + 2 * delta * sigma(-2)) / (60 * delta),
            (1 - tau(1, 1)) / (30 * delta),
            (sigma(2) - delta * sigma(-1)) / (30 * delta**2),
        ],
        ("t", 2): [
            -(9 + tau(1, 1)) / (60 * delta),
            (6 * delta * sigma(-1) - sigma(2)) / (60 * delta**2),
            -sigma(1) / (60 * delta**2),
        ],
        ("s", 3): [
            (15 - delta * sigma(-3) - 2 * tau(1, 1)) / (630 * delta),
            (6 * delta * tau(1, 2) - 100 * delta * sigma(-1) + 53 * sigma(2)) / (2520 * delta**2),
            (9 * sigma(1) + 10 * delta * sigma(-2) - 6 * tau(2, 1)) / (420 * delta**2),
            (4 * delta + 17 * sigma(3) - 15 * delta * tau(1, 1)) / (2520 * delta**3),
        ],
        ("t", 3): [
            (9 * delta * sigma(-1) + delta * tau(1, 2) - 11 * sigma(2)) / (1260 * delta**2),
            (47 * sigma(1) + 13 * tau(2, 1) - 38 * delta * sigma(-2)) / (2520 * delta**2),
            (sigma(3) + 2 * delta * tau(1, 1) - 85 * delta) / (1260 * delta**3),
            (34 * delta * sigma(-1) - 19 * sigma(2)) / (2520 * delta**3),
        ],
    }


@pytest.mark.parametrize("inertia", [(2, 3, 4), (1, 5, 7), (3, 10, 11), (6, 7, 30)], ids=str)
def test_coefficients_are_the_printed_ones(inertia):
    inertia = [Fraction(n) for n in inertia]
    x = [1 / n for n in inertia]
    for (letter, k), row in printed(inertia).items():
        assert [bracket(letter, k, a, x) for a in range(k + 1)] == row


def modified_by_hand(order, inertia, m, h):
    """x (1 + S) + T in the arithmetic of its arguments: Table 1 up to order 8, the own table beyond."""
    x = [1 / n for n in inertia]
    C, H = sum(c * c for c in m) / 2, sum(c * c * y for c, y in zip(m, x, strict=True)) / 2
    table = printed(inertia)
    S, T = (
        sum(
            h ** (2 * k) * C**a * H ** (k - a) * table[letter, k][a] for k in range(1, order // 2) for a in range(k + 1)
        )
        for letter in "st"
    )
    return [y * (1 + S) + T for y in x]


def exact_modified(inertia, m, h, digits):
    """x~_j = 2 e_j/(h Y_j), with which the step is exact, from an exact one."""
    q = addition_flow(inertia, m, (1, 0, 0, 0), h, digits)[1]
    e = [c / q[0] for c in q[1:]]
    along = sum(a * b for a, b in zip(e, m, strict=True))
    Y = [a - b + c * along for a, b, c in zip(m, cross(e, m), e, strict=True)]
    return [2 * a / (h * b) for a, b in zip(e, Y, strict=True)]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


@uncompiled_only
@pytest.mark.parametrize("order", EVERY_ORDER[1:])
def test_modified_inertia_tends_to_the_exact_one(order):
    """With order 2p, what is left of it falls like h^(2p): every coefficient is needed, whatever the motion."""
    with mp.workdps(70):
        inertia, m = [mpf(1), mpf(7) / 4, mpf(11) / 4], [mpf(5) / 8, mpf(-1) / 2, mpf(1)]
        flow = MoserVeselov(order)
        c = [0.0] * flow.kernels.size
        flow.kernels.prepare(0, inertia, [number(y) for y in flow.exact_parameters], c)
        left = []
        for h in (mpf(1) / 16, mpf(1) / 32):
            exact = exact_modified(inertia, m, h, 65)
            left.append([abs(a - b) for a, b in zip(modified(c, m, h), exact, strict=True)])
        observed = [float(mp.log(a / b, 2)) for a, b in zip(*left, strict=True)]
        np.testing.assert_allclose(observed, order, atol=0.2)


# The step


def kinds(rng):
    """Moments: of bodies, flat ones, some that no body has, symmetric ones and a sphere."""
    half = rng.uniform(0.1, 1, (MANY, 3))
    found = half.sum(axis=-1, keepdims=True) - half
    found[: MANY // 8, 2] = found[: MANY // 8, :2].sum(axis=-1)
    found[MANY // 8 : MANY // 4] = rng.uniform(0.2, 4, (MANY // 4 - MANY // 8, 3))
    found[-5:] = (1, 1, 2), (2, 1, 2), (1, 2, 2), (3, 1, 1), (1.5, 1.5, 1.5)
    return found


def states(rng, moments, turn):
    """States with |omega| h = turn for h = 1, of any attitude."""
    m = rng.normal(size=moments.shape)
    m *= turn / np.linalg.norm(m / moments, axis=-1, keepdims=True)
    return ph.State(m, random_attitude(rng, len(m)))


def defects(order, inertia, before, after, h):
    """h m - 2 (f0 J f + f x J f) and h m1 - 2 (f0 J f - f x J f) for the rotation (f0, f) of the step, J the inertia,
    relative to h |m|: the equation of the papers, in which neither Y nor e occurs."""
    with mp.workdps(40):
        (m0, q0), (m1, q1) = (([mpf(float(x)) for x in v] for v in s) for s in (before, after))
        h = mpf(h)
        J = [1 / y for y in modified_by_hand(order, [mpf(float(x)) for x in inertia], m0, h)]
        size = sum(x * x for x in q0)
        conjugate = [q0[0] / size, *(-x / size for x in q0[1:])]
        f0, f = scalar(conjugate, q1), vector(conjugate, q1)
        Jf = [a * b for a, b in zip(J, f, strict=True)]
        turned, plain = cross(f, Jf), [f0 * y for y in Jf]
        start = [h * m - 2 * (a + b) for m, a, b in zip(m0, plain, turned, strict=True)]
        end = [h * m - 2 * (a - b) for m, a, b in zip(m1, plain, turned, strict=True)]
        return float(max(mp.norm(start), mp.norm(end)) / (h * mp.norm(m0)))


def scalar(a, b):
    return a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]


def vector(a, b):
    return [a[0] * y + b[0] * x + z for x, y, z in zip(a[1:], b[1:], cross(a[1:], b[1:]), strict=True)]


@both_solvers
@pytest.mark.parametrize(("order", "turn"), [(2, 0.01), (2, 0.7), (4, 0.3), (6, 0.01), (6, 0.7), (8, 0.3)])
def test_defining_equation(rng, order, solver, turn):
    """f and q are rounded to eps, in units of 1, whereas h |m| is of the size of the turn."""
    moments = kinds(rng)
    start = states(rng, moments, turn)
    end = MoserVeselov(order, solver).step(ph.RigidBody.from_moments(moments), start, 1.0)
    rows = zip(moments, start.m, start.q, end.m, end.q, strict=True)
    worst = max(defects(order, i, (m, q), (n, p), 1.0) * turn / stretch(i) for i, m, q, n, p in rows)
    assert worst <= 10 * EPS


def stretch(inertia):
    """Largest over smallest moment: how much of h |m| one component of f can make up for."""
    return inertia.max() / inertia.min()


VILMART = (0.376, 0.627, 1.0), (0.0, 0.6, -0.8)  # his Figure 1: moments and momentum


def error_after(flow, span, steps):
    inertia, start = VILMART
    end = flow.step(inertia, ph.State(start, Q), span / steps, steps)
    m, q = (np.array([float(x) for x in v]) for v in addition_flow(inertia, start, Q, span))
    return float(np.hypot(np.linalg.norm(end.m - m), np.linalg.norm(end.q - q)))


@pytest.mark.parametrize(("order", "finest"), [(2, 1024), (4, 1024), (6, 512), (8, 288)])
def test_order_in_doubles(order, finest):
    errors = [error_after(MoserVeselov(order), 20, finest // k) for k in (8, 4, 2, 1)]
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), order, atol=0.2)


@uncompiled_only
@pytest.mark.parametrize("order", EVERY_ORDER)
@both_solvers
def test_order_in_many_digits(order, solver):
    inertia, m = (1.0, 1.75, 2.75), (0.625, -0.5, 1.0)
    with mp.workdps(60):
        m1, q1 = addition_flow(inertia, m, Q, 1, 60)
        errors = []
        for n in (4, 8):
            end, turned = in_digits(MoserVeselov(order, solver), inertia, m, Q, mpf(1) / n, n, 60)
            errors.append(mp.norm([a - b for a, b in zip([*end, *turned], [*m1, *q1], strict=True)]))
        np.testing.assert_allclose(float(mp.log(errors[0] / errors[1], 2)), order, atol=0.2)


def test_published_run():
    """Vilmart's Figure 1; errors of another program: 5e-4, 6e-9, 6e-14, 3e-14, 3e-14."""
    inertia, m = VILMART
    m1, q1 = (np.array([float(x) for x in v]) for v in addition_flow(inertia, m, (1, 0, 0, 0), 40))
    errors = []
    for order in (2, 4, 6, 8, 10):
        end = MoserVeselov(order).step(inertia, ph.State(m), 0.01, 4000)
        errors.append(max(np.abs(end.m - m1).max(), np.abs(end.q - q1).max()))
    assert 1e-4 < errors[0] < 1e-3
    assert 1e-9 < errors[1] < 1e-8
    assert 1e-14 < errors[2] < 1e-13
    assert max(errors[3:]) < 1.2e-13


@pytest.mark.parametrize(("h", "expected"), [(0.01, 5.83e-1), (0.001, 5.82e-3), (0.0001, 5.82e-5)])
def test_free_body_of_betsch_and_siebert(h, expected):
    """The error of their variational integrator, which this is without a torque, after a time of 1."""
    assert frobenius_error(MoserVeselov(), h) == pytest.approx(expected, rel=2e-3)


def frobenius_error(flow, h):
    body = ph.RigidBody((6.0, 8.0, 3.0))
    start = ph.State.from_omega(body, (10.0, 20.0, 20.0))
    q = [float(x) for x in addition_flow((6, 8, 3), start.m.tolist(), (1, 0, 0, 0), 1)[1]]
    end = flow.step(body, start, h, round(1 / h))
    return np.linalg.norm(ph.rotation.matrix(q) @ ph.rotation.matrix(end.q).T - np.eye(3))


@both_solvers
@pytest.mark.parametrize("order", [2, 6, 20])
def test_invariants_walk_at_random(order, solver):
    """As those of the exact flow do (test_chain.py); |q| too, which is never normalized."""
    steps = 100_000 if JIT else 500
    bodies = chain_bodies() if JIT else chain_bodies()[::4]
    moments, m, q = (np.array([body[i] for body in bodies]) for i in range(3))
    start = ph.State(m / np.linalg.norm(m / moments, axis=-1, keepdims=True), q)
    end = MoserVeselov(order, solver).step(ph.RigidBody.from_moments(moments), start, 0.1, steps)
    with mp.workdps(40):
        found = [drifts(*row) for row in zip(moments, start.m, start.q, end.m, end.q, strict=True)]
    found = np.array(found) / np.sqrt(steps)
    assert max(rms(column) for column in found.T) < 3.5
    assert np.abs(found).max() < 7


def test_solvers_agree(rng):
    moments = kinds(rng)
    body = ph.RigidBody.from_moments(moments)
    for order in (2, 6, 20):
        for turn in (0.03, 0.5, 0.9):
            start = states(rng, moments, turn)
            one, other = (MoserVeselov(order, solver).step(body, start, 1.0) for solver in SOLVERS)
            apart = np.linalg.norm(one.q - other.q, axis=-1)
            assert np.all(apart <= 20 * EPS * moments.max(axis=-1) / moments.min(axis=-1))


@pytest.mark.parametrize(("turn", "expected"), [(0.05, 7), (0.2, 11), (0.6, 23), (0.8, 39)])
@pytest.mark.parametrize("axis", range(3))
def test_number_of_fixed_point_iterations(turn, expected, axis):
    """Of a steady spin, as counted by another program; an error shrinks by the factor 2 e^2/(1 + e^2) in each."""
    start = ph.State.from_omega(I, np.eye(3)[axis])
    _, stats = MoserVeselov(solver="fixed-point").step(I, start, turn, return_stats=True)
    assert stats.iterations == pytest.approx(expected, abs=1)


@pytest.mark.parametrize(("turn", "most"), [(0.01, 2), (0.1, 2), (0.5, 4), (0.9, 6)])
def test_number_of_newton_iterations(rng, turn, most):
    body = ph.RigidBody.from_moments(np.tile(I, (MANY, 1)))
    _, stats = MoserVeselov().step(body, states(rng, body.moments, turn), 1.0, return_stats=True)
    assert stats.iterations.min() >= 1
    assert stats.iterations.max() <= most


@both_solvers
def test_a_batch_is_a_loop(rng, solver):
    moments, flow = kinds(rng), MoserVeselov(6, solver)
    start = states(rng, moments, 0.6)
    whole = flow.step(ph.RigidBody.from_moments(moments), start, 1.0, 3)
    for i in range(0, MANY, 5):
        one = flow.step(moments[i], start.select((MANY,), i), 1.0, 3)
        np.testing.assert_array_equal(one.m, whole.m[i])
        np.testing.assert_array_equal(one.q, whole.q[i])


# Special motions


@both_solvers
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("h", [1e-9, 0.01, -0.3, 0.9, 1 - 1e-6])
def test_steady_spin(solver, axis, h):
    """About a principal axis sin(angle of the step) = h omega; the angle is ill-conditioned next to 90 degrees."""
    omega = np.eye(3)[axis]
    end = MoserVeselov(solver=solver).step(I, ph.State.from_omega(I, omega), h)
    with mp.workdps(30):
        half = mp.asin(mpf(h)) / 2
        error = max(abs(end.q[0] - mp.cos(half)), abs(end.q[1 + axis] - mp.sin(half)))
        assert error <= 4 * EPS / mp.sqrt(1 - mpf(h) ** 2)
    np.testing.assert_array_equal(end.m, ph.State.from_omega(I, omega).m)


@both_solvers
@pytest.mark.parametrize("order", [2, 6])
def test_symmetric_and_spherical_bodies(rng, order, solver):
    for moments in ((1.0, 1.0, 2.0), (1.0, 2.0, 2.0), (2.0, 2.0, 2.0)):
        start = ph.State((0.3, 0.4, 0.5), random_attitude(rng))
        end = MoserVeselov(order, solver).step(moments, start, 0.5, 100)
        single = {1.0: 0, 2.0: 2}[moments[0] if moments[1] == 2 else moments[2]]
        assert end.m[single] == pytest.approx(start.m[single], rel=100 * EPS)
        np.testing.assert_allclose(end.m_space, start.m_space, rtol=0, atol=200 * EPS)


@both_solvers
@pytest.mark.parametrize("order", [2, 20])
def test_rest_and_no_time(order, solver):
    flow = MoserVeselov(order, solver)
    for start, h in ((ph.State((0.0, 0.0, 0.0), Q), 1e3), (ph.State(M, Q), 0.0), (ph.State(M, Q), -1e-300)):
        end = flow.step(I, start, h, 3)
        np.testing.assert_allclose(end.m, start.m, rtol=0, atol=1e-299)
        np.testing.assert_allclose(end.q, start.q, rtol=0, atol=1e-299)


# Where there is no solution


def fails(flow, body, state, h):
    try:
        flow.step(body, state, h)
    except StepError:
        return True
    return False


@both_solvers
@pytest.mark.parametrize("axis", range(3))
def test_steady_spin_up_to_the_limit(solver, axis):
    """Two roots, |e| < 1 and 1/e, meet at h omega = 1."""
    start, flow = ph.State.from_omega(I, 2 * np.eye(3)[axis]), MoserVeselov(solver=solver)
    for h in (0.5 * (1 - 1e-12), 0.5 * (1 - 1e-4), -0.5 * (1 - 1e-9)):
        end = flow.step(I, start, h)
        assert np.abs(end.q[1:]).max() < end.q[0]
    for h in (0.5 * (1 + 1e-12), 0.51, 0.7, 1.0, 20.0, -0.6, 1e100):
        assert fails(flow, I, start, h)


@both_solvers
def test_growing_steps(rng, solver):
    """Every step works up to a limit, at which the body turns by up to 90 degrees, and none beyond."""
    flow = MoserVeselov(solver=solver)
    for _ in range(5):
        start = ph.State(rng.normal(size=3))
        limit = 1 / np.linalg.norm(start.m / np.array(I))
        failed = [fails(flow, I, start, h) for h in np.linspace(0.05, 3, 60) * limit]
        assert failed == sorted(failed)
        assert not any(failed[:15])
        assert failed[-1]


@both_solvers
@pytest.mark.parametrize("h", [2.0, -50.0, 1e5])
def test_error_of_a_step_that_is_too_long(solver, h):
    start, flow = ph.State(M, Q), MoserVeselov(solver=solver)
    limit = 1 / np.linalg.norm(np.array(M) / np.array(I))
    message = rf"h = .*no solution.*\|h\| <= 1/\|omega\| = {limit:.6g}; .* works"
    with pytest.raises(StepError, match=message) as caught:
        flow.step(I, start, h, 5)
    works = caught.value.working_step
    assert caught.value.done == 0
    np.testing.assert_array_equal(caught.value.state.m, start.m)
    np.testing.assert_array_equal(caught.value.state.q, start.q)
    assert works * h > 0
    assert not fails(flow, I, start, works)
    assert fails(flow, I, start, 1.02 * works)


@both_solvers
@pytest.mark.parametrize("order", [4, 8, 20])
@pytest.mark.parametrize("axis", range(3))
def test_higher_orders_turn_by_less_than_90_degrees(order, solver, axis):
    """The roots of longer steps would be rotations by 180 degrees less the angle: exact, to any order, and wrong."""
    start, flow = ph.State.from_omega(I, 2 * np.eye(3)[axis]), MoserVeselov(order, solver)
    end = flow.step(I, start, 0.7)
    left = 1.4 ** (order + 1) / math.factorial(order + 1) + 100 * EPS  # of the series of the sine
    assert 2 * np.arctan2(np.linalg.norm(end.q[1:]), end.q[0]) == pytest.approx(1.4, abs=2 * left / np.cos(1.4))
    for h in (0.786, 1.0, 1.7, 3.0, -1.0):
        assert fails(flow, I, start, h)
    with pytest.raises(StepError, match=r"90 degrees: expected .* = 0\.785398; h = ") as caught:
        flow.step(I, start, 1.0)
    assert 0.77 < caught.value.working_step < 0.7854


def root_near(k, m, e):
    """(e, Jacobian there) of (14') by Newton's method, with NumPy."""
    hat = np.array([[0, -m[2], m[1]], [m[2], 0, -m[0]], [-m[1], m[0], 0]])
    for _ in range(50):
        A = np.eye(3) - k[:, None] * (hat + (e @ m) * np.eye(3) + np.outer(e, m))
        d = np.linalg.solve(A, k * (m + np.cross(m, e) + e * (e @ m)) - e)
        e = e + d
        if np.abs(d).max() < 1e-9:
            return e, A
    return np.full(3, np.nan), A


def branch(x, m, h, pieces):
    """The root e of (14') that grows out of e = 0, along shorter steps; None where it ends or is too close to that."""
    e = np.zeros(3)
    for part in np.arange(1, pieces + 1) / pieces:
        e, A = root_near(0.5 * part * h * x, m, e)
        if not (np.linalg.det(A) > 1e-3 and e @ e < 1):
            return None
    return e


FAR_ROOTS = (  # moments that no body has, momentum, h: Newton's method from its usual start fails
    ((1.0, 1.211, 15.979), (-1.101, 0.868, 2.096), 1.8855),
    ((1.0, 2.165, 9.73), (0.488, -0.522, -2.134), 3.3195),
    ((1.0, 10.179, 14.766), (-0.164, -0.109, 1.931), 6.5761),
    ((1.0, 8.914, 23.453), (-0.353, 0.613, 2.224), 7.3682),
)


def any_steps(rng):
    for _ in range(30):
        moments, m = 10 ** rng.uniform(-1, 1, 3), rng.normal(size=3)
        yield moments, m, rng.uniform(0.5, 1.5) / np.linalg.norm(m / moments)


@both_solvers
def test_the_root_is_that_of_shorter_steps(rng, solver):
    flow, compared = MoserVeselov(solver=solver), 0
    for moments, m, h in (*FAR_ROOTS, *any_steps(rng)):
        e = branch(1 / np.array(moments), np.array(m), h, 200)
        if e is not None:
            end = flow.step(moments, ph.State(m), h)
            np.testing.assert_allclose(end.q[1:] / end.q[0], e, rtol=0, atol=1e-9)
            compared += 1
    assert compared > len(FAR_ROOTS) + 8


@both_solvers
@pytest.mark.parametrize(
    ("moments", "m", "h"),
    [((1.0, 1.702, 4.757), (-0.793, -0.626, -1.278), 1.6), ((1.0, 8.342, 14.727), (-0.119, -1.998, -1.131), 3.6)],
)
def test_roots_of_more_than_90_degrees_are_refused(solver, moments, m, h):
    """For moments that no body has, the root can pass |e| = 1 without meeting another one."""
    k, e = 0.5 * h / np.array(moments), np.array([0.0, 0.0, 0.0])
    for part in np.arange(1, 401) / 400:
        e = root_near(part * k, np.array(m), e)[0]
    assert e @ e > 1.1
    assert fails(MoserVeselov(solver=solver), moments, ph.State(m), h)


def test_a_step_that_works_can_be_undone(rng):
    """Also next to the limit of 90 degrees, where |omega| of the start alone would let steps pass one way only."""
    moments, flow, worked = (1.0, 1.75, 2.75), MoserVeselov(4), 0
    for m in rng.normal(size=(40, 3)):
        start = ph.State(m)
        h = 1.55 / np.linalg.norm(m / np.array(moments))
        if not fails(flow, moments, start, h):
            home = flow.step(moments, flow.step(moments, start, h), -h)
            np.testing.assert_allclose(home.m, start.m, rtol=0, atol=1e-13)
            worked += 1
    assert 10 < worked < 40


# Arguments


@pytest.mark.parametrize("order", [0, 1, 3, 5, 22, -2, "4", None, 2.5])
def test_unknown_orders(order):
    with pytest.raises(InputError, match=r"order = .*: MoserVeselov expected an even number from 2 to 20"):
        MoserVeselov(order)


@pytest.mark.parametrize("solver", ["Newton", "", None, 1])
def test_unknown_solvers(solver):
    with pytest.raises(InputError, match=r"solver = .*: expected 'newton' or 'fixed-point'"):
        MoserVeselov(solver=solver)


def test_records():
    assert [repr(flow) for flow in MoserVeselov.variants()] == [
        "MoserVeselov()",
        *(f"MoserVeselov({order})" for order in (4, 6, 8, 10, 20)),
        "MoserVeselov(solver='fixed-point')",
        "MoserVeselov(6, solver='fixed-point')",
    ]
    assert [flow.record.symplectic for flow in MoserVeselov.variants()] == [True] + 5 * [False] + [True, False]
    assert MoserVeselov(6) != MoserVeselov(6, "fixed-point")


def test_more_terms_extend_fewer():
    """Every coefficient of a lower order is one of a higher."""
    sets = [{*MoserVeselov(order).exact_parameters[2:]} for order in EVERY_ORDER]
    assert all(a < b for a, b in pairwise(sets))
    assert [len(MoserVeselov(order).exact_parameters) - 3 for order in (4, 20)] == [4, 873]
