"""What a page shows of motions: states at the times of its frames, from dense output wherever there is one.

Frames are so close that the body turns by no more than ``SMOOTH`` from one to the next, as long as that takes no more
than ``MOST_FRAMES``. Where states in between cannot be computed, the frames are the states that were kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, prod
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody
from polhode.core.errors import InputError, TimeError
from polhode.core.rotation import conjugate, from_rotation_vector, multiply
from polhode.core.vectors import length
from polhode.flows.exact import Exact
from polhode.free.motion import FreeMotion
from polhode.integration.problem import Problem, checked_span
from polhode.integration.trajectory import Stats, Trajectory

SMOOTH = 0.1  # radians from one frame to the next
COARSE = 1.0  # radians beyond which what is between two frames is not drawn at all
LEAST_FRAMES, MOST_FRAMES = 300, 3000
MOST_REPEATED = 300_000  # steps, for the states at the frames
MOST_BODIES = 4  # of a batch, or motions, on one page
MOST_COMPUTED = 1000  # bodies of a batch, of which the first few are shown
PILOT = 257  # states, to see how fast bodies turn
DEFAULT_PERIODS, DEFAULT_TURNS = 2.0, 40.0  # of a free motion, whichever ends first

States = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class Source:
    """A motion: its states (m, q) at times from ``span[0]`` to ``span[1]``, and ``kept`` times, if only those count.

    ``energy`` gives that of states which were found by ``states``, or None where there is no energy.
    """

    problem: Problem
    label: str
    span: tuple[float, float]
    states: States
    kept: FloatArray | None
    origin: str
    energy: Callable[[Trajectory], FloatArray | None]


@dataclass(frozen=True)
class Track:
    """One body at the times of the frames: m, omega (k, 3) in body axes, q (k, 4), energies (k,)."""

    label: str
    body: RigidBody
    problem: Problem
    m: FloatArray
    q: FloatArray
    omega: FloatArray
    kinetic: FloatArray
    energy: FloatArray | None


def sources(shown: Sequence[Any], labels: Sequence[str] | None, t_span: Any) -> list[Source]:
    """What is to be shown, each with a label."""
    if labels is not None and len(labels) != len(shown):
        raise InputError(f"{len(labels)} labels came for {len(shown)} motions; give one for each")
    span = None if t_span is None else checked_span(t_span)
    found = [_source(one, span) for one in shown]
    if labels is not None:
        return [replace(source, label=str(label)) for source, label in zip(found, labels, strict=True)]
    return found


def _source(shown: Any, span: tuple[float, float] | None) -> Source:
    if isinstance(shown, FreeMotion):
        _check_count(shown.batch)
        span = span or (0.0, _default_end(shown))
        return _exact(Problem(shown.body, shown.initial, t_span=span), shown, 0.0, span)
    if not isinstance(shown, Trajectory):
        raise InputError(f"{shown!r} cannot be shown; expected a Trajectory, FreeMotion or SystemTrajectory")
    _check_count(shown.m.shape[1:-1])
    span = _within(shown, span)
    problem = shown.problem
    if problem.force is None and repr(shown.method) == repr(Exact()):
        return _exact(problem, problem.free_motion(), float(shown.t[0]), span)
    label, sol = repr(shown.method), getattr(shown, "sol", None)
    if sol is not None and _steps_to_repeat(shown) <= MOST_REPEATED:
        return Source(problem, label, span, sol, None, "steps repeated from the states that were kept", _energy)
    low, high = min(span), max(span)
    kept = shown.t[(shown.t >= low) & (shown.t <= high)]
    return Source(problem, label, span, _between(shown), kept, "the states that were kept", _kept_energy(shown))


def _check_count(batch: tuple[int, ...]) -> None:
    if prod(batch) > MOST_COMPUTED:
        raise InputError(f"{prod(batch)} bodies came; expected up to {MOST_COMPUTED}, of which {MOST_BODIES} are shown")


def _exact(problem: Problem, motion: FreeMotion, start: float, span: tuple[float, float]) -> Source:

    def states(t: FloatArray) -> tuple[FloatArray, FloatArray]:
        return motion.sample(t - start)

    return Source(problem, repr(Exact()), span, states, None, "the closed form", _energy)


def _default_end(motion: FreeMotion) -> float:
    """Some periods, but not more than so many turns of the fastest body; 1 at rest."""
    omega = float(np.max(length(motion.body.omega(motion.initial.m))))
    if omega == 0.0:
        return 1.0
    period = float(np.max(motion.period))
    turns = DEFAULT_TURNS * 2 * np.pi / omega
    return min(turns, DEFAULT_PERIODS * period) if 0.0 < period < inf else turns / 4


def _within(traj: Trajectory, span: tuple[float, float] | None) -> tuple[float, float]:
    """The wanted part of the time in which all bodies moved."""
    reached = np.isfinite(traj.q).all(axis=tuple(range(1, traj.q.ndim)))
    first, last = float(traj.t[0]), float(traj.t[: max(1, int(np.sum(reached)))][-1])
    if first == last:
        raise InputError("this trajectory has only one state: there is nothing that moves")
    if span is None:
        return first, last
    if min(span) < min(first, last) or max(span) > max(first, last):
        raise TimeError(f"t_span = {span}: this trajectory has times from {first:g} to {last:g}")
    return span


def _steps_to_repeat(traj: Trajectory) -> float:
    """Steps between kept states, times frames and bodies; methods that choose their steps keep them all."""
    between = abs(traj.t[-1] - traj.t[0]) / (abs(traj.h) * max(1, len(traj.t) - 1))
    return MOST_FRAMES * prod(traj.m.shape[1:-1]) * (max(1.0, float(between)) if np.isfinite(between) else 1.0)


def _between(traj: Trajectory) -> States:
    """States at any times: kept ones, and between them m along a line and q turning at an even rate."""

    def states(t: FloatArray) -> tuple[FloatArray, FloatArray]:
        backward = traj.t[-1] < traj.t[0]
        times, order = (-traj.t, -t) if backward else (traj.t, t)
        i = np.clip(np.searchsorted(times, order, side="right") - 1, 0, len(times) - 2)
        part = ((order - times[i]) / (times[i + 1] - times[i])).reshape(-1, *(1,) * (traj.m.ndim - 1))
        m = traj.m[i] + part * (traj.m[i + 1] - traj.m[i])
        return m, slerp(traj.q[i], traj.q[i + 1], part)

    return states


def slerp(a: FloatArray, b: FloatArray, part: FloatArray) -> FloatArray:
    """From attitudes a (..., 4) the part (..., 1) of the shorter way to b, at an even rate.

    >>> slerp(np.array([1.0, 0, 0, 0]), np.array([0.0, 0, 0, -1]), np.array([0.5])).round(6)
    array([ 0.707107,  0.      ,  0.      , -0.707107])
    """
    turn = multiply(conjugate(a), b)
    turn = np.where(turn[..., :1] < 0, -turn, turn)
    sine = length(turn[..., 1:])[..., None]
    angle = 2.0 * np.arctan2(sine, turn[..., :1])
    axis = turn[..., 1:] / np.where(sine > 0, sine, 1.0)
    return multiply(a, from_rotation_vector(part * angle * axis))


def _energy(states: Trajectory) -> FloatArray | None:
    force = states.problem.force
    return states.energy if force is None or force.has_energy else None


def _kept_energy(traj: Trajectory) -> Callable[[Trajectory], FloatArray | None]:
    """Between the states that were kept, along lines: a trajectory from a file has no forces to compute with."""
    energy = getattr(traj, "energy", None)
    sign = np.sign(traj.t[-1] - traj.t[0])

    def between(states: Trajectory) -> FloatArray | None:
        if energy is None:
            return None
        columns = energy.reshape(len(energy), -1).T
        rows = [np.interp(sign * states.t, sign * traj.t, column) for column in columns]
        return np.stack(rows, axis=-1).reshape(states.m.shape[:-1])

    return between


def frame_times(found: Sequence[Source]) -> tuple[FloatArray, float]:
    """Times (k,) of the frames, and how many radians a body turns at most from one to the next."""
    first, last = found[0].span
    if any(np.sign(b - a) != np.sign(last - first) for a, b in (source.span for source in found)):
        raise TimeError("some of the motions go forward in time and some backward; show them on two pages")
    if last > first:
        first, last = max(s.span[0] for s in found), min(s.span[1] for s in found)
    else:
        first, last = min(s.span[0] for s in found), max(s.span[1] for s in found)
    if (last - first) * (found[0].span[1] - found[0].span[0]) <= 0:
        raise TimeError(f"the motions have no time in common: {', '.join(str(source.span) for source in found)}")
    kept = next((source.kept for source in found if source.kept is not None), None)
    if kept is not None:
        kept = kept[(kept >= min(first, last)) & (kept <= max(first, last))]
        t = kept[:: max(1, ceil(len(kept) / MOST_FRAMES))]
        return t, max(_largest_turn(source, t) for source in found)
    radians = max(_radians(source, np.linspace(first, last, PILOT)) for source in found)
    count = min(MOST_FRAMES, max(LEAST_FRAMES, ceil(radians / SMOOTH))) + 1
    t = np.linspace(first, last, count)
    return t, max(_largest_turn(source, t) for source in found)


def _largest_turn(source: Source, t: FloatArray) -> float:
    speed = _speed(source, t)
    return float(np.max(np.maximum(speed[1:], speed[:-1]) * np.abs(np.diff(t))))


def _radians(source: Source, t: FloatArray) -> float:
    speed = _speed(source, t)
    return float(np.sum(0.5 * (speed[1:] + speed[:-1]) * np.abs(np.diff(t))))


def _speed(source: Source, t: FloatArray) -> FloatArray:
    """|omega| of the fastest body, (k,)."""
    omega = length(source.problem.body.omega(source.states(t)[0]))
    return omega.reshape(len(t), -1).max(axis=1)


def tracks(found: Sequence[Source], t: FloatArray) -> list[Track]:
    """Every body at these times; of batches the first few."""
    return [track for source in found for track in _tracks(source, t)]


def _tracks(source: Source, t: FloatArray) -> list[Track]:
    m, q = source.states(t)
    batch = m.shape[1:-1]
    problem = source.problem
    states = Trajectory(problem, t, m, q, method=Exact(), h=0.0, stats=Stats(0, 0, 0.0))
    omega, kinetic, energy = states.omega, states.kinetic.reshape(len(t), -1), source.energy(states)
    made = []
    for i in range(min(prod(batch), MOST_BODIES)):
        label = f"{source.label}, body {i}" if batch else source.label
        index = np.unravel_index(i, batch) if batch else ()
        body = problem.body.select(batch, index) if batch else problem.body
        m_i, q_i, omega_i = (v.reshape(len(t), -1, v.shape[-1])[:, i] for v in (m, q, omega))
        kinetic_i, energy_i = kinetic[:, i], None if energy is None else energy.reshape(len(t), -1)[:, i]
        made.append(Track(label, body, problem, m_i, q_i, omega_i, kinetic_i, energy_i))
    return made
