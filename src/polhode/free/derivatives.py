"""Derivatives of the exact free flow with respect to its inputs, and the error bounds that follow from them."""

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
    """Derivatives of m(t) and q(t), the results of ``propagate``, with respect to m0, q0, the moments I and t.

    The leading axes of every block are those of the batch. The blocks are derivatives of the closed form itself, not
    finite differences, and are as accurate as m and q: relative to the whole Jacobian, in natural units, the error is
    about 1e-14 in every regime. Near the middle axis the derivatives grow like exp(lambda t). Where they exceed the
    range of doubles they are infinite, never NaN.

    Attributes
    ----------
    dm_dm, dm_dI : ndarray, shape (..., 3, 3)
        Derivatives of m(t) with respect to m0 and to the principal moments.
    dm_dt : ndarray, shape (..., 3)
        Derivative of m(t) with respect to t.
    dq_dm, dq_dI : ndarray, shape (..., 4, 3)
        Derivatives of q(t) with respect to m0 and to the principal moments.
    dq_dq : ndarray, shape (..., 4, 4)
        Derivative of q(t) with respect to q0.
    dq_dt : ndarray, shape (..., 4)
        Derivative of q(t) with respect to t.

    Notes
    -----
    - The attitude is treated as the linear flow q(t) = q0 r, so that ``dq_dq`` is the matrix of r and the derivatives
      are valid along any change of q0, including one that changes its length.
    - With a tensor, m and q are in the axes of the tensor, and I are its three principal moments, in the order of
      ``RigidBody(tensor).moments``; the principal axes are held fixed.
    - A linear rotor moves like a sphere: its single moment changes the second and third moments together, so the
      derivative with respect to it is the sum of the second and third columns of ``dq_dI`` (the first column is 0, and
      so is the sum for m).

    Examples
    --------
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
        """Return all blocks as one matrix of shape (..., 7, 11): rows (m, q), columns (m0, q0, I, t)."""
        zeros = np.zeros((*self.dm_dt.shape, 4))  # m does not depend on the attitude
        upper = np.concatenate([self.dm_dm, zeros, self.dm_dI, self.dm_dt[..., None]], axis=-1)
        lower = np.concatenate([self.dq_dm, self.dq_dq, self.dq_dI, self.dq_dt[..., None]], axis=-1)
        return np.concatenate([upper, lower], axis=-2)


class ErrorBound(NamedTuple):
    """Bounds on the norms of the errors of m and q.

    Attributes
    ----------
    m : ndarray, shape batch
        Bound on the norm of the error of m, in the units of m.
    q : ndarray, shape batch
        Bound on the norm of the error of q.

    Examples
    --------
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
    """Return the Jacobian of ``propagate`` for validated operands.

    The operands are moments and m of shape (n or 1, 3), q of shape (n or 1, 4) and t of shape (n or 1,), with m and q
    in principal axes. The columns of ``axes``, shape (..., 3, 3), are the principal axes in the user's axes; None
    stands for the identity.
    """
    from polhode.kernels.exact.tangent import jacobian_range

    check_spread(operands[0])
    out = np.empty((prod(batch), 7, 11))
    in_ranges(lambda start, stop: jacobian_range(*operands, start, stop, out), len(out))
    return _in_user_axes(_blocks(out.reshape(*batch, 7, 11)), axes)


def _blocks(matrix: FloatArray) -> Jacobian:
    """Split a matrix of shape (..., 7, 11) into the blocks of a Jacobian."""
    m, q = matrix[..., :3, :], matrix[..., 3:, :]
    return Jacobian(
        m[..., 0:3], m[..., 7:10], m[..., 10],
        q[..., 0:3], q[..., 3:7], q[..., 7:10], q[..., 10],
    )  # fmt: skip


def _in_user_axes(jacobian: Jacobian, axes: FloatArray | None) -> Jacobian:
    """Transform a Jacobian from principal axes to the user's axes.

    This uses m = A m' and q = q' a^-1, with m' and q' in principal axes, A = ``axes`` and a the quaternion of A.
    """
    if axes is None:
        return jacobian
    turn = from_matrix(axes)
    to_principal = _right_multiplication(turn)
    from_principal = _right_multiplication(conjugate(turn))
    transpose = np.swapaxes(axes, -1, -2)
    with np.errstate(invalid="ignore", over="ignore"):
        turned = Jacobian(
            axes @ jacobian.dm_dm @ transpose,
            axes @ jacobian.dm_dI,
            np.einsum("...ij,...j->...i", axes, jacobian.dm_dt),
            from_principal @ jacobian.dq_dm @ transpose,
            from_principal @ jacobian.dq_dq @ to_principal,
            from_principal @ jacobian.dq_dI,
            np.einsum("...ij,...j->...i", from_principal, jacobian.dq_dt),
        )
    return Jacobian(*(np.where(np.isnan(x), np.inf, x) for x in turned))


def _right_multiplication(r: FloatArray) -> FloatArray:
    """Return the matrices of q -> q r, shape (..., 4, 4), for quaternions ``r`` of shape (..., 4)."""
    a, b, c, d = np.moveaxis(r, -1, 0)
    rows = ((a, -b, -c, -d), (b, a, d, -c), (c, -d, a, b), (d, c, -b, a))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def error_bound(jacobian: Jacobian, moments: FloatArray, m: FloatArray, t: FloatArray) -> ErrorBound:
    """Return bounds on the errors of m(t) and q(t) of ``propagate``: a multiple of the effect of rounding the input.

    The bound of q is e = C eps (1 + sum |dq/d ln p|), that of m is C eps (|m| + sum |dm/d ln p|) + |m| min(2, (2 e)^2),
    where p runs over I, m0 and t, eps = 2^-53 and C = 5. An error e of q rotates the body, and with it m in body axes,
    by an angle of 2 e; the last term is the second-order effect of this rotation, which matters where m changes
    slowly.

    Parameters
    ----------
    jacobian : Jacobian
        Derivatives of m(t) and q(t).
    moments : ndarray, shape (..., 3)
        Principal moments for which the Jacobian was computed.
    m : ndarray, shape (..., 3)
        Initial momentum for which the Jacobian was computed.
    t : ndarray, shape (...)
        Time for which the Jacobian was computed.

    Returns
    -------
    ErrorBound
        The bounds. They do not include errors of the input itself or of the principal axes of a tensor.
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
    """Return the sum of |d/d ln p| over the columns of ``block``; parameters that are 0 contribute nothing."""
    parameter = np.abs(parameter)[..., None, :]
    with np.errstate(invalid="ignore", over="ignore"):
        columns = np.where(parameter == 0.0, 0.0, block * parameter)
    return np.sum(length(np.swapaxes(columns, -1, -2)), axis=-1)
