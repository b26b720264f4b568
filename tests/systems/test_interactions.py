"""Interactions against derivatives of their energies in high precision, against sums pair by pair, and each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

import polhode as ph
from conftest import EPS, random_attitude
from polhode.core.errors import InputError, ShapeError
from polhode.core.rotation import from_rotation_vector, matrix
from polhode.forces.functions import SlowTorqueWarning
from polhode.kernels.compiler import JIT
from polhode.kernels.pairs.dipoles import few_dipoles
from polhode.kernels.pairs.pairs import few_pairs
from polhode.kernels.stepping.status import Status
from polhode.systems.interactions import DipolarSoftSpheres, Field, PairPotential, SitePotential
from polhode.systems.interactions.dipoles import parts_of
from polhode.systems.system import System

MU, EPSILON, SIGMA = (0.1, 1.0, 1.2), 1.3, 0.9


def bodies(n, rng, spread=2.0):
    """Places on a bent line, at least 1 apart, and random attitudes."""
    x = np.stack([1.3 * np.arange(n), np.zeros(n), np.zeros(n)], axis=-1)
    return spread / 2.0 * x + 0.1 * rng.normal(size=(n, 3)), matrix(random_attitude(rng, n))


def forces(interaction, x, Q, t=0.0):
    """(energy, forces, torques)"""
    force, torque = np.zeros_like(x), np.zeros_like(x)
    return interaction.evaluate(t, x, Q, force, torque), force, torque


def dipole_energy(x, d, eps, sig):
    """Celledoni et al. 2008, section 3.4, as printed, in the arithmetic of mpmath."""
    total = mpf(0)
    for i in range(len(x)):
        for j in range(i):
            r = [a - b for a, b in zip(x[i], x[j], strict=True)]
            length = mp.norm(r)
            total += 4 * eps * (sig / length) ** 12 + mp.fdot(d[i], d[j]) / length**3
            total -= 3 * mp.fdot(d[i], r) * mp.fdot(d[j], r) / length**5
    return total


def slope(energy, k):
    """dV/de_k by a difference quotient, good to 1e-30."""
    e = mpf(10) ** -18
    return (energy(k, e) - energy(k, -e)) / (2 * e)


def test_dipoles_are_derivatives_of_the_printed_energy(rng):
    x, Q = bodies(4, rng)
    energy, force, torque = forces(DipolarSoftSpheres(MU, EPSILON, SIGMA), x, Q)
    with mp.workdps(50):
        X = [[mpf(float(a)) for a in row] for row in x]
        d = [[mp.fdot([mpf(float(a)) for a in row], MU) for row in A] for A in Q]

        def shifted(i):
            return lambda k, e: dipole_energy(
                [[a + e * ((n, c) == (i, k)) for c, a in enumerate(row)] for n, row in enumerate(X)], d, EPSILON, SIGMA
            )

        def turned(i):
            def at(k, e):
                a, b, c = d[i][k], d[i][(k + 1) % 3], d[i][(k + 2) % 3]
                new = [None] * 3
                new[k], new[(k + 1) % 3], new[(k + 2) % 3] = (
                    a,
                    mp.cos(e) * b - mp.sin(e) * c,
                    mp.sin(e) * b + mp.cos(e) * c,
                )
                return dipole_energy(X, [new if n == i else row for n, row in enumerate(d)], EPSILON, SIGMA)

            return at

        true_force = np.array([[-float(slope(shifted(i), k)) for k in range(3)] for i in range(4)])
        true_torque = np.array([[-float(slope(turned(i), k)) for k in range(3)] for i in range(4)])
        assert abs(energy / float(dipole_energy(X, d, EPSILON, SIGMA)) - 1) < 30 * EPS
    assert abs(force - true_force).max() < 40 * EPS * abs(true_force).max()
    assert abs(torque - true_torque).max() < 40 * EPS * abs(true_torque).max()


def pair_by_pair(x, d, eps, sig):
    """(energy, forces, torques) of dipoles, all pairs as arrays."""
    r = x[:, None] - x[None]
    square = np.sum(r * r, axis=-1)
    np.fill_diagonal(square, np.inf)
    u = square[..., None] ** -0.5
    de, dr, er = np.sum(d[:, None] * d, -1, keepdims=True), *(np.sum(v * r, -1, keepdims=True) for v in (d[:, None], d))
    F = (48 * eps * sig**12 * u**14 + 3 * de * u**5 - 15 * dr * er * u**7) * r + 3 * u**5 * (d[:, None] * er + d * dr)
    g = u**3 * d - 3 * er * u**5 * r
    V = 4 * eps * (sig * u) ** 12 + de * u**3 - 3 * dr * er * u**5
    return V.sum() / 2, F.sum(axis=1), np.cross(g.sum(axis=1), d)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 33])
def test_dipoles_of_any_number(n, rng):
    """Tiles that are full, nearly full, and just begun; a dipole for each body."""
    x, Q = bodies(n, rng)
    mu = rng.normal(size=(n, 3))
    found = forces(DipolarSoftSpheres(mu, EPSILON, SIGMA), x, Q)
    true = pair_by_pair(x, np.einsum("nij,nj->ni", Q, mu), EPSILON, SIGMA)
    for a, b in zip(found, true, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=110 * EPS * (np.abs(b).max() + (n == 1)))


@pytest.mark.dense
@pytest.mark.parametrize("n", [270, 500, 1000])
def test_dipoles_in_parts(n, rng):
    x, Q = 9.0 * rng.normal(size=(n, 3)), matrix(random_attitude(rng, n))
    found = forces(DipolarSoftSpheres(MU, 1e-8), x, Q)
    true = pair_by_pair(x, Q @ MU, 1e-8, 1.0)
    for a, b in zip(found, true, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e4 * EPS * np.abs(b).max())


@pytest.mark.dense
def test_threads_change_no_bit(rng, monkeypatch):
    n = 1000
    assert parts_of(n) > 1
    x, Q = 9.0 * rng.normal(size=(n, 3)), matrix(random_attitude(rng, n))
    for interaction in (DipolarSoftSpheres(MU), PairPotential(spring, spring_gradient, (1.0, 0.5))):
        runs = []
        for threads in ("1", "3"):
            monkeypatch.setenv("POLHODE_NUM_THREADS", threads)
            runs.append(forces(interaction, x, Q))
        assert all(np.array_equal(a, b) for a, b in zip(*runs, strict=True))


def dipole_pair(r, A, B, p):
    """The energy of two dipoles p, as a user writes it."""
    d = [p[0] * row[0] + p[1] * row[1] + p[2] * row[2] for row in A]
    e = [p[0] * row[0] + p[1] * row[1] + p[2] * row[2] for row in B]
    square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    de = d[0] * e[0] + d[1] * e[1] + d[2] * e[2]
    dr, er = d[0] * r[0] + d[1] * r[1] + d[2] * r[2], e[0] * r[0] + e[1] * r[1] + e[2] * r[2]
    return 4.0 * p[3] * (p[4] ** 2 / square) ** 6 + de * square**-1.5 - 3.0 * dr * er * square**-2.5


def spring(r, A, B, p):
    """A spring between the places p[1] e3 of two bodies."""
    d = [r[i] + p[1] * (A[i][2] - B[i][2]) for i in range(3)]
    return 0.5 * p[0] * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2])


def spring_gradient(r, A, B, p):
    x, y, z = (
        p[0] * (r[0] + p[1] * (A[0][2] - B[0][2])),
        p[0] * (r[1] + p[1] * (A[1][2] - B[1][2])),
        p[0] * (r[2] + p[1] * (A[2][2] - B[2][2])),
    )
    s = p[1]
    G = (0.0, 0.0, s * x), (0.0, 0.0, s * y), (0.0, 0.0, s * z)
    H = (0.0, 0.0, -s * x), (0.0, 0.0, -s * y), (0.0, 0.0, -s * z)
    return (x, y, z), G, H


def test_pair_energies_by_complex_steps_are_those_of_the_ready_made(rng):
    x, Q = bodies(5, rng)
    by_hand = PairPotential(dipole_pair, params=(*MU, EPSILON, SIGMA))
    by_hand.check(0.0, x, Q)
    for a, b in zip(forces(by_hand, x, Q), forces(DipolarSoftSpheres(MU, EPSILON, SIGMA), x, Q), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=100 * EPS * np.abs(b).max())


@pytest.mark.skipif(not JIT, reason="plain Python has no compiled forces of few bodies")
@pytest.mark.parametrize(
    ("interaction", "kernel"),
    [(DipolarSoftSpheres(MU), few_dipoles), (PairPotential(spring, spring_gradient, (2.0, 0.7)), few_pairs)],
)
def test_the_forces_of_a_compiled_loop_are_those_of_python(interaction, kernel, rng):
    x, Q = bodies(5, rng)
    energy, *true = forces(interaction, x, Q)
    found = np.zeros_like(x), np.zeros_like(x)
    _, numbers, sizes = interaction.compiled(len(x))
    assert kernel(0.0, x, Q, *found, numbers, sizes) == (Status.REACHED_END, energy)
    np.testing.assert_array_equal(found, true)


def test_gradients_and_complex_steps_agree(rng):
    x, Q = bodies(5, rng)
    params = 2.0, 0.7
    given, derived = PairPotential(spring, spring_gradient, params), PairPotential(spring, params=params)
    given.check(0.0, x, Q)
    for a, b in zip(forces(given, x, Q), forces(derived, x, Q), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=100 * EPS * np.abs(b).max())


def test_a_gradient_that_is_wrong_is_refused(rng):
    def wrong(r, A, B, p):
        g, G, H = spring_gradient(r, A, B, p)
        return g, H, G

    x, Q = bodies(3, rng)
    with pytest.raises(InputError, match="not the derivatives of the energy"):
        PairPotential(spring, wrong, (2.0, 0.7)).check(0.0, x, Q)


def test_energies_that_take_no_complex_numbers_are_refused(rng):
    x, Q = bodies(3, rng)
    with pytest.raises(InputError, match=r"not the derivatives.*complex"):
        PairPotential(lambda r, A, B, p: abs(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])).check(0.0, x, Q)
    rooted = PairPotential(lambda r, A, B, p: math.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]))
    with pytest.raises(InputError, match="complex arguments"):
        rooted.check(0.0, x, Q)


def test_sites_are_a_sum_over_sites(rng):
    """Charges on three sites against a plain double sum, forces and torques by hand."""
    sites, charges = rng.normal(size=(3, 3)) * 0.2, np.array([0.5, -0.8, 0.3])
    x, Q = bodies(4, rng)
    places = x[:, None] + np.einsum("nij,sj->nsi", Q, sites)
    energy, force, torque = 0.0, np.zeros_like(x), np.zeros_like(x)
    for i in range(4):
        for j in range(4):
            if i == j:
                continue
            for a, b in np.ndindex(3, 3):
                r = places[i, a] - places[j, b]
                size = np.linalg.norm(r)
                f = charges[a] * charges[b] * r / size**3
                energy += 0.5 * charges[a] * charges[b] / size
                force[i] += f
                torque[i] += np.cross(places[i, a] - x[i], f)

    def coulomb(r, a, b, p):
        return p[0] * a[0] * b[0] / r

    def coulomb_slope(r, a, b, p):
        return -p[0] * a[0] * b[0] / (r * r)

    for slope_ in (None, coulomb_slope):
        interaction = SitePotential(sites, coulomb, slope_, site_params=charges[:, None], params=(1.0,))
        interaction.check(0.0, x, Q)
        found = forces(interaction, x, Q)
        for a, b in zip(found, (energy, force, torque), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=300 * EPS * np.abs(b).max())


def pull(t, x, Q, F, T, p):
    for i in range(x.shape[0]):
        F[i, 2] = -p[0] * x[i, 2]
        T[i, 0] = t * Q[i, 0, 1]


def pull_energy(t, x, Q, p):
    total = 0.0
    for i in range(x.shape[0]):
        total += 0.5 * p[0] * x[i, 2] ** 2
    return total


@pytest.mark.parametrize("arrays", [False, True])
def test_fields_in_both_frames(arrays, rng):
    x, Q = bodies(3, rng)
    for frame in ("body", "space"):
        field = Field(pull, [2.0], energy=pull_energy, frame=frame, arrays=arrays)
        _, force, torque = forces(field, x, Q, t=0.5)
        true = np.zeros((3, 3))
        true[:, 0] = 0.5 * Q[:, 0, 1]
        np.testing.assert_allclose(force, np.stack([0 * x[:, 0], 0 * x[:, 0], -2.0 * x[:, 2]], axis=-1))
        np.testing.assert_allclose(torque, true if frame == "space" else np.einsum("nij,nj->ni", Q, true), atol=1e-15)
        assert field.energy(0.0, x, Q) == pytest.approx(np.sum(x[:, 2] ** 2))


def height(t, x, Q, p):
    return p[0] * x[:, 2].sum()


def lift(t, x, Q, F, T, p):
    F[:, 2] = -p[0] * Q[:, 2, 2]


def test_compiled_fields_take_the_arrays_of_states():
    """They are read-only, as those of a start are."""
    x, Q = np.array([(0.0, 0, 1), (0, 0, 2)]), np.stack([np.eye(3)] * 2)
    for array in (x, Q):
        array.setflags(write=False)
    force, torque = np.zeros((2, 3)), np.zeros((2, 3))
    field = Field(lift, [2.0], energy=height)
    field.evaluate(0.0, x, Q, force, torque)
    np.testing.assert_array_equal(force[:, 2], -2.0)
    assert field.energy(0.0, x, Q) == 6.0


@pytest.mark.dense
def test_a_field_that_numba_cannot_compile_runs_all_the_same(rng):
    def odd(t, x, Q, F, T, p):
        F[:, 0] = len({"a": 1, 2: "b"})

    x, Q = bodies(3, rng)
    with pytest.warns(SlowTorqueWarning, match="odd"):
        _, force, _ = forces(Field(odd), x, Q)
    assert (force[:, 0] == 2.0).all()


def test_interactions_add_up(rng):
    x, Q = bodies(3, rng)
    parts = (
        DipolarSoftSpheres(MU),
        PairPotential(spring, spring_gradient, (2.0, 0.7)),
        Field(pull, [2.0], energy=pull_energy),
    )
    total = parts[0] + parts[1] + parts[2]
    _, force, torque = forces(total, x, Q)
    np.testing.assert_allclose(force, sum(forces(part, x, Q)[1] for part in parts))
    np.testing.assert_allclose(torque, sum(forces(part, x, Q)[2] for part in parts))
    assert total.energy(0.0, x, Q) == pytest.approx(sum(part.energy(0.0, x, Q) for part in parts))
    assert total.has_energy
    assert not (total + Field(pull, [1.0])).has_energy
    np.testing.assert_allclose(total.dipoles(Q), Q @ MU)
    with pytest.raises(AttributeError, match="no energy"):
        Field(pull, [1.0]).energy(0.0, x, Q)
    with pytest.raises(AttributeError, match="has no dipoles"):
        parts[1].dipoles(Q)


def test_dipoles_turn_with_the_bodies(rng):
    q = random_attitude(rng, 2)
    Q = matrix(q)
    turn = matrix(from_rotation_vector((0.0, 0.0, 0.5)))
    found = DipolarSoftSpheres(MU).dipoles(turn @ Q)
    np.testing.assert_allclose(found, np.einsum("ij,nj->ni", turn, DipolarSoftSpheres(MU).dipoles(Q)))


@pytest.mark.parametrize(
    ("make", "error", "told"),
    [
        (lambda: DipolarSoftSpheres((0, 1)), ShapeError, "dipole"),
        (lambda: DipolarSoftSpheres((0, 1, np.nan)), InputError, "finite"),
        (lambda: DipolarSoftSpheres((0, 0, 1), sigma=0.0), InputError, "sigma"),
        (lambda: DipolarSoftSpheres((0, 0, 1), epsilon=-1.0), InputError, "epsilon"),
        (lambda: PairPotential(3), InputError, r"energy\(r, A, B, p\)"),
        (lambda: PairPotential(lambda r: 0.0), InputError, "cannot be called"),
        (lambda: PairPotential(spring, params=np.zeros((2, 2))), ShapeError, "params"),
        (lambda: SitePotential((0, 0, 1), lambda r, a, b, p: r), ShapeError, r"\(s, 3\)"),
        (lambda: SitePotential([(0, 0, 1)], lambda r, a, b, p: r, site_params=[1.0]), ShapeError, "site_params"),
        (lambda: Field(lambda t: None), InputError, "cannot be called"),
        (lambda: Field(pull, frame="moon"), InputError, "frame"),
    ],
)
def test_bad_input(make, error, told):
    with pytest.raises(error, match=told):
        make()


def test_a_dipole_for_each_body(rng):
    x, _ = bodies(3, rng)
    with pytest.raises(ShapeError, match="2 rows, and there are 3 bodies"):
        System(
            ph.RigidBody((1, 2, 3), mass=1), ph.State(np.zeros((3, 3)), x=x), DipolarSoftSpheres([(0, 0, 1), (0, 1, 0)])
        )


def test_what_a_pair_function_raises_is_raised(rng):
    def touchy(r, A, B, p):
        if p[0] > 1.0:
            raise ZeroDivisionError("too close")
        return (r[0] * r[0]) * p[0]

    x, Q = bodies(3, rng)
    gradient_of = PairPotential(touchy, lambda r, A, B, p: ((2.0 * r[0] * p[0], 0.0, 0.0), ZEROS, ZEROS), (2.0,))
    with pytest.raises(ZeroDivisionError, match="too close"):
        forces(gradient_of, x, Q)


ZEROS = ((0.0, 0.0, 0.0),) * 3
