"""Polhode, herpolhode and Andoyer variables, against high precision and their geometric definitions."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from mpmath import mp, mpf
from scipy.spatial.transform import Rotation

import polhode as ph
from conftest import EPS, distance, random_attitude
from oracles.addition import addition_flow
from oracles.separatrix import convergents, separatrix_slope
from polhode import errors, plot
from polhode.free.geometry import herpolhode, herpolhode_radii, invariable_frame, polhode

TURN = Rotation.from_rotvec((0.4, -0.7, 1.1)).as_matrix()
Q0 = np.array([0.1, -0.5, 0.7, 0.5])
CONSTANT = [
    ((1, 2, 3), (0, 0, 0)),
    ((2, 2, 2), (1, 2, 3)),
    ((1, 2, 3), (0, -2, 0)),
    ((1, 3, 3), (0, 1, 2)),
    (ph.RigidBody.linear(2.0), (0, 1, -1)),
]
SEPARATRIX = [  # exactly, in doubles
    ((3.0, 4.0, 6.0), (1.0, 0.5, 1.0)),
    ((6.0, 3.0, 4.0), (-1.0, 1.0, 0.25)),
    ((10.0, 15.0, 12.0), (-1.0, -1.0, 0.0)),
    ((2.0, 1.0, 2.25), (-0.3, 1.0, -3.0)),
]


def bodies():
    """(inertia, m): every order of axes, every distance from the axes and from the separatrix."""
    rng = np.random.default_rng(5)
    out = []
    for off in (1.0, 1e-2, 1e-5, 1e-9, 1e-12):
        for axis in range(3):
            inertia, m = rng.uniform(0.5, 2, 3), off * rng.normal(size=3)
            m[np.argsort(inertia)[axis]] = rng.choice([-1.0, 1.0])
            out.append((inertia, m))
    for moments in ((1.0, 2.0, 3.0), (0.7, 1.9, 2.2)):
        pairs = [p for p in convergents(separatrix_slope(*moments)) if p[0] > 1][::3]
        for p, q in pairs:
            i = rng.permutation(3)
            out.append((np.array(moments)[i], (np.array([q, 0.3 * q, -p]) / 2.0**40)[i]))
    return out


def nearly_steady():
    rng = np.random.default_rng(6)
    for off in (1e-1, 1e-4, 1e-8, 1e-16, 1e-40):
        for axis in range(3):
            inertia, m = rng.uniform(0.5, 2, 3), off * rng.normal(size=3)
            m[axis] = 1.5
            yield inertia, m


def exactly(values):
    return [mp.mpf(float(x)) for x in values]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def dot(a, b):
    return mp.fsum(x * y for x, y in zip(a, b, strict=True))


def turned(q, v):
    """Q v for a quaternion of any norm."""
    q0, u = q[0], q[1:]
    s, c, uv = q0**2 - dot(u, u), cross(u, v), dot(u, v)
    return [(s * x + 2 * q0 * y + 2 * uv * z) / dot(q, q) for x, y, z in zip(v, c, u, strict=True)]


def textbook(inertia, m):
    """In high precision: axes (other, middle, circled) and squared components of m where middle, where other is 0."""
    G2, T2 = dot(m, m), mp.fsum(x * x / moment for x, moment in zip(m, inertia, strict=True))
    a, b, c = sorted(range(3), key=lambda i: inertia[i])
    if T2 * inertia[b] > G2:
        a, c = c, a

    def crossing(i):  # of the plane of i and c: two equations for two squares
        i_square = inertia[i] * (inertia[c] * T2 - G2) / (inertia[c] - inertia[i])
        return i_square, G2 - i_square

    return (a, b, c), crossing(a), crossing(b)


def amplitude_times(inertia, m, samples):
    """Times at which the amplitude has gone equal parts of a turn: differences of elliptic integrals."""
    (a, b, _), (aa, cc_a), (bb, cc_b) = textbook(inertia, m)
    A, B, k2 = mp.sqrt(aa), mp.sqrt(bb), 1 - cc_b / cc_a
    phi = mp.atan2(m[b] / B, m[a] / A)
    m_dot = cross(m, [x / moment for x, moment in zip(m, inertia, strict=True)])
    rate = (m[a] * m_dot[b] - m[b] * m_dot[a]) / (A * B)
    speed = abs(rate) / mp.sqrt(1 - k2 * mp.sin(phi) ** 2)
    turn = mp.sign(rate) * 2 * mp.pi / (samples - 1)
    integrals = [mp.ellipf(phi + turn * j, k2) for j in range(samples)]
    return [abs(F - integrals[0]) / speed for F in integrals]


# Polhode


@pytest.mark.parametrize("k", range(len(bodies())))
def test_polhode_is_where_the_body_is_at_those_times(k):
    """Componentwise to the size of the component on the curve, also next to axes and to the separatrix."""
    inertia, m0 = bodies()[k]
    samples = 8
    motion = ph.free_motion(inertia, m=m0)
    curve, momenta = polhode(motion, samples), polhode(motion, samples, of="m")
    size = np.abs(polhode(motion, 100, of="m")).max(axis=0)
    with mp.workdps(70):
        times = amplitude_times(exactly(inertia), exactly(m0), samples)
        assert times[-1] > times[1] > 0
        for i, t in enumerate(times):
            m, _ = addition_flow(inertia.tolist(), m0.tolist(), [1, 0, 0, 0], t, 60)
            error = [float(abs(x - y)) for x, y in zip(exactly(momenta[i]), m, strict=True)]
            assert np.all(error <= 10 * EPS * size)
    np.testing.assert_allclose(curve, momenta / inertia, rtol=2 * EPS, atol=0)


@given(st.integers(0, 2**32))
def test_polhode_closes_and_lies_on_both_surfaces(seed):
    rng = np.random.default_rng(seed)
    moments, m = rng.uniform(0.5, 2, 3), rng.normal(size=3)
    tensor = TURN @ np.diag(moments) @ TURN.T
    motion = ph.free_motion(tensor, m=m)
    curve, momenta = polhode(motion, 50), polhode(motion, 50, of="m")
    assert curve.shape == (50, 3)
    np.testing.assert_array_equal(curve[0], curve[-1])
    np.testing.assert_allclose(curve[0], motion.omega(0), atol=1e-14)
    np.testing.assert_allclose(momenta, curve @ tensor, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(momenta, axis=-1), np.linalg.norm(m), rtol=1e-14)
    np.testing.assert_allclose(np.sum(curve * momenta, axis=-1), 2 * motion.energy, rtol=1e-14)
    plain = polhode(ph.free_motion(moments, m=m @ TURN), 50)
    np.testing.assert_allclose(curve, plain @ TURN.T, atol=1e-6)  # near the separatrix rounding m moves the curve
    ahead = motion.omega(1e-6 * motion.period) - curve[0]
    assert ahead @ (polhode(motion, 20_000)[1] - curve[0]) > 0  # near the separatrix, the curve has sharp bends


def test_no_gaps_next_to_the_separatrix():
    motion = ph.free_motion((1, 2, 3), m=(1e-9, 2.0, 0))
    steps = np.linalg.norm(np.diff(polhode(motion, 361, of="m"), axis=0), axis=-1)
    assert steps.max() < 2 * 2 * np.pi / 360 * 1.01
    in_time = motion.m(np.linspace(0, motion.period, 361))
    assert np.linalg.norm(np.diff(in_time, axis=0), axis=-1).max() > 5 * steps.max()


@pytest.mark.parametrize(("inertia", "m0"), SEPARATRIX)
def test_separatrix_is_an_arc_from_saddle_to_saddle(inertia, m0):
    motion = ph.free_motion(inertia, m=m0)
    assert motion.regime == "separatrix"
    arc = polhode(motion, 13, of="m")
    b = np.argsort(inertia)[1]
    G = np.linalg.norm(m0)
    pole = np.sign(arc[-1, b]) * np.eye(3)[b]
    np.testing.assert_allclose(arc[[0, -1]], np.outer([-G, G], pole), rtol=6 * EPS, atol=0)
    with mp.workdps(40):
        m_dot = cross(exactly(m0), [x / moment for x, moment in zip(exactly(m0), inertia, strict=True)])
        start = mp.mpf(m0[b]) / mp.norm(exactly(m0))
        rate = m_dot[b] / mp.norm(exactly(m0)) / (1 - start**2)  # m_b = G tanh(rate t + atanh(start))
        for j in range(1, 12):
            t = (mp.atanh(mp.sign(rate) * mp.sin(mp.pi * (j - 6) / 12)) - mp.atanh(start)) / rate
            m, _ = addition_flow(inertia, m0, [1, 0, 0, 0], t)
            assert distance(arc[j], m) <= 12 * EPS * G


@pytest.mark.parametrize(("body", "m0"), CONSTANT)
def test_constant_momentum_is_one_point(body, m0):
    motion = ph.free_motion(body, m=m0, q=Q0)
    np.testing.assert_array_equal(polhode(motion, 5), np.tile(motion.omega(0), (5, 1)))
    np.testing.assert_array_equal(polhode(motion, 5, of="m"), np.tile(m0, (5, 1)))
    np.testing.assert_array_equal(herpolhode(motion, [0.0, 3.0]), np.zeros((2, 2)))
    assert herpolhode_radii(motion) == (0.0, 0.0)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("moments", [(1.0, 2.0), (2.0, 0.7)])
def test_symmetric_bodies_draw_circles(axis, moments):
    across, along = moments
    inertia = np.full(3, across)
    inertia[axis] = along
    m = np.roll([0.8, 0.3, -0.4], axis)
    motion = ph.free_motion(inertia, m=m, q=Q0)
    curve = polhode(motion, 41)
    np.testing.assert_allclose(curve, motion.omega(np.linspace(0, motion.period, 41)), atol=1e-14)
    z, r = m[axis], np.sqrt(m @ m - m[axis] ** 2)
    exact = r / np.linalg.norm(m) * abs(z) * abs(1 / across - 1 / along)
    np.testing.assert_allclose(herpolhode_radii(motion), (exact, exact), rtol=1e-14)


def test_a_mixed_batch_is_each_body_alone():
    inertia = np.array([(1, 2, 3), (3, 4, 6), (2, 2, 2), (3, 1, 2), (1, 1, 2), (1, 2, 2)], float)
    m = np.array([(0.1, 2, 0), (1, 0.5, 1), (1, 1, 1), (1, 0.2, 0.3), (1, 0, 1), (-1, 0, 1)], float)
    motion = ph.free_motion(ph.RigidBody.from_moments(inertia), m=m, q=Q0)
    t = np.linspace(-3, 5, 4).reshape(2, 2)
    assert polhode(motion, 9).shape == (9, 6, 3)
    assert herpolhode(motion, t).shape == (2, 2, 6, 2)
    assert invariable_frame(motion).shape == (6, 3, 3)
    inner, outer = herpolhode_radii(motion)
    for i in range(6):
        alone = motion[i]
        np.testing.assert_array_equal(polhode(motion, 9)[:, i], polhode(alone, 9))
        np.testing.assert_array_equal(herpolhode(motion, t)[:, :, i], herpolhode(alone, t))
        np.testing.assert_array_equal(invariable_frame(motion)[i], invariable_frame(alone))
        assert herpolhode_radii(alone) == (inner[i], outer[i])
    states = ph.free_motion((1, 2, 3), m=m.reshape(3, 2, 3))  # one body, several states
    assert polhode(states, 9).shape == (9, 3, 2, 3)
    np.testing.assert_array_equal(polhode(states, 9)[:, 2, 1], polhode(states[2, 1], 9))


@pytest.mark.parametrize(("a", "b"), [(330, 0), (0, -330), (-330, 330), (330, 330)])
@pytest.mark.parametrize("k", [0, 4, 7, 13, 16])
def test_scale_changes_no_bit(a, b, k):
    inertia, m = bodies()[k]
    one, other = ph.free_motion(inertia, m=m, q=Q0), ph.free_motion(np.ldexp(inertia, b), m=np.ldexp(m, a), q=Q0)
    np.testing.assert_array_equal(polhode(other, 20), np.ldexp(polhode(one, 20), a - b))
    np.testing.assert_array_equal(herpolhode_radii(other), np.ldexp(herpolhode_radii(one), a - b))
    np.testing.assert_array_equal(invariable_frame(other), invariable_frame(one))
    np.testing.assert_array_equal(herpolhode(other, np.ldexp(1.7, b - a)), np.ldexp(herpolhode(one, 1.7), a - b))


def test_bad_curves_are_refused():
    motion = ph.free_motion((1, 2, 3), m=(1, 1, 1))
    with pytest.raises(errors.InputError, match=r"of = 'w'; expected 'omega'"):
        polhode(motion, of="w")
    with pytest.raises(errors.InputError, match="samples = 1; expected at least 2"):
        polhode(motion, 1)
    with pytest.raises(TypeError):
        polhode(motion, 10.5)
    with pytest.raises(errors.TimeError):
        herpolhode(motion, np.inf)


# Herpolhode


def exact_herpolhode(inertia, m0, q0, t, digits):
    """Q omega along the node of the invariable plane, and across it: by the oracle, in space."""
    m, q = addition_flow(inertia.tolist(), m0.tolist(), q0.tolist(), t, digits)
    with mp.workdps(digits):
        M = turned(exactly(q0), exactly(m0))
        node = [-M[1], M[0], mpf(0)]
        uphill = cross(M, node)
        w = turned(q, [x / moment for x, moment in zip(m, exactly(inertia), strict=True)])
        return [dot(w, node) / mp.norm(node), dot(w, uphill) / mp.norm(uphill)]


@pytest.mark.parametrize(("inertia", "m0"), [*nearly_steady(), *bodies()[:3], *bodies()[9:16:2]])
def test_herpolhode_against_the_oracle(inertia, m0):
    """Relative to its own radius, which can be 1e-40 of omega."""
    q0 = random_attitude(np.random.default_rng(3))
    motion = ph.free_motion(inertia, m=m0, q=q0)
    inner, outer = herpolhode_radii(motion)
    for t in (0.0, -1.3, 6.1):
        exact = exact_herpolhode(inertia, m0, q0, t, 150)
        growth = np.linalg.norm(m0 / inertia) * abs(t)
        computed = herpolhode(motion, t)
        assert distance(computed, exact) <= 40 * EPS * (1 + growth) * float(mp.norm(exact))
        assert inner * (1 - 1e-13) <= np.hypot(*computed) <= outer * (1 + 1e-13)


def nearly_spherical():
    return [(np.array([1.3 - d, 1.3, 1.3 + 2 * d]), np.array([0.5, -0.7, 0.6])) for d in (1e-4, 1e-9, 1e-14)]


@pytest.mark.parametrize(("inertia", "m0"), nearly_spherical())
def test_herpolhode_of_nearly_spherical_bodies(inertia, m0):
    motion = ph.free_motion(inertia, m=m0, q=Q0)
    exact = exact_herpolhode(inertia, m0, Q0, 2.5, 60)
    assert distance(herpolhode(motion, 2.5), exact) <= 40 * EPS * float(mp.norm(exact))


NEXT_TO_MIDDLE = (np.array([1.0, 2.0, 3.0]), np.array([1e-170, 1.0, 1.7e-170]))


@pytest.mark.parametrize(("inertia", "m0"), [*nearly_steady(), *bodies(), *nearly_spherical(), NEXT_TO_MIDDLE])
def test_radii_against_the_extremes_of_omega(inertia, m0):
    """rho^2 = |omega|^2 - (2T/|m|)^2 where m crosses a principal plane, its difference taken in 800 digits."""
    with mp.workdps(800):
        J, m = exactly(inertia), exactly(m0)
        (a, b, c), (aa, cc_a), (bb, cc_b) = textbook(J, m)
        height = dot(m, [x / moment for x, moment in zip(m, J, strict=True)]) ** 2 / dot(m, m)
        squares = aa / J[a] ** 2 + cc_a / J[c] ** 2 - height, bb / J[b] ** 2 + cc_b / J[c] ** 2 - height
        exact = sorted(mp.sqrt(x) for x in squares)
    for computed, truth in zip(herpolhode_radii(ph.free_motion(inertia, m=m0)), exact, strict=True):
        assert distance([computed], [truth]) <= 15 * EPS * float(truth)


@pytest.mark.parametrize(("inertia", "m0"), SEPARATRIX)
def test_on_the_separatrix_the_herpolhode_winds_into_the_center(inertia, m0):
    motion = ph.free_motion(inertia, m=m0)
    inner, outer = herpolhode_radii(motion)
    assert inner == 0.0
    (flip,) = motion.flips(-1e3, 1e3)
    np.testing.assert_allclose(np.hypot(*herpolhode(motion, flip)), outer, rtol=1e-13)
    low, middle, high = 1 / np.sort(inertia)
    rate = np.linalg.norm(m0) * np.sqrt((low - middle) * (middle - high))
    for e_foldings in (8, -10):
        radius = np.hypot(*herpolhode(motion, flip + e_foldings / rate))
        np.testing.assert_allclose(radius, outer / np.cosh(e_foldings), rtol=1e-9)


@given(st.integers(0, 2**32), st.sampled_from([1e-100, 1.0, 1e100]), st.booleans())
def test_plane_and_height_give_omega_in_space(seed, scale, tensor):
    rng = np.random.default_rng(seed)
    inertia, m, q = rng.uniform(0.5, 2, 3) / scale, rng.normal(size=3), random_attitude(rng)
    motion = ph.free_motion(TURN @ np.diag(inertia) @ TURN.T if tensor else inertia, m=m, q=q)
    t = rng.uniform(-5, 5, 4) / scale
    w = motion.rotation(t).apply(motion.omega(t))
    height = np.full(4, 2 * motion.energy / np.linalg.norm(m))
    tip = np.column_stack([herpolhode(motion, t), height]) @ invariable_frame(motion).T
    size = np.linalg.norm(w, axis=-1).max()
    np.testing.assert_allclose(tip / size, w / size, atol=3e-14)


@pytest.mark.parametrize("tiny", [0.0, -0.0, 1e-3, 1e-9, 1e-200])
@pytest.mark.parametrize("z", [1.0, -1.0, 0.0])
def test_invariable_frame(z, tiny):
    m = np.array([tiny, -2 * tiny, z])
    frame = invariable_frame(ph.free_motion((1, 2, 3), m=m))
    np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=4 * EPS)
    np.testing.assert_allclose(np.linalg.det(frame), 1, atol=8 * EPS)
    assert frame[2, 0] == 0
    assert frame[2, 1] >= 0
    along = m / np.hypot(*m[:2]) if z == 0 and tiny else m
    if along.any():
        np.testing.assert_allclose(frame[:, 2] * np.linalg.norm(along), along, atol=4 * EPS)
    node = np.array([2, 1, 0]) / np.sqrt(5) if tiny else [1, 0, 0]
    np.testing.assert_allclose(frame[:, 0], node, atol=4 * EPS)


# Andoyer variables


def exact_andoyer(m, q):
    """By nodes: angles between vectors in space, in high precision."""
    M, z = turned(q, m), [mpf(0), mpf(0), mpf(1)]
    body_x, body_z = turned(q, [mpf(1), mpf(0), mpf(0)]), turned(q, z)
    space_node, body_node = cross(z, M), cross(M, body_z)

    def angle(start, end, about):
        return mp.atan2(dot(cross(start, end), about) / mp.norm(about), dot(start, end))

    return ph.Andoyer(
        G=mp.norm(m),
        L=dot(M, body_z),
        H=M[2],
        g=angle(space_node, body_node, M),
        l=angle(body_node, body_x, body_z),
        h=angle([mpf(1), mpf(0), mpf(0)], space_node, z),
        I=angle(z, M, space_node),
        J=angle(M, body_z, body_node),
    )


def andoyer_states(rng, count):
    return 10.0 ** rng.uniform(-3, 3) * rng.normal(size=(count, 3)), random_attitude(rng, count)


def same_attitude(q, other):
    return np.minimum(np.abs(q - other).max(axis=-1), np.abs(q + other).max(axis=-1)).max()


def test_andoyer_against_its_nodes(rng):
    m, q = andoyer_states(rng, 40)
    v = ph.andoyer(m, q)
    for i in range(40):
        with mp.workdps(40):
            exact = exact_andoyer(exactly(m[i]), exactly(q[i]))
        sin_I, sin_J = float(mp.sin(exact.I)), float(mp.sin(exact.J))
        for name, bound in {
            "G": 2 * exact.G, "L": 0, "H": 8 * exact.G, "I": 8, "J": 4, "l": 4, "h": 8 / sin_I, "g": 16 / sin_I + 4,
        }.items():  # fmt: skip
            assert distance([getattr(v, name)[i]], [getattr(exact, name)]) <= 3 * EPS * bound + 1e-30 * float(
                exact.G
            ), name
        assert sin_J > 0


def test_andoyer_rotation_sequence(rng):
    m, q = andoyer_states(rng, 50)
    v = ph.andoyer(m, Rotation.from_quat(np.roll(q, -1, axis=-1)))
    first, last = (
        Rotation.from_euler("ZXZ", np.stack(angles, axis=-1)) for angles in ((v.h, v.I, v.g), (0 * v.g, v.J, v.l))
    )
    exact = Rotation.from_quat(np.roll(q, -1, axis=-1))
    assert ((first * last) * exact.inv()).magnitude().max() < 3e-15
    np.testing.assert_allclose(v.G * np.cos(v.I), v.H, atol=1e-14 * v.G.max())
    np.testing.assert_allclose(v.G * np.cos(v.J), v.L, atol=1e-14 * v.G.max())
    for angle in (v.g, v.l, v.h):
        assert np.all((angle > -np.pi) & (angle <= np.pi))


ANDOYER_PAIRS = ("l", "g", "h", "L", "G", "H")


def derivative(change):
    """d/ds at 0 of the six variables of the state change(s), by central differences of order 6."""
    out, step = np.zeros(6), 2.0**-7
    for k, weight in ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60)):
        ahead, behind = (ph.andoyer(*change(s * k * step)) for s in (1, -1))
        delta = np.array([getattr(ahead, name) - getattr(behind, name) for name in ANDOYER_PAIRS])
        delta[:3] -= 2 * np.pi * np.round(delta[:3] / (2 * np.pi))
        out += weight * delta / step
    return out


def brackets(m, q):
    """{a, b} = dQ a . dm b - dQ b . dm a - m . (dm a x dm b), dQ along Q exp(hat(s)).

    With b the energy this gives m' = m x w and Q' = Q hat(w).
    """
    turns = ph.rotation.from_rotation_vector
    dm = np.array([derivative(lambda s, e=e: (m + s * e, q)) for e in np.eye(3)])
    dQ = np.array([derivative(lambda s, e=e: (m, ph.rotation.multiply(q, turns(s * e)))) for e in np.eye(3)])
    return dQ.T @ dm - dm.T @ dQ - np.cross(dm.T[:, None], dm.T[None]) @ m


def test_andoyer_variables_are_canonical(rng):
    canonical = np.block([[np.zeros((3, 3)), np.eye(3)], [-np.eye(3), np.zeros((3, 3))]])
    checked = 0
    while checked < 5:
        m, q = rng.normal(size=3), random_attitude(rng)
        v = ph.andoyer(m, q)
        if min(np.sin(v.I), np.sin(v.J), v.G) > 0.5:
            np.testing.assert_allclose(brackets(m, q), canonical, atol=1e-8)
            checked += 1


@pytest.mark.parametrize("k", range(3))
def test_free_motion_follows_the_andoyer_hamiltonian(k):
    """The definition by nodes on the oracle's motion, differentiated in 60 digits; and the library on that motion."""
    inertia, m0 = bodies()[k]
    rng = np.random.default_rng(k)
    q0, t = random_attitude(rng), rng.uniform(1, 5)
    motion = ph.free_motion(inertia, m=m0, q=q0)

    def at(time):
        return exact_andoyer(*addition_flow(inertia.tolist(), m0.tolist(), q0.tolist(), time, 60))

    with mp.workdps(60):
        J, d = exactly(inertia), mpf(10) ** -15
        v, ahead, behind = at(mpf(t)), at(mpf(t) + d), at(mpf(t) - d)
        rate = ph.Andoyer(*((a - b) / (2 * d) for a, b in zip(ahead, behind, strict=True)))
        s, c = mp.sin(v.l), mp.cos(v.l)
        mean = s**2 / J[0] + c**2 / J[1]
        expected = {"l": v.L / J[2] - v.L * mean, "L": -(v.G**2 - v.L**2) * s * c * (1 / J[0] - 1 / J[1]),
                    "g": v.G * mean, "G": 0, "h": 0, "H": 0}  # fmt: skip
        for name, value in expected.items():
            assert abs(getattr(rate, name) - value) < 1e-25, name
        energy = mean * (v.G**2 - v.L**2) / 2 + v.L**2 / (2 * J[2])
        assert abs(energy - mp.fsum(x * x / i for x, i in zip(exactly(m0), J, strict=True)) / 2) < 1e-40
    computed = ph.andoyer(motion.m(t), motion.q(t))
    for name, value in v._asdict().items():
        assert abs(getattr(computed, name) - float(value)) < 3e-14, name


def test_the_invariable_frame_holds_the_andoyer_angles(rng):
    m, q = andoyer_states(rng, 20)
    v, frame = ph.andoyer(m, q), invariable_frame(ph.free_motion((1, 2, 3), m=m, q=q))
    np.testing.assert_allclose(frame[:, :, 0], np.stack([np.cos(v.h), np.sin(v.h), 0 * v.h], -1), atol=1e-14)
    body_z = np.einsum("nij,nj->ni", frame.swapaxes(1, 2), ph.rotation.matrix(q)[:, :, 2])
    exact = np.stack([np.sin(v.J) * np.sin(v.g), -np.sin(v.J) * np.cos(v.g), np.cos(v.J)], -1)
    np.testing.assert_allclose(body_z, exact, atol=1e-14)


def singular_states():
    """m at every small angle from either end of a body axis, m_space from either end of z, exactly there too, rest."""
    rng = np.random.default_rng(8)
    for tilt_body in (0.0, 1e-200, 1e-16, 1e-8, 1e-4, 1.0):
        for tilt_space in (0.0, 1e-200, 1e-16, 1e-8, 1e-4, 1.0):
            for up_body, up_space in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                l, g, h = rng.uniform(-np.pi, np.pi, 3)
                m = np.array([tilt_body * np.sin(l), tilt_body * np.cos(l), up_body])
                turns = [("Z", h), ("X", tilt_space if up_space > 0 else np.pi - tilt_space), ("Z", g)]
                turns += [("X", tilt_body if up_body > 0 else np.pi - tilt_body), ("Z", l)]
                q = np.array([1.0, 0, 0, 0])
                for axis, angle in turns:
                    q = ph.rotation.multiply(q, np.roll(Rotation.from_euler(axis, angle).as_quat(), 1))
                yield m, q
    yield np.zeros(3), random_attitude(rng)
    yield np.array([-0.0, -0.0, -2.0]), np.array([1.0, 0, 0, 0])
    yield np.array([-0.0, 0.0, 2.0]), np.array([0.0, 1.0, 0, 0])
    yield np.array([0.0, -1.0, 0.0]), np.array([0.0, 0.0, -1.0, 0])


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_round_trip_everywhere(scale, rng):
    pairs = [*singular_states(), *zip(*andoyer_states(rng, 100), strict=True)]
    m, q = scale * np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
    v = ph.andoyer(m, q)
    assert np.isfinite(v).all()
    state = ph.from_andoyer(*v)
    assert np.all(np.abs(state.m - m) <= 10 * EPS * v.G[:, None])
    assert same_attitude(state.q, q) <= 20 * EPS
    np.testing.assert_array_equal(state.m[:, 2], m[:, 2])


def test_without_the_inclinations_the_way_back_costs_digits_only_near_the_poles(rng):
    m, q = andoyer_states(rng, 100)
    v = ph.andoyer(m, q)
    state = ph.from_andoyer(*v[:6])
    loss = 1 / np.sin(v.I) + 1 / np.sin(v.J)
    assert np.all(np.abs(state.m - m).max(axis=-1) <= 6 * EPS * v.G * loss)
    assert same_attitude(state.q, q) <= 20 * EPS * loss.max()
    again = ph.andoyer(state.m, state.q)
    np.testing.assert_array_equal(again.L, v.L)
    np.testing.assert_allclose(again.G, v.G, rtol=8 * EPS)
    np.testing.assert_allclose(again.H, v.H, atol=20 * EPS * v.G.max())


@pytest.mark.parametrize("scale", [2.0**-600, 1.0, 2.0**600])
def test_from_momenta_that_differ_in_the_last_digits(scale):
    """sin J = sqrt((G - L)(G + L))/G, the difference being exact."""
    for L in (1 - 2.0**-52, 1 - 2.0**-40, 0.9, -1 + 2.0**-50):
        m = ph.from_andoyer(scale, L * scale, 0.0, 0.0, 0.0, 0.0).m
        with mp.workdps(40):
            exact = float(mp.sqrt(1 - mpf(L) ** 2))
        np.testing.assert_allclose(m / scale, (0, exact, L), rtol=4 * EPS)


def test_components_are_never_longer_than_the_momentum(rng):
    q = random_attitude(rng, 3000)
    m = ph.rotation.rotate(ph.rotation.conjugate(q), (0, 0, rng.uniform(0.1, 10)))
    for v in (ph.andoyer(m, q), ph.andoyer(np.stack([0.1 * m[:, 0] * 1e-8, 0 * m[:, 0], m[:, 2]], axis=-1), q)):
        assert np.all(np.abs(v.H) <= v.G)
        assert np.all(np.abs(v.L) <= v.G)


@pytest.mark.parametrize("tilt", [1e-3, 1e-6, 1e-9, 1e-20, 1e-150])
def test_small_inclinations_keep_all_digits(tilt):
    m = np.array([0.6 * tilt, 0.8 * tilt, 1.0])
    v = ph.andoyer(m, (1, 0, 0, 0))
    with mp.workdps(40):
        exact = mp.atan2(mp.hypot(m[0], m[1]), 1)
        assert abs(v.J - exact) <= 4 * EPS * exact
        assert abs(v.I - exact) <= 4 * EPS * exact
    np.testing.assert_allclose(v.l, np.arctan2(0.6, 0.8), rtol=6 * EPS)
    np.testing.assert_allclose(ph.from_andoyer(*v).m, m, rtol=10 * EPS)


def test_where_nodes_are_missing_g_takes_the_angle():
    about_z = (np.cos(0.35), 0, 0, np.sin(0.35))
    v = ph.andoyer((0, 0, 2), about_z)
    assert (v.G, v.L, v.H, v.l, v.h, v.I, v.J) == (2, 2, 2, 0, 0, 0, 0)
    assert abs(v.g - 0.7) <= 2 * EPS
    v = ph.andoyer((0, 0, 0), about_z)  # at rest
    assert (v.G, v.L, v.H, v.l, v.h, v.I, v.J) == (0, 0, 0, 0, 0, 0, 0)
    assert abs(v.g - 0.7) <= 2 * EPS
    for zero in (0.0, -0.0):
        v = ph.andoyer((zero, zero, -1), (1, zero, zero, zero))
        assert (v.l, v.h, v.I, v.J, v.L, v.H) == (0, 0, np.pi, np.pi, -1, -1)
        assert v.g == 0
    v = ph.andoyer((-0.0, -1.0, 0.0), (1, 0, 0, 0))
    assert (v.l, v.h) == (np.pi, 0)  # in (-pi, pi], never -pi
    assert ph.andoyer((0, 0, 1), (0, 0, 0, -1)).g == np.pi


def test_andoyer_shapes(rng):
    m, q = rng.normal(size=(4, 1, 3)), random_attitude(rng, 5)
    v = ph.andoyer(m, q)
    assert {x.shape for x in v} == {(4, 5)}
    assert ph.andoyer(m[2, 0], q[3]) == tuple(x[2, 3] for x in v)
    assert all(isinstance(x, float) for x in ph.andoyer(m[2, 0], q[3]))
    assert ph.from_andoyer(*v).batch == (4, 5)
    assert ph.from_andoyer(1, np.zeros((2, 1)), 0.5, 0, 0, np.zeros(3)).batch == (2, 3)
    v.L[0, 0] = 7.0  # the result is the user's own
    assert m[0, 0, 2] != 7.0


def test_bad_andoyer_variables_are_refused():
    good = {"G": 2.0, "L": 1.0, "H": -1.0, "g": 0.0, "l": 0.0, "h": 0.0}
    for change, message in [
        ({"G": -1.0}, "G = -1; expected the norm of the momentum, 0 or positive"),
        ({"L": [1.0, 2.1]}, r"L\[1\] = 2.1\d*; expected a component of m, \|L\| <= G"),
        ({"H": -3.0}, r"H = -3; .*\|H\| <= G"),
        ({"J": 1.0}, "J = 1; expected 0 to pi and cos J = L/G; omit J"),
        ({"I": np.arccos(0.5)}, "I = 1.047.*; expected .* cos I = H/G"),
        ({"I": -np.arccos(-0.5)}, "I = -2.09.*; expected 0 to pi"),
        ({"g": np.nan}, "g = nan; expected finite values"),
        ({"g": [0, 1], "h": [0, 1, 2]}, "do not broadcast"),
        ({"l": "x"}, "l must be numbers"),
    ]:
        with pytest.raises(errors.InputError, match=message):
            ph.from_andoyer(**{**good, **change})
    v = ph.andoyer((1, 2, 3), (1, 0, 0, 0))
    with pytest.raises(errors.InputError, match="omit J"):
        ph.from_andoyer(*v._replace(L=v.L * (1 + 1e-12)))
    with pytest.raises(errors.MomentumError):
        ph.andoyer((np.inf, 0, 0), (1, 0, 0, 0))
    with pytest.raises(errors.AttitudeError):
        ph.andoyer((1, 0, 0), (1, 1, 0, 0))
    with pytest.raises(errors.ShapeError):
        ph.andoyer(np.ones((2, 3)), np.tile([1.0, 0, 0, 0], (3, 1)))


# Picture


@pytest.mark.parametrize(
    ("inertia", "m"),
    [((1, 2, 3), (0.9, 0.7, 0.3)), ((1, 1, 2), (1, 0, -1)), ((3, 4, 6), (1, 0.5, 1)), ((1, 2, 3), (0, 0, 1))],
)
def test_poinsot_picture_shows_what_was_computed(inertia, m):
    motion = ph.free_motion(inertia, m=m)
    if motion.regime != "separatrix":  # which rounding of the tensor would leave
        motion = ph.free_motion(TURN @ np.diag(inertia) @ TURN.T, m=TURN @ m)
    figure = plot.plot_poinsot(motion, -5, 30, title="Poinsot", omega_unit="rad/s", samples=300)
    assert isinstance(figure, Figure)
    assert figure.get_suptitle() == "Poinsot"
    solid, plane = figure.axes
    assert plane.get_xlabel().endswith("[rad/s]")
    np.testing.assert_array_equal(plane.lines[0].get_xydata(), herpolhode(motion, np.linspace(-5, 30, 300)))
    radii = sorted(patch.radius for patch in plane.patches)
    assert radii == (list(herpolhode_radii(motion)) if motion.period else [])
    curve = polhode(motion, 721)
    drawn = np.full_like(curve, np.nan)
    for line in solid.lines:
        points = np.stack(line.get_data_3d(), axis=-1)
        if line.get_color() == plot.BLUE:
            assert len(points) == len(curve)
            drawn = np.where(np.isnan(points), drawn, points)
        else:  # separatrices, on the same ellipsoid
            energy = motion.body.kinetic_energy(motion.body.momentum(points[~np.isnan(points[:, 0])]))
            np.testing.assert_allclose(energy, motion.energy, rtol=1e-9)
    np.testing.assert_array_equal(drawn, curve if motion.period else np.full_like(curve, np.nan))
    assert sum(line.get_color() == "black" for line in solid.lines) >= (0 if len({*inertia}) < 3 else 4)


def test_pictures_that_cannot_be_drawn(monkeypatch):
    with pytest.raises(errors.InputError, match=r"batch \(4,\): plot motion\[i\]"):
        plot.plot_poinsot(ph.free_motion((1, 2, 3), m=np.ones((4, 3))), 0, 1)
    with pytest.raises(errors.InputError, match="rest"):
        plot.plot_poinsot(ph.free_motion((1, 2, 3), m=(0, 0, 0)), 0, 1)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(errors.MissingExtraError, match="matplotlib"):
        plot.plot_poinsot(ph.free_motion((1, 2, 3), m=(0, 0, 1)), 0, 1)


# Matrices as coordinates


@pytest.mark.parametrize("inertia", [(1.0, 2.0, 2.5), (1.0, 2.0, 3.0), "tensor"])
def test_pq(inertia, rng):
    """P = Q' D by a difference in time; the energy where D can be inverted; and back. Flat bodies have a P, too."""
    if inertia == "tensor":
        turn = ph.rotation.matrix(random_attitude(rng))
        inertia = turn @ np.diag((1.0, 2.0, 2.5)) @ turn.T
    body, state = ph.RigidBody(inertia), ph.State(rng.normal(size=(4, 3)), random_attitude(rng, 4))
    P, Q = ph.geometry.pq(body, state)
    D = 0.5 * np.trace(body.tensor) * np.eye(3) - body.tensor
    motion, h = ph.free_motion(body, state), 1e-5
    rate = (ph.rotation.matrix(motion.q(h)) - ph.rotation.matrix(motion.q(-h))) / (2 * h)
    np.testing.assert_allclose(P, rate @ D, rtol=0, atol=1e-8)
    if abs(np.linalg.det(D)) > 1e-9:
        energy = 0.5 * np.einsum("nij,jk,nik->n", P, np.linalg.inv(D), P)
        np.testing.assert_allclose(energy, body.kinetic_energy(state.m), rtol=1e-13)
    back = ph.geometry.from_pq(P, Q)
    np.testing.assert_allclose(back.m, state.m, rtol=0, atol=1.2e-14)
    np.testing.assert_allclose(ph.rotation.matrix(back.q), Q, rtol=0, atol=2e-15)
