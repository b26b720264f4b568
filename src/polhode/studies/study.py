"""Convergence studies of flows: the error as a function of the step size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite, log, nan, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody, as_body
from polhode.core.checks import as_floats
from polhode.core.errors import InputError, MomentumError, ShapeError, StepError, TimeError
from polhode.core.extras import optional
from polhode.core.html import html_rows
from polhode.core.messages import Hint
from polhode.core.state import State
from polhode.flows.flow import Flow
from polhode.free.propagation import propagate

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

LARGEST_ERROR = 1e-2  # of the first step size of a study that chooses its own
ROUND_OFF = (
    64 * 2.0**-53
)  # times the square root of the number of steps: smaller errors contain no information on the order
LEAST_ROWS = 3
MOST_ROWS = 10
MOST_STEPS = 2**20  # of a study that chooses its own step sizes
MANY_STEPS = 1e9  # limit for any study: they take a minute or more
HEADER = ("h", "m", "order", "q", "order")
COLUMNS = ["h", "error_m", "order_m", "error_q", "order_q"]
LEAST_STEPS = 2  # step sizes that are required to observe an order


@dataclass(frozen=True, eq=False)
class OrderStudy:
    """The result of ``order_study``: errors of a flow for several step sizes, and the observed orders.

    Attributes
    ----------
    flow : str
        The flow.
    declared : int or None
        The order according to the record of the flow; None if the flow is exact.
    t : float
        Time at which the errors are measured.
    h : ndarray, shape (n,)
        Step sizes.
    error_m : ndarray, shape (n,)
        Errors of m relative to ``|m|``.
    error_q : ndarray, shape (n,)
        Errors of the attitude, independent of the sign of q.
    order_m, order_q : ndarray, shape (n - 1,)
        Orders observed between neighboring step sizes; NaN where an error is at the level of round-off.

    Examples
    --------
    >>> from polhode import Midpoint, State
    >>> study = order_study(Midpoint(), (1.0, 1.65, 1.97), State(m=(0.3, 0.2, 0.9)), t=10.0, h=(0.1, 0.05))
    >>> study.declared, study.order_q.round(1)
    (2, array([2.]))
    """

    flow: str
    declared: int | None
    t: float
    h: FloatArray
    error_m: FloatArray
    error_q: FloatArray
    order_m: FloatArray
    order_q: FloatArray

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dict of plain numbers and lists; unknown orders are None."""
        arrays = {name: getattr(self, name) for name in ("h", "error_m", "error_q", "order_m", "order_q")}
        lists = {name: [x if isfinite(x) else None for x in v.tolist()] for name, v in arrays.items()}
        return {"flow": self.flow, "declared": self.declared, "t": self.t, **lists}

    def to_pandas(self) -> DataFrame:
        """Return a ``pandas.DataFrame`` with one row for each step: h, errors, and orders (nan in the first row)."""
        with optional("pandas", "store"):
            import pandas
        return pandas.DataFrame(self._rows(), columns=COLUMNS)

    def plot(self) -> Figure:
        """Plot the errors over the step size; see ``polhode.plot.plot_order``."""
        from polhode.show.plot import plot_order

        return plot_order(self)

    def _rows(self) -> list[tuple[float, ...]]:
        """Return rows (h, error of m, its order, error of q, its order), with the orders relative to the row before."""
        orders = [(nan, nan), *zip(self.order_m.tolist(), self.order_q.tolist(), strict=True)]
        columns = (self.h.tolist(), self.error_m.tolist(), self.error_q.tolist(), orders)
        return [(h, m, of_m, q, of_q) for h, m, q, (of_m, of_q) in zip(*columns, strict=True)]

    def _title(self) -> str:
        """Return the title of the table."""
        declared = "exact" if self.declared is None else f"order {self.declared}"
        return f"{self.flow}, {declared}; errors at t = {self.t:g}"

    def _cells(self) -> list[tuple[str, ...]]:
        """Return the rows of the table as text, with the columns of ``HEADER``."""
        return [
            (f"{h:.6g}", f"{m:.1e}", _order(of_m), f"{q:.1e}", _order(of_q)) for h, m, of_m, q, of_q in self._rows()
        ]

    def __str__(self) -> str:
        """Return a table with one row for each step size."""
        lines = ["{:>12} {:>9} {:>6} {:>9} {:>6}".format(*cells).rstrip() for cells in (HEADER, *self._cells())]
        return "\n".join([self._title(), *lines])

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        return html_rows(self._title(), HEADER, self._cells())


def order_study(
    flow: Flow,
    body: RigidBody | npt.ArrayLike,
    state: State,
    t: float,
    h: Sequence[float] | FloatArray | None = None,
) -> OrderStudy:
    """Measure how the error of a flow decreases with its step size, compared with the exact motion of a free body.

    Parameters
    ----------
    flow : Flow
        The flow.
    body : RigidBody, or array_like of shape (3,) or (3, 3)
        The body, its principal moments or its inertia tensor.
    state : State
        Initial momentum and attitude.
    t : float
        Time at which the errors are measured. It may be negative.
    h : sequence of float, optional
        At least two positive step sizes, each of which is adjusted such that ``t`` is a whole number of steps. By
        default the step size is halved repeatedly, from one radian or an error of 1e-2 down to the level of round-off.

    Returns
    -------
    OrderStudy
        Errors and observed orders.

    Raises
    ------
    ShapeError
        If the body or the state is a batch, or ``h`` has fewer than two elements.
    MomentumError
        If the body is at rest.
    TimeError
        If ``t`` is 0 or not finite, or a step size is not positive.
    InputError
        If ``flow`` or ``state`` has the wrong type, or the step sizes do not give different numbers of steps.

    Examples
    --------
    >>> from polhode import NoSquish
    >>> print(order_study(NoSquish(), (1.0, 2.0, 3.0), State(m=(0.3, 0.2, 0.9)), t=8.0, h=(0.4, 0.2, 0.1)))
    NoSquish(), order 2; errors at t = 8
               h         m  order         q  order
             0.4   7.7e-03          3.9e-03
             0.2   1.9e-03   2.01   9.6e-04   2.01
             0.1   4.8e-04   2.00   2.4e-04   2.00
    """
    body = _one_body(flow, body, state)
    time = _time(t)
    exact = propagate(body, state.m, state.q, time)
    rows = (
        _default_rows(flow, body, state, time, exact)
        if h is None
        else [(n, *_errors(flow, body, state, time, n, exact)) for n in _numbers_of_steps(h, time)]
    )
    steps, error_m, error_q = (np.array(column, float) for column in zip(*rows, strict=True))
    lengths = np.abs(time) / steps
    return OrderStudy(
        repr(flow),
        flow.record.order,
        time,
        lengths,
        error_m,
        error_q,
        _orders(steps, error_m),
        _orders(steps, error_q),
    )


def _default_rows(
    flow: Flow, body: RigidBody, state: State, t: float, exact: tuple[FloatArray, FloatArray]
) -> list[tuple[int, float, float]]:
    """Return (number of steps, error of m, error of q) for step sizes that are halved down to round-off."""
    rows: list[tuple[int, float, float]] = []
    n = max(1, ceil(abs(t) * float(np.linalg.norm(body.omega(state.m)))))
    while len(rows) < MOST_ROWS and n <= MOST_STEPS:
        try:
            error_m, error_q = _errors(flow, body, state, t, n, exact)
        except StepError:  # too long a step for an implicit flow
            error_m = error_q = nan
        size = max(error_m, error_q)
        if size <= LARGEST_ERROR:
            if size < ROUND_OFF * sqrt(n) and len(rows) >= LEAST_ROWS:
                break
            rows.append((n, error_m, error_q))
        n *= 2
    if len(rows) < LEAST_STEPS:
        raise InputError(
            f"{flow!r}: fewer than two steps down to t/{MOST_STEPS} give errors at t = {t:g} below {LARGEST_ERROR:g}; "
            "expected a shorter t, or step sizes ",
            Hint("h=(...)", "--h ..."),
        )
    return rows


def _errors(
    flow: Flow, body: RigidBody, state: State, t: float, n: int, exact: tuple[FloatArray, FloatArray]
) -> tuple[float, float]:
    """Return the relative error of m and the error of q after n steps."""
    end = flow.step(body, state, t / n, n)
    m, q = exact
    error_q = min(float(np.linalg.norm(end.q - sign * q)) for sign in (1, -1))
    return float(np.linalg.norm(end.m - m) / np.linalg.norm(state.m)), error_q


def _orders(steps: FloatArray, errors: FloatArray) -> FloatArray:
    """Return the orders observed between neighbors; NaN unless both errors are above round-off."""
    significant = errors > ROUND_OFF * np.sqrt(steps)
    pairs = [(i, i + 1) for i in range(len(steps) - 1)]
    return np.array(
        [
            log(errors[i] / errors[j]) / log(steps[j] / steps[i]) if significant[i] and significant[j] else nan
            for i, j in pairs
        ]
    )


def _one_body(flow: Flow, body: RigidBody | npt.ArrayLike, state: State) -> RigidBody:
    """Return the body after validation of flow, body and state."""
    if not isinstance(flow, Flow):
        raise InputError(f"flow is {flow!r}; expected a flow, such as polhode.ThreeRotations()")
    if not isinstance(state, State):
        raise InputError(f"state is {state!r}; expected a State, such as polhode.State(m=(0.3, 0.2, 0.9))")
    body = as_body(body)
    if body.batch or state.batch:
        raise ShapeError(f"body {body.batch} and state {state.batch} are batches; expected one body and one state")
    if not state.m.any():
        raise MomentumError(
            "state.m = (0, 0, 0); expected an angular momentum other than 0: a body at rest has no errors"
        )
    return body


def _time(t: float) -> float:
    """Return ``t`` as a float; raise TimeError unless it is finite and not 0."""
    array = as_floats(t, "t")
    if array.shape or not np.isfinite(array) or array == 0:
        raise TimeError(f"t = {t!r}; expected one finite time other than 0")
    return float(array)


def _numbers_of_steps(h: Sequence[float] | FloatArray, t: float) -> list[int]:
    """Return the number of steps up to ``t`` for each of the step sizes ``h``."""
    lengths = as_floats(h, "h")
    if lengths.ndim != 1 or len(lengths) < LEAST_STEPS:
        raise ShapeError(
            f"h has shape {lengths.shape}; expected {LEAST_STEPS} steps or more, such as ",
            Hint("h=(0.2, 0.1, 0.05)", "--h 0.2 --h 0.1 --h 0.05"),
        )
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise TimeError(f"h = {lengths.tolist()}; expected positive and finite steps (their sign is that of t)")
    if not abs(t) <= MANY_STEPS * lengths.min():
        raise InputError(
            f"h = {lengths.min():g} gives more than {MANY_STEPS:g} steps up to t = {t:g}; expected longer steps"
        )
    numbers = [max(1, round(abs(t) / x)) for x in lengths.tolist()]
    if len(set(numbers)) < len(numbers):
        raise InputError(
            f"h = {lengths.tolist()} gives {numbers} steps up to t = {t:g}; expected different numbers: "
            "choose shorter steps, or a longer t"
        )
    return numbers


def _order(value: float) -> str:
    """Return an order as text, empty for NaN."""
    return f"{value:.2f}" if isfinite(value) else ""
