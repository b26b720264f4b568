"""Base class of the fixed-step methods that are not splittings: a record, a check of the force, and the loop."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray, writable
from polhode.core.errors import InputError
from polhode.kernels.compiler.jit import loaded
from polhode.kernels.stepping.header import Work
from polhode.methods.method import Advance, Method
from polhode.methods.record import MethodRecord

if TYPE_CHECKING:
    from polhode.forces.base import Force

INSTEAD = "S4_6, S6_10 or Adaptive()"


class WholeStep(Method):
    """Base class of methods whose step is one compiled function: see ``kernels.stepping.whole_steps``.

    A subclass is one module with its kernels, a compiled entry point `loop` that repeats its step, and a record.

    Attributes
    ----------
    record : MethodRecord
        Declared properties of the method.
    needs_gradient : bool
        Whether the method requires a force with energy and gradient.
    """

    record: MethodRecord
    needs_gradient = True
    not_for_systems = (
        "iterates with the gradient of the potential of one body in closed form, and a system would need the forces of "
        "all pairs in every iteration"
    )

    @property
    def order(self) -> int:
        """Return the order of the method."""
        return self.record.order

    @property
    def stages(self) -> int:
        """Return the approximate number of torque evaluations per step."""
        return 8

    def check(self, force: Force) -> None:
        """Raise InputError if the force is damped, depends on the angular velocity, or lacks a required function."""
        if force.is_damped or force.velocity_dependent:
            what = "damping" if force.is_damped else "a torque that depends on the angular velocity"
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
        """Return what `loop` takes before the arrays: addresses, which are valid as long as the force exists."""
        return (force.gradient_address(),)

    @property
    @abstractmethod
    def loop(self) -> Any:
        """Entry point that repeats the step of the method."""

    def advance(self, force: Force) -> Advance:
        """Return the compiled loop for this force; see `Advance` for its signature."""
        tools, run = self.tools(force), loaded(self.loop)
        return lambda *work: run(*tools, Work(*work))

    @staticmethod
    def slopes(force: Force, t: FloatArray, matrices: FloatArray) -> FloatArray:
        """Return dV/dQ (k - 1, 3, 3) at matrices of that shape, any Q, midway between consecutive times `t` (k,)."""
        gradient = force.gradient_function()
        middle = 0.5 * (t[:-1] + t[1:])
        values = [
            gradient(time, tuple(map(tuple, Q)), writable(force.params))
            for time, Q in zip(middle.tolist(), matrices.tolist(), strict=True)
        ]
        return np.array(values).reshape(-1, 3, 3)

    def __repr__(self) -> str:
        """Return the call that creates this method."""
        return self.record.name
