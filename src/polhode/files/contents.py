"""What is written to files of a problem or of a system: the functions of one module for each of them."""

from __future__ import annotations

from types import ModuleType

from polhode.files import record, system_record
from polhode.integration.problem import Problem
from polhode.systems.system import System


def contents_of(problem: Problem | System) -> ModuleType:
    """Return the module for a problem or a system, whose functions have the same names and take it first.

    These are ``describe``, ``parameters``, ``functions_of`` and ``state_arrays``; the list DEFINING names attributes.
    """
    return system_record if isinstance(problem, System) else record
