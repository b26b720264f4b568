"""Exceptions and warnings. Every message gives what was passed, what is expected, and what to do."""

from __future__ import annotations

from typing import Any

from polhode.core.messages import joined

__all__ = [
    "AttitudeError",
    "InertiaError",
    "InputError",
    "Interrupted",
    "MemoryLimitError",
    "MethodWarning",
    "MissingExtraError",
    "MomentumError",
    "NotTraceable",
    "PolhodeError",
    "RunError",
    "RunWarning",
    "ShapeError",
    "StepError",
    "StoreError",
    "StoreWarning",
    "TimeError",
    "UnknownNameError",
]
__dir__ = __all__.copy  # public names only


def _restored(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """Return an exception with these arguments, without calling its ``__init__``, which may take others."""
    error = kind.__new__(kind)
    error.args = args
    return error


class PolhodeError(Exception):
    """Base class of all exceptions that polhode raises.

    Parameters
    ----------
    *parts : object
        Parts of the message: texts, hints (`polhode.core.messages.Hint`) and other errors.

    Examples
    --------
    >>> import polhode as ph
    >>> try:
    ...     ph.RigidBody((1, 2, -3))
    ... except ph.PolhodeError as error:
    ...     print(error)
    inertia = (1, 2, -3): principal moments must be positive and finite
    """

    def __reduce__(self) -> Any:
        """Return the message and the attributes for pickle, which are not always the arguments of ``__init__``."""
        return _restored, (type(self), self.args), vars(self)

    def __init__(self, *parts: object) -> None:
        super().__init__(joined(*parts))


class InputError(PolhodeError, ValueError):
    """Raised for an invalid argument.

    Examples
    --------
    >>> issubclass(InputError, ValueError)
    True
    """


class ShapeError(InputError):
    """Raised for arrays whose shape is wrong or whose shapes do not broadcast.

    Examples
    --------
    >>> import polhode as ph
    >>> ph.State(m=(1, 2))
    Traceback (most recent call last):
    polhode.core.errors.ShapeError: m has shape (2,); expected (..., 3), components on the last axis
    """


class InertiaError(InputError):
    """Raised for moments or tensors that are not those of a body.

    Examples
    --------
    >>> import polhode as ph
    >>> ph.RigidBody((1, 2, -3))
    Traceback (most recent call last):
    polhode.core.errors.InertiaError: inertia = (1, 2, -3): principal moments must be positive and finite
    """


class MomentumError(InputError):
    """Raised for an angular momentum or velocity that is not finite, missing, or given twice.

    Examples
    --------
    >>> import polhode as ph
    >>> ph.State(m=(1, 1, float("nan")))
    Traceback (most recent call last):
    polhode.core.errors.MomentumError: m = (1, 1, nan): every value must be finite
    """


class AttitudeError(InputError):
    """Raised for a quaternion that is not finite or not of unit norm.

    Examples
    --------
    >>> import polhode as ph
    >>> ph.State(m=(1, 1, 1), q=(1, 1, 0, 0))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    polhode.core.errors.AttitudeError: q = (1, 1, 0, 0) has norm 1.41421356; expected a unit quaternion, ...
    """


class TimeError(InputError):
    """Raised for times that are not finite, or so long that the number of revolutions cannot be represented.

    Examples
    --------
    >>> import polhode as ph
    >>> ph.propagate((1, 2, 3), (1, 1, 1), t=float("inf"))
    Traceback (most recent call last):
    polhode.core.errors.TimeError: t = (inf): every value must be finite
    """


class NotTraceable(InputError):
    """Raised if no graph of expressions can be made of the functions of a force; the message names the line.

    Examples
    --------
    >>> import polhode as ph
    >>> try:
    ...     ph.Torque(lambda t, Q, w, p: (1.0 if w[0] < 0.0 else -1.0, 0.0, 0.0)).traced()
    ... except ph.errors.NotTraceable as error:
    ...     print(error)  # doctest: +ELLIPSIS
    <lambda> (...:2): a branch on the state (w0) cannot be traced; use the method Adaptive, ...
    """


class StepError(PolhodeError, ArithmeticError):
    """Raised if no solution of the equations of an implicit step can be found.

    Attributes
    ----------
    state : State
        The last state that was reached.
    done : int or ndarray
        The number of steps up to that state, for each body of a batch.
    working_step : float or None
        A step size that works from that state, or None if none is known.

    Examples
    --------
    >>> import polhode as ph
    >>> try:
    ...     ph.MoserVeselov().step((1.0, 2.0, 3.0), ph.State(m=(0.0, 0.0, 3.0)), h=1.5)
    ... except ph.errors.StepError as error:
    ...     print(round(error.working_step, 1))
    1.0
    """

    def __init__(self, message: str, state: Any, done: Any, working_step: float | None) -> None:
        super().__init__(message)
        self.state = state
        self.done = done
        self.working_step = working_step


class RunError(PolhodeError, RuntimeError):
    """Raised if an integration fails.

    Attributes
    ----------
    trajectory : Trajectory or SystemTrajectory
        The trajectory up to the failure.

    Examples
    --------
    >>> import polhode as ph
    >>> try:
    ...     ph.integrate(ph.problems.gyro_top(), method="QuatVI", h=0.01)
    ... except ph.errors.RunError as error:
    ...     print(error.trajectory.status.message)
    a step has no solution
    """

    def __init__(self, message: str, trajectory: Any) -> None:
        super().__init__(message)
        self.trajectory = trajectory


class Interrupted(KeyboardInterrupt):
    """Raised if Ctrl-C is pressed during an integration: a KeyboardInterrupt with the states computed so far.

    Attributes
    ----------
    trajectory : Trajectory, SystemTrajectory, Streamed, xarray.Dataset or None
        What was computed before the interruption; None if it came before the first step.

    Examples
    --------
    >>> issubclass(Interrupted, KeyboardInterrupt)
    True
    """

    def __init__(self, trajectory: Any) -> None:
        super().__init__("interrupted; the attribute trajectory has the states computed so far")
        self.trajectory = trajectory

    def __reduce__(self) -> Any:
        """Return the trajectory for pickle."""
        return type(self), (self.trajectory,)


def nothing_computed(stop: KeyboardInterrupt) -> None:
    """Give Ctrl-C the attribute ``trajectory``, None, unless it has one: it came before the first step."""
    vars(stop).setdefault("trajectory", None)


class RunWarning(RuntimeWarning):
    """Issued if the integration of some bodies of a batch fails, or the tolerance cannot be reached.

    Examples
    --------
    >>> issubclass(RunWarning, RuntimeWarning)
    True
    """


class MethodWarning(UserWarning):
    """Issued if the user chooses a method that may not suit the force.

    Examples
    --------
    >>> issubclass(MethodWarning, UserWarning)
    True
    """


class UnknownNameError(InputError):
    """Raised for an unknown name of a problem, a method or another object.

    Examples
    --------
    >>> import polhode as ph
    >>> ph.problems.get("heavytop")
    Traceback (most recent call last):
    polhode.core.errors.UnknownNameError: no problem is called 'heavytop'; did you mean 'heavy_top'?
    """


class StoreError(PolhodeError, OSError):
    """Raised for a file or folder that cannot be written, or whose content is not as expected.

    Examples
    --------
    >>> import polhode as ph
    >>> ph.load("nothing.csv")
    Traceback (most recent call last):
    polhode.core.errors.StoreError: nothing.csv does not exist; expected the name of a file written by polhode
    """


class MemoryLimitError(PolhodeError, MemoryError):
    """Raised for results that do not fit into memory. The message gives their size and an alternative.

    Examples
    --------
    >>> import polhode as ph
    >>> try:
    ...     ph.integrate(ph.problems.perturbed(t_end=5e11), method="V2", h=0.5)
    ... except MemoryError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    1000000000000 states would take 64 TB of memory, and this machine has ...; keep fewer...
    """


class StoreWarning(UserWarning):
    """Issued if a stored run is resumed under different conditions, or a damaged part of it is skipped.

    Examples
    --------
    >>> issubclass(StoreWarning, UserWarning)
    True
    """


class MissingExtraError(PolhodeError, ImportError):
    """Raised if an optional package is not installed.

    Examples
    --------
    >>> print(MissingExtraError("xarray", "store"))
    this needs xarray, which is not installed; type: pip install 'polhode[store]'
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"this needs {package}, which is not installed; type: pip install 'polhode[{extra}]'")
