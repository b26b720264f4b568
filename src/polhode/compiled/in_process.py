"""The functions of the library in this process: as functions of ctypes, and their addresses."""

from __future__ import annotations

import ctypes
from typing import Any

from polhode.compiled.functions import BY_NAME, FUNCTIONS, CFunction
from polhode.compiled.headers import declaration
from polhode.core.checks import known_name
from polhode.core.errors import InputError
from polhode.kernels.compiler import JIT

NUMBERS = ctypes.POINTER(ctypes.c_double)
TYPES: dict[str, Any] = {
    "number": ctypes.c_double,
    "count": ctypes.c_int64,
    "in": NUMBERS,
    "out": NUMBERS,
    "integers": ctypes.POINTER(ctypes.c_int),
    "data": ctypes.c_void_p,
}
RESULTS = {"status": ctypes.c_int64, "double": ctypes.c_double, "void": None}


def c_names() -> list[str]:
    """Return the names of all functions that `c_function` knows.

    Examples
    --------
    >>> c_names()[:2]
    ['polhode_step', 'polhode_propagate']
    """
    return [function.name for function in FUNCTIONS]


def c_function(name: str) -> Any:
    """Return a function of the library for C and Fortran, as a function of ctypes in this process.

    Parameters
    ----------
    name : str
        Name of the function; see `c_names` and `c_declaration`.

    Returns
    -------
    ctypes function pointer
        Function with ``argtypes`` and ``restype``; arrays are pointers. It releases the GIL. ``scipy.LowLevelCallable``
        accepts it, and so does Numba, in compiled functions.

    Raises
    ------
    InputError
        If there is no such function, or nothing is compiled because ``POLHODE_JIT=0`` is set.

    Examples
    --------
    >>> import ctypes
    >>> step, three, four = c_function("polhode_step"), ctypes.c_double * 3, ctypes.c_double * 4
    >>> m, q = three(0.3, 0.2, 0.9), four(1.0)
    >>> step(three(1.0, 2.0, 3.0), m, q, 50.0, m, q)
    0
    >>> [round(x, 6) for x in m]
    [0.035777, 0.628395, 0.737455]
    """
    function = _named(name)
    prototype = ctypes.CFUNCTYPE(RESULTS[function.result], *(TYPES[a.kind] for a in function.arguments))
    return prototype(c_address(name))


def c_address(name: str) -> int:
    """Return the address of a function of the library for C and Fortran in this process.

    Parameters
    ----------
    name : str
        Name of the function; see `c_names` and `c_declaration`.

    Returns
    -------
    int
        Address, which is valid until the process ends.

    Raises
    ------
    InputError
        If there is no such function, or nothing is compiled because ``POLHODE_JIT=0`` is set.

    Examples
    --------
    >>> c_address("polhode_step") > 0
    True
    """
    function = _named(name)
    if not JIT:
        raise InputError(f"{name} has no address, because nothing is compiled with POLHODE_JIT=0; unset that variable")
    from polhode.compiled.library import addresses

    return addresses()[function.name]


def c_declaration(name: str) -> str:
    """Return the declaration of a function of the library in C, with the meaning of its arguments.

    Parameters
    ----------
    name : str
        Name of the function; see `c_names`.

    Returns
    -------
    str
        Text of the header file.

    Raises
    ------
    InputError
        If there is no such function.

    Examples
    --------
    >>> print(c_declaration("polhode_motion_component").splitlines()[-1])
    double polhode_motion_component(double t, void *chosen);
    """
    return declaration(_named(name))


def _named(name: str) -> CFunction:
    """Return the function of the table, or raise an InputError that lists similar names."""
    return BY_NAME[known_name("C function", name, BY_NAME)]
