"""States of motions at the times of the frames of a page or film, from dense output where it is available.

Frames are spaced so that bodies turn by at most ``SMOOTH`` from one to the next, unless that takes more than
``MOST_FRAMES``. Where states between the saved ones cannot be computed, the frames are the saved states.
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
from polhode.core.rotation import conjugate, from_rotation_vector, multiply, rotate
from polhode.core.vectors import length
from polhode.free.motion import FreeMotion
from polhode.integration.base_trajectory import BaseTrajectory, steps_between
from polhode.integration.problem import Problem, checked_span
from polhode.integration.trajectory import Trajectory, potentials, velocities
from polhode.methods.closed_form import ClosedForm
from polhode.show.scene.ensemble import SavedStates, is_ensemble, members_of

SMOOTH = 0.1  # radians from one frame to the next
COARSE = 1.0  # radians between frames beyond which the page does not interpolate
LEAST_FRAMES, MOST_FRAMES = 300, 3000
MOST_REPEATED = 300_000  # steps that dense output may repeat for the states at the frames
MOST_BODIES = 400  # of a batch that are shown
MOST_COMPUTED = 1000  # bodies of a batch; all are computed, the first ones are shown
MOST_STATES = 44_000  # bodies times frames of a batch, which take half a megabyte
PILOT = 257  # states that are computed first, to find how fast bodies turn
DEFAULT_PERIODS, DEFAULT_TURNS = 2.0, 40.0  # of a free motion, whichever ends first

States = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
# Of times (k,), attitudes (k,) + batch + (4,) and kinetic energies (k,) + batch
Energy = Callable[[FloatArray, FloatArray, FloatArray], FloatArray | None]


@dataclass(frozen=True)
class Source:
    """Motion to show: ``states`` returns (m, q) at times from ``span[0]`` to ``span[1]``.

    ``label`` is its name on the page, by default that of the ``method``. ``saved_times`` are the times of the saved
    states if only those may become frames, otherwise None. ``origin`` says in the notes of the page where the states
    come from. ``energy`` returns the energy of such states, or None if there is none.
    """

    problem: Problem
    label: str
    method: str
    span: tuple[float, float]
    states: States
    saved_times: FloatArray | None
    origin: str
    energy: Energy

    @property
    def bodies(self) -> int:
        """Number of bodies of the batch."""
        return prod(np.broadcast_shapes(self.problem.body.batch, self.problem.state.batch))

    @property
    def count(self) -> int:
        """Number of bodies that are shown."""
        return min(self.bodies, MOST_BODIES)


@dataclass(frozen=True)
class Track:
    """One body at the k frames: m and omega of shape (k, 3) in body axes, q of shape (k, 4), energies of shape (k,)."""

    label: str
    body: RigidBody
    problem: Problem
    m: FloatArray
    q: FloatArray
    omega: FloatArray
    kinetic: FloatArray
    energy: FloatArray | None

    @property
    def m_space(self) -> FloatArray:
        """Momentum in space axes, shape (k, 3)."""
        return rotate(self.q, self.m)


def sources(
    shown: Sequence[Any], labels: Sequence[str] | None, t_span: Any, problem: Problem | None = None
) -> list[Source]:
    """Return the motions to show, each with a label."""
    if labels is not None and len(labels) != len(shown):
        raise InputError(f"got {len(labels)} labels for {len(shown)} motions; expected one for each")
    span = None if t_span is None else checked_span(t_span)
    motions = [_members(motion, problem, span) if is_ensemble(motion) else _source(motion, span) for motion in shown]
    if labels is not None:
        return [replace(source, label=str(label)) for source, label in zip(motions, labels, strict=True)]
    return motions


def _source(shown: Any, span: tuple[float, float] | None) -> Source:
    """Return the source of a FreeMotion or Trajectory, with the most accurate states that are available."""
    if isinstance(shown, FreeMotion):
        _check_count(shown.batch)
        span = span or (0.0, _default_end(shown))
        return _exact(Problem(shown.body, shown.initial, t_span=span), shown, 0.0, span)
    if not isinstance(shown, Trajectory):
        raise InputError(f"{shown!r} cannot be shown; expected a Trajectory, FreeMotion or SystemTrajectory")
    _check_count(shown.m.shape[1:-1])
    span = within(shown, span)
    problem = shown.problem
    if shown.method.is_exact_for(problem.force):
        return _exact(problem, problem.free_motion(), float(shown.t[0]), span)
    label = repr(shown.method)
    sol = getattr(shown, "sol", None)
    if sol is not None and _steps_to_repeat(shown) <= MOST_REPEATED:
        energy = _energy_in(problem)
        return Source(problem, label, label, span, sol, None, "steps repeated from the states that were kept", energy)
    low, high = min(span), max(span)
    times = shown.t[(shown.t >= low) & (shown.t <= high)]
    return Source(
        problem, label, label, span, _between(shown), times, "the states that were kept", _saved_energy(shown)
    )


def _members(data: Any, problem: Problem | None, span: tuple[float, float] | None) -> Source:
    """Return the source of the members of an ensemble."""
    problem, states = members_of(data, problem)
    span = span or problem.t_span
    low, high = min(span), max(span)
    times = states.t[(states.t >= low) & (states.t <= high)]
    if len(times) < 2:
        raise TimeError(f"t_span = {span}: this ensemble has times from {states.t[0]:g} to {states.t[-1]:g}")
    label = str(data.attrs["method"])
    origin = "the states that were kept"
    return Source(problem, label, label, span, _between(states), times, origin, lambda t, q, kinetic: None)


def _check_count(batch: tuple[int, ...]) -> None:
    if prod(batch) > MOST_COMPUTED:
        raise InputError(
            f"got {prod(batch)} bodies; expected up to {MOST_COMPUTED}, of which the first {MOST_BODIES} are shown"
        )


def _exact(problem: Problem, motion: FreeMotion, start: float, span: tuple[float, float]) -> Source:
    """Return the source of a free motion that begins at the time `start`."""

    def states(t: FloatArray) -> tuple[FloatArray, FloatArray]:
        return motion.sample(t - start)

    name = repr(ClosedForm())
    return Source(problem, name, name, span, states, None, "the closed form", _energy_in(problem))


def _default_end(motion: FreeMotion) -> float:
    """Return the default end of a free motion: DEFAULT_PERIODS or DEFAULT_TURNS, whichever is first; 1 at rest."""
    omega = float(np.max(length(motion.body.omega(motion.initial.m))))
    if omega == 0.0:
        return 1.0
    period = float(np.max(motion.period))
    turns = DEFAULT_TURNS * 2 * np.pi / omega
    return min(turns, DEFAULT_PERIODS * period) if 0.0 < period < inf else turns / 4


def within(traj: BaseTrajectory, span: tuple[float, float] | None) -> tuple[float, float]:
    """Return `span`, or the part of the time span that all bodies reached; raise TimeError if `span` is outside."""
    reached = traj.t[np.isfinite(traj.q).all(axis=tuple(range(1, traj.q.ndim)))]
    if len(reached) < 2:
        raise InputError(f"the number of states of this trajectory is {len(reached)}; expected at least two")
    first, last = float(traj.t[0]), float(reached[-1])
    if span is None:
        return first, last
    if min(span) < min(first, last) or max(span) > max(first, last):
        raise TimeError(f"t_span = {span}: this trajectory has times from {first:g} to {last:g}")
    return span


def _steps_to_repeat(traj: Trajectory) -> float:
    """Return the number of steps that dense output repeats for all frames and bodies.

    Adaptive methods save the states of all steps, so that there is one step between saved states.
    """
    return MOST_FRAMES * prod(traj.m.shape[1:-1]) * steps_between(traj)


def _between(traj: Trajectory | SavedStates) -> States:
    """Return a function of time that interpolates saved states, linearly in m and at a constant rate in q."""

    def states(t: FloatArray) -> tuple[FloatArray, FloatArray]:
        backward = traj.t[-1] < traj.t[0]
        times, order = (-traj.t, -t) if backward else (traj.t, t)
        i = np.clip(np.searchsorted(times, order, side="right") - 1, 0, len(times) - 2)
        part = ((order - times[i]) / (times[i + 1] - times[i])).reshape(-1, *(1,) * (traj.m.ndim - 1))
        m = traj.m[i] + part * (traj.m[i + 1] - traj.m[i])
        return m, slerp(traj.q[i], traj.q[i + 1], part)

    return states


def slerp(a: FloatArray, b: FloatArray, part: FloatArray) -> FloatArray:
    """Return attitudes between `a` and `b` of shape (..., 4), at a constant rate along the shorter rotation.

    `part` is the fraction of that rotation, an array of shape (..., 1).

    >>> slerp(np.array([1.0, 0, 0, 0]), np.array([0.6, 0, 0, -0.8]), np.array([0.5])).round(6) + 0.0
    array([ 0.894427,  0.      ,  0.      , -0.447214])
    """
    turn = multiply(conjugate(a), b)
    turn = np.where(turn[..., :1] < 0, -turn, turn)
    sine = length(turn[..., 1:])[..., None]
    angle = 2.0 * np.arctan2(sine, turn[..., :1])
    axis = turn[..., 1:] / np.where(sine > 0, sine, 1.0)
    return multiply(a, from_rotation_vector(part * angle * axis))


def _energy_in(problem: Problem) -> Energy:
    """Return a function that computes the energy, or None if the force has no energy."""

    def energy(t: FloatArray, q: FloatArray, kinetic: FloatArray) -> FloatArray | None:
        return kinetic + potentials(problem, t, q) if problem.force.has_energy else None

    return energy


def _saved_energy(traj: Trajectory) -> Energy:
    """Return a function that interpolates the saved energy; a trajectory from a file has no force to compute it."""
    energy = getattr(traj, "energy", None)
    sign = np.sign(traj.t[-1] - traj.t[0])

    def between(t: FloatArray, q: FloatArray, kinetic: FloatArray) -> FloatArray | None:
        if energy is None:
            return None
        columns = energy.reshape(len(energy), -1).T
        rows = [np.interp(sign * t, sign * traj.t, column) for column in columns]
        return np.stack(rows, axis=-1).reshape(kinetic.shape)

    return between


def frame_times(motions: Sequence[Source]) -> tuple[FloatArray, float]:
    """Return the times of the frames, shape (k,), and the largest angle between frames in radians."""
    first, last = motions[0].span
    if any(np.sign(b - a) != np.sign(last - first) for a, b in (source.span for source in motions)):
        raise TimeError("some of the motions go forward in time and some backward; show them on two pages")
    if last > first:
        first, last = max(s.span[0] for s in motions), min(s.span[1] for s in motions)
    else:
        first, last = min(s.span[0] for s in motions), max(s.span[1] for s in motions)
    if (last - first) * (motions[0].span[1] - motions[0].span[0]) <= 0:
        raise TimeError(f"the motions have no time in common: {', '.join(str(source.span) for source in motions)}")
    most = min(MOST_FRAMES, MOST_STATES // max(source.count for source in motions))
    saved = next((source.saved_times for source in motions if source.saved_times is not None), None)
    if saved is not None:
        saved = saved[(saved >= min(first, last)) & (saved <= max(first, last))]
        t = saved[:: max(1, ceil(len(saved) / most))]
        return t, max(_largest_turn(source, t) for source in motions)
    radians = max(_radians(source, np.linspace(first, last, PILOT)) for source in motions)
    count = min(most, max(LEAST_FRAMES, ceil(radians / SMOOTH))) + 1
    t = np.linspace(first, last, count)
    return t, max(_largest_turn(source, t) for source in motions)


def _largest_turn(source: Source, t: FloatArray) -> float:
    """Return the largest angle, in radians, by which a body turns between successive times."""
    speed = _speed(source, t)
    return float(np.max(np.maximum(speed[1:], speed[:-1]) * np.abs(np.diff(t))))


def _radians(source: Source, t: FloatArray) -> float:
    """Return the angle, in radians, by which the fastest body turns in total."""
    speed = _speed(source, t)
    return float(np.sum(0.5 * (speed[1:] + speed[:-1]) * np.abs(np.diff(t))))


def _speed(source: Source, t: FloatArray) -> FloatArray:
    """Return |omega| of the fastest body at each time, shape (k,)."""
    omega = length(source.problem.body.omega(source.states(t)[0]))
    return omega.reshape(len(t), -1).max(axis=1)


def speed(tracks: Sequence[Track]) -> FloatArray:
    """Return |omega| of the fastest body at each frame, shape (k,)."""
    return np.max([length(track.omega) for track in tracks], axis=0)


def tracks(motions: Sequence[Source], t: FloatArray) -> list[Track]:
    """Return the tracks of all bodies at the times `t`; of a batch, those of the first MOST_BODIES bodies."""
    return [track for source in motions for track in _tracks(source, t)]


def _tracks(source: Source, t: FloatArray) -> list[Track]:
    m, q = source.states(t)
    batch = m.shape[1:-1]
    problem = source.problem
    omega = velocities(problem, m)
    kinetic = 0.5 * np.sum(m * omega, axis=-1)
    energy = source.energy(t, q, kinetic)
    of_bodies = []
    for i in range(source.count):
        label = f"{source.label}, body {i}" if batch else source.label
        index = np.unravel_index(i, batch) if batch else ()
        body = problem.body.select(batch, index) if batch else problem.body
        m_i, q_i, omega_i = (v.reshape(len(t), -1, v.shape[-1])[:, i] for v in (m, q, omega))
        energy_i = None if energy is None else energy.reshape(len(t), -1)[:, i]
        of_bodies.append(Track(label, body, problem, m_i, q_i, omega_i, kinetic.reshape(len(t), -1)[:, i], energy_i))
    return of_bodies
