"""A long run on its way to its store: blocks of states, chunks of blocks, and checkpoints."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from polhode.core.arrays import IntArray
from polhode.core.capacity import check_disk
from polhode.core.errors import RunError
from polhode.core.progress import Progress
from polhode.files import checksums, chunked
from polhode.files.chunked import Checkpoint, Rows
from polhode.files.environment import environment
from polhode.files.record import Record, body_dimensions, describe, functions_of, has_energy, parameters
from polhode.integration.running import Run
from polhode.integration.trajectory import INTERRUPTED, REACHED_END, Stats, Trajectory

FEWER_STATES = "keep fewer, with save_every=..."
BLOCK_SECONDS = 0.5  # of computing, after which states are taken over
COMMIT_SECONDS = 5.0  # after which a checkpoint is written also if the chunk is not full


@dataclass(frozen=True)
class Streamed:
    """How far a long run came: ``rows`` of ``total`` states. ``polhode.load(path)`` reads them."""

    path: Path
    rows: int
    total: int
    finished: bool
    status: Any
    message: str
    stats: Stats

    @property
    def success(self) -> bool:
        """Whether all bodies reached the end."""
        return self.finished and not np.any(np.less(self.status, 0))


class StreamWriter:
    """A run, and the store that its states go to."""

    def __init__(self, run: Run, path: Path, every: int, chunk: int) -> None:
        self.run, self.path, self.every, self.chunk = run, path, every, chunk
        self.total = -(-run.count // every) + 1
        self.rows, self.finished, self.message = 0, False, ""
        self.tail = [self._empty()]
        self.checksums: dict[str, list[str]] = {name: [] for name in self.tail[0]}
        self.seal = ""
        self.snapshot = run.snapshot()
        self.status = self._status()
        self.committed, self.next_save = time.perf_counter(), -1  # the latter, if it is the only one of a block

    def check_room(self) -> None:
        """Raise StoreError if the states that are still to come do not fit on the disk."""
        states = self.total - self.rows - self.waiting
        each = 8 * sum(prod(values.shape[1:]) for values in self._empty().values())
        check_disk(self.path, f"{states} states of {each} bytes", states * each, FEWER_STATES)

    def create(self) -> None:
        """An empty store."""
        run, dims = self.run, ("time", *body_dimensions(self.run.batch))
        last = {"m": ("xyz",), "q": ("quaternion",)}
        arrays = {name: ((*dims, *last.get(name, ())), values) for name, values in self._empty().items()}
        arrays |= {"time": (("time",), arrays["time"][1]), "status": (dims[1:], self.status)}
        plan = {
            "t_span": (run.t0, run.t1), "h": run.h, "total": self.total, "save_every": self.every, "chunk": self.chunk,
            "environment": environment(), "functions": functions_of(run.problem),
        }  # fmt: skip
        attributes = describe(run.problem) | {"method": repr(run.method), "h": run.h, "plan": json.dumps(plan)}
        record = Record(arrays | parameters(run.problem, run.batch), attributes | self._told())
        self.seal = chunked.seal_of(record)
        chunked.create(self.path, record, self.total, self.chunk, self._checkpoint())

    def take_over(self, checkpoint: Checkpoint) -> None:
        self.run.restore(checkpoint.snapshot)
        self.snapshot, self.status, self.message = checkpoint.snapshot, checkpoint.status, checkpoint.state["message"]
        self.rows, self.tail, self.finished = checkpoint.rows, [checkpoint.tail], checkpoint.state["finished"]
        self.checksums, self.seal = checkpoint.checksums, checkpoint.seal

    def go_on(self, wanted: bool) -> Streamed:
        """To the end, or until Ctrl-C; what counts then ends before the last block, in which bodies may be anywhere."""
        failure, size = None, 1
        with _Bar(self, wanted) as bar:
            while not self.finished:
                first = self.rows + self.waiting
                last = min(first + size, self.rows + self.chunk, self.total)
                began = time.perf_counter()
                states = self._states(self.steps(first, last), bar)
                if self.run.interrupted:
                    break
                elapsed = time.perf_counter() - began
                if first:  # the start takes no time, and says nothing about the others
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
        return result

    def steps(self, first: int, last: int) -> IntArray:
        """After which states number first..last are wanted."""
        return np.minimum(np.arange(first, last, dtype=np.int64) * self.every, self.run.count)

    @property
    def waiting(self) -> int:
        """States that are not in a chunk yet."""
        return sum(len(states["time"]) for states in self.tail)

    def commit(self, snapshot: Rows | None = None) -> None:
        """What was taken over counts from now on; ``snapshot`` is where the run is, if it went on since then."""
        self.snapshot = self.snapshot if snapshot is None else snapshot
        chunked.commit(self.path, self._checkpoint())
        self.committed = time.perf_counter()

    def _take(self, states: Rows, last: int) -> BaseException | None:
        """States that were reached; what stopped the one body, if it was stopped."""
        run, failure = self.run, None
        self.tail.append(states)
        self.snapshot, self.status = run.snapshot(), self._status()
        if last == self.total or run.all_stopped:
            failure = self._finish()
        if self.finished or self.waiting == self.chunk:
            if self.waiting:
                self._write_chunk(self._whole_tail())
            self.rows, self.tail = self.rows + self.waiting, [self._empty()]
            self.commit()
        elif time.perf_counter() - self.committed > COMMIT_SECONDS:
            self.commit()
        return failure

    def _write_chunk(self, states: Rows) -> None:
        chunked.write_chunk(self.path, self.rows, states)
        for name, values in states.items():
            self.checksums[name].append(checksums.of_values(values))

    def _finish(self) -> BaseException | None:
        """Nothing more will come: how did it go? Rows that no body reached are left away."""
        run, whole, failure = self.run, self._whole_tail(), None
        reached = np.isfinite(whole["q"]).reshape(len(whole["q"]), -1).any(axis=-1)
        self.tail = [{name: values[reached] for name, values in whole.items()}]
        self.finished, self.status = True, np.asarray(run.user_status())
        try:
            self.message = run.trajectory(*(whole[name][-1:] for name in ("time", "m", "q"))).message
        except RunError as problem:
            self.message, failure = str(problem), problem
        return failure

    def _whole_tail(self) -> Rows:
        self.tail = [{name: np.concatenate([states[name] for states in self.tail]) for name in self.tail[0]}]
        return self.tail[0]

    def _states(self, steps: IntArray, bar: Progress) -> Rows:
        """In the user's axes."""
        run = self.run
        self.next_save = int(steps[0]) if len(steps) == 1 else -1
        t, m, q = run.at_steps(steps, bar)
        m, q = run.to_user(m, q)
        states = {"time": t, "m": m, "q": q}
        if has_energy(run.problem):
            some = Trajectory(run.problem, t, m, q, method=run.method, h=run.h, stats=_stats(self.snapshot))
            states["energy"] = some.energy
        return states

    def _empty(self) -> Rows:
        shapes = {"time": (0,), "m": (0, *self.run.batch, 3), "q": (0, *self.run.batch, 4)}
        shapes |= {"energy": (0, *self.run.batch)} if has_energy(self.run.problem) else {}
        return {name: np.empty(shape) for name, shape in shapes.items()}

    def _status(self) -> Any:
        """Of bodies that are on their way: interrupted, so far."""
        status = np.asarray(self.run.user_status())
        return np.where(status == REACHED_END, INTERRUPTED, status)

    def _told(self) -> dict[str, str]:
        count = self.rows + self.waiting
        message = f"not finished: {count} of {self.total} states; type polhode.resume(path, problem) to go on"
        return {
            "message": self.message if self.finished else message,
            "stats": json.dumps(asdict(_stats(self.snapshot))),
        }

    def _checkpoint(self) -> Checkpoint:
        state = {"finished": self.finished} | self._told()
        return Checkpoint(self.rows, self._whole_tail(), self.snapshot, self.status, state, self.checksums, self.seal)


class _Bar(Progress):
    """A bar, which is shown between pieces of work: there, long ways between two states are committed, too."""

    def __init__(self, writer: StreamWriter, wanted: bool) -> None:
        run = writer.run
        super().__init__(wanted, run.count, int(run.current.steps.min(initial=run.count)), time_after=run.times)
        self.writer = writer

    def show(self, done: float) -> None:
        super().show(done)
        writer = self.writer
        if done < writer.next_save and time.perf_counter() - writer.committed > COMMIT_SECONDS:
            writer.commit(writer.run.snapshot())


def streamed(path: Path, checkpoint: Checkpoint, total: int) -> Streamed:
    status = checkpoint.status if checkpoint.status.ndim else int(checkpoint.status)
    state, stats = checkpoint.state, Stats(**json.loads(checkpoint.state["stats"]))
    return Streamed(path, checkpoint.count, total, state["finished"], status, state["message"], stats)


def _stats(snapshot: Rows) -> Stats:
    steps, torques, iterations = (int(snapshot[name].sum()) for name in ("steps", "torques", "iterations"))
    return Stats(steps, torques, float(snapshot["seconds"]), iterations)
