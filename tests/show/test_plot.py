"""Pictures: what is drawn is what was computed."""

from __future__ import annotations

import sys
from io import BytesIO

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode import errors, plot
from polhode.integration.invariants import drifts
from polhode.show.plot.sphere import separatrices

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


def test_crossings_of_a_wobble_are_not_marked_as_flips():
    figure = plot.plot_free_motion(ph.free_motion((1, 2, 3), omega=(5, 0.01, 0.01)), 0, 5, samples=10)
    assert len(figure.axes[1].lines) == 3


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
    arcs = separatrices(body)
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


def test_a_symmetric_body_has_neither_flips_nor_separatrices():
    sphere, top, _ = plot.plot_free_motion(ph.free_motion((1, 1, 3), m=(1, 0, 1)), 0, 20, samples=50).axes
    assert len(sphere.lines) == 1
    assert len(top.lines) == 3
    assert separatrices(ph.RigidBody((1, 1, 3))) == separatrices(ph.RigidBody((2, 2, 2))) == []


def test_bodies_without_a_polhode_are_refused():
    with pytest.raises(errors.InputError, match="rest"):
        plot.plot_free_motion(ph.free_motion((1, 2, 3), m=(0, 0, 0)), 0, 1)
    with pytest.raises(errors.InputError, match="finite"):
        plot.plot_free_motion(ph.free_motion((1, 2, 3), m=(1, 0, 1)), 0, np.nan)


def test_without_matplotlib(motion, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(errors.MissingExtraError, match=r"needs matplotlib.*pip install 'polhode\[plot\]'") as caught:
        plot.plot_free_motion(motion, 0, 1)
    assert isinstance(caught.value, ph.PolhodeError)
    assert isinstance(caught.value, ImportError)


# Trajectories


@pytest.fixture
def top():
    return ph.Problem(
        (1.0, 1.5, 2.0), ph.State(m=(0.3, 0.2, 0.9)), ph.forces.gravity(0.1, (0, 0, 1)), (0, 20), summary="A top",
        units={"t": "s", "omega": "rad/s", "m": "kg m^2/s", "energy": "J"},
    )  # fmt: skip


@pytest.fixture
def traj(top):
    return ph.integrate(top, method="RKN6_14a", h=0.01)  # closer than a picture needs: drawn as it is


def lines_of(axes, count):
    return np.stack([line.get_ydata() for line in axes.lines[:count]], axis=-1)


def test_overview(traj):
    figure = plot.plot_trajectory(traj)
    assert figure.get_suptitle() == "A top"
    sphere, plane, momentum, attitude, errors_ = figure.axes
    assert sphere.name == "3d"
    np.testing.assert_array_equal(lines_of(momentum, 3), traj.m)
    np.testing.assert_array_equal(lines_of(attitude, 4), traj.q)
    labels = [axes.get_xlabel() for axes in (plane, momentum, attitude, errors_)]
    assert labels == ["ω along e₁ [rad/s]", "t [s]", "t [s]", "t [s]"]
    assert "[kg m²/s]" in momentum.get_ylabel()


def test_errors_are_those_of_the_run(traj):
    (axes,) = plot.plot_errors(traj).axes
    assert axes.get_yscale() == "log"
    for line, (name, drift) in zip(axes.lines, drifts(traj).items(), strict=False):
        assert line.get_label() == name
        shown = np.interp(line.get_xdata(), traj.t, np.arange(len(traj)))
        assert np.array_equal(shown, np.round(shown))  # times of the run
        assert line.get_ydata().max() == max(np.abs(drift).max(), 2.0**-54)
    assert len(axes.lines) == 4  # |q|, energy, momentum along the axis, and the line at round-off


def test_a_peak_is_never_left_out(top):
    """Of 100001 states the picture shows 1000 stretches: a single bad state is still seen, where it was."""
    traj = ph.integrate(top, method="V2", h=2e-4)
    traj.q[70_001] *= 1 + 1e-7
    (axes,) = plot.plot_errors(traj).axes
    line = axes.lines[0]
    assert len(line.get_xdata()) <= 1001
    assert line.get_ydata().max() == pytest.approx(1e-7, rel=1e-6)
    assert line.get_xdata()[line.get_ydata().argmax()] == pytest.approx(14.0, abs=0.05)


def test_polhode_is_the_direction_of_the_momentum(traj):
    (axes,) = plot.plot_polhode(traj).axes
    drawn = np.stack(axes.lines[4].get_data_3d(), axis=-1)  # after four arcs of the separatrix
    np.testing.assert_allclose(drawn, traj.m / np.linalg.norm(traj.m, axis=-1, keepdims=True), atol=1e-15)


def test_herpolhode_of_a_torqued_body_is_seen_along_the_axis(traj):
    (axes,) = plot.plot_herpolhode(traj).axes
    omega = np.einsum("tij,tj->ti", traj.matrix, traj.m / (1.0, 1.5, 2.0))
    np.testing.assert_allclose(axes.lines[0].get_xydata(), omega[:, :2], atol=1e-14)  # up is e3, e1 along x
    assert "symmetry axis" in axes.get_title()


def test_herpolhode_of_a_free_body_is_that_of_poinsot():
    problem = ph.Problem((1, 2, 3), ph.State(m=(0.3, 1.0, 0.2)), t_span=(0, 30))
    traj = ph.integrate(problem, method="V2", h=0.01)
    (axes,) = plot.plot_herpolhode(traj).axes
    expected = ph.geometry.herpolhode(problem.free_motion(), traj.t)
    np.testing.assert_allclose(axes.lines[0].get_xydata(), expected, atol=1e-12)


def test_energy_is_drawn_in_parts(traj):
    (axes,) = plot.plot_energy(traj).axes
    np.testing.assert_allclose(lines_of(axes, 3), np.stack([traj.kinetic, traj.potential, traj.energy], -1), atol=1e-15)
    assert axes.get_ylabel() == "energy [J]"


def test_long_steps_are_drawn_smoothly(top):
    """Between the states of 20 long steps come others, from the same steps: they lie on the true curve."""
    traj = ph.integrate(top, method="RKN8_19", h=1.0)
    (axes,) = plot.plot_momentum(traj).axes
    t = axes.lines[0].get_xdata()
    np.testing.assert_allclose(t, np.linspace(0, 20, 1000))
    fine = ph.integrate(top, method="RKN8_19", h=0.1, t_eval=t)
    np.testing.assert_allclose(lines_of(axes, 3), fine.m, atol=1e-6)


def test_states_too_far_apart_are_dots(top):
    traj = ph.integrate(top, method="V2", h=1.0).replaced(sol=None)
    (axes,) = plot.plot_momentum(traj).axes
    assert axes.lines[0].get_linestyle() == "None"
    assert axes.lines[0].get_marker() == "."
    assert len(axes.lines[0].get_xdata()) == 21


def test_many_turns_are_cut(top):
    traj = ph.integrate(top, (0, 2000), method="V2", h=0.05)
    (axes,) = plot.plot_attitude(traj).axes
    assert axes.get_title(loc="left") == "first 30 turns"
    shown = axes.lines[0].get_xdata()
    radians = np.sum(np.linalg.norm(traj.omega, axis=-1)[: len(shown)]) * 0.05
    assert radians == pytest.approx(30 * 2 * np.pi, rel=0.01)


@pytest.mark.parametrize("shape", [(2,), (7,), (2, 3)])
def test_batches(top, shape):
    m = np.random.default_rng(1).normal(size=(*shape, 3))
    batch = ph.Problem(top.body, ph.State(m), top.force, (0, 5))
    traj = ph.integrate(batch, method="V2", h=0.002)
    figure = plot.plot_trajectory(traj)
    momentum, errors_ = figure.axes[2], figure.axes[-1]
    drawn = min(3, int(np.prod(shape)))
    assert len(momentum.lines) == 3 * drawn
    flat = traj.m.reshape(len(traj), -1, 3)
    for i in range(3):
        for body in range(drawn):
            np.testing.assert_array_equal(momentum.lines[drawn * i + body].get_ydata(), flat[:, body, i])
    assert ("first 3 of" in momentum.get_title(loc="left")) == (drawn < np.prod(shape))
    assert errors_.lines[1].get_ydata().max() == pytest.approx(np.abs(traj.energy_error()).max())
    assert len(errors_.collections) == 3  # from the median to the largest


def test_a_run_that_ended_early_can_be_drawn(top):
    def late(t, Q, w, p):
        return (0.0, 0.0, 1.0 / 0.0) if t > 3.0 else (0.0, 0.0, 0.1)

    problem = ph.Problem(top.body, top.state, ph.Torque(late), (0, 5))
    with pytest.raises(errors.RunError) as caught:
        ph.integrate(problem, method="V2", h=0.1)
    figure = plot.plot_trajectory(caught.value.trajectory)
    assert np.isfinite(lines_of(figure.axes[2], 3)[:25]).all()
    figure.savefig(BytesIO())


def test_a_body_at_rest_can_be_drawn():
    problem = ph.Problem((1, 2, 3), ph.State(m=(0, 0, 0)), t_span=(0, 5))
    plot.plot_trajectory(ph.integrate(problem, method="V2", h=0.1)).savefig(BytesIO())


def test_kinds(traj):
    assert set(plot.KINDS) == {"overview", "errors", "momentum", "attitude", "energy", "polhode", "herpolhode"}
    for kind, draw in plot.KINDS.items():
        draw(traj).savefig(BytesIO())
        if kind != "overview":
            assert len(draw(traj).axes) == 1
    with pytest.raises(errors.InputError, match="no picture is called 'error'; did you mean 'errors'"):
        plot.plot_trajectory(traj, ["error"])
    with pytest.raises(errors.InputError, match="kinds is empty"):
        plot.plot_trajectory(traj, [])


# Studies


def test_work_precision():
    found = ph.work_precision(ph.problems.vilmart_top(), ["V2", "S4_6"], h=(0.1, 0.05))
    by_torques, by_time = plot.plot_work_precision(found).axes
    for axes, cost in ((by_torques, "torques"), (by_time, "seconds")):
        for line, method in zip(axes.lines, ("V2", "S4_6"), strict=True):
            runs = found.of(method)
            assert line.get_label() == repr(runs[0].method)
            np.testing.assert_array_equal(line.get_xydata(), [(getattr(r, cost), r.error_q) for r in runs])
    assert by_time.get_xlabel().endswith("[s]")


def test_order():
    study = ph.order_study(ph.NoSquish(), (1, 2, 3), ph.State((1, 1, 1)), t=4.0, h=(0.4, 0.2, 0.1))
    (axes,) = plot.plot_order(study).axes
    for line, errors_ in zip(axes.lines, (study.error_m, study.error_q), strict=False):
        np.testing.assert_array_equal(line.get_xydata(), np.stack([study.h, errors_], axis=-1))
    guide = axes.lines[2].get_ydata()
    np.testing.assert_allclose(guide[:-1] / guide[1:], 4.0)  # order 2
    exact = ph.order_study(ph.Exact(), (1, 2, 3), ph.State((1, 1, 1)), t=4.0, h=(0.4, 0.2))
    assert len(plot.plot_order(exact).axes[0].lines) == 2


def test_colors_are_told_apart():
    """By people who see no red or no green: simulated (Vienot, Brettel and Mollon 1999), all pairs differ."""
    from matplotlib.colors import to_rgb

    from polhode.show.plot.style import SERIES

    seen = {
        "protanopia": [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]],
        "deuteranopia": [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]],
    }
    for matrix in seen.values():
        colors = np.array([to_rgb(color) for color, _ in SERIES]) ** 2.2 @ np.array(matrix).T
        distances = [np.linalg.norm(a - b) for i, a in enumerate(colors) for b in colors[:i]]
        assert min(distances) > 0.04
    assert len({marker for _, marker in SERIES}) == len(SERIES)
