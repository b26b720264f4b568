"""Pages of systems: the numbers in them, boxes, molecules, and trajectories from files; no browser is needed."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest
from click.testing import CliRunner

import polhode as ph
from polhode import errors
from polhode.cli import cli
from polhode.show.page import view
from polhode.systems.interactions import DipolarSoftSpheres, Field, Molecular, SitePotential
from stored_systems import as_loaded
from view_pages import data_of, numbers, values

BODY = ph.RigidBody((1.0, 1.88, 2.88), mass=2.0)
BENT = np.array([(0.0, 0.0, 0.1), (0.0, 0.8, -0.5), (0.0, -0.8, -0.5)])


@pytest.fixture(scope="module")
def boxed():
    """8 bodies that leave their box, whose edges differ, in both directions."""
    near = DipolarSoftSpheres((0, 1, 1), cutoff=2.4)
    system = ph.System.lattice(BODY, 2, 2.5, near, kT=4.0, seed=1, box=(5.0, 6.0, 7.0), name="boxed")
    return ph.integrate(system, (0, 3), method="V2", h=0.02)


def still(count, interaction, bodies=BODY, distance=3.0, **more):
    """Bodies in a row, at two times."""
    x = np.zeros((count, 3))
    x[:, 0] = distance * np.arange(count)
    return ph.integrate(ph.System(bodies, ph.State(m=np.zeros((count, 3)), x=x), interaction, **more), (0, 1), h=1.0)


def push(t, x, Q, force, torque, p):
    force -= 0.01 * x


def notes(page):
    return html.unescape(re.search(r"<footer>\s*<ul>(.*?)</ul>", page.html, re.DOTALL)[1])


def vertices(data, body=0):
    """Vertices of a body in body axes, in the units of positions."""
    group = next(group for group in data["groups"] if body in group["members"])
    return data["size"] * numbers(group["vertices"], -1, 3)


def test_a_box_is_drawn_and_positions_are_continuous(boxed):
    """The page wraps positions after interpolation; those in it begin in the box and do not jump."""
    data = data_of(boxed.view())
    assert data["box"] == [5.0, 6.0, 7.0]
    x = numbers(data["x"], len(boxed), 8, 3)
    assert (np.abs(x[0]) <= (2.5, 3.0, 3.5)).all()
    np.testing.assert_allclose(np.diff(x, axis=0), np.diff(boxed.x, axis=0), atol=1e-5)
    np.testing.assert_allclose(boxed.system.box.wrapped(x.astype(float)), boxed.wrapped, atol=1e-5)
    assert data["limits"] == [[-2.5, 2.5], [-3.0, 3.0], [-3.5, 3.5]]
    assert "leave it" not in notes(boxed.view())


def test_far_from_the_origin_positions_keep_their_digits(boxed):
    far = boxed.replaced(x=boxed.x + np.array([5e6, 0.0, 0.0]))
    x, near = (numbers(data_of(traj.view())["x"], len(boxed), 8, 3) for traj in (far, boxed))
    np.testing.assert_allclose(x, near, atol=1e-5)


def test_open_space_has_no_box():
    data = data_of(still(2, Field(push)).view())
    assert data["box"] is None
    assert all(low < 0 < high for low, high in data["limits"][1:])


def test_charts_of_a_box(boxed):
    """Angular momentum is not conserved in a box; rounding of the momentum does not look like a change."""
    _, momentum, _ = data_of(boxed.view())["charts"]
    assert [curve["name"] for curve in momentum["curves"]] == ["Px", "Py", "Pz"]
    assert max(np.abs(values(momentum, i)).max() for i in range(3)) < 1e-12
    assert momentum["range"][1] > 1e-9


def test_without_energy_there_is_the_kinetic_one():
    energy, _, _ = data_of(still(2, Field(push)).view())["charts"]
    assert [curve["name"] for curve in energy["curves"]] == ["kinetic"]


def test_texts_of_one_body():
    page = still(1, Field(push)).view()
    assert page.title == "1 rigid body"
    assert "<p>1 body that" in page.html


def test_bodies_that_leave_the_picture():
    traj = still(40, Field(push))
    x = traj.x.copy()
    x[1, 0] = 1e3
    assert "1 of 40 leave it" in notes(traj.replaced(x=x).view())


# Molecules


def far_apart(r, a, b, p):
    return 1e-3 / r


@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_sites_are_where_they_are(scale):
    """Balls around the sites in true proportion to distances: the mean of the vertices of each is its site."""
    sites = scale * BENT
    data = data_of(still(3, SitePotential(sites, far_apart)).view())
    points = vertices(data)
    radius = 0.32 * np.linalg.norm(sites[1] - sites[0])
    for site in sites:
        distances = np.linalg.norm(points - site, axis=1)
        assert np.sum(np.abs(distances - radius) < 1e-6) > 30
    assert data["labels"] == []


def test_small_molecules_are_magnified():
    traj = still(2, SitePotential(1e-3 * BENT, far_apart))
    page = traj.view()
    assert np.linalg.norm(vertices(data_of(page)), axis=1).max() == pytest.approx(1.5, rel=1e-6)
    assert "larger than" in notes(page)


@pytest.mark.filterwarnings("ignore:the energy of the system has changed")
def test_sites_of_sums_and_sites_at_one_place():
    """A molecule in a field has sites; a charge and a Lennard-Jones center at one place are one ball."""
    twice = Molecular(np.concatenate([BENT, BENT[:1]]), charges=(0, 1, 1, -2), sigma=1.0, epsilon=0.1)
    alone, summed = (data_of(still(2, interaction).view()) for interaction in (twice, twice + Field(push)))
    assert alone["groups"] == summed["groups"]
    once = data_of(still(2, SitePotential(BENT, far_apart)).view())
    np.testing.assert_array_equal(vertices(alone), vertices(once))


def test_one_site_is_a_ball():
    points = vertices(data_of(still(2, Molecular([(0, 0, 0)], epsilon=1e-3)).view()))
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.5, rtol=1e-6)


def test_kinds_of_bodies_have_their_colors():
    bodies = [BODY, ph.RigidBody((1, 1, 1), mass=1.0), BODY]
    data = data_of(still(3, Field(push), bodies).view())
    assert [group["members"] for group in data["groups"]] == [[0, 2], [1]]
    first, second = ({tuple(color) for color in numbers(group["colors"], -1, 3)} for group in data["groups"])
    assert not first & second


def test_dipoles_of_length_zero_are_not_shown():
    assert data_of(still(2, DipolarSoftSpheres((0, 0, 0))).view())["labels"] == []


# Times


def test_part_of_the_time(boxed):
    page = boxed.view(t_span=(1.0, 2.0), title="a part")
    t = numbers(data_of(page)["t"])
    np.testing.assert_array_equal(t, boxed.t[50:101])
    assert page.title == "a part"
    np.testing.assert_allclose(values(data_of(page)["charts"][0], 0), boxed.kinetic[50:101], rtol=1e-5)


@pytest.mark.parametrize(
    ("span", "message"),
    [
        ((2.0, 9.0), "times from 0 to 3"),
        ((1.001, 1.01), r"0 saved states from t = 1\.001 to 1\.01; expected at least two"),
        ((1.0,), "t_span"),
    ],
)
def test_times_that_do_not_fit(boxed, span, message):
    with pytest.raises(errors.InputError, match=message):
        boxed.view(t_span=span)


@pytest.mark.parametrize("states", [0, 1])
def test_too_few_states(boxed, states):
    with pytest.raises(errors.InputError, match=f"is {states}; expected at least two"):
        boxed[:states].view()


def test_lists(boxed):
    assert view([boxed]).title == "Boxed"
    with pytest.raises(errors.InputError, match="a system has a page of its own"):
        view([boxed, boxed])


# Files


def test_from_a_file(boxed):
    """The energy is stored; there are neither sites nor dipoles."""
    page = as_loaded(boxed).view()
    data = data_of(page)
    kinetic, potential, total = (values(data["charts"][0], i) for i in range(3))
    np.testing.assert_allclose(total, boxed.energy, rtol=1e-5)
    np.testing.assert_allclose(potential + kinetic, total, rtol=1e-5)
    assert data["labels"] == []
    assert data["box"] == [5.0, 6.0, 7.0]
    assert "DipolarSoftSpheres" in page.html


def test_command_line(boxed, tmp_path):
    boxed.save(tmp_path / "gas.nc")
    result = CliRunner().invoke(cli, ["view", str(tmp_path / "gas.nc"), "--title", "Gas", "--span", "1", "2"])
    assert result.output == f"view: {tmp_path / 'gas.html'}\n"
    text = (tmp_path / "gas.html").read_text(encoding="utf-8")
    assert "<h1>Gas</h1>" in text
    assert "51 frames" in text
