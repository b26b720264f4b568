"""Derivatives of the exact free flow with respect to its inputs, and the error bounds that follow from them."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.body import Frame
from polhode.core.checks import check_spread
from polhode.core.rotation import conjugate
from polhode.core.threads import in_ranges
from polhode.core.vectors import components

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
    operands: tuple[FloatArray, FloatArray, FloatArray, FloatArray], batch: tuple[int, ...], frame: Frame | None
) -> FloatArray:
    """Return the Jacobian of ``propagate`` for validated operands as a matrix of shape (..., 7, 11).

    The operands are moments and m of shape (n or 1, 3), q of shape (n or 1, 4) and t of shape (n or 1,), with m and q
    in principal axes, which are ``frame`` in the user's axes; None stands for the identity.
    """
    jacobian_range = _jacobian_range()
    check_spread(operands[0])
    out = np.empty((prod(batch), 7, 11))
    in_ranges(lambda start, stop: jacobian_range(*operands, start, stop, out), len(out))
    matrix = out.reshape(*batch, 7, 11)
    return matrix if frame is None else _in_user_axes(blocks(matrix), frame).matrix


@cache
def _jacobian_range() -> Any:
    """Return the kernel, which is imported only when it is needed."""
    from polhode.kernels.compiler.jit import loaded
    from polhode.kernels.exact.tangent import jacobian_range

    return loaded(jacobian_range)  # type: ignore[no-untyped-call]


def blocks(matrix: FloatArray) -> Jacobian:
    """Split a matrix of shape (..., 7, 11) into the blocks of a Jacobian."""
    m, q = matrix[..., :3, :], matrix[..., 3:, :]
    return Jacobian(
        m[..., 0:3], m[..., 7:10], m[..., 10],
        q[..., 0:3], q[..., 3:7], q[..., 7:10], q[..., 10],
    )  # fmt: skip


def _in_user_axes(jacobian: Jacobian, frame: Frame) -> Jacobian:
    """Transform a Jacobian from principal axes to the user's axes.

    This uses m = A m' and q = q' a^-1, with m' and q' in principal axes, and A and a those of ``frame``.
    """
    axes, turn = frame
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


def error_bound(jacobian: FloatArray, moments: FloatArray, m: FloatArray, t: FloatArray) -> ErrorBound:
    """Return bounds on the errors of m(t) and q(t) of ``propagate``: a multiple of the effect of rounding the input.

    The bound of q is e = C eps (1 + sum |dq/d ln p|), that of m is C eps (|m| + sum |dm/d ln p|) + |m| min(2, (2 e)^2),
    where p runs over I, m0 and t, eps = 2^-53 and C = 5. An error e of q rotates the body, and with it m in body axes,
    by an angle of 2 e; the last term is the second-order effect of this rotation, which matters where m changes
    slowly.

    Parameters
    ----------
    jacobian : ndarray, shape (..., 7, 11)
        Derivatives of m(t) and q(t), as ``Jacobian.matrix``.
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
    scale = np.zeros((*jacobian.shape[:-2], 1, 11))  # q0 is not among the parameters
    scale[..., 0, :3], scale[..., 0, 7:10], scale[..., 0, 10] = np.abs(m), moments, np.abs(t)
    with np.errstate(over="ignore"):
        columns = np.multiply(jacobian, scale, out=np.zeros(jacobian.shape), where=scale != 0.0)
        changes = np.hypot.reduceat(columns, (0, 3), axis=-2)  # of m, the first three rows, and of q
        size = np.hypot.reduce(m, axis=-1)
    error_m = SAFETY * EPS * _total(size, changes[..., 0, :])
    error_q = SAFETY * EPS * _total(1.0, changes[..., 1, :])
    smaller: Any = np.minimum if changes.ndim > 2 else min  # for one body, numbers are faster than arrays
    second_order = smaller(2.0, (2.0 * smaller(error_q, 1.0)) ** 2)
    return ErrorBound(error_m + size * second_order, np.add(error_q, 0.0))


def _total(size: Any, changes: FloatArray) -> Any:
    """Return ``size`` plus the changes (..., 11) by m, I and t, added up for each of them first."""
    m1, m2, m3, _, _, _, _, I1, I2, I3, t = components(changes)
    return size + (m1 + m2 + m3) + (I1 + I2 + I3) + t
