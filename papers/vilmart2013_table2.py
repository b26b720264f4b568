"""Vilmart 2013, Table 2: geometric properties of free rigid body integrators, entry by entry, as seen in doubles.

Order: errors at t = 6, halving the step. Invariants: the largest change of Q y, |y| and H in one step of random bodies.
Structure: the derivative of one step by difference quotients of order 6, in coordinates xi, mu: Q exp(hat xi), y + mu,

    Poisson     A hat(y0) A^T = hat(y1),  A = dy1/dy0
    symplectic  J^T Om(y1) J = Om(y0),    Om(y) = ((-hat(y), 1), (-1, 0))

A check mark holds if the defect is that of rounding or of the difference quotient, "no" if it is larger by far.
Jacobi's solution is ``Exact``; Algorithms 2 to 4 are corrected as docs/errata.md says.
"""

from __future__ import annotations

import numpy as np

from papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, number, trend
from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody
from polhode.core.references import VILMART_2013
from polhode.core.rotation import as_rotation, conjugate, from_rotation_vector, hat, multiply, rotate
from polhode.core.state import State
from polhode.ensembles import sampling
from polhode.flows.exact import Exact
from polhode.flows.flow import Flow
from polhode.flows.midpoint import Midpoint
from polhode.flows.moser_veselov import MoserVeselov
from polhode.flows.symmetric_rotation import SymmetricRotation
from polhode.flows.three_rotations import NoSquish
from polhode.studies.study import order_study

YES, NO = "yes", "no"
COLUMNS = ("Q y", "C(y)", "H(y)", "Poisson", "symplectic")
ALL = (YES,) * 5
TABLE: dict[str, tuple[Flow, str, tuple[str, ...]]] = {  # the printed entries, the order first
    "Jacobi's solution": (Exact(), "exact", ALL),
    "Symmetric+Rotation": (SymmetricRotation(), "2", (YES, YES, NO, YES, YES)),
    "RATTLE/DMV": (MoserVeselov(), "2", ALL),
    "Implicit midpoint": (Midpoint(), "2", (YES, YES, YES, NO, NO)),
    "Preprocessed DMV, p = 2": (MoserVeselov(4), "4", (YES, YES, YES, YES, NO)),
    "Preprocessed DMV, p = 3": (MoserVeselov(6), "6", (YES, YES, YES, YES, NO)),
    "Preprocessed DMV, p = 4": (MoserVeselov(8), "8", (YES, YES, YES, YES, NO)),
}
NEWER: dict[str, Flow] = {"Preprocessed DMV, p = 5": MoserVeselov(10), "NoSquish()": NoSquish()}
H, BODIES, SEED = 0.8, 500, 2013
MOMENTS, M0, Q0 = (1.0, 1.75, 2.75), (0.48, -0.6, 0.64), (0.5, 0.1, -0.7, 0.5)
T_END = 6.0
CENTRAL, SHIFT = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60, 0.005  # difference quotient at -3..3 shifts, of order 6
ROUNDING, QUOTIENT, BROKEN = 1e-14, 1e-11, 1e-9  # most that is rounding; that is the quotient's; least that is seen
TENTH = 0.1  # of an order
STEPS = (0.8, 0.4, 0.2, 0.1, 0.05)


def run(full: bool) -> Report:
    """The table has no size: some seconds."""
    claims = []
    for name, (flow, order, entries) in TABLE.items():
        claims.append(_order(name, flow, order))
        found = defects(flow, H)
        claims += [_entry(f"{name}: {what}", entry, found[what]) for what, entry in zip(COLUMNS, entries, strict=True)]
    for name, flow in NEWER.items():
        told = ", ".join(f"{what} {size:.0e}" for what, size in defects(flow, H).items())
        claims.append(beyond(f"{name}: defects", told))
    return Report(tuple(claims), tuple(_panel(what) for what in ("H(y)", "Poisson", "symplectic")))


def defects(flow: Flow, h: float) -> dict[str, float]:
    """What a step changes of each of COLUMNS.

    >>> found = defects(Midpoint(), 0.4)
    >>> found["H(y)"] < 1e-14, found["symplectic"] > 1e-3
    (True, True)
    """
    J, before, after = derivative(flow, h)
    A = J[3:, 3:]
    poisson = A @ hat(before) @ A.T - hat(after)
    symplectic = J.T @ canonical(after) @ J - canonical(before)
    return invariants(flow, h) | {
        "Poisson": float(np.abs(poisson).max()),
        "symplectic": float(np.abs(symplectic).max()),
    }


def invariants(flow: Flow, h: float) -> dict[str, float]:
    """The largest changes of Q y (by components), and of |y|^2 and H (relative), of random bodies."""
    drawn = sampling.draw(BODIES, I=sampling.uniform((1.0,) * 3, 3.0), m=sampling.direction(), q=sampling.attitude())
    rows = drawn.seeded(SEED).rows()
    body, start = RigidBody.from_moments(rows["I"]), State(rows["m"], rows["q"])
    end = flow.step(body, start, h)
    sizes = [np.sum(s.m * s.m, axis=-1) for s in (start, end)]
    energies = [np.sum(s.m * body.omega(s.m), axis=-1) for s in (start, end)]
    return {
        "Q y": float(np.abs(rotate(end.q, end.m) - rotate(start.q, start.m)).max()),
        "C(y)": float(np.abs(sizes[1] / sizes[0] - 1).max()),
        "H(y)": float(np.abs(energies[1] / energies[0] - 1).max()),
    }


def derivative(flow: Flow, h: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(6, 6) of a step, rows and columns (xi, mu), and y before and after."""
    shifts = SHIFT * np.arange(-3, 4)[:, None, None] * np.eye(6)
    states = State(M0 + shifts[..., 3:], multiply(np.array(Q0), from_rotation_vector(shifts[..., :3])))
    ends = flow.step(MOMENTS, states, h)
    turned = as_rotation(multiply(conjugate(ends.q[3, 0]), ends.q).reshape(-1, 4)).as_rotvec().reshape(ends.m.shape)
    columns = np.concatenate([turned, ends.m], axis=-1)
    return np.einsum("k,kic->ci", CENTRAL, columns) / SHIFT, np.array(M0), ends.m[3, 0]


def canonical(y: FloatArray) -> FloatArray:
    """The symplectic form at y, (6, 6)."""
    return np.block([[-hat(y), np.eye(3)], [-np.eye(3), np.zeros((3, 3))]])


def _order(name: str, flow: Flow, printed: str) -> Claim:
    study = order_study(flow, MOMENTS, State(M0, Q0), T_END)
    if printed == "exact":
        error = float(study.error_q[0])
        return trend(f"{name}: order", printed, f"error {error:.0e} in one step", error < 100 * ROUNDING)
    seen = study.order_q[np.isfinite(study.order_q)]
    return number(f"{name}: order", printed, float(seen[-1]), units=TENTH)


def _entry(what: str, printed: str, defect: float) -> Claim:
    kept = QUOTIENT if what.endswith(("Poisson", "symplectic")) else ROUNDING
    holds = defect < kept if printed == YES else defect > BROKEN
    return trend(what, printed, f"{defect:.0e}", holds)


def _panel(what: str) -> Panel:
    flows = {name: flow for name, (flow, _, _) in TABLE.items()}
    curves = [Curve(name, STEPS, [defects(flow, h)[what] for h in STEPS]) for name, flow in flows.items()]
    return Panel(f"defect of one step: {what}", "step h", "defect", curves)


EXPERIMENT = Experiment(VILMART_2013, "Table 2", "Geometric properties of free rigid body integrators", run)
