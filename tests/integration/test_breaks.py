"""Torques that switch: steps end at their breaks, methods keep their order across, and nothing else changes.

Truth is SciPy's DOP853 at 1e-13, which is given each stretch of time alone, with the branch of the torque that holds
there, and so never sees a switch.
"""

from __future__ import annotations

import pickle
from contextlib import suppress
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import polhode as ph
from polhode import errors
from polhode.core.progress import Progress
from polhode.files import atomic, chunked
from polhode.files import long_run_writer as stream_writer
from polhode.integration import running
from polhode.integration.stretches import Steps, Stretches
from polhode.scenarios.scenario import read_scenario

pytestmark = pytest.mark.dense

MOMENTS, M0, Q0 = np.array((1.0, 1.5, 2.0)), (0.1, 0.2, 1.0), (1.0, 0.0, 0.0, 0.0)
BREAKS, SPAN = (1.31, 2.07), (0.0, 4.0)
STATE = ph.State(m=M0, q=Q0)


def burn(t, Q, w, p):
    """Zero at both breaks, where a step that ends there must see the limits from within."""
    if p[0] < t < p[1]:
        return 0.5 + 0.3 * t * Q[2][1], 0.2 * np.cos(3.0 * t), 0.4
    return 0.05 * np.sin(t), 0.1 * Q[2][0], 0.0


def drag(t, Q, w, p):
    """The same, and resistance."""
    x, z = -0.1 * w[0], -0.2 * w[2]
    if p[0] < t < p[1]:
        return 0.5 + 0.3 * t * Q[2][1] + x, 0.2 * np.cos(3.0 * t), 0.4 + z
    return 0.05 * np.sin(t) + x, 0.1 * Q[2][0], z


def branch(on, t, Q):
    """The same torque, without the question."""
    if on:
        return np.array((0.5 + 0.3 * t * Q[2, 1], 0.2 * np.cos(3.0 * t), 0.4))
    return np.array((0.05 * np.sin(t), 0.1 * Q[2, 0], 0.0))


def rhs(t, y, on, resistance, branches):
    m, (a, b, c, d) = y[:3], y[3:]
    w = m / MOMENTS
    Q = np.array(
        (
            (a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)),
            (2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)),
            (2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d),
        )
    )
    columns = np.array(((-b, -c, -d), (a, -d, c), (d, a, -b), (-c, b, a)))
    return np.concatenate((np.cross(m, w) + branches(on, t, Q) - resistance * w, 0.5 * columns @ w))


@cache
def truth(t, start=SPAN[0], breaks=BREAKS, resistance=(0.0, 0.0, 0.0), branches=branch):
    """(m, q) at t, from the state M0, Q0 at ``start``."""
    sign = 1.0 if t > start else -1.0
    cuts = sorted((b for b in breaks if min(start, t) < b < max(start, t)), key=lambda b: sign * b)
    y, ends = np.array(M0 + Q0), [start, *cuts, t]
    for left, right in pairwise(ends):
        on = breaks[0] < 0.5 * (left + right) < breaks[1]
        told = on, np.array(resistance), branches
        y = solve_ivp(rhs, (left, right), y, "DOP853", rtol=1e-13, atol=1e-15, args=told).y[:, -1]
    return y


def problem(breaks=BREAKS, span=SPAN, torque=burn):
    return ph.Problem(MOMENTS, STATE, ph.Torque(torque, BREAKS, velocity=torque is drag, breaks=breaks), span)


def error(traj, row=-1, **told):
    return float(np.abs(np.append(traj.m[row], traj.q[row]) - truth(float(traj.t[row]), **told)).max())


ORDERS = {"V2": 2, "V2_BAB": 2, "AlgoC1": 2, "RKN4_6b": 4, "Chin4A": 4, "RKN6_11b": 6, "RKN6_14a": 6, "S6_10": 6}


def order(problems, method, told, steps=(0.2, 0.05)):
    """From errors at the end with two lengths of steps."""
    errors = [error(ph.integrate(problems, method=method, h=h, save_every=2**40), **told) for h in steps]
    return np.log(errors[0] / errors[1]) / np.log(steps[0] / steps[1])


@pytest.mark.parametrize("span", [SPAN, SPAN[::-1]])
@pytest.mark.parametrize("method", ORDERS)
def test_methods_keep_their_order_across_breaks(method, span):
    steps = (0.4, 0.1) if ORDERS[method] > 4 else (0.2, 0.05)
    assert order(problem(span=span), method, {"start": span[0]}, steps) > ORDERS[method] - 0.4


@pytest.mark.parametrize("method", ORDERS)
def test_without_breaks_they_do_not(method):
    """Or the test above would show nothing."""
    assert error(ph.integrate(problem(()), method=method, h=0.1)) > 1e-3


@pytest.mark.parametrize("span", [SPAN, SPAN[::-1]])
@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
def test_adaptive_rejects_no_step_at_a_break(rtol, span):
    traj = ph.integrate(problem(span=span), method=ph.Adaptive(rtol))
    assert error(traj, start=span[0]) < 0.5 * rtol
    assert traj.stats.rejected == 0
    assert set(BREAKS) < set(traj.t)
    assert ph.integrate(problem(()), method=ph.Adaptive(rtol)).stats.rejected > 20


def test_a_torque_of_the_angular_velocity():
    told = {"resistance": (0.1, 0.0, 0.2)}
    assert order(problem(torque=drag), "V2_BAB", told) > 1.8
    assert error(ph.integrate(problem(torque=drag), method=ph.Adaptive(1e-10)), **told) < 1e-10


WEIGHT = ph.Potential(
    lambda t, Q, p: (0.8 * t if p[0] < t < p[1] else 0.2) * Q[2][2],
    lambda t, Q, p: ((0, 0, 0), (0, 0, 0), (0, 0, 0.8 * t if p[0] < t < p[1] else 0.2)),
    params=BREAKS,
    axis=(0, 0, 1),
    breaks=BREAKS,
)


def of_weight(on, t, Q):
    return (0.8 * t if on else 0.2) * np.array((Q[2, 1], -Q[2, 0], 0.0))


@pytest.mark.long
@pytest.mark.parametrize("method", ["Rattle", "QuatEM", "QuatVI", "DirEM", "AlgoC1"])
def test_whole_step_methods_with_a_potential_that_switches(method):
    top = ph.Problem(MOMENTS, STATE, WEIGHT, SPAN)
    assert order(top, method, {"branches": of_weight}) > 1.8


@pytest.mark.parametrize("span", [SPAN, SPAN[::-1]])
def test_breaks_at_the_ends_are_limits_from_within(span):
    """The torque is another one at both ends of the span, where V2_BAB kicks."""
    force = ph.Torque(burn, SPAN, breaks=SPAN)
    traj = ph.integrate(ph.Problem(MOMENTS, STATE, force, span), method="RKN4_6b", h=0.1)
    assert error(traj, start=span[0], breaks=SPAN) < 1e-8
    assert traj.h == np.copysign(0.1, span[1] - span[0])
    adaptive = ph.integrate(ph.Problem(MOMENTS, STATE, force, span), method=ph.Adaptive(1e-10))
    assert error(adaptive, start=span[0], breaks=SPAN) < 1e-9


@pytest.mark.parametrize("method", ["V2_BAB", "RKN6_14a", ph.Adaptive(1e-8)])
def test_breaks_elsewhere_change_no_bit(method):
    h = None if isinstance(method, ph.Adaptive) else 0.1
    without, with_breaks = (ph.integrate(problem(b), method=method, h=h) for b in ((), (-1.0, 4.5)))
    np.testing.assert_array_equal(without.q, with_breaks.q)
    np.testing.assert_array_equal(without.t, with_breaks.t)


# Times: steps, states that are wanted, states in between.


def test_steps_between_breaks():
    grid = Steps(SPAN, np.array(BREAKS), 0.4)
    np.testing.assert_array_equal(grid.first, [0, 4, 6, 11])
    np.testing.assert_allclose(grid.h, [1.31 / 4, 0.76 / 2, 1.93 / 5], rtol=1e-15)
    traj = ph.integrate(problem(), method="V2", h=0.4)
    assert (np.diff(traj.t) > 0.3).all()
    assert set(BREAKS) < set(traj.t)
    assert traj.h == grid.h.max()
    assert len(traj) == 12
    t = np.linspace(*SPAN, 1000)
    left, right = (grid.times(grid.before(t) + n) for n in (0, 1))
    assert ((left <= t) & (t <= right + 1e-15))[:-1].all()


def test_where_the_torque_is_evaluated():
    """Never at a break, however close two of them are."""
    breaks = np.array((1.0, np.nextafter(1.0, 2.0), 1.0 + 1e-15, 1.0 + 1e-9))
    for span in ((0.0, 2.0), (2.0, 0.0)):
        stretches = Stretches(span, breaks)
        left, right = np.sort((stretches.starts, stretches.ends), axis=0)
        assert len(left) == 5
        assert (stretches.low <= stretches.high).all()
        wide = right - left > 4e-16  # in between are other doubles
        assert not np.isin((stretches.low[wide], stretches.high[wide]), breaks).any()
        assert (stretches.low[wide & np.isin(left, breaks)] > left[wide & np.isin(left, breaks)]).all()
        assert (stretches.high[wide & np.isin(right, breaks)] < right[wide & np.isin(right, breaks)]).all()


@pytest.mark.parametrize("span", [SPAN, SPAN[::-1]])
@pytest.mark.parametrize("options", [{"h": 0.05}, {"h": 0.05, "save_every": 9}, {"h": 0.05, "t_eval": SPAN}, {}])
def test_states_between_steps(span, options):
    """At any time, from states kept at every step, at some, at hardly any, and of steps of their own length."""
    options = {name: span if name == "t_eval" else value for name, value in options.items()}
    method = "RKN6_14a" if options else ph.Adaptive(1e-11)
    traj = ph.integrate(problem(span=span), method=method, **options)
    inside = 0.5 * (BREAKS[0] + BREAKS[1])
    times = [0.7, np.nextafter(1.31, 0.0), 1.31, np.nextafter(1.31, 2.0), 1.35, inside, 2.0, 2.07, 2.1, 3.9]
    found = np.concatenate(traj.sol(times), axis=-1)
    for t, row in zip(times, found, strict=True):
        np.testing.assert_allclose(row, truth(t, span[0]), rtol=0, atol=1e-10)
    assert np.abs(found[1] - found[3]).max() < 1e-14
    sign = 1 if span[1] > span[0] else -1
    at = ph.integrate(problem(span=span), method=method, **(options | {"t_eval": times[::sign]}))
    np.testing.assert_allclose(np.concatenate((at.m, at.q), axis=-1)[::sign], found, rtol=0, atol=1e-13)


def test_some_states_are_those_of_all():
    every, some = (ph.integrate(problem(), method="RKN4_6b", h=0.1, save_every=n) for n in (1, 7))
    np.testing.assert_array_equal(some.t, np.append(every.t[:-1:7], every.t[-1]))
    np.testing.assert_allclose(some.q, np.append(every.q[:-1:7], every.q[-1:], axis=0), rtol=0, atol=4e-15)


def turned_up(t, m, q):
    return m[..., 0] - 0.3


@pytest.mark.parametrize("method", ["RKN6_14a", ph.Adaptive(1e-11)])
def test_events(method):
    h = None if isinstance(method, ph.Adaptive) else 0.05
    traj = ph.integrate(problem(), method=method, h=h, events=[turned_up, lambda t, m, q: t - BREAKS[1]])
    (crossing, *_), (at_break,) = traj.t_events
    assert BREAKS[0] < crossing < BREAKS[1]
    assert abs(truth(float(crossing))[0] - 0.3) < 1e-10
    assert at_break == pytest.approx(BREAKS[1], abs=1e-15)


def test_bodies_with_steps_of_their_own_wait_for_each_other():
    """One turns a hundred times as fast, so that the other is at the break long before; its event comes right after."""
    state = ph.State(m=np.array((M0, (10.0, 20.0, 100.0))))
    batch = ph.Problem(MOMENTS, state, ph.Torque(burn, BREAKS, breaks=BREAKS), SPAN)
    traj = ph.integrate(batch, method=ph.Adaptive(1e-10), t_eval=SPAN, events=lambda t, m, q: t - 1.32)
    assert [float(t[0]) for t in traj.t_events[0]] == pytest.approx([1.32, 1.32], abs=1e-14)
    np.testing.assert_allclose(np.append(traj.m[-1, 0], traj.q[-1, 0]), truth(SPAN[1]), rtol=0, atol=1e-9)
    m, q = traj.sol(1.315)
    np.testing.assert_allclose(np.append(m[0], q[0]), truth(1.315), rtol=0, atol=1e-9)


def test_a_batch_has_the_bits_of_its_bodies():
    states, force = np.array((M0, (0.5, 0.3, -0.2), (0.0, 0.0, 0.0))), problem().force
    problems = (ph.Problem(MOMENTS, ph.State(m), force, SPAN) for m in (states, *states[:, None]))
    made = [ph.integrate(each, method="S6_10", h=0.1) for each in problems]
    for i, alone in enumerate(made[1:]):
        np.testing.assert_array_equal(made[0].q[:, i], alone.q[:, 0])


def test_pieces_of_work_change_no_bit(monkeypatch):
    whole = ph.integrate(problem(), method="RKN4_6b", h=0.01, save_every=50)
    monkeypatch.setattr(running, "FIRST_PIECE", 7)
    monkeypatch.setattr(running, "PIECE_SECONDS", 1e-9)
    pieces = ph.integrate(problem(), method="RKN4_6b", h=0.01, save_every=50)
    np.testing.assert_array_equal(whole.q, pieces.q)
    assert whole.stats.torques == pieces.stats.torques


# What goes wrong is told.


def test_a_torque_that_fails_between_breaks():
    def breaks_down(t, Q, w, p):
        if 1.0 < t < 2.0:
            raise ValueError("no fuel")
        return 0.1, 0.0, 0.0

    force = ph.Torque(breaks_down, breaks=(1.0, 2.0))
    for method, h in (("V2_BAB", 0.3), (ph.Adaptive(1e-6), None)):
        with pytest.raises(errors.RunError, match=r"at t = 1, .*the torque raised ValueError: no fuel") as caught:
            ph.integrate(ph.Problem(MOMENTS, STATE, force, (0.0, 3.0)), method=method, h=h)
        assert caught.value.trajectory.t[0] == 0.0
    batch = ph.Problem(MOMENTS, STATE, ph.Torque(fails_early_or_late, [[0.5], [1.5]], breaks=(1.0,)), (0.0, 3.0))
    with pytest.warns(errors.RunWarning, match=r"body\[0\] stopped in step 6 of 30, at t = 0.55, "):
        traj = ph.integrate(batch, method="V2", h=0.1)
    assert np.isfinite(traj.q[:, :, 0]).sum(axis=0).tolist() == [6, 16]


def fails_early_or_late(t, Q, w, p):
    return (np.nan if t > p[0] else 0.1), 0.0, 0.0


@pytest.mark.parametrize("breaks", [(np.nan,), ((1.0, 2.0),), (np.inf, 1.0), "now", 3.0])
def test_refused_breaks(breaks):
    with pytest.raises(errors.InputError, match="breaks"):
        ph.Torque(burn, BREAKS, breaks=breaks)


@pytest.mark.parametrize("scheme", ["OMF6", "WH17", "PABA1264"])
def test_schemes_that_look_beyond_their_step(scheme):
    force = ph.Torque(burn, BREAKS, velocity=False, breaks=BREAKS)
    with pytest.raises(errors.InputError, match=rf"{scheme} .* breaks, .*; choose V2, RKN6_14a"):
        ph.integrate(ph.Problem(MOMENTS, STATE, force, SPAN), method=scheme, h=0.1)


# The same everywhere: sums, copies, files, ensembles, scenarios, the choice of steps.


def test_sums_and_copies():
    one, other = ph.Torque(burn, BREAKS, breaks=BREAKS[::-1]), ph.Torque(burn, BREAKS, breaks=(2.07, 5))
    force = one + ph.forces.damping(0.1) + other
    np.testing.assert_array_equal(force.breaks, (*BREAKS, 5.0))
    assert not force.breaks.flags.writeable
    assert ph.forces.constant((1.0, 0.0, 0.0)).breaks.shape == (0,)
    cloudpickle = pytest.importorskip("cloudpickle")
    again = pickle.loads(cloudpickle.dumps(problem()))
    np.testing.assert_array_equal(again.force.breaks, BREAKS)


def test_saved_and_loaded(tmp_path):
    ph.integrate(problem(), method="V2", h=0.1).save(tmp_path / "burn.nc")
    np.testing.assert_array_equal(ph.load(tmp_path / "burn.nc").problem.force.breaks, BREAKS)


def same_states(a, b):
    return all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in "tmq")


class Death(BaseException):
    """Stands for the end of the process: nobody catches it."""


@pytest.mark.parametrize(("method", "every", "stop"), [("RKN4_6b", 4, Death), ("QuatVI", 17, KeyboardInterrupt)])
def test_streamed_and_interrupted_everywhere(tmp_path, monkeypatch, method, every, stop):
    """Also between two states, in the middle of a stretch, and at a break."""
    monkeypatch.setattr(atomic.os, "fsync", lambda handle: None)
    monkeypatch.setattr(stream_writer, "COMMIT_SECONDS", 0.0)
    monkeypatch.setattr(running, "FIRST_PIECE", 6)
    monkeypatch.setattr(running, "PIECE_SECONDS", 1e9)
    top = ph.Problem(MOMENTS, STATE, WEIGHT, SPAN)
    expected = ph.integrate(top, method=method, h=0.1, save_every=every)
    show, committed = Progress.show, set()
    for number in range(1, 100):
        path, calls = tmp_path / f"{number}.zarr", []

        def count(self, done, calls=calls, number=number):
            calls.append(done)
            if len(calls) == number:
                raise stop
            show(self, done)

        monkeypatch.setattr(Progress, "show", count)
        with suppress(Death, KeyboardInterrupt):
            ph.stream(top, path, method=method, h=0.1, save_every=every, chunk=4)
        if len(calls) < number:
            break
        monkeypatch.setattr(Progress, "show", show)
        committed.add(int(chunked.checkpoint_of(path).snapshot["steps"][0]))
        assert ph.resume(path, top).finished
        assert same_states(ph.load(path), expected)
    assert number > 5
    assert committed & {14, 22} or every == 4  # the steps at which breaks are
    assert same_states(ph.load(path), expected)


def test_another_break_is_another_run(tmp_path):
    other = ph.Problem(MOMENTS, STATE, ph.Torque(burn, BREAKS, breaks=(1.31, 2.1)), SPAN)
    ph.stream(problem(), tmp_path / "run.zarr", method="V2", h=0.1)
    with pytest.raises(errors.InputError, match="another problem: breaks"):
        ph.resume(tmp_path / "run.zarr", other)


def test_ensembles():
    strengths = {"m": np.array((M0, (0.5, 0.3, -0.2)))}
    found = ph.ensemble(problem(), strengths, method="RKN4_6b", h=0.1)
    for i, m in enumerate(strengths["m"]):
        alone = ph.Problem(MOMENTS, ph.State(m[None]), problem().force, SPAN)
        traj = ph.integrate(alone, method="RKN4_6b", h=0.1, t_eval=SPAN[1:])
        np.testing.assert_array_equal(found.q[i, 0], traj.q[-1, 0])


def test_scenarios(tmp_path):
    (tmp_path / "fires.py").write_text("def burn(t, Q, w, p):\n    return (0.5 if 1 < t < 2 else 0.0), 0.0, 0.0\n")
    (tmp_path / "burn.toml").write_text(
        "t_span = [0, 4]\n[body]\nmoments = [1, 1.5, 2]\n[state]\nm = [0.1, 0.2, 1]\n"
        '[force]\npython = "fires:burn"\nbreaks = [2, 1]\n'
    )
    made = read_scenario(tmp_path / "burn.toml", allow_python=True)
    np.testing.assert_array_equal(made.problem.force.breaks, (1.0, 2.0))


def test_a_chosen_method_meets_what_was_asked_for():
    """A burn of one second in a hundred, in which a search by h and h/2 must not take the same step twice."""
    force = ph.Torque(lambda t, Q, w, p: ((0.5 if 30 < t < 31 else 0.0), 0.0, 0.0), breaks=(30, 31))
    traj = ph.integrate(ph.Problem(MOMENTS, STATE, force, (0.0, 100.0)), rtol=1e-6)
    exact = ph.integrate(ph.Problem(MOMENTS, STATE, force, (0.0, 100.0)), method="RKN8_19", h=0.01, save_every=2**40)
    assert np.abs(traj.q[-1] - exact.q[-1]).max() < 1e-6


def test_errors_of_short_stretches_are_estimated():
    """One step in a stretch of half its length: the run to compare with takes two."""
    force = ph.Torque(lambda t, Q, w, p: ((5.0 if 3 < t < 3.5 else 0.0), 0.0, 0.0), breaks=(3, 3.5))
    kicked = ph.Problem(MOMENTS, STATE, force, (0.0, 6.0))
    traj = ph.integrate(kicked, method="V2", h=1.0, estimate_error=True)
    exact = ph.integrate(kicked, method="RKN8_19", h=0.01, save_every=2**40)
    off = np.abs(traj.q[-1] - exact.q[-1]).max()
    assert off > 1e-3
    assert 0.5 * off < max(traj.error_estimate) < 2.0 * off
