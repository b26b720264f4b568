"""Events on the polynomials of steps by Taylor series: all sign changes, against closed forms and samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp

import polhode as ph
from conftest import EPS
from oracles.addition import addition_flow, addition_period
from polhode import events, forces
from polhode.core.errors import NotTraceable
from polhode.forces.event_graph import traced_event
from polhode.integration import event_finder
from polhode.integration.sign_changes import sign_changes
from polhode.kernels.graphs.array_series import array_series
from polhode.kernels.graphs.graph import Graph

pytestmark = pytest.mark.dense  # steps of Taylor take minutes in plain Python

MOMENTS, M0 = (1.0, 1.7, 2.3), (0.05, 1.0, 0.4)
FREE = ph.Problem(MOMENTS, ph.State(M0), t_span=(0.0, 80.0))


def spinning(rate, t_span=(0.0, 10.0)):
    """A sphere that spins about z at this rate, or these: q = (cos(rate t/2), 0, 0, sin(rate t/2))."""
    momentum = np.stack(np.broadcast_arrays(0.0, 0.0, rate), axis=-1)
    return ph.Problem((1.0, 1.0, 1.0), ph.State(momentum), t_span=t_span)


def top(t_span=(0.0, 20.0)):
    return ph.Problem((1.0, 1.5, 2.25), ph.State((0.3, -0.4, 1.5)), forces.gravity(1.0, (0.1, 0.2, 0.5)), t_span)


def sampled(problem, monkeypatch, **options):
    """The run with events that are searched by samples."""
    with monkeypatch.context() as patch:
        patch.setattr(event_finder, "graph_of", lambda event, run: None)
        return ph.integrate(problem, **options)


# Series and roots of polynomials.


def test_series_against_mpmath():
    graph = Graph()
    t, x = graph.input("t"), graph.input("m0")
    value = graph.divide(
        graph.function("sin", graph.multiply(t, x)), graph.add(graph.number(2.0), graph.multiply(x, x))
    )
    value = graph.add(value, graph.function("exp", graph.function("atan", x)))
    found = array_series(graph, value, {"t": np.array([[0.3], [1.0]]), "m0": np.array([[0.2], [0.5], [-0.25]])}, 20)
    with mp.workdps(40):

        def true(s):
            x = mp.mpf(0.2) + s / 2 - s * s / 4
            return mp.sin((mp.mpf(0.3) + s) * x) / (2 + x * x) + mp.exp(mp.atan(x))

        expected = [float(c) for c in mp.taylor(true, 0, 20)]
    np.testing.assert_allclose(found.coefficients[:, 0], expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("degree", [1, 2, 5, 9])
def test_roots_of_polynomials(degree, rng):
    for _ in range(50):
        roots = rng.uniform(-0.5, 1.5, degree)
        c = np.poly(roots)[::-1] * rng.normal()
        found = sign_changes(c[None], c[:1], np.array([c.sum()]), np.abs(c).sum(keepdims=True))
        expected = np.sort(roots[(roots > 0) & (roots < 1)])
        slope = np.abs(np.polyval(np.polyder(c[::-1]), expected)) / np.abs(c).sum()
        assert len(found.x) == len(expected)
        assert (np.abs(found.x - expected) * slope <= 20 * EPS).all()
        after = np.polyval(c[::-1], expected + 1e-9) > 0
        np.testing.assert_array_equal(found.rises, after)


@pytest.mark.parametrize("root", [0.5, 0.3, 1 / 3, 0.7])
def test_double_roots_are_no_sign_changes(root):
    c = np.poly([root, root, 2.0])[::-1]
    assert not len(sign_changes(c[None], c[:1], np.array([c.sum()]), np.ones(1)).x)


def test_triple_roots_are_sign_changes():
    c = np.poly([0.4, 0.4, 0.4])[::-1]
    found = sign_changes(c[None], c[:1], np.array([c.sum()]), np.ones(1))
    assert found.x == pytest.approx([0.4], abs=1e-4)
    assert found.rises.tolist() == [True]


def test_zeros_at_ends_count_when_they_are_reached():
    """x (x - 1): the zero at 1 counts, that at 0 does not."""
    c = np.array([[0.0, -1.0, 1.0]])
    found = sign_changes(c, np.zeros(1), np.zeros(1), np.ones(1))
    assert found.x.tolist() == [1.0]
    assert found.rises.tolist() == [True]


def test_a_polynomial_that_is_zero_has_no_sign_changes():
    assert not len(sign_changes(np.zeros((1, 5)), np.zeros(1), np.zeros(1), np.zeros(1)).x)


# Graphs of events.


def trial(batch=()):
    rng = np.random.default_rng(4)
    q = rng.normal(size=(6, *batch, 4))
    return rng.normal(size=(6, *batch)), rng.normal(size=(6, *batch, 3)), q / np.linalg.norm(q, axis=-1)[..., None]


THRESHOLDS = np.array([0.1, 0.2, 0.3])
CALLS = []


def stateful(t, m, q):
    CALLS.append(t)
    return m[..., 0] - len(CALLS)


TRACED = {
    "component": lambda t, m, q: m[..., 1] - 0.25,
    "absolute": lambda t, m, q: np.abs(m[..., 0]) - 0.5,
    "matrix": lambda t, m, q: ph.rotation.matrix(q)[..., 2, 2] - 0.5,
    "rotated": lambda t, m, q: ph.rotation.rotate(q, m)[..., 2],
    "forcing": lambda t, m, q: np.sin(3.0 * t) * m[..., 0] / np.linalg.norm(m, axis=-1),
    "cone": events.cone((0, 0, 1), (0, 0, 1), 0.5).__wrapped__,
    "section": events.section((1, 0, 0), of="m_space").__wrapped__,
}
NOT_TRACED = {
    "branch": lambda t, m, q: np.where(m[..., 0] > 0.0, m[..., 1], m[..., 2]),
    "bodies": lambda t, m, q: m[..., 0] - THRESHOLDS,
    "stateful": stateful,
}


@pytest.mark.parametrize("name", TRACED)
def test_events_that_have_a_graph(name):
    traced_event(TRACED[name], *trial((3,)))


@pytest.mark.parametrize("name", NOT_TRACED)
def test_events_that_have_none(name):
    with pytest.raises(NotTraceable):
        traced_event(NOT_TRACED[name], *trial((3,)))


# Runs.


def test_middle_crossings_of_a_free_body():
    run = ph.integrate(FREE, method=ph.Taylor(), events=events.middle_crossing(MOMENTS))
    with mp.workdps(30):
        half = addition_period(MOMENTS, M0) / 2
        first = mp.findroot(lambda t: addition_flow(MOMENTS, M0, (1, 0, 0, 0), t)[0][1], (0, half), solver="anderson")
        expected = [float(first + k * half) for k in range(int((80 - first) / half) + 1)]
    np.testing.assert_allclose(run.t_events[0], expected, rtol=0, atol=2e3 * EPS)


@pytest.mark.parametrize("rtol", [1e-6, 1e-15])
@pytest.mark.parametrize("span", [(0.0, 10.0), (0.0, -10.0)])
def test_two_crossings_close_to_each_other(span, rtol):
    """The angle of a spinning sphere stays above pi/3 for so short a time that no sample sees it."""
    apart, rate = 1e-6, 1.0
    edge = math.cos(0.5 * rate * apart)

    def above(t, m, q):
        return np.cos(rate * t - math.pi / 3) - edge

    run = ph.integrate(spinning(rate, span), method=ph.Taylor(rtol), events=above)
    middles = math.pi / 3 + 2 * math.pi * (np.arange(2) if span[1] > 0 else np.array([-1]))
    expected = np.sort(np.concatenate((middles - apart / 2, middles + apart / 2)))
    np.testing.assert_allclose(np.sort(run.t_events[0]), expected, rtol=0, atol=1.5e-9)


def test_no_step_hides_crossings():
    """Forty turns of the event in each step, which samples miss."""

    def fast(t, m, q):
        return np.sin(200.0 * t) * (2.0 + q[..., 3])

    run = ph.integrate(spinning(1.0, (0.001, 3.0)), method=ph.Taylor(1e-12), events=fast)
    expected = math.pi / 200.0 * np.arange(1, math.floor(600.0 / math.pi) + 1)
    np.testing.assert_allclose(run.t_events[0], expected, rtol=0, atol=2e-15)


def test_tangents_are_not_reported():
    """The first axis comes back to where it was, but never passes it."""

    def touches(t, m, q):
        return ph.rotation.matrix(q)[..., 0, 0] - 1.0

    def nearly(t, m, q):
        return ph.rotation.matrix(q)[..., 0, 0] - (1.0 + 1e-12)

    run = ph.integrate(spinning(2.0, (0.5, 20.0)), method=ph.Taylor(), events=[touches, nearly])
    assert [len(times) for times in run.t_events] == [0, 0]


@pytest.mark.parametrize("span", [(0.0, 20.0), (0.0, -20.0)])
@pytest.mark.parametrize("direction", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("rtol", [1e-4, 1e-8, 1e-15])
def test_they_are_those_that_samples_find(monkeypatch, span, direction, rtol):
    found = [
        events.section((0, 1, 0), direction=direction),
        events.section((1, 0, 0), of="m_space", direction=direction),
        events.cone((0, 0, 1), (0, 0, 1), 0.7, direction=direction),
        events.Event("quotient", lambda t, m, q: np.sin(t) / (3.0 + m[..., 2]) - 0.1, direction=direction),
    ]
    options = {"method": ph.Taylor(rtol), "events": found}
    run, other = ph.integrate(top(span), **options), sampled(top(span), monkeypatch, **options)
    for event, times, m, q, expected in zip(
        found, run.t_events, run.m_events, run.q_events, other.t_events, strict=True
    ):
        np.testing.assert_allclose(times, expected, rtol=0, atol=1e-13)
        assert len(times) > 0
        np.testing.assert_allclose(event(times, m, q), 0.0, atol=6e-15)


def test_axes_of_the_user(monkeypatch):
    tensor = [[1.0, 0.2, 0.1], [0.2, 1.5, -0.1], [0.1, -0.1, 2.0]]
    problem = ph.Problem(tensor, ph.State((0.3, -0.4, 1.5)), forces.gravity(1.0, (0.1, 0.2, 0.5)), (0.0, 20.0))
    options = {"method": ph.Taylor(), "events": [events.section((1, 0, 0)), events.cone((1, 0, 0), (0, 0, 1), 1.0)]}
    run, other = ph.integrate(problem, **options), sampled(problem, monkeypatch, **options)
    for times, expected in zip(run.t_events, other.t_events, strict=True):
        assert len(times) > 0
        np.testing.assert_allclose(times, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_batches(shape):
    rate = 1.0 + np.arange(math.prod(shape)).reshape(shape)
    run = ph.integrate(spinning(rate), method=ph.Taylor(), events=lambda t, m, q: q[..., 3] - 0.25)
    for k in np.ndindex(shape):
        first = 2.0 * math.asin(0.25)  # angles at which sin(angle/2) = 1/4, on both sides of pi
        angles = np.sort(np.concatenate([base + 4 * math.pi * np.arange(8) for base in (first, 2 * math.pi - first)]))
        expected = angles[angles <= 10.0 * rate[k]] / rate[k]
        np.testing.assert_allclose(run.t_events[0][k], expected, rtol=0, atol=1e-13)


def test_bodies_with_events_of_their_own():
    """Such events have no graph, and are found by samples."""
    run = ph.integrate(spinning(np.ones(3)), method=ph.Taylor(), events=lambda t, m, q: q[..., 3] - THRESHOLDS)
    for k in range(3):
        assert run.t_events[0][k][0] == pytest.approx(2.0 * math.asin(THRESHOLDS[k]), abs=1e-13)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_terminal_events(number):
    run = ph.integrate(spinning(2.0), method=ph.Taylor(), events=events.Event(
        "turn", lambda t, m, q: q[..., 3] - 0.5, terminal=number))  # fmt: skip
    expected = [math.pi / 6, 5 * math.pi / 6, math.pi / 6 + 2 * math.pi][:number]
    np.testing.assert_allclose(run.t_events[0], expected, rtol=0, atol=1e-14)
    assert run.t[-1] == run.t_events[0][-1]


@pytest.mark.parametrize(("direction", "expected"), [(0.0, 0.0), (1.0, 0.0), (-1.0, math.pi)])
def test_terminal_zeros_at_the_start(direction, expected):
    event = events.Event("turn", lambda t, m, q: q[..., 3], terminal=True, direction=direction)
    run = ph.integrate(spinning(2.0), method=ph.Taylor(), events=event)
    np.testing.assert_allclose(run.t_events[0], [expected], rtol=0, atol=1e-15 + 2 * EPS * expected)


def test_zeros_at_the_start_do_not_count():
    run = ph.integrate(spinning(2.0, (0.0, 3.0)), method=ph.Taylor(), events=lambda t, m, q: q[..., 3])
    assert len(run.t_events[0]) == 0


def test_singular_events():
    """The tangent of the angle changes its sign at its zeros and at its poles, as samples of it do."""

    def tangent(t, m, q):
        return q[..., 3] / q[..., 0]

    with np.errstate(divide="ignore"):
        run = ph.integrate(spinning(2.0, (0.1, 7.0)), method=ph.Taylor(), events=tangent)
    np.testing.assert_allclose(run.t_events[0], 0.1 + math.pi / 2 * np.arange(1, 5), rtol=0, atol=1e-13)


def test_events_that_are_not_defined_everywhere():
    """log(m - 1/2) of a rotating component of m, which is NaN half of the time."""
    problem = ph.Problem((1.0, 1.0, 2.0), ph.State((1.0, 0.0, 4.0)), t_span=(0.0, 10.0))  # m turns at the rate 2

    with np.errstate(invalid="ignore"):
        run = ph.integrate(problem, method=ph.Taylor(), events=lambda t, m, q: np.log(m[..., 0] + 0.5))
    expected = [math.pi / 6 + k * math.pi for k in range(4)] + [5 * math.pi / 6 + k * math.pi for k in range(3)]
    np.testing.assert_allclose(run.t_events[0], np.sort(expected)[: len(run.t_events[0])], rtol=0, atol=1e-13)
    assert len(run.t_events[0]) >= 6
