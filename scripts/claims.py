"""The numbers of the documentation, measured again and stored: what stands between marks, with date and machine.

    python scripts/claims.py                  # all of them, three runs each: some ten minutes on a quiet machine
    python scripts/claims.py accuracy drift   # some of them
    python scripts/claims.py --pages          # measure nothing, write what is stored into the pages
    python scripts/claims.py --list           # what can be measured

``claim_tables.py`` measures, by the functions of ``benchmarks`` and ``tests`` that print the same there. The numbers go
to ``benchmarks/claims.json``, and ``claim_texts.py`` makes tables and sentences of them. In a page a mark is a line
``<!-- claims:name -->``; what follows, up to ``<!-- /claims -->``, is replaced. Where a sentence would no longer be
true, the program stops and says so, and what was written before stays as it is.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from claim_tables import MEASURES, ClaimError
from claim_texts import TEXTS

ROOT = Path(__file__).resolve().parents[1]
PAGES = tuple(ROOT / "docs" / f"{name}.md" for name in ("accuracy", "speed", "race", "choose", "comparison"))
STORED = ROOT / "benchmarks" / "claims.json"
MARK = re.compile(r"<!-- claims:(?P<name>[\w-]+) -->\n(?P<body>.*?)<!-- /claims -->", re.DOTALL)
THREADS = "POLHODE_NUM_THREADS"
PACKAGES = ("numpy", "scipy", "numba", "heyoka")
RUNS = 3
BUSY = 0.75  # load for each core
ANYWHERE = ("accuracy", "drift", "choose")  # what does not depend on the time that things take
AGAINST_HEYOKA = ("calls", "race")


def marks(text: str) -> list[str]:
    """The names of all marks, in order; an opening mark without its end is an error."""
    names = [match["name"] for match in MARK.finditer(text)]
    opened, closed = re.findall(r"<!-- claims:([\w-]+) -->", text), text.count("<!-- /claims -->")
    if opened != names or closed != len(names):
        raise ClaimError(
            f"marks open {len(opened)} times and close {closed} times; each needs its own <!-- /claims -->"
        )
    return names


def rewritten(text: str, make: Callable[[str], str]) -> str:
    """The text with each block replaced by ``make(name)``."""
    marks(text)
    return MARK.sub(
        lambda match: f"<!-- claims:{match['name']} -->\n{make(match['name']).strip()}\n<!-- /claims -->", text
    )


def written(stored: dict[str, Any]) -> Callable[[str], str]:
    """The text of a mark, as stored numbers have it."""

    def text(mark: str) -> str:
        if mark not in TEXTS:
            raise ClaimError(f"nothing writes {mark!r}; scripts/claim_texts.py has {', '.join(TEXTS)}")
        measured, write = TEXTS[mark]
        if measured not in stored:
            raise ClaimError(f"{mark!r} needs numbers: type python scripts/claims.py {measured}")
        return f"{write(stored[measured]['numbers'])}\n\n*{stored[measured]['stamp']}*"

    return text


def chosen(names: Sequence[str]) -> list[str]:
    """What is to be measured: everything, or what is given."""
    unknown = [name for name in names if name not in MEASURES]
    if unknown:
        raise ClaimError(f"nothing measures {', '.join(unknown)}; there are: {', '.join(MEASURES)}")
    return list(names) or list(MEASURES)


def stamp(name: str, others: bool) -> str:
    """Date and machine, in one line: processor, cores, whether others were at work, versions; nothing private."""
    versions = ", ".join(f"{package} {version}" for package in PACKAGES if (version := version_of(package)))
    machine = f"{processor()}, {os.cpu_count()} cores{', busy' if others and name not in ANYWHERE else ''}"
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    return f"{day}, {machine}; Python {platform.python_version()}, {versions} (`claims.py {name}`)"


def version_of(package: str) -> str:
    """Empty if the package is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def check_conditions(names: Sequence[str], others: bool, busy_too: bool) -> None:
    """Before anything is measured, because our own work would count as that of others."""
    if others and not busy_too and not set(names) <= set(ANYWHERE):
        raise ClaimError(
            f"a load of {os.getloadavg()[0]:.1f}: speeds need a quiet machine; type --busy to go on anyway"
        )
    if set(names) & set(AGAINST_HEYOKA) and not version_of("heyoka"):
        raise ClaimError(f"{' and '.join(AGAINST_HEYOKA)} need heyoka: type python -m pip install heyoka")


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


def measured(name: str, runs: int, others: bool = False) -> dict[str, Any]:
    """Numbers as JSON has them, and the stamp."""
    print(f"== {name}", datetime.now(UTC).strftime("%H:%M:%S"), flush=True)
    threads = os.environ.get(THREADS, "")
    try:
        numbers = MEASURES[name](runs)
    finally:
        os.environ[THREADS] = threads  # which benchmarks change
    return {"stamp": stamp(name, others), "numbers": plain(numbers)}


def plain(numbers: Any) -> Any:
    """Dictionaries with strings as keys, lists, and numbers of four digits."""
    if isinstance(numbers, dict):
        return {key if isinstance(key, str) else f"{key:g}": plain(value) for key, value in numbers.items()}
    if isinstance(numbers, (list, tuple, np.ndarray)):
        return [plain(value) for value in numbers]
    if isinstance(numbers, (float, np.floating)):
        return float(f"{numbers:.4g}")
    return numbers


def as_lines(stored: dict[str, Any]) -> str:
    """JSON with a claim in each line."""
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(stored[name])}" for name in sorted(stored)) + "\n}\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure the numbers of the documentation again.")
    parser.add_argument("names", nargs="*", help="what to measure; everything, unless told otherwise")
    parser.add_argument("--file", type=Path, action="append", help="pages; those of docs, unless told otherwise")
    parser.add_argument("--stored", type=Path, default=STORED, help="the file of numbers")
    parser.add_argument("--runs", type=int, default=RUNS, help="of which speeds are given as ranges")
    parser.add_argument("--busy", action="store_true", help="measure speeds although others are at work")
    parser.add_argument("--pages", action="store_true", help="measure nothing, and write the stored numbers")
    parser.add_argument("--list", action="store_true", help="show what can be measured")
    given = parser.parse_args(arguments)
    sys.path[:0] = [str(ROOT / folder) for folder in ("benchmarks", "tests", "tests/free")]
    if given.list:
        for name, measure in MEASURES.items():
            print(f"{name:12} {(measure.__doc__ or '').splitlines()[0]}")
        return 0
    stored = json.loads(given.stored.read_text()) if given.stored.exists() else {}
    pages = given.file or PAGES
    try:
        names = [] if given.pages else chosen(given.names)
        others = busy()
        check_conditions(names, others, given.busy)
        for name in names:
            stored[name] = measured(name, given.runs, others)
            save(stored, given.stored, pages)
        if given.pages:
            save(stored, given.stored, pages)
    except ClaimError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def save(stored: dict[str, Any], path: Path, pages: Sequence[Path]) -> None:
    """Write numbers and pages, or neither; after each claim, so that a failure later loses nothing."""
    texts = {page: rewritten(page.read_text(), written(stored)) for page in pages}
    path.write_text(as_lines(stored))
    for page, text in texts.items():
        page.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
