"""Functions of t, Q, w and p in the fixed forms that compiled loops call: plain in Python, and compiled on first use.

A ``Function`` is a template around functions of the user (or around other Functions). Templates use nothing but
arithmetic, so the same source runs plain and compiled. What Numba cannot compile becomes a call back into Python.

Machine code is shared: Functions of the same template around functions that do the same (see ``fingerprint``) are
compiled once. Numba holds globals and closure variables as they are when it compiles; so does the key of the code.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, c_double, c_ssize_t, c_void_p
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.ctypeslib import as_array

from polhode.core.fingerprint import Fingerprint, Itself, digest, fingerprint, identity, merged
from polhode.core.rotation import matrix
from polhode.kernels.compiler import JIT, jit, numba_internals
from polhode.kernels.numbers import quat
from polhode.kernels.stepping import header

ENERGY = f"f8(f8, {header.MATRIX}, f8[::1])"
GRADIENT = f"{header.MATRIX}(f8, {header.MATRIX}, f8[::1])"

NEVER_BEGAN, DONE, RAISED = 0.0, 1.0, 2.0  # how a call back into Python went
INTERRUPTED = -1  # told instead of a number of parameters
CTRL_C = threading.Event()  # was pressed while compiled code ran, through which it cannot pass
KEPT = 128  # compiled functions that can be found again; those in use live on without


class SlowTorqueWarning(UserWarning):
    """A function that Numba cannot compile: it runs as plain Python, some hundred times slower."""


# Templates: one around each kind of user function ...


def numbers_of_torque(func):
    def torque(t, Q, w, p):
        f = func(t, Q, w, p)
        return float(f[0]), float(f[1]), float(f[2])

    return torque


def torque_in_space(func):
    def torque(t, Q, w, p):
        s = func(t, Q, w, p)
        x, y, z = float(s[0]), float(s[1]), float(s[2])
        (a, b, c), (d, e, f), (g, h, i) = Q
        return a * x + d * y + g * z, b * x + e * y + h * z, c * x + f * y + i * z

    return torque


def number_of_energy(func):
    def energy(t, Q, p):
        return float(func(t, Q, p))

    return energy


def rows_of_gradient(func):
    def gradient(t, Q, p):
        g = func(t, Q, p)
        x, y, z = g[0], g[1], g[2]
        return (
            (float(x[0]), float(x[1]), float(x[2])),
            (float(y[0]), float(y[1]), float(y[2])),
            (float(z[0]), float(z[1]), float(z[2])),
        )

    return gradient


# ... around one that wants arrays ...


def torque_of_arrays(func):
    def torque(t, Q, w, p):
        return func(t, np.array(Q), np.array(w), p)

    return torque


def potential_of_arrays(func):
    def potential(t, Q, p):
        return func(t, np.array(Q), p)

    return potential


# ... from gradient or energy to torque ...


def torque_of_gradient(gradient):
    def torque(t, Q, w, p):
        """f = -rot(Q^T dV/dQ)"""
        (a, b, c), (d, e, f), (g, h, i) = Q
        (A, B, C), (D, E, F), (G, H, I) = gradient(t, Q, p)
        return (
            (b * C + e * F + h * I) - (c * B + f * E + i * H),
            (c * A + f * D + i * G) - (a * C + d * F + g * I),
            (a * B + d * E + g * H) - (b * A + e * D + h * G),
        )

    return torque


def torque_of_energy(energy, nodes):
    """By Riesz's formula: see ``trigonometric``."""

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


# ... and sums, whose first part has the first k parameters.


def sum_of_torques(first, second, k):
    def torque(t, Q, w, p):
        a, b, c = first(t, Q, w, p[:k])
        d, e, f = second(t, Q, w, p[k:])
        return a + d, b + e, c + f

    return torque


def sum_of_energies(first, second, k):
    def energy(t, Q, p):
        return first(t, Q, p[:k]) + second(t, Q, p[k:])

    return energy


def sum_of_gradients(first, second, k):
    def gradient(t, Q, p):
        (a, b, c), (d, e, f), (g, h, i) = first(t, Q, p[:k])
        (A, B, C), (D, E, F), (G, H, I) = second(t, Q, p[k:])
        return (a + A, b + B, c + C), (d + D, e + E, f + F), (g + G, h + H, i + I)

    return gradient


# Calls back into Python: numbers go in and out through x, which begins with t and Q and ends with a status.


def through_callback(callback):
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
    def torque(t, Q, w, p):
        x = np.empty(17)
        x[10], x[11], x[12] = w
        call(x, t, Q, p)
        return x[13], x[14], x[15]

    return torque


def called_energy(call):
    def energy(t, Q, p):
        x = np.empty(12)
        call(x, t, Q, p)
        return x[10]

    return energy


def called_gradient(call):
    def gradient(t, Q, p):
        x = np.empty(20)
        call(x, t, Q, p)
        return (x[10], x[11], x[12]), (x[13], x[14], x[15]), (x[16], x[17], x[18])

    return gradient


@dataclass(frozen=True)
class Form:
    """One of the three fixed types: how it is called, what it returns, and its compiled signature."""

    name: str
    arguments: tuple[str, ...]
    shape: tuple[int, ...]  # of what it returns
    returns: str
    signature: str
    numbers: Callable[..., Any]
    of_arrays: Callable[..., Any]
    called: Callable[..., Any]  # by name, in Python


TORQUE_FORM = Form("torque", ("t", "Q", "w", "p"), (3,), "three numbers", header.TORQUE,
                   numbers_of_torque, torque_of_arrays, called_torque)  # fmt: skip
ENERGY_FORM = Form("energy", ("t", "Q", "p"), (), "one number", ENERGY,
                   number_of_energy, potential_of_arrays, called_energy)  # fmt: skip
GRADIENT_FORM = Form("gradient", ("t", "Q", "p"), (3, 3), "three rows of three numbers", GRADIENT,
                     rows_of_gradient, potential_of_arrays, called_gradient)  # fmt: skip

CALLBACK = CFUNCTYPE(None, c_void_p, c_void_p, c_ssize_t)


def callback_to(plain: Callable[..., Any], form: Form) -> Any:
    """A C function of (numbers in and out, parameters, their number) that calls ``plain`` and says how that went.

    Ctrl-C makes all calls fail until Python is back and raises it (``raise_ctrl_c``). Mostly it strikes at the very
    entry of ``call``, where nothing catches it; then ``call`` is told INTERRUPTED.
    """
    inputs = 13 if "w" in form.arguments else 10
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
        except BaseException:  # the caller evaluates again in Python, for the traceback
            x[-1] = RAISED

    return CALLBACK(call)


def raise_ctrl_c() -> None:
    """Once compiled code has returned: the interrupt that it could not let through."""
    if CTRL_C.is_set():
        CTRL_C.clear()
        raise KeyboardInterrupt


@dataclass
class Code:
    """A compiled function, and the key by which it is found."""

    function: Any
    key: Any
    address: Any = None  # of the function


class Recent:
    """Code that was compiled or used last."""

    def __init__(self, size: int) -> None:
        self._size, self._codes, self._lock = size, OrderedDict[Any, Code](), threading.Lock()

    def find(self, key: Any) -> Code | None:
        with self._lock:
            if key in self._codes:
                self._codes.move_to_end(key)
            return self._codes.get(key)

    def keep(self, code: Code) -> Code:
        with self._lock:
            self._codes[code.key] = code
            if len(self._codes) > self._size:
                self._codes.popitem(last=False)
        return code


RECENT = Recent(KEPT)


class Function:
    """A function in fixed form: ``plain``, and compiled on first use. ``parts`` are what the template goes around.

    ``user`` is the function of the user among them; only with one can there be something Numba cannot compile.
    """

    def __init__(
        self, form: Form, template: Any, parts: Sequence[Any], settings: tuple[Any, ...] = (), user: Any = None
    ) -> None:
        self.form = form
        self._template, self._parts, self._settings, self._user = template, tuple(parts), settings, user
        self.plain = template(*(plain(part) for part in self._parts), *settings)
        self._code: Code | None = None
        self._fingerprint: Fingerprint | None = None

    def compiled(self) -> Any:
        """The function of type ``form.signature``; without the compiler, ``plain``."""
        CTRL_C.clear()
        return self._shared().function if JIT else self.plain

    def address(self) -> Any:
        """What kernels make the function of: see ``numba_internals.call_by_address``."""
        function = self.compiled()
        if not JIT:
            return function
        code = self._shared()
        if code.address is None:
            code.address = numba_internals.address_of(function, self.form.signature)
        return code.address

    def fingerprint(self) -> Fingerprint:
        """Digests of the functions of the user: as they were compiled, or as they are if that is still to come."""
        own = self._own_parts()
        inner = [part.fingerprint() for part in self._parts if isinstance(part, Function)]
        if not own:
            return merged(*inner)
        found = fingerprint(*own) if self._fingerprint is None else self._fingerprint
        used = {"frame, arrays or degree": digest(repr((self._template.__name__, self._settings)))}
        return merged(*inner, found, used)

    def __getstate__(self) -> dict[str, Any]:
        """Machine code belongs to this process."""
        return vars(self) | {"_code": None, "_fingerprint": None}

    def _own_parts(self) -> list[Any]:
        return [part for part in self._parts if not isinstance(part, Function)]

    def _shared(self) -> Code:
        """The code of this function, or of another one that does the same."""
        if self._code is None:
            inner = [part._shared().key for part in self._parts if isinstance(part, Function)]
            made = type(self), self.form.signature, self._template, *inner
            self._fingerprint, same = identity(*self._own_parts(), self._settings)
            alike, called_back = (*made, same), (*made, *_itself(self._user))
            self._code = RECENT.find(called_back) or RECENT.find(alike) or RECENT.keep(self._made(alike, called_back))
        return self._code

    def _made(self, alike: Any, called_back: Any) -> Code:
        """Compiled; a call back into Python sees what its function sees, so it is for this very function alone."""
        try:
            return Code(self._compile(), alike)
        except Exception as problem:  # Numba has many kinds
            if self._user is None:
                raise
            warn_slow(self._user, problem)
            call = jit.compile_user(through_callback(callback_to(self.plain, self.form)))
            return Code(jit.compile_user(self.form.called(call), self.form.signature), called_back)

    def _wrapped(self) -> Any:
        parts = [part.compiled() if isinstance(part, Function) else jit.compile_user(part) for part in self._parts]
        return self._template(*parts, *self._settings)

    def _compile(self) -> Any:
        return jit.compile_user(self._wrapped(), self.form.signature)


def _itself(function: Any) -> tuple[Itself, Itself]:
    """A function as a key; methods are made anew whenever they are looked at."""
    return Itself(getattr(function, "__self__", None)), Itself(getattr(function, "__func__", function))


def compiled_as_it_is(func: Any, signature: str) -> Any:
    """A function of the user, compiled for one signature, or found again."""
    key = signature, identity(func)[1]
    code = RECENT.find(key) or RECENT.keep(Code(jit.compile_user(func, signature), key))
    return code.function


class OfArrays(Function):
    """A function of the user that wants arrays; what it returns is not yet in fixed form."""

    def __init__(self, form: Form, func: Any) -> None:
        super().__init__(form, form.of_arrays, (func,))

    def _compile(self) -> Any:
        return jit.compile_user(self._wrapped())


class ReadyMade(Function):
    """A kernel of this package, an ``entry``: cached on disk."""

    def __init__(self, form: Form, kernel: Any) -> None:
        self.form = form
        self.plain, self._parts, self._code, self._fingerprint = kernel, (), None, None

    def _shared(self) -> Code:
        self._code = self._code or Code(jit.compile_user(self.plain), self.plain)
        return self._code


def plain(part: Any) -> Any:
    """The Python function of a part, also where its owner has compiled it."""
    return part.plain if isinstance(part, Function) else getattr(part, "py_func", part)


def described(func: Any) -> str:
    """Name, file and line of a function, as far as it has them."""
    func = getattr(func, "py_func", func)
    code = getattr(func, "__code__", None)
    name = getattr(func, "__qualname__", None) or repr(func)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else name


def warn_slow(func: Any, problem: Exception) -> None:
    """One warning, at the user's own line: which function, why, and what to do."""
    code = getattr(func, "__code__", None)
    file, first = (code.co_filename, code.co_firstlineno) if code else ("<unknown>", 0)
    places = re.findall(r'File "([^"]*)", line (\d+)', str(problem))
    own = [int(line) for place, line in places if Path(place).name == Path(file).name]
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    reason = next((line for line in lines if not line.startswith(("Failed in", "File", "During"))), repr(problem))
    where = f", line {own[0]}" if own else ""
    warnings.warn_explicit(
        f"Numba cannot compile {described(func)}{where}: {reason.rstrip('.')}; it runs as a Python callback, correct "
        "but some hundred times slower. Functions it calls can be compiled if they are decorated with numba.njit; or "
        f"say warnings.simplefilter('ignore', polhode.forces.base.{SlowTorqueWarning.__name__})",
        SlowTorqueWarning,
        filename=file,
        lineno=own[0] if own else first,
    )


def replay(function: Function, arguments: tuple[Any, ...]) -> None:
    """Evaluate again in Python what a loop below was given, for the traceback that compiled code does not have."""
    raise_ctrl_c()
    t, q, *w, params, out = arguments
    for n in range(len(out)):
        Q = tuple(map(tuple, matrix(q[n % len(q)]).tolist()))
        function.plain(float(t[n % len(t)]), Q, *(tuple(x[n % len(x)].tolist()) for x in w), params[n % len(params)])


ROWS = "f8[:,::1]"
# (t, q, w, params, out): one row of each, or as many as of out
TORQUES = f"void(FunctionType({header.TORQUE}), Tuple((f8[::1], {ROWS}, {ROWS}, {ROWS}, {ROWS})))"
ENERGIES = f"void(FunctionType({ENERGY}), Tuple((f8[::1], {ROWS}, {ROWS}, f8[::1])))"


@jit.entry_point(TORQUES)
def torques(torque, arguments):
    t, q, w, params, out = arguments
    for n in range(out.shape[0]):
        i, j, k = n % q.shape[0], n % w.shape[0], n % params.shape[0]
        Q = quat.matrix(float(q[i, 0]), float(q[i, 1]), float(q[i, 2]), float(q[i, 3]))
        velocity = float(w[j, 0]), float(w[j, 1]), float(w[j, 2])
        out[n, 0], out[n, 1], out[n, 2] = torque(float(t[n % t.size]), Q, velocity, params[k])


@jit.entry_point(ENERGIES)
def energies(energy, arguments):
    t, q, params, out = arguments
    for n in range(out.shape[0]):
        i, k = n % q.shape[0], n % params.shape[0]
        Q = quat.matrix(float(q[i, 0]), float(q[i, 1]), float(q[i, 2]), float(q[i, 3]))
        out[n] = energy(float(t[n % t.size]), Q, params[k])


@jit.entry_point(header.TORQUE)
def zero_torque(t, Q, w, p):
    return 0.0, 0.0, 0.0
