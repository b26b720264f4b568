"""Functions that are generated as text of LLVM: their machine code, found on disk or made, and loaded."""

from __future__ import annotations

import functools

from polhode.kernels.compiler import cache, machine
from polhode.kernels.compiler.code import LOCK
from polhode.kernels.compiler.compile_time import COMPILE_TIME

NAME = "generated"  # of the function in the text


@functools.lru_cache(maxsize=1024)
def address_of(text):
    """Return the address of the function NAME of a text; see ``intrinsics.call_by_address``.

    Its parameters are two pointers that are not used and the arguments; it returns the integer 0.
    """
    name = f"{NAME}_{machine.digest_of(text.encode())}"
    with LOCK, COMPILE_TIME:
        if loaded := machine.address(name):
            return loaded
        code = cache.read(machine.version(), f"{name}.o")
        if code is None:
            code = machine.object_code_of_text(machine.parsed(text.replace(f"@{NAME}", f"@{name}")))
            cache.write(machine.version(), f"{name}.o", code)
        machine.load(code)
        return machine.address(name)
