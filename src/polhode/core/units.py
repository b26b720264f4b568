"""Quantities of astropy, pint and similar libraries, converted to numbers by their own methods.

They are recognized by an attribute ``unit`` or ``units``; no library is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isclose
from typing import Any, NamedTuple

import numpy as np

from polhode.core.errors import InputError

PLAIN_NUMBERS = (float, int, np.float64)
WITHOUT_UNITS = frozenset((float, int, np.float64, np.ndarray, str, type(None)))
NO_UNITS: dict[str, str] = {}
NUMBERLIKE = (float, int, list, tuple, np.ndarray, np.generic)
FREQUENCIES = ("hz", "hertz")  # of which it is not known whether they are turns or radians per second
HOW = "type quantity.to_value(unit) with astropy, quantity.m_as(unit) with pint"


class Kind(NamedTuple):
    """What arguments of some names are."""

    unit: str  # SI, as astropy and pint write it
    names: tuple[str, ...]  # of arguments; the first one is the name in the `units` of problems
    powers: tuple[int, int] | None = None  # of the units of inertia and of time; None if there is a length or a mass
    turns: bool = False  # whether a factor of a radian does not matter


KINDS = (
    Kind("s", ("t", "t_span", "t_eval", "h", "max_step", "first_step", "times", "breaks", "(t0, t1)"), (0, 1)),
    Kind("rad/s", ("omega", "w", "rates", "orbit_rate"), (0, -1), True),
    Kind("rad", ("angle", "angles", "vector"), (0, 0), True),
    Kind("1/s^2", ("strength",), (0, -2), True),
    Kind("kg m^2", ("inertia", "body", "moments", "moment"), (1, 0)),
    Kind("kg m^2/s", ("m", "impulse", "atol"), (1, -1), True),
    Kind("J", ("energy", "kT")),
    Kind("N m", ("torque", "stiffness"), (1, -2), True),
    Kind("kg m^2/s", ("damping", "D"), (1, -1), True),
    Kind("kg", ("mass", "masses")),
    Kind("kg m/s", ("p",)),
    Kind("kg/m^3", ("density",)),
    Kind("m^3/s^2", ("mu",)),
    Kind("N", ("weight",)),
    Kind(
        "m",
        ("x", "a", "b", "c", "radius", "height", "positions", "point", "offset", "r", "longitudinal", "transverse",
         "spacing", "box"),
    ),
)  # fmt: skip
KIND_OF = {name: kind for kind in KINDS for name in kind.names}


def unit_of(value: Any) -> Any:
    """Return the unit of a quantity, or None."""
    unit = getattr(value, "unit", None)
    return getattr(value, "units", None) if unit is None else unit


def has_units(value: Any) -> bool:
    """Return whether a value is a quantity, or a list that contains one."""
    if type(value) not in (list, tuple):
        return unit_of(value) is not None
    if not value or type(value[0]) in PLAIN_NUMBERS:
        return False  # or NumPy refuses to make an array of it
    return has_units(value[0]) or any(hasattr(kind, "unit") or hasattr(kind, "units") for kind in {*map(type, value)})


def in_numbers(value: Any, name: str, units: Mapping[str, str] = NO_UNITS) -> Any:
    """Return quantities as numbers in the unit that `units` names for them, or else in SI; other values as they are.

    Raise InputError if they do not fit what `name` stands for.
    """
    if not has_units(value):
        return value
    if type(value) in (list, tuple):
        if not all(map(has_units, value)):
            raise InputError(f"{name} contains quantities and plain numbers; expected a unit for each of them")
        return [in_numbers(entry, name, units) for entry in value]
    unit, kind = unit_of(value), KIND_OF.get(name)
    if str(unit) in ("", "1", "dimensionless"):
        kind = None
    expected = units.get(kind.names[0], kind.unit) if kind else ""
    try:
        return _converted(value, expected, kind is not None and kind.turns)
    except Exception as error:
        known = f"a unit such as {expected}" if expected else f"plain numbers in consistent units: {HOW}"
        raise InputError(f"{name} has the unit {unit}; expected {known}") from error


def _converted(value: Any, expected: str, turns: bool) -> Any:
    """Return the numbers of a quantity in a unit, or in this unit times or divided by a radian; raise if none fits."""
    unit = unit_of(value)
    if expected and turns and any(word in str(unit).lower() for word in FREQUENCIES):
        raise ValueError("turns or radians per second")
    try:
        return _value_in(value, expected)
    except Exception:
        if not turns:
            raise
    radian = type(1 * unit)(1.0, "rad")
    try:
        return _value_in(value * radian, expected)
    except Exception:
        return _value_in(value / radian, expected)


def _value_in(value: Any, unit: str) -> Any:
    """Return the numbers of a quantity in a unit."""
    return np.asarray((getattr(value, "to_value", None) or value.m_as)(unit))[()]


def hint_for(value: Any) -> str:
    """Return what to type instead of quantities among numbers, or of a time of astropy; often the empty string."""
    if hasattr(value, "jd1"):
        return "; type dt.to_value('s') for a TimeDelta, (t - epoch).to_value('s') for a Time"
    if type(value) in (list, tuple) and any(map(has_units, value)):
        return "; expected a unit for each number, or for none"
    return ""


def together(units: Mapping[str, str] = NO_UNITS, /, **arguments: Any) -> dict[str, Any]:
    """Return the arguments of one call with quantities as numbers, or the arguments themselves if there are none.

    Raise InputError if a plain number beside a quantity has an unknown unit, unless the quantity has neither mass nor
    length, or if the units of a problem are not those of one system.
    """
    for value in arguments.values():  # a loop, because this is part of calls that take microseconds
        kind = type(value)
        if kind in WITHOUT_UNITS or (kind is tuple and value and type(value[0]) in PLAIN_NUMBERS):
            continue
        if has_units(value):
            break
    else:
        return arguments
    found = [name for name, value in arguments.items() if has_units(value)]
    kinds = [KIND_OF[name] for name in found if name in KIND_OF]
    plain = [name for name, value in arguments.items() if name not in found and _lacks_unit(name, value)]
    scaled = [name for name in found if name in KIND_OF and not _only_times_and_angles(KIND_OF[name])]
    if scaled and plain:
        raise InputError(
            f"{scaled[0]} has a unit, {plain[0]} is plain numbers, whose unit is not known; expected quantities or "
            "plain numbers for all arguments (angles, rates and times may have units beside plain numbers)"
        )
    if units:
        _check_system(units, kinds, type(1 * unit_of(_first(arguments[found[0]]))))
    return {name: in_numbers(value, name, units) if name in found else value for name, value in arguments.items()}


def _only_times_and_angles(kind: Kind) -> bool:
    """Return whether a quantity of this kind says nothing about the units of mass and length."""
    return kind.powers is not None and kind.powers[0] == 0


def _lacks_unit(name: str, value: Any) -> bool:
    """Return whether a value consists of plain numbers, not all of them zero, where a unit is needed."""
    kind = KIND_OF.get(name)
    return kind is not None and kind.unit != "rad" and isinstance(value, NUMBERLIKE) and bool(np.any(value))


def _first(value: Any) -> Any:
    """Return the first quantity of a list of quantities."""
    return _first(value[0]) if type(value) in (list, tuple) else value


def _check_system(units: Mapping[str, str], kinds: list[Kind], quantity: type) -> None:
    """Raise InputError unless the units of a problem, and those in SI, belong to one system, such as h and rad/h."""
    used = {k.names[0]: k for k in KINDS if k.powers and (k in kinds or k.names[0] in units or k.names[0] == "t")}
    scales: dict[str, float] = {}
    for name, kind in used.items():
        unit = units.get(name, kind.unit)
        try:
            scales[name] = float(_converted(quantity(1.0, kind.unit), unit, kind.turns))
        except Exception as error:
            raise InputError(f"units[{name!r}] = {unit!r}; expected a unit such as {kind.unit}") from error
    time, inertia = scales["t"], None
    for name, kind in sorted(used.items(), key=lambda item: item[0] != "inertia"):
        assert kind.powers is not None
        scale = scales[name] / time ** kind.powers[1]
        if kind.powers[0]:
            inertia = scale if inertia is None else inertia
            scale /= inertia
        if not isclose(scale, 1.0, rel_tol=1e-9):
            raise InputError(
                f"units: {units.get(name, kind.unit)} for {name} does not fit the units of t and inertia; expected "
                "units of one system, such as {'t': 'h', 'omega': 'rad/h'}"
            )
