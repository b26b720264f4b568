"""Scene of a system: all bodies at their positions, and charts of the whole system."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody
from polhode.core.errors import InputError
from polhode.core.vectors import length
from polhode.show.page import frames
from polhode.show.page.charts import BODY_COLORS, system_charts
from polhode.show.page.scene import PASS, Scene, camera, coarse_note, shaded
from polhode.show.page.shapes import Mesh, ellipsoid, mesh_of
from polhode.show.plot.style import ORANGE, SKY
from polhode.systems.system import System
from polhode.systems.trajectory import SystemTrajectory

MOST_SHOWN = 2000  # bodies of a system
MOST_STATES = 400_000  # bodies times frames of a system, which take about 15 MB
HELD = 0.97  # fraction of coordinates below the upper limit of the picture, and above its lower limit
CROWDED = 200  # systems of more bodies are drawn with fewer triangles per body


def system_scene(traj: SystemTrajectory, title: str | None, shape: Any, span: Any) -> Scene:
    """Return the scene of a system, whose frames are saved states."""
    system = traj.system
    if system.count > MOST_SHOWN:
        raise InputError(f"got {system.count} bodies; expected up to {MOST_SHOWN} on one page")
    rows = _rows(traj, span)
    t, x, q = traj.t[rows], traj.x[rows], traj.q[rows]
    bodies, which = _kinds(system)
    meshes = [_small(shape, body, system) for body in bodies]
    size = 0.5 * _nearest(x[0])
    low, high = np.quantile(x, (1 - HELD, HELD), axis=(0, 1)) + size * np.array([[-1.5], [1.5]])
    middle, half = 0.5 * (low + high), 0.5 * float(np.max(high - low))
    outside = int(np.sum((np.abs(x - middle) > half).any(axis=(0, 2))))
    speed = length(traj.omega[rows]).max(axis=1)
    turn = float(np.max(speed[1:] * np.abs(np.diff(t))))
    dipoles = _dipoles(system)
    kinds = [(k, None if dipoles is None else tuple(dipoles[i])) for i, k in enumerate(which)]
    paints = list(dict.fromkeys(kinds))
    return Scene(
        title=title or system.name or f"{system.count} rigid bodies",
        summary=f"{system.count} bodies; {system.interaction!r}; {traj.method!r}",
        t=t,
        q=q,
        x=x,
        meshes=meshes,
        which=which,
        colors=[_painted(meshes[k], None if d is None else np.array(d)) for k, d in paints],
        paint=[paints.index(kind) for kind in kinds],
        charts=system_charts(traj, rows),
        even=turn <= frames.COARSE,
        rate=abs(t[-1] - t[0]) / PASS,
        range=[(float(c) - half, float(c) + half) for c in middle],
        camera=camera((1.3, -1.4, 0.8)),
        notes=[*_system_notes(traj, t, outside), *coarse_note(turn)],
        size=size,
        labels=[] if dipoles is None else ["toward the dipole", "away from it"],
        marks=[] if dipoles is None else [ORANGE, SKY],
    )


def _rows(traj: SystemTrajectory, span: Any) -> slice:
    """Return the rows of the states that become frames: those in the span, thinned out if there are too many."""
    inside = np.isfinite(traj.q).all(axis=(1, 2))
    if span is not None:
        low, high = sorted(map(float, span))
        inside &= (traj.t >= low) & (traj.t <= high)
    rows = np.flatnonzero(inside)
    if len(rows) < 2:
        raise InputError(f"t_span = {span}: got {len(rows)} saved states in it; expected at least two")
    most = min(frames.MOST_FRAMES, max(2, MOST_STATES // traj.system.count))
    return slice(int(rows[0]), int(rows[-1]) + 1, max(1, ceil(len(rows) / most)))


def _system_notes(traj: SystemTrajectory, t: FloatArray, outside: int) -> list[str]:
    thinned = "" if len(t) >= len(traj.t) else f", of {len(traj.t)}"
    moved = "between them the page moves bodies along lines and turns them at an even rate"
    left = f"{outside} bodies leave the picture, which is as large as most places need"
    return [f"{len(t)} frames: states that were kept{thinned}; {moved}", *([left] if outside else [])]


def _kinds(system: System) -> tuple[list[RigidBody], list[int]]:
    """Return the distinct bodies of a system, and for each body the index of its kind."""
    if len(system.bodies) == 1 and not system.bodies[0].batch:
        return [system.bodies[0]], [0] * system.count
    each = [body if not body.batch else body.select(body.batch, i) for body in system.bodies
            for i in range(body.batch[0] if body.batch else 1)]  # fmt: skip
    keys = [(tuple(body.moments), tuple(body.axes.ravel())) for body in each]
    first = {key: i for i, key in reversed(list(enumerate(keys)))}
    order = sorted(first.values())
    return [each[i] for i in order], [order.index(first[key]) for key in keys]


def _small(shape: Any, body: RigidBody, system: System) -> Mesh:
    """Return the mesh of one body of a system: a molecule if there are sites, otherwise an ellipsoid by default."""
    if shape is None:
        shape = getattr(system.interaction, "sites", None)
    if shape is None:
        return ellipsoid(body, 4 if system.count > CROWDED else 6).scaled()
    return mesh_of(shape, body)


def _nearest(x: FloatArray) -> float:
    """Return the median distance to the nearest neighbor among the first bodies, or 1; `x` has shape (n, 3)."""
    first = x[:300]
    if len(first) < 2:
        return 1.0
    distances = np.linalg.norm(first[:, None] - first, axis=-1) + np.diag(np.full(len(first), np.inf))
    return float(np.median(distances.min(axis=1))) or 1.0


def _dipoles(system: System) -> FloatArray | None:
    """Return the dipoles in body axes, shape (n, 3), or None if the interaction has none."""
    try:
        return system.interaction.dipoles(np.broadcast_to(np.eye(3), (system.count, 3, 3)))
    except AttributeError:
        return None


def _painted(mesh: Mesh, dipole: FloatArray | None) -> list[str]:
    """Return a color for each face: one for the head and one for the tail of the dipole, if there is one."""
    if dipole is None:
        return shaded(BODY_COLORS[0], mesh.shades)
    ahead = mesh.vertices[mesh.faces].mean(axis=1) @ dipole > 0
    return [ORANGE if head else SKY for head in ahead]
