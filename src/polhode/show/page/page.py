"""Conversion of a scene to a self-contained HTML page, which includes Plotly's code, our code and the data.

Texts from users are escaped where they enter HTML; the data are JSON in which no tag can begin or end. A content
security policy forbids the page to load anything. This is the only module that imports plotly.
"""

from __future__ import annotations

import base64
import html
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode._version import __version__
from polhode.core.extras import optional
from polhode.files.atomic import replacing
from polhode.show.edges import box_edges
from polhode.show.page.charts import Chart
from polhode.show.page.scene import Scene
from polhode.show.page.shapes import sphere
from polhode.show.plot.style import count_label, with_unit

SCRIPTS = "page.js", "scene.js", "poinsot.js", "player.js"
NAMES = {"t": "t", "m": "|m|", "omega": "|ω|"}  # in labels of axes and lines of text
HEIGHT = 900  # pixels of the page in a notebook


class Page:
    """Page that ``polhode.view`` returns.

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
        """Return the page, or a link to it if it is saved, for notebooks."""
        if self.path is not None:
            where = html.escape(str(self.path))
            return f'<a href="{where}">{html.escape(self.title)}: {where}</a>'
        return f'<iframe srcdoc="{html.escape(self.html)}" style="width: 100%; height: {HEIGHT}px; border: 0"></iframe>'

    def __repr__(self) -> str:
        """Return the title, the size and the file of the page."""
        where = "not saved; type .save(path)" if self.path is None else str(self.path)
        return f"Page({self.title!r}, {len(self.html.encode()) / 1e6:.1f} MB, {where})"


def render(scene: Scene) -> Page:
    """Return the page of a scene."""
    single = scene.m is not None
    label = "The body" if len(scene.which) == 1 else count_label(len(scene.which))
    parts = {
        "generator": f"polhode {__version__}",
        "title": html.escape(scene.title),
        "summary": html.escape(scene.summary),
        "scene_caption": label + (" in space" if single else ""),
        "scene_label": html.escape(f"{label} turning in space"),
        "notes": "".join(f"<li>{html.escape(note)}</li>" for note in scene.notes),
        "style": _text("page.css"),
        "data": as_json(_data(scene)),
        "plotly": _plotly(),
        "script": "".join(map(_text, SCRIPTS)),
    }
    return Page(re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _text("page.html")), scene.title)


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
    if scene.m is not None and scene.omega is not None and scene.m_scale is not None and scene.omega_scale is not None:
        arrows = {
            "m": _packed(scene.m),
            "omega": _packed(scene.omega),
            "mScale": scene.m_scale.tolist(),
            "omegaScale": scene.omega_scale.tolist(),
            "ellipsoids": [_packed(vertices) for vertices in scene.ellipsoids],
            "sphere": _packed(sphere(12).faces, "i4"),
        }
    return {
        "t": _packed(scene.t, "f8"),
        "q": _packed(scene.q),
        "x": _packed(scene.x),
        "count": scene.q.shape[1],
        "meshes": [{"vertices": _packed(m.vertices), "faces": _packed(m.faces, "i4")} for m in scene.meshes],
        "which": scene.which,
        "colors": scene.colors,
        "paint": scene.paint,
        "labels": scene.labels,
        "marks": scene.marks,
        "charts": [_chart(chart) for chart in scene.charts],
        "even": scene.even,
        "rate": scene.rate,
        "range": scene.range,
        "camera": scene.camera,
        "size": scene.size,
        "ticks": scene.m is None,
        "ground": scene.ground,
        "box": None if scene.box is None else scene.box.tolist(),
        "edges": None if scene.box is None else _packed(box_edges(scene.box)),
        "free": scene.free,
        "names": {name: with_unit(text, scene.units[name]) for name, text in NAMES.items()},
        **arrows,
    }


def _chart(chart: Chart) -> dict[str, Any]:
    curves = [{"name": c.name, "color": c.color, "dash": c.dash, "y": _packed(c.y, "f8")} for c in chart.curves]
    return {"title": chart.title, "legend": chart.legend, "range": chart.range, "curves": curves}


def _packed(array: npt.NDArray[Any], kind: str = "f4") -> dict[str, str]:
    """Return a flattened array as the scripts of the page read it; `kind` is its type, such as "f4"."""
    return {"kind": kind, "base64": base64.b64encode(np.asarray(array, dtype=f"<{kind}").tobytes()).decode()}


def _text(name: str) -> str:
    """Return the text of a file of this package."""
    return files("polhode.show.page").joinpath(name).read_text(encoding="utf-8")


def _plotly() -> str:
    """Return the JavaScript code of Plotly."""
    with optional("plotly", "view"):
        from plotly.offline import get_plotlyjs
    return str(get_plotlyjs())
