"""Which method for which torque: errors at about equal numbers of torques, for docs/choose.md.

    python benchmarks/choose.py

Errors of q at the end, against problems whose truth is known in more digits; ``Adaptive`` is run with several
tolerances, and the run that comes nearest to the number of torques is shown, with that number. The last table is a
system: a box of dipoles, of which the relative error of the energy is shown, because its motion is chaotic.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import polhode as ph
from conserving import head, row, torques_per_step
from truth import stored

Cell = tuple[float, int | None]
Table = tuple[str, str, tuple[int, ...], dict[str, list[Cell]]]
BUDGETS = (250, 1000, 4000)  # torques
TOLERANCES = tuple(10.0 ** -(k / 2) for k in range(4, 28))


def pointing(t, Q, w, p):
    """A wheel that turns the body's third axis to the vertical, and brakes: u x e3 and -w."""
    return -p[0] * Q[2][1] - p[1] * w[0], p[0] * Q[2][0] - p[1] * w[1], -p[1] * w[2]


def controlled() -> ph.Problem:
    force = ph.Torque(pointing, params=(0.5, 0.2))
    return ph.Problem((1.0, 1.4, 0.8), omega=(0.5, -0.3, 1.0), q=(0.6, 0.8, 0, 0), force=force, t_span=(0, 20))


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "Weak torque: heavy top, eps = 1e-3, T = 20": (
        lambda: ph.problems.heavy_top(eps=1e-3),
        ("V2", "S6_10", "RKN6_14a", "ABA82", "ABA864", "ABA1064", "PABA1264"),
    ),
    "Weak torque: satellite in a gravity gradient, T = 10 (260 radians turned)": (
        lambda: ph.problems.satellite(t_end=10.0),
        ("V2", "S6_10", "RKN6_14a", "ABA82", "ABA864", "ABA1064", "PABA1264"),
    ),
    "Strong torque: Vilmart's top, T = 10": (
        ph.problems.vilmart_top,
        ("V2", "S6_10", "RKN4_6b", "RKN6_11b", "RKN6_14a", "RKN8_19", "ABA1064"),
    ),
    "Damping: vessel, 15 s": (ph.problems.vessel, ("V2", "S4_6", "S6_10", "SS10_35")),
    "Control by the angular velocity, T = 20 (a torque that turns an axis to the vertical and brakes)": (
        controlled,
        ("V2", "S4_6", "S6_10"),
    ),
}


def of_splitting(problem: ph.Problem, method: Any, truth: ph.State) -> list[Cell]:
    """Error of q for each budget, NaN if the run fails."""
    per_step = torques_per_step(problem, method)
    steps = [max(1, round(budget / per_step)) for budget in BUDGETS]
    runs = ph.work_precision(problem, [method], h=[problem.duration / n for n in steps], reference=truth).runs
    return [(run.error_q, None) for run in runs]


def of_adaptive(problem: ph.Problem, truth: ph.State) -> list[Cell]:
    """The same, with the numbers of torques."""
    found = ph.work_precision(problem, [ph.Adaptive(rtol) for rtol in TOLERANCES], h=[1.0], reference=truth)
    runs = [min(found.runs, key=lambda run: abs(np.log(run.torques / budget))) for budget in BUDGETS]
    return [(run.error_q, run.torques) for run in runs]


def truth_of(problem: ph.Problem) -> ph.State:
    """As the problem tells it, or ``truth.py`` for the one that is no problem of the library."""
    known = problem.truth.get(problem.t_span[1])
    if known is not None:
        return known
    end = stored()["controlled"]["bodies"][0]["states"][-1]
    Q = np.array(end["Q"], float).reshape(3, 3)
    return ph.State(np.array(end["m"], float), Rotation.from_matrix(Q).as_quat(scalar_first=True))


def tables() -> Iterator[Table]:
    """Title, unit of the budgets, budgets, and by method the errors, with numbers of torques that differ from these."""
    warnings.simplefilter("ignore", UserWarning)  # negative kicks and damping: what it does is seen
    for title, (make, methods) in CASES.items():
        problem = make()
        truth = truth_of(problem)
        rows = {method: of_splitting(problem, method, truth) for method in methods}
        yield title, "torques", BUDGETS, {**rows, "Adaptive (torques)": of_adaptive(problem, truth)}
    yield table_of_dipoles()


def table_of_dipoles() -> Table:
    """Largest relative errors of the energy."""
    dipoles = ph.interactions.DipolarSoftSpheres((0.0, 1.0, 1.0))
    body = ph.RigidBody((1.0, 1.88, 2.88), mass=1.0)
    gas = ph.System.lattice(body, 3, 2.0, dipoles, kT=0.5, seed=1)
    budgets = (60, 240, 960)
    rows = {}
    for name in ("V2", "S4_6", "S6_10", "RKN4_6b", "RKN6_14a"):
        steps = [max(1, round(budget / ph.schemes.get(name).torques_per_step)) for budget in budgets]
        runs = [ph.integrate(gas, t_span=(0, 1), method=name, h=1 / n) for n in steps]
        rows[name] = [(float(np.abs(run.energy_error()).max()), None) for run in runs]
    return "27 dipoles that move and turn, T = 1: largest relative error of the energy", "evaluations", budgets, rows


def main() -> None:
    for title, unit, budgets, rows in tables():
        print(f"\n**{title}**\n")
        head("method", *(f"{budget} {unit}" for budget in budgets))
        for method, cells in rows.items():
            row(method, *(f"{error:.0e}" + (f" ({count})" if count else "") for error, count in cells))


if __name__ == "__main__":
    main()
