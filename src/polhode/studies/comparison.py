"""Work-precision diagrams: the errors and the cost of several methods on one problem."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from polhode.core.checks import as_floats
from polhode.core.errors import MethodWarning, RunError, ShapeError
from polhode.core.extras import optional
from polhode.core.html import html_rows
from polhode.core.state import State
from polhode.integration.problem import Problem
from polhode.methods import as_method
from polhode.methods.adaptive import Adaptive
from polhode.methods.method import Method
from polhode.solve import integrate

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from polhode.methods import MethodLike

FINEST = 1e-13  # tolerance of a reference solution by ``Adaptive``
FINER = 4  # ratio of the shortest step compared to that of the reference solution
HEADER = ("method", "h", "error m", "error q", "torques", "ms")


class MethodRun(NamedTuple):
    """The result of one method with one step size.

    Attributes
    ----------
    method : method
        The method.
    h : float
        Step size.
    error_m, error_q : float
        Errors at the end, of m relative to |m| and of q; NaN if the run failed.
    torques : int
        Number of evaluations of the torque.
    seconds : float
        Run time.
    """

    method: Method
    h: float
    error_m: float
    error_q: float
    torques: int
    seconds: float


@dataclass(frozen=True)
class WorkPrecision:
    """The result of ``work_precision``.

    Attributes
    ----------
    problem : str
        The problem.
    runs : tuple of Run
        One entry for each method and step size. The errors of a run that failed are NaN.

    Examples
    --------
    >>> from polhode import problems
    >>> result = work_precision(problems.heavy_top(), ["V2"], h=(0.5, 0.25))
    >>> [run.torques for run in result.runs]
    [40, 80]
    """

    problem: str
    runs: tuple[MethodRun, ...]

    def of(self, method: MethodLike) -> tuple[MethodRun, ...]:
        """Return the runs of one method, given by its name or as an object."""
        wanted = as_method(method)
        return tuple(run for run in self.runs if run.method == wanted)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dict of plain numbers and lists."""
        return {"problem": self.problem, "runs": self._rows()}

    def to_pandas(self) -> DataFrame:
        """Return a ``pandas.DataFrame`` with one row for each run."""
        with optional("pandas", "store"):
            import pandas
        return pandas.DataFrame(self._rows(), columns=MethodRun._fields)

    def plot(self) -> Figure:
        """Plot the errors over torques and seconds; see ``polhode.plot.plot_work_precision``."""
        from polhode.show.plot import plot_work_precision

        return plot_work_precision(self)

    def _rows(self) -> list[dict[str, Any]]:
        """Return the runs as dicts, with the methods as text."""
        return [run._asdict() | {"method": repr(run.method)} for run in self.runs]

    def _cells(self) -> list[tuple[str, ...]]:
        """Return the rows of the table as text, with the columns of ``HEADER``."""
        return [
            (repr(method), f"{h:.4g}", f"{error_m:.1e}", f"{error_q:.1e}", f"{torques}", f"{1e3 * seconds:.3g}")
            for method, h, error_m, error_q, torques, seconds in self.runs
        ]

    def __str__(self) -> str:
        """Return the problem and a table with one row for each run."""
        width = max(len(repr(run.method)) for run in self.runs)
        row = f"{{:{width}}} {{:>10}} {{:>9}} {{:>9}} {{:>9}} {{:>9}}"
        return "\n".join([self.problem, *(row.format(*cells) for cells in (HEADER, *self._cells()))])

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        return html_rows(self.problem, HEADER, self._cells())


def work_precision(
    problem: Problem,
    methods: Sequence[MethodLike],
    h: npt.ArrayLike,
    *,
    reference: State | None = None,
) -> WorkPrecision:
    """Measure the errors at the end of the time span, and their cost, for every method and every step size.

    Parameters
    ----------
    problem : Problem
        A problem with one body and one state.
    methods : sequence
        Methods, as accepted by ``integrate``. ``Adaptive(rtol)`` chooses its own steps and is run once; to compare
        several tolerances, list it once for each of them.
    h : array_like, shape (k,)
        Step sizes.
    reference : State, optional
        Exact state at the end. By default it is that of ``problem.truth``, if there is one. Otherwise it is computed by
        a scheme of order 8 or 10 with steps four times shorter than the shortest of ``h``, or by ``Adaptive`` if the
        torque depends on the angular velocity.

    Returns
    -------
    WorkPrecision
        Errors, number of torque evaluations and run time of every run.

    Raises
    ------
    ShapeError
        If the problem is that of a batch, or ``h`` is not one-dimensional or empty.

    Examples
    --------
    >>> from polhode import forces
    >>> top = Problem((1.0, 1.5, 2.0), State(m=(0.3, 0.2, 0.9)), forces.gravity(0.1, (0, 0, 1)), (0, 10))
    >>> result = work_precision(top, ["V2", "RKN6_14a"], h=(0.5, 0.25))
    >>> [f"{run.error_q:.0e}" for run in result.of("V2")]
    ['6e-04', '1e-04']
    """
    if problem.body.batch or problem.state.batch:
        raise ShapeError("work_precision: expected one body and one state, not a batch")
    lengths = as_floats(h, "h", units=problem.units)
    if lengths.ndim != 1 or len(lengths) == 0:
        raise ShapeError(f"h has shape {lengths.shape}; expected steps of shape (k,), such as h=(0.1, 0.05)")
    resolved_methods = [as_method(method) for method in methods]
    truth = reference or problem.truth.get(problem.t_span[1]) or _reference(problem, float(lengths.min()))
    runs = []
    for method in resolved_methods:
        # The first run compiles the method or loads it from the cache; this is not part of its run time.
        _run(problem, method, None if method.chooses_steps else abs(problem.duration), truth)
        steps: list[float | None] = [None] if method.chooses_steps else lengths.tolist()
        runs += [_run(problem, method, step, truth) for step in steps]
    return WorkPrecision(repr(problem), tuple(runs))


def _reference(problem: Problem, shortest: float) -> State:
    """Compute a reference for the state at the end, given the shortest step size of the comparison."""
    force = problem.force
    if force.velocity_dependent:  # kicks are then iterative, and most schemes are of order 2
        return integrate(problem, method=Adaptive(FINEST)).state()
    scheme = "SS10_35" if force.is_damped else "RKN8_19"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MethodWarning)  # the steps are short, so that negative kicks are harmless
        return integrate(problem, h=shortest / FINER, method=scheme, save_every=2**40).state()


def _run(problem: Problem, method: Method, h: float | None, truth: State) -> MethodRun:
    """Run one method with one step size (None: its own steps) and compare its final state with ``truth``."""
    try:
        run = integrate(problem, h=h, method=method, save_every=2**40)
    except RunError as error:
        stats = error.trajectory.stats
        return MethodRun(method, h or np.nan, np.nan, np.nan, stats.torques, stats.seconds)
    end: State = run.state()
    error_m = float(np.linalg.norm(end.m - truth.m)) / (float(np.linalg.norm(truth.m)) or 1.0)
    error_q = min(float(np.linalg.norm(end.q - sign * truth.q)) for sign in (1, -1))
    return MethodRun(method, run.h, error_m, error_q, run.stats.torques, run.stats.seconds)
