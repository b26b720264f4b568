"""Films of motions: the scene of a page, drawn by matplotlib frame by frame, and written by ffmpeg or Pillow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.errors import InputError
from polhode.core.extras import optional
from polhode.core.rotation import matrix, rotate
from polhode.show.edges import box_edges
from polhode.show.labels import BLUE, VERMILION
from polhode.show.scene import Scene, scene_of
from polhode.show.scene.frames import slerp
from polhode.show.scene.mesh import Mesh, joined, lathe, rod, sphere

Pixels = npt.NDArray[np.uint8]
INCHES, DPI = (9.6, 5.4), 100  # 960 x 540 pixels
FORMATS = {".mp4": "libx264", ".webm": "libvpx-vp9", ".mov": "libx264"}
LONGEST = 20.0  # seconds of a film, unless more are requested
FOCUS, ZOOM = 0.45, 1.6  # of matplotlib's 3-D axes, whose camera then is so far away, in half their widths:
DISTANCE = 5.1
LIGHT = 35, 50  # direction of the light: degrees to the right of the camera and up
ARROWS = (1.2, 1.0)  # lengths of the longest m and omega, in radii of a body
GRID, SEA, GLOBE, PATH = "#b9bec6", "#56a0d0", "#2f6fae", "#CC79A7"


class Film:
    """Film of a motion, which a notebook displays; ``save`` writes it to a file.

    Parameters
    ----------
    scene : Scene
        What is shown.
    seconds : float, optional
        Duration of the film. By default, that of one pass of the page, up to 20 s.
    fps : int, optional
        Pictures per second. The default is 25.
    """

    def __init__(self, scene: Scene, seconds: float | None = None, fps: int = 25) -> None:
        self.scene = scene
        passes = abs(float(scene.t[-1] - scene.t[0])) / scene.rate
        self.seconds = min(LONGEST, passes) if seconds is None else float(seconds)
        self.fps = fps
        if not (self.seconds > 0 and fps > 0):
            raise InputError(f"seconds = {seconds}, fps = {fps}; expected positive numbers")
        # the rate of the page, or the whole motion in the seconds requested
        self.share = 1.0 if seconds is not None else self.seconds / passes

    def save(self, path: Any) -> Path:
        """Write the film to a file, .mp4, .webm or .mov by ffmpeg, .gif by Pillow, and return its path."""
        target = Path(path)
        suffix = target.suffix.lower()
        if suffix != ".gif" and suffix not in FORMATS:
            raise InputError(f"{target} has the suffix {suffix!r}; expected .gif, {', '.join(FORMATS)}")
        with optional("matplotlib", "movie"):
            picture = Picture(self.scene)
        parts = np.linspace(0.0, self.share, max(2, round(self.seconds * self.fps)))
        if suffix == ".gif":
            write_gif(target, picture.pixels, parts, self.fps)
        else:
            _write_video(target, picture.pixels, parts, self.fps)
        return target

    def _repr_html_(self) -> str:
        """Return the film as a video element, for notebooks."""
        import base64
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            video = base64.b64encode(self.save(Path(folder) / "film.mp4").read_bytes()).decode()
        source = f"data:video/mp4;base64,{video}"
        return f'<video controls autoplay loop muted style="max-width: 100%" src="{source}"></video>'


def animate(
    shown: Any,
    *,
    labels: Sequence[str] | None = None,
    title: str | None = None,
    shape: Any = None,
    t_span: tuple[float, float] | None = None,
    seconds: float | None = None,
    fps: int = 25,
) -> Film:
    """Return a film of a motion.

    Parameters
    ----------
    shown : Trajectory, FreeMotion, SystemTrajectory or list
        Motion to show, as in ``polhode.view``.
    labels, title, shape, t_span : optional
        As in ``polhode.view``.
    seconds : float, optional
        Duration of the film, in which the whole motion passes. By default, the speed is that of ``polhode.view``, and
        the film ends after 20 s.
    fps : int, optional
        Pictures per second. The default is 25.

    Returns
    -------
    Film
        The film, with the method ``save``.

    Examples
    --------
    >>> from polhode import free_motion
    >>> animate(free_motion((1.0, 2.0, 3.0), m=(0.01, 2.0, 0.0)), seconds=2).seconds
    2.0
    """
    return Film(scene_of(shown, labels, title, shape, t_span), seconds, fps)


class Picture:
    """Figure of a scene at one time: the bodies, a chart with a moving line, the title and the time."""

    def __init__(self, scene: Scene) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.scene = scene
        self.axes = np.array([scene.right, np.cross(scene.up, scene.right), scene.up])  # of the picture, as rows
        self.figure = Figure(figsize=INCHES, dpi=DPI, layout="constrained")
        self.figure.suptitle(scene.title, wrap=True)
        self.canvas = FigureCanvasAgg(self.figure)
        grid = self.figure.add_gridspec(1, 2, width_ratios=(1.5, 1.0))
        self.panel = panel = self.figure.add_subplot(grid[0], projection="3d")
        self._look(panel)
        self._surround(panel)
        self.faces: Any = None
        self.names = [panel.text(0, 0, 0, "", color=color, weight="bold", zorder=5) for color in (BLUE, VERMILION)]
        self._name_bodies(panel)
        self.clock = panel.text2D(0.02, 0.02, "", transform=panel.transAxes)
        self.trace = panel.plot([], [], [], color=PATH, zorder=4)[0]
        self._chart(self.figure.add_subplot(grid[1]))
        self._draw_still()

    def _look(self, panel: Any) -> None:
        """Place the camera: the scene is in perspective and fills the panel."""
        scene = self.scene
        right, forward, up = eye = np.array(scene.eye) / np.linalg.norm(scene.eye)
        reach = max(scene.radius, scene.wide / 1.15)
        middle = self.axes @ scene.center
        self.camera = middle + DISTANCE * reach * eye
        panel.set(**{f"{name}lim3d": (x - reach, x + reach) for name, x in zip("xyz", middle, strict=True)})
        panel.view_init(np.degrees(np.arcsin(up)), np.degrees(np.arctan2(forward, right)))
        panel.set_proj_type("persp", focal_length=FOCUS)
        panel.set_box_aspect((1, 1, 1), zoom=ZOOM)
        panel.set_axis_off()
        panel.computed_zorder = False

    def _places(self, points: FloatArray) -> FloatArray:
        """Return points (..., 3) in the axes of the picture: to the right, forward, up."""
        return points @ self.axes.T

    def _show(self, triangles: FloatArray, colors: FloatArray) -> None:
        """Show the triangles (f, 3, 3) that face the camera, lit, in place of others."""
        from matplotlib.colors import LightSource
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        a, b, c = np.moveaxis(triangles, 1, 0)
        facing = np.einsum("fi,fi->f", np.cross(b - a, c - a), self.camera - a) > 0
        light = LightSource(90 - self.panel.azim - LIGHT[0], LIGHT[1])
        faces = Poly3DCollection(
            triangles[facing], facecolors=colors[facing], edgecolors=colors[facing], linewidths=0.4, shade=True,
            lightsource=light, animated=True, zorder=3,
        )  # fmt: skip
        if self.faces is not None:
            self.faces.remove()
        self.faces = self.panel.add_collection3d(faces, autolim=False)

    def _draw_still(self) -> None:
        """Draw once what does not move, most of which is text, and keep its pixels for all pictures."""
        self.moving = [self.trace, *self.names, self.clock, self.now]
        for artist in self.moving:
            artist.set_animated(True)
        self.canvas.draw()
        self.figure.set_layout_engine("none")
        self.still = self.canvas.copy_from_bbox(self.figure.bbox)

    def pixels(self, part: float) -> Pixels:
        """Return the picture at a part of the time span as colors from 0 to 255, of shape (540, 960, 3)."""
        self.draw(part)
        self.canvas.restore_region(self.still)
        self.faces.do_3d_projection()
        for artist in (self.faces, *self.moving):  # from back to front
            self.figure.draw_artist(artist)
        return np.ascontiguousarray(np.asarray(self.canvas.buffer_rgba())[..., :3])

    def _name_bodies(self, panel: Any) -> None:
        """Write the labels of several bodies above them, in their colors."""
        for place, label, color in zip(self.scene.x[0], self.scene.labels, self.scene.marks, strict=False):
            above = place + 1.3 * self.scene.size * self.scene.up
            panel.text(*self._places(above), label, color=color, ha="center", fontsize="small", zorder=5)

    def _chart(self, axes: Any) -> None:
        from matplotlib.lines import Line2D

        shown = self.scene.charts[1 if self.scene.m is not None and len(self.scene.charts) > 1 else 0]
        styles = {"solid": "-", "dot": ":", "dash": "--", "longdash": "--", "dashdot": "-.", "longdashdot": "-."}
        for curve in shown.curves:
            axes.plot(self.scene.t, curve.y, styles[curve.dash], color=curve.color, linewidth=1.2)
        axes.set(title=shown.title, xlabel=f"t [{self.scene.units['t']}]" if self.scene.units["t"] else "t")
        keys = [Line2D([], [], color=color, linestyle=styles[dash], label=text) for text, color, dash in shown.legend]
        columns = 4 if max(len(text) for text, _, _ in shown.legend) < 12 else 2
        axes.legend(
            handles=keys,
            fontsize="small",
            ncols=columns,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.15),
            frameon=False,
        )
        self.now = axes.axvline(self.scene.t[0], color="black")

    def _surround(self, panel: Any) -> None:
        """Draw what does not move: rings on the ground, water, the orbit, or the edges of a box."""
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        scene = self.scene
        angle = np.linspace(0.0, 2.0 * np.pi, 73)
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        flat = np.array([scene.right, np.cross(scene.up, scene.right)])
        if scene.ground == "water":
            sea = Poly3DCollection([self._places(3.0 * circle @ flat)], color=SEA, alpha=0.5, linewidth=0, zorder=1)
            panel.add_collection3d(sea, autolim=False)
        elif scene.ground is not None:
            level = (0.0 if scene.ground == "floor" else -1.25 * scene.size) * scene.up
            for radius in (0.35, 0.7, 1.05):
                panel.plot(*self._places(radius * scene.size * circle @ flat + level).T, color=GRID, lw=0.8)
        if scene.earth is not None:
            panel.plot(*self._places(scene.x[:, 0]).T, color=GRID, lw=0.8)
        if scene.limits is not None:
            low, high = np.array(scene.limits).T
            edges = box_edges(high - low) + 0.5 * (low + high)
            panel.plot(*self._places(edges).T, color=GRID, lw=0.8)

    def draw(self, part: float) -> None:
        """Draw the scene at a part of its time span, from 0 to 1."""
        scene = self.scene
        time = scene.t[0] + part * (scene.t[-1] - scene.t[0])
        q, x, m, omega = self._state(time)
        parts = [(group.mesh.vertices, group.mesh.faces, group.colors / 255.0, group.members) for group in scene.groups]
        triangles = [
            (np.einsum("nij,vj->nvi", matrix(q[members]), scene.size * vertices) + x[members][:, None])[:, faces]
            for vertices, faces, _, members in parts
        ]
        colors = [np.broadcast_to(color, (len(members), *color.shape)) for _, _, color, members in parts]
        solids = [(t.reshape(-1, 3, 3), c.reshape(-1, 3)) for t, c in zip(triangles, colors, strict=True)]
        solids += self._arrows(q, x, m, omega)
        if scene.earth is not None:
            solids.append(_painted(sphere(16).stretched(scene.earth), GLOBE))
        self._show(self._places(np.concatenate([t for t, _ in solids])), np.concatenate([c for _, c in solids]))
        self._follow(time)

    def _state(self, time: float) -> tuple[FloatArray, FloatArray, FloatArray | None, FloatArray | None]:
        """Return q, x, m and omega of all bodies at a time, between two frames."""
        scene = self.scene
        sign = np.sign(scene.t[-1] - scene.t[0])
        i = int(np.clip(np.searchsorted(sign * scene.t, sign * time, side="right") - 1, 0, len(scene.t) - 2))
        part = (time - scene.t[i]) / (scene.t[i + 1] - scene.t[i]) if scene.even else 0.0

        def between(array: FloatArray | None) -> Any:
            return None if array is None else array[i] + part * (array[i + 1] - array[i])

        x = scene.x[0] if len(scene.x) == 1 else between(scene.x)
        if scene.box is not None:
            x = x - scene.box * np.rint(x / scene.box)
        return slerp(scene.q[i], scene.q[i + 1], np.full(1, part)), x, between(scene.m), between(scene.omega)

    def _arrows(self, q: FloatArray, x: FloatArray, *vectors: FloatArray | None) -> list[tuple[FloatArray, FloatArray]]:
        """Return triangles and colors of the arrows of m and omega, and place their names."""
        solids = []
        for kind, (vector, color, name) in enumerate(zip(vectors, (BLUE, VERMILION), ("m", "ω"), strict=True)):
            if vector is None:
                continue
            tips = ARROWS[kind] * self.scene.size * rotate(q, vector)
            shown = np.linalg.norm(tips, axis=-1) > 0.05 * self.scene.size
            solids += [_painted(arrow(tips[i], self.scene.size).moved(x[i]), color) for i in np.flatnonzero(shown)]
            if len(tips) == 1:
                name = f" {name}" if shown[0] else ""
                self.names[kind].set_text(name)
                self.names[kind].set_position_3d(self._places(tips + x)[0])
        return solids

    def _follow(self, time: float) -> None:
        """Move the line of the chart, the clock and the trace to a time."""
        scene = self.scene
        self.now.set_xdata([time, time])
        self.clock.set_text(f"t = {time:.4g} {scene.units['t']}".rstrip())
        if scene.trace is not None:
            done = scene.q[np.abs(scene.t - scene.t[0]) <= abs(time - scene.t[0]), 0]
            self.trace.set_data_3d(*self._places(rotate(done, np.array(scene.trace)) * scene.size).T)


def arrow(tip: FloatArray, size: float) -> Mesh:
    """Return an arrow from the origin to a point, for bodies of a size."""
    length = float(np.linalg.norm(tip))
    direction = tip / length
    head = min(0.16 * size, 0.6 * length)
    across = np.cross(direction, np.eye(3)[np.argmin(np.abs(direction))])
    across /= np.linalg.norm(across)
    axes = np.stack([across, np.cross(direction, across), direction], axis=-1)
    cone = lathe([0.0, 0.06 * size, 0.0], [length - head, length - head, length]).turned(axes)
    return joined([rod(np.zeros(3), direction * (length - head), 0.022 * size, 10), cone])


def _painted(mesh: Mesh, color: str) -> tuple[FloatArray, FloatArray]:
    """Return the triangles (f, 3, 3) of a mesh, and one color for all of them, shape (f, 3)."""
    return mesh.vertices[mesh.faces], mesh.painted("body", 0.0).colors(color) / 255.0


def write_gif(path: Path, pixels: Callable[[float], Pixels], parts: FloatArray, fps: float) -> None:
    """Write the pictures at parts of the time span as a gif that repeats."""
    from PIL import Image

    first, *others = (Image.fromarray(pixels(part)).quantize(256) for part in parts)
    first.save(path, save_all=True, append_images=others, duration=round(1000 / fps), loop=0)


def _write_video(path: Path, pixels: Callable[[float], Pixels], parts: FloatArray, fps: float) -> None:
    """Write the pictures at parts of the time span as a video, by the ffmpeg that comes with imageio-ffmpeg."""
    with optional("imageio_ffmpeg", "movie"):
        from imageio_ffmpeg import write_frames
    size = round(INCHES[0] * DPI), round(INCHES[1] * DPI)
    codec, quality = FORMATS[path.suffix.lower()], ["-crf", "20"]
    video = write_frames(path, size, fps=fps, codec=codec, quality=None, macro_block_size=2, output_params=quality)
    video.send(None)  # starts ffmpeg
    try:
        for part in parts:
            video.send(pixels(part))
    finally:
        video.close()
