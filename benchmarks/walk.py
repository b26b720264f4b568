"""How long the way through the package is: Python functions and files that a call crosses, by a profiler.

    python benchmarks/walk.py       # of integrate(problem, method="V2", h=0.05) and others, and of polhode run
    python benchmarks/walk.py -v    # with their names

Each call is made once before, so that nothing is imported or compiled on the way. Comprehensions and lambdas do not
count. Frames are those of the package on the stack when machine code is called the first time; functions of core are
those that are called, as often as they are.
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
    """Return the functions of the package that a call enters, (file, name), the calls of core, and the frames."""
    entered = []
    deepest = []

    def enter(frame, event, argument):
        if event == "call":
            entered.append(frame.f_code)
        elif event == "c_call" and argument.__name__ == "kernel" and not deepest:
            while frame is not None:
                deepest.append(frame.f_code.co_filename)
                frame = frame.f_back

    call()
    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    own = ((Path(code.co_filename), code.co_qualname) for code in entered)
    functions = [
        (str(file.relative_to(PACKAGE)), name)
        for file, name in own
        if file.is_relative_to(PACKAGE) and not name.endswith(">")
    ]
    frames = sum(Path(file).is_relative_to(PACKAGE) for file in deepest)
    return sorted(set(functions)), sum(file.startswith("core") for file, _ in functions), frames


def free_body():
    """Build a problem of a free body and integrate it."""
    state = ph.State(m=(0.3, 0.2, 0.9))
    ph.integrate(ph.Problem((1.0, 1.65, 1.97), state, t_span=(0, 20)), t_eval=[10.0, 20.0])


def run_scenario():
    """Run the scenario as from a shell."""
    with tempfile.TemporaryDirectory() as folder:
        result = CliRunner().invoke(cli, ["run", str(SCENARIO), "--out", folder])
    assert result.exit_code == 0, result.output


def main():
    """Print the numbers of functions, files, calls of core, and frames."""
    top = ph.problems.heavy_top()
    free = ph.Problem((1.0, 1.65, 1.97), ph.State(m=(0.3, 0.2, 0.9)), t_span=(0, 20))
    calls = {
        'integrate(problem, method="V2", h=0.05)': lambda: ph.integrate(top, method="V2", h=0.05),
        'integrate(problem, method="V2", h=0.05, t_eval=[20])': lambda: ph.integrate(
            top, method="V2", h=0.05, t_eval=[20.0]
        ),
        "integrate(problem, rtol=1e-8)": lambda: ph.integrate(top, rtol=1e-8),
        "integrate(free body)": lambda: ph.integrate(free),
        "State, Problem and integrate of a free body": free_body,
        "polhode run examples/top.toml": run_scenario,
    }
    for name, call in calls.items():
        functions, of_core, frames = crossed(call)
        files = len({file for file, _ in functions})
        print(f"{name}: {len(functions)} functions in {files} files, {of_core} calls in core, {frames} frames")
        if "-v" in sys.argv:
            print(*(f"    {file} {function}" for file, function in functions), sep="\n")


if __name__ == "__main__":
    main()
