"""Bodies: inertias against integrals over the solid and direct sums, tensors in any orientation, batches."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from scipy.spatial.transform import Rotation

import polhode as ph
from conftest import EPS, random_attitude

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)  # exact for every polynomial below
lengths = st.floats(0.1, 10.0)
vectors = st.tuples(*[st.floats(-2.0, 2.0)] * 3).filter(lambda v: np.linalg.norm(v) > 1e-3)


def rule(low, high):
    """Gauss's nodes and weights on [low, high]."""
    return 0.5 * (high - low) * NODES + 0.5 * (high + low), 0.5 * (high - low) * WEIGHTS


def inertia_of(points, weights, mass, *, centered=True):
    """The inertia tensor of a cloud (n, 3) of quadrature points about its mean, by direct sums."""
    weights = weights * (mass / weights.sum())
    if centered:
        points = points - weights @ points / weights.sum()
    tensor = np.zeros((3, 3))
    for w, r in zip(weights, points, strict=True):
        tensor += w * (r @ r * np.eye(3) - np.outer(r, r))
    return tensor


def cloud_of_cuboid(a, b, c):
    axes = [rule(-0.5 * x, 0.5 * x) for x in (a, b, c)]
    points = np.stack(np.meshgrid(*[x for x, _ in axes], indexing="ij"), axis=-1).reshape(-1, 3)
    weights = np.einsum("i,j,k->ijk", *[w for _, w in axes]).ravel()
    return points, weights


def cloud_of_ellipsoid(a, b, c):
    """A ball in spherical coordinates, stretched; the trapezium rule is exact in the longitude."""
    (r, wr), (z, wz), turns = rule(0, 1), rule(-1, 1), np.arange(16) * np.pi / 8
    r, z, u = (x.ravel() for x in np.meshgrid(r, z, turns, indexing="ij"))
    weights = np.einsum("i,j,k->ijk", wr, wz, np.ones(16)).ravel() * r * r
    across = np.sqrt(1 - z * z)
    points = np.stack([a * r * across * np.cos(u), b * r * across * np.sin(u), c * r * z], axis=-1)
    return points, weights


def cloud_of_revolution(profile, low, high):
    """A solid of revolution about z: the distance from the axis goes up to profile(z)."""
    (s, ws), (z, wz), turns = rule(0, 1), rule(low, high), np.arange(16) * np.pi / 8
    s, z, u = (x.ravel() for x in np.meshgrid(s, z, turns, indexing="ij"))
    weights = np.einsum("i,j,k->ijk", ws, wz, np.ones(16)).ravel() * s * profile(z) ** 2
    return np.stack([s * profile(z) * np.cos(u), s * profile(z) * np.sin(u), z], axis=-1), weights


SOLIDS = {
    "cuboid": (ph.RigidBody.cuboid, (0.7, 1.9, 3.1), cloud_of_cuboid),
    "ellipsoid": (ph.RigidBody.ellipsoid, (0.7, 1.9, 3.1), cloud_of_ellipsoid),
    "cylinder": (ph.RigidBody.cylinder, (0.6, 2.3), lambda r, h: cloud_of_revolution(lambda z: r + 0 * z, 0, h)),
    "cone": (ph.RigidBody.cone, (0.6, 2.3), lambda r, h: cloud_of_revolution(lambda z: r * (1 - z / h), 0, h)),
}


@pytest.mark.parametrize("name", SOLIDS)
def test_solids_against_quadrature(name):
    make, sizes, cloud = SOLIDS[name]
    body = make(2.5, *sizes)
    np.testing.assert_allclose(body.tensor, inertia_of(*cloud(*sizes), 2.5), rtol=1e-13, atol=1e-13)
    assert body.mass == 2.5
    assert body.is_principal
    ph.RigidBody(body.moments, physical=True)


def test_cone_is_about_its_mass_center_a_quarter_up():
    """About the apex the textbook's moments are 3/5 M h^2 + 3/20 M r^2 and 3/10 M r^2."""
    mass, r, h = 2.5, 0.6, 2.3
    apex = ph.RigidBody.cone(mass, r, h).about((0, 0, 0.75 * h))
    across = 0.6 * mass * h**2 + 0.15 * mass * r**2
    np.testing.assert_allclose(apex.moments, (across, across, 0.3 * mass * r**2), rtol=8 * EPS)


@given(lengths, lengths, lengths, lengths)
def test_solids_against_closed_forms(mass, a, b, c):
    cuboid = [mass * (x * x + y * y) / 12 for x, y in ((b, c), (a, c), (a, b))]
    np.testing.assert_allclose(ph.RigidBody.cuboid(mass, a, b, c).moments, cuboid, rtol=8 * EPS)
    ellipsoid = [mass * (x * x + y * y) / 5 for x, y in ((b, c), (a, c), (a, b))]
    np.testing.assert_allclose(ph.RigidBody.ellipsoid(mass, a, b, c).moments, ellipsoid, rtol=8 * EPS)
    across = mass * (3 * a * a + b * b) / 12
    np.testing.assert_allclose(
        ph.RigidBody.cylinder(mass, a, b).moments, (across, across, mass * a * a / 2), rtol=8 * EPS
    )
    across = mass * (3 * a * a / 20 + 3 * b * b / 80)
    np.testing.assert_allclose(
        ph.RigidBody.cone(mass, a, b).moments, (across, across, 0.3 * mass * a * a), rtol=12 * EPS
    )


def test_solids_in_batches():
    body = ph.RigidBody.cuboid([1.0, 2.0], [[1.0], [3.0], [5.0]], 2.0, 4.0)
    assert body.batch == (3, 2)
    np.testing.assert_allclose(body.moments[2, 1], np.array((20, 41, 29)) * 2 / 12, rtol=6 * EPS)


def test_points_against_direct_sums(rng):
    masses, r = rng.uniform(0.5, 2, 7), rng.normal(size=(7, 3)) + np.array((5, -3, 1))
    body = ph.RigidBody.points(masses, r)
    expected = inertia_of(r, masses, masses.sum())
    np.testing.assert_allclose(body.tensor, expected, atol=1e-13, rtol=0)
    assert body.mass == masses.sum()
    assert not body.is_principal


def test_about_is_the_inertia_of_the_shifted_points(rng):
    masses, r = rng.uniform(0.5, 2, 7), rng.normal(size=(7, 3))
    r -= masses @ r / masses.sum()
    places = rng.normal(size=(4, 3))
    together = ph.RigidBody.points(masses, r).about(places)
    for i, place in enumerate(places):
        expected = inertia_of(r - place, masses, masses.sum(), centered=False)
        np.testing.assert_allclose(ph.RigidBody.points(masses, r).about(place).tensor, expected, atol=2e-13, rtol=0)
        np.testing.assert_allclose(together.tensor[i], expected, atol=2e-13, rtol=0)
    assert together.mass == masses.sum()


def test_about_needs_the_mass():
    with pytest.raises(ph.InputError, match="mass"):
        ph.RigidBody((1, 2, 3)).about((1, 0, 0))


@given(st.tuples(*[st.floats(0.1, 5.0)] * 3), st.integers(0, 2**32 - 1))
def test_tensor_in_any_orientation(moments, seed):
    turn = Rotation.from_quat(random_attitude(np.random.default_rng(seed))).as_matrix()
    body = ph.RigidBody(turn @ np.diag(moments) @ turn.T)
    size = max(moments)
    np.testing.assert_allclose(np.sort(body.moments), np.sort(moments), atol=25 * EPS * size, rtol=0)
    np.testing.assert_allclose(body.tensor, turn @ np.diag(moments) @ turn.T, atol=20 * EPS * size, rtol=0)
    np.testing.assert_allclose(body.axes @ body.axes.T, np.eye(3), atol=25 * EPS, rtol=0)
    assert np.linalg.det(body.axes) > 0
    np.testing.assert_allclose(body.tensor @ body.axes, body.axes * body.moments, atol=40 * EPS * size, rtol=0)


@pytest.mark.parametrize("moments", [(3.1, 0.7, 1.3), (1e-100, 1.0, 3e40), (0.1, 0.1, 0.1)])
def test_diagonal_tensors_stay_to_the_bit(moments):
    body = ph.RigidBody(np.diag(moments))
    np.testing.assert_array_equal(body.moments, moments)
    np.testing.assert_array_equal(body.axes, np.eye(3))
    np.testing.assert_array_equal(body.tensor, np.diag(moments))


@pytest.mark.parametrize("thin", [1e-6, 1e-12, 1e-20, 1e-40])
def test_needles_keep_their_small_moment(thin):
    """D A D with a well-conditioned A: small eigenvalues are as well determined as large ones."""
    scale = np.array((np.sqrt(thin), 1.0, 1.0))
    tensor = scale[:, None] * np.array(((1.0, 0.3, -0.2), (0.3, 1.2, 0.1), (-0.2, 0.1, 1.5))) * scale
    with mp.workdps(80):
        exact = mp.eigsy(mp.matrix(tensor.tolist()), eigvals_only=True)
        exact = np.array([float(x) for x in exact])
    np.testing.assert_allclose(np.sort(ph.RigidBody(tensor).moments), np.sort(exact), rtol=40 * EPS)


def test_slightly_unsymmetric_tensors_are_symmetrized():
    tensor = np.array(((2.0, 0.1, 0.0), (0.1 + 1e-12, 3.0, 0.0), (0.0, 0.0, 4.0)))
    np.testing.assert_allclose(ph.RigidBody(tensor).tensor[0, 1], 0.1 + 5e-13, rtol=1e-14)


def test_batches_of_tensors(rng):
    turns = Rotation.from_quat(rng.normal(size=(6, 4))).as_matrix().reshape(2, 3, 3, 3)
    moments = rng.uniform(0.5, 2, (2, 3, 3))
    tensors = np.einsum("...ij,...j,...kj->...ik", turns, moments, turns)
    body = ph.RigidBody(tensors)
    assert body.batch == (2, 3)
    assert body.moments.shape == (2, 3, 3)
    assert body.axes.shape == (2, 3, 3, 3)
    for i in np.ndindex(2, 3):
        np.testing.assert_array_equal(body.moments[i], ph.RigidBody(tensors[i]).moments)
        np.testing.assert_array_equal(body.axes[i], ph.RigidBody(tensors[i]).axes)


def test_three_bodies_from_moments_are_not_a_tensor():
    rows = np.array([(1.0, 2.0, 3.0), (2.0, 3.0, 4.0), (3.0, 4.0, 5.0)])  # symmetric, of all things
    with pytest.raises(ph.InputError, match="positive definite"):
        ph.RigidBody(rows)
    body = ph.RigidBody.from_moments(rows)
    assert body.batch == (3,)
    np.testing.assert_array_equal(body.moments, rows)
    assert ph.RigidBody(rows[:2]).batch == (2,)


def test_physical():
    for make in (ph.RigidBody, ph.RigidBody.from_moments):
        make((1.0, 2.0, 3.0), physical=True)  # flat: on the edge
        make((1.0, 2.0, 3.5))
        with pytest.raises(ph.InputError, match=r"\(1, 2, 3\.5\).*physical=True"):
            make((1.0, 2.0, 3.5), physical=True)
    with pytest.raises(ph.InputError, match=r"inertia\[1\]"):
        ph.RigidBody([(1, 1, 1), (1, 5, 1)], physical=True)


def test_linear_rotor():
    body = ph.RigidBody.linear(2.0, mass=3.0)
    assert body.is_linear
    np.testing.assert_array_equal(body.moments, (0, 2, 2))
    np.testing.assert_array_equal(body.omega((0, 3, 4)), (0, 1.5, 2))
    np.testing.assert_array_equal(body.momentum((7, 1.5, 2)), (0, 3, 4))  # spin about the axis carries nothing
    assert body.kinetic_energy((0, 3, 4)) == 6.25
    np.testing.assert_array_equal(body.about((0, 0, 2)).moments, (12, 14, 2))
    assert ph.RigidBody.linear([1.0, 2.0]).batch == (2,)


@given(st.tuples(*[st.floats(0.1, 5.0)] * 3), vectors, st.integers(0, 2**32 - 1))
def test_momentum_and_omega(moments, vector, seed):
    turn = Rotation.from_quat(random_attitude(np.random.default_rng(seed))).as_matrix()
    tensor = turn @ np.diag(moments) @ turn.T
    body, size = ph.RigidBody(tensor), np.linalg.norm(vector)
    spread = max(moments) / min(moments)
    np.testing.assert_allclose(body.momentum(vector), tensor @ vector, atol=40 * EPS * size * max(moments), rtol=0)
    np.testing.assert_allclose(
        body.omega(vector), np.linalg.solve(tensor, vector), atol=60 * EPS * spread * size / min(moments), rtol=0
    )
    np.testing.assert_allclose(body.omega(body.momentum(vector)), vector, atol=60 * EPS * spread * size, rtol=0)
    energy = 0.5 * np.dot(vector, np.linalg.solve(tensor, vector))
    np.testing.assert_allclose(
        body.kinetic_energy(vector), energy, atol=60 * EPS * spread * size**2 / min(moments), rtol=0
    )


def test_kinetic_energy_is_exact_for_simple_numbers():
    expected = sum(Fraction(m * m, moment) for m, moment in zip((1, 2, 3), (2, 4, 8), strict=True)) / 2
    assert ph.RigidBody((2, 4, 8)).kinetic_energy((1, 2, 3)) == expected
    assert ph.RigidBody(np.ones((4, 3))).kinetic_energy(np.ones((2, 1, 3))).shape == (2, 4)


def test_arrays_cannot_be_changed_behind_the_body():
    given_moments = np.array((1.0, 2.0, 3.0))
    body = ph.RigidBody(given_moments)
    given_moments[0] = -1
    assert body.moments[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        body.moments[0] = 5


def test_axes_of_principal_bodies():
    np.testing.assert_array_equal(ph.RigidBody(np.ones((4, 3))).axes, np.broadcast_to(np.eye(3), (4, 3, 3)))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (ph.RigidBody((1, 2, 3)), "RigidBody((1, 2, 3))"),
        (ph.RigidBody((1, 2, 3), mass=4), "RigidBody((1, 2, 3), mass=4)"),
        (ph.RigidBody.linear(2.5), "RigidBody.linear(2.5)"),
        (ph.RigidBody(np.eye(3)), "RigidBody((1, 1, 1) in turned axes)"),
        (ph.RigidBody(np.ones((4, 5, 3)), mass=np.ones(5)), "RigidBody(<4x5 bodies>)"),
        (ph.RigidBody.linear(np.ones(4)), "RigidBody(<4 linear rotors>)"),
    ],
    ids=str,
)
def test_repr(body, text):
    assert repr(body) == text


def test_select(rng):
    turns = Rotation.from_quat(rng.normal(size=(4, 4))).as_matrix()
    tensors = turns @ (np.eye(3) * rng.uniform(0.5, 2, (4, 1, 3))) @ np.swapaxes(turns, -2, -1)
    body = ph.RigidBody(tensors, mass=[1.0, 2.0, 3.0, 4.0])
    one = body.select((5, 4), (0, 2))
    assert one.batch == ()
    assert one.mass == 3
    np.testing.assert_array_equal(one.moments, body.moments[2])
    np.testing.assert_array_equal(one.axes, body.axes[2])
    some = body.select((4,), slice(1, 3))
    assert some.batch == (2,)
    np.testing.assert_array_equal(some.mass, (2, 3))
    assert ph.RigidBody.linear([1.0, 2.0]).select((2,), 1).is_linear
    assert ph.RigidBody((1, 2, 3)).select((7,), 3).mass is None


def test_t_handle_against_its_own_integrals():
    """Two rods: closed forms about the common center, without any help from RigidBody."""
    from polhode.problems.dzhanibekov import BAR, RADIUS, STEEL, STEM, t_handle

    stem, bar = (STEEL * np.pi * RADIUS**2 * length for length in (STEM, BAR))
    shift = stem * 0.5 * STEM / (stem + bar)  # of the common center along the stem
    thin = [mass * (3 * RADIUS**2 + length**2) / 12 for mass, length in ((stem, STEM), (bar, BAR))]
    steiner = stem * (0.5 * STEM - shift) ** 2 + bar * shift**2
    expected = (
        stem * RADIUS**2 / 2 + thin[1],
        thin[0] + bar * RADIUS**2 / 2 + steiner,
        thin[0] + thin[1] + steiner,
    )
    body = t_handle()
    np.testing.assert_allclose(body.moments, expected, rtol=1e-14)
    np.testing.assert_allclose(body.mass, stem + bar, rtol=1e-15)
    assert np.argsort(body.moments).tolist() == [1, 0, 2]  # the stem is the middle axis


def test_batch_and_tensor_give_the_same_flow(rng):
    tensors = np.stack([ph.RigidBody.points(rng.uniform(1, 2, 5), rng.normal(size=(5, 3))).tensor for _ in range(3)])
    m, q = rng.normal(size=(3, 3)), random_attitude(rng, 3)
    together = ph.propagate(ph.RigidBody(tensors), m, q, 2.0)
    for i in range(3):
        alone = ph.propagate(tensors[i], m[i], q[i], 2.0)
        np.testing.assert_allclose(together[0][i], alone[0], atol=1e-14, rtol=0)
        np.testing.assert_allclose(together[1][i], alone[1], atol=1e-14, rtol=0)
