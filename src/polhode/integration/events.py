"""Ready-made events for ``integrate(..., events=...)``: an event is a function of (t, m, q) that changes sign.

Times (...), momenta (..., 3) and attitudes (..., 4) come with the same leading axes, the last of which are the batch.
As in SciPy, an event may have an attribute ``terminal`` (True ends the run, a number n ends it at the n-th time) and
``direction`` (+1: only from negative to positive, -1: only back). As in SciPy, a terminal event that is zero at the
start counts there, if it then goes in its direction. Other events that begin with zero, which SciPy reports, are not
reported: a section counts returns.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody, as_body
from polhode.core.checks import unknown_name
from polhode.core.errors import InputError
from polhode.core.rotation import rotate
from polhode.forces.base import direction as unit_vector
from polhode.integration.problem import Problem

__all__ = [
    "Event",
    "cone",
    "energy",
    "middle_crossing",
    "section",
]


def __dir__() -> list[str]:
    return __all__


class Event:
    """A function of (t, m, q), with SciPy's ``terminal`` and ``direction``; t (...), m (..., 3), q (..., 4) -> (...).

    >>> rise = Event("rise", lambda t, m, q: m[..., 2], terminal=True, direction=1.0)
    >>> float(rise(0.0, np.array([0.0, 0.0, -0.5]), np.array([1.0, 0.0, 0.0, 0.0])))
    -0.5
    """

    def __init__(
        self, name: str, value: Callable[..., FloatArray], terminal: bool | int = False, direction: float = 0.0
    ) -> None:
        self.name, self._value, self.terminal, self.direction = name, value, terminal, direction

    def __call__(self, t: FloatArray, m: FloatArray, q: FloatArray) -> FloatArray:
        return self._value(t, m, q)

    def __repr__(self) -> str:
        return self.name


def middle_crossing(body: RigidBody | npt.ArrayLike, *, terminal: bool | int = False, direction: float = 0.0) -> Event:
    """Return an event at which m has no component along the middle axis, as in a tennis racket that turns over.

    A spin that only wobbles has such events too: see ``FreeMotion.flips`` and ``FreeMotion.middle_crossings``.

    >>> float(middle_crossing((1.0, 2.0, 3.0))(0.0, np.array([0.1, -0.2, 1.0]), np.array([1.0, 0.0, 0.0, 0.0])))
    -0.2
    """
    axis = as_body(body).middle_axis
    return Event("middle_crossing", lambda t, m, q: np.sum(m * axis, axis=-1), terminal, direction)


def cone(
    axis: npt.ArrayLike, about: npt.ArrayLike, angle: float, *, terminal: bool | int = False, direction: float = 1.0
) -> Event:
    """A body axis comes nearer than ``angle`` (radians) to a direction in space; with ``direction=-1``, leaves it.

    >>> inside = cone(axis=(0, 0, 1), about=(0, 0, 1), angle=0.1)
    >>> bool(inside(0.0, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])) > 0)
    True
    """
    a, s = unit_vector(axis, "axis"), unit_vector(about, "about")
    if not (isfinite(angle) and 0.0 < angle < np.pi):
        raise InputError(f"angle = {angle!r}: expected radians between 0 and pi")
    edge = cos(angle)
    return Event("cone", lambda t, m, q: np.sum(rotate(q, a) * s, axis=-1) - edge, terminal, direction)


def energy(problem: Problem, value: float, *, terminal: bool | int = False, direction: float = 0.0) -> Event:
    """The energy of the body, potential included, crosses a value: with damping, or a force that depends on time.

    >>> from polhode import State
    >>> free = Problem((1.0, 2.0, 3.0), State(m=(0, 0, 3.0)))
    >>> float(energy(free, 1.0)(0.0, np.array([0.0, 0.0, 3.0]), np.array([1.0, 0.0, 0.0, 0.0])))
    0.5
    """
    body, force = problem.body, problem.force and problem.force.without_damping()
    if force is not None:
        force.energy_function()  # raises, naming what has no energy

    def excess(t: FloatArray, m: FloatArray, q: FloatArray) -> FloatArray:
        known = np.asarray(np.isfinite(m).all(axis=-1))
        kinetic = 0.5 * np.sum(m * body.omega(np.nan_to_num(m)), axis=-1)
        attitude = np.where(known[..., None], q, (1.0, 0.0, 0.0, 0.0))
        potential = 0.0 if force is None else force.potential(t, attitude)
        return np.where(known, kinetic + potential - value, np.nan)

    return Event("energy", excess, terminal, direction)


def section(
    normal: npt.ArrayLike,
    offset: float = 0.0,
    of: str = "m",
    *,
    body: RigidBody | npt.ArrayLike | None = None,
    terminal: bool | int = False,
    direction: float = 1.0,
) -> Event:
    """Poincaré's section: a vector, ``of`` "m", "m_space" or "omega" (which needs ``body``), crosses a plane upward.

    >>> crossing = section(normal=(1, 0, 0), of="m")
    >>> float(crossing(0.0, np.array([0.25, 1.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0])))
    0.25
    """
    n = unit_vector(normal, "normal")
    if of == "omega" and body is None:
        raise InputError("of='omega' needs the body: type section(normal, of='omega', body=body)")

    vectors: dict[str, Callable[..., FloatArray]] = {
        "m": lambda m, q: m,
        "m_space": lambda m, q: rotate(q, m),
        "omega": lambda m, q: as_body(body).omega(np.nan_to_num(m)) + 0.0 * m,
    }
    if of not in vectors:
        raise unknown_name("vector", of, vectors)

    def height(t: FloatArray, m: FloatArray, q: FloatArray) -> Any:
        return np.sum(vectors[of](m, q) * n, axis=-1) - offset

    return Event("section", height, terminal, direction)
