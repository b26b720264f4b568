"""User-defined energies V(r, A, B, p) of two bodies, summed over all pairs in a compiled loop."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray, writable
from polhode.core.errors import InputError, ShapeError
from polhode.core.rotation import from_rotation_vector, matrix
from polhode.core.threads import threads_for
from polhode.forces.base import as_params
from polhode.forces.functions import Form, Function
from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.jit import address
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.compiler.user_functions import compile_user
from polhode.kernels.pairs import pair_functions as templates
from polhode.kernels.pairs.pairs import PAIR, few_pairs, sum_pairs
from polhode.systems.interactions.base import Interaction, takes
from polhode.systems.interactions.near import ITEM, NearInteraction, parts_of
from polhode.systems.interactions.neighbors import closest_pair

PAIR_FORM = Form("pair", ("r", "A", "B", "p"), (10,), "", PAIR, *(None,) * 3)  # type: ignore[arg-type]
COMPLEX_HINT = (
    "derivatives are computed with complex arguments: use arithmetic, powers (r2 ** 0.5) and NumPy's functions, "
    "without abs, comparisons and math.sqrt; or type gradient=..."
)
PAIR_SECONDS = 7e-8  # time for a pair, with the fastest functions
DIFFERENCE = 2.0**-13  # radians, and parts of the distance, in the difference quotients that check a pair function
TOLERANCE = 1e-6  # of this check, relative to the largest derivative


class PairInteraction(NearInteraction):
    """Base class of interactions that sum a pair function over pairs of bodies; see ``kernels.pairs.pairs``."""

    def __init__(
        self,
        function: Function,
        params: npt.ArrayLike,
        name: str,
        cutoff: float | None,
        switch: float | None,
        skin: float | None,
    ) -> None:
        """Store the pair function, its parameters (k,), and the cut-off."""
        self._function = function
        self.name = name
        self.params = writable(as_params(params))
        if self.params.ndim != 1:
            raise ShapeError(f"params has shape {self.params.shape}; expected (k,), the same for all pairs")
        self._set_cutoff(cutoff, switch, skin)

    def current(self) -> Interaction:
        """Return this interaction, or one whose functions are compiled anew; see ``Interaction.current``."""
        if all(part.is_as_fixed() for part in self._function.with_inner()):
            return self
        other = copy.copy(self)
        other._function = self._function.renewed()
        return other

    def evaluate(self, t: float, x: FloatArray, Q: FloatArray, force: FloatArray, torque: FloatArray) -> float:
        """Add the forces and torques (n, 3) on all bodies to `force` and `torque`; return the energy."""
        raised = np.full(len(x), NOBODY)  # for each body i, a body j for which the pair function raised
        energy = self._sum(sum_pairs, (self._address(), Q, self.params, raised), x, force, torque, PAIR_SECONDS)
        if (raised != NOBODY).any():
            i = int(np.argmax(raised != NOBODY))
            self._replay(x, Q, i, int(raised[i]))
        return energy

    def compiled(self, count: int) -> tuple[Any, FloatArray, IntArray] | None:
        """Return the compiled forces on a few bodies without a cut-off; see ``Interaction.compiled``."""
        work = PAIR_SECONDS * count * (count - 1) / 2
        if not JIT or self.cutoff < np.inf or threads_for(parts_of(count), work / (parts_of(count) * ITEM)) > 1:
            return None
        few: Any = address(few_pairs)  # type: ignore[no-untyped-call]
        return few, self.params, np.array([self._address(), parts_of(count)])

    def _address(self) -> Any:
        """Return the address of the compiled pair function; raise an InputError if it cannot be compiled."""
        try:
            return self._function.address()
        except Exception as error:  # Numba raises exceptions of many types
            reason = str(error).strip().splitlines()[-1]
            raise InputError(
                f"Numba cannot compile {self.name}: {reason}; {self._hint()}; or use "
                "polhode.interactions.Field(..., arrays=True), which is not compiled"
            ) from error

    def _hint(self) -> str:
        """Return what to do if the functions cannot be compiled, or fail."""
        return "functions that it calls have to be decorated with numba.njit"

    def _replay(self, x: FloatArray, Q: FloatArray, i: int, j: int) -> None:
        """Call the pair function in Python for bodies i and j, to raise its exception with a traceback."""
        self._at(self._box.nearest(x[i] - x[j]), Q[i], Q[j])
        raise InputError(f"{self.name} raised an exception for bodies {i} and {j} when compiled, but not in Python")

    def check(self, t: float, x: FloatArray, Q: FloatArray) -> None:
        """Raise an InputError unless forces and torques of the closest pair agree with differences of its energy."""
        i, j, distance = closest_pair(x, self._box)
        if not distance > 0:
            return
        r = self._box.nearest(x[i] - x[j])
        A, B = Q[i], Q[j]
        try:
            energy, *forces = self._at(r, A, B)
        except (AttributeError, IndexError, KeyError, NameError, TypeError) as error:
            raise InputError(f"{self.name} raised {error!r} for bodies {i} and {j}; {self._hint()}") from error
        quotients = np.array([[self._quotient(r, A, B, variable, k) for k in range(3)] for variable in range(3)])
        quotients[0] /= distance
        scale = np.array([distance, 1.0, 1.0])[:, None]
        errors = np.abs(np.array(forces) + quotients) * scale
        size = max(np.abs(quotients * scale).max(), abs(energy), 1e-300)
        if not errors.max() <= TOLERANCE * size:
            raise InputError(
                f"{self.name}: at the closest pair, bodies {i} and {j}, forces and torques {forces} are not the "
                f"derivatives of the energy, {(-quotients).tolist()}; {self._hint()}"
            )

    def _at(self, r: FloatArray, A: FloatArray, B: FloatArray) -> Any:
        """Return the value of the pair function, called in Python: the energy, the force and two torques."""
        return self._function.plain(tuple(r.tolist()), _rows(A), _rows(B), self.params)

    def _quotient(self, r: FloatArray, A: FloatArray, B: FloatArray, variable: int, k: int) -> float:
        """Return a difference quotient, of order 4, of the energy along axis k.

        `variable` is 0 for the derivative by ``r/|r|``, 1 for that by a rotation of A, and 2 for that by one of B.
        """
        total = 0.0
        for point, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
            step = point * DIFFERENCE * np.eye(3)[k]
            turn = matrix(from_rotation_vector(step))
            shifted = (r + np.linalg.norm(r) * step, A, B), (r, turn @ A, B), (r, A, turn @ B)
            total += weight * self._at(*shifted[variable])[0]
        return total / (12 * DIFFERENCE)


class PairPotential(PairInteraction):
    """Interaction by a user-defined energy V(x_i - x_j, Q_i, Q_j), summed over pairs i < j of bodies.

    Parameters
    ----------
    energy : callable
        ``energy(r, A, B, p)`` returns V as a number. r[k] are the components of x_i - x_j in space axes, A[k][l] and
        B[k][l] the elements of the attitude matrices of the two bodies, and p is the array of parameters.
    gradient : callable, optional
        ``gradient(r, A, B, p)`` returns (dV/dr, dV/dA, dV/dB): three numbers, and two tuples of three rows of three
        numbers. By default derivatives are computed to round-off by nine evaluations of `energy` with complex
        arguments, which is several times slower.
    params : array_like, shape (k,), optional
        Parameters.
    cutoff, switch, skin : float, optional
        See ``NearInteraction``. By default all pairs interact.
    name : str, optional
        Name of the interaction. By default it contains that of `energy`.

    Raises
    ------
    InputError
        If a function cannot be called with these arguments, or a number is out of range.
    ShapeError
        If `params` is not of shape (k,).

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
        """Check the arguments; see the class for their description."""
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
        """Return what to do if the functions cannot be compiled, or fail."""
        return COMPLEX_HINT if self._complex else super()._hint()


class Part(Function):
    """Function that is called by a pair function, compiled for the types of its arguments."""

    def _compile(self) -> Any:
        """Return the compiled function."""
        return compile_user(self._wrapped())  # type: ignore[no-untyped-call]


def _rows(A: FloatArray) -> Any:
    """Return a matrix as a tuple of rows."""
    return tuple(map(tuple, A.tolist()))
