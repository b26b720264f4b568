"""Construction of the two loops over steps of a free flow from its two functions (see ``repeat``)."""

from __future__ import annotations

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.stepping.header import SPLIT
from polhode.kernels.stepping.repeat import REPEAT, repeat_steps
from polhode.kernels.stepping.splitting import split_steps


def loops(prepare, advance):
    """Return ``repeat`` and ``split``, the loops of free steps and of splittings, with the flow inlined.

    The module of ``advance`` has to store them under these names, because pickles refer to them by name.
    """

    def repeat(arguments):
        return repeat_steps(prepare, advance, arguments)

    def split(torque, arguments):
        split_steps(prepare, advance, torque, arguments)

    return entry_point(REPEAT)(_moved(repeat, advance)), entry_point(SPLIT)(_moved(split, advance))


def _moved(loop, advance):
    """Return ``loop`` as a function of the module of ``advance``.

    Compiled code is cached under the names of module and function, and is recompiled when their file has changed.
    """
    loop.__module__, loop.__qualname__ = advance.__module__, loop.__name__
    if JIT:
        loop.__code__ = loop.__code__.replace(co_filename=advance.py_func.__code__.co_filename)
    return loop
