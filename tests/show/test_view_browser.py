"""Pages in a real browser, without a display: what is drawn is what was computed, and everything can be reached."""

from __future__ import annotations

import io
import re
from importlib.resources import files

import numpy as np
import pytest
from PIL import Image

import polhode as ph
from polhode.show.page import view
from polhode.show.scene.shapes import mesh_of
from polhode.systems.interactions import DipolarSoftSpheres
from view_pages import DESKTOP, FLAGS, WAIT, Opened, data_of, installed_browser, numbers

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright, which drives the browser, is not installed")
pytestmark = pytest.mark.skipif(installed_browser() is None, reason="no Chromium is installed to open pages in")

HOSTILE = "</script><img src=x onerror=\"window.hurt=1\"><script>window.hurt=1</script><b>bold</b> & {{data}} 'q'"
SINGLE = 2e-7  # attitudes are kept in single precision
PHONE = {"width": 360, "height": 740}
NO_WEBGL = """
const getContext = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
  return kind.includes("webgl") ? null : getContext.call(this, kind, ...more);
};
"""


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed_browser(), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def motion():
    """A body whose axes are not the principal ones, between two flips."""
    turn = ph.rotation.matrix(ph.rotation.from_rotation_vector((0.4, -0.7, 1.1)))
    body = ph.RigidBody(turn @ np.diag((1.0, 2.0, 3.0)) @ turn.T)
    return ph.free_motion(body, m=turn @ (0.05, 2.0, 0.1), q=ph.rotation.normalize((0.5, 0.1, -0.7, 0.2)))


@pytest.fixture(scope="module")
def opened(browser, motion, tmp_path_factory):
    path = tmp_path_factory.mktemp("view") / "page.html"
    page = view(motion, path, title=HOSTILE, t_span=(0.0, 20.0))
    opened = Opened(browser, path)
    opened.t = numbers(data_of(page)["t"])
    yield opened
    opened.context.close()


def assert_attitude(opened, motion, t):
    """q of the page, and the vertices it drew, are those of the motion."""
    q = motion.q(t)
    shown = np.array(opened.run("polhode.quaternion()"))
    assert min(np.abs(shown - q).max(), np.abs(shown + q).max()) < SINGLE
    mesh = mesh_of("box", motion.body)
    drawn = opened.corners()
    np.testing.assert_allclose(drawn, corners(mesh) @ ph.rotation.matrix(q).T, atol=5 * SINGLE, rtol=0)


def corners(mesh):
    """Corners of all triangles, (3 f, 3)."""
    return mesh.vertices[mesh.faces].reshape(-1, 3)


def test_it_opens_quietly_and_asks_for_nothing(opened):
    assert opened.complaints == []
    assert len(opened.requests) == 1
    assert opened.requests[0].startswith("file:")


def test_the_bundle_has_all_that_the_scripts_use(opened):
    """Otherwise run scripts/update_three.py."""
    folder = files("polhode.show.page")
    scripts = [path.read_text("utf-8") for path in folder.iterdir() if path.name.endswith(".js")]
    used = sorted(set(re.findall(r"\bTHREE\.(\w+)", "".join(scripts))))
    assert len(used) > 20
    assert opened.run(f"{used}.filter((name) => !(name in THREE))") == []


def test_hostile_titles_stay_text(opened):
    assert opened.page.title() == HOSTILE
    assert opened.page.inner_text("h1") == HOSTILE
    assert opened.run("window.hurt") is None
    assert opened.run("document.images.length") == 0


@pytest.mark.parametrize("part", [0.0, 0.31, 0.77, 1.0])
def test_the_slider_turns_the_body(opened, motion, part):
    frame = round(part * (len(opened.t) - 1))
    opened.run(f"slider.value = {frame}; slider.dispatchEvent(new Event('input'))")
    at, t, _ = opened.now()
    assert at == frame
    assert t == opened.t[frame]
    assert_attitude(opened, motion, t)
    assert opened.page.get_attribute("#slider", "aria-valuetext").startswith("t = ")


def test_arrows_point_along_momentum_and_velocity(opened, motion):
    opened.run("polhode.seek(100)")
    t = opened.t[100]
    for kind, vector in enumerate((motion.m_space, ph.rotation.rotate(motion.q(t), motion.omega(t)))):
        tip = np.array(opened.run(f"scenes.space.arrows[0][{kind}].tip.toArray()"))
        np.testing.assert_allclose(tip / np.linalg.norm(tip), vector / np.linalg.norm(vector), atol=1e-5, rtol=0)


def test_poinsot_the_ellipsoid_touches_the_plane_at_omega(opened, motion):
    opened.run("polhode.seek(150)")
    t = opened.t[150]
    surface = opened.vertices("scenes.poinsot.ellipsoid", "scenes.poinsot.scale")
    plane = opened.vertices("scenes.poinsot.plane", "scenes.poinsot.scale")
    herpolhode = np.array(opened.run("scenes.poinsot.curves.space")).reshape(-1, 3)
    inner = np.array(opened.run("scenes.poinsot.curves.body")).reshape(-1, 3)
    polhode = inner @ ph.rotation.matrix(motion.q(t)).T
    scale = np.linalg.norm(motion.omega(opened.t), axis=-1).max()
    up = motion.m_space / np.linalg.norm(motion.m_space)
    height = 2 * motion.energy / np.linalg.norm(motion.m_space) / scale
    np.testing.assert_allclose(plane @ up, height, atol=1e-5, rtol=0)
    np.testing.assert_allclose(herpolhode @ up, height, atol=1e-5, rtol=0)
    assert height - 0.02 < (surface @ up).max() < height + 1e-5  # it touches the plane from below
    inertia = ph.rotation.matrix(motion.q(t)) @ motion.body.tensor @ ph.rotation.matrix(motion.q(t)).T
    for points in (surface, polhode):
        energy = 0.5 * np.einsum("ni,ij,nj->n", points, inertia, points) * scale**2
        np.testing.assert_allclose(energy, motion.energy, rtol=1e-4)
    tip = ph.rotation.rotate(motion.q(t), motion.omega(t)) / scale
    drawn = opened.run("scenes.poinsot.herpolhode.object.geometry.drawRange.count / scenes.poinsot.herpolhode.each")
    np.testing.assert_allclose(herpolhode[drawn], tip, atol=1e-5, rtol=0)  # it ends at the tip of omega
    np.testing.assert_allclose(opened.run("scenes.poinsot.arrows[1].tip.toArray()"), tip, atol=1e-5, rtol=0)


def test_m_is_the_same_way_up_in_both_panels(opened, motion):
    for scene in ("space", "poinsot"):
        up = opened.run(f"scenes.{scene}.stage.camera.up.toArray()")
        np.testing.assert_allclose(up, motion.m_space / np.linalg.norm(motion.m_space), atol=1e-12)


@pytest.mark.long
def test_the_keyboard_is_enough(opened, motion):
    page = opened.page
    opened.run("document.activeElement.blur(); polhode.seek(50)")
    for key, frame in (
        ("ArrowRight", 51),
        ("Shift+ArrowRight", 61),
        ("ArrowLeft", 60),
        ("End", len(opened.t) - 1),
        ("Home", 0),
    ):
        page.keyboard.press(key)
        assert opened.now()[0] == frame
    reached = []
    for _ in range(8):
        page.keyboard.press("Tab")
        reached.append(opened.run("document.activeElement.id"))
        if reached[-1] == "slider":
            assert opened.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"  # seen to have focus
            page.keyboard.press("ArrowRight")
            assert opened.now()[0] == 1
    assert {"play", "slider", "speed"} <= set(reached)
    page.focus("#play")
    page.keyboard.press("Enter")
    assert opened.run("polhode.playing")
    page.keyboard.press("Space")
    assert not opened.run("polhode.playing")


@pytest.mark.long
def test_playing_turns_the_body_to_where_it_is_by_then(opened, motion):
    opened.run("polhode.seek(0)")
    opened.page.select_option("#speed", "0.25")
    opened.page.click("#play")
    opened.wait_until("polhode.frame > 3")
    opened.page.click("#play")
    frame, t, q = opened.now()
    assert 3 < frame < len(opened.t) - 1
    exact = motion.q(t)
    between = 0.1**2 / 8  # frames are 0.1 rad apart, and between them the body turns evenly
    assert min(np.abs(exact - q).max(), np.abs(exact + q).max()) < between
    mesh = mesh_of("box", motion.body)
    np.testing.assert_allclose(opened.corners(), corners(mesh) @ ph.rotation.matrix(q).T, atol=5 * SINGLE, rtol=0)


def test_charts_are_linked(opened):
    opened.run("polhode.seek(0)")
    box = opened.page.locator("#chart-1").bounding_box()
    opened.page.locator("#chart-1").click(position={"x": 58 + 0.5 * (box["width"] - 70), "y": 60})
    assert opened.now()[1] == pytest.approx(10, abs=0.05)
    measured = "[0, 1, 2].map((n) => [byId(`now-${n}`), byId(`chart-${n}`)].map((e) => e.getBoundingClientRect()))"
    for line, chart in opened.run(measured):
        assert line["x"] - chart["x"] == pytest.approx(58 + 0.5 * (chart["width"] - 70), abs=2)


def test_something_is_drawn(opened):
    """The colors of the body, of both arrows and of the ellipsoid are on the screen; some hide others at times."""
    body, m, omega, ellipsoid = (230, 159, 0), (0, 114, 178), (213, 94, 0), (86, 180, 233)
    found = []
    for part in (0.1, 0.3, 0.5, 0.7):
        opened.run(f"polhode.seek({part} * polhode.frames)")
        space, poinsot = pixels(opened, "#space"), pixels(opened, "#poinsot")
        found.append([*(near_hue(space, color) for color in (body, m, omega)), near_hue(poinsot, ellipsoid)])
    assert (np.max(found, axis=0) > (0.01, 0.0005, 0.0005, 0.02)).all(), found


def test_a_dragged_view_stays_and_turns_both_panels(opened):
    direction = "['space', 'poinsot'].map((id) => scenes[id].stage.camera.position.clone().normalize().toArray())"
    opened.run("polhode.seek(10)")
    before, box = opened.run(direction), opened.page.locator("#space").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    opened.page.mouse.move(x, y)
    opened.page.mouse.down()
    opened.page.mouse.move(x + 80, y + 20, steps=4)
    opened.page.mouse.up()
    turned = np.array(opened.run(direction))
    assert np.linalg.norm(turned[0] - before[0]) > 0.05
    np.testing.assert_allclose(turned[0], turned[1], atol=1e-6)
    opened.run("polhode.seek(20)")
    np.testing.assert_allclose(opened.run(direction), turned, atol=1e-12)


def test_numbers_are_written_as_in_print(opened):
    written = opened.run("[0, 1.5, -0.25, 4.294e9, -2e-7, 1e-12].map((x) => digits(x))")
    assert written == ["0", "1.500", "−0.2500", "4.294 × 10⁹", "−2.000 × 10⁻⁷", "1.000 × 10⁻¹²"]


def test_pictures_fill_their_panels(opened):
    """Captions may have one line or two; the picture takes the rest of the height."""
    bottoms = (
        "['space', 'poinsot'].map((id) => [byId(id), byId(`${id}-panel`)].map((e) => e.getBoundingClientRect().bottom))"
    )
    for picture, panel in opened.run(bottoms):
        assert picture == pytest.approx(panel, abs=2)


def test_light_and_dark(opened):
    look = "[getComputedStyle(document.body).backgroundColor, scenes.space.stage.scene.background.getHexString()]"
    light = opened.run(look)
    opened.page.click("#theme")
    dark = opened.run(look)
    assert light[0] == "rgb(255, 255, 255)"
    assert max(map(int, re.findall(r"\d+", dark[0]))) < 60
    assert light[1] != dark[1]
    opened.page.click("#theme")
    assert opened.run(look) == light


def pixels(opened, selector):
    shot = opened.page.locator(selector).screenshot(timeout=WAIT)
    return np.asarray(Image.open(io.BytesIO(shot)).convert("HSV"), dtype=int).reshape(-1, 3)


def near_hue(image, color):
    """The part of the picture that has a color's hue, in whatever light."""
    hue = Image.new("RGB", (1, 1), color).convert("HSV").getpixel((0, 0))[0]
    away = np.abs((image[:, 0] - hue + 128) % 256 - 128)
    return np.mean((away < 6) & (image[:, 1] > 60))


@pytest.mark.long
def test_a_phone_scrolls_only_down(browser, opened):
    opened.page.set_viewport_size(PHONE)
    opened.page.wait_for_timeout(300)
    assert opened.run("document.documentElement.scrollWidth") <= PHONE["width"]
    ids = "['play', 'slider', 'speed', 'space', 'poinsot', 'chart-2']"
    assert max(opened.run(f"{ids}.map((id) => byId(id).getBoundingClientRect().right)")) <= PHONE["width"]
    opened.page.set_viewport_size(DESKTOP)


@pytest.fixture(scope="module")
def dipoles():
    body = ph.RigidBody((1.0, 1.88, 2.88), mass=1.0)
    system = ph.System.lattice(body, 2, 1.6, DipolarSoftSpheres((0, 1, 1)), kT=0.3, seed=1, t_span=(0, 1), name="box")
    return ph.integrate(system, method="RKN4_6b", h=0.02)


@pytest.mark.long
def test_a_system_moves_and_plays_by_itself(browser, dipoles, tmp_path):
    """Unless less motion is asked for, a page begins to play."""
    dipoles.view(tmp_path / "box.html")
    opened = Opened(browser, tmp_path / "box.html", moving=True)
    assert opened.run("polhode.playing")
    opened.run("setPlaying(false)")
    opened.run("polhode.seek(30)")
    (group,) = data_of(dipoles.view())["groups"]
    mesh = numbers(group["vertices"], -1, 3)[numbers(group["faces"])]
    size = data_of(dipoles.view())["size"]
    expected = dipoles.x[30][:, None] + size * np.einsum("nij,vj->nvi", dipoles.matrix[30], mesh)
    drawn = [opened.corners(body=body) for body in range(8)]
    np.testing.assert_allclose(drawn, expected, atol=1e-4, rtol=0)
    assert opened.complaints == []
    opened.context.close()


def test_bodies_cross_the_border_of_a_box(browser, tmp_path):
    """Between two frames a body that crosses the border is near it, on one side or the other; the box is drawn."""
    states = ph.State(m=np.zeros((2, 3)), x=[(1.4, 0, 0), (0, -1.9, 0)], p=[(1.0, 0, 0), (0, -1.0, 0)])
    system = ph.System(
        ph.RigidBody((1, 1, 1), mass=1.0), states, DipolarSoftSpheres((0, 0, 0), cutoff=1.5), box=(3.0, 4.0, 5.0)
    )
    ph.integrate(system, (0, 0.4), method="V2", h=0.2).view(tmp_path / "box.html")
    opened = Opened(browser, tmp_path / "box.html")
    for position in (0.0, 0.3, 0.5, 0.9, 1.0):
        x = opened.run(f"[0, 1].map((body) => motion.place(body, {position}))")
        moved = np.array([(1.4 + 0.2 * position, 0, 0), (0, -1.9 - 0.2 * position, 0)])
        moved -= (3.0, 4.0, 5.0) * np.rint(moved / (3.0, 4.0, 5.0))
        np.testing.assert_allclose(np.abs(x), np.abs(moved), atol=1e-6)  # at the border, on either side
    edges = opened.vertices("scenes.space.frame")
    assert np.abs(edges).max(axis=0).tolist() == [1.5, 2.0, 2.5]
    assert opened.complaints == []
    opened.context.close()


@pytest.mark.long
def test_without_webgl_there_are_numbers_and_charts(browser, motion, tmp_path):
    view([motion, motion], tmp_path / "page.html", labels=["one", HOSTILE], t_span=(0.0, 5.0))
    opened = Opened(browser, tmp_path / "page.html", script=NO_WEBGL)
    assert "no WebGL" in opened.page.inner_text("#space-panel")
    opened.run("polhode.seek(20)")
    assert "t = " in opened.page.inner_text("#readout")
    assert HOSTILE in opened.page.inner_text("#key-0")
    assert opened.run("document.images.length") == 0
    assert opened.run("window.hurt") is None
    assert opened.complaints == []
    opened.context.close()


@pytest.mark.long
def test_a_notebook_shows_the_page(browser, motion, tmp_path):
    """The output of a cell is unpacked into a frame, in which the page runs."""
    page = view(motion, t_span=(0.0, 5.0), title="In a notebook")
    (tmp_path / "cell.html").write_text(f"<!DOCTYPE html><body>{page._repr_html_()}</body>", encoding="utf-8")
    context = browser.new_context(viewport=DESKTOP, reduced_motion="reduce")
    cell = context.new_page()
    cell.goto((tmp_path / "cell.html").as_uri())
    frame = cell.frame_locator("iframe")
    frame.locator("body[data-ready]").wait_for(timeout=WAIT)
    assert frame.locator("h1").inner_text() == "In a notebook"
    context.close()


@pytest.mark.long
def test_the_film_button_saves_a_video(browser, motion, tmp_path):
    view(motion, tmp_path / "page.html", t_span=(0.0, 1.0), title="A flip, filmed")
    opened = Opened(browser, tmp_path / "page.html")
    opened.page.select_option("#speed", "16")
    with opened.page.expect_download(timeout=WAIT) as download:
        opened.page.click("#film")
    download.value.save_as(tmp_path / "film.webm")
    assert download.value.suggested_filename == "A_flip_filmed.webm"
    assert (tmp_path / "film.webm").read_bytes()[:4] == b"\x1aE\xdf\xa3"  # Matroska
    assert opened.page.inner_text("#film") == "Film"
    assert opened.complaints == []
    opened.context.close()
