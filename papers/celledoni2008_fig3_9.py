"""Celledoni et al. 2008, Figure 3.9: 125 dipoles on a lattice, from low to high energy; RB against MR. T = 1.

A 5 x 5 x 5 lattice whose places are perturbed by 1 %, random attitudes, no rotation; momenta of the two particles at
opposite corners bring the energy to its target. Steps of the basic scheme S6_10 are 1, 1/2, 1/4, 1/8: 10 to 80
evaluations for all schemes. The energies are readable in the figure alone. At the printed spacing of 1 that of the
interaction is already 1200 to 1320, and with 40 evaluations all schemes but V2 blow up in some draw, with 10 and 20 V2,
too: here low energies are those of wider lattices.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from papers.celledoni2008_dipoles import BLOWN_UP, FLOWS, SCHEMES, at_rest, energy, energy_cost, panels, warm_up
from papers.experiment import Claim, Experiment, Report, beyond, trend
from polhode.core.arrays import FloatArray
from polhode.core.references import CELLEDONI_2008
from polhode.systems.start import cubic_lattice, random_attitudes
from polhode.systems.system import System

SIDE, SHAKEN = 5, 0.01
TARGETS = {4.0: 3.0, 3.0: 6.0, 2.5: 15.0}  # spacing: energy, from low to high
LOW, *_, HIGH = TARGETS
BUDGETS = (10, 20, 40, 80)
RUNS, FEW = 100, 4
PRINTED_SPACING, PRINTED_RUNS = 1.0, 20
NEWER = "RKN8_19"
COMPARED = ("RKN4_6b", "S6_10", "RKN6_14a")

Errors = dict[tuple[str, str], FloatArray]


def run(full: bool, runs: int | None = None) -> Report:
    """The paper's 100 runs for each energy if ``full``, else 4."""
    count = runs or (RUNS if full else FEW)
    at_printed = [energy(lattice(PRINTED_SPACING, seed)) for seed in range(PRINTED_RUNS)]
    warm_up(lattice(LOW, 0))
    measured = {spacing: _measured(spacing, count) for spacing in TARGETS}
    found = {spacing: errors for spacing, (errors, _) in measured.items()}
    gains = {spacing: _gain(errors) for spacing, errors in found.items()}
    claims = (
        trend(
            f"error with MR relative to RB, H0 = {TARGETS[LOW]:g}, 80 evaluations, {', '.join(COMPARED)}",
            "RB better at low energies",
            f"{min(gains[LOW]):.0f} to {max(gains[LOW]):.0f}",
            min(gains[LOW]) > 3,
            note="V2 and S4_6 gain nothing: their own errors are larger than those of MR",
        ),
        trend(
            f"the same, H0 = {TARGETS[HIGH]:g}",
            "the error of the splitting T + V dominates",
            f"{min(gains[HIGH]):.2f} to {max(gains[HIGH]):.2f}",
            max(gains[HIGH]) < 1.5,
        ),
        _grows(found),
        _printed_lattice(at_printed),
        *(_newer(spacing, found[spacing]) for spacing in (LOW, HIGH)),
    )
    printed = f"printed {PRINTED_SPACING:g}: H0 = {min(at_printed):.0f} to {max(at_printed):.0f}"
    pairs = [
        panels(f"H0 = {target:g}, spacing {spacing:g} ({printed})", BUDGETS, *measured[spacing], NEWER)
        for spacing, target in TARGETS.items()
    ]
    return Report(claims, tuple(pair[i] for i in range(2) for pair in pairs))


def lattice(spacing: float, seed: int, target: float | None = None) -> System:
    """Particles 1 and 125 move toward each other, if the energy is to be ``target``."""
    shake = SHAKEN * spacing * np.random.default_rng(seed).normal(size=(SIDE**3, 3))
    x, q, p = cubic_lattice(SIDE, spacing) + shake, random_attitudes(SIDE**3, seed), np.zeros((SIDE**3, 3))
    if target is not None:
        missing = target - energy(at_rest(x, q))
        p[0] = sqrt(missing / 3)  # each of the two has half of it, and three equal components
        p[-1] = -p[0]
    return at_rest(x, q, p)


def _measured(spacing: float, count: int) -> tuple[Errors, Errors]:
    """Means over runs of errors, and seconds of the fastest run: the machine has other work, too."""
    systems = [lattice(spacing, seed, TARGETS[spacing]) for seed in range(count)]
    errors: Errors = {}
    seconds: Errors = {}
    for scheme in (*SCHEMES, NEWER):
        for name, flow in FLOWS.items():
            runs = [[energy_cost(system, scheme, flow, n, 1.0) for system in systems] for n in BUDGETS]
            errors[scheme, name] = np.array([np.mean([run.error for run in row]) for row in runs])
            seconds[scheme, name] = np.array([np.min([run.seconds for run in row]) for row in runs])
    return errors, seconds


def _printed_lattice(energies: list[float]) -> Claim:
    """What schemes do at the printed spacing, without target: its energy is already too high."""
    systems = [lattice(PRINTED_SPACING, seed) for seed in range(FEW)]
    survive = {n: [scheme for scheme in SCHEMES
                   if all(energy_cost(system, scheme, FLOWS["RB"], n, 1.0).error < BLOWN_UP for system in systems)]
               for n in BUDGETS}  # fmt: skip
    told = "; ".join(f"{n}: {', '.join(names) or 'none'}" for n, names in survive.items())
    return beyond(
        f"the printed spacing {PRINTED_SPACING:g}: energy at rest of {len(energies)} draws, and schemes that blow up "
        f"in none of {FEW}, by evaluations",
        f"{min(energies):.0f} to {max(energies):.0f}; {told}",
        note="so low energies need wider lattices than the printed one",
    )


def _gain(errors: Errors) -> list[float]:
    return [float(errors[scheme, "MR"][-1] / errors[scheme, "RB"][-1]) for scheme in COMPARED]


def _grows(found: dict[float, Errors]) -> Claim:
    low, high = (float(np.median([found[spacing][scheme, "RB"][-1] for scheme in SCHEMES])) for spacing in (LOW, HIGH))
    return trend(
        "error with RB at high energy relative to low, 80 evaluations, median over the schemes",
        "much higher",
        f"{high / low:.0e}",
        high > 100 * low,
    )


def _newer(spacing: float, errors: Errors) -> Claim:
    best = min(SCHEMES, key=lambda scheme: float(errors[scheme, "RB"][-1]))
    return beyond(
        f"error with 80 evaluations, H0 = {TARGETS[spacing]:g}, {NEWER} + RB",
        f"{errors[NEWER, 'RB'][-1]:.0e}; best of the paper's: {best} {errors[best, 'RB'][-1]:.0e}",
    )


EXPERIMENT = Experiment(
    CELLEDONI_2008, "Figure 3.9", "Dipoles on a lattice: exact free flow at low and high energy", run
)
