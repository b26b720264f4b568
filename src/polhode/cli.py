"""The command line. Exit codes: 0 done, 2 something to correct in what was typed, 1 anything else."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from polhode import __version__
from polhode.errors import PolhodeError
from polhode.problem import Problem

if TYPE_CHECKING:
    from polhode.flows.flow import Record

SAMPLES = 3001


@contextmanager
def _user_errors() -> Iterator[None]:
    """Errors with a message for the user, without a traceback."""
    try:
        yield
    except PolhodeError as problem:
        raise click.UsageError(str(problem)) from None
    except OSError as problem:
        raise click.UsageError(f"cannot write: {problem}") from None


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="polhode")
def cli() -> None:
    """Rigid bodies in time: exact when they are free.

    \b
    Example:
      polhode run dzhanibekov
    """


@cli.command()
def problems() -> None:
    """List the built-in problems."""
    from polhode.problems import REGISTRY

    for name, make in REGISTRY.items():
        click.echo(f"{name:16} {make().summary}")


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="The whole records, for other programs.")
def methods(as_json: bool) -> None:
    """List the free flows and what they declare: order, structure, what they preserve.

    Every entry is checked by the tests, both ways: what is declared holds, and what is not declared is seen to fail.

    \b
    Examples:
      polhode methods
      polhode methods --json
    """
    from polhode.flows import variants

    records = [flow.record for flow in variants()]
    if as_json:
        rows = [{**asdict(record), "preserves": sorted(record.preserves)} for record in records]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    head = ("flow", "order", "symmetric", "Poisson", "symplectic", "preserves", "summary")
    _columns([head, *map(_method_row, records)])


def _method_row(record: Record) -> tuple[str, ...]:
    from polhode.flows.flow import INVARIANTS

    marks = ("yes" if declared else "no" for declared in (record.symmetric, record.poisson, record.symplectic))
    preserves = ", ".join(name for name in INVARIANTS if name in record.preserves)
    order = "exact" if record.order is None else str(record.order)
    return record.name, order, *marks, preserves, record.summary


def _columns(rows: list[tuple[str, ...]]) -> None:
    """A table whose columns are as wide as their widest entry; the first row is its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for i, row in enumerate(rows):
        line = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        click.secho(line, bold=i == 0)


@cli.command()
@click.argument("name")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out"), show_default=True,
              help="Folder for the results; it is made if need be.")  # fmt: skip
def run(name: str, out: Path) -> None:
    """Run the built-in problem NAME: a table of what was computed and, of a free body, a picture.

    \b
    Example:
      polhode run dzhanibekov --out results
    """
    with _user_errors():
        from polhode import problems
        from polhode.plot import plot_free_motion

        problem = problems.get(name)
        if problem.force is not None:
            _torqued_table(problem)
            return
        out.mkdir(parents=True, exist_ok=True)
        _table(problem)
        path = out / f"{name}.png"
        unit = problem.units.get("t", "")
        figure = plot_free_motion(problem.free_motion(), 0.0, problem.duration, title=problem.summary, time_unit=unit)
        figure.savefig(path, dpi=150)
    click.echo(f"\npicture: {path}")


def _torqued_table(problem: Problem) -> None:
    """What an integration with the problem's own step found."""
    from polhode.integration import integrate

    damped = problem.force is not None and np.any(problem.force.damping)
    method, start = "V2" if damped else "RKN6_14a", problem.t_span[0]
    integrate(problem, (start, start + (problem.h or 1.0)), method=method)  # loads compiled code before time is taken
    run = integrate(problem, method=method, progress=True)
    click.secho(f"{problem.name}: {problem.summary}", bold=True)
    rows = [
        ("method", f"{run.method!r}, h = {run.h:g}"),
        ("computed", f"{run.stats.steps} steps, {run.stats.torques} torques in {1e3 * run.stats.seconds:.3g} ms"),
        ("m at the end", ", ".join(f"{x:.12g}" for x in run.m[-1])),
        ("q at the end", ", ".join(f"{x:.12g}" for x in run.q[-1])),
        *((f"{name} held to", f"{error:.1e}") for name, error in run.invariants().items()),
    ]
    for label, value in rows:
        click.echo(f"  {label:22} {value}")


def _table(problem: Problem) -> None:
    from polhode.report import invariant_errors

    motion = problem.free_motion()
    times = np.linspace(0.0, problem.duration, SAMPLES)
    motion.state(times)  # compiled code is loaded here, so that the time below is that of the computation
    start = time.perf_counter()
    motion.state(times)
    wall = time.perf_counter() - start
    errors = invariant_errors(motion, times)
    flips = motion.flips(0.0, problem.duration)
    unit = {key: f" {value}" for key, value in problem.units.items()}
    rows = [
        ("moments of inertia", ", ".join(f"{x:.6g}" for x in motion.body.moments) + unit.get("inertia", "")),
        ("regime", motion.regime),
        ("energy", f"{motion.energy:.15g}{unit.get('energy', '')}"),
        ("period of m", f"{motion.period:.15g}{unit.get('t', '')}"),
        ("precession per period", f"{motion.rotation_number:.15g} turns"),
        ("flips", ", ".join(f"{x:.6f}" for x in flips) + unit.get("t", "")),
        ("computed", f"{SAMPLES} exact states in {1e3 * wall:.2f} ms ({1e9 * wall / SAMPLES:.0f} ns each)"),
        ("energy held to", f"{errors.energy:.1e} (relative)"),
        ("|m| held to", f"{errors.momentum:.1e} (relative)"),
        ("Q m held to", f"{errors.momentum_space:.1e} (relative)"),
        ("|q| held to", f"{errors.unit_norm:.1e}"),
    ]
    click.secho(f"{problem.name}: {problem.summary}", bold=True)
    for label, value in rows:
        click.echo(f"  {label:22} {value}")
