"""What methods declare of themselves."""

from __future__ import annotations

from dataclasses import dataclass

ENERGY = "energy"  # T + V, of m and q
OWN_ENERGY = "energy of its velocities"  # where a method keeps others than I^-1 m
MOMENTUM_SPACE = "Q m"
MOMENTUM_ALONG = "m along axis"  # of symmetry of the force
ORTHOGONALITY = "|q|"
TANGENCY = "velocities fit the constraint"  # q.p = 0, or Q^T Q' skew: of the variables that the method works with
KEPT = (ENERGY, OWN_ENERGY, MOMENTUM_SPACE, MOMENTUM_ALONG, ORTHOGONALITY, TANGENCY)

ENERGIES = frozenset({ENERGY, OWN_ENERGY})  # of methods that keep no velocities but I^-1 m
MOMENTA = frozenset({MOMENTUM_SPACE, MOMENTUM_ALONG})
CONSTRAINTS = frozenset({ORTHOGONALITY, TANGENCY})


@dataclass(frozen=True)
class MethodRecord:
    """What a method declares; ``tests/methods/test_declared.py`` holds every entry of every method against it, both
    ways.

    ``symmetric``: a step h and a step -h cancel. ``symplectic``: (m, q) -> (m, q) preserves the canonical structure.
    The sets of what is KEPT to rounding: of a ``free`` body; where V depends on Q through u = Q^T s and s is declared
    as the axis of the force, at most quadratically (``quadratic``) or in any way (``axial``); for any other V
    (``potential``). ``test_step``: a step, for bodies, momenta and torques of size 1, at which what is not kept is seen
    to move.
    """

    name: str
    summary: str
    order: int
    symmetric: bool
    symplectic: bool
    free: frozenset[str]
    quadratic: frozenset[str]
    axial: frozenset[str]
    potential: frozenset[str]
    references: tuple[str, ...]
    test_step: float
    limits: str = ""
