"""What several figures of Celledoni et al. 2008, section 3.2, share: free bodies, the methods, and their errors."""

from __future__ import annotations

import numpy as np

from papers.experiment import Curve, Panel, Points
from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody
from polhode.core.rotation import matrix
from polhode.core.state import State
from polhode.ensembles import sampling
from polhode.ensembles.ensemble import ensemble
from polhode.flows.flow import Flow
from polhode.flows.frb_matrix import FrbMatrix
from polhode.flows.frb_quaternion import FrbQuaternion
from polhode.flows.moser_veselov import MoserVeselov
from polhode.free.propagation import propagate
from polhode.integration.problem import Problem
from polhode.methods.splitting import Splitting

T_END = 10.0
ORDERS = (6, 8, 10)
EXACT: dict[str, Flow] = {"exact, matrix": FrbMatrix(), "exact, quaternion": FrbQuaternion()}
SEMIEXACT: dict[int, Flow] = {order: FrbQuaternion(order // 2) for order in ORDERS}
DMV: dict[int, Flow] = {order: MoserVeselov(order, "fixed-point") for order in ORDERS}
SMALL, PAPER = (40, 20, 6), (100, 50, 20)  # of a map: points along x and y, momenta at each
SEED = 2008
LEAST = 2.0**-53  # in place of an error of 0, which has no logarithm


def log_errors(flow: Flow, moments: FloatArray, m: FloatArray, h: float) -> FloatArray:
    """log10 of the error of the attitude matrix at T_END, in the norm of row sums, (n,); nan without convergence. (3.2)

    >>> log_errors(FrbQuaternion(3), np.array([(0.5, 0.75, 1.0)]), np.array([(0.6, 0.0, 0.8)]), 0.4).round()
    array([-7.])
    """
    _, q = ends(flow, moments, m, T_END, round(T_END / h))
    _, true_q = propagate(RigidBody.from_moments(moments), m, t=T_END)
    error = np.abs(matrix(q) - matrix(true_q)).sum(axis=-1).max(axis=-1)
    return np.log10(np.maximum(error, LEAST))


def ends(flow: Flow, moments: FloatArray, m: FloatArray, t: float, steps: int) -> tuple[FloatArray, FloatArray]:
    """m (n, 3) and q (n, 4) of free bodies after steps of a flow; nan for those that could not go on.

    >>> _, q = ends(FrbQuaternion(), np.array([(0.5, 0.75, 1.0)]), np.array([(0.6, 0.0, 0.8)]), t=10.0, steps=25)
    >>> bool(abs(q - propagate((0.5, 0.75, 1.0), (0.6, 0.0, 0.8), t=10.0)[1]).max() < 1e-13)
    True
    """
    free = Problem((1.0, 1.0, 1.0), State((0.0, 0.0, 1.0)), t_span=(0.0, t))
    whole_steps = Splitting(flow, "V2_BAB")  # without a torque: the flow, step by step
    found = ensemble(free, {"moments": moments, "m": m}, method=whole_steps, h=t / steps)
    return found.m.values[:, -1], found.q.values[:, -1]


def first_octant(count: int, seed: int) -> FloatArray:
    """Unit momenta (count, 3) of the first octant, all directions alike.

    >>> bool((first_octant(5, seed=1) >= 0).all())
    True
    """
    return np.abs(sampling.draw(count, m=sampling.direction()).seeded(seed).rows()["m"])


def triangle(across: int, up: int) -> tuple[FloatArray, FloatArray]:
    """x and y of the points of a grid on 0 < x < 1, 1/2 < y < 1 that are inside the triangle.

    >>> x, y = triangle(4, 2)
    >>> x, y
    (array([0.375, 0.125, 0.375, 0.625]), array([0.625, 0.875, 0.875, 0.875]))
    """
    x, y = np.meshgrid((np.arange(across) + 0.5) / across, 0.5 + (np.arange(up) + 0.5) / (2 * up))
    inside = (1 - y <= x) & (x < y)
    return x[inside], y[inside]


class Triangle:
    """A map over bodies x = I1/I3, y = I2/I3: averages over the same momenta at every point (Figure 3.2)."""

    def __init__(self, across: int, up: int, momenta: int) -> None:
        self.x, self.y = triangle(across, up)
        self.momenta = momenta
        self.corner = (self.x < 0.3) & (self.y > 0.8)  # (3.3): one of the periods is short
        self.moments = np.repeat(np.column_stack([self.x, self.y, np.ones_like(self.x)]), momenta, axis=0)
        self.m = np.tile(first_octant(momenta, SEED), (len(self.x), 1))

    def logs(self, flow: Flow, h: float) -> FloatArray:
        """``log_errors`` (points, momenta)."""
        return log_errors(flow, self.moments, self.m, h).reshape(-1, self.momenta)

    def panel(self, title: str, logs: FloatArray, limits: tuple[float, float]) -> Panel:
        points = Points(self.x, self.y, average(logs), "mean of log10 of the error", limits)
        return Panel(title, "I1/I3", "I2/I3", points=points, log="", equal=True)


def drawn_triangle(x: FloatArray, y: FloatArray) -> Panel:
    """The domain of bodies, 0 < 1 - y <= x < y < 1 (Figure 3.2), its edges, and the points of a map."""
    edges = [
        Curve("I1 + I2 = I3: flat", (0.0, 0.5), (1.0, 0.5)),
        Curve("I1 = I2", (0.5, 1.0), (0.5, 1.0)),
        Curve("I2 = I3", (0.0, 1.0), (1.0, 1.0)),
    ]
    return Panel(f"bodies, and {len(x)} points of the map", "I1/I3", "I2/I3", edges, log="", equal=True, marks=(x, y))


def average(logs: FloatArray) -> FloatArray:
    """Of each row, over runs that converge; nan if none does."""
    converged = np.isfinite(logs)
    count = converged.sum(axis=-1)
    return np.where(count > 0, np.where(converged, logs, 0.0).sum(axis=-1) / np.maximum(count, 1), np.nan)
