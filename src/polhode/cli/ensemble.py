"""Command that runs ensembles: many members of a scenario, on this computer or on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polhode.cli.command import CTRL_C, Command, Folder, complete_setting, pairs, print_json, show_progress
from polhode.cli.run import allow_python, as_json
from polhode.core.messages import in_shell_words

ERRORS_SHOWN = 3  # messages of failed members in the summary


@click.command(cls=Command)
@click.argument("source", metavar="FILE", type=click.Path(dir_okay=False))
@click.option("--scheduler", metavar="ADDRESS", help="The address of a Dask scheduler whose workers compute the "
              "chunks, such as tcp://10.0.0.1:8786.")  # fmt: skip
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, shell_complete=complete_setting,
              help="Set a key of the scenario to a TOML value, such as ensemble.count=1000; may be given "
              "several times.")  # fmt: skip
@click.option(
    "--out",
    type=Folder(),
    help="A Zarr store for the results, with a name that ends in .zarr.  [default: out/NAME/ensemble.zarr]",
)
@click.option(
    "--resume", is_flag=True, help="Resume an interrupted run: chunks that are finished are not computed again."
)
@click.option("--force", is_flag=True, help="With --resume: continue even if the Python code of a torque has changed.")
@allow_python
@as_json
def ensemble(
    source: str, scheduler: str | None, settings: tuple[str, ...], out: Path | None, resume: bool, force: bool,
    allow_python: bool, as_json: bool,
) -> None:  # fmt: skip
    r"""Run many members of a scenario, on this computer or on a cluster.

    The table [ensemble] of the scenario FILE describes the members; the results are written to a Zarr store. Members
    that fail do not stop the others. After an interruption, such as Ctrl-C, --resume computes the remaining members.

    \b
    Examples:
      polhode ensemble examples/debris.toml
      polhode ensemble examples/debris.toml --scheduler tcp://10.0.0.1:8786 --out /shared/debris.zarr
      polhode ensemble examples/debris.toml --resume
    """
    from polhode.core.errors import Interrupted
    from polhode.ensembles.ensemble import ensemble as run_ensemble
    from polhode.ensembles.reader import Contents
    from polhode.scenarios.ensemble import arguments_of
    from polhode.scenarios.scenario import read_scenario

    scenario = read_scenario(source, settings, allow_python=allow_python)
    arguments = arguments_of(scenario, source, allow_python=allow_python)
    path = out or Path("out", scenario.problem.name or Path(source).stem, "ensemble.zarr")
    path.parent.mkdir(parents=True, exist_ok=True)
    arguments |= {"out": path, "resume": resume, "force": force, "client": scheduler, "progress": show_progress()}
    try:
        data = run_ensemble(**arguments)
    except Interrupted as interruption:
        data = interruption.trajectory
    summary = _summary(data, path)
    if as_json:
        print_json(summary)
    else:
        pairs([(name.replace("_", " "), _as_text(value)) for name, value in summary.items() if value != ""])
    if data.attrs["message"]:
        stored = Contents(path)
        stored.check(read=False)
        click.echo(in_shell_words(stored.message), err=True)
        click.get_current_context().exit(CTRL_C)


def _summary(data: Any, path: Path) -> dict[str, Any]:
    """Return counts, settings, and the 5 %, 50 % and 95 % quantiles of each result with one number per member."""
    import numpy as np

    results = {
        name: data[name].values for name in data.data_vars if data[name].dims == ("member",) and name != "status"
    }
    numbers = {
        name: [float(x) for x in np.nanquantile(values, (0.05, 0.5, 0.95))]
        for name, values in results.items()
        if np.isfinite(values).any()
    }
    return {
        "members": int(data.attrs["count"]), "failed": int(data.failed.size),
        "errors": [str(text) for text in data.error.values[:ERRORS_SHOWN]],
        "method": data.attrs["method"], "h": data.attrs["h"], "seed": int(data.attrs["seed"]),
        "chunk": int(data.attrs["chunk"]), **numbers, "store": str(path),
    }  # fmt: skip


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        if value and isinstance(value[0], float):
            return "{1:.6g} ({0:.6g} to {2:.6g}, nine in ten)".format(*value)
        return "; ".join(value) or "none"
    return str(value)
