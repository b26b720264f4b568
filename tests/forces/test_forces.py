"""Ready-made forces: energies from their definitions in 40 digits, torques as minus their slopes along turns."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from conftest import EPS, random_attitude
from polhode import forces, rotation
from polhode.core.body import RigidBody
from polhode.core.errors import InputError, ShapeError

H = mpf(10) ** -13  # of difference quotients in 40 digits: both errors below 1e-25
TENSOR = ((2.0, 0.3, -0.1), (0.3, 3.0, 0.2), (-0.1, 0.2, 4.0))
REST = (0.5, -0.5, 0.7, 0.1)


@pytest.fixture(autouse=True)
def many_digits():
    with mp.workdps(40):
        yield


def vector(numbers):
    return mp.matrix([mpf(float(x)) for x in numbers])


def unit(numbers):
    v = vector(numbers)
    return v / mp.norm(v)


def dot(a, b):
    return mp.fsum(x * y for x, y in zip(a, b, strict=True))


def attitude(q):
    """Q of a quaternion, by 1 + 2 q0 hat(v) + 2 hat(v)^2, in high precision."""
    q0, v1, v2, v3 = unit(q)
    hat = mp.matrix([[0, -v3, v2], [v3, 0, -v1], [-v2, v1, 0]])
    return mp.eye(3) + 2 * q0 * hat + 2 * hat * hat


def turn(axis, angle):
    """exp(angle hat(axis)) by the power series of mpmath."""
    a, b, c = axis
    return mp.expm(mp.matrix([[0, -c, b], [c, 0, -a], [-b, a, 0]]) * angle)


def slopes(V, Q):
    """-dV(Q exp(theta e_j))/dtheta, j = 1, 2, 3."""
    return [float(-(V(Q * turn(mp.eye(3)[:, j], H)) - V(Q * turn(mp.eye(3)[:, j], -H))) / (2 * H)) for j in range(3)]


def gravity_energy(t, Q):
    return mpf(2.5) * dot(unit((1, -2, 3)), Q * vector((0.3, -0.2, 0.6)))


def gradient_energy(t, Q):
    nadir = turn(unit((0.2, 1, 0.4)), mpf(0.7) * mpf(float(t))) * unit((1, 2, -2))
    u = Q.T * nadir
    return mpf(1.5) / 2 * dot(u, mp.matrix(TENSOR) * u)


def restoring_energy(t, Q):
    u = Q.T * vector((0, 0, 1))
    return mpf(7) * (3 * u[0] ** 2 + mpf(0.5) * u[1] ** 2) / 2


def spring_energy(t, Q):
    """Half the squared distance of the axes: |Q - A|^2/4, which is 1 - cos of the angle in between."""
    difference = Q - attitude(rotation.normalize(REST))
    return mpf(4) * mp.fsum(x * x for x in difference) / 4


CASES = {
    "gravity": (forces.gravity(2.5, (0.3, -0.2, 0.6), up=(1, -2, 3)), gravity_energy),
    "gravity_gradient": (
        forces.gravity_gradient(RigidBody(TENSOR), 1.5, (1, 2, -2), orbit_rate=0.7, orbit_normal=(0.2, 1, 0.4)),
        gradient_energy,
    ),
    "restoring": (forces.restoring(7.0, longitudinal=3.0, transverse=0.5), restoring_energy),
    "spring": (forces.spring(4.0, rotation.normalize(REST)), spring_energy),
}


@pytest.mark.parametrize("name", CASES)
def test_energies_and_torques_are_those_of_the_definition(name, rng):
    force, V = CASES[name]
    for t, q in zip((0.0, 0.4, -3.0), random_attitude(rng, 3), strict=True):
        Q = attitude(q)
        assert abs(float(force.potential(t, q)) - float(V(t, Q))) <= 40 * EPS
        np.testing.assert_allclose(force.torque(t, q), slopes(lambda X, t=t: V(t, X), Q), rtol=0, atol=60 * EPS)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_derivatives_by_the_entries(name, rng):
    """Along any direction that stays in the rotations: <dV/dQ, Q hat(e_j)> = -f_j."""
    force, V = CASES[name]
    q = random_attitude(rng)
    Q = attitude(q)
    rows = tuple(map(tuple, rotation.matrix(q).tolist()))
    gradient = mp.matrix(force.gradient_function()(0.3, rows, np.array(force.params)))
    found = []
    for j in range(3):
        e = mp.eye(3)[:, j]
        along = Q * mp.matrix([[0, -e[2], e[1]], [e[2], 0, -e[0]], [-e[1], e[0], 0]])
        found.append(-float(mp.fsum(a * b for a, b in zip(gradient, along, strict=True))))
    np.testing.assert_allclose(found, slopes(lambda X: V(0.3, X), Q), rtol=0, atol=60 * EPS)


@pytest.mark.parametrize("name", CASES)
def test_a_declared_axis_is_one(name, rng):
    force, V = CASES[name]
    assert (force.axis is None) == (name in ("spring", "gravity_gradient"))  # nadir turns in this one
    if force.axis is not None:
        Q = attitude(random_attitude(rng))
        assert abs(V(0, turn(unit(force.axis), 1) * Q) - V(0, Q)) < 20 * EPS


def test_published_energy_of_the_satellite():
    """Celledoni, Fasso, Safstrom, Zanna, section 3.3.2: H = 1.21595664e7 with 3 mu/r^3 = 0.354311..."""
    inertia, omega = np.array([1.7e4, 3.7e4, 5.4e4]), np.array([15.0, -15.0, 15.0])
    potential = forces.gravity_gradient(inertia, 3 * 3.986e14 / 1.5e5**3).potential(0.0, (1, 0, 0, 0))
    assert abs(0.5 * inertia @ omega**2 + potential - 1.21595664e7) < 1e-8 * 1.2e7


def test_the_strength_of_a_gravity_gradient_is_its_formula():
    """V = -integral of mu/|x| over the mass: for two points of mass 1 at +-a u the part of second order is
    -2 (mu a^2/r^3) (3 cos^2 - 1)/2, and u.I u = 2 a^2 sin^2."""
    mu, r, a = 3.986e14, 7e6, 3.0
    strength = forces.gravity_gradient_strength(mu, r)
    assert strength == 3 * mu / r**3
    with mp.workdps(60):
        at = lambda cosine: -sum(mu / mp.sqrt(mp.mpf(r) ** 2 + a**2 + 2 * s * a * r * cosine) for s in (-1, 1))  # noqa: E731
        difference = float(at(mp.mpf(0)) - at(mp.mpf(1)))  # across, and along the direction to the mass
    assert difference == pytest.approx(strength / 2 * 2 * a**2, rel=1e-11)
    np.testing.assert_array_equal(forces.gravity_gradient_strength([mu, 2 * mu], r), [strength, 2 * strength])


def test_a_nadir_at_rest_is_an_axis_and_one_that_moves_is_none():
    still = forces.gravity_gradient((1, 2, 3), 1.0, nadir=(0, 3, 4))
    np.testing.assert_allclose(still.axis, (0, 0.6, 0.8), rtol=EPS)
    assert forces.gravity_gradient((1, 2, 3), 1.0, orbit_rate=0.1).axis is None


def test_constant_torques_stay_where_they_are(rng):
    f, q = rng.normal(size=3), random_attitude(rng, 5)
    np.testing.assert_array_equal(forces.constant(f).torque(0.0, q), np.broadcast_to(f, (5, 3)))
    turned = forces.constant(f, frame="space").torque(0.0, q)
    np.testing.assert_allclose(rotation.rotate(q, turned), np.broadcast_to(f, (5, 3)), rtol=0, atol=25 * EPS)


def test_damping_is_kept_apart_from_the_torque():
    force = forces.damping(0.5)
    np.testing.assert_array_equal(force.damping, 0.5 * np.eye(3))
    assert force.torque_function()(
        0.0, ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), (1.0, 2.0, 3.0), np.empty(0)
    ) == (
        0.0,
        0.0,
        0.0,
    )
    np.testing.assert_array_equal(force.torque(0.0, (1, 0, 0, 0), w=(1, 2, 3)), (-0.5, -1.0, -1.5))
    with pytest.raises(AttributeError, match="damping has no energy"):
        force.potential(0.0, (1, 0, 0, 0))


FULL = np.array([(0.5, 0.2, 0.0), (0.2, 0.4, -0.1), (0.0, -0.1, 0.3)])


def test_three_rows_of_damping_are_a_matrix():
    """As those of an inertia are a tensor: never three bodies."""
    w = np.array([1.0, 2.0, 3.0])
    assert forces.damping(np.eye(3)).batch == ()
    np.testing.assert_array_equal(forces.damping(FULL).damping, FULL)
    np.testing.assert_allclose(forces.damping(FULL).torque(0.0, (1, 0, 0, 0), w), -FULL @ w, rtol=4 * EPS)
    several = forces.damping(np.stack([FULL, np.eye(3)]))
    assert several.batch == (2,)
    np.testing.assert_allclose(several.torque(0.0, (1, 0, 0, 0), w), [-FULL @ w, -w], rtol=4 * EPS)
    assert forces.damping(np.ones((2, 3))).batch == (2,)
    assert forces.damping(np.ones((2, 3, 3))).batch == (2,)
    assert forces.damping(np.ones((3, 2, 3))).batch == (3, 2)


def test_damping_matrices_and_numbers_add_up():
    total = forces.damping(FULL) + forces.damping((1, 2, 3)) + forces.damping(np.array([(1, 0, 0), (0, 1, 0)]))
    assert total.batch == (2,)
    np.testing.assert_array_equal(total.damping, FULL + np.diag((1, 2, 3)) + [np.diag((1, 0, 0)), np.diag((0, 1, 0))])


@pytest.mark.parametrize(
    ("D", "words"),
    [
        ([(1, 2, 3), (2, 3, 1), (3, 2, 1)], "D is not symmetric"),
        ([(1, 2, 0), (2, 1, 0), (0, 0, 1)], r"D has the eigenvalues \(-1, 1, 3\): .* positive semidefinite"),
        (np.stack([np.eye(3), -np.eye(3)]), r"D\[1\] has the eigenvalues"),
        (np.diag((1.0, 1.0, -1e-9)), "eigenvalues"),
        (np.full((3, 3), np.nan), "finite"),
    ],
)
def test_what_is_no_damping_matrix(D, words):
    with pytest.raises(InputError, match=words):
        forces.damping(D)


def test_the_message_says_how_to_write_three_bodies():
    """And what it says works."""
    D = [(1, 2, 3), (2, 3, 4), (3, 4, 6)]
    with pytest.raises(InputError, match=r"type np\.asarray\(D\)\[\.\.\., None, :\] \* np\.eye\(3\)") as caught:
        forces.damping([(1, 2, 3), (2, 3, 4), (3, 5, 6)])
    assert "D is not symmetric" in str(caught.value)
    force = forces.damping(np.asarray(D)[..., None, :] * np.eye(3))
    assert force.batch == (3,)
    np.testing.assert_array_equal(force.torque(0.0, (1, 0, 0, 0), (1, 1, 2)), -np.array(D) * (1, 1, 2))


def test_semidefinite_up_to_rounding(rng):
    """A matrix of rank one, whose eigenvalues come out as -1e-17 or so."""
    for _ in range(50):
        v = rng.normal(size=3)
        forces.damping(np.outer(v, v))


def test_batches_of_parameters_are_rows_of_their_own(rng):
    weights, offsets = rng.normal(size=(4, 1)), rng.normal(size=(3, 3))
    force, q = forces.gravity(weights, offsets), random_attitude(rng, 4, 3)
    assert force.batch == (4, 3)
    assert force.params.shape == (4, 3, 6)
    for i in range(4):
        for j in range(3):
            alone = forces.gravity(weights[i, 0], offsets[j])
            np.testing.assert_array_equal(force.torque(0.0, q)[i, j], alone.torque(0.0, q[i, j]))
            np.testing.assert_array_equal(force.potential(0.0, q)[i, j], alone.potential(0.0, q[i, j]))
    assert forces.spring([1.0, 2.0]).batch == forces.restoring([1, 2], 1, 1).batch == (2,)
    assert forces.gravity_gradient((1, 2, 3), [1.0, 2.0]).batch == forces.damping(np.ones((2, 3))).batch == (2,)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: forces.damping((0.1, -0.1, 0)), InputError, "not negative"),
        (lambda: forces.damping((0.1, np.nan, 0)), InputError, "finite"),
        (lambda: forces.damping((0.1, 0.2)), ShapeError, r"expected \(\.\.\., 3\)"),
        (lambda: forces.gravity("heavy", (0, 0, 1)), InputError, "weight must be numbers"),
        (lambda: forces.gravity(np.inf, (0, 0, 1)), InputError, "weight = .inf.: every value must be finite"),
        (lambda: forces.gravity(1.0, (0, 1)), ShapeError, "offset"),
        (lambda: forces.gravity(1.0, (0, 0, 1), up=(0, 0, 0)), InputError, r"type for instance up=\(0, 0, 1\)"),
        (lambda: forces.gravity([1.0, 2.0], np.zeros((3, 3))), ShapeError, "do not broadcast"),
        (lambda: forces.constant((1, 0, 0), frame="world"), InputError, "expected 'body' or 'space'"),
        (lambda: forces.spring(1.0, attitude=(1, 1, 0, 0)), InputError, "unit quaternion"),
        (lambda: forces.gravity_gradient((1, 2, -3), 1.0), InputError, "positive"),
        (lambda: forces.gravity_gradient_strength(-1.0, 7e6), InputError, "mu = .-1.: every value must be positive"),
        (lambda: forces.gravity_gradient_strength(1.0, [7e6, 0.0]), InputError, "r = .7e.06, 0.: every"),
        (lambda: forces.gravity_gradient_strength(1.0, np.nan), InputError, "r = .nan.: every value must be finite"),
        (lambda: forces.gravity_gradient_strength("Earth", 7e6), InputError, "mu must be numbers"),
        (lambda: forces.gravity_gradient_strength([1.0, 2.0], [1.0, 2.0, 3.0]), ShapeError, "broadcast"),
    ],
)
def test_bad_input_is_explained(make, error, words):
    with pytest.raises(error, match=words):
        make()


BATCHES = {
    "gravity": lambda a, v, u: forces.gravity(a, v, u),
    "gravity_gradient": lambda a, v, u: forces.gravity_gradient(np.abs(v) + 1, a, u, a + 1, v),
    "restoring": lambda a, v, u: forces.restoring(a, v[..., 0], u[..., 1]),
    "spring": lambda a, v, u: forces.spring(a, rotation.normalize(np.concatenate([v, u[..., :1]], axis=-1))),
    "constant": lambda a, v, u: forces.constant(v),
    "damping": lambda a, v, u: forces.damping(np.abs(v)),
}


@pytest.mark.parametrize("name", BATCHES)
def test_one_body_has_the_parameters_of_a_batch_to_the_bit(name, rng):
    """Parameters of one body are computed from plain numbers, those of a batch from arrays."""
    make, numbers = BATCHES[name], rng.normal(size=(20, 7))
    arguments = numbers[:, 0], numbers[:, 1:4], numbers[:, 4:]
    batch = make(*arguments)
    for i in range(len(numbers)):
        single = make(float(numbers[i, 0]), *(vectors[i] for vectors in arguments[1:]))
        row = i if batch.params.size else ...
        assert np.array_equal(single.params, batch.params[row])
        assert np.array_equal(single.damping, batch.damping[i] if name == "damping" else batch.damping)
