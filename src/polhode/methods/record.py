"""Declared properties of methods: order, symmetry, and conserved quantities."""

from __future__ import annotations

from dataclasses import dataclass

ENERGY = "energy"  # T + V, of m and q
OWN_ENERGY = "energy of its velocities"  # for methods whose velocities differ from I^-1 m
MOMENTUM_SPACE = "Q m"
MOMENTUM_ALONG = "m along axis"  # the axis of symmetry of the force
ORTHOGONALITY = "|q|"
TANGENCY = "velocities fit the constraint"  # q.p = 0, or Q^T Q' skew, in the variables of the method
KEPT = (ENERGY, OWN_ENERGY, MOMENTUM_SPACE, MOMENTUM_ALONG, ORTHOGONALITY, TANGENCY)

ENERGIES = frozenset({ENERGY, OWN_ENERGY})  # of methods whose velocities are I^-1 m
MOMENTA = frozenset({MOMENTUM_SPACE, MOMENTUM_ALONG})
CONSTRAINTS = frozenset({ORTHOGONALITY, TANGENCY})


@dataclass(frozen=True)
class MethodRecord:
    """Declared properties of a method.

    The tests in ``tests/methods/test_declared.py`` verify every entry of every method: declared quantities are
    conserved to rounding, and all others are not.

    Attributes
    ----------
    name : str
        The `repr` of the method.
    summary : str
        Short description for tables.
    order : int
        Order of the method.
    symmetric : bool
        Whether a step of length h followed by one of length -h is the identity.
    symplectic : bool
        Whether the map (m, q) -> (m, q) of a step preserves the canonical structure.
    free : frozenset of str
        Quantities among `KEPT` that are conserved to rounding for a free body.
    quadratic : frozenset of str
        Those conserved if V is at most quadratic in u = Q^T s, with s the declared axis of the force.
    axial : frozenset of str
        Those conserved if V is any function of u.
    potential : frozenset of str
        Those conserved for any other V.
    references : tuple of str
        Publications.
    test_step : float
        Step length, for bodies, momenta and torques of size 1, at which quantities that are not conserved visibly
        change.
    limits : str
        Restriction of the step length, if there is one.
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
