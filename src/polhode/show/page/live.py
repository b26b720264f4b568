"""The live page: a free body whose inertia, spin and attitude are sliders, evaluated in closed form by the page."""

from __future__ import annotations

from math import hypot
from typing import Any

import numpy as np

from polhode.core.body import flow_moments, frame_of, to_principal
from polhode.core.checks import show
from polhode.core.errors import InputError
from polhode.free.motion import FreeMotion
from polhode.show.labels import COMPONENT_COLORS
from polhode.show.page.page import Page, fill, mesh_data, names, text_of
from polhode.show.scene.charts import BODY_COLORS
from polhode.show.scene.illustrations import ILLUSTRATIONS
from polhode.show.scene.mesh import Mesh, cuboid, sphere
from polhode.show.scene.shapes import principal

TITLE = "Turn a free body"
SUMMARY = "Choose a body, spin it, and see how it moves when no torque acts."
SPIN, NUDGE = 6.0, 0.5  # rad/s and degrees
LARGEST = 1e40  # moment of inertia and spin: the page multiplies up to six of them
NAMES = {
    "t-handle": "T-handle",
    "box": "box",
    "ellipsoid": "ellipsoid",
    "racket": "tennis racket",
    "book": "book",
    "phone": "phone",
    "wing-nut": "wing nut",
    "rocket": "rocket body",
    "cubesat": "CubeSat",
    "asteroid": "asteroid",
    "molecule": "water molecule",
}
SOLIDS = {"box": lambda: cuboid((3.0, 2.0, 1.0)), "ellipsoid": lambda: sphere(16).stretched((1.5, 1.0, 0.6))}
UNITS = {"t": "s", "m": "", "omega": "rad/s"}


def live_page(motion: FreeMotion | None, shape: str | None, title: str | None) -> Page:
    """Return the live page, with the sliders at the given motion."""
    chosen = shape or ("t-handle" if motion is None else "box")
    if chosen not in NAMES:
        raise InputError(f"shape = {chosen!r}; expected one of {', '.join(NAMES)}")
    data = {
        "live": {"shapes": {name: _shape(name) for name in NAMES}, "start": {"shape": chosen, **_start(motion)}},
        "groups": [],
        "labels": [],
        "marks": [],
        "charts": [
            _chart("Momentum m in the body", "m", "₁₂₃"),
            _chart("Angular velocity in space [rad/s]", "ω", "xyz"),
        ],
        "even": True,
        "rate": 1.0,
        "radius": 1.3,
        "wide": 0.0,
        "center": [0.0, 0.0, 0.0],
        "up": [0.0, 0.0, 1.0],
        "right": [1.0, 0.0, 0.0],
        "eye": [0.5, -0.8, 0.4],
        "size": 1.0,
        "arrows": True,
        "ground": "grid",
        "free": True,
        "names": names(UNITS),
    }
    notes = [
        "every picture is the closed form of the free motion, evaluated in this page; mass and lengths have no units"
    ]
    caption = "The body in space"
    return fill(title or TITLE, SUMMARY, caption, caption, "live", notes, data, text_of("sliders.html"))


def _shape(name: str) -> dict[str, Any]:
    """Return the mesh of a shape in its principal axes, with the moments that it has for mass 1."""
    mesh: Mesh = ILLUSTRATIONS[name]() if name in ILLUSTRATIONS else SOLIDS[name]()
    solid, moments = principal(mesh)
    unit = solid.radius
    return mesh_data(solid.scaled(), mesh.colors(BODY_COLORS[0])) | {
        "title": NAMES[name],
        "moments": (moments / unit**2).tolist(),
    }


def _start(motion: FreeMotion | None) -> dict[str, Any]:
    """Return the values of the sliders of a motion, in principal axes; by default a spin about the middle axis."""
    if motion is None:
        return {"moments": None, "spin": SPIN, "axis": 1, "nudge": NUDGE, "toward": 0.0, "q": None}
    if motion.batch:
        raise InputError(f"this motion has the batch {motion.batch}; expected one body: type motion[i]")
    body = motion.body
    moments = flow_moments(body)
    m, q = to_principal(frame_of(body), motion.initial.m, motion.initial.q)
    with np.errstate(over="ignore"):
        omega = m / moments
    spin = hypot(*omega)
    if not all(x == 0.0 or 1.0 / LARGEST <= x <= LARGEST for x in (*moments.tolist(), spin)):
        raise InputError(
            f"this body has the moments {show(moments)} and turns by {spin:g} rad/s; expected numbers from "
            f"{1.0 / LARGEST:g} to {LARGEST:g}, or the page would overflow; choose other units"
        )
    axis = int(np.argmax(np.abs(omega)))
    rank = int(np.flatnonzero(np.argsort(moments, kind="stable") == axis)[0])
    across = omega[[(axis + 1) % 3, (axis + 2) % 3]]
    nudge = np.degrees(np.arctan2(hypot(*across), omega[axis]))
    toward = np.degrees(np.arctan2(across[1], across[0])) % 360.0
    return {
        "moments": moments.tolist(),
        "spin": spin,
        "axis": rank,
        "nudge": float(nudge),
        "toward": float(toward),
        "q": q.tolist(),
    }


def _chart(title: str, letter: str, parts: str) -> dict[str, Any]:
    """Return an empty chart of three components, whose numbers the page computes."""
    curves = [
        {"name": f"{letter}{part}", "color": color, "dash": "solid"}
        for part, color in zip(parts, COMPONENT_COLORS, strict=True)
    ]
    legend = [(curve["name"], curve["color"], "solid") for curve in curves]
    return {"title": title, "legend": legend, "range": [-1.0, 1.0], "curves": curves}
