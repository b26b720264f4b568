"""Conserving and variational schemes against splittings with exact drifts: the tables of docs/conserving.md.

    python benchmarks/conserving.py

(a) What an accuracy costs: errors of q at the end, at about equal numbers of torques, found with ``ph.work_precision``.
(b) What is kept in a long run of the gyro top with steps that are too long to be accurate.
(c) Stiff forces: the energy after 1000 steps that are longer than the period of the fastest oscillation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import polhode as ph
from polhode import forces
from polhode.core.errors import RunError

METHODS: tuple[Any, ...] = (ph.QuatEM(), ph.QuatVI(), ph.DirEM(), ph.AlgoC1(), "V2", "RKN4_6b", "RKN6_14a")
BUDGETS = (500, 2000, 8000)  # torques
PROBLEMS = {
    "gyro top, 1 s": ph.problems.gyro_top,
    "Vilmart's top, T = 10": ph.problems.vilmart_top,
    "vessel, undamped, 15 s": lambda: ph.problems.vessel(damped=False),
    "gravity gradient (satellite), T = 10": lambda: ph.problems.satellite(t_end=10.0),
}


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |")


def head(*cells: object) -> None:
    row(*cells)
    row(*("---" for _ in cells))


def name_of(method: Any) -> str:
    return method if isinstance(method, str) else repr(method)


def torques_per_step(problem: ph.Problem, method: Any) -> float:
    """Of steps as short as those that are compared."""
    run = ph.integrate(problem, method=method, h=problem.duration / 2000, save_every=2000)
    return run.stats.torques / run.stats.steps


def work(problem: ph.Problem, method: Any, truth: ph.State) -> list[str]:
    """Error of q for each budget, and milliseconds for the last."""
    steps = [max(1, round(budget / torques_per_step(problem, method))) for budget in BUDGETS]
    runs = ph.work_precision(problem, [method], h=[problem.duration / n for n in steps], reference=truth).runs
    cells = [f"{run.error_q:.1e}" if np.isfinite(run.error_q) else "no solution" for run in runs]
    return [*cells, f"{1e3 * runs[-1].seconds:.2g}"]


def tables_of_work() -> None:
    for title, make in PROBLEMS.items():
        problem = make()
        truth = ph.integrate(problem, method="RKN8_19", h=problem.duration / 20000, save_every=20000).state()
        print(f"\n{title}: error of q")
        head("method", *(f"{budget} torques" for budget in BUDGETS), f"ms, {BUDGETS[-1]} torques")
        for method in METHODS:
            row(name_of(method), *work(problem, method, truth))


def table_of_long_runs() -> None:
    top = ph.problems.gyro_top(t_end=100.0)
    print("\nGyro top, 100 s: largest relative changes")
    head("method", "h", "energy", "momentum along the vertical")
    for method in METHODS:
        h = 0.007 if method == ph.QuatVI() else 0.01
        kept = ph.integrate(top, method=method, h=h).invariants()
        row(name_of(method), h, f"{kept['energy']:.0e}", f"{kept['m along axis']:.0e}")


def stiff(frequency: float, h: float) -> ph.Problem:
    tilt = ph.rotation.from_rotation_vector((1.0, 0.3, -0.2))
    state = ph.State((0.1, 0.2, 0.15), tilt)
    return ph.Problem((1.0, 1.3, 1.7), state, forces.spring(frequency**2), (0.0, 1000 * h))


def energy_change(problem: ph.Problem, method: Any, h: float) -> str:
    try:
        return f"{np.abs(ph.integrate(problem, method=method, h=h).energy_error()).max():.0e}"
    except RunError:
        return "no solution"


def table_of_stiff_forces() -> None:
    print("\nA stiff spring, 1000 steps: largest relative change of energy")
    products = (0.5, 1.5, 2.5, 5.0, 10.0)
    head("method", *(f"h times frequency {product:g}" for product in products))
    for method in METHODS:
        row(name_of(method), *(energy_change(stiff(10.0, p / 10.0), method, p / 10.0) for p in products))


if __name__ == "__main__":
    tables_of_work()
    table_of_long_runs()
    table_of_stiff_forces()
