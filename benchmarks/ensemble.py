"""Ensembles: members per second on one and two cores, memory, and what a cluster costs per chunk.

python benchmarks/ensemble.py [part of the members, such as 0.1]

Every measurement is a process of its own, after a small run that compiles and loads; ``most`` is the largest memory the
process had beyond what it had then.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import polhode as ph
from polhode import forces, sampling
from polhode.ensembles.ensemble import ensemble
from polhode.scenarios.ensemble import arguments_of
from polhode.scenarios.scenario import build

STEPS = 1000
DEBRIS = Path(__file__).parent.with_name("examples") / "debris.toml"
SMALL_CHUNKS = 200


def free(count):
    """Bodies of all shapes, spins and attitudes, each to a time of its own."""
    problem = ph.Problem((1.0, 1.5, 2.0), ph.State(m=(0, 0, 1)), t_span=(0, 100))
    laws = {"moments": sampling.inertia_triangle(4.0), "omega": sampling.direction(), "q": sampling.attitude()}
    return (problem, sampling.draw(count, **laws, t=sampling.uniform(0, 100))), {"seed": 1}


def torqued(count):
    """Tops, a thousand steps of the Verlet splitting each."""
    problem = ph.Problem((1.0, 1.2, 0.5), ph.State(m=(0.1, 0, 2)), forces.gravity(1.0, (0, 0, 0.3)), t_span=(0, 10))
    samples = sampling.draw(count, m=sampling.normal((0.1, 0, 2), 0.1), q=sampling.attitude())
    return (problem, samples), {"seed": 1, "method": "V2", "h": 10.0 / STEPS, "chunk": 8192}


def debris(count):
    """Rocket stages of ``examples/debris.toml``: a day of tumbling, 1440 steps of ABA1064."""
    data = tomllib.loads(DEBRIS.read_text())
    data["ensemble"]["count"] = count
    given = arguments_of(build(data, DEBRIS.name), DEBRIS.name)
    return (given.pop("problem"), given.pop("samples")), given


KINDS = {"free": (free, 1_000_000), "torqued": (torqued, 100_000), "debris": (debris, 100_000)}  # and their members


def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(kind, count, where):
    """Seconds, and MB beyond those before; where: memory, disk, or samples (nothing but drawing them)."""
    make, _ = KINDS[kind]
    with tempfile.TemporaryDirectory() as folder:
        arguments, options = make(200)
        ensemble(*arguments, **options, out=f"{folder}/small.zarr")
        arguments, options = make(count)
        before, began = memory(), time.perf_counter()
        if where == "samples":
            arguments[1].seeded(1).rows()
        else:
            ensemble(*arguments, **options, out=f"{folder}/e.zarr" if where == "disk" else None)
        return {"seconds": time.perf_counter() - began, "most": memory() - before}


def cluster(count):
    """Seconds per chunk beyond those of the same chunks here: tiny ones, so that only the overhead is left."""
    import distributed

    (problem, _), _ = free(1)
    chunk = max(1, count // SMALL_CHUNKS)
    samples = free(chunk * SMALL_CHUNKS)[0][1]
    found = {}
    local = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, **local) as workers,
        distributed.Client(workers) as client,
        tempfile.TemporaryDirectory() as folder,
    ):
        for name, how in (("memory", {}), ("disk", {"out": True})):
            seconds = []
            for attempt, where in enumerate((None, client, None, client)):
                out = {"out": f"{folder}/{name}{attempt}.zarr"} if how else {}
                began = time.perf_counter()
                ensemble(problem, samples, seed=1, chunk=chunk, client=where, **out)
                seconds.append(time.perf_counter() - began)
            found[name] = {"here": seconds[2] / SMALL_CHUNKS, "cluster": seconds[3] / SMALL_CHUNKS}
    return found


def apart(threads, *arguments):
    """The measurement in a new process with so many threads."""
    environment = os.environ | {"POLHODE_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, __file__, "measure", *map(str, arguments)], env=environment, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def main(part):
    print(f"{'':34}{'1 core':>22}{'2 cores':>22}{'most memory, MB':>18}")
    for kind, (_, whole) in KINDS.items():
        count = int(whole * part)
        for where in ("samples", "memory", "disk"):
            one, two = (apart(threads, kind, count, where) for threads in (1, 2))
            told = [f"{found['seconds']:.2f} s {count / found['seconds']:9.3g}/s" for found in (one, two)]
            print(f"{kind:8} {count:8} members, {where:8} {told[0]:>22}{told[1]:>22}{two['most']:18.0f}")
    for where, found in apart(2, "cluster", 2000, "memory").items():
        here, there = 1e3 * found["here"], 1e3 * found["cluster"]
        print(f"a chunk of ten free bodies, {where}: {here:.2f} ms here, {there:.2f} ms on a cluster of one worker")


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        kind, count, where = sys.argv[2:]
        print(json.dumps(cluster(int(count)) if kind == "cluster" else measure(kind, int(count), where)))
    else:
        main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
