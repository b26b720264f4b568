"""Attitudes as quaternions: scalar first, unit, body to space; Q = matrix(q), Q' = Q hat(w).

Arrays have the components on the last axis and any batch before it. ``scipy.spatial.transform.Rotation`` goes in and
out through ``as_quaternion`` and ``as_rotation``.
"""

from __future__ import annotations

from itertools import pairwise
from math import factorial
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt
from numpy.polynomial.polynomial import polyval

from polhode.core.arrays import FloatArray
from polhode.core.checks import as_floats, check_attitude, check_finite, first_bad, place, show
from polhode.core.errors import AttitudeError, InputError, ShapeError
from polhode.kernels.compiler.limits import NORM_TOLERANCE

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

__all__ = [
    "as_quaternion",
    "as_rotation",
    "conjugate",
    "dexp",
    "dexp_inverse",
    "from_euler",
    "from_matrix",
    "from_rotation_vector",
    "hat",
    "left_matrix",
    "matrix",
    "multiply",
    "normalize",
    "right_matrix",
    "rotate",
]


def __dir__() -> list[str]:
    return __all__


ROUNDING = 2.0**-51  # of the norm of a quaternion that was normalized
SERIES_BELOW = 1.0  # radians: closed forms of dexp lose digits there
SINE_SERIES = [(-1.0) ** k / factorial(2 * k + 3) for k in range(9)]  # of (a - sin a)/a^3, in a^2
COTANGENT_SERIES = [  # of (1 - (a/2) cot(a/2))/a^2, in a^2: |B_2k|/(2k)!
    1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600,
    3617 / 10670622842880000, 43867 / 5109094217170944000, 174611 / 802857662698291200000,
]  # fmt: skip


class RotationLike(Protocol):
    """What is needed of a SciPy Rotation."""

    def as_quat(self) -> Any: ...
    def as_matrix(self) -> Any: ...


def is_rotation(value: Any) -> TypeGuard[RotationLike]:
    """Whether ``value`` is a SciPy Rotation, without importing SciPy for it."""
    return hasattr(value, "as_quat") and hasattr(value, "as_matrix")


def as_quaternion(attitude: Any, name: str = "q") -> FloatArray:
    """Attitude (4,) or (..., 4), or a SciPy Rotation, as unit quaternions (..., 4), normalized once.

    >>> as_quaternion((1, 0, 0, 0))
    array([1., 0., 0., 0.])
    """
    q = quaternion_components(attitude, name)
    check_attitude(q, name)
    norm = np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(np.abs(norm - 1) <= ROUNDING, q, q / norm)  # what was normalized before keeps its bits


def quaternion_components(attitude: Any, name: str = "q") -> FloatArray:
    """The four components as they came, scalar first, not yet checked for their norm."""
    if is_rotation(attitude):
        return np.ascontiguousarray(np.roll(attitude.as_quat(), 1, axis=-1))
    return as_floats(attitude, name, 4)


def as_rotation(q: npt.ArrayLike) -> Rotation:
    """Quaternions (4,) or (n, 4) as a SciPy Rotation.

    >>> float(as_rotation((1, 0, 0, 0)).magnitude())
    0.0
    """
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(np.roll(as_floats(q, "q", 4), -1, axis=-1))


def normalize(q: npt.ArrayLike) -> FloatArray:
    """``q/|q|`` for (..., 4); a rounded unit quaternion changes by at most its last digit.

    >>> normalize((0, 0, 3, 4))
    array([0. , 0. , 0.6, 0.8])
    """
    q = as_floats(q, "q", 4)
    largest = np.abs(q).max(axis=-1, keepdims=True)
    good = np.isfinite(largest) & (largest > 0)
    if not good.all():
        index = first_bad(good[..., 0])
        raise AttitudeError(f"{place('q', index)} = {show(q[index])} has no direction to normalize to")
    q = np.ldexp(q, -np.frexp(largest)[1])  # a power of two: neither overflow nor rounding
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def multiply(a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
    """The Hamilton product a b, (..., 4) x (..., 4) -> (..., 4).

    >>> multiply((0, 1, 0, 0), (0, 0, 1, 0))
    array([0., 0., 0., 1.])
    """
    a0, a1, a2, a3 = np.moveaxis(as_floats(a, "a", 4), -1, 0)
    b0, b1, b2, b3 = np.moveaxis(as_floats(b, "b", 4), -1, 0)
    return np.stack(
        (
            a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
            a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
            a0 * b2 + a2 * b0 + a3 * b1 - a1 * b3,
            a0 * b3 + a3 * b0 + a1 * b2 - a2 * b1,
        ),
        axis=-1,
    )


def conjugate(q: npt.ArrayLike) -> FloatArray:
    """The inverse rotation of a unit quaternion, (..., 4) -> (..., 4).

    >>> conjugate((0.6, 0.8, 0, 0))
    array([ 0.6, -0.8, -0. , -0. ])
    """
    return as_floats(q, "q", 4) * np.array([1.0, -1.0, -1.0, -1.0])


def matrix(q: npt.ArrayLike) -> FloatArray:
    """Q = 1 + 2 q0 hat(v) + 2 hat(v)^2 with v the vector part, (..., 4) -> (..., 3, 3); Q maps body to space.

    >>> matrix((0.0, 0.0, 0.0, 1.0))
    array([[-1.,  0.,  0.],
           [ 0., -1.,  0.],
           [ 0.,  0.,  1.]])
    """
    q0, q1, q2, q3 = np.moveaxis(as_floats(q, "q", 4), -1, 0)
    rows = (
        (1 - 2 * (q2 * q2 + q3 * q3), 2 * (q1 * q2 - q0 * q3), 2 * (q1 * q3 + q0 * q2)),
        (2 * (q1 * q2 + q0 * q3), 1 - 2 * (q1 * q1 + q3 * q3), 2 * (q2 * q3 - q0 * q1)),
        (2 * (q1 * q3 - q0 * q2), 2 * (q2 * q3 + q0 * q1), 1 - 2 * (q1 * q1 + q2 * q2)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(Q: npt.ArrayLike) -> FloatArray:
    """Quaternion of a rotation matrix, (..., 3, 3) -> (..., 4); its largest component is positive.

    Each row of the symmetric matrix 4 q q^T is q times one of its components: the longest row is the accurate one.

    >>> from_matrix(np.diag((1.0, -1.0, -1.0)))
    array([0., 1., 0., 0.])
    """
    Q = as_floats(Q, "Q", 3)
    if Q.ndim < 2 or Q.shape[-2] != 3:
        raise ShapeError(f"Q has shape {Q.shape}; expected (..., 3, 3)")
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(Q @ np.swapaxes(Q, -2, -1) - np.eye(3)).max(axis=(-2, -1))
        good = (off <= 2 * NORM_TOLERANCE) & (np.linalg.det(Q) > 0)
    if not good.all():
        raise AttitudeError(f"{place('Q', first_bad(good))} is not a rotation matrix: expected Q Q^T = 1 and det Q = 1")
    d = np.diagonal(Q, axis1=-2, axis2=-1)
    d1, d2, d3 = np.moveaxis(d, -1, 0)
    a1, a2, a3 = Q[..., 2, 1] - Q[..., 1, 2], Q[..., 0, 2] - Q[..., 2, 0], Q[..., 1, 0] - Q[..., 0, 1]
    s1, s2, s3 = Q[..., 2, 1] + Q[..., 1, 2], Q[..., 0, 2] + Q[..., 2, 0], Q[..., 1, 0] + Q[..., 0, 1]
    rows = np.stack(
        [
            np.stack((1 + d1 + d2 + d3, a1, a2, a3), axis=-1),
            np.stack((a1, 1 + d1 - d2 - d3, s3, s2), axis=-1),
            np.stack((a2, s3, 1 - d1 + d2 - d3, s1), axis=-1),
            np.stack((a3, s2, s1, 1 - d1 - d2 + d3), axis=-1),
        ],
        axis=-2,
    )
    longest = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    return normalize(np.take_along_axis(rows, longest[..., None, None], axis=-2)[..., 0, :])


def rotate(q: npt.ArrayLike, v: npt.ArrayLike) -> FloatArray:
    """Q v: a vector from body to space axes, (..., 4) x (..., 3) -> (..., 3).

    >>> rotate((0, 0, 0, 1), (1, 2, 3))
    array([-1., -2.,  3.])
    """
    q, v = as_floats(q, "q", 4), as_floats(v, "v", 3)
    u = 2.0 * np.cross(q[..., 1:], v)
    return v + q[..., :1] * u + np.cross(q[..., 1:], u)


def from_rotation_vector(vector: npt.ArrayLike, degrees: bool = False) -> FloatArray:
    """Return the rotation by the angle ``|vector|`` about the direction of ``vector``, (..., 3) -> (..., 4).

    Parameters
    ----------
    vector : array_like
        Rotation vectors (..., 3).
    degrees : bool, optional
        Whether the angle ``|vector|`` is in degrees; if not, it is in radians.

    Examples
    --------
    >>> from_rotation_vector((0, 0, np.pi)).round(15)
    array([0., 0., 0., 1.])
    >>> from_rotation_vector((0, 0, 90), degrees=True).round(4)
    array([0.7071, 0.    , 0.    , 0.7071])
    """
    vector = as_floats(vector, "vector", 3)
    vector = np.deg2rad(vector) if degrees else vector
    half = 0.5 * np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * vector], axis=-1)


def hat(v: npt.ArrayLike) -> FloatArray:
    """Return the skew-symmetric matrix of the cross product, hat(v) x = v x x, (..., 3) -> (..., 3, 3).

    >>> np.array_equal(hat((1, 2, 3)) @ (4, 5, 6), np.cross((1, 2, 3), (4, 5, 6)))
    True
    """
    return -np.cross(as_floats(v, "v", 3)[..., None, :], np.eye(3))


def left_matrix(p: npt.ArrayLike) -> FloatArray:
    """Return the matrix L(p) of multiplication from the left, L(p) q = p q, (..., 4) -> (..., 4, 4).

    >>> np.array_equal(left_matrix((1, 2, 3, 4)) @ (5, 6, 7, 8), multiply((1, 2, 3, 4), (5, 6, 7, 8)))
    True
    """
    return multiply(as_floats(p, "p", 4)[..., None, :], np.eye(4)).swapaxes(-1, -2)


def right_matrix(p: npt.ArrayLike) -> FloatArray:
    """Return the matrix R(p) of multiplication from the right, R(p) q = q p, (..., 4) -> (..., 4, 4).

    >>> np.array_equal(right_matrix((5, 6, 7, 8)) @ (1, 2, 3, 4), multiply((1, 2, 3, 4), (5, 6, 7, 8)))
    True
    """
    return multiply(np.eye(4), as_floats(p, "p", 4)[..., None, :]).swapaxes(-1, -2)


def dexp(vector: npt.ArrayLike) -> FloatArray:
    """Return the derivative of the exponential map at rotation vectors u, as matrices, (..., 3) -> (..., 3, 3).

    d/dt exp(hat(u)) = hat(dexp(u) u') exp(hat(u)): if a rotation vector from space axes changes at the rate u', the
    body turns at the angular velocity dexp(u) u' in space axes. In body axes it is dexp(-u) u'. For quaternions
    exp(v), v = u/2 (Gustafsson 2010, Proposition 3.3).

    >>> dexp((0, 0, np.pi)).round(4)
    array([[ 0.    , -0.6366,  0.    ],
           [ 0.6366,  0.    ,  0.    ],
           [ 0.    ,  0.    ,  1.    ]])
    """
    u, angle, small = _angle_of(vector)
    safe = np.where(small, 1.0, angle)
    second = np.where(small, polyval(angle**2, SINE_SERIES), (safe - np.sin(safe)) / safe**3)
    first = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    return np.eye(3) + first[..., None, None] * u + second[..., None, None] * (u @ u)


def dexp_inverse(vector: npt.ArrayLike) -> FloatArray:
    """Return the inverse of ``dexp``, (..., 3) -> (..., 3, 3): ``1 - u/2 + (1 - (a/2) cot(a/2))/a^2 u^2``, ``a = |u|``.

    It is singular where a is a multiple of 2 pi, but for 0.

    >>> bool(np.allclose(dexp_inverse((0.3, 0.2, 0.9)) @ dexp((0.3, 0.2, 0.9)), np.eye(3), rtol=0, atol=1e-15))
    True
    """
    u, angle, small = _angle_of(vector)
    safe = np.where(small, 1.0, angle)
    second = np.where(small, polyval(angle**2, COTANGENT_SERIES), (1.0 - 0.5 * safe / np.tan(0.5 * safe)) / safe**2)
    return np.eye(3) - 0.5 * u + second[..., None, None] * (u @ u)


def _angle_of(vector: npt.ArrayLike) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Rotation vectors as matrices hat(u), their angles, and which of these are small."""
    vector = as_floats(vector, "vector", 3)
    angle = np.linalg.norm(vector, axis=-1)
    return hat(vector), angle, angle < SERIES_BELOW


def from_euler(axes: str, angles: npt.ArrayLike, degrees: bool = False) -> FloatArray:
    """Return the attitude that consecutive rotations about coordinate axes make, (..., k) -> (..., 4).

    The arguments are those of ``scipy.spatial.transform.Rotation.from_euler``, which computes the result.

    Parameters
    ----------
    axes : str
        One to three letters: "XYZ" for axes that turn with the body (intrinsic), "xyz" for fixed ones (extrinsic).
    angles : array_like
        The angles (..., k), one for each letter; a number (...) is enough for one letter without a batch.
    degrees : bool, optional
        Whether the angles are in degrees; if not, they are in radians.

    Returns
    -------
    ndarray
        Unit quaternions (..., 4), scalar first, body to space: "ZXZ" with (a, b, c) is Q = Rz(a) Rx(b) Rz(c).

    Examples
    --------
    >>> from_euler("ZXZ", (30, 60, 0), degrees=True).round(4)
    array([0.8365, 0.483 , 0.1294, 0.2241])
    >>> from_euler("x", 90, degrees=True).round(4)
    array([0.7071, 0.7071, 0.    , 0.    ])
    """
    from scipy.spatial.transform import Rotation

    if not (isinstance(axes, str) and 1 <= len(axes) <= 3 and (set(axes) <= set("XYZ") or set(axes) <= set("xyz"))):
        raise InputError(f"axes = {axes!r}; expected one to three of the letters XYZ, or of xyz, such as 'ZXZ'")
    if any(a == b for a, b in pairwise(axes)):
        raise InputError(f"axes = {axes!r} has the same axis twice in a row; add those two angles, and drop one letter")
    array = as_floats(angles, "angles")
    array = array[None] if array.ndim == 0 else array
    if array.shape[-1] != len(axes):
        raise ShapeError(f"angles has shape {array.shape}; expected (..., {len(axes)}), one angle for each of {axes!r}")
    check_finite(array, "angles", InputError)
    turned = Rotation.from_euler(axes, array.reshape(-1, len(axes)), degrees=degrees)
    return quaternion_components(turned).reshape(*array.shape[:-1], 4)
