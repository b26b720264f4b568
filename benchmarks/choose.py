"""Which method for which torque: the tables of docs/choose.md, measured with ``ph.work_precision``.

    python benchmarks/choose.py

Errors of q at the end, at about equal numbers of torques; ``Adaptive`` is run with several tolerances, and the run that
comes nearest to the number of torques is shown, with that number. The last table is a system: a box of dipoles, of
which the relative error of the energy is shown, because its motion is chaotic.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import polhode as ph
from conserving import head, name_of, row, torques_per_step

BUDGETS = (250, 1000, 4000)  # torques
TOLERANCES = tuple(10.0 ** -(k / 2) for k in range(4, 28))


def pointing(t, Q, w, p):
    """A wheel that turns the body's third axis to the vertical, and brakes: u x e3 and -w."""
    return -p[0] * Q[2][1] - p[1] * w[0], p[0] * Q[2][0] - p[1] * w[1], -p[1] * w[2]


def controlled() -> ph.Problem:
    force = ph.Torque(pointing, params=(0.5, 0.2))
    return ph.Problem((1.0, 1.4, 0.8), omega=(0.5, -0.3, 1.0), q=(0.6, 0.8, 0, 0), force=force, t_span=(0, 20))


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "weak torque: heavy top, eps = 1e-3, T = 20": (
        lambda: ph.problems.heavy_top(eps=1e-3),
        ("V2", "S6_10", "RKN6_14a", "ABA82", "ABA864", "ABA1064"),
    ),
    "weak torque: satellite in a gravity gradient, T = 10": (
        lambda: ph.problems.satellite(t_end=10.0),
        ("V2", "S6_10", "RKN6_14a", "ABA82", "ABA864", "ABA1064"),
    ),
    "strong torque: Vilmart's top, T = 10": (
        ph.problems.vilmart_top,
        ("V2", "S6_10", "RKN4_6b", "RKN6_11b", "RKN6_14a", "RKN8_19", "ABA1064"),
    ),
    "damping: vessel, 15 s": (ph.problems.vessel, ("V2", "S4_6", "S6_10", "SS10_35")),
    "control by the angular velocity, T = 20": (controlled, ("V2", "S4_6", "S6_10")),
}


def of_splitting(problem: ph.Problem, method: Any, truth: ph.State) -> list[str]:
    per_step = torques_per_step(problem, method)
    steps = [max(1, round(budget / per_step)) for budget in BUDGETS]
    runs = ph.work_precision(problem, [method], h=[problem.duration / n for n in steps], reference=truth).runs
    return [f"{run.error_q:.0e}" if np.isfinite(run.error_q) else "fails" for run in runs]


def of_adaptive(problem: ph.Problem, truth: ph.State) -> list[str]:
    found = ph.work_precision(problem, [ph.Adaptive(rtol) for rtol in TOLERANCES], h=[1.0], reference=truth)
    runs = [min(found.runs, key=lambda run: abs(np.log(run.torques / budget))) for budget in BUDGETS]
    return [f"{run.error_q:.0e} ({run.torques})" for run in runs]


def truth_of(problem: ph.Problem) -> ph.State:
    velocity = problem.force.velocity_dependent
    known = problem.truth.get(problem.t_span[1])
    if known is not None:
        return known
    if velocity:
        return ph.integrate(problem, method=ph.Adaptive(2e-14)).state()
    return ph.integrate(problem, method="RKN8_19", h=problem.duration / 10000, save_every=10000).state()


def tables() -> None:
    for title, (make, methods) in CASES.items():
        problem = make()
        truth = truth_of(problem)
        print(f"\n**{title}**\n")
        head("error of q", *(f"{budget} torques" for budget in BUDGETS))
        for method in methods:
            row(name_of(method), *of_splitting(problem, method, truth))
        row("Adaptive (torques)", *of_adaptive(problem, truth))


def table_of_dipoles() -> None:
    dipoles = ph.interactions.DipolarSoftSpheres((0.0, 1.0, 1.0))
    body = ph.RigidBody((1.0, 1.88, 2.88), mass=1.0)
    gas = ph.System.lattice(body, 3, 2.0, dipoles, kT=0.5, seed=1)
    print("\n**27 dipoles that move and turn, T = 1: largest relative error of the energy**\n")
    budgets = (60, 240, 960)
    head("method", *(f"{budget} evaluations" for budget in budgets))
    for name in ("V2", "S4_6", "S6_10", "RKN4_6b", "RKN6_14a"):
        steps = [max(1, round(budget / ph.schemes.get(name).torques_per_step)) for budget in budgets]
        runs = [ph.integrate(gas, t_span=(0, 1), method=name, h=1 / n) for n in steps]
        row(name, *(f"{np.abs(run.energy_error()).max():.0e}" for run in runs))


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)  # negative kicks and damping: what it does is seen
    tables()
    table_of_dipoles()
