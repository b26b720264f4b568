"""Pickles and copies: what a user makes travels to other processes, and behaves there as here, to the bit."""

from __future__ import annotations

import copy
import functools
import multiprocessing
import pickle
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import scipy.stats

import picklable
import polhode as ph
from picklable import BREAKS, HOW, MOMENTS, STATE, Controller, problem
from polhode import errors, events, forces, interactions, sampling
from polhode.ensembles.members import Job
from polhode.flows import variants
from polhode.forces.functions import SlowTorqueWarning
from polhode.forces.nothing import nothing
from polhode.systems.adapters import SiteForces
from polhode.systems.system import System

cloudpickle = pytest.importorskip("cloudpickle")
joblib = pytest.importorskip("joblib")


def pickled(x):
    return pickle.loads(pickle.dumps(x))


def sent(x):
    return pickle.loads(cloudpickle.dumps(x))


def out_of_band(x):
    """As dask does: arrays arrive in buffers of their own, which are read-only if the arrays were."""
    buffers = []
    data = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[(bytes if buffer.raw().readonly else bytearray)(buffer) for buffer in buffers])


BY_NAME = (pickled, sent, out_of_band, copy.copy, copy.deepcopy)
BY_VALUE = (sent, copy.copy, copy.deepcopy)


def names(function):
    return function.__name__


def same_bits(a, b, parts="tmq"):
    return all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in parts)


# Forces


def ready_made():
    body = ph.RigidBody([(2.0, 0.1, 0.0), (0.1, 3.0, 0.2), (0.0, 0.2, 4.0)])
    return [
        forces.gravity(1.0, (0, 0, 0.3)),
        forces.gravity_gradient(body, 0.5, orbit_rate=0.3),
        forces.constant((0.1, 0, 0), frame="space"),
        forces.constant((0.1, 0, 0)),
        forces.damping((0.1, 0.2, 0.3)),
        nothing(),
        forces.restoring(1.0, 2.0, 3.0),
        forces.spring((1.0, 2.0, 3.0)),
    ]


def by_name():
    """Forces made of functions that can be imported."""
    return [
        ph.Torque(picklable.wind, (0.3,)),
        ph.Torque(picklable.wind, (0.3,), "space"),
        ph.Torque(picklable.drag, [(0.1, 0.2), (0.3, 0.4)]),
        ph.Torque(picklable.steering, arrays=True),
        ph.Torque(picklable.burn, breaks=BREAKS),
        ph.Torque(picklable.jitted),
        ph.Potential(picklable.height, params=(2.0,), axis=(0, 0, 1)),
        ph.Potential(picklable.height, picklable.slope, params=(2.0,)),
        ph.Torque(picklable.wind, (0.3,)).replaced(params=[(0.1,), (0.2,)], damping=np.eye(3)),
        ph.Torque(picklable.wind, (0.3,)) + forces.gravity(1.0, (0, 0, 0.3)) + forces.damping(0.1),
        forces.damping(0.1) + forces.gravity(1.0, (0, 0, 0.3)),
    ]


def by_value():
    """Forces made of functions that have no name, one of them a closure."""
    gain = 0.3
    return [
        ph.Torque(lambda t, Q, w, p: (gain * t, 0.1 * Q[0][1], 0.0)),
        ph.Potential(lambda t, Q, p: p[0] * Q[2][2] ** 2, params=(2.0,)),
        ph.Torque(lambda t, Q, w, p: 0.1 * Q[:, 2], arrays=True) + forces.damping(0.1),
    ]


def assert_same_force(again, force):
    assert repr(again) == repr(force)
    assert type(again) is type(force)
    assert again.is_ready_made == force.is_ready_made
    assert repr(again.without_damping()) == repr(force.without_damping())
    for name in ("params", "damping", "breaks", "axis", "velocity_dependent", "time_dependent", "batch"):
        np.testing.assert_array_equal(getattr(again, name), getattr(force, name))
    assert not any(array.flags.writeable for array in (again.params, again.damping, again.breaks))
    q = STATE.q
    np.testing.assert_array_equal(again.torque(0.7, q, (0.1, 0.2, 0.3)), force.torque(0.7, q, (0.1, 0.2, 0.3)))
    if force.has_energy:
        np.testing.assert_array_equal(again.potential(0.7, q), force.potential(0.7, q))
    assert again.fingerprint() == force.fingerprint()


@pytest.mark.parametrize("travel", BY_NAME, ids=names)
@pytest.mark.parametrize("force", ready_made() + by_name(), ids=repr)
def test_forces(force, travel):
    assert_same_force(travel(force), force)
    assert_same_force(travel(travel(force)), force)  # compiled in the meantime


@pytest.mark.parametrize("travel", BY_VALUE, ids=names)
@pytest.mark.parametrize("force", by_value(), ids=repr)
def test_forces_of_functions_without_a_name(force, travel):
    assert_same_force(travel(force), force)


def test_machine_code_does_not_travel():
    force = ph.Torque(picklable.wind, (0.3,))
    before = pickle.dumps(force)
    force.torque(0.0, STATE.q)
    assert pickle.dumps(force) == before
    assert len(before) < 2000


def test_a_sum_with_a_copy_of_damping_has_an_energy():
    """What only damps is recognized in copies, too."""
    again = pickled(problem(forces.gravity(1.0, (0, 0, 0.3)) + forces.damping(0.1)))
    assert np.isfinite(events.energy(again, 1.0)(0.0, STATE.m, STATE.q))
    assert (pickled(forces.damping(0.1)) + forces.gravity(1.0, (0, 0, 0.3))).torque_address()


@pytest.mark.filterwarnings("ignore", category=SlowTorqueWarning)
def test_what_numba_cannot_compile_is_called_back_there_too():
    """A method, whose object travels with it, and does not change with the original."""
    controller = Controller(0.2)
    force = ph.Torque(controller.torque)
    again = pickled(force)
    assert_same_force(again, force)
    controller.gain = 0.0
    assert again.torque(0.0, STATE.q, (1.0, 0.0, 0.0))[0] == -0.2


# Functions that plain pickle cannot send


def inner():
    def gust(t, Q, w, p):
        return t, 0.0, 0.0

    return gust


@pytest.mark.parametrize(
    ("x", "name"),
    [
        (ph.Torque(lambda t, Q, w, p: (t, 0.0, 0.0)), "<lambda>"),
        (ph.Torque(inner()), "inner.<locals>.gust"),
        (ph.Torque(lambda t, Q, w, p: 0.1 * Q[:, 2], arrays=True) + forces.damping(0.1), "<lambda>"),
        (problem(ph.Potential(lambda t, Q, p: Q[2][2])), "<lambda>"),
        (events.Event("up", lambda t, m, q: m[..., 0]), "<lambda>"),
        (interactions.Field(lambda t, x, Q, F, T, p: None), "<lambda>"),
        (interactions.PairPotential(lambda r, A, B, p: r[0] ** 2), "<lambda>"),
        (sampling.draw(3, m=sampling.each(lambda rng: rng.normal(size=3), (3,))), "<lambda>"),
    ],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)
@pytest.mark.parametrize("dumps", [pickle.dumps, pickle._dumps, multiprocessing.reduction.ForkingPickler.dumps])
def test_plain_pickle_says_what_to_do(x, name, dumps):
    with pytest.raises(pickle.PicklingError, match=rf"{name} .*top level of a module.*cloudpickle\.dumps.*joblib"):
        dumps(x)
    sent(x)
    copy.deepcopy(x)


def test_functions_of_the_main_program():
    """They are sent with their globals, and the program that loads them does not know them."""
    dump = """
        import sys, cloudpickle, polhode as ph
        gain = 0.25
        def push(t, Q, w, p):
            return gain * t, 0.0, 0.0
        problem = ph.Problem((1, 2, 3), ph.State((0.3, 0.2, 0.9)), ph.Torque(push), (0, 1))
        sys.stdout.buffer.write(cloudpickle.dumps(problem))
    """
    load = "import sys, pickle; print(pickle.load(sys.stdin.buffer).force.torque(3.0, (1, 0, 0, 0)).tolist())"
    data = subprocess.run([sys.executable, "-c", textwrap.dedent(dump)], capture_output=True, check=True).stdout
    found = subprocess.run([sys.executable, "-c", load], input=data, capture_output=True, check=True).stdout
    assert found.decode().strip() == "[0.75, 0.0, 0.0]"


# Problems, bodies, states, flows, schemes, methods


@pytest.mark.parametrize("travel", BY_NAME, ids=names)
def test_problems(travel):
    for name in ph.problems.REGISTRY:
        made = ph.problems.get(name)
        again = travel(made)
        assert repr(again) == repr(made)
        assert again._repr_html_() == made._repr_html_()
        assert again.truth.keys() == made.truth.keys()


@pytest.mark.parametrize("travel", BY_NAME, ids=names)
def test_bodies_and_states(travel):
    tensor = [(2.0, 0.1, 0.0), (0.1, 3.0, 0.2), (0.0, 0.2, 4.0)]
    for body in (ph.RigidBody(tensor, mass=2.0), ph.RigidBody.linear(2.0), ph.RigidBody.from_moments(np.eye(3) + 1)):
        again = travel(body)
        assert repr(again) == repr(body)
        assert again.tensor.tobytes() == body.tensor.tobytes()
        assert not again.moments.flags.writeable
    state = ph.State((1, 2, 3), (0.8, 0.6, 0, 0), x=(1, 0, 0), p=(0, 1, 0))
    assert repr(travel(state)) == repr(state)


def test_a_copy_does_not_lock_arrays_of_the_user():
    mass = np.array([1.0, 2.0])
    copy.copy(ph.RigidBody.from_moments([(1, 2, 3), (2, 3, 4)], mass=mass))
    D = np.stack([np.eye(3)] * 2)
    copy.copy(forces.damping(1.0).replaced(damping=D))
    assert mass.flags.writeable
    assert D.flags.writeable


METHODS = [
    *(ph.Splitting(flow, "V2") for flow in variants()),
    *(ph.Splitting(scheme=name) for name in ph.schemes.SCHEMES),
    ph.Rattle(), ph.QuatEM(), ph.QuatVI(), ph.DirEM(), ph.AlgoC1(),
    ph.Adaptive(1e-7, max_step=0.5),
]  # fmt: skip


@pytest.mark.parametrize("travel", BY_NAME, ids=names)
def test_flows_schemes_and_methods(travel):
    for method in METHODS:
        again = travel(method)
        assert again == method
        if isinstance(method, ph.Splitting):
            assert again.flow == method.flow
            assert again.scheme == method.scheme
            assert again.scheme.table.tobytes() == method.scheme.table.tobytes()


# Results


RUNS = {
    "fixed": (problem(forces.gravity(1.0, (0, 0, 0.3))), {}),
    "conserving": (problem(forces.gravity(1.0, (0, 0, 0.3))), {"method": ph.QuatEM(), "h": 0.05}),
    "adaptive": (problem(ph.Torque(picklable.wind, (0.3,))), {"method": ph.Adaptive(1e-8), "h": None}),
    "breaks": (problem(ph.Torque(picklable.burn, breaks=BREAKS)), {"save_every": 4}),
    "batch": (problem(ph.Torque(picklable.wind, [(0.1,), (0.2,)])), {"t_eval": [0.0, 1.3], "dense_output": True}),
    "adaptive batch": (
        problem(ph.Torque(picklable.wind, [(0.1,), (0.2,)])),
        {"method": ph.Adaptive(1e-8), "h": None, "t_eval": [0.0, 1.3], "dense_output": True},
    ),
    "free": (problem(None), {}),
}


@pytest.mark.parametrize("travel", BY_NAME, ids=names)
@pytest.mark.parametrize("name", RUNS)
def test_trajectories_and_their_dense_output(name, travel):
    made, how = RUNS[name]
    result = ph.integrate(made, **(HOW | how), events=[picklable.rising, lambda t, m, q: t - 1.2])
    again = travel(result)
    assert repr(again) == repr(result)
    assert same_bits(again, result)
    assert again.stats == result.stats
    times = np.linspace(0.0, 2.0, 17)
    for ours, theirs in zip(result.sol(times), again.sol(times), strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert pickle.dumps(again.t_events) == pickle.dumps(result.t_events)


def test_events_end_dense_output_in_copies_too():
    stop = events.section((1, 0, 0), 0.4, terminal=True)
    result = ph.integrate(problem(ph.Torque(picklable.wind, (0.3,))), **HOW, events=stop)
    assert result.status == 1
    again = pickled(result)
    assert again.t[-1] == result.t[-1]
    assert np.isnan(again.sol(2.0)[0]).all()


def test_stored_trajectories(tmp_path):
    """Forces of files have a name, and no functions."""
    ph.integrate(problem(ph.Torque(picklable.wind, (0.3,))), **HOW).save(tmp_path / "run.csv")
    stored = ph.load(tmp_path / "run.csv")
    for travel in BY_NAME:
        again = travel(stored)
        assert repr(again) == repr(stored)
        with pytest.raises(errors.InputError, match="only the name was stored"):
            again.problem.force.torque(0.0, STATE.q)


@pytest.mark.parametrize("travel", [pickled, sent, copy.deepcopy], ids=names)
def test_errors_bring_their_data(travel):
    with pytest.raises(errors.RunError) as run:
        ph.integrate(problem(ph.Torque(picklable.failing)), **HOW)
    again = travel(run.value)
    assert str(again) == str(run.value)
    assert same_bits(again.trajectory, run.value.trajectory)
    with pytest.raises(errors.StepError) as step:
        ph.MoserVeselov().step((1.0, 2.0, 3.0), ph.State(m=(0.0, 0.0, 3.0)), h=1.5)
    again = travel(step.value)
    assert (str(again), again.working_step) == (str(step.value), step.value.working_step)
    for error in (errors.MissingExtraError("xarray", "store"), errors.StoreError("no file"), errors.ShapeError("(2,)")):
        again = travel(error)
        assert type(again) is type(error)
        assert (str(again), again.args) == (str(error), error.args)


# Events


@pytest.mark.parametrize("travel", BY_NAME, ids=names)
def test_events(travel):
    top = problem(forces.gravity(1.0, (0, 0, 0.3)) + forces.damping(0.1))
    for event in (
        events.middle_crossing(MOMENTS, terminal=2),
        events.cone((0, 0, 1), (0, 1, 0), 0.7),
        events.energy(top, 0.4),
        *(events.section((1, 2, 0), 0.1, of, body=MOMENTS, direction=-1) for of in ("m", "m_space", "omega")),
        events.Event("rising", picklable.rising, True, 1.0),
    ):
        again = travel(event)
        assert repr(again) == repr(event)
        assert (again.terminal, again.direction) == (event.terminal, event.direction)
        assert again(0.0, STATE.m, STATE.q) == event(0.0, STATE.m, STATE.q)


# Systems


def systems():
    body = ph.RigidBody((1.0, 2.0, 3.0), mass=1.0)
    dipoles = interactions.DipolarSoftSpheres((0, 0, 1))
    spring = interactions.PairPotential(picklable.spring, params=(0.3,))
    slopes = interactions.PairPotential(picklable.spring, picklable.spring_slopes, params=(0.3,))
    sites = interactions.SitePotential(
        [(0, 0, 0.1), (0, 0, -0.1)], picklable.coulomb, site_params=[[1], [-1]], params=(1.0,)
    )
    field = interactions.Field(picklable.falling, (9.81,), energy=picklable.weight)
    arrays = interactions.Field(picklable.falling, (9.81,), energy=picklable.weight, frame="space", arrays=True)
    for interaction in (dipoles, spring, slopes, sites, field, dipoles + arrays):
        yield System.lattice(body, 2, 2.0, interaction, kT=0.1, seed=1, t_span=(0.0, 0.2), h=0.1)
    yield System.liquid(interactions.water("SPC/E", cutoff=0.3), 27, kT=2.4, seed=1, t_span=(0.0, 0.002), h=0.001)


@pytest.mark.parametrize("system", [*systems()], ids=repr)
def test_systems_and_their_trajectories(system):
    result = ph.integrate(system, method="RKN4_6b")
    for travel in BY_NAME:
        again = travel(system)
        assert repr(again) == repr(system)
        assert again == system
        assert hash(again) == hash(system)
        assert same_bits(ph.integrate(again, method="RKN4_6b"), result, "txpmq")
    for travel in BY_NAME:
        again = travel(result)
        assert repr(again) == repr(result)
        assert again == result
        assert same_bits(again, result, ("t", "x", "p", "m", "q", "energy"))


def test_other_engines():
    openmm = pytest.importorskip("openmm")
    from polhode.systems.adapters.openmm import OpenMM

    particles = openmm.System()
    force = openmm.CustomExternalForce("x^2 + 2*y^2")
    for i in range(2):
        particles.addParticle(1.0)
        force.addParticle(i, [])
    particles.addForce(force)
    springs = SiteForces([(0, 0, 0.1), (0, 0, -0.1)], OpenMM(particles))
    x, Q = np.array([(0.1, 0.2, 0.3)]), np.eye(3)[None]
    for travel in (pickled, sent, copy.deepcopy):
        assert travel(springs).energy(0.0, x, Q) == springs.energy(0.0, x, Q)


# Ensembles


def test_ensembles():
    shapes = {"m": (1, 3), "q": (1, 4)}
    samples = sampling.draw(4, m=sampling.normal((0.3, 0.2, 0.9), 0.1)).seeded(3)
    for source in (picklable.many, problem(ph.Torque(picklable.wind, (0.3,)))):
        job = Job(source, picklable.SPAN, np.array([2.0]), ph.Splitting(scheme="V2"), 0.1, None, True, shapes)
        expected = job.run(samples)
        for travel in (pickled, sent, out_of_band, copy.deepcopy):
            found = travel(job).run(travel(samples))
            assert found.arrays["m"].tobytes() == expected.arrays["m"].tobytes()


@pytest.mark.parametrize("travel", BY_NAME, ids=names)
def test_distributions(travel):
    """Those of SciPy, and a function of a generator, included."""
    samples = sampling.draw(
        5, a=sampling.log_normal(1.0, 0.1), b=sampling.direction(sampling.uniform(1, 2)), c=sampling.attitude(),
        d=sampling.moments_near((1.0, 1.5, 2.0), 0.1), e=sampling.each(picklable.drawn, ()), f=scipy.stats.expon(),
    ).seeded(3)  # fmt: skip
    expected = samples.rows()
    found = travel(samples).rows()
    assert {name: values.tobytes() for name, values in found.items()} == {
        name: values.tobytes() for name, values in expected.items()
    }


# Other processes

PROBLEMS = [
    ph.problems.get("heavy_top"),
    problem(ph.Torque(picklable.wind, (0.3,)) + forces.damping(0.1)),
]
RUN = functools.partial(ph.integrate, t_span=(0.0, 2.0), method="V2", h=0.1)


@pytest.fixture(scope="module")
def here():
    return [RUN(made) for made in PROBLEMS]


def assert_same_results(found, expected):
    assert len(found) == len(expected)
    for there, ours in zip(found, expected, strict=True):
        assert repr(there.problem) == repr(ours.problem)
        assert same_bits(there, ours)
        assert same_bits(RUN(there.problem), ours)
        assert there.sol(1.23)[1].tobytes() == ours.sol(1.23)[1].tobytes()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_pools(here, start):
    with multiprocessing.get_context(start).Pool(1) as pool:
        assert_same_results(pool.map(RUN, PROBLEMS), here)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_executors(here):
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        assert_same_results(list(pool.map(RUN, PROBLEMS)), here)
        with pytest.raises(errors.RunError, match="the string broke") as failed:
            pool.submit(RUN, problem(ph.Torque(picklable.failing))).result()
        assert np.isnan(failed.value.trajectory.m[-1]).all()


def test_joblib():
    """It sends lambdas by itself, and large arrays as files that are read-only.

    To compile the lambda, Numba imports this module there, which computes principal axes at its import.
    """
    gain = 0.3
    closure = problem(ph.Torque(lambda t, Q, w, p: (gain * t, p[0], 0.0), [(0.1,), (0.2,)]))
    made = [*PROBLEMS, closure]
    expected = [RUN(one) for one in made]
    found = joblib.Parallel(n_jobs=2, max_nbytes=16, timeout=100)(joblib.delayed(RUN)(one) for one in made)
    assert_same_results(found, expected)


def large_batch():
    state = ph.State(np.random.default_rng(1).normal(size=(40_000, 3)))
    return ph.integrate(ph.Problem(MOMENTS, state), (0.0, 0.2), method="V2", h=0.1).m[-1]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_forked_after_threads_have_worked(monkeypatch):
    """A child does not have the threads of its parent, and starts its own."""
    monkeypatch.setenv("POLHODE_NUM_THREADS", "2")
    expected = large_batch()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(large_batch).get(timeout=60).tobytes() == expected.tobytes()
