"""How many threads a process takes."""

from __future__ import annotations

import os
from math import inf

import pytest

from polhode.core import threads
from polhode.core.threads import cgroup_quota, thread_count

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
