"""Steps of Taylor series are verified: torques that saturate, peak, bend or jump are not passed over."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import polhode as ph
from hard_torques import KINDS, STEEP, STEEP_KINDS, draw, end_of, excess, exponential_of_size, truth
from polhode.core.errors import RunError
from polhode.kernels.compiler import JIT

MOMENTS = (1.0, 1.5, 2.0)
TOLERANCES = (1e-4, 1e-6, 1e-9, 1e-12)
SEED = 20261119
RAISING = {"bell_of_exponentials"}  # their exponentials overflow for some draws
IN_BATCHES = [kind for kind in KINDS if kind.__name__ not in RAISING][::3]


def generator(seed, kind):
    return np.random.default_rng([seed, KINDS.index(kind)])


def torque(function, end=10.0, m=(0.0, 0.0, 2.0), **given):
    return ph.Problem(MOMENTS, ph.State(m=m), ph.Torque(function, **given), (0.0, end))


# Single torques.


def test_a_torque_that_saturates():
    """By hand: m3' = -tanh(300 sin phi)/5 and phi' = m3/2, which scipy integrates in short steps."""
    problem = torque(lambda t, Q, w, p: (0.0, 0.0, -0.2 * math.tanh(300 * Q[1][0])))

    def slopes(t, y):
        return -0.2 * np.tanh(300 * np.sin(y[1])), 0.5 * y[0]

    true = solve_ivp(slopes, (0.0, 10.0), (2.0, 0.0), "DOP853", rtol=1e-12, atol=1e-12, max_step=1e-3).y[0, -1]
    assert true == pytest.approx(1.561243, abs=1e-6)
    for rtol, bound in ((1e-4, 1e-4), (1e-6, 1e-6), (1e-9, 1e-9), (1e-12, 1e-10)):
        traj = ph.integrate(problem, method=ph.Taylor(rtol))
        assert abs(traj.m[-1, 2] - true) < bound


@pytest.mark.parametrize("absolute", [abs, np.abs, math.fabs, lambda x: math.sqrt(x * x), lambda x: np.hypot(x, 0.0)])
def test_a_magnitude_bends_where_its_argument_vanishes(absolute):
    """m3' = -k m3 |m3| - c, from m > 0 to m < 0: m = r tan(r (t0 - t)) and m = -r tanh(r (t - t0)), r = sqrt(c/k)."""
    problem = torque(lambda t, Q, w, p: (0.0, 0.0, -0.1 * 4.0 * w[2] * absolute(w[2]) - 0.4), end=6.0)
    k, r = 0.1, 2.0
    start = math.atan(2.0 / r) / (k * r)
    for rtol in (1e-6, 1e-10, 1e-14):
        traj = ph.integrate(problem, method=ph.Taylor(rtol))
        assert traj.m[-1, 2] == pytest.approx(-r * math.tanh(k * r * (6.0 - start)), abs=10 * rtol + 1e-14)
        assert traj.stats.steps < 25  # a step ends at the bend, and others do not become short


def test_a_torque_that_jumps():
    """The heading jumps from pi to -pi: m3 grows by pi/5 per turn as seen by hand, in linear parts."""
    problem = torque(lambda t, Q, w, p: (0.1 * math.atan2(math.sin(t), math.cos(t)), 0.0, 0.0), end=20.0, m=(0, 0, 0))
    t = math.remainder(20.0, 2 * math.pi)
    for rtol in (1e-6, 1e-9, 1e-12):
        traj = ph.integrate(problem, method=ph.Taylor(rtol))
        assert traj.m[-1, 0] == pytest.approx(0.05 * t * t, abs=10 * rtol)


def test_an_angle_that_jumps_and_soon_jumps_back():
    """At the end of a step that contains both jumps, its series is right again."""
    dip = 0.1  # the angle is near -pi within this time before and after t = 5, otherwise near +pi

    def size(t):
        return 0.1 * math.atan2(0.01 * ((t - 5.0) ** 2 - dip**2), -1.0)

    force = ph.Torque(lambda t, Q, w, p: (0.0, 0.0, size(t)))
    problem = ph.Problem((1.0, 1.0, 1.0), ph.State((0.0, 0.0, 1.0)), force, (0.0, 10.0))
    impulse = quad(size, 0.0, 10.0, points=[5.0 - dip, 5.0 + dip], epsabs=1e-13)[0]
    for tolerance in TOLERANCES:
        m = ph.integrate(problem, method=ph.Taylor(tolerance, math.inf)).m[-1]
        assert m[2] == pytest.approx(1.0 + impulse, abs=10 * tolerance)


def test_a_bend_is_left_behind():
    """A step that ends an ulp behind a bend begins the next one on either side of it, by rounding."""
    rng = np.random.default_rng([6, KINDS.index(exponential_of_size)])
    *_, drawn = (draw(exponential_of_size, rng) for _ in range(7))
    for tolerance in (1e-3, 1e-4, 3e-5, 1e-5, 1e-6):
        assert ph.integrate(drawn.problem, method=ph.Taylor(tolerance)).stats.steps < 100


@pytest.mark.parametrize("power", [17, 64, 300])
def test_whole_powers_have_series_at_zero(power):
    """m3' = x^n with x = sin(t), from x = 0 on."""
    problem = torque(lambda t, Q, w, p: (0.0, 0.0, Q[1][0] ** power), end=2.0, m=(0.0, 0.0, 0.0))
    spin = ph.Problem((2.0, 2.0, 2.0), ph.State(m=(0, 0, 2.0)), problem.force, (0.0, 3.0))
    expected = ph.integrate(spin, method=ph.Adaptive(1e-13, max_step=0.01))
    traj = ph.integrate(spin, method=ph.Taylor(1e-13))
    np.testing.assert_allclose(traj.m[-1], expected.m[-1], rtol=0, atol=1e-11)


@pytest.mark.parametrize("m", [(0.3, 0.4, 2.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)])
@pytest.mark.parametrize("span", [(0.0, 10.0), (3.0, -7.0)])
def test_a_root_may_begin_at_zero(m, span):
    """sqrt((1 - c)/2) is |sin(angle/2)|: it has no derivative at the start, but on each side of it."""
    force = ph.Torque(lambda t, Q, w, p: (0.3 * math.sqrt((1.0 - Q[2][2]) / 2.0), 0.1, 0.0))
    problem = ph.Problem(MOMENTS, ph.State(m=m), force, span)
    same = ph.Torque(  # does not take the root of a negative number that is zero but for rounding
        lambda t, Q, w, p: (0.3 * math.sqrt((Q[0][2] ** 2 + Q[1][2] ** 2) / (2.0 * (1.0 + Q[2][2]))), 0.1, 0.0)
    )
    expected = end_of(problem.replaced(force=same), ph.Adaptive(1e-13, max_step=0.01))
    for rtol, bound in ((1e-6, 1e-6), (1e-10, 1e-10), (1e-14, 2e-11)):
        np.testing.assert_allclose(end_of(problem, ph.Taylor(rtol)), expected, rtol=0, atol=bound)


def test_a_body_that_does_not_get_on():
    """Coulomb friction brings it to rest, where its torque jumps back and forth."""
    problem = torque(lambda t, Q, w, p: (0.0, 0.0, -0.3 * w[2] / math.sqrt(w[2] * w[2])))
    with pytest.raises(RunError, match="steps that are shorter than the spacing") as caught:
        ph.integrate(problem, method=ph.Taylor(1e-9))
    assert caught.value.trajectory.t[-1] == pytest.approx(2.0 / 0.3, abs=1e-9)


def test_smooth_torques_cost_no_rejections():
    def control(t, Q, w, p):
        drag = 0.1 + 0.1 * math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + 1e-6)
        return tuple(-0.5 * (Q[(i + 1) % 3][i - 1] - Q[i - 1][(i + 1) % 3]) - drag * w[i] for i in range(3))

    def magnet(t, Q, w, p):
        r = (1.0 + 0.1 * math.cos(t)) ** 2.5
        return 0.0, -0.4 * Q[2][2] / r, 0.4 * Q[2][1] * math.exp(-0.1 * t) / r

    for function in (control, magnet):
        for rtol in TOLERANCES:
            traj = ph.integrate(torque(function, 20.0, (0.5, -0.4, 0.8)), method=ph.Taylor(rtol))
            assert traj.stats.rejected == 0


# Random torques.


@pytest.mark.dense
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_error_is_silent(kind):
    rng = generator(SEED, kind)
    for _ in range(2):
        drawn = draw(kind, rng)
        true = truth(drawn)
        for rtol in (1e-6, 1e-9):
            assert excess(drawn, rtol, true) <= 1.0


@pytest.mark.release
@pytest.mark.parametrize("steep", [False, True])
def test_no_error_is_silent_in_many_draws(steep):
    """At most 3 of 600 may raise an error, all of kinds that are known to."""
    worst, raised, count = {}, [], 0
    for kind in STEEP_KINDS if steep else KINDS:
        rng = np.random.default_rng()
        for _ in range(24):
            drawn = draw(kind, rng, **({"sharp": STEEP} if steep else {}))
            true = truth(drawn)
            count += 1
            for rtol in TOLERANCES:
                found = excess(drawn, rtol, true)
                worst[kind.__name__] = max(worst.get(kind.__name__, 0.0), found)
                if found > 1.0:
                    print(kind.__name__, rtol, found, drawn.problem.force.params, drawn.problem.state)
                if found == 0.0:
                    raised.append(kind.__name__)
    assert max(worst.values()) <= 1.0, worst
    assert {*raised} <= RAISING
    assert len(raised) <= 3 * len(TOLERANCES) * max(1, count // 200)


@pytest.mark.release
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_truth_of_random_torques(kind):
    """By scipy, which calls the function itself."""
    drawn = draw(kind, generator(SEED, kind))
    problem = drawn.problem
    I, p = problem.body.moments, problem.force.params

    def slope(t, y):
        w, (a, b, c, d) = y[:3] / I, y[3:]
        u = np.array((-b * w[0] - c * w[1] - d * w[2], a * w[0] + c * w[2] - d * w[1],
                      a * w[1] + d * w[0] - b * w[2], a * w[2] + b * w[1] - c * w[0])) / 2  # fmt: skip
        return np.concatenate((np.cross(y[:3], w) + kind(t, ph.rotation.matrix(y[3:]), w, p), u))

    start = np.concatenate((problem.state.m, problem.state.q))
    longest = drawn.truth_steps[0]
    found = solve_ivp(slope, problem.t_span, start, "DOP853", rtol=1e-11, atol=1e-11, max_step=longest).y[:, -1]
    true = truth(drawn)
    assert np.abs(found - true.end).max() <= 1e-8 * true.growth


# Batches, and runs that are interrupted.


def crowd(kind, count, end=5.0):
    rng = generator(SEED, kind)
    drawn = [draw(kind, rng).problem for _ in range(count)]
    states = [problem.state for problem in drawn]
    state = ph.State(np.array([state.m for state in states]), np.array([state.q for state in states]))
    params = np.array([problem.force.params for problem in drawn])
    params[:, 1] *= end / 14.0
    return ph.Problem(MOMENTS, state, ph.Torque(kind, params=params), (0.0, end))


@pytest.mark.dense
@pytest.mark.parametrize("kind", IN_BATCHES, ids=lambda kind: kind.__name__)
def test_batches_in_lanes(kind):
    """Steps of other bodies are rejected meanwhile: bits do not depend on that, and errors are those of one body."""
    problem = crowd(kind, 9)
    together = ph.integrate(problem, method=ph.Taylor(1e-9), t_eval=[5.0])
    expected = ph.integrate(problem, method=ph.Adaptive(1e-12, max_step=2e-3), t_eval=[5.0])
    np.testing.assert_allclose(together.m[-1], expected.m[-1], rtol=0, atol=2e-7)
    for rows in ([4], [8, 0, 4], [3, 4, 5, 6, 7]):
        params = problem.force.params[rows]
        state = ph.State(problem.state.m[rows], problem.state.q[rows])
        some = ph.integrate(
            problem.replaced(state=state, force=ph.Torque(kind, params=params)), method=ph.Taylor(1e-9), t_eval=[5.0]
        )
        np.testing.assert_array_equal(some.m[-1], together.m[-1][rows])
        np.testing.assert_array_equal(some.q[-1], together.q[-1][rows])


@pytest.mark.dense
def test_interruptions_change_no_bit():
    """The bound on the next step, after one that was shortened, is a part of the state of a run."""
    problem = torque(lambda t, Q, w, p: (0.1, 0.0, -0.2 * math.tanh(300 * Q[1][0])))
    whole = ph.integrate(problem, method=ph.Taylor(1e-9))
    assert whole.stats.rejected > 5
    run = ph.start(problem, ph.Taylor(1e-9))
    for t, m, q in zip(whole.t[1:], whole.m[1:], whole.q[1:], strict=True):
        run.step()
        assert run.t == t
        np.testing.assert_array_equal(run.m, m)
        np.testing.assert_array_equal(run.q, q)


def test_states_between_steps_are_those_of_verified_steps(rng):
    problem = torque(lambda t, Q, w, p: (0.1, 0.0, -0.2 * math.tanh(300 * Q[1][0])))
    t = np.sort(rng.uniform(0.0, 10.0, 40))
    expected = ph.integrate(problem, method=ph.Adaptive(1e-12, max_step=1e-3), t_eval=t)
    found = ph.integrate(problem, method=ph.Taylor(1e-10), t_eval=t)
    np.testing.assert_allclose(found.m, expected.m, rtol=0, atol=1e-8)
    assert np.array_equal(ph.integrate(problem, method=ph.Taylor(1e-10), dense_output=True).sol(t)[0], found.m)


@pytest.mark.skipif(not JIT, reason="compares compiled code with plain Python")
@pytest.mark.parametrize("name", ["saturating", "drag_by_axis", "gaussian", "heading"])
def test_plain_python_rejects_the_same_steps(name, tmp_path):
    import json
    import os
    import subprocess
    import sys

    code = (
        "import json, sys; sys.path[:0] = json.loads(sys.argv[1])\n"
        "import numpy as np, polhode as ph, hard_torques as h\n"
        "kind = getattr(h, sys.argv[2])\n"
        "drawn = h.draw(kind, np.random.default_rng(5))\n"
        "traj = ph.integrate(drawn.problem, method=ph.Taylor(1e-6))\n"
        "print(json.dumps([traj.stats.steps, traj.stats.rejected, *traj.m[-1].tolist()]))\n"
    )
    found = []
    for mode in ("1", "0"):
        command = [sys.executable, "-c", code, json.dumps(sys.path), name]
        done = subprocess.run(command, env={**os.environ, "POLHODE_JIT": mode}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    assert found[0][:2] == found[1][:2]
    np.testing.assert_allclose(found[0][2:], found[1][2:], rtol=0, atol=1e-10)
