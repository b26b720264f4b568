"""How long the way through the package is: Python functions and files that a call crosses, by a profiler.

    python benchmarks/walk.py       # of integrate(problem, method="V2", h=0.05), and of polhode run examples/top.toml
    python benchmarks/walk.py -v    # with their names

Each call is made once before, so that nothing is imported or compiled on the way. Comprehensions and lambdas do not
count.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from click.testing import CliRunner

import polhode as ph
from polhode.cli import cli

PACKAGE = Path(ph.__file__).parent
SCENARIO = Path(__file__).parents[1] / "examples" / "top.toml"


def crossed(call):
    """Return the functions of the package that a call enters: pairs of a file and a name."""
    entered = set()

    def enter(frame, event, argument):
        if event == "call":
            entered.add(frame.f_code)

    call()
    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    own = ((Path(code.co_filename), code.co_qualname) for code in entered)
    return sorted(
        (str(file.relative_to(PACKAGE)), name)
        for file, name in own
        if file.is_relative_to(PACKAGE) and not name.endswith(">")
    )


def run_scenario():
    """Run the scenario as from a shell."""
    with tempfile.TemporaryDirectory() as folder:
        result = CliRunner().invoke(cli, ["run", str(SCENARIO), "--out", folder])
    assert result.exit_code == 0, result.output


def main():
    """Print the numbers of functions and files."""
    problem = ph.problems.heavy_top()
    calls = {
        'integrate(problem, method="V2", h=0.05)': lambda: ph.integrate(problem, method="V2", h=0.05),
        "polhode run examples/top.toml": run_scenario,
    }
    for name, call in calls.items():
        functions = crossed(call)
        print(f"{name}: {len(functions)} functions in {len({file for file, _ in functions})} files")
        if "-v" in sys.argv:
            print(*(f"    {file} {function}" for file, function in functions), sep="\n")


if __name__ == "__main__":
    main()
