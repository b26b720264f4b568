"""What the machine allows, and how close the vectorized kernels come: nanoseconds per body, loop by loop.

    python benchmarks/limits.py

First the machine: the cost of vector instructions when nothing waits (throughput), of scalar ones when each waits for
the one before (latency), and of memory. Then, for each loop over lanes: how many vector instructions the compiler made
of it for four lanes, what these cost at least (divisions and roots share one unit; the larger of that and everything
else), and what the loop takes. Loops that the compiler has unrolled completely are not counted ("-"). See
docs/limits.md.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from math import sqrt

import numpy as np

from polhode.kernels.compiler import build, code, machine
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.exact import batch, block, dense, tiers
from polhode.kernels.exact.block import at
from polhode.kernels.numbers.lanes import LANES, groups_for

REPEATS = 60
GROUPS = groups_for.py_func(LANES)
TURNS = 100
CHAIN = 4000
os.environ.update(build.SETTINGS)  # Numba, which is not imported yet, compiles these programs as it compiles kernels


def best(program, *args):
    """Nanoseconds of the fastest of many runs."""
    program(*args)
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        program(*args)
        times.append(time.perf_counter() - start)
    return 1e9 * min(times)


@entry_point("void(f8[::1], i8)", cache=False)
def products(a, n):
    for _ in range(n):
        for l in range(LANES):
            x = a[l]
            p, q, r, s = x, x + 0.1, x + 0.2, x + 0.3
            for _ in range(16):
                p, q, r, s = p * x + 1.0, q * x + 0.5, r * x + 0.2, s * x + 0.1
            a[l] = 0.1 * (p + q + r + s)


@entry_point("void(f8[::1], i8)", cache=False)
def divisions(a, n):
    for _ in range(n):
        for l in range(LANES):
            x = a[l]
            a[l] = (x + 1.0) / (x + 2.0) + (x + 3.0) / (x + 4.0) + (x + 5.0) / (x + 6.0) + (x + 7.0) / (x + 8.0)


@entry_point("void(f8[::1], i8)", cache=False)
def roots(a, n):
    for _ in range(n):
        for l in range(LANES):
            x = a[l]
            a[l] = sqrt(x + 1.0) + sqrt(x + 2.0) + sqrt(x + 3.0) + sqrt(x + 4.0)


@entry_point("f8(f8, i8)", cache=False)
def product_chain(x, n):
    for _ in range(n):
        x = x * 0.5 + 1.0
    return x


@entry_point("f8(f8, i8)", cache=False)
def division_chain(x, n):
    for _ in range(n):
        x = 1.0 / (x * 0.5 + 1.0)
    return x


@entry_point("f8(f8, i8)", cache=False)
def root_chain(x, n):
    for _ in range(n):
        x = sqrt(x * 0.5 + 1.0)
    return x


def computer():
    """Print what this computer can do; returns ns per vector of four: (anything cheap, division, root)."""
    a = np.linspace(0.1, 0.2, LANES)
    units = [
        best(program, a, TURNS) / (TURNS * LANES / 4) / count
        for program, count in ((products, 64), (divisions, 4), (roots, 4))
    ]
    product, division, root = (best(chain, 0.3, CHAIN) / CHAIN for chain in (product_chain, division_chain, root_chain))
    source, target = np.ones(9_000_000), np.empty(9_000_000)
    print("ns                          product+sum   division     root")
    print(f"four at once, none waits    {units[0]:11.2f} {units[1]:10.2f} {units[2]:8.2f}")
    print(f"one, each waits             {product:11.2f} {division - product:10.2f} {root - product:8.2f}")
    print(f"moving a body: 11 numbers in, 7 out, through memory {best(np.copyto, target, source) / 1e6:.1f}\n")
    return units


def assembly(program):
    """Text of the machine code of a compiled program, of which Python calls another copy."""
    module = machine.parsed(code.bitcode_of(program, code.name_of(program)).content)
    machine.optimize(module, machine.target())
    return machine.target().emit_assembly(module).split(".Lfunc_end0:")[0]


def instructions(program):
    """Vector instructions for four lanes, (cheap ones, divisions, roots), in the loops of a compiled program."""
    counts = np.zeros(3)
    for part in re.split(r"\n(?=[.\w]+:)", assembly(program)):
        label, steps = part.split(":")[0], re.findall(r"\n\t(?:addq|subq)\t\$-?(\d+)", part)
        if part.count("%ymm") > 8 and f"jne\t{label}\n" in part:
            unrolled = int(steps[-1]) / (4 if re.search(r"%ymm\d+, [^\n]*,8\)", part) else 32)  # in numbers, or bytes
            names = Counter(re.findall(r"\n\t(v\w+)[^\n]*%ymm", part))
            cheap = sum(n for name, n in names.items() if not name.startswith(("vmov", "vbroadcast", "vdiv", "vsqrt")))
            counts += np.array([cheap, names["vdivpd"], names["vsqrtpd"]]) / unrolled
    return counts


def report(name, times, numbers, units, loop, *more):
    """One line of the table; returns times (bound, measured)."""

    @entry_point("void(f8[::1], i8, i8)", cache=False)
    def repeat(w, groups, n):
        for _ in range(n):
            loop(w, groups, *more)

    measured = best(lambda: repeat(numbers.copy(), GROUPS, TURNS)) / TURNS / LANES
    cheap, division, root = counts = instructions(repeat)
    bound = max(cheap * units[0], division * units[1] + root * units[2]) / 4
    columns = zip((*counts, bound), ("8.0f", "9.0f", "5.0f", "9.1f"), strict=True)
    line = " ".join(f"{x:{form}}" if bound else f"{'-':>{form[0]}}" for x, form in columns)
    print(f"{name:24} {times} x {line} {measured:9.1f}", flush=True)
    return times * bound, times * measured


def table(title, rows, numbers, units):
    print(f"{title:24} {'instructions':>12} {'divisions':>9} {'roots':>5} {'bound':>9} {'measured':>9}")
    bounds, times = zip(*(report(name, n, numbers, units, *loop) for name, n, *loop in rows), strict=True)
    print(f"{'sum':24} {'':28} {sum(bounds):9.1f} {sum(times):9.1f}\n")


@entry_point(f"void({batch.INPUT}, {batch.INPUT}, {batch.INPUT}, {batch.TIMES}, f8[::1])", cache=False)
def prepare(inertia, m, q, t, w):
    """A block in which every loop finds sensible numbers."""
    batch.load_partial(inertia, 0, LANES, w, at.I)
    batch.load_partial(m, 0, LANES, w, at.m)
    batch.load_partial(q, 0, LANES, w, at.q)
    batch.load_times(t, 0, LANES, w)
    tiers.standardize_bodies(w, GROUPS)
    tiers.standardize(w, GROUPS)
    tiers.choose_tiers(w, GROUPS)
    block.begin(w, GROUPS)
    block.gap(w, GROUPS)
    block.shorten(w, GROUPS, 1.0)
    block.lean_arc(w, GROUPS)
    block.lean_turn(w, GROUPS)
    block.step_momentum(w, GROUPS, False)


def main():
    units = computer()
    rng = np.random.default_rng(0)
    inertia, m, q = rng.uniform(1, 3, (LANES, 3)), rng.normal(size=(LANES, 3)), rng.normal(size=(LANES, 4))
    numbers = np.empty(block.SIZE)
    prepare(inertia, m, q / np.linalg.norm(q, axis=1)[:, None], np.full(LANES, 0.05), numbers)
    lean = [
        ("arc", 1, block.lean_arc),
        ("turn", 1, block.lean_turn),
        ("momentum", 1, block.step_momentum, False),
        ("rotation", 1, block.step_rotation, False),
    ]
    long = [
        ("tiers", 1, tiers.choose_tiers),
        ("begin", 1, block.begin),
        ("distance from separatrix", 1, block.gap),
        ("half-periods", 1, block.take_off_half_periods),
        ("series", 1, block.shorten, 0.125),
        ("quadrature, one node", 7, block.quadrature, 1),
        ("arc", 1, block.long_arc),
        ("doubling", 3, block.double_lanes),
        ("signs", 1, block.turn_over),
        ("turn", 1, block.turn),
        ("momentum", 1, block.step_momentum, True),
        ("rotation", 1, block.step_rotation, True),
    ]
    for title, rows in (("many bodies, short steps", lean), ("many bodies, any time", long)):
        rows = [
            ("bodies", 1, tiers.standardize_bodies),
            ("standardize", 1, tiers.standardize),
            *rows,
            ("finish", 1, block.finish),
        ]
        table(title, rows, numbers, units)
    many_times(inertia[:1], m[:1], q[:1] / np.linalg.norm(q[0]), units)


def many_times(inertia, m, q, units):
    row = np.empty((1, dense.ROW))
    dense.dense_constants(inertia, m, q, row)
    values = [float(x) for x in row[0]]
    motion = dense.DenseMotion(*values[: dense.POLYNOMIALS])
    terms = dense.DEGREE + 1
    series = tuple(tuple(values[i : i + terms]) for i in range(dense.POLYNOMIALS, dense.ROW, terms))

    @inline
    def to_arcs(w, groups):
        dense.to_arcs(motion, series, w)

    @inline
    def to_states(w, groups):
        dense.to_states(motion, w)

    rows = [("arc and turn", 1, to_arcs), ("momentum and attitude", 1, to_states)]
    table("many times", rows, np.random.default_rng(0).uniform(0, 1, dense.SIZE), units)


if __name__ == "__main__":
    main()
