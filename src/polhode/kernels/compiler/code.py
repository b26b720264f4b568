"""Machine code of entry points: found on disk, made from bitcode, or compiled by Numba, in this order.

Bitcode is code of LLVM that fits every machine. That of the kernels of this package comes with the package, or is
written to the cache by another process, in which Numba compiles for no machine in particular: see ``build``. Functions
of the user are compiled in this process. All machine code is made in the same way, and is the same in every process.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from polhode.kernels.compiler import cache, machine
from polhode.kernels.compiler.compile_time import COMPILE_TIME, Progress

BUNDLE = Path(__file__).with_name("bitcode.tar.xz")  # only in wheels
STAMPS = "stamps"  # name of a folder in the cache
LOCK = threading.RLock()  # the same thread may load a kernel while it compiles another one


class Code(NamedTuple):
    """Code of a kernel with two symbols, its name and ``words(name)``, and the form of its arguments.

    Kernels with numbers in registers have no second symbol.
    """

    form: bytes  # see ``call.ll``
    content: bytes  # bitcode or an object file

    @classmethod
    def unpacked(cls, packed):
        """Return the code in a file, or None if there is no file."""
        if packed is None:
            return None
        (size,) = struct.unpack_from("<I", packed)
        return cls(packed[4 : 4 + size], packed[4 + size :])

    def packed(self):
        """Return the content of a file."""
        return struct.pack("<I", len(self.form)) + self.form + self.content


class NeedsNumba(Exception):
    """Raised if code runs in this process only; its arguments are a ``Loaded``, and what the code needs of Numba."""


class Loaded(NamedTuple):
    """Machine code in this process: the form of the arguments, and the addresses of its two functions."""

    form: bytes
    address: int  # for compiled code; see ``intrinsics.call_by_address``
    words_address: int  # for ``calls.python_function``; 0 if Python cannot call it


def words(name):
    """Return the name of the function that takes and returns words."""
    return f"{name}.words"


def loaded(entry):
    """Return the machine code of an entry point, loaded into this process; the caller holds LOCK."""
    with COMPILE_TIME:
        name = name_of(entry)
        try:
            code = object_of(entry, name)
        except NeedsNumba as problem:
            return problem.args[0]
        machine.load(code.content)
        return Loaded(code.form, machine.address(name), machine.address(words(name)))


def object_of(entry, name):
    """Return the object file of an entry point."""
    processor, key = machine.version(), key_of(entry, name)
    if code := Code.unpacked(cache.read(processor, f"{key}.o")):
        return code
    bitcode = bitcode_of(entry, name)
    code = Code(bitcode.form, machine.object_code(machine.parsed(bitcode.content)))
    if _kept(key) if is_ours(entry) else is_lasting(entry):
        cache.write(processor, f"{key}.o", code.packed())
    return code


def bitcode_of(entry, name):
    """Return the bitcode of an entry point."""
    key = key_of(entry, name)
    if is_ours(entry) and (packed := _kept(key)):
        return Code.unpacked(packed)
    lasting = is_lasting(entry)
    with Progress(entry.__name__, lasting):
        if is_ours(entry) and sys.executable:  # there is none if Python is embedded
            from polhode.kernels.compiler import build

            with suppress(build.Changed):
                (packed,) = build.build([key])
                return Code.unpacked(packed)
        from polhode.kernels.compiler import numba_internals

        return numba_internals.bitcode(entry, name)


def bitcodes_of(entries):
    """Return the bitcode of entry points of this package, given by their names; compile missing ones on all cores."""
    found, keys = {}, [key_of(entry, name) for name, entry in entries.items()]
    if sys.executable:
        from polhode.kernels.compiler import build

        missing = [key for key in keys if not _kept(key)]
        with Progress(f"{len(missing)} kernels") if missing else nullcontext(), suppress(build.Changed):
            found.update(zip(missing, build.build(missing), strict=True))
    return [Code.unpacked(found.get(key)) or bitcode_of(entries[n], n) for key, n in zip(keys, entries, strict=True)]


def name_of(entry):
    """Return the name of the function of an entry point; it says what it is made of if it is not of this package."""
    name = re.sub(r"[^\w.]", "_", f"{entry.__module__}.{entry.__qualname__}")
    if is_ours(entry):
        return name
    return f"{name}-{_stamp(entry) if is_lasting(entry) else uuid4().hex[:16]}"


def key_of(entry, name):
    """Return the name of the files of an entry point, which says what it is made of."""
    if not is_ours(entry):
        return name
    stamps = _stamps()
    if name not in stamps:
        stamps[name] = _stamp(entry)
        _keep(stamps)
    return f"{name}-{stamps[name]}"


def _stamp(entry):
    """Return a digest of what an entry point is made of."""
    from polhode.kernels.compiler import made_of

    stamps = _stamps()
    if "" not in stamps:
        stamps[""] = made_of.of_compiler()
        _keep(stamps)
    return made_of.stamp(entry, stamps[""])


@functools.cache
def _stamps():
    """Return stamps of entry points of this package by their names, and that of the compiler by an empty name.

    These are the ones that are known for the sources of this process.
    """
    if kept := cache.read(STAMPS, _stamps_file()):
        return json.loads(kept)
    if stamps := _bundle().stamps:
        _keep(stamps)
    return stamps


def _keep(stamps):
    """Write stamps to the cache, so that the next process need not find out what entry points are made of."""
    if cache.source_digest() == cache.SOURCES:  # otherwise nobody knows what was loaded
        cache.write(STAMPS, _stamps_file(), json.dumps(stamps).encode())


@functools.cache
def _stamps_file():
    """Return the name of the file of stamps: a digest of the sources, and the version of Numba, which is not imported.

    The time that ``importlib.metadata`` takes for that is felt at every start.
    """
    numba = b""
    with suppress(OSError, AttributeError):
        numba = Path(importlib.util.find_spec("numba").origin).with_name("_version.py").read_bytes()
    return machine.digest_of(cache.SOURCES.encode(), numba)


def is_lasting(entry):
    """Return whether the code of an entry point is kept on disk.

    That of functions without a source file, as in a notebook, is not, unless they have a key.
    """
    return is_ours(entry) or (entry.cache and (entry.key is not None or _file_of(entry).is_file()))


def compile_all() -> Iterator[int | str]:
    """Compile all entry points of this package for this processor, and yield their number, and then each name.

    Code that is on disk is not compiled again.
    """
    from polhode.kernels.compiler import build

    entries = build.entries()
    yield len(entries)
    missing = [key for key in entries if not _kept(key)]
    compiled = build.build(missing)
    for key in (*(key for key in entries if key not in missing), *missing):
        if key in missing:
            next(compiled)
        name = name_of(entries[key])
        object_of(entries[key], name)
        yield name


def is_ours(entry):
    """Return whether an entry point is part of this package, so that another process can import it."""
    return entry.cache and entry.key is None and entry.__module__.startswith("polhode.")


def _file_of(entry):
    """Return the path of the source file of an entry point."""
    return Path(entry.py_func.__code__.co_filename)


def _kept(key):
    """Return bitcode of this package that is on disk, or None."""
    return _bundle().bitcode.get(key) or cache.read(machine.BITCODE, f"{key}.bc")


class Bundle(NamedTuple):
    """Bitcode that came with the package, by the names of its files, and stamps, if its sources are these."""

    bitcode: dict
    stamps: dict


@functools.cache
def _bundle():
    """Return the bundle that came with the package, which is empty if there is none, or if LLVM cannot read it."""
    if not BUNDLE.exists():
        return Bundle({}, {})
    import lzma
    import tarfile

    try:
        with tarfile.open(BUNDLE) as file:
            content = {member.name: file.extractfile(member).read() for member in file}
    except (tarfile.TarError, lzma.LZMAError, EOFError):
        cache.warn(f"{BUNDLE} is damaged, so that kernels have to be compiled by Numba; install polhode again")
        return Bundle({}, {})
    sources, llvm_version = content.pop("for").split()
    if int(llvm_version) > machine.LLVM_VERSION:
        return Bundle({}, {})
    is_same = sources.decode() == cache.SOURCES
    return Bundle(content, dict(key.rsplit("-", 1) for key in content) if is_same else {})
