"""Figures of studies: the error as a function of the cost and of the step size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polhode.show.labels import GRAY
from polhode.show.plot.style import few_log_ticks, new_figure, series_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from polhode.studies.comparison import WorkPrecision
    from polhode.studies.study import OrderStudy


def plot_work_precision(found: WorkPrecision) -> Figure:
    """Plot the final error of q over torque evaluations and over computing time, with one curve for each method.

    Parameters
    ----------
    found : WorkPrecision
        Result of ``work_precision``.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from polhode import problems, work_precision
    >>> len(plot_work_precision(work_precision(problems.vilmart_top(), ["V2", "S4_6"], h=(0.1, 0.05))).axes)
    2
    """
    figure = new_figure(11, 5, found.problem)
    panels = figure.subplots(1, 2, sharey=True)
    for number, method in enumerate(dict.fromkeys(run.method for run in found.runs)):
        runs = [run for run in found.runs if run.method == method and np.isfinite(run.error_q)]
        for axes, cost in zip(panels, ("torques", "seconds"), strict=True):
            axes.loglog(
                [getattr(r, cost) for r in runs], [r.error_q for r in runs], label=repr(method), **series_style(number)
            )
    labels = {"torques": "torque evaluations", "seconds": "time of the computation [s]"}
    for axes, (cost, label) in zip(panels, labels.items(), strict=True):
        few_log_ticks(axes.xaxis, [getattr(run, cost) for run in found.runs])
        axes.set_xlabel(label)
        axes.grid(True, which="major", color="#E0E0E0", linewidth=0.6)
    panels[0].set_ylabel("error of q at the end")
    panels[0].legend(fontsize="small")
    return figure


def plot_order(study: OrderStudy) -> Figure:
    """Plot the errors of m and q over the step size, and a line of the declared order.

    Parameters
    ----------
    study : OrderStudy
        Result of ``order_study``.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Examples
    --------
    >>> from polhode import NoSquish, State, order_study
    >>> len(plot_order(order_study(NoSquish(), (1, 2, 3), State((1, 1, 1)), t=4.0, h=(0.4, 0.2, 0.1))).axes)
    1
    """
    figure = new_figure(6.5, 5, f"{study.flow}, errors at t = {study.t:g}")
    axes = figure.add_subplot()
    for number, (name, errors) in enumerate((("m", study.error_m), ("q", study.error_q))):
        axes.loglog(study.h, np.where(errors > 0, errors, np.nan), label=f"error of {name}", **series_style(number))
    if study.declared is not None:
        anchor = 0.4 * max(study.error_m[0], study.error_q[0])  # below the curve, so that the line does not hide it
        slope = anchor * (study.h / study.h[0]) ** study.declared
        axes.loglog(study.h, slope, color=GRAY, linewidth=1, linestyle=":", label=f"order {study.declared}")
    few_log_ticks(axes.xaxis, study.h.tolist())
    axes.set(xlabel="step h", ylabel="error, relative")
    axes.grid(True, which="major", color="#E0E0E0", linewidth=0.6)
    axes.legend(fontsize="small")
    return figure
