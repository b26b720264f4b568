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
IN_PROCESS = "library.o"
# Kernels can free arrays that they have made, and these kernels make none.
NOTHING_TO_FREE = "define void @free(ptr %array) { ret void }"


def object_code(target: Any = None) -> bytes:
    """Return the object file of all functions for a target machine; by default, for this processor and process."""
    called = {code.name_of(kernel): kernel for kernel in CALLED}
    kernels = {kernel_name(function): function.kernel for function in FUNCTIONS} | called
    with code.LOCK, COMPILE_TIME:
        parts = [bitcode.content for bitcode in code.bitcodes_of(kernels)]
        module = machine.linked([*parts, *map(wrapper, FUNCTIONS), NOTHING_TO_FREE], NAMES, called.keys())
        return bytes(machine.object_code(module, target))


@functools.cache
def addresses() -> dict[str, int]:
    """Return the addresses of all functions, loaded into this process."""
    with code.LOCK:
        content = cache.read(machine.version(), IN_PROCESS)
        if content is None:
            content = object_code()
            cache.write(machine.version(), IN_PROCESS, content)
        machine.load(content)
        return {name: machine.address(name) for name in sorted(NAMES)}
