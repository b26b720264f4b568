"""Nothing that only POSIX systems have is needed: each such call has another way, which is tried here on Linux.

Windows and macOS themselves are not tested. These tests take away what they lack, or put what they have in its place.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import re
import subprocess
import sys
import types

import pytest

from conftest import ROOT
from polhode.core import threads
from polhode.core.errors import StoreError, StoreWarning
from polhode.files import atomic, environment

SOURCES = sorted((ROOT / "src" / "polhode").rglob("*.py"))
# What Windows lacks, and the files in which it may be used, because they have an alternative (the tests below).
POSIX_ONLY = {
    r"\bimport fcntl\b": {"writer_lock.py"},
    r"\b(import|from) (pwd|grp|termios|tty|pty|syslog)\b": set(),
    r"\b(import|from) resource\b": {"capacity.py"},
    r"\bos\.(fork|forkpty|kill|killpg|getuid|geteuid|getgid|uname|mkfifo|chown|getloadavg|O_DIRECTORY)\b": {"cache.py"},
    r"\bos\.(sched_getaffinity|register_at_fork)\b": {"threads.py"},
    r"\bsignal\.(SIGKILL|SIGHUP|SIGALRM|SIGUSR1|SIGUSR2|alarm)\b": set(),
    r"\"/(proc|sys|dev|tmp|etc|usr)\b": {"threads.py", "environment.py"},
    r"\bos\.rename\b|\.rename\(": set(),  # os.replace does the same on all systems
    r"\bos\.fsync\b": {"atomic.py"},
}


@pytest.mark.parametrize("pattern", POSIX_ONLY)
def test_what_only_posix_has_is_used_where_there_is_an_alternative(pattern):
    found = {path.name for path in SOURCES if re.search(pattern, path.read_text("utf-8"))}
    assert found <= POSIX_ONLY[pattern]


def test_files_are_opened_with_an_encoding():
    """Windows would take its own code page."""
    for path in SOURCES:
        for call in re.findall(r"\.(?:read_text|write_text)\(.*", path.read_text("utf-8")):
            assert "encoding=" in call or '"utf-8"' in call or path.name in ("threads.py", "environment.py"), path


WITHOUT_FCNTL = """
import sys, tempfile, warnings
sys.modules["fcntl"] = None
import polhode as ph

folder = tempfile.mkdtemp()
top = ph.problems.heavy_top(t_end=10.0)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    done = ph.stream(top, f"{folder}/run.zarr", method="V2", h=0.1)
traj = ph.load(f"{folder}/run.zarr")
print(done.finished, len(traj.t), [str(w.message).split(" (")[1] for w in caught if "locked" in str(w.message)])
"""


def test_without_fcntl_a_run_goes_to_the_disk_and_warns():
    done = subprocess.run([sys.executable, "-c", WITHOUT_FCNTL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True 101 ['this system has no file locks)")


@pytest.fixture
def on_windows(monkeypatch):
    """The lock as Windows has it, with a stand-in for msvcrt that locks as this system does."""
    fcntl = pytest.importorskip("fcntl")
    msvcrt, places = types.ModuleType("msvcrt"), []

    def locking(handle, mode, count):
        places.append(os.lseek(handle, 0, os.SEEK_CUR))
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OSError(errno.EACCES, "Permission denied") from None

    msvcrt.LK_NBLCK, msvcrt.locking, msvcrt.places = 2, locking, places
    monkeypatch.setitem(sys.modules, "msvcrt", msvcrt)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    spec = importlib.util.spec_from_file_location("windows_lock", ROOT / "src" / "polhode" / "files" / "writer_lock.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, "platform", "win32")
    spec.loader.exec_module(module)
    monkeypatch.undo()
    module.msvcrt = msvcrt
    return module


def test_the_lock_of_windows(on_windows, tmp_path):
    path = tmp_path / "run.zarr"
    with on_windows.only_writer(path):
        assert (tmp_path / ".run.zarr.lock").read_text("utf-8").startswith(f"process {os.getpid()} ")
        with (
            pytest.raises(StoreError, match=f"is being written by process {os.getpid()}"),
            on_windows.only_writer(path),
        ):
            pass
    assert list(tmp_path.iterdir()) == []
    assert set(on_windows.msvcrt.places) == {on_windows.UNREAD}  # a locked byte cannot be read by others
    with on_windows.only_writer(path):
        pass


def test_a_system_without_locks_warns(monkeypatch, tmp_path):
    from polhode.files import writer_lock

    monkeypatch.setattr(writer_lock, "fcntl", None)
    with pytest.warns(StoreWarning, match="no file locks"), writer_lock.only_writer(tmp_path / "run.zarr"):
        pass


def test_on_windows_folders_are_not_synced_and_files_are_opened_for_writing(monkeypatch, tmp_path):
    file = tmp_path / "numbers.csv"
    file.write_text("1", encoding="utf-8")
    opened, original = [], os.open
    monkeypatch.setattr(atomic.os, "open", lambda path, flags: opened.append((path, flags)) or original(path, flags))
    monkeypatch.setattr(atomic, "os", _Windows(os))
    atomic.sync(tmp_path)
    assert opened == []
    atomic.sync(file)
    assert opened == [(file, os.O_RDWR)]


class _Windows:
    """The module os with another name of the system."""

    name = "nt"

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        return getattr(self._module, name)


def test_cores_are_counted_without_affinities_and_control_groups(monkeypatch, tmp_path):
    for name in ("process_cpu_count", "sched_getaffinity"):
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    monkeypatch.setattr(threads, "CGROUPS", (tmp_path / "none", tmp_path / "nothing"))
    assert threads._cores.__wrapped__() == 7


def test_a_processor_without_cpuinfo_has_a_name(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "CPU", "native")
    known = environment.processor()
    monkeypatch.setattr(environment, "Path", lambda name: tmp_path / name.lstrip("/"))
    assert environment.processor() != known
    assert re.fullmatch(r"\S+ [0-9a-f]{12}", environment.processor())


@pytest.mark.parametrize(("system", "expected"), [("win32", "local/polhode"), ("darwin", "Library/Caches/polhode")])
def test_the_cache_is_where_the_system_keeps_caches(monkeypatch, tmp_path, system, expected):
    from polhode.kernels.compiler.cache import cache_root

    monkeypatch.delenv("POLHODE_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setattr(sys, "platform", system)
    assert cache_root() == tmp_path / expected
