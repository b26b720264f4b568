"""What is written to files of a problem or of a system: the functions of one module for each of them."""

from __future__ import annotations

from typing import Any, Protocol, cast

from polhode.core.fingerprint import Fingerprint
from polhode.files import record, system_record
from polhode.files.record import Arrays
from polhode.systems.system import System


class Contents(Protocol):
    """Functions of ``record`` and of ``system_record``, whose first argument is the problem or the system."""

    DEFINING: tuple[str, ...]

    def describe(self, problem: Any) -> dict[str, Any]:
        """Return the description as attributes."""

    def parameters(self, problem: Any) -> Arrays:
        """Return the arrays that do not change in time."""

    def functions_of(self, problem: Any) -> Fingerprint:
        """Return digests of the functions of the user."""

    def state_arrays(self, problem: Any, t: Any, *arrays: Any) -> Arrays:
        """Return the arrays of states of a long run."""


def contents_of(problem: Any) -> Contents:
    """Return the functions for a problem or a system."""
    return cast(Contents, system_record if isinstance(problem, System) else record)
