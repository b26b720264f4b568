"""Celledoni et al. 2008, Figure 3.10: RKN4_6b against RKN6_14a, 125 dipoles on a lattice, T = 10.

The printed lattice has the spacing 1; there both schemes blow up with the fewest evaluations here. The curves are those
of the spacing 2; errors at the printed spacing stand beside them.
"""

from __future__ import annotations

import numpy as np

from papers.celledoni2008_dipoles import BLOWN_UP, FLOWS, energy, energy_cost, panels, warm_up
from papers.celledoni2008_fig3_9 import lattice
from papers.experiment import Claim, Experiment, Report, beyond, trend
from polhode.core.arrays import FloatArray
from polhode.core.references import CELLEDONI_2008

SPACING, PRINTED_SPACING, SEED, T_END = 2.0, 1.0, 1, 10.0
FOURTH, SIXTH, NEWER = "RKN4_6b", "RKN6_14a", "RKN8_19"
BUDGETS = (420, 840, 1680, 3360, 6720)
LARGE = 3  # budgets with large steps
MORE = (*BUDGETS, 13440)


def run(full: bool, budgets: tuple[int, ...] | None = None) -> Report:
    """One run of each, as in the paper; shorter steps, too, if ``full``."""
    evaluations = budgets or (MORE if full else BUDGETS)
    system = lattice(SPACING, SEED)
    warm_up(system)
    costs = {
        (scheme, name): [energy_cost(system, scheme, flow, n, T_END) for n in evaluations]
        for scheme in (FOURTH, SIXTH, NEWER)
        for name, flow in FLOWS.items()
    }
    errors: dict[tuple[str, str], FloatArray] = {k: np.array([run.error for run in runs]) for k, runs in costs.items()}
    seconds = {key: np.array([run.seconds for run in runs]) for key, runs in costs.items()}
    fourth, sixth, newer = (errors[scheme, "RB"] for scheme in (FOURTH, SIXTH, NEWER))
    apart = [np.abs(np.log10(errors[scheme, "MR"] / errors[scheme, "RB"])) for scheme in (FOURTH, SIXTH)]
    large, small = float(np.max(np.array(apart)[:, :LARGE])), float(np.max(np.array(apart)[:, -1]))
    claims = (
        trend(
            f"errors of {SIXTH} and {FOURTH} with the largest step",
            "sharp increase for order 6: the step is too large",
            f"{sixth[0]:.1g} and {fourth[0]:.1g}",
            not sixth[0] <= 3 * fourth[0],
        ),
        trend(
            f"errors of {SIXTH} and {FOURTH} with {evaluations[-1]} evaluations",
            "order 6 is better with small steps",
            f"{sixth[-1]:.1e} and {fourth[-1]:.1e}",
            bool(sixth[-1] < fourth[-1]),
        ),
        trend(
            f"decades between errors with MR and RB, up to {evaluations[LARGE - 1]} evaluations, and with the most",
            "RB better only with very small steps",
            f"{large:.2f}, {small:.1f}",
            large < 0.1 and small > 0.3,
        ),
        _printed_lattice(evaluations),
        beyond(f"error of {NEWER} with {evaluations[-1]} evaluations", f"{newer[-1]:.1e}"),
    )
    at_printed = energy(lattice(PRINTED_SPACING, SEED))
    title = f"125 dipoles, T = 10, spacing {SPACING:g}, H0 = {energy(system):.0f} (printed 1: H0 = {at_printed:.0f})"
    return Report(claims, panels(title, evaluations, errors, seconds, NEWER))


def _printed_lattice(evaluations: tuple[int, ...]) -> Claim:
    system = lattice(PRINTED_SPACING, SEED)
    told = []
    for scheme in (SIXTH, FOURTH):
        errors = [energy_cost(system, scheme, FLOWS["RB"], n, T_END).error for n in evaluations]
        told.append(f"{scheme} {', '.join(f'{e:.0e}' if e < BLOWN_UP else 'blown up' for e in errors)}")
    return beyond(
        f"the printed spacing {PRINTED_SPACING:g}, H0 = {energy(system):.0f}: errors with "
        f"{', '.join(map(str, evaluations))} evaluations",
        "; ".join(told),
    )


EXPERIMENT = Experiment(CELLEDONI_2008, "Figure 3.10", "Dipoles on a lattice: order 4 against order 6", run)
