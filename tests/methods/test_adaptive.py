"""Adaptive steps against solutions found in other ways, and what they promise to the bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from math import inf

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.integrate import solve_ivp

import polhode as ph
from conftest import EPS, distance, random_attitude
from polhode import Status, forces, problems
from polhode.core.errors import InputError, RunError, RunWarning
from polhode.integration.own_steps_run import OwnStepsRun
from polhode.kernels.compiler import JIT
from polhode.kernels.stepping.header import Interpolation, Saved, Wanted
from polhode.methods.adaptive import SMALLEST_RTOL, Adaptive
from polhode.solve import integrate
from test_torqued_golden import CASES, PROBLEMS, errors, times

# error at all times of the golden file, at most so many times rtol
REACHED = {
    "heavy_top_eps1e-3": 3.0,
    "heavy_top_eps1e-6": 3.0,
    "heavy_top_vilmart": 6.0,
    "driver_example1": 16.0,
    "gyro_top_steady": 25.0,
    "gyro_top_nutating": 25.0,
    "satellite": 450.0,
    "vessel_undamped": 2.5,
    "vessel_damped": 1.3,
}
SLACK = 2.0

MOMENTS = 1.3, 0.7, 2.1  # not sorted
START_M, START_Q = (0.4, -0.3, 0.8), (0.5, 0.5, -0.5, 0.5)
DAMPING = 0.3, 0.1, 0.2


def forcing(t, Q, w, p):
    """Depends on all it can; p[0] is a strength."""
    return (
        p[0] * np.sin(3.0 * t) + 0.3 * Q[2][1],
        -0.3 * Q[2][0] - 0.2 * w[1] ** 3,
        p[0] * np.cos(t) * Q[0][0],
    )


def drag(t, Q, w, p):
    return -p[0] * w[0], -p[1] * w[1], -p[2] * w[2]


def forced(t_end=1.0, strength=0.5):
    force = ph.Torque(forcing, (strength,)) + forces.damping(DAMPING)
    return ph.Problem(MOMENTS, ph.State(START_M, START_Q), force, (0.0, t_end))


def right_hand_side(t, y, number, sin, cos, velocity):
    """Of ``forced`` in R^7, for any type of number: m' = m x w + f - D w, q' = q (0, w)/2."""
    m, (a, b, c, d), D = y[:3], y[3:], [number(x) for x in DAMPING]
    w = velocity(m)
    Q00, Q20, Q21 = a * a + b * b - c * c - d * d, 2 * (b * d - a * c), 2 * (c * d + a * b)
    f = sin(3 * t) / 2 + number(0.3) * Q21, -number(0.3) * Q20 - number(0.2) * w[1] ** 3, cos(t) * Q00 / 2
    turn = m[1] * w[2] - m[2] * w[1], m[2] * w[0] - m[0] * w[2], m[0] * w[1] - m[1] * w[0]
    return [
        *(turn[i] + f[i] - D[i] * w[i] for i in range(3)),
        -(b * w[0] + c * w[1] + d * w[2]) / 2,
        (a * w[0] + c * w[2] - d * w[1]) / 2,
        (a * w[1] + d * w[0] - b * w[2]) / 2,
        (a * w[2] + b * w[1] - c * w[0]) / 2,
    ]


def principal_velocity(m):
    return [x / mpf(I) for x, I in zip(m, MOMENTS, strict=True)]


@cache
def exactly(t):
    """(m, q) of ``forced`` by Taylor series in 25 digits."""
    with mp.workdps(25):
        start = [mpf(x) for x in (*START_M, *START_Q)]
        y = mp.odefun(lambda t, y: right_hand_side(t, y, mpf, mp.sin, mp.cos, principal_velocity), 0, start)(mpf(t))
        return tuple(y[:3]), tuple(y[3:])


def error(traj, row, t):
    m, q = exactly(t)
    return max(distance(traj.m[row], m), distance(traj.q[row], q))


def in_calls(problem, method, at, limit, span=None):
    """All there is after calls of ``limit`` trials each: states at times, current, and the ends of steps."""
    run = OwnStepsRun(problem, span or problem.t_span, method)
    n, cap, at = run.count_rows, 1000, np.array(at, dtype=float)
    current = method.new_batch_state(run.rows.m.copy(), run.rows.q.copy(), run.t0)
    advance = method.advance(run.rows.force)
    clock = run.stretches.window(0)
    out = np.full((len(at), n, 3), np.nan), np.full((len(at), n, 4), np.nan)
    steps = np.full((cap, n), np.nan), np.full((cap, n, 3), np.nan), np.full((cap, n, 4), np.nan), np.zeros(n, np.int64)
    while ((current.status == 0) & (current.t != run.t1)).any():
        advance(run.bodies, clock, Wanted(limit, times=at), 0, n, current, Saved(*out, *steps))
    return run, current, out, steps


def same(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


# Against other solutions.


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12, 1e-13])
@pytest.mark.parametrize("name", REACHED)
def test_golden_states(name, rtol):
    traj = integrate(PROBLEMS[name](), method=Adaptive(rtol), t_eval=times(CASES[name]))
    assert max(errors(CASES[name], traj.m, traj.q)) <= SLACK * REACHED[name] * rtol


def test_every_golden_problem_is_here():
    assert set(REACHED) == set(PROBLEMS)


def test_damped_and_forced_in_time():
    traj = integrate(forced(), method=Adaptive(1e-13), t_eval=[0.0, 0.3, 1.0])
    assert error(traj, 1, 0.3) < 3e-14
    assert error(traj, 2, 1.0) < 2e-14


def test_full_tensor_against_scipy(rng):
    """In axes that are not principal, with a torque in those."""
    axes = ph.rotation.matrix(random_attitude(rng))
    tensor = axes @ np.diag(MOMENTS) @ axes.T
    tensor = 0.5 * (tensor + tensor.T)

    force = ph.Torque(forcing, (0.5,)) + ph.Torque(drag, DAMPING)
    problem = ph.Problem(tensor, ph.State(START_M, START_Q), force, (0.0, 10.0))
    at = np.linspace(0.0, 10.0, 12)
    traj = integrate(problem, method=Adaptive(1e-12), t_eval=at)
    truth = solve_ivp(
        right_hand_side, (0.0, 10.0), (*START_M, *START_Q), "DOP853", at, rtol=3e-14, atol=1e-15,
        args=(float, np.sin, np.cos, lambda m: np.linalg.solve(tensor, m)),
    )  # fmt: skip
    np.testing.assert_allclose(np.hstack([traj.m, traj.q]), truth.y.T, rtol=0, atol=2e-11)


def test_backward_comes_back():
    problem = forced(5.0)
    there = integrate(problem, method=Adaptive(1e-12))
    start = ph.Problem(MOMENTS, ph.State(there.m[-1], there.q[-1]), problem.force, (5.0, 0.0))
    back = integrate(start, method=Adaptive(1e-12), t_eval=[5.0, 1.0, 0.3, 0.0])
    same((back.m[0], back.q[0]), (there.m[-1], there.q[-1]))
    assert error(back, 1, 1.0) < 1e-10
    assert error(back, 2, 0.3) < 1e-10
    assert distance(back.m[-1], START_M) < 1e-10


def fixed(h):
    return Adaptive(rtol=1.0, first_step=h, max_step=h)


def test_order_8_of_steps():
    found = []
    for n in (3, 6, 12):
        traj = integrate(forced(), method=fixed(1.0 / n))
        assert traj.stats.steps == n
        found.append(error(traj, -1, 1.0))
    assert np.log2(found[0] / found[1]) == pytest.approx(8, abs=0.6)
    assert np.log2(found[1] / found[2]) == pytest.approx(8, abs=0.6)


def test_order_7_within_steps():
    """One step: its end is in error by h^9, the interpolant by h^8."""
    ends, middles = [], []
    for h in (0.5, 0.25):
        traj = integrate(forced(), (0.0, h), method=fixed(h), t_eval=[0.3 * h, h])
        assert traj.stats.steps == 1
        middles.append(error(traj, 0, 0.3 * h))
        ends.append(error(traj, 1, h))
    assert np.log2(ends[0] / ends[1]) == pytest.approx(9, abs=0.7)
    assert np.log2(middles[0] / middles[1]) == pytest.approx(8, abs=0.7)


# What holds to the bit, or to rounding.


def test_calls_may_be_cut_anywhere():
    problem, at = forced(6.0), np.linspace(0.0, 6.0, 23)
    _, current, out, steps = in_calls(problem, Adaptive(1e-8), at, 10**9)
    for limit in (1, 3):
        _, other, out_other, steps_other = in_calls(problem, Adaptive(1e-8), at, limit)
        same(current, other)
        same((*out, *steps), (*out_other, *steps_other))
    assert current.rejected[0] > 0
    assert np.isfinite(out[0]).all()


def test_a_batch_is_its_bodies(rng):
    m = rng.normal(size=(5, 3)) * 10.0 ** np.arange(-2, 3)[:, None]
    force = ph.Torque(forcing, rng.uniform(0.0, 2.0, (5, 1))) + forces.damping(DAMPING)
    at = np.linspace(0.0, 3.0, 7)
    batch = integrate(ph.Problem(MOMENTS, ph.State(m, START_Q), force, (0.0, 3.0)), method=Adaptive(1e-7), t_eval=at)
    for i in range(5):
        force = ph.Torque(forcing, batch.problem.force.params[i]) + forces.damping(DAMPING)
        alone = integrate(
            ph.Problem(MOMENTS, ph.State(m[i], START_Q), force, (0.0, 3.0)), method=Adaptive(1e-7), t_eval=at
        )
        same((batch.m[:, i], batch.q[:, i]), (alone.m, alone.q))


@pytest.mark.parametrize(("a", "b"), [(1, 0), (-300, 200), (200, -300), (-330, -330), (330, 330)])
def test_powers_of_two_change_nothing(a, b):
    """m 2^a, I 2^b, t 2^(b - a), torque 2^(2a - b), damping 2^a; atol scales like m."""

    def scaled(a, b):
        force = forces.gravity(1.5 * 2.0 ** (2 * a - b), (0.3, 0.0, 0.4)) + forces.damping(0.01 * 2.0**a)
        state, span = ph.State(2.0**a * np.array(START_M), START_Q), (0.0, 8.0 * 2.0 ** (b - a))
        problem = ph.Problem(2.0**b * np.array(MOMENTS), state, force, span)
        at = np.linspace(0.0, 8.0, 9) * 2.0 ** (b - a)
        return integrate(problem, method=Adaptive(1e-8, 1e-6 * 2.0**a), t_eval=at)

    plain, other = scaled(0, 0), scaled(a, b)
    same((plain.q, plain.m), (other.q, 2.0**-a * other.m))
    assert plain.stats.torques == other.stats.torques


@pytest.mark.dense
def test_attitudes_stay_unit():
    traj = integrate(problems.heavy_top(1.0), (0.0, 1e4), method=Adaptive(1e-9, max_step=0.1), save_every=100)
    assert traj.stats.steps > 1e5
    assert abs(np.linalg.norm(traj.q, axis=-1) - 1.0).max() <= 6 * EPS


def test_steps_end_where_told():
    traj = integrate(forced(), (0.1, 0.72), method=Adaptive(1e-6, first_step=0.2, max_step=0.2))
    assert traj.t[0] == 0.1
    assert traj.t[-1] == 0.72
    assert len(traj) == 5
    assert np.diff(traj.t).max() <= 1.01 * 0.2


def test_sol_repeats_the_steps():
    at = np.linspace(0.0, 4.0, 50)
    traj = integrate(forced(4.0), method=Adaptive(1e-6), t_eval=at, dense_output=True)
    m, q = traj.sol(at)
    np.testing.assert_allclose(m, traj.m, rtol=0, atol=20 * EPS)
    np.testing.assert_allclose(q, traj.q, rtol=0, atol=20 * EPS)


def test_interpolate_at_the_left_end():
    run, current, _, _ = in_calls(forced(), Adaptive(1e-6), [], 1)
    left, m, q = np.array([0.0, 0.3]), np.tile(current.m, (2, 1)), np.tile(current.q, (2, 1))
    out = np.empty((2, 3)), np.empty((2, 4))
    window = np.full(2, -np.inf), np.full(2, np.inf)
    steps = Interpolation(run.bodies, left, np.array([1.0, 0.3]), *window, m, q, 0, 2, left, np.arange(2), *out)
    run.method.between(run.rows.force)(steps)
    same(out, (m, q))


# Rest, and the end of motion.


def test_rest_is_one_step():
    traj = integrate(ph.Problem(MOMENTS, ph.State((0, 0, 0), START_Q), None, (0.0, 1e9)), method=Adaptive())
    assert len(traj) == 2
    same((traj.m, traj.q), (np.zeros((2, 3)), [START_Q, START_Q]))


@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
def test_from_rest(size):
    """A torque about one axis, of a body at rest: the angle is f t^2/2 I."""
    problem = ph.Problem((2.0, 3.0, 4.0), ph.State((0, 0, 0)), forces.constant((size, 0, 0)), (0.0, 2.0 / size**0.5))
    traj = integrate(problem, method=Adaptive(1e-12))
    assert traj.m[-1, 0] == pytest.approx(2.0 * size**0.5, rel=1e-12)
    np.testing.assert_allclose(traj.q[-1], [np.cos(0.5), np.sin(0.5), 0, 0], rtol=0, atol=1e-11)
    assert traj.stats.rejected <= 3


def test_damping_to_a_full_stop():
    """|m| falls through all powers of ten that there are."""
    problem = ph.Problem(MOMENTS, ph.State((0, 0, 1.0)), forces.damping(2.1), (0.0, 2000.0))
    traj = integrate(problem, method=Adaptive(1e-9))
    assert traj.success
    assert abs(traj.m[-1]).max() < 1e-280
    np.testing.assert_allclose(traj.q[-1], [np.cos(0.5 / 2.1), 0, 0, np.sin(0.5 / 2.1)], rtol=0, atol=1e-7)
    early = integrate(problem, method=Adaptive(1e-9), t_eval=[100.0])
    assert early.m[0, 2] == pytest.approx(np.exp(-100.0), rel=1e-5)


# Torques that fail.


def test_torque_that_raises():
    def torque(t, Q, w, p):
        if t > 0.5:
            raise ValueError("no torque after 0.5")
        return 0.1, 0.0, 0.0

    problem = ph.Problem(MOMENTS, ph.State(START_M, START_Q), ph.Torque(torque), (0.0, 1.0))
    with pytest.raises(RunError, match=r"no torque after 0\.5") as caught:
        integrate(problem, method=Adaptive(1e-9, max_step=0.1))
    assert isinstance(caught.value.__cause__, ValueError)
    traj = caught.value.trajectory
    assert 0.3 < traj.t[-1] <= 0.5
    assert np.isfinite(traj.m).all()


def test_torque_that_is_not_finite():
    """Steps come as close as time allows."""

    def torque(t, Q, w, p):
        return (0.1 if t <= 0.5 else np.nan), 0.0, 0.0

    problem = ph.Problem(MOMENTS, ph.State(START_M, START_Q), ph.Torque(torque), (0.0, 1.0))
    with pytest.raises(RunError, match="nan") as caught:
        integrate(problem, method=Adaptive(1e-9))
    traj = caught.value.trajectory
    assert traj.t[-1] == pytest.approx(0.5, abs=1e-14)
    assert traj.stats.rejected > 10


def test_torque_that_fails_at_once():
    problem = ph.Problem(MOMENTS, ph.State(START_M), ph.Torque(lambda t, Q, w, p: (np.inf, 0.0, 0.0)), (0.0, 1.0))
    with pytest.raises(RunError, match="inf") as caught:
        integrate(problem, method=Adaptive(), t_eval=[0.0, 1.0])
    np.testing.assert_array_equal(caught.value.trajectory.m[0], START_M)


def test_steps_that_become_too_small():
    force = ph.Torque(lambda t, Q, w, p: (0.0, 0.0, abs(1.0 - t) ** -1.5))
    problem = ph.Problem(MOMENTS, ph.State((0, 0, 1.0)), force, (0.0, 2.0))
    with pytest.raises(RunError, match="shorter than the spacing of floating-point numbers at t") as caught:
        integrate(problem, method=Adaptive(1e-6))
    assert caught.value.trajectory.t[-1] == pytest.approx(1.0, abs=1e-12)


def chattering(t, Q, w, p):
    return 0.0, 0.0, (-p[0] if w[2] > 0.0 else p[0])


def test_a_budget_of_steps_has_a_clear_end():
    """A controller that switches at w = 0 keeps the body there, in ever shorter steps."""
    problem = ph.Problem(MOMENTS, ph.State((0, 0, 0.5)), ph.Torque(chattering, (1.0,)), (0.0, 1e3))
    with pytest.raises(RunError, match=r"1000 trial steps are used up.*max_steps") as caught:
        integrate(problem, method=Adaptive(1e-9, max_steps=1000))
    traj = caught.value.trajectory
    assert traj.stats.steps + traj.stats.rejected == 1000
    assert traj.status == Status.TOO_MANY_STEPS
    assert traj.t[-1] == pytest.approx(0.5, abs=0.1)
    assert np.isfinite(traj.m).all()


def test_a_budget_does_not_depend_on_pieces():
    method = Adaptive(1e-8, max_steps=7)
    _, current, *_ = in_calls(forced(6.0), method, [], 10**9)
    for limit in (1, 3):
        _, other, *_ = in_calls(forced(6.0), method, [], limit)
        same(current, other)
    assert current.steps[0] + current.rejected[0] == 7


def test_a_budget_is_that_of_each_body():
    force = ph.Torque(chattering, [[1.0], [0.0]])
    problem = ph.Problem(MOMENTS, ph.State((0, 0, 0.5)), force, (0.0, 10.0))
    with pytest.warns(RunWarning, match="1 of 2 bodies.*used up"):
        traj = integrate(problem, method=Adaptive(1e-9, max_steps=1000), t_eval=[10.0])
    assert list(traj.status) == [Status.TOO_MANY_STEPS, 0]


def test_a_budget_that_is_enough():
    method = Adaptive(1e-8)
    needed = in_calls(forced(6.0), method, [], 10**9)[1]
    trials = int(needed.steps[0] + needed.rejected[0])
    assert integrate(forced(6.0), method=Adaptive(1e-8, max_steps=trials)).success
    with pytest.raises(RunError, match="used up"):
        integrate(forced(6.0), method=Adaptive(1e-8, max_steps=trials - 1))


def test_others_of_a_batch_go_on():
    def torque(t, Q, w, p):
        if t > p[0]:
            raise ValueError("late")
        return 0.1, 0.0, 0.0

    problem = ph.Problem(MOMENTS, ph.State(START_M), ph.Torque(torque, [[0.5], [5.0]]), (0.0, 1.0))
    with pytest.warns(RunWarning, match="1 of 2 bodies"):
        traj = integrate(problem, method=Adaptive(1e-9, max_step=0.1), t_eval=[0.0, 0.2, 1.0])
    assert np.isfinite(traj.m[:, 1]).all()
    assert np.isfinite(traj.m[:2, 0]).all()
    assert np.isnan(traj.m[2, 0]).all()


# The class, and the other mode.


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"rtol": 1e-15}, f"{SMALLEST_RTOL:.3g}"),
        ({"rtol": 0.0}, "rtol=1e-9"),
        ({"rtol": inf}, "rtol = inf"),
        ({"rtol": (1e-9, 1e-9)}, "one number"),
        ({"rtol": np.nan}, "one number"),
        ({"atol": -1.0}, "atol = -1.0"),
        ({"first_step": 0.0}, "first_step = 0.0"),
        ({"atol": inf}, "atol = inf"),
        ({"atol": np.nan}, "one number"),
        ({"max_step": 0.0}, "max_step = 0.0"),
        ({"max_steps": 0}, "max_steps is 0"),
    ],
)
def test_bad_settings(arguments, said):
    with pytest.raises(InputError) as caught:
        Adaptive(**arguments)
    assert said in str(caught.value)


def test_equality_and_repr():
    assert Adaptive(1e-6) == Adaptive(rtol=1e-6) != Adaptive(1e-7)
    assert len({Adaptive(1e-6), Adaptive(1e-6), Adaptive(1e-6, max_step=1.0)}) == 2
    assert Adaptive(1e-6, max_steps=9) != Adaptive(1e-6)
    assert eval(repr(Adaptive(1e-6, 1e-3, 0.1, 0.5, 99))) == Adaptive(1e-6, 1e-3, 0.1, 0.5, 99)


OTHER_WAY = """
import json, sys
import polhode as ph
from polhode.solve import integrate
from polhode.kernels.compiler import JIT
from polhode.methods.adaptive import Adaptive
traj = integrate(ph.problems.vessel(), method=Adaptive(1e-10), t_eval=[5.0, 15.0])
json.dump({"jit": JIT, "m": traj.m.tolist(), "q": traj.q.tolist()}, sys.stdout)
"""


@pytest.mark.dense
def test_compiled_and_uncompiled_agree():
    environment = {**os.environ, "POLHODE_JIT": "0" if JIT else "1"}
    command = [sys.executable, "-W", "error", "-c", OTHER_WAY]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["jit"] is not JIT
    traj = integrate(problems.vessel(), method=Adaptive(1e-10), t_eval=[5.0, 15.0])
    scale = np.linalg.norm(traj.problem.state.m)
    np.testing.assert_allclose(np.array(answer["m"]) / scale, traj.m / scale, rtol=0, atol=1e-13)
    np.testing.assert_allclose(answer["q"], traj.q, rtol=0, atol=1e-13)
