"""Kernels whose arguments are named tuples: fields by name, and types that are checked."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
import pytest

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.jit import entry_point, loaded
from polhode.kernels.stepping.header import InputRows, Numbers

pytestmark = pytest.mark.skipif(not JIT, reason="only compiled kernels have types")


class Inner(NamedTuple):
    rows: InputRows
    count: int
    flag: bool


class Outer(NamedTuple):
    inner: Inner
    factor: float
    out: Numbers
    flags: Annotated[np.ndarray, "b1[::1]"]


@entry_point(("f8", "i8", Outer), cache=False)
def kernel(number, outer):
    outer.out[0] = outer.factor * outer.inner.rows[0, 1] + number
    return outer.out[0] + outer.inner.count if outer.flags[0] else 0.0


def arguments(**changes):
    outer = Outer(Inner(np.array([[1.0, 2.0]]), 3, True), 0.5, np.zeros(1), np.array([True]))
    inner = {name: changes.pop(name) for name in list(changes) if name in Inner._fields}
    return outer._replace(inner=outer.inner._replace(**inner), **changes)


def test_fields_are_found_by_name():
    work = arguments()
    assert kernel(7, work) == loaded(kernel)(7, work) == 11.0
    assert work.out[0] == 8.0


def read_only(array):
    array.setflags(write=False)
    return array


def test_read_only_arrays_are_input():
    assert kernel(7, arguments(rows=read_only(np.array([[1.0, 4.0]])))) == 12.0


WRONG = {
    "another number type": {"rows": np.array([[1, 2]])},
    "single precision": {"out": np.zeros(1, np.float32)},
    "another shape": {"rows": np.zeros(2)},
    "strides": {"rows": np.zeros((2, 4))[:, ::2]},
    "Fortran order": {"rows": np.zeros((2, 2), order="F")},
    "read-only output": {"out": read_only(np.zeros(1))},
    "no array": {"out": [0.0]},
    "no number": {"count": None},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_types_are_rejected(wrong):
    with pytest.raises((TypeError, ValueError, BufferError)):
        kernel(7, arguments(**WRONG[wrong]))


@pytest.mark.parametrize("inner", [(), (np.zeros((1, 2)), 3), [np.zeros((1, 2)), 3, True], None])
def test_tuples_of_another_length_are_rejected(inner):
    with pytest.raises((TypeError, SystemError)):
        kernel(7, arguments()._replace(inner=inner))


@pytest.mark.parametrize("given", [(), (7,), (7, arguments(), 1)])
def test_another_number_of_arguments_is_rejected(given):
    with pytest.raises(TypeError, match=f"expected 2 arguments, not {len(given)}"):
        kernel(*given)


def test_more_arrays_than_there_is_room_for_are_refused():
    with pytest.raises(TypeError, match="at most 64 arrays"):
        entry_point("f8(UniTuple(f8[::1], 65))", cache=False)(lambda arrays: 0.0).loaded()


def test_a_failed_call_keeps_no_array():
    """Arrays with an exported buffer cannot be resized."""
    rows = np.zeros((2, 2))
    with pytest.raises(TypeError):
        kernel(7, arguments(rows=rows, out=[0.0]))
    rows.resize((1, 2), refcheck=False)
