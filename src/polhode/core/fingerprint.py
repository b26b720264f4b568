"""Digests of functions, to detect whether a function has changed and to recognize equal functions.

The digest of a function covers its bytecode (without names of local variables, line numbers and docstring), its default
arguments, the values of its closure variables, and the globals that it reads. Numbers, strings, arrays and containers
are represented by their content; functions, methods and objects of the user by theirs, recursively; everything that
belongs to Python or to an installed package (other than that of the function itself) by its name. No digest depends on
the process, on the location of a file, or on addresses. Bytecode is specific to a version of Python: digests of code
contain the version, and those of two versions are never equal.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from polhode.core.seen import Seen
from polhode.kernels.compiler.bytecode import PLAIN, contents, digest, outline

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
INSTALLED = ("site-packages", "dist-packages")  # folders of installed packages
COMES_WITH = tuple(f"{folder}{os.sep}" for folder in (Path(__file__).parents[1], sysconfig.get_path("stdlib")))
BY_ADDRESS = 10**6  # size in bytes above which compiled code refers to arrays by address instead of copying them
FOUNDATION = {"polhode", "numpy", "scipy", "numba", *sys.stdlib_module_names}  # packages that are never user code

Fingerprint = dict[str, str]  # from descriptions of the parts to their digests


def fingerprint(*functions: Any) -> Fingerprint:
    """Return the digests of all parts of the functions, by the descriptions of the parts in messages.

    Examples
    --------
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
    """A dictionary key that is equal only for the same object, and keeps that object alive."""

    def __init__(self, x: Any) -> None:
        self._x = x

    def __eq__(self, other: object) -> bool:
        """Return whether both keys hold the same object."""
        return isinstance(other, Itself) and other._x is self._x

    def __hash__(self) -> int:
        """Return a hash of the identity of the object."""
        return id(self._x)


class Identity(NamedTuple):
    """What functions and values are."""

    parts: Fingerprint
    key: tuple[Any, ...]  # equal for equivalent functions and values
    seen: Seen


def identity(*values: Any) -> Identity:
    """Return the fingerprint of functions and values, a key that is equal for equivalent ones, and what was read.

    The key is valid in this process only: objects whose content cannot be inspected are equal only to themselves.
    """
    walk = _Walk(values)
    tokens = [walk.value(value) for value in values]
    return Identity(walk.parts, (digest(repr((tokens, walk.parts))), *map(Itself, walk.unknown)), walk.seen)


def is_lasting(*values: Any) -> bool:
    """Return whether `identity` of functions and values means the same in other processes, now and later.

    It does not if there are objects whose content cannot be inspected, or if functions call those of packages other
    than FOUNDATION, of which a new version may be installed.
    """
    walk = _Walk(values)
    for value in values:
        walk.value(value)
    return not walk.unknown and walk.packages <= FOUNDATION


def merged(*fingerprints: Fingerprint) -> Fingerprint:
    """Return one fingerprint for several; parts with the same description are combined."""
    parts: Fingerprint = {}
    for entries in fingerprints:
        for label, value in entries.items():
            _add(parts, label, value)
    return parts


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return the descriptions of the parts that differ between two fingerprints."""
    return [
        label + _versions(old.get(label, ""), new.get(label, ""))
        for label in sorted(old.keys() | new.keys())
        if old.get(label) != new.get(label)
    ]


@functools.lru_cache(maxsize=4096)
def is_library(file: str) -> bool:
    """Return whether a file belongs to Python, to an installed package or to polhode."""
    return file.startswith(("<frozen ", *COMES_WITH)) or any(folder in Path(file).parts for folder in INSTALLED)


def _add(parts: Fingerprint, label: str, value: str) -> None:
    """Add a digest to ``parts``, combined with an earlier one of the same label."""
    parts[label] = digest(parts[label] + value) if label in parts else value


def _versions(old: str, new: str) -> str:
    """Return a note for digests of code from two versions of Python, and an empty string otherwise."""
    before, mark, _ = old.partition(" ")
    now, other, _ = new.partition(" ")
    return f" (bytecode of Python {before} and {now} cannot be compared)" if mark and other and before != now else ""


class _Walk:
    """Traversal of functions and values that collects digests in ``parts``.

    Every value is converted to a text. Functions and objects of the user add their parts to ``parts``; in the text of a
    value that contains them they are represented by a name, with a number if several have the same name. The packages
    of the ``first`` values count as user code, even if they are installed.
    """

    def __init__(self, first: Iterable[Any] = ()) -> None:
        self._own = {_package(getattr(x, "__module__", None)) for x in first} - FOUNDATION
        self.parts: Fingerprint = {}
        self.unknown: list[Any] = []  # objects whose content cannot be inspected
        self.seen = Seen()
        self.packages: set[str] = set()  # packages of code that is represented by its name
        self._seen: dict[int, tuple[str, Any]] = {}  # names and objects by address; the reference keeps it valid
        self._open: set[int] = set()  # containers in progress, because one may contain itself

    def value(self, x: Any) -> str:
        """Return the text that represents a value, and add the parts of user code to ``parts``."""
        kind = type(x)
        if kind in PLAIN:
            return f"{kind.__name__} {x!r}"
        if isinstance(x, CodeType):
            return outline(x)[0]
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
        """Return type, shape and a digest of the content of an array."""
        if x.nbytes > BY_ADDRESS:
            self.unknown.append(x)
        self.seen.array(x)
        if x.dtype.hasobject:
            return f"{x.dtype} {x.shape} {self.value(x.ravel().tolist())}"
        content = hashlib.blake2b(np.ascontiguousarray(x).data.cast("B") if x.size else b"", digest_size=16)
        return f"{x.dtype} {x.shape} {content.hexdigest()}"

    def _container(self, x: Any, kind: type) -> str:
        """Return the text of the items of a container."""
        if id(x) in self._open:
            return "itself"
        self._open.add(id(x))
        if kind in (list, dict, set):
            self.seen.content(x)
        if isinstance(x, set | frozenset):  # their order differs between processes
            items = sorted(map(self._alone, x))
        else:
            items = [self.value(item) for item in (x.items() if kind is dict else x)]
        self._open.discard(id(x))
        return f"{kind.__name__} of {len(items)}: {items}"

    def _alone(self, x: Any) -> str:
        """Return a digest of a value that does not depend on the other items of its set."""
        walk = _Walk()
        walk._own = self._own
        walk._seen = dict(self._seen)
        walk.seen = self.seen
        token = walk.value(x)
        self.unknown += walk.unknown
        self.packages |= walk.packages
        return digest(repr((token, walk.parts)))

    def _function(self, function: FunctionType) -> str:
        """Return the name of a function, and add its code, defaults, closure variables and globals to ``parts``."""
        name = function.__name__
        code = function.__code__
        library = self._is_foreign(function.__globals__.get("__name__"), code.co_filename)
        if library:
            self.packages.add(_package(function.__module__))
        token, is_new = self._named(function, f"{function.__module__}.{function.__qualname__}" if library else name)
        if not is_new:
            return token
        self.seen.function(function)
        cells = contents(function)
        for argument, default in _defaults(function).items():
            self._part(f"{argument}, a default of {name}", default)
        for variable, content in cells.items():
            self._part(f"{variable}, a closure variable of {name}", content)
        if not library:
            code_digest, reads = outline(code)
            _add(self.parts, f"the code of {name}", f"{PYTHON} {code_digest}")
            for is_global, chain in reads:
                self._read(chain, function.__globals__ if is_global else cells, is_global, name)
        return token

    def _read(self, chain: tuple[str, ...], names: Mapping[str, Any], is_global: bool, function: str) -> None:
        """Add a global, or a value read through a user module such as settings.RATE, to ``parts``."""
        if chain[0] not in names:  # a builtin, or not defined yet
            return
        x = names[chain[0]]
        if is_global:
            self.seen.name(names, chain[0], x)
        used = 1
        while isinstance(x, ModuleType) and not self._is_foreign_module(x) and used < len(chain):
            self.seen.name(vars(x), chain[used], vars(x).get(chain[used]))
            x = getattr(x, chain[used], None)
            used += 1
        if is_global or used > 1:
            self._part(f"{'.'.join(chain[:used])}, a global of {function}", x)

    def _class(self, kind: type) -> str:
        """Return the name of a class, and add the members of it and its bases to ``parts`` if they are user code."""
        for base in kind.__mro__:
            if not self._is_foreign_class(base) and self._named(base, base.__qualname__)[1]:
                self.seen.attributes(base)
                for name, member in vars(base).items():
                    # the function of a method or property
                    member = getattr(member, "__func__", getattr(member, "fget", member))
                    if isinstance(member, FunctionType):
                        self.value(member)
                    elif not name.startswith("__"):
                        self._part(f"{name}, an attribute of {base.__name__}", member)
        return f"class {kind.__module__ if self._is_foreign_class(kind) else ''}.{kind.__qualname__}"

    def _object(self, x: Any) -> str:
        """Return the text of an object: its class and the data from which a copy would be made."""
        if isinstance(getattr(x, "py_func", None), FunctionType):  # compiled by Numba
            return f"compiled {self.value(x.py_func)} {self.value(getattr(x, 'targetoptions', None))}"
        name, is_new = self._named(x, self.value(type(x)))
        if not is_new:
            return name
        try:
            reduced = _reduced(x)
        except Exception:  # the object cannot be copied
            self.unknown.append(x)
            return name
        if isinstance(reduced, str):  # a name, as for functions written in C
            return f"{name} {getattr(x, '__module__', '')}.{reduced} {self.value(getattr(x, '__wrapped__', None))}"
        self.seen.attributes(x)
        make, arguments, state, listed, entries = (*tuple(reduced), None, None, None)[:5]
        if isinstance(state, dict):
            for attribute, content in state.items():
                self._part(f"{attribute}, an attribute of {type(x).__name__}", content)
            state = None
        return f"{name} {self.value((make, arguments, state, list(listed or ()), list(entries or ())))}"

    def _part(self, label: str, x: Any) -> None:
        """Add the digest of a value to ``parts``."""
        _add(self.parts, label, digest(self.value(x)))

    def _is_foreign(self, module: str | None, file: str | None) -> bool:
        """Return whether code is not that of the user and is represented by its name only."""
        if _package(module) in self._own:
            return False
        return is_library(file) if file else _package(module) in sys.stdlib_module_names

    def _is_foreign_module(self, module: ModuleType) -> bool:
        """Return whether a module is not that of the user."""
        return self._is_foreign(module.__name__, getattr(module, "__file__", None))

    def _is_foreign_class(self, kind: type) -> bool:
        """Return whether a class is not that of the user."""
        module = sys.modules.get(kind.__module__)
        return module is not None and self._is_foreign_module(module)

    def _named(self, x: Any, name: str) -> tuple[str, bool]:
        """Return the name of an object, numbered among those with the same name, and whether the object is new."""
        if id(x) in self._seen:
            return self._seen[id(x)][0], False
        others = sum(other.startswith(f"{name} #") for other, _ in self._seen.values())
        self._seen[id(x)] = f"{name} #{others}", x
        return f"{name} #{others}", True


def _defaults(function: FunctionType) -> dict[str, Any]:
    """Return the default values of the arguments of a function, by name."""
    values = function.__defaults__ or ()
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return dict(zip(names[len(names) - len(values) :], values, strict=True)) | (function.__kwdefaults__ or {})


def _reduced(x: Any) -> Any:
    """Return the data from which ``copy`` would make a copy of an object."""
    registered = copyreg.dispatch_table.get(type(x))
    return registered(x) if registered else x.__reduce_ex__(2)


def _package(module: str | None) -> str:
    """Return the top-level package of a module."""
    return str(module).partition(".")[0]
