"""A problem: a body, where it starts, how long it is followed, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from polhode.body import RigidBody
from polhode.motion import FreeMotion, free_motion
from polhode.state import State


@dataclass(frozen=True)
class Problem:
    """A rigid body with its state at ``t_span[0]``, to be followed to ``t_span[1]``.

    ``units`` label plots and tables and never enter the arithmetic.
    """

    name: str
    summary: str
    body: RigidBody
    state: State
    t_span: tuple[float, float]
    units: Mapping[str, str] = field(default_factory=dict)
    references: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        """Length of the time span."""
        return self.t_span[1] - self.t_span[0]

    def free_motion(self) -> FreeMotion:
        """The exact motion, with t counted from ``t_span[0]``."""
        return free_motion(self.body, self.state)
