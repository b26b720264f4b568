"""Construction of the two loops over steps of a free flow from its two functions (see ``repeat``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.stepping.header import ADDRESS, BOOL, FlowData, FreeSteps, SchemeTable, Work
from polhode.kernels.stepping.repeat import repeat_loop
from polhode.kernels.stepping.splitting import split_loop

REPEAT = "i8", FlowData, FreeSteps
SPLIT = "void", ADDRESS, BOOL, FlowData, SchemeTable, Work


class FlowKernels(NamedTuple):
    """Compiled code of a flow, made by ``loops``: its two functions, and the loops in which they are inlined."""

    prepare: Callable[..., Any]
    advance: Callable[..., Any]
    size: int  # length of the array c of constants
    repeat: Callable[..., Any]  # loop of free steps
    split: Callable[..., Any]  # loop of splittings
    has_scratch: bool = False  # whether ``advance`` writes to c

    def __reduce__(self):
        """Return the call that makes the loops, for pickle: machine code belongs to this process."""
        return loops, (self.prepare, self.advance, self.size, self.has_scratch)


def loops(prepare, advance, size, has_scratch=False):
    """Return the kernels of a flow whose functions ``prepare`` and ``advance`` use ``size`` constants.

    With ``has_scratch``, some of these are no constants of the body: ``advance`` writes them before it reads them.
    """
    repeat, split = repeat_loop(prepare, advance), split_loop(prepare, advance)
    for loop in (repeat, split):
        _move(loop, prepare, advance)
    compiled = entry_point(REPEAT)(repeat), entry_point(SPLIT)(split)
    return FlowKernels(prepare, advance, size, *compiled, has_scratch)


def _move(loop, prepare, advance):
    """Make ``loop`` a function of the module of ``advance``, with a name that is unique there.

    Compiled code is cached under the names of module and function, and is recompiled when their file has changed.
    """
    loop.__module__ = advance.__module__
    loop.__qualname__ = f"{loop.__name__}.{prepare.__module__}.{prepare.__name__}.{advance.__name__}"
    if JIT:
        loop.__code__ = loop.__code__.replace(co_filename=advance.py_func.__code__.co_filename)
