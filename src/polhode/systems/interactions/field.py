"""User-defined forces and torques on all bodies at once: external fields, many-body forces, other programs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import cached_property
from math import nan
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, writable
from polhode.core.errors import ShapeError
from polhode.core.fingerprint import Identity, identity
from polhode.core.pickling import HoldsFunctions
from polhode.forces.base import as_params, in_space, mentions
from polhode.forces.functions import compiled_as_it_is, plain, warn_slow
from polhode.kernels.compiler import JIT
from polhode.systems.interactions.base import Interaction, takes
from polhode.systems.interactions.neighbors import Box

ROWS, MATRICES, NUMBERS = "f8[:,::1]", "f8[:,:,::1]", "f8[::1]"
FORCES = f"void(f8, {ROWS}, {MATRICES}, {ROWS}, {ROWS}, {NUMBERS})"
ENERGY = f"f8(f8, {ROWS}, {MATRICES}, {NUMBERS})"


class Compiled(NamedTuple):
    """Functions of a field, ready to be called, and what they were compiled from."""

    forces: Any
    energy: Any  # None if there is none
    identity: Identity


class Field(HoldsFunctions, Interaction):
    """Interaction whose forces and torques are written into arrays by a user-defined function.

    Parameters
    ----------
    forces : callable
        ``forces(t, x, Q, F, T, p)`` writes forces into F (n, 3), in space axes, and torques into T (n, 3). Both arrays
        are initialized with zeros. The bodies are at positions x (n, 3) with attitude matrices Q (n, 3, 3), and p is
        the array of parameters.
    params : array_like, shape (k,), optional
        Parameters.
    energy : callable, optional
        ``energy(t, x, Q, p)`` returns the energy as a number. By default the interaction has no energy.
    frame : {"body", "space"}, optional
        Axes of the torques. The default is "body".
    arrays : bool, optional
        Whether to call the functions from Python instead of compiling them, as required for functions that call other
        programs, and suitable for NumPy's array operations. The default is False.
    name : str, optional
        Name of the interaction. By default it contains that of `forces`.

    Raises
    ------
    InputError
        If a function cannot be called with these arguments, or `frame` is unknown.
    ShapeError
        If `params` is not of shape (k,).

    Examples
    --------
    >>> def gravity(t, x, Q, F, T, p):
    ...     F[:, 2] = -p[0]
    >>> force, torque = np.zeros((2, 3)), np.zeros((2, 3))
    >>> _ = Field(gravity, [9.81], arrays=True).evaluate(0.0, np.zeros((2, 3)), np.zeros((2, 3, 3)), force, torque)
    >>> force[0]
    array([ 0.  ,  0.  , -9.81])
    """

    may_do_work = True

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
        """Check the arguments; see the class for their description."""
        takes(forces, "forces", "t, x, Q, F, T, p")
        if energy is not None:
            takes(energy, "energy", "t, x, Q, p")
        self.params = writable(as_params(params))
        if self.params.ndim != 1:
            raise ShapeError(f"params has shape {self.params.shape}; expected (k,)")
        self._forces = forces
        self._energy = energy
        self._compile = not arrays
        self._space = in_space(frame)
        self.name = name or f"Field({getattr(forces, '__name__', repr(forces))})"
        self.has_energy = energy is not None
        self.is_compiled = not arrays

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without machine code, which is valid in this process only."""
        return {name: value for name, value in vars(self).items() if name != "_compiled"}

    def _content(self) -> Mapping[str, Any]:
        """Return what is compared: parameters, and functions as they were compiled or, before that, as they are now."""
        own = vars(self)["_compiled"].identity if self._compile and "_compiled" in vars(self) else self._identity()
        return {**super()._content(), "_forces": own.key, "_energy": None}

    def _identity(self) -> Identity:
        """Return what the functions are now."""
        return identity(self._forces, self._energy)

    @property
    def time_dependent(self) -> bool:
        """Whether the function uses t."""
        return mentions(self._forces, 0)

    def current(self) -> Interaction:
        """Return this interaction, or one whose functions are compiled anew; see ``Interaction.current``."""
        own = vars(self).get("_compiled") if self._compile else None
        if own is None or own.identity.seen.is_unchanged() or own.identity.key == self._identity().key:
            return self
        return copy.copy(self)

    def evaluate(self, t: float, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> float:
        """Add the forces and torques (n, 3) on all bodies to `force` and `torque`; return NaN instead of an energy."""
        F, T = np.zeros_like(force), np.zeros_like(torque)
        self._compiled.forces(t, writable(x), writable(Q), F, T, self.params)
        force += F
        torque += T if self._space else np.einsum("nij,nj->ni", Q, T)
        return nan

    def evaluate_each(self, t: FloatArray, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> None:
        """Add forces and torques at several times, with arrays that are made only once."""
        F, T = np.zeros_like(force, order="C"), np.zeros_like(torque, order="C")
        x, Q, function, params = writable(x), writable(Q), self._compiled.forces, self.params
        for k, time in enumerate(t.tolist()):
            function(time, x[k % len(x)], Q[k % len(Q)], F[k], T[k], params)
        force += F
        torque += T if self._space else np.einsum("knij,knj->kni", np.broadcast_to(Q, (len(t), *Q.shape[1:])), T)

    def in_box(self, box: Box) -> Interaction:
        """Return the interaction unchanged: its functions receive unwrapped positions, and have to handle the box."""
        return self

    def energy(self, t: float, x: FloatArray, Q: FloatArray) -> float:
        """Return the energy of all bodies; raise an AttributeError if there is no energy function."""
        if self._energy is None:
            raise AttributeError(f"{self.name} has no energy; type Field(forces, energy=...)")
        return float(self._compiled.energy(t, writable(x), writable(Q), self.params))

    @cached_property
    def _compiled(self) -> Compiled:
        """The functions, compiled unless `arrays` is true."""
        pairs = ((self._forces, FORCES), (self._energy, ENERGY))
        forces, energy = (_as_compiled(func, kind) if self._compile and func else func for func, kind in pairs)
        return Compiled(forces, energy, self._identity())


def _as_compiled(func: Callable[..., Any], signature: str) -> Callable[..., Any]:
    """Return the compiled function; if Numba cannot compile it, warn and return it unchanged."""
    try:
        return compiled_as_it_is(func, signature) if JIT else plain(func)
    except Exception as error:  # Numba raises exceptions of many types
        warn_slow(func, error)
        return func
