"""What Figures 3.8 to 3.10 of Celledoni et al. 2008 share: dipolar soft spheres, and what an energy error costs.

Masses 1, moments of water (1, 1.88, 2.88), dipoles (0, 1, 1), sigma = epsilon = 1 (section 3.4). RB is the exact free
flow, MR the three-rotation splitting. Schemes are compared at equal numbers of evaluations of all forces.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from papers.experiment import Curve, Panel
from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody
from polhode.core.errors import RunError
from polhode.core.rotation import matrix
from polhode.core.state import State
from polhode.flows.exact import Exact
from polhode.flows.flow import Flow
from polhode.flows.three_rotations import ThreeRotations
from polhode.methods.splitting import Splitting
from polhode.solve import integrate
from polhode.systems.interactions import DipolarSoftSpheres
from polhode.systems.system import System

WATER = RigidBody((1.0, 1.88, 2.88), mass=1.0)
INTERACTION = DipolarSoftSpheres((0.0, 1.0, 1.0))
FLOWS: dict[str, Flow] = {"RB": Exact(), "MR": ThreeRotations()}
BLOWN_UP = 100.0  # relative error of the energy
SCHEMES = ("V2", "S4_6", "RKN4_6b", "S6_10", "RKN6_14a")


Measured = dict[tuple[str, str], FloatArray]  # by scheme and flow


class Cost(NamedTuple):
    """Evaluations, largest relative error of the energy (nan if the run could not go on), and seconds."""

    evaluations: int
    error: float
    seconds: float


def at_rest(x: FloatArray, q: FloatArray, p: FloatArray | None = None) -> System:
    """Spheres that do not turn, at x (n, 3), with attitudes q (n, 4), and momenta p (n, 3) if they move."""
    return System(WATER, State(m=np.zeros_like(x), q=q, x=x, p=p), INTERACTION)


def energy(system: System) -> float:
    """Of the interaction, at the start."""
    x = system.state.x
    assert x is not None
    return INTERACTION.energy(0.0, x, matrix(system.state.q))


def energy_cost(system: System, scheme: str, flow: Flow, evaluations: int, t_end: float) -> Cost:
    """Of the run with about so many evaluations.

    >>> from polhode.systems.start import cubic_lattice, random_attitudes
    >>> cube = at_rest(cubic_lattice(2, 3.0), random_attitudes(8))
    >>> [energy_cost(cube, scheme, Exact(), 12, 1.0).error < 1e-6 for scheme in ("V2", "RKN4_6b")]
    [False, True]
    """
    method = Splitting(flow, scheme)
    steps = max(1, round(evaluations / method.scheme.torques_per_step))
    try:
        result = integrate(system, (0.0, t_end), method=method, h=t_end / steps)
    except RunError as failed:
        stats = failed.trajectory.stats
        return Cost(stats.torques, np.nan, stats.seconds)
    return Cost(result.stats.torques, float(np.abs(result.energy_error()).max()), result.stats.seconds)


def warm_up(system: System) -> None:
    """Load or compile what runs need: not a part of their time."""
    for flow in FLOWS.values():
        energy_cost(system, SCHEMES[0], flow, 1, 1e-3)


def panels(
    title: str, budgets: tuple[int, ...], errors: Measured, seconds: Measured, beyond: str = ""
) -> tuple[Panel, Panel]:
    """Errors (k,), by scheme and flow, over evaluations and over seconds; RB solid, MR dash-dotted.

    Runs that blew up are left out.
    """
    across: dict[str, Measured] = {
        "evaluations of all forces": dict.fromkeys(errors, np.array(budgets, dtype=float)),
        "seconds of a run, the fastest of all draws": seconds,
    }
    over_evaluations, over_time = (
        Panel(title, label, "largest |H/H0 - 1|", _curves(x, errors, beyond)) for label, x in across.items()
    )
    return over_evaluations, over_time


def _curves(x: Measured, errors: Measured, beyond: str) -> list[Curve]:
    shown = {key: np.where(values < BLOWN_UP, values, np.nan) for key, values in errors.items()}
    return [
        Curve(f"{scheme}, {flow}", x[scheme, flow], y, scheme == beyond, like="" if flow == "RB" else f"{scheme}, RB")
        for (scheme, flow), y in shown.items()
    ]
