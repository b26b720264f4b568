"""Derivatives of the exact free flow by everything that goes into it, and what they say about its errors."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.checks import check_spread
from polhode.core.rotation import conjugate, from_matrix
from polhode.core.threads import in_ranges
from polhode.core.vectors import length

EPS = 2.0**-53
SAFETY = 5.0  # the factor C of ``error_bound``; 196 reference solutions of 30 digits stay below it


class Jacobian(NamedTuple):
    """Derivatives of m(t) and q(t), the results of ``propagate``, by m0, q0, the principal moments I and t.

    Leading axes are the batch. They are derivatives of the closed form itself, not differences, and are as accurate as
    m and q: relative to the whole Jacobian, in natural units, to about 1e-14, in every regime. Next to the middle axis
    derivatives grow like exp(lambda t); where they exceed the range of doubles they are infinite, never NaN.

    - The attitude is taken as the linear flow q(t) = q0 r, so that ``dq_dq`` is the matrix of r and the derivatives are
      those along any change of q0, also one that changes its length.
    - With a tensor, m and q stay in the axes of the tensor, and I are its three principal moments, in the order of
      ``RigidBody(tensor).moments``, while the principal axes are held fixed.
    - A linear rotor moves as a sphere: its own moment changes the second and third together, so the derivative by it
      is the sum of the second and third columns of ``dq_dI`` (the first is 0, as is the sum for m).

    >>> from polhode import free_motion
    >>> J = free_motion((1.0, 1.65, 1.97), m=(0.3, 0.2, 0.9)).jacobian(10.0)
    >>> J.dm_dm.shape, J.dq_dI.shape, J.matrix.shape
    ((3, 3), (4, 3), (7, 11))
    """

    dm_dm: FloatArray  # (..., 3, 3)
    dm_dI: FloatArray  # (..., 3, 3)
    dm_dt: FloatArray  # (..., 3)
    dq_dm: FloatArray  # (..., 4, 3)
    dq_dq: FloatArray  # (..., 4, 4)
    dq_dI: FloatArray  # (..., 4, 3)
    dq_dt: FloatArray  # (..., 4)

    @property
    def matrix(self) -> FloatArray:
        """All of it as one matrix (..., 7, 11): rows (m, q), columns (m0, q0, I, t)."""
        nothing = np.zeros((*self.dm_dt.shape, 4))  # m does not depend on the attitude
        upper = np.concatenate([self.dm_dm, nothing, self.dm_dI, self.dm_dt[..., None]], axis=-1)
        lower = np.concatenate([self.dq_dm, self.dq_dq, self.dq_dI, self.dq_dt[..., None]], axis=-1)
        return np.concatenate([upper, lower], axis=-2)


class ErrorBound(NamedTuple):
    """Bounds on the length of the error of m, in the units of m, and of q; both have the shape of the batch.

    >>> from polhode import propagate
    >>> m, q, error = propagate((1.0, 1.65, 1.97), m=(0.3, 0.2, 0.9), t=1e4, return_error=True)
    >>> f"{error.m:.0e} {error.q:.0e}"
    '6e-12 6e-12'
    """

    m: FloatArray
    q: FloatArray


def flow_jacobian(
    operands: tuple[FloatArray, FloatArray, FloatArray, FloatArray], batch: tuple[int, ...], axes: FloatArray | None
) -> Jacobian:
    """The Jacobian of ``propagate`` from its checked rows: moments, m (n or 1, 3), q (n or 1, 4), t (n or 1).

    m and q are in principal axes, which are ``axes`` in the user's.
    """
    from polhode.kernels.exact.tangent import jacobian_range

    check_spread(operands[0])
    out = np.empty((prod(batch), 7, 11))
    in_ranges(lambda start, stop: jacobian_range(*operands, start, stop, out), len(out))
    return _in_user_axes(_blocks(out.reshape(*batch, 7, 11)), axes)


def _blocks(matrix: FloatArray) -> Jacobian:
    m, q = matrix[..., :3, :], matrix[..., 3:, :]
    return Jacobian(
        m[..., 0:3], m[..., 7:10], m[..., 10],
        q[..., 0:3], q[..., 3:7], q[..., 7:10], q[..., 10],
    )  # fmt: skip


def _in_user_axes(jacobian: Jacobian, axes: FloatArray | None) -> Jacobian:
    """m = A m', q = q' a^-1 with m', q' in principal axes and a the rotation A."""
    if axes is None:
        return jacobian
    turn = from_matrix(axes)
    back, there = _times_from_the_right(conjugate(turn)), _times_from_the_right(turn)
    transpose = np.swapaxes(axes, -1, -2)
    with np.errstate(invalid="ignore", over="ignore"):
        turned = Jacobian(
            axes @ jacobian.dm_dm @ transpose,
            axes @ jacobian.dm_dI,
            np.einsum("...ij,...j->...i", axes, jacobian.dm_dt),
            back @ jacobian.dq_dm @ transpose,
            back @ jacobian.dq_dq @ there,
            back @ jacobian.dq_dI,
            np.einsum("...ij,...j->...i", back, jacobian.dq_dt),
        )
    return Jacobian(*(np.where(np.isnan(x), np.inf, x) for x in turned))


def _times_from_the_right(r: FloatArray) -> FloatArray:
    """The matrix (..., 4, 4) of q -> q r."""
    a, b, c, d = np.moveaxis(r, -1, 0)
    rows = ((a, -b, -c, -d), (b, a, d, -c), (c, -d, a, b), (d, c, -b, a))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def error_bound(jacobian: Jacobian, moments: FloatArray, m: FloatArray, t: FloatArray) -> ErrorBound:
    """How far m(t) and q(t) of ``propagate`` may be from the truth: a few times what rounding the input costs.

    The bound of q is e = C eps (1 + sum |dq/d ln p|), that of m is C eps (|m| + sum |dm/d ln p|) + |m| min(2, (2 e)^2),
    with p all of I, m0 and t, eps = 2^-53 and C = 5. An error e of q turns the body, and with it m in body axes, by an
    angle of 2 e; the last term is the second order of that, which counts where m moves slowly just then.
    ``moments`` (principal), ``m`` and ``t`` are those that gave the Jacobian. Errors of the input itself (and of the
    principal axes of a tensor) come on top.
    """
    parameters = (m, moments, t[..., None])
    by_m = (jacobian.dm_dm, jacobian.dm_dI, jacobian.dm_dt[..., None])
    by_q = (jacobian.dq_dm, jacobian.dq_dI, jacobian.dq_dt[..., None])
    change_m = [_relative_change(block, p) for block, p in zip(by_m, parameters, strict=True)]
    change_q = [_relative_change(block, p) for block, p in zip(by_q, parameters, strict=True)]
    size = length(m)
    error_m = SAFETY * EPS * (size + change_m[0] + change_m[1] + change_m[2])
    error_q = SAFETY * EPS * (1.0 + change_q[0] + change_q[1] + change_q[2])
    second_order = np.minimum(2.0, (2.0 * np.minimum(error_q, 1.0)) ** 2)
    return ErrorBound(error_m + size * second_order, error_q)


def _relative_change(block: FloatArray, parameter: FloatArray) -> FloatArray:
    """Sum over the columns of |d/d ln p|; a parameter that is 0 has no relative change."""
    parameter = np.abs(parameter)[..., None, :]
    with np.errstate(invalid="ignore", over="ignore"):
        columns = np.where(parameter == 0.0, 0.0, block * parameter)
    return np.sum(length(np.swapaxes(columns, -1, -2)), axis=-1)
