"""Conversion of arguments to float64 arrays, with error messages for invalid ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from math import inf, isfinite, prod, sqrt
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.errors import (
    AttitudeError,
    InertiaError,
    InputError,
    MomentumError,
    ShapeError,
    TimeError,
    UnknownNameError,
)
from polhode.core.messages import Hint
from polhode.core.units import NO_UNITS, PLAIN_NUMBERS, hint_for, in_numbers
from polhode.kernels.compiler.limits import LARGEST_RATIO, NORM_TOLERANCE

IDENTITY = (1.0, 0.0, 0.0, 0.0)
SYMMETRY_TOLERANCE = 1e-10  # largest asymmetry of a matrix, relative to its largest entry
FEW = 16  # numbers that Python checks faster than NumPy
FLOAT64, INT64 = np.dtype(np.float64), np.dtype(np.int64)


def as_floats(value: Any, name: str, components: int | None = None, units: Mapping[str, str] = NO_UNITS) -> FloatArray:
    """Return ``value`` as a float64 array in C order; quantities in the units of a problem, or else in SI.

    Raise InputError unless it consists of numbers, or of quantities that fit ``name``, and ShapeError unless its last
    axis has ``components`` entries (None: any shape).
    """
    kind = type(value)
    if not (kind is np.ndarray or (kind is tuple and value and type(value[0]) in PLAIN_NUMBERS)):
        value = in_numbers(value, name, units)
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            raise TypeError(f"its entries are of type {array.dtype}")
        if array.dtype is not FLOAT64 or not array.flags.c_contiguous:
            array = np.asarray(array, dtype=FLOAT64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers that float64 can hold: {error}{hint_for(value)}") from None
    if components is not None and (array.ndim == 0 or array.shape[-1] != components):
        raise ShapeError(f"{name} has shape {array.shape}; expected (..., {components}), components on the last axis")
    return array


def row_of_one(value: Any, components: int) -> FloatArray | None:
    """Return the plain numbers of one body as a float64 array of shape (1, components), or None for anything else.

    Plain numbers are a float64 array of shape (components,), and a tuple or list of as many numbers. With one body,
    calls ask this first, and pass the rows to a kernel at once. Whatever is not plain, and whatever the kernel rejects,
    is then treated like a batch, with all conversions and checks.
    """
    if type(value) is np.ndarray:
        plain = value.dtype is FLOAT64 and value.shape == (components,) and value.flags.c_contiguous
        return value[None] if plain else None
    if type(value) not in (tuple, list) or len(value) != components or type(value[0]) not in PLAIN_NUMBERS:
        return None
    try:
        array = np.array(value)
    except (TypeError, ValueError):  # some of the other entries are sequences or quantities
        return None
    if array.dtype is not FLOAT64:
        return array[None].astype(FLOAT64) if array.dtype is INT64 else None
    return array[None]


def time_of_one(value: Any) -> FloatArray | None:
    """Return one plain number as a float64 array of shape (1,), or None for anything else; see ``row_of_one``."""
    if type(value) is float:
        return np.array((value,))
    row = row_of_one((value,), 1)
    return None if row is None else row[0]


def rows_of(array: FloatArray, batch: tuple[int, ...], components: int) -> FloatArray:
    """Return ``array`` as (1, components) if it has one row for all bodies, and as (bodies, components) otherwise."""
    if prod(array.shape[:-1]) == 1:
        return array.reshape(1, components)
    return np.ascontiguousarray(np.broadcast_to(array, (*batch, components)).reshape(-1, components))


def whole_number(value: Any, name: str, least: int = 0) -> int:
    """Return ``value`` as an int; raise InputError unless it is a whole number, ``least`` or more."""
    try:
        count = index(value)
    except TypeError:
        raise InputError(f"{name} is {value!r}; expected a whole number, {least} or more") from None
    if count < least:
        hint = " (for a motion backward make h negative)" if name == "steps" else ""
        raise InputError(f"{name} is {count}; expected {least} or more{hint}")
    return count


def positive_number(value: Any, name: str) -> float:
    """Return ``value`` as a float; raise an InputError unless it is positive and finite."""
    number = float(as_floats(value, name))
    if not 0 < number < inf:
        raise InputError(f"{name} = {value!r}: expected a positive finite number")
    return number


def first_bad(good: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the index of the first entry that is False."""
    return tuple(int(i) for i in np.argwhere(~good)[0])


def place(name: str, index: tuple[int, ...]) -> str:
    """Return the name of an element for messages, such as ``m[4, 2]``, or ``m`` if there is no batch."""
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def show(values: FloatArray) -> str:
    """Return numbers as text with six digits, such as "(1, 2.5, 3)"."""
    return "(" + ", ".join(f"{float(x):.6g}" for x in np.ravel(values)) + ")"


def all_finite(array: FloatArray) -> bool:
    """Return whether all numbers of an array are finite."""
    if array.size <= FEW:
        return all(map(isfinite, array.ravel().tolist()))
    return bool(np.isfinite(array).all())


def all_positive(array: FloatArray) -> bool:
    """Return whether all numbers of an array are positive and finite."""
    if array.size <= FEW:
        few = array.ravel().tolist()
        return all(map(isfinite, few)) and min(few, default=inf) > 0
    return bool(((array > 0) & (array < inf)).all())


def check_moments(moments: FloatArray, name: str = "inertia") -> None:
    """Raise InertiaError unless principal moments (..., 3) are positive and finite."""
    if not all_positive(moments):
        index = first_bad(np.all(np.isfinite(moments) & (moments > 0), axis=-1))
        hint = "principal moments must be positive and finite"
        if np.all(np.isfinite(moments[index])) and np.sum(moments[index] == 0) == 1:
            hint += "; a linear rotor (moments 0, I, I) is polhode.RigidBody.linear(I)"
        raise InertiaError(f"{place(name, index)} = {show(moments[index])}: {hint}")


def check_finite(array: FloatArray, name: str, error: type[InputError] = MomentumError) -> None:
    """Raise ``error`` unless all values are finite; the last axis is that of components unless it is TimeError."""
    if not all_finite(array):
        good = np.asarray(np.isfinite(array))
        index = first_bad(good if error is TimeError else np.asarray(good.all(axis=-1)))
        raise error(f"{place(name, index)} = {show(array[index])}: every value must be finite")


def are_matrices(array: FloatArray) -> bool:
    """Return whether the shape is (..., 3, 3), which always stands for matrices, never for a batch of vectors."""
    return array.ndim >= 2 and array.shape[-2:] == (3, 3)


def symmetric(matrices: FloatArray, name: str, error: type[InputError], hint: str) -> FloatArray:
    """Return the symmetric part of matrices (..., 3, 3); raise ``error`` unless they are symmetric up to rounding."""
    transposed = np.swapaxes(matrices, -2, -1)
    largest = np.abs(matrices).max(axis=(-2, -1), keepdims=True)
    good = np.all(np.abs(matrices - transposed) <= SYMMETRY_TOLERANCE * largest, axis=(-2, -1))
    if not good.all():
        raise error(f"{place(name, first_bad(good))} is not symmetric; {hint}")
    return 0.5 * (matrices + transposed)


def check_spread(moments: FloatArray, name: str = "inertia") -> None:
    """Raise InertiaError if the ratio of two principal moments (..., 3) of a body is too large for the free flow."""
    few = moments.ravel().tolist() if moments.size <= FEW else []
    if few and max(few) * (1 / LARGEST_RATIO) <= min(few):
        return
    good = moments.max(axis=-1) * (1 / LARGEST_RATIO) <= moments.min(axis=-1)
    if not good.all():
        index = first_bad(good)
        limit = f"{LARGEST_RATIO:g}".replace("+", "")
        raise InertiaError(
            f"{place(name, index)} = {show(moments[index])}: moments may differ by factors up to {limit}"
        )


def check_attitude(q: FloatArray, name: str = "q") -> Any:
    """Return the norms of quaternions (..., 4), a float for one; raise AttitudeError unless they are 1.

    The tolerance is that of the kernels.
    """
    if q.ndim == 1:
        a, b, c, d = q.tolist()
        norm: Any = sqrt(a * a + b * b + c * c + d * d)  # in the same order as below, for the same bits
        if abs(norm * norm - 1) <= 2 * NORM_TOLERANCE:
            return norm
    with np.errstate(over="ignore"):
        a, b, c, d = np.moveaxis(q * q, -1, 0)
        norm = np.sqrt(a + b + c + d)
        good = np.abs(norm * norm - 1) <= 2 * NORM_TOLERANCE  # False for NaN
    if not good.all():
        index = first_bad(good)
        raise AttitudeError(
            f"{place(name, index)} = {show(q[index])} has norm {norm[index]:.9g}; expected a unit quaternion, scalar "
            f"first, within {NORM_TOLERANCE:g}; ",
            Hint("type polhode.rotation.normalize(q)", "divide it by its norm"),
            " if only its direction is meant",
        )
    return norm


def common_batch(**shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape to which the batch shapes of all arguments broadcast; raise ShapeError if there is none."""
    if not any(shapes.values()):
        return ()
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ShapeError(
            f"batch shapes do not broadcast: {listed} (leading axes, without the components); "
            "give every argument the same leading axes, or 1 where it is shared"
        ) from None


def known_name(kind: str, name: Any, known: Iterable[str]) -> Any:
    """Return the name, or raise UnknownNameError if it is not known."""
    if name not in known:
        raise unknown_name(kind, name, known)
    return name


def unknown_name(kind: str, name: Any, known: Iterable[str]) -> UnknownNameError:
    """Return an UnknownNameError for ``name`` that suggests the most similar known name."""
    names = list(known)
    close = nearest(name, names)
    hint = f"known are: {', '.join(names)}" if close is None else f"did you mean {close!r}?"
    return UnknownNameError(f"no {kind} is called {name!r}; {hint}")


def nearest(name: Any, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to ``name``, ignoring case, or None."""
    by_lower = {entry.lower(): entry for entry in known}
    close = difflib.get_close_matches(str(name).lower(), by_lower, n=1)
    return by_lower[close[0]] if close else None


def near(name: Any, known: Iterable[str]) -> str:
    """Return a hint with the most similar of the known names, and all of them.

    Examples
    --------
    >>> near("omga", ("m", "omega", "q"))
    "did you mean 'omega'? known are: m, omega, q"
    """
    names = list(known)
    close = nearest(name, names)
    return ("" if close is None else f"did you mean {close!r}? ") + f"known are: {', '.join(names)}"
