"""The scene of a system: all bodies where they are, with the charts of all together."""

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
MOST_STATES = 400_000  # bodies times frames of a system: about 15 MB
HELD = 0.97  # of all coordinates lie below the upper end of the picture, and as many above the lower
CROWDED = 200  # bodies, from which on they are drawn with fewer triangles


def system_scene(traj: SystemTrajectory, title: str | None, shape: Any, span: Any) -> Scene:
    """All bodies of a system where they are, at the states that were kept."""
    system = traj.system
    if system.count > MOST_SHOWN:
        raise InputError(f"{system.count} bodies came; expected up to {MOST_SHOWN} on one page")
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
    """Which states are frames: those of the span, thinned out if there are too many."""
    inside = np.isfinite(traj.q).all(axis=(1, 2))
    if span is not None:
        low, high = sorted(map(float, span))
        inside &= (traj.t >= low) & (traj.t <= high)
    found = np.flatnonzero(inside)
    if len(found) < 2:
        raise InputError(f"t_span = {span}: fewer than two states were kept there; nothing moves")
    most = min(frames.MOST_FRAMES, max(2, MOST_STATES // traj.system.count))
    return slice(int(found[0]), int(found[-1]) + 1, max(1, ceil(len(found) / most)))


def _system_notes(traj: SystemTrajectory, t: FloatArray, outside: int) -> list[str]:
    thinned = "" if len(t) >= len(traj.t) else f", of {len(traj.t)}"
    moved = "between them the page moves bodies along lines and turns them at an even rate"
    left = f"{outside} bodies leave the picture, which is as large as most places need"
    return [f"{len(t)} frames: states that were kept{thinned}; {moved}", *([left] if outside else [])]


def _kinds(system: System) -> tuple[list[RigidBody], list[int]]:
    """Different bodies, and which of them each body is."""
    if len(system.bodies) == 1 and not system.bodies[0].batch:
        return [system.bodies[0]], [0] * system.count
    each = [body if not body.batch else body.select(body.batch, i) for body in system.bodies
            for i in range(body.batch[0] if body.batch else 1)]  # fmt: skip
    keys = [(tuple(body.moments), tuple(body.axes.ravel())) for body in each]
    first = {key: i for i, key in reversed(list(enumerate(keys)))}
    order = sorted(first.values())
    return [each[i] for i in order], [order.index(first[key]) for key in keys]


def _small(shape: Any, body: RigidBody, system: System) -> Mesh:
    """A mesh for one of many: sites make a molecule, other bodies are ellipsoids."""
    if shape is None:
        shape = getattr(system.interaction, "sites", None)
    if shape is None:
        return ellipsoid(body, 4 if system.count > CROWDED else 6).scaled()
    return mesh_of(shape, body)


def _nearest(x: FloatArray) -> float:
    """The median distance to the nearest neighbor, of the first bodies."""
    some = x[:300]
    if len(some) < 2:
        return 1.0
    distances = np.linalg.norm(some[:, None] - some, axis=-1) + np.diag(np.full(len(some), np.inf))
    return float(np.median(distances.min(axis=1))) or 1.0


def _dipoles(system: System) -> FloatArray | None:
    """In body axes, (n, 3), or None if the interaction knows none."""
    try:
        return system.interaction.dipoles(np.broadcast_to(np.eye(3), (system.count, 3, 3)))
    except AttributeError:
        return None


def _painted(mesh: Mesh, dipole: FloatArray | None) -> list[str]:
    """Half in the color of the dipole's head, half in that of its tail."""
    if dipole is None:
        return shaded(BODY_COLORS[0], mesh.shades)
    ahead = mesh.vertices[mesh.faces].mean(axis=1) @ dipole > 0
    return [ORANGE if head else SKY for head in ahead]
