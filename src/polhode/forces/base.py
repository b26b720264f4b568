"""Base class of forces, their sums, and forces defined by Python functions of the user: Potential and Torque."""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Callable, Sequence
from math import isfinite, prod, sqrt
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, frozen, writable
from polhode.core.checks import all_finite, as_floats, check_finite, common_batch, rows_of, show
from polhode.core.errors import InputError, NotTraceable, ShapeError
from polhode.core.fingerprint import Fingerprint, merged
from polhode.core.messages import Hint
from polhode.core.rotation import UNIT_MATRIX, as_quaternion
from polhode.core.value import Comparable, Value
from polhode.core.vectors import components, scalar, stacked
from polhode.forces import functions
from polhode.forces.functions import (
    ENERGY_FORM,
    GRADIENT_FORM,
    TORQUE_FORM,
    Form,
    Function,
    OfArrays,
    described,
    plain,
    ready_made,
)
from polhode.forces.matrices import as_damping
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

if TYPE_CHECKING:
    from polhode.forces.tracing import Trace

NO_DAMPING = frozen(np.zeros((3, 3)))
NO_BREAKS = frozen(np.empty(0))
TRIAL_VELOCITY = (0.3, -0.2, 0.5)
ALWAYS_ZERO = ready_made(TORQUE_FORM, functions.zero_torque)
MISTAKES = (AttributeError, IndexError, KeyError, NameError, TypeError)  # programming errors; others may be intended


class Force(Value):
    """A torque, possibly derived from an energy, with parameters and linear damping m' = ... - D w.

    Forces are created by `Potential`, `Torque`, the functions of `polhode.forces`, and by adding forces. They never
    change: ``force.replaced(params=...)`` returns a copy with other `params`, `damping`, `breaks` or `name`, whose
    functions are not compiled again. Forces are equal if they have the same attributes and their functions do the same.

    Attributes
    ----------
    params : ndarray, shape (..., k)
        Parameters, which functions receive as ``p``; leading axes are those of a batch of bodies.
    damping : ndarray, shape (..., 3, 3)
        The matrix D in body axes, which is not included in the torque functions.
    axis : ndarray, shape (3,), or None
        A direction in space along which neither torque nor damping changes the angular momentum, or None.
    breaks : ndarray, shape (k,)
        Sorted times at which the torque, or one of its derivatives, jumps; steps end there.
    depends_on_inertia : bool
        Whether `params` contain the inertia of the body, so that the force fits only that body.
    name : str
        Name in messages and tables.

    Examples
    --------
    >>> motor = Torque(lambda t, Q, w, p: (p[0], 0.0, 0.0), params=[1.0])
    >>> motor.replaced(params=[[2.0], [3.0]]).batch
    (2,)
    """

    _replaceable: ClassVar = ("params", "damping", "breaks", "name")
    params: FloatArray
    damping: FloatArray
    axis: FloatArray | None
    breaks: FloatArray
    depends_on_inertia: bool
    name: str
    _torque: Function
    _energy: Function | None
    _gradient: Function | None
    _velocity_dependent: bool | None
    _time_dependent: bool | None

    def __init__(
        self,
        torque: Function,
        energy: Function | None = None,
        gradient: Function | None = None,
        *,
        params: npt.ArrayLike = (),
        damping: FloatArray = NO_DAMPING,
        velocity_dependent: bool | None = False,
        time_dependent: bool | None = False,
        axis: FloatArray | None = None,
        breaks: npt.ArrayLike = (),
        depends_on_inertia: bool = False,
        name: str,
    ) -> None:
        """Store functions and attributes; whether they depend on w and t is found out later if it is None."""
        self._store(
            _torque=torque, _energy=energy, _gradient=gradient, _velocity_dependent=velocity_dependent,
            _time_dependent=time_dependent, axis=None, depends_on_inertia=depends_on_inertia, damping=damping,
        )  # fmt: skip
        self._set(params=params, breaks=breaks, name=name)
        if axis is not None:
            self._store(axis=axis)

    def _set(self, **arguments: Any) -> None:
        """Check and store some of params, damping, breaks and name; drop an axis that is none with new values."""
        count = self.params.shape[-1] if "params" in self.__dict__ else None
        self._store(**{name: CHECKS[name](value) for name, value in arguments.items()})
        if count is not None and self.params.shape[-1] != count:
            raise ShapeError(
                f"params have shape {self.params.shape}; expected (..., {count}): {self!r} has {count} parameters"
            )
        self.batch  # noqa: B018  raises if the shapes do not broadcast
        if self.axis is not None and not self._keeps_axis():
            self._store(axis=None)

    def _keeps_axis(self) -> bool:
        """Return whether neither damping nor, with the present parameters, the torque acts along `axis`."""
        if self.is_damped or self._energy is None or self.axis is None:
            return False
        try:
            self._check_axis(self._energy, self.axis)
        except InputError:
            return False
        return True

    def _check_axis(self, energy: Function, axis: FloatArray) -> None:
        """Raise InputError if rotations of the body about `axis` change the energy."""
        cases = trial_cases(self.params)
        check_axis(energy.plain, axis, cases, largest_energy(energy.plain, energy, cases))

    @property
    def batch(self) -> tuple[int, ...]:
        """Return the shape of the batch of parameters and damping; () for a single body."""
        return common_batch(params=self.params.shape[:-1], damping=self.damping.shape[:-2])

    @property
    def has_energy(self) -> bool:
        """Return whether the force has a potential energy."""
        return self._energy is not None

    @property
    def is_ready_made(self) -> bool:
        """Return whether no part is a user-defined function; such a torque is known to be smooth."""
        return not any(isinstance(part, Potential | Torque) for part in self._parts())

    @functools.cached_property
    def velocity_dependent(self) -> bool:
        """Return whether the torque (without damping) depends on w."""
        return self._depends_on("w") if self._velocity_dependent is None else self._velocity_dependent

    @functools.cached_property
    def time_dependent(self) -> bool:
        """Return whether torque and energy depend on t, so that the energy of the body is not conserved."""
        return self._depends_on("t") if self._time_dependent is None else self._time_dependent

    @functools.cached_property
    def is_damped(self) -> bool:
        """Return whether there is damping."""
        return bool(self.damping.any())

    @property
    def is_zero(self) -> bool:
        """Return whether there is neither a torque nor damping: the body is free."""
        return self._torque is ALWAYS_ZERO and not self.is_damped

    @property
    def has_gradient(self) -> bool:
        """Return whether the force has a gradient dV/dQ."""
        return self._gradient is not None

    def torque_function(self) -> Any:
        """Return the function torque(t, Q, w, p) -> 3-tuple in body axes, compiled on first use."""
        return self._torque.compiled()

    def torque_address(self) -> Any:
        """Return the address of the torque function, for compiled loops; it is valid as long as the force exists."""
        return self._torque.address(self.params)

    def torque_block_address(self, turned: bool) -> Any:
        """Return the address of the torque function for blocks of bodies, or None if it is not made from a graph.

        `turned` tells whether the principal axes of the bodies differ from the body axes of the user.
        """
        return self._torque.block_address(self.params, turned)

    def evaluate_torques(self, arguments: tuple[FloatArray, ...]) -> None:
        """Write the torques at rows of `arguments` = (t, q, w, params, out) to out, without damping."""
        functions.evaluate(functions.torques, self._torque, self.params, arguments)

    def energy_function(self) -> Any:
        """Return the function energy(t, Q, p) -> float, compiled on first use."""
        return self._required(self._energy, "energy").compiled()

    def energy_address(self) -> Any:
        """Return the address of the energy function, for compiled loops; it is valid as long as the force exists."""
        return self._required(self._energy, "energy").address(self.params)

    def gradient_function(self) -> Any:
        """Return the function gradient(t, Q, p) -> dV/dQ as three rows, compiled on first use."""
        return self._required_gradient().compiled()

    def gradient_address(self) -> Any:
        """Return the address of the gradient function, for compiled loops; it is valid as long as the force exists."""
        return self._required_gradient().address(self.params)

    def _required_gradient(self) -> Function:
        """Return the gradient; raise AttributeError or InputError if there is none, naming the first part without."""
        self._required(self._energy, "gradient")
        if self._gradient is None:
            part = next(part.name for part in self._parts() if not part.has_gradient)
            raise InputError(f"{part} was made without a gradient; type Potential(energy, gradient=...)")
        return self._gradient

    def python_torque(self, t: float, Q: Any, w: Any, p: Any) -> Any:
        """Return the torque evaluated in plain Python, for debugging and tracebacks."""
        functions.raise_ctrl_c()
        return self._torque.plain(t, Q, w, writable(p))

    def traced(self) -> Trace:
        """Return the graph of the torque, and of the energy if there is one.

        The functions of the force are called once with symbols, and the graph is compared with them at trial arguments.

        Returns
        -------
        Trace
            The graph with its nodes; damping is not included.

        Raises
        ------
        NotTraceable
            If there is no graph, because a function has branches on the state, for instance. The message says why, and
            what to do.

        Examples
        --------
        >>> trace = Torque(lambda t, Q, w, p: (0.0, 0.0, -p[0] * w[2] ** 3), params=[0.5]).traced()
        >>> sorted(trace.inputs), trace.graph.text(trace.torque[2])
        (['p0', 'w2'], '(p0*-1)*(w2*w2^2)')
        """
        if isinstance(self._trace, str):
            raise NotTraceable(self._trace)
        return self._trace

    @property
    def is_traced(self) -> bool:
        """Return whether there is a graph of the torque: see `traced`."""
        return not isinstance(self._trace, str)

    @property
    def why_not_traced(self) -> str:
        """Return the reason why there is no graph of the torque; an empty text if there is one."""
        return self._trace if isinstance(self._trace, str) else ""

    @functools.cached_property
    def _trace(self) -> Trace | str:
        """Return the graph, or the reason why there is none; it is made when it is asked for first."""
        from polhode.forces import tracing

        for function in self._functions():
            function.fix()
        try:
            return tracing.traced(self)
        except NotTraceable as problem:
            return str(problem)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes for pickle and copy, without those that are computed only once."""
        return dict(Comparable._content(self))

    def fingerprint(self) -> Fingerprint:
        """Return digests of the user-defined functions, keyed by a description; ready-made forces have none.

        Examples
        --------
        >>> list(Torque(lambda t, Q, w, p: (t, 0.0, 0.0)).fingerprint())
        ['the code of <lambda>', 'frame, arrays or degree']
        """
        return merged(*(function.fingerprint() for function in self._functions()))

    def _functions(self) -> list[Function]:
        """Return torque, energy and gradient, as far as there are such."""
        return [function for function in (self._torque, self._energy, self._gradient) if function is not None]

    def current(self) -> Self:
        """Return this force or, if a value that its functions read has changed since they were used, a new one.

        Globals, closure variables, defaults, attributes and items of containers are such values.
        """
        if self.never_changes:
            return self
        force = self._newest[-1] if self._newest else self
        for function in force._checked:
            if not function.is_as_fixed():
                break
        else:
            return force
        self._newest[:] = [self._copy(**self._renewed())]
        return self._newest[-1]

    @functools.cached_property
    def _checked(self) -> tuple[Function, ...]:
        """All functions, and those that they are made of."""
        return tuple(part for function in self._functions() for part in function.with_inner())

    @functools.cached_property
    def never_changes(self) -> bool:
        """Whether no part is a function of the user."""
        return self.is_ready_made

    @functools.cached_property
    def _newest(self) -> list[Self]:
        """The force that `current` has returned last, if it is not this one."""
        return []

    def _renewed(self) -> dict[str, Any]:
        """Return the attributes of a force whose functions are traced and compiled anew."""
        return {
            name: function.renewed()
            for name, function in vars(self).items()
            if name in ("_torque", "_energy", "_gradient") and function is not None
        }

    def _required(self, function: Function | None, what: str) -> Function:
        """Return `function`; raise AttributeError if it is None, naming the first part without an energy."""
        if function is None:
            part = next(part.name for part in self._parts() if not part.has_energy)
            raise AttributeError(
                f"{part} has no {what}; only forces derived from an energy have one (polhode.Potential)"
            )
        return function

    def _depends_on(self, letter: str) -> bool:
        """Return whether the torque or the energy depends on t or w, by the graph; True if there is none."""
        inputs = self._inputs()
        return inputs is None or any(name[0] == letter for name in inputs)

    def _inputs(self) -> set[str] | None:
        """Return the inputs of torque and energy for all parameters; None if that is not known."""
        try:
            trace = self.traced()
        except NotTraceable:
            return None
        is_partial = self._energy is not None and trace.energy is None
        return None if trace.conditions or trace.params_are_numbers or is_partial else trace.inputs

    def _parts(self) -> tuple[Force, ...]:
        """Return the forces of which this one is the sum."""
        return (self,)

    def without_damping(self) -> Force:
        """Return the sum of the parts that have a torque; the zero force if there is only damping."""
        from polhode.forces.nothing import nothing

        acting = [part.replaced(damping=NO_DAMPING) for part in self._parts() if part._torque != ALWAYS_ZERO]
        return sum(acting[1:], acting[0]) if acting else nothing()

    def potential(self, t: npt.ArrayLike, q: Any) -> FloatArray:
        """Return the potential energy.

        Parameters
        ----------
        t : array_like, shape (...)
            Times.
        q : array_like, shape (..., 4), or Rotation
            Attitudes. Times, attitudes and parameters are broadcast.

        Returns
        -------
        ndarray, shape (...)
            The energies.

        Raises
        ------
        AttributeError
            If the force, or a part of it, has no energy.

        Examples
        --------
        >>> from polhode import forces
        >>> float(forces.gravity(2.0, offset=(0, 0, 3)).potential(0.0, (1, 0, 0, 0)))
        6.0
        """
        energy = self._required(self._energy, "energy")
        batch, (times, attitudes, params) = self._rows(t, q)
        out = np.full(prod(batch), np.nan)
        arguments = times[:, 0], attitudes, params, out
        functions.evaluate(functions.energies, energy, self.params, arguments)
        return out.reshape(batch)

    def torque(self, t: npt.ArrayLike, q: Any, w: npt.ArrayLike | None = None) -> FloatArray:
        """Return the torque in body axes, including damping.

        Parameters
        ----------
        t : array_like, shape (...)
            Times.
        q : array_like, shape (..., 4), or Rotation
            Attitudes.
        w : array_like, shape (..., 3), optional
            Angular velocities in body axes. By default the body is at rest. Times, attitudes, angular velocities and
            parameters are broadcast.

        Returns
        -------
        ndarray, shape (..., 3)
            The torques.

        Examples
        --------
        >>> from polhode import forces
        >>> forces.gravity(2.0, offset=(0, 3, 0)).torque(0.0, (1, 0, 0, 0))
        array([-6.,  0.,  0.])
        """
        velocity = np.zeros(3) if w is None else as_floats(w, "w", 3)
        batch, (times, attitudes, params, velocities) = self._rows(t, q, velocity)
        out = np.full((prod(batch), 3), np.nan)
        arguments = times[:, 0], attitudes, velocities, params, out
        self.evaluate_torques(arguments)
        return out.reshape(*batch, 3) - np.einsum("...ij,...j->...i", self.damping, velocity)

    def _rows(self, t: npt.ArrayLike, q: Any, w: FloatArray | None = None) -> tuple[tuple[int, ...], list[FloatArray]]:
        """Return the shape of the batch, and times, attitudes, parameters and velocities, if any, as rows."""
        times = as_floats(t, "t")[..., None]
        attitudes = as_quaternion(q)
        arrays = {"t": times, "q": attitudes, "params": self.params} | ({} if w is None else {"w": w})
        shapes = {name: array.shape[:-1] for name, array in arrays.items()}
        batch = common_batch(**shapes, damping=() if w is None else self.damping.shape[:-2])
        rows = [rows_of(array, batch, array.shape[-1]) for array in arrays.values()]
        return batch, [writable(array) for array in rows]

    def __hash__(self) -> int:
        """Return a hash that does not depend on user-defined functions, whose globals may change."""
        return hash((type(self), self.name, self.batch, self.params.tobytes()))

    def __add__(self, other: Any) -> Force:
        """Return the sum of two forces, which act together."""
        if isinstance(other, Force):
            return ForceSum(self, other)
        return self if isinstance(other, int) and other == 0 else NotImplemented  # sum() starts with 0

    __radd__ = __add__

    def __repr__(self) -> str:
        """Return the name of the force."""
        return self.name


class Potential(Force):
    """Torque derived from a potential energy: f = -rot(Q^T dV/dQ).

    That is, f_j = -dV/dtheta for rotations by theta about body axis j.

    Parameters
    ----------
    energy : callable
        ``energy(t, Q, p)`` returns a number. ``Q[i][j]`` is the attitude matrix, body to space, and ``p`` the array of
        parameters.
    gradient : callable, optional
        ``gradient(t, Q, p)`` returns dV/dQ as three rows of three numbers. It is compared with `energy` once. If
        omitted, the torque is derived from the energy, to rounding: from its values if it is a polynomial in Q of
        degree 16 at most, otherwise from its derivatives, which requires an energy without branches on Q and t, whose
        expressions can be traced (see `Force.traced`).
    params : array_like, shape (..., k), optional
        Parameters; leading axes are those of a batch of bodies.
    arrays : bool, optional
        Whether the functions take Q as an array of shape (3, 3) and return arrays. This is more convenient and several
        times slower.
    axis : array_like, shape (3,), optional
        A direction in space about which the body can be rotated without a change of energy.
    breaks : array_like, shape (k,), optional
        Times at which the energy switches. Steps end there, as for `Torque`.
    name : str, optional
        Name in messages and tables. The default is derived from the name of the function.

    Raises
    ------
    InputError
        If a function cannot be called as above, if `gradient` or `axis` does not agree with `energy`, or if `gradient`
        is omitted and `energy` is neither a polynomial in Q of degree 16 at most nor can be traced.
    ShapeError
        If a function returns values of another shape.

    Examples
    --------
    >>> top = Potential(lambda t, Q, p: p[0] * Q[2][2], params=[9.81])
    >>> top.torque(0.0, (0.8, 0.6, 0.0, 0.0))
    array([9.4176, 0.    , 0.    ])
    >>> from math import exp
    >>> magnet = Potential(lambda t, Q, p: -p[0] * exp(-p[1] * (1.0 - Q[2][2])), params=[2.0, 5.0])
    >>> magnet.torque(0.0, (0.8, 0.6, 0.0, 0.0))
    array([-0.26230774,  0.        ,  0.        ])
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
        case = trial_cases(as_params(params))[0]
        super().__init__(
            ALWAYS_ZERO,  # until the parameters are known: see `_set`
            from_user(energy, ENERGY_FORM, case, arrays),
            None if gradient is None else from_user(gradient, GRADIENT_FORM, case, arrays),
            params=params,
            time_dependent=unknown_if(mentions(energy, 0)),
            axis=None if axis is None else stacked(*direction(axis, "axis")),
            breaks=breaks,
            name=name or f"Potential({getattr(energy, '__name__', repr(energy))})",
        )
        if self.axis is not None:
            self._check_axis(self._required(self._energy, "energy"), self.axis)

    def _set(self, **arguments: Any) -> None:
        """Check and store some of params, damping, breaks and name; with new params, check the functions, too."""
        super()._set(**arguments)
        if "params" in arguments:
            self._store(_torque=self._fitting_torque(self._required(self._energy, "energy")))

    def _fitting_torque(self, energy: Function) -> Function:
        """Return the torque function, after a comparison of gradient and energy at the present parameters."""
        cases = trial_cases(self.params)
        largest = largest_energy(energy.plain, energy.user, cases)
        new = self._torque is ALWAYS_ZERO
        if self._gradient is not None:
            check_gradient(energy.plain, self._gradient.plain, self._gradient.user, cases, largest)
            return Function(TORQUE_FORM, functions.torque_of_gradient, (self._gradient,)) if new else self._torque
        degree = degree_of(energy.plain, largest, cases)
        if degree is None:
            return self._differentiated(energy)
        if self._torque.energy is not None and degree <= len(self._torque.settings[0]):
            return self._torque  # nodes for a higher degree are exact, too
        return Function(TORQUE_FORM, functions.torque_of_energy, (energy,), (riesz_nodes(degree),))

    def _differentiated(self, energy: Function) -> Function:
        """Return the torque of an energy that is not a polynomial, from the derivatives of its graph."""
        from polhode.forces import source, tracing

        try:
            trace = tracing.traced_functions(None, energy, self.params)
        except NotTraceable as problem:
            raise InputError(
                f"energy {described(energy.user)} is not a polynomial in Q of degree {DEGREES[-1]} or less, and its "
                "derivatives cannot be found; type Potential(energy, gradient=...) with gradient(t, Q, p) = dV/dQ, "
                f"three rows of three numbers. The reason: {problem}"
            ) from problem
        text = source.torque_source(trace.graph, trace.torque)
        return Function(TORQUE_FORM, source.torque_of_source, (), (text,))


class Torque(Force):
    """Torque computed by a user-defined function: control, drag, motors.

    Parameters
    ----------
    torque : callable
        ``torque(t, Q, w, p)`` returns three numbers. ``Q[i][j]`` is the attitude matrix, body to space, ``w[i]`` the
        angular velocity in body axes, and ``p`` the array of parameters.
    params : array_like, shape (..., k), optional
        Parameters; leading axes are those of a batch of bodies.
    frame : {"body", "space"}, optional
        Axes of the three numbers. The default is "body".
    arrays : bool, optional
        Whether the function takes Q as an array of shape (3, 3) and w as one of shape (3,), and returns an array. This
        is more convenient and several times slower.
    velocity : bool, optional
        Whether the torque depends on w. The default follows from the graph of the function; without a graph, it is
        True if the code of the function uses its third argument.
    breaks : array_like, shape (k,), optional
        Times at which the torque switches, or is not smooth for another reason. Steps of all methods end there, and the
        torque is evaluated only within each interval, so that methods keep their order.
    name : str, optional
        Name in messages and tables. The default is derived from the name of the function.

    Raises
    ------
    InputError
        If the function cannot be called as above, or another argument is not valid.
    ShapeError
        If the function does not return three numbers.

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
        uses_w = unknown_if(mentions(torque, 2)) if velocity is None else bool(velocity)
        name = name or f"Torque({getattr(torque, '__name__', repr(torque))})"
        super().__init__(
            function, params=params, velocity_dependent=uses_w, time_dependent=unknown_if(mentions(torque, 0)),
            breaks=breaks, name=name,
        )  # fmt: skip


class ForceSum(Force):
    """Sum of two forces; each receives its own parameters, and their damping matrices are added."""

    _both: tuple[Force, Force]

    def __init__(self, first: Force, second: Force) -> None:
        self._store(_both=(first, second))
        k = first.params.shape[-1]
        batch = common_batch(**{first.name: first.params.shape[:-1], f"{second.name} ": second.params.shape[:-1]})
        params = [np.broadcast_to(force.params, (*batch, force.params.shape[-1])) for force in self._both]
        acting = [force._torque for force in self._both if force._torque != ALWAYS_ZERO]
        super().__init__(
            _sum(TORQUE_FORM, functions.sum_of_torques, acting, k) or ALWAYS_ZERO,
            _sum(ENERGY_FORM, functions.sum_of_energies, [force._energy for force in self._both], k),
            _sum(GRADIENT_FORM, functions.sum_of_gradients, [force._gradient for force in self._both], k),
            params=np.concatenate(params, axis=-1),
            damping=first.damping + second.damping,
            axis=first.axis if _same(first.axis, second.axis) else None,
            breaks=np.append(first.breaks, second.breaks),
            depends_on_inertia=first.depends_on_inertia or second.depends_on_inertia,
            name=f"{first.name} + {second.name}",
        )

    @functools.cached_property
    def velocity_dependent(self) -> bool:
        """Return whether the torque of a part depends on w."""
        return any(force.velocity_dependent for force in self._both)

    @functools.cached_property
    def time_dependent(self) -> bool:
        """Return whether torque and energy of a part depend on t."""
        return any(force.time_dependent for force in self._both)

    def replaced(self, **changes: Any) -> Self:
        """Return a copy with other `params`, `damping`, `breaks` or `name`; each part receives its own parameters."""
        other = super().replaced(**changes)
        if "params" in changes:
            first, second = self._both
            k = first.params.shape[-1]
            both = first.replaced(params=other.params[..., :k]), second.replaced(params=other.params[..., k:])
            other._store(_both=both, _torque=ForceSum(*both)._torque)
        return other

    def _renewed(self) -> dict[str, Any]:
        """Return the attributes of a sum of forces whose functions are traced and compiled anew."""
        return super()._renewed() | {"_both": tuple(force._copy(**force._renewed()) for force in self._both)}

    def _parts(self) -> tuple[Force, ...]:
        """Return the forces of which this one is the sum."""
        return self._both[0]._parts() + self._both[1]._parts()


def _sum(form: Form, template: Any, parts: list[Any], k: int) -> Function | None:
    """Return the sum of functions of one form, or None if one of them is None.

    The first function takes the first `k` parameters, the second one the others. A single function is returned
    unchanged: the other force is pure damping, which has no parameters.
    """
    if not parts or None in parts:
        return None
    return parts[0] if len(parts) == 1 else Function(form, template, parts, (k,))


def _same(a: FloatArray | None, b: FloatArray | None) -> bool:
    """Return whether two axes exist and are parallel."""
    return a is not None and b is not None and bool(np.abs(np.cross(a, b)).max() <= 1e-15)


def check_call(func: Any, name: str, arguments: Sequence[str], returns: str = "") -> None:
    """Raise InputError if `func` cannot be called with the given arguments; `returns` completes the message."""
    call = f"{name}({', '.join(arguments)})"
    if not callable(func):
        raise InputError(f"{name} is {func!r}; expected a function {call}{returns}")
    if _takes_exactly(plain(func), len(arguments)):
        return
    try:
        inspect.signature(plain(func)).bind(*arguments)
    except TypeError as problem:
        raise InputError(
            f"{name} {described(func)} cannot be called as {call}: {problem}; type def {call}: ..."
        ) from None
    except ValueError:  # functions written in C may have no signature
        pass


def _takes_exactly(func: Any, count: int) -> bool:
    """Return whether `func` is a plain function of exactly `count` arguments; False if that needs its signature.

    This is much faster than `inspect.signature` and decides most cases.
    """
    if not isinstance(func, FunctionType) or vars(func):  # attributes may replace the signature
        return False
    return func.__code__.co_argcount == count and not func.__code__.co_kwonlyargcount


def from_user(func: Any, form: Form, case: Case, arrays: bool, template: Any = None) -> Function:
    """Return a user-defined function in fixed form, after a trial call at `case`."""
    check_call(func, form.name, form.arguments, f" that returns {form.returns}")
    part = OfArrays(form, func) if arrays else func
    _try(part, func, form, case, arrays)
    return Function(form, template or form.numbers, (part,), user=func)


def _try(part: Any, func: Any, form: Form, case: Case, arrays: bool) -> None:
    """Call a function once; raise InputError or ShapeError if that reveals a programming error."""
    velocity = (TRIAL_VELOCITY,) if form.has_velocity else ()
    try:
        value = plain(part)(case.t, case.Q, *velocity, case.p)
    except MISTAKES as problem:
        hint = "Q is an array" if arrays else "Q is three rows, a tuple of tuples; type arrays=True for NumPy arrays"
        if isinstance(problem, IndexError):
            hint = f"params has {case.p.size} numbers; type params=(...) with as many as it uses"
        raise InputError(f"{form.name} {described(func)} at {case} raised {problem!r} ({hint})") from problem
    except Exception:  # may be intended for these t, Q or w; an integration would report it
        return
    try:
        shape, kind = np.shape(value), np.asarray(value).dtype.kind
    except ValueError:
        shape, kind = (), "O"
    if shape != form.shape or kind not in "fiu":
        raise ShapeError(f"{form.name} {described(func)} at {case} returned {value!r}; expected {form.returns}")


def in_space(frame: Any) -> bool:
    """Return whether `frame` is "space"; raise InputError if it is not "body" either."""
    if frame not in ("body", "space"):
        raise InputError(f"frame is {frame!r}; expected 'body' or 'space', the axes of the torque")
    return bool(frame == "space")


def mentions(func: Any, position: int) -> bool:
    """Return whether the code of `func` uses the argument at `position`; True if that cannot be determined."""
    code = getattr(plain(func), "__code__", None)
    return code is None or inspect.ismethod(func) or _code_mentions(code, position)


def unknown_if(is_mentioned: bool) -> bool | None:
    """Return None if a function uses an argument, which may not matter; otherwise False."""
    return None if is_mentioned else False


@functools.lru_cache(maxsize=1024)
def _code_mentions(code: CodeType, position: int) -> bool:
    """Return whether a code object uses the argument at `position`; True if it has no such argument."""
    if position >= code.co_argcount:
        return True
    name = code.co_varnames[position]
    used = (i.argval for i in dis.get_instructions(code) if i.opcode in (*dis.haslocal, *dis.hasfree))
    return any(name == value or (isinstance(value, tuple) and name in value) for value in used)


def as_params(params: npt.ArrayLike) -> FloatArray:
    """Return parameters as a read-only array (..., k); a single number is one parameter."""
    array = as_floats(params, "params")
    array = array if array.ndim else array[None]
    if not all_finite(array) and np.isnan(array).any():
        raise InputError(f"params = {show(array.ravel()[:8])}: expected numbers, got NaN")
    return frozen(array)


def as_breaks(breaks: Any) -> FloatArray:
    """Return finite times as a read-only array (k,), sorted and without repetition."""
    if type(breaks) is tuple and not breaks:
        return NO_BREAKS
    array = as_floats(breaks, "breaks")
    if array.ndim != 1 or not all_finite(array):
        raise InputError(f"breaks = {breaks!r}: expected finite times of shape (k,), such as (30, 31)")
    return frozen(np.unique(array) if array.size > 1 else array)


def number(value: Any, name: str) -> Any:
    """Return a finite number as a float, or those of a batch as an array (...); raise InputError if one is not finite.

    Parameters of forces are computed from such numbers: for one body, floats are much faster than arrays.
    """
    if type(value) is float and isfinite(value):
        return value
    array = as_floats(value, name)
    check_finite(array[..., None], name, InputError)
    return scalar(array)


def vector(value: npt.ArrayLike, name: str) -> Any:
    """Return the three components of a vector, each like a `number`."""
    array = as_floats(value, name, 3)
    check_finite(array, name, InputError)
    return components(array)


def direction(value: npt.ArrayLike, name: str) -> Any:
    """Return the three components of a vector divided by its length; raise InputError if the length is 0."""
    x, y, z = vector(value, name)
    square = x * x + y * y + z * z
    length: Any = sqrt(square) if type(square) is float else np.sqrt(square)
    if not (length if type(length) is float else length.all()):
        example = Hint(f"type for instance {name}=(0, 0, 1)", f"give for instance {name} = [0, 0, 1]")
        raise InputError(f"{name} = {show(as_floats(value, name))} has no direction; ", example)
    return x / length, y / length, z / length


def diagonals(matrices: FloatArray) -> FloatArray | None:
    """Return the diagonals (..., 3) of matrices (..., 3, 3) whose other entries are all zero; otherwise None."""
    diagonal = np.diagonal(matrices, axis1=-2, axis2=-1)
    return None if np.any(matrices != diagonal[..., None, :] * UNIT_MATRIX) else np.ascontiguousarray(diagonal)


def joined(**groups: Any) -> FloatArray:
    """Return groups of floats or arrays (...), broadcast, as one array (..., n): the parameters of a force."""
    parts = [part for group in groups.values() for part in group]
    if {*map(type, parts)} == {float}:
        return np.array(parts)
    batch = common_batch(**{name: np.broadcast_shapes(*map(np.shape, group)) for name, group in groups.items()})
    return np.stack([np.broadcast_to(part, batch) for part in parts], axis=-1)


CHECKS: dict[str, Callable[[Any], Any]] = {
    "params": as_params,
    "damping": functools.partial(as_damping, name="damping"),
    "breaks": as_breaks,
    "name": str,
}
