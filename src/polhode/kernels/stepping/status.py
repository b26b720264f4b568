"""Status of a body: how its integration ended. Kernels, trajectories and files use the same numbers."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """How the integration of a body ended: negative if it ended before the end of the time span.

    Attributes
    ----------
    message : str
        Description in a few words.

    Examples
    --------
    >>> Status(-2)
    <Status.INTERRUPTED: -2>
    >>> Status.REACHED_END == 0, Status.NOT_FINITE < 0
    (True, True)
    >>> Status.TORQUE_RAISED.message
    'the torque raised an exception'
    """

    message: str

    def __new__(cls, value: int, message: str = "") -> Status:
        """Return the member of this value, with its message."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.message = message
        return member

    REACHED_END = 0, "reached the end"
    ENDED_BY_EVENT = 1, "ended by an event"
    FAILED = -1, "an exception was raised"
    INTERRUPTED = -2, "interrupted"
    DAMAGED = -3, "its file is damaged or missing"
    NO_STEP = -4, "a step has no solution"
    TORQUE_RAISED = -5, "the torque raised an exception"
    NOT_FINITE = -6, "the torque is not finite"
    STEP_TOO_SMALL = -7, "the tolerance requires steps below the spacing of floating-point numbers"
    TOO_MANY_STEPS = -8, "the maximum number of trial steps is used up"
