"""Gravity gradient of a distant mass: V = (k/2) u.I u, f = k u x I u, u = Q^T s(t), dV/dQ = s (k I u)^T.

s is the direction to the mass; on a circular orbit it turns about the orbit's normal n at the orbital rate:
s(t) = cos(Wt) s + sin(Wt) n x s + (1 - cos(Wt)) (n.s) n.
"""

from __future__ import annotations

from math import cos, sin
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.body import as_body
from polhode.core.checks import common_batch, show
from polhode.core.errors import InputError
from polhode.core.units import together
from polhode.core.vectors import components, scalar, stacked
from polhode.forces.base import Force, direction, joined, number
from polhode.forces.functions import ENERGY, GRADIENT, all_ready_made
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.numbers.vectors import cross, dot, in_body
from polhode.kernels.stepping.header import TORQUE


@inline
def nadir_at(t, p):
    """Return s(t), in space axes; p (13,) is k I (xx, yy, zz, xy, xz, yz), s, n and the orbital rate."""
    if p[12] == 0.0:  # sine and cosine would dominate the cost
        return p[6], p[7], p[8]
    return moving_nadir(t, p)


@inline
def moving_nadir(t, p):
    """Return s(t) for any orbital rate, without a branch; if the rate is 0, the result is exactly s."""
    s, n = (p[6], p[7], p[8]), (p[9], p[10], p[11])
    c, b, a = cos(p[12] * t), sin(p[12] * t), dot(s, n)
    x, y, z = cross(n, s)
    a *= 1.0 - c
    return c * s[0] + b * x + a * n[0], c * s[1] + b * y + a * n[1], c * s[2] + b * z + a * n[2]


@inline
def slope(u, p):
    """Return dV/du = k I u for a direction u (3,) in body axes."""
    return dot((p[0], p[3], p[4]), u), dot((p[3], p[1], p[5]), u), dot((p[4], p[5], p[2]), u)


@entry_point(TORQUE)
def torque(t, Q, w, p):
    """Return f = k u x I u, with p as for `nadir_at`."""
    u = in_body(Q, nadir_at(t, p))
    return cross(u, slope(u, p))


@inline
def torque_of_any_rate(t, Q, w, p):
    """Return the torque without a branch, for blocks of bodies with different rates."""
    u = in_body(Q, moving_nadir(t, p))
    return cross(u, slope(u, p))


@entry_point(ENERGY)
def energy(t, Q, p):
    """Return V = (k/2) u.I u, with p as for `nadir_at`."""
    u = in_body(Q, nadir_at(t, p))
    return 0.5 * dot(u, slope(u, p))


@entry_point(GRADIENT)
def gradient(t, Q, p):
    """Return dV/dQ = s (k I u)^T as three rows, with p as for `nadir_at`."""
    s = nadir_at(t, p)
    a, b, c = slope(in_body(Q, s), p)
    return (s[0] * a, s[0] * b, s[0] * c), (s[1] * a, s[1] * b, s[1] * c), (s[2] * a, s[2] * b, s[2] * c)


FUNCTIONS = all_ready_made(torque, energy, gradient, torque_of_any_rate)


def gravity_gradient(
    body: Any,
    strength: npt.ArrayLike,
    nadir: npt.ArrayLike = (0.0, 0.0, 1.0),
    orbit_rate: npt.ArrayLike = 0.0,
    orbit_normal: npt.ArrayLike = (0.0, 1.0, 0.0),
) -> Force:
    """Return the torque of a distant mass on a body that is not a sphere: V = (strength/2) u.I u, u = Q^T nadir.

    The attraction of a point mass is stronger on the near side of the body than on the far side. To lowest order in
    (size of the body)/r this gives V = (3 mu/(2 r^3)) u.I u, with mu the gravitational parameter of the mass (G times
    the mass, 3.986e14 m^3/s^2 for the Earth), r its distance from the mass center of the body, and u the direction to
    it, in body axes. Hence ``strength`` = 3 mu/r^3, which ``gravity_gradient_strength(mu, r)`` computes.

    On a circular orbit the direction to the mass turns about the normal of the orbital plane, once in each revolution:
    give ``orbit_rate`` = sqrt(mu/r^3) and ``orbit_normal``, the direction of the orbital angular momentum r x v in
    space axes. Directions are right-handed: seen from the tip of ``orbit_normal`` the orbit is counterclockwise.

    Parameters
    ----------
    body : RigidBody or array_like, shape (..., 3) or (..., 3, 3)
        A RigidBody, principal moments or inertia tensors.
    strength : array_like, shape (...)
        3 mu/r^3, in units of 1/time^2.
    nadir : array_like, shape (..., 3), optional
        Direction from the body to the mass at t = 0, in space axes; its length does not matter.
    orbit_rate : array_like, shape (...), optional
        Angular velocity at which `nadir` turns about `orbit_normal`. Unless it is 0, energy is not conserved.
    orbit_normal : array_like, shape (..., 3), optional
        Normal of the orbital plane, in space axes; its length does not matter. It is used only with an `orbit_rate`,
        and is perpendicular to `nadir` on an orbit about the mass.

    Returns
    -------
    Force
        The force, with energy and gradient.

    Raises
    ------
    InputError
        If an argument is not finite, a direction is zero, or `body` is not valid.

    Examples
    --------
    >>> gravity_gradient((1.0, 2.0, 3.0), strength=0.5).torque(0.0, (0.8, 0.6, 0.0, 0.0))
    array([0.1344, 0.    , 0.    ])

    A satellite 7000 km from the center of the Earth, on an orbit in the xy-plane:

    >>> strength = gravity_gradient_strength(mu=3.986e14, r=7e6)
    >>> rate = float(np.sqrt(strength / 3))
    >>> force = gravity_gradient((10.0, 20.0, 25.0), strength, (-1, 0, 0), orbit_rate=rate, orbit_normal=(0, 0, 1))
    >>> print(f"{2 * np.pi / rate:.0f} s, {force.torque(0.0, (0.8, 0.0, 0.0, 0.6))[2]:.2e} N m")
    5829 s, -9.37e-06 N m
    """
    body, strength, orbit_rate = together(body=body, strength=strength, orbit_rate=orbit_rate).values()
    tensor = as_body(body).tensor
    xx, xy, xz, _, yy, yz, _, _, zz = components(tensor.reshape(*tensor.shape[:-2], 9))
    k = number(strength, "strength")
    rate = number(orbit_rate, "orbit_rate")
    turning = bool(np.count_nonzero(rate))
    below = direction(nadir, "nadir")
    return Force(
        *FUNCTIONS,
        params=joined(
            body=[k * x for x in (xx, yy, zz, xy, xz, yz)],
            nadir=below,
            orbit_normal=direction(orbit_normal, "orbit_normal"),
            orbit_rate=[rate],
        ),
        time_dependent=turning,
        axis=stacked(*below) if type(below[0]) is float and not turning else None,
        depends_on_inertia=True,
        name="gravity_gradient",
    )


def gravity_gradient_strength(mu: npt.ArrayLike, r: npt.ArrayLike) -> FloatArray | float:
    """Return 3 mu/r^3, the ``strength`` of a gravity gradient.

    Parameters
    ----------
    mu : array_like, shape (...)
        Gravitational parameter of the attracting mass, G times the mass; 3.986e14 m^3/s^2 for the Earth.
    r : array_like, shape (...)
        Distance between the two mass centers, in the same unit of length.

    Returns
    -------
    ndarray, shape (...), or float
        The strength, in units of 1/time^2; a float if both arguments are numbers.

    Raises
    ------
    InputError
        If a value is not positive and finite.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> print(f"{gravity_gradient_strength(3.986e14, 7e6):.4e}")
    3.4863e-06
    """
    mu, r = together(mu=mu, r=r).values()
    parameter = number(mu, "mu")
    distance = number(r, "r")
    for name, values in (("mu", parameter), ("r", distance)):
        if not np.all(values > 0):
            raise InputError(f"{name} = {show(values)}: every value must be positive")
    common_batch(mu=np.shape(parameter), r=np.shape(distance))
    return scalar(3.0 * parameter / np.power(distance, 3))
