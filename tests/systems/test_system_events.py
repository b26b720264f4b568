"""Events of systems: times known in closed form, boxes, energies, and what is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import polhode as ph
from polhode import events
from polhode.core.errors import InputError, ShapeError, UnknownNameError
from polhode.systems.interactions import Field

BODY = ph.RigidBody((1.0, 2.0, 3.0), mass=2.0)
STRENGTH = 3.0  # of the spring
RATE = np.sqrt(2 * STRENGTH / 2.0)  # of two masses of 2 on a spring
SPIN = np.array([(0.5, 0.0, 0.0), (0.0, 0.0, 0.6)])  # about principal axes: the rotational energy is constant
TURNING = 0.5 * (0.5**2 / 1.0 + 0.6**2 / 3.0)


def nothing(t, x, Q, F, T, p):
    """No force."""


def spring(t, x, Q, F, T, p):
    F[0] = STRENGTH * (x[1] - x[0])
    F[1] = -F[0]


def spring_energy(t, x, Q, p):
    return 0.5 * STRENGTH * np.sum((x[1] - x[0]) ** 2)


def fliers(x, v, box=None, span=(0.0, 4.0)):
    """Free bodies on straight lines."""
    x, v = np.array(x, dtype=float), np.array(v, dtype=float)
    state = ph.State(np.zeros(x.shape), x=x, p=2.0 * v)
    return ph.System(BODY, state, Field(nothing, arrays=True), box, t_span=span)


def springs(span=(0.0, 2.0)):
    """Two bodies that oscillate about their mass center, beginning at rest 1.5 apart: r = 1.5 cos(RATE t)."""
    state = ph.State(SPIN, x=[(0, 0, 0), (1.5, 0, 0)])
    return ph.System(BODY, state, Field(spring, energy=spring_energy, arrays=True), t_span=span)


def times_at(r, v, value):
    """When bodies on straight lines, r + v t apart, have this distance: the roots of a quadratic equation."""
    r, v = np.array(r, dtype=float), np.array(v, dtype=float)
    return np.sort(np.roots([v @ v, 2 * r @ v, r @ r - value**2]))


def found(system, event, **options):
    run = ph.integrate(system, **{"method": "V2", "h": 0.125, "events": event} | options)
    return run.t_events[0]


# Distances

PLACES, VELOCITIES = [(0, 0, 0), (3, 0.2, -0.1), (40, 0, 0)], [(0.5, 0, 0), (-1, 0.1, 0.05), (0, 0, 0)]
TRUE = times_at((3, 0.2, -0.1), (-1.5, 0.1, 0.05), 0.75)


@pytest.mark.parametrize(
    "method", [{"method": "V2", "h": 0.125}, {"method": ph.Adaptive(1e-10, max_step=0.3), "h": None}]
)
def test_distance_of_two_bodies(method):
    system = fliers(PLACES, VELOCITIES)
    np.testing.assert_allclose(found(system, events.distance(0, 1, 0.75), **method), TRUE, rtol=1e-13)
    np.testing.assert_allclose(found(system, events.distance(1, 0, 0.75, direction=-1), **method), TRUE[:1], rtol=1e-13)
    np.testing.assert_allclose(found(system, events.distance(0, 1, 0.75, direction=1), **method), TRUE[1:], rtol=1e-13)


def test_a_terminal_distance_ends_the_run():
    run = ph.integrate(fliers(PLACES, VELOCITIES), h=0.125, events=events.distance(0, 1, 0.75, terminal=True))
    assert run.status == ph.Status.ENDED_BY_EVENT
    assert run.t[-1] == run.t_events[0][0] == pytest.approx(TRUE[0], rel=1e-13)
    np.testing.assert_allclose(np.linalg.norm(run.x[-1, 0] - run.x[-1, 1]), 0.75, rtol=1e-13)


@pytest.mark.parametrize("box", [5.0, (5.0, 90.0, 90.0)])
def test_distances_in_a_box_are_those_of_the_nearest_images(box):
    """The bodies move apart, and meet an image of each other: r - 5 along x."""
    r, v = (3.0, 0.2, 0.0), (1.0, 0.0, 0.0)
    system = fliers([(0, 0, 0), r], [(0, 0, 0), v], box)
    true = times_at((-2.0, 0.2, 0.0), v, 0.5)
    for given in (box, system.box):
        np.testing.assert_allclose(found(system, events.distance(0, 1, 0.5, box=given)), true, rtol=1e-13)
    np.testing.assert_allclose(found(system, events.closest(0.5, box=box)), true[:1], rtol=1e-13)
    assert found(system, events.distance(0, 1, 0.5)).size == 0


def test_the_closest_of_all_bodies():
    """Two pairs of four bodies meet, one after the other."""
    x = [(0, 0, 0), (2, 0.1, 0), (0, 30, 0), (0, 30, 5)]
    v = [(0, 0, 0), (-1, 0, 0), (0, 0, 0), (0, 0, -1.4)]
    near = times_at((2, 0.1, 0), (-1, 0, 0), 0.3), times_at((0, 0, 5), (0, 0, -1.4), 0.3)
    system = fliers(x, v, span=(0.0, 5.0))
    np.testing.assert_allclose(found(system, events.closest(0.3)), [near[0][0], near[1][0]], rtol=1e-13)
    np.testing.assert_allclose(found(system, events.closest(0.3, direction=0.0)), np.ravel(near), rtol=1e-13)
    assert found(system, events.closest(0.3, terminal=True)).tolist() == [pytest.approx(near[0][0], rel=1e-13)]


def test_one_body_has_no_closest_pair():
    assert found(fliers([(0, 0, 0)], [(1, 0, 0)]), events.closest(0.3)).size == 0


def test_a_spring():
    """r = 1.5 cos(RATE t), in both directions of time."""
    true = np.arccos(0.4 / 1.5) / RATE
    run = found(springs(), events.distance(0, 1, 0.4), method="RKN6_14a", h=0.05)
    np.testing.assert_allclose(run, [true, np.pi / RATE - true], rtol=1e-9)
    back = found(springs((0.0, -1.0)), events.distance(0, 1, 0.4), method="RKN6_14a", h=0.05)
    np.testing.assert_allclose(back, [-true], rtol=1e-9)


# Energies


def at_kinetic(value):
    """When the kinetic energy of the translation has this value for the first time: (3/2)^2 RATE^2 sin^2/2."""
    return np.arcsin(np.sqrt(2 * value) / (1.5 * RATE)) / RATE


@pytest.mark.parametrize(
    ("event", "translation"),
    [
        (lambda system: events.kinetic(system, 1.0), 1.0 - TURNING),
        (lambda system: events.kinetic(system, 1.0, of="translation"), 1.0),
        (lambda system: events.temperature(system, 0.2), 0.2 * 12 / 2 - TURNING),
        (lambda system: events.temperature(system, 0.2, of="translation"), 0.2 * 6 / 2),
    ],
)
def test_kinetic_energies_and_temperatures(event, translation):
    system = springs((0.0, 1.0))
    run = found(system, event(system), method="RKN6_14a", h=0.05)
    np.testing.assert_allclose(run[0], at_kinetic(translation), rtol=1e-9)


def test_rotations_that_are_braked():
    """Both bodies are slowed down about their third axes: m = (6 - t)/10, and the energy is m^2/3."""

    def brake(t, x, Q, F, T, p):
        T[:, 2] = -0.1

    state = ph.State([(0, 0, 0.6), (0, 0, 0.6)], x=[(0, 0, 0), (9, 0, 0)])
    system = ph.System(BODY, state, Field(brake, arrays=True), t_span=(0.0, 5.0))
    energy = 0.4**2 / 3
    for event in (
        events.kinetic(system, energy, of="rotation"),
        events.temperature(system, energy / 3, of="rotation", direction=-1),
    ):
        np.testing.assert_allclose(found(system, event), [2.0], rtol=1e-12)
    assert found(system, events.kinetic(system, energy, direction=1)).size == 0


def test_linear_rotors_have_two_degrees_of_freedom_of_rotation():
    state = ph.State([(0, 1.0, 0), (0, 1.0, 0)], x=[(0, 0, 0), (9, 0, 0)])
    system = ph.System(ph.RigidBody.linear(2.0, mass=1.0), state, Field(nothing, arrays=True))
    value = events.temperature(system, 0.0, of="rotation")(0.0, *(np.array(v)[None] for v in parts(system.state)))
    assert value == pytest.approx(0.25)  # 2 (0.5/2 + 0.5/2)/4


def parts(state):
    return state.x, state.p, state.m, state.q


def test_the_energy_of_a_system():
    """The bodies spin, and their potential energy is 2 t."""

    def level(t, x, Q, p):
        return 2.0 * t

    system = ph.System(BODY, springs().state, Field(nothing, energy=level, arrays=True), t_span=(0.0, 2.0))
    np.testing.assert_allclose(found(system, events.energy(system, TURNING + 2.5)), [1.25], rtol=1e-12)
    problem = ph.Problem((1, 2, 3), ph.State((0, 0, 3.0)))
    assert events.energy(problem, 1.0)(0.0, np.array([0, 0, 3.0]), np.array([1.0, 0, 0, 0])) == 0.5  # of a body


# Attributes, copies, and what is refused


def made():
    system = springs()
    return [
        events.distance(0, 1, 0.4, terminal=2, direction=-1),
        events.distance(0, 1, 0.4, box=5.0),
        events.closest(0.4, terminal=True),
        events.kinetic(system, 1.0),
        events.temperature(system, 0.2, of="rotation"),
        events.energy(system, 1.0, direction=1),
    ]


@pytest.mark.parametrize("travel", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_events(travel):
    state = [np.array(v)[None] for v in parts(springs().state)]
    for event in made():
        again = travel(event)
        assert (repr(again), again.terminal, again.direction) == (repr(event), event.terminal, event.direction)
        assert again(np.zeros(1), *state) == event(np.zeros(1), *state)


def test_a_state_that_is_not_finite_has_no_value():
    nan = [np.full((1, 2, k), np.nan) for k in (3, 3, 3, 4)]
    for event in made():
        assert np.isnan(event(np.zeros(1), *nan)).all()


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (events.cone((0, 0, 1), (0, 0, 1), 0.5), "cone"),
        (events.section((1, 0, 0)), "section"),
        (events.middle_crossing((1, 2, 3)), "middle_crossing"),
        (events.Event("mine", lambda t, m, q: m[..., 0]), "mine"),
        (lambda t, m, q: m[..., 0], "<lambda>"),
    ],
)
def test_events_of_bodies_are_not_for_systems(event, name):
    with pytest.raises(InputError, match=rf"{name}.*\(t, m, q\).*expected event\(t, x, p, m, q\).*k, n, 3"):
        ph.integrate(springs(), h=0.1, events=[events.closest(0.1), event])


@pytest.mark.parametrize("event", [*made(), lambda t, x, p, m, q: x[:, 0, 0]])
def test_events_of_systems_are_not_for_bodies(event):
    problem = ph.Problem((1, 2, 3), ph.State((0, 0, 3.0)))
    with pytest.raises(InputError, match=r"\(t, x, p, m, q\).*expected event\(t, m, q\)"):
        ph.integrate(problem, h=0.1, events=event)


def test_events_with_arguments_of_their_own_are_accepted():
    def later(t, *state, limit=0.5):
        return t - limit

    assert found(springs(), later).tolist() == [0.5]
    assert found(springs(), events.Event("later", later)).tolist() == [0.5]


def test_what_an_event_returns_has_one_number_for_each_state():
    with pytest.raises(ShapeError, match=r"x \(\d+, 2, 3\).*expected \(\d+,\), one number for each state"):
        found(springs(), lambda t, x, p, m, q: x[..., 0])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: events.distance(0, 0, 1.0), InputError, "two different bodies"),
        (lambda: events.distance(0, -1, 1.0), InputError, "j"),
        (lambda: events.distance(0, 1.5, 1.0), InputError, "j"),
        (lambda: events.distance(0, 1, 0.0), InputError, "value = 0.0.*positive"),
        (lambda: events.distance(0, 1, np.nan), InputError, "value = nan.*positive"),
        (lambda: events.distance(0, 1, 1.0, box=-3.0), InputError, "box"),
        (lambda: events.closest(-1.0), InputError, "value = -1.0.*positive"),
        (lambda: events.kinetic(springs(), 1.0, of="spin"), UnknownNameError, "'spin'.*rotation"),
        (lambda: events.temperature(springs(), 1.0, of="Rotation"), UnknownNameError, "did you mean 'rotation'"),
        (lambda: events.energy(fliers([(0, 0, 0)], [(1, 0, 0)]), 1.0), AttributeError, "has no energy"),
        (lambda: found(springs(), events.distance(0, 2, 1.0)), InputError, "body 2.*2 bodies.*0 to 1"),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_atoms_have_no_temperature_of_rotation():
    argon = ph.interactions.Molecular.from_atoms(
        [39.948], [(0, 0, 0)], sigma=0.34, epsilon=0.996, name="Ar", cutoff=0.5
    )
    gas = ph.System.liquid(argon, 8, kT=2.5, density=5.0, seed=1)
    with pytest.raises(InputError, match="atoms, which do not rotate; type of='translation'"):
        events.temperature(gas, 2.5, of="rotation")
    still = events.temperature(gas, 0.0)(0.0, *(np.array(v)[None] for v in parts(gas.state)))
    assert still == pytest.approx((gas.state.p**2).sum() / 39.948 / 24)
