"""Contents of a page: attitudes and positions at all frames, meshes, colors, charts and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.body import RigidBody, flow_moments
from polhode.core.errors import InputError
from polhode.core.vectors import length
from polhode.integration.problem import Problem
from polhode.show.scene import frames
from polhode.show.scene.charts import BODY_COLORS, Chart, spread_charts, track_charts, unit_of
from polhode.show.scene.frames import Source, Track
from polhode.show.scene.mesh import Mesh
from polhode.show.scene.shapes import mesh_of, name_of
from polhode.show.scene.words import sentence_of, title_of

SPACING = 2.7  # between bodies of radius 1 that are side by side
REACH = 1.3  # radius of a body with its arrows
PASS = 20.0  # seconds that a page takes to play a motion
QUICK = 6.0  # rad/s on the screen; faster rotation is hard to follow
REAL_TIME = 3.0, 60.0  # seconds: motions of such durations are played in real time
SIDE_BY_SIDE = len(BODY_COLORS)  # bodies; more of them form a grid, without arrows
EARTH, ORBIT, SATELLITE = 0.6, 1.4, 0.62  # radii on the page, not to scale
EYE, EYE_OF_MANY = (0.5, -0.8, 0.4), (0.0, -0.92, 0.4)  # where the camera is: to the right, forward, up
UNNAMED = {  # what is said of several motions without a name, free or not
    True: "No torque acts: each body keeps its angular momentum in space, and its energy.",
    False: "Each body turns under its torques.",
}
X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


@dataclass
class Group:
    """Bodies that look alike: a mesh, the colors (f, 3) of its faces, and the indices of the bodies."""

    mesh: Mesh
    colors: IntArray
    members: list[int]


@dataclass
class Scene:
    """Scene of n bodies at k times.

    The arrays are ``t`` of shape (k,), ``q`` of shape (k, n, 4), and ``x`` of shape (k, n, 3), or (1, n, 3) if bodies
    stay in place. Scenes of single bodies have ``m`` and ``omega`` of shape (k, n, 3) in body axes, which are drawn as
    arrows in units of ``m_scale`` and ``omega_scale`` of shape (n,); ``bodies`` are those of Poinsot's construction. If
    ``even`` is true, the page interpolates attitudes between frames at a constant rate; otherwise bodies jump. The
    camera sees a ball of ``radius`` around ``center``, and ``wide`` to the right and left, from the side of ``eye``,
    with ``up`` upward. ``box`` holds the lengths of a periodic box around the origin, into which the page wraps
    positions, and ``limits`` the ranges of the axes of a frame, or None. ``trace`` is a point of the body that leaves a
    trace. ``start`` describes one free body, from which the page says what it does.
    """

    title: str
    summary: str
    t: FloatArray
    q: FloatArray
    x: FloatArray
    groups: list[Group]
    charts: list[Chart]
    even: bool
    rate: float
    radius: float
    notes: list[str]
    wide: float = 0.0
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    up: FloatArray = field(default_factory=lambda: Z)
    right: FloatArray = field(default_factory=lambda: X)
    eye: tuple[float, float, float] = EYE
    size: float = 1.0
    units: dict[str, str] = field(default_factory=lambda: {"t": "", "m": "", "omega": ""})
    labels: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    ground: str | None = None
    earth: float | None = None
    trace: tuple[float, float, float] | None = None
    box: FloatArray | None = None
    limits: list[tuple[float, float]] | None = None
    free: bool = False
    start: dict[str, Any] | None = None
    bodies: list[RigidBody] = field(default_factory=list)
    m: FloatArray | None = None
    omega: FloatArray | None = None
    m_scale: FloatArray = field(default_factory=lambda: np.empty(0))
    omega_scale: FloatArray = field(default_factory=lambda: np.empty(0))


def motion_scene(
    shown: Sequence[Any],
    labels: Sequence[str] | None,
    title: str | None,
    shape: Any,
    span: Any,
    problem: Problem | None = None,
) -> Scene:
    """Return the scene of single bodies, side by side or, if there are many, in a grid."""
    sources = frames.sources(shown, labels, span, problem)
    count = sum(source.count for source in sources)
    if len(sources) > 1 and count > SIDE_BY_SIDE:
        raise InputError(f"got {count} bodies; expected up to {SIDE_BY_SIDE} on one page, or one batch of bodies")
    t, turn = frames.frame_times(sources)
    tracks = frames.tracks(sources, t)
    scene = Scene(
        title=title
        or next((title_of(track.problem) for track in tracks if track.problem.name), "A rigid body in motion"),
        summary=" ".join(dict.fromkeys(filter(None, (sentence_of(track.problem) for track in tracks)))),
        t=t,
        q=np.stack([track.q for track in tracks], axis=1),
        x=np.zeros((1, count, 3)),
        groups=[],
        charts=track_charts(tracks) if count <= SIDE_BY_SIDE else spread_charts(tracks),
        even=turn <= frames.COARSE,
        rate=_rate(t, float(np.mean(frames.speed(tracks))), unit_of(tracks, "t")),
        radius=REACH,
        notes=_notes(sources, tracks, t, turn),
        units={name: unit_of(tracks, name) for name in ("t", "m", "omega")},
        free=all(track.problem.force.is_zero for track in tracks),
        labels=[track.label for track in tracks] if 1 < count <= SIDE_BY_SIDE else [],
        marks=list(BODY_COLORS[:count]),
    )
    if not scene.summary and count > 1:
        scene.summary = UNNAMED[scene.free]
    if count > SIDE_BY_SIDE:
        _in_a_grid(scene, tracks, shape)
    else:
        _side_by_side(scene, tracks, shape)
    if count == 1:
        _surround(scene, tracks[0], name_of(shape, tracks[0].problem.name))
    return scene


def _side_by_side(scene: Scene, tracks: Sequence[Track], shape: Any) -> None:
    """Add the meshes and places of a few bodies, and their arrows."""
    count = len(tracks)
    m, omega = (np.stack([getattr(track, name) for track in tracks], axis=1) for name in ("m", "omega"))
    scene.m_scale, scene.omega_scale = (_scale(v) for v in (m, omega))
    scene.m, scene.omega = m / scene.m_scale[:, None], omega / scene.omega_scale[:, None]
    scene.bodies = [track.body for track in tracks]
    for i, track in enumerate(tracks):
        mesh = mesh_of(shape, track.body, track.problem.name)
        scene.groups.append(Group(mesh, mesh.colors(BODY_COLORS[i]), [i]))
    if scene.free:
        scene.up, scene.right = _upright(tracks[0].m_space[0])
    places = SPACING * (np.arange(count) - 0.5 * (count - 1))
    scene.x = places[None, :, None] * scene.right
    scene.wide = 0.0 if count == 1 else REACH + 0.5 * SPACING * (count - 1)
    scene.eye = EYE if count == 1 else EYE_OF_MANY


def _in_a_grid(scene: Scene, tracks: Sequence[Track], shape: Any) -> None:
    """Add the meshes and places of many bodies."""
    count = len(tracks)
    columns = ceil(np.sqrt(1.6 * count))
    rows = ceil(count / columns)
    i = np.arange(count)
    scene.x[0, :, 0] = 2.2 * (i % columns - 0.5 * (columns - 1))
    scene.x[0, :, 2] = 2.2 * (0.5 * (rows - 1) - i // columns)
    alike: dict[bytes, Group] = {}
    for k, track in enumerate(tracks):
        mesh = mesh_of(shape, track.body, track.problem.name)
        group = alike.setdefault(mesh.vertices.tobytes(), Group(mesh, mesh.colors(BODY_COLORS[0]), []))
        group.members.append(k)
    scene.groups = list(alike.values())
    scene.radius, scene.wide, scene.eye = 1.1 * rows + 0.6, 1.1 * columns + 0.6, (0.0, -1.0, 0.15)


def _surround(scene: Scene, track: Track, shape: str | None) -> None:
    """Add what is around one body: floor, water or Earth."""
    force = track.problem.force
    if force.is_zero:
        scene.ground = "grid"
        scene.start = _start(track)
    elif shape == "ship":
        scene.ground = "water"
        scene.radius = 1.05
    elif shape == "top":
        scene.ground, scene.trace = "floor", (0.0, 0.0, 1.0)
        scene.center, scene.radius = (0.0, 0.0, 0.35), 1.05
    elif force.name == "gravity_gradient" and force.params.ndim == 1 and force.params[12] != 0.0:
        _in_orbit(scene, force.params)
    else:
        scene.ground = "grid"


def _start(track: Track) -> dict[str, Any]:
    """Return moments and momentum of a free body in principal axes, of sizes about 1, and the unit of time of these."""
    moments, m = flow_moments(track.body), track.m[0] @ track.body.axes
    heavy, fast = float(moments.max()), float(length(m)) or 1.0
    return {"moments": (moments / heavy).tolist(), "m": (m / fast).tolist(), "tick": heavy / fast}


def _in_orbit(scene: Scene, params: FloatArray) -> None:
    """Place a satellite on its orbit around the Earth; `params` are those of ``forces.gravity_gradient``."""
    nadir, normal, rate = params[6:9], params[9:12], params[12]
    angle = (rate * scene.t)[:, None]
    down = np.cos(angle) * nadir + np.sin(angle) * np.cross(normal, nadir)
    down = down + (1.0 - np.cos(angle)) * (normal @ nadir) * normal
    scene.x = -ORBIT * down[:, None]
    scene.earth, scene.size, scene.radius = EARTH, SATELLITE, 1.6
    scene.up, scene.right = _upright(normal)
    scene.eye = (0.15, -0.72, 0.7)


def _upright(m: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the directions upward, that of `m`, and to the right, perpendicular to it."""
    size = length(m)
    up = m / size if size > 0 else Z
    side = X if abs(up[0]) < 0.9 else -Z
    right = side - (side @ up) * up
    return up, right / np.linalg.norm(right)


def _scale(vectors: FloatArray) -> FloatArray:
    """Return the largest length of the vectors (k, n, 3) of each body, shape (n,); 1 where all are zero."""
    largest = length(vectors).max(axis=0)
    return np.where(largest > 0, largest, 1.0)


def _rate(t: FloatArray, speed: float, unit: str) -> float:
    """Return the time of the motion that passes in one second of playing; `speed` is the mean |omega|."""
    duration = abs(float(t[-1] - t[0]))
    if unit == "s" and REAL_TIME[0] <= duration <= REAL_TIME[1] and speed <= 2 * QUICK:
        return 1.0
    return min(duration / PASS, QUICK / speed) if speed > 0 else duration / PASS


def _notes(sources: Sequence[Source], tracks: Sequence[Track], t: FloatArray, turn: float) -> list[str]:
    """Return notes for the page about its frames and the origin of the states."""
    notes = [f"{len(t)} frames, at most {turn:.2g} rad apart"]
    for origin in dict.fromkeys(source.origin for source in sources):
        of = ", ".join(source.label for source in sources if source.origin == origin) + ": " if len(sources) > 1 else ""
        notes.append(f"{of}each frame is from {origin}")
    if len(sources) == 1:
        notes.append(f"method: {sources[0].method}")
    if any(source.saved_times is not None for source in sources) and turn <= frames.COARSE:
        notes.append("between frames the page turns bodies at an even rate")
    bodies = sum(source.bodies for source in sources)
    if bodies > len(tracks):
        notes.append(f"the first {len(tracks)} of {bodies} bodies")
    return [*notes, *coarse_note(turn)]


def coarse_note(turn: float) -> list[str]:
    """Return a warning if bodies turn too far between frames, `turn` radians, to show the motion between them."""
    if turn <= frames.COARSE:
        return []
    return [f"bodies turn by up to {turn:.3g} rad from frame to frame: every frame is right, but what happens between "
            "them is not shown; choose a part with t_span=(start, end)"]  # fmt: skip
