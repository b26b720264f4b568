"""States of torqued bodies to any number of digits: Taylor series in the arithmetic of mpmath."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, inf, log
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.body import flow_moments
from polhode.core.checks import all_finite, as_floats, whole_number
from polhode.core.errors import InputError, PolhodeError, TimeError
from polhode.core.extras import optional
from polhode.core.rotation import from_matrix, product
from polhode.forces.base import Force
from polhode.forces.tracing import Trace, exact_trace
from polhode.integration.problem import Problem
from polhode.integration.rows import ACROSS
from polhode.kernels.graphs.equations import equations
from polhode.kernels.graphs.graph import FUNCTIONS
from polhode.kernels.graphs.recurrences import Series, series

LEAST_DIGITS, MOST_DIGITS = 15, 1000
MORE = 5  # digits of the tolerance beyond those that are asked for; and of the arithmetic beyond the tolerance
BEYOND = 4  # digits by which the second run is more precise


class ReferenceStates(NamedTuple):
    """States in high precision; m and q are arrays of ``mpmath.mpf``."""

    t: FloatArray
    m: Any  # t.shape + batch + (3,)
    q: Any  # t.shape + batch + (4,)


def referee(problem: Problem, t: npt.ArrayLike, digits: int = 50, *, max_step: float | None = None) -> ReferenceStates:
    """Return the states of a problem in high precision.

    The motion is expanded in Taylor series, in the arithmetic of mpmath. It is computed twice, with different orders,
    steps and numbers of digits, and both times more precisely until the results agree. This takes seconds or minutes:
    it is meant as a reference for other methods. The package mpmath is required (``pip install polhode[referee]``).

    Parameters
    ----------
    problem : Problem
        Body, state and force. Its numbers are taken as they are, without rounding: moments and principal axes of the
        body, the state, parameters, and numbers within functions. Expressions of numbers alone that Python evaluates,
        such as ``1 / 3``, are what Python returns.
    t : array_like, shape () or (k,)
        Times, in any order, before or after ``problem.t_span[0]``, at which the state of the problem is given.
    digits : int, optional
        Number of digits, from 15 to 1000: of q, and of m relative to its size. The default is 50.
    max_step : float, optional
        Upper bound on the step length. By default, torques that depend on t are sampled as with `Taylor`, so that no
        step passes over a short pulse.

    Returns
    -------
    ReferenceStates
        Times ``t``, angular momenta ``m`` of shape t.shape + batch + (3,), and unit quaternions ``q`` of shape
        t.shape + batch + (4,), as arrays of ``mpmath.mpf``.

    Raises
    ------
    InputError
        If the torque cannot be traced, or an argument is not valid.
    TimeError
        If a time is not finite.
    PolhodeError
        If the torque or its derivatives are not finite on the way, or if the motion loses too many digits.
    MissingExtraError
        If mpmath is not installed.

    Examples
    --------
    >>> import polhode as ph
    >>> top = ph.Problem((1.0, 2.0, 3.0), ph.State((0.0, 0.5, 1.0)), ph.forces.gravity(1.0, (0, 0, 1)))
    >>> states = ph.referee(top, 1.0, digits=30)
    >>> from mpmath import nstr
    >>> [nstr(x, 25) for x in states.m]
    ['-0.08903096731448400347733667', '0.5994505049094183412548427', '1.011848044661631220990797']
    """
    times = as_floats(t, "t", units=problem.units)
    if times.ndim > 1 or not all_finite(times):
        raise TimeError(f"t = {t!r}: expected finite times, one or an array of shape (k,)")
    digits = whole_number(digits, "digits", LEAST_DIGITS)
    if digits > MOST_DIGITS:
        raise InputError(f"digits = {digits}: expected {LEAST_DIGITS} to {MOST_DIGITS}")
    if reason := problem.force.why_not_traced:
        raise InputError(f"{problem.force!r} cannot be expanded in a Taylor series: {reason}")
    bodies = Bodies(problem, np.atleast_1d(times), max_step)
    found = [bodies.states(i, digits) for i in range(problem.rows.count)]
    m, q = (np.array([body[k] for body in found], dtype=object) for k in range(2))
    shape = *times.shape, *problem.rows.batch
    return ReferenceStates(times, _arranged(m, shape), _arranged(q, shape))


def _check_smooth(force: Force, trace: Trace) -> None:
    """Raise InputError if the torque bends somewhere: steps of many digits are not verified."""
    for i in trace.graph.used(trace.torque):
        operation, arguments, _ = trace.graph.nodes[i]
        if operation == "sign":
            raise InputError(
                f"{force!r} bends where {trace.graph.text(arguments[0])} is 0, because of abs or sqrt(x*x); expected a "
                "smooth torque; type integrate(problem, method=Taylor()), which ends a step there"
            )


def _arranged(x: Any, shape: tuple[int, ...]) -> Any:
    """Return an array (bodies, times, n) with the shape (*shape, n)."""
    return np.moveaxis(x, 0, 1).reshape(*shape, x.shape[-1])


class Bodies:
    """The bodies of a problem, each as it enters the equations of motion."""

    def __init__(self, problem: Problem, times: FloatArray, max_step: float | None) -> None:
        body, force, batch = problem.body, problem.force, problem.rows.batch
        count = problem.rows.count

        def rows(array: FloatArray, *shape: int) -> FloatArray:
            return np.broadcast_to(array, (*batch, *shape)).reshape(count, *shape)

        self.times = times
        self.start = problem.t_span[0]
        self.moments = rows(flow_moments(body), 3)
        self.axes = rows(from_matrix(body.axes), 4)
        self.m, self.q = rows(problem.state.m, 3), rows(problem.state.q, 4)
        self.damping = rows(force.damping * ACROSS if body.is_linear else force.damping, 3, 3)
        self.params = rows(force.params, force.params.shape[-1])
        trace = exact_trace(force)
        _check_smooth(force, trace)
        self.equations = equations(
            trace.graph, trace.torque, not body.is_principal, "full" if force.is_damped else "none"
        )
        self._longest = max_step
        self._structure = problem.rows.structure

    def longest(self, i: int, end: float) -> float:
        """Return the longest step of body i on the way to a time."""
        if self._longest is not None:
            return self._longest
        return float(self._structure((self.start, end)).longest[i if len(self.params) > 1 else 0])

    def states(self, i: int, digits: int) -> tuple[list[Any], list[Any]]:
        """Return the states (m, q) of body i at all times, to so many digits."""
        with optional("mpmath", "referee"):
            from mpmath import mp

        precision = digits + MORE
        while precision <= 2 * MOST_DIGITS:
            with mp.workdps(precision + MORE + BEYOND):
                runs = [Motion(self, i, precision + more).states(self.times) for more in (0, BEYOND)]
                lost = digits + _log10(_difference(*runs))
            if lost <= 0:
                with mp.workdps(digits + MORE):
                    return [[+x for x in m] for m, _ in runs[1]], [[+x for x in q] for _, q in runs[1]]
            precision += ceil(lost) + MORE
        raise PolhodeError(
            f"the motion loses more than {MOST_DIGITS} digits until t = {self.times.max()}; a shorter time loses fewer"
        )


def _difference(one: list[Any], other: list[Any]) -> Any:
    """Return the largest difference of states (m, q): of q, and of m relative to the largest component."""
    from mpmath import mp

    largest = mp.zero
    for (m1, q1), (m2, q2) in zip(one, other, strict=True):
        size = max(map(abs, m2)) or mp.one
        largest = max(largest, *(abs(x - y) / size for x, y in zip(m1, m2, strict=True)))
        largest = max(largest, *(abs(x - y) for x, y in zip(q1, q2, strict=True)))
    return largest


def _log10(x: Any) -> float:
    """Return the logarithm of a number, and minus infinity for 0."""
    from mpmath import mp

    return float(mp.log10(x)) if x else -inf


class Motion:
    """The motion of one body, with a tolerance of so many digits per step, in the present precision of mpmath."""

    def __init__(self, bodies: Bodies, i: int, digits: int) -> None:
        from mpmath import mp, mpf

        self._mp = mp
        self._bodies, self._i = bodies, i
        self._tolerance = mpf(10) ** -digits
        self._order = ceil(1.0 + digits * log(10.0) / 2.0)  # Jorba and Zou, Exp. Math. 14 (2005) 99-117, (11)
        functions = {name: getattr(mp, name) for name in (*FUNCTIONS, "atan2")}
        self._functions = {
            **functions,
            "power": lambda x, r: mpf(x) ** r,
            "divide": lambda x, y: mpf(x) / y,
            "dot": mp.fdot,
        }
        self._I = [mpf(x) for x in bodies.moments[i].tolist()]
        self._turn = self._unit([mpf(x) for x in bodies.axes[i].tolist()])
        self._constants = self._constant_inputs()

    def states(self, times: FloatArray) -> list[tuple[list[Any], list[Any]]]:
        """Return the states (m, q) at times in any order, in the body axes of the user."""
        ordered = sorted(set(times.tolist()))
        later = [t for t in ordered if t >= self._bodies.start]
        earlier = [t for t in reversed(ordered) if t < self._bodies.start]
        found = {t: state for part in (later, earlier) for t, state in zip(part, self._one_way(part), strict=True)}
        return [found[t] for t in times.tolist()]

    def _one_way(self, times: list[float]) -> Iterator[tuple[list[Any], list[Any]]]:
        """Yield the states at times that go away from the start."""
        mp, mpf, bodies, i = self._mp, self._mp.mpf, self._bodies, self._i
        if not times:
            return
        axes = self._matrix()
        m = [mp.fsum(axes[k][j] * mpf(x) for k, x in enumerate(bodies.m[i].tolist())) for j in range(3)]
        q = list(product(self._unit([mpf(x) for x in bodies.q[i].tolist()]), self._turn))
        t, end = mpf(bodies.start), mpf(times[-1])
        longest = bodies.longest(i, times[-1]) if end != t else inf
        waiting = list(times)
        while waiting:
            coefficients = self._series(t, m, q)
            length = min(self._length(coefficients), mpf(longest), abs(end - t))
            right = end if length == abs(end - t) else t + mp.sign(end - t) * length
            while waiting and abs(waiting[0] - t) <= abs(right - t):
                yield self._to_user(*self._evaluated(coefficients, waiting.pop(0) - t))
            m, q = self._evaluated(coefficients, right - t)
            t = right

    def _series(self, t: Any, m: list[Any], q: list[Any]) -> Series:
        """Return the Taylor coefficients at a state in principal axes."""
        inputs = {"t": t, **{f"q{k}": q[k] for k in range(4)}, **{f"u{k}": m[k] / (2 * self._I[k]) for k in range(3)}}
        try:
            found = series(
                self._bodies.equations, {**inputs, **self._constants}, self._mp.one, self._order, self._functions
            )
        except (ZeroDivisionError, ValueError):
            found = None
        if found is None or not all(self._is_real(x) for x in (*found.q[-1], *found.u[-1])):
            raise PolhodeError(
                f"the torque, or one of its derivatives, is not finite at t = {self._mp.nstr(t, 17)}: "
                "there is no Taylor series"
            )
        return found

    def _is_real(self, x: Any) -> bool:
        """Return whether x is a real number."""
        return isinstance(x, self._mp.mpf) and bool(self._mp.isfinite(x))

    def _length(self, found: Series) -> Any:
        """Return the length of a step: its terms of the last two orders are as small as the tolerance.

        Scales are 1 for q, and for m the largest term of the first four orders, as in ``kernels.stepping.taylor``.
        """
        sizes = [max(abs(self._I[k] * u[k]) for k in range(3)) for u in found.u]
        length = self._shortest([max(map(abs, q)) for q in found.q], self._mp.one)
        radius = length if length < self._mp.inf else self._mp.one
        scale = max(size * radius**k for k, size in enumerate(sizes[:4]))
        return min(length, self._shortest(sizes, scale))

    def _shortest(self, sizes: list[Any], scale: Any) -> Any:
        """Return the time in which the terms of the last two orders, of these sizes, reach the tolerance."""
        P = self._order
        lengths = [(self._tolerance * scale / sizes[j]) ** (self._mp.one / j) for j in (P - 1, P) if sizes[j] and scale]
        return min(lengths, default=self._mp.inf)

    def _evaluated(self, found: Series, x: Any) -> tuple[list[Any], list[Any]]:
        """Return the state (m, q) after the time x, in principal axes."""
        q, u = _polynomials(found.q, x), _polynomials(found.u, x)
        return [2 * self._I[k] * u[k] for k in range(3)], self._unit(q)

    def _to_user(self, m: list[Any], q: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return a state in the body axes of the user."""
        axes = self._matrix()
        a, b, c, d = self._turn
        return [self._mp.fsum(axes[k][j] * m[j] for j in range(3)) for k in range(3)], list(product(q, [a, -b, -c, -d]))

    def _constant_inputs(self) -> dict[str, Any]:
        """Return the inputs of the equations that do not change, for units of time and inertia of 1."""
        mpf, I, axes = self._mp.mpf, self._I, self._matrix()
        D = [[mpf(x) for x in row] for row in self._bodies.damping[self._i].tolist()]
        constants = {"crate": mpf(2), "cscale": mpf(0.5)}
        for i in range(3):
            constants |= {f"cgyro{i}": 2 * (I[i - 2] - I[i - 1]), f"ckick{i}": 1 / I[i]}
            for j in range(3):
                turned = self._mp.fsum(axes[k][i] * D[k][l] * axes[l][j] for k in range(3) for l in range(3))
                constants |= {f"caxis{i}{j}": axes[i][j], f"cdrag{i}{j}": turned}
        return constants | {f"p{k}": mpf(x) for k, x in enumerate(self._bodies.params[self._i].tolist())}

    def _unit(self, q: list[Any]) -> list[Any]:
        """Return a quaternion divided by its length."""
        length = self._mp.sqrt(self._mp.fsum(x * x for x in q))
        return [x / length for x in q]

    def _matrix(self) -> list[list[Any]]:
        """Return the matrix whose columns are the principal axes, in body axes of the user."""
        a, b, c, d = self._turn
        return [
            [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d],
        ]


def _polynomials(rows: list[tuple[Any, ...]], x: Any) -> list[Any]:
    """Return the values of polynomials at x, from rows with their coefficients of each order."""
    values = list(rows[-1])
    for row in reversed(rows[:-1]):
        values = [coefficient + x * value for coefficient, value in zip(row, values, strict=True)]
    return values
