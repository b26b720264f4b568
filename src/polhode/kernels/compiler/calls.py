"""Functions of Python that call machine code; all code that uses the binary interface of CPython is here.

``ctypes`` takes 27 us for the arrays of a typical call, and Numba would have to be imported; this takes less than one.
"""

from __future__ import annotations

import ctypes
import functools
import re
import struct
from pathlib import Path

from polhode.kernels.compiler import cache, machine

SOURCE = Path(__file__).with_name("call.ll")
FASTCALL = 0x80  # METH_FASTCALL


class Definition(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def python_function(address, form):
    """Return a function of Python that calls a kernel, and releases the GIL meanwhile.

    Parameters
    ----------
    address : int
        Address of a kernel that takes and returns words; see ``call.ll``.
    form : bytes
        Forms of its arguments and of its result.

    Returns
    -------
    callable
        Built-in function. It raises TypeError or BufferError for arguments of another form.
    """
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return new(ctypes.addressof(_definition()), struct.pack("q", address) + form, None)


KERNEL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class PreparedCall(functools.partial):
    """Call of a kernel without a result, with arguments that stay the same: only the contents of arrays change.

    Arguments are read once; their forms are not checked. The call, without the GIL, returns 0, or another number if
    compiled code has raised an exception or has found no memory.
    """

    def __new__(cls, address, arguments):
        """Read the arguments of a kernel that takes words; see ``call.ll``."""
        words = [*_words(arguments)]
        array = (ctypes.c_int64 * len(words))(*words)
        call = super().__new__(cls, KERNEL(address), None, ctypes.addressof(array))
        call.kept = arguments, array  # they exist as long as this object
        return call


def _words(thing):
    """Yield the words of an argument."""
    if isinstance(thing, tuple):
        for entry in thing:
            yield from _words(entry)
    elif isinstance(thing, float):
        yield struct.unpack("q", struct.pack("d", thing))[0]
    elif isinstance(thing, int):
        yield int(thing)
    else:
        yield thing.ctypes.data
        yield from thing.shape


@functools.cache
def _definition():
    """Return the definition that all these functions share."""
    source = SOURCE.read_text(encoding="utf-8")
    for name in re.findall(r"(?:^declare .*?|^)@(_?Py\w+)", source, re.MULTILINE):
        machine.define(name, ctypes.addressof(ctypes.c_byte.in_dll(ctypes.pythonapi, name)))
    code = cache.read(machine.version(), "call.o")
    if code is None:
        code = machine.object_code(machine.parsed(source))
        cache.write(machine.version(), "call.o", code)
    machine.load(code)
    return Definition(b"kernel", machine.address("polhode_call"), FASTCALL, None)
