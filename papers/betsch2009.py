"""What the figures of Betsch and Siebert 2009 share: their four methods, and the top in steady precession."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.experiment import Claim, Curve, Panel, trend
from polhode.core.arrays import FloatArray
from polhode.core.errors import RunError
from polhode.core.rotation import multiply, normalize
from polhode.core.state import State
from polhode.forces.base import Force
from polhode.integration.problem import Problem
from polhode.integration.trajectory import Trajectory
from polhode.methods.algo_c1 import AlgoC1
from polhode.methods.dir_em import DirEM
from polhode.methods.quat_em import QuatEM
from polhode.methods.quat_vi import QuatVI
from polhode.problems.gyro_top import LEVER, gyro_top, mass_center
from polhode.solve import integrate

METHODS = {"QUAT_EM": QuatEM(), "QUAT_VI": QuatVI(), "DIR_EM": DirEM(), "ALGO_C1": AlgoC1()}
UNIT = 1e-15
TURN = normalize((0.5, -0.1, 0.7, 0.3))  # of coordinates
KEPT = 1e-12  # what a method conserves changes by less, relative
NEAR = 0.1  # of an order


def top_run(method: Any, h: float) -> Trajectory:
    """The top of section 5.2, 1 s."""
    return integrate(gyro_top(), method=method, h=h)


def center(run: Trajectory) -> FloatArray:
    """The mass center, (k, 3)."""
    return LEVER * run.matrix[..., 2]


def off_the_circle(run: Trajectory) -> FloatArray:
    """Its distance from where it should be, relative to L, (k,)."""
    return np.linalg.norm(center(run) - mass_center(run.t), axis=-1) / LEVER


def error_at_1s(method: Any, h: float) -> float:
    """Relative error of the mass center; nan if a step has no solution."""
    try:
        return float(off_the_circle(top_run(method, h))[-1])
    except RunError:
        return float("nan")


def orders(steps: tuple[float, ...], errors: FloatArray) -> float:
    """The order observed between the two shortest steps."""
    return float(np.log(errors[-2] / errors[-1]) / np.log(steps[-2] / steps[-1]))


def order_claim(name: str, steps: tuple[float, ...], errors: FloatArray) -> Claim:
    """That it is 2."""
    found = orders(steps, errors)
    return trend(f"slope of {name}", "2 (in the figure, log-log)", f"{found:.2f}", abs(found - 2.0) < NEAR)


def equivariance(problem: Problem, turned_force: Force | None, h: float) -> Claim:
    """Whether a run in turned coordinates, of start and force, is the turned run, by all methods."""
    body, t_span, state = problem.body, problem.t_span, problem.state
    turned = Problem(body, State(state.m, multiply(TURN, state.q)), turned_force, t_span)
    apart = {}
    for name, method in METHODS.items():
        one, other = (integrate(each, method=method, h=h) for each in (problem, turned))
        apart[name] = float(np.abs(other.q - multiply(TURN, one.q)).max())
    told = ", ".join(f"{name} {off:.0e}" for name, off in apart.items())
    return trend(f"the four methods in turned coordinates, h = {h:g}: largest difference of q",
                 "SO(3)-equivariant (section 6)", told, max(apart.values()) < KEPT)  # fmt: skip


def conservation(run: Trajectory, momentum: FloatArray, what: str, published: str) -> tuple[Claim, Panel]:
    """Whether energy and a momentum (k,) stay, and a panel of both, relative to the start."""
    energy = run.energy_error()
    drift = momentum / momentum[0] - 1.0
    worst = float(np.abs(energy).max()), float(np.abs(drift).max())
    claim = trend(f"energy and {what}, h = {run.h:g}", published, f"change by {worst[0]:.0e}, {worst[1]:.0e}",
                  max(worst) < KEPT)  # fmt: skip
    values = [Curve("energy", run.t, energy / UNIT), Curve(what, run.t, drift / UNIT)]
    return claim, Panel(f"{what} and energy of QUAT_EM, h = {run.h:g}", "t", "relative change [10⁻¹⁵]", values, log="")


def coordinates(runs: dict[str, Trajectory]) -> tuple[Panel, ...]:
    """x(t) and z(t) of the mass center, with the closed form."""
    first = next(iter(runs.values()))
    times = np.linspace(0.0, float(first.t[-1]), 401)
    truth = mass_center(times)
    return tuple(
        Panel(f"{letter} of the mass center, h = {first.h:.4g}", "t [s]", f"{letter} [m]",
              [Curve("closed form", times, truth[:, i]),
               *(Curve(name, run.t, center(run)[:, i], name not in METHODS) for name, run in runs.items())], log="")
        for letter, i in (("x", 0), ("z", 2))
    )  # fmt: skip
