"""Attitudes as unit quaternions, scalar first, body to space; Q = matrix(q), Q' = Q hat(w).

Arrays have the components on the last axis, and the axes of a batch before it. ``as_quaternion`` and ``as_rotation``
convert from and to ``scipy.spatial.transform.Rotation``.
"""

from __future__ import annotations

from itertools import pairwise
from math import factorial, frexp, ldexp, sqrt
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt
from numpy.polynomial.polynomial import polyval

from polhode.core.arrays import FloatArray
from polhode.core.checks import all_finite, as_floats, check_attitude, check_finite, first_bad, place, show
from polhode.core.errors import AttitudeError, InputError, ShapeError
from polhode.core.units import NO_UNITS
from polhode.core.vectors import components, stacked
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
__dir__ = __all__.copy  # public names only


DEGREES = {"angle": "deg"}
UNIT_MATRIX = np.eye(3)
CONJUGATION = np.array([1.0, -1.0, -1.0, -1.0])
ROUNDING = 2.0**-51  # largest deviation of the norm of a normalized quaternion from 1
SERIES_BELOW = 1.0  # radians: for smaller angles the closed forms of dexp lose digits
SINE_SERIES = [(-1.0) ** k / factorial(2 * k + 3) for k in range(9)]  # of (a - sin a)/a^3, in a^2
COTANGENT_SERIES = [  # of (1 - (a/2) cot(a/2))/a^2, in a^2: |B_2k|/(2k)!
    1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600,
    3617 / 10670622842880000, 43867 / 5109094217170944000, 174611 / 802857662698291200000,
]  # fmt: skip


class RotationLike(Protocol):
    """The part of the interface of a SciPy Rotation that is used here."""

    def as_quat(self) -> Any: ...
    def as_matrix(self) -> Any: ...


def is_rotation(value: Any) -> TypeGuard[RotationLike]:
    """Return whether ``value`` is a SciPy Rotation, without importing SciPy."""
    return type(value) is not np.ndarray and hasattr(value, "as_quat") and hasattr(value, "as_matrix")


def as_quaternion(attitude: Any, name: str = "q") -> FloatArray:
    """Return an attitude as normalized quaternions.

    Parameters
    ----------
    attitude : array_like, shape (..., 4), or scipy.spatial.transform.Rotation
        Quaternions of unit norm up to rounding, scalar first, or a SciPy Rotation.
    name : str, optional
        Name of the argument in error messages.

    Returns
    -------
    ndarray, shape (..., 4)
        Unit quaternions, scalar first.

    Raises
    ------
    AttitudeError
        If a quaternion is not of unit norm.

    Examples
    --------
    >>> as_quaternion((1, 0, 0, 0))
    array([1., 0., 0., 0.])
    """
    q = quaternion_components(attitude, name)
    norm = check_attitude(q, name)
    if q.ndim == 1:  # quaternions that are normalized already keep their bits
        return q.copy() if abs(norm - 1) <= ROUNDING else q / norm
    return np.where((np.abs(norm - 1) <= ROUNDING)[..., None], q, q / norm[..., None])


def quaternion_components(attitude: Any, name: str = "q") -> FloatArray:
    """Return the components of an attitude, scalar first, shape (..., 4), without a check of the norm."""
    if is_rotation(attitude):
        return np.ascontiguousarray(np.roll(attitude.as_quat(), 1, axis=-1))
    return as_floats(attitude, name, 4)


def as_rotation(q: npt.ArrayLike) -> Rotation:
    """Return quaternions, scalar first, shape (4,) or (n, 4), as a SciPy Rotation.

    Examples
    --------
    >>> float(as_rotation((1, 0, 0, 0)).magnitude())
    0.0
    """
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(np.roll(as_floats(q, "q", 4), -1, axis=-1))


def normalize(q: npt.ArrayLike) -> FloatArray:
    """Return the unit quaternions ``q/|q|``.

    Parameters
    ----------
    q : array_like, shape (..., 4)
        Quaternions of any norm other than 0.

    Returns
    -------
    ndarray, shape (..., 4)
        Unit quaternions. A rounded unit quaternion changes by at most its last digit.

    Raises
    ------
    AttitudeError
        If a quaternion is 0 or not finite.

    Examples
    --------
    >>> normalize((0, 0, 3, 4))
    array([0. , 0. , 0.6, 0.8])
    """
    q = as_floats(q, "q", 4)
    if q.ndim == 1 and all_finite(q) and (most := max(map(abs, q.tolist()))) > 0:
        power = -frexp(most)[1]
        a, b, c, d = (ldexp(x, power) for x in q.tolist())
        norm = sqrt(a * a + b * b + c * c + d * d)  # in the same order as below, for the same bits
        return np.array((a / norm, b / norm, c / norm, d / norm))
    largest = np.abs(q).max(axis=-1, keepdims=True)
    good = np.isfinite(largest) & (largest > 0)
    if not good.all():
        index = first_bad(good[..., 0])
        raise AttitudeError(
            f"{place('q', index)} = {show(q[index])} has no direction; expected finite components, not all 0"
        )
    q = np.ldexp(q, -np.frexp(largest)[1])  # a power of two: neither overflow nor rounding
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def multiply(a: npt.ArrayLike, b: npt.ArrayLike) -> FloatArray:
    """Return the Hamilton product a b of quaternions (..., 4), which broadcast.

    Examples
    --------
    >>> multiply((0, 1, 0, 0), (0, 0, 1, 0))
    array([0., 0., 0., 1.])
    """
    return stacked(*product(components(as_floats(a, "a", 4)), components(as_floats(b, "b", 4))))


def product(a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    """Return the four components of the Hamilton product a b, from those of a and b, numbers or arrays."""
    a0, a1, a2, a3 = a
    b0, b1, b2, b3 = b
    return (
        a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
        a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
        a0 * b2 + a2 * b0 + a3 * b1 - a1 * b3,
        a0 * b3 + a3 * b0 + a1 * b2 - a2 * b1,
    )


def conjugate(q: npt.ArrayLike) -> FloatArray:
    """Return the conjugates of quaternions (..., 4), which are the inverse rotations of unit quaternions.

    Examples
    --------
    >>> conjugate((0.5, 0.5, 0.5, -0.5))
    array([ 0.5, -0.5, -0.5,  0.5])
    """
    return as_floats(q, "q", 4) * CONJUGATION


def matrix(q: npt.ArrayLike) -> FloatArray:
    """Return the rotation matrices (..., 3, 3), from body to space, of unit quaternions (..., 4).

    Q = 1 + 2 q0 hat(v) + 2 hat(v)^2 with v the vector part.

    Examples
    --------
    >>> matrix((0.0, 0.0, 0.0, 1.0))
    array([[-1.,  0.,  0.],
           [ 0., -1.,  0.],
           [ 0.,  0.,  1.]])
    """
    q = as_floats(q, "q", 4)
    q0, q1, q2, q3 = components(q)
    entries = stacked(
        1 - 2 * (q2 * q2 + q3 * q3), 2 * (q1 * q2 - q0 * q3), 2 * (q1 * q3 + q0 * q2),
        2 * (q1 * q2 + q0 * q3), 1 - 2 * (q1 * q1 + q3 * q3), 2 * (q2 * q3 - q0 * q1),
        2 * (q1 * q3 - q0 * q2), 2 * (q2 * q3 + q0 * q1), 1 - 2 * (q1 * q1 + q2 * q2),
    )  # fmt: skip
    return entries.reshape(*q.shape[:-1], 3, 3)


def from_matrix(Q: npt.ArrayLike) -> FloatArray:
    """Return the unit quaternions (..., 4) of rotation matrices (..., 3, 3).

    The largest component of a quaternion is positive. Each row of the symmetric matrix 4 q q^T is q times one of its
    components; the longest row is the most accurate.

    Raises
    ------
    AttitudeError
        If a matrix is not a rotation.

    Examples
    --------
    >>> from_matrix(np.diag((1.0, -1.0, -1.0)))
    array([0., 1., 0., 0.])
    """
    Q = as_floats(Q, "Q", 3)
    if Q.ndim < 2 or Q.shape[-2] != 3:
        raise ShapeError(f"Q has shape {Q.shape}; expected (..., 3, 3)")
    _check_rotations(Q)
    d1, xy, xz, yx, d2, yz, zx, zy, d3 = components(Q.reshape(*Q.shape[:-2], 9))
    a1, a2, a3 = zy - yz, xz - zx, yx - xy
    s1, s2, s3 = zy + yz, xz + zx, yx + xy
    rows = (
        (1 + d1 + d2 + d3, a1, a2, a3),
        (a1, 1 + d1 - d2 - d3, s3, s2),
        (a2, s3, 1 - d1 + d2 - d3, s1),
        (a3, s2, s1, 1 - d1 - d2 + d3),
    )
    if Q.ndim == 2:
        return normalize(rows[max(range(4), key=lambda k: rows[k][k])])
    arrays = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    longest = np.argmax(np.diagonal(arrays, axis1=-2, axis2=-1), axis=-1)
    return normalize(np.take_along_axis(arrays, longest[..., None, None], axis=-2)[..., 0, :])


def _check_rotations(Q: FloatArray) -> None:
    """Raise AttitudeError unless all matrices (..., 3, 3) are rotations."""
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(Q @ Q.swapaxes(-2, -1) - UNIT_MATRIX).max(axis=(-2, -1))
        good = (off <= 2 * NORM_TOLERANCE) & (np.linalg.det(Q) > 0)
    if not good.all():
        raise AttitudeError(f"{place('Q', first_bad(good))} is not a rotation matrix: expected Q Q^T = 1 and det Q = 1")


def rotate(q: npt.ArrayLike, v: npt.ArrayLike) -> FloatArray:
    """Return the vectors Q v (..., 3): rotate ``v`` (..., 3) from body to space axes by ``q`` (..., 4).

    Examples
    --------
    >>> rotate((0, 0, 0, 1), (1, 2, 3))
    array([-1., -2.,  3.])
    """
    q = as_floats(q, "q", 4)
    v = as_floats(v, "v", 3)
    u = 2.0 * np.cross(q[..., 1:], v)
    return v + q[..., :1] * u + np.cross(q[..., 1:], u)


def quaternion_momentum(m: FloatArray, q: FloatArray) -> FloatArray:
    """Return the momentum conjugate to the quaternion, 2 q (0, m), shape (..., 4), for m (..., 3) and q (..., 4)."""
    return 2.0 * multiply(q, np.concatenate([np.zeros_like(m[..., :1]), m], axis=-1))


def from_rotation_vector(vector: npt.ArrayLike, degrees: bool = False) -> FloatArray:
    """Return the rotation by the angle ``|vector|`` about the direction of ``vector``.

    Parameters
    ----------
    vector : array_like, shape (..., 3)
        Rotation vectors.
    degrees : bool, optional
        Whether the angle ``|vector|`` is in degrees. The default is False, for radians.

    Returns
    -------
    ndarray, shape (..., 4)
        Unit quaternions, scalar first.

    Examples
    --------
    >>> from_rotation_vector((0.3, 0.2, 0.9)).round(4)
    array([0.8848, 0.1442, 0.0961, 0.4326])
    >>> from_rotation_vector((0, 0, 90), degrees=True).round(4)
    array([0.7071, 0.    , 0.    , 0.7071])
    """
    vector = as_floats(vector, "vector", 3, DEGREES if degrees else NO_UNITS)
    vector = np.deg2rad(vector) if degrees else vector
    half = 0.5 * np.linalg.norm(vector, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * vector], axis=-1)


def hat(v: npt.ArrayLike) -> FloatArray:
    """Return the skew-symmetric matrix of the cross product, hat(v) x = v x x, (..., 3) -> (..., 3, 3).

    Examples
    --------
    >>> np.array_equal(hat((1, 2, 3)) @ (4, 5, 6), np.cross((1, 2, 3), (4, 5, 6)))
    True
    """
    return -np.cross(as_floats(v, "v", 3)[..., None, :], np.eye(3))


def left_matrix(p: npt.ArrayLike) -> FloatArray:
    """Return the matrix L(p) of multiplication from the left, L(p) q = p q, (..., 4) -> (..., 4, 4).

    Examples
    --------
    >>> np.array_equal(left_matrix((1, 2, 3, 4)) @ (5, 6, 7, 8), multiply((1, 2, 3, 4), (5, 6, 7, 8)))
    True
    """
    return multiply(as_floats(p, "p", 4)[..., None, :], np.eye(4)).swapaxes(-1, -2)


def right_matrix(p: npt.ArrayLike) -> FloatArray:
    """Return the matrix R(p) of multiplication from the right, R(p) q = q p, (..., 4) -> (..., 4, 4).

    Examples
    --------
    >>> np.array_equal(right_matrix((5, 6, 7, 8)) @ (1, 2, 3, 4), multiply((1, 2, 3, 4), (5, 6, 7, 8)))
    True
    """
    return multiply(np.eye(4), as_floats(p, "p", 4)[..., None, :]).swapaxes(-1, -2)


def dexp(vector: npt.ArrayLike) -> FloatArray:
    """Return the derivative of the exponential map at rotation vectors u, as matrices, (..., 3) -> (..., 3, 3).

    d/dt exp(hat(u)) = hat(dexp(u) u') exp(hat(u)): if a rotation vector from space axes changes at the rate u', the
    body rotates at the angular velocity dexp(u) u' in space axes. In body axes it is dexp(-u) u'. The quaternion is
    exp(v) with v = u/2 (Gustafsson 2010, Proposition 3.3).

    Examples
    --------
    >>> dexp((0.3, 0.2, 0.9)).round(4)
    array([[ 0.8648, -0.4063,  0.1353],
           [ 0.4254,  0.8569, -0.11  ],
           [-0.0495,  0.1672,  0.9793]])
    """
    u, angle, small = _angle_of(vector)
    safe = np.where(small, 1.0, angle)
    second = np.where(small, polyval(angle**2, SINE_SERIES), (safe - np.sin(safe)) / safe**3)
    first = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    return np.eye(3) + first[..., None, None] * u + second[..., None, None] * (u @ u)


def dexp_inverse(vector: npt.ArrayLike) -> FloatArray:
    """Return the inverse of ``dexp``, (..., 3) -> (..., 3, 3): ``1 - u/2 + (1 - (a/2) cot(a/2))/a^2 u^2``, ``a = |u|``.

    It is singular where a is a multiple of 2 pi other than 0.

    Examples
    --------
    >>> bool(np.allclose(dexp_inverse((0.3, 0.2, 0.9)) @ dexp((0.3, 0.2, 0.9)), np.eye(3), rtol=0, atol=1e-15))
    True
    """
    u, angle, small = _angle_of(vector)
    safe = np.where(small, 1.0, angle)
    second = np.where(small, polyval(angle**2, COTANGENT_SERIES), (1.0 - 0.5 * safe / np.tan(0.5 * safe)) / safe**2)
    return np.eye(3) - 0.5 * u + second[..., None, None] * (u @ u)


def _angle_of(vector: npt.ArrayLike) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Return the matrices hat(u) of rotation vectors (..., 3), their angles, and whether these are small."""
    vector = as_floats(vector, "vector", 3)
    angle = np.linalg.norm(vector, axis=-1)
    return hat(vector), angle, angle < SERIES_BELOW


def from_euler(axes: str, angles: npt.ArrayLike, degrees: bool = False) -> FloatArray:
    """Return the attitude of consecutive rotations about coordinate axes.

    The arguments are those of ``scipy.spatial.transform.Rotation.from_euler``, which computes the result.

    Parameters
    ----------
    axes : str
        One to three letters: "XYZ" for axes that rotate with the body (intrinsic), "xyz" for fixed axes (extrinsic).
    angles : array_like, shape (..., k)
        Angles, one for each letter. It may be a number if there is one letter and no batch.
    degrees : bool, optional
        Whether the angles are in degrees. The default is False, for radians.

    Returns
    -------
    ndarray, shape (..., 4)
        Unit quaternions, scalar first, body to space: "ZXZ" with (a, b, c) is Q = Rz(a) Rx(b) Rz(c).

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
    array = as_floats(angles, "angles", units=DEGREES if degrees else NO_UNITS)
    array = array[None] if array.ndim == 0 else array
    if array.shape[-1] != len(axes):
        raise ShapeError(f"angles has shape {array.shape}; expected (..., {len(axes)}), one angle for each of {axes!r}")
    check_finite(array, "angles", InputError)
    rotation = Rotation.from_euler(axes, array.reshape(-1, len(axes)), degrees=degrees)
    return quaternion_components(rotation).reshape(*array.shape[:-1], 4)
