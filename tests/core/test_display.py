"""What a notebook, and a script with ``plt.show()``, show of results: pictures once, and short tables."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import polhode as ph
from polhode.core.html import html_fields
from polhode.show.plot.style import save_figure

plt = pytest.importorskip("matplotlib.pyplot")

START = """
import polhode as ph
traj = ph.integrate(ph.problems.heavy_top(), method="V2", h=0.5)
motion = ph.free_motion((1.0, 2.0, 3.0), omega=(0.01, 5.0, 0.01))
"""
CELLS = {
    START: [],
    "traj.plot()": ["image/png"],
    "figure = motion.plot(0, 5)": ["image/png"],
    "figure": ["image/png"],
    "motion.plot(0, 1); traj.plot('errors')": ["image/png", "image/png"],
    "traj": ["text/html"],
    "motion": ["text/html"],
}


def richest(data):
    return next((kind for kind in ("image/png", "text/html") if kind in data), "text/plain")


@pytest.mark.long
def test_a_notebook(monkeypatch):
    monkeypatch.delenv("MPLBACKEND", raising=False)  # a notebook sets its own
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS])
    nbclient.NotebookClient(book, kernel_name="python3").execute()
    shown = {cell.source: [richest(output.data) for output in cell.outputs] for cell in book.cells}
    assert shown == CELLS


@pytest.fixture(scope="module")
def results():
    body, state = (1.0, 1.65, 1.97), ph.State(m=(0.3, 0.2, 0.9))
    top = ph.problems.heavy_top()
    dipoles = ph.interactions.DipolarSoftSpheres((0.0, 1.0, 1.0))
    return {
        "RigidBody": ph.RigidBody(body, mass=2.0),
        "RigidBody of many": ph.RigidBody(np.ones((5, 3))),
        "Problem": top,
        "Problem, free": ph.Problem(body, state, name="<i>body</i>"),
        "Trajectory": ph.integrate(top, method="V2", h=0.5),
        "FreeMotion": ph.free_motion(body, state),
        "FreeMotion of many": ph.free_motion(np.full((5, 3), body), state),
        "System": ph.System.lattice(ph.RigidBody((1, 2, 3), mass=1), 2, 2.0, dipoles),
        "OrderStudy": ph.order_study(ph.Midpoint(), body, state, t=10.0, h=(0.1, 0.05, 0.025)),
        "WorkPrecision": ph.work_precision(top, ["V2", "RKN6_14a"], h=(0.5, 0.25)),
    }


def test_tables(results):
    for name, value in results.items():
        text = value._repr_html_()
        assert text.startswith("<table>"), name
        assert text.endswith("</table>"), name
        assert len(text) < 2000, name
    assert "(1, 1.65, 1.97)" in results["RigidBody"]._repr_html_()
    assert "<td>5</td>" in results["RigidBody of many"]._repr_html_()
    assert "&lt;i&gt;body&lt;/i&gt;" in results["Problem, free"]._repr_html_()
    assert "<i>" not in results["Problem, free"]._repr_html_()
    assert "<th>states</th><td>41</td>" in results["Trajectory"]._repr_html_()
    assert "around_max" in results["FreeMotion"]._repr_html_()
    assert "<td>8</td>" in results["System"]._repr_html_()
    assert "2.00" in results["OrderStudy"]._repr_html_()
    assert results["WorkPrecision"]._repr_html_().count("<tr>") == 5


def test_empty_texts_are_left_out():
    assert html_fields("a", {"b": "", "c": 0}) == "<table><caption>a</caption><tr><th>c</th><td>0</td></tr></table>"


def test_studies_as_data_frames(results):
    pytest.importorskip("pandas")
    study, precision = results["OrderStudy"], results["WorkPrecision"]
    frame = study.to_pandas()
    assert list(frame) == ["h", "error_m", "order_m", "error_q", "order_q"]
    np.testing.assert_array_equal(frame["error_q"], study.error_q)
    np.testing.assert_array_equal(frame["order_q"][1:], study.order_q)
    assert np.isnan(frame["order_q"][0])
    frame = precision.to_pandas()
    assert frame.shape == (4, 6)
    assert frame["method"][2] == "Splitting(Exact(), 'RKN6_14a')"
    np.testing.assert_array_equal(frame["torques"], [run.torques for run in precision.runs])


@pytest.mark.parametrize("name", ["Trajectory", "OrderStudy", "WorkPrecision", "FreeMotion"])
def test_pyplot_shows_what_was_plotted(results, name):
    before = plt.get_fignums()
    arguments = (0.0, 5.0) if name == "FreeMotion" else ()
    figure = results[name].plot(*arguments)
    (number,) = set(plt.get_fignums()) - set(before)
    assert plt.figure(number) is figure
    assert pickle.loads(pickle.dumps(figure)).axes
    figure.canvas.draw()


def test_files_leave_no_figures_open(tmp_path, results):
    before = plt.get_fignums()
    figure = results["Trajectory"].plot("errors")
    save_figure(figure, tmp_path / "errors.png", 50)
    assert (tmp_path / "errors.png").stat().st_size > 1000
    assert plt.get_fignums() == before
