"""``integrate`` and what it returns: times, batches, axes, interruptions, failures. Accuracy: test_torqued_golden."""

from __future__ import annotations

import sys
import traceback
import warnings

import numpy as np
import pytest
from mpmath import mp
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import polhode as ph
from conftest import EPS, random_attitude
from polhode import Status, errors, forces
from polhode.core.progress import Progress
from polhode.core.rotation import conjugate, from_matrix, matrix
from polhode.forces.base import Force, Torque
from polhode.integration import running
from polhode.integration.problem import Problem
from polhode.methods.splitting import Splitting
from polhode.solve import integrate

MOMENTS, M0 = (1.0, 1.65, 1.97), (0.3, 0.2, 0.9)


def top(moments=MOMENTS, m=M0, q=(1, 0, 0, 0), offset=(0.1, 0.2, 0.5), t_span=(0.0, 5.0)):
    return Problem(moments, ph.State(m, q), forces.gravity(1.0, offset), t_span)


def same(a, b):
    return np.array_equal(a.m, b.m) and np.array_equal(a.q, b.q)


def test_a_free_body_moves_exactly():
    run = integrate(Problem(MOMENTS, ph.State(M0), t_span=(1.0, 21.0)), h=0.5)
    m, q = ph.propagate(MOMENTS, M0, t=run.t - 1.0)
    np.testing.assert_allclose(run.m, m, rtol=0, atol=200 * EPS)
    np.testing.assert_allclose(run.q, q, rtol=0, atol=200 * EPS)


def test_times():
    run = integrate(top(t_span=(1.0, 2.0)), h=0.3)
    assert run.h == 0.25  # shortened to a whole number of steps
    np.testing.assert_allclose(run.t, [1.0, 1.25, 1.5, 1.75, 2.0], rtol=0, atol=EPS)
    assert integrate(top(t_span=(0.0, 1.0)), h=0.1).h == 0.1
    np.testing.assert_allclose(integrate(top(), h=0.1, save_every=20).t, [0, 2, 4, 5])
    assert integrate(top(), t_span=(0, 1), h=0.1).t[-1] == 1.0
    assert len(integrate(top(), h=10.0)) == 2


def test_potential_energies_are_computed_once(monkeypatch):
    evaluate, states = Force.potential, []
    monkeypatch.setattr(Force, "potential", lambda force, t, q: states.append(np.size(t)) or evaluate(force, t, q))
    run = integrate(top(), h=0.5)
    states.clear()
    first = run.energy
    np.testing.assert_array_equal(run.energy, run.kinetic + run.potential)
    run.energy_error(), run.invariants(), run.to_xarray()
    assert states == [len(run)]
    first -= first[0]  # it is the user's: the trajectory does not change
    np.testing.assert_array_equal(run.energy, run.kinetic + run.potential)
    with pytest.raises(ValueError, match="read-only"):
        run.potential[0] = 1.0


@pytest.mark.parametrize(
    ("span", "h"),
    [((1e16, 1e16 + 100.0), 1.0), ((0.0, 1.0), 1e-20), ((-1e9, 0.0), 1e-7), ((0.0, 1.0), 5e-324), ((5.0, 4.0), 1e-15)],
)
def test_steps_that_do_not_change_t(span, h):
    """Refused before anything runs: the torque would fail."""
    force = ph.Torque(lambda t, Q, w, p: (np.nan, 0.0, 0.0))
    with pytest.raises(errors.TimeError, match=rf"h = {h:g}: a step must be longer than the spacing of doubles"):
        integrate(Problem(MOMENTS, ph.State(M0), force, span), method="V2", h=h)
    with pytest.raises(errors.TimeError, match="spacing of doubles"):
        ph.ensemble(Problem(MOMENTS, ph.State(M0), force, span), {"m": [M0]}, method="V2", h=h)


@pytest.mark.parametrize("t0", [1e16, 3.0, 2.0**53, -7e15])
def test_the_shortest_steps_that_are_taken(t0):
    """All of them end at different times."""
    h = 2.0 * np.spacing(abs(t0 + 40 * np.spacing(abs(t0))))
    run = integrate(top(t_span=(t0, t0 + 16 * h)), h=h)
    assert len(run) == 17
    assert (np.diff(run.t) > 0).all()
    assert len(integrate(top(t_span=(t0, np.nextafter(t0, np.inf))), h=10.0)) == 2  # one step, as long as there is time


@pytest.mark.parametrize("batch", [(0,), (2, 0)])
@pytest.mark.parametrize(
    "options",
    [
        {"method": "V2", "h": 0.5},
        {"method": "QuatVI", "h": 0.5},
        {"method": "V2", "h": 0.5, "t_eval": (0.0, 2.0, 5.0)},
        {"method": "V2", "h": 0.5, "events": lambda t, m, q: m[..., 0], "estimate_error": True},
        {"method": ph.Adaptive(1e-6), "t_eval": (0.0, 5.0), "events": lambda t, m, q: m[..., 0]},
        {"h": 0.5},
        {"rtol": 1e-6},
        {"method": "Adaptive", "rtol": 1e-6, "t_eval": (0.0, 5.0)},
    ],
)
def test_an_empty_batch_has_an_empty_trajectory(batch, options):
    """As ``propagate`` does it."""
    none = np.empty((*batch, 3))
    assert ph.propagate(MOMENTS, none, t=1.0)[0].shape == none.shape
    run = integrate(top(m=none), **options)
    assert run.t[[0, -1]].tolist() == [0.0, 5.0]
    assert run.m.shape == (len(run.t), *batch, 3)
    assert run.q.shape == (len(run.t), *batch, 4)
    assert run.energy.shape == (len(run.t), *batch)
    assert run.success
    assert run.stats.steps == 0
    assert set(run.invariants().values()) == {0.0}
    if "h" in options:
        assert run.sol([1.0, 2.0])[0].shape == (2, *batch, 3)


def test_what_is_saved_does_not_depend_on_what_else_is():
    """But for rounding: stages are merged where nobody looks."""
    often, rarely = integrate(top(), h=0.05), integrate(top(), h=0.05, save_every=50)
    np.testing.assert_allclose(rarely.m, often.m[::50], rtol=0, atol=100 * EPS)


def test_times_between_steps():
    """A step of the remaining length from the step before: as accurate as the method."""
    times = [0.0, 0.013, 0.1, 1.2345, 4.999, 5.0]
    run = integrate(top(), h=0.05, t_eval=times)
    fine = [integrate(top(), t_span=(0, t), h=0.01).state() if t else top().state for t in times]
    np.testing.assert_array_equal(run.t, times)
    for k, state in enumerate(fine):
        np.testing.assert_allclose(run.m[k], state.m, rtol=0, atol=1e-10)
        np.testing.assert_allclose(run.q[k], state.q, rtol=0, atol=1e-10)


def test_backward():
    there = integrate(top(), h=0.1).state()
    back = integrate(top(m=there.m, q=there.q, t_span=(5.0, 0.0)), h=0.1)
    assert back.t[1] < back.t[0]
    np.testing.assert_allclose(back.m[-1], M0, rtol=0, atol=1000 * EPS)


def test_pieces_change_no_bit(monkeypatch):
    whole = integrate(top(), h=0.01, save_every=250)
    monkeypatch.setattr(running, "FIRST_PIECE", 7)
    monkeypatch.setattr(running, "PIECE_SECONDS", 1e-9)
    assert same(integrate(top(), h=0.01, save_every=250), whole)


@pytest.mark.parametrize("method", ["RKN6_14a", "RKN4_6b", "Chin4A", Splitting(ph.ThreeRotations(), "V2")], ids=repr)
def test_axes(method):
    """A tensor, in the user's axes, moves as its principal moments do; so do moments in any order."""
    plain = integrate(top(), h=0.1, method=method)
    A = matrix(random_attitude(np.random.default_rng(3)))
    start = {"m": A @ np.array(M0), "q": conjugate(from_matrix(A)), "offset": A @ np.array((0.1, 0.2, 0.5))}
    turned = integrate(top(A @ np.diag(MOMENTS) @ A.T, **start), h=0.1, method=method)
    np.testing.assert_allclose(turned.m @ A, plain.m, rtol=0, atol=1000 * EPS)
    np.testing.assert_allclose(turned.m_space, plain.m_space, rtol=0, atol=1000 * EPS)
    if "ThreeRotations" in repr(method):
        return
    for order in ([1, 2, 0], [1, 0, 2], [2, 1, 0]):
        P = np.linalg.det(np.eye(3)[order]) * np.eye(3)[order]
        start = {"m": P @ np.array(M0), "q": from_matrix(P.T), "offset": P @ np.array((0.1, 0.2, 0.5))}
        sorted_ = integrate(top(np.array(MOMENTS)[order], **start), h=0.1, method=method)
        np.testing.assert_allclose(sorted_.m @ P, plain.m, rtol=0, atol=1000 * EPS)


def test_scale_changes_no_bit():
    """m -> 2^a m, I -> 2^b I, t -> 2^(b-a) t, torque -> 2^(2a-b) torque."""
    plain = integrate(top(), h=0.1)
    for a, b in ((3, -5), (100, 100), (-150, 200)):
        start = ph.State(np.ldexp(M0, a))
        force = forces.gravity(2.0 ** (2 * a - b), (0.1, 0.2, 0.5))
        run = integrate(
            Problem(np.ldexp(MOMENTS, b), start, force, (0.0, np.ldexp(5.0, b - a))), h=np.ldexp(0.1, b - a)
        )
        assert np.array_equal(np.ldexp(run.m, -a), plain.m)
        assert np.array_equal(run.q, plain.q)


def test_from_rest():
    run = integrate(top(m=(0, 0, 0)), h=0.02)
    assert np.linalg.norm(run.m[-1]) > 0.1
    assert abs(run.energy - run.energy[0]).max() < 1e-11


@pytest.mark.dense
def test_a_batch_is_a_loop_over_batches_of_one(monkeypatch):
    rng = np.random.default_rng(4)
    moments, m = rng.uniform(1, 2, (6, 1, 3)), rng.normal(size=(4, 3))
    offsets = rng.normal(size=(4, 3))
    batch = Problem(ph.RigidBody.from_moments(moments), ph.State(m), forces.gravity(1.0, offsets), (0.0, 2.0))
    monkeypatch.setenv("POLHODE_NUM_THREADS", "3")
    monkeypatch.setattr(sys.modules["polhode.core.threads"], "PARALLEL_FROM", 2)
    run = integrate(batch, h=0.05)
    assert run.m.shape == (41, 6, 4, 3)
    assert run.energy.shape == (41, 6, 4)
    for i, j in ((0, 0), (5, 3), (2, 1)):
        one = integrate(top(moments[i], m[j], offset=offsets[j], t_span=(0.0, 2.0)), h=0.05)
        assert one.m.shape == (41, 1, 3)
        assert np.array_equal(run.m[:, i, j], one.m[:, 0])
        assert np.array_equal(run.q[:, i, j], one.q[:, 0])


# Damping, and torques that depend on the velocity


def test_damping_alone_is_exact():
    """A sphere slows down exponentially, whatever the step and the scheme."""
    D, t = 0.3, 4.0
    sphere = Problem((2.0, 2.0, 2.0), ph.State(M0), forces.damping(D), (0.0, t))
    for h in (4.0, 0.5):
        m = integrate(sphere, h=h, method="V2").m[-1]
        np.testing.assert_allclose(m, np.exp(-D * t / 2.0) * np.array(M0), rtol=0, atol=20 * EPS)


def drag(t, Q, w, p):
    return -p[0] * w[0] * abs(w[0]), -p[0] * w[1] * abs(w[1]), -p[0] * w[2] * abs(w[2])


@pytest.mark.parametrize("force", [forces.damping(0.1), Torque(drag, (0.1,))], ids=repr)
@pytest.mark.parametrize("name", ["RKN6_14a", "RKN8_19", "Chin4A", "OMF6"])
def test_schemes_for_the_attitude_alone_refuse_velocities(force, name):
    with pytest.raises(errors.InputError, match=rf"{name}.*S4_6, S6_10 or a composition"):
        integrate(Problem(MOMENTS, ph.State(M0), force), h=0.1, method=name)


def test_negative_kicks_with_damping_warn():
    with pytest.warns(UserWarning, match=r"S6_10 has kicks of negative length"):
        integrate(Problem(MOMENTS, ph.State(M0), forces.damping(0.1)), h=0.1, method="S6_10")


def test_schemes_for_weak_torques_demand_an_exact_drift():
    with pytest.raises(errors.InputError, match=r"ABA1064.*Splitting\(Exact\(\), 'ABA1064'\)"):
        Splitting(ph.Midpoint(), "ABA1064")


# What goes wrong


def late(t, Q, w, p):
    if t > p[0]:
        raise ValueError("too late")
    return 0.0, 0.0, 0.1


def not_a_number(t, Q, w, p):
    return np.sqrt(p[0] - t), 0.0, 0.1


def test_a_torque_that_raises():
    body = Problem(MOMENTS, ph.State(M0), Torque(late, (3.0,), velocity=False), (0.0, 5.0))
    with pytest.raises(errors.RunError, match=r"step 7 of 10, at t = 3\.0.*ValueError: too late") as caught:
        integrate(body, h=0.5)
    assert isinstance(caught.value.__cause__, ValueError)
    last = traceback.extract_tb(caught.value.__cause__.__traceback__)[-1]
    assert (last.name, last.line) == ("late", 'raise ValueError("too late")')
    run = caught.value.trajectory
    assert not run.success
    assert np.isfinite(run.m[:7]).all()
    assert np.isnan(run.m[7:]).all()
    fine = integrate(Problem(MOMENTS, ph.State(M0), Torque(late, (9.0,), velocity=False), (0.0, 5.0)), h=0.5)
    np.testing.assert_array_equal(run.m[:7], fine.m[:7])


def test_one_bad_body_of_a_batch():
    force = Torque(late, [[9.0], [3.0], [9.0]], velocity=False)
    batch = Problem(MOMENTS, ph.State([M0] * 3), force, (0.0, 5.0))
    with pytest.warns(errors.RunWarning, match=r"1 of 3 bodies stopped early; body\[1\].*too late"):
        run = integrate(batch, h=0.5)
    assert list(run.status) == [0, Status.TORQUE_RAISED, 0]
    assert np.isfinite(run.m[:, [0, 2]]).all()
    assert np.isfinite(run.m[:7, 1]).all()
    assert np.isnan(run.m[7:, 1]).all()


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_torque_that_is_not_a_number():
    with pytest.raises(errors.RunError, match=r"not three finite numbers|ValueError"):
        integrate(Problem(MOMENTS, ph.State(M0), Torque(not_a_number, (2.0,), velocity=False), (0.0, 5.0)), h=0.5)


def test_a_step_without_solution():
    method = Splitting(ph.MoserVeselov(), "V2")
    with pytest.raises(errors.RunError, match=r"has no solution; h = 0.361 has one"):
        integrate(top(m=(3.0, 2.0, 9.0)), h=2.5, method=method)


def test_interruption_keeps_what_was_computed(monkeypatch):
    monkeypatch.setattr(running, "FIRST_PIECE", 100)
    monkeypatch.setattr(running, "PIECE_SECONDS", 1e-9)
    shown = []

    def show(self, done):
        shown.append(done)
        if len(shown) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "show", show)
    with pytest.raises(KeyboardInterrupt) as caught:
        integrate(top(), h=0.01, progress=True)
    run = caught.value.trajectory
    assert run.message.startswith("interrupted")
    assert run.status is Status.INTERRUPTED
    assert not run.success
    monkeypatch.undo()
    whole = integrate(top(), h=0.01)
    assert 0 < len(run) < len(whole)
    assert np.array_equal(run.t, whole.t[: len(run)])
    assert np.array_equal(run.m, whole.m[: len(run)])  # no rows of NaN


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"h": 0.0}, "positive finite"),
        ({"h": -0.1}, "direction is that of t_span"),
        ({"h": np.nan}, "positive finite"),
        ({"h": 0.1, "t_span": (1.0, 1.0)}, "two different finite times"),
        ({"h": 0.1, "method": "RKN6_14b"}, "RKN6_14a"),
        ({"h": 0.1, "method": 7}, "a flow and a scheme"),
        ({"h": 0.1, "save_every": 0}, "1 or more"),
        ({"h": 0.1, "t_eval": [6.0]}, "between 0 and 5"),
        ({"h": 0.1, "t_eval": [2.0, 1.0]}, "direction of t_span"),
    ],
)
def test_bad_arguments(arguments, match):
    with pytest.raises(errors.InputError, match=match):
        integrate(top(), **arguments)


def test_progress(capsys, monkeypatch):
    monkeypatch.setattr("polhode.core.progress.PATIENCE", 0.0)
    for how in ({"h": 0.01}, {"method": ph.Adaptive(1e-8)}):
        integrate(top(), **how, progress=True)
        assert "t = 5 of 5" in capsys.readouterr().err
    integrate(top(), h=0.01)
    assert not capsys.readouterr().err


def test_trajectory():
    run = integrate(top(), h=0.1)
    assert run.success
    assert run.status == 0
    np.testing.assert_allclose(run.omega * MOMENTS, run.m)
    np.testing.assert_allclose(run.kinetic, 0.5 * (run.m**2 / MOMENTS).sum(axis=-1))
    np.testing.assert_allclose(run.potential, (run.matrix @ (0.1, 0.2, 0.5))[:, 2])
    np.testing.assert_allclose(run.m_space, np.einsum("tij,tj->ti", run.matrix, run.m), atol=1e-14)
    assert run.energy_error()[0] == 0
    assert abs(run.energy_error()).max() < 1e-7
    assert run.rotation.as_matrix().shape == (51, 3, 3)
    for part in ("51 states", "RKN6_14a", "h = 0.1", "50 steps", "torques", "reached the end"):
        assert part in repr(run)


def test_invariants():
    found = integrate(top(), h=0.5).invariants()
    assert set(found) >= {"|q|", "energy"}
    assert found["|q|"] < 1e-14
    assert 1e-12 < found["energy"] < 1e-3
    free = integrate(Problem(MOMENTS, ph.State(M0)), h=0.1).invariants()
    assert set(free) >= {"|q|", "energy", "|m|", "Q m"}
    assert max(free.values()) < 1e-14
    damped = integrate(Problem(MOMENTS, ph.State(M0), forces.damping(0.5)), h=0.1, method="V2").invariants()
    assert "energy" not in damped
    pulled = integrate(Problem(MOMENTS, ph.State(M0), forces.gravity(1.0, (0.1, 0.2, 0.5))), h=0.01).invariants()
    assert pulled["m along axis"] < 1e-14


def test_energy_of_a_torque_is_not_known():
    run = integrate(Problem(MOMENTS, ph.State(M0), Torque(late, (9.0,), velocity=False)), h=0.1)
    with pytest.raises(AttributeError, match="late"):
        run.energy  # noqa: B018


def test_problem_arguments():
    with pytest.raises(errors.MomentumError, match="got neither state nor omega"):
        Problem(MOMENTS)
    with pytest.raises(errors.MomentumError, match="got both state and omega"):
        Problem(MOMENTS, ph.State(M0), omega=(1, 0, 0))
    np.testing.assert_array_equal(Problem(MOMENTS, omega=(1, 1, 1)).state.m, MOMENTS)
    with pytest.raises(errors.TimeError, match="t_span"):
        Problem(MOMENTS, ph.State(M0), t_span=(0, np.inf))
    with pytest.raises(errors.InputError, match="has a force"):
        top().free_motion()


def test_no_warnings_on_the_way():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        integrate(top(), h=0.1)


def drag_in_body_axes(t, y, inverse, D, lever):
    """y' of (m, q) in the axes of a tensor: gravity on a lever, damping by a matrix in body axes."""
    m, q = y[:3], y[3:]
    w, Q = inverse @ m, matrix(q / np.linalg.norm(q))
    spin = 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])
    return np.concatenate([np.cross(m, w) + np.cross(lever, -Q[2]) - D @ w, spin])


FULL = np.array([(0.5, 0.2, 0.0), (0.2, 0.4, -0.1), (0.0, -0.1, 0.3)])


@pytest.mark.parametrize("method", ["S6_10", "Adaptive"])
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(
    ("D", "principal"), [(np.diag([0.1, 0.4, 0.8]), False), (FULL, False), (FULL, True)], ids=["axes", "full", "both"]
)
@pytest.mark.filterwarnings("ignore:.*negative length")
def test_damping_that_is_not_along_principal_axes(rng, method, batch, D, principal):
    A = np.eye(3) if principal else matrix(random_attitude(rng))
    A = np.stack([A, A if principal else matrix(random_attitude(rng))]) if batch else A
    tensor, lever = A @ np.diag(MOMENTS) @ np.swapaxes(A, -1, -2), np.array([0.1, 0.2, 0.5])
    D = np.stack([D, 0.5 * D]) if batch else D
    body = ph.RigidBody(MOMENTS) if principal else tensor
    problem = Problem(body, ph.State(M0), forces.gravity(1.0, lever) + forces.damping(D), (0.0, 2.0))
    method, h = (ph.Adaptive(1e-13), None) if method == "Adaptive" else (method, 0.04)
    run = integrate(problem, method=method, h=h, t_eval=[2.0])
    for i in range(2 if batch else 1):
        inverse = np.linalg.inv(tensor[i] if batch else tensor)
        start = np.array([*M0, 1.0, 0.0, 0.0, 0.0])
        truth = solve_ivp(
            drag_in_body_axes, (0, 2), start, "DOP853", rtol=1e-13, atol=1e-14,
            args=(inverse, D[i] if batch else D, lever),
        ).y[:, -1]  # fmt: skip
        found = np.concatenate([run.m[-1, i], run.q[-1, i]] if batch else [run.m[-1], run.q[-1]])
        np.testing.assert_allclose(found, truth, rtol=0, atol=1e-12)


def test_damping_by_a_matrix_alone_is_exact(rng):
    """Of a sphere, m' = -D m/I, in one step of any length; rounding D changes the result by eps |D| t/I."""
    for strength in (1e-6, 1.0, 50.0):
        root = rng.normal(size=(3, 3))
        D, t = strength * root @ root.T, 0.7
        run = integrate(Problem((2.0, 2.0, 2.0), ph.State(M0), forces.damping(D), (0.0, t)), method="V2", h=t)
        with mp.workdps(30):
            truth = mp.expm(-mp.matrix(D.tolist()) * mp.mpf(t) / 2) * mp.matrix(M0)
        expected = np.array([float(x) for x in truth])
        tolerance = 10 * EPS * (1 + np.linalg.norm(D, 2) * t / 2.0)
        np.testing.assert_allclose(run.m[-1], expected, rtol=0, atol=tolerance)


def test_a_linear_rotor_is_damped_across_its_axis():
    problem = Problem(ph.RigidBody.linear(2.0), ph.State((0.0, 0.2, 0.9)), forces.damping(FULL), (0.0, 3.0))
    for method in ("V2", ph.Adaptive(1e-12)):
        run = integrate(problem, method=method, h=0.1 if method == "V2" else None)
        assert np.abs(run.m[:, 0]).max() <= 4 * EPS
        across = expm(-FULL[1:, 1:] * 3.0 / 2.0) @ (0.2, 0.9)  # m is constant but for damping
        np.testing.assert_allclose(run.m[-1, 1:], across, rtol=0, atol=50 * EPS if method == "V2" else 1e-10)


def test_a_damping_matrix_is_seen_by_the_choice():
    D = np.array([(0.0, 0.0, 0.0), (0.0, 0.1, 0.1), (0.0, 0.1, 0.1)])
    force = forces.gravity(0.1, (0, 0, 1)) + forces.damping(D)
    run = integrate(Problem(MOMENTS, ph.State(M0), force, (0, 100)), rtol=1e-8)
    assert "damping" in run.message
    with pytest.raises(errors.InputError, match="attitude alone"):
        integrate(Problem(MOMENTS, ph.State(M0), forces.damping(D)), method="RKN6_14a", h=0.1)


def test_oblique_damping_does_not_depend_on_units(rng):
    A = matrix(random_attitude(rng))
    tensor, D = A @ np.diag(MOMENTS) @ A.T, np.array([0.1, 0.4, 0.8])
    one = integrate(Problem(tensor, ph.State(M0), forces.damping(D), (0.0, 2.0)), method="V2", h=0.1)
    I, m = 2.0**61, 2.0**-37  # units of time are I/m
    other = Problem(I * tensor, ph.State(np.array(M0) * m), forces.damping(m * D), (0, 2.0 * I / m))
    two = integrate(other, method="V2", h=0.1 * I / m)
    assert np.array_equal(one.q, two.q)
    assert np.array_equal(one.m * m, two.m)


def test_a_status_tells_why_a_body_stopped():
    """The numbers of the kernels, of trajectories and of files are the same, and each has a message."""
    state = ph.State(m=(0.3, 0.2, 0.9))
    torques = {
        Status.REACHED_END: lambda t, Q, w, p: (0.0, 0.0, 0.1),
        Status.NOT_FINITE: lambda t, Q, w, p: (0.0, 0.0, np.inf if t > 0.5 else 0.0),
    }
    for status, function in torques.items():
        problem = Problem((1.0, 2.0, 3.0), state, Torque(function), (0.0, 1.0))
        for method in ("V2", ph.Adaptive(1e-6)):
            try:
                run = integrate(problem, method=method, h=0.1 if method == "V2" else None)
            except errors.RunError as failure:
                run = failure.trajectory
            assert run.status is status
            assert run.success == (status == 0)
    assert len({status.message for status in Status}) == len(Status)
