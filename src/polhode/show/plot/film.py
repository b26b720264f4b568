"""Films of motions: the scene of a page, drawn by matplotlib frame by frame, and written by ffmpeg or Pillow.

Triangles are projected here and drawn from the farthest to the nearest, which is quicker than 3-D axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage

Pixels = npt.NDArray[np.uint8]
INCHES, DPI = (9.6, 5.4), 100  # 960 x 540 pixels
FORMATS = {".mp4": "libx264", ".webm": "libvpx-vp9", ".mov": "libx264"}
LONGEST = 20.0  # seconds of a film, unless more are requested
DISTANCE = 4.5  # of the camera, in radii of the scene
LIGHT = np.array([-0.35, 0.62, -0.70])  # direction of the light: to the right, up, away from the camera; a unit vector
ARROWS = (1.2, 1.0)  # lengths of the longest m and omega, in radii of a body
GIF_COLORS, FREQUENT = 128, 24  # of a gif, which is the smaller the fewer it has; of these, taken as they are
ALIKE = 7  # difference of colors, of 255, that Pillow does not tell apart reliably
SAMPLES = 8  # pictures from which the colors of a gif are taken
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
        from matplotlib.collections import PolyCollection
        from matplotlib.figure import Figure

        self.scene = scene
        self.camera = Camera(scene)
        self.figure = Figure(figsize=INCHES, dpi=DPI, layout="constrained")
        self.figure.suptitle(scene.title, wrap=True)
        self.canvas = FigureCanvasAgg(self.figure)
        self.panel, chart = self.figure.subplots(1, 2, width_ratios=(1.5, 1.0))
        panel = self.panel
        panel.set(
            xlim=(-self.camera.wide, self.camera.wide), ylim=(-self.camera.high, self.camera.high), aspect="equal"
        )
        panel.set_axis_off()
        self._surround(panel)
        self.faces = panel.add_collection(PolyCollection([], zorder=3))
        self.names = [panel.text(0, 0, "", color=color, weight="bold", zorder=5) for color in (BLUE, VERMILION)]
        self._name_bodies(panel)
        self.clock = panel.text(0.02, 0.02, "", transform=panel.transAxes)
        self.trace = panel.plot([], [], color=PATH, zorder=4)[0]
        self._chart(chart)
        self._draw_still()

    def _draw_still(self) -> None:
        """Draw once what does not move, most of which is text, and keep its pixels for all pictures."""
        self.moving = [self.faces, self.trace, *self.names, self.clock, self.now]  # from back to front
        for artist in self.moving:
            artist.set_animated(True)
        self.canvas.draw()
        self.figure.set_layout_engine("none")
        self.still = self.canvas.copy_from_bbox(self.figure.bbox)

    def pixels(self, part: float) -> Pixels:
        """Return the picture at a part of the time span as colors from 0 to 255, of shape (540, 960, 3)."""
        self.draw(part)
        self.canvas.restore_region(self.still)
        for artist in self.moving:
            self.figure.draw_artist(artist)
        return np.ascontiguousarray(np.asarray(self.canvas.buffer_rgba())[..., :3])

    def _name_bodies(self, panel: Any) -> None:
        """Write the labels of several bodies above them, in their colors."""
        for place, label, color in zip(self.scene.x[0], self.scene.labels, self.scene.marks, strict=False):
            above = place + 1.3 * self.scene.size * self.scene.up
            panel.text(*self.camera.project(above)[0], label, color=color, ha="center", fontsize="small", zorder=5)

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
        scene = self.scene
        angle = np.linspace(0.0, 2.0 * np.pi, 73)
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        flat = np.array([scene.right, np.cross(scene.up, scene.right)])
        if scene.ground == "water":
            panel.fill(*self.camera.project(3.0 * circle @ flat)[0].T, color=SEA, alpha=0.5, zorder=1)
        elif scene.ground is not None:
            level = (0.0 if scene.ground == "floor" else -1.25 * scene.size) * scene.up
            for radius in (0.35, 0.7, 1.05):
                panel.plot(*self.camera.project(radius * scene.size * circle @ flat + level)[0].T, color=GRID, lw=0.8)
        if scene.earth is not None:
            panel.plot(*self.camera.project(scene.x[:, 0])[0].T, color=GRID, lw=0.8)
        if scene.limits is not None:
            low, high = np.array(scene.limits).T
            edges = box_edges(high - low) + 0.5 * (low + high)
            panel.plot(*self.camera.project(edges)[0].T, color=GRID, lw=0.8)

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
        self._paint(np.concatenate([t for t, _ in solids]), np.concatenate([c for _, c in solids]))
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
                self.names[kind].set(text=name, position=self.camera.project(tips + x)[0][0])
        return solids

    def _paint(self, triangles: FloatArray, colors: FloatArray) -> None:
        """Draw triangles (f, 3, 3) that face the camera, lit, from the farthest to the nearest."""
        flat, depth = self.camera.project(triangles)
        sides = flat[:, 1:] - flat[:, :1]
        facing = np.flatnonzero(np.linalg.det(sides) > 0)
        order = facing[np.argsort(-depth[facing].mean(axis=1))]
        normals = np.cross(triangles[order, 1] - triangles[order, 0], triangles[order, 2] - triangles[order, 0])
        normals /= np.maximum(np.linalg.norm(normals, axis=-1, keepdims=True), 1e-300)
        light = 0.62 + 0.38 * np.maximum(0.0, normals @ (LIGHT @ self.camera.axes))
        lit = colors[order] * light[:, None]
        self.faces.set(verts=flat[order], facecolors=lit, edgecolors=lit, linewidths=0.4)

    def _follow(self, time: float) -> None:
        """Move the line of the chart, the clock and the trace to a time."""
        scene = self.scene
        self.now.set_xdata([time, time])
        self.clock.set_text(f"t = {time:.4g} {scene.units['t']}".rstrip())
        if scene.trace is not None:
            done = scene.q[np.abs(scene.t - scene.t[0]) <= abs(time - scene.t[0]), 0]
            self.trace.set_data(*self.camera.project(rotate(done, np.array(scene.trace)) * scene.size)[0].T)


class Camera:
    """Perspective view of a scene; the rows of ``axes`` point to the right, up, and away from the eye."""

    def __init__(self, scene: Scene) -> None:
        forward = np.cross(scene.up, scene.right)
        back = np.array(scene.eye) @ np.array([scene.right, forward, scene.up])
        back /= np.linalg.norm(back)
        right = np.cross(scene.up, back)
        right /= np.linalg.norm(right)
        self.axes = np.array([right, np.cross(back, right), -back])
        self.center = np.array(scene.center)
        self.high = 1.08 * scene.radius
        self.wide = max(1.15 * self.high, scene.wide)
        self.distance = DISTANCE * max(scene.radius, scene.wide)

    def project(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the places (..., 2) of points (..., 3) in the picture, and their depths (...)."""
        seen = (points - self.center) @ self.axes.T
        depth = self.distance + seen[..., 2]
        return seen[..., :2] * (self.distance / depth)[..., None], depth


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
    return mesh.vertices[mesh.faces], mesh.painted(0, 0.0).colors(color) / 255.0


def write_gif(path: Path, pixels: Callable[[float], Pixels], parts: FloatArray, fps: float) -> None:
    """Write the pictures at parts of the time span as a gif that repeats, with the same few colors in all of them."""
    from PIL import Image

    samples = parts[np.linspace(0, len(parts) - 1, SAMPLES).astype(int)]
    palette = _palette(np.concatenate([pixels(part) for part in samples]))

    def reduced(part: float) -> PillowImage:
        return Image.fromarray(pixels(part)).quantize(palette=palette, dither=Image.Dither.NONE)

    others = (reduced(part) for part in parts[1:])
    reduced(parts[0]).save(path, save_all=True, append_images=others, duration=round(1000 / fps), loop=0)


def _palette(pixels: Pixels) -> PillowImage:
    """Return an image with the colors of a gif: the most frequent ones of the pixels, and others near the rest.

    Of the others, each counts once, so that the colors of small parts, such as arrows, are not lost.
    """
    from PIL import Image

    red, green, blue = np.moveaxis(pixels.astype(np.int32), -1, 0)
    codes, counts = np.unique(red << 16 | green << 8 | blue, return_counts=True)
    found = np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=-1).astype(np.uint8)
    others = Image.fromarray(found[None]).quantize(GIF_COLORS - FREQUENT).getpalette() or []
    kept: list[Any] = []
    for color in [*found[np.argsort(-counts)[:FREQUENT]].astype(int), *np.reshape(others, (-1, 3))]:
        if all(np.abs(color - other).max() > ALIKE for other in kept):
            kept.append(color)
    image = Image.new("P", (1, 1))
    image.putpalette(np.concatenate(kept).tolist())
    return image


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
