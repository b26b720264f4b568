"""Pictures: what is drawn is what was computed."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode import errors, plot

BODIES = [(1.0, 2.0, 3.0), (3.0, 1.0, 1.2), (2.0, 0.9, 1.0)]


@pytest.fixture
def motion():
    return ph.free_motion((1, 2, 3), m=(0.1, 1, 0.05))


def test_figure(motion):
    figure = plot.plot_free_motion(motion, -20, 60, title="Turn", time_unit="s", samples=300)
    assert isinstance(figure, Figure)
    assert figure.get_suptitle() == "Turn"
    sphere, top, bottom = figure.axes
    assert bottom.get_xlabel() == "t [s]"
    t = np.linspace(-20, 60, 300)
    flips = motion.flips(-20, 60)
    assert len(flips) >= 2
    m = motion.m(t) / np.linalg.norm((0.1, 1, 0.05))
    for i in range(3):
        np.testing.assert_array_equal(top.lines[i].get_xdata(), t)
        np.testing.assert_allclose(top.lines[i].get_ydata(), m[:, i], atol=1e-14, rtol=0)
    for i in range(4):
        np.testing.assert_array_equal(bottom.lines[i].get_ydata(), motion.q(t)[:, i])
    for axes, curves in ((top, 3), (bottom, 4)):
        np.testing.assert_array_equal([line.get_xdata()[0] for line in axes.lines[curves:]], flips)
    np.testing.assert_allclose(np.stack(sphere.lines[-1].get_data_3d(), axis=-1), m, atol=1e-14, rtol=0)
    assert len(sphere.lines) == 5  # four arcs of the separatrix, one polhode


def test_a_motion_without_flips_can_be_drawn():
    figure = plot.plot_free_motion(ph.free_motion((1, 2, 3), m=(0, 1, 0)), 0, 5, samples=10)
    assert len(figure.axes[1].lines) == 3
    assert figure.axes[2].get_xlabel() == "t"


@pytest.mark.parametrize("inertia", BODIES)
@pytest.mark.parametrize("turned", [False, True])
def test_separatrices_lie_on_the_separatrix(inertia, turned):
    """|m| = 1 and 2T I2 = |m|^2, from one end of the middle axis to the other, one arc in each of four sectors."""
    axes = Rotation.from_rotvec((0.4, -0.7, 1.1)).as_matrix() if turned else np.eye(3)
    body = ph.RigidBody(axes @ np.diag(inertia) @ axes.T) if turned else ph.RigidBody(inertia)
    arcs = plot._separatrices(ph.free_motion(body, m=(1, 1, 1)))
    assert len(arcs) == 4
    order = np.argsort(inertia)
    sectors = set()
    for arc in arcs:
        m = arc @ axes  # principal components
        np.testing.assert_allclose(np.linalg.norm(m, axis=-1), 1, atol=1e-13, rtol=0)
        np.testing.assert_allclose(np.sum(m * m / inertia, axis=-1) * inertia[order[1]], 1, atol=1e-11, rtol=0)
        low, middle, high = m[:, order].T
        assert abs(middle[0]) > 0.999  # it starts and ends at the poles
        assert abs(middle[-1]) > 0.999
        assert middle[0] * middle[-1] < 0
        assert np.abs(np.diff(middle)).max() < 0.1  # and is drawn smoothly
        assert len({*np.sign(low)}) == len({*np.sign(high)}) == 1
        sectors.add((np.sign(low[0]), np.sign(high[0])))
    assert len(sectors) == 4


def test_a_batch_is_refused():
    batch = ph.free_motion((1, 2, 3), m=np.ones((4, 3)))
    with pytest.raises(errors.InputError, match=r"batch \(4,\): plot motion\[i\]"):
        plot.plot_free_motion(batch, 0, 1)


def test_bodies_without_a_polhode_are_refused():
    with pytest.raises(errors.InputError, match="rest"):
        plot.plot_free_motion(ph.free_motion((1, 2, 3), m=(0, 0, 0)), 0, 1)
    with pytest.raises(errors.InputError, match="equal"):
        plot.plot_free_motion(ph.free_motion((1, 1, 3), m=(1, 0, 1)), 0, 1)
    with pytest.raises(errors.InputError, match="finite"):
        plot.plot_free_motion(ph.free_motion((1, 2, 3), m=(1, 0, 1)), 0, np.nan)


def test_without_matplotlib(motion, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(errors.MissingExtraError, match=r"needs matplotlib.*pip install 'polhode\[plot\]'") as caught:
        plot.plot_free_motion(motion, 0, 1)
    assert isinstance(caught.value, ph.PolhodeError)
    assert isinstance(caught.value, ImportError)
