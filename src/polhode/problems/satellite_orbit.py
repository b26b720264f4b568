"""A satellite in a circular orbit about the Earth, stabilized by the gravity gradient, in SI units.

    f = 3 mu/r^3 u x I u,   u = Q^T s(t),   s(t) = -(cos n t, sin n t, 0) toward the Earth,   n^2 = mu/r^3

The body axes are roll (in the direction of flight), pitch (opposite to the normal of the orbit) and yaw (toward the
Earth). If the satellite rotates about the pitch axis only, the pitch angle theta obeys the equation of a pendulum,

    theta'' = -(n_L^2/2) sin 2 theta,   n_L = n sqrt(3 (I_roll - I_yaw)/I_pitch),

so that sin theta = k cd(n_L t, k), k = sin theta_0: small librations have the rate n_L (Hughes, chapter 9). The
satellite is our own choice: a body with a boom that points toward the Earth. As the force depends on time, energy is
not conserved, but T + V - n m_z is.
"""

from __future__ import annotations

from math import sin, sqrt

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.rotation import from_rotation_vector, multiply
from polhode.forces import gravity_gradient
from polhode.integration.problem import Problem

EARTH_MU = 3.986004418e14  # m^3/s^2
EARTH_RADIUS = 6378137.0  # m, at the equator
ALTITUDE = 500e3  # m
MOMENTS = (100.0, 110.0, 20.0)  # kg m^2: roll, pitch, yaw
UPRIGHT = (0.5, -0.5, -0.5, 0.5)  # at t = 0: direction of flight y, normal of the orbit z, the Earth at -x


def orbit_rate(altitude: float = ALTITUDE) -> float:
    """Return the rate n [rad/s] of the circular orbit at an altitude [m].

    Examples
    --------
    >>> round(2 * np.pi / orbit_rate() / 60, 1)  # minutes
    94.6
    """
    return sqrt(EARTH_MU / (EARTH_RADIUS + altitude) ** 3)


def libration_rate(altitude: float = ALTITUDE, moments: tuple[float, float, float] = MOMENTS) -> float:
    """Return the rate n_L [rad/s] of small librations in pitch; ``moments`` are those of roll, pitch and yaw."""
    roll, pitch_moment, yaw = moments
    return orbit_rate(altitude) * sqrt(3.0 * (roll - yaw) / pitch_moment)


def satellite_orbit(
    altitude: float = ALTITUDE,
    moments: tuple[float, float, float] = MOMENTS,
    pitch: float = 0.1,
    orbits: float = 2.0,
) -> Problem:
    """Return the problem of a satellite that librates in pitch.

    Parameters
    ----------
    altitude : float, optional
        Altitude of the orbit [m]. The default is 500 km.
    moments : tuple of three floats, optional
        Moments of roll, pitch and yaw [kg m^2].
    pitch : float, optional
        Pitch angle at t = 0 [rad], at which the satellite is released. The default is 0.1.
    orbits : float, optional
        Time span as a number of orbits. The default is 2.

    Returns
    -------
    Problem
        The problem, in SI units.

    Examples
    --------
    >>> from polhode.solve import integrate
    >>> from polhode.problems.satellite_orbit import pitch_angle
    >>> traj = integrate(satellite_orbit())
    >>> orbit_angle = orbit_rate() * traj.t
    >>> down = -np.stack([np.cos(orbit_angle), np.sin(orbit_angle), 0 * orbit_angle], axis=-1)
    >>> sideways = np.sum(traj.matrix[..., 0] * down, axis=-1)  # of the roll axis: -sin of the pitch angle
    >>> bool(abs(np.arcsin(-sideways) - pitch_angle(traj.t)).max() < 1e-9)
    True
    """
    n = orbit_rate(altitude)
    return Problem(
        name="satellite_orbit",
        summary=f"Satellite in a circular orbit, let go in the gravity gradient at a pitch of {pitch:g} rad",
        body=moments,
        omega=(0.0, -n, 0.0),
        q=multiply(UPRIGHT, from_rotation_vector((0.0, pitch, 0.0))),
        force=gravity_gradient(moments, 3.0 * n**2, nadir=(-1, 0, 0), orbit_rate=n, orbit_normal=(0, 0, 1)),
        t_span=(0.0, orbits * 2.0 * np.pi / n),
        h=60.0,
        units={"t": "s", "omega": "rad/s", "m": "kg m^2/s", "inertia": "kg m^2", "energy": "J"},
        references=("P. C. Hughes, Spacecraft attitude dynamics, Wiley (1986)",),
    )


def pitch_angle(
    t: npt.ArrayLike,
    altitude: float = ALTITUDE,
    moments: tuple[float, float, float] = MOMENTS,
    pitch: float = 0.1,
) -> FloatArray:
    """Return the exact pitch angle of ``satellite_orbit`` at the times ``t``.

    Parameters
    ----------
    t : array_like, shape (...)
        Times [s].
    altitude, moments : optional
        The arguments of ``satellite_orbit``.
    pitch : float, optional
        Pitch angle at t = 0 [rad], with |pitch| < pi/2.

    Returns
    -------
    ndarray, shape (...)
        Pitch angles [rad].

    Examples
    --------
    >>> float(pitch_angle(0.0))
    0.1
    """
    from scipy.special import ellipj

    k = sin(pitch)
    _, cn, dn, _ = ellipj(libration_rate(altitude, moments) * np.asarray(t, float), k**2)
    return np.arcsin(k * cn / dn)
