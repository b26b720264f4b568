"""Splitting: a free flow for the drifts and a scheme that says how they alternate with kicks by the torque."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.errors import InputError
from polhode.methods.method import Advance, BatchState, Bodies, Clock, Method
from polhode.methods.scheme import Scheme
from polhode.methods.schemes import get

if TYPE_CHECKING:
    from polhode.flows.flow import Flow
    from polhode.forces.base import Force

WITHIN = "V2, RKN6_14a, S6_10 or ABA864"
ANY_TORQUE = "S4_6, S6_10 or a composition such as Suzuki4"


class Splitting(Method):
    """Drifts by ``flow`` (exact, unless told otherwise) and kicks by the torque, in the order of ``scheme``.

    >>> Splitting(scheme="S6_10").order
    6
    >>> from polhode import ThreeRotations
    >>> Splitting(ThreeRotations(), "S6_10").order
    2
    """

    advises = True  # against negative kicks with damping; not if trial runs have shown that they do no harm
    memory = 5  # what is pending: drift, kick, gradient kick, the time of the kick; and whether the run has begun

    def __init__(self, flow: Flow | None = None, scheme: Scheme | str = "RKN6_14a") -> None:
        from polhode.flows.exact import Exact
        from polhode.flows.flow import Flow

        self.flow = Exact() if flow is None else flow
        self.scheme = get(scheme) if isinstance(scheme, str) else scheme
        if not isinstance(self.flow, Flow) or not isinstance(self.scheme, Scheme):
            raise InputError(
                f"Splitting({flow!r}, {scheme!r}): expected a flow and a scheme, such as Splitting(Exact(), 'S6_10')"
            )
        if self.scheme.generalized_order and self.flow.record.order is not None:
            raise InputError(
                f"{self.scheme.name} is for weak torques and demands an exact drift, which {self.flow!r} is not; "
                f"type Splitting(Exact(), {self.scheme.name!r}), or choose {ANY_TORQUE}"
            )

    @property
    def order(self) -> int:
        """Return the order of the scheme, or of the flow if it is lower."""
        of_flow = self.flow.record.order
        return self.scheme.order if of_flow is None else min(of_flow, self.scheme.order)

    @property
    def stages(self) -> int:
        return len(self.scheme.stages)

    def order_for(self, force: Force) -> int:
        """Return 2 at most if the torque depends on the angular velocity and the scheme is no composition.

        Such kicks are made by the implicit midpoint rule, which is symmetric and of order 2, and so is Strang's step
        with it. Compositions of such steps raise the order of any symmetric step, whatever its kicks are made by.
        """
        keeps_order = self.scheme.composes_strang or not force.velocity_dependent
        return self.order if keeps_order else min(self.order, 2)

    def check(self, force: Force) -> None:
        """Refuse a force that the scheme is not made for; warn where it is not at its best."""
        damped = bool(np.any(force.damping))
        if self.scheme.rkn_only and (damped or force.velocity_dependent):
            what = "damping" if damped else "a torque that depends on the angular velocity"
            raise InputError(
                f"{self.scheme.name} is made for torques that depend on the attitude alone, and {force!r} has {what}; "
                f"choose {ANY_TORQUE}"
            )
        if force.breaks.size and self.scheme.looks_beyond:
            raise InputError(
                f"{self.scheme.name} asks for the torque before or after its step, and {force!r} has breaks, beyond "
                f"which it is another one; choose {WITHIN}"
            )
        if damped and self.scheme.has_negative_kicks and self.advises:
            warnings.warn(
                f"{self.scheme.name} has kicks of negative length, in which damping lets the momentum grow; if steps "
                "are so long that damping is strong in one, choose V2",
                stacklevel=4,
            )

    def advance(self, force: Force) -> Advance:
        flow, torque = self.flow, force.torque_address()
        split, implicit = flow.split, bool(force.velocity_dependent)
        scheme = self.scheme
        table, before, after = scheme.table, len(scheme.processor), len(scheme.processor)
        parameters = np.array([float(x) for x in flow.exact_parameters])
        fractions = np.array([float(x) for x in flow.fractions])

        def advance(
            bodies: Bodies, clock: Clock, saves: IntArray, limit: int, start: int, stop: int, current: BatchState,
            m_out: FloatArray, q_out: FloatArray,
        ) -> None:  # fmt: skip
            told = (
                bodies.params,
                table,
                before,
                after,
                parameters,
                flow.size,
                fractions,
                bodies.inertia,
                bodies.axes,
                bodies.damping,
            )
            kept = (
                current.m,
                current.q,
                current.memory,
                current.steps,
                current.status,
                current.torques,
            )
            split(torque, (*told, implicit, *clock, saves, limit, start, stop, *kept, m_out, q_out))

        return advance

    def why_no_step(self, force: Force, bodies: Bodies, current: BatchState, i: int, h: float) -> str:
        return f" ({self.flow.no_result})" if self.flow.no_result else ""

    def time_of(self, current: BatchState, i: int, clock: Clock) -> float:
        _, kick, gradient, t, _ = current.memory[i]
        return float(t) if kick or gradient else super().time_of(current, i, clock)

    def __repr__(self) -> str:
        return f"Splitting({self.flow!r}, {self.scheme.name!r})"
