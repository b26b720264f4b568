"""Principal moments and axes of inertia tensors, by Jacobi's rotations.

Jacobi's method computes small eigenvalues of positive definite matrices to high relative accuracy, where other methods
lose them to the large ones (Demmel, Veselic, SIAM J. Matrix Anal. Appl. 13 (1992) 1204). It does not change diagonal
tensors.
"""

from __future__ import annotations

from math import isfinite, sqrt

from polhode.kernels.compiler.intrinsics import power_of_two
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.compiler.limits import NOBODY

SWEEPS = 40  # upper bound; convergence is quadratic, and five or six sweeps are typical
NEGLIGIBLE = 2.0**-54  # relative size of off-diagonal elements that count as zero


@inline
def rotate_out(axes, a, i, j, k):
    """Apply one Jacobi rotation in the plane (i, j) that makes a[i, j] zero; k is the third index."""
    off = a[i, j]
    ratio = (a[j, j] - a[i, i]) / (2.0 * off)
    t = 1.0 / (abs(ratio) + sqrt(ratio * ratio + 1.0))
    if ratio < 0.0:
        t = -t
    c = 1.0 / sqrt(t * t + 1.0)
    s = t * c
    a[i, i] -= t * off
    a[j, j] += t * off
    a[i, j] = a[j, i] = 0.0
    x, y = a[i, k], a[j, k]
    a[i, k] = a[k, i] = c * x - s * y
    a[j, k] = a[k, j] = s * x + c * y
    for row in range(3):
        x, y = axes[row, i], axes[row, j]
        axes[row, i], axes[row, j] = c * x - s * y, s * x + c * y


@inline
def diagonalize(axes, a):
    """Make the symmetric matrix ``a`` diagonal, in place.

    ``axes`` becomes the rotation whose columns are the principal axes (det = +1).
    """
    for _ in range(SWEEPS):
        done = True
        for k in range(2, -1, -1):
            i, j = (k + 1) % 3, (k + 2) % 3
            if abs(a[i, j]) > NEGLIGIBLE * sqrt(abs(a[i, i])) * sqrt(abs(a[j, j])):
                rotate_out(axes, a, i, j, k)
                done = False
        if done:
            return


@entry_point("i8(f8[:,:,::1], f8[:,::1], f8[:,:,::1])")
def principal_axes(tensors, moments, axes):
    """Compute principal moments and axes of inertia tensors, and return the index of the first invalid one.

    Parameters
    ----------
    tensors : array, shape (n, 3, 3)
        Symmetric tensors, used as workspace.
    moments : array, shape (n, 3)
        Output: principal moments.
    axes : array, shape (n, 3, 3)
        Output: rotations whose columns are the principal axes.

    Returns
    -------
    int
        Index of the first tensor that is not finite and positive definite, or NOBODY.
    """
    for n in range(tensors.shape[0]):
        a, v = tensors[n], axes[n]
        largest = 0.0
        for i in range(3):
            for j in range(3):
                if not isfinite(a[i, j]):
                    return n
                largest = max(largest, abs(a[i, j]))
                v[i, j] = 1.0 if i == j else 0.0
        unit, per_unit = power_of_two(largest)
        for i in range(3):
            for j in range(3):
                a[i, j] *= per_unit
        diagonalize(v, a)
        for i in range(3):
            moments[n, i] = a[i, i] * unit
            if not moments[n, i] > 0.0:
                return n
    return NOBODY
