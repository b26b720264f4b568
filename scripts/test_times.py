"""Run tests, and print the seconds that each room, each file and each test takes.

    python scripts/test_times.py                 # those of `make test`, as it runs them
    python scripts/test_times.py tests/systems   # arguments of pytest

Parameters of a test count together. Work that several tests share, such as loading a kernel, counts for the first one.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

USUAL = ("-n", "auto", "--dist", "worksteal", "-m", "not long and not release", "--doctest-modules")
PLACES = ("tests", "src", "papers")
LISTED = 60  # number of tests that are printed


def test_times(report: Path) -> Iterator[tuple[str, str, float]]:
    """Yield the file, the name and the seconds of each test of a report; files are named like modules."""
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        yield case.get("classname", ""), case.get("name", "").partition("[")[0], float(case.get("time", 0))


def table(title: str, seconds: dict[str, float], counts: dict[str, int]) -> None:
    """Print the names with their seconds and numbers of tests, longest first."""
    print(f"\n{title}")
    for name in sorted(seconds, key=lambda name: -seconds[name])[:LISTED]:
        print(f"{seconds[name]:8.1f} s {counts[name]:6d}  {name}")


def main(*arguments: str) -> int:
    """Run pytest, print the tables, and return its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        chosen = arguments or (*USUAL, *PLACES)
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *chosen], check=False)
        found = list(test_times(report))
    for title, key in (
        ("rooms", lambda file, name: ".".join(file.split(".")[:2])),
        ("files", lambda file, name: file),
        ("tests", lambda file, name: f"{file}.{name}"),
    ):
        seconds: dict[str, float] = defaultdict(float)
        counts: dict[str, int] = defaultdict(int)
        for file, name, time in found:
            seconds[key(file, name)] += time
            counts[key(file, name)] += 1
        table(title, seconds, counts)
    print(f"\n{sum(time for *_, time in found):8.1f} s in all processes together")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
