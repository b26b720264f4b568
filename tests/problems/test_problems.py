"""Ready-made problems: what they declare, and their closed forms against reference solutions and integrations."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import polhode as ph
from conftest import TESTS, distance
from polhode import errors, problems
from polhode.core.state import State
from polhode.ensembles.variation import varied
from polhode.integration.problem import Problem
from polhode.methods.adaptive import Adaptive
from polhode.problems.free_body import DATA
from polhode.problems.gyro_top import LEVER, MASS, cone, mass_center, steady_spin
from polhode.problems.satellite_orbit import libration_rate, orbit_rate, pitch_angle
from polhode.solve import integrate
from polhode.studies.comparison import work_precision
from switching import slope
from test_torqued_golden import PROBLEMS as GOLDEN_PROBLEMS
from test_torqued_golden import errors as golden_errors

CASES = {case["name"]: case for case in json.loads((TESTS / "golden" / "torqued.json").read_text())["cases"]}
UNITS = {"t": "s", "omega": "rad/s", "m": "kg m^2/s", "inertia": "kg m^2", "energy": "J"}
WITHOUT_UNITS = {"free_body", "heavy_top", "perturbed", "satellite", "vilmart_top"}


def energy(problem):
    """At the start."""
    potential = problem.force.potential(problem.t_span[0], problem.state.q)
    return problem.body.kinetic_energy(problem.state.m) + potential


# Declarations


def test_registry_has_all_problems():
    assert set(problems.REGISTRY) | {"REGISTRY", "get"} == set(problems.__all__)
    assert list(problems.REGISTRY) == sorted(problems.REGISTRY)


@pytest.mark.parametrize("name", problems.REGISTRY)
def test_problem_declares_itself(name):
    problem, make = problems.get(name), problems.REGISTRY[name]
    assert problem.name == name == make.__name__
    assert problem.summary
    assert problem.references
    assert all(len(reference) > 20 for reference in problem.references)
    assert problem.units == ({} if name in WITHOUT_UNITS else UNITS)
    assert ">>>" in inspect.getdoc(make)


@pytest.mark.parametrize("name", sorted(set(problems.REGISTRY) - {"dzhanibekov", "vessel"}))
def test_suggested_step_is_good_for_six_digits(name):
    problem = problems.get(name)
    span = problem.t_span[0], problem.t_span[0] + min(problem.duration, 40 * problem.h)
    traj = integrate(problem, span, method="RKN6_14a")
    half = integrate(problem, span, method="RKN6_14a", h=0.5 * problem.h)
    assert abs(traj.q[-1] - half.q[-1]).max() < 1e-6


# Energies at the start, and truths


@pytest.mark.parametrize(
    ("make", "printed"),
    [
        (problems.satellite, 1.21595664e7),  # Celledoni et al. 2008, section 3.3.2
        (problems.perturbed, float(CASES["driver_example1"]["energy0"])),
        (problems.vilmart_top, float(CASES["heavy_top_vilmart"]["energy0"])),
        (problems.gyro_top, float(CASES["gyro_top_steady"]["energy0"])),
        (lambda: problems.vessel(damped=False), float(CASES["vessel_undamped"]["energy0"])),
        (lambda: problems.heavy_top(1e-3), 1.001),
        (lambda: problems.heavy_top(1e-6), 1.000001),
        (lambda: problems.free_body("betsch_siebert"), 0.5 * (6 * 10**2 + 8 * 20**2 + 3 * 20**2)),
        (lambda: problems.free_body("vilmart"), 0.5 * (0.6**2 / 0.627 + 0.8**2)),
    ],
)
def test_energy_at_the_start(make, printed):
    assert energy(make()) == pytest.approx(printed, rel=4e-16)


@pytest.mark.parametrize("paper", DATA)
def test_free_body_has_its_closed_form(paper):
    problem = problems.free_body(paper)
    traj = integrate(problem, method="V2", h=problem.duration / 7)  # any step: drifts are exact
    truth = problem.free_motion().state(traj.t)
    np.testing.assert_allclose(traj.q, truth.q, rtol=0, atol=6e-14)
    np.testing.assert_allclose(traj.m, truth.m, rtol=0, atol=2e-14 * np.linalg.norm(problem.state.m))


def test_free_body_of_an_unknown_paper():
    with pytest.raises(errors.UnknownNameError, match="'euler'; expected one of: vilmart"):
        problems.free_body("euler")


def test_heavy_top_batch_has_kinetic_energy_one():
    moments = np.array([[1.0, 1.5, 2.25], [1.0, 1.1, 1.2]])
    top = problems.heavy_top(1e-3, moments, [[0.5, 0.75], [-0.2, 0.9]])
    np.testing.assert_allclose(top.body.kinetic_energy(top.state.m), 1.0, rtol=4e-16)
    assert problems.heavy_top(1e-3, moments).state.m.shape == (2, 3)


def test_heavy_top_refuses_too_much_energy():
    with pytest.raises(errors.MomentumError, match=r"m1\^2/I1 \+ m2\^2/I2 <= 2"):
        problems.heavy_top(m12=(1.0, 1.5))


def test_gyro_top_numbers_of_the_paper():
    assert pytest.approx(0.706858347057704, rel=1e-14) == MASS
    np.testing.assert_allclose(cone().moments[[0, 2]], [0.00450622196249286, 0.000530143760293278], rtol=1e-14)
    assert steady_spin() == pytest.approx(135.6, abs=0.05)
    assert problems.gyro_top().body.omega(problems.gyro_top().state.m)[2] == pytest.approx(140.6, abs=0.05)


@pytest.mark.parametrize(("name", "m1"), [("gyro_top_steady", 0.0), ("gyro_top_nutating", 1e-4)])
def test_gyro_top_closed_form_against_reference(name, m1):
    for state in CASES[name]["states"]:
        axis = [float(row[2]) for row in state["Q"]]
        found = mass_center(float(state["t"]["dec"]), tilt_rate=m1 / cone().moments[0])
        np.testing.assert_allclose(found, LEVER * np.array(axis), rtol=0, atol=5e-15 * LEVER)


def test_gyro_top_steady_precession_is_a_circle():
    t = np.linspace(0.0, 3.0, 50)
    circle = LEVER * np.stack(
        [np.sin(np.pi / 3) * np.sin(10 * t), -np.sin(np.pi / 3) * np.cos(10 * t), 0.5 + 0 * t], -1
    )
    np.testing.assert_allclose(mass_center(t), circle, rtol=0, atol=2e-14 * LEVER)


@pytest.mark.dense
@pytest.mark.parametrize(
    ("tilt", "precession", "tilt_rate"),
    [(1.0, 10.0, 2.0), (1.0, 10.0, -2.0), (0.3, 5.0, 1.0), (2.5, 8.0, 3.0), (1.2, -10.0, 1.5), (1.0, 3.0, 20.0)],
)
def test_gyro_top_nutation_against_integration(tilt, precession, tilt_rate):
    traj = integrate(problems.gyro_top(tilt, precession, tilt_rate), method="RKN8_19", h=0.002, save_every=10)
    truth = mass_center(traj.t, tilt, precession, tilt_rate)
    assert np.ptp(truth[:, 2]) > 1e-3 * LEVER  # it does nutate
    np.testing.assert_allclose(LEVER * traj.matrix[..., 2], truth, rtol=0, atol=2e-12 * LEVER)


def orbit_frame(t, altitude):
    """Flight, normal and down, in space: (k, 3) each."""
    angle = orbit_rate(altitude) * t
    c, s, zero = np.cos(angle), np.sin(angle), np.zeros_like(t)
    return np.stack([-s, c, zero], -1), np.stack([zero, zero, zero + 1.0], -1), np.stack([-c, -s, zero], -1)


@pytest.mark.dense
@pytest.mark.parametrize("pitch", [1e-4, 0.1, -0.7, 1.3])
def test_satellite_librates_like_a_pendulum(pitch):
    altitude, moments = 700e3, (90.0, 120.0, 15.0)
    problem = problems.satellite_orbit(altitude, moments, pitch)
    traj = integrate(problem, method="RKN8_19", h=20.0, save_every=10)
    flight, normal, down = orbit_frame(traj.t, altitude)
    roll, yaw = traj.matrix[..., 0], traj.matrix[..., 2]
    angle = np.arctan2(np.sum(yaw * flight, -1), np.sum(yaw * down, -1))
    np.testing.assert_allclose(angle, pitch_angle(traj.t, altitude, moments, pitch), rtol=0, atol=1e-11)
    np.testing.assert_allclose(traj.matrix[..., 1], -normal, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.sum(roll * flight, -1), np.cos(angle), rtol=0, atol=1e-13)


def test_satellite_small_librations_have_the_linear_rate():
    altitude, moments, pitch = 400e3, (100.0, 110.0, 20.0), 1e-4
    expected = orbit_rate(altitude) * np.sqrt(3 * (100.0 - 20.0) / 110.0)
    assert libration_rate(altitude, moments) == pytest.approx(expected, rel=1e-15)
    t = np.linspace(0.0, 2e4, 100)
    linear = pitch * np.cos(expected * t)
    np.testing.assert_allclose(pitch_angle(t, altitude, moments, pitch), linear, rtol=0, atol=pitch * 1e-6)


def test_satellite_orbit_of_the_space_station():
    """At 400 km a round takes 92.6 minutes, and the speed is 7.67 km/s."""
    n = orbit_rate(400e3)
    assert 2 * np.pi / n / 60 == pytest.approx(92.56, abs=0.01)
    assert n * (6378137.0 + 400e3) == pytest.approx(7668.6, abs=0.5)


def test_satellite_in_orbit_keeps_its_energy_in_the_turning_frame():
    """T + V - n m_z, also if it does not only pitch."""
    upright, n = problems.satellite_orbit(), orbit_rate()
    m = upright.state.m + 0.3 * n * upright.body.moments
    problem = Problem(upright.body, State(m, upright.state.q), upright.force, upright.t_span)
    traj = integrate(problem, method="RKN8_19", h=20.0)
    kept = traj.energy - n * traj.m_space[:, 2]
    np.testing.assert_allclose(kept, kept[0], rtol=1e-11)
    assert np.ptp(traj.energy) > 1e-2 * abs(traj.energy[0])


def ship(t, y, damped, restoring):
    """Gustafsson 2010, (44) and section 5.2, with 1e9 kg m^2 as the unit of inertia."""
    moments, heights = np.array([0.32164, 5.4782, 5.7426]), (103.628, 2.1444, 0.0)
    a, b, c, d = y[3:]
    u = np.array([2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d])
    righting = 6.3622e-3 * 9.81 * np.cross(u, heights * u)
    return slope(t, y, moments, restoring * righting - damped * y[:3] / moments)


@pytest.mark.parametrize(("damped", "restoring"), [(True, True), (True, False), (False, True), (False, False)])
def test_vessel_variants(damped, restoring):
    problem = problems.vessel(damped, restoring)
    start = [0.32164, 5.4782, 5.7426, 1.0, 0.0, 0.0, 0.0]
    truth = solve_ivp(ship, (0, 15), start, "DOP853", rtol=1e-13, atol=1e-15, args=(damped, restoring)).y[:, -1]
    traj = integrate(problem, method=Adaptive(1e-12))
    np.testing.assert_allclose([*traj.m[-1] / 1e9, *traj.q[-1]], truth, rtol=0, atol=1e-10)
    if damped:
        assert traj.kinetic[-1] < 0.01 * traj.kinetic[0]
    else:
        assert abs(traj.energy_error()).max() < 1e-10
    assert problem.force.is_zero == (not damped and not restoring)


def test_damped_vessel_turns_once_and_is_upright_again():
    """Gustafsson 2010, section 5.3: it comes to rest upright, at the other of the two quaternions."""
    traj = integrate(problems.vessel(t_end=200.0), method="V2_BAB")
    assert traj.q[-1, 0] < 0
    np.testing.assert_allclose(traj.matrix[-1, 2], (0.0, 0.0, 1.0), atol=1e-6)


@pytest.mark.parametrize("name", GOLDEN_PROBLEMS)
def test_truths_are_those_of_the_reference_solutions(name):
    """Of all problems in the file but the gyroscope, whose truth is a closed form."""
    truth, last = GOLDEN_PROBLEMS[name]().truth, CASES[name]["states"][-1]
    if name.startswith("gyro"):
        assert not truth
        return
    ((t, state),) = truth.items()
    assert t == float.fromhex(last["t"]["hex"])
    assert golden_errors({**CASES[name], "states": [last]}, [state.m], [state.q])[0] < 3e-16


@pytest.mark.parametrize(
    ("name", "golden"),
    [
        ("heavy_top", "heavy_top_eps1e-3"),
        ("vilmart_top", "heavy_top_vilmart"),
        ("perturbed", "driver_example1"),
        ("satellite", "satellite"),
        ("vessel", "vessel_damped"),
    ],
)
def test_default_problems_have_a_truth(name, golden):
    ((t, state),) = problems.get(name).truth.items()
    ((time, same),) = GOLDEN_PROBLEMS[golden]().truth.items()
    assert t == time
    np.testing.assert_array_equal([*state.m, *state.q], [*same.m, *same.q])


def test_no_truth_for_other_arguments():
    assert not problems.heavy_top(1e-3, m12=(0.1, 0.2)).truth
    assert not problems.heavy_top(0.5).truth
    assert not problems.vilmart_top(m=np.array([0.5, 0.0, 1.0])).truth
    assert not problems.vessel(restoring=False).truth


def test_work_precision_takes_the_truth():
    """With a step so long that a reference of our own, with a quarter of it, would be seen to differ."""
    problem, last = problems.vilmart_top(), CASES["heavy_top_vilmart"]["states"][-1]
    (run,) = work_precision(problem, ["RKN8_19"], h=[1.0]).runs
    end = integrate(problem, method="RKN8_19", h=1.0)
    size = np.linalg.norm([float(x) for x in last["m"]])
    assert run.error_m == pytest.approx(distance(end.m[-1], last["m"]) / size, rel=1e-8)
    assert run.error_q == pytest.approx(distance(end.q[-1], last["q"]), rel=1e-8)


# Summaries


CLAIMS = [
    ({}, "spun about its stem, the axis of middle inertia"),
    ({"omega": (0.0, 5.0, 0.1)}, "spun about its bar, the axis of least inertia"),
    ({"omega": (0.1, 0.0, -5.0)}, "spun about the normal of its plane, the axis of greatest inertia"),
    ({"omega": (1.0, 1.0, 0.0)}, "tumbling"),
    ({"omega": (0.0, 0.0, 0.0)}, "at rest"),
    ({"omega": np.array([(5.0, 0.0, 0.1), (0.0, 5.0, 0.1)])}, "tumbling"),
    ({"omega": np.array([(5.0, 0.0, 0.1), (6.0, 0.0, 0.1)])}, "spun about its stem, the axis of middle inertia"),
]


@pytest.mark.parametrize(("arguments", "claim"), CLAIMS)
def test_the_summary_of_the_handle_follows_its_spin(arguments, claim):
    problem = problems.dzhanibekov(**arguments)
    assert problem.summary == f"T-handle in free flight, {claim}"


def test_summaries_follow_their_arguments():
    assert "0.001 of its kinetic" in problems.heavy_top().summary
    assert "5 of its kinetic" in problems.heavy_top(eps=5).summary
    assert "steady" in problems.gyro_top().summary
    assert "steady" not in problems.gyro_top(tilt_rate=1.0).summary
    assert "0.25 rad" in problems.satellite_orbit(pitch=0.25).summary
    for damped in (True, False):
        for restoring in (True, False):
            summary = problems.vessel(damped=damped, restoring=restoring).summary
            assert ("damped by the water" in summary, "righted by buoyancy" in summary) == (damped, restoring)


def test_a_problem_with_other_numbers_has_neither_summary_nor_truth():
    other = varied(problems.vessel(), {"m": np.ones((2, 3))})
    assert (other.name, other.summary, other.truth) == ("vessel", "", {})


def test_a_free_body_has_the_zero_force():
    free = ph.Problem((1.0, 2.0, 3.0), omega=(1, 2, 3))
    assert free.force.is_zero
    assert free.force is ph.Problem((1.0, 2.0, 3.0), omega=(1, 2, 3), force=None).force
    assert not ph.problems.heavy_top().force.is_zero
    assert not ph.Problem((1.0, 2.0, 3.0), omega=(1, 2, 3), force=ph.forces.damping((0, 0, 1))).force.is_zero
