"""Contents of a page: attitudes and positions at all frames, meshes, colors, charts and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody, flow_moments
from polhode.core.errors import InputError
from polhode.core.vectors import length
from polhode.show.page import frames
from polhode.show.page.charts import BODY_COLORS, Chart, track_charts, unit_of
from polhode.show.page.shapes import Mesh, mesh_of, name_of, sphere
from polhode.show.plot.style import SKY

SPACING = 2.7  # between bodies of radius 1 that are side by side
REACH = 1.4  # radius of a body with its arrows
PASS = 20.0  # seconds that a page takes to play a motion
QUICK = 6.0  # rad/s on the screen; faster rotation is hard to follow
REAL_TIME = 3.0, 60.0  # seconds: motions of such durations are played in real time


@dataclass
class Scene:
    """Scene of n bodies at k times.

    The arrays are ``t`` of shape (k,), ``q`` of shape (k, n, 4), and ``x`` of shape (k, n, 3), or (1, n, 3) if bodies
    stay in place. Body i has the mesh ``which[i]`` and the face colors ``colors[paint[i]]``. Scenes of single bodies
    have ``m`` and ``omega`` of shape (k, n, 3) in body axes, which are drawn as arrows in units of ``m_scale`` and
    ``omega_scale`` of shape (n,); ``ellipsoids`` are the vertices of omega . I omega = 1 in those units. If ``even`` is
    true, the page interpolates attitudes between frames at a constant rate; otherwise bodies jump. ``box`` holds the
    lengths of a periodic box around the origin, into which the page wraps positions, or None.
    """

    title: str
    summary: str
    t: FloatArray
    q: FloatArray
    x: FloatArray
    meshes: list[Mesh]
    which: list[int]
    colors: list[list[str]]
    paint: list[int]
    charts: list[Chart]
    even: bool
    rate: float
    range: list[tuple[float, float]]
    camera: dict[str, Any]
    notes: list[str]
    size: float = 1.0
    units: dict[str, str] = field(default_factory=lambda: {"t": "", "m": "", "omega": ""})
    labels: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    ground: str | None = None
    box: FloatArray | None = None
    free: bool = False
    m: FloatArray | None = None
    omega: FloatArray | None = None
    m_scale: FloatArray | None = None
    omega_scale: FloatArray | None = None
    ellipsoids: list[FloatArray] = field(default_factory=list)


def motion_scene(shown: Sequence[Any], labels: Sequence[str] | None, title: str | None, shape: Any, span: Any) -> Scene:
    """Return the scene of single bodies, side by side."""
    sources = frames.sources(shown, labels, span)
    t, turn = frames.frame_times(sources)
    tracks = frames.tracks(sources, t)
    if len(tracks) > len(BODY_COLORS):
        raise InputError(f"got {len(tracks)} bodies; expected up to {len(BODY_COLORS)} on one page")
    problem = tracks[0].problem
    count = len(tracks)
    meshes = [mesh_of(shape, track.body, track.problem.name) for track in tracks]
    m, omega = (np.stack([getattr(track, name) for track in tracks], axis=1) for name in ("m", "omega"))
    m_scale, omega_scale = (_scale(v) for v in (m, omega))
    x = np.zeros((1, count, 3))
    x[0, :, 0] = SPACING * (np.arange(count) - 0.5 * (count - 1))
    reach = REACH + 0.5 * SPACING * (count - 1)
    summaries = dict.fromkeys(track.problem.summary for track in tracks if track.problem.summary)
    return Scene(
        title=title or next((track.problem.name for track in tracks if track.problem.name), "A rigid body in motion"),
        summary="; ".join([*summaries, *([] if count > 1 else [tracks[0].label])]),
        t=t,
        q=np.stack([track.q for track in tracks], axis=1),
        x=x,
        meshes=meshes,
        which=list(range(count)),
        colors=[shaded(BODY_COLORS[i], mesh.shades) for i, mesh in enumerate(meshes)],
        paint=list(range(count)),
        charts=track_charts(tracks),
        even=turn <= frames.COARSE,
        rate=_rate(t, float(np.mean(length(omega).max(axis=1))), unit_of(tracks, "t")),
        range=[(-reach, reach), (-REACH, REACH), (-REACH, REACH)],
        camera=camera((1.3, -1.4, 0.8)),
        notes=_notes(sources, tracks, t, turn),
        units={name: unit_of(tracks, name) for name in ("t", "m", "omega")},
        labels=[track.label for track in tracks] if count > 1 else [],
        marks=list(BODY_COLORS[:count]),
        ground=SKY if count == 1 and name_of(shape, problem.name) == "ship" else None,  # the water surface
        free=all(track.problem.force.is_zero for track in tracks),
        m=m / m_scale[:, None],
        omega=omega / omega_scale[:, None],
        m_scale=m_scale,
        omega_scale=omega_scale,
        ellipsoids=[_ellipsoid(track.body, a / b) for track, a, b in zip(tracks, m_scale, omega_scale, strict=True)],
    )


def shaded(color: str, shades: FloatArray) -> list[str]:
    """Return a color for each face: `color` mixed with white, up to 70 % for the shade 1."""
    rgb = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)])
    mixed = np.rint(rgb + 0.7 * np.asarray(shades)[:, None] * (255 - rgb)).astype(int)
    return [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in mixed]


def _scale(vectors: FloatArray) -> FloatArray:
    """Return the largest length of the vectors (k, n, 3) of each body, shape (n,); 1 where all are zero."""
    largest = length(vectors).max(axis=0)
    return np.where(largest > 0, largest, 1.0)


def _ellipsoid(body: RigidBody, inertia: float) -> FloatArray:
    """Return vertices, shape (v, 3), of the ellipsoid omega . (I/inertia) omega = 1 in body axes."""
    return (sphere(12).vertices / np.sqrt(flow_moments(body) / inertia)) @ body.axes.T


def _rate(t: FloatArray, speed: float, unit: str) -> float:
    """Return the time of the motion that passes in one second of playing; `speed` is the mean |omega|."""
    duration = abs(float(t[-1] - t[0]))
    if unit == "s" and REAL_TIME[0] <= duration <= REAL_TIME[1] and speed <= 2 * QUICK:
        return 1.0
    return min(duration / PASS, QUICK / speed) if speed > 0 else duration / PASS


def camera(eye: tuple[float, float, float]) -> dict[str, Any]:
    """Return Plotly's description of a camera at `eye`, with the third axis up."""
    return {"eye": dict(zip("xyz", eye, strict=True)), "up": {"x": 0, "y": 0, "z": 1}}


def _notes(sources: Sequence[frames.Source], tracks: Sequence[frames.Track], t: FloatArray, turn: float) -> list[str]:
    """Return notes for the page about its frames and the origin of the states."""
    notes = [f"{len(t)} frames, at most {turn:.2g} rad apart"]
    for origin in dict.fromkeys(source.origin for source in sources):
        of = ", ".join(source.label for source in sources if source.origin == origin) + ": " if len(sources) > 1 else ""
        notes.append(f"{of}each frame is from {origin}")
    if any(source.saved_times is not None for source in sources) and turn <= frames.COARSE:
        notes.append("between frames the page turns bodies at an even rate")
    bodies = sum(int(np.prod(np.broadcast_shapes(s.problem.body.batch, s.problem.state.batch))) for s in sources)
    if bodies > len(tracks):
        notes.append(f"the first {len(tracks)} of {bodies} bodies")
    return [*notes, *coarse_note(turn)]


def coarse_note(turn: float) -> list[str]:
    """Return a warning if bodies turn too far between frames, `turn` radians, to show the motion between them."""
    if turn <= frames.COARSE:
        return []
    return [f"bodies turn by up to {turn:.3g} rad from frame to frame: every frame is right, but what happens between "
            "them is not shown; choose a part with t_span=(start, end)"]  # fmt: skip
