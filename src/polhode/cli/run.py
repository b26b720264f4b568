"""Commands that run a built-in problem or a scenario file, and resume a run that was interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polhode.cli.command import (
    CTRL_C,
    Command,
    Folder,
    complete_method,
    complete_setting,
    complete_source,
    pairs,
    print_json,
    show_progress,
)

if TYPE_CHECKING:
    from polhode.scenarios.results import Results
    from polhode.scenarios.scenario import Scenario

as_json = click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON, instead of a table.")
allow_python = click.option("--allow-python", is_flag=True, help="Load torques that the scenario names as Python code.")


@click.command(cls=Command)
@click.argument("source", metavar="NAME|FILE", shell_complete=complete_source)
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, shell_complete=complete_setting,
              help="Set a key of the scenario, such as body.mass=2, or an argument of the problem to a TOML value; may "
              "be given several times.")  # fmt: skip
@click.option("--method", shell_complete=complete_method, help="A scheme or method; see: polhode methods.")
@click.option("--h", type=float, help="The step size.")
@click.option("--rtol", type=float, help="The error tolerance at the end, used to choose method and step size.")
@click.option("--t-end", type=float, help="The end of the time span, instead of that of the problem.")
@click.option("--out", type=Folder(), help="The folder for the results, created if necessary.  [default: out/NAME]")
@click.option(
    "--view", is_flag=True, help="Also write view.html, which shows the body in 3-D in any browser, even offline."
)
@allow_python
@as_json
def run(
    source: str, settings: tuple[str, ...], method: str | None, h: float | None, rtol: float | None,
    t_end: float | None, out: Path | None, view: bool, allow_python: bool, as_json: bool,
) -> None:  # fmt: skip
    r"""Run a built-in problem or a scenario file.

    NAME is the name of a built-in problem, FILE a scenario in TOML. The command prints a table with the method and the
    reason for its choice, the numbers of steps and torque evaluations, the computing time, and the errors of the
    invariants. It writes the trajectory, a summary as JSON, figures, and the scenario with all settings to a folder.

    \b
    Examples:
      polhode run dzhanibekov --view
      polhode run heavy_top --set eps=1e-6 --t-end 100 --rtol 1e-10
      polhode run examples/top.toml --method S6_10 --h 0.01 --out results
    """
    scenario = _scenario(source, settings, allow_python, {"method": method, "h": h, "rtol": rtol, "t_end": t_end})
    folder = out or Path(scenario.output.folder or Path("out", scenario.problem.name or Path(source).stem))
    from polhode.scenarios.results import run_scenario

    _report(run_scenario(scenario, folder, progress=show_progress()), as_json, view)


@click.command(cls=Command)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Continue even if the Python code of a torque has changed.")
@allow_python
@as_json
def resume(folder: Path, force: bool, allow_python: bool, as_json: bool) -> None:
    r"""Resume a long run that was interrupted.

    FOLDER is the folder of the run. The states are the same as those of an uninterrupted run.

    \b
    Example:
      polhode resume out/perturbed
    """
    from polhode.scenarios.results import resume_folder

    _report(resume_folder(folder, allow_python=allow_python, progress=show_progress(), force=force), as_json)


def _scenario(source: str, settings: tuple[str, ...], allow_python: bool, options: dict[str, Any]) -> Scenario:
    from polhode.scenarios.scenario import build, built_in, read, with_settings

    is_file = source.endswith(".toml") or Path(source).is_file()
    data = with_settings(read(source) if is_file else built_in(source), settings)
    t_end = options.pop("t_end")
    data |= {key: value for key, value in options.items() if value is not None}
    options_of_build: dict[str, Any] = {"settings": settings, "allow_python": allow_python}
    scenario = build(data, source, **options_of_build)
    if t_end is None:
        return scenario
    return build(data | {"t_span": [scenario.problem.t_span[0], t_end]}, source, **options_of_build)


def _write_page(results: Results, as_json: bool) -> None:
    """Write the page that shows the body in 3-D; print a note if the run cannot be shown."""
    from polhode.core.errors import InputError

    try:
        results.show()
    except InputError as problem:
        click.echo(f"note: no page was written: {problem}", err=True)
    if "view" in results.files and not as_json:
        click.echo(f"to see it move, open {results.files['view'].resolve().as_uri()}\n")


def _report(results: Results, as_json: bool, view: bool = False) -> None:
    """Write the page, print the table, draw the figures and print the names of the files.

    Exit with an error code if the run was interrupted, and raise the error of a run that failed.
    """
    from polhode.scenarios.report import lines

    if view:
        _write_page(results, as_json)
    if not as_json:
        summary = results.summary
        click.secho(": ".join(text for text in (summary["problem"], summary["summary"]) if text), bold=True)
        pairs(lines(summary))
    results.draw()
    if as_json:
        print_json(results.summary)
    else:
        click.echo()
        for name, path in results.files.items():
            click.echo(f"{name}: {path}")
        if results.trajectory is None and results.summary["states"]:
            click.echo(f"the run has too many states to draw; they are in {results.files['trajectory']}")
    if results.interrupted:
        click.echo(f"interrupted; the states computed so far are in {results.files['trajectory']}", err=True)
        if results.files["trajectory"].suffix == ".zarr":
            click.echo(f"to resume, type: polhode resume {results.folder}", err=True)
        click.get_current_context().exit(CTRL_C)
    if results.failure is not None:
        raise results.failure
