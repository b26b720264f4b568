"""Gustafsson 2010, Figure 4: momentum and quaternion of the vessel, free, with buoyancy, and with damping, too.

Störmer-Verlet with Magnus of order 8, t from 0 to 15 s. The damped ship is also followed until it rests: buoyancy
rights it in roll and pitch, but nothing turns it back in yaw.
"""

from __future__ import annotations

import numpy as np

from papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, trend
from polhode.core.arrays import FloatArray
from polhode.core.references import GUSTAFSSON_2010
from polhode.flows.magnus import Magnus
from polhode.integration.problem import Problem
from polhode.integration.trajectory import Trajectory
from polhode.methods.adaptive import Adaptive
from polhode.methods.splitting import Splitting
from polhode.problems.vessel import AT_15, vessel
from polhode.solve import integrate

H = 0.1
AT_REST = 200.0  # s
FINEST = 1e-12  # rtol of what steps of H are compared with
METHOD = Splitting(Magnus(8), "V2_BAB")
SHIPS = {
    "free": vessel(damped=False, restoring=False),
    "with buoyancy": vessel(damped=False),
    "with buoyancy and damping": vessel(),
}


def run(full: bool) -> Report:
    """The paper's size always."""
    runs = {name: _followed(problem) for name, problem in SHIPS.items()}
    claims = [*_sizes(runs), *_period(), *_rest(runs["with buoyancy and damping"])]
    panels = [_panel(name, run, letter) for letter in "mq" for name, run in runs.items()]
    return Report(tuple(claims), tuple(panels))


def _followed(problem: Problem, t_end: float = 15.0) -> Trajectory:
    return integrate(problem, (0.0, t_end), method=METHOD, h=H)


def _sizes(runs: dict[str, Trajectory]) -> list[Claim]:
    width = {name: np.ptp(run.m, axis=0) for name, run in runs.items()}
    free, torqued = width["free"], width["with buoyancy"]
    damped = runs["with buoyancy and damping"]
    late = np.ptp(damped.m[damped.t > 10.0], axis=0)
    return [
        trend("free: m1 against m2 and m3", "m1 is quite stable, the others oscillate strongly",
              f"widths {_shown(free)}", bool(free[0] < 0.1 * free[1:].min())),
        trend("with buoyancy: m2 and m3", "smaller amplitudes than free, which stay",
              f"widths {_shown(torqued)}", bool((torqued[1:] < free[1:]).all() and torqued[1:].min() > 0.3 * free[1])),
        trend("with damping", "oscillations become feebler",
              f"widths {_shown(width['with buoyancy and damping'])}, after t = 10 {_shown(late)}",
              bool((late[1:] < 0.3 * torqued[1:]).all())),
    ]  # fmt: skip


def _period() -> list[Claim]:
    period = float(SHIPS["free"].free_motion().period)
    return [
        trend("period of the oscillations", "close to 15 s", f"{period:.2f} s for m of the free ship",
              abs(period - 15.0) < 1.5, note="the torqued motions are not periodic; 15 s is the length of the figure")
    ]  # fmt: skip


def _rest(run: Trajectory) -> list[Claim]:
    rest = _followed(SHIPS["with buoyancy and damping"], AT_REST)
    q = rest.q[-1]
    heading = np.degrees(2.0 * np.arctan2(abs(q[3]), abs(q[0])))
    tilt = np.degrees(2.0 * np.hypot(q[1], q[2]))
    off = float(np.linalg.norm(run.q[-1] - AT_15[True].q))
    finest = integrate(SHIPS["with buoyancy and damping"], (0.0, AT_REST), method=Adaptive(FINEST)).q[-1]
    true_heading = np.degrees(2.0 * np.arctan2(abs(finest[3]), abs(finest[0])))
    return [
        trend("sign of q", "q comes close to -1: the attitude of the start, by the other quaternion",
              f"q0 = {run.q[-1, 0]:.3f} at t = 15", bool(run.q[-1, 0] < -0.95)),
        trend("end of the damped motion", "q = (-1, 0), the original configuration",
              f"rests at q = ({q[0]:.4f}, {q[1]:.0e}, {q[2]:.0e}, {q[3]:.4f}): tilted by {tilt:.0e} degrees, heading "
              f"{heading:.1f} degrees off", bool(np.linalg.norm(q + [1.0, 0.0, 0.0, 0.0]) < 1e-2),
              note="buoyancy rights roll and pitch; in yaw there is damping only, and the ship stays where it stopped"),
        beyond(f"the same end by Adaptive({FINEST:g})", f"q0 = {finest[0]:.5f}, q3 = {finest[3]:.5f}, heading "
               f"{true_heading:.3f} degrees off"),
        beyond("error of q at t = 15 of the damped run", f"{off:.1e}"),
    ]  # fmt: skip


def _panel(name: str, run: Trajectory, letter: str) -> Panel:
    values = run.m if letter == "m" else run.q
    first = 1 if letter == "m" else 0
    curves = [Curve(f"{letter}{first + i}", run.t, column) for i, column in enumerate(values.T)]
    return Panel(name, "t [s]", f"{letter}{' [kg m²/s]' if letter == 'm' else ''}", curves, log="")


def _shown(values: FloatArray) -> str:
    return ", ".join(f"{x:.1e}" for x in values)


EXPERIMENT = Experiment(GUSTAFSSON_2010, "Figure 4", "A ship: free, righted by buoyancy, damped", run)
