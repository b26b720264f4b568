"""QuatEM, QuatVI, DirEM and AlgoC1: published experiments, orders, round-off, batches, forces they take and refuse,
and steps that have no solution. Their equations: ``test_conserving_equations``; their records: ``test_declared``.
"""

from __future__ import annotations

import numpy as np
import pytest

import polhode as ph
from batches import AXIAL, CONSERVING, FREE, GENERAL, GRAVITY, RESTORING, begin, go_on, step
from conftest import EPS, random_attitude
from polhode import Status, errors, forces
from polhode.core.rotation import matrix, rotate
from polhode.kernels.compiler import JIT
from polhode.kernels.stepping.header import Bodies
from polhode.methods.algo_c1 import AlgoC1
from polhode.methods.dir_em import DirEM
from polhode.methods.quat_em import QuatEM, acts_through_axis
from polhode.methods.quat_vi import QuatVI
from polhode.problems.gyro_top import LEVER, mass_center
from test_torqued_golden import CASES, PROBLEMS
from test_torqued_golden import errors as golden_errors

every_method = pytest.mark.parametrize("method", CONSERVING, ids=repr)
every_force = pytest.mark.parametrize("force", [FREE, GRAVITY, RESTORING, AXIAL, GENERAL], ids=repr)

# The free body of Betsch and Siebert 2009, section 5.1: |Q_exact Q^T - 1| at T = 1. None: the step has no solution

STEPS = (20, 100, 1000, 10000)
FREE_ERRORS = {
    "QuatEM()": ("2.54e+00", "1.45e-01", "1.45e-03", "1.45e-05"),
    "QuatVI()": (None, "5.83e-01", "5.82e-03", "5.82e-05"),
    "DirEM()": ("2.81e+00", "2.91e-01", "2.91e-03", "2.91e-05"),
    "AlgoC1()": ("1.92e+00", "1.11e-01", "1.12e-03", "1.12e-05"),
}
MOMENTS, M0 = np.array([6.0, 8.0, 3.0]), np.array([60.0, 160.0, 60.0])
ENERGY = 2500.0


def free_run(method, steps):
    current = begin(method, M0, (1, 0, 0, 0))
    go_on(method, FREE, MOMENTS, current, 1 / steps, steps)
    return current


def own_energy(method, current):
    """Of the velocities that the method keeps: nine numbers, sorted like the moments (3, 6, 8 here), or m."""
    if not method.memory:
        return float(np.sum(current.m[0] ** 2 / MOMENTS)) / 2
    J = np.sort(MOMENTS)
    W = current.memory[0].reshape(3, 3)
    return float(np.trace(W @ np.diag(J.sum() / 2 - J) @ W.T)) / 2


@every_method
@pytest.mark.parametrize("k", range(len(STEPS) if JIT else 3))
def test_table_of_the_free_body(method, k):
    current, printed = free_run(method, STEPS[k]), FREE_ERRORS[repr(method)][k]
    if printed is None:
        assert (current.status[0], current.steps[0]) == (Status.NO_STEP, 0)
        return
    _, q = ph.propagate(MOMENTS, M0, (1, 0, 0, 0), 1.0)
    error = np.linalg.norm(matrix(q) @ matrix(current.q[0]).T - np.eye(3))
    assert f"{error:.2e}" == printed
    walk = 20 * EPS * STEPS[k] ** 0.5
    assert abs(own_energy(method, current) / ENERGY - 1) < walk
    assert np.linalg.norm(rotate(current.q[0], current.m[0]) - M0) / np.linalg.norm(M0) < walk


def test_energy_of_dir_em_in_terms_of_m():
    """That of its nine velocities is kept; that of m is off by the fourth power of the step."""
    off = [abs(np.sum(free_run(DirEM(), n).m[0] ** 2 / MOMENTS) / 2 / ENERGY - 1) for n in (100, 1000)]
    assert 1e-5 < off[0] < 1e-4
    assert 5e3 < off[0] / off[1] < 2e4


def test_own_energy_of_dir_em_where_v_is_linear_in_q_without_an_axis():
    force = forces.spring(2000.0, ph.rotation.from_rotation_vector((0.3, 1.0, -0.4)))
    current = begin(DirEM(), M0, (1, 0, 0, 0))
    go_on(DirEM(), force, MOMENTS, current, 0.01, 100)
    energies = (
        ENERGY + force.potential(0.0, (1, 0, 0, 0)),
        own_energy(DirEM(), current) + force.potential(0.0, current.q[0]),
    )
    assert abs(energies[1] / energies[0] - 1) < 200 * EPS
    assert abs(force.potential(0.0, current.q[0]) - force.potential(0.0, (1, 0, 0, 0))) > 100


# The gyro top of section 5.2: relative error of the mass center at t = 1

TOP_STEPS = (100, 143, 200, 1000)
TOP_ERRORS = {
    "QuatEM()": ("1.52e+00", "8.07e-01", "4.15e-01", "1.64e-02"),
    "QuatVI()": (None, "6.41e-01", "2.01e-01", "6.22e-03"),
    "DirEM()": ("7.96e-02", "4.04e-02", "2.08e-02", "8.46e-04"),
    "AlgoC1()": ("1.09e+00", "4.92e-01", "2.31e-01", "8.24e-03"),
}


def top_run(method, steps):
    return ph.integrate(ph.problems.gyro_top(), method=method, h=1 / steps)


def off_the_circle(run):
    return np.linalg.norm(LEVER * run.matrix[..., 2] - mass_center(run.t), axis=-1) / LEVER


@every_method
@pytest.mark.parametrize("k", range(len(TOP_STEPS) if JIT else 3))
def test_table_of_the_gyro_top(method, k):
    """Against the circle of steady precession."""
    printed = TOP_ERRORS[repr(method)][k]
    if printed is None:
        return  # see test_quat_vi_tells_why_it_refuses
    run = top_run(method, TOP_STEPS[k])
    assert f"{off_the_circle(run)[-1]:.2e}" == printed
    assert run.invariants()["m along axis"] < 20 * EPS * TOP_STEPS[k] ** 0.5


def test_the_director_scheme_by_its_formulas():
    """The one entry of the reference table that differs in its last digit (2.09e-2), by the formulas in plain NumPy."""
    problem, h = ph.problems.gyro_top(), 1 / 200
    J, params = problem.body.moments, problem.force.params
    slope, E = np.outer(params[:3], params[3:]), np.diag(J.sum() / 2 - J)
    Q, W = matrix(problem.state.q), np.cross(np.eye(3), problem.state.m / J)
    for _ in range(200):
        A = 2 * W @ E - h * Q.T @ slope
        turn = np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])
        e = np.linalg.solve(4 / h * np.diag(J) + np.trace(A) * np.eye(3) - A, turn)
        e = np.cross(np.eye(3), e)
        R = (np.eye(3) + e) @ np.linalg.inv(np.eye(3) - e)
        Q, W = Q @ R, 2 / h * (np.eye(3) - R.T) - R.T @ W
    error = np.linalg.norm(LEVER * Q[:, 2] - mass_center(1.0)) / LEVER
    assert abs(off_the_circle(top_run(DirEM(), 200))[-1] / error - 1) < 1.5e-10
    assert f"{error:.2e}" == "2.08e-02"


def test_conservation_with_long_steps():
    """At h = 0.01 QUAT_EM is off by more than the radius of the circle, and still keeps both integrals."""
    run = top_run(QuatEM(), 100)
    assert off_the_circle(run).max() > 1
    assert np.abs(run.energy_error()).max() < 200 * EPS
    assert run.invariants()["m along axis"] < 200 * EPS
    errors_of = {repr(m): off_the_circle(top_run(m, 143))[-1] for m in CONSERVING}
    assert min(errors_of, key=errors_of.get) == "DirEM()"


# Orders, against the golden states


@every_method
@pytest.mark.parametrize(
    ("name", "steps"), [("gyro_top_nutating", 12800), ("heavy_top_vilmart", 800), ("vessel_undamped", 800)]
)
def test_order_is_two(method, name, steps):
    """And what two runs extrapolate to, errors having even powers of h only, is much nearer to the truth."""
    problem, case = PROBLEMS[name](), CASES[name]
    case = {**case, "states": case["states"][-1:]}
    if steps > 1000 and not JIT:
        pytest.skip(f"{steps} steps")
    runs = [ph.integrate(problem, method=method, h=problem.duration / n, save_every=n) for n in (steps, 2 * steps)]
    coarse, fine = (golden_errors(case, run.m[-1:], run.q[-1:])[0] for run in runs)
    assert abs(np.log2(coarse / fine) - 2) < 0.05
    m, q = ((4 * getattr(runs[1], x)[-1:] - getattr(runs[0], x)[-1:]) / 3 for x in "mq")
    assert golden_errors(case, m, q)[0] < 0.02 * fine


def swing(t, Q, p):
    return (1.0 + 0.5 * t * t) * Q[2][0]


def swing_slope(t, Q, p):
    zero = 0.0, 0.0, 0.0
    return zero, zero, (1.0 + 0.5 * t * t, 0.0, 0.0)


@every_method
def test_potentials_may_depend_on_time(method):
    problem = ph.Problem((1.1, 1.6, 1.9), ph.State((0.3, -0.4, 0.9)), ph.Potential(swing, swing_slope), (1.0, 2.0))
    runs = ph.work_precision(problem, [method], h=(0.02, 0.01)).runs
    assert abs(np.log2(runs[0].error_q / runs[1].error_q) - 2) < 0.05


@pytest.mark.parametrize("method", [QuatEM(), QuatVI(), AlgoC1()], ids=repr)
@every_force
def test_newtons_method_is_quick(method, force):
    """As it is with the right Jacobian."""
    current = step(method, force, (1.7, 1.0, 2.6), (0.6, -0.5, 0.9), (0.5, 0.1, -0.7, 0.5), 0.05, 20)
    assert current.iterations[0] <= 20 * (3 if force is FREE else 4)
    extra = 4 if method == QuatVI() else 3
    assert current.torques[0] == current.iterations[0] + 20 * extra


def test_long_steps_take_the_root_that_short_ones_lead_to():
    """Of several: along growing steps the end moves on, and never jumps. With plain Newton iterations it would."""
    rng = np.random.default_rng(8)
    m, q, moments = rng.normal(size=(300, 3)), random_attitude(rng, 300), rng.uniform(1, 3, (300, 3))
    m /= np.linalg.norm(m, axis=-1, keepdims=True)
    some = [246, 277]
    ends = [step(AlgoC1(), FREE, moments[some], m[some], q[some], h).q for h in np.linspace(3.0, 3.8, 41)]
    assert np.linalg.norm(np.diff(ends, axis=0), axis=-1).max() < 0.05


@pytest.mark.parametrize("stiffness", [0.5, 2.5, 5.0, 10.0])
def test_stiff_forces_with_long_steps(stiffness):
    """h times the frequency: beyond 2 kicks heat the body up without limit; QuatEM finds its steps and keeps energy."""
    h, k, tilt = 0.1 * stiffness, 100.0, ph.rotation.from_rotation_vector((1.0, 0.3, -0.2))
    start = ph.State((0.1, 0.2, 0.15), tilt)
    problem = ph.Problem((1.0, 1.3, 1.7), start, forces.spring(k), (0.0, (1000 if JIT else 60) * h))
    assert np.abs(ph.integrate(problem, method=QuatEM(), h=h).energy_error()).max() < 2000 * EPS
    if stiffness > 2:
        assert np.abs(ph.integrate(problem, method="V2", h=h).energy_error()).max() > 10


def test_small_turns_in_a_stiff_potential():
    """Energies that cancel, and differences of them divided by small turns: noise that is no lack of a solution."""
    tilt = ph.rotation.from_rotation_vector((0.05, 0.015, -0.01))
    problem = ph.Problem((1.0, 1.3, 1.7), ph.State((0.1, 0.2, 0.15), tilt), forces.spring(100.0), (0.0, 50.0))
    run = ph.integrate(problem, method=QuatEM(), h=0.05)
    terms = 150.0  # of which the energy is what is left: (k/2) (3 - tr Q)
    assert np.abs(run.energy - run.energy[0]).max() < 20 * EPS * terms * run.stats.steps**0.5


@pytest.mark.dense
@pytest.mark.parametrize("size", [1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
def test_small_swings_from_rest_in_a_stiff_potential(size):
    """The same where the noise is larger than the tolerance of the iterations: many bodies, none of which stops."""
    rng, n = np.random.default_rng(1), 300 if JIT else 10
    tilts = ph.rotation.from_rotation_vector(size * rng.normal(size=(n, 3)))
    for h in (0.05, 0.15, 0.4):
        problem = ph.Problem((1.0, 1.3, 1.7), ph.State(np.zeros(3), tilts), forces.spring(100.0), (0.0, 100 * h))
        assert ph.integrate(problem, method=QuatEM(), h=h, save_every=100).success


def test_the_director_scheme_solves_one_linear_equation_where_the_gradient_is_constant():
    start = (1.7, 1.0, 2.6), (0.6, -0.5, 0.9), (0.5, 0.1, -0.7, 0.5)
    assert step(DirEM(), GRAVITY, *start, 0.3, 20).iterations[0] == 20
    assert 3 * 20 <= step(DirEM(), RESTORING, *start, 0.05, 20).iterations[0] <= 7 * 20


# Round-off


@pytest.mark.dense
@pytest.mark.skipif(not JIT, reason="100 000 steps")
@every_method
def test_round_off_is_a_random_walk(method):
    """What is kept exactly drifts by a few eps times the root of the number of steps."""
    rng, steps = np.random.default_rng(5), 100_000
    m = rng.normal(size=(8, 3))
    m /= np.linalg.norm(m, axis=-1, keepdims=True)
    q, moments = random_attitude(rng, 8), rng.uniform(1, 3, (8, 3))
    walk = 20 * EPS * steps**0.5
    current = step(method, FREE, moments, m, q, 0.05, steps)
    assert np.linalg.norm(rotate(current.q, current.m) - rotate(q, m), axis=-1).max() < walk
    if not method.memory:
        energy, before = (np.sum(x**2 / moments, axis=-1) for x in (current.m, m))
        assert np.abs(energy / before - 1).max() < walk
    current = step(method, GRAVITY, moments, m, q, 0.05, steps)
    assert np.abs(rotate(current.q, current.m)[:, 2] - rotate(q, m)[:, 2]).max() < walk
    assert np.abs(np.linalg.norm(current.q, axis=-1) - 1).max() < walk


@pytest.mark.parametrize("force", [RESTORING, AXIAL, GENERAL], ids=repr)
def test_energy_of_a_body_that_starts_at_rest(force):
    """Where a step hardly turns the body, differences of energies are rounding: nothing is divided by it."""
    q, moments = (0.5, 0.1, -0.7, 0.5), (1.0, 1.6, 2.1)
    start = float(force.potential(0.0, q))
    for h in (1e-9, 1e-6, 1e-4, 1e-2):
        current = step(QuatEM(), force, moments, np.zeros(3), q, h, 20)
        energy = np.sum(current.m**2 / moments) / 2 + force.potential(0.0, current.q[0])
        assert abs(energy - start) < 20 * EPS
        exact = step(QuatEM(), force, moments, np.zeros(3), q, h / 2, 40)
        assert np.abs(current.m - exact.m).max() < 1e-9 * h + 20 * h**3


def test_at_rest_without_torque_nothing_happens():
    for method in CONSERVING:
        current = step(method, FREE, (1.0, 1.6, 2.1), np.zeros(3), (1, 0, 0, 0), 0.1, 3)
        np.testing.assert_array_equal(current.m, 0)
        np.testing.assert_array_equal(current.q, [[1, 0, 0, 0]])


# Batches, pieces, threads, scales, axes


def some_bodies(n=40):
    rng = np.random.default_rng(11)
    return rng.uniform(1, 3, (n, 3)), rng.normal(size=(n, 3)), random_attitude(rng, n)


@pytest.mark.dense
@every_method
@every_force
def test_neighbors_and_pieces_change_no_bit(method, force):
    moments, m, q = some_bodies()
    whole = step(method, force, moments, m, q, 0.2, 12)
    pieces = begin(method, m, q)
    go_on(method, force, moments, pieces, 0.2, 12, pieces=5, ranges=3)
    for name in ("m", "q", "memory", "steps", "torques", "iterations"):
        np.testing.assert_array_equal(getattr(pieces, name), getattr(whole, name))
    for i in (0, 17, 39):
        alone = step(method, force, moments[i], m[i], q[i], 0.2, 12)
        np.testing.assert_array_equal(alone.m[0], whole.m[i])
        np.testing.assert_array_equal(alone.q[0], whole.q[i])


@pytest.mark.dense
@every_method
def test_threads_change_no_bit(method, monkeypatch):
    moments, m, q = some_bodies(200)
    problem = ph.Problem(ph.RigidBody.from_moments(moments), ph.State(m, q), RESTORING, (0.0, 2.0))
    ends = []
    for threads in ("1", "3"):
        monkeypatch.setenv("POLHODE_NUM_THREADS", threads)
        ends.append(ph.integrate(problem, method=method, h=0.1, save_every=20))
    np.testing.assert_array_equal(ends[0].m, ends[1].m)
    assert ends[0].stats.iterations == ends[1].stats.iterations > 0


@every_method
@pytest.mark.parametrize(("a", "b"), [(1, 0), (-7, 12), (300, 300), (-300, 300), (300, -300)])
def test_scale_changes_no_bit(method, a, b):
    """m -> 2^a m, I -> 2^b I, h -> 2^(b-a) h."""
    moments, m, q = some_bodies(8)
    plain = step(method, FREE, moments, m, q, 0.2, 3)
    scaled = step(method, FREE, np.ldexp(moments, b), np.ldexp(m, a), q, np.ldexp(0.2, b - a), 3)
    np.testing.assert_array_equal(np.ldexp(scaled.m, -a), plain.m)
    np.testing.assert_array_equal(scaled.q, plain.q)


@every_method
def test_a_tensor_and_its_principal_axes(method):
    """The same top in axes of its own and in others, in which its tensor is full: the same motion in space."""
    axes = matrix(ph.rotation.normalize((0.4, -0.2, 0.7, 0.3)))  # columns: principal axes in the user's
    moments, offset, m = np.array([1.7, 1.0, 2.6]), np.array([0.3, -0.4, 0.8]), np.array([0.6, -0.5, 0.9])
    q = ph.rotation.normalize((0.5, 0.1, -0.7, 0.5))
    own = ph.Problem(moments, ph.State(m, q), forces.gravity(0.5, offset), (0.0, 2.0))
    turned = ph.Problem(
        axes @ np.diag(moments) @ axes.T,
        ph.State(axes @ m, ph.rotation.from_matrix(matrix(q) @ axes.T)),
        forces.gravity(0.5, axes @ offset),
        (0.0, 2.0),
    )
    one, other = (ph.integrate(problem, method=method, h=0.1) for problem in (own, turned))
    np.testing.assert_allclose(other.m_space, one.m_space, rtol=0, atol=1e-14)
    np.testing.assert_allclose(other.matrix, one.matrix @ axes.T, rtol=0, atol=1e-14)


@every_method
def test_backward_runs_return(method):
    """Symmetric methods, but for the velocities of DIR_EM, with which a new run begins afresh."""
    top = ph.problems.gyro_top()
    there = ph.integrate(top, method=method, h=0.002)
    back = ph.integrate(ph.Problem(top.body, there.state(), top.force, (1.0, 0.0)), method=method, h=0.002)
    off = np.abs(back.m[-1] - top.state.m).max() / np.abs(top.state.m).max()
    assert off < 1e-12 if not method.memory else 1e-9 < off < 1e-3


# Forces


def drag(t, Q, w, p):
    return -0.1 * w[0], 0.0, 0.0


def spin_up(t, Q, w, p):
    return 0.1 * Q[2][0], 0.0, 0.0


def height(t, Q, p):
    return Q[2][2]


@every_method
def test_velocities_and_damping_are_refused(method):
    with pytest.raises(errors.InputError, match=r"angular velocity; choose S4_6, S6_10 or Adaptive\(\)"):
        method.check(ph.Torque(drag))
    with pytest.raises(errors.InputError, match=r"damping; choose S4_6, S6_10 or Adaptive\(\)"):
        method.check(forces.gravity(1.0, (0, 0, 1)) + forces.damping(0.1))


@pytest.mark.parametrize("method", CONSERVING[:3], ids=repr)
def test_gradients_are_asked_for(method):
    with pytest.raises(errors.InputError, match=r"no gradient; type Potential\(energy, gradient=\.\.\.\)"):
        method.check(ph.Potential(height))
    with pytest.raises(errors.InputError, match=r"no energy.*choose AlgoC1\(\)"):
        method.check(ph.Torque(spin_up))


def test_algo_c1_takes_any_torque_of_the_attitude():
    for force in (ph.Torque(spin_up), ph.Potential(height), forces.constant((0.1, 0.0, 0.0), frame="space")):
        problem = ph.Problem((1.1, 1.6, 1.9), ph.State((0.3, -0.4, 0.9)), force, (0.0, 1.0))
        runs = ph.work_precision(problem, [AlgoC1()], h=(0.1, 0.05)).runs
        assert abs(np.log2(runs[0].error_q / runs[1].error_q) - 2) < 0.1


def tilted(t, Q, p):
    """e3 is an axis of symmetry of this energy, on rotations: 1 - Q[2][0]^2."""
    return Q[0][0] * Q[0][0] + Q[1][0] * Q[1][0]


def tilted_slope(t, Q, p):
    zero = 0.0, 0.0, 0.0
    return (2.0 * Q[0][0], 0.0, 0.0), (2.0 * Q[1][0], 0.0, 0.0), zero


def test_which_forces_act_through_their_axis():
    assert acts_through_axis(GRAVITY)
    assert acts_through_axis(forces.gravity_gradient((1.0, 2.0, 3.0), 0.5, nadir=(1, 2, 2)))
    assert acts_through_axis(AXIAL)
    assert not acts_through_axis(ph.Potential(tilted, tilted_slope, axis=(0, 0, 1)))


def test_an_axis_that_the_gradient_does_not_show():
    """The discrete gradient is then one in q: energy is kept, the momentum along the axis is not."""
    force = ph.Potential(tilted, tilted_slope, axis=(0, 0, 1))
    problem = ph.Problem((1.1, 1.6, 1.9), ph.State((0.3, -0.4, 0.9)), force, (0.0, 4.0))
    kept = ph.integrate(problem, method=QuatEM(), h=0.2).invariants()
    assert kept["energy"] < 100 * EPS
    assert kept["m along axis"] > 1e-6


def test_a_free_body_through_integrate():
    free = ph.problems.free_body("betsch_siebert")
    for method in (QuatEM(), AlgoC1()):
        run = ph.integrate(free, method=method, h=0.05)
        assert max(run.invariants().values()) < 100 * EPS


# Failures


def test_quat_vi_tells_why_it_refuses():
    """004: the step had to be reduced to 0.007. Above 1/w3 there is no solution for any solver to find."""
    top = ph.problems.gyro_top()
    with pytest.raises(errors.RunError) as caught:
        ph.integrate(top, method=QuatVI(), h=0.01)
    message = str(caught.value)
    assert "step 1 of 100, at t = 0" in message
    assert "residual" in message
    assert "about its axis of symmetry there is one only for |h| w <= 1, and w = 140.6 here" in message
    assert "at most 0.00711" in message
    assert len(caught.value.trajectory.t) == 101
    assert np.isfinite(caught.value.trajectory.m[0]).all()
    works = float(message.rsplit("h = ", 1)[1].split()[0])
    assert 0.0069 < works < 0.00712
    assert ph.integrate(top, (0.0, works), method=QuatVI(), h=works).success
    assert top_run(QuatVI(), 143).success  # 0.00699


def test_bounds_are_told_where_they_are_known():
    current = begin(QuatVI(), (0.1, 0.2, 5.0), (1, 0, 0, 0))
    bodies = Bodies(np.array([[1.0, 1.5, 2.0]]), np.empty((0, 9)), np.zeros((1, 3)), np.zeros((1, 0)))
    assert "a principal axis" in QuatVI().why_no_step(FREE, bodies, current, 0, 1.0)
    assert "0.4" in QuatVI().why_no_step(FREE, bodies, current, 0, 1.0)
    assert QuatVI().why_no_step(FREE, bodies, current, 0, 0.01) == ""
    assert QuatEM().why_no_step(FREE, bodies, current, 0, 1.0) == ""


def test_of_a_batch_the_others_go_on():
    slow_and_fast = ph.State([[0.0, 0.1, 0.5], [0.0, 4.0, 20.0], [0.1, 0.0, 0.5]])
    problem = ph.Problem((1.0, 1.0, 0.5), slow_and_fast, GRAVITY, (0.0, 2.0))
    with pytest.warns(errors.RunWarning, match=r"1 of 3 bodies.*body\[1\].*axis of symmetry"):
        run = ph.integrate(problem, method=QuatVI(), h=0.1)
    assert not run.success
    assert np.isfinite(run.m[:, [0, 2]]).all()
    assert np.isnan(run.m[-1, 1]).all()


def broken(t, Q, p):
    return Q[2][2] / (1.0 if t < 2.0 else 0.0)


def broken_slope(t, Q, p):
    zero = 0.0, 0.0, 0.0
    return zero, zero, (0.0, 0.0, 1.0 / (1.0 if t < 2.0 else 0.0))


def endless(t, Q, p):
    return Q[2][2] * (1.0 if t < 2.0 else np.inf)


def endless_slope(t, Q, p):
    zero = 0.0, 0.0, 0.0
    return zero, zero, (0.0, 0.0, 1.0 if t < 2.0 else np.inf)


@every_method
@pytest.mark.parametrize("functions", [(broken, broken_slope), (endless, endless_slope)], ids=["raises", "infinite"])
def test_functions_that_fail_stop_the_body(method, functions):
    """With the step, and everything up to there."""
    problem = ph.Problem((1.1, 1.6, 1.9), ph.State((0.3, -0.4, 0.9)), ph.Potential(*functions), (0.0, 3.0))
    with pytest.raises(
        errors.RunError, match=r"step 21 of 30, at t = 2,.*the torque (raised Zero|is .*not three finite)"
    ) as caught:
        ph.integrate(problem, method=method, h=0.1)
    run = caught.value.trajectory
    assert np.isfinite(run.m[:21]).all()
    assert np.isnan(run.m[21:]).all()


# The other reading of ALGO_C1


def test_the_trapezoidal_rule():
    """Order 2, also with a torque that depends on time, at both ends; no breaks; found again by its name."""
    method = AlgoC1("trapezoidal")
    assert repr(method) == "AlgoC1('trapezoidal')"
    torque = ph.Torque(lambda t, Q, w, p: (np.cos(3 * t) * Q[2][1], -Q[2][0] - t, 0.2 * Q[0][1]))
    problem = ph.Problem((1.0, 1.5, 2.0), ph.State((0.3, 0.2, 0.9)), torque, (1.0, 3.0))
    truth = ph.integrate(problem, method=ph.Adaptive(1e-13)).q[-1]
    ends = [ph.integrate(problem, method=method, h=h).q[-1] for h in (0.1, 0.05, 0.025)]
    errors_ = [np.linalg.norm(q - truth) for q in ends]
    np.testing.assert_allclose(np.log2(np.divide(errors_[:-1], errors_[1:])), 2.0, atol=0.05)
    broken = ph.Torque(lambda t, Q, w, p: (t, 0.0, 0.0), breaks=[2.0])
    with pytest.raises(errors.InputError, match=r"has breaks.*choose AlgoC1\(\)"):
        ph.integrate(ph.Problem((1, 2, 3), ph.State((1, 0, 0)), broken, (0, 3)), method=method, h=0.1)
    with pytest.raises(errors.InputError, match="trapezoid"):
        AlgoC1("trapezoid")
