"""Forces and torques on all bodies at once, filled in by a function of the user: fields, many-body forces, engines."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import nan
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, writable
from polhode.core.errors import ShapeError
from polhode.forces.base import as_params, in_space
from polhode.forces.functions import compiled_as_it_is, plain, warn_slow
from polhode.kernels.compiler import JIT
from polhode.systems.interactions.base import Interaction, takes
from polhode.systems.interactions.neighbors import Box

ROWS, MATRICES, NUMBERS = "f8[:,::1]", "f8[:,:,::1]", "f8[::1]"
FORCES = f"void(f8, {ROWS}, {MATRICES}, {ROWS}, {ROWS}, {NUMBERS})"
ENERGY = f"f8(f8, {ROWS}, {MATRICES}, {NUMBERS})"


class Field(Interaction):
    """Forces and torques that a function writes into arrays.

    Parameters
    ----------
    forces : callable
        forces(t, x, Q, F, T, p) writes forces into F (n, 3), in space axes, and torques into T (n, 3), which come
        filled with zeros; bodies are at x (n, 3) with attitude matrices Q (n, 3, 3), p is the array of parameters.
    params : array_like, optional
        Numbers (k,).
    energy : callable, optional
        energy(t, x, Q, p) -> a number, if there is one.
    frame : {"body", "space"}, optional
        "body" or "space", the axes of the torques.
    arrays : bool, optional
        Call the functions as they are, from Python, instead of compiling them: right for NumPy's array operations, and
        for other programs.

    Examples
    --------
    >>> def gravity(t, x, Q, F, T, p):
    ...     F[:, 2] = -p[0]
    >>> force, torque = np.zeros((2, 3)), np.zeros((2, 3))
    >>> _ = Field(gravity, [9.81], arrays=True).evaluate(0.0, np.zeros((2, 3)), np.zeros((2, 3, 3)), force, torque)
    >>> force[0]
    array([ 0.  ,  0.  , -9.81])
    """

    def __init__(
        self,
        forces: Callable[..., Any],
        params: npt.ArrayLike = (),
        *,
        energy: Callable[..., Any] | None = None,
        frame: Literal["body", "space"] = "body",
        arrays: bool = False,
        name: str | None = None,
    ) -> None:
        takes(forces, "forces", "t, x, Q, F, T, p")
        if energy is not None:
            takes(energy, "energy", "t, x, Q, p")
        self.params = writable(as_params(params))
        if self.params.ndim != 1:
            raise ShapeError(f"params has shape {self.params.shape}; expected numbers (k,)")
        self._forces, self._energy, self._compile = forces, energy, not arrays
        self._space = in_space(frame)
        self.name = name or f"Field({getattr(forces, '__name__', repr(forces))})"
        self.has_energy = energy is not None

    def evaluate(self, t: float, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> float:
        F, T = np.zeros_like(force), np.zeros_like(torque)
        self._functions[0](t, x, Q, F, T, self.params)
        force += F
        torque += T if self._space else np.einsum("nij,nj->ni", Q, T)
        return nan

    def in_box(self, box: Box) -> Interaction:
        """As it is: what a box means is up to the functions, which see places that leave it."""
        return self

    def energy(self, t: float, x: FloatArray, Q: FloatArray) -> float:
        if self._energy is None:
            raise AttributeError(f"{self.name} has no energy; type Field(forces, energy=...)")
        return float(self._functions[1](t, x, Q, self.params))

    @cached_property
    def _functions(self) -> tuple[Callable[..., Any], ...]:
        """Forces and energy, compiled unless they are wanted as they are."""
        pairs = ((self._forces, FORCES), (self._energy, ENERGY))
        return tuple(_compiled(func, kind) if self._compile else func for func, kind in pairs if func is not None)


def _compiled(func: Callable[..., Any], signature: str) -> Callable[..., Any]:
    """Compiled; what Numba cannot compile stays as it is, with one warning."""
    try:
        return compiled_as_it_is(func, signature) if JIT else plain(func)
    except Exception as problem:  # Numba has many kinds
        warn_slow(func, problem)
        return func
