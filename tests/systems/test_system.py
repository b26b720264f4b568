"""Systems of bodies: against reference solutions of 30 digits, against other ways to the same motion, and round-off."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import xarray

import polhode as ph
from conftest import EPS, TESTS, random_attitude
from polhode.core.errors import InertiaError, InputError, MomentumError, RunError, ShapeError, TimeError
from polhode.core.rotation import from_matrix, matrix, multiply
from polhode.files.stored_trajectory import StoredMethod
from polhode.integration.fixed_run import FixedRun
from polhode.integration.running import new_run
from polhode.methods import METHODS, load, many_bodies
from polhode.methods.splitting import Splitting
from polhode.solve import integrate
from polhode.systems import choice
from polhode.systems.choice import choose_for_system
from polhode.systems.interactions import DipolarSoftSpheres, Field, water
from polhode.systems.start import cubic_lattice, maxwell_boltzmann, random_attitudes
from polhode.systems.system import System

CASES = json.loads((TESTS / "golden" / "torqued.json").read_text())["cases"]
GOLDEN = next(case for case in CASES if case["name"] == "dipoles_8")
PASS_MARK = 6.5e-14  # of all states; routes of the reference agree to 7e-41
BODY = ph.RigidBody((1.0, 1.88, 2.88), mass=1.0)
DIPOLES = DipolarSoftSpheres((0.0, 1.0, 1.0))


def numbers(x):
    return float.fromhex(x["hex"]) if isinstance(x, dict) else [numbers(y) for y in x]


def golden_system():
    state = ph.State(*(numbers(GOLDEN[k]) for k in ("m0", "q0")), x=numbers(GOLDEN["x0"]), p=numbers(GOLDEN["p0"]))
    body = ph.RigidBody(numbers(GOLDEN["I"]), mass=numbers(GOLDEN["mass"]))
    return System(body, state, DipolarSoftSpheres(*(numbers(GOLDEN[k]) for k in ("mu", "eps", "sig"))))


def golden_error(traj, number):
    state = GOLDEN["states"][number]
    return max(np.abs(getattr(traj, k)[-1] - np.array(state[k], dtype=float)).max() for k in "xpmq")


@pytest.mark.parametrize(
    ("number", "scheme", "steps"),
    [
        (0, "RKN8_19", 50),
        pytest.param(1, "RKN8_19", 200, marks=pytest.mark.dense),
        pytest.param(1, "RKN6_14a", 400, marks=pytest.mark.dense),
        pytest.param(1, "SS10_35", 100, marks=pytest.mark.dense),
    ],
)
def test_reference_states(number, scheme, steps):
    state = GOLDEN["states"][number]
    t_end = numbers(state["t"])
    traj = integrate(golden_system(), (0.0, t_end), method=scheme, h=t_end / steps, save_every=steps)
    assert traj.stats.steps == steps
    assert golden_error(traj, number) < PASS_MARK
    assert traj.energy[0] == pytest.approx(float(GOLDEN["energy0"]), rel=1e-14)
    assert traj.energy[-1] == pytest.approx(float(state["energy"]), rel=PASS_MARK)


@pytest.mark.dense
@pytest.mark.parametrize(
    ("method", "order"),
    [
        ("V2", 2), ("V2_BAB", 2), ("Rattle", 2), ("RKN4_6b", 4), ("Chin4A", 4), ("Chin4B", 4), ("Chin4C", 4),
        ("RKN6_14a", 6), ("OMF6", 6),
        (Splitting(ph.ThreeRotations(), "RKN4_6b"), 2), (Splitting(ph.ThreeRotations(4), "RKN4_6b"), 4),
    ],
)  # fmt: skip
def test_orders_against_the_reference(method, order):
    """Force-gradient kicks among them: with a wrong gradient they have order 2."""
    steps = {2: 40, 4: 30, 6: 40}[order] * (3 if method == "OMF6" else 1)
    errors = [golden_error(integrate(golden_system(), method=method, h=1.0 / n), 1) for n in (steps, 2 * steps)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.6)


@pytest.mark.parametrize("flow", [ph.Exact(), ph.NoSquish(), ph.MoserVeselov(), ph.Gauss(3)])
@pytest.mark.parametrize("scheme", ["V2", "RKN4_6b", "Chin4A"])
def test_momenta_stay_to_rounding(scheme, flow):
    """At steps so long that the energy is far from that."""
    steps = 20
    traj = integrate(golden_system(), method=Splitting(flow, scheme), h=1.0 / steps)
    size = np.abs(traj.p).sum(axis=(1, 2)).max()
    assert np.abs(traj.momentum - traj.momentum[0]).max() < 10 * EPS * np.sqrt(steps) * size
    spin = np.abs(np.cross(traj.x, traj.p)).sum(axis=(1, 2)).max() + np.abs(traj.m).sum(axis=(1, 2)).max()
    assert np.abs(traj.angular_momentum - traj.angular_momentum[0]).max() < 10 * EPS * np.sqrt(steps) * spin
    assert np.abs(traj.energy_error()).max() > 1e-7


@pytest.mark.dense
def test_momenta_of_many_steps_do_a_random_walk():
    traj = integrate(golden_system(), (0.0, 20.0), method="V2", h=0.002, save_every=100)
    size = np.abs(traj.p).sum(axis=(1, 2)).max()
    assert np.abs(traj.momentum - traj.momentum[0]).max() < EPS * np.sqrt(10_000) * size


def no_forces(t, x, Q, F, T, p):
    F[:] = 0.0


def test_free_bodies_fly_exactly(rng):
    n = 3
    body = ph.RigidBody.from_moments(rng.uniform(1, 3, (n, 3)), mass=rng.uniform(1, 2, n))
    state = ph.State(
        rng.normal(size=(n, 3)), random_attitude(rng, n), x=rng.normal(size=(n, 3)), p=rng.normal(size=(n, 3))
    )
    traj = integrate(System(body, state, Field(no_forces, arrays=True)), (0.0, 7.0), h=0.5)
    m, q = ph.propagate(body, state.m, state.q, 7.0)
    np.testing.assert_allclose(traj.m[-1], m, rtol=0, atol=200 * EPS)
    np.testing.assert_allclose(traj.q[-1], q, rtol=0, atol=200 * EPS)
    np.testing.assert_allclose(traj.x[-1], state.x + 7.0 * state.p / body.mass[:, None], rtol=0, atol=150 * EPS)


WEIGHT = 0.5


def weights(t, x, Q, F, T, p):
    """``forces.gravity(WEIGHT, (0, 0, 1))`` on every body, in body axes."""
    T[:, 0], T[:, 1] = WEIGHT * Q[:, 2, 1], -WEIGHT * Q[:, 2, 0]


@pytest.mark.parametrize("scheme", ["V2", "V2_BAB", "RKN4_6b", "Chin4A", "OMF6", "WH17", "WH17G"])
@pytest.mark.parametrize("every", [1, 3, 20])
def test_a_system_of_tops_is_a_batch_of_tops(scheme, every, rng):
    """The loop over stages of systems against that of single bodies: merged stages, gradients, processors."""
    inertia = ((1.0, 0.1, 0.0), (0.1, 1.3, 0.2), (0.0, 0.2, 0.8))
    state = ph.State(rng.normal(size=(2, 3)), random_attitude(rng, 2), x=np.zeros((2, 3)))
    tops = System(ph.RigidBody(inertia, mass=1.0), state, Field(weights, arrays=True))
    batch = ph.Problem(inertia, ph.State(state.m, state.q), ph.forces.gravity(WEIGHT, (0, 0, 1)))
    for t_eval in (None, (0.0, 0.33, 0.4, 1.0)):
        told = {"method": scheme, "h": 0.1, "save_every": every, "t_eval": t_eval}
        ours, theirs = integrate(tops, **told), integrate(batch, **told)
        np.testing.assert_array_equal(ours.t, theirs.t)
        tolerance = 1e-12 if scheme in ("Chin4A", "OMF6", "WH17G") else 150 * EPS  # two difference quotients
        np.testing.assert_allclose(ours.m, theirs.m, rtol=0, atol=tolerance)
        np.testing.assert_allclose(ours.q, theirs.q, rtol=0, atol=tolerance)


def wind(t, x, Q, F, T, p):
    F[:, 0] = np.cos(t)


def test_forces_know_the_time():
    """x'' = cos t; kicks at the right times: order 4."""
    state = ph.State(np.zeros((1, 3)), x=np.zeros((1, 3)))
    traj = integrate(System(BODY, state, Field(wind, arrays=True)), (1.0, 3.0), method="S6_10", h=0.1)
    true = np.cos(1.0) - np.cos(3.0) - 2.0 * np.sin(1.0)
    assert traj.x[-1, 0, 0] == pytest.approx(true, abs=1e-11)


def test_gradient_kicks_are_those_of_w():
    """G and g against differences of W = sum F^2/mass + f.I^-1 f, whose forces and torques they are."""
    system = golden_system()
    bodies = system.rows.bodies_for_run()
    start = new_run(system, (0.0, 1.0), Splitting(None, "Chin4A"), 0.1).current
    here, _ = many_bodies.read_state(start, 0)
    assert many_bodies.find_forces(bodies, here, 0.0) == ph.Status.REACHED_END
    G, g = many_bodies._gradients(bodies, here, 0.0)

    def W(x, q):
        now = replace(here, moving=here.copy().moving._replace(x=x, q=q))
        many_bodies.find_forces(bodies, now, 0.0)
        a = now.moving
        return np.sum(a.force**2 / system.mass[:, None]) + np.sum(a.torque**2 / system.moments)

    e = 1e-4
    for i, k in ((0, 0), (3, 1), (7, 2)):
        shift, turn = np.zeros((8, 3)), np.tile((1.0, 0.0, 0.0, 0.0), (8, 1))
        shift[i, k], turn[i, 1 + k] = e, 0.5 * e
        back = turn * (1.0, -1.0, -1.0, -1.0)
        x, q = here.moving.x, here.moving.q
        assert -(W(x + shift, q) - W(x - shift, q)) / (2 * e) == pytest.approx(
            G[i, k], rel=1e-5, abs=1e-5 * abs(G).max()
        )
        by_turn = -(W(x, multiply(q, turn)) - W(x, multiply(q, back))) / (2 * e)
        assert by_turn == pytest.approx(g[i, k], rel=1e-5, abs=1e-5 * abs(g).max())


def line_of_dipoles(bodies, dipole, m):
    rng = np.random.default_rng(5)
    x = 1.4 * np.arange(3)[:, None] * (1.0, 0.3, 0.0)
    return System(bodies, ph.State(m, random_attitude(rng, 3), x=x), DipolarSoftSpheres(dipole))


def test_linear_rotors_are_tops_that_do_not_spin(rng):
    m = rng.normal(size=(3, 3)) * (0.0, 1.0, 1.0)
    rotors = line_of_dipoles(ph.RigidBody.linear(2.0, mass=1.5), (1.0, 0.0, 0.0), m)
    tops = line_of_dipoles(ph.RigidBody((0.7, 2.0, 2.0), mass=1.5), (1.0, 0.0, 0.0), m)
    a, b = (integrate(s, (0.0, 3.0), method="RKN4_6b", h=0.1) for s in (rotors, tops))
    assert (a.m[..., 0] == 0.0).all()
    for k in "xpmq":
        np.testing.assert_allclose(getattr(a, k), getattr(b, k), rtol=0, atol=2e-13)
    assert a.temperature_rotation[0] == pytest.approx(b.temperature_rotation[0] * 9 / 6)


def test_rotors_and_tops_together(rng):
    kinds = [
        ph.RigidBody.linear(2.0, mass=1.5),
        ph.RigidBody((1, 2, 3), mass=2.0),
        ph.RigidBody(np.eye(3) + 0.1, mass=1.0),
    ]
    m = rng.normal(size=(3, 3))
    m[0, 0] = 0.0
    system = line_of_dipoles(kinds, [(1, 0, 0), (0, 1, 1), (0, 0, 1)], m)
    np.testing.assert_array_equal(system.linear, [True, False, False])
    np.testing.assert_array_equal(system.mass, [1.5, 2.0, 1.0])
    traj = integrate(system, (0.0, 2.0), method="RKN6_14a", h=0.05)
    assert np.abs(traj.energy_error()).max() < 1e-8
    assert np.abs(traj.angular_momentum - traj.angular_momentum[0]).max() < 1e-13


def test_a_rotor_cannot_be_turned_about_its_axis(rng):
    m = rng.normal(size=(3, 3)) * (0.0, 1.0, 1.0)
    system = line_of_dipoles(ph.RigidBody.linear(2.0, mass=1.0), (1.0, 1.0, 0.0), m)
    with pytest.raises(InputError, match="linear rotor"):
        integrate(system, h=0.1)


def test_body_axes_are_the_users(rng):
    """A tensor in turned axes is the same body as its principal moments, turned: the same places and momenta."""
    A = matrix(random_attitude(rng))
    moments, mu = np.array([1.0, 1.88, 2.88]), np.array([0.0, 1.0, 1.0])
    first = golden_system()
    state = first.state
    turned = ph.State(state.m @ A.T, multiply(state.q, ph.rotation.conjugate(from_matrix(A))), x=state.x, p=state.p)
    second = System(ph.RigidBody(A @ np.diag(moments) @ A.T, mass=1.0), turned, DipolarSoftSpheres(A @ mu))
    a, b = (integrate(s, (0.0, 0.5), method="RKN4_6b", h=0.05) for s in (first, second))
    np.testing.assert_allclose(a.x, b.x, rtol=0, atol=1e-13)
    np.testing.assert_allclose(a.m @ A.T, b.m, rtol=0, atol=1e-13)
    np.testing.assert_allclose(a.m_space, b.m_space, rtol=0, atol=1e-13)
    np.testing.assert_allclose(a.dipole_moment, b.dipole_moment, rtol=0, atol=1e-13)
    np.testing.assert_allclose(a.kinetic_rotation, b.kinetic_rotation, rtol=1e-13)


def test_back_again():
    system = golden_system()
    there = integrate(system, (0.0, 1.0), method="RKN4_6b", h=0.02)
    back = System(BODY, there.state(), DIPOLES)
    home = integrate(back, (1.0, 0.0), method="RKN4_6b", h=0.02)
    assert home.h < 0
    for k in "xpmq":
        np.testing.assert_allclose(getattr(home, k)[-1], getattr(system.state, k), rtol=0, atol=2e-12)


def test_forces_are_not_evaluated_twice():
    """A kick at the end of a step and one at the beginning of the next have the same force, also if somebody looks."""
    for scheme, torques in (("V2_BAB", 11), ("V2", 10), ("RKN4_6b", 61)):
        for every in (1, 10):
            assert integrate(golden_system(), method=scheme, h=0.1, save_every=every).stats.torques == torques


def test_times_have_to_be_in_order():
    with pytest.raises(TimeError, match=r"t_eval is not in order.*numpy\.sort"):
        integrate(golden_system(), method="V2", h=0.1, t_eval=[0.7, 0.0, 1.0])


@pytest.mark.dense
@pytest.mark.filterwarnings("ignore:the energy of the system has changed")
def test_the_exact_flow_wins_where_coupling_is_weak():
    """Celledoni et al. 2008, Figures 3.9 and 3.10, at equal numbers of evaluations."""

    def error(system, flow, scheme, evaluations, t_end):
        method = Splitting(flow, scheme)
        h = t_end * method.scheme.torques_per_step / evaluations
        return np.abs(integrate(system, (0.0, t_end), method=method, h=h).energy_error()).max()

    weak = System.lattice(BODY, 5, 4.0, DIPOLES, kT=0.5, seed=1)
    strong = System.lattice(BODY, 5, 2.0, DIPOLES, seed=1)
    for scheme in ("RKN4_6b", "RKN6_14a"):
        assert 100 * error(weak, ph.Exact(), scheme, 84, 1.0) < error(weak, ph.ThreeRotations(), scheme, 84, 1.0)
        exact, rotations = (error(strong, flow, scheme, 840, 10.0) for flow in (ph.Exact(), ph.ThreeRotations()))
        assert exact == pytest.approx(rotations, rel=0.2)
    assert error(strong, ph.Exact(), "RKN6_14a", 420, 10.0) > 5 * error(strong, ph.Exact(), "RKN4_6b", 420, 10.0)
    assert error(weak, ph.Exact(), "RKN6_14a", 84, 1.0) < error(weak, ph.Exact(), "RKN4_6b", 84, 1.0)


@pytest.mark.dense
def test_schemes_at_equal_evaluations_on_random_dipoles():
    """Celledoni et al. 2008, Figure 3.8, with 40 of its 100 dipoles: higher orders win, and exact drifts and those of
    three rotations give the same numbers, because what is lost is lost between T and V."""
    rng, places = np.random.default_rng(3), []
    while len(places) < 40:
        place = 2.2 * rng.normal(size=3)
        if all(np.linalg.norm(place - other) > 1.0 for other in places):
            places.append(place)
    gas = System(BODY, ph.State(m=np.zeros((40, 3)), q=random_attitudes(40, 3), x=places), DIPOLES)

    def error(scheme, flow, evaluations=640):
        method = Splitting(flow, scheme)
        steps = round(evaluations / method.scheme.torques_per_step)
        return np.abs(integrate(gas, (0.0, 1.0), method=method, h=1.0 / steps).energy_error()).max()

    errors = [error(scheme, ph.Exact()) for scheme in ("V2", "S4_6", "RKN4_6b", "RKN6_14a")]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 1e3 * errors[2]
    for scheme in ("V2", "RKN4_6b"):
        assert error(scheme, ph.ThreeRotations()) == pytest.approx(error(scheme, ph.Exact()), rel=0.2)


def test_observables_by_hand():
    state = ph.State(
        m=[(1, 0, 0), (0, 2, 0)], q=[(1, 0, 0, 0), (0, 0, 0, 1)], x=[(1, 0, 0), (0, 3, 0)], p=[(0, 2, 0), (4, 0, 0)]
    )
    system = System(ph.RigidBody((1, 2, 4), mass=2.0), state, DipolarSoftSpheres((1, 0, 0), epsilon=0.0))
    traj = integrate(system, h=1.0, t_eval=[0.0])
    assert traj.kinetic_translation[0] == pytest.approx(1.0 + 4.0)
    assert traj.kinetic_rotation[0] == pytest.approx(0.5 + 1.0)
    assert traj.temperature_translation[0] == pytest.approx(2 * 5.0 / 6)
    assert traj.temperature_rotation[0] == pytest.approx(2 * 1.5 / 6)
    np.testing.assert_allclose(traj.momentum[0], (4, 2, 0))
    np.testing.assert_allclose(traj.angular_momentum[0], np.array((0, 0, 2)) + (0, 0, -12) + (1, 0, 0) + (0, -2, 0))
    np.testing.assert_allclose(traj.dipole_moment[0], (0, 0, 0), atol=1e-16)
    r = np.array((1.0, -3.0, 0.0))
    potential = -1 / 10**1.5 + 3 * r[0] * r[0] / 10**2.5
    assert traj.potential[0] == pytest.approx(potential)
    assert traj.energy[0] == pytest.approx(6.5 + potential)
    np.testing.assert_allclose(traj.velocity[0], state.p / 2.0)
    assert traj.success
    assert len(traj) == 1
    assert "2 bodies" in repr(traj)


def test_starts_are_by_seed():
    assert np.ptp(cubic_lattice(3, 2.0), axis=0).tolist() == [4.0, 4.0, 4.0]
    assert len(np.unique(cubic_lattice(3, 2.0), axis=0)) == 27
    a, b = (System.lattice(BODY, 3, 2.0, DIPOLES, kT=0.5, seed=seed).state for seed in (1, 1))
    np.testing.assert_array_equal(a.q, b.q)
    np.testing.assert_array_equal(a.p, b.p)
    other = System.lattice(BODY, 3, 2.0, DIPOLES, kT=0.5, seed=2).state
    assert not np.array_equal(a.q, other.q)
    assert not np.array_equal(a.m, other.m)


def test_temperatures_of_the_start():
    n, kT = 20_000, 0.7
    p, m = maxwell_boltzmann(BODY, n, kT, seed=3)
    np.testing.assert_allclose((p * p).mean(axis=0), kT, rtol=0.04)
    np.testing.assert_allclose((m * m).mean(axis=0) / BODY.moments, kT, rtol=0.04)
    assert np.abs(p.sum(axis=0)).max() < 1e-10
    still, _ = maxwell_boltzmann(BODY, n, kT, seed=3, at_rest=False)
    assert np.abs(still.sum(axis=0)).max() > 1.0
    _, m = maxwell_boltzmann(ph.RigidBody.linear(2.0, mass=1.0), 100, kT)
    assert (m[:, 0] == 0).all()
    tensor = ph.RigidBody(
        matrix(random_attitudes(1)[0]) @ np.diag((1, 2, 6)) @ matrix(random_attitudes(1)[0]).T, mass=1.0
    )
    _, m = maxwell_boltzmann(tensor, n, kT)
    np.testing.assert_allclose(np.einsum("ni,nj->ij", m, m) / n, kT * tensor.tensor, atol=0.15)


def test_attitudes_are_uniform():
    Q = matrix(random_attitudes(20_000, seed=1))
    np.testing.assert_allclose(Q.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose((Q * Q).mean(axis=0), 1 / 3, atol=0.01)


def states(n=2, **more):
    return ph.State(np.zeros((n, 3)), x=np.arange(3 * n).reshape(n, 3), **more)


@pytest.mark.parametrize(
    ("make", "error", "told"),
    [
        (lambda: System(ph.RigidBody((1, 2, 3)), states(), DIPOLES), InertiaError, "mass"),
        (lambda: System(BODY, ph.State(np.zeros((2, 3))), DIPOLES), MomentumError, "positions"),
        (lambda: System(BODY, ph.State((0, 0, 1), x=(0, 0, 0)), DIPOLES), ShapeError, r"\(n,\)"),
        (lambda: System([BODY] * 3, states(), DIPOLES), ShapeError, "got 3 bodies and 2 states"),
        (lambda: System(ph.RigidBody([(1, 2, 3)] * 4, mass=1), states(), DIPOLES), ShapeError, r"\(4,\)"),
        (lambda: System(BODY, [states()], DIPOLES), ShapeError, "batch"),
        (lambda: System(BODY, [], DIPOLES), InputError, "State"),
        (lambda: System(BODY, [ph.State((0, 0, 1))], DIPOLES), MomentumError, "position"),
        (lambda: System(BODY, states(), "dipoles"), InputError, "polhode.interactions"),
        (lambda: System(BODY, states(), DIPOLES, (5, 5, 5)), InputError, "no cut-off"),
        (lambda: System(BODY, states(), DIPOLES, t_span=(1, 1)), TimeError, "t_span"),
        (lambda: System.lattice(BODY, 0, 1.0, DIPOLES), InputError, "side"),
        (lambda: System.lattice(BODY, 2, -1.0, DIPOLES), InputError, "spacing"),
        (lambda: System.lattice(BODY, 2, 1.0, DIPOLES, kT=-1.0), InputError, "kT"),
        (lambda: maxwell_boltzmann(ph.RigidBody((1, 2, 3)), 5, 1.0), InertiaError, "mass"),
        (lambda: integrate(System(BODY, states(), DIPOLES), h=1e-30), TimeError, "a step must be longer"),
        (lambda: integrate(System(BODY, states(), DIPOLES), h=0.1, method="Adaptive"), InputError, "chooses its steps"),
        (lambda: integrate(System(BODY, states(), DIPOLES), rtol=-1e-6), InputError, "rtol"),
        (lambda: integrate(System(BODY, states(), DIPOLES), h=0.1, events=3), InputError, r"event\(t, x, p, m, q\)"),
        (lambda: integrate(System(BODY, states(), DIPOLES), h=0.1, t_eval=[2.0]), TimeError, "t_eval"),
    ],
)
def test_bad_input(make, error, told):
    with pytest.raises(error, match=told):
        make()


GRADIENT = "gradient of the potential of one body.*all pairs in every iteration"
TORQUE = "torque on one body.*all pairs in every iteration"
REFUSED = {
    "QuatEM": rf"iterates.*{GRADIENT}",
    "QuatVI": rf"iterates.*{GRADIENT}",
    "DirEM": rf"iterates.*{GRADIENT}",
    "AlgoC1": rf"iterates.*{TORQUE}",
    "ClosedForm": "is the motion of free bodies.*interact",
    "Taylor": "expands the torque on a single body, which is traced",
}


@pytest.mark.parametrize("options", [{"h": 0.1}, {}, {"rtol": 1e-6}], ids=str)
@pytest.mark.parametrize("name", REFUSED)
def test_methods_say_why_they_are_not_for_systems(name, options):
    if not load(name).takes_h:
        options = {}
    message = rf"{name}\(.*\) {REFUSED[name]}; expected Splitting\(flow, scheme\).*'V2'.*or Adaptive\(\)"
    with pytest.raises(InputError, match=message):
        integrate(System(BODY, states(), DIPOLES), method=name, **options)


def test_a_method_that_was_stored_by_name_is_refused():
    with pytest.raises(InputError, match=r"Splitting\(Mine\(\)\) is only the name.*; expected Splitting"):
        integrate(System(BODY, states(), DIPOLES), method=StoredMethod("Splitting(Mine())"), h=0.1)


@pytest.mark.parametrize("name", [name for name in METHODS if name not in REFUSED])
def test_all_other_methods_integrate_systems(name):
    method = load(name)()
    h = None if method.chooses_steps else 0.05
    assert integrate(System(BODY, states(), DIPOLES), (0, 0.1), method=method, h=h).success


def test_states_and_bodies_in_lists():
    one = System(
        [BODY, BODY], [ph.State((0, 0, 1), x=(0, 0, 0)), ph.State((0, 1, 0), x=(0, 0, 2), p=(1, 0, 0))], DIPOLES
    )
    two = System(BODY, ph.State([(0, 0, 1), (0, 1, 0)], x=[(0, 0, 0), (0, 0, 2)], p=[(0, 0, 0), (1, 0, 0)]), DIPOLES)
    a, b = (integrate(s, h=0.1) for s in (one, two))
    np.testing.assert_array_equal(a.x, b.x)
    assert "2 bodies" in repr(one)


def test_bodies_at_one_place_are_refused():
    state = ph.State(np.zeros((3, 3)), x=[(0, 0, 0), (0, 0, 2), (0, 0, 2)])
    with pytest.raises(InputError, match=r"at the start.*bodies, 1 and 2, are 0 apart"):
        integrate(System(BODY, state, DIPOLES), h=0.1)


def test_bodies_that_meet_stop_the_run():
    """Two points that hardly feel each other are at one place after 32 of 64 steps; what was computed is there."""
    state = ph.State(np.zeros((2, 3)), x=[(0, 0, 0), (0, 0, 1.0)], p=[(0, 0, 1.0), (0, 0, -1.0)])
    system = System(BODY, state, DipolarSoftSpheres((0, 0, 0), epsilon=1e-200))
    with pytest.raises(RunError, match=r"stopped in step \d+ of 64, at t = 0.5.*0 and 1, are 0 apart") as failure:
        integrate(system, method="V2_BAB", h=1 / 64)
    kept = failure.value.trajectory
    assert len(kept) == 32
    assert kept.status in (ph.Status.NOT_FINITE, ph.Status.TORQUE_RAISED)
    assert np.isfinite(kept.x).all()
    assert not kept.success


def test_what_a_field_raises_is_the_cause():
    def breaks(t, x, Q, F, T, p):
        if t > 0.5:
            raise ValueError("engine lost")

    with pytest.raises(RunError, match="engine lost") as failure:
        integrate(System(BODY, states(), Field(breaks, arrays=True)), h=0.1)
    assert isinstance(failure.value.__cause__, ValueError)
    assert failure.value.trajectory.t[-1] == pytest.approx(0.5)


def test_interrupted_runs_keep_what_they_have():
    def slow(t, x, Q, F, T, p):
        if t > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        integrate(System(BODY, states(), Field(slow, arrays=True)), h=0.1)
    traj = caught.value.trajectory
    assert traj.status is ph.Status.INTERRUPTED
    assert not traj.success
    assert len(traj) == 6
    with pytest.raises(AttributeError, match="no energy"):
        _ = traj.energy


def test_a_flow_without_a_step_says_for_whom(rng):
    state = ph.State([(0.0, 0.0, 0.1), (0.0, 20.0, 0.1)], x=[(0, 0, 0), (0, 0, 9)])
    with pytest.raises(RunError, match=r"has no solution for body 1, m = .*; h = 0\.\d+ has one"):
        integrate(System(BODY, state, DIPOLES), method=Splitting(ph.MoserVeselov(), "V2_BAB"), h=0.5)


def test_too_many_turns_say_for_whom():
    state = ph.State([(0.0, 0.0, 0.1), (0.0, 1e200, 0.1)], x=[(0, 0, 0), (0, 0, 9)])
    with pytest.raises(RunError, match=r"has no solution for body 1, m = "):
        integrate(System(BODY, state, DIPOLES), method="V2_BAB", h=0.5)


def test_progress_is_shown(capsys, monkeypatch):
    monkeypatch.setattr("polhode.core.progress.PATIENCE", 0.0)
    monkeypatch.setattr("polhode.integration.running.PIECE_SECONDS", 0.0)
    integrate(System.lattice(BODY, 2, 2.0, DIPOLES, kT=0.1), (0.0, 1.0), h=0.1, progress=True)
    assert "t = 1 of 1" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["gas.nc", "gas.zarr"])
def test_saved_and_read_by_xarray(tmp_path, name):
    gas = System.lattice(ph.RigidBody((1, 2, 3), mass=1.5), 2, 2.0, DipolarSoftSpheres((0, 0, 1)), kT=0.1, seed=1)
    traj = integrate(gas, (0, 0.5), method="RKN4_6b", h=0.1)
    traj.save(tmp_path / name)
    opened = xarray.open_dataset(tmp_path / name) if name.endswith("nc") else xarray.open_zarr(tmp_path / name)
    with opened as data:
        for array in ("x", "p", "m", "q", "omega", "energy"):
            assert data[array].values.tobytes() == getattr(traj, array).tobytes()
        assert data.x.dims == ("time", "body", "xyz")
        assert data.mass.values.tolist() == [1.5] * 8
        assert data.p.attrs["frame"] == "space"
        assert data.attrs["method"] == "Splitting(Exact(), 'RKN4_6b')"
        assert "box" not in data


def test_a_box_is_saved_with_its_length():
    liquid = System.liquid(water("SPC/E", cutoff=0.4), 27, kT=2.5, seed=1)
    data = integrate(liquid, (0, 0.004), h=0.002).to_xarray()
    assert data.box.values.tolist() == liquid.box.lengths.tolist()


def test_lattices_of_a_given_energy():
    """Celledoni et al. 2008, section 3.4: places off by 1 %, and two bodies whose momenta make up for the energy."""
    how = {"kT": 0.3, "seed": 3, "scatter": 0.01}
    body, dipoles = ph.RigidBody((1, 1.88, 2.88), mass=2.0), ph.interactions.DipolarSoftSpheres((0, 1, 1))
    plain = ph.System.lattice(body, 3, 4.0, dipoles, **how)
    gas = ph.System.lattice(body, 3, 4.0, dipoles, energy=50.0, **how)
    assert gas.energy == pytest.approx(50.0, rel=1e-14)
    traj = ph.integrate(gas, (0.0, 1e-3), method="V2", h=1e-3)
    assert traj.energy[0] == pytest.approx(gas.energy, rel=1e-14)
    np.testing.assert_array_equal(gas.state.p[0], -gas.state.p[-1])
    np.testing.assert_array_equal(gas.state.p[1:-1], plain.state.p[1:-1])
    exact = ph.System.lattice(body, 3, 4.0, dipoles, kT=0.3, seed=3)
    moved = (gas.state.x - exact.state.x) / 4.0
    assert 0.005 < moved.std() < 0.015
    np.testing.assert_array_equal(exact.state.p, plain.state.p)
    with pytest.raises(ph.InputError, match=r"energy = -50\.0; the bodies have"):
        ph.System.lattice(body, 3, 4.0, dipoles, energy=-50.0)
    with pytest.raises(ph.InputError, match="scatter"):
        ph.System.lattice(body, 3, 4.0, dipoles, scatter=-1.0)


def test_trial_runs_of_large_systems_keep_few_states(monkeypatch):
    """As many as fit into a bound of memory; the choice is the same to the bit."""
    kept = []
    at_steps = FixedRun.at_steps

    def recorded(self, saves, bar):
        states = at_steps(self, saves, bar)
        kept.append(states.m.nbytes + states.q.nbytes)
        return states

    gas = System.lattice(ph.RigidBody((1, 2, 3), mass=1), 2, 2.0, DipolarSoftSpheres((0, 0, 1)), kT=0.5, seed=1)
    monkeypatch.setattr(FixedRun, "at_steps", recorded)
    whole = choose_for_system(gas, (0.0, 100.0), "V2", rtol=1e-5)
    assert max(kept) > 50_000
    kept.clear()
    monkeypatch.setattr(choice, "MOST_BYTES", 20_000)
    assert choose_for_system(gas, (0.0, 100.0), "V2", rtol=1e-5) == whole
    assert max(kept) <= 20_000
