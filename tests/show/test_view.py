"""Pages of motions: the numbers in them, what they say about themselves, and what is refused; no browser is needed."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.spatial.transform import Rotation, Slerp

import polhode as ph
from conftest import ROOT, random_attitude
from polhode import errors
from polhode.cli import cli
from polhode.show.page import view
from polhode.show.scene import frames
from polhode.show.scene.charts import Chart, Curve
from polhode.show.scene.illustrations import ILLUSTRATIONS
from polhode.show.scene.shapes import SHAPES, mesh_of
from polhode.show.scene.words import sentence_of, title_of
from polhode.systems.interactions import DipolarSoftSpheres
from view_pages import data_of, numbers, packed_page, values

SINGLE = 2.0**-24  # states are in single precision
SHORT = 0.5001 / 32767  # those of many bodies are in 16 bits
DRAWN = 1e-7  # so are curves, relative to the range of their chart
TOP = ph.Problem(
    (1.0, 1.0, 0.5), ph.State(m=(0.1, 0.0, 2.0)), ph.forces.gravity(1.0, (0, 0, 0.3)), t_span=(0, 10), name="top"
)


@pytest.fixture(scope="module")
def motion():
    return ph.free_motion((1.0, 2.0, 3.0), m=(0.01, 2.0, 0.0))


@pytest.fixture(scope="module")
def top():
    return ph.integrate(TOP, method="RKN6_14a", h=0.1)


def states(page, bodies=1):
    data = data_of(page)
    t = numbers(data["t"])
    momenta = numbers(data["m"], len(t), bodies, 3) * np.array(data["mScale"])[:, None]
    return t, numbers(data["q"], len(t), bodies, 4), momenta


def angles(a, b):
    """Between attitudes (k, 4) of two motions, (k,)."""
    first, second = (Rotation.from_quat(np.roll(q, -1, axis=-1)) for q in (a, b))
    return (first.inv() * second).magnitude()


def notes(page):
    return html.unescape(re.search(r"<footer>\s*<ul>(.*?)</ul>", page.html, re.DOTALL)[1])


# Numbers


def test_frames_of_a_free_motion_are_exact_and_close(motion):
    page = motion.view(t_span=(-3.0, 20.0))
    t, q, m = states(page)
    assert (t[0], t[-1]) == (-3.0, 20.0)
    np.testing.assert_allclose(q[:, 0], motion.q(t), atol=SINGLE, rtol=0)
    np.testing.assert_allclose(m[:, 0], motion.m(t), atol=4 * SINGLE, rtol=0)
    assert angles(q[:-1, 0], q[1:, 0]).max() < 0.11
    assert data_of(page)["even"]
    assert "from the closed form" in notes(page)
    energy, body, space = data_of(page)["charts"]
    np.testing.assert_allclose(values(energy, 0), motion.energy, rtol=DRAWN)
    assert energy["range"][0] < 0 < motion.energy < energy["range"][1]  # rounding does not look like a change
    np.testing.assert_allclose(values(body, 1), motion.m(t)[:, 1], atol=5 * DRAWN, rtol=0)
    np.testing.assert_allclose(values(space, 1), motion.m_space[1], rtol=5 * DRAWN)


def test_the_time_shown_of_a_free_motion(motion):
    for body, end in (
        (motion, 2 * motion.period),
        (ph.free_motion((1, 2, 3), m=(0, 2, 0)), 20 * np.pi),  # steady: ten turns
        (ph.free_motion((1, 2, 3), m=(0, 0, 0)), 1.0),
    ):
        assert states(body.view())[0][-1] == pytest.approx(end)


def test_frames_of_steps_come_from_dense_output(top):
    coarse = ph.integrate(TOP, method="RKN6_14a", h=0.1, save_every=25)
    for traj in (top, coarse):
        t, q, _ = states(traj.view())
        assert len(t) > 2 * len(top)
        np.testing.assert_allclose(q[:, 0], traj.sol(t)[1], atol=SINGLE, rtol=0)
    chart = data_of(top.view())["charts"][0]
    energy = {curve["name"]: values(chart, i) for i, curve in enumerate(chart["curves"])}
    np.testing.assert_allclose(energy["kinetic"] + energy["potential"], energy["total"], rtol=5 * DRAWN)
    np.testing.assert_allclose(energy["total"], top.energy[0], rtol=1e-6)
    assert "steps repeated" in notes(top.view())


def test_without_dense_output_frames_are_what_was_kept(top, tmp_path):
    top.save(tmp_path / "top.csv")
    loaded = ph.load(tmp_path / "top.csv")
    page = loaded.view()
    t, q, _ = states(page)
    np.testing.assert_array_equal(t, top.t)
    np.testing.assert_allclose(q[:, 0], top.q, atol=SINGLE, rtol=0)
    assert "states that were kept" in notes(page)
    assert "between frames the page turns bodies at an even rate" in notes(page)
    np.testing.assert_allclose(values(data_of(page)["charts"][0], 2), top.energy, rtol=DRAWN)
    part = states(loaded.view(t_span=(2.0, 4.0)))[0]
    np.testing.assert_array_equal(part, top.t[(top.t >= 2) & (top.t <= 4)])


def test_a_free_motion_from_a_file_is_exact_again(tmp_path):
    done = CliRunner().invoke(cli, ["run", "dzhanibekov", "--set", "output.states=5", "--out", str(tmp_path)])
    assert done.exit_code == 0
    loaded = ph.load(tmp_path / "trajectory.nc")
    t, q, _ = states(loaded.view())
    assert len(loaded) == 5 < len(t)
    np.testing.assert_allclose(q[:, 0], ph.problems.dzhanibekov().free_motion().q(t), atol=2 * SINGLE, rtol=0)


def test_backward_in_time():
    back = ph.integrate(TOP, (0.0, -5.0), method="RKN6_14a", h=0.1)
    t, q, _ = states(back.view())
    assert t[0] == 0
    assert t[-1] == pytest.approx(-5)
    np.testing.assert_allclose(q[:, 0], back.sol(t)[1], atol=SINGLE, rtol=0)
    kept = frames._between(back)(np.array([-0.03, -2.0]))
    np.testing.assert_allclose(kept[1][1], back.q[20], atol=1e-14)


def test_between_kept_states_attitudes_turn_evenly(rng):
    ends = Rotation.from_quat(random_attitude(rng, 2))
    part = np.linspace(0, 1, 7)
    expected = Slerp([0, 1], ends)(part).as_matrix()
    a, b = np.roll(ends.as_quat(), 1, -1)
    for sign in (1, -1):
        found = frames.slerp(np.tile(a, (7, 1)), np.tile(sign * b, (7, 1)), part[:, None])
        np.testing.assert_allclose(ph.rotation.matrix(found), expected, atol=1e-14)


def test_a_long_run_says_that_it_shows_frames_only(motion):
    page = motion.view(t_span=(0.0, 1e5))
    assert not data_of(page)["even"]
    assert len(states(page)[0]) == frames.MOST_FRAMES + 1
    assert "what happens between them is not shown" in notes(page)
    assert len(page.html) < 1.2e6


def test_numbers_of_any_size(motion):
    for scale in (1e-200, 1e200):
        big = ph.free_motion(scale * np.array([1.0, 2.0, 3.0]), m=scale * np.array([0.01, 2.0, 0.0]))
        _, q, m = states(big.view(t_span=(0, 20)))
        np.testing.assert_array_equal(q, states(motion.view(t_span=(0, 20)))[1])
        assert np.isfinite(m).all()


# Several


def test_several_motions_side_by_side(motion):
    problem = ph.Problem(motion.body, motion.initial, t_span=(0, 12), name="flip", units={"t": "s"})
    steps = ph.integrate(problem, method=ph.Splitting(ph.ThreeRotations(), "V2"), h=0.2)
    page = view([motion, steps], labels=["exact", "three rotations"], t_span=(0, 12))
    data = data_of(page)
    t, q, _ = states(page, 2)
    np.testing.assert_allclose(q[:, 1], steps.sol(t)[1], atol=SINGLE, rtol=0)
    assert data["labels"] == ["exact", "three rotations"]
    assert data["names"] == {"t": "t [s]", "m": "|m|", "omega": "|ω|"}
    titles = [chart["title"] for chart in data["charts"]]
    assert titles == ["Energy, relative change", "Momentum, body axes", "Angle from exact [degrees]"]
    angle = angles(motion.q(t), steps.sol(t)[1])
    np.testing.assert_allclose(values(data["charts"][2], 0), np.degrees(angle), atol=1e-4, rtol=0)
    assert angle.max() > 1e-3


def test_a_small_batch_is_side_by_side(rng):
    batch = ph.free_motion((1, 2, 3), m=rng.normal(size=(2, 3, 3)))
    page = batch.view(t_span=(0, 5))
    t, q, _ = states(page, 6)
    np.testing.assert_allclose(q, batch.q(t).reshape(len(t), 6, 4), atol=SINGLE, rtol=0)
    assert len(data_of(page)["labels"]) == 6


def test_a_large_batch_is_a_grid(rng):
    """Bodies that look alike share a mesh; there are no arrows, and charts show quantiles."""
    m = rng.normal(size=(500, 3))
    batch = ph.free_motion((1, 2, 3), m=m)
    page = batch.view(t_span=(0, 5))
    data = data_of(page)
    t = numbers(data["t"])
    q = numbers(data["q"], len(t), 400, 4) / 32767
    np.testing.assert_allclose(q, batch.q(t)[:, :400], atol=SHORT, rtol=0)
    assert "the first 400 of 500 bodies" in notes(page)
    (group,) = data["groups"]
    assert group["members"] == list(range(400))
    assert len(np.unique(numbers(data["x"], 400, 3), axis=0)) == 400
    rates = np.linalg.norm(batch.omega(t)[:, :400], axis=-1)
    np.testing.assert_allclose(values(data["charts"][1], 1), np.median(rates, axis=1), rtol=1e-5)
    assert not data["arrows"]


def test_bodies_that_stopped_end_the_page():
    over = ph.events.cone(axis=(0, 0, 1), about=(0, 0, -1), angle=2.6, terminal=True)
    traj = ph.integrate(
        ph.Problem((1, 1, 0.5), ph.State(m=(0.9, 0.0, 0.5)), TOP.force, t_span=(0, 10)), h=0.05, events=over
    )
    assert traj.status == 1
    t, q, _ = states(traj.view())
    assert t[-1] <= traj.t_events[0][0] + 1e-9
    assert np.isfinite(q).all()


@pytest.fixture(scope="module")
def dipoles():
    body = ph.RigidBody((1.0, 1.88, 2.88), mass=1.0)
    system = ph.System.lattice(body, 2, 1.6, DipolarSoftSpheres((0, 1, 1)), kT=0.3, seed=1, t_span=(0, 1), name="box")
    return ph.integrate(system, method="RKN4_6b", h=0.02)


def test_a_system_is_a_scene(dipoles):
    page = dipoles.view()
    data = data_of(page)
    assert page.title == "Box"
    np.testing.assert_array_equal(numbers(data["t"]), dipoles.t)
    np.testing.assert_allclose(numbers(data["x"], 51, 8, 3), dipoles.x, atol=1e-6, rtol=0)
    np.testing.assert_allclose(numbers(data["q"], 51, 8, 4) / 32767, dipoles.q, atol=SHORT, rtol=0)
    total = data["charts"][0]["curves"][2]
    assert total["name"] == "total"
    np.testing.assert_allclose(values(data["charts"][0], 2), dipoles.energy, atol=1e-5)
    (group,) = data["groups"]
    vertices, faces, colors = (numbers(group[name], -1, 3) for name in ("vertices", "faces", "colors"))
    ahead = vertices[faces].mean(axis=1) @ (0, 1, 1) > 0
    assert {"#{:02X}{:02X}{:02X}".format(*color) for color in colors[ahead]} == {data["marks"][0]}
    assert len(states_of_part(dipoles, (0.2, 0.6))) == 21
    with pytest.raises(errors.InputError, match="labels are for several motions"):
        view(dipoles, labels=["a"])


def states_of_part(traj, span):
    return numbers(data_of(traj.view(t_span=span))["t"])


def test_members_of_an_ensemble():
    pytest.importorskip("xarray", reason="xarray is not installed")
    t = np.linspace(0.0, 5.0, 60)
    samples = {"m": np.random.default_rng(3).normal(size=(9, 3)), "moments": np.linspace(1, 2, 27).reshape(9, 3)}
    data = ph.ensemble(TOP, samples, t_span=(0, 5), t_eval=t, method="RKN4_6b", h=0.05)
    page = view(data, problem=TOP)
    shown = data_of(page)
    np.testing.assert_array_equal(numbers(shown["t"]), t)
    q = numbers(shown["q"], 60, 9, 4) / 32767
    np.testing.assert_allclose(q, np.moveaxis(data.q.to_numpy(), 0, 1), atol=SHORT, rtol=0)
    assert len(shown["groups"]) == 9  # moments differ, and with them boxes
    with pytest.raises(errors.InputError, match="pass its problem"):
        view(data)
    last = ph.ensemble(TOP, samples, t_span=(0, 5), method="RKN4_6b", h=0.05)
    with pytest.raises(errors.InputError, match="t_eval"):
        view(last, problem=TOP)
    with pytest.raises(errors.TimeError, match="times from 0 to 5"):
        view(data, problem=TOP, t_span=(7, 8))


# Shapes


def inertia_of(mesh):
    """Second moments of the solid inside closed triangles, by tetrahedra from the origin, per unit mass."""
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    volumes = np.einsum("fi,fi->f", a, np.cross(b, c)) / 6
    total = a + b + c
    products = sum(np.einsum("f,fi,fj->ij", volumes, v, v) for v in (a, b, c, total)) / 20
    return (np.trace(products) * np.eye(3) - products) / volumes.sum(), volumes.sum()


@pytest.mark.parametrize(("shape", "tolerance"), [("box", 1e-14), ("ellipsoid", 0.01)])
@pytest.mark.parametrize("turned", [False, True])
def test_boxes_and_ellipsoids_have_the_inertia(shape, tolerance, turned):
    turn = Rotation.from_rotvec((0.4, -0.7, 1.1)).as_matrix() if turned else np.eye(3)
    tensor = turn @ np.diag((1.3, 1.0, 2.0)) @ turn.T
    found, volume = inertia_of(mesh_of(shape, ph.RigidBody(tensor)))
    assert abs(volume) > 0.1
    np.testing.assert_allclose(found / np.trace(found), tensor / np.trace(tensor), atol=tolerance, rtol=0)


def test_the_t_handle_turns_about_its_mass_center():
    mesh = mesh_of("t-handle", ph.problems.dzhanibekov().body)
    found, _ = inertia_of(mesh)
    moments = ph.problems.dzhanibekov().body.moments
    np.testing.assert_allclose(np.diag(found) / np.trace(found), moments / moments.sum(), atol=0.02, rtol=0)


@pytest.mark.parametrize("shape", [*SHAPES, *ILLUSTRATIONS, [(0, 0, 0), (1, 0, 0), (-0.3, 0.9, 0)]], ids=str)
@pytest.mark.parametrize("moments", [(1.0, 2.0, 3.0), (1.0, 1.0, 30.0), (1e-3, 1.0, 1.0)])
def test_meshes_are_closed_and_have_radius_1(shape, moments):
    mesh = mesh_of(shape, ph.RigidBody(moments))
    assert np.linalg.norm(mesh.vertices, axis=-1).max() == pytest.approx(1)
    assert mesh.faces.min() == 0
    assert mesh.faces.max() == len(mesh.vertices) - 1
    assert len(mesh.shades) == len(mesh.faces)
    assert mesh.shades.min() >= 0
    assert mesh.shades.max() <= 1
    assert inertia_of(mesh)[1] > 0  # faces look outward
    same = np.unique(mesh.vertices.round(9), axis=0, return_inverse=True)[1].reshape(-1)
    edges = Counter(edge for face in same[mesh.faces] for edge in zip(face, np.roll(face, 1), strict=True))
    for (a, b), count in edges.items():
        assert a == b or edges[b, a] == count  # the neighbor goes the other way


def test_what_is_drawn_of_known_problems():
    body = ph.RigidBody((1, 2, 3))
    for problem, shape in (("vessel", "ship"), ("heavy_top", "top"), ("dzhanibekov", "t-handle"), ("nobody", "box")):
        np.testing.assert_array_equal(mesh_of(None, body, problem).vertices, mesh_of(shape, body).vertices)


def test_molecules_and_water(motion):
    water = np.array([(0, 0, 0.12), (0, 0.76, -0.47), (0, -0.76, -0.47)])
    data = data_of(motion.view(shape=water))
    vertices = numbers(data["groups"][0]["vertices"], -1, 3)
    np.testing.assert_allclose(vertices, mesh_of(water, motion.body).vertices, atol=SINGLE, rtol=0)
    assert data["ground"] == "grid"


# The page


def test_hostile_texts_stay_texts(motion):
    hostile = "</script><img src=x onerror=alert(1)>{{data}}<!--&"
    problem = ph.Problem(motion.body, motion.initial, name=hostile, summary=hostile, units={"t": hostile, "m": hostile})
    steps = ph.integrate(problem, method="V2", h=0.05)
    page = view([steps, motion], labels=[hostile, hostile], t_span=(0, 1))
    assert "<img" not in page.html
    assert page.html.count(html.escape(hostile)) >= 3
    assert data_of(page)["labels"] == [hostile, hostile]
    assert len(re.findall(r"</script", page.html)) == 3  # data, three.js, ours


def test_names_that_are_no_text(motion, tmp_path):
    """Halves of surrogate pairs, as in names of files that are not UTF-8."""
    page = motion.view(tmp_path / "out.html", title="half \ud800 <b>")
    assert "half ? &lt;b&gt;" in (tmp_path / "out.html").read_text(encoding="utf-8")
    assert page.title == "half ? <b>"


def test_the_page_needs_nothing_else(motion, tmp_path):
    page = motion.view(tmp_path / "out.html")
    assert (tmp_path / "out.html").read_text(encoding="utf-8") == page.html
    assert "default-src 'none'" in page.html
    own = re.sub(r"<script>/\* three.js.*?</script>", "", page.html, flags=re.DOTALL)
    assert len(own) < 300_000
    assert "http:" not in own
    assert "https:" not in own
    assert len(page.html.encode()) < 1.2e6
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.html"]


def test_notebooks(motion, tmp_path):
    page = motion.view(title='A "flip" <b>')
    shown = page._repr_html_()
    assert packed_page(shown) == page.html
    assert len(shown) < 0.5e6
    saved = page.save(tmp_path / "page.html")._repr_html_()
    assert len(saved) < 1000
    assert "<b>" not in saved
    assert re.fullmatch(r"Page\('A \"flip\" <b>', \d\.\d\d MB, .*page\.html\)", repr(page))
    assert len(motion._repr_html_()) < 1000  # nobody is surprised by megabytes


def test_the_library_is_the_declared_version_with_its_license():
    update = (ROOT / "scripts" / "update_three.py").read_text("utf-8")
    version = re.search(r'^VERSION = "(.+)"', update, re.M)[1]
    folder = ROOT / "src" / "polhode" / "show" / "page" / "vendor"
    library = (folder / "three.min.js").read_text("utf-8")
    assert library.startswith(f"/* three.js {version},")
    assert f'="{version.split(".")[1]}"' in library  # its own number
    assert "Permission is hereby granted" in (folder / "three-LICENSE.txt").read_text("utf-8")


def test_scripts_are_named_by_their_hashes(motion):
    """The policy allows the scripts and the style of the page, and no others."""
    page = motion.view()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page.html)[1]
    bodies = re.findall(r"<(script|style)>(.*?)</\1>", page.html, re.DOTALL)
    hashes = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for _, text in bodies}
    assert set(re.findall(r"'sha256-([^']+)'", policy)) == hashes
    assert len(hashes) == 3
    assert "unsafe" not in policy


@pytest.mark.parametrize("name", [*ph.problems.REGISTRY])
def test_titles_are_words(name):
    problem = ph.problems.get(name)
    assert "_" not in title_of(problem)
    assert title_of(problem) != problem.name
    assert sentence_of(problem).endswith(".")


def test_charts_keep_their_range():
    assert Chart("", [Curve("", "", np.array([1.0, 3.0]))]).range == pytest.approx((0.88, 3.12))
    low, high = Chart("", [Curve("", "", np.array([5.0, 5.0 + 1e-15]))]).range
    assert low < 0
    assert high > 5
    assert Chart("", [Curve("", "", np.zeros(3))]).range == (-1, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: view([]), "got an empty list"),
        (lambda m: view(3), "3 cannot be shown; expected a Trajectory"),
        (lambda m: view([m, m], labels=["a"]), "got 1 labels for 2 motions"),
        (lambda m: view([m] * 7), "got 7 bodies; expected up to 6"),
        (lambda m: ph.play(shape="sheep"), "expected one of t-handle"),
        (lambda m: ph.play(motion=ph.free_motion((1, 2, 3), m=np.ones((2, 3)))), "expected one body"),
        (lambda m: ph.play(motion=ph.free_motion((1e-300, 1e-300, 1e-300), m=(1e300, 0, 0))), "turns by inf rad/s"),
        (
            lambda m: ph.play(motion=ph.free_motion((1, 2, 3), m=(1e-70, 0, 0))),
            "expected numbers from 1e-40 to 1e\\+40",
        ),
        (lambda m: m.view(shape="elipsoid"), "did you mean 'ellipsoid'"),
        (lambda m: m.view(shape=[1.0, 2.0]), "expected .*3"),
        (lambda m: m.view(shape=[(0, 0, 0), (0, 0, 0)]), "same place"),
        (lambda m: m.view(t_span=(1, 1)), "two different finite times"),
        (lambda m: ph.free_motion((1, 2, 3), m=np.ones((1001, 3))).view(), "got 1001 bodies"),
    ],
)
def test_what_cannot_be_shown(motion, call, message):
    with pytest.raises(errors.InputError, match=message):
        call(motion)


def test_times_that_do_not_fit(top, motion):
    with pytest.raises(errors.TimeError, match=r"this trajectory has times from 0 to 10"):
        top.view(t_span=(5, 11))
    later = ph.integrate(ph.Problem(TOP.body, TOP.state, TOP.force, t_span=(20, 21)), method="V2", h=0.1)
    with pytest.raises(errors.TimeError, match="no time in common"):
        view([top, later])
    back = ph.integrate(TOP, (0.0, -1.0), method="V2", h=0.1)
    with pytest.raises(errors.TimeError, match="some backward"):
        view([top, back])


# The command line


def test_command_line(tmp_path):
    runner = CliRunner()
    result = runner.invoke(cli, ["run", "heavy_top", "--view", "--out", str(tmp_path / "a")])
    assert result.exit_code == 0
    first, *_, last = result.output.splitlines()
    assert first == f"to see it move, open {(tmp_path / 'a' / 'view.html').as_uri()}"
    assert f"view: {tmp_path / 'a' / 'view.html'}" in result.output
    assert last.startswith("summary: ")
    assert (tmp_path / "a" / "view.html").stat().st_size < 1.2e6
    other = ["run", "heavy_top", "--method", "V2", "--h", "0.1", "--out", str(tmp_path / "b")]
    assert "view.html" not in runner.invoke(cli, other).output
    both = ["view", str(tmp_path / "a"), str(tmp_path / "b" / "trajectory.nc"), "--span", "0", "5", "--title", "Two"]
    result = runner.invoke(cli, [*both, "--out", str(tmp_path / "both.html")])
    assert result.output == f"view: {tmp_path / 'both.html'}\n"
    assert "<h1>Two</h1>" in (tmp_path / "both.html").read_text(encoding="utf-8")
    assert runner.invoke(cli, ["view", str(tmp_path / "b")]).output == f"view: {tmp_path / 'b' / 'view.html'}\n"
    empty = runner.invoke(cli, ["view", str(tmp_path)])
    assert empty.exit_code == 2
    assert "has none of trajectory.nc" in empty.output


def test_command_line_of_the_live_page(tmp_path):
    out = tmp_path / "page.html"
    result = CliRunner().invoke(cli, ["play", "--out", str(out), "--shape", "racket", "--title", "A racket"])
    assert result.output == f"play: {out}\n"
    text = out.read_text(encoding="utf-8")
    assert "<h1>A racket</h1>" in text
    assert len(re.findall(r'<input type="range"|<input id="slider" type="range"', text)) == 13
    assert len(text.encode()) < 1.2e6
    assert CliRunner().invoke(cli, ["play", "--shape", "sheep", "--out", str(out)]).exit_code == 2


def test_a_run_that_cannot_be_shown_is_told_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(frames, "MOST_COMPUTED", 2)
    m12 = "m12=[[0.1, 0.2], [0.3, 0.4], [0, 0.1]]"
    result = CliRunner().invoke(cli, ["run", "heavy_top", "--view", "--set", m12, "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert "note: no page was written: got 3 bodies" in result.output
    assert "summary: " in result.output
    assert not (tmp_path / "view.html").exists()
