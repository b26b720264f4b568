"""Celledoni et al. 2008, Figures 3.6 and 3.7: the satellite on [0, 400] by RKN6_14a, with exact and MR free flow.

What Figure 3.7 shows can be read in two ways: the text says that MR takes the place of the flow of T, that is RKN6_14a
with MR; the caption says "the splitting method MR", and Phi_MR of section 3.3 is Störmer-Verlet with MR, V2 + MR. The
spheres are those of the first reading; errors of the energy are computed for both.
"""

from __future__ import annotations

import numpy as np

from papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, number, trend
from polhode.core.references import CELLEDONI_2008
from polhode.flows.exact import Exact
from polhode.flows.three_rotations import ThreeRotations
from polhode.integration.trajectory import Trajectory
from polhode.methods.splitting import Splitting
from polhode.problems.satellite import satellite
from polhode.solve import integrate

STEPS = (0.1, 0.05)
SCHEME, NEWER = "RKN6_14a", "ABA1064"  # 14 and 8 torques per step
CAPTION = "V2 + MR"  # Phi_MR
METHODS = {
    "RB": Splitting(Exact(), SCHEME),
    "MR": Splitting(ThreeRotations(), SCHEME),
    CAPTION: Splitting(ThreeRotations(), "V2"),
    NEWER: Splitting(Exact(), NEWER),
}
PUBLISHED = {0.1: -7, 0.05: -10}  # decades of the relative error of the energy
EVERY = 4  # of the steps are drawn


def run(full: bool, t_end: float = 400.0) -> Report:
    """The paper's size always: a few seconds."""
    problem = satellite(t_end)
    runs = {(name, h): integrate(problem, method=method, h=h) for name, method in METHODS.items() for h in STEPS}
    worst = {key: _largest(trajectory) for key, trajectory in runs.items()}
    claims = [number("energy H0", "1.21595664e7", float(runs["RB", 0.1].energy[0]))]
    claims += [_decade(worst["RB", h], h) for h in STEPS]
    claims += [
        trend(
            f"largest relative error of the energy with MR, h = {h:g}",
            "larger than with RB (Figure 3.7)",
            f"{worst['MR', h]:.1e}, {worst['MR', h] / worst['RB', h]:.0e} times that of RB",
            worst["MR", h] > 10 * worst["RB", h],
        )
        for h in STEPS
    ]
    claims += [
        trend(
            f"the same by the caption's reading, {CAPTION}, h = {h:g}",
            "larger than with RB (Figure 3.7)",
            f"{worst[CAPTION, h]:.1e}, {worst[CAPTION, h] / worst['RB', h]:.0e} times that of RB",
            worst[CAPTION, h] > 10 * worst["RB", h],
        )
        for h in STEPS
    ]
    claims += [
        beyond(f"largest relative error of the energy, {NEWER} + Exact(), h = {h:g}", f"{worst[NEWER, h]:.1e}")
        for h in STEPS
    ]
    claims.append(
        beyond(
            f"torques of {NEWER} and of {SCHEME}",
            " and ".join(str(runs[name, 0.1].stats.torques) for name in (NEWER, "RB")),
        )
    )
    panels = [
        *(_axis(runs["RB", h], "RB", h) for h in STEPS),
        _energy("Figure 3.6: energy", {key: run for key, run in runs.items() if key[0] in ("RB", NEWER)}),
        *(_axis(runs["MR", h], "MR", h) for h in STEPS),
        _energy("Figure 3.7: energy", {key: run for key, run in runs.items() if key[0] in ("MR", CAPTION)}),
    ]
    return Report(tuple(claims), tuple(panels))


def _largest(trajectory: Trajectory) -> float:
    return float(np.abs(trajectory.energy_error()).max())


def _decade(error: float, h: float) -> Claim:
    decade = PUBLISHED[h]
    return trend(
        f"largest relative error of the energy with RB, h = {h:g}",
        f"of the order of 1e{decade}",
        f"{error:.2e}",
        abs(float(np.log10(error)) - decade) < 1,
    )


def _axis(trajectory: Trajectory, name: str, h: float) -> Panel:
    """Q^T e3, whose components the paper draws on the sphere; as many points for all steps."""
    every = round(STEPS[0] / h)
    u1, u2, u3 = trajectory.matrix[::every, 2, :].T
    return Panel(
        f"Qᵀe₃, {SCHEME} + {name}, h = {h:g}", "u1", "u2", [Curve("", u1, u2, z=u3)], z="u3", lines=False,
        equal=True, sphere=True,
    )  # fmt: skip


def _energy(title: str, runs: dict[tuple[str, float], Trajectory]) -> Panel:
    curves = [
        Curve(f"{_label(name)}, h = {h:g}", r.t[EVERY::EVERY], np.abs(r.energy_error())[EVERY::EVERY], name == NEWER)
        for (name, h), r in runs.items()
    ]
    return Panel(title, "t", "|H/H0 - 1|", curves, log="y")


def _label(name: str) -> str:
    return f"{SCHEME} + {name}" if name in ("RB", "MR") else name


EXPERIMENT = Experiment(CELLEDONI_2008, "Figures 3.6, 3.7", "Satellite: energy with exact and with MR free flow", run)
