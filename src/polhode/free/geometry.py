"""Geometry of free motion: Poinsot's curves, polhode and herpolhode, and Andoyer's canonical variables.

A polhode is the intersection of the momentum sphere with the energy ellipsoid and does not depend on time. The
principal axes are labeled 3 for the axis that m circles, 2 for the axis of middle inertia and 1 for the remaining one
(moments J1, J2, J3, m = x):

    m = (A1 cos phi, A2 sin phi, sign(x3) sqrt(e3^2 + N A1^2 cos^2 phi))                                        (1)
    A1^2 = x1^2 + c1 x2^2,  A2 = A1/sqrt(c1),  e3^2 = x3^2 - N x1^2,  d3^2 = e3^2 + N A1^2 = x3^2 + c2 x2^2     (2)
    c1 = J1 (J3 - J2)/(J2 (J3 - J1)),  c2 = J3 (J2 - J1)/(J2 (J3 - J1)),  N = c2/c1                             (3)

phi is the amplitude of the Jacobi functions. The only difference in these formulas, e3, vanishes on the separatrix; it
is therefore computed in exact arithmetic where it cancels.

References: L. Poinsot, Théorie nouvelle de la rotation des corps, 1834. M. H. Andoyer, Cours de mécanique céleste I,
1923. A. Deprit, Am. J. Phys. 35 (1967) 424. A. Deprit, A. Elipe, J. Astronaut. Sci. 41 (1993) 603.
"""

from __future__ import annotations

from fractions import Fraction
from math import frexp, ldexp, sqrt
from operator import index
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody, as_body, flow_moments
from polhode.core.checks import as_floats, check_finite, common_batch, first_bad, place
from polhode.core.errors import InputError
from polhode.core.rotation import as_quaternion, conjugate, from_matrix, hat, matrix, multiply, rotate
from polhode.core.state import State
from polhode.core.vectors import length, scalar, unit

__all__ = [
    "Andoyer",
    "andoyer",
    "from_andoyer",
    "from_pq",
    "herpolhode",
    "herpolhode_radii",
    "invariable_frame",
    "polhode",
    "pq",
]
__dir__ = __all__.copy  # public names only


CONSTANT = ("rest", "spherical", "steady")  # regimes in which m is constant
CONSISTENT = 2.0**-46  # relative to G: largest rounding error of L = G cos J, or of |L| <= G


class MotionLike(Protocol):
    """The part of the interface of ``FreeMotion`` that this module uses."""

    @property
    def body(self) -> RigidBody: ...
    @property
    def initial(self) -> State: ...
    @property
    def batch(self) -> tuple[int, ...]: ...
    @property
    def regime(self) -> str | npt.NDArray[np.str_]: ...
    @property
    def m_space(self) -> FloatArray: ...
    def state(self, t: npt.ArrayLike) -> State: ...


# Polhode


def polhode(motion: MotionLike, samples: int = 361, *, of: str = "omega") -> FloatArray:
    """Return the closed curve of the angular velocity, or of the momentum, in body axes.

    Parameters
    ----------
    motion : FreeMotion
        The motion, of one body or of a batch.
    samples : int, optional
        Number of points, at least 2. The default is 361.
    of : {"omega", "m"}, optional
        Whether the curve is that of the angular velocity (the default) or of the momentum.

    Returns
    -------
    ndarray, shape (samples,) + batch + (3,)
        Points of the curve, starting with the state at t = 0, in the direction of time. The last point equals the
        first. If m is constant, all points are equal.

    Raises
    ------
    InputError
        If ``samples`` is less than 2 or ``of`` is neither "omega" nor "m".

    Notes
    -----
    The points are equally spaced in the amplitude phi of the Jacobi functions, an angle about the axis that m circles.
    They therefore cover the whole curve near the separatrix, where points at equal time intervals would cluster at the
    middle axis. For equal time intervals use ``motion.omega(np.linspace(0, motion.period, samples))``.

    On the separatrix, where the period is infinite, the curve is an arc from one end of the middle axis to the other,
    including both ends.

    Examples
    --------
    >>> from polhode import free_motion
    >>> motion = free_motion((1.0, 2.0, 3.0), m=(0.1, 2.0, 0.0))
    >>> curve = polhode(motion)
    >>> curve.shape, bool((curve[0] == curve[-1]).all())
    ((361, 3), True)
    >>> bool(np.allclose(np.sum(curve**2 * (1.0, 2.0, 3.0), axis=-1), 2 * motion.energy, rtol=1e-15))
    True
    """
    if of not in ("omega", "m"):
        raise InputError(f"of = {of!r}; expected 'omega' for the angular velocity or 'm' for the momentum")
    if (samples := index(samples)) < 2:
        raise InputError(f"samples = {samples}; expected at least 2 points")
    c = _curve(motion)
    cos, sin = _around(c, samples)
    crossing = c.separatrix  # start in the middle of the arc, where x2 = 0
    x1 = np.where(crossing, np.copysign(c.A1, c.x[..., 0]), c.x[..., 0])
    x2 = np.where(crossing, 0.0, c.x[..., 1])
    y1 = x1 * cos - c.r1 * x2 * sin  # (1), with phi starting at its value for x
    y2 = x2 * cos + x1 / c.r1 * sin
    y = np.empty((*y1.shape, 3))
    labeled = np.stack([y1, y2, np.copysign(np.hypot(c.e3, c.rootN * y1), c.x[..., 2])], axis=-1)
    np.put_along_axis(y, np.broadcast_to(c.order, y.shape), labeled, axis=-1)
    return _from_principal(motion.body, y if of == "m" else y / flow_moments(motion.body))


class _Curve(NamedTuple):
    """Constants of (2) and (3), each of shape batch.

    ``order``, ``x`` and ``J`` have the shape batch + (3,) and are sorted by the labels of the axes.
    """

    order: npt.NDArray[np.intp]
    x: FloatArray
    J: FloatArray
    r1: FloatArray  # sqrt(c1)
    rootN: FloatArray
    A1: FloatArray
    A2: FloatArray
    d3: FloatArray
    e3: FloatArray
    constant: npt.NDArray[np.bool_]
    separatrix: npt.NDArray[np.bool_]


def _curve(motion: MotionLike) -> _Curve:
    """Compute the constants of the polhode of ``motion``."""
    regime = np.asarray(motion.regime)
    constant = np.isin(regime, CONSTANT)
    separatrix = regime == "separatrix"
    moments = np.broadcast_to(flow_moments(motion.body), (*motion.batch, 3))
    m = np.broadcast_to(_to_principal(motion.body, motion.initial.m), (*motion.batch, 3))
    order = _labels(moments, regime)
    x = np.take_along_axis(m, order, axis=-1)
    J = np.take_along_axis(moments, order, axis=-1)
    x1, x2, x3 = np.moveaxis(x, -1, 0)
    J1, J2, J3 = np.moveaxis(J, -1, 0)
    a21 = J2 - J1
    a31 = np.where(constant, J1, J3 - J1)  # not 0
    a32 = np.where(constant, J2, J3 - J2)
    c1 = np.where(constant, 1.0, J1 / J2 * (a32 / a31))  # (3)
    c2 = np.where(constant, 0.0, J3 / J2 * (a21 / a31))
    r1 = np.sqrt(c1)
    rootN = np.sqrt(c2 / c1)
    e3 = np.where(separatrix, 0.0, _e3(x, J, rootN, constant | separatrix))
    A1 = np.hypot(x1, r1 * x2)  # (2)
    A2 = np.hypot(x2, x1 / r1)
    d3 = np.hypot(x3, np.sqrt(c2) * x2)
    return _Curve(order, x, J, r1, rootN, A1, A2, d3, e3, constant, separatrix)


def _labels(moments: FloatArray, regime: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return the indices of the principal axes labeled 1, 2, 3 in the module docstring, shape batch + (3,)."""
    order = np.argsort(moments, axis=-1, kind="stable")
    _, middle, high = np.moveaxis(np.take_along_axis(moments, order, axis=-1), -1, 0)
    around_min = (regime == "around_min") | ((regime == "symmetric") & (middle == high))
    return np.where(around_min[..., None], order[..., ::-1], order)


def _e3(x: FloatArray, J: FloatArray, rootN: FloatArray, skip: npt.NDArray[np.bool_]) -> FloatArray:
    """Return sqrt(x3^2 - N x1^2), shape batch, with the difference formed exactly where it cancels."""
    x1, x3 = np.abs(x[..., 0]), np.abs(x[..., 2])
    less = np.where(skip, 0.0, rootN * x1)
    total = x3 + less
    e3 = np.array(total * np.sqrt(np.maximum(x3 - less, 0.0) / np.where(total > 0, total, 1.0)))
    for i in map(tuple, np.argwhere(less > 0.5 * x3)):
        e3[i] = _exact_e3(float(x1[i]), float(x3[i]), [Fraction(float(moment)) for moment in J[i]])
    return e3


def _exact_e3(x1: float, x3: float, J: list[Fraction]) -> float:
    """Return sqrt(x3^2 - N x1^2) with the difference formed in rational arithmetic."""
    exponent = frexp(max(x1, x3))[1]  # the squares must not underflow
    low, high = Fraction(ldexp(x1, -exponent)), Fraction(ldexp(x3, -exponent))
    N = J[2] * (J[1] - J[0]) / (J[0] * (J[2] - J[1]))
    return ldexp(sqrt(abs(high**2 - N * low**2)), exponent)


def _around(c: _Curve, samples: int) -> tuple[FloatArray, FloatArray]:
    """Return cosine and sine of phi minus its first (on the separatrix, middle) value, (samples,) + batch."""
    angle = np.linspace(0.0, 2 * np.pi, samples)
    closed = np.cos(angle), np.concatenate([np.sin(angle[:-1]), [0.0]])
    half = np.linspace(-0.5 * np.pi, 0.5 * np.pi, samples)
    arc = np.concatenate([[0.0], np.cos(half[1:-1]), [0.0]]), np.sin(half)
    column = (samples,) + (1,) * c.constant.ndim
    cos, sin = (np.where(c.separatrix, a.reshape(column), b.reshape(column)) for a, b in zip(arc, closed, strict=True))
    return np.where(c.constant, 1.0, cos), np.where(c.constant, 0.0, sin * _direction_of_time(c))


def _direction_of_time(c: _Curve) -> FloatArray:
    """Return the sign of phi', shape batch.

    It is the sign of x2' = (m x omega)_2 divided by x1, which is x3 (1/J3 - 1/J1) if the axes 2, 1, 3 are cyclic.
    """
    i, j, k = np.moveaxis(c.order, -1, 0)
    cyclic = np.sign((i - j) * (k - i) * (k - j))
    return cyclic * np.sign(c.x[..., 2]) * np.sign(c.J[..., 0] - c.J[..., 2])


def _to_principal(body: RigidBody, v: FloatArray) -> FloatArray:
    """Return vectors (..., 3), given in the axes of ``body``, in its principal axes."""
    return v if body.is_principal else np.einsum("...ji,...j->...i", body.axes, v)


def _from_principal(body: RigidBody, v: FloatArray) -> FloatArray:
    """Return vectors (..., 3), given in principal axes, in the axes of ``body``."""
    return v if body.is_principal else np.einsum("...ij,...j->...i", body.axes, v)


# Herpolhode


def herpolhode(motion: MotionLike, t: npt.ArrayLike) -> FloatArray:
    """Return the curve of the tip of omega on the invariable plane.

    The invariable plane is perpendicular to m_space, at the distance ``2T/|m|`` from the origin.

    Parameters
    ----------
    motion : FreeMotion
        The motion, of one body or of a batch.
    t : array_like
        Times, of any shape.

    Returns
    -------
    ndarray, shape t.shape + batch + (2,)
        Coordinates along the first two columns e1, e2 of ``invariable_frame``, relative to the point where m_space
        meets the plane. They are 0 for a body at rest.

    Notes
    -----
    The coordinates are computed from m x omega, so that small curves, close to a steady spin, are as accurate (relative
    to their size, in principal axes) as large ones.

    Examples
    --------
    >>> from polhode import free_motion
    >>> motion = free_motion((1.0, 2.0, 3.0), m=(0.1, 2.0, 0.0))
    >>> points = herpolhode(motion, np.linspace(0, 50, 200))
    >>> inner, outer = herpolhode_radii(motion)
    >>> rho = np.hypot(*points.T)
    >>> bool(inner * (1 - 1e-13) <= rho.min() and rho.max() <= outer * (1 + 1e-13))
    True
    """
    state = motion.state(t)
    frame = invariable_frame(motion)
    across = rotate(state.q, _across(motion.body, state.m))
    # omega minus its component along e3 = m/|m| is (m x omega)/|m| x e3
    x, y = (np.sum(across * frame[..., i], axis=-1) for i in (1, 0))
    return np.stack([x, -y], axis=-1)


def _across(body: RigidBody, m: FloatArray) -> FloatArray:
    """Return (m x omega)/|m| in body axes, shape (..., 3).

    In principal axes its components are products with differences of moments, so that nothing cancels.
    """
    x = _to_principal(body, m)
    J = flow_moments(body)
    direction = unit(x)
    omega = x / J
    j, k = [1, 2, 0], [2, 0, 1]
    return _from_principal(body, direction[..., j] * omega[..., k] * ((J[..., j] - J[..., k]) / J[..., j]))


def herpolhode_radii(motion: MotionLike) -> tuple[float | FloatArray, float | FloatArray]:
    """Return the inner and outer radius of the ring that the herpolhode fills.

    Parameters
    ----------
    motion : FreeMotion
        The motion, of one body or of a batch.

    Returns
    -------
    inner, outer : float or ndarray of shape batch
        The radii. They are equal for a symmetric body. On the separatrix, where the herpolhode spirals into the center,
        the inner radius is 0. Both are 0 if m is constant.

    Notes
    -----
    With the symbols of the module docstring, the radii are ``A1 d3 |1/J1 - 1/J3|/|m|``, where m crosses the plane of
    axes 1 and 3, and ``A2 e3 |1/J2 - 1/J3|/|m|``, where it crosses the plane of axes 2 and 3.

    Examples
    --------
    >>> from polhode import free_motion
    >>> inner, outer = herpolhode_radii(free_motion((1.0, 1.0, 2.0), m=(3.0, 0.0, 4.0)))
    >>> round(inner, 15), round(outer, 15)  # (3/5) 4 |1/1 - 1/2|
    (1.2, 1.2)
    """
    c = _curve(motion)
    J1, J2, J3 = np.moveaxis(c.J, -1, 0)
    G = length(c.x)
    G = np.where(G > 0, G, 1.0)
    first = c.A1 / G * (c.d3 / J3) * np.abs((J3 - J1) / J1)
    second = c.A2 / G * (c.e3 / J3) * np.abs((J3 - J2) / J2)
    inner, outer = (np.where(c.constant, 0.0, f(first, second)) for f in (np.minimum, np.maximum))
    return scalar(inner), scalar(outer)


def invariable_frame(motion: MotionLike) -> FloatArray:
    """Return the axes e1, e2 of the invariable plane and its normal ``e3 = m_space/|m|``, in space axes.

    Parameters
    ----------
    motion : FreeMotion
        The motion, of one body or of a batch.

    Returns
    -------
    ndarray, shape batch + (3, 3)
        Rotation matrices with the columns e1, e2, e3.

    Notes
    -----
    e1 = (cos h, sin h, 0), with h of ``andoyer``, points to the ascending node of the invariable plane on the space
    xy-plane, and e2 = e3 x e1 points upward. If m_space is along z, e1 is the x-axis. For a body at rest the frame is
    the identity.

    Examples
    --------
    >>> from polhode import free_motion
    >>> invariable_frame(free_motion((1.0, 2.0, 3.0), m=(0.0, -1.0, 0.0))) + 0.0
    array([[ 1.,  0.,  0.],
           [ 0.,  0., -1.],
           [ 0.,  1.,  0.]])
    """
    m = np.broadcast_to(motion.m_space, (*motion.batch, 3))
    x, y, z = np.moveaxis(_unit_or_e3(m), -1, 0)
    h = np.hypot(x, y)
    cos = np.where(h > 0, -y, 1.0) / np.where(h > 0, h, 1.0)
    sin = x / np.where(h > 0, h, 1.0)
    columns = (cos, sin, np.zeros_like(z)), (-z * sin, z * cos, h), (x, y, z)
    return np.stack([np.stack(column, axis=-1) for column in columns], axis=-1)


def _unit_or_e3(v: FloatArray) -> FloatArray:
    """Return unit vectors along ``v``, shape (..., 3), and (0, 0, 1) where ``v`` is 0."""
    return np.where(length(v)[..., None] > 0, unit(v), [0.0, 0.0, 1.0])


# Andoyer variables


class Andoyer(NamedTuple):
    """Andoyer variables: the canonical pairs (g, G), (l, L), (h, H) and the inclinations I and J.

    Use ``andoyer`` to compute them. Every field is a number, or an array of shape batch. I and J are determined by the
    others, cos I = H/G and cos J = L/G, but near 0 or pi only to half of their digits (J of the Earth is 1e-6; for
    J = 1e-8, L/G rounds to 1). They are therefore separate fields. References: Andoyer 1923, Deprit 1967.

    Attributes
    ----------
    G : float or ndarray
        Norm of the momentum, ``|m|``.
    L : float or ndarray
        Component of m along the third body axis.
    H : float or ndarray
        Component of m_space along the space z-axis.
    g : float or ndarray
        Angle in the invariable plane, from its node on the space xy-plane to its node on the body xy-plane.
    l : float or ndarray
        Angle in the body xy-plane, from the node of the invariable plane to the body x-axis.
    h : float or ndarray
        Angle in the space xy-plane, from the x-axis to the node of the invariable plane.
    I : float or ndarray
        Inclination of the invariable plane to the space xy-plane, 0 to pi.
    J : float or ndarray
        Inclination of the body xy-plane to the invariable plane, 0 to pi.

    Examples
    --------
    >>> variables = andoyer((0.0, 0.0, 2.0), (1, 0, 0, 0))  # a spin about the third axis, which is vertical
    >>> float(variables.G), float(variables.L), float(variables.H)
    (2.0, 2.0, 2.0)
    """

    G: Any
    L: Any
    H: Any
    g: Any
    l: Any
    h: Any
    I: Any
    J: Any


def andoyer(m: npt.ArrayLike, q: Any) -> Andoyer:
    """Return the Andoyer variables of momenta and attitudes.

    Parameters
    ----------
    m : array_like, shape (..., 3)
        Angular momentum in body axes.
    q : array_like, shape (..., 4), or scipy.spatial.transform.Rotation
        Attitude as quaternions, scalar first, body to space. The leading axes of ``m`` and ``q`` broadcast.

    Returns
    -------
    Andoyer
        The variables. Angles are in (-pi, pi]; ``np.unwrap`` makes a time series of them continuous.

    Notes
    -----
    The angles are defined by the body-to-space matrix::

        Q = R3(h) R1(I) R3(g) R1(J) R3(l)        Ri: the rotation about axis i, counterclockwise
        m = (G sin J sin l, G sin J cos l, L)    m_space = Q m = (G sin I sin h, -G sin I cos h, H)

    For a free body in principal axes, G, H, h are constant, and (l, L), (g, G) obey the Hamiltonian::

        K = (sin^2 l/I1 + cos^2 l/I2) (G^2 - L^2)/2 + L^2/(2 I3)

    Where two planes coincide there is no node. In that case l = 0 if m is along the third body axis, h = 0 if m_space
    is along z, and g is the whole angle. At rest the directions are those of a body that spins about its third axis.
    With these conventions the inverse, ``from_andoyer(*andoyer(m, q))``, is accurate to rounding everywhere.

    References: Andoyer, Cours de mécanique céleste, 1923; Deprit, Am. J. Phys. 35 (1967) 424; Deprit & Elipe, J.
    Astronaut. Sci. 41 (1993) 603.

    Examples
    --------
    >>> v = andoyer(m=(0.0, 3.0, 4.0), q=(1, 0, 0, 0))
    >>> v.G, v.L, v.H, v.l, v.h
    (5.0, 4.0, 4.0, 0.0, 3.141592653589793)
    """
    m = as_floats(m, "m", 3)
    check_finite(m, "m")
    q = as_quaternion(q)
    batch = common_batch(m=m.shape[:-1], q=q.shape[:-1])
    m, q = np.broadcast_to(m, (*batch, 3)), np.broadcast_to(q, (*batch, 4))
    G = length(m)
    body = _unit_or_e3(m)
    space = rotate(q, body)
    I, J = (np.arctan2(np.hypot(d[..., 0], d[..., 1]), d[..., 2]) for d in (space, body))
    l = _angle(body[..., 0], body[..., 1])
    h = _angle(space[..., 0], -space[..., 1])
    turn = multiply(multiply(conjugate(_plane(h, I)), q), _plane(-l, -J))  # Q = R3(h) R1(I) R3(g) (R3(-l) R1(-J))^-1
    g = 2 * _angle(np.where(turn[..., 0] < 0, -1.0, 1.0) * turn[..., 3], np.abs(turn[..., 0]))
    H = np.clip(G * space[..., 2], -G, G)
    return Andoyer(*map(scalar, (G, m[..., 2].copy(), H, _in_turn(g), l, h, I, J)))


def from_andoyer(
    G: npt.ArrayLike,
    L: npt.ArrayLike,
    H: npt.ArrayLike,
    g: npt.ArrayLike,
    l: npt.ArrayLike,
    h: npt.ArrayLike,
    I: npt.ArrayLike | None = None,
    J: npt.ArrayLike | None = None,
) -> State:
    """Return the state with the given Andoyer variables.

    The formulas are those of ``andoyer``. All arguments broadcast.

    Parameters
    ----------
    G, L, H : array_like
        Norm of the momentum, and its components along the third body axis and along the space z-axis.
    g, l, h : array_like
        Angles, in radians.
    I, J : array_like, optional
        Inclinations, 0 to pi, with cos I = H/G and cos J = L/G. By default they are computed from these equations,
        which lose half of the digits near 0 and pi.

    Returns
    -------
    State
        Momentum and attitude. The sign of the quaternion is arbitrary: q and -q are the same attitude.

    Raises
    ------
    InputError
        If G is negative, ``|L|`` or ``|H|`` is larger than G, or I or J is inconsistent with H/G or L/G.

    Examples
    --------
    >>> state = from_andoyer(G=5.0, L=4.0, H=0.0, g=0.0, l=0.0, h=0.0)
    >>> state.m, state.m_space.round(12) + 0.0
    (array([0., 3., 4.]), array([ 0., -5.,  0.]))
    """
    arguments = {"G": G, "L": L, "H": H, "g": g, "l": l, "h": h, "I": I, "J": J}
    arrays = {name: _finite(value, name) for name, value in arguments.items() if value is not None}
    batch = common_batch(**{name: value.shape for name, value in arrays.items()})
    v = {name: np.broadcast_to(value, batch) for name, value in arrays.items()}
    _check_all(v["G"] >= 0, v["G"], "G", "the norm of the momentum, 0 or positive")
    _, angle_I = _inclination("H", "I", v)
    across, angle_J = _inclination("L", "J", v)
    m = np.stack([across * np.sin(v["l"]), across * np.cos(v["l"]), v["L"]], axis=-1)
    space = _plane(v["h"], angle_I)
    body = conjugate(_plane(-v["l"], -angle_J))
    return State(m, multiply(multiply(space, _about(3, v["g"])), body))


def _inclination(component: str, name: str, v: dict[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return G times the sine of an inclination, and the inclination.

    The inclination ``name`` ("I" or "J") is taken from ``v`` if present, and otherwise computed from G and
    ``component`` ("H" or "L").
    """
    G = v["G"]
    along = v[component]
    _check_all(np.abs(along) <= G * (1 + CONSISTENT), along, component, f"a component of m, |{component}| <= G")
    if name in v:
        fits = np.abs(along - G * np.cos(v[name])) <= CONSISTENT * G
        expected = f"0 to pi and cos {name} = {component}/G; omit {name} to compute it from {component} and G"
        _check_all(fits & (v[name] >= 0) & (v[name] <= np.pi), v[name], name, expected)
        return G * np.sin(v[name]), v[name]
    across = np.sqrt(np.maximum(G - along, 0.0)) * np.sqrt(np.maximum(G + along, 0.0))
    return across, np.arctan2(across, along)


def _finite(value: npt.ArrayLike, name: str) -> FloatArray:
    """Return ``value`` as an array of finite floats; raise InputError if it is not finite."""
    array = as_floats(value, name)
    _check_all(np.isfinite(array), array, name, "finite values")
    return array


def _check_all(valid: npt.NDArray[np.bool_], array: FloatArray, name: str, expected: str) -> None:
    """Raise InputError for the first element of ``array`` that is not valid."""
    if not np.all(valid):
        i = first_bad(np.asarray(valid))
        raise InputError(f"{place(name, i)} = {float(array[i]):.17g}; expected {expected}")


def _angle(y: FloatArray, x: FloatArray) -> FloatArray:
    """Return atan2(y, x) in (-pi, pi], and 0 if both are zero, of either sign."""
    return _in_turn(np.arctan2(y + 0.0, x + 0.0))


def _in_turn(angle: FloatArray) -> FloatArray:
    """Return angles of [-pi, pi] in (-pi, pi]."""
    return np.where(angle == -np.pi, np.pi, angle)


def _about(axis: int, angle: FloatArray) -> FloatArray:
    """Return the quaternions of rotations by ``angle`` about axis 1, 2 or 3, shape (..., 4)."""
    q = np.zeros((*np.shape(angle), 4))
    q[..., 0], q[..., axis] = np.cos(0.5 * angle), np.sin(0.5 * angle)
    return q


def _plane(node: FloatArray, inclination: FloatArray) -> FloatArray:
    """Return the quaternions of R3(node) R1(inclination), shape (..., 4)."""
    return multiply(_about(3, node), _about(1, inclination))


# Matrices as coordinates


def pq(body: RigidBody | npt.ArrayLike, state: State) -> tuple[FloatArray, FloatArray]:
    """Return the conjugate matrices (P, Q) of a state (Vilmart 2013).

    Q is the attitude matrix and P = Q' D its momentum, with D = tr(I)/2 - I for the inertia tensor I. The kinetic
    energy is tr(P D^-1 P^T)/2 unless D is singular, as it is for a flat body.

    Parameters
    ----------
    body : RigidBody, or array_like of shape (..., 3) or (..., 3, 3)
        The body, its principal moments or its inertia tensor.
    state : State
        Momentum and attitude.

    Returns
    -------
    P, Q : ndarray, shape batch + (3, 3)
        The matrices.

    Examples
    --------
    >>> P, Q = pq((1.0, 2.0, 2.5), State(m=(0.3, 0.2, 0.9)))
    >>> D = np.diag([1.75, 0.75, 0.25])
    >>> float(0.5 * np.trace(P @ np.linalg.inv(D) @ P.T)).__round__(12)  # (0.3^2/1 + 0.2^2/2 + 0.9^2/2.5)/2
    0.217
    """
    body = as_body(body)
    tensor = body.tensor
    omega = body.omega(state.m)
    D = 0.5 * np.trace(tensor, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - tensor
    Q = matrix(state.q)
    return Q @ hat(omega) @ D, Q


def from_pq(P: npt.ArrayLike, Q: npt.ArrayLike) -> State:
    """Return the state of conjugate matrices (P, Q), with hat(m) = Q^T P - P^T Q.

    Parameters
    ----------
    P, Q : array_like, shape (..., 3, 3)
        Matrices as returned by ``pq``.

    Returns
    -------
    State
        Momentum and attitude.

    Examples
    --------
    >>> from_pq(*pq((1.0, 2.0, 2.5), State(m=(0.3, 0.2, 0.9)))).m.round(12)
    array([0.3, 0.2, 0.9])
    """
    P, Q = (as_floats(value, name, 3) for value, name in ((P, "P"), (Q, "Q")))
    skew = np.swapaxes(Q, -1, -2) @ P
    skew = skew - np.swapaxes(skew, -1, -2)
    return State(np.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1), from_matrix(Q))
