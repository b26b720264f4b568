"""Machine code of entry points: found on disk, made from bitcode, or compiled by Numba, in this order.

Bitcode is code of LLVM that fits every machine. That of the kernels of this package comes with the package, or is
written to the cache by another process, in which Numba compiles for no machine in particular: see ``build``. Functions
of the user are compiled in this process. All machine code is made in the same way, and is the same in every process.
"""

from __future__ import annotations

import functools
import hashlib
import re
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from polhode.kernels.compiler import cache, machine
from polhode.kernels.compiler.compile_time import COMPILE_TIME, Progress

BUNDLE = Path(__file__).with_name("bitcode.tar.xz")  # only in wheels
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
    processor = machine.version()
    if code := Code.unpacked(cache.read(processor, f"{name}.o")):
        return code
    bitcode = bitcode_of(entry, name)
    code = Code(bitcode.form, machine.object_code(machine.parsed(bitcode.content)))
    if (is_ours(entry) and _kept(name)) or is_lasting(entry):  # bitcode that is kept is of the sources of this process
        cache.write(processor, f"{name}.o", code.packed())
    return code


def bitcode_of(entry, name):
    """Return the bitcode of an entry point."""
    if is_ours(entry) and (packed := _kept(name)):
        return Code.unpacked(packed)
    lasting = is_lasting(entry)
    with Progress(entry.__name__, lasting):
        if is_ours(entry) and lasting and sys.executable:  # there is none if Python is embedded
            from polhode.kernels.compiler import build

            (packed,) = build.build([name])
            return Code.unpacked(packed)
        from polhode.kernels.compiler import numba_internals

        return numba_internals.bitcode(entry, name)


def bitcodes_of(entries):
    """Return the bitcode of entry points of this package, given by their names; compile missing ones on all cores."""
    if all(map(is_lasting, entries.values())) and sys.executable:
        from polhode.kernels.compiler import build

        missing = [name for name in entries if not _kept(name)]
        with Progress(f"{len(missing)} kernels") if missing else nullcontext():
            found = dict(zip(missing, build.build(missing), strict=True))
        return [Code.unpacked(found.get(name) or _kept(name)) for name in entries]
    return [bitcode_of(entry, name) for name, entry in entries.items()]


def name_of(entry):
    """Return the name of an entry point, which contains a hash of its source if it is not part of this package."""
    name = re.sub(r"[^\w.]", "_", f"{entry.__module__}.{entry.__qualname__}")
    if is_ours(entry):
        return name
    if is_lasting(entry):
        import importlib.metadata

        source = entry.key or _file_of(entry).read_bytes()
        versions = tuple(importlib.metadata.version(name) for name in ("numba", "numpy", "scipy"))
        facts = source, entry.signature, versions, sys.implementation.cache_tag
    else:
        facts = (uuid4(),)
    return f"{name}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}"


def is_lasting(entry):
    """Return whether the code of an entry point is kept on disk.

    That of functions without a source file, as in a notebook, is not, unless they have a key. That of this package is
    not if a source file was edited after this process began to load them: it belongs to neither stamp.
    """
    if is_ours(entry):
        return cache.source_stamp() == cache.STAMP
    return entry.cache and (entry.key is not None or _file_of(entry).is_file())


def compile_all() -> Iterator[int | str]:
    """Compile all entry points of this package for this processor, and yield their number, and then each name.

    Code that is on disk is not compiled again.
    """
    from polhode.kernels.compiler import build

    entries = build.entries()
    yield len(entries)
    missing = [name for name in entries if not _kept(name)]
    compiled = build.build(missing)
    for name in (*(name for name in entries if name not in missing), *missing):
        if name in missing:
            next(compiled)
        object_of(entries[name], name)
        yield name


def is_ours(entry):
    """Return whether an entry point is part of this package, so that another process can import it."""
    return entry.cache and entry.key is None and entry.__module__.startswith("polhode.")


def _file_of(entry):
    """Return the path of the source file of an entry point."""
    return Path(entry.py_func.__code__.co_filename)


def _kept(name):
    """Return bitcode of this package that is on disk, or None."""
    return _bundle().get(name) or cache.read(machine.BITCODE, f"{name}.bc")


@functools.cache
def _bundle():
    """Return all bitcode that came with the package, if it was made from the same sources, and LLVM can read it."""
    if not BUNDLE.exists():
        return {}
    import lzma
    import tarfile

    try:
        with tarfile.open(BUNDLE) as file:
            content = {member.name: file.extractfile(member).read() for member in file}
    except (tarfile.TarError, lzma.LZMAError, EOFError):
        cache.warn(f"{BUNDLE} is damaged, so that kernels have to be compiled by Numba; install polhode again")
        return {}
    stamp, llvm_version = content.pop("for").split()
    return content if stamp.decode() == cache.STAMP and int(llvm_version) <= machine.LLVM_VERSION else {}
