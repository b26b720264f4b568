"""The files of the FRB drivers: plain numbers, in the order of the Fortran programs, matrices by columns."""

from __future__ import annotations

import sys
from itertools import accumulate
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def read(path, *sizes):
    """Arrays of these sizes, one after the other; Fortran's exponents D count, too."""
    numbers = np.array([float(word.upper().replace("D", "E")) for word in Path(path).read_text().split()])
    if len(numbers) != sum(sizes):
        raise SystemExit(f"{path} has {len(numbers)} numbers; expected {sum(sizes)}, in groups of {sizes}")
    return np.split(numbers, list(accumulate(sizes))[:-1])


def write(path, records):
    """One number a line; a record is m, the attitude (a matrix or a quaternion) and, unless it is None, the time."""
    with Path(path).open("w") as file:
        for m, attitude, t in records:
            for x in (*m, *np.ravel(np.asarray(attitude), order="F"), *(() if t is None else (t,))):
                file.write(f"{float(x)!r}\n")


def matrix_of(columns):
    """(3, 3) from nine numbers by columns."""
    return columns.reshape(3, 3).T


def main(drive, number):
    """``drive(source, target)`` for the files named on the command line, or those of the example."""
    given = sys.argv[1:]
    source = given[0] if given else HERE / f"init_example{number}.dat"
    target = given[1] if len(given) > 1 else f"out_example{number}.dat"
    drive(source, target)
    print(f"{source} -> {target}")
