"""Any energy of two bodies, written by the user: V(r, A, B, p), summed over all pairs in a compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, writable
from polhode.core.errors import InputError, ShapeError
from polhode.core.rotation import from_rotation_vector, matrix
from polhode.forces.base import as_params
from polhode.forces.functions import Form, Function
from polhode.kernels.compiler import jit
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.pairs import pair_functions as templates
from polhode.kernels.pairs.pairs import PAIR, sum_pairs
from polhode.systems.interactions.base import takes
from polhode.systems.interactions.near import NearInteraction
from polhode.systems.interactions.neighbors import closest_pair

PAIR_FORM = Form("pair", ("r", "A", "B", "p"), (10,), "", PAIR, *(None,) * 3)  # type: ignore[arg-type]
COMPLEX_HINT = (
    "derivatives are taken by complex arguments: write it with arithmetic, powers (r2 ** 0.5) and NumPy's functions, "
    "without abs, comparisons and math.sqrt; or type gradient=..."
)
PAIR_SECONDS = 7e-8  # for a pair, with the quickest of functions
DIFFERENCE = 2.0**-13  # radians, and parts of the distance, of the quotients that a pair function is held against
TOLERANCE = 1e-6  # of their comparison, relative to the largest derivative


class PairInteraction(NearInteraction):
    """A sum over pairs of one pair function (see ``kernels.pairs.pairs``)."""

    def __init__(
        self,
        function: Function,
        params: npt.ArrayLike,
        name: str,
        cutoff: float | None,
        switch: float | None,
        skin: float | None,
    ) -> None:
        self._function, self.name = function, name
        self.params = writable(as_params(params))
        if self.params.ndim != 1:
            raise ShapeError(f"params has shape {self.params.shape}; expected numbers (k,), the same for all pairs")
        self._set_cutoff(cutoff, switch, skin)

    def evaluate(self, t: float, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> float:
        raised = np.full(len(x), NOBODY)
        energy = self._sum(sum_pairs, (self._address(), Q, self.params, raised), x, force, torque, PAIR_SECONDS)
        if (raised != NOBODY).any():
            i = int(np.argmax(raised != NOBODY))
            self._replay(x, Q, i, int(raised[i]))
        return energy

    def _address(self) -> Any:
        try:
            return self._function.address()
        except Exception as problem:  # Numba has many kinds
            reason = str(problem).strip().splitlines()[-1]
            raise InputError(
                f"Numba cannot compile {self.name}: {reason}; {self._hint()}; or write a "
                "polhode.interactions.Field(..., arrays=True), which need not be compiled"
            ) from problem

    def _hint(self) -> str:
        return "functions that it calls have to be decorated with numba.njit"

    def _replay(self, x: FloatArray, Q: FloatArray, i: int, j: int) -> None:
        """Raise what the pair function raised, with a traceback that compiled code does not have."""
        self._at(self._box.nearest(x[i] - x[j]), Q[i], Q[j])
        raise InputError(f"{self.name} raised for bodies {i} and {j}, compiled, but not in Python")

    def check(self, t: float, x: FloatArray, Q: FloatArray) -> None:
        """Hold forces and torques of the closest pair against differences of its energy."""
        i, j, distance = closest_pair(x, self._box)
        if not distance > 0:
            return
        r, A, B = self._box.nearest(x[i] - x[j]), Q[i], Q[j]
        try:
            energy, *found = self._at(r, A, B)
        except (AttributeError, IndexError, KeyError, NameError, TypeError) as problem:
            raise InputError(f"{self.name} raised {problem!r} for bodies {i} and {j}; {self._hint()}") from problem
        quotients = np.array([[self._quotient(r, A, B, what, k) for k in range(3)] for what in range(3)])
        quotients[0] /= distance
        scale = np.array([distance, 1.0, 1.0])[:, None]
        error = np.abs(np.array(found) + quotients) * scale
        size = max(np.abs(quotients * scale).max(), abs(energy), 1e-300)
        if not error.max() <= TOLERANCE * size:
            raise InputError(
                f"{self.name}: at the closest pair, bodies {i} and {j}, forces and torques {found} are not the "
                f"derivatives of the energy, {(-quotients).tolist()}; {self._hint()}"
            )

    def _at(self, r: FloatArray, A: FloatArray, B: FloatArray) -> Any:
        return self._function.plain(tuple(r.tolist()), _rows(A), _rows(B), self.params)

    def _quotient(self, r: FloatArray, A: FloatArray, B: FloatArray, what: int, k: int) -> float:
        """The derivative of the energy along axis k by r/|r| (what = 0), or a turn of A or B; a quotient of order 4."""
        total = 0.0
        for place, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
            step = place * DIFFERENCE * np.eye(3)[k]
            turn = matrix(from_rotation_vector(step))
            there = (r + np.linalg.norm(r) * step, A, B), (r, turn @ A, B), (r, A, turn @ B)
            total += weight * self._at(*there[what])[0]
        return total / (12 * DIFFERENCE)


class PairPotential(PairInteraction):
    """The sum of V(x_i - x_j, Q_i, Q_j) over all pairs i < j, or those nearer than a cut-off.

    Parameters
    ----------
    energy : callable
        energy(r, A, B, p) -> a number; r[i] is x_i - x_j in space axes, A[i][j] and B[i][j] are the attitude matrices
        of the two bodies, p the array of parameters.
    gradient : callable, optional
        gradient(r, A, B, p) -> (dV/dr, dV/dA, dV/dB): three numbers, and two times three rows of three. Without it,
        derivatives are taken by nine evaluations with complex arguments, to rounding; they are several times slower.
    params : array_like, optional
        Numbers (k,).
    cutoff, switch, skin : float, optional
        See ``NearInteraction``.

    Examples
    --------
    >>> spring = PairPotential(lambda r, A, B, p: 0.5 * p[0] * (r[0] ** 2 + r[1] ** 2 + r[2] ** 2), params=[3.0])
    >>> force, torque = np.zeros((2, 3)), np.zeros((2, 3))
    >>> spring.evaluate(0.0, np.array([(0.0, 0, 0), (0, 0, 2)]), np.stack([np.eye(3)] * 2), force, torque)
    6.0
    >>> force[0]
    array([0., 0., 6.])
    """

    def __init__(
        self,
        energy: Callable[..., Any],
        gradient: Callable[..., Any] | None = None,
        params: npt.ArrayLike = (),
        *,
        cutoff: float | None = None,
        switch: float | None = None,
        skin: float | None = None,
        name: str | None = None,
    ) -> None:
        takes(energy, "energy", "r, A, B, p")
        self._complex = gradient is None
        if gradient is None:
            function = Function(PAIR_FORM, templates.pair_of_energy, (energy, templates.turned, templates.shifted))
        else:
            takes(gradient, "gradient", "r, A, B, p")
            function = Function(PAIR_FORM, templates.pair_of_gradient, (energy, gradient, templates.torque_of))
        name = name or f"PairPotential({getattr(energy, '__name__', repr(energy))})"
        super().__init__(function, params, name, cutoff, switch, skin)

    def _hint(self) -> str:
        return COMPLEX_HINT if self._complex else super()._hint()


class Part(Function):
    """A function inside a pair function, compiled for whatever it is called with."""

    def _compile(self) -> Any:
        return jit.compile_user(self._wrapped())  # type: ignore[no-untyped-call]


def _rows(A: FloatArray) -> Any:
    return tuple(map(tuple, A.tolist()))
