"""Compiled code on disk is never stale, never in the way, and never grows without bound.

The package is copied, a small entry that uses helpers of two other kernel files is added, and both are edited between
runs in fresh processes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import ROOT
from polhode.kernels.compiler import JIT, cache, code, machine

compiled = pytest.mark.skipif(not JIT, reason="nothing is compiled with POLHODE_JIT=0")

OUTER = """
from polhode.kernels.compiler.jit import entry_point

@entry_point("f8(f8)")
def outer(x):
"""

PROBE = """
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.numbers.quat import product
from polhode.kernels.numbers.series import WP3


@entry_point("UniTuple(f8,2)(f8)")
def probe(x):
    return product((0.0, x, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))[3], x * WP3[0]
"""

RUN = """
import sys
from polhode.kernels.probe import probe
{between}
print(*probe(2.0))
"""


class Copy:
    """A copy of the package with its own cache."""

    def __init__(self, folder):
        self.source, self.cache = folder / "src", folder / "cache"
        self.kernels = self.source / "polhode" / "kernels"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src" / "polhode", self.source / "polhode", ignore=ignored)
        (self.kernels / "probe.py").write_text(PROBE)

    def run(self, between="", warned=0, **environment):
        """What the probe returns in a new process; ``warned`` is how often it must warn of damage, if that is known."""
        settings = {"POLHODE_CACHE_DIR": str(self.cache), "POLHODE_JIT": "1", "PYTHONPATH": str(self.source)}
        settings["PYTHONDONTWRITEBYTECODE"] = "1"  # it, too, could be stale: it counts in seconds
        expected = ("-W", "always:compiled code", "-W", "always:the cache folder")
        command = [sys.executable, "-W", "error", *expected, "-c", RUN.format(between=between)]
        done = subprocess.run(
            command, env={**os.environ, **settings, **environment}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert warned is None or done.stderr.count("CacheWarning: ") == warned, done.stderr
        return [float(x) for x in done.stdout.split()]

    def edit(self, name, old, new, most=1):
        path = self.kernels / name
        text = path.read_text()
        assert 1 <= text.count(old) <= most
        path.write_text(text.replace(old, new))

    def machine_code(self):
        """File -> its number on the disk, a new one at each writing, of the machine code of all kernels."""
        files = (path for path in self.cache.rglob("*.o") if not path.name.startswith("call-"))
        return {path: path.stat().st_ino for path in files}


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path)


SIGN = ("a0 * b3 + a3 * b0 + a1 * b2 - a2 * b1", "a0 * b3 + a3 * b0 - a1 * b2 - a2 * b1")


@pytest.mark.long
@compiled
def test_an_edited_helper_in_another_file_is_recompiled_and_its_revert_is_not(copy):
    original = [2.0, 2.0 / 247.0]
    assert copy.run() == original
    first = copy.machine_code()
    assert len(first) == 1
    assert copy.run() == original
    assert copy.machine_code() == first  # found, not compiled again

    copy.edit("numbers/quat.py", '"""Return', '# A comment.\n    """Quickly return', most=3)
    copy.edit("exact/euler.py", "FEW = ", "FEW = 1 + ")  # not part of the probe
    copy.edit("compiler/machine.py", "QUICK = 1  # level", "QUICK = 1  # another level")
    assert copy.run() == original
    assert copy.machine_code() == first

    copy.edit("numbers/quat.py", *SIGN)
    assert copy.run() == [-2.0, 2.0 / 247.0]
    second = copy.machine_code()
    assert len(second) == 2

    copy.edit("numbers/series.py", "1.0 / 247.0", "1.0 / 250.0")
    assert copy.run() == [-2.0, 2.0 / 250.0]
    third = copy.machine_code()
    assert len(third) == 3

    copy.edit("numbers/series.py", "1.0 / 250.0", "1.0 / 247.0")
    copy.edit("numbers/quat.py", *SIGN[::-1])
    assert copy.run() == original
    assert copy.machine_code() == third


@pytest.mark.long
@compiled
def test_an_edited_file_outside_of_the_package_is_recompiled(copy, tmp_path):
    """Kernels of tests and benchmarks: the sources of the package do not change with them."""
    outside = tmp_path / "outside"
    outside.mkdir()
    text = OUTER + "    return {} * x\n"
    for factor in (3.0, 4.0):
        (outside / "outer.py").write_text(text.format(factor))
        found = copy.run(f"import sys; sys.path.append({str(outside)!r}); from outer import outer; print(outer(1.0))")
        assert found[0] == factor


@pytest.mark.long
@compiled
def test_kernels_without_a_file_work_and_are_not_cached(copy):
    """As those that are typed into a console or a notebook."""
    text = OUTER + "    return 3.0 * x\n"
    found = copy.run(f"exec(compile({text!r}, '/none/cell-1.py', 'exec')); print(outer(1.0))")
    assert found[0] == 3.0
    assert not [path for path in copy.machine_code() if "outer" in str(path)]


@pytest.mark.long
@compiled
def test_an_edit_while_running_does_not_poison_the_cache(copy):
    """The process has loaded the old source, compiles after the edit, and must not store that as the new one's code."""
    quat = copy.kernels / "numbers/quat.py"
    meanwhile = f"path = {str(quat)!r}; text = open(path).read(); open(path, 'w').write(text.replace(*{SIGN!r}))"
    assert copy.run(between=meanwhile)[0] == 2.0
    assert copy.machine_code() == {}
    assert copy.run()[0] == -2.0


@compiled
def test_without_a_place_to_write_nothing_is_cached_but_all_works(copy, tmp_path):
    (tmp_path / "file").write_text("")
    assert copy.run(POLHODE_CACHE_DIR=str(tmp_path / "file" / "cache"))[0] == 2.0
    assert not list(copy.source.rglob("*.o"))  # nor next to the sources


DAMAGE = """
import random, warnings
from pathlib import Path
from polhode.kernels.compiler import cache, jit

def damages(content):
    yield b""
    yield content[: len(content) // 2]
    yield content[:-1]
    for place in (0, cache.CHECKSUM, *random.Random(14).choices(range(len(content)), k=4), len(content) - 1):
        yield content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :]

def result():
    cache.WARNED.clear()  # as in a new process
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = jit.entry_point("UniTuple(f8,2)(f8)")(probe.__wrapped__)(2.0)
    return found, [warning.category for warning in caught]

expected = probe(2.0)
for suffix in ("o", "bc"):
    (file,) = (path for path in Path({cache!r}).rglob(f"*.{{suffix}}") if not path.name.startswith("call-"))
    content = file.read_bytes()
    for number, damaged in enumerate(damages(content)):
        for other in Path({cache!r}).rglob("*probe*.o"):
            other.unlink()
        file.write_bytes(damaged)
        assert result() == (expected, [cache.CacheWarning]), (suffix, number)
        assert file.read_bytes() != damaged, number
        assert result() == (expected, []), number  # it is there again
"""


@pytest.mark.long
@compiled
def test_bitcode_of_another_version_of_llvm_is_left_alone(copy):
    """An older LLVM cannot read it, and two environments may share a cache."""
    assert copy.run()[0] == 2.0
    (kept,) = copy.cache.rglob("bitcode*")
    kept.rename(kept.with_name(kept.name.replace(str(machine.LLVM_VERSION), str(machine.LLVM_VERSION + 1))))
    assert copy.run(POLHODE_CPU="x86-64-v2" if machine.processor()[0] != "x86-64-v2" else "native")[0] == 2.0
    assert len(list(copy.cache.rglob("bitcode*"))) == 2


@pytest.mark.long
@compiled
def test_damaged_files_are_compiled_again_with_one_warning(copy):
    """Empty, cut, or with one bit changed somewhere."""
    assert copy.run(DAMAGE.format(cache=str(copy.cache))) == [2.0, 2.0 / 247.0]


@pytest.mark.parametrize("damage", [lambda whole: whole[:100], lambda whole: whole[:60] + b"damaged" + whole[67:]])
def test_a_damaged_bundle_of_the_package_is_not_used(damage, monkeypatch, tmp_path):
    path = tmp_path / "bitcode.tar.xz"
    with tarfile.open(path, "w:xz") as file:
        file.add(__file__, "for")
    path.write_bytes(damage(path.read_bytes()))
    monkeypatch.setattr(code, "BUNDLE", path)
    monkeypatch.setattr(cache, "WARNED", [])
    with pytest.warns(cache.CacheWarning, match="install polhode again"):
        assert code._bundle.__wrapped__() == ({}, {})


@pytest.mark.long
@compiled
def test_several_damaged_files_are_one_warning(copy):
    probe = copy.kernels / "probe.py"
    probe.write_text(probe.read_text() + '\n\n@entry_point("f8(f8)")\ndef other(x):\n    return x + 1.0\n')
    both = "from polhode.kernels.probe import other; assert other(1.0) == 2.0"
    original = copy.run(both)
    files = copy.machine_code()
    assert len(files) == 2
    for file in files:
        file.write_bytes(file.read_bytes()[:-100])
    assert copy.run(both, warned=1) == original
    assert copy.machine_code().keys() == files.keys()


@pytest.mark.long
@compiled
def test_processes_that_rebuild_at_once(copy):
    original = copy.run()
    (file,) = copy.machine_code()
    damage = f"import pathlib; pathlib.Path({str(file)!r}).write_bytes(b'')"
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda _: copy.run(damage, warned=None), range(3))) == [original] * 3
    assert list(copy.machine_code()) == [file]
    assert not list(copy.cache.rglob("*.partial"))


@compiled
def test_a_full_disk_is_no_cache(copy):
    full = "import pathlib, errno\ndef full(*a): raise OSError(errno.ENOSPC, 'full')\npathlib.Path.write_bytes = full"
    assert copy.run(full)[0] == 2.0
    assert copy.machine_code() == {}


NO_HOME = "import os, pwd\nos.environ.pop('HOME', None)\ndef unknown(uid): raise KeyError(uid)\npwd.getpwuid = unknown"


@compiled
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="homes are looked up in another way")
def test_without_a_home_nothing_is_cached_but_all_works(copy):
    assert copy.run(NO_HOME, POLHODE_CACHE_DIR="", XDG_CACHE_HOME="")[0] == 2.0
    assert copy.machine_code() == {}


@compiled
def test_a_cache_that_cannot_be_written_is_read(copy):
    """As on a cluster, where the administrator has compiled everything."""
    original = copy.run()
    before = copy.machine_code()
    no_disk = "import pathlib\ndef refuse(*a, **k): raise PermissionError\nfor name in ('mkdir', 'write_bytes'): "
    assert copy.run(f"{no_disk}setattr(pathlib.Path, name, refuse)\nassert 'numba' not in sys.modules") == original
    assert copy.machine_code() == before


@pytest.mark.long
@compiled
@pytest.mark.skipif(sys.platform == "win32", reason="permissions are inherited")
@pytest.mark.parametrize("unsafe", ["", "code"])
def test_a_folder_that_others_can_write_is_not_used(copy, unsafe):
    copy.run()
    (file,) = copy.machine_code()
    folder = file.parents[1] if unsafe else copy.cache
    folder.chmod(0o777)
    file.write_bytes(b"")
    copy.run(between="from polhode.kernels.compiler import cache; assert cache.folder() is None", warned=1)
    assert file.read_bytes() == b""


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache of this process that nothing else uses."""
    monkeypatch.setattr(cache, "cache_root", lambda: tmp_path / "own")
    monkeypatch.setattr(cache, "WARNED", [])
    for remembered in (cache.folder, cache._is_safe_part):
        remembered.cache_clear()
    yield cache.folder()
    for remembered in (cache.folder, cache._is_safe_part):
        remembered.cache_clear()


def test_files_that_changed_places_are_not_used(own_cache):
    """Each is intact by itself, and one called in the place of the other would end the process."""
    for name in ("a.o", "b.o"):
        cache.write("part", name, name.encode())
        cache.write("other", name, name.encode())
    first, second = own_cache / "part" / "a.o", own_cache / "part" / "b.o"
    first.rename(own_cache / "kept")
    second.rename(first)
    (own_cache / "kept").rename(second)
    with pytest.warns(cache.CacheWarning, match=r"a\.o is damaged"):
        assert cache.read("part", "a.o") is None
    assert cache.read("part", "b.o") is None
    (own_cache / "other" / "a.o").rename(first)
    assert cache.read("part", "a.o") is None  # of another processor
    assert cache.read("other", "b.o") == b"b.o"


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are inherited")
def test_a_part_that_others_can_write_is_not_used(own_cache):
    cache.write("part", "a.o", b"code")
    (own_cache / "part").chmod(0o777)
    cache._is_safe_part.cache_clear()
    with pytest.warns(cache.CacheWarning, match="can be written by, another user"):
        assert cache.read("part", "a.o") is None
    cache.write("part", "b.o", b"code")
    assert not (own_cache / "part" / "b.o").exists()


def test_the_cache_does_not_grow_without_bound(own_cache, monkeypatch):
    """Files that were not used for longest are removed."""
    monkeypatch.setattr(cache, "KEPT", 10)
    names = [f"{i}.o" for i in range(10)]
    for age, name in enumerate(names):
        cache.write("part", name, b"code")
        os.utime(own_cache / "part" / name, (1e9 + age, 1e9 + age))
    assert cache.read("part", names[0]) == b"code"  # it is used
    cache.write("part", "last.o", b"code")
    left = {path.name for path in (own_cache / "part").iterdir()}
    assert left == {"last.o", names[0], *names[-3:]}


@compiled
@pytest.mark.skipif(sys.platform == "win32", reason="permissions are inherited")
def test_a_folder_of_another_user_is_not_used(copy, monkeypatch):
    monkeypatch.setattr(cache, "cache_root", lambda: copy.cache)
    cache.folder.cache_clear()
    try:
        assert cache.folder() is not None
        cache.folder.cache_clear()
        if os.getuid() == 0:  # the administrator, who can give folders away
            os.chown(copy.cache, 12345, -1)
        else:
            monkeypatch.setattr(os, "getuid", lambda: 12345)
        cache.WARNED.clear()
        with pytest.warns(cache.CacheWarning, match="another user"):
            assert cache.folder() is None
    finally:
        cache.folder.cache_clear()
    assert copy.cache.stat().st_mode & 0o777 == 0o700


def test_the_digest_of_sources_follows_every_file(tmp_path, monkeypatch):
    copy = Copy(tmp_path)
    monkeypatch.setattr(cache, "PACKAGE", copy.source / "polhode")
    seen = {cache.source_digest()}
    files = [path for path in (copy.source / "polhode").rglob("*") if path.suffix in (".py", ".ll")]
    for path in sorted(files)[::10]:
        path.write_text(path.read_text() + "\n")
        seen.add(cache.source_digest())
    (copy.kernels / "probe.py").rename(copy.kernels / "other.py")
    seen.add(cache.source_digest())
    assert len(seen) == 2 + len(files[::10])


BUNDLE = """
import contextlib
from polhode.kernels.compiler import build, code
from polhode.kernels.probe import probe
build.entries = lambda: {code.key_of(probe, code.name_of(probe)): probe}
with contextlib.redirect_stdout(None):
    build.bundle(code.BUNDLE)
"""


@pytest.mark.long
@compiled
def test_a_bundle_is_believed_for_its_sources_and_otherwise_where_it_is_of_the_same_code(copy):
    """Of its sources nothing is read but their bytes; whoever edits them compiles what depends on it."""
    original = copy.run(BUNDLE)
    shutil.rmtree(copy.cache)
    not_read = "import sys\nsys.modules['polhode.kernels.compiler.made_of'] = None\n"
    quick = "assert 'numba' not in sys.modules and not {n for n in sys.modules if n.endswith('compiler.build')}"
    first = f"{quick}\nassert probe(2.0)\n{quick}"
    assert copy.run(not_read + first) == original
    assert copy.run(not_read + first) == original  # the stamps are in the cache
    copy.edit("exact/euler.py", "FEW = ", "FEW = 1 + ")
    shutil.rmtree(copy.cache)
    assert copy.run(first) == original
    assert not list(copy.cache.rglob("*.bc"))
    copy.edit("numbers/quat.py", *SIGN)
    assert copy.run() == [-2.0, 2.0 / 247.0]


def test_cache_root_is_the_platforms(monkeypatch, tmp_path):
    monkeypatch.delenv("POLHODE_CACHE_DIR", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_root() == tmp_path / "polhode"
    monkeypatch.setenv("POLHODE_CACHE_DIR", str(tmp_path / "chosen"))
    assert cache.cache_root() == tmp_path / "chosen"
