"""What can go wrong, by name. Every message says what came, what is needed, and what to type."""

from __future__ import annotations

from typing import Any


class PolhodeError(Exception):
    """Base of every error that polhode raises on purpose."""


class InputError(PolhodeError, ValueError):
    """An argument that cannot be used."""


class ShapeError(InputError):
    """Arrays whose shapes do not fit the argument or each other."""


class InertiaError(InputError):
    """Moments or tensors that no body has."""


class MomentumError(InputError):
    """Angular momentum or angular velocity that is not finite, missing, or given twice."""


class AttitudeError(InputError):
    """A quaternion that is not finite or not of unit norm."""


class TimeError(InputError):
    """Times that are not finite, or so long that the number of turns is not a number."""


class StepError(PolhodeError, ArithmeticError):
    """A step that has no result: its equations have no solution that could be found.

    ``state`` is the last state that was reached, ``done`` the number of steps up to it (per body of a batch), and
    ``working_step`` the length of a step that was found to work from there, or None.
    """

    def __init__(self, message: str, state: Any, done: Any, working_step: float | None) -> None:
        super().__init__(message)
        self.state, self.done, self.working_step = state, done, working_step


class RunError(PolhodeError, RuntimeError):
    """An integration that could not go on. ``trajectory`` holds everything up to there."""

    def __init__(self, message: str, trajectory: Any) -> None:
        super().__init__(message)
        self.trajectory = trajectory


class RunWarning(RuntimeWarning):
    """Some bodies of a batch could not go on; the others reached the end."""


class UnknownNameError(InputError):
    """A problem, method or other name that polhode does not have."""


class StoreError(PolhodeError, OSError):
    """A file or folder that cannot be written, or does not hold what it should."""


class StoreWarning(UserWarning):
    """A stored run goes on under other conditions than it began with."""


class MissingExtraError(PolhodeError, ImportError):
    """An optional package that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"this needs {package}, which is not installed; type: pip install 'polhode[{extra}]'")
