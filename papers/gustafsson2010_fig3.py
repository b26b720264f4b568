"""Gustafsson 2010, Figure 3: u = Q^T e3 in 4000 steps h = 1, by Magnus of orders 2, 4, 6, 8.

The start is not printed. With steps as long as these, the dots draw a pattern that belongs to the motion: an error of
the phase, which grows with time, changes it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from papers.experiment import Curve, Experiment, Panel, Report, beyond, trend
from papers.gustafsson2010 import MOMENTS, ORDERS
from polhode.core.arrays import FloatArray
from polhode.core.references import GUSTAFSSON_2010
from polhode.core.rotation import conjugate, rotate
from polhode.core.state import State
from polhode.flows.exact import Exact
from polhode.flows.flow import Flow
from polhode.flows.magnus import Magnus
from polhode.free.motion import free_motion
from polhode.integration.problem import Problem
from polhode.methods.splitting import Splitting
from polhode.solve import integrate

H, STEPS = 1.0, 4000
START = State(m=(0.8, 0.48, 0.36), q=(0.5, 0.5, 0.5, 0.5))
E3 = np.array([0.0, 0.0, 1.0])


def run(full: bool) -> Report:
    """The paper's size always."""
    flows: dict[str, Flow] = {f"Magnus {order}": Magnus(order) for order in ORDERS} | {"exact": Exact()}
    u = {name: _directions(flow) for name, flow in flows.items()}
    q = free_motion(MOMENTS, START).q(H * np.arange(1, STEPS + 1))
    truth = rotate(conjugate(q), E3)
    off = {name: float(np.linalg.norm(points - truth, axis=-1).max()) for name, points in u.items()}
    magnus = [off[f"Magnus {order}"] for order in ORDERS]
    claims = (
        trend("largest error of u, orders 2, 4, 6, 8", "improves with the order", ", ".join(f"{x:.0e}" for x in magnus),
              all(a > b for a, b in pairwise(magnus))),
        beyond("the same by the exact flow, step by step", f"{off['exact']:.0e}"),
    )  # fmt: skip
    panels = [
        Panel(f"{name}, h = 1: off by up to {off[name]:.0e}", "u1", "u2",
              [Curve("", points[:, 0], points[:, 1], z=points[:, 2])], z="u3", log="", lines=False, equal=True,
              sphere=True)
        for name, points in u.items()
    ]  # fmt: skip
    return Report(claims, tuple(panels))


def _directions(flow: Flow) -> FloatArray:
    """u (steps, 3); nothing acts between the drifts of the splitting."""
    free = Problem(MOMENTS, START, t_span=(0.0, H * STEPS))
    return rotate(conjugate(integrate(free, method=Splitting(flow, "V2_BAB"), h=H).q[1:]), E3)


EXPERIMENT = Experiment(GUSTAFSSON_2010, "Figure 3", "A direction in the body, by Magnus of four orders", run)
