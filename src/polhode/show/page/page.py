"""Conversion of a scene to a self-contained HTML page, which includes three.js, our code and the data.

Texts from users are escaped where they enter HTML; the data are JSON in which no tag can begin or end. A content
security policy names the scripts of the page by their hashes and forbids all others, the evaluation of texts as
scripts, and everything from a network.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode._version import __version__
from polhode.core.body import RigidBody, flow_moments
from polhode.core.rotation import from_matrix
from polhode.files.atomic import replacing
from polhode.show.labels import count_label, with_unit
from polhode.show.scene.charts import Chart
from polhode.show.scene.mesh import Mesh
from polhode.show.scene.single import Scene

SCRIPTS = ("base", "closed_form", "paint", "stage", "space", "poinsot", "polhodes", "charts", "live", "player")
NAMES = {"t": "t", "m": "|m|", "omega": "|ω|"}  # in labels of axes and lines of text
SHORT = 32767  # attitudes of many bodies are in 16 bits, which is 3e-5 rad
HEIGHT = 900  # pixels of the page in a notebook
AS_THEY_ARE = (  # parts of a scene that a page gets unchanged
    "labels", "marks", "even", "rate", "radius", "wide", "center", "eye", "size", "ground", "earth", "trace", "limits",
    "free", "start",
)  # fmt: skip


class Page:
    """Page that ``polhode.view`` and ``polhode.play`` return.

    Notebooks display the page, or a link to its file once it is saved.

    Parameters
    ----------
    text : str
        HTML text of the page.
    title : str
        Title of the page.

    Attributes
    ----------
    html : str
        HTML text of the page.
    title : str
        Title of the page.
    path : Path or None
        File of the page, if it is saved.
    """

    def __init__(self, text: str, title: str) -> None:
        self.html = text
        self.title = title
        self.path: Path | None = None

    def save(self, path: Any) -> Page:
        """Write the page to a file, completely or not at all, and return the page.

        Parameters
        ----------
        path : str or path-like
            Name of the file; an existing file is replaced.

        Returns
        -------
        Page
            This page.
        """
        target = Path(path)
        with replacing(target) as new:
            new.write_text(self.html, encoding="utf-8")
        self.path = target
        return self

    def _repr_html_(self) -> str:
        """Return the page, compressed, or a link to it if it is saved, for notebooks."""
        if self.path is not None:
            where = html.escape(str(self.path))
            return f'<a href="{where}">{html.escape(self.title)}: {where}</a>'
        packed = base64.b64encode(gzip.compress(self.html.encode(), mtime=0)).decode()
        frame = f"polhode-{hashlib.sha256(packed.encode()).hexdigest()[:12]}"
        style = f"width: 100%; height: {HEIGHT}px; border: 0"
        script = text_of("notebook.js").replace("{{frame}}", frame).replace("{{packed}}", packed)
        return f'<iframe id="{frame}" style="{style}"></iframe><script>{script}</script>'

    def __repr__(self) -> str:
        """Return the title, the size and the file of the page."""
        where = "not saved; type .save(path)" if self.path is None else str(self.path)
        return f"Page({self.title!r}, {len(self.html.encode()) / 1e6:.2f} MB, {where})"


def render(scene: Scene) -> Page:
    """Return the page of a scene."""
    count = scene.q.shape[1]
    label = "The body" if count == 1 else count_label(count)
    single = scene.m is not None
    caption = label + (" in space" if single else "")
    kind = "stored" if single else "alone"
    return fill(scene.title, scene.summary, caption, f"{label} turning in space", kind, scene.notes, _data(scene))


def fill(
    title: str,
    summary: str,
    caption: str,
    label: str,
    kind: str,
    notes: list[str],
    data: dict[str, Any],
    more: str = "",
) -> Page:
    """Return a page with the given texts, which are escaped, the data, and HTML text of `more` controls."""
    style, library, script = text_of("page.css"), text_of("vendor/three.min.js"), _scripts()
    parts = {
        "generator": f"polhode {__version__}",
        "script_hashes": f"{_hash(library)} {_hash(script)}",
        "style_hash": _hash(style),
        "title": html.escape(title),
        "summary": html.escape(summary),
        "scene_caption": html.escape(caption),
        "scene_label": html.escape(label),
        "kind": kind,
        "controls": more,
        "notes": "".join(f"<li>{html.escape(note)}</li>" for note in notes),
        "style": style,
        "data": as_json(data),
        "library": library,
        "script": script,
    }
    text = re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], text_of("page.html"))
    return Page(*(value.encode("utf-8", "replace").decode() for value in (text, title)))  # halves of surrogate pairs


def as_json(value: Any) -> str:
    r"""Return JSON text that is safe inside a script element, whatever strings the value contains.

    >>> as_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data(scene: Scene) -> dict[str, Any]:
    """Return the data that the scripts of the page read."""
    arrows = {}
    single = scene.m is not None
    if scene.m is not None and scene.omega is not None:
        ratios = scene.omega_scale / scene.m_scale
        arrows = {
            "m": packed(scene.m),
            "omega": packed(scene.omega),
            "mScale": scene.m_scale.tolist(),
            "omegaScale": scene.omega_scale.tolist(),
            "inertia": [_inertia(body, ratio) for body, ratio in zip(scene.bodies, ratios, strict=True)],
        }
    return {name: getattr(scene, name) for name in AS_THEY_ARE} | {
        "t": packed(scene.t, "f8"),
        "q": packed(scene.q) if single else packed(np.rint(scene.q * SHORT), "i2"),
        "x": packed(scene.x),
        "count": scene.q.shape[1],
        "groups": [mesh_data(group.mesh, group.colors) | {"members": group.members} for group in scene.groups],
        "charts": [_chart(chart) for chart in scene.charts],
        "up": scene.up.tolist(),
        "right": scene.right.tolist(),
        "arrows": single,
        "box": None if scene.box is None else scene.box.tolist(),
        "unit": scene.units["t"],
        "names": names(scene.units),
        "live": None,
        **arrows,
    }


def names(units: dict[str, str]) -> dict[str, str]:
    """Return the names of quantities with their units."""
    return {name: with_unit(text, units[name]) for name, text in NAMES.items()}


def _inertia(body: RigidBody, ratio: float) -> dict[str, list[float]]:
    """Return the principal moments times `ratio`, and the attitude of the principal axes in the body."""
    return {"moments": (flow_moments(body) * ratio).tolist(), "axes": from_matrix(body.axes).tolist()}


def mesh_data(mesh: Mesh, colors: npt.NDArray[Any]) -> dict[str, Any]:
    """Return a mesh as the scripts of the page read it."""
    return {"vertices": packed(mesh.vertices), "faces": packed(mesh.faces, "i4"), "colors": packed(colors, "u1")}


def _chart(chart: Chart) -> dict[str, Any]:
    """Return a chart as the scripts of the page read it; numbers are fractions of its range, in single precision."""
    low, high = chart.range
    curves = [
        {"name": c.name, "color": c.color, "dash": c.dash, "y": packed((c.y - low) / (high - low))}
        for c in chart.curves
    ]
    return {"title": chart.title, "legend": chart.legend, "range": chart.range, "curves": curves}


def packed(array: npt.NDArray[Any], kind: str = "f4") -> dict[str, str]:
    """Return a flattened array as the scripts of the page read it; `kind` is its type, such as "f4"."""
    return {"kind": kind, "base64": base64.b64encode(np.asarray(array, dtype=f"<{kind}").tobytes()).decode()}


def _hash(text: str) -> str:
    """Return the hash of a script or style, as content security policies write it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _scripts() -> str:
    """Return all our scripts as one text."""
    return "".join(text_of(f"{name}.js") for name in SCRIPTS)


@cache
def text_of(name: str) -> str:
    """Return the text of a file of this package."""
    return files("polhode.show.page").joinpath(name).read_text(encoding="utf-8")
