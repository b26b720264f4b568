"""What the methods that are no splittings have in common: a record, what they need of a force, and their loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray, IntArray, writable
from polhode.core.errors import InputError
from polhode.kernels.compiler.numba_internals import address_of
from polhode.kernels.stepping.whole_steps import GRADIENT
from polhode.methods.method import Advance, BatchState, Bodies, Clock, Method, arrays_of
from polhode.methods.record import MethodRecord

if TYPE_CHECKING:
    from polhode.forces.base import Force

INSTEAD = "S4_6, S6_10 or Adaptive()"


class WholeStep(Method):
    """A method whose step is one compiled function: see ``kernels.stepping.whole_steps``.

    A subclass is one file: its kernels, an ``entry`` that repeats its step, and a record.
    """

    record: MethodRecord
    needs_gradient = True

    @property
    def order(self) -> int:
        return self.record.order

    @property
    def stages(self) -> int:
        return 8

    def check(self, force: Force) -> None:
        damped = bool(np.any(force.damping))
        if damped or force.velocity_dependent:
            what = "damping" if damped else "a torque that depends on the angular velocity"
            raise InputError(
                f"{self!r} is made for torques that depend on the attitude alone, and {force!r} has {what}; choose "
                f"{INSTEAD}"
            )
        if self.needs_gradient and not (force.has_energy and force.has_gradient):
            lacks = "gradient" if force.has_energy else "energy"
            raise InputError(
                f"{self!r} needs the energy and its gradient dV/dQ, and {force!r} has no {lacks}; type "
                "Potential(energy, gradient=...), or choose AlgoC1() or RKN6_14a, which take any torque of the attitude"
            )

    def tools(self, force: Force) -> tuple[Any, ...]:
        """What the entry ``run`` takes before the arrays; the force has to outlive what it is told."""
        return (address_of(force.gradient_function(), GRADIENT),)

    def run(self, *arguments: Any) -> None:
        """The compiled loop."""
        raise NotImplementedError

    def advance(self, force: Force) -> Advance:
        tools = self.tools(force)

        def go(
            bodies: Bodies, clock: Clock, saves: IntArray, limit: int, start: int, stop: int, current: BatchState,
            m_out: FloatArray, q_out: FloatArray,
        ) -> None:  # fmt: skip
            when = clock.start, clock.h, clock.first  # torques are evaluated in the middle of steps
            told = bodies.params, bodies.inertia, bodies.axes, *when, saves, limit, start, stop
            self.run(*tools, (*told, *arrays_of(current), m_out, q_out))

        return go

    @staticmethod
    def slopes(force: Force, t: FloatArray, places: FloatArray) -> FloatArray:
        """Return dV/dQ (k - 1, 3, 3) at matrices of this shape, any, and in the middle of steps between times (k,)."""
        gradient = force.gradient_function()
        middle = 0.5 * (t[:-1] + t[1:])
        values = [
            gradient(time, tuple(map(tuple, Q)), writable(force.params))
            for time, Q in zip(middle.tolist(), places.tolist(), strict=True)
        ]
        return np.array(values).reshape(-1, 3, 3)

    def __repr__(self) -> str:
        return self.record.name
