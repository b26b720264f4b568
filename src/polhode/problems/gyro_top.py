"""Lagrange's top: a cone that spins on its tip, in steady precession or nutating. Betsch and Siebert 2009, section 5.2.

    V = M g L d_3.e_3,   d_3 = Q e_3 the axis of the cone,   L = 3 H/4

At the tilt theta the axis precesses about the vertical at the constant rate w_p if the spin is

    w_s = M g L/(J_3 w_p) + (J_1 - J_3)/J_3 w_p cos(theta)                                                     (1)

With an additional rate of tilt the top nutates. Both motions have closed forms, given here for the mass center:
cos(theta) is an elliptic function of time, and the azimuth an elliptic integral of the third kind (Whittaker,
chapter VI).
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody
from polhode.core.references import BETSCH_SIEBERT_2009
from polhode.core.rotation import from_rotation_vector
from polhode.core.state import State
from polhode.forces import gravity
from polhode.integration.problem import Problem

WHITTAKER = "E. T. Whittaker, A treatise on the analytical dynamics of particles and rigid bodies, chapter VI (1904)"

HEIGHT, RADIUS = 0.1, 0.05  # m, of the cone
DENSITY = 2700.0  # kg/m^3
GRAVITY = 9.81  # m/s^2
MASS = DENSITY * pi * RADIUS**2 * HEIGHT / 3.0
LEVER = 0.75 * HEIGHT  # L: from the tip to the mass center
WEIGHT = MASS * GRAVITY

TILT = pi / 3.0
PRECESSION = 10.0  # rad/s


def cone() -> RigidBody:
    """Return the cone, with its inertia about the tip."""
    return RigidBody.cone(MASS, RADIUS, HEIGHT).about((0.0, 0.0, -LEVER))


def gyro_top(tilt: float = TILT, precession: float = PRECESSION, tilt_rate: float = 0.0, t_end: float = 1.0) -> Problem:
    """Return the problem of a cone that spins on its tip.

    Parameters
    ----------
    tilt : float, optional
        Initial angle between the axis of the cone and the vertical [rad]. The default is pi/3.
    precession : float, optional
        Rate of precession [rad/s]. The default is 10.
    tilt_rate : float, optional
        Initial rate of change of the tilt [rad/s]. If it is 0 (the default), the tilt and the rate of precession stay
        constant; otherwise the top nutates.
    t_end : float, optional
        End of the time span [s]. The default is 1.

    Returns
    -------
    Problem
        The problem, in SI units.

    Examples
    --------
    >>> from polhode.solve import integrate
    >>> from polhode.problems.gyro_top import LEVER, mass_center
    >>> traj = integrate(gyro_top(), method="RKN6_14a")
    >>> bool(abs(LEVER * traj.matrix[..., 2] - mass_center(traj.t)).max() < 1e-14)
    True
    """
    body = cone()
    spin = steady_spin(tilt, precession)
    omega = np.array([tilt_rate, precession * sin(tilt), precession * cos(tilt) + spin])
    return Problem(
        name="gyro_top",
        summary=f"Cone that spins on its tip, {'nutating' if tilt_rate else 'in steady precession'}",
        body=body,
        state=State.from_omega(body, omega, from_rotation_vector((tilt, 0.0, 0.0))),
        force=gravity(WEIGHT, offset=(0.0, 0.0, LEVER)),
        t_span=(0.0, t_end),
        h=0.005,
        units={"t": "s", "omega": "rad/s", "m": "kg m^2/s", "inertia": "kg m^2", "energy": "J"},
        references=(BETSCH_SIEBERT_2009, WHITTAKER),
    )


def steady_spin(tilt: float = TILT, precession: float = PRECESSION) -> float:
    """Return the spin w_s [rad/s] of (1), for a tilt [rad] and a rate of precession [rad/s].

    Examples
    --------
    >>> round(steady_spin(), 1)
    135.6
    """
    J1, _, J3 = cone().moments.tolist()
    return WEIGHT * LEVER / (J3 * precession) + (J1 - J3) / J3 * precession * cos(tilt)


def mass_center(
    t: npt.ArrayLike, tilt: float = TILT, precession: float = PRECESSION, tilt_rate: float = 0.0
) -> FloatArray:
    """Return the exact position of the mass center of ``gyro_top`` at the times ``t``.

    Parameters
    ----------
    t : array_like, shape (...)
        Times [s].
    tilt, precession, tilt_rate : float, optional
        The arguments of ``gyro_top``.

    Returns
    -------
    ndarray, shape (..., 3)
        Position relative to the tip, in space axes [m].

    Examples
    --------
    >>> mass_center(0.0).round(6) + 0.0
    array([ 0.      , -0.064952,  0.0375  ])
    """
    from scipy.special import ellipj, ellipkinc

    time = np.asarray(t, float)
    J1 = float(cone().moments[0])
    s = sin(tilt)
    u0 = cos(tilt)
    a = WEIGHT * LEVER / (J1 * precession) + precession * u0  # m_3/J_1, by (1)
    b = precession * s**2 + a * u0  # m_z/J_1
    # With v = u - u_0, u = cos(theta):  v'^2 = f_0 + f_1 v + f_2 v^2 + beta v^3 = beta (v - v_1) (v - v_2) (v - v_3)
    beta = 2.0 * WEIGHT * LEVER / J1
    f0 = (s * tilt_rate) ** 2
    f1 = -2.0 * u0 * tilt_rate**2
    f2 = 2.0 * beta * u0 - tilt_rate**2 - (precession * s) ** 2 - a**2
    v1, v2, v3 = _roots(f0 / beta, f1 / beta, f2 / beta)
    # v = v_1 + (v_2 - v_1) sn^2(x, k),  x = x_0 + rate t
    parameter = (v2 - v1) / (v3 - v1)
    rate = 0.5 * sqrt(beta * (v3 - v1))
    phase = np.arcsin(sqrt(-v1 / (v2 - v1))) if v2 > v1 else 0.0
    x0 = -np.sign(s * tilt_rate) * ellipkinc(phase, parameter)
    sn, _, _, amplitude = ellipj(x0 + rate * time, parameter)
    u = u0 + v1 + (v2 - v1) * sn**2
    # psi' = (b - a u)/(1 - u^2), in partial fractions
    psi = 0.0
    for pole, residue in ((1.0, 0.5 * (b - a)), (-1.0, 0.5 * (b + a))):
        distance = 1.0 - pole * (u0 + v1)
        n = pole * (v2 - v1) / distance
        integral = _third_kind(amplitude, n, parameter) - _third_kind(-np.sign(s * tilt_rate) * phase, n, parameter)
        psi = psi + residue / (distance * rate) * integral
    horizontal = np.sqrt((1.0 - u) * (1.0 + u)) * np.sign(s)
    return LEVER * np.stack([horizontal * np.sin(psi), -horizontal * np.cos(psi), u], axis=-1)


def _roots(c0: float, c1: float, c2: float) -> tuple[float, float, float]:
    """Return the roots v_1 <= 0 <= v_2 < v_3 of v^3 + c2 v^2 + c1 v + c0.

    The largest root is found by Newton's method, the others from the remaining quadratic polynomial.
    """
    v = 1.0 + abs(c0) + abs(c1) + abs(c2)  # an upper bound of all roots, from which Newton's method decreases
    step = v
    while step > 1e-16 * v:
        step = (((v + c2) * v + c1) * v + c0) / ((3.0 * v + 2.0 * c2) * v + c1)
        v -= step
    product = -c0 / v
    half = 0.5 * (product - c1) / v  # v^2 + 2 half v + product
    width = sqrt(half**2 - product)
    return -half - width, -half + width, v


def _third_kind(phi: Any, n: float, parameter: float) -> Any:
    """Return Legendre's Pi(n; phi, k) for any phi, computed from Carlson's integrals; ``parameter`` is k^2."""
    from scipy.special import elliprf, elliprj

    def reduced(s: Any, c: Any) -> Any:
        """Return the integral up to an angle of at most pi/2 with sine s and cosine c."""
        x, y, z = c**2, 1.0 - parameter * s**2, 1.0 - n * s**2
        return s * elliprf(x, y, 1.0) + n / 3.0 * s**3 * elliprj(x, y, 1.0, z)

    half_turns = np.round(phi / pi)
    rest = phi - half_turns * pi
    return 2.0 * half_turns * reduced(1.0, 0.0) + reduced(np.sin(rest), np.cos(rest))
