"""Scene of a system: all bodies at their positions, and charts of the whole system."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.errors import InputError
from polhode.core.vectors import length
from polhode.integration.problem import checked_span
from polhode.show.labels import count_label
from polhode.show.scene import frames
from polhode.show.scene.charts import system_charts
from polhode.show.scene.single import PASS, Scene, coarse_note
from polhode.show.scene.system_bodies import system_bodies
from polhode.show.scene.words import spoken
from polhode.systems.interactions.neighbors import Box
from polhode.systems.trajectory import SystemTrajectory

MOST_SHOWN = 2000  # bodies of a system
MOST_STATES = 400_000  # bodies times frames of a system, which take about 15 MB
HELD = 0.97  # fraction of coordinates below the upper limit of the picture, and above its lower limit
MAGNIFIED = "bodies are drawn larger than they are, because they are small compared with their distances"
CORNERS = 0.53  # radius of the picture in diagonals of the box, so that its corners are seen


def system_scene(traj: SystemTrajectory, title: str | None, shape: Any, span: Any) -> Scene:
    """Return the scene of a system, whose frames are saved states."""
    system = traj.system
    if system.count > MOST_SHOWN:
        raise InputError(f"got {system.count} bodies; expected up to {MOST_SHOWN} on one page")
    rows = _rows(traj, span)
    t, q = traj.t[rows], traj.q[rows]
    x = traj.x[rows]
    x = x - (x[0] - system.box.wrapped(x[0]))  # by lengths of the box, so that each body begins in it
    size = 0.5 * _nearest(x[0], system.box)
    bodies = system_bodies(system, shape, size)
    limits = _limits(x, system.box, size)
    outside = 0 if system.box.repeats else _outside(x, limits)
    box_limits = [(-0.5 * side, 0.5 * side) for side in system.box.lengths] if system.box.repeats else limits
    speed = length(traj.omega[rows]).max(axis=1)
    turn = float(np.max(speed[1:] * np.abs(np.diff(t))))
    return Scene(
        title=title or spoken(system.name or "") or count_label(system.count).replace(" ", " rigid "),
        summary=f"{count_label(system.count)} that act on each other; energy and momentum are those of all together.",
        t=t,
        q=q,
        x=x,
        groups=bodies.groups,
        charts=system_charts(traj, rows),
        even=turn <= frames.COARSE,
        rate=abs(t[-1] - t[0]) / PASS,
        radius=CORNERS * float(np.linalg.norm(np.ptp(limits, axis=1))),
        center=tuple(np.mean(limits, axis=1).tolist()),
        limits=box_limits,
        notes=[*_notes(traj, t, outside, turn), *([MAGNIFIED] if bodies.magnified else [])],
        size=size,
        labels=bodies.labels,
        marks=bodies.marks,
        box=system.box.lengths if system.box.repeats else None,
    )


def _rows(traj: SystemTrajectory, span: Any) -> slice:
    """Return the rows of the states that become frames: those in the span, thinned out if there are too many."""
    low, high = sorted(frames.within(traj, None if span is None else checked_span(span)))
    inside = np.isfinite(traj.q).all(axis=(1, 2)) & (traj.t >= low) & (traj.t <= high)
    rows = np.flatnonzero(inside)
    if len(rows) < 2:
        raise InputError(f"got {len(rows)} saved states from t = {low:g} to {high:g}; expected at least two")
    most = min(frames.MOST_FRAMES, max(2, MOST_STATES // traj.system.count))
    return slice(int(rows[0]), int(rows[-1]) + 1, max(1, ceil(len(rows) / most)))


def _limits(x: FloatArray, box: Box, size: float) -> list[tuple[float, float]]:
    """Return the range of each axis, of equal lengths: the box, or in open space most of the positions (k, n, 3)."""
    low, high = (-0.5 * box.lengths, 0.5 * box.lengths) if box.repeats else np.quantile(x, (1 - HELD, HELD), (0, 1))
    middle, half = 0.5 * (low + high), 0.5 * float(np.max(high - low)) + (1.0 if box.repeats else 1.5) * size
    return [(float(c) - half, float(c) + half) for c in middle]


def _outside(x: FloatArray, limits: list[tuple[float, float]]) -> int:
    """Return the number of bodies that leave the picture."""
    low, high = np.array(limits).T
    return int(np.sum(((x < low) | (x > high)).any(axis=(0, 2))))


def _notes(traj: SystemTrajectory, t: FloatArray, outside: int, turn: float) -> list[str]:
    thinned = "" if len(t) >= len(traj.t) else f", of {len(traj.t)}"
    notes = [
        f"{len(t)} frames: states that were kept{thinned}",
        f"interaction: {traj.system.interaction!r}; method: {traj.method!r}",
    ]
    if turn <= frames.COARSE:
        notes.append("between frames the page moves bodies along lines and turns them at an even rate")
    if outside:
        notes.append(f"the picture shows where most bodies are; {outside} of {traj.system.count} leave it at times")
    return [*notes, *coarse_note(turn)]


def _nearest(x: FloatArray, box: Box) -> float:
    """Return the median distance to the nearest neighbor among the first bodies, or 1; `x` has shape (n, 3)."""
    first = x[:300]
    if len(first) < 2:
        return 1.0
    distances = length(box.nearest(first[:, None] - first)) + np.diag(np.full(len(first), np.inf))
    return float(np.median(distances.min(axis=1))) or 1.0
