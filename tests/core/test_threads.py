"""How many threads a process takes, and how work is shared among them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from math import inf

import numpy as np
import pytest

from polhode.core import threads
from polhode.core.threads import PARALLEL_FROM, cgroup_quota, in_ranges, thread_count

ALL = 64  # cores of the machine


def limits(folder, membership, files):
    """Control groups as Linux shows them, below ``folder``."""
    for name, text in files.items():
        (folder / "sys" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "sys" / name).write_text(text)
    (folder / "cgroup").write_text(membership)
    return folder / "sys", folder / "cgroup"


QUOTAS = [
    ("0::/\n", {"cpu.max": "max 100000\n"}, inf),
    ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
    ("0::/\n", {"cpu.max": "50000 100000\n"}, 0.5),
    ("0::/a/b\n", {"cpu.max": "max 100000", "a/cpu.max": "200000 100000", "a/b/cpu.max": "800000 100000"}, 2.0),
    ("0::/host/path\n", {"cpu.max": "300000 100000\n"}, 3.0),
    ("0::/../../other\n", {"cpu.max": "300000 100000\n"}, 3.0),
    ("0::/\n", {"cpu.max": "nonsense"}, inf),
    ("0::/\n", {"cpu.max": "100000 0"}, inf),
    ("0::/\n", {"cpu.max": ""}, inf),
    ("0::/\n", {}, inf),
    ("", {"cpu.max": "100000 100000"}, inf),
    ("9:memory:/x\n4:cpu,cpuacct:/d\n", {"cpu/d/cpu.cfs_quota_us": "400000", "cpu/d/cpu.cfs_period_us": "100000"}, 4.0),
    ("1:cpu:/d\n0::/\n", {"cpu/cpu.cfs_quota_us": "250000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2.5),
    ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, inf),
    ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "100000\n"}, inf),
    ("1:cpuset:/\n", {"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"}, inf),
    ("2:cpuacct,cpu:/\n", {"cpu,cpuacct/cpu.cfs_quota_us": "700000", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, 7.0),
]


@pytest.mark.parametrize(("membership", "files", "expected"), QUOTAS)
def test_quota_of_control_groups(tmp_path, membership, files, expected):
    assert cgroup_quota(*limits(tmp_path, membership, files)) == expected


@pytest.fixture
def machine(monkeypatch):
    """A machine with 64 cores and no choice by the user."""
    monkeypatch.delenv("POLHODE_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(ALL)), raising=False)
    monkeypatch.setattr(os, "process_cpu_count", lambda: ALL, raising=False)
    threads._cores.cache_clear()
    yield
    threads._cores.cache_clear()


@pytest.mark.parametrize(("quota", "expected"), [("max", ALL), ("150000", 2), ("20000", 1), ("9900000", ALL)])
def test_threads_respect_the_quota(tmp_path, monkeypatch, machine, quota, expected):
    monkeypatch.setattr(threads, "CGROUPS", limits(tmp_path, "0::/\n", {"cpu.max": f"{quota} 100000\n"}))
    assert thread_count() == expected


def test_the_user_decides(tmp_path, monkeypatch, machine):
    monkeypatch.setattr(threads, "CGROUPS", limits(tmp_path, "0::/\n", {"cpu.max": "100000 100000\n"}))
    monkeypatch.setenv("POLHODE_NUM_THREADS", " 4096 ")
    assert thread_count() == 4096
    monkeypatch.setenv("POLHODE_NUM_THREADS", "")
    assert thread_count() == 1


def test_a_machine_without_control_groups(tmp_path, monkeypatch, machine):
    monkeypatch.setattr(threads, "CGROUPS", (tmp_path / "none", tmp_path / "no file"))
    assert thread_count() == ALL


@pytest.fixture
def use(monkeypatch):
    """Return a function that sets the number of threads."""
    return lambda number: monkeypatch.setenv("POLHODE_NUM_THREADS", str(number))


def counted(count, weight=PARALLEL_FROM):
    """Return how often each of ``count`` items was worked on, after work that reports the smallest number."""
    done = np.zeros(count, np.int64)

    def work(start, stop):
        done[start:stop] += 1
        return start

    assert in_ranges(work, count, weight) == 0
    return done


@pytest.mark.parametrize("number", [1, 2, 3, 6])
def test_every_item_is_done_once(number, use):
    use(number)
    for count in [1, 2, 3, 17, 1000, 70_000]:
        assert (counted(count) == 1).all()


def test_short_work_is_done_by_the_caller(use):
    use(3)
    workers = set()
    in_ranges(lambda start, stop: workers.add(threading.get_ident()) or 0, 10, 0.09 * PARALLEL_FROM)
    assert workers == {threading.get_ident()}


def test_long_work_is_done_by_several(use):
    """Every thread waits for another one in its first piece: alone, nobody would come to an end."""
    use(2)
    together = threading.Barrier(2)
    met = threading.local()

    def work(start, stop):
        if not hasattr(met, "other"):
            met.other = together.wait(timeout=30)
        return 0

    in_ranges(work, 8, PARALLEL_FROM)


def test_two_threads_with_work_at_once(use):
    use(2)
    results = []
    users = [threading.Thread(target=lambda: results.extend(counted(50) for _ in range(100))) for _ in range(3)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert len(results) == 300
    assert all((done == 1).all() for done in results)


def test_what_a_piece_raises_is_raised(use):
    use(2)
    with pytest.raises(ZeroDivisionError):
        in_ranges(lambda start, stop: 1 // 0, 8, PARALLEL_FROM)
    assert (counted(8) == 1).all()


def test_after_ctrl_c_no_thread_works_on(use):
    """The caller is interrupted while another thread works: that thread ends its piece first, and takes no other."""
    use(2)
    together = threading.Barrier(2)
    begun, ended = [], []

    def work(start, stop):
        begun.append(start)
        if len(begun) < 3:
            together.wait(timeout=30)
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        time.sleep(0.2)
        ended.append(start)
        return 0

    with pytest.raises(KeyboardInterrupt):
        in_ranges(work, 8, PARALLEL_FROM)
    assert len(begun) == 2
    assert len(ended) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_has_threads_of_its_own(use):
    use(2)
    counted(50)
    child = os.fork()
    if not child:
        os._exit(0 if (counted(50) == 1).all() else 1)
    assert os.waitpid(child, 0)[1] == 0


AT_EXIT = """
import atexit
import numpy as np
import polhode as ph
from polhode.systems.interactions import DipolarSoftSpheres

def work():
    m = np.tile((0.3, 0.4, 0.5), (30_000, 1))
    ph.propagate((1.0, 2.0, 3.0), m, np.tile((1.0, 0, 0, 0), (30_000, 1)), 0.1)
    Q, force, torque = np.stack([np.eye(3)] * 800), np.zeros((800, 3)), np.zeros((800, 3))
    DipolarSoftSpheres((0, 0, 1.0)).evaluate(0.0, x, Q, force, torque)
    print("done", flush=True)

x = np.random.default_rng(1).random((800, 3))
work()
atexit.register(work)
"""


@pytest.mark.dense
def test_work_when_python_ends():
    """Then there are no threads any more."""
    run = subprocess.run(
        [sys.executable, "-c", AT_EXIT], env=os.environ | {"POLHODE_NUM_THREADS": "2"}, capture_output=True, text=True
    )
    assert (run.stdout, run.returncode) == ("done\ndone\n", 0), run.stderr
