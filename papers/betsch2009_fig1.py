"""Betsch, Siebert 2009, Figure 1: a free body, what QUAT_EM conserves with a long step, and errors of four methods.

J = (6, 8, 3), w0 = (10, 20, 20); e = |Q_ref Q^T - 1| (Frobenius) at T = 1. The paper's reference is a run with
h = 1e-6, ours the exact motion. The values of the figure are not printed. The step h = 0.05 turns the body by 1.4 rad.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.betsch2009 import METHODS, conservation, equivariance, order_claim
from papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, trend
from papers.others import by_dop853
from polhode.core.arrays import FloatArray
from polhode.core.errors import RunError, StepError
from polhode.core.references import BETSCH_SIEBERT_2009
from polhode.core.rotation import matrix
from polhode.flows.exact import Exact
from polhode.flows.moser_veselov import MoserVeselov
from polhode.flows.three_rotations import NoSquish
from polhode.problems.free_body import free_body
from polhode.solve import integrate

LONG = 0.05
STEPS = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002, 0.0001)
EQUIVARIANT = 0.002
REFERENCE = 1e-6  # step of the paper's reference
FLOWS = {"DMV 4": MoserVeselov(4), "DMV 10": MoserVeselov(10), "NO_SQUISH": NoSquish(), "exact flow": Exact()}
DOP853_TOLERANCE = 1e-12


def run(full: bool) -> Report:
    """The paper's size always; the reference of the paper, a million steps, only if full."""
    body = free_body("betsch_siebert")
    truth = matrix(body.free_motion().q(1.0))
    errors = {name: np.array([_error(_after(method, h), truth) for h in STEPS]) for name, method in METHODS.items()}
    flows = {name: np.array([_error(_flown(flow, h), truth) for h in STEPS]) for name, flow in FLOWS.items()}
    long = integrate(body, method=METHODS["QUAT_EM"], h=LONG)
    kept, panel = conservation(long, np.linalg.norm(long.m_space, axis=-1), "|Q m|", "conserved")
    claims = [kept, _direction(long.m_space)]
    claims += [order_claim(name, STEPS, values) for name, values in errors.items()]
    claims.append(equivariance(body, None, EQUIVARIANT))
    at = STEPS.index(0.001)
    claims += [
        beyond("errors at h = 0.001", ", ".join(f"{name} {e[at]:.2e}" for name, e in (errors | flows).items())),
        beyond(f"h = {LONG}", f"QUAT_VI: {'no solution' if np.isnan(errors['QUAT_VI'][0]) else 'a solution'}; exact "
               f"flow off by {flows['exact flow'][0]:.0e}"),
        beyond(f"SciPy's DOP853, rtol {DOP853_TOLERANCE:g}",
               f"{_error(by_dop853(body, DOP853_TOLERANCE).q, truth):.0e}"),
    ]  # fmt: skip
    if full:
        off = _error(_after(METHODS["QUAT_EM"], REFERENCE), truth)
        claims.append(beyond(f"the paper's reference, QUAT_EM with h = {REFERENCE:g}", f"off by {off:.1e}"))
    curves = [Curve(name, STEPS, values) for name, values in errors.items()]
    curves += [Curve(name, STEPS, values, True) for name, values in flows.items()]
    return Report(tuple(claims), (panel, Panel("error of the attitude at T = 1", "step h", "|Q_ref Qᵀ - 1|", curves)))


def _after(method: Any, h: float) -> FloatArray | None:
    """q at T = 1, None if a step has no solution."""
    try:
        return np.asarray(integrate(free_body("betsch_siebert"), method=method, h=h, save_every=2**40).q[-1])
    except RunError:
        return None


def _flown(flow: Any, h: float) -> FloatArray | None:
    body = free_body("betsch_siebert")
    try:
        return np.asarray(flow.step(body.body, body.state, h, round(1.0 / h)).q)
    except StepError:
        return None


def _error(q: FloatArray | None, truth: FloatArray) -> float:
    return float("nan") if q is None else float(np.linalg.norm(truth @ matrix(q / np.linalg.norm(q)).T - np.eye(3)))


def _direction(m_space: FloatArray) -> Claim:
    off = float(np.abs(m_space - m_space[0]).max() / np.linalg.norm(m_space[0]))
    return trend("angular momentum in space, components", "conserved", f"change by {off:.0e}", off < 1e-12)


EXPERIMENT = Experiment(BETSCH_SIEBERT_2009, "Figure 1", "A free body: conservation and accuracy", run)
