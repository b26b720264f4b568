"""Celledoni et al. 2008, Figures 3.6 and 3.7: the satellite on [0, 400] by RKN6_14a, with exact and MR free flow."""

from __future__ import annotations

import numpy as np

from polhode.flows.exact import Exact
from polhode.flows.three_rotations import ThreeRotations
from polhode.integration import integrate
from polhode.methods.splitting import Splitting
from polhode.papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, number, trend
from polhode.problems.satellite import satellite
from polhode.references import CELLEDONI_2008
from polhode.trajectory import Trajectory

STEPS = (0.1, 0.05)
SCHEME, NEWER = "RKN6_14a", "ABA1064"  # 14 and 8 torques per step
METHODS = {
    "RB": Splitting(Exact(), SCHEME),
    "MR": Splitting(ThreeRotations(), SCHEME),
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
        beyond(f"largest relative error of the energy, {NEWER} + Exact(), h = {h:g}", f"{worst[NEWER, h]:.1e}")
        for h in STEPS
    ]
    claims.append(
        beyond(
            f"torques of {NEWER} and of {SCHEME}",
            " and ".join(str(runs[name, 0.1].stats.torques) for name in (NEWER, "RB")),
        )
    )
    panels = [_axis(runs["RB", 0.1], "RB"), _axis(runs["MR", 0.1], "MR"), _energy(runs)]
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


def _axis(trajectory: Trajectory, name: str) -> Panel:
    """Q^T e3, whose components the paper draws on the sphere."""
    u1, u2, u3 = trajectory.matrix[:, 2, :].T
    return Panel(
        f"{SCHEME} + {name}, h = 0.1", "u1", "u2", [Curve("u", u1, u2, z=u3)], z="u3", lines=False,
        equal=True,
    )  # fmt: skip


def _energy(runs: dict[tuple[str, float], Trajectory]) -> Panel:
    curves = [
        Curve(f"{name}, h = {h:g}", r.t[EVERY::EVERY], np.abs(r.energy_error())[EVERY::EVERY], name == NEWER)
        for (name, h), r in runs.items()
    ]
    return Panel("relative error of the energy", "t", "|H/H0 - 1|", curves, log="y")


EXPERIMENT = Experiment(CELLEDONI_2008, "Figures 3.6, 3.7", "Satellite: energy with exact and with MR free flow", run)
