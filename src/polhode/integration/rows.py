"""The bodies of a problem as rows of arrays in principal axes, as kernels take them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray, IntArray, writable
from polhode.core.body import RigidBody, flow_moments, from_principal, to_principal
from polhode.core.checks import check_spread, common_batch, rows_of
from polhode.forces.base import Force, diagonals
from polhode.kernels.stepping.damping import OBLIQUE
from polhode.methods.method import Advance, Bodies, Method

if TYPE_CHECKING:
    from polhode.integration.problem import Problem

ACROSS = np.outer((0.0, 1.0, 1.0), (0.0, 1.0, 1.0))  # the part of a damping matrix that acts on a linear rotor


class States(NamedTuple):
    """States of all bodies at times, in principal axes."""

    t: FloatArray  # (k,)
    m: FloatArray  # (k, n, 3); NaN where a body did not get
    q: FloatArray  # (k, n, 4)


class ProblemRows:
    """Bodies, initial states and forces of a problem, broadcast and arranged in rows.

    Attributes
    ----------
    batch : tuple of int
        Common shape of bodies, states and forces; () for one body.
    count : int
        Number of bodies.
    bodies : Bodies
        Constants of the bodies.
    m, q : ndarray, shape (count, 3) and (count, 4)
        Initial states in principal axes.
    loops : dict
        Compiled loops of the methods that were used, by the id of the method.
    """

    def __init__(self, problem: Problem) -> None:
        """Arrange the data of `problem`."""
        body, state, force = problem.body, problem.state, problem.force
        self.batch = common_batch(
            body=body.batch, state=state.batch, params=force.params.shape[:-1], damping=force.damping.shape[:-2]
        )
        self.count = prod(self.batch)
        self._axes = None if body.is_principal else body.axes
        moments = flow_moments(body)
        check_spread(moments)
        axes = np.empty((0, 9)) if self._axes is None else rows_of(self._axes.reshape(*body.batch, 9), self.batch, 9)
        self.bodies = Bodies(
            rows_of(moments, self.batch, 3),
            np.ascontiguousarray(axes),
            self._damping(body, force),
            writable(rows_of(force.params, self.batch, force.params.shape[-1])),
        )
        m, q = to_principal(self._axes, state.m, state.q)
        self.loops: dict[int, tuple[Method, Advance]] = {}
        self.m, self.q = (np.broadcast_to(x, (*self.batch, k)).reshape(self.count, k) for x, k in ((m, 3), (q, 4)))

    def __getstate__(self) -> dict[str, Any]:
        """Return the data; compiled code stays in its process."""
        return vars(self) | {"loops": {}}

    def _damping(self, body: RigidBody, force: Force) -> FloatArray:
        """Return the damping of each body in the format of ``kernels.stepping.damping``: rows (n, 3) or (n, 21)."""
        D = force.damping * ACROSS if body.is_linear else force.damping
        along = diagonals(D)
        if along is not None and (self._axes is None or not np.any(along[..., :1] != along)):
            return rows_of(along, self.batch, 3)
        return rows_of(oblique_damping(D, flow_moments(body), body.axes), self.batch, OBLIQUE)

    def to_user(self, m: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Convert (m, q) of shape (k, n, .) in principal axes to (k,) + batch + (.,) in the axes of the user."""
        shape = len(m), *self.batch
        m, q = m.reshape(*shape, 3), q.reshape(*shape, 4)
        return (m, q) if self._axes is None else from_principal(self._axes, m, q)

    def rows_to_user(self, m: FloatArray, q: FloatArray, body: IntArray) -> tuple[FloatArray, FloatArray]:
        """Convert (m, q) of shape (r, .) in principal axes, of bodies with indices (r,), to the axes of the user."""
        if self._axes is None:
            return m, q
        axes = np.broadcast_to(self._axes, (*self.batch, 3, 3)).reshape(-1, 3, 3)
        return from_principal(axes[body], m, q)


def not_reached(t: FloatArray, bodies: int) -> States:
    """Return states of NaN at times (k,)."""
    return States(t, np.full((len(t), bodies, 3), np.nan), np.full((len(t), bodies, 4), np.nan))


def oblique_damping(D: FloatArray, moments: FloatArray, axes: FloatArray) -> FloatArray:
    """Return the rates, P and P^-1 of ``kernels.stepping.damping`` as an array of shape (..., 21).

    They are for damping matrices D (..., 3, 3) that are not diagonal in the principal axes `axes` (..., 3, 3).
    """
    unit_D, unit_I = (_power_of_two(x.max(axis=-1, keepdims=True)) for x in (D.max(axis=-1), moments))
    root = np.sqrt(moments / unit_I)
    full = np.einsum("...ji,...jk,...kl->...il", axes, D / unit_D[..., None], axes)
    rates, U = np.linalg.eigh(full / (root[..., :, None] * root[..., None, :]))
    rates = np.maximum(rates, 0.0) * (unit_D / unit_I)
    P, inverse = root[..., :, None] * U, np.swapaxes(U, -1, -2) / root[..., None, :]
    return np.concatenate([rates, *(x.reshape(*x.shape[:-2], 9) for x in (P, inverse))], axis=-1)


def _power_of_two(x: FloatArray) -> FloatArray:
    """Return the largest power of two that is at most x, and 1 for 0; dividing by it is exact."""
    return np.where(x > 0, np.ldexp(1.0, np.frexp(x)[1] - 1), 1.0)
