"""The library for C and Fortran as object code, for this process or for another machine."""

from __future__ import annotations

import functools
from typing import Any

from polhode.compiled.c_kernels import CALLED
from polhode.compiled.functions import FUNCTIONS
from polhode.compiled.wrappers import kernel_name, wrapper
from polhode.kernels.compiler import cache, code, machine
from polhode.kernels.compiler.compile_time import COMPILE_TIME

NAMES = frozenset(function.name for function in FUNCTIONS)
# Kernels can free arrays that they have made, and these kernels make none.
NOTHING_TO_FREE = "define void @free(ptr %array) { ret void }"


def _called() -> dict[str, Any]:
    """Return the kernels that others call by their names."""
    return {code.name_of(kernel): kernel for kernel in CALLED}


def _kernels() -> dict[str, Any]:
    """Return all kernels of the library by their names."""
    return {kernel_name(function): function.kernel for function in FUNCTIONS} | _called()


def _texts() -> list[str]:
    """Return all code of the library that is not that of kernels."""
    return [*map(wrapper, FUNCTIONS), NOTHING_TO_FREE]


def object_code(target: Any = None) -> bytes:
    """Return the object file of all functions for a target machine; by default, for this processor and process."""
    called = _called()
    with code.LOCK, COMPILE_TIME:
        parts = [bitcode.content for bitcode in code.bitcodes_of(_kernels())]
        module = machine.linked([*parts, *_texts()], NAMES, called.keys())
        return bytes(machine.object_code(module, target))


@functools.cache
def addresses() -> dict[str, int]:
    """Return the addresses of all functions, loaded into this process."""
    with code.LOCK:
        keys = [code.key_of(kernel, name) for name, kernel in _kernels().items()]
        file = f"library-{machine.digest_of(*(text.encode() for text in (*keys, *_texts())))}.o"
        content = cache.read(machine.version(), file)
        if content is None:
            content = object_code()
            cache.write(machine.version(), file, content)
        machine.load(content)
        return {name: machine.address(name) for name in sorted(NAMES)}
