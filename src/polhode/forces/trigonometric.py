"""Derivatives of an energy with respect to rotations, to rounding, and checks of user-defined functions with them.

For V polynomial in Q of degree d, V(Q exp(theta e_j)) is a trigonometric polynomial of degree d in theta, whose slope
at 0 follows from 2 d values (M. Riesz, Eine trigonometrische Interpolationsformel, Jber. DMV 23 (1914) 354):

    V'(0) = sum_(k=1..d) c_k (V(a_k) - V(-a_k)),   a_k = (2k - 1) pi/(2d),   c_k = (-1)^(k-1)/(4 d sin(a_k/2)^2)

The absolute values of all 2 d weights add up to d: no formula loses fewer digits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import isfinite, pi, prod, sin
from typing import Any, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.checks import show
from polhode.core.errors import InputError
from polhode.core.rotation import from_rotation_vector, matrix, multiply, normalize
from polhode.forces.functions import described, torque_of_energy, torque_of_gradient

EPS = 2.0**-53
DEGREES = (
    1,
    2,
    3,
    4,
    5,
    6,
    8,
    10,
    12,
    16,
)  # degrees to try; polynomials of higher degree are better passed with a gradient
ROUNDING = 64 * EPS  # of an energy, relative to its largest value
MISFIT = 1e-9  # of gradient and energy, relative to the largest energy: above rounding, below any mistake
ROUGH_MISFIT = 1e-5  # the same if the derivative is approximated by differences
DIFFERENCE = 2.0**-8  # radians, or units of Q
ROWS_TRIED = 4  # rows of a batch of parameters
ATTITUDES_TRIED = 4  # per row

Rows = tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]


class Case(NamedTuple):
    """Arguments of a trial call: time, attitude as a quaternion and as rows of the matrix, and parameters."""

    t: float
    q: FloatArray
    Q: Rows
    p: FloatArray

    def __str__(self) -> str:
        """Return the arguments as text, for messages."""
        return f"t = {self.t:.6g}, q = {show(self.q)}, p = {show(self.p)}"


def rows_of_matrix(Q: FloatArray) -> Any:
    """Return a matrix as a tuple of rows."""
    return tuple(tuple(row) for row in Q.tolist())


def trial_cases(params: FloatArray) -> list[Case]:
    """Return trial arguments: reproducible random attitudes and times, for up to ROWS_TRIED rows of parameters."""
    rows = params.reshape(prod(params.shape[:-1]), params.shape[-1])
    chosen = rows if len(rows) == 1 else rows[np.linspace(0, len(rows) - 1, min(len(rows), ROWS_TRIED)).astype(int)]
    repeated = np.repeat(chosen, ATTITUDES_TRIED, axis=0)  # never more than there are points
    return [Case(*point, p) for point, p in zip(_trial_points(), repeated, strict=False)]


@functools.cache
def _trial_points() -> tuple[tuple[float, FloatArray, Rows], ...]:
    """Return ROWS_TRIED * ATTITUDES_TRIED reproducible random points (t, q, Q)."""
    rng = np.random.default_rng(1914)
    times = (0.0, *rng.uniform(size=ATTITUDES_TRIED - 1).tolist())
    attitudes = [normalize(rng.normal(size=4)) for _ in range(ROWS_TRIED * ATTITUDES_TRIED)]
    return tuple((times[i % ATTITUDES_TRIED], q, rows_of_matrix(matrix(q))) for i, q in enumerate(attitudes))


def riesz_nodes(degree: int) -> tuple[tuple[float, float, float], ...]:
    """Return (cos a_k, sin a_k, c_k) for k = 1..degree; sines and cosines that vanish are exactly 0."""
    d = degree
    nodes = []
    for k in range(1, d + 1):
        odd = 2 * k - 1
        weight = (-1) ** (k - 1) / (4 * d * sin(pi * odd / (4 * d)) ** 2)
        nodes.append((sin(pi * (d - odd) / (2 * d)), sin(pi * min(odd, 2 * d - odd) / (2 * d)), weight))
    return tuple(nodes)


def slopes(energy: Callable[..., float], degree: int, cases: Sequence[Case]) -> FloatArray:
    """Return -dV/dtheta about the three body axes, shape (cases, 3), exact for polynomials up to `degree`."""
    torque = torque_of_energy(energy, riesz_nodes(degree))
    return np.array([torque(case.t, case.Q, (0.0, 0.0, 0.0), case.p) for case in cases])


def largest_energy(energy: Callable[..., float], func: Any, cases: Sequence[Case]) -> float:
    """Return the largest |V| of all cases; raise InputError if `energy` raises or is not finite."""
    largest = 0.0
    for case in cases:
        try:
            value = energy(case.t, case.Q, case.p)
        except Exception as problem:
            raise InputError(
                f"energy {described(func)} raised {problem!r} at {case}; expected a number at every attitude"
            ) from problem
        if not isfinite(value):
            raise InputError(
                f"energy {described(func)} is {value} at {case}; expected a finite number at every attitude"
            )
        largest = max(largest, abs(value))
    return largest


def degree_of(energy: Callable[..., float], largest: float, cases: Sequence[Case]) -> int | None:
    """Return the degree of `energy` as a polynomial in Q, to rounding; None if there is none in DEGREES."""
    for degree in DEGREES:
        candidate = slopes(energy, degree, cases)
        finer = (slopes(energy, more, cases) for more in (2 * degree, 2 * degree + 1))  # aliasing cannot affect both
        tolerance = ROUNDING * (2 * degree + 1) * largest
        if all(np.abs(candidate - other).max() <= tolerance for other in finer):
            return degree
    return None


def difference_slopes(energy: Callable[..., float], cases: Sequence[Case]) -> FloatArray:
    """Return the result of `slopes` by differences of order 4, for energies that are not polynomials."""
    result = np.zeros((len(cases), 3))
    for n, case in enumerate(cases):
        for j in range(3):
            for step, weight in zip((-2, -1, 1, 2), (1, -8, 8, -1), strict=True):
                turned = multiply(case.q, from_rotation_vector(step * DIFFERENCE * np.eye(3)[j]))
                value = energy(case.t, rows_of_matrix(matrix(turned)), case.p)
                result[n, j] -= weight * value / (12 * DIFFERENCE)
    return result


def difference_gradient(energy: Callable[..., float], case: Case) -> FloatArray:
    """Return dV/dQ, shape (3, 3), by differences of order 4 in each entry of Q."""
    result = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for step, weight in zip((-2, -1, 1, 2), (1, -8, 8, -1), strict=True):
                Q = matrix(case.q)
                Q[i, j] += step * DIFFERENCE
                result[i, j] += weight * energy(case.t, rows_of_matrix(Q), case.p) / (12 * DIFFERENCE)
    return result


def check_gradient(
    energy: Callable[..., float], gradient: Callable[..., Rows], func: Any, cases: Sequence[Case], largest: float
) -> None:
    """Raise InputError if the torque of `gradient` is not that of `energy`; the message suggests the mistake."""
    degree = degree_of(energy, largest, cases)
    expected = difference_slopes(energy, cases) if degree is None else slopes(energy, degree, cases)
    tolerance = (ROUGH_MISFIT if degree is None else MISFIT) * max(largest, float(np.abs(expected).max()))

    def torques(changed: Callable[[FloatArray], FloatArray]) -> FloatArray:
        torque = torque_of_gradient(lambda t, Q, p: rows_of_matrix(changed(np.array(gradient(t, Q, p)))))
        return np.array([torque(case.t, case.Q, (0.0, 0.0, 0.0), case.p) for case in cases])

    def fits(changed: Callable[[FloatArray], FloatArray]) -> bool:
        return bool(np.abs(torques(changed) - expected).max() <= tolerance)

    if fits(lambda g: g):
        return
    actual = torques(lambda g: g)
    errors = np.nan_to_num(np.abs(actual - expected), nan=np.inf)
    n, axis = np.unravel_index(int(np.argmax(errors)), errors.shape)
    case = cases[int(n)]
    returned = np.array(gradient(case.t, case.Q, case.p))
    differences = difference_gradient(energy, case)
    i, j = np.unravel_index(int(np.argmax(np.nan_to_num(np.abs(returned - differences), nan=np.inf))), (3, 3))
    hint = ""
    if fits(lambda g: -g):
        hint = " With the opposite sign everywhere it fits: gradient is +dV/dQ, not the force."
    elif fits(lambda g: g.T):
        hint = " Its transpose fits: row i, column j of gradient is dV/dQ[i][j]."
    raise InputError(
        f"gradient {described(func)} does not fit energy: at {case} the energy grows by {-expected[n, axis]:.9g} per "
        f"radian about body axis {axis + 1}, but by {-actual[n, axis]:.9g} according to the gradient. They differ most "
        f"in dV/dQ[{i}][{j}]: gradient returns {returned[i, j]:.9g}, differences of energy give "
        f"{differences[i, j]:.9g}.{hint} Correct it, or type Potential(energy, params=...) to derive torques from "
        "energy alone"
    )


def check_axis(energy: Callable[..., float], axis: FloatArray, cases: Sequence[Case], largest: float) -> None:
    """Raise InputError if rotations of the body about `axis` (3,), in space axes, change the energy."""
    for case in cases:
        turned = multiply(from_rotation_vector(1.0 * axis), case.q)
        before = energy(case.t, case.Q, case.p)
        after = energy(case.t, rows_of_matrix(matrix(turned)), case.p)
        if not abs(after - before) <= MISFIT * largest:
            raise InputError(
                f"axis = {show(axis)} is not an axis of symmetry: at {case}, turning the body by 1 radian about it "
                f"in space changes the energy from {before:.9g} to {after:.9g}; omit axis"
            )
