"""A long run in a process of its own, to be killed: python streaming_job.py PATH. It begins, or goes on."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import polhode as ph
from polhode import forces
from polhode.files import long_run_writer as stream_writer
from polhode.files import long_runs as streaming
from polhode.integration.problem import Problem
from polhode.solve import integrate

TENSOR = ((2.0, 0.1, -0.2), (0.1, 2.5, 0.3), (-0.2, 0.3, 3.0))
METHOD, H, EVERY, CHUNK = "S6_10", 0.01, 3, 16


def problem(t_end=120.0):
    """Two tops in turned axes, so that everything that is converted or summed up takes part."""
    state = ph.State([(0.3, 0.2, 0.9), (0.1, -0.7, 0.4)])
    return Problem(ph.RigidBody(TENSOR), state, forces.gravity(1.0, (0.1, 0.2, 0.5)), (0.0, t_end))


def main(path):
    stream_writer.BLOCK_SECONDS, stream_writer.COMMIT_SECONDS = 1e-4, 0.0  # most of the time it writes
    integrate(problem(0.1), method=METHOD, h=H)  # loads what is compiled, once and for all
    importlib.import_module("zarr")
    print("going", flush=True)
    if path.exists():
        streaming.resume(path, problem())
    else:
        streaming.stream(problem(), path, method=METHOD, h=H, save_every=EVERY, chunk=CHUNK)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
