"""From a scenario to a folder: the trajectory, a summary, pictures, and the scenario itself, so that it can go on.

scenario.toml    what was run, with method, step and all other settings as they were used; ``resume_folder`` reads it
trajectory.nc    or .csv, or .zarr: a store that grows with the run, if there are very many states
summary.json     what ``report.summary`` tells, and which files were written
overview.png     and other pictures
view.html        the body in 3-D, if it is asked for

A run removes what an earlier one wrote to the same folder, as listed in its summary.json, and no other file. One that
is refused, or ends before it has anything to write, changes nothing there.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, prod
from pathlib import Path
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.capacity import check_disk, memory_for
from polhode.core.checks import common_batch
from polhode.core.errors import InputError, RunError, StoreError
from polhode.core.extras import check_installed, installed
from polhode.files import chunked
from polhode.files import long_runs as streaming
from polhode.files import saving as store
from polhode.files.atomic import replacing, telling
from polhode.files.long_run_writer import Streamed
from polhode.flows.exact import Exact
from polhode.integration.choice import Choice, choose, explain, has_to_choose
from polhode.integration.problem import Problem
from polhode.integration.stretches import step_count, step_length
from polhode.integration.trajectory import INTERRUPTED, Stats, Trajectory
from polhode.methods.adaptive import Adaptive
from polhode.scenarios import report
from polhode.scenarios.scenario import AUTO, Scenario, defaults_of, read_scenario
from polhode.scenarios.toml_text import to_toml
from polhode.show.plot import KINDS
from polhode.solve import DEFAULT_RTOL, FEWER_STATES, integrate

LONG = 200_000  # states: a run that keeps more grows on the disk
READ_AGAIN = 10_000_000  # states, up to which such a run is then read for pictures and errors
EVEN_STATES = 1001  # of a batch whose bodies choose their own steps
FREE_STATES = 3001  # of a free body, unless another number is asked for
STATE_BYTES = {"csv": 200}  # of a state in a file; 64 in others
RESOLUTION = 150  # dots per inch
SCENARIO, SUMMARY, PAGE, STREAM = "scenario.toml", "summary.json", "view.html", "trajectory.zarr"
PICTURES = tuple(f"{kind}.png" for kind in KINDS)
DATA = {SUMMARY, STREAM, "trajectory.nc", "trajectory.csv"}


@dataclass
class Results:
    """A run, the folder and the files in it, what it found, and why it ended early, if it did.

    ``trajectory`` is None if there are too many states to have them in memory, or none yet.
    """

    folder: Path
    scenario: Scenario
    trajectory: Trajectory | None
    files: dict[str, Path]
    summary: dict[str, Any]
    failure: RunError | None = None
    interrupted: bool = False

    def show(self) -> None:
        """The page with the body in 3-D, unless there are no states to show in memory, or only the first."""
        if self.trajectory is not None and report.rows_reached(self.trajectory) > 1:
            self.trajectory.view(self.folder / PAGE)
            self._list("view", PAGE)

    def draw(self) -> None:
        """The pictures that the scenario asks for; the summary is written in any case."""
        from polhode.show.plot.style import save_figure

        self._list("summary", SUMMARY)
        for kind in self.scenario.output.plots if self.trajectory is not None else ():
            save_figure(_picture(self.trajectory, kind), self.folder / f"{kind}.png", RESOLUTION)
            self._list(kind, f"{kind}.png")

    def _list(self, label: str, file: str) -> None:
        """Write the summary with one more file."""
        self.files.pop("summary", None)
        self.files |= {label: self.folder / file, "summary": self.folder / SUMMARY}
        self.summary["files"] = {name: str(path) for name, path in self.files.items()}
        _write_json(self.folder / SUMMARY, self.summary)


def run_scenario(scenario: Scenario, folder: Path, *, progress: bool = False, view: bool = False) -> Results:
    """Run it, and write scenario and trajectory; what was computed before a failure or Ctrl-C is written too.

    ``view`` tells that ``Results.show`` will be called.
    """
    problem, output = scenario.problem, scenario.output
    _check_extras(scenario, view)
    if scenario.method is not None and problem.force is not None:
        scenario.method.check(problem.force)
    if chunked.is_store(folder / STREAM):
        raise StoreError(
            f"{folder / STREAM} exists already, and a long run is not overwritten: type polhode resume {folder} to go "
            "on, or choose another folder (--out)"
        )
    with telling("made", folder):
        folder.mkdir(parents=True, exist_ok=True)
    if problem.force is None and scenario.method is None:
        _check_room(scenario, folder, _free_states(scenario))
        used = _used(scenario, states=output.states or (FREE_STATES if scenario.h is None else None))
        return _saved(scenario, folder, used, _exact(scenario))
    method, h, choice = _plan(scenario)
    if h is not None and _is_streamed(scenario, h):
        chunked.check_new(folder / STREAM)
        writer = streaming.prepare(problem, folder / STREAM, method=method, h=h, save_every=output.save_every)
        _write(folder / SCENARIO, _used(scenario, method, h, choice))
        _remove_earlier(folder, keep={STREAM})
        return _streamed(scenario, folder, choice, lambda: streaming.begin(writer, progress=progress))
    batch = common_batch(body=problem.body.batch, state=problem.state.batch)
    states = output.states or (EVEN_STATES if isinstance(method, Adaptive) and batch else None)
    if states is not None or h is not None:  # else nobody knows how many
        _check_room(scenario, folder, states or _states_kept(scenario, h))
    times = None if states is None else np.linspace(*problem.t_span, states)
    failure = None
    try:
        result = integrate(problem, method=method, h=h, t_eval=times, save_every=output.save_every, progress=progress)
    except RunError as problem_met:
        result, failure = problem_met.trajectory, problem_met
    rows = report.rows_reached(result)
    result.t, result.m, result.q = result.t[:rows], result.m[:rows], result.q[:rows]
    if choice is not None:
        explain(result, choice)
    return _saved(scenario, folder, _used(scenario, method, h, choice, states), result, failure)


def resume_folder(folder: Path, *, allow_python: bool = False, progress: bool = False, force: bool = False) -> Results:
    """Go on with a long run whose folder ``run_scenario`` wrote, and which did not come to its end.

    ``force`` goes on also if the functions of the scenario have changed.
    """
    scenario = read_scenario(folder / SCENARIO, allow_python=allow_python)
    path = folder / STREAM
    if not path.exists():
        raise InputError(
            f"{folder} has no {STREAM}: only runs that grow on the disk can go on; type polhode run "
            f"{folder / SCENARIO} to run it again"
        )
    _remove_earlier(folder, keep={STREAM})
    go_on = partial(streaming.resume, path, scenario.problem, progress=progress, force=force)
    return _streamed(scenario, folder, None, go_on)


def list_page(page: Path) -> None:
    """Note in the summary of a run that ``page`` was written beside it, so that a later run removes it."""
    found = _summary_in(page.parent)
    if page.name == PAGE and "files" in found:
        found["files"]["view"] = str(page)
        _write_json(page.parent / SUMMARY, found)


def _remove_earlier(folder: Path, keep: set[str]) -> None:
    """Remove what an earlier run wrote to the folder, according to its summary; files of users stay."""
    listed = {Path(path).name for path in _summary_in(folder).get("files", {}).values()}
    for path in (folder / name for name in listed & {PAGE, *PICTURES, *DATA} - keep):
        with telling("removed", path):
            if path.is_file():
                path.unlink()
            elif path.name == STREAM and path.exists():
                shutil.rmtree(path)


def _summary_in(folder: Path) -> dict[str, Any]:
    """Return the summary of the run in that folder; an empty one if there is none."""
    try:
        found = json.loads((folder / SUMMARY).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    listed = isinstance(found, dict) and isinstance(found.get("files"), dict)
    return found if listed and all(isinstance(path, str) for path in found["files"].values()) else {}


def _plan(scenario: Scenario) -> tuple[Any, float | None, Choice | None]:
    """Method and step, and how they were chosen, if they had to be."""
    problem, method, h = scenario.problem, scenario.method, scenario.h
    if not has_to_choose(problem, method, h, scenario.rtol):
        return method, h if isinstance(method, Adaptive) else h or problem.h, None
    rtol = DEFAULT_RTOL if scenario.rtol is None else scenario.rtol
    choice = choose(problem, problem.t_span, method, h, rtol, 0.0)
    return choice.method, choice.h, choice


def _used(
    scenario: Scenario, method: Any = None, h: float | None = None, choice: Choice | None = None,
    states: int | None = None,
) -> str:  # fmt: skip
    """Return the scenario with everything that it left open, as TOML: run again, it gives the same bits."""
    data, output = dict(scenario.data), scenario.output
    note = "# What was run, with all settings."
    if "problem" in data:
        defaults = defaults_of(data["problem"])
        if "t_span" in data:
            defaults.pop("t_end", None)  # which it overrides
        data["arguments"] = defaults | data.get("arguments", {})
    if choice is not None:
        chosen = " and ".join(key for key in ("method", "h") if data.get(key, AUTO) == AUTO)
        rtol = data.pop("rtol", DEFAULT_RTOL)
        note += f" For rtol = {rtol!r}, polhode chose {chosen}: to choose anew, remove {chosen}, and set rtol."
    if method is not None:
        data |= {"method": repr(method)} | ({} if h is None else {"h": h})
    kept = {"save_every": output.save_every} if states is None else {"states": states}
    data["output"] = {**data.get("output", {}), **kept, "plots": list(output.plots)}
    return f"{note}\n{to_toml(data)}"


def _is_streamed(scenario: Scenario, h: float) -> bool:
    output, problem = scenario.output, scenario.problem
    if output.states is not None or output.format not in (None, "zarr"):
        return False
    return output.format == "zarr" or (_states_kept(scenario, h) * _bodies(problem) > LONG and installed("zarr"))


def _states_kept(scenario: Scenario, h: float | None) -> int:
    """Return how many states are kept of steps of length h."""
    return 1 + ceil(step_count(scenario.problem.t_span, step_length(h)) / scenario.output.save_every)


def _free_states(scenario: Scenario) -> int:
    """Return how many states of a free body are wanted, which has no steps."""
    states = scenario.output.states
    return states or (FREE_STATES if scenario.h is None else _states_kept(scenario, scenario.h))


def _bodies(problem: Problem) -> int:
    return prod(common_batch(body=problem.body.batch, state=problem.state.batch))


def _check_room(scenario: Scenario, folder: Path, states: int) -> None:
    """Raise an error if so many states fit neither in memory nor on the disk."""
    size = states * _bodies(scenario.problem) * STATE_BYTES.get(scenario.output.format or "", 64)
    with memory_for(f"{states} states", size, FEWER_STATES):
        check_disk(folder, f"{states} states", size, "keep fewer, with save_every=...")


def _streamed(scenario: Scenario, folder: Path, choice: Choice | None, follow: Callable[[], Streamed]) -> Results:
    """A run that writes as it goes."""
    problem, path, failure, interrupted = scenario.problem, folder / STREAM, None, False
    try:
        done = follow()
    except RunError as problem_met:
        done, failure = streaming.open_stream(path), problem_met
    except KeyboardInterrupt:  # not while bodies move, which stops them in good order, but while something is written
        if not chunked.is_store(path):
            raise
        done, interrupted = streaming.open_stream(path), True
    interrupted = interrupted or _interrupted(done.status)
    bodies = prod(np.shape(done.status))
    result: Any = None
    if 0 < done.rows * bodies <= READ_AGAIN:
        result = store.load(path)
        result.problem = problem  # with its functions, which no file holds
        if choice is not None:
            explain(result, choice)
        found = report.summary(result)
    else:
        found = report.streamed_summary(problem, done)
    files = {"scenario": folder / SCENARIO, "trajectory": path}
    return Results(folder, scenario, result, files, found, failure, interrupted)


def _saved(scenario: Scenario, folder: Path, used: str, result: Trajectory, failure: RunError | None = None) -> Results:
    name = scenario.output.format or ("nc" if installed("xarray", "h5netcdf", "h5py") else "csv")
    files = {"scenario": folder / SCENARIO, "trajectory": folder / f"trajectory.{name}"}
    store.save(result, files["trajectory"])
    _write(folder / SCENARIO, used)
    _remove_earlier(folder, keep={files["trajectory"].name})
    found, problem = report.summary(result), scenario.problem
    if isinstance(result.method, Exact) and result.m.ndim == 2:
        found["free"] = report.free_summary(problem.free_motion(), problem.t_span)
    return Results(folder, scenario, result, files, found, failure, _interrupted(result.status))


def _exact(scenario: Scenario) -> Trajectory:
    """A free body, or several: no steps, only times."""
    problem, states = scenario.problem, _free_states(scenario)
    t0, t1 = problem.t_span
    motion = problem.free_motion()

    def sol(t: FloatArray) -> tuple[FloatArray, FloatArray]:
        return motion.sample(np.asarray(t) - t0)

    times = np.linspace(t0, t1, states)
    sol(times)  # compiled code is loaded here, so that the time below is that of the computation
    began = time.perf_counter()
    m, q = sol(times)
    stats = Stats(0, 0, time.perf_counter() - began)
    h = problem.duration / (states - 1)
    status = np.zeros(motion.batch, np.int64) if motion.batch else 0
    return Trajectory(
        problem, times, m, q, method=Exact(), h=h, stats=stats, status=status, message="free, so it is exact", sol=sol
    )


def _picture(result: Any, kind: str) -> Any:
    from polhode.show import plot

    problem: Problem = result.problem
    if kind == "overview" and isinstance(result.method, Exact) and result.m.ndim == 2 and problem.state.m.any():
        unit = problem.units.get("t", "")
        return plot.plot_free_motion(
            problem.free_motion(), 0.0, problem.duration, title=problem.summary, time_unit=unit
        )
    return plot.KINDS[kind](result)


def _check_extras(scenario: Scenario, view: bool) -> None:
    """Before anything is computed: what could not be written."""
    check_installed("tomli_w", "cli")
    if view:
        check_installed("plotly", "view")
    for package in store.NEEDED.get(f".{scenario.output.format}", ()):
        check_installed(package, "store")


def _interrupted(status: Any) -> bool:
    return bool(np.any(np.equal(status, INTERRUPTED)))


def _write_json(path: Path, data: dict[str, Any]) -> None:
    _write(path, json.dumps(data, indent=2, allow_nan=False) + "\n")


def _write(path: Path, text: str) -> None:
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8")
