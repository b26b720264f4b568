"""Events, and the predefined ones of bodies; ``polhode.systems.events``, which is ``polhode.events``, has all."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import cos, isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody, as_body
from polhode.core.checks import unknown_name
from polhode.core.errors import InputError
from polhode.core.pickling import HoldsFunctions
from polhode.core.rotation import rotate
from polhode.core.units import in_numbers
from polhode.forces.base import Force
from polhode.forces.base import direction as unit_vector
from polhode.integration.problem import Problem


class Event(HoldsFunctions):
    """Function of time and state with the attributes ``terminal`` and ``direction`` of SciPy's events.

    Parameters
    ----------
    name : str
        Name of the event, which is its ``repr``.
    value : callable
        ``value(t, m, q)`` for t of shape (...), m (..., 3) and q (..., 4) returns an array of shape (...). For a system
        of n bodies, ``value(t, x, p, m, q)`` for t of shape (k,), x, p, m (k, n, 3) and q (k, n, 4) returns an array of
        shape (k,).
    terminal : bool or int, optional
        Whether the event ends the run; an integer n ends it at the n-th occurrence. The default is False.
    direction : float, optional
        Positive: only sign changes from negative to positive count; negative: only those from positive to negative. The
        default is 0, by which both count.

    Examples
    --------
    >>> rise = Event("rise", lambda t, m, q: m[..., 2], terminal=True, direction=1.0)
    >>> float(rise(0.0, np.array([0.0, 0.0, -0.5]), np.array([1.0, 0.0, 0.0, 0.0])))
    -0.5
    """

    def __init__(
        self, name: str, value: Callable[..., FloatArray], terminal: bool | int = False, direction: float = 0.0
    ) -> None:
        """Store the function and its attributes."""
        self.name = name
        self.__wrapped__ = value  # its arguments are those of the event: see ``inspect.signature``
        self.terminal = terminal
        self.direction = direction

    def __call__(self, t: Any, *state: FloatArray) -> FloatArray:
        """Return the value of the event at times t, for states (m, q), or (x, p, m, q) of a system."""
        return self.__wrapped__(t, *state)

    def __repr__(self) -> str:
        """Return the name of the event."""
        return self.name


def middle_crossing(body: RigidBody | npt.ArrayLike, *, terminal: bool | int = False, direction: float = 0.0) -> Event:
    """Return an event at which m has no component along the middle axis, as when a tennis racket flips.

    A spin that only wobbles also has these events: see ``FreeMotion.flips`` and ``FreeMotion.middle_crossings``.

    Parameters
    ----------
    body : RigidBody or array_like
        The body, its principal moments, or its inertia tensor.
    terminal, direction : optional
        See ``Event``.

    Returns
    -------
    Event
        The component of m along the middle axis.

    Examples
    --------
    >>> float(middle_crossing((1.0, 2.0, 3.0))(0.0, np.array([0.1, -0.2, 1.0]), np.array([1.0, 0.0, 0.0, 0.0])))
    -0.2
    """
    axis = as_body(body).middle_axis
    return Event("middle_crossing", partial(_along, axis), terminal, direction)


def _along(axis: FloatArray, t: FloatArray, m: FloatArray, q: FloatArray) -> Any:
    """Return the component of m along `axis`, of the shape of t."""
    return np.sum(m * axis, axis=-1)


def cone(
    axis: npt.ArrayLike, about: npt.ArrayLike, angle: float, *, terminal: bool | int = False, direction: float = 1.0
) -> Event:
    """Return an event at which a body axis enters a cone about a direction in space; with ``direction=-1``, leaves it.

    Parameters
    ----------
    axis : array_like, shape (3,)
        Direction in body axes.
    about : array_like, shape (3,)
        Axis of the cone, in space axes.
    angle : float
        Half-angle of the cone in radians, between 0 and pi.
    terminal, direction : optional
        See ``Event``. The default direction is 1.

    Returns
    -------
    Event
        Cosine of the angle between the two directions, minus that of `angle`.

    Raises
    ------
    InputError
        If `angle` is not between 0 and pi.

    Examples
    --------
    >>> inside = cone(axis=(0, 0, 1), about=(0, 0, 1), angle=0.1)
    >>> bool(inside(0.0, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])) > 0)
    True
    """
    a, s = unit_vector(axis, "axis"), unit_vector(about, "about")
    angle = in_numbers(angle, "angle")
    if not (isfinite(angle) and 0.0 < angle < np.pi):
        raise InputError(f"angle = {angle!r}: expected radians between 0 and pi")
    return Event("cone", partial(_inside, a, s, cos(angle)), terminal, direction)


def _inside(
    axis: FloatArray, about: FloatArray, edge: float, t: FloatArray, m: FloatArray, q: FloatArray
) -> FloatArray:
    """Return how much the cosine of the angle between `axis` and `about` exceeds `edge`, of the shape of t."""
    return np.sum(rotate(q, axis) * about, axis=-1) - edge


def energy(problem: Problem, value: float, *, terminal: bool | int = False, direction: float = 0.0) -> Event:
    """Return an event at which the total energy of a body crosses a value.

    The energy changes with damping, or with a force that depends on time.

    Parameters
    ----------
    problem : Problem
        The problem whose body and force define the energy.
    value : float
        Energy to be crossed.
    terminal, direction : optional
        See ``Event``.

    Returns
    -------
    Event
        Kinetic plus potential energy, minus `value`; NaN where m is NaN.

    Raises
    ------
    AttributeError
        If the force has no energy.

    Examples
    --------
    >>> from polhode import State
    >>> free = Problem((1.0, 2.0, 3.0), State(m=(0, 0, 3.0)))
    >>> float(energy(free, 1.0)(0.0, np.array([0.0, 0.0, 3.0]), np.array([1.0, 0.0, 0.0, 0.0])))
    0.5
    """
    body, force = problem.body, problem.force.without_damping()
    value = in_numbers(value, "energy", problem.units)
    force.energy_address()  # raises an error that names the force without an energy
    return Event("energy", partial(_excess, body, force, value), terminal, direction)


def _excess(body: RigidBody, force: Force, value: float, t: FloatArray, m: FloatArray, q: FloatArray) -> Any:
    """Return the energy minus `value`, of the shape of t."""
    known = np.asarray(np.isfinite(m).all(axis=-1))
    kinetic = 0.5 * np.sum(m * body.omega(np.nan_to_num(m)), axis=-1)
    attitude = np.where(known[..., None], q, (1.0, 0.0, 0.0, 0.0))
    return np.where(known, kinetic + force.potential(t, attitude) - value, np.nan)


def section(
    normal: npt.ArrayLike,
    offset: float = 0.0,
    of: str = "m",
    *,
    body: RigidBody | npt.ArrayLike | None = None,
    terminal: bool | int = False,
    direction: float = 1.0,
) -> Event:
    """Return the event of a Poincaré section: a vector crosses a plane, by default upward.

    Parameters
    ----------
    normal : array_like, shape (3,)
        Normal of the plane.
    offset : float, optional
        Distance of the plane from the origin, along `normal`. The default is 0.
    of : {"m", "m_space", "omega"}, optional
        The vector: momentum in body axes (the default) or in space axes, or angular velocity in body axes.
    body : RigidBody or array_like, optional
        The body, which is required for "omega".
    terminal, direction : optional
        See ``Event``. The default direction is 1.

    Returns
    -------
    Event
        Height of the vector above the plane.

    Raises
    ------
    InputError
        If `of` is "omega" and `body` is omitted.
    UnknownNameError
        If `of` is not one of the three names.

    Examples
    --------
    >>> crossing = section(normal=(1, 0, 0), of="m")
    >>> float(crossing(0.0, np.array([0.25, 1.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0])))
    0.25
    """
    n = unit_vector(normal, "normal")
    if of == "omega" and body is None:
        raise InputError("of='omega' needs the body: type section(normal, of='omega', body=body)")
    if of not in VECTORS:
        raise unknown_name("vector", of, VECTORS)
    offset = in_numbers(offset, "omega" if of == "omega" else "m")
    return Event("section", partial(_height, of, body, n, offset), terminal, direction)


VECTORS: dict[str, Callable[..., FloatArray]] = {
    "m": lambda body, m, q: m,
    "m_space": lambda body, m, q: rotate(q, m),
    "omega": lambda body, m, q: as_body(body).omega(np.nan_to_num(m)) + 0.0 * m,
}


def _height(of: str, body: Any, n: FloatArray, offset: float, t: FloatArray, m: FloatArray, q: FloatArray) -> Any:
    """Return the height of a vector above the plane with normal `n`, of the shape of t."""
    return np.sum(VECTORS[of](body, m, q) * n, axis=-1) - offset
