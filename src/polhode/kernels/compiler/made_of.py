"""What an entry point is made of: everything that is compiled with it, and how.

An entry point is made of its signature and its options, of the bytecode of its function, of the numbers, arrays and
types that the function reads, and, recursively, of the functions that it calls, in whatever modules they are. Comments,
docstrings and names of variables do not count, nor does what no compiled code reads.
"""

from __future__ import annotations

import ast
import enum
import functools
import hashlib
import importlib.metadata
import sys
import typing
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, GenericAlias, ModuleType

import numpy as np

from polhode.kernels.compiler.bytecode import PLAIN, contents, outline

# Files of this folder that find, store and call code, but do not make it.
KEEPERS = {"bytecode.py", "cache.py", "calls.py", "code.py", "compile_time.py", "generated.py", "made_of.py"}
OTHERS = {"numpy", "scipy", "numba", *sys.stdlib_module_names}  # packages that are represented by their versions
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef


def stamp(entry, compiler):
    """Return a digest of everything that an entry point is made of, as 16 hexadecimal digits.

    ``compiler`` is the result of ``of_compiler``.

    Raises
    ------
    TypeError
        If compiled code of this package reads an object of an unknown kind.
    """
    walk = _Walk(is_strict=entry.key is None)
    facts = walk.value(entry), entry.key, walk.parts, compiler, versions()
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


@functools.cache
def versions():
    """Return the versions of the packages that compile."""
    return tuple(importlib.metadata.version(name) for name in ("llvmlite", "numba", "numpy", "scipy"))


def of_compiler():
    """Return a digest of the sources of this folder that say how code is made, without comments and docstrings."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.iterdir()):
        if path.suffix == ".ll":
            digest.update(path.read_bytes())
        elif path.suffix == ".py" and path.name not in KEEPERS:
            tree = ast.parse(path.read_bytes())
            for node in ast.walk(tree):
                if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
                    del node.body[0]
            digest.update(ast.dump(tree).encode())
    return digest.hexdigest()


class _Walk:
    """Traversal of all that an entry point is made of, which is collected in ``parts``."""

    def __init__(self, is_strict):
        """Store whether objects of unknown kinds are errors; those of users have a key that describes them."""
        self.parts = []
        self._is_strict = is_strict
        self._numbers = {}  # of functions and classes that were visited, by address; they exist as long as the entry

    def value(self, x):
        """Return the text that represents a value, and add functions and classes to ``parts``."""
        if type(x) in PLAIN or isinstance(x, GenericAlias):
            return f"{type(x).__name__} {x!r}"
        if isinstance(x, tuple | list):
            return f"{type(x).__qualname__} {[self.value(item) for item in x]}"
        if isinstance(x, set | frozenset):
            return f"set {sorted(map(self.value, x))}"
        if isinstance(x, dict):
            return f"dict {[(name, self.value(item)) for name, item in x.items()]}"
        if isinstance(x, np.ndarray | np.generic):
            return f"{x.dtype} {x.shape} {hashlib.sha256(x.tobytes()).hexdigest()}"
        if isinstance(x, enum.Enum):
            return f"{type(x).__qualname__} {x.value!r}"
        if isinstance(x, ModuleType):
            return x.__name__
        if isinstance(x, BuiltinFunctionType | np.ufunc):
            return f"{getattr(x, '__module__', 'numpy')}.{x.__name__}"
        if isinstance(x, FunctionType | type) and _package(x.__module__) in OTHERS:
            return f"{x.__module__}.{x.__qualname__}"
        if id(x) not in self._numbers:
            number = self._numbers[id(x)] = len(self._numbers)
            self.parts.append((number, self._new(x)))
        return f"#{self._numbers[id(x)]}"

    def _new(self, x):
        """Return the text of an object that is visited for the first time."""
        if isinstance(x, FunctionType):
            return self._function(x)
        if isinstance(x, type):
            members = list(x) if issubclass(x, enum.Enum) else getattr(x, "_fields", ())
            hints = typing.get_type_hints(x, include_extras=True) if hasattr(x, "_fields") else {}
            defaults = getattr(x, "_field_defaults", {})
            return [x.__qualname__, *map(self.value, (*members, *hints.values(), defaults))]
        if isinstance(getattr(x, "py_func", None), FunctionType):  # compiled by this package, or by Numba for users
            options = getattr(x, "_options", None) or getattr(x, "targetoptions", {})
            signature, registers = getattr(x, "signature", None), getattr(x, "registers", None)
            return [self.value(part) for part in (options, signature, registers, x.py_func)]
        if hasattr(x, "__metadata__"):  # the type of a field
            return self.value(x.__metadata__[0])
        if hasattr(x, "_settings"):  # an intrinsic
            return [x._name, self.value(x._settings)]
        if self._is_strict:
            raise TypeError(f"compiled code reads {x!r}; made_of.py has to know what identifies a {type(x).__name__}")
        return type(x).__qualname__

    def _function(self, function):
        """Return the text of a function, its default arguments, and all that it reads."""
        digest, reads = outline(function.__code__)
        cells = contents(function)
        found = [self.value(function.__defaults__), self.value(function.__kwdefaults__)]
        for is_global, chain in reads:
            found += self._read(chain, function.__globals__ if is_global else cells)
        return [digest, *found]

    def _read(self, chain, names):
        """Yield the text of a variable, or of what is read from a module; nothing if it is a builtin."""
        if chain[0] in names:
            x = names[chain[0]]
            for name in chain[1:]:
                if not isinstance(x, ModuleType) or _package(x.__name__) in OTHERS:
                    break
                x = getattr(x, name, None)
            yield self.value(x)


def _package(module):
    """Return the top-level package of a module."""
    return str(module).partition(".")[0]
