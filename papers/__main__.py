"""``python -m papers``: what there is, and running it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from polhode.cli.command import Command, Folder, Group, columns

if TYPE_CHECKING:
    from papers import Experiment, Report

ALL = "all"


def complete_experiment(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of experiments, for shells."""
    from papers import EXPERIMENTS

    return [CompletionItem(name) for name in (*EXPERIMENTS, ALL) if name.startswith(begun)]


@click.group(cls=Group, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.pass_context
def cli(ctx: click.Context) -> None:
    """List or run the experiments of the papers.

    A run shows published and measured numbers side by side.

    \b
    Examples:
      python -m papers
      python -m papers run gustafsson2010_table3
      python -m papers run all --full --out results
    """
    if ctx.invoked_subcommand is None:
        from papers import EXPERIMENTS, get

        found = [(name, get(name)) for name in EXPERIMENTS]
        columns([("name", "figure", "title"), *((name, e.figure, e.title) for name, e in found)])


@cli.command(cls=Command)
@click.argument("name", metavar="NAME|all", shell_complete=complete_experiment)
@click.option("--full", is_flag=True, help="The papers' own size, which may take minutes or more.")
@click.option(
    "--out", type=Folder(), default=Path("out", "papers"), show_default=True, help="Folder for tables and figures."
)
def run(name: str, full: bool, out: Path) -> None:
    """Run one experiment, or all.

    The result is a table of claims, on the screen and as JSON, and a figure.

    \b
    Examples:
      python -m papers run gustafsson2010_table3
      python -m papers run all --full
    """
    from papers import EXPERIMENTS, get

    chosen = {each: get(each) for each in (EXPERIMENTS if name == ALL else (name,))}
    out.mkdir(parents=True, exist_ok=True)
    failed = [each for each, experiment in chosen.items() if not _run_one(each, experiment, full, out)]
    if failed and name == ALL:
        click.echo(f"\nnot reproduced in all claims: {', '.join(failed)}")


def _run_one(name: str, experiment: Experiment, full: bool, out: Path) -> bool:
    """Whether all claims were reproduced."""
    click.secho(f"{name}: {experiment.title}", bold=True)
    click.echo(f"{experiment.paper}; {experiment.figure}")
    began = time.perf_counter()
    report = experiment.run(full)
    seconds = time.perf_counter() - began
    _tell(report)
    table, figure = out / f"{name}.json", out / f"{name}.png"
    found = {"experiment": name, "paper": experiment.paper, "figure": experiment.figure, "full": full}
    table.write_text(json.dumps(found | report.to_dict(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    _draw(report, f"{experiment.figure}: {experiment.title}", figure)
    click.echo(f"{seconds:.1f} s; table: {table}, figure: {figure}\n")
    return report.reproduced


def _tell(report: Report) -> None:
    rows = [(c.what, c.published, c.measured, c.verdict) for c in report.claims]
    columns([("claim", "published", "measured", "verdict"), *rows])
    for claim in report.claims:
        if claim.note:
            click.echo(f"note on {claim.what}: {claim.note}")


def _draw(report: Report, title: str, path: Path) -> None:
    from papers.drawing import plot_report
    from polhode.show.plot.style import save_figure

    save_figure(plot_report(report, title), path, 120)


if __name__ == "__main__":
    cli(prog_name="python -m papers")
