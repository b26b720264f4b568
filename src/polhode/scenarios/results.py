"""Runs of scenarios, whose results are written to a folder.

scenario.toml    the scenario with the method, step size and all other settings that were used; for ``resume_folder``
trajectory.nc    or .csv, or .zarr: a store that grows during the run, if there are very many states
summary.json     the values of ``report.summary`` and the names of the files
overview.png     and other pictures
view.html        the body in 3-D, if requested

A run removes the files that an earlier run wrote to the same folder, as listed in its summary.json, and no others. A
run that raises an error before it has anything to write changes nothing in the folder.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, prod
from pathlib import Path
from typing import Any

import numpy as np

from polhode.core.capacity import check_disk, memory_for
from polhode.core.errors import InputError, Interrupted, RunError, StoreError
from polhode.core.extras import check_installed, installed
from polhode.core.progress import Report, searching
from polhode.files import chunked, long_run_writer
from polhode.files import long_runs as streaming
from polhode.files import saving as store
from polhode.files.atomic import replacing, telling
from polhode.files.formats import COMPLETE
from polhode.files.long_run_writer import Streamed
from polhode.integration.choice import DEFAULT_RTOL, Choice, choose, explained
from polhode.integration.output import OutputOptions
from polhode.integration.own_steps_run import EVEN_STATES
from polhode.integration.problem import Problem
from polhode.integration.running import FEWER_STATES, new_run
from polhode.integration.stretches import step_count, step_length
from polhode.integration.trajectory import Trajectory
from polhode.kernels.stepping.status import Status
from polhode.scenarios import report
from polhode.scenarios.scenario import AUTO, Scenario, defaults_of, read_scenario
from polhode.scenarios.toml_text import to_toml
from polhode.show.plot import KINDS
from polhode.solve import integrate_chosen

LONG = 200_000  # states: a run that saves more writes them to disk while it runs
READ_AGAIN = 10_000_000  # states: such a run with no more is read back for pictures and errors
RESOLUTION = 150  # dots per inch
SCENARIO, SUMMARY, PAGE, STREAM = "scenario.toml", "summary.json", "view.html", "trajectory.zarr"
PICTURES = tuple(f"{kind}.png" for kind in KINDS)
DATA = {SUMMARY, STREAM, *(f"trajectory{suffix}" for suffix in COMPLETE)}


@dataclass
class Results:
    """Results of a run: its folder and files, its trajectory and summary, and the error that ended it early, if any.

    ``trajectory`` is None if there are too many states to hold them in memory, or none yet.
    """

    folder: Path
    scenario: Scenario
    trajectory: Trajectory | None
    files: dict[str, Path]
    summary: dict[str, Any]
    failure: RunError | None = None
    interrupted: bool = False

    def show(self) -> None:
        """Write the page with the body in 3-D, unless fewer than two states are in memory."""
        if self.trajectory is not None and report.rows_reached(self.trajectory) > 1:
            self.trajectory.view(self.folder / PAGE)
            self._list("view", PAGE)

    def draw(self) -> None:
        """Write the summary, and draw the pictures that the scenario asks for if the states are in memory."""
        from polhode.show.plot.style import save_figure

        self._list("summary", SUMMARY)
        for kind in self.scenario.output.plots if self.trajectory is not None else ():
            save_figure(_picture(self.trajectory, kind), self.folder / f"{kind}.png", RESOLUTION)
            self._list(kind, f"{kind}.png")

    def _list(self, label: str, file: str) -> None:
        """Add a file to the list of files in the summary, and write the summary."""
        self.files.pop("summary", None)
        self.files |= {label: self.folder / file, "summary": self.folder / SUMMARY}
        self.summary["files"] = {name: str(path) for name, path in self.files.items()}
        _write_json(self.folder / SUMMARY, self.summary)


def run_scenario(scenario: Scenario, folder: Path, *, progress: bool | Report = False) -> Results:
    """Run a scenario, and write the scenario and the trajectory to a folder.

    The states that were computed before a failure or Ctrl-C are written, too.

    Parameters
    ----------
    scenario : Scenario
        The scenario to run.
    folder : Path
        Folder for the results, created if necessary.
    progress : bool or callable, optional
        Whether to show a progress bar, or a function that is called with the completed fraction.

    Returns
    -------
    Results
        The results. Call its methods to write the summary, pictures and the page.

    Raises
    ------
    StoreError
        If the folder contains a long run, which is never overwritten.
    """
    problem = scenario.problem
    output = scenario.output
    _check_extras(scenario)
    if scenario.method is not None:
        scenario.method.check(problem.force)
    if chunked.is_store(folder / STREAM):
        raise StoreError(
            f"{folder / STREAM} exists already, and a long run is not overwritten: type polhode resume {folder} to "
            "resume it, or choose another folder (--out)"
        )
    with telling("made", folder):
        folder.mkdir(parents=True, exist_ok=True)
    keeps_steps = not output.states and not problem.rows.batch
    with searching(progress):
        choice = choose(
            problem, problem.t_span, scenario.method, scenario.h, scenario.rtol, keeps_steps=keeps_steps
        )  # fmt: skip
    if not choice.method.chooses_steps and _is_streamed(scenario, choice.h):
        chunked.check_new(folder / STREAM)
        run = new_run(problem, problem.t_span, choice.method, choice.h)
        writer = streaming.prepare(run, folder / STREAM, save_every=output.save_every)
        _write(folder / SCENARIO, _used(scenario, choice))
        _remove_earlier(folder, keep={STREAM})
        return _streamed(scenario, folder, choice, lambda: streaming.begin(writer, progress=progress))
    states = output.states or (EVEN_STATES if choice.h is None and problem.rows.batch else None)
    if states is not None or choice.h is not None:  # otherwise the number of states is unknown before the run
        _check_room(scenario, folder, states or _states_kept(scenario, choice.h))
    times = None if states is None else np.linspace(*problem.t_span, states)
    options = OutputOptions(times, output.save_every, progress=progress)
    failure = None
    try:
        result = integrate_chosen(problem, problem.t_span, choice, options)
    except (RunError, Interrupted) as error:
        result = error.trajectory
        failure = error if isinstance(error, RunError) else None
    result = result[: report.rows_reached(result)]
    return _saved(scenario, folder, _used(scenario, choice, states), result, failure)


def resume_folder(
    folder: Path, *, allow_python: bool = False, progress: bool | Report = False, force: bool = False
) -> Results:
    """Resume a long run that was interrupted, in a folder that ``run_scenario`` wrote.

    Parameters
    ----------
    folder : Path
        Folder of the run.
    allow_python : bool, optional
        Whether to load torques that the scenario names as Python code.
    progress : bool or callable, optional
        Whether to show a progress bar, or a function that is called with the completed fraction.
    force : bool, optional
        Whether to resume even if the functions of the scenario have changed.

    Returns
    -------
    Results
        The results, the same as those of an uninterrupted run.

    Raises
    ------
    InputError
        If the run was not written to disk while it ran.
    """
    scenario = read_scenario(folder / SCENARIO, allow_python=allow_python)
    path = folder / STREAM
    if not path.exists():
        raise InputError(
            f"{folder} has no {STREAM}; expected a run that was written to disk while it ran; type polhode run "
            f"{folder / SCENARIO} to run it again"
        )
    _remove_earlier(folder, keep={STREAM})
    resume = partial(streaming.resume, path, scenario.problem, progress=progress, force=force)
    return _streamed(scenario, folder, None, resume)


def list_page(page: Path) -> None:
    """Add `page` to the files in the summary of the run in the same folder, so that a later run removes it."""
    summary = _summary_in(page.parent)
    if page.name == PAGE and "files" in summary:
        summary["files"]["view"] = str(page)
        _write_json(page.parent / SUMMARY, summary)


def _remove_earlier(folder: Path, keep: set[str]) -> None:
    """Remove the files of an earlier run that its summary lists, except `keep`; other files stay."""
    listed = {Path(path).name for path in _summary_in(folder).get("files", {}).values()}
    for path in (folder / name for name in listed & {PAGE, *PICTURES, *DATA} - keep):
        with telling("removed", path):
            if path.is_file():
                path.unlink()
            elif path.name == STREAM and path.exists():
                shutil.rmtree(path)


def _summary_in(folder: Path) -> dict[str, Any]:
    """Return the summary of the run in a folder, or an empty dict if there is no valid one."""
    try:
        summary = json.loads((folder / SUMMARY).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    has_files = isinstance(summary, dict) and isinstance(summary.get("files"), dict)
    return summary if has_files and all(isinstance(path, str) for path in summary["files"].values()) else {}


def _used(scenario: Scenario, choice: Choice, states: int | None = None) -> str:
    """Return the scenario with all defaults and choices, as TOML; a run of it gives the same results to the bit."""
    data = dict(scenario.data)
    output = scenario.output
    note = "# What was run, with all settings."
    if "problem" in data:
        defaults = defaults_of(data["problem"])
        if "t_span" in data:
            defaults.pop("t_end", None)  # overridden by t_span
        data["arguments"] = defaults | data.get("arguments", {})
    if choice.is_made:
        chosen = " and ".join(key for key in ("method", "h") if data.get(key, AUTO) == AUTO)
        rtol = data.pop("rtol", DEFAULT_RTOL)
        note += f" For rtol = {rtol!r}, polhode chose {chosen}: to choose anew, remove {chosen}, and set rtol."
    data |= {"method": repr(choice.method)} | ({} if choice.h is None else {"h": choice.h})
    saved = {"save_every": output.save_every} if states is None else {"states": states}
    data["output"] = {**data.get("output", {}), **saved, "plots": list(output.plots)}
    return f"{note}\n{to_toml(data)}"


def _is_streamed(scenario: Scenario, h: float | None) -> bool:
    """Return whether the states are written to disk while the scenario runs."""
    output = scenario.output
    problem = scenario.problem
    if output.states is not None or output.format not in (None, "zarr"):
        return False
    return output.format == "zarr" or (_states_kept(scenario, h) * problem.rows.count > LONG and installed("zarr"))


def _states_kept(scenario: Scenario, h: float | None) -> int:
    """Return the number of saved states for the step size `h`."""
    return 1 + ceil(step_count(scenario.problem.t_span, step_length(h)) / scenario.output.save_every)


def _check_room(scenario: Scenario, folder: Path, states: int) -> None:
    """Raise an error if the states do not fit in memory or on the disk."""
    size = states * scenario.problem.rows.count * COMPLETE[f".{scenario.output.format or 'nc'}"].state_bytes
    with memory_for(f"{states} states", size, FEWER_STATES):
        check_disk(folder, f"{states} states", size, long_run_writer.FEWER_STATES)


def _streamed(scenario: Scenario, folder: Path, choice: Choice | None, start: Callable[[], Streamed]) -> Results:
    """Return the results of a run that writes its states to disk while it runs; `start` runs or resumes it."""
    problem = scenario.problem
    path = folder / STREAM
    failure = None
    interrupted = False
    try:
        run = start()
    except RunError as error:
        run = streaming.open_stream(path)
        failure = error
    except Interrupted as error:
        run = error.trajectory
    except KeyboardInterrupt:  # while a file is written
        if not chunked.is_store(path):
            raise
        run = streaming.open_stream(path)
        interrupted = True
    interrupted = interrupted or _interrupted(run.status)
    bodies = prod(np.shape(run.status))
    result: Any = None
    if 0 < run.rows * bodies <= READ_AGAIN:
        result = store.load(path)
        result = result.replaced(problem=problem)  # including its functions, which are not in the file
        if choice is not None and choice.is_made:
            result = explained(result, choice)
        summary = report.summary(result)
    else:
        summary = report.streamed_summary(problem, run)
    files = {"scenario": folder / SCENARIO, "trajectory": path}
    return Results(folder, scenario, result, files, summary, failure, interrupted)


def _saved(scenario: Scenario, folder: Path, used: str, result: Trajectory, failure: RunError | None = None) -> Results:
    """Write the trajectory and the scenario, whose TOML text is `used`, and return the results."""
    suffix = scenario.output.format or ("nc" if installed("xarray", "h5netcdf", "h5py") else "csv")
    files = {"scenario": folder / SCENARIO, "trajectory": folder / f"trajectory.{suffix}"}
    store.save(result, files["trajectory"])
    _write(folder / SCENARIO, used)
    _remove_earlier(folder, keep={files["trajectory"].name})
    summary = report.summary(result)
    problem = scenario.problem
    if _is_closed_form(result):
        summary["free"] = report.free_summary(problem.free_motion(), problem.t_span)
    return Results(folder, scenario, result, files, summary, failure, _interrupted(result.status))


def _is_closed_form(result: Trajectory) -> bool:
    """Return whether a trajectory is that of one free body in closed form."""
    return result.m.ndim == 2 and result.method.chooses_steps and result.method.is_exact_for(result.problem.force)


def _picture(result: Any, kind: str) -> Any:
    from polhode.show import plot

    problem: Problem = result.problem
    if kind == "overview" and _is_closed_form(result) and problem.state.m.any():
        unit = problem.units.get("t", "")
        return plot.plot_free_motion(
            problem.free_motion(), 0.0, problem.duration, title=problem.summary, time_unit=unit
        )
    return plot.KINDS[kind](result)


def _check_extras(scenario: Scenario) -> None:
    """Raise an error before the run if packages that are needed to write its results are not installed."""
    check_installed("tomli_w", "cli")
    if scenario.output.format:
        COMPLETE[f".{scenario.output.format}"].check_packages()


def _interrupted(status: Any) -> bool:
    return bool(np.any(np.equal(status, Status.INTERRUPTED)))


def _write_json(path: Path, data: dict[str, Any]) -> None:
    _write(path, json.dumps(data, indent=2, allow_nan=False) + "\n")


def _write(path: Path, text: str) -> None:
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8")
