"""Compiled functions of a free flow, which the loops over steps call by their addresses (see ``repeat``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.intrinsics import numbers_at
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.stepping.header import ADVANCE, PREPARE


class FlowKernels(NamedTuple):
    """Functions of a flow, and their compiled forms for the loops over steps, made by ``loops``."""

    prepare: Callable[..., Any]
    advance: Callable[..., Any]
    size: int  # length of the array c of constants
    prepare_entry: Callable[..., Any]
    advance_entry: Callable[..., Any]
    has_scratch: bool = False  # whether ``advance`` writes to c

    def __reduce__(self):
        """Return the call that makes the compiled forms, for pickle: machine code belongs to this process."""
        return loops, (self.prepare, self.advance, self.size, self.has_scratch)


def loops(prepare, advance, size, has_scratch=False):
    """Return the kernels of a flow whose functions ``prepare`` and ``advance`` use ``size`` constants.

    With ``has_scratch``, some of these are no constants of the body: ``advance`` writes them before it reads them.
    """

    def prepare_entry(order, I, parameters, count, c):
        prepare(order, I, numbers_at(parameters, count), numbers_at(c, size))
        return 0

    def advance_entry(c, m, q, h):
        return advance(numbers_at(c, size), m, q, h)

    for entry in (prepare_entry, advance_entry):
        _move(entry, prepare, advance)
    compiled = entry_point(PREPARE, registers=True)(prepare_entry), entry_point(ADVANCE, registers=True)(advance_entry)
    return FlowKernels(prepare, advance, size, *compiled, has_scratch)


def _move(entry, prepare, advance):
    """Make ``entry`` a function of the module of ``advance``, with a name that is unique there.

    Compiled code is cached under the names of module and function, and is recompiled when their file has changed.
    """
    entry.__module__ = advance.__module__
    entry.__qualname__ = f"{entry.__name__}.{prepare.__module__}.{prepare.__name__}.{advance.__name__}"
    if JIT:
        entry.__code__ = entry.__code__.replace(co_filename=advance.py_func.__code__.co_filename)
