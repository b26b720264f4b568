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


class PreparedCall(functools.partial):
    """Call of a kernel without a result, whose arguments are the same at every call but for the first two.

    These are a float and an integer. The contents of arrays may change. The others are read once; their forms are not
    checked.
    """

    def __new__(cls, address, arguments):
        """Read the arguments, without the first two, of a kernel that takes words; see ``call.ll``."""
        words = [0, 0, *_words(arguments)]
        array = (ctypes.c_int64 * len(words))(*words)
        call = super().__new__(cls, _call_prepared(), address, ctypes.addressof(array))
        call.kept = arguments, array  # they exist as long as this object
        return call


@functools.cache
def _call_prepared():
    """Return the function that calls kernels with prepared words."""
    _definition()  # loads its code
    return python_function(machine.address("polhode_prepared"), b"(\x04lldln")


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
    file = f"call-{machine.digest_of(source.encode())}.o"
    code = cache.read(machine.version(), file)
    if code is None:
        code = machine.object_code_of_text(machine.parsed(source))
        cache.write(machine.version(), file, code)
    machine.load(code)
    return Definition(b"kernel", machine.address("polhode_call"), FASTCALL, None)
