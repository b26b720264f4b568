"""Torqued bodies against reference solutions of 30 digits, and against the numbers that the papers print."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from conftest import EPS, TESTS, distance
from polhode import problems
from polhode.flows.magnus import Magnus
from polhode.flows.three_rotations import ThreeRotations
from polhode.methods.splitting import Splitting
from polhode.solve import integrate

pytestmark = pytest.mark.dense

CASES = {case["name"]: case for case in json.loads((TESTS / "golden" / "torqued.json").read_text())["cases"]}
SLACK = 11.0

GYRO_J1 = 0.004506221962492861  # of the golden inputs, whose m[0] is given instead of the rate of tilt

# problem, scheme, steps to the last time, and what was once reached with them
REACHED = {
    "heavy_top_eps1e-3": (lambda: problems.heavy_top(1e-3), "SS10_35", 30, 7e-15),
    "heavy_top_eps1e-6": (lambda: problems.heavy_top(1e-6), "SS10_35", 30, 7e-15),
    "heavy_top_vilmart": (problems.vilmart_top, "RKN8_19", 200, 5e-14),
    "driver_example1": (lambda: problems.perturbed(t_end=100.0), "ABA1064", 400, 2e-14),
    "gyro_top_steady": (problems.gyro_top, "RKN6_14a", 200, 6e-15),
    "gyro_top_nutating": (lambda: problems.gyro_top(tilt_rate=1e-4 / GYRO_J1), "RKN6_14a", 200, 6e-15),
    "satellite": (lambda: problems.satellite(t_end=10.0), "ABA1064", 1000, 3e-13),
    "vessel_undamped": (lambda: problems.vessel(damped=False), "RKN8_19", 200, 2e-14),
}
DAMPED_REACHED = 3e-14
PROBLEMS = {name: make for name, (make, *_) in REACHED.items()} | {"vessel_damped": problems.vessel}


def numbers(case, key):
    return np.array([float.fromhex(x["hex"]) for x in case[key]])


def times(case):
    return [float.fromhex(state["t"]["hex"]) for state in case["states"]]


def errors(case, m, q):
    """The larger of the errors of m/|m0| and of q, at each time."""
    size = np.linalg.norm(numbers(case, "m0"))
    return [
        max(distance(mk, state["m"]) / size, distance(qk, state["q"]))
        for mk, qk, state in zip(m, q, case["states"], strict=True)
    ]


def test_every_single_body_of_the_file_is_compared():
    assert set(PROBLEMS) == {name for name in CASES if not name.startswith("dipoles")}


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems_are_those_of_the_file(name):
    problem, case = PROBLEMS[name](), CASES[name]
    m0, q0 = numbers(case, "m0"), numbers(case, "q0")
    np.testing.assert_allclose(problem.body.moments, numbers(case, "I"), rtol=2e-15)
    np.testing.assert_allclose(problem.state.m, m0, rtol=2e-15, atol=4e-16 * np.linalg.norm(m0))
    np.testing.assert_allclose(problem.state.q, q0 / np.linalg.norm(q0), rtol=0, atol=2e-16)
    damping = problem.force.damping
    np.testing.assert_array_equal(damping, np.diag(numbers(case, "D")))
    assert problem.t_span == (0.0, times(case)[-1])


@pytest.mark.parametrize("name", REACHED)
def test_states_of_all_times(name):
    make, scheme, steps, reached = REACHED[name]
    problem, case = make(), CASES[name]
    traj = integrate(problem, method=scheme, h=problem.duration / steps, t_eval=times(case))
    assert traj.stats.steps == steps
    assert max(errors(case, traj.m, traj.q)) <= SLACK * reached


@pytest.mark.parametrize("name", REACHED)
def test_energies_of_all_times(name):
    make, scheme, steps, _ = REACHED[name]
    problem, case = make(), CASES[name]
    traj = integrate(problem, method=scheme, h=problem.duration / steps, t_eval=times(case))
    np.testing.assert_allclose(traj.energy, [float(state["energy"]) for state in case["states"]], rtol=2e-13)


@cache
def damped_vessel(steps, order=None):
    """States at all times; without an order, the drifts are exact."""
    flow = None if order is None else Magnus(order)
    problem = problems.vessel()
    method = Splitting(flow, "V2_BAB")
    return integrate(problem, method=method, h=problem.duration / steps, t_eval=times(CASES["vessel_damped"]))


def test_damped_vessel_by_extrapolation():
    """Strang's step is symmetric, also with the exact damped kick: its error has even powers of h only."""
    runs = [damped_vessel(150 * 2**k) for k in range(5)]
    extrapolated = []
    for table in ([run.m for run in runs], [run.q for run in runs]):
        power = 4.0
        while len(table) > 1:
            table = [fine + (fine - coarse) / (power - 1.0) for coarse, fine in pairwise(table)]
            power *= 4.0
        extrapolated.append(table[0])
    assert max(errors(CASES["vessel_damped"], *extrapolated)) <= SLACK * DAMPED_REACHED


# Gustafsson 2010, Table 3: (order of Magnus, steps of [0, 15]) -> relative error of m, error of q, at t = 15.
TABLE_3 = {
    (2, 150): ("1.382e-2", "4.494e-4"),
    (2, 300): ("3.459e-3", "1.130e-4"),
    (2, 600): ("8.650e-4", "2.828e-5"),
    (2, 1200): ("2.162e-4", "7.072e-6"),
    (8, 150): ("1.283e-2", "5.056e-4"),
    (8, 300): ("3.207e-3", "1.263e-4"),
    (8, 600): ("8.017e-4", "3.158e-5"),
    (8, 1200): ("2.004e-4", "7.893e-6"),
}


@pytest.mark.parametrize(("order", "steps"), TABLE_3)
def test_vessel_table_of_the_thesis(order, steps):
    """All four printed digits, but for one unit of the last."""
    traj, end = damped_vessel(steps, order), CASES["vessel_damped"]["states"][-1]
    size = np.linalg.norm([float(x) for x in end["m"]])
    measured = distance(traj.m[-1], end["m"]) / size, distance(traj.q[-1], end["q"])
    for ours, printed in zip(measured, TABLE_3[order, steps], strict=True):
        unit = 10.0 ** (int(printed.split("e")[1]) - 3)
        assert abs(ours - float(printed)) <= unit


# Celledoni et al. 2008, section 3.3.2: "of the order of 1e-7 for h = 0.1 and 1e-10 for h = 0.05".
@pytest.mark.dense
@pytest.mark.parametrize(
    ("scheme", "h", "error"),
    [("RKN6_14a", 0.1, 1.15e-7), ("RKN6_14a", 0.05, 4.6e-10), ("ABA1064", 0.1, 2.2e-8), ("ABA1064", 0.05, 7.4e-11)],
)
def test_satellite_energy(scheme, h, error):
    traj = integrate(problems.satellite(), method=scheme, h=h)
    assert traj.energy[0] == pytest.approx(1.21595664e7, rel=1e-15)
    assert abs(traj.energy_error()).max() == pytest.approx(error, rel=0.05)


# Celledoni and Zanna 2010, section 4.3: "stays nicely bounded over very long time". The ranges are those of an
# independent program.
@pytest.mark.dense
@pytest.mark.parametrize(
    ("scheme", "error"), [("S6_10", 1.1e-11), ("RKN6_14a", 1.3e-13), ("ABA1064", 5.6e-14), ("V2", 2.8e-5)]
)
def test_perturbed_body_stays_bounded(scheme, error):
    traj = integrate(problems.perturbed(), method=scheme)
    assert len(traj) == 100_001
    energy = abs(traj.energy_error())
    round_off = 6 * EPS * np.sqrt(len(traj))  # a random walk: starts next to this one end between 0.5e-13 and 1.2e-13
    assert energy.max() <= 1.5 * error + round_off
    first, second = energy[:50_000].max(), energy[50_000:].max()
    assert abs(first - second) <= 0.1 * error + round_off
    if scheme != "V2":
        size = np.linalg.norm(traj.m, axis=-1)
        assert size.min() == pytest.approx(0.999434843, abs=1e-9)
        assert size.max() == pytest.approx(1.000046919, abs=1e-9)
        assert traj.m[:, 2].min() == pytest.approx(-0.916727, abs=1e-6)
        assert traj.m[:, 2].max() == pytest.approx(-0.915114, abs=1e-6)
        assert abs(traj.m[:, 0]).max() == pytest.approx(0.399631, abs=1e-6)
        assert abs(traj.m[:, 1]).max() == pytest.approx(0.403287, abs=1e-6)


# Celledoni et al. 2008, section 3.3.1 and Fig. 3.5.
BASE_STEPS = (8.0, 5.0, 4.0, 2.0, 1.75, 1.5, 1.25, 1.0, 0.5)


def random_tops(rng, eps, count=20):
    I2 = rng.uniform(1.0, 2.0, count)
    I3 = I2 + rng.uniform(0.0, 1.0, count)
    moments = np.stack([np.ones(count), I2, I3], axis=-1)
    return problems.heavy_top(eps, moments, rng.uniform(0.0, 1.0, (count, 2)))


def mean_energy_error(problem, method, base):
    h = method.scheme.torques_per_step / 10 * base
    steps = max(1, int(20.0 / h))
    traj = integrate(problem, (0.0, steps * h), method=method, h=h)
    assert traj.h == pytest.approx(h, rel=1e-15)
    return abs(traj.energy_error()).max(axis=0).mean()


@pytest.mark.parametrize("eps", [1e-3, 1e-6])
@pytest.mark.parametrize("scheme", ["V2_BAB", "S4_6", "RKN4_6b", "S6_10", "RKN6_14a"])
def test_heavy_top_energy_error_is_below_eps(rng, scheme, eps):
    tops = random_tops(rng, eps)
    errors = {base: mean_energy_error(tops, Splitting(None, scheme), base) for base in BASE_STEPS}
    if scheme == "S6_10":  # at the very longest step it may be 2 eps, depending on the bodies
        assert errors.pop(8.0) < 3 * eps
    assert max(errors.values()) < eps


@pytest.mark.parametrize("eps", [1e-3, 1e-6])
def test_heavy_top_energy_error_does_not_know_eps_if_drifts_are_not_exact(rng, eps):
    tops = random_tops(rng, eps)
    approximate = mean_energy_error(tops, Splitting(ThreeRotations(), "V2_BAB"), 2.0)
    assert approximate == pytest.approx(6e-4, rel=0.9)  # of other random bodies, with either eps
    assert approximate > 50 * mean_energy_error(tops, Splitting(None, "V2_BAB"), 2.0)
