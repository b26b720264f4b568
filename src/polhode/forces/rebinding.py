"""Copies of functions in which the names of mathematical functions refer to versions that accept symbols.

Functions of ``math`` and many of NumPy require numbers. In a copy of a function, globals and closure variables that
refer to them are replaced, and so are they in the functions that it calls, recursively; of functions that are compiled
by Numba, the Python function is copied. Lists, dictionaries and objects that the function may change are copied, too,
so that a call with symbols changes nothing outside; the rebinder remembers that there are such things.
"""

from __future__ import annotations

import builtins
import dis
import functools
import math
import operator
import random
import sys
from collections.abc import Callable, Iterable, Mapping
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from polhode.core.checks import as_floats
from polhode.core.fingerprint import FOUNDATION, is_library
from polhode.forces.symbols import Symbol, apply_ufunc, has_symbols, lowered, refuse
from polhode.kernels.compiler.bytecode import PLAIN

LEFT_ALONE = FOUNDATION - {"polhode"}  # packages whose functions are not copied
UNSTEADY = ("time", "random", "numpy.random")  # modules whose functions return another value on each call
# Packages whose functions only compute, and builtins that do more.
PURE = {"builtins", "math", "numpy", "scipy", "numba", "operator", "_operator", "functools", "itertools", "polhode"}
IMPURE_BUILTINS = ("open", "input", "exec", "eval", "globals", "setattr", "delattr")
# Instructions that change something outside a function, and the first one of a handler of exceptions.
IMPURE_INSTRUCTIONS = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "PUSH_EXC_INFO"}
# Functions of ``math`` that have another name in NumPy.
NAMES_IN_NUMPY = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "pow": "power",
}  # fmt: skip


class _AcceptsSymbols(type):
    """Type of `Float`: symbols are instances of it, as floats are."""

    def __instancecheck__(cls, x: Any) -> bool:
        """Return whether an object is a float or a symbol."""
        return isinstance(x, builtins.float | Symbol)


class Float(builtins.float, metaclass=_AcceptsSymbols):
    """The type float for functions that are called with symbols, which it lets through."""

    def __new__(cls, x: Any = 0.0) -> Any:
        """Return a symbol unchanged, and anything else as a float."""
        value = x.item() if isinstance(x, np.ndarray) and x.size == 1 else x
        return value if type(value) is Symbol else builtins.float(value)


# Arrays that functions create may be filled with symbols: arrays of floats become arrays of objects.


def _is_float(dtype: Any) -> bool:
    """Return whether a type of numbers is one that symbols replace."""
    return dtype is Float or np.dtype(dtype).kind in "fO"


def _of_objects(array: Any) -> Any:
    """Return an array of floats as an array of objects, which can hold symbols."""
    return array.astype(object) if isinstance(array, np.ndarray) and array.dtype.kind == "f" else array


def _made_array(create: Callable[..., Any]) -> Callable[..., Any]:
    """Return a version of ``np.array`` or a similar function that accepts symbols."""

    def created(x: Any, dtype: Any = None, **options: Any) -> Any:
        if dtype is not None and not _is_float(dtype):
            return create(x, dtype=dtype, **options)
        if has_symbols(x):
            return create(x, dtype=object, **options)
        return _of_objects(create(x, dtype=None if dtype is None else builtins.float, **options))

    return created


def _filled_array(create: Callable[..., Any]) -> Callable[..., Any]:
    """Return a version of ``np.zeros`` or a similar function whose arrays can be filled with symbols."""

    def created(*arguments: Any, dtype: Any = builtins.float, **options: Any) -> Any:
        sizes = [x for x in arguments if not isinstance(x, type | np.dtype | str)]
        kind = next((x for x in arguments if isinstance(x, type | np.dtype | str)), dtype)
        array = create(*sizes, dtype=builtins.float if _is_float(kind) else kind, **options)
        return _of_objects(array)

    return created


def _array_like(value: builtins.float) -> Callable[..., Any]:
    """Return a version of ``np.zeros_like`` or a similar function, for arrays that can be filled with symbols."""

    def created(x: Any, dtype: Any = None, **options: Any) -> Any:
        return np.full(np.shape(x), value, dtype=object)

    return created


def full(shape: Any, value: Any, dtype: Any = None) -> Any:
    """Return an array of symbols or numbers that are equal."""
    return np.full(shape, value, dtype=object if dtype is None or _is_float(dtype) else dtype)


def full_like(x: Any, value: Any, dtype: Any = None) -> Any:
    """Return an array of the shape of another one, of symbols or numbers that are equal."""
    return full(np.shape(x), value, dtype)


def as_symbols(value: Any, name: str, components: int | None = None) -> Any:
    """Return an array of symbols unchanged, and numbers as an array of floats."""
    return np.asarray(value, dtype=object) if has_symbols(value) else as_floats(value, name, components)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the length of vectors of symbols, or the Frobenius norm of matrices."""
    array = np.asarray(x)
    if array.dtype != object:
        return np.linalg.norm(array, ord, axis, keepdims)
    if ord not in (None, 2) or (ord == 2 and array.ndim > 1 and axis is None):
        refuse(f"np.linalg.norm with ord = {ord} cannot be traced")
    return SQRT(np.sum(array * array, axis=axis, keepdims=keepdims))


def _of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of linear algebra that accepts arrays of objects if these are numbers."""

    def called(*arguments: Any, **options: Any) -> Any:
        return function(*(_as_numbers(x, function.__name__) for x in arguments), **options)

    return called


def _as_numbers(x: Any, name: str) -> Any:
    """Return an array of objects as an array of floats; raise NotTraceable if there are symbols in it."""
    if not has_symbols(x):
        return x
    array = np.asarray(x, dtype=object)
    if any(type(element) is Symbol and element.number is None for element in array.flat):
        refuse(f"np.linalg.{name} cannot be traced")
    return array.astype(builtins.float)


def solve(A: Any, b: Any) -> Any:
    """Return the solution of linear equations with a matrix of numbers."""
    matrix = _as_numbers(A, "solve")
    return np.linalg.inv(matrix) @ b if has_symbols(b) else np.linalg.solve(matrix, b)


# Functions of the module math.


def _of_scalars(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of ``math`` that accepts symbols."""
    name = NAMES_IN_NUMPY.get(function.__name__, function.__name__)

    def called(*arguments: Any) -> Any:
        return lowered(name, *arguments) if any(type(x) is Symbol for x in arguments) else function(*arguments)

    return called


def prod(factors: Iterable[Any], *, start: Any = 1) -> Any:
    """Return the product of symbols or numbers."""
    return functools.reduce(lambda x, y: x * y, factors, start)


def sumprod(a: Iterable[Any], b: Iterable[Any]) -> Any:
    """Return the sum of the products of symbols or numbers."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def dist(a: Iterable[Any], b: Iterable[Any]) -> Any:
    """Return the distance of two points."""
    return HYPOT(*(x - y for x, y in zip(a, b, strict=True)))


class Ufunc:
    """Function of NumPy that accepts symbols, and arrays that contain symbols as well as numbers."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self._ufunc = ufunc

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Return the value of the function."""
        if any(map(has_symbols, arguments)):
            return apply_ufunc(self._ufunc, *arguments, **options)
        return self._ufunc(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the function, such as ``reduce``."""
        return getattr(self._ufunc, name)


SQRT, HYPOT = Ufunc(np.sqrt), _of_scalars(math.hypot)

# What replaces functions and types in copies, by identity.
REPLACEMENTS: dict[Any, Any] = {
    builtins.float: Float,
    np.float64: Float,
    **{x: _of_scalars(x) for x in vars(math).values() if isinstance(x, BuiltinFunctionType)},
    math.fsum: sum,
    math.prod: prod,
    math.dist: dist,
    getattr(math, "sumprod", sumprod): sumprod,  # new in Python 3.12
    **{x: _made_array(x) for x in (np.array, np.asarray, np.asanyarray, np.ascontiguousarray)},
    **{x: _filled_array(x) for x in (np.zeros, np.ones, np.empty, np.eye, np.identity)},
    np.zeros_like: _array_like(0.0),
    np.ones_like: _array_like(1.0),
    np.empty_like: _array_like(math.nan),
    np.full: full,
    np.full_like: full_like,
    as_floats: as_symbols,
    np.linalg.norm: norm,
    np.linalg.solve: solve,
    **{getattr(np.linalg, name): _of_numbers(getattr(np.linalg, name))
       for name in ("inv", "det", "pinv", "lstsq", "cholesky", "eig", "eigh", "eigvals", "eigvalsh", "svd")},
}  # fmt: skip


class Unsteady:
    """Stands for modules, objects and functions that return another value on each call."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Return an attribute, which is not steady either."""
        return Unsteady(f"{self._name}.{name}")

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Raise NotTraceable."""
        refuse(f"{self._name} returns another value on each call and cannot be traced")


class Namespace:
    """A module whose attributes are replaced when they are read."""

    def __init__(self, module: ModuleType, rebinder: Rebinder) -> None:
        self._module, self._rebinder = module, rebinder

    def __getattr__(self, name: str) -> Any:
        """Return the replacement of an attribute."""
        return self._rebinder.rebound(getattr(self._module, name))


class Globals(dict[str, Any]):
    """Globals of the copy of a function, which are replaced when they are read first."""

    def __init__(self, original: Mapping[str, Any], rebinder: Rebinder) -> None:
        names = ("__name__", "__package__", "__spec__")  # for imports in the function
        super().__init__({name: original.get(name) for name in names}, __builtins__=rebinder.builtins)
        self._original, self._rebinder = original, rebinder

    def __missing__(self, name: str) -> Any:
        """Return the replacement of a global; raise KeyError if there is none, so that builtins are searched."""
        self[name] = self._rebinder.rebound(self._original[name])
        return self[name]


class Rebinder:
    """Copies of functions and what they refer to, each made once, so that they stay the same during a call.

    Attributes
    ----------
    is_pure : bool
        Whether the functions called so far only compute with numbers that are fixed: they print nothing, handle no
        exceptions, and refer to nothing that they or others may change, such as lists and objects. Globals and closure
        variables with numbers, tuples and arrays are fixed, as they are for Numba.
    """

    def __init__(self) -> None:
        self.is_pure = True
        self._copies: dict[int, tuple[Any, Any]] = {}  # by address; the original keeps the address valid
        self.builtins = {**vars(builtins), "float": Float, "print": self._print, "__import__": self._imported}
        self.builtins |= {name: self._impure(getattr(builtins, name)) for name in IMPURE_BUILTINS}
        self._kinds: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
            (FunctionType, self._function),
            (MethodType, lambda x: MethodType(self.rebound(x.__func__), self.rebound(x.__self__))),
            (np.ufunc, Ufunc),
            (ModuleType, self._module),
            (functools.partial, self._partial),
            (functools._lru_cache_wrapper, lambda x: self.rebound(x.__wrapped__)),
            (np.ndarray, _read_only),
            (type, self._type),
            (BuiltinFunctionType, self._builtin),
            (tuple, self._tuple),
            (dict, self._dictionary),
            (list, self._list),
            (set, self._set),
        )

    def rebound(self, x: Any) -> Any:
        """Return the copy of an object, or the object itself if nothing in it has to be replaced."""
        if type(x) in PLAIN or type(x) is Symbol:
            return x
        if id(x) not in self._copies:
            copy = self._copy(x)
            self._copies[id(x)] = x, copy
            self._copies.setdefault(id(copy), (copy, copy))
        return self._copies[id(x)][1]

    def keep(self, x: Any) -> Any:
        """Return an object that accepts symbols already, and need not be copied."""
        self._copies[id(x)] = x, x
        return x

    def _copy(self, x: Any) -> Any:
        """Return a new copy of an object, or the object itself."""
        if _is_unsteady(x):
            return Unsteady(getattr(x, "__name__", type(x).__name__))
        try:
            if x in REPLACEMENTS:
                return REPLACEMENTS[x]
        except (TypeError, ValueError):  # it has no hash, or is compared by its elements
            pass
        for kind, copied in self._kinds:
            if isinstance(x, kind):
                return copied(x)
        if isinstance(getattr(x, "py_func", None), FunctionType):  # compiled by Numba
            return self.rebound(x.py_func)
        return self._object(x)

    def _print(self, *arguments: Any, **options: Any) -> None:
        """Do nothing, instead of printing symbols."""
        self.is_pure = False

    def _impure(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that does what another one does, and notes that."""

        def called(*arguments: Any, **options: Any) -> Any:
            self.is_pure = False
            return function(*arguments, **options)

        return called

    def _builtin(self, function: Any) -> Any:
        """Return a function that is written in C, unchanged; methods belong to an object, which may change."""
        is_method = not isinstance(function.__self__, ModuleType | None)
        self.is_pure &= not is_method and _package(function) in PURE
        return function

    def _type(self, kind: type) -> type:
        """Return a class unchanged."""
        self.is_pure &= _package(kind) in PURE
        return kind

    def _function(self, function: FunctionType) -> Any:
        """Return the copy of a function of the user or of this package."""
        if _package(function) in LEFT_ALONE and is_library(function.__code__.co_filename):
            self.is_pure &= _package(function) in PURE
            return function
        self.is_pure &= _only_computes(function.__code__)
        closure = tuple(CellType() for _ in function.__closure__ or ())
        copy = FunctionType(
            function.__code__, Globals(function.__globals__, self), function.__name__, None, closure or None
        )
        self._copies[id(function)] = function, copy  # it may call itself
        copy.__defaults__ = self.rebound(function.__defaults__)
        copy.__kwdefaults__ = self.rebound(function.__kwdefaults__)
        copy.__qualname__ = function.__qualname__
        for cell, original in zip(closure, function.__closure__ or (), strict=True):
            try:
                cell.cell_contents = self.rebound(original.cell_contents)
            except ValueError:  # the cell is empty
                continue
        return copy

    def _partial(self, x: Any) -> Any:
        """Return the copy of a function some of whose arguments are given."""
        return functools.partial(self.rebound(x.func), *self.rebound(x.args), **self.rebound(x.keywords))

    def _module(self, module: ModuleType) -> Any:
        """Return a module whose attributes are replaced; modules of Python and of SciPy are left alone."""
        name = module.__name__.partition(".")[0]
        self.is_pure &= name in PURE or name not in LEFT_ALONE
        return Namespace(module, self) if name not in LEFT_ALONE or name in ("math", "numpy") else module

    def _imported(self, *arguments: Any) -> Any:
        """Return what an ``import`` statement in a function returns."""
        return self.rebound(__import__(*arguments))

    def _tuple(self, x: tuple[Any, ...]) -> Any:
        """Return a tuple with its items replaced."""
        items = [self.rebound(item) for item in x]
        if all(map(operator.is_, items, x)):
            return x
        return x._make(items) if hasattr(x, "_make") else tuple(items)

    def _list(self, x: list[Any]) -> Any:
        """Return a copy of a list, with its items replaced."""
        self.is_pure = False
        copy = x.copy()
        self._copies[id(x)] = x, copy  # it may contain itself
        if not {*map(type, x)} <= {*PLAIN}:
            copy[:] = [self.rebound(item) for item in x]
        return copy

    def _dictionary(self, x: dict[Any, Any]) -> Any:
        """Return a copy of a dictionary, with its values replaced."""
        self.is_pure = False
        copy = x.copy()
        self._copies[id(x)] = x, copy  # it may contain itself
        copy.update((key, self.rebound(value)) for key, value in x.items())
        return copy

    def _set(self, x: set[Any]) -> Any:
        """Return a copy of a set."""
        self.is_pure = False
        return x.copy()

    def _object(self, x: Any) -> Any:
        """Return the copy of an object of a class of the user, whose attributes are replaced when they are read."""
        if isinstance(x, np.generic | type(np.dot)):  # a number, or a function
            return x
        self.is_pure = False
        if isinstance(x, SimpleNamespace):
            return SimpleNamespace(**self.rebound(vars(x)))
        kind = type(x)
        if kind.__module__.partition(".")[0] in LEFT_ALONE or not hasattr(x, "__dict__"):
            return x
        try:
            copy: Any = object.__new__(self._replacing(kind))
        except TypeError:  # a class that cannot be derived from, such as an enumeration
            return x
        object.__getattribute__(copy, "__dict__").update(vars(x))
        return copy

    def _replacing(self, kind: Any) -> type:
        """Return a class derived from one of the user, whose attributes are replaced when they are read."""

        def read(this: Any, name: str) -> Any:
            value = kind.__getattribute__(this, name)
            return value if name.startswith("__") else self.rebound(value)

        def call(this: Any, *arguments: Any, **options: Any) -> Any:
            return self.rebound(MethodType(kind.__call__, this))(*arguments, **options)

        members = {"__getattribute__": read, "__module__": kind.__module__}
        if any("__call__" in vars(base) for base in kind.__mro__):
            members["__call__"] = call
        return type(kind.__name__, (kind,), members)


@functools.lru_cache(maxsize=1024)
def _only_computes(code: CodeType) -> bool:
    """Return whether code changes no variable outside the function, and handles no exceptions."""
    waiting = [code]
    while waiting:
        inner = waiting.pop()
        waiting += [constant for constant in inner.co_consts if isinstance(constant, CodeType)]
        for instruction in dis.get_instructions(inner):
            is_outer = instruction.opname == "STORE_DEREF" and instruction.argval in code.co_freevars
            if is_outer or instruction.opname in IMPURE_INSTRUCTIONS:
                return False
    return True


def _is_unsteady(x: Any) -> bool:
    """Return whether an object is one of time or of random numbers."""
    if isinstance(x, ModuleType):
        return x.__name__ in UNSTEADY
    if isinstance(x, BuiltinFunctionType) and x.__module__ == "time":
        return True
    return isinstance(x, _generators()) or isinstance(getattr(x, "__self__", None), _generators())


def _generators() -> tuple[type, ...]:
    """Return the types of objects that generate random numbers; those of NumPy, if the user has imported them."""
    module = sys.modules.get("numpy.random")  # importing it takes a while
    return (random.Random, *((module.RandomState, module.Generator) if module else ()))


def _package(function: Any) -> str:
    """Return the name of the package of a function."""
    return str(getattr(function, "__module__", "")).partition(".")[0]


def _read_only(array: Any) -> Any:
    """Return a view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view
