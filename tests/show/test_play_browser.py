"""The live page in a real browser: its closed form is that of the library, and everything follows the sliders."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.core.solids import solid_properties
from view_pages import FLAGS, Opened, installed_browser

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright, which drives the browser, is not installed")
pytestmark = pytest.mark.skipif(installed_browser() is None, reason="no Chromium is installed to open pages in")

PHONE = {"width": 360, "height": 740}
CLOSE = 1e-10  # enough for a screen
EVALUATE = """
(cases) => cases.map(({ I, m, q, t }) => {
  const free = new FreeMotion(I, m, q), period = free.period === Infinity ? "inf" : free.period;
  return { states: t.map((time) => free.at(time)), regime: free.regime, period, flips: free.flips(-20, 20) };
})
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    path = tmp_path_factory.mktemp("play") / "play.html"
    ph.play(path)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed_browser(), args=FLAGS)
        opened = Opened(browser, path)
        opened.browser = browser
        yield opened
        browser.close()


def motions(rng):
    """Moments and momenta of all regimes, with the moments in any order."""
    permutations = [(0, 1, 2), (1, 2, 0), (2, 1, 0), (0, 2, 1)]
    for order in permutations:
        middle = np.array([1.0, 2.0, 3.0])
        for off in (0.3, 1e-3, 1e-6, 1e-9):
            yield middle[[*order]], np.array([off, 2.0, 0.0])[[*order]]
            yield middle[[*order]], np.array([0.6 * off, -2.0, off])[[*order]]
        yield np.array([3.0, 6.0, 8.0])[[*order]], np.array([1.0, 0.7, 2.0])[[*order]]  # exactly on the separatrix
        yield np.array([1.0, 1.0, 2.0])[[*order]], np.array([0.3, 0.4, 0.5])
        yield np.array([1.0, 2.0, 2.0])[[*order]], np.array([0.3, 0.4, 0.5])
        for axis in range(3):
            yield middle[[*order]], 2.0 * np.eye(3)[axis]
    yield np.array([2.0, 2.0, 2.0]), np.array([0.3, 0.4, 0.5])
    yield np.array([1.0, 2.0, 3.0]), np.zeros(3)
    for _ in range(40):
        yield rng.uniform(0.3, 3.0, 3), rng.normal(size=3)


def test_the_closed_form_of_the_page_is_that_of_the_library(opened, rng):
    q = ph.rotation.normalize((0.5, 0.1, -0.7, 0.2))
    t = np.array([-30.0, -1.0, 0.0, 0.4, 7.0, 55.0, 1000.0])
    cases = [{"I": I.tolist(), "m": m.tolist(), "q": q.tolist(), "t": t.tolist()} for I, m in motions(rng)]
    found = opened.page.evaluate(EVALUATE, cases)
    regimes = set()
    for case, answer in zip(cases, found, strict=True):
        motion = ph.free_motion(case["I"], m=case["m"], q=q)
        m, attitude, omega = (np.array([state[name] for state in answer["states"]]) for name in ("m", "q", "w"))
        np.testing.assert_allclose(m, motion.m(t), atol=CLOSE, rtol=0)
        np.testing.assert_allclose(omega, motion.omega(t), atol=4 * CLOSE, rtol=0)
        np.testing.assert_allclose(
            ph.rotation.matrix(attitude), ph.rotation.matrix(motion.q(t)), atol=4 * CLOSE, rtol=0
        )
        assert answer["regime"] == motion.regime
        assert float(answer["period"]) == pytest.approx(motion.period, rel=CLOSE)
        if len(set(case["I"])) == 3:
            np.testing.assert_allclose(answer["flips"], motion.flips(-20, 20), atol=1e-9)
        regimes.add(motion.regime)
    assert regimes == {"rest", "spherical", "steady", "symmetric", "around_min", "around_max", "separatrix"}


def slide(opened, **values):
    """Move sliders as a hand does, one after the other."""
    for name, value in values.items():
        slider = name.replace("_", "-")
        opened.run(f"byId('{slider}').value = {value}; byId('{slider}').dispatchEvent(new Event('input'))")


def spun(moments, rank, spin, nudge, toward, yaw, pitch, roll):
    """The motion that the sliders say, by other means."""
    axis = int(np.argsort(moments)[rank])
    along, first, second = np.eye(3)[[axis, (axis + 1) % 3, (axis + 2) % 3]]
    across = first * np.cos(np.radians(toward)) + second * np.sin(np.radians(toward))
    omega = spin * (along * np.cos(np.radians(nudge)) + across * np.sin(np.radians(nudge)))
    attitude = Rotation.from_euler("ZYX", (yaw, pitch, roll), degrees=True)
    return ph.free_motion(moments, omega=omega, q=attitude)


def assert_shown(opened, motion, t):
    opened.run(f"polhode.seekTime({t})")
    np.testing.assert_allclose(
        ph.rotation.matrix(opened.run("polhode.quaternion()")), ph.rotation.matrix(motion.q(t)), atol=1e-9, rtol=0
    )
    tip = np.array(opened.run("scenes.space.arrows[0][1].tip.toArray()"))
    omega = ph.rotation.rotate(motion.q(t), motion.omega(t))
    np.testing.assert_allclose(tip / np.linalg.norm(tip), omega / np.linalg.norm(omega), atol=1e-5)
    m = motion.m(t) / np.linalg.norm(motion.m(t))
    np.testing.assert_allclose(opened.run("scenes.map.dot.position.toArray()"), m, atol=1e-6)


def test_there_are_sliders_and_nothing_is_asked_for(opened):
    assert opened.page.locator('input[type="range"]').count() >= 6
    assert opened.complaints == []
    assert len(opened.requests) == 1


def test_the_map_says_what_its_curves_are(opened):
    assert opened.page.inner_text("#map-legend").split() == ["this", "motion", "separatrix"]


def test_the_motion_follows_the_sliders(opened):
    opened.page.check("#by-moments")
    slide(
        opened, moment_1=0.25, moment_2=0.12, moment_3=0.3, spin=4.0, nudge=2.0, toward=30.0, yaw=20, pitch=-40, roll=70
    )
    motion = spun((0.25, 0.12, 0.3), 1, 4.0, 2.0, 30.0, 20, -40, 70)
    assert_shown(opened, motion, 1.7)
    text = opened.page.inner_text("#fact-period")
    assert float(text.split()[0]) == pytest.approx(motion.period, rel=1e-3)
    assert "turns over every" in opened.page.inner_text("#physics")
    flips = [float(part.strip(" s…")) for part in opened.page.inner_text("#fact-flips").split(",") if part.strip(" s…")]
    np.testing.assert_allclose(flips, motion.flips(0, 1e3)[: len(flips)], rtol=0.01)
    opened.page.select_option("#axis", "2")
    assert "wobble" in opened.page.inner_text("#physics")
    slide(opened, spin=0)
    assert "at rest" in opened.page.inner_text("#fact-regime")
    slide(opened, spin=4)


def test_sides_of_a_box_give_its_inertia(opened):
    opened.page.check("#by-sides")
    slide(opened, side_1=0.5, side_2=1.0, side_3=1.2)
    body = ph.RigidBody.cuboid(1.0, 0.5, 1.0, 1.2)
    np.testing.assert_allclose(opened.run("polhode.motion.inertia"), body.moments, rtol=1e-12)
    np.testing.assert_allclose(opened.run("[1, 2, 3].map((k) => valueOf(`moment-${k}`))"), body.moments, rtol=1e-6)


@pytest.mark.parametrize("shape", ["box", "racket", "wing-nut"])
def test_the_shape_that_is_drawn_has_the_inertia(opened, shape):
    opened.page.select_option("#shape", shape)
    opened.page.check("#by-sides")
    slide(opened, side_1=0.7, side_2=1.0, side_3=0.5)
    corners = opened.corners()
    faces = np.arange(len(corners)).reshape(-1, 3)
    turn = ph.rotation.matrix(opened.run("polhode.quaternion()"))
    inertia = turn.T @ solid_properties(corners, faces).inertia @ turn
    moments = np.array(opened.run("polhode.motion.inertia"))
    np.testing.assert_allclose(inertia / np.trace(inertia), np.diag(moments / moments.sum()), atol=2e-5)


def test_poinsots_construction_follows_the_sliders(opened):
    opened.page.check("#by-moments")
    slide(opened, moment_1=0.2, moment_2=0.1, moment_3=0.27, spin=5.0, nudge=20.0, yaw=0, pitch=0, roll=0)
    opened.run("polhode.seekTime(0.8)")
    free = json.loads(
        opened.run("JSON.stringify({ I: polhode.motion.inertia, m: polhode.motion.m, q: polhode.motion.q })")
    )
    motion = ph.free_motion(free["I"], m=free["m"], q=free["q"])
    scale = opened.run("motion.wScale[0]")
    up = motion.m_space / np.linalg.norm(motion.m_space)
    height = 2 * motion.energy / np.linalg.norm(motion.m_space) / scale
    plane = opened.vertices("scenes.poinsot.plane", "scenes.poinsot.scale")
    np.testing.assert_allclose(plane @ up, height, atol=1e-5)
    surface = opened.vertices("scenes.poinsot.ellipsoid", "scenes.poinsot.scale")
    assert height - 0.03 < (surface @ up).max() < height + 1e-5


def test_the_separatrix_of_the_map_has_the_energy_of_the_middle_axis(opened):
    opened.page.check("#by-moments")
    slide(opened, moment_1=0.2, moment_2=0.1, moment_3=0.27)
    drawn = opened.vertices("scenes.map.separatrix.object")
    centers = drawn.reshape(-1, 4, 3).mean(axis=1)  # of a tube with four sides
    np.testing.assert_allclose(np.linalg.norm(centers, axis=1), 1, atol=1e-6)
    moments = np.array(opened.run("polhode.motion.inertia"))
    np.testing.assert_allclose(np.sum(centers**2 / moments, axis=1), 1 / np.median(moments), rtol=1e-5)
    assert np.ptp(centers, axis=0).min() > 0.5
    slide(opened, moment_1=moments[2])  # symmetric: there is none
    assert len(opened.vertices("scenes.map.separatrix.object")) == 0
    slide(opened, moment_1=0.2)


def test_time_goes_on_after_the_charts_end(opened):
    """The next stretch of time follows, without a jump."""
    opened.run("state.clock = motion.duration * 0.999; live.onward(); state.clock = 0; refresh()")
    assert opened.run("polhode.time") == pytest.approx(opened.run("motion.duration"))
    t = opened.run("polhode.time")
    np.testing.assert_allclose(opened.run("polhode.quaternion()"), opened.run(f"polhode.motion.at({t}).q"), atol=1e-12)
    assert opened.run("charts[0].times[0]") == pytest.approx(t)
    opened.run("live.changed()")
    assert opened.run("polhode.time") == 0


@pytest.mark.long
def test_playing_draws_pictures(opened):
    before = opened.run("polhode.drawn")
    opened.page.click("#play")
    opened.wait_until(f"polhode.drawn > {before} + 5")
    opened.page.click("#play")
    assert opened.run("polhode.time") > 0
    assert opened.complaints == []


@pytest.mark.long
def test_a_given_motion_is_where_the_sliders_start(opened, tmp_path):
    turn = ph.rotation.matrix(ph.rotation.from_rotation_vector((0.4, -0.7, 1.1)))
    body = ph.RigidBody(turn @ np.diag((1.0, 2.0, 3.0)) @ turn.T)
    motion = ph.free_motion(body, omega=turn @ (0.3, -4.0, 0.2), q=ph.rotation.normalize((0.5, 0.1, -0.7, 0.2)))
    ph.play(tmp_path / "own.html", motion=motion, shape="asteroid", title="<b>own</b>")
    own = Opened(opened.browser, tmp_path / "own.html")
    own.run("polhode.seekTime(2.5)")
    principal = ph.rotation.matrix(motion.q(2.5)) @ body.axes
    np.testing.assert_allclose(ph.rotation.matrix(own.run("polhode.quaternion()")), principal, atol=1e-9)
    assert own.page.inner_text("h1") == "<b>own</b>"
    assert own.complaints == []
    own.context.close()


@pytest.mark.long
def test_a_phone_scrolls_only_down(opened):
    opened.page.set_viewport_size(PHONE)
    assert opened.run("document.documentElement.scrollWidth") <= PHONE["width"]
    ids = "['play', 'slider', 'space', 'poinsot', 'map', 'spin', 'chart-1']"
    assert max(opened.run(f"{ids}.map((id) => byId(id).getBoundingClientRect().right)")) <= PHONE["width"]
