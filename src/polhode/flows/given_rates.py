"""The attitude of a body whose angular velocity is given as a function of time, or as samples of a gyroscope.

The equation is Q' = Q hat(w(t)), or q' = q (0, w(t))/2, with w in body axes. Each step is one exponential of the Magnus
series of w at Gauss nodes, as in ``magnus`` (E. Gustafsson's thesis, 2010, section 3): q(t + h) = q(t) exp(Gamma).
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.capacity import memory_for
from polhode.core.checks import IDENTITY, as_floats, check_finite, common_batch, positive_number
from polhode.core.errors import InputError, ShapeError, TimeError
from polhode.core.rotation import as_quaternion, as_rotation
from polhode.core.threads import in_ranges
from polhode.flows.magnus import FIELDS, ORDERS, exponent, half_angle, series_parameters
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.numbers.exponential import turned, unit
from polhode.kernels.numbers.vectors import plus, times

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

NODES = 4  # index of the first node in the parameters of the series
PIECE = 2**14  # steps for which the rates are evaluated at a time
SAME = 1e-12  # largest relative difference of rates computed together or one by one
ROUNDED = 1.0 - 1e-12  # a span of 10.000000000000002 steps has 10 of them
FEWER_TIMES = "pass t_eval, the times at which attitudes are needed"

Rates = Callable[[FloatArray], FloatArray]  # times (n,) -> angular velocities (n,) + batch + (3,)


class Attitudes(NamedTuple):
    """Attitudes at several times, the result of ``attitude_from_rates``: ``t, q = attitude_from_rates(...)``.

    Attributes
    ----------
    t : ndarray, shape (n,)
        Times.
    q : ndarray, shape (n,) + batch + (4,)
        Unit quaternions, scalar first, body to space, continuous in time.

    Examples
    --------
    >>> attitude_from_rates(lambda t: (0.0, 0.0, 1.0), (0.0, 1.0), h=0.25).t
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """

    t: FloatArray
    q: FloatArray

    @property
    def rotation(self) -> Rotation:
        """The attitudes of one body as a SciPy Rotation."""
        return as_rotation(self.q)


def attitude_from_rates(
    w: Any,
    t_span: npt.ArrayLike | None = None,
    q0: Any = IDENTITY,
    *,
    order: int = 4,
    h: float | None = None,
    t_eval: npt.ArrayLike | None = None,
) -> Attitudes:
    """Return the attitude of a body with a given angular velocity, Q' = Q hat(w(t)), by a Magnus method.

    Parameters
    ----------
    w : callable, or pair (times, rates)
        Angular velocity in body axes. A function ``w(t)`` returns an array of shape (..., 3), where leading axes are a
        batch; if it accepts an array of times (n,) and returns (n, ..., 3), it is called for many times at once.
        Samples are increasing times (n,) and rates (n, ..., 3). Between them, w is the polynomial through the ``order``
        nearest samples.
    t_span : pair of float, optional
        First and last time, in either order. For samples, the default is their first and last time, and ``t_span`` must
        not exceed them.
    q0 : array_like of shape (..., 4) or scipy.spatial.transform.Rotation, optional
        Attitude at the first time, scalar first, body to space. The default is the identity.
    order : int, optional
        Order of the method, 2, 4, 6 or 8. The default is 4.
    h : float, optional
        Longest step. Steps of equal length are chosen between the times of ``t_span``, ``t_eval`` and samples. It is
        required for a function; for samples, the default is one step from each sample to the next.
    t_eval : array_like of shape (k,), optional
        Times at which attitudes are returned, from the first time to the last. The default is the ends of all steps.

    Returns
    -------
    Attitudes
        Named tuple of the times ``t``, shape (k,), and the quaternions ``q``, shape (k, ..., 4).

    Raises
    ------
    TimeError
        If the times are not finite or not in order, or if a step turns a body by a full turn or more, so that the
        series does not converge (abs(Gamma) >= pi).
    InputError
        If ``order`` is not one of the above, ``h`` is missing, or a rate is not finite.
    ShapeError
        If the rates do not have shape (..., 3), or do not broadcast with ``q0``.

    Examples
    --------
    >>> t, q = attitude_from_rates(lambda t: (0.0, 0.0, 2 * t), (0.0, np.sqrt(np.pi)), h=0.1)
    >>> q[-1].round(12) + 0.0
    array([0., 0., 0., 1.])

    Samples of a gyroscope, every 0.1 s:

    >>> times = np.arange(11) / 10
    >>> rates = np.outer(np.cos(times), (0.0, 0.0, 1.0))
    >>> t, q = attitude_from_rates((times, rates))
    >>> bool(abs(2 * np.arctan2(q[-1, 3], q[-1, 0]) - np.sin(1.0)) < 1e-6)
    True
    """
    if order not in ORDERS:
        raise InputError(f"order = {order!r}; expected one of {', '.join(map(str, ORDERS))}")
    order = int(order)  # 4.0 is one of them, too
    rates, corners = _samples(w, t_span, order) if _is_pair(w) else _function(w, t_span)
    outputs = _output_times(t_eval, corners)
    edges, kept = _steps(corners, outputs, h if h is None else positive_number(h, "h"), _is_pair(w))
    start = as_quaternion(q0, "q0")
    batch = common_batch(w=rates(edges[:1]).shape[1:-1], q0=start.shape[:-1])
    q = np.ascontiguousarray(np.broadcast_to(start, (*batch, 4)).reshape(-1, 4)).copy()
    with memory_for(f"{len(kept)} attitudes", 8.0 * len(kept) * q.size, FEWER_TIMES):
        result = np.empty((len(kept), *q.shape))
    _integrate(rates, order, edges, kept, batch, q, result)
    return Attitudes(edges[kept], result.reshape(len(kept), *batch, 4))


def _is_pair(w: Any) -> bool:
    """Return whether ``w`` is a pair (times, rates); raise InputError if it is neither this nor a function."""
    if callable(w):
        return False
    if isinstance(w, tuple | list) and len(w) == 2:
        return True
    raise InputError(
        f"w is of type {type(w).__name__}; expected a function of time, or a pair (times, rates) of samples"
    )


def _function(w: Callable[..., Any], t_span: Any) -> tuple[Rates, FloatArray]:
    """Return a function of the user as one of many times, and the times of ``t_span``."""
    if t_span is None:
        raise InputError("t_span is missing; with a function w(t), type t_span=(first, last)")
    corners = _span(t_span)

    def one_by_one(t: FloatArray) -> FloatArray:
        return _as_rates(np.array([np.asarray(w(float(x)), dtype=np.float64) for x in t]), t)

    ends = one_by_one(corners)
    try:
        together = np.asarray(w(corners.copy()), dtype=np.float64)
    except (TypeError, ValueError):  # it accepts single numbers only
        return one_by_one, corners
    if together.shape != ends.shape or np.abs(together - ends).max() > SAME * np.abs(ends).max():
        return one_by_one, corners
    return (lambda t: _as_rates(np.asarray(w(t), dtype=np.float64), t)), corners


def _as_rates(values: FloatArray, t: FloatArray) -> FloatArray:
    """Return angular velocities at the times ``t``; raise an error unless they are finite, of shape (n, ..., 3)."""
    if values.ndim < 2 or values.shape[-1] != 3:
        raise ShapeError(f"w(t) has shape {values.shape[1:]}; expected (..., 3), components on the last axis")
    good = np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
    if not good.all():
        raise InputError(f"w is not finite at t = {float(t[np.argmin(good)]):.9g}; expected three numbers")
    return values


def _span(t_span: Any) -> FloatArray:
    """Return the first and the last time as an array."""
    span = as_floats(t_span, "t_span")
    if span.shape != (2,):
        raise ShapeError(f"t_span has shape {span.shape}; expected the first and the last time")
    check_finite(span, "t_span", TimeError)
    return span


def _samples(w: Any, t_span: Any, order: int) -> tuple[Rates, FloatArray]:
    """Return the function between samples, and the times of samples within ``t_span``, in its direction."""
    times, rows = as_floats(w[0], "times"), as_floats(w[1], "rates", 3)
    if times.ndim != 1 or rows.ndim < 2 or len(rows) != len(times):
        raise ShapeError(f"times has shape {times.shape}, rates {rows.shape}; expected (n,) and (n, ..., 3)")
    check_finite(times, "times", TimeError)
    if len(times) < order:
        raise InputError(f"got {len(times)} samples; order {order} expected {order} or more; use a lower order")
    if not (np.diff(times) > 0).all():
        i = int(np.argmin(np.diff(times) > 0))
        raise TimeError(f"times[{i}] = {times[i]:.9g}, times[{i + 1}] = {times[i + 1]:.9g}; expected increasing times")
    span = times[[0, -1]] if t_span is None else _span(t_span)
    low, high = min(span), max(span)
    if low < times[0] or high > times[-1]:
        raise TimeError(
            f"t_span = ({span[0]:.9g}, {span[1]:.9g}); expected times within the samples, from {times[0]:.9g} to "
            f"{times[-1]:.9g}"
        )
    _as_rates(rows, times)
    corners = np.unique([low, high, *times[(times > low) & (times < high)]])
    return (lambda t: _interpolated(times, rows, order, t)), corners if span[0] <= span[1] else corners[::-1]


def _interpolated(times: FloatArray, rows: FloatArray, points: int, t: FloatArray) -> FloatArray:
    """Return the values at ``t`` of the polynomials through the nearest ``points`` samples, by Lagrange's formula."""
    interval = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
    first = np.clip(interval - (points // 2 - 1), 0, len(times) - points)
    x = times[first[:, None] + np.arange(points)]
    total = np.zeros((len(t), *rows.shape[1:]))
    for j in range(points):
        others = [k for k in range(points) if k != j]
        weight = np.prod((t[:, None] - x[:, others]) / (x[:, [j]] - x[:, others]), axis=1)
        total += weight.reshape(-1, *[1] * (rows.ndim - 1)) * rows[first + j]
    return total


def _output_times(t_eval: Any, corners: FloatArray) -> FloatArray | None:
    """Return ``t_eval`` as an array; raise TimeError unless its times are in order, within the span."""
    if t_eval is None:
        return None
    outputs = as_floats(t_eval, "t_eval")
    if outputs.ndim != 1:
        raise ShapeError(f"t_eval has shape {outputs.shape}; expected (k,)")
    check_finite(outputs, "t_eval", TimeError)
    sign = -1.0 if corners[-1] < corners[0] else 1.0
    inside = (sign * outputs >= sign * corners[0]) & (sign * outputs <= sign * corners[-1])
    if not (inside.all() and (sign * np.diff(outputs) > 0).all()):
        raise TimeError(
            f"t_eval is not in order, or not within t_span; expected times from {corners[0]:.9g} to {corners[-1]:.9g}"
        )
    return outputs


def _steps(
    corners: FloatArray, outputs: FloatArray | None, h: float | None, sampled: bool
) -> tuple[FloatArray, IntArray]:
    """Return the ends of all steps, and the indices of those at which attitudes are returned."""
    if h is None and not sampled:
        raise InputError("h is missing; with a function w(t), type h=..., the length of a step")
    sign = -1.0 if corners[-1] < corners[0] else 1.0
    stops = sign * np.unique(sign * np.concatenate([corners, [] if outputs is None else outputs]))
    lengths = np.abs(np.diff(stops))
    counts = np.ones(len(lengths), np.int64) if h is None else np.ceil(ROUNDED * lengths / h).clip(1).astype(np.int64)
    total = int(counts.sum())
    with memory_for(f"the times of {total} steps", 32.0 * total, "choose a larger h"):
        first = np.cumsum(counts) - counts
        part = (np.arange(total) - np.repeat(first, counts)) / np.repeat(counts, counts)
        edges = np.append(np.repeat(stops[:-1], counts) + part * np.repeat(np.diff(stops), counts), stops[-1])
    if outputs is None:
        return edges, np.arange(len(edges))
    where = np.append(first, total)
    return edges, where[np.searchsorted(sign * stops, sign * outputs)]


def _integrate(
    rates: Rates,
    order: int,
    edges: FloatArray,
    kept: IntArray,
    batch: tuple[int, ...],
    q: FloatArray,
    result: FloatArray,
) -> None:
    """Take all steps from q (bodies, 4), in pieces, and write the attitudes that are returned to ``result``."""
    parameters = np.array([float(x) for x in series_parameters(order)])
    nodes = parameters[NODES::FIELDS]
    done = np.searchsorted(kept, 0, side="right")
    result[:done] = q
    for first in range(0, len(edges) - 1, PIECE):
        last = min(first + PIECE, len(edges) - 1)
        h = np.diff(edges[first : last + 1])
        t = (edges[first:last, None] + nodes * h[:, None]).reshape(-1)
        w = _for_batch(rates(t), batch).reshape(len(h), len(nodes), len(q), 3)
        out, bad = _take_steps(parameters, h, w, q)
        if bad < NOBODY:
            step, body = divmod(bad, len(q))
            _explain(edges[first + step : first + step + 2], body, batch)
        stop = np.searchsorted(kept, last, side="right")
        result[done:stop] = out[kept[done:stop] - first - 1]
        done = stop


def _take_steps(parameters: FloatArray, h: FloatArray, w: FloatArray, q: FloatArray) -> tuple[FloatArray, int]:
    """Return the attitudes after each step, and the result of ``magnus_steps``; q is changed in place."""
    out = np.empty((len(h), *q.shape))

    def work(start: int, stop: int) -> int:
        return int(magnus_steps(parameters, h, w, start, stop, q, out))

    return out, in_ranges(work, len(q), len(h))


def _for_batch(values: FloatArray, batch: tuple[int, ...]) -> FloatArray:
    """Return rates (n, ..., 3) as an array of shape (n,) + batch + (3,) in C order."""
    missing = [1] * (len(batch) + 2 - values.ndim)
    values = values.reshape(len(values), *missing, *values.shape[1:])
    return np.require(np.broadcast_to(values, (len(values), *batch, 3)), requirements=["C", "W"])


def _explain(step: FloatArray, body: int, batch: tuple[int, ...]) -> None:
    """Raise the error for a step that is too long."""
    index = ", ".join(str(int(i)) for i in np.unravel_index(body, batch)) if batch else ""
    name = f"body [{index}]" if batch else "the body"
    raise TimeError(
        f"the step from t = {step[0]:.9g} to {step[1]:.9g} turns {name} by a full turn or more (|Gamma| >= pi), and "
        "the series does not converge; expected a shorter h, or more frequent samples"
    )


@entry_point("i8(f8[::1], f8[::1], f8[:,:,:,::1], i8, i8, f8[:,::1], f8[:,:,::1])")
def magnus_steps(parameters, h, w, start, stop, q, out):
    """Take the steps h of bodies ``start`` to ``stop`` with given rates.

    Parameters
    ----------
    parameters : array
        Order, PARTS, nodes and coefficients of ``magnus.series_parameters``.
    h : array, shape (steps,)
        Lengths of the steps, of either sign.
    w : array, shape (steps, nodes, bodies, 3)
        Angular velocities at the nodes of each step.
    start, stop : int
        The bodies.
    q : array, shape (bodies, 4)
        Attitudes at the beginning; at the end on return.
    out : array, shape (steps, bodies, 4)
        Output: attitudes after each step.

    Returns
    -------
    int
        step * bodies + body of the first step that is too long, or NOBODY.
    """
    bodies = q.shape[0]
    failed = NOBODY
    zero = 0.0, 0.0, 0.0
    for i in range(start, stop):
        attitude = float(q[i, 0]), float(q[i, 1]), float(q[i, 2]), float(q[i, 3])
        for n in range(h.shape[0]):
            a1, a2, a3, a4 = zero, zero, zero, zero
            for j in range(w.shape[1]):
                k = NODES + FIELDS * j
                W = times(-h[n], (float(w[n, j, i, 0]), float(w[n, j, i, 1]), float(w[n, j, i, 2])))
                a1, a2 = plus(a1, parameters[k + 1], W), plus(a2, parameters[k + 2], W)
                a3, a4 = plus(a3, parameters[k + 3], W), plus(a4, parameters[k + 4], W)
            v = times(-1.0, exponent(parameters, 0, a1, a2, a3, a4))
            f, cosine, angle = half_angle(v)
            if not 0.5 * angle < pi:
                failed = min(failed, n * bodies + i)
                break
            attitude = unit(turned(attitude, cosine, f, v))
            out[n, i, 0], out[n, i, 1], out[n, i, 2], out[n, i, 3] = attitude
        q[i, 0], q[i, 1], q[i, 2], q[i, 3] = attitude
    return failed
