"""Pictures of systems: what is drawn is what was computed."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

import polhode as ph
from polhode import errors, plot
from polhode.systems.interactions import DipolarSoftSpheres, Field
from stored_systems import as_loaded

BODY = ph.RigidBody((1.0, 1.88, 2.88), mass=2.0)
DIPOLES = DipolarSoftSpheres((0, 1, 1))
NEAR = DipolarSoftSpheres((0, 1, 1), cutoff=2.4)
ROUND_OFF = 2.0**-54  # the least error that is drawn


def lattice(side, interaction=DIPOLES, t_end=0.4, spacing=2.0, **more):
    system = ph.System.lattice(BODY, side, spacing, interaction, kT=0.3, seed=1, **more)
    return ph.integrate(system, (0, t_end), method="V2", h=0.02)


@pytest.fixture(scope="module")
def gas():
    return lattice(2, name="gas")


@pytest.fixture(scope="module")
def boxed():
    """8 bodies that leave their box, whose edges differ."""
    system = ph.System.lattice(BODY, 2, 2.5, NEAR, kT=4.0, seed=1, box=(5.0, 6.0, 7.0))
    return ph.integrate(system, (0, 3), method="V2", h=0.02)


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def ydata(axes):
    return {line.get_label(): line.get_ydata() for line in axes.lines}


def test_overview(gas):
    figure = gas.plot()
    assert isinstance(figure, Figure)
    assert figure.number in pyplot.get_fignums()  # pyplot.show() shows it
    assert hasattr(figure, "_ipython_display_")  # and a notebook, once
    assert figure.get_suptitle().startswith("gas: 8 bodies")
    space, energy, temperature, errors_ = figure.axes
    assert space.name == "3d"
    assert [axes.get_xlabel() for axes in (energy, temperature, errors_)] == ["t"] * 3
    shown = ydata(energy)
    kinetic = 0.5 * np.sum(gas.p**2, axis=(1, 2)) / 2.0 + 0.5 * np.sum(gas.m**2 / (1.0, 1.88, 2.88), axis=(1, 2))
    np.testing.assert_allclose(shown["kinetic"], kinetic, rtol=1e-13)
    np.testing.assert_allclose(shown["potential"], gas.potential, rtol=1e-13)
    np.testing.assert_allclose(shown["total"], kinetic + gas.potential, rtol=1e-13)
    shown = ydata(temperature)
    np.testing.assert_allclose(shown["of translation"], np.sum(gas.p**2, axis=(1, 2)) / 2.0 / 24, rtol=1e-13)
    np.testing.assert_allclose(shown["of rotation"], gas.temperature_rotation, rtol=1e-13)


def test_errors(gas):
    """Energy relative to that at the start, momenta relative to the sum over bodies of their lengths."""
    p = gas.p.copy()
    p[7, 0] += 1e-3, 0.0, 0.0
    bent = gas.replaced(p=p)
    (axes,) = bent.plot("errors").axes
    assert axes.get_yscale() == "log"
    shown = ydata(axes)
    np.testing.assert_array_equal(shown["energy"], np.maximum(np.abs(bent.energy_error()), ROUND_OFF))
    lengths = np.linalg.norm(bent.p, axis=-1).sum(axis=1)
    assert shown["momentum"].argmax() == 7
    assert shown["momentum"][7] == pytest.approx(1e-3 / lengths.max(), rel=1e-10)
    assert shown["angular momentum"].argmax() == 7
    size = np.linalg.norm(np.cross(bent.x, bent.p) + bent.m_space, axis=-1).sum(axis=1).max()
    moved = np.linalg.norm(np.cross(gas.x[7, 0], (1e-3, 0, 0)))
    assert shown["angular momentum"][7] == pytest.approx(moved / size, rel=1e-8)
    assert np.delete(shown["momentum"], 7).max() < 1e-14


def test_paths_of_few_bodies(gas):
    (axes,) = gas.plot("space").axes
    paths = [np.stack(line.get_data_3d(), axis=-1) for line in axes.lines]
    for body in range(8):
        np.testing.assert_array_equal(paths[2 * body], gas.x[:, body])
        np.testing.assert_array_equal(paths[2 * body + 1], gas.x[-1:, body])  # where it ends
    low, high = np.array([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()]).T
    assert (gas.x.min(axis=(0, 1)) > low).all()
    assert (gas.x.max(axis=(0, 1)) < high).all()
    np.testing.assert_allclose(high - low, (high - low)[0])  # lengths are comparable


def test_paths_in_a_box_do_not_streak(boxed):
    """A path that leaves the box ends, and begins again at the other side; edges of the box are drawn."""
    assert (np.abs(boxed.x) > (2.5, 3, 3.5)).any()
    (axes,) = boxed.plot("space").axes
    edges, *paths = (np.stack(line.get_data_3d(), axis=-1) for line in axes.lines)
    for body in range(8):
        path = paths[2 * body]
        inside = path[np.isfinite(path).all(axis=1)]
        np.testing.assert_array_equal(inside, boxed.wrapped[:, body])
        steps = np.abs(np.diff(path, axis=0))
        assert np.nanmax(steps) < 1.0
    assert sum(np.isnan(path).any() for path in paths) > 3
    corners = np.unique(edges[np.isfinite(edges).all(axis=1)], axis=0)
    np.testing.assert_array_equal(np.abs(corners), [(2.5, 3.0, 3.5)] * 8)
    both = np.isfinite(edges[1:] + edges[:-1]).all(axis=1)
    drawn = {tuple(sorted(map(tuple, pair))) for pair in np.stack([edges[1:], edges[:-1]], axis=1)[both].tolist()}
    assert len(drawn) == 12
    assert all(np.count_nonzero(np.subtract(a, b)) == 1 for a, b in drawn)
    assert np.ptp([axes.get_zlim()]) / np.ptp([axes.get_xlim()]) == pytest.approx(7 / 5)


def test_angular_momentum_is_not_conserved_in_a_box(boxed):
    (axes,) = boxed.plot("errors").axes
    assert list(ydata(axes))[:-1] == ["energy", "momentum"]  # the last line is round-off
    assert ydata(axes)["momentum"].max() < 1e-13


def test_many_bodies_are_dots(gas):
    many = lattice(10, NEAR, t_end=0.02)
    space = many.plot("space").axes[0]
    assert not space.lines
    np.testing.assert_array_equal(np.stack(space.collections[0]._offsets3d, axis=-1), many.x[-1])
    assert "0.02" in space.get_title()
    assert len(lattice(2, spacing=2.1).plot("space").axes[0].lines) == 16  # few have paths


def pull(t, x, Q, force, torque, p):
    force -= x


@pytest.mark.parametrize("count", [1, 2])
def test_one_body_and_two(count):
    states = ph.State(m=np.full((count, 3), 0.3), x=[(0, 0, 0), (0, 0, 1.5)][:count], p=np.zeros((count, 3)))
    figure = ph.integrate(ph.System(BODY, states, DIPOLES), (0, 1), h=0.1).plot()
    assert f"{count} bod{'y' if count == 1 else 'ies'}" in figure.get_suptitle()
    figure.savefig(BytesIO())


def test_without_energy():
    traj = lattice(2, Field(pull, name="pull"))
    _, temperature, errors_ = traj.plot().axes
    assert list(ydata(temperature)) == ["of translation", "of rotation"]
    assert "energy" not in ydata(errors_)
    (energy,) = traj.plot("energy").axes
    assert list(ydata(energy)) == ["kinetic"]


def test_bodies_at_rest_without_energy():
    traj = lattice(2, Field(pull, energy=lambda t, x, Q, p: 0.0 * t, name="pull"))
    still = traj.replaced(p=0 * traj.p, m=0 * traj.m)
    figure = still.plot()
    assert (ydata(figure.axes[-1])["energy"] == ROUND_OFF).all()
    figure.savefig(BytesIO())


def test_one_state_is_seen(gas):
    figure = gas[:1].plot()
    for axes in figure.axes[1:]:
        assert all(line.get_marker() == "o" for line in axes.lines if len(line.get_xdata()) == 1)
    figure.savefig(BytesIO())
    with pytest.raises(errors.InputError, match="no states"):
        gas[:0].plot()


def late(t, x, Q, force, torque, p):
    if t > 0.3:
        raise ValueError("too late")


def test_a_run_that_ended_early():
    system = ph.System.lattice(BODY, 2, 2.0, DIPOLES + Field(late), kT=0.3, seed=1)
    with pytest.raises(errors.RunError) as caught:
        ph.integrate(system, (0, 1), h=0.1)
    figure = caught.value.trajectory.plot("temperature")
    assert "ended early" in figure.get_suptitle()
    assert len(figure.axes[0].lines[0].get_xdata()) == 4


def test_names(gas):
    with pytest.raises(errors.InputError, match="no picture is called 'eror'; did you mean 'errors'"):
        gas.plot("eror")
    with pytest.raises(errors.InputError, match=r"'polhode'.*space"):
        plot.plot_polhode(gas)
    assert list(ydata(plot.plot_energy(gas).axes[0])) == ["kinetic", "potential", "total"]
    assert len(plot.plot_trajectory(gas, ["temperature", "space"]).axes) == 2


def test_from_a_file(boxed):
    """The energy is stored; the interaction cannot be evaluated."""
    loaded = as_loaded(boxed)
    with pytest.raises(errors.InputError, match="only the name"):
        loaded.system.interaction.energy(0.0, boxed.x[0], boxed.matrix[0])
    figure = loaded.plot()
    assert len(figure.axes) == 4
    np.testing.assert_array_equal(ydata(figure.axes[1])["potential"], boxed.energy - boxed.kinetic)
