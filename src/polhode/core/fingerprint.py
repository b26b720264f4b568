"""Digests of functions: a changed function is noticed, and the same function is found again.

A function is its bytecode without names of local variables, lines and docstring, its default arguments, the values of
its closure variables, and the globals that it reads: numbers, texts, arrays and containers by their content, functions,
methods and objects of the user by theirs, recursively, and what comes with Python or with an installed package (other
than that of the function itself) by its name. No digest depends on the process, on the place of a file, or on
addresses. Bytecode belongs to one version of Python: digests of code name it, and those of two versions never agree.
"""

from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
INSTALLED = ("site-packages", "dist-packages")  # folders of packages that are not the user's own
COMES_WITH = tuple(f"{folder}{os.sep}" for folder in (Path(__file__).parents[1], sysconfig.get_path("stdlib")))
HAS_DOCSTRING = 0x4000000  # a flag of code, from Python 3.13 on
BY_ADDRESS = 10**6  # bytes of arrays that compiled code reads where they are, instead of holding a copy
FOUNDATION = {"polhode", "numpy", "scipy", "numba", *sys.stdlib_module_names}  # never the user's own
PLAIN = (type(None), bool, int, float, complex, str, bytes, range, type(Ellipsis))

Fingerprint = dict[str, str]  # what it is, in words, and a digest of it


def fingerprint(*functions: Any) -> Fingerprint:
    """Return digests of all that the functions are made of, by the words that name it in messages.

    >>> rate = 2.0
    >>> def wind(t, gain=1.0):
    ...     return gain * rate * t
    >>> sorted(fingerprint(wind))
    ['gain, a default of wind', 'rate, a global of wind', 'the code of wind']
    """
    walk = _Walk(functions)
    for function in functions:
        walk.value(function)
    return walk.parts


class Itself:
    """An object as a key: only the very same object is equal. The object lives as long as the key."""

    def __init__(self, x: Any) -> None:
        self._x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and other._x is self._x

    def __hash__(self) -> int:
        return id(self._x)


def identity(*values: Any) -> tuple[Fingerprint, tuple[Any, ...]]:
    """Return the fingerprint of functions and values, and a key that is the same for those that do the same.

    The key is for this process: objects without content that could be looked at are equal to themselves only.
    """
    walk = _Walk(values)
    tokens = [walk.value(value) for value in values]
    return walk.parts, (digest(repr((tokens, walk.parts))), *map(Itself, walk.unknown))


def merged(*fingerprints: Fingerprint) -> Fingerprint:
    """Return one fingerprint of several functions; what has the same name in several of them is combined."""
    parts: Fingerprint = {}
    for found in fingerprints:
        for label, value in found.items():
            _add(parts, label, value)
    return parts


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return, in words, what differs between two fingerprints."""
    return [
        label + _versions(old.get(label, ""), new.get(label, ""))
        for label in sorted(old.keys() | new.keys())
        if old.get(label) != new.get(label)
    ]


@functools.lru_cache(maxsize=4096)
def is_library(file: str) -> bool:
    """Whether code of that file comes with Python, with an installed package or with this one."""
    return file.startswith(("<frozen ", *COMES_WITH)) or any(folder in Path(file).parts for folder in INSTALLED)


def digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _add(parts: Fingerprint, label: str, value: str) -> None:
    parts[label] = digest(parts[label] + value) if label in parts else value


def _versions(old: str, new: str) -> str:
    """Of Python, where bytecode of two of them cannot be compared."""
    (before, mark, _), (now, other, _) = old.partition(" "), new.partition(" ")
    return f" (bytecode of Python {before} and {now} cannot be compared)" if mark and other and before != now else ""


class _Walk:
    """Functions and values, one after the other: ``parts`` is what was found so far.

    A value becomes a text. Functions and objects of the user add to ``parts`` what they are made of; in the text of a
    value that contains them they are just a name, with a number where several have the same. Packages that the
    first values come from are the user's own, also if they are installed.
    """

    def __init__(self, first: Iterable[Any] = ()) -> None:
        self._own = {_package(getattr(x, "__module__", None)) for x in first} - FOUNDATION
        self.parts: Fingerprint = {}
        self.unknown: list[Any] = []  # objects without content that could be looked at
        self._seen: dict[int, tuple[str, Any]] = {}  # names and objects that are done, by address, which lasts as long
        self._open: set[int] = set()  # containers that are being looked at: one may contain itself

    def value(self, x: Any) -> str:
        kind = type(x)
        if kind in PLAIN:
            return f"{kind.__name__} {x!r}"
        if isinstance(x, CodeType):
            return _code(x)[0]
        if isinstance(x, ModuleType):
            return f"module {x.__name__}"
        if kind is np.ndarray or isinstance(x, np.generic):
            return f"{kind.__name__} {self._array(np.asarray(x))}"
        if kind in (tuple, list, dict, set, frozenset):
            return self._container(x, kind)
        if isinstance(x, FunctionType):
            return self._function(x)
        if isinstance(x, MethodType):
            return f"method {self.value(x.__func__)} of {self.value(x.__self__)}"
        if isinstance(x, type):
            return self._class(x)
        return self._object(x)

    def _array(self, x: Any) -> str:
        if x.nbytes > BY_ADDRESS:
            self.unknown.append(x)
        if x.dtype.hasobject:
            return f"{x.dtype} {x.shape} {self.value(x.ravel().tolist())}"
        content = hashlib.blake2b(np.ascontiguousarray(x).data.cast("B") if x.size else b"", digest_size=16)
        return f"{x.dtype} {x.shape} {content.hexdigest()}"

    def _container(self, x: Any, kind: type) -> str:
        if id(x) in self._open:
            return "itself"
        self._open.add(id(x))
        if isinstance(x, set | frozenset):  # whose order differs between processes
            items = sorted(map(self._alone, x))
        else:
            items = [self.value(item) for item in (x.items() if kind is dict else x)]
        self._open.discard(id(x))
        return f"{kind.__name__} of {len(items)}: {items}"

    def _alone(self, x: Any) -> str:
        walk = _Walk()
        walk._own, walk._seen = self._own, dict(self._seen)
        token = walk.value(x)
        self.unknown += walk.unknown
        return digest(repr((token, walk.parts)))

    def _function(self, function: FunctionType) -> str:
        name, code = function.__name__, function.__code__
        library = self._is_foreign(function.__globals__.get("__name__"), code.co_filename)
        token, is_new = self._named(function, f"{function.__module__}.{function.__qualname__}" if library else name)
        if not is_new:
            return token
        cells = _contents(function)
        for argument, default in _defaults(function).items():
            self._part(f"{argument}, a default of {name}", default)
        for variable, content in cells.items():
            self._part(f"{variable}, a closure variable of {name}", content)
        if not library:
            found, reads = _code(code)
            _add(self.parts, f"the code of {name}", f"{PYTHON} {found}")
            for is_global, chain in reads:
                self._read(chain, function.__globals__ if is_global else cells, is_global, name)
        return token

    def _read(self, chain: tuple[str, ...], names: Mapping[str, Any], is_global: bool, function: str) -> None:
        """A global, or what is read through a module of the user, such as settings.RATE."""
        if chain[0] not in names:  # of Python itself, or not there yet
            return
        x, used = names[chain[0]], 1
        while isinstance(x, ModuleType) and not self._is_foreign_module(x) and used < len(chain):
            x, used = getattr(x, chain[used], None), used + 1
        if is_global or used > 1:
            self._part(f"{'.'.join(chain[:used])}, a global of {function}", x)

    def _class(self, kind: type) -> str:
        """Methods and attributes of a class of the user, and of its bases."""
        for base in kind.__mro__:
            if not self._is_foreign_class(base) and self._named(base, base.__qualname__)[1]:
                for name, member in vars(base).items():
                    member = getattr(member, "__func__", getattr(member, "fget", member))  # of methods and properties
                    if isinstance(member, FunctionType):
                        self.value(member)
                    elif not name.startswith("__"):
                        self._part(f"{name}, an attribute of {base.__name__}", member)
        return f"class {kind.__module__ if self._is_foreign_class(kind) else ''}.{kind.__qualname__}"

    def _object(self, x: Any) -> str:
        """By its class and the data that a copy would be made of."""
        if isinstance(getattr(x, "py_func", None), FunctionType):  # compiled by Numba
            return f"compiled {self.value(x.py_func)} {self.value(getattr(x, 'targetoptions', None))}"
        name, is_new = self._named(x, self.value(type(x)))
        if not is_new:
            return name
        try:
            reduced = _reduced(x)
        except Exception:  # there are no such data
            self.unknown.append(x)
            return name
        if isinstance(reduced, str):  # a name: of functions that are written in C, for instance
            return f"{name} {getattr(x, '__module__', '')}.{reduced} {self.value(getattr(x, '__wrapped__', None))}"
        make, arguments, state, listed, entries = (*tuple(reduced), None, None, None)[:5]
        if isinstance(state, dict):
            for attribute, content in state.items():
                self._part(f"{attribute}, an attribute of {type(x).__name__}", content)
            state = None
        return f"{name} {self.value((make, arguments, state, list(listed or ()), list(entries or ())))}"

    def _part(self, label: str, x: Any) -> None:
        _add(self.parts, label, digest(self.value(x)))

    def _is_foreign(self, module: str | None, file: str | None) -> bool:
        """Whether code counts by its name only."""
        if _package(module) in self._own:
            return False
        return is_library(file) if file else _package(module) in sys.stdlib_module_names

    def _is_foreign_module(self, module: ModuleType) -> bool:
        return self._is_foreign(module.__name__, getattr(module, "__file__", None))

    def _is_foreign_class(self, kind: type) -> bool:
        module = sys.modules.get(kind.__module__)
        return module is not None and self._is_foreign_module(module)

    def _named(self, x: Any, name: str) -> tuple[str, bool]:
        """The name of an object, with a number if others have the same one, and whether it comes for the first time."""
        if id(x) in self._seen:
            return self._seen[id(x)][0], False
        others = sum(other.startswith(f"{name} #") for other, _ in self._seen.values())
        self._seen[id(x)] = f"{name} #{others}", x
        return f"{name} #{others}", True


Reads = dict[tuple[bool, tuple[str, ...]], None]  # whether it is a global, and its name, with attributes: ("np", "sin")


@functools.lru_cache(maxsize=4096)
def _code(code: CodeType) -> tuple[str, Reads]:
    """A digest of what the code does, and what it reads from outside."""
    walk, constants = _Walk(), _constants(code)
    reads = _reads(code)
    for constant in constants:
        if isinstance(constant, CodeType):
            reads |= _code(constant)[1]
    shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_names)
    content = (code.co_code, code.co_exceptiontable, shape, code.co_freevars, code.co_cellvars)
    return digest(repr((content, [walk.value(constant) for constant in constants]))), reads


def _constants(code: CodeType) -> tuple[Any, ...]:
    """Without the docstring."""
    constants = code.co_consts
    if sys.version_info >= (3, 13):
        documented = bool(code.co_flags & HAS_DOCSTRING)
    else:  # the first constant of a function with a name is its docstring, or None
        documented = not code.co_name.startswith("<") and bool(constants) and isinstance(constants[0], str)
    return (None, *constants[1:]) if documented else constants


def _reads(code: CodeType) -> Reads:
    found: list[tuple[bool, list[str]]] = []
    goes_on = False
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"):
            found.append((instruction.opname != "LOAD_DEREF", [instruction.argval]))
            goes_on = True
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and goes_on:
            found[-1][1].append(instruction.argval)
        elif instruction.opname != "EXTENDED_ARG":
            goes_on = False
    return {(is_global, tuple(chain)): None for is_global, chain in found}


def _contents(function: FunctionType) -> dict[str, Any]:
    """Closure variables that have a value."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = {}
    for name, cell in cells:
        try:
            found[name] = cell.cell_contents
        except ValueError:  # it has none yet
            continue
    return found


def _defaults(function: FunctionType) -> dict[str, Any]:
    values = function.__defaults__ or ()
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return dict(zip(names[len(names) - len(values) :], values, strict=True)) | (function.__kwdefaults__ or {})


def _reduced(x: Any) -> Any:
    registered = copyreg.dispatch_table.get(type(x))
    return registered(x) if registered else x.__reduce_ex__(2)


def _package(module: str | None) -> str:
    return str(module).partition(".")[0]
