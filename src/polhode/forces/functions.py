"""Functions of t, Q, w and p in the fixed forms that compiled loops call, in plain Python and compiled on first use.

A `Function` applies a template to user-defined functions or to other Functions. Templates use only arithmetic, so that
the same source runs in plain Python and compiled. A function that Numba cannot compile becomes a callback into Python.

Machine code is shared: Functions with the same template and equivalent user-defined functions (see `fingerprint`) are
compiled once. Numba freezes globals and closure variables when it compiles; the key of the code includes their values.
"""

from __future__ import annotations

import functools
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from ctypes import CFUNCTYPE, c_double, c_ssize_t, c_void_p
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.ctypeslib import as_array

from polhode.core.arrays import FloatArray
from polhode.core.fingerprint import Fingerprint, Identity, Itself, fingerprint, identity, is_lasting, merged
from polhode.core.pickling import HoldsFunctions
from polhode.core.rotation import matrix
from polhode.core.value import Comparable
from polhode.core.warning import warn
from polhode.kernels.compiler import JIT, jit
from polhode.kernels.compiler.bytecode import digest
from polhode.kernels.compiler.intrinsics import call_by_address
from polhode.kernels.compiler.user_functions import compile_user
from polhode.kernels.numbers import quat
from polhode.kernels.stepping import header

ENERGY = f"f8(f8, {header.MATRIX}, f8[::1])"
GRADIENT = f"{header.MATRIX}(f8, {header.MATRIX}, f8[::1])"

NEVER_BEGAN, DONE, RAISED = 0.0, 1.0, 2.0  # status of a callback into Python
INTERRUPTED = -1  # passed instead of the number of parameters
CTRL_C = threading.Event()  # set by Ctrl-C during compiled code, which cannot propagate KeyboardInterrupt
RECENT_SIZE = 128  # number of compiled functions that can be reused; those in use stay alive independently


class SlowTorqueWarning(UserWarning):
    """Warning that Numba cannot compile a function, which runs as plain Python, some hundred times slower."""


# Templates that convert the result of a user-defined function of each form to floats.


def numbers_of_torque(func):
    """Return torque(t, Q, w, p), the three values of `func` as floats."""

    def torque(t, Q, w, p):
        f = func(t, Q, w, p)
        return float(f[0]), float(f[1]), float(f[2])

    return torque


def torque_in_space(func):
    """Return torque(t, Q, w, p) in body axes, of a function `func` that returns the torque in space axes."""

    def torque(t, Q, w, p):
        s = func(t, Q, w, p)
        x, y, z = float(s[0]), float(s[1]), float(s[2])
        (a, b, c), (d, e, f), (g, h, i) = Q
        return a * x + d * y + g * z, b * x + e * y + h * z, c * x + f * y + i * z

    return torque


def number_of_energy(func):
    """Return energy(t, Q, p), the value of `func` as a float."""

    def energy(t, Q, p):
        return float(func(t, Q, p))

    return energy


def rows_of_gradient(func):
    """Return gradient(t, Q, p), the values of `func` as three rows of three floats."""

    def gradient(t, Q, p):
        g = func(t, Q, p)
        x, y, z = g[0], g[1], g[2]
        return (
            (float(x[0]), float(x[1]), float(x[2])),
            (float(y[0]), float(y[1]), float(y[2])),
            (float(z[0]), float(z[1]), float(z[2])),
        )

    return gradient


# Templates that call a user-defined function with arrays.


def torque_of_arrays(func):
    """Return torque(t, Q, w, p), which calls `func` with arrays Q (3, 3) and w (3,)."""

    def torque(t, Q, w, p):
        return func(t, np.array(Q), np.array(w), p)

    return torque


def potential_of_arrays(func):
    """Return potential(t, Q, p), which calls `func` with an array Q (3, 3)."""

    def potential(t, Q, p):
        return func(t, np.array(Q), p)

    return potential


# Templates that derive the torque from a gradient or from an energy.


def torque_of_gradient(gradient):
    """Return torque(t, Q, w, p) = -rot(Q^T dV/dQ) of a gradient dV/dQ."""

    def torque(t, Q, w, p):
        (a, b, c), (d, e, f), (g, h, i) = Q
        (A, B, C), (D, E, F), (G, H, I) = gradient(t, Q, p)
        return (
            (b * C + e * F + h * I) - (c * B + f * E + i * H),
            (c * A + f * D + i * G) - (a * C + d * F + g * I),
            (a * B + d * E + g * H) - (b * A + e * D + h * G),
        )

    return torque


def torque_of_energy(energy, nodes):
    """Return torque(t, Q, w, p), computed from values of `energy` by Riesz's formula: see ``trigonometric``."""

    def torque(t, Q, w, p):
        (a, b, c), (d, e, f), (g, h, i) = Q
        x, y, z = 0.0, 0.0, 0.0
        for k in range(len(nodes)):
            C, S, weight = nodes[k]
            for sign in (1.0, -1.0):
                s, u = sign * S, sign * weight
                x -= u * energy(t, ((a, C * b + s * c, C * c - s * b), (d, C * e + s * f, C * f - s * e),
                                    (g, C * h + s * i, C * i - s * h)), p)  # fmt: skip
                y -= u * energy(t, ((C * a - s * c, b, C * c + s * a), (C * d - s * f, e, C * f + s * d),
                                    (C * g - s * i, h, C * i + s * g)), p)  # fmt: skip
                z -= u * energy(t, ((C * a + s * b, C * b - s * a, c), (C * d + s * e, C * e - s * d, f),
                                    (C * g + s * h, C * h - s * g, i)), p)  # fmt: skip
        return x, y, z

    return torque


# Templates for sums; the first part has the first k parameters.


def sum_of_torques(first, second, k):
    """Return torque(t, Q, w, p), the sum of two torques."""

    def torque(t, Q, w, p):
        a, b, c = first(t, Q, w, p[:k])
        d, e, f = second(t, Q, w, p[k:])
        return a + d, b + e, c + f

    return torque


def sum_of_energies(first, second, k):
    """Return energy(t, Q, p), the sum of two energies."""

    def energy(t, Q, p):
        return first(t, Q, p[:k]) + second(t, Q, p[k:])

    return energy


def sum_of_gradients(first, second, k):
    """Return gradient(t, Q, p), the sum of two gradients."""

    def gradient(t, Q, p):
        (a, b, c), (d, e, f), (g, h, i) = first(t, Q, p[:k])
        (A, B, C), (D, E, F), (G, H, I) = second(t, Q, p[k:])
        return (a + A, b + B, c + C), (d + D, e + E, f + F), (g + G, h + H, i + I)

    return gradient


# Callbacks into Python: input and output are passed in an array x, which begins with t and Q and ends with a status.


def through_callback(callback):
    """Return call(x, t, Q, p), which stores t and Q in x, invokes the C callback, and raises if that failed."""

    def call(x, t, Q, p):
        x[0] = t
        for i in range(3):
            for j in range(3):
                x[1 + 3 * i + j] = Q[i][j]
        x[-1] = NEVER_BEGAN
        callback(x.ctypes, p.ctypes, p.size)
        if x[-1] == NEVER_BEGAN:
            callback(x.ctypes, p.ctypes, INTERRUPTED)
        if x[-1] != DONE:
            raise RuntimeError("the Python function raised")

    return call


def called_torque(call):
    """Return torque(t, Q, w, p), evaluated by `call`, a result of `through_callback`."""

    def torque(t, Q, w, p):
        x = np.empty(17)
        x[10], x[11], x[12] = w
        call(x, t, Q, p)
        return x[13], x[14], x[15]

    return torque


def called_energy(call):
    """Return energy(t, Q, p), evaluated by `call`, a result of `through_callback`."""

    def energy(t, Q, p):
        x = np.empty(12)
        call(x, t, Q, p)
        return x[10]

    return energy


def called_gradient(call):
    """Return gradient(t, Q, p), evaluated by `call`, a result of `through_callback`."""

    def gradient(t, Q, p):
        x = np.empty(20)
        call(x, t, Q, p)
        return (x[10], x[11], x[12]), (x[13], x[14], x[15]), (x[16], x[17], x[18])

    return gradient


@dataclass(frozen=True)
class Form:
    """One of the three fixed types of functions: arguments, result, compiled signature and templates."""

    name: str
    arguments: tuple[str, ...]
    shape: tuple[int, ...]  # of the result
    returns: str  # description of the result, for messages
    signature: str
    numbers: Callable[..., Any]  # template that converts results to floats
    of_arrays: Callable[..., Any]  # template for functions of arrays
    called: Callable[..., Any]  # template for callbacks into Python

    @property
    def has_velocity(self) -> bool:
        """Return whether w is an argument."""
        return "w" in self.arguments


TORQUE_FORM = Form("torque", ("t", "Q", "w", "p"), (3,), "three numbers", header.TORQUE,
                   numbers_of_torque, torque_of_arrays, called_torque)  # fmt: skip
ENERGY_FORM = Form("energy", ("t", "Q", "p"), (), "one number", ENERGY,
                   number_of_energy, potential_of_arrays, called_energy)  # fmt: skip
GRADIENT_FORM = Form("gradient", ("t", "Q", "p"), (3, 3), "three rows of three numbers", GRADIENT,
                     rows_of_gradient, potential_of_arrays, called_gradient)  # fmt: skip

CALLBACK = CFUNCTYPE(None, c_void_p, c_void_p, c_ssize_t)


def callback_to(plain: Callable[..., Any], form: Form) -> Any:
    """Return a C function of (array x, parameters, their number) that calls `plain` and stores a status in x.

    After Ctrl-C all calls fail until control returns to Python, which raises KeyboardInterrupt (`raise_ctrl_c`). Mostly
    the interrupt occurs at the entry of `call`, where it cannot be caught; then `call` is repeated with INTERRUPTED.
    """
    inputs = 13 if form.has_velocity else 10
    outputs = prod(form.shape)

    def call(numbers: int, params: int, size: int) -> None:
        x = as_array((c_double * (inputs + outputs + 1)).from_address(numbers))
        try:
            if size == INTERRUPTED or CTRL_C.is_set():
                raise KeyboardInterrupt
            p = as_array((c_double * size).from_address(params)).copy() if size else np.empty(0)
            t, *rest = x[:inputs].tolist()
            rows = [tuple(rest[k : k + 3]) for k in range(0, inputs - 1, 3)]
            x[inputs:-1] = np.ravel(plain(t, tuple(rows[:3]), *rows[3:], p))
            x[-1] = DONE
        except KeyboardInterrupt:
            CTRL_C.set()
            x[-1] = RAISED
        except BaseException:  # the caller repeats the evaluation in Python, for the traceback
            x[-1] = RAISED

    return CALLBACK(call)


def forget_ctrl_c() -> None:
    """Forget that Ctrl-C was pressed, before a new computation."""
    if CTRL_C.is_set():  # faster than to clear it
        CTRL_C.clear()


def raise_ctrl_c() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed during compiled code, which could not propagate it."""
    if CTRL_C.is_set():
        CTRL_C.clear()
        raise KeyboardInterrupt


@dataclass
class Code:
    """A compiled function and its key in the cache."""

    function: Any
    key: Any
    is_callback: bool = False  # such code contains an address, which is valid in this process only


T = TypeVar("T")


class Recent(Generic[T]):
    """Cache of what was used most recently, limited to `size` entries; safe for threads."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries = OrderedDict[Any, T]()
        self._lock = threading.Lock()

    def find(self, key: Any) -> T | None:
        """Return the entry of this key, or None, and mark it as recently used."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def keep(self, key: Any, entry: T) -> T:
        """Store an entry, discard the least recently used if there are too many, and return the entry."""
        with self._lock:
            self._entries[key] = entry
            if len(self._entries) > self._size:
                self._entries.popitem(last=False)
        return entry


RECENT = Recent[Code](RECENT_SIZE)


class Function(Comparable, HoldsFunctions):
    """Function in fixed form, in plain Python and compiled on first use.

    Functions are equal if they do the same: if their templates are the same and their user-defined functions are
    equivalent (see ``fingerprint``), as they were compiled or, before that, as they are now.

    Parameters
    ----------
    form : Form
        Type of the function.
    template : callable
        Function of `parts` and `settings` that returns the function.
    parts : sequence of callable
        User-defined functions or Functions.
    settings : tuple, optional
        Further arguments of the template.
    user : callable, optional
        The user-defined function among the parts. If there is none, Numba can compile everything.

    Attributes
    ----------
    plain : callable
        The function in plain Python.
    user, settings
        As passed.
    """

    def __init__(
        self, form: Form, template: Any, parts: Sequence[Any], settings: tuple[Any, ...] = (), user: Any = None
    ) -> None:
        self.form = form
        self.user = user
        self.settings = settings
        self._template, self._parts = template, tuple(parts)
        self.plain = self.applied(plain)
        self._code: Code | None = None
        self._addresses: dict[Any, Any] = {}  # of code that is made from graphs, by its kind and number of parameters
        self._own: Identity | None = None  # what the user-defined functions were when code or a graph was made

    def applied(self, convert: Callable[[Any], Any]) -> Any:
        """Return the template applied to the parts as `convert` returns them."""
        return self._template(*map(convert, self._parts), *self.settings)

    @property
    def energy(self) -> Any:
        """Return the function of an energy, from whose values the torque is computed, or None."""
        return self._parts[0] if self._template is torque_of_energy else None

    def compiled(self) -> Any:
        """Return the compiled function of type `form.signature`; without the compiler, `plain`."""
        forget_ctrl_c()
        return self._shared().function if JIT else self.plain

    def address(self, params: FloatArray | None = None) -> Any:
        """Return the address from which kernels call the function: see ``intrinsics.call_by_address``.

        With parameters (..., k), which are needed for a trial, its code is made from its graph if there is one: see
        ``generated``. It is valid for any others, but not for another number of them.
        """
        forget_ctrl_c()
        return self._graph_address(params) or jit.address(self.compiled())

    def block_address(self, params: FloatArray, turned: bool) -> Any:
        """Return the address of the function for blocks of bodies, which is a torque; None if there is no graph.

        Parameters
        ----------
        params : ndarray, shape (..., k)
            Parameters, of which only the number matters.
        turned : bool
            Whether the principal axes differ from the body axes of the user.
        """
        if not JIT:
            return None
        from polhode.forces import generated

        forget_ctrl_c()
        return self._made_from_graph(("block", turned, params.shape[-1]), generated.block_address_of, params, turned)

    def _graph_address(self, params: FloatArray | None) -> Any:
        """Return the address of code that is made from the graph of the function; None if there is none."""
        if params is None or not JIT:
            return None
        from polhode.forces import generated

        return self._made_from_graph(("one body", params.shape[-1]), generated.address_of, params)

    def _made_from_graph(self, kind: Any, make: Callable[..., Any], *arguments: Any) -> Any:
        """Return the address of code of a kind that is made from the graph, or that exists; None if there is none."""
        if kind not in self._addresses:
            address = None
            if self.fix():
                key = "graph", kind, type(self), self.form.signature, self.key()
                code = RECENT.find(key) or RECENT.keep(key, Code(make(self, *arguments), key))
                address = code.function
            self._addresses[kind] = address
        return self._addresses[kind]

    def fix(self) -> bool:
        """Fix the globals and closure variables that code contains; return False if others were fixed before."""
        inner = [part.fix() for part in self._inner()]
        if self._own is None:
            self._own = self._identity()
            return all(inner)
        return self.is_as_fixed() and all(inner)

    def is_as_fixed(self) -> bool:
        """Return whether globals, closure variables and so on are those that were fixed, or nothing was fixed yet."""
        if self._own is None or self._own.seen.is_unchanged():
            return True
        now = self._identity()
        if now.key != self._own.key:
            return False
        self._own = now  # equal values in other objects
        return True

    def with_inner(self) -> list[Function]:
        """Return this function and all Functions of which it is made."""
        return [self, *(inner for part in self._inner() for inner in part.with_inner())]

    def renewed(self) -> Function:
        """Return the same function without anything that was fixed."""
        parts = [part.renewed() if isinstance(part, Function) else part for part in self._parts]
        return type(self)(self.form, self._template, parts, self.settings, self.user)

    def _identity(self) -> Identity:
        """Return what the user-defined functions among the parts are now."""
        return identity(*self._own_parts(), self.settings)

    def fingerprint(self) -> Fingerprint:
        """Return digests of the user-defined functions, as they were compiled or, before that, as they are now."""
        own = self._own_parts()
        inner = [part.fingerprint() for part in self._inner()]
        if not own:
            return merged(*inner)
        digests = fingerprint(*own) if self._own is None else self._own.parts
        settings = {"frame, arrays or degree": digest(repr((self._template.__name__, self.settings)))}
        return merged(*inner, digests, settings)

    def __reduce__(self) -> Any:
        """Return the arguments for pickle and copy: machine code is valid in this process only."""
        return type(self), (self.form, self._template, self._parts, self.settings, self.user)

    def _content(self) -> Mapping[str, Any]:
        """Return what is compared."""
        own = self._own or self._identity()
        return {"form": self.form, "template": self._template, "own": own.key, "inner": self._inner()}

    def __hash__(self) -> int:
        """Return a hash that does not depend on the user-defined function, whose globals may change."""
        return hash((type(self), self.form))

    def _inner(self) -> tuple[Function, ...]:
        """Return the parts that are Functions."""
        return tuple(part for part in self._parts if isinstance(part, Function))

    def _own_parts(self) -> list[Any]:
        """Return the parts that are user-defined functions."""
        return [part for part in self._parts if not isinstance(part, Function)]

    def _shared(self) -> Code:
        """Return the code of this function, or of an equivalent one that is compiled already."""
        if self._code is None:
            inner = [part._shared().key for part in self._inner()]
            prefix = type(self), self.form.signature, self._template, *inner
            self._own = self._identity()
            key = (*prefix, self._own.key)
            callback_key = (*prefix, *_itself(self.user))
            code = RECENT.find(callback_key) or RECENT.find(key) or self._new_code(key, callback_key)
            self._code = RECENT.keep(code.key, code)
        return self._code

    def _new_code(self, key: Any, callback_key: Any) -> Code:
        """Compile the function, or a callback into Python if Numba cannot compile it.

        A callback sees later changes of globals and closure variables, so its key is the identity of the function.
        """
        try:
            return Code(self._compile(), key)
        except Exception as problem:  # Numba raises many types
            if self.user is None:
                raise
            warn_slow(self.user, problem)
            call = compile_user(through_callback(callback_to(self.plain, self.form)))
            return Code(compile_user(self.form.called(call), self.form.signature), callback_key, is_callback=True)

    def _wrapped(self) -> Any:
        """Return the template applied to the compiled parts."""
        return self.applied(lambda part: part.compiled() if isinstance(part, Function) else compile_user(part))

    def _compile(self) -> Any:
        """Return the function compiled for the signature of its form."""
        return compile_user(self._wrapped(), self.form.signature, self.lasting_key())

    def key(self) -> tuple[Any, ...]:
        """Return a key that is equal, in this process, for functions that do the same now or as they were compiled."""
        inner = tuple(part.key() for part in self._inner())
        return self._template, inner, (self._own or self._identity()).key

    def lasting_key(self) -> str | None:
        """Return a text that is the same for equivalent functions in all processes, or None if there is none."""
        if self._code is not None and self._code.is_callback:
            return None
        own = [*self._own_parts(), self.settings]
        inner = [part.lasting_key() for part in self._inner()]
        if None in inner or not is_lasting(*own):
            return None
        return repr((type(self).__name__, self._template.__qualname__, inner, self._identity().key[0]))


def _itself(function: Any) -> tuple[Itself, Itself]:
    """Return the identity of a function as a key; a bound method is a new object on every access."""
    return Itself(getattr(function, "__self__", None)), Itself(getattr(function, "__func__", function))


def compiled_as_it_is(func: Any, signature: str) -> Any:
    """Return a user-defined function compiled for one signature, or the compiled code of an equivalent one."""
    key = signature, identity(func).key
    lasting = key[1][0] if is_lasting(func) else None
    code = RECENT.find(key) or RECENT.keep(key, Code(compile_user(func, signature, lasting), key))
    return code.function


class OfArrays(Function):
    """User-defined function that takes arrays; its result is not yet in fixed form."""

    def __init__(self, form: Form, func: Any) -> None:
        super().__init__(form, form.of_arrays, (func,))

    def __reduce__(self) -> Any:
        """Return the arguments for pickle and copy."""
        return OfArrays, (self.form, *self._parts)

    def renewed(self) -> OfArrays:
        """Return the same function without anything that was fixed."""
        return OfArrays(self.form, *self._parts)

    def _compile(self) -> Any:
        """Return the function compiled without a signature."""
        return compile_user(self._wrapped())


class ReadyMade(Function):
    """Compiled entry point of this package, which is cached on disk.

    If the kernel decides something by parameters, `without_branches` is a kernel with the same values that does not.
    """

    def __init__(self, form: Form, kernel: Any, without_branches: Any) -> None:
        self.form = form
        self.user = None
        self.plain = kernel
        self.without_branches = without_branches
        self._parts = ()
        self._code = None
        self._addresses = {}

    def is_as_fixed(self) -> bool:
        """Return True."""
        return True

    def renewed(self) -> ReadyMade:
        """Return this function, which never changes."""
        return self

    def __reduce__(self) -> Any:
        """Return the arguments for pickle and copy; kernels are pickled by name."""
        other = () if self.without_branches is self.plain else (self.without_branches,)
        return ready_made, (self.form, self.plain, *other)

    def applied(self, convert: Callable[[Any], Any]) -> Any:
        """Return the kernel."""
        return self.plain

    @property
    def energy(self) -> None:
        """Return None."""

    def key(self) -> tuple[Any, ...]:
        """Return the kernel."""
        return (self.plain,)

    def lasting_key(self) -> str:
        """Return the name of the kernel."""
        return f"{self.plain.__module__}.{self.plain.__qualname__}"

    def _content(self) -> Mapping[str, Any]:
        """Return what is compared: the kernel."""
        return {"kernel": self.plain}

    def fix(self) -> bool:
        """Return True: kernels do not change."""
        return True

    def _graph_address(self, params: FloatArray | None) -> None:
        """Return None: kernels are compiled already."""

    def _shared(self) -> Code:
        """Return the code of the kernel."""
        self._code = self._code or Code(self.plain, self.plain)
        return self._code


@functools.cache
def ready_made(form: Form, kernel: Any, without_branches: Any = None) -> ReadyMade:
    """Return the function of a kernel, one for each kernel in a process, so that copies are recognized."""
    return ReadyMade(form, kernel, without_branches or kernel)


def all_ready_made(torque: Any, energy: Any, gradient: Any, *without_branches: Any) -> tuple[ReadyMade, ...]:
    """Return the functions of the kernels of a force that is derived from an energy."""
    functions = ready_made(TORQUE_FORM, torque, *without_branches), ready_made(ENERGY_FORM, energy)
    return *functions, ready_made(GRADIENT_FORM, gradient)


def plain(part: Any) -> Any:
    """Return the plain Python function of a part, also if the user has compiled it with Numba."""
    return part.plain if isinstance(part, Function) else getattr(part, "py_func", part)


def described(func: Any) -> str:
    """Return the name of a function, with its file and line if it has them."""
    func = getattr(func, "py_func", func)
    code = getattr(func, "__code__", None)
    name = getattr(func, "__qualname__", None) or repr(func)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else name


def warn_slow(func: Any, problem: Exception) -> None:
    """Issue a SlowTorqueWarning with the reason, the line of the function that Numba refuses, and what to do."""
    code = getattr(func, "__code__", None)
    file = code.co_filename if code else ""
    places = re.findall(r'File "([^"]*)", line (\d+)', str(problem))
    own = [int(line) for place, line in places if Path(place).name == Path(file).name]
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    reason = next((line for line in lines if not line.startswith(("Failed in", "File", "During"))), repr(problem))
    where = f", line {own[0]}" if own else ""
    warn(
        f"Numba cannot compile {described(func)}{where}: {reason.rstrip('.')}; it runs as a Python callback, correct "
        "but some hundred times slower. Functions it calls can be compiled if they are decorated with numba.njit; or "
        f"type warnings.simplefilter('ignore', polhode.forces.functions.{SlowTorqueWarning.__name__})",
        SlowTorqueWarning,
    )


def evaluate(loop: Any, function: Function, params: FloatArray, arguments: tuple[Any, ...]) -> None:
    """Run a loop below over the rows of arguments; if the function raises an exception, raise it.

    Compiled code has no exceptions with a traceback: the evaluation is repeated in Python. `params` (..., k) are the
    parameters of the force; those among the arguments may be others.
    """
    if not loop(function.address(params), arguments):
        return
    raise_ctrl_c()
    t, q, *w, params, out = arguments
    for n in range(len(out)):
        Q = tuple(map(tuple, matrix(q[n % len(q)]).tolist()))
        function.plain(float(t[n % len(t)]), Q, *(tuple(x[n % len(x)].tolist()) for x in w), params[n % len(params)])
    raise RuntimeError(f"{function.form.name} raised an exception in compiled code that it does not raise in Python")


ROWS = "f8[:,::1]"
# (t, q, w, params, out): each has as many rows as out, or one row, which is repeated
TORQUES = f"b1({header.ADDRESS}, Tuple((f8[::1], {ROWS}, {ROWS}, {ROWS}, {ROWS})))"
ENERGIES = f"b1({header.ADDRESS}, Tuple((f8[::1], {ROWS}, {ROWS}, f8[::1])))"
call_energy = call_by_address(ENERGY, 0.0)


@jit.entry_point(TORQUES)
def torques(torque, arguments):
    """Write the torques at all rows of `arguments` = (t, q, w, params, out) to out (n, 3).

    Return whether the function raised an exception.
    """
    t, q, w, params, out = arguments
    for n in range(out.shape[0]):
        i, j, k = n % q.shape[0], n % w.shape[0], n % params.shape[0]
        Q = quat.matrix((float(q[i, 0]), float(q[i, 1]), float(q[i, 2]), float(q[i, 3])))
        velocity = float(w[j, 0]), float(w[j, 1]), float(w[j, 2])
        f, raised = header.call_torque(torque, (float(t[n % t.size]), Q, velocity, params[k]))
        if raised:
            return True
        out[n, 0], out[n, 1], out[n, 2] = f
    return False


@jit.entry_point(ENERGIES)
def energies(energy, arguments):
    """Write the energies at all rows of `arguments` = (t, q, params, out) to out (n,).

    Return whether the function raised an exception.
    """
    t, q, params, out = arguments
    for n in range(out.shape[0]):
        i, k = n % q.shape[0], n % params.shape[0]
        Q = quat.matrix((float(q[i, 0]), float(q[i, 1]), float(q[i, 2]), float(q[i, 3])))
        out[n], raised = call_energy(energy, (float(t[n % t.size]), Q, params[k]))
        if raised:
            return True
    return False


@jit.entry_point(header.TORQUE)
def zero_torque(t, Q, w, p):
    """Return the torque 0."""
    return 0.0, 0.0, 0.0
