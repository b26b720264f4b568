"""Every script of the gallery runs, draws, and finds numbers that are known from elsewhere; so do the notebooks."""

from __future__ import annotations

import importlib.util
import json
import runpy
import subprocess
import sys

import numpy as np
import pytest
from mpmath import ellipk, mp, mpf
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from conftest import ROOT

pytestmark = pytest.mark.long

GALLERY, NOTEBOOKS = ROOT / "examples" / "gallery", ROOT / "examples" / "notebooks"
SCRIPTS = sorted(path.stem.removeprefix("plot_") for path in GALLERY.glob("plot_*.py"))


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a script of the gallery and return its names; it must print and draw."""
    plt = pytest.importorskip("matplotlib.pyplot")
    backend = plt.get_backend()
    plt.switch_backend("Agg")
    monkeypatch.setattr(plt, "show", lambda: None)

    def script(name):
        found = runpy.run_path(str(GALLERY / f"plot_{name}.py"), run_name="__main__")
        assert capsys.readouterr().out.strip()
        assert plt.get_fignums()
        for number in plt.get_fignums():
            plt.figure(number).canvas.draw()
        return found

    yield script
    plt.close("all")
    plt.switch_backend(backend)


def period_of_momentum(moments, omega):
    """Landau and Lifshitz, Mechanics, section 37: T = 4 K(k) sqrt(I1 I2 I3/((I3 - I2) (M^2 - 2 E I1)))."""
    order = np.argsort(moments)
    with mp.workdps(40):
        I1, I2, I3 = I = [mpf(float(x)) for x in np.asarray(moments)[order]]
        w = [mpf(float(x)) for x in np.asarray(omega)[order]]
        M2, E2 = sum((a * b) ** 2 for a, b in zip(I, w, strict=True)), sum(a * b * b for a, b in zip(I, w, strict=True))
        if M2 < E2 * I2:
            I1, I3 = I3, I1
        k2 = (I2 - I1) * (E2 * I3 - M2) / ((I3 - I2) * (M2 - E2 * I1))
        return float(4 * ellipk(k2) * mp.sqrt(I1 * I2 * I3 / ((I3 - I2) * (M2 - E2 * I1))))


def test_every_script_is_tested():
    assert {name.removeprefix("test_") for name in globals() if name.startswith("test_")} >= set(SCRIPTS)


def test_tennis_racket(run):
    found = run("tennis_racket")
    expected = period_of_momentum(found["motion"].body.moments, (10.0, 0.02, 0.0))
    assert found["period"] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(np.diff(found["flips"]), expected / 2, rtol=1e-12)
    assert found["longer"] == pytest.approx(2 * np.log(10) / found["growth"], rel=1e-9)


def test_polhodes(run):
    found = run("polhodes")
    assert found["crossing"] == pytest.approx(np.pi / 3)
    assert abs(found["counted"] - 1 / 3) < 4 * np.sqrt(2 / 9 / 200_000)  # standard deviations of a count
    # On every polhode both invariants stay.
    curves, start = found["curves"], found["motions"].initial.m
    np.testing.assert_allclose(np.sum(curves**2, axis=-1), 1, rtol=1e-13)
    energy = np.sum(curves**2 / (1, 2, 3), axis=-1)
    np.testing.assert_allclose(energy, np.broadcast_to(np.sum(start**2 / (1, 2, 3), axis=-1)[:, None], energy.shape))


def test_toutatis(run):
    found = run("toutatis")
    moments, omega = np.array(found["MOMENTS"]), found["OMEGA"]
    assert found["rotation"] == pytest.approx(period_of_momentum(moments, omega), rel=1e-12)
    assert abs(found["rotation"] - 5.38) < 0.03  # Zhao et al. 2015
    assert abs(found["precession"] - 7.40) < 0.03
    np.testing.assert_allclose(found["hudson_ostro"], (5.41, 7.35), rtol=1e-9)
    for line in (0.135, 0.271, 0.643):  # Mueller et al. 2000, per day
        assert np.abs(found["peaks"] - line).min() < 0.008
    attitude = Rotation.from_euler("ZXZ", found["ATTITUDE"], degrees=True)
    by_scipy = euler_equations(moments, moments * omega, attitude.as_quat(scalar_first=True), found["days"])
    gap = (found["motion"].rotation(found["days"]).inv() * by_scipy).magnitude()
    assert gap < 1e-9
    assert 5 < found["off"] < 10  # seven turns, with data of three digits


def euler_equations(moments, m, q, t):
    """The attitude after t, by SciPy."""

    def slope(_, y):
        w = y[:3] / moments
        a, v = y[3], y[4:]
        return [*np.cross(y[:3], w), -0.5 * v @ w, *(0.5 * (a * w + np.cross(v, w)))]

    y = solve_ivp(slope, (0, t), [*m, *q], method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    return Rotation.from_quat(y[3:], scalar_first=True)


def test_gravity_gradient(run):
    found = run("gravity_gradient")
    pendulum = [np.pi / (2 * float(ellipk(np.sin(a) ** 2))) for a in found["amplitudes"]]
    np.testing.assert_allclose(found["rates"] / found["textbook"], pendulum, rtol=1e-9)
    n = np.sqrt(3.986004418e14 / 6878137.0**3)
    assert found["textbook"] == pytest.approx(n * np.sqrt(3 * 80 / 110), rel=1e-12)


def test_heavy_top(run):
    found = run("heavy_top")
    # Turning points: roots of (1 - u^2) (alpha - beta u) - (b - a u)^2 for a top that is let go at u0.
    a, beta, u0 = 0.5 * 8.0, 2.0, np.cos(np.pi / 6)
    cubic = np.polysub(np.polymul([-1, 0, 1], [-beta, beta * u0]), np.polymul([-a, a * u0], [-a, a * u0]))
    u = np.roots(cubic).real
    lowest = np.degrees(np.arccos(u[np.abs(u) < u0 - 1e-6].max()))
    assert found["expected"] == pytest.approx(lowest, rel=1e-9)
    assert found["lowest"] == pytest.approx(lowest, abs=0.01)
    assert found["tilts"][1.05].max() < 0.3
    assert found["tilts"][0.95].max() == pytest.approx(np.degrees(np.arccos(2 * 0.95**2 - 1)), abs=0.05)


def test_chaos(run):
    found = run("chaos")
    assert found["kept"] < 1e-11
    assert found["regular"][-1] < 1e-7
    assert found["chaotic"][-1] > 1e-2
    for m, q in zip(found["traj"].m_events[0], found["traj"].q_events[0], strict=True):
        assert np.abs(m[:, 0]).max() < 1e-9  # in the plane of the section
        vertical = Rotation.from_quat(q, scalar_first=True).apply(m)[:, 2]
        np.testing.assert_allclose(vertical, 0.8, rtol=1e-11)


def test_ship(run):
    found = run("ship")
    I, D, k = 5.4782e9, 1e9, 6.3622e6 * 9.81 * 103.628
    assert found["measured_period"] == pytest.approx(2 * np.pi / np.sqrt(k / I - (D / (2 * I)) ** 2), rel=1e-3)
    assert found["gap"] < 2e-3 * np.abs(found["integrated"]).max()  # the linear equations hold for small angles
    assert found["lost"] < 1e-12


def test_water(run):
    found = run("water")
    assert 280 < found["temperature"].mean() < 315
    assert found["wander"] < 5e-3
    assert found["momentum"] < 1e-10
    assert 0.27 < found["first"] < 0.285  # SPC/E: 0.275 nm and about 3
    assert 2.6 < found["height"] < 3.3
    assert 4.0 < found["neighbors"] < 5.0


def test_debris(run):
    found = run("debris")
    hours = found["MINUTES"] / 60
    np.testing.assert_allclose(found["spread"][hours <= 4], found["linear"][hours <= 4], rtol=0.01)
    # Two of three small turns move the axis: the third is about it.
    assert found["spread"][0] == pytest.approx(0.01 * np.sqrt(2), rel=0.03)


def test_seven_integrators(run):
    found = run("seven_integrators")
    orders, drift = found["orders"], found["drift"]
    assert orders.pop(found["SPLITTING"]) == pytest.approx(6, abs=0.3)
    orders.pop(found["ADAPTIVE"])
    assert len(orders) == 5
    np.testing.assert_allclose(list(orders.values()), 2, atol=0.05)
    assert max(drift[found["SPLITTING"]].max(), drift["QuatEM"].max()) < 1e-12
    assert min(found["cost"], key=found["cost"].get) == found["SPLITTING"]


def test_engine_oracle(run):
    pytest.importorskip("mujoco")
    found = run("engine_oracle")
    assert [round(found["orders"][name], 1) for name in ("Euler", "implicit", "RK4")] == [1.0, 1.0, 4.0]
    assert found["last"]["RK4"][-1] < 1e-8  # degrees: engine and oracle agree


def test_without_the_engine_the_oracle_says_what_to_type():
    code = "import runpy, sys; sys.modules['mujoco'] = None; runpy.run_path(sys.argv[1], run_name='__main__')"
    command = [sys.executable, "-c", code, str(GALLERY / "plot_engine_oracle.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install mujoco" in done.stderr
    assert "Traceback" not in done.stderr


def make_notebooks():
    spec = importlib.util.spec_from_file_location("make_notebooks", NOTEBOOKS / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_notebooks_are_those_of_the_scripts():
    make = make_notebooks()
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == sorted(make.CHOSEN)
    for name in make.CHOSEN:
        source = (GALLERY / f"plot_{name}.py").read_text()
        assert (NOTEBOOKS / f"{name}.ipynb").read_text() == make.notebook(source), "type: python " + make.__file__
        code = [text for kind, text in make.cells(source) if kind == "code"]
        assert "\n".join(code).count("print(") == source.count("print(")  # no cell is lost


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # of Jupyter's own
@pytest.mark.parametrize("name", make_notebooks().CHOSEN)
def test_notebook_runs(name, monkeypatch):
    nbformat, nbclient = (pytest.importorskip(package) for package in ("nbformat", "nbclient"))
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    text = (NOTEBOOKS / f"{name}.ipynb").read_text()
    assert all(not cell["outputs"] for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")
    book = nbformat.reads(text, as_version=4)
    nbformat.validate(book)
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
