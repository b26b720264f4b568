"""Predefined events for ``integrate(..., events=...)``: an event is a function of time and state that changes sign.

An event of bodies is a function of (t, m, q). It is called with times of shape (...), momenta of shape (..., 3) and
attitudes of shape (..., 4), and returns an array of shape (...). The last of the leading axes are those of the batch.

An event of a system of n bodies is a function of (t, x, p, m, q). It is called with times of shape (k,), positions,
linear and angular momenta of shape (k, n, 3) and attitudes of shape (k, n, 4), and returns an array of shape (k,).

As in SciPy, an event may have an attribute ``terminal`` (True ends the run, an integer n ends it at the n-th
occurrence) and an attribute ``direction`` (+1: only from negative to positive, -1: only from positive to negative). As
in SciPy, a terminal event that is zero at the start counts there if it then changes in its direction. Unlike in SciPy,
other events that are zero at the start are not reported, because a Poincaré section counts returns. An event that
changes its sign twice within one step may be missed; ``Adaptive(max_step=...)`` limits the steps that are chosen.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import known_name, positive_number, whole_number
from polhode.core.errors import InputError
from polhode.core.units import in_numbers
from polhode.core.vectors import length
from polhode.integration.events import Event, cone, middle_crossing, section
from polhode.integration.events import energy as energy_of_bodies
from polhode.integration.problem import Problem
from polhode.systems.interactions.neighbors import Box, as_box, closest_pair
from polhode.systems.system import System
from polhode.systems.trajectory import check_energy, energies, kinetic_energies

__all__ = [
    "Event",
    "closest",
    "cone",
    "distance",
    "energy",
    "kinetic",
    "middle_crossing",
    "section",
    "temperature",
]

PARTS = ("all", "translation", "rotation")  # of the kinetic energy
__dir__ = __all__.copy  # public names only


def distance(
    i: int,
    j: int,
    value: float,
    box: npt.ArrayLike | Box | None = None,
    *,
    terminal: bool | int = False,
    direction: float = 0.0,
) -> Event:
    """Return an event at which the distance of two bodies of a system crosses a value.

    Parameters
    ----------
    i, j : int
        Indices of the bodies.
    value : float
        Distance of the mass centers to be crossed.
    box : array_like or Box, optional
        Lengths of a periodic box, or ``system.box``: the distance is then that of the nearest images. By default it is
        that of the positions, which are not wrapped.
    terminal, direction : optional
        See ``Event``. With ``direction=-1`` only approaches count.

    Returns
    -------
    Event
        The distance minus `value`.

    Raises
    ------
    InputError
        If `i` and `j` are not two different bodies, or a length is not positive; in a run, if the system has fewer
        bodies.

    Examples
    --------
    >>> x, nothing = np.array([[(0.0, 0, 0), (3, 0, 4)]]), np.zeros((1, 2, 3))
    >>> distance(0, 1, 4.5)(np.zeros(1), x, nothing, nothing, np.zeros((1, 2, 4)))
    array([0.5])
    """
    first, second = whole_number(i, "i"), whole_number(j, "j")
    if first == second:
        raise InputError(f"i = {i!r}, j = {j!r}: expected the indices of two different bodies")
    what = partial(_distance, first, second, positive_number(value, "value"), as_box(box))
    return Event(f"distance({first}, {second}, {value:g})", what, terminal, direction)


def _distance(
    i: int, j: int, value: float, box: Box, t: FloatArray, x: FloatArray, p: FloatArray, m: FloatArray, q: FloatArray
) -> FloatArray:
    """Return the distance of bodies i and j minus `value`, of shape (k,)."""
    if max(i, j) >= x.shape[-2]:
        raise InputError(
            f"the event is the distance of body {i} and body {j}, and the system has {x.shape[-2]} bodies; expected 0 "
            f"to {x.shape[-2] - 1}"
        )
    return length(box.nearest(x[..., i, :] - x[..., j, :])) - value


def closest(
    value: float,
    box: npt.ArrayLike | Box | None = None,
    *,
    terminal: bool | int = False,
    direction: float = -1.0,
) -> Event:
    """Return an event at which any two bodies of a system come nearer than a value; with ``direction=1``, none is left.

    Parameters
    ----------
    value : float
        Distance of mass centers.
    box : array_like or Box, optional
        Lengths of a periodic box, or ``system.box``, as for ``distance``.
    terminal, direction : optional
        See ``Event``. The default direction is -1.

    Returns
    -------
    Event
        The smallest distance of two bodies minus `value`; infinity if there is only one body.

    Raises
    ------
    InputError
        If a length is not positive.

    Examples
    --------
    >>> x, nothing = np.array([[(0.0, 0, 0), (3, 0, 4), (3, 0, 3)]]), np.zeros((1, 3, 3))
    >>> closest(0.75)(np.zeros(1), x, nothing, nothing, np.zeros((1, 3, 4)))
    array([0.25])
    """
    what = partial(_closest, positive_number(value, "value"), as_box(box))
    return Event(f"closest({value:g})", what, terminal, direction)


def _closest(
    value: float, box: Box, t: FloatArray, x: FloatArray, p: FloatArray, m: FloatArray, q: FloatArray
) -> FloatArray:
    """Return the smallest distance of two bodies minus `value`, of shape (k,)."""
    return np.array([_smallest_distance(positions, box) for positions in x]) - value


def _smallest_distance(x: FloatArray, box: Box) -> float:
    """Return the smallest distance of bodies at x (n, 3), infinity if there is only one, NaN if a position is."""
    if not np.isfinite(x).all():
        return np.nan
    return closest_pair(x, box)[2] if len(x) > 1 else np.inf


def kinetic(
    system: System, value: float, of: str = "all", *, terminal: bool | int = False, direction: float = 0.0
) -> Event:
    """Return an event at which the kinetic energy of a system crosses a value.

    Parameters
    ----------
    system : System
        The system, whose masses and moments define the energy.
    value : float
        Energy to be crossed.
    of : {"all", "translation", "rotation"}, optional
        The part of the kinetic energy. The default is "all".
    terminal, direction : optional
        See ``Event``.

    Returns
    -------
    Event
        The kinetic energy minus `value`.

    Raises
    ------
    UnknownNameError
        If `of` is not one of the three names.

    Examples
    --------
    >>> from polhode import RigidBody, State, interactions
    >>> rest = State(m=np.zeros((1, 3)), x=np.zeros((1, 3)))
    >>> body = System(RigidBody((1, 2, 3), mass=2.0), rest, interactions.DipolarSoftSpheres((0, 0, 1)))
    >>> x, p, m, q = np.zeros((1, 1, 3)), np.array([[(2.0, 0, 0)]]), np.array([[(0.0, 0, 3)]]), np.zeros((1, 1, 4))
    >>> kinetic(body, 2.0)(np.zeros(1), x, p, m, q), kinetic(body, 2.0, of="translation")(np.zeros(1), x, p, m, q)
    (array([0.5]), array([-1.]))
    """
    part = known_name("part of the kinetic energy", of, PARTS)
    return Event(f"kinetic({value:g})", partial(_kinetic, system, part, 1.0, value), terminal, direction)


def temperature(
    system: System, value: float, of: str = "all", *, terminal: bool | int = False, direction: float = 0.0
) -> Event:
    """Return an event at which the temperature of a system, twice its kinetic energy per degree of freedom, crosses kT.

    Parameters
    ----------
    system : System
        The system, whose masses and moments define the temperature.
    value : float
        Temperature in units of energy, kT, to be crossed.
    of : {"all", "translation", "rotation"}, optional
        The motion whose temperature it is. The default is "all".
    terminal, direction : optional
        See ``Event``.

    Returns
    -------
    Event
        The temperature, as ``SystemTrajectory.temperature_translation`` and ``temperature_rotation``, minus `value`.

    Raises
    ------
    UnknownNameError
        If `of` is not one of the three names.
    InputError
        If there is no such motion: atoms do not rotate.

    Examples
    --------
    >>> from polhode import RigidBody, interactions
    >>> dipoles = interactions.DipolarSoftSpheres((0, 0, 1))
    >>> gas = System.lattice(RigidBody((1, 2, 3), mass=1), 3, 2.0, dipoles, kT=0.5, seed=1).at_temperature(0.5)
    >>> x, p, m, q = (np.array(part)[None] for part in (gas.state.x, gas.state.p, gas.state.m, gas.state.q))
    >>> temperature(gas, 0.4)(np.zeros(1), x, p, m, q).round(12)
    array([0.1])
    """
    translations, rotations = system.degrees_of_freedom
    part = known_name("part of the kinetic energy", of, PARTS)
    count = {"all": translations + rotations, "translation": translations, "rotation": rotations}[part]
    if count == 0:
        raise InputError(f"of = {of!r}: the bodies of {system!r} are atoms, which do not rotate; type of='translation'")
    value = in_numbers(value, "kT", system.units)
    what = partial(_kinetic, system, of, 2.0 / count, value)
    return Event(f"temperature({value:g})", what, terminal, direction)


def _kinetic(
    system: System, of: str, factor: float, value: float,
    t: FloatArray, x: FloatArray, p: FloatArray, m: FloatArray, q: FloatArray,
) -> FloatArray:  # fmt: skip
    """Return `factor` times a part of the kinetic energy, minus `value`, of shape (k,)."""
    translation, rotation = kinetic_energies(system, p, m)
    parts = {"all": translation + rotation, "translation": translation, "rotation": rotation}
    return factor * parts[of] - value


def energy(problem: Problem | System, value: float, *, terminal: bool | int = False, direction: float = 0.0) -> Event:
    """Return an event at which the total energy of a body or of a system crosses a value.

    The energy changes with damping, or with forces that depend on time.

    Parameters
    ----------
    problem : Problem or System
        The problem whose body and force define the energy, or the system whose bodies and interaction do.
    value : float
        Energy to be crossed.
    terminal, direction : optional
        See ``Event``.

    Returns
    -------
    Event
        Kinetic plus potential energy, minus `value`; NaN where the state is NaN.

    Raises
    ------
    AttributeError
        If the force or the interaction has no energy.

    Examples
    --------
    >>> from polhode import State
    >>> free = Problem((1.0, 2.0, 3.0), State(m=(0, 0, 3.0)))
    >>> float(energy(free, 1.0)(0.0, np.array([0.0, 0.0, 3.0]), np.array([1.0, 0.0, 0.0, 0.0])))
    0.5
    """
    if isinstance(problem, Problem):
        return energy_of_bodies(problem, value, terminal=terminal, direction=direction)
    check_energy(problem)
    value = in_numbers(value, "energy", problem.units)
    return Event(f"energy({value:g})", partial(_excess, problem, value), terminal, direction)


def _excess(
    system: System, value: float, t: FloatArray, x: FloatArray, p: FloatArray, m: FloatArray, q: FloatArray
) -> FloatArray:
    """Return the energy of a system minus `value`, of shape (k,)."""
    return energies(system, t, x, p, m, q) - value
