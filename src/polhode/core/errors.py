"""What can go wrong, by name. Every message says what came, what is needed, and what to type."""

from __future__ import annotations

from typing import Any

__all__ = [
    "AttitudeError",
    "InertiaError",
    "InputError",
    "MemoryLimitError",
    "MissingExtraError",
    "MomentumError",
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


def __dir__() -> list[str]:
    return __all__


class PolhodeError(Exception):
    """Base of every error that polhode raises on purpose.

    >>> import polhode as ph
    >>> try:
    ...     ph.RigidBody((1, 2, -3))
    ... except ph.PolhodeError as error:
    ...     print(error)
    inertia = (1, 2, -3): principal moments must be positive and finite
    """


class InputError(PolhodeError, ValueError):
    """An argument that cannot be used.

    >>> issubclass(InputError, ValueError)
    True
    """


class ShapeError(InputError):
    """Arrays whose shapes do not fit the argument or each other.

    >>> import polhode as ph
    >>> ph.State(m=(1, 2))
    Traceback (most recent call last):
    polhode.core.errors.ShapeError: m has shape (2,); expected (..., 3), components on the last axis
    """


class InertiaError(InputError):
    """Moments or tensors that no body has.

    >>> import polhode as ph
    >>> ph.RigidBody((1, 2, -3))
    Traceback (most recent call last):
    polhode.core.errors.InertiaError: inertia = (1, 2, -3): principal moments must be positive and finite
    """


class MomentumError(InputError):
    """Angular momentum or angular velocity that is not finite, missing, or given twice.

    >>> import polhode as ph
    >>> ph.State(m=(1, 1, float("nan")))
    Traceback (most recent call last):
    polhode.core.errors.MomentumError: m = (1, 1, nan): every value must be finite
    """


class AttitudeError(InputError):
    """A quaternion that is not finite or not of unit norm.

    >>> import polhode as ph
    >>> ph.State(m=(1, 1, 1), q=(1, 1, 0, 0))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    polhode.core.errors.AttitudeError: q = (1, 1, 0, 0) has norm 1.41421356; expected a unit quaternion, ...
    """


class TimeError(InputError):
    """Times that are not finite, or so long that the number of turns is not a number.

    >>> import polhode as ph
    >>> ph.propagate((1, 2, 3), (1, 1, 1), t=float("inf"))
    Traceback (most recent call last):
    polhode.core.errors.TimeError: t = (inf): every value must be finite
    """


class StepError(PolhodeError, ArithmeticError):
    """A step that has no result: its equations have no solution that could be found.

    ``state`` is the last state that was reached, ``done`` the number of steps up to it (per body of a batch), and
    ``working_step`` the length of a step that was found to work from there, or None.

    >>> import polhode as ph
    >>> try:
    ...     ph.MoserVeselov().step((1.0, 2.0, 3.0), ph.State(m=(0.0, 0.0, 3.0)), h=1.5)
    ... except ph.errors.StepError as error:
    ...     print(round(error.working_step, 1))
    1.0
    """

    def __init__(self, message: str, state: Any, done: Any, working_step: float | None) -> None:
        super().__init__(message)
        self.state, self.done, self.working_step = state, done, working_step


class RunError(PolhodeError, RuntimeError):
    """An integration that could not go on. ``trajectory`` holds everything up to there.

    >>> import polhode as ph
    >>> try:
    ...     ph.integrate(ph.problems.gyro_top(), method="QuatVI", h=0.01)
    ... except ph.errors.RunError as error:
    ...     print(int(error.trajectory.status))
    -1
    """

    def __init__(self, message: str, trajectory: Any) -> None:
        super().__init__(message)
        self.trajectory = trajectory


class RunWarning(RuntimeWarning):
    """Some bodies of a batch could not go on; the others reached the end.

    >>> issubclass(RunWarning, RuntimeWarning)
    True
    """


class UnknownNameError(InputError):
    """A problem, method or other name that polhode does not have.

    >>> import polhode as ph
    >>> ph.problems.get("heavytop")
    Traceback (most recent call last):
    polhode.core.errors.UnknownNameError: no problem is called 'heavytop'; did you mean 'heavy_top'?
    """


class StoreError(PolhodeError, OSError):
    """A file or folder that cannot be written, or does not hold what it should.

    >>> import polhode as ph
    >>> ph.load("nothing.csv")
    Traceback (most recent call last):
    polhode.core.errors.StoreError: nothing.csv does not exist; give the name of a file that polhode wrote
    """


class MemoryLimitError(PolhodeError, MemoryError):
    """Results that the memory has no room for. The message has their size, and a way out.

    >>> import polhode as ph
    >>> try:
    ...     ph.integrate(ph.problems.perturbed(t_end=5e11), method="V2", h=0.5)
    ... except MemoryError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    1000000000000 states would take 64 TB of memory, and this machine has ...; keep fewer...
    """


class StoreWarning(UserWarning):
    """A stored run goes on under other conditions than it began with, or a part of it is damaged and was left out.

    >>> issubclass(StoreWarning, UserWarning)
    True
    """


class MissingExtraError(PolhodeError, ImportError):
    """An optional package that is not installed.

    >>> print(MissingExtraError("xarray", "store"))
    this needs xarray, which is not installed; type: pip install 'polhode[store]'
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"this needs {package}, which is not installed; type: pip install 'polhode[{extra}]'")
