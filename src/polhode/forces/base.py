"""Force: what turns a body. Potential and Torque: the user's own physics, plain Python functions. And sums of them."""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Callable, Sequence
from math import prod
from types import CodeType, FunctionType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, writable
from polhode.core.checks import as_floats, check_finite, common_batch, rows_of, show
from polhode.core.errors import InputError, ShapeError
from polhode.core.fingerprint import Fingerprint, merged
from polhode.core.rotation import as_quaternion
from polhode.forces import functions
from polhode.forces.functions import (
    ENERGY_FORM,
    GRADIENT_FORM,
    TORQUE_FORM,
    Form,
    Function,
    OfArrays,
    ReadyMade,
    described,
    plain,
)
from polhode.forces.trigonometric import (
    DEGREES,
    Case,
    check_axis,
    check_gradient,
    degree_of,
    largest_energy,
    riesz_nodes,
    trial_cases,
)

NO_DAMPING = np.zeros((3, 3))
TRIAL_VELOCITY = (0.3, -0.2, 0.5)
ALWAYS_ZERO = ReadyMade(TORQUE_FORM, functions.zero_torque)
MISTAKES = (AttributeError, IndexError, KeyError, NameError, TypeError)  # in a program; others may be meant


class Force:
    """A torque that may come from an energy, with parameters, and linear damping m' = ... - D w.

    Made by ``Potential``, ``Torque``, the functions of ``polhode.forces``, and by adding those.

    Attributes
    ----------
    params : ndarray
        (k,) or (..., k), a batch of parameters; what functions get as ``p``.
    damping : ndarray
        (3, 3) or (..., 3, 3), the matrix D in body axes; not part of the torque functions.
    velocity_dependent : bool
        Whether the torque (without damping) depends on w.
    time_dependent : bool
        Whether torque and energy depend on t, so that the body does not keep its energy.
    axis : ndarray or None
        A direction in space along which neither torque nor damping change the angular momentum, or None.
    breaks : ndarray
        (k,), sorted: times at which the torque, or one of its derivatives, jumps; steps end there.
    """

    def __init__(
        self,
        torque: Function,
        energy: Function | None = None,
        gradient: Function | None = None,
        *,
        params: npt.ArrayLike = (),
        damping: npt.ArrayLike = NO_DAMPING,
        velocity_dependent: bool = False,
        time_dependent: bool = False,
        axis: npt.ArrayLike | None = None,
        breaks: npt.ArrayLike = (),
        name: str,
    ) -> None:
        self.time_dependent, self.breaks = time_dependent, as_breaks(breaks)
        self._torque, self._energy, self._gradient = torque, energy, gradient
        self.params, self.damping = as_params(params), _frozen(as_floats(damping, "damping", 3))
        self.velocity_dependent, self.name = velocity_dependent, name
        self.axis = None if axis is None else direction(axis, "axis")
        self.batch  # noqa: B018  refuses what does not broadcast

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of parameters and damping; () for one."""
        return common_batch(params=self.params.shape[:-1], damping=self.damping.shape[:-2])

    @property
    def has_energy(self) -> bool:
        """Whether there is a potential energy."""
        return self._energy is not None

    @property
    def is_ready_made(self) -> bool:
        """Whether no part is a function of the user: then the torque is known to be smooth."""
        return not any(isinstance(part, Potential | Torque) for part in self._parts())

    @property
    def has_gradient(self) -> bool:
        """Whether dV/dQ is given."""
        return self._gradient is not None

    def torque_function(self) -> Any:
        """torque(t, Q, w, p) -> 3-tuple in body axes, compiled on first use."""
        return self._torque.compiled()

    def torque_address(self) -> Any:
        """The same, in the form that compiled loops take; the force has to outlive them."""
        return self._torque.address()

    def energy_function(self) -> Any:
        """energy(t, Q, p) -> float, compiled on first use."""
        return self._needed(self._energy, "energy").compiled()

    def gradient_function(self) -> Any:
        """gradient(t, Q, p) -> dV/dQ as three rows, compiled on first use."""
        self._needed(self._energy, "gradient")
        if self._gradient is None:
            part = next(part.name for part in self._parts() if not part.has_gradient)
            raise InputError(f"{part} was made without a gradient; type Potential(energy, gradient=...)")
        return self._gradient.compiled()

    def python_torque(self, t: float, Q: Any, w: Any, p: Any) -> Any:
        """The torque as plain Python, for debugging and tracebacks."""
        functions.raise_ctrl_c()
        return self._torque.plain(t, Q, w, writable(p))

    def fingerprint(self) -> Fingerprint:
        """Digests of the user's functions, by the words that name their parts; none of ready-made forces.

        >>> list(Torque(lambda t, Q, w, p: (t, 0.0, 0.0)).fingerprint())
        ['the code of <lambda>', 'frame, arrays or degree']
        """
        found = (self._torque, self._energy, self._gradient)
        return merged(*(function.fingerprint() for function in found if function is not None))

    def _needed(self, function: Function | None, what: str) -> Function:
        if function is None:
            part = next(part.name for part in self._parts() if not part.has_energy)
            raise AttributeError(f"{part} has no {what}: only forces made of an energy have one (polhode.Potential)")
        return function

    def _parts(self) -> tuple[Force, ...]:
        return (self,)

    def without_damping(self) -> Force | None:
        """The forces that have a torque; None if all is damping."""
        acting = [part for part in self._parts() if part._torque is not ALWAYS_ZERO]
        return sum(acting[1:], acting[0]) if acting else None

    def potential(self, t: npt.ArrayLike, q: Any) -> FloatArray:
        """The energy at times (...) and attitudes (..., 4), which broadcast with the parameters.

        >>> from polhode import forces
        >>> float(forces.gravity(2.0, offset=(0, 0, 3)).potential(0.0, (1, 0, 0, 0)))
        6.0
        """
        energy = self._needed(self._energy, "energy")
        batch, (times, attitudes, params) = self._rows(t, q)
        out = np.full(prod(batch), np.nan)
        arguments = times[:, 0], attitudes, params, out
        self._evaluate(functions.energies, energy, arguments)
        return out.reshape(batch)

    def torque(self, t: npt.ArrayLike, q: Any, w: npt.ArrayLike | None = None) -> FloatArray:
        """The torque (..., 3) in body axes at times (...), attitudes (..., 4) and angular velocities w (..., 3).

        Without ``w`` the body is at rest; with it, damping is included.

        >>> from polhode import forces
        >>> forces.gravity(2.0, offset=(0, 3, 0)).torque(0.0, (1, 0, 0, 0))
        array([-6.,  0.,  0.])
        """
        velocity = np.zeros(3) if w is None else as_floats(w, "w", 3)
        batch, (times, attitudes, params, velocities) = self._rows(t, q, velocity)
        out = np.full((prod(batch), 3), np.nan)
        arguments = times[:, 0], attitudes, velocities, params, out
        self._evaluate(functions.torques, self._torque, arguments)
        return out.reshape(*batch, 3) - np.einsum("...ij,...j->...i", self.damping, velocity)

    def _rows(self, t: npt.ArrayLike, q: Any, w: FloatArray | None = None) -> tuple[tuple[int, ...], list[FloatArray]]:
        times, attitudes = as_floats(t, "t")[..., None], as_quaternion(q)
        arrays = {"t": times, "q": attitudes, "params": self.params} | ({} if w is None else {"w": w})
        shapes = {name: array.shape[:-1] for name, array in arrays.items()}
        batch = common_batch(**shapes, damping=() if w is None else self.damping.shape[:-2])
        rows = [rows_of(array, batch, array.shape[-1]) for array in arrays.values()]
        return batch, [writable(array) for array in rows]

    def _evaluate(self, loop: Any, function: Function, arguments: tuple[FloatArray, ...]) -> None:
        try:
            loop(function.compiled(), arguments)
        except Exception:
            functions.replay(function, arguments)
            raise

    def __add__(self, other: Any) -> Force:
        if isinstance(other, Force):
            return Sum(self, other)
        return self if isinstance(other, int) and other == 0 else NotImplemented  # sum() begins with 0

    __radd__ = __add__

    def __repr__(self) -> str:
        return self.name


class Potential(Force):
    """The torque of a potential energy: f = -rot(Q^T dV/dQ), that is, f_j = -dV/dtheta for rotations about body axis j.

    Parameters
    ----------
    energy : callable
        ``energy(t, Q, p)`` returns a number. ``Q[i][j]`` is the attitude matrix, body to space, ``p`` the array of
        parameters.
    gradient : callable, optional
        ``gradient(t, Q, p)`` returns dV/dQ as three rows of three numbers. It is compared with ``energy`` once. Without
        it, the torque is computed from values of the energy, to rounding if that is a polynomial in Q of degree 16 at
        most.
    params : array_like of shape (k,) or (..., k), optional
        Parameters; with leading axes, those of a batch of bodies.
    arrays : bool, optional
        Whether to call the functions with Q as an array of shape (3, 3), and take arrays back. This is more convenient
        and several times slower.
    axis : array_like of shape (3,), optional
        A direction in space about which the body can be rotated without a change of energy.
    breaks : array_like of shape (k,), optional
        Times at which the energy switches. Steps end there, as for ``Torque``.
    name : str, optional
        Name in messages and tables. By default that of the function.

    Examples
    --------
    >>> top = Potential(lambda t, Q, p: p[0] * Q[2][2], params=[9.81])
    >>> top.torque(0.0, (0.8, 0.6, 0.0, 0.0))
    array([9.4176, 0.    , 0.    ])
    """

    def __init__(
        self,
        energy: Callable[..., Any],
        gradient: Callable[..., Any] | None = None,
        params: npt.ArrayLike = (),
        *,
        arrays: bool = False,
        axis: npt.ArrayLike | None = None,
        breaks: npt.ArrayLike = (),
        name: str | None = None,
    ) -> None:
        cases = trial_cases(as_params(params))
        of_energy = from_user(energy, ENERGY_FORM, cases[0], arrays)
        largest = largest_energy(of_energy.plain, energy, cases)
        if gradient is None:
            of_gradient, torque = None, _derived_torque(of_energy, energy, cases, largest)
        else:
            of_gradient = from_user(gradient, GRADIENT_FORM, cases[0], arrays)
            check_gradient(of_energy.plain, of_gradient.plain, gradient, cases, largest)
            torque = Function(TORQUE_FORM, functions.torque_of_gradient, (of_gradient,))
        name = name or f"Potential({getattr(energy, '__name__', repr(energy))})"
        super().__init__(
            torque, of_energy, of_gradient, params=params, time_dependent=mentions(energy, 0), axis=axis,
            breaks=breaks, name=name,
        )  # fmt: skip
        if self.axis is not None:
            check_axis(of_energy.plain, self.axis, cases, largest)


def _derived_torque(of_energy: Function, energy: Any, cases: list[Case], largest: float) -> Function:
    degree = degree_of(of_energy.plain, largest, cases)
    if degree is None:
        raise InputError(
            f"energy {described(energy)} is no polynomial in Q of degree {DEGREES[-1]} or less, so its torque cannot "
            "be found to rounding from its values; type Potential(energy, gradient=...) with gradient(t, Q, p) = dV/dQ "
            "in three rows of three numbers"
        )
    return Function(TORQUE_FORM, functions.torque_of_energy, (of_energy,), (riesz_nodes(degree),))


class Torque(Force):
    """A torque given by a function: control, drag, motors.

    Parameters
    ----------
    torque : callable
        ``torque(t, Q, w, p)`` returns three numbers. ``Q[i][j]`` is the attitude matrix, body to space, ``w[i]`` the
        angular velocity in body axes, ``p`` the array of parameters.
    params : array_like of shape (k,) or (..., k), optional
        Parameters; with leading axes, those of a batch of bodies.
    frame : {"body", "space"}, optional
        Axes of the three numbers. The default is "body".
    arrays : bool, optional
        Whether to call the function with Q as an array of shape (3, 3) and w as one of shape (3,), and take an array
        back. This is more convenient and several times slower.
    velocity : bool, optional
        Whether the torque depends on w. By default, whether the function mentions its third argument.
    breaks : array_like of shape (k,), optional
        Times at which the torque switches, or is not smooth for another reason. Steps of all methods end there, and the
        torque is evaluated within each interval only, so that methods keep their order.
    name : str, optional
        Name in messages and tables. By default that of the function.

    Examples
    --------
    >>> brake = Torque(lambda t, Q, w, p: (0.0, 0.0, -p[0] * w[2] ** 3), params=[0.5])
    >>> brake.torque(0.0, (1, 0, 0, 0), w=(1, 1, 2))
    array([ 0.,  0., -4.])
    """

    def __init__(
        self,
        torque: Callable[..., Any],
        params: npt.ArrayLike = (),
        frame: Literal["body", "space"] = "body",
        *,
        arrays: bool = False,
        velocity: bool | None = None,
        breaks: npt.ArrayLike = (),
        name: str | None = None,
    ) -> None:
        case = trial_cases(as_params(params))[0]
        template = functions.torque_in_space if in_space(frame) else functions.numbers_of_torque
        function = from_user(torque, TORQUE_FORM, case, arrays, template)
        uses_w = mentions(torque, 2) if velocity is None else bool(velocity)
        name = name or f"Torque({getattr(torque, '__name__', repr(torque))})"
        super().__init__(
            function, params=params, velocity_dependent=uses_w, time_dependent=mentions(torque, 0), breaks=breaks,
            name=name,
        )  # fmt: skip


class Sum(Force):
    """Forces that act together. Each sees its own parameters; damping adds up."""

    def __init__(self, first: Force, second: Force) -> None:
        self._both = first, second
        k = first.params.shape[-1]
        batch = common_batch(**{first.name: first.params.shape[:-1], f"{second.name} ": second.params.shape[:-1]})
        params = [np.broadcast_to(force.params, (*batch, force.params.shape[-1])) for force in self._both]
        acting = [force._torque for force in self._both if force._torque is not ALWAYS_ZERO]
        super().__init__(
            _sum(TORQUE_FORM, functions.sum_of_torques, acting, k) or ALWAYS_ZERO,
            _sum(ENERGY_FORM, functions.sum_of_energies, [force._energy for force in self._both], k),
            _sum(GRADIENT_FORM, functions.sum_of_gradients, [force._gradient for force in self._both], k),
            params=np.concatenate(params, axis=-1),
            damping=first.damping + second.damping,
            velocity_dependent=first.velocity_dependent or second.velocity_dependent,
            time_dependent=first.time_dependent or second.time_dependent,
            axis=first.axis if _same(first.axis, second.axis) else None,
            breaks=np.append(first.breaks, second.breaks),
            name=f"{first.name} + {second.name}",
        )

    def _parts(self) -> tuple[Force, ...]:
        return self._both[0]._parts() + self._both[1]._parts()


def _sum(form: Form, template: Any, parts: list[Any], k: int) -> Function | None:
    """One function of all parts; what acts alone (next to pure damping, which has no parameters) stays as it is."""
    if not parts or None in parts:
        return None
    return parts[0] if len(parts) == 1 else Function(form, template, parts, (k,))


def _same(a: FloatArray | None, b: FloatArray | None) -> bool:
    return a is not None and b is not None and bool(np.abs(np.cross(a, b)).max() <= 1e-15)


def check_call(func: Any, name: str, arguments: Sequence[str], returns: str = "") -> None:
    """Refuse what cannot be called with those arguments."""
    call = f"{name}({', '.join(arguments)})"
    if not callable(func):
        raise InputError(f"{name} is {func!r}; expected a function {call}{returns}")
    if _has_so_many_arguments(plain(func), len(arguments)):
        return
    try:
        inspect.signature(plain(func)).bind(*arguments)
    except TypeError as problem:
        raise InputError(
            f"{name} {described(func)} cannot be called as {call}: {problem}; type def {call}: ..."
        ) from None
    except ValueError:  # written in C: it has no signature to look at
        pass


def _has_so_many_arguments(func: Any, count: int) -> bool:
    """Of most functions that is seen at once; to look at a signature takes longer than all the rest."""
    if not isinstance(func, FunctionType) or vars(func):  # some have a signature that is not their own
        return False
    return func.__code__.co_argcount == count and not func.__code__.co_kwonlyargcount


def from_user(func: Any, form: Form, case: Case, arrays: bool, template: Any = None) -> Function:
    """The user's function in fixed form, once it has been tried."""
    check_call(func, form.name, form.arguments, f" that returns {form.returns}")
    part = OfArrays(form, func) if arrays else func
    _try(part, func, form, case, arrays)
    return Function(form, template or form.numbers, (part,), user=func)


def _try(part: Any, func: Any, form: Form, case: Case, arrays: bool) -> None:
    velocity = (TRIAL_VELOCITY,) if "w" in form.arguments else ()
    try:
        value = plain(part)(case.t, case.Q, *velocity, case.p)
    except MISTAKES as problem:
        hint = "Q is an array" if arrays else "Q is three rows, a tuple of tuples; type arrays=True for NumPy arrays"
        if isinstance(problem, IndexError):
            hint = f"params has {case.p.size} numbers; type params=(...) with as many as it uses"
        raise InputError(f"{form.name} {described(func)} at {case} raised {problem!r} ({hint})") from problem
    except Exception:  # may be meant, for such t, Q or w: whoever runs it will hear of it
        return
    try:
        shape, kind = np.shape(value), np.asarray(value).dtype.kind
    except ValueError:
        shape, kind = (), "O"
    if shape != form.shape or kind not in "fiu":
        raise ShapeError(f"{form.name} {described(func)} at {case} returned {value!r}; expected {form.returns}")


def in_space(frame: Any) -> bool:
    if frame not in ("body", "space"):
        raise InputError(f"frame is {frame!r}; expected 'body' or 'space', the axes the torque is given in")
    return bool(frame == "space")


def mentions(func: Any, position: int) -> bool:
    """Whether the code of ``func`` mentions the argument at ``position``; True where that cannot be seen."""
    code = getattr(plain(func), "__code__", None)
    return code is None or inspect.ismethod(func) or _code_mentions(code, position)


@functools.lru_cache(maxsize=1024)
def _code_mentions(code: CodeType, position: int) -> bool:
    if position >= code.co_argcount:
        return True
    name = code.co_varnames[position]
    found = (i.argval for i in dis.get_instructions(code) if i.opcode in (*dis.haslocal, *dis.hasfree))
    return any(name == value or (isinstance(value, tuple) and name in value) for value in found)


def as_params(params: npt.ArrayLike) -> FloatArray:
    """(..., k), frozen; a single number is one parameter."""
    array = np.atleast_1d(as_floats(params, "params"))
    if np.isnan(array).any():
        raise InputError(f"params = {show(array.ravel()[:8])}: expected numbers, not NaN")
    return _frozen(array)


def as_breaks(breaks: npt.ArrayLike) -> FloatArray:
    """Finite times (k,), sorted, each once, frozen."""
    array = as_floats(breaks, "breaks")
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InputError(f"breaks = {breaks!r}: expected finite times (k,) at which the torque switches, as (30, 31)")
    return _frozen(np.unique(array))


def direction(vector: npt.ArrayLike, name: str) -> FloatArray:
    """Unit vectors (..., 3)."""
    array = as_floats(vector, name, 3)
    check_finite(array, name, InputError)
    length = np.linalg.norm(array, axis=-1, keepdims=True)
    if not (length > 0).all():
        raise InputError(f"{name} = {show(array)} has no direction; type for instance {name}=(0, 0, 1)")
    return _frozen(array / length)


def diagonals(matrices: FloatArray) -> FloatArray | None:
    """Return the diagonals (..., 3) of matrices (..., 3, 3) whose other entries are all zero; otherwise None."""
    found = np.diagonal(matrices, axis1=-2, axis2=-1)
    return None if np.any(matrices != found[..., None, :] * np.eye(3)) else np.ascontiguousarray(found)


def numbers(value: npt.ArrayLike, name: str, components: int | None = None) -> FloatArray:
    """Finite numbers (...), or (..., components)."""
    array = as_floats(value, name, components)
    check_finite(array if components else array[..., None], name, InputError)
    return array


def joined(**arrays: FloatArray) -> FloatArray:
    """Arrays (..., n) side by side, their batches broadcast: the parameters of a ready-made force."""
    batch = common_batch(**{name: array.shape[:-1] for name, array in arrays.items()})
    return np.concatenate([np.broadcast_to(a, (*batch, a.shape[-1])) for a in arrays.values()], axis=-1)


def _frozen(array: FloatArray) -> FloatArray:
    array = np.array(array, order="C")
    array.flags.writeable = False
    return array
