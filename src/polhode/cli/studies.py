"""Commands that measure the order of a flow, and compare the cost of accuracy with several methods."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polhode.cli.command import Command, complete_flow, complete_method, complete_problem, complete_setting, print_json

if TYPE_CHECKING:
    from polhode.integration.problem import Problem

USUAL = ("V2", "S4_6", "S6_10", "RKN6_14a", "ABA1064")
STEPS = (2.0, 1.0, 0.5, 0.25)  # factors of the default step size of the problem
picture = click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw a figure to this file.")
steps = click.option("--h", "steps", type=float, multiple=True, help="A step size; may be given several times.")
settings = click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, shell_complete=complete_setting,
                        help="Set an argument of the problem.")  # fmt: skip
as_json = click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON, instead of a table.")


@click.command(cls=Command)
@click.argument("flow", shell_complete=complete_flow)
@click.option("--problem", default="free_body", show_default=True, shell_complete=complete_problem,
              help="The problem that provides the body and the initial state.")  # fmt: skip
@click.option("--t", "time", type=float, default=10.0, show_default=True, help="The time at which errors are measured.")
@steps
@settings
@picture
@as_json
def order(
    flow: str, problem: str, time: float, steps: tuple[float, ...], settings: tuple[str, ...], plot: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    r"""Measure how the error of a free flow decreases with its step size.

    The error of FLOW is its difference from the exact solution.

    \b
    Examples:
      polhode order "Gauss(3)"
      polhode order "ThreeRotations(4)" --t 5 --h 0.2 --h 0.1 --h 0.05 --plot order.png
    """
    from polhode.methods.expressions import flow_of
    from polhode.studies.study import order_study

    source = _problem(problem, settings)
    study = order_study(flow_of(flow), source.body, source.state, time, steps or None)
    _show(study, plot, as_json)


@click.command(cls=Command)
@click.argument("problem", shell_complete=complete_problem)
@click.option("--method", "methods", multiple=True, shell_complete=complete_method,
              help="A method to compare; may be given several times.")  # fmt: skip
@steps
@settings
@picture
@as_json
def compare(
    problem: str, methods: tuple[str, ...], steps: tuple[float, ...], settings: tuple[str, ...], plot: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    r"""Compare the cost of accuracy with several methods.

    Each method solves the built-in PROBLEM. The command prints a table of errors at the end, torque evaluations and
    computing times.

    \b
    Examples:
      polhode compare vilmart_top
      polhode compare heavy_top --method V2 --method ABA1064 --h 1 --h 0.5 --set eps=1e-4 --plot compare.png
    """
    from polhode.studies.comparison import work_precision

    source = _problem(problem, settings)
    compared = [_method(name) for name in methods] or _usual(source)
    comparison = work_precision(source, compared, steps or [factor * (source.h or 0.1) for factor in STEPS])
    _show(comparison, plot, as_json)


def _problem(name: str, settings: tuple[str, ...]) -> Problem:
    from polhode.scenarios.scenario import build, built_in, with_settings

    return build(with_settings(built_in(name), settings), name, settings=settings).problem


def _method(text: str) -> Any:
    from polhode.methods.expressions import method_of

    return method_of(text)


def _usual(problem: Problem) -> list[Any]:
    """Return methods of several orders that accept the force of the problem."""
    from polhode.core.errors import InputError

    accepted = []
    for method in map(_method, USUAL):
        try:
            method.check(problem.force)
        except InputError:
            continue
        accepted.append(method)
    return accepted


def _show(found: Any, plot: Path | None, as_json: bool) -> None:
    """Print what a study has found, and draw its figure if there is a file for it."""
    if plot is not None:
        from polhode.show.plot.style import save_figure

        plot.parent.mkdir(parents=True, exist_ok=True)
        save_figure(found.plot(), plot, 150)
    if as_json:
        print_json(found.to_dict())
        return
    click.echo(str(found) if plot is None else f"{found}\n\npicture: {plot}")
