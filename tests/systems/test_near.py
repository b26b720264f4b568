"""Boxes, cut-offs and lists of neighbors: against all pairs by brute force, and against energies in high precision."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

import polhode as ph
from conftest import EPS, random_attitude
from polhode.core.errors import InputError, RunError
from polhode.core.rotation import matrix
from polhode.kernels.compiler import JIT
from polhode.solve import integrate
from polhode.systems.interactions import DipolarSoftSpheres, Field, Molecular, PairPotential, SitePotential
from polhode.systems.interactions.near import NearInteraction
from polhode.systems.interactions.neighbors import Box, Neighbors, closest_pair
from polhode.systems.system import System

BODY = ph.RigidBody((1.0, 1.88, 2.88), mass=1.0)
SITES = np.array([(0.1, 0.2, -0.1), (-0.2, 0.1, 0.15), (0.05, -0.25, 0.1)])
CHARGES, SIGMA, EPSILON = np.array([0.4, -0.7, 0.3]), np.array([0.5, 0.3, 0.4]), np.array([0.7, 0.0, 0.2])
LENGTHS = np.array([4.0, 5.0, 4.5])
CUTOFF, SWITCH = 1.9, 1.3


def pairs_within(x, reach, box):
    r = box.nearest(x[:, None] - x[None])
    return {(i, j) for i, j in np.argwhere((r * r).sum(axis=-1) <= reach**2).tolist() if i < j}


def listed(found):
    return [(i, int(j)) for i in range(len(found.x)) for j in found.others[found.starts[i] : found.stops[i]]]


@pytest.mark.parametrize("lengths", [None, 3.0, (3.0, 9.0, 5.0), (2.1, 2.2, 30.0), 12.0])
@pytest.mark.parametrize("n", [1, 2, 60, pytest.param(700, marks=pytest.mark.dense)])
def test_lists_have_every_pair_once_and_in_order(lengths, n, rng):
    """Boxes of one cell, of many, and thin ones; bodies that have left the box."""
    box = Box(lengths)
    x = 12.0 * rng.normal(size=(n, 3)) * (0.2 if lengths is None else 1.0)
    for reach in (0.3, 1.0, 1.5):
        pairs = listed(Neighbors(x, reach, box))
        assert pairs == sorted(pairs)
        assert len(pairs) == len(set(pairs))
        assert set(pairs) == pairs_within(x, reach, box)
    assert len(listed(Neighbors(x, np.inf, Box()))) == n * (n - 1) // 2


def test_bodies_on_the_walls_of_cells():
    """Places at 0 and at the length of the box are one place; all of a lattice lie on the walls."""
    box = Box(6.0)
    x = np.stack(np.meshgrid(*[np.arange(7.0)] * 3), axis=-1).reshape(-1, 3)
    assert set(listed(Neighbors(x, 1.0, box))) == pairs_within(x, 1.0, box)


def test_rows_that_are_longer_than_expected(rng):
    """A crowd in one corner of open space."""
    x = np.concatenate([0.01 * rng.normal(size=(40, 3)), 100.0 * rng.normal(size=(40, 3))])
    assert set(listed(Neighbors(x, 0.5, Box()))) == pairs_within(x, 0.5, Box())


def test_the_closest_pair(rng):
    for box in (Box(), Box((3.0, 4.0, 50.0))):
        x = 5.0 * rng.normal(size=(50, 3))
        distances = np.linalg.norm(box.nearest(x[:, None] - x[None]), axis=-1) + 1e9 * np.eye(50)
        i, j, distance = closest_pair(x, box)
        assert distance == pytest.approx(distances.min(), rel=1e-14)
        assert distances[i, j] == distances.min()
    assert closest_pair(np.zeros((1, 3)), Box()) == (0, 0, 0.0)
    assert closest_pair(np.zeros((3, 3)), Box()) == (0, 1, 0.0)
    assert closest_pair(np.array([(0.0, 0, 0), (1, 1, 1)]), Box())[2] == pytest.approx(3**0.5)
    assert closest_pair(np.array([(0.0, 0, 0), (0, 0, 1e-3), (0, 0, 1e6)]), Box())[2] == pytest.approx(1e-3)


def falling(R, begin, end):
    """1 up to ``begin``, 0 from ``end`` on: the polynomial of degree 7 with three zero derivatives at both."""
    u = (R - begin) / (end - begin)
    if u <= 0:
        return mpf(1)
    return mpf(0) if u >= 1 else 1 - 35 * u**4 + 84 * u**5 - 70 * u**6 + 20 * u**7


def test_the_switch_has_three_derivatives():
    with mp.workdps(60):
        for end, value in ((mpf(1), 1), (mpf(2), 0)):
            assert mp.almosteq(falling(end, 1, 2), value)
            for order in (1, 2, 3):
                assert abs(mp.diff(lambda R: falling(R, mpf(1), mpf(2)), end, order, h=mpf(10) ** -12)) < 1e-8
            assert abs(mp.diff(lambda R: falling(R, mpf(1), mpf(2)), end, 4, h=mpf(10) ** -12)) > 100


def site_energy(r, a, b, far):
    """Of two sites, as printed."""
    distance, depth = (SIGMA[a] + SIGMA[b]) / 2, mp.sqrt(EPSILON[a] * EPSILON[b])
    lennard_jones = 4 * depth * ((distance / r) ** 12 - (distance / r) ** 6)
    return lennard_jones + mpf(CHARGES[a]) * mpf(CHARGES[b]) * far(r)


def molecular_energy(x, Q, far):
    """Of molecules at x with attitudes Q, the nearest image of every pair, in the arithmetic of mpmath."""
    total = mpf(0)
    for i in range(len(x)):
        for j in range(i):
            r = [a - b for a, b in zip(x[i], x[j], strict=True)]
            r = [a - mpf(L) * mp.nint(a / mpf(L)) for a, L in zip(r, LENGTHS, strict=True)]
            R = mp.norm(r)
            if R >= CUTOFF:
                continue
            pair = mpf(0)
            for a in range(3):
                for b in range(3):
                    d = [
                        r[c] + mp.fdot(Q[i][c], SITES[a].tolist()) - mp.fdot(Q[j][c], SITES[b].tolist())
                        for c in range(3)
                    ]
                    pair += site_energy(mp.norm(d), a, b, far)
            total += falling(R, mpf(SWITCH), mpf(CUTOFF)) * pair
    return total


def turned(Q, k, e):
    """exp(e hat(e_k)) Q"""
    a, b, c = Q[k], Q[(k + 1) % 3], Q[(k + 2) % 3]
    rows = [None] * 3
    rows[k] = a
    rows[(k + 1) % 3] = [mp.cos(e) * s - mp.sin(e) * t for s, t in zip(b, c, strict=True)]
    rows[(k + 2) % 3] = [mp.sin(e) * s + mp.cos(e) * t for s, t in zip(b, c, strict=True)]
    return rows


def crowd(rng):
    """Five molecules in the box: pairs that are near, far, between, and on the other side of a wall."""
    x = np.array([(0.1, 0.2, 0.1), (1.5, 0.3, -0.2), (-1.5, -0.9, 0.4), (0.3, 1.5, 1.0), (2.4, 0.4, -9.2)])
    x += 0.05 * rng.normal(size=(5, 3))
    r = np.linalg.norm(Box(LENGTHS).nearest(x[:, None] - x[None]), axis=-1)[np.triu_indices(5, 1)]
    assert (r < SWITCH).any()
    assert (r > CUTOFF).any()
    assert ((r > SWITCH) & (r < CUTOFF)).sum() > 2
    return x, matrix(random_attitude(rng, 5))


def reaction_field(permittivity):
    """Tironi et al. 1995, eqs. 9, 10."""
    k = mpf(permittivity - 1) / (2 * permittivity + 1) / mpf(CUTOFF) ** 3
    return lambda r: 1 / r + k * r**2 - 3 * mpf(permittivity) / (2 * permittivity + 1) / mpf(CUTOFF)


FAR = {
    ("reaction field", np.inf): lambda r: 1 / r + r**2 / (2 * mpf(CUTOFF) ** 3) - 3 / (2 * mpf(CUTOFF)),
    ("reaction field", 78.5): reaction_field(78.5),
    ("shifted force", 1.0): lambda r: 1 / r - 1 / mpf(CUTOFF) + (r - CUTOFF) / mpf(CUTOFF) ** 2,
    ("plain", 1.0): lambda r: 1 / r,
}


@pytest.mark.parametrize(("kind", "permittivity"), FAR)
def test_molecules_are_derivatives_of_their_energy(kind, permittivity, rng):
    x, Q = crowd(rng)
    molecules = Molecular(
        SITES, charges=CHARGES, sigma=SIGMA, epsilon=EPSILON, cutoff=CUTOFF, switch=SWITCH, electrostatics=kind,
        permittivity=permittivity, coulomb=1.0,
    ).in_box(Box(LENGTHS))  # fmt: skip
    force, torque = np.zeros((5, 3)), np.zeros((5, 3))
    energy = molecules.evaluate(0.0, x, Q, force, torque)
    far = FAR[kind, permittivity]
    with mp.workdps(50):
        X, A = [[mpf(v) for v in row] for row in x.tolist()], [[[mpf(v) for v in r] for r in M] for M in Q.tolist()]
        assert abs(energy / float(molecular_energy(X, A, far)) - 1) < 100 * EPS
        e = mpf(10) ** -18
        for i, k in ((0, 0), (1, 1), (2, 2), (3, 1), (4, 2)):

            def moved(s, i=i, k=k):
                return [[v + s * ((n, c) == (i, k)) for c, v in enumerate(row)] for n, row in enumerate(X)]

            def rotated(s, i=i, k=k):
                return [turned(M, k, s) if n == i else M for n, M in enumerate(A)]

            slope = (molecular_energy(moved(e), A, far) - molecular_energy(moved(-e), A, far)) / (2 * e)
            turn = (molecular_energy(X, rotated(e), far) - molecular_energy(X, rotated(-e), far)) / (2 * e)
            assert abs(force[i, k] + float(slope)) < 100 * EPS * abs(force).max()
            assert abs(torque[i, k] + float(turn)) < 100 * EPS * abs(torque).max()


def coulomb_lj(r, a, b, p):
    sigma, depth = (a[1] + b[1]) / 2, (a[2] * b[2]) ** 0.5
    return 4 * depth * ((sigma / r) ** 12 - (sigma / r) ** 6) + a[0] * b[0] / r


def dipole_energy(r, A, B, p):
    d, e = [row[2] for row in A], [row[2] for row in B]
    rr = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    de = d[0] * e[0] + d[1] * e[1] + d[2] * e[2]
    dr, er = d[0] * r[0] + d[1] * r[1] + d[2] * r[2], e[0] * r[0] + e[1] * r[1] + e[2] * r[2]
    return 4.0 * rr**-6 + de * rr**-1.5 - 3.0 * dr * er * rr**-2.5


CUT = {"cutoff": CUTOFF, "switch": SWITCH}


def forces(interaction, x, Q, lengths=None):
    force, torque = np.zeros_like(x), np.zeros_like(x)
    return interaction.in_box(Box(lengths)).evaluate(0.0, x, Q, force, torque), force, torque


@pytest.mark.parametrize("cut", [{}, CUT])
def test_ways_to_write_the_same_interaction(cut, rng):
    """With all pairs, and with a cut-off in a box: the vectorized kernels and pair functions of the user."""
    x, Q = crowd(rng)
    lengths = LENGTHS if cut else None
    own = np.stack([CHARGES, SIGMA, EPSILON], axis=-1)
    molecules = Molecular(
        SITES, charges=CHARGES, sigma=SIGMA, epsilon=EPSILON, electrostatics="plain", coulomb=1.0, **cut
    )
    for first, second in (
        (molecules, SitePotential(SITES, coulomb_lj, site_params=own, **cut)),
        (DipolarSoftSpheres((0, 0, 1), **cut), PairPotential(dipole_energy, **cut)),
    ):
        second.in_box(Box(lengths)).check(0.0, x, Q)
        for a, b in zip(forces(first, x, Q, lengths), forces(second, x, Q, lengths), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=600 * EPS * np.abs(b).max())


def test_sums_in_a_box(rng):
    x, Q = crowd(rng)
    parts = DipolarSoftSpheres((0, 0, 1), **CUT), PairPotential(dipole_energy, cutoff=1.0)
    both = forces(parts[0] + parts[1], x, Q, LENGTHS)
    for total, *one in zip(both, *(forces(part, x, Q, LENGTHS) for part in parts), strict=True):
        np.testing.assert_allclose(total, sum(one), rtol=0, atol=10 * EPS * np.abs(total).max())
    with pytest.raises(InputError, match="no cut-off"):
        (parts[0] + PairPotential(dipole_energy)).in_box(Box(LENGTHS))


def lattice(side=6, skin=None, spacing=1.4, cutoff=3.0, kT=0.5, **more):
    interaction = DipolarSoftSpheres((0, 0.3, 0.3), cutoff=cutoff, skin=skin)
    return System.lattice(BODY, side, spacing, interaction, kT=kT, seed=2, box=side * spacing, **more)


def test_images_are_one_body(rng):
    system = lattice(5)
    x, Q = system.state.x, matrix(system.state.q)
    elsewhere = x + system.box.lengths * rng.integers(-3, 4, size=x.shape)
    for a, b in zip(
        forces(system.interaction, x, Q, system.box.lengths),
        forces(system.interaction, elsewhere, Q, system.box.lengths),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e4 * EPS * np.abs(b).max())
    np.testing.assert_allclose(system.box.wrapped(elsewhere), system.box.wrapped(x), atol=1e-14)
    assert (np.abs(system.box.wrapped(elsewhere)) <= system.box.lengths / 2).all()


def made(monkeypatch):
    """Counts the lists that are made."""
    count = [0]
    original = Neighbors.__init__

    def counted(self, *args):
        count[0] += 1
        original(self, *args)

    monkeypatch.setattr(Neighbors, "__init__", counted)
    return count


def test_no_bit_depends_on_when_lists_are_made(monkeypatch):
    count = made(monkeypatch)
    side, steps = (6, 40) if JIT else (5, 3)
    runs, lists = [], []
    for skin in (1e-9, 0.2, 1.0):
        system = lattice(side, skin)
        count[0] = 0
        traj = integrate(system, (0.0, 0.02 * steps), method="V2", h=0.02, save_every=steps)
        runs.append((traj.x, traj.p, traj.m, traj.q, traj.energy))
        lists.append(count[0])
    assert not JIT or lists[0] > steps > lists[1] > lists[2]
    for other in runs[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(runs[0], other, strict=True))


@pytest.mark.dense
def test_threads_change_no_bit(monkeypatch):
    system = lattice(14)
    x, Q = system.state.x, matrix(system.state.q)
    runs = []
    for threads in ("1", "3"):
        monkeypatch.setenv("POLHODE_NUM_THREADS", threads)
        runs.append(forces(system.interaction, x, Q, system.box.lengths))
    assert all(np.array_equal(a, b) for a, b in zip(*runs, strict=True))


@pytest.mark.dense
def test_lists_of_many_bodies_in_threads(monkeypatch, rng):
    """Found by threads or not, and against a tree of another library."""
    from scipy.spatial import cKDTree

    n, box = 20_000, Box(30.0)
    x = 30.0 * rng.random((n, 3))
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("POLHODE_NUM_THREADS", threads)
        found.append(Neighbors(x, 1.5, box))
    np.testing.assert_array_equal(found[0].others, found[1].others)
    true = cKDTree(x, boxsize=30.0).query_pairs(1.5, output_type="ndarray")
    true = true[np.lexsort((true[:, 1], true[:, 0]))]
    np.testing.assert_array_equal(np.array(listed(found[0])), true)


@pytest.mark.dense
def test_energy_and_momentum_in_a_box():
    """A smooth cut-off: the energy error of a symplectic method is of its order, also of the sixth."""
    system = lattice(6)
    errors = []
    for h in (0.04, 0.02):
        traj = integrate(system, (0.0, 1.6), method="RKN4_6b", h=h)
        errors.append(np.abs(traj.energy - traj.energy[0]).max())
        assert np.abs(traj.momentum).max() < 1e-12
    assert 3 < np.log2(errors[0] / errors[1]) < 6
    assert np.abs(traj.x).max() > system.box.lengths[0] / 2  # some have left the box
    assert (np.abs(traj.wrapped) <= system.box.lengths / 2).all()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: lattice(2), "twice the cut-off"),
        (lambda: System(BODY, states(), DipolarSoftSpheres((0, 0, 1), cutoff=2.0), (5, 5, 3)), "cutoff=1.5"),
        (lambda: System(BODY, states(), DipolarSoftSpheres((0, 0, 1)), 5.0), "no cut-off"),
        (lambda: System(BODY, states(), PairPotential(dipole_energy), 5.0), "no cut-off"),
        (lambda: System(BODY, states(), Odd(), 5.0), "does not support a periodic box"),
        (lambda: System(BODY, states(), DipolarSoftSpheres((0, 0, 1), cutoff=1.0), (5, 5)), "box"),
        (lambda: System(BODY, states(), DipolarSoftSpheres((0, 0, 1), cutoff=1.0), (5, 5, -5)), "box"),
        (lambda: System(BODY, states(), DipolarSoftSpheres((0, 0, 1), cutoff=1.0), "big"), "box"),
        (lambda: DipolarSoftSpheres((0, 0, 1), cutoff=0.0), "cutoff"),
        (lambda: DipolarSoftSpheres((0, 0, 1), cutoff=1.0, switch=1.0), "switch"),
        (lambda: DipolarSoftSpheres((0, 0, 1), cutoff=1.0, skin=-1.0), "skin"),
        (lambda: DipolarSoftSpheres((0, 0, 1), switch=1.0), "need a cut-off"),
        (lambda: Molecular(SITES, charges=[1.0]), "charges"),
        (lambda: Molecular(SITES[0]), "sites"),
        (lambda: Molecular(SITES, epsilon=-1.0), "epsilon"),
        (lambda: Molecular(SITES, electrostatics="ewald", cutoff=1.0), "electrostatics"),
        (lambda: Molecular(SITES, electrostatics="shifted force"), "needs a cut-off"),
        (lambda: Molecular(SITES, cutoff=1.0, permittivity=0.5), "permittivity"),
        (lambda: Molecular.from_atoms([1.0, 1.0], SITES), "masses"),
        (lambda: System.liquid(Molecular(SITES, cutoff=0.5), 10, kT=1.0), "no body"),
        (lambda: System.liquid(molecules_with_body(), 10, kT=1.0), "density"),
        (lambda: System.liquid(molecules_with_body(), 0, kT=1.0, density=1.0), "count"),
    ],
)
def test_bad_input(make, told):
    with pytest.raises(InputError, match=told):
        make()


def states(n=2):
    return ph.State(np.zeros((n, 3)), x=np.arange(3 * n).reshape(n, 3))


def molecules_with_body():
    return Molecular.from_atoms([1.0, 1.0, 1.0], SITES, cutoff=0.5)


class Odd(NearInteraction.__base__):
    """An interaction that knows nothing of boxes."""

    name = "Odd"

    def evaluate(self, t, x, Q, force, torque):
        return 0.0


def test_bodies_on_top_of_each_other_in_a_box_are_refused():
    """One is a whole box away from the other."""
    state = ph.State(np.zeros((3, 3)), x=[(0, 0, 0), (1, 0, 0), (0, 0, 8)])
    system = System(BODY, state, DipolarSoftSpheres((0, 0, 1), cutoff=3.0), 8.0)
    with pytest.raises(InputError, match=r"at the start.*bodies, 0 and 2, are 0 apart"):
        integrate(system, h=0.1)


def test_bodies_that_fly_apart_end_the_run():
    """Nearly on top of each other: forces are finite, and after a few steps places are not."""
    state = ph.State(np.zeros((2, 3)), x=[(0, 0, 0), (0, 0, 1e-20)])
    system = System(BODY, state, DipolarSoftSpheres((0, 0, 0), cutoff=3.0), 8.0)
    with pytest.raises(RunError, match="stopped in step"):
        integrate(system, h=0.1, method="V2_BAB")


def test_a_field_in_a_box_sees_places_as_they_are():
    def wind(t, x, Q, F, T, p):
        F[:, 0] = x[:, 0]

    system = System(BODY, ph.State(np.zeros((1, 3)), x=[(20.0, 0, 0)]), Field(wind, arrays=True), 2.0)
    assert integrate(system, (0, 0.1), h=0.1).p[-1, 0, 0] == pytest.approx(2.0)
    assert "box (2, 2, 2)" in repr(system)
