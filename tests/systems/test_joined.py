"""Systems are integrated as bodies are: times, choice, dense output, events, adaptive steps, long runs."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

import polhode as ph
from conftest import random_attitude
from polhode.core.errors import InputError, RunError, RunWarning, ShapeError, TimeError
from polhode.files.long_runs import prepare
from polhode.integration.running import new_run
from polhode.kernels.compiler.jit import address
from polhode.kernels.exact.standard_form import propagate_rows
from polhode.methods import many_bodies
from polhode.methods.many_bodies import QUOTIENT
from polhode.systems.choice import fastest_radian
from polhode.systems.interactions import DipolarSoftSpheres, Field, Interaction, PairPotential
from polhode.systems.system import System
from test_system import BODY, DIPOLES, golden_error, golden_system

METHODS = [("V2", 0.05), ("V2_BAB", 0.05), ("WH17", 0.05), (ph.Adaptive(1e-8), None)]


def spring(t, x, Q, F, T, p):
    F[:] = -x


def spring_energy(t, x, Q, p):
    return 0.5 * (x**2).sum()


def twist(t, x, Q, F, T, p):
    T[:, 2] = 8.0


SPRING = Field(spring, energy=spring_energy, arrays=True)


def oscillator():
    """A body that swings in x as cos t."""
    return System(BODY, ph.State(np.zeros((1, 3)), x=[(1.0, 0.0, 0.0)]), SPRING, t_span=(0.0, 10.0))


def dipoles(dipole=(0.0, 1.0, 1.0), cutoff=None):
    """The bodies of the reference, with another interaction."""
    golden = golden_system()
    return System(golden.bodies[0], golden.state, DipolarSoftSpheres(dipole, cutoff=cutoff))


# What cannot be right


@pytest.mark.parametrize(("h", "explodes"), [(0.01, False), (0.4, True)])
def test_a_system_that_explodes_is_told(h, explodes):
    bodies = ph.RigidBody((1.0, 2.0, 3.0), mass=1.0)
    gas = System.lattice(bodies, 3, 1.1, DipolarSoftSpheres((0.0, 0.0, 1.0)), kT=1.0, seed=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        traj = ph.integrate(gas, (0.0, 2.0), method="V2", h=h)
    assert traj.success
    told = [str(warning.message) for warning in caught]
    assert len(told) == explodes
    assert all("steps are too long for its forces; pass a shorter h, or rtol=1e-6" in text for text in told)


def test_a_field_may_do_work():
    """The energy of bodies in it may change by any amount."""

    def wind(t, x, Q, F, T, p):
        F[:, 0] = 100.0

    field = ph.interactions.Field(wind, arrays=True, energy=lambda t, x, Q, p: 0.0)
    one = System(BODY, ph.State(np.zeros((1, 3)), x=[(1.0, 0.0, 0.0)]), field, t_span=(0.0, 1.0))
    assert ph.integrate(one, method="V2", h=0.01).doubt() == ""


# Times


def test_both_ends_of_time_are_those_of_bodies():
    for span, t_eval in (((0.0, 1.0), [0.5, 0.2]), ((1.0, 0.0), [0.2, 0.5]), ((0.0, 1.0), [1.5])):
        with pytest.raises(TimeError, match="t_eval"):
            ph.integrate(golden_system(), span, method="V2", h=0.1, t_eval=t_eval)


@pytest.mark.parametrize(("method", "h"), METHODS)
def test_backwards_is_the_inverse(method, h):
    there = ph.integrate(golden_system(), (0.0, 0.5), method=method, h=h)
    back = ph.integrate(golden_system().replaced(state=there[-1]), (0.5, 0.0), method=method, h=h)
    assert back.t[-1] == 0.0
    assert np.abs(back.x[-1] - there.x[0]).max() < {"V2": 1e-13, "V2_BAB": 1e-13, "WH17": 1e-2}.get(method, 1e-6)


@pytest.mark.parametrize(("method", "h"), METHODS)
def test_wanted_times_backwards(method, h):
    """Of an oscillator, cos t, from 0 to -2."""
    traj = ph.integrate(oscillator(), (0.0, -2.0), method=method, h=h, t_eval=[0.0, -0.5, -1.9])
    np.testing.assert_allclose(traj.x[:, 0, 0], np.cos(traj.t), rtol=0, atol=1e-3 if h else 1e-7)


# Adaptive steps


@pytest.mark.parametrize(("rtol", "error"), [(1e-6, 1e-5), (1e-9, 1e-8), (1e-12, 1e-11)])
def test_adaptive_steps_reach_the_reference(rtol, error):
    traj = ph.integrate(golden_system(), (0.0, 1.0), method=ph.Adaptive(rtol))
    assert golden_error(traj, 1) < error
    assert len(traj) == traj.stats.steps + 1


def test_adaptive_bodies_alone_fly_as_in_a_batch(rng):
    """Without forces every step is that of the free motion; with them, as a batch of tops."""
    inertia = ((1.0, 0.1, 0.0), (0.1, 1.3, 0.2), (0.0, 0.2, 0.8))
    state = ph.State(rng.normal(size=(2, 3)), random_attitude(rng, 2), x=[(0, 0, 0), (0, 0, 5)])

    def weights(t, x, Q, F, T, p):
        T[:, 0], T[:, 1] = 0.5 * Q[:, 2, 1], -0.5 * Q[:, 2, 0]

    system = System(ph.RigidBody(inertia, mass=1.0), state, Field(weights, arrays=True))
    batch = ph.Problem(inertia, ph.State(state.m, state.q), ph.forces.gravity(0.5, (0, 0, 1)))
    ours, theirs = (
        ph.integrate(it, (0.0, 5.0), method=ph.Adaptive(1e-11), t_eval=[0, 1.3, 5]) for it in (system, batch)
    )
    assert np.abs(ours.m - theirs.m).max() < 1e-9
    assert np.abs(ours.q - theirs.q).max() < 1e-9


def test_adaptive_stops_at_its_limits():
    with pytest.raises(RunError, match="3 trial steps are used up") as caught:
        ph.integrate(golden_system(), (0.0, 10.0), method=ph.Adaptive(1e-9, max_steps=3))
    assert caught.value.trajectory.status is ph.Status.TOO_MANY_STEPS
    assert len(caught.value.trajectory) > 1

    def breaks(t, x, Q, F, T, p):
        if t > 0.5:
            raise ValueError("engine lost")

    with pytest.raises(RunError, match="engine lost") as caught:
        ph.integrate(System(BODY, oscillator().state, Field(breaks, arrays=True)), method=ph.Adaptive(1e-9))
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.trajectory.stats.rejected == 1  # the trial that failed counts, as with one body


def test_adaptive_meets_a_pole():
    """Free fall into 1/r^2: x = (9/2)^(1/3) t^(2/3) from infinity; forces grow without bound at t = 0."""

    def fall(t, x, Q, F, T, p):
        r = np.linalg.norm(x, axis=-1, keepdims=True)
        F[:] = -x / r**3

    x0 = 4.5 ** (1 / 3)
    state = ph.State(np.zeros((1, 3)), x=[(x0, 0, 0)], p=[(-np.sqrt(2 / x0), 0, 0)])
    with pytest.raises(RunError) as caught:
        ph.integrate(System(BODY, state, Field(fall, arrays=True)), (-1.0, 1.0), method=ph.Adaptive(1e-9))
    kept = caught.value.trajectory
    assert abs(kept.t[-1]) < 1e-3
    half = np.abs(kept.t) > 0.1
    np.testing.assert_allclose(kept.x[half, 0, 0], x0 * np.abs(kept.t[half]) ** (2 / 3), rtol=1e-6)


# Dense output and events


@pytest.mark.parametrize(("method", "h"), [("RKN6_14a", 0.05), (ph.Adaptive(1e-11), None)])
def test_states_at_any_time(method, h):
    traj = ph.integrate(oscillator(), method=method, h=h, save_every=7)
    t = np.array([[0.0, 0.333], [5.01, 10.0]])
    x, p, _, q = traj.sol(t)
    assert x.shape == (2, 2, 1, 3)
    assert q.shape == (2, 2, 1, 4)
    np.testing.assert_allclose(x[..., 0, 0], np.cos(t), rtol=0, atol=1e-9)
    np.testing.assert_allclose(p[..., 0, 0], -np.sin(t), rtol=0, atol=1e-9)
    with pytest.raises(TimeError, match="from 0 to 10"):
        traj.sol(10.1)


@pytest.mark.parametrize(("method", "h"), [("RKN6_14a", 0.05), (ph.Adaptive(1e-12), None)])
def test_events_are_where_they_should_be(method, h):
    def crossing(t, x, p, m, q):
        return x[..., 0, 0]

    traj = ph.integrate(oscillator(), method=method, h=h, events=crossing)
    np.testing.assert_allclose(traj.t_events[0], np.pi * np.array([0.5, 1.5, 2.5]), rtol=1e-10)
    assert traj.x_events[0].shape == (3, 1, 3)
    np.testing.assert_allclose(traj.p_events[0][:, 0, 0], [-1, 1, -1], rtol=1e-9)
    crossing.terminal = True
    traj = ph.integrate(oscillator(), method=method, h=h, events=crossing)
    assert traj.status is ph.Status.ENDED_BY_EVENT
    assert traj.t[-1] == pytest.approx(np.pi / 2, rel=1e-10)


def test_an_event_of_the_wrong_shape_is_told():
    with pytest.raises(ShapeError, match=r"x \(\d+, 1, 3\)"):
        ph.integrate(oscillator(), method="V2", h=0.1, events=lambda t, x, p, m, q: x[..., 0])


# Choice


def test_the_default_step_is_that_of_the_fastest_motion():
    """A spinning body, a swinging one and two that fly towards each other: 1/8 of the time of a radian."""
    spinning = System(BODY, ph.State([(0.0, 0.0, 8.0)], x=[(1.0, 0, 0)]), SPRING)
    assert fastest_radian(spinning, (0.0, 1.0)) == pytest.approx(2.88 / 8.0)
    assert fastest_radian(oscillator(), (0.0, 10.0)) == pytest.approx(1.0)
    nothing = Field(lambda t, x, Q, F, T, p: None, arrays=True)
    flying = System(BODY, ph.State(np.zeros((2, 3)), x=[(0, 0, 0), (2.0, 0, 0)], p=[(5.0, 0, 0), (0, 0, 0)]), nothing)
    assert fastest_radian(flying, (0.0, 9.0)) == pytest.approx(2.0 / 5.0)
    twisted = System(BODY, ph.State(np.zeros((1, 3)), x=[(1.0, 0, 0)]), Field(twist, arrays=True))
    assert fastest_radian(twisted, (0.0, 9.0)) == pytest.approx((2.88 / 8.0) ** 0.5)
    traj = ph.integrate(spinning)
    assert traj.h == pytest.approx(0.36 / 8, rel=0.05)
    assert "fastest motion" in traj.message
    at_rest = System(BODY, ph.State(np.zeros((1, 3)), x=[(0.0, 0, 0)]), nothing, t_span=(0.0, 3.0))
    assert ph.integrate(at_rest).success


@pytest.mark.dense
@pytest.mark.parametrize("method", [None, "RKN4_6b", "Adaptive"])
def test_short_runs_have_the_error_that_was_asked_for(method):
    traj = ph.integrate(golden_system(), (0.0, 1.0), method=method, rtol=1e-7)
    assert 1e-11 < golden_error(traj, 1) < 1e-6
    assert "estimated error" in traj.message


@pytest.mark.dense
def test_long_runs_have_the_error_of_the_energy_per_time():
    """Of a system that is chaotic: states 3e-7 apart at the start are 1 apart later, and energies stay."""
    traj = ph.integrate(golden_system(), (0.0, 20.0), rtol=1e-5)
    assert "energy" in traj.message
    error = np.abs(traj.energy - traj.energy[0]).max() / traj.kinetic.max()
    assert error < 1e-4
    finer = ph.integrate(golden_system(), (0.0, 20.0), rtol=1e-9)
    assert np.abs(finer.energy - finer.energy[0]).max() / finer.kinetic.max() < 1e-8
    assert abs(finer.h) < abs(traj.h)


def test_the_error_is_estimated(tmp_path):
    traj = ph.integrate(golden_system(), (0.0, 1.0), method="V2", h=0.02, estimate_error=True)
    assert len(traj.error_estimate) == 4
    traj.save(tmp_path / "run.nc")
    assert ph.load(tmp_path / "run.nc").error_estimate == traj.error_estimate
    assert 0.2 < golden_error(traj, 1) / max(traj.error_estimate) < 20


@pytest.mark.dense
def test_an_error_that_cannot_be_reached_is_warned_of():
    with pytest.warns(RunWarning, match="more than was asked for"):
        ph.integrate(golden_system(), (0.0, 1.0), method="V2", rtol=2e-14)


# Long runs


@pytest.mark.dense
@pytest.mark.parametrize(("method", "h"), METHODS)
@pytest.mark.parametrize("cutoff", [None, 2.5])
def test_a_resumed_run_is_the_uninterrupted_one(method, h, cutoff, tmp_path):
    """The snapshot of a run that stops between two saved states goes on to the same bits, and the same cost."""
    system = dipoles(cutoff=cutoff)
    options = {"t_eval": np.linspace(0, 1, 8)} if h is None else {"save_every": 4}
    whole = ph.integrate(system, (0.0, 1.0), method=method, h=h, **options)
    run = new_run(system, (0.0, 1.0), whole.method, h)
    times = options.get("t_eval")
    writer = prepare(run, tmp_path / "run.zarr", times=times, save_every=options.get("save_every", 1), chunk=5)
    writer.create()
    states = writer._states(0, 3, silent())
    writer._take(states, 3)
    writer.commit()
    done = ph.resume(tmp_path / "run.zarr", system)
    assert done.finished
    assert h is None or done.stats.torques == whole.stats.torques  # dense output has other costs
    again = ph.load(tmp_path / "run.zarr")
    for name in "txpmq":
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
    np.testing.assert_array_equal(again.energy, whole.energy)


def silent():
    class Bar:
        def show(self, done):
            pass

    return Bar()


def test_another_system_is_not_resumed(tmp_path):
    ph.stream(golden_system(), tmp_path / "run.zarr", method="V2", h=0.1)
    for other in (
        dipoles((0.0, 1.0, 1.001)),
        golden_system().replaced(state=ph.integrate(golden_system(), (0, 0.1), method="V2", h=0.1)[-1]),
    ):
        with pytest.raises(InputError, match="another problem"):
            ph.resume(tmp_path / "run.zarr", other)


def pull(r, A, B, p):
    return 0.5 * p[0] * (r[0] ** 2 + r[1] ** 2 + r[2] ** 2)


def push(r, A, B, p):
    return 0.7 * p[0] * (r[0] ** 2 + r[1] ** 2 + r[2] ** 2)


def test_other_functions_and_numbers_are_noticed():
    digests = [
        PairPotential(function, params=[k], name="V").fingerprint() for function, k in ((pull, 1), (push, 1), (pull, 2))
    ]
    assert PairPotential(pull, params=[1], name="V").fingerprint() == digests[0]
    assert digests[0] != digests[1]
    assert digests[0] != digests[2]
    assert (DIPOLES + SPRING).fingerprint() != DIPOLES.fingerprint()


# Runs beside each other


@pytest.mark.dense
def test_two_runs_of_one_system_do_not_disturb_each_other():
    gas = System.lattice(BODY, 4, 2.0, DipolarSoftSpheres((0, 1, 1), cutoff=3.0), kT=0.5, seed=1, box=8.0)
    alone = [ph.integrate(gas, (0.0, t), method="V2", h=0.01, save_every=10) for t in (0.5, -0.5)]
    together = [None, None]

    def work(k, t):
        together[k] = ph.integrate(gas, (0.0, t), method="V2", h=0.01, save_every=10)

    threads = [threading.Thread(target=work, args=(k, t)) for k, t in enumerate((0.5, -0.5))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a.x, b.x)
        np.testing.assert_array_equal(a.q, b.q)


def test_lists_of_neighbors_belong_to_runs():
    gas = System.lattice(BODY, 3, 2.0, DipolarSoftSpheres((0, 1, 1), cutoff=2.5), kT=0.5, seed=1, box=6.0)
    ph.integrate(gas, (0.0, 0.1), method="V2", h=0.01)
    assert gas.interaction._lists is None
    one, other = gas.interaction.for_run(), gas.interaction.for_run()
    assert one._lists is not other._lists


@pytest.mark.parametrize("method", ["QuatEM", "DirEM", "QuatVI", "AlgoC1", "ClosedForm"])
def test_methods_for_single_bodies_say_so(method):
    with pytest.raises(InputError, match=r"expected Splitting.*Adaptive"):
        ph.integrate(golden_system(), method=method, h=0.1)


def test_quotients_have_order_4():
    """The weights of the force gradient are exact for polynomials of degree 4."""
    for degree in range(5):
        slope = sum(weight * point**degree for point, weight in QUOTIENT) / 12
        assert slope == pytest.approx(1.0 if degree == 1 else 0.0, abs=1e-15)


@pytest.mark.dense
@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("method", ["V2", "V2_BAB", "RKN4_6b", "WH17"])
def test_small_systems_in_one_compiled_call_have_the_same_bits(method, every, monkeypatch):
    """The loop over stages in compiled code against that in Python: processors, linear rotors, turned axes."""
    rotor = ph.RigidBody.linear(1.3, mass=1.0)
    turned = ph.RigidBody(((1.0, 0.1, 0.0), (0.1, 1.3, 0.2), (0.0, 0.2, 0.8)), mass=2.0)
    state = ph.State([(0.0, 1.0, 0.2), (0.3, -0.4, 0.5)], x=[(0, 0, 0), (0, 0.3, 1.2)])
    mixed = System([rotor, turned], state, DipolarSoftSpheres((1.0, 0.0, 0.0)))
    springs = System(BODY, golden_system().state, PairPotential(pull, params=[0.3]))
    for system in (golden_system(), mixed, springs):
        compiled = ph.integrate(system, method=method, h=1 / 64, save_every=every)
        with monkeypatch.context() as patch:
            patch.setattr(DipolarSoftSpheres, "compiled", Interaction.compiled)
            patch.setattr(PairPotential, "compiled", Interaction.compiled)
            plain = ph.integrate(system, method=method, h=1 / 64, save_every=every)
        assert compiled.stats.torques == plain.stats.torques
        for name in "xpmq":
            np.testing.assert_array_equal(getattr(compiled, name), getattr(plain, name))


@pytest.mark.dense
def test_small_systems_with_bodies_for_the_scalar_code_have_the_same_bits(monkeypatch):
    """Long steps of a body close to the separatrix are not made in lanes."""
    state = ph.State([(1e-9, 2.0, 1e-9), (0.3, -0.4, 0.5)], x=[(0, 0, 0), (0, 0.3, 3.2)], p=[(0, 0, 0), (0, 0, 0.1)])
    body = ph.RigidBody((1.0, 2.0, 3.0), mass=1.0)
    system = System(body, state, DipolarSoftSpheres((0.0, 1e-12, 0.0), epsilon=1e-12))
    needed = []
    monkeypatch.setattr(many_bodies, "address", lambda kernel: needed.append(kernel) or address(kernel))
    compiled = ph.integrate(system, (0, 200), method="V2", h=20.0)
    assert needed.count(propagate_rows) == 1
    monkeypatch.setattr(DipolarSoftSpheres, "compiled", Interaction.compiled)
    plain = ph.integrate(system, (0, 200), method="V2", h=20.0)
    assert compiled.stats.torques == plain.stats.torques
    for name in "xpmq":
        np.testing.assert_array_equal(getattr(compiled, name), getattr(plain, name))


def test_small_systems_stop_where_bodies_meet():
    state = ph.State(np.zeros((2, 3)), x=[(0, 0, 0), (0, 0, 1.0)], p=[(0, 0, 1.0), (0, 0, -1.0)])
    system = System(BODY, state, DipolarSoftSpheres((0, 0, 0), epsilon=1e-200))
    with pytest.raises(RunError, match=r"at t = 0.5.*0 and 1, are 0 apart"):
        ph.integrate(system, method="V2_BAB", h=1 / 64)
