"""What functions of Python consist of: a digest of their bytecode, and the outer variables that they read."""

from __future__ import annotations

import dis
import functools
import hashlib
import sys
from types import CodeType, FunctionType
from typing import Any

PLAIN = (type(None), bool, int, float, complex, str, bytes, range, type(Ellipsis))
HAS_DOCSTRING = 0x4000000  # a code flag of Python 3.13 and later

# The keys are whether a variable is a global, and its name with attributes, such as ("np", "sin").
Reads = dict[tuple[bool, tuple[str, ...]], None]


def digest(text: str) -> str:
    """Return a digest of a text, as 16 hexadecimal digits."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


@functools.lru_cache(maxsize=8192)
def outline(code: CodeType) -> tuple[str, Reads]:
    """Return a digest of code, without line numbers and docstring, and the outer variables that it reads."""
    constants = _constants(code)
    reads = _reads(code)
    for constant in constants:
        if isinstance(constant, CodeType):
            reads |= outline(constant)[1]
    shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_names)
    content = (code.co_code, code.co_exceptiontable, shape, code.co_freevars, code.co_cellvars)
    return digest(repr((content, [_text(constant) for constant in constants]))), reads


def contents(function: FunctionType) -> dict[str, Any]:
    """Return the closure variables of a function that have a value."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    values = {}
    for name, cell in cells:
        try:
            values[name] = cell.cell_contents
        except ValueError:  # the cell is empty
            continue
    return values


def _constants(code: CodeType) -> tuple[Any, ...]:
    """Return the constants of code without the docstring."""
    constants = code.co_consts
    if sys.version_info >= (3, 13):
        documented = bool(code.co_flags & HAS_DOCSTRING)
    else:  # the first constant of a function with a name is its docstring, or None
        documented = not code.co_name.startswith("<") and bool(constants) and isinstance(constants[0], str)
    return (None, *constants[1:]) if documented else constants


def _text(constant: Any) -> str:
    """Return the text of a constant of code, which is the same in every process."""
    if isinstance(constant, CodeType):
        return outline(constant)[0]
    if isinstance(constant, frozenset):  # its order differs between processes
        items = sorted(digest(repr((_text(item), {}))) for item in constant)
    elif isinstance(constant, tuple):
        items = [_text(item) for item in constant]
    else:
        return f"{type(constant).__name__} {constant!r}"
    return f"{type(constant).__name__} of {len(items)}: {items}"


def _reads(code: CodeType) -> Reads:
    """Return the globals and closure variables that code reads, with their attributes."""
    chains: list[tuple[bool, list[str]]] = []
    in_chain = False
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"):
            chains.append((instruction.opname != "LOAD_DEREF", [instruction.argval]))
            in_chain = True
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and in_chain:
            chains[-1][1].append(instruction.argval)
        elif instruction.opname != "EXTENDED_ARG":
            in_chain = False
    return {(is_global, tuple(chain)): None for is_global, chain in chains}
