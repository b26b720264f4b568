"""Files of the library for C and Fortran: object code, a shared and a static library, and headers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from polhode.compiled.headers import c_header, fortran_module
from polhode.core.checks import known_name
from polhode.core.errors import InputError
from polhode.core.messages import Hint
from polhode.kernels.compiler import JIT


class Target(NamedTuple):
    """Processors for which code is made: their architecture, and LLVM's name of the oldest of them."""

    architecture: str
    cpu: str


TARGETS = {
    "x86-64-v3": Target("x86_64", "x86-64-v3"),
    "x86-64": Target("x86_64", "x86-64"),
    "aarch64": Target("aarch64", "generic"),
}
SUFFIXES = {"darwin": ".dylib", "win32": ".dll"}
LINKER = {"darwin": ("-dynamiclib",)}


def export(
    folder: str | Path, target: str | None = None, *, cpu: str | None = None, compiler: str | None = None
) -> list[Path]:
    """Write the library for C and Fortran, and its headers, to a folder.

    Parameters
    ----------
    folder : path_like
        Folder for the files, which is created if necessary: ``polhode.o``, ``libpolhode.a``, ``libpolhode.so`` (or the
        suffix of the system), ``polhode.h`` and ``polhode.f90``. For another architecture than that of this machine,
        there are no libraries, only ``polhode.o``.
    target : {"x86-64-v3", "x86-64", "aarch64"}, optional
        Processors that can execute the code. By default, x86-64-v3 if this processor is one, or the most common one of
        its architecture.
    cpu : str, optional
        LLVM's name of a processor, such as "znver4", instead of the oldest one of the target; "native" for this one,
        with the bits of Python on it.
    compiler : str, optional
        C compiler that links the libraries. By default cc, gcc or clang, or the one of the package ziglang.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    InputError
        If the target or the processor is not known, there is no compiler, or it fails.

    Examples
    --------
    >>> export("lib")  # doctest: +SKIP
    [PosixPath('lib/polhode.h'), PosixPath('lib/polhode.f90'), PosixPath('lib/polhode.o'), ...]
    """
    if not JIT:
        raise InputError("nothing is compiled with POLHODE_JIT=0; unset that environment variable")
    from polhode.kernels.compiler import machine

    chosen = TARGETS[known_name("target", target or _usual(machine), TARGETS)]
    native = machine.process_triple().split("-")[0] == chosen.architecture
    tools = _tools(compiler) if native else None
    triple = machine.process_triple() if native else f"{chosen.architecture}-unknown-linux-gnu"
    if cpu is not None and not (native if cpu == "native" else machine.knows(triple, cpu)):
        raise InputError(
            f"cpu = {cpu!r} is no processor that LLVM knows for {chosen.architecture}; expected a name that the option "
            "-mcpu of clang takes, such as 'znver4' for x86_64 or 'neoverse-n1' for aarch64"
        )
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in ("polhode.h", "polhode.f90", "polhode.o")]
    paths[0].write_text(c_header(), encoding="utf-8")
    paths[1].write_text(fortran_module(), encoding="utf-8")
    paths[2].write_bytes(_object(machine.target_of(triple, cpu or chosen.cpu)))
    return paths if tools is None else [*paths, *_link(tools, paths[2])]


def _object(target: object) -> bytes:
    """Return the object code for a target machine of LLVM."""
    from polhode.compiled.library import object_code

    return object_code(target)


def _usual(machine: ModuleType) -> str:
    """Return the name of the target for this processor."""
    triple = machine.process_triple()
    if triple.startswith("x86_64"):
        return "x86-64" if machine.missing_instructions("x86-64-v3") else "x86-64-v3"
    return "aarch64" if triple.startswith(("aarch64", "arm64")) else triple.split("-")[0]


class _Tools(NamedTuple):
    """Commands of a C compiler and of its archiver."""

    compiler: Sequence[str]
    archiver: Sequence[str]


def _tools(compiler: str | None) -> _Tools:
    """Return the C compiler that links libraries, and the archiver; raise InputError if there is none."""
    candidates = (compiler,) if compiler else ("cc", "gcc", "clang")
    found = next((path for name in candidates if (path := shutil.which(name))), None)
    archiver = shutil.which("ar")
    if found and archiver:
        return _Tools((found,), (archiver,))
    if compiler is None and find_spec("ziglang"):
        zig = sys.executable, "-m", "ziglang"
        return _Tools((*zig, "cc"), (*zig, "ar"))
    missing = "the archiver ar was not found" if found else f"no C compiler was found: {', '.join(candidates)}"
    raise InputError(
        f"{missing}; install one, such as that of the package ziglang (pip install polhode[export]), or ",
        Hint("type compiler=...", "give --compiler"),
    )


def _link(tools: _Tools, code: Path) -> list[Path]:
    """Link object code to a static and a shared library, and return their paths."""
    static = code.with_name("libpolhode.a")
    shared = code.with_name(f"libpolhode{SUFFIXES.get(sys.platform, '.so')}")
    static.unlink(missing_ok=True)  # the archiver would add to it
    mathematics = () if sys.platform == "win32" else ("-lm",)
    _run([*tools.archiver, "rcs", str(static), str(code)])
    _run([*tools.compiler, *LINKER.get(sys.platform, ("-shared",)), "-o", str(shared), str(code), *mathematics])
    return [static, shared]


def _run(command: Sequence[str]) -> None:
    """Run a command; raise InputError with its message if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"{' '.join(command)} failed; install another C compiler. Its message: {done.stderr[-2000:]}")
