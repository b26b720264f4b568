"""The numbers of docs/accuracy.md and docs/speed.md, measured again: what stands between marks, with date and machine.

    python scripts/claims.py                  # all of them, three runs each: some minutes; best on a quiet machine
    python scripts/claims.py accuracy drift   # some of them
    python scripts/claims.py --list           # which marks there are, and what measures them

In these pages a mark is a line ``<!-- claims:name -->``; what follows, up to ``<!-- /claims -->``, is replaced. The
numbers come from the functions of ``benchmarks`` and ``tests`` that print them there (``claim_tables.py``). Where a
sentence would no longer be true, the program stops and says so, and all pages stay as they are.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from claim_tables import GENERATORS, ClaimError

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "accuracy.md", ROOT / "docs" / "speed.md"
MARK = re.compile(r"<!-- claims:(?P<name>[\w-]+) -->\n(?P<body>.*?)<!-- /claims -->", re.DOTALL)
THREADS = "POLHODE_NUM_THREADS"
PACKAGES = ("numpy", "scipy", "numba")
RUNS = 3
BUSY = 0.75  # load for each core
ANYWHERE = ("accuracy", "drift")  # what does not depend on the time that things take


def marks(text: str) -> list[str]:
    """The names of all marks, in order; an opening mark without its end is an error."""
    names = [match["name"] for match in MARK.finditer(text)]
    opened, closed = re.findall(r"<!-- claims:([\w-]+) -->", text), text.count("<!-- /claims -->")
    if opened != names or closed != len(names):
        raise ClaimError(
            f"marks open {len(opened)} times and close {closed} times; each needs its own <!-- /claims -->"
        )
    return names


def rewritten(text: str, chosen: Iterable[str], make: Callable[[str], str]) -> str:
    """The text with the chosen blocks replaced by ``make(name)``."""
    marks(text)
    wanted = set(chosen)

    def block(match: re.Match[str]) -> str:
        if match["name"] not in wanted:
            return match[0]
        return f"<!-- claims:{match['name']} -->\n{make(match['name']).strip()}\n<!-- /claims -->"

    return MARK.sub(block, text)


def chosen_marks(texts: Iterable[str], names: Sequence[str]) -> list[str]:
    """The names of the blocks to be replaced: all that the texts have, or those that are given."""
    known = [name for text in texts for name in marks(text)]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ClaimError(f"no mark is called {', '.join(unknown)}; there are: {', '.join(known) or 'none'}")
    return list(names) or known


def stamp(name: str) -> str:
    """Date and machine, in one line: processor, cores, versions; no names of hosts or people."""
    versions = ", ".join(f"{package} {importlib.metadata.version(package)}" for package in PACKAGES)
    machine = f"{processor()}, {os.cpu_count()} cores{', busy' if name not in ANYWHERE and busy() else ''}"
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    return f"*{day}, {machine}; Python {platform.python_version()}, {versions} (`claims.py {name}`)*"


def busy() -> bool:
    """Whether others are at work: speeds would be theirs, too."""
    return hasattr(os, "getloadavg") and os.getloadavg()[0] > BUSY * (os.cpu_count() or 1)


def processor() -> str:
    """The name of the processor, as it calls itself."""
    try:
        told = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:  # not Linux
        told = None
    return told[1].strip() if told else platform.processor() or platform.machine()


def measured(name: str, runs: int, busy_too: bool = False) -> str:
    """The new text of a block."""
    if name not in GENERATORS:
        raise ClaimError(f"nothing measures {name!r}; scripts/claim_tables.py has {', '.join(GENERATORS)}")
    if name not in ANYWHERE and busy() and not busy_too:
        raise ClaimError(
            f"a load of {os.getloadavg()[0]:.1f}: {name} needs a quiet machine; type --busy to go on anyway"
        )
    print(f"== {name}", flush=True)
    threads = os.environ.get(THREADS, "")
    try:
        text = f"{GENERATORS[name](runs)}\n\n{stamp(name)}"
    finally:
        os.environ[THREADS] = threads  # which benchmarks change
    print(text, flush=True)
    return text


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure the numbers of the documentation again.")
    parser.add_argument("names", nargs="*", help="marks to fill in; all, unless told otherwise")
    parser.add_argument("--file", type=Path, action="append", help="pages; those of docs, unless told otherwise")
    parser.add_argument("--runs", type=int, default=RUNS, help="of which speeds are given as ranges")
    parser.add_argument("--busy", action="store_true", help="measure speeds although others are at work")
    parser.add_argument("--list", action="store_true", help="show marks and what measures them")
    given = parser.parse_args(arguments)
    pages = {path: path.read_text() for path in given.file or PAGES}
    sys.path[:0] = [str(ROOT / folder) for folder in ("benchmarks", "tests")]
    try:
        names = chosen_marks(pages.values(), given.names)
        if given.list:
            for name in names:
                print(f"{name:12} {(GENERATORS[name].__doc__ or '').splitlines()[0]}")
            return 0
        new = {
            path: rewritten(text, names, lambda name: measured(name, given.runs, given.busy))
            for path, text in pages.items()
        }
    except ClaimError as problem:
        print(problem, file=sys.stderr)
        return 1
    for path, text in new.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
