"""Films: bodies are drawn where they are, and files have the pictures that were requested."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode import errors
from polhode.cli import cli
from polhode.show.scene import scene_of
from polhode.systems.interactions import DipolarSoftSpheres

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from matplotlib import pyplot
from mpl_toolkits.mplot3d import proj3d

from polhode.show.plot.film import Picture, animate, arrow

MOTION = ph.free_motion((1.0, 2.0, 2.5), m=(0.3, 2.0, 0.4), q=ph.rotation.normalize((0.5, 0.1, -0.7, 0.2)))


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def test_the_body_is_drawn_in_its_attitude():
    """Corners of the polygons are those of the box, turned by SciPy and projected by matplotlib."""
    scene = scene_of(MOTION, None, None, None, (0.0, 8.0))
    picture = Picture(scene)
    picture.pixels(0.3)
    drawn = np.concatenate([path.vertices[:3] for path in picture.faces.get_paths()])
    turned = Rotation.from_quat(np.roll(MOTION.q(2.4), -1)).apply(scene.groups[0].mesh.vertices)
    up = MOTION.m_space / np.linalg.norm(MOTION.m_space)
    right, forward = scene.right, np.cross(up, scene.right)
    x, y, _ = proj3d.proj_transform(turned @ right, turned @ forward, turned @ up, picture.panel.get_proj())
    places = np.stack([x, y], axis=-1)
    distances = np.linalg.norm(places[:, None] - drawn, axis=-1).min(axis=1)
    assert (np.sort(distances)[:6] < 1e-12).all()  # a box shows six of its corners, or seven
    assert picture.clock.get_text() == "t = 2.4"
    assert picture.now.get_xdata()[0] == pytest.approx(2.4)


@pytest.mark.parametrize("part", [0.1, 0.8])
def test_pictures_are_those_that_matplotlib_draws_as_a_whole(part):
    """What does not move is drawn once; with what moves over it, it is the same picture."""
    picture = Picture(scene_of(ph.integrate(ph.problems.get("gyro_top"), (0, 0.2)), None, None, None, None))
    pixels = picture.pixels(part).astype(int)
    for artist in (picture.faces, *picture.moving):
        artist.set_animated(False)
    picture.canvas.draw()
    whole = np.asarray(picture.canvas.buffer_rgba())[..., :3].astype(int)
    assert (np.abs(pixels - whole).max(axis=-1) > 8).mean() < 1e-4  # the line of the chart is over its frame


def test_a_gif_has_the_colors(tmp_path):
    film = MOTION.animate(t_span=(0, 5), seconds=0.4, fps=10)
    with Image.open(film.save(tmp_path / "flip.gif")) as gif:
        gif.seek(1)
        shown = np.asarray(gif.convert("RGB"), dtype=int)
    drawn = Picture(film.scene).pixels(1 / 3).astype(int)
    assert shown[0, 0].tolist() == [255, 255, 255]
    assert np.abs(shown - drawn).mean() < 0.5
    assert np.abs(shown - drawn).max() < 48
    for color in ((0, 114, 178), (213, 94, 0)):  # of m and omega, of which there is little
        assert np.abs(shown - color).max(axis=-1).min() < 12


def test_a_gif_has_the_pictures(tmp_path):
    path = MOTION.movie(tmp_path / "flip.gif", seconds=0.4, fps=10, t_span=(0, 5), title="Flip")
    with Image.open(path) as film:
        assert film.n_frames == 4
        assert film.size == (960, 540)
        first = np.asarray(film.convert("L"), dtype=int)
        film.seek(2)
        assert (np.abs(np.asarray(film.convert("L"), dtype=int) - first) > 30).mean() > 0.01  # it moves
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("suffix", [".mp4", ".webm"])
def test_a_video_has_the_pictures(tmp_path, suffix):
    ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed")
    top = ph.integrate(ph.problems.get("gyro_top"), (0, 0.1))
    path = top.movie(tmp_path / f"top{suffix}", seconds=0.4, fps=10)
    frames, seconds = ffmpeg.count_frames_and_secs(path)
    assert frames == 4
    assert seconds == pytest.approx(0.4, abs=0.05)


def test_notebooks_show_a_video():
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed")
    shown = MOTION.animate(seconds=0.2, fps=10, t_span=(0, 5))._repr_html_()
    assert shown.startswith("<video ")
    assert "max-width: 100%" in shown  # within the column of a page or notebook
    assert len(shown) < 200_000


def test_several_bodies_are_named_within_the_picture():
    labels = ["a label that is long", "another one, longer still", "and a third"]
    picture = Picture(scene_of([MOTION] * 3, labels, None, None, (0.0, 5.0)))
    assert [text.get_text() for text in picture.panel.texts if text.get_text() in labels] == labels
    chart = picture.figure.axes[1]
    legend = chart.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["m₁", "m₂", "m₃", *labels]
    assert legend.get_window_extent().x1 <= picture.figure.bbox.x1
    one = Picture(scene_of(MOTION, None, None, None, (0.0, 5.0)))
    assert picture.panel.get_window_extent().width > 0.9 * one.panel.get_window_extent().width


@pytest.mark.parametrize("name", ["satellite_orbit", "vessel"])
def test_surroundings(name):
    picture = Picture(scene_of(ph.integrate(ph.problems.get(name)), None, None, None, None))
    picture.pixels(0.5)
    assert len(picture.faces.get_paths()) > 20


def test_systems():
    body = ph.RigidBody((1.0, 1.88, 2.88), mass=1.0)
    system = ph.System.lattice(body, 2, 1.6, DipolarSoftSpheres((0, 1, 1)), kT=0.3, seed=1, t_span=(0, 1), name="box")
    picture = Picture(scene_of(ph.integrate(system, method="V2", h=0.1), None, None, None, None))
    picture.pixels(1.0)
    assert len(picture.faces.get_paths()) > 100


@pytest.mark.parametrize("length", [0.05, 0.16, 1.2])
def test_arrows_of_any_length(length):
    tip = length * np.array([0.6, 0.0, -0.8])
    vertices = arrow(tip, 1.0).vertices
    assert np.linalg.norm(vertices - tip, axis=1).min() < 1e-12
    assert np.abs(vertices @ (0.8, 0.0, 0.6)).max() <= 0.06 + 1e-12  # no wider than the head


def test_duration():
    assert animate(MOTION, t_span=(0, 5), seconds=3).share == 1.0
    long = animate(MOTION, t_span=(0, 1000))
    assert long.seconds == 20.0
    assert long.share * 1000 / long.seconds == pytest.approx(long.scene.rate)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MOTION.movie("flip.avi"), "expected .gif, .mp4"),
        (lambda: MOTION.animate(seconds=-1), "expected positive numbers"),
        (lambda: MOTION.animate(fps=0), "expected positive numbers"),
    ],
)
def test_what_cannot_be_filmed(call, message):
    with pytest.raises(errors.InputError, match=message):
        call()


def test_command_line(tmp_path):
    out = tmp_path / "flip.gif"
    result = CliRunner().invoke(cli, ["movie", "dzhanibekov", str(out), "--seconds", "0.2", "--fps", "10"])
    assert result.output == f"movie: {out}\n"
    with Image.open(out) as film:
        assert film.n_frames == 2
    assert CliRunner().invoke(cli, ["movie", "dzhanibekof", str(out)]).exit_code == 2
