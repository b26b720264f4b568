"""Results that rewriting the library must not change: every case is a function of a nudge of its initial state.

    POLHODE_CPU=x86-64-v3 python tests/frozen/frozen_cases.py

writes golden/frozen.json: each result in hexadecimal digits, what it depends on besides the code (the processor that
machine code is made for, and the versions of Numba and llvmlite), and the condition of each case, from a nudge of 1e-7.
A commit that writes it again does nothing else, and lists what moved, which this program prints. With the option
``--print`` it prints results instead, and with ``--count`` the number of cases of each subject.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conftest import EPS, TESTS
from file_cases import files
from free_cases import flows, free
from inputs import NUDGE
from polhode.kernels.compiler import CPU, JIT, machine
from system_cases import systems
from torqued_cases import FIRST_PIECE, STEPS, batches, between, one_body, own_steps

FILE = TESTS / "golden" / "frozen.json"
LEVEL = "x86-64-v3"
SUBJECTS = {
    "free motion": free,
    "flows": flows,
    "one body, steps of one size": one_body,
    "own steps": own_steps,
    "batches": batches,
    "between steps, events, start": between,
    "systems": systems,
    "files": files,
}
SINGLE = 2.0**29  # eps of single precision


def cases():
    """{name: function of the nudge}."""
    return {f"{subject}: {name}": case for subject, make in SUBJECTS.items() for name, case in make().items()}


def versions():
    return {name: importlib.metadata.version(name) for name in ("numba", "llvmlite")}


def frozen():
    return json.loads(FILE.read_text())


def is_comparable():
    """Whether this machine can make the results of the file to the bit: it has the instructions and the compilers."""
    has_level = machine.process_triple().startswith("x86_64-") and not machine.missing_instructions(LEVEL)
    return JIT and has_level and frozen()["machine"] == {"cpu": LEVEL, **versions()}


def rounded_steps(name):
    """Return how many steps a result has at most: each may round it by 5 eps (1 + cond).

    A free body has one step. It counts as two, because moments of inertia and times have conditions, too.
    """
    if name.endswith("interrupted"):
        return 10 * FIRST_PIECE
    return 2 if name.startswith("free motion") else SINGLE if ".gsd" in name else 5 * STEPS


def in_digits(part):
    return [float(x).hex() for x in np.ravel(part)]


def distance(part, expected):
    """Of an array from frozen values, in eps (size + condition)."""
    values = np.array([float.fromhex(x) for x in expected["values"]])
    size = float(np.abs(values).max()) + expected["condition"]
    return float(np.abs(np.ravel(part) - values).max() / (EPS * size)) if size else float(np.any(part))


def freeze():
    before = frozen()["results"] if FILE.exists() else {}
    results = {}
    for name, case in cases().items():
        results[name] = []
        for number, (part, moved) in enumerate(zip(case(0.0), case(NUDGE), strict=True)):
            condition = float(np.max(np.abs(np.subtract(moved, part))) / NUDGE)
            results[name].append({"condition": float(f"{condition:.2e}"), "values": in_digits(part)})
            if name in before and before[name][number]["values"] != in_digits(part):
                print(f"{name}, part {number}: moved by {distance(part, before[name][number]):.2f} eps (1 + cond)")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(parts)}" for name, parts in results.items())
    made_by = json.dumps({"cpu": CPU, **versions()})
    FILE.write_text(f'{{"machine": {made_by}, "results": {{\n{lines}\n}}}}\n')


def main(option=None):
    if option == "--count":
        for subject, make in SUBJECTS.items():
            print(f"{len(make()):4d} {subject}")
    elif option == "--print":
        print(json.dumps({name: [in_digits(part) for part in case(0.0)] for name, case in cases().items()}))
    elif CPU != LEVEL:
        sys.exit(f"results are frozen for {LEVEL}: set POLHODE_CPU={LEVEL}")
    else:
        freeze()


if __name__ == "__main__":
    main(*sys.argv[1:])
