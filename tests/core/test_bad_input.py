"""Bad input is refused before anything runs: what came, what is needed, what to type. Nothing becomes NaN silently."""

from __future__ import annotations

import re
from contextlib import suppress

import numpy as np
import pytest

import polhode as ph
from conftest import random_attitude
from polhode import errors, rotation
from polhode.core.threads import thread_count

GOOD = (1.0, 2.0, 3.0)
ONE = (1.0, 0.0, 0.0, 0.0)
NAN, INF = np.nan, np.inf
MANY = 30_000  # more than threads.PARALLEL_FROM


def refused(call, error, *parts):
    """``call`` raises exactly this error, which is a PolhodeError and a ValueError, with all parts in its message."""
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, ph.PolhodeError)
    assert isinstance(caught.value, ValueError)
    for part in parts:
        assert part in str(caught.value), str(caught.value)


def inertia_users(inertia):
    return (
        lambda: ph.RigidBody(inertia),
        lambda: ph.propagate(inertia, (1, 1, 1), t=1.0),
        lambda: ph.propagate(inertia, omega=(1, 1, 1), t=1.0),
        lambda: ph.free_motion(inertia, m=(1, 1, 1)).m(1.0),
        lambda: ph.State.from_omega(inertia, (1, 1, 1)),
    )


@pytest.mark.parametrize(
    ("moments", "shown"),
    [
        ((1, 2, NAN), "(1, 2, nan)"),
        ((1, INF, 3), "(1, inf, 3)"),
        ((1, 2, -3), "(1, 2, -3)"),
        ((-INF, 2, 3), "(-inf, 2, 3)"),
        ((0, 0, 3), "(0, 0, 3)"),
        ((1, -0.0, 2), "(1, -0, 2)"),
    ],
)
def test_moments(moments, shown):
    for call in (*inertia_users(moments)[:2], lambda: ph.RigidBody.from_moments(moments)):
        refused(call, errors.InertiaError, "inertia", shown, "must be positive and finite")
    for call in inertia_users(moments):
        refused(call, errors.InputError)


def test_zero_moment_points_to_the_linear_rotor():
    refused(lambda: ph.RigidBody((0, 2, 2)), errors.InertiaError, "RigidBody.linear(I)")
    refused(lambda: ph.propagate((2, 0, 2), (1, 1, 1)), errors.InertiaError, "RigidBody.linear(I)")


@pytest.mark.parametrize("shape", [(), (1,), (2,), (4,), (3, 2), (0,)])
def test_inertia_of_a_wrong_shape(shape):
    for call in inertia_users(np.ones(shape)):
        refused(call, errors.ShapeError, "inertia", str(shape), "(..., 3)")


def test_tensor_not_symmetric():
    tensor = np.diag(GOOD) + np.array([(0, 0.1, 0), (0, 0, 0), (0, 0, 0)])
    for call in inertia_users(tensor):
        refused(call, errors.InertiaError, "inertia is not symmetric", "from_moments")
    refused(lambda: ph.RigidBody([np.eye(3), tensor]), errors.InertiaError, "inertia[1] is not symmetric")


@pytest.mark.parametrize(
    "tensor", [np.diag((1, -1, 1)), np.diag((0, 2, 2)), [[1, 2, 0], [2, 1, 0], [0, 0, 1]], -np.eye(3)]
)
def test_tensor_not_positive_definite(tensor):
    for call in inertia_users(tensor):
        refused(call, errors.InertiaError, "inertia is not positive definite", "three positive moments")
    values = ", ".join(f"{x:.6g}" for x in np.linalg.eigvalsh(tensor))
    refused(lambda: ph.RigidBody(tensor), errors.InertiaError, values)
    refused(lambda: ph.RigidBody([np.eye(3)] * 4 + [tensor]), errors.InertiaError, "inertia[4]")


def test_tensor_not_finite():
    for bad in (NAN, INF):
        for call in inertia_users(np.diag((1, bad, 1))):
            refused(call, errors.InertiaError, "inertia[1] = (0, ", "must be finite")


@pytest.mark.parametrize(
    "q",
    [
        (0, 0, 0, 0),
        (1.01, 0, 0, 0),
        (1 + 1.1e-6, 0, 0, 0),
        (1 - 1.1e-6, 0, 0, 0),
        (NAN, 0, 0, 1),
        (INF, 0, 0, 0),
        (1e200, 0, 0, 0),
    ],
)
@pytest.mark.parametrize("inertia", [GOOD, np.diag(GOOD)], ids=["moments", "tensor"])
def test_attitudes(inertia, q):
    for call in (
        lambda: ph.propagate(inertia, (1, 1, 1), q, 1.0),
        lambda: ph.free_motion(inertia, m=(1, 1, 1), q=q),
        lambda: ph.free_motion(inertia, omega=(1, 1, 1), q=q),
        lambda: ph.State((1, 1, 1), q),
        lambda: rotation.as_quaternion(q),
    ):
        refused(
            call, errors.AttitudeError, "q = (", "has norm", "unit quaternion, scalar first", "rotation.normalize(q)"
        )


@pytest.mark.parametrize(
    "offset", [1e-6 - 2e-12, 1e-6 - 1e-13, 1e-6 + 1e-13, -1e-6 + 1e-13, -1e-6 - 1e-13, -1e-6 - 2e-12]
)
def test_attitudes_at_the_limit_are_taken_or_called_by_name(offset):
    """The kernel's test and the one that explains it must agree, or the message would be about something else."""
    q = np.array((0.6, 0.0, 0.8, 0.0)) * (1 + offset)
    if abs(offset) < 1e-6 - 1e-12:
        assert np.linalg.norm(ph.propagate(GOOD, (1, 1, 1), q, 1.0)[1]) == pytest.approx(1, abs=1e-11)
        return
    for call in (lambda: ph.propagate(GOOD, (1, 1, 1), q, 1.0), lambda: ph.State((1, 1, 1), q)):
        with suppress(errors.AttitudeError):
            call()


@pytest.mark.parametrize("shape", [(), (3,), (4, 3), (5,)])
def test_attitude_of_a_wrong_shape(shape):
    for call in (lambda: ph.propagate(GOOD, (1, 1, 1), np.ones(shape)), lambda: ph.State((1, 1, 1), np.ones(shape))):
        refused(call, errors.ShapeError, "q has shape", str(shape), "(..., 4)")


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
@pytest.mark.parametrize("inertia", [GOOD, np.diag(GOOD)], ids=["moments", "tensor"])
def test_momenta_and_velocities_that_are_not_finite(inertia, bad):
    v, body = (1, bad, 2), ph.RigidBody(inertia)
    for name, calls in {
        "m": (
            lambda: ph.propagate(inertia, v, t=1.0),
            lambda: ph.propagate(body, v, t=1.0),
            lambda: ph.free_motion(inertia, m=v),
            lambda: ph.State(v),
            lambda: body.omega(v),
            lambda: body.kinetic_energy(v),
        ),
        "omega": (
            lambda: ph.propagate(inertia, omega=v, t=1.0),
            lambda: ph.propagate(body, omega=v, t=1.0),
            lambda: ph.free_motion(inertia, omega=v),
            lambda: ph.State.from_omega(inertia, v),
            lambda: body.momentum(v),
        ),
    }.items():
        for call in calls:
            refused(call, errors.MomentumError, f"{name} = (1, {bad}, 2)", "must be finite")


def test_places_that_are_not_finite():
    refused(lambda: ph.State((1, 1, 1), x=(1, NAN, 1)), errors.InputError, "x = (1, nan, 1)", "must be finite")
    refused(lambda: ph.State((1, 1, 1), p=(1, INF, 1)), errors.InputError, "p = (1, inf, 1)")
    refused(lambda: ph.State((1, 1, 1), x=(1, 1)), errors.ShapeError, "x has shape (2,)")


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_times_that_are_not_finite(bad):
    motion = ph.free_motion(GOOD, m=(1, 1, 1))
    for call in (
        lambda: ph.propagate(GOOD, (1, 1, 1), t=bad),
        lambda: ph.propagate(np.diag(GOOD), (1, 1, 1), t=bad),
        lambda: motion.m(bad),
        lambda: motion.q(bad),
        lambda: motion.omega(bad),
        lambda: motion.rotation(bad),
        lambda: motion.state(bad),
    ):
        refused(call, errors.TimeError, f"t = ({bad})", "must be finite")
    refused(lambda: motion.m([[0, 1], [bad, 2]]), errors.TimeError, f"t[1, 0] = ({bad})")


def test_times_that_are_too_long():
    refused(
        lambda: ph.propagate(GOOD, (1, 1, 1), t=[1, 1e200]),
        errors.TimeError,
        "t[1] = 1e+200",
        "m = (1, 1, 1)",
        "number of turns",
    )
    refused(lambda: ph.free_motion(GOOD, m=(1e300, 0, 0)).m(1e300), errors.TimeError, "t = 1e+300")


def test_moments_too_far_apart():
    refused(
        lambda: ph.propagate((1e-200, 1, 1), (1, 1, 1), t=1), errors.InertiaError, "inertia = (1e-200, 1, 1)", "1e150"
    )


NOT_NUMBERS = [
    "abc",
    ("1", "2", "3"),
    (1j, 2, 3),
    (None, 1, 2),
    None,
    (object(), 1, 2),
    [(1, 2, 3), (1, 2)],
    (True, True, True),
    b"abc",
]


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=lambda value: re.sub(" at 0x.*?>", ">", repr(value)))
def test_things_that_are_not_numbers(value):
    for name, call in {
        "inertia": lambda: ph.RigidBody(value),
        "moments": lambda: ph.RigidBody.from_moments(value),
        "moment": lambda: ph.RigidBody.linear(value),
        "mass": lambda: ph.RigidBody.cuboid(value, 1, 1, 1),
        "masses": lambda: ph.RigidBody.points(value, np.eye(3)),
        "positions": lambda: ph.RigidBody.points((1, 1, 1), value),
        "point": lambda: ph.RigidBody(GOOD, mass=1).about(value),
        "m": lambda: ph.State(value),
        "q": lambda: ph.State((1, 1, 1), value),
        "omega": lambda: ph.State.from_omega(GOOD, value),
        "t": lambda: ph.propagate(GOOD, (1, 1, 1), t=value),
    }.items():
        refused(call, errors.InputError, f"{name} must be numbers")
    refused(lambda: ph.free_motion(GOOD, m=(1, 1, 1)).m(value), errors.InputError, "t must be numbers")
    if value is not None:
        refused(lambda: ph.propagate(GOOD, value), errors.InputError, "m must be numbers")
        refused(lambda: ph.propagate(GOOD, omega=value), errors.InputError, "omega must be numbers")
    refused(lambda: ph.propagate(value, (1, 1, 1)), errors.InputError, "inertia must be numbers")


def test_integers_and_single_precision_are_numbers():
    m, q = ph.propagate([1, 2, 3], np.array((1, 1, 1), dtype=np.float32), np.array(ONE, dtype=np.int8), np.uint16(2))
    exact = ph.propagate(GOOD, (1.0, 1.0, 1.0), ONE, 2.0)
    np.testing.assert_array_equal(m, exact[0])
    np.testing.assert_array_equal(q, exact[1])
    assert m.dtype == q.dtype == np.float64


@pytest.mark.parametrize("bad", [0, -1.0, NAN, INF, -INF])
def test_sizes_and_masses(bad):
    shown = f" = {bad:.6g}; expected a positive finite number"
    for name, call in {
        "mass": lambda: ph.RigidBody(GOOD, mass=bad),
        "moment": lambda: ph.RigidBody.linear(bad),
        "a": lambda: ph.RigidBody.cuboid(1, bad, 1, 1),
        "b": lambda: ph.RigidBody.ellipsoid(1, 1, bad, 1),
        "c": lambda: ph.RigidBody.ellipsoid(1, 1, 1, bad),
        "radius": lambda: ph.RigidBody.cylinder(1, bad, 1),
        "height": lambda: ph.RigidBody.cone(1, 1, bad),
        "masses[1]": lambda: ph.RigidBody.points((1, bad, 1), np.eye(3)),
    }.items():
        refused(call, errors.InputError, name + shown)


def test_points():
    for line in (np.outer((1, 2, 4), (1, 2, 3)), np.ones((3, 3)), np.zeros((3, 3))):
        refused(
            lambda line=line: ph.RigidBody.points((1, 1, 1), line),
            errors.InertiaError,
            "on a line",
            "RigidBody.linear(I)",
        )
    refused(lambda: ph.RigidBody.points((1, 1), np.eye(3)), errors.ShapeError, "masses (2,)", "positions (3, 3)")
    refused(lambda: ph.RigidBody.points([], np.ones((0, 3))), errors.ShapeError, "empty")
    refused(lambda: ph.RigidBody.points((1, 1, 1), np.diag((1, NAN, 1))), errors.InputError, "positions[1]", "finite")
    refused(lambda: ph.RigidBody(GOOD, mass=1).about((1, NAN, 1)), errors.InputError, "point = (1, nan, 1)")


@pytest.mark.parametrize("tensors", [False, True], ids=["moments", "tensors"])
def test_batches_that_do_not_broadcast(tensors):
    inertia = np.tile(np.eye(3), (5, 1, 1)) if tensors else np.ones((5, 3))
    body, four = ph.RigidBody(inertia, mass=1.0), np.ones((4, 3))
    q = np.tile(ONE, (4, 1))
    for call, *parts in (
        (lambda: ph.propagate(inertia, four), "inertia (5,)", "m (4,)"),
        (lambda: ph.propagate(inertia, omega=four), "inertia (5,)", "omega (4,)"),
        (lambda: ph.propagate(body, omega=four), "inertia (5,)", "omega (4,)"),
        (lambda: ph.propagate(inertia, GOOD, q), "inertia (5,)", "q (4,)"),
        (lambda: ph.propagate(inertia, GOOD, t=np.ones(4)), "inertia (5,)", "t (4,)"),
        (lambda: ph.free_motion(body, m=four), "body (5,)", "state (4,)"),
        (lambda: ph.free_motion(body, omega=four), "inertia (5,)", "omega (4,)"),
        (lambda: ph.State.from_omega(body, four), "inertia (5,)", "omega (4,)"),
        (lambda: body.momentum(four), "inertia (5,)", "omega (4,)"),
        (lambda: body.omega(four), "inertia (5,)", "m (4,)"),
        (lambda: body.kinetic_energy(four), "inertia (5,)", "m (4,)"),
        (lambda: body.about(four), "body (5,)", "point (4,)"),
        (lambda: ph.RigidBody(inertia, mass=np.ones(4)), "inertia (5,)", "mass (4,)"),
    ):
        refused(call, errors.ShapeError, "do not broadcast", "leading axes", *parts)


def test_more_batches_that_do_not_broadcast():
    refused(lambda: ph.State(np.ones((5, 3)), np.tile(ONE, (4, 1))), errors.ShapeError, "m (5,)", "q (4,)")
    refused(lambda: ph.State(GOOD, x=np.ones((5, 3)), p=np.ones((4, 3))), errors.ShapeError, "x (5,)", "p (4,)")
    refused(lambda: ph.RigidBody.cuboid(1, [1, 2], [1, 2, 3], 1), errors.ShapeError, "do not broadcast")
    refused(lambda: ph.RigidBody(GOOD, mass=[1, 2]), errors.ShapeError, "mass has shape (2,)")


def test_momentum_given_twice_or_not_at_all():
    refused(lambda: ph.propagate(GOOD), errors.MomentumError, "got neither", "expected either m", "omega")
    refused(lambda: ph.propagate(GOOD, GOOD, omega=GOOD), errors.MomentumError, "got both", "expected either m")
    refused(lambda: ph.free_motion(GOOD), errors.MomentumError, "got none of them", "exactly one of", "m=...")
    refused(lambda: ph.free_motion(GOOD, m=GOOD, omega=GOOD), errors.MomentumError, "got m and omega")
    refused(lambda: ph.free_motion(GOOD, ph.State(GOOD), m=GOOD), errors.MomentumError, "got state and m")
    refused(lambda: ph.free_motion(GOOD, GOOD), errors.InputError, "state is of type tuple", "m=...")
    refused(
        lambda: ph.free_motion(GOOD, ph.State(GOOD), q=ONE), errors.InputError, "got both state and q", "State(m, q)"
    )


def test_linear_rotor_with_momentum_along_its_axis():
    rotor = ph.RigidBody.linear(2.0)
    for call in (
        lambda: ph.propagate(rotor, (0.1, 1, 1), t=1),
        lambda: ph.free_motion(rotor, m=(0.1, 1, 1)),
        lambda: rotor.omega((0.1, 1, 1)),
        lambda: rotor.kinetic_energy((0.1, 1, 1)),
    ):
        refused(
            call, errors.MomentumError, "m = (0.1, 1, 1)", "linear rotor", "first body axis", "set that component to 0"
        )
    refused(lambda: ph.propagate(rotor, [(0, 1, 1), (0.1, 1, 1)]), errors.MomentumError, "m[1] = (0.1, 1, 1)")
    refused(lambda: ph.free_motion(rotor, m=(0, NAN, 1)), errors.MomentumError, "m = (0, nan, 1)")
    ph.propagate(rotor, (1e-15, 1, 1), t=1)  # rounding is forgiven


def read_only(shape):
    array = np.empty(shape)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("out", "came"),
    [
        (lambda: (np.empty((5, 3)), np.empty((4, 4))), "float64 (5, 3), float64 (4, 4)"),
        (lambda: (np.empty((5, 3)), np.empty((5, 3))), "float64 (5, 3), float64 (5, 3)"),
        (lambda: (np.empty((1, 3)), np.empty((1, 4))), "float64 (1, 3)"),
        (lambda: (np.empty((5, 3), dtype=np.float32), np.empty((5, 4))), "float32 (5, 3)"),
        (lambda: (np.empty((5, 3), dtype=int), np.empty((5, 4))), "int64 (5, 3)"),
        (lambda: (read_only((5, 3)), np.empty((5, 4))), "float64 read-only (5, 3)"),
        (lambda: (np.empty((5, 3)), np.empty((4, 5)).T), "float64 strided (5, 4)"),
        (lambda: (np.empty((10, 3))[::2], np.empty((5, 4))), "float64 strided (5, 3)"),
        (lambda: ([0.0] * 3, np.empty((5, 4))), "list"),
        (lambda: (np.empty((5, 3)),), "float64 (5, 3)"),
        (lambda: np.empty((5, 3)), "float64 (5, 3)"),
        (lambda: (np.empty((5, 3)), None), "NoneType"),
    ],
)
def test_out(out, came):
    refused(
        lambda: ph.propagate(GOOD, np.ones((5, 3)), t=1, out=out()),
        errors.ShapeError,
        "out must be two writable float64 arrays in C order of shapes (5, 3) and (5, 4)",
        came,
    )


def spoil(what, at, inertia, m, q, t):
    """Make one body bad; the error and the beginning of its message."""
    if what == "inertia":
        inertia[at, 1] = -1
    elif what == "m":
        m[at, 2] = NAN
    elif what == "q":
        q[at] *= 1.5
    elif what == "t":
        t[at] = INF
    else:
        t[at] = 1e200
    name, error = {
        "inertia": ("inertia", errors.InertiaError),
        "m": ("m", errors.MomentumError),
        "q": ("q", errors.AttitudeError),
    }.get(what, ("t", errors.TimeError))
    return error, f"{name}[{at}] = "


def bodies(count, seed=3):
    rng = np.random.default_rng(seed)
    return [
        rng.uniform(0.5, 2, (count, 3)),
        rng.normal(size=(count, 3)),
        random_attitude(rng, count),
        rng.uniform(-9, 9, count),
    ]


KINDS = ["inertia", "m", "q", "t", "long"]


@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize("count", [7, 200])
def test_one_bad_body_is_named(what, count):
    for at in (0, count // 2, count - 1):
        args = bodies(count)
        error, start = spoil(what, at, *args)
        refused(lambda args=args: ph.propagate(*args), error, start)


@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize("threads", ["1", "3"])
def test_the_first_bad_body_of_many_is_named(what, threads, monkeypatch):
    """All pieces run at once: the one that is done first is not the one to report."""
    monkeypatch.setenv("POLHODE_NUM_THREADS", threads)
    args = [np.tile(x, (MANY // 100,) + (1,) * (x.ndim - 1)) for x in bodies(100)]
    at = 1234
    error, start = spoil(what, at, *args)
    for later in (MANY // 2, MANY - 1):
        spoil(KINDS[(KINDS.index(what) + 1) % 5], later, *args)
    refused(lambda: ph.propagate(*args), error, start)


def test_bad_bodies_of_a_batch_with_several_axes():
    m = np.ones((2, 3, 3))
    m[1, 2, 0] = NAN
    refused(lambda: ph.propagate(GOOD, m), errors.MomentumError, "m[1, 2] = (nan, 1, 1)")
    refused(lambda: ph.propagate(np.diag(GOOD), m), errors.MomentumError, "m[1, 2] = (nan, 1, 1)")
    refused(lambda: ph.propagate(GOOD, (1, NAN, 1), t=[1, 2]), errors.MomentumError, "m = (1, nan, 1)")


@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize("count", [9, MANY])
def test_input_that_is_output_survives_a_bad_body(what, count):
    args = [np.tile(x, (count // 9 + 1,) + (1,) * (x.ndim - 1))[:count] for x in bodies(9)]
    spoil(what, count - 2, *args)
    before = [x.copy() for x in args]
    with pytest.raises(ph.InputError):
        ph.propagate(*args, out=(args[1], args[2]))
    for x, y in zip(args, before, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("at", ["t", "q"])
def test_input_that_is_output_survives_a_bad_tensor_body(at):
    tensors, (_, m, q, t) = np.tile(np.diag(GOOD), (9, 1, 1)), bodies(9)
    spoil(at, 7, None, m, q, t)
    before = m.copy(), q.copy()
    with pytest.raises(ph.InputError):
        ph.propagate(tensors, m, q, t, out=(m, q))
    np.testing.assert_array_equal(m, before[0])
    np.testing.assert_array_equal(q, before[1])


def test_output_may_overlap_the_input_in_any_way():
    """The first row of a table of states is where the rest starts from; so are rows shifted by one."""
    times = np.array((0.5, 1.0, 1.5, 2.0))
    m, q = np.ones((4, 3)), np.tile((0.6, 0.0, 0.8, 0.0), (4, 1))
    expected = ph.propagate(GOOD, m[0].copy(), q[0].copy(), times)
    ph.propagate(GOOD, m[0], q[0], times, out=(m, q))
    np.testing.assert_array_equal(m, expected[0])
    np.testing.assert_array_equal(q, expected[1])
    _, m, q, _ = bodies(9)
    expected = ph.propagate(GOOD, m[:-1].copy(), q[:-1].copy(), 2.0)
    ph.propagate(GOOD, m[:-1], q[:-1], 2.0, out=(m[1:], q[1:]))
    np.testing.assert_array_equal(m[1:], expected[0])
    np.testing.assert_array_equal(q[1:], expected[1])


@pytest.mark.parametrize("value", ["many", "-2", "1.5", "0", "1e9", "4097", "1000000000", "9" * 5000, " "])
def test_number_of_threads(value, monkeypatch):
    monkeypatch.setenv("POLHODE_NUM_THREADS", value)
    refused(thread_count, errors.InputError, "POLHODE_NUM_THREADS", repr(value), "whole number")


def test_unknown_problem():
    refused(
        lambda: ph.problems.get("djanibekov"), errors.UnknownNameError, "'djanibekov'", "did you mean 'dzhanibekov'?"
    )
    refused(lambda: ph.problems.get("x"), errors.UnknownNameError, "known are: dzhanibekov")
