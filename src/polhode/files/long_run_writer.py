"""Writer of long runs: integrates block by block, and writes chunks of states and checkpoints to a store."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.capacity import check_disk
from polhode.core.errors import Interrupted, RunError
from polhode.core.messages import Hint, joined
from polhode.core.progress import Progress, Report
from polhode.files import checksums, chunked
from polhode.files.chunked import Checkpoint, Rows
from polhode.files.contents import contents_of
from polhode.files.environment import environment
from polhode.files.record import Arrays, FileRecord
from polhode.integration.base_trajectory import Stats
from polhode.integration.running import Run, Schedule
from polhode.kernels.stepping.status import Status

TIMES = "saved_times"  # array of the times of states, and its dimension, if the method chooses its steps
FEWER_STATES = joined("keep fewer, with ", Hint("save_every=...", "--set output.save_every=..."))
BLOCK_SECONDS = 0.5  # intended computing time of a block of states
COMMIT_SECONDS = 5.0  # after which a checkpoint is written even if the chunk is not full


@dataclass(frozen=True)
class Streamed:
    """Progress of a long run; ``polhode.load(path)`` reads its states.

    Attributes
    ----------
    path : Path
        Folder of the store.
    rows, total : int
        Number of states written so far, and number of states of the complete run.
    finished : bool
        Whether the run has ended, because all bodies reached the end or cannot go on.
    status : Status or ndarray of int
        Status of each body, as in a Trajectory.
    message : str
        How the run ended, or how to continue it.
    stats : Stats
        Numbers of steps and torques, and computing time.
    """

    path: Path
    rows: int
    total: int
    finished: bool
    status: Any
    message: str
    stats: Stats

    @property
    def success(self) -> bool:
        """Whether the run is finished and all bodies reached the end."""
        return self.finished and not np.any(np.less(self.status, 0))


class StreamWriter:
    """Writer that integrates a run and writes its states to a store.

    Parameters
    ----------
    run : Run
        The run.
    path : Path
        Folder of the store.
    schedule : Schedule
        When states are saved.
    chunk : int
        Number of states per chunk.
    """

    def __init__(self, run: Run, path: Path, schedule: Schedule, chunk: int) -> None:
        self.run = run
        self.contents = contents_of(run.problem)
        self.path = path
        self.schedule = schedule
        self.chunk = chunk
        self.total = schedule.total
        self.rows = 0
        self.finished = False
        self.message = ""
        self.tail = [self._empty()]
        self.checksums: dict[str, list[str]] = {name: [] for name in self.tail[0]}
        self.seal = ""
        self.snapshot = run.snapshot()
        self.status = self._status()
        self.committed = time.perf_counter()

    def check_room(self) -> None:
        """Raise StoreError if the remaining states do not fit on the disk."""
        states = self.total - self.rows - self.waiting
        each = 8 * sum(prod(values.shape[1:]) for values in self._empty().values())
        check_disk(self.path, f"{states} states of {each} bytes", states * each, FEWER_STATES)

    def create(self) -> None:
        """Create the store, without states."""
        run = self.run
        arrays = self._arrays(*run.rows.not_reached(np.empty(0)))
        dims = arrays["q"][0][1:-1] if run.batch else ()
        arrays["status"] = dims, self.status
        plan = {
            "t_span": (run.t0, run.t1), "h": run.h, "total": self.total, "save_every": self.schedule.every,
            "chunk": self.chunk, "environment": environment(), "functions": self.contents.functions_of(run.problem),
        }  # fmt: skip
        if self.schedule.times is not None:
            arrays[TIMES] = (TIMES,), self.schedule.times
        attributes = self.contents.describe(run.problem) | {
            "method": repr(run.method),
            "h": run.h,
            "plan": json.dumps(plan),
        }
        record = FileRecord(arrays | self.contents.parameters(run.problem), attributes | self._outcome())
        self.seal = chunked.seal_of(record)
        chunked.create(self.path, record, self.total, self.chunk, self._checkpoint())

    def take_over(self, checkpoint: Checkpoint) -> None:
        """Restore the run and the writer from a checkpoint."""
        self.run.restore(checkpoint.snapshot)
        self.snapshot = checkpoint.snapshot
        self.status = checkpoint.status
        self.message = checkpoint.state["message"]
        self.finished = checkpoint.state["finished"]
        self.rows = checkpoint.rows
        self.tail = [checkpoint.tail]
        self.checksums = checkpoint.checksums
        self.seal = checkpoint.seal

    def go_on(self, progress: bool | Report) -> Streamed:
        """Integrate to the end, and return the finished run; ``progress`` tells whether to show a progress bar.

        After Ctrl-C, the block that was being computed is discarded, because its bodies may have reached different
        times, and Interrupted is raised. RunError is raised if a single body cannot go on.
        """
        failure = None
        size = 1
        with _Bar(self, progress) as bar:
            while not self.finished:
                first = self.rows + self.waiting
                last = min(first + size, self.rows + self.chunk, self.total)
                start_time = time.perf_counter()
                states = self._states(first, last, bar)
                if self.run.interrupted:
                    break
                elapsed = time.perf_counter() - start_time
                if first:  # the initial state takes no time, so its block says nothing about the others
                    larger = size * min(8.0, max(0.25, BLOCK_SECONDS / max(elapsed, 1e-6)))
                    size = max(1, min(self.chunk, int(larger)))
                failure = self._take(states, last)
        if self.finished:
            chunked.close(self.path, self._checkpoint())
        else:
            self.commit()
        result = streamed(self.path, self._checkpoint(), self.total)
        if failure is not None:
            raise RunError(self.message, result) from failure
        if not self.finished:
            raise Interrupted(result)
        return result

    @property
    def waiting(self) -> int:
        """Number of states that are not in a chunk yet."""
        return sum(len(states["time"]) for states in self.tail)

    def commit(self, snapshot: Rows | None = None) -> None:
        """Write a checkpoint; ``snapshot`` is the current state of the run, if it has advanced since the last block."""
        self.snapshot = self.snapshot if snapshot is None else snapshot
        chunked.commit(self.path, self._checkpoint())
        self.committed = time.perf_counter()

    def _take(self, states: Rows, last: int) -> BaseException | None:
        """Add a block of states to the tail, and write a chunk or a checkpoint if it is time.

        The exception that stopped a single body is returned, or None.
        """
        run = self.run
        failure = None
        self.tail.append(states)
        self.snapshot = run.snapshot()
        self.status = self._status()
        if last == self.total or run.all_stopped:
            failure = self._finish()
        if self.finished or self.waiting == self.chunk:
            if self.waiting:
                self._write_chunk(self._whole_tail())
            self.rows += self.waiting
            self.tail = [self._empty()]
            self.commit()
        elif time.perf_counter() - self.committed > COMMIT_SECONDS:
            self.commit()
        return failure

    def _write_chunk(self, states: Rows) -> None:
        """Write a chunk of states, and add its checksums."""
        chunked.write_chunk(self.path, self.rows, states)
        for name, values in states.items():
            self.checksums[name].append(checksums.of_values(values))

    def _finish(self) -> BaseException | None:
        """Set status and message at the end of the run, and remove states that no body reached.

        The exception that stopped a single body is returned, or None.
        """
        run = self.run
        whole = self._whole_tail()
        reached = np.isfinite(whole["q"]).reshape(len(whole["q"]), -1).any(axis=-1)
        self.tail = [{name: values[reached] for name, values in whole.items()}]
        self.finished = True
        self.status = np.asarray(run.user_status())
        if not np.any(np.less(self.status, 0)):
            return None
        failure = run.failure()
        self.message = failure.message
        if run.batch:
            run.warn_of_failures(failure)
        return None if run.batch else failure.cause or RunError(self.message, None)

    def _whole_tail(self) -> Rows:
        """Return all states that are not in a chunk yet, concatenated."""
        self.tail = [{name: np.concatenate([states[name] for states in self.tail]) for name in self.tail[0]}]
        return self.tail[0]

    def _states(self, first: int, last: int, bar: Progress) -> Rows:
        """Integrate and return the states ``first`` to ``last - 1`` of the schedule, in the user's axes."""
        run = self.run
        states = run.scheduled(self.schedule, first, last, bar)
        return {name: values for name, (_, values) in self._arrays(*states).items()}

    def _arrays(self, t: FloatArray, m: FloatArray, q: FloatArray) -> Arrays:
        """Return the arrays of states that are stored, in the user's axes."""
        return self.contents.state_arrays(self.run.problem, t, *self.run.rows.to_user(m, q))

    def _empty(self) -> Rows:
        """Return arrays of no states, with the shapes of states."""
        states = self._arrays(*self.run.rows.not_reached(np.empty(0)))
        return {name: values for name, (_, values) in states.items()}

    def _status(self) -> Any:
        """Return the status of each body; bodies that have not reached the end yet count as interrupted."""
        status = np.asarray(self.run.user_status())
        return np.where(status == Status.REACHED_END, Status.INTERRUPTED, status)

    def _outcome(self) -> dict[str, str]:
        """Return the attributes that change while the run proceeds: ``message`` and ``stats``."""
        message = self.message if self.finished else chunked.not_finished(self.rows + self.waiting, self.total)
        return {
            "message": message,
            "stats": json.dumps(asdict(_stats(self.snapshot))),
        }

    def _checkpoint(self) -> Checkpoint:
        """Return the checkpoint of the states computed so far."""
        state = {"finished": self.finished} | self._outcome()
        return Checkpoint(self.rows, self._whole_tail(), self.snapshot, self.status, state, self.checksums, self.seal)


class _Bar(Progress):
    """Progress bar, which also writes checkpoints if much time passes between two saved states."""

    def __init__(self, writer: StreamWriter, wanted: bool | Report) -> None:
        super().__init__(wanted, **writer.run.progress())
        self.writer = writer

    def show(self, done: float) -> None:
        """Show the progress after ``done`` steps, and write a checkpoint if it is time."""
        super().show(done)
        writer = self.writer
        if time.perf_counter() - writer.committed > COMMIT_SECONDS and writer.run.can_pause:
            writer.commit(writer.run.snapshot())


def streamed(path: Path, checkpoint: Checkpoint, total: int) -> Streamed:
    """Return the progress of the run at ``path``; ``total`` is the number of states of the complete run."""
    status = checkpoint.status if checkpoint.status.ndim else Status(int(checkpoint.status))
    state = checkpoint.state
    stats = Stats(**json.loads(state["stats"]))
    return Streamed(path, checkpoint.count, total, state["finished"], status, checkpoint.message(total), stats)


def _stats(snapshot: Rows) -> Stats:
    """Return the statistics of a run, summed over all bodies."""
    counters = [snapshot.get(name, np.zeros(1)) for name in ("steps", "torques", "iterations", "rejected")]
    steps, torques, iterations, rejected = (int(counter.sum()) for counter in counters)
    return Stats(steps, torques, float(snapshot["seconds"]), iterations, rejected)
