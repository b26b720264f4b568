"""Splitting methods: drifts by a free flow alternate with kicks by the torque, as a scheme prescribes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.checks import show
from polhode.core.errors import InputError
from polhode.kernels.compiler.jit import address, loaded
from polhode.kernels.stepping.header import BatchState, Bodies, Clock, Saved, SchemeTable, Wanted, Work
from polhode.kernels.stepping.splitting import split, split_body
from polhode.kernels.stepping.stages import SAVE
from polhode.methods.method import Advance, Method
from polhode.methods.scheme import Scheme
from polhode.methods.schemes import get

if TYPE_CHECKING:
    from polhode.flows.flow import Flow
    from polhode.forces.base import Force

WITHIN = "V2, RKN6_14a, S6_10 or ABA864"
ANY_TORQUE = "S4_6, S6_10 or a composition such as Suzuki4"


class Splitting(Method):
    """Splitting method: drifts by `flow` alternate with kicks by the torque, as `scheme` prescribes.

    Parameters
    ----------
    flow : Flow, optional
        Free motion between kicks. The default is `Exact`.
    scheme : Scheme or str, optional
        Sequence of drifts and kicks, or the name of a ready-made one.

    Raises
    ------
    InputError
        If the arguments are not a flow and a scheme, or if the scheme requires exact drifts and `flow` is not exact.

    Examples
    --------
    >>> Splitting(scheme="S6_10").order
    6
    >>> from polhode import ThreeRotations
    >>> Splitting(ThreeRotations(), "S6_10").order
    2
    """

    memory = 5  # pending drift, kick and gradient kick, the time of the kick, and whether the run has begun

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
                f"{self.scheme.name} is for weak torques and requires an exact drift, which {self.flow!r} is not; "
                f"type Splitting(Exact(), {self.scheme.name!r}), or choose {ANY_TORQUE}"
            )

    @property
    def order(self) -> int:
        """Return the order of the scheme, or of the flow if it is lower."""
        flow_order = self.flow.record.order
        return self.scheme.order if flow_order is None else min(flow_order, self.scheme.order)

    @property
    def stages(self) -> int:
        """Return the number of stages of the scheme."""
        return len(self.scheme.stages)

    def order_for(self, force: Force) -> int:
        """Return the order with this force: at most 2 for velocity-dependent torques, except with compositions.

        Kicks by a torque that depends on the angular velocity use the implicit midpoint rule, which is symmetric and of
        order 2, and so is Strang's step with such kicks. Compositions raise the order of any symmetric step, however
        its kicks are computed.
        """
        keeps_order = self.scheme.composes_strang or not force.velocity_dependent
        return self.order if keeps_order else min(self.order, 2)

    def is_exact_for(self, force: Force) -> bool:
        """Return whether there is no torque and the free flow is exact."""
        return force.is_zero and self.flow.record.order is None

    def check(self, force: Force) -> None:
        """Raise InputError if the scheme cannot integrate `force`; the message names an alternative."""
        if self.scheme.rkn_only and (force.is_damped or force.velocity_dependent):
            what = "damping" if force.is_damped else "a torque that depends on the angular velocity"
            raise InputError(
                f"{self.scheme.name} is made for torques that depend on the attitude alone, and {force!r} has {what}; "
                f"choose {ANY_TORQUE}"
            )
        if force.breaks.size and self.scheme.looks_beyond:
            raise InputError(
                f"{self.scheme.name} evaluates the torque before or after its step, and {force!r} has breaks, where "
                f"it jumps; choose {WITHIN}"
            )

    def advice(self, force: Force) -> str:
        """Return a warning if damping meets kicks of negative length, or an empty string."""
        if not (force.is_damped and self.scheme.has_negative_kicks):
            return ""
        return (
            f"{self.scheme.name} has kicks of negative length, in which damping makes the momentum grow; if damping is "
            "strong within one step, choose V2"
        )

    def advance(self, force: Force) -> Advance:
        """Return the compiled loop for this force; see `Advance` for its signature."""
        run, one = loaded(split), address(split_body)
        torque = force.torque_address()
        implicit = bool(force.velocity_dependent)
        flow = self.flow.data()
        scheme = self.scheme_table
        return lambda *work: run(one, torque, implicit, flow, scheme, Work(*work))

    def advance_batch(self, force: Force) -> Advance:
        """Return the compiled loop for batches: bodies with exact drifts are advanced in blocks, in vector lanes."""
        from polhode.flows.exact import Exact

        if not isinstance(self.flow, Exact):
            return self.advance(force)
        from polhode.kernels.exact.standard_form import propagate_rows
        from polhode.kernels.stepping.block_splitting import split_blocks

        run, by_rows = loaded(split_blocks), address(propagate_rows)
        implicit, damped = bool(force.velocity_dependent), bool(force.is_damped)
        scheme = self.scheme_table

        @cache
        def torques(turned: bool) -> tuple[Any, Any]:
            """Return the addresses of the torque of one body, and of that of a block; one of them is 0."""
            of_block = force.torque_block_address(turned)
            return (0, of_block) if of_block else (force.torque_address(), 0)

        def advance(
            bodies: Bodies, clock: Clock, wanted: Wanted, start: int, stop: int, current: BatchState, saved: Saved
        ) -> None:
            work = Work(bodies, clock, wanted, start, stop, current, saved)
            run(*torques(len(bodies.axes) > 0), by_rows, implicit, damped, scheme, work)

        return advance

    @property
    def scheme_table(self) -> SchemeTable:
        """Return the scheme in the form that kernels use."""
        processor = len(self.scheme.processor)
        table = np.vstack([self.scheme.table, (SAVE, 0.0, 0.0)])
        return SchemeTable(table, len(self.scheme.table), processor, processor)

    def check_system(self) -> None:
        """Accept all systems."""

    def system_memory(self, bodies: int) -> int:
        """Return the number of floats that are carried from step to step: pending stages, forces and torques."""
        from polhode.methods.many_bodies import memory_size

        return memory_size(bodies)

    def why_no_system_step(self, current: BatchState, i: int) -> str:
        """Return the body whose flow has no step."""
        from polhode.methods.many_bodies import STUCK, M

        body = int(current.memory[i, STUCK])
        return f" for body {body}, m = {show(current.m[i, body, M])}"

    def advance_system(self) -> Advance:
        """Return the loop over steps of systems; see `Advance` for its signature."""
        from polhode.methods.many_bodies import splitting_loop

        return splitting_loop(self.flow, self.scheme_table)

    def why_no_step(self, force: Force, bodies: Bodies, current: BatchState, i: int, h: float) -> str:
        """Return the condition under which the flow has no result, or an empty string."""
        return f" ({self.flow.no_result})" if self.flow.no_result else ""

    def time_of(self, current: BatchState, i: int, clock: Clock) -> float:
        """Return the time that body `i` has reached; within a kick, the time of the kick."""
        _, kick, gradient, steps, _ = current.memory[i, :5]
        if not (kick or gradient):
            return super().time_of(current, i, clock)
        start, h = (array[i if len(array) > 1 else 0] for array in (clock.start, clock.h))
        return float(start + steps * h)

    def __repr__(self) -> str:
        """Return the call that creates this method."""
        return f"Splitting({self.flow!r}, {self.scheme.name!r})"
