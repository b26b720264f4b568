"""A million chained exact steps: how the invariants drift. Round-off must be a random walk, not a slope.

    python benchmarks/drift.py [out.png]

rms over sixteen bodies of both families, h = 0.01; eps = 2^-53. A random walk grows like sqrt(n), and its size divided
by sqrt(n) stays level; a biased rounding would grow like n.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import polhode as ph
from polhode.core.rotation import rotate

EPS = 2.0**-53
STEP = 0.01
COUNTS = np.unique(np.round(np.logspace(2, 6, 41)).astype(int))
BODIES = 16
NAMES = ("energy", "|m|²", "Q m", "|q|²")


def drifts(rng):
    """|drift| in eps, shape (counts, 4), of one random body."""
    inertia, m = rng.uniform(1, 3, 3), rng.normal(size=3)
    q = rng.normal(size=4)
    q /= np.linalg.norm(q)

    def invariants(m, q):
        # in extended precision: the sums' own rounding is of the size of what is measured
        x, w = m.astype(np.longdouble), 1 / inertia.astype(np.longdouble)
        return np.array([(x * x * w).sum(), (x * x).sum(), (q.astype(np.longdouble) ** 2).sum()]), rotate(q, m)

    start = ph.State(m, q)
    (energy, square, norm), space = invariants(start.m, start.q)
    rows = []
    for count in COUNTS:
        end = ph.Exact().step(inertia, start, STEP, int(count))
        (e, s, n), v = invariants(end.m, end.q)
        rows.append((e / energy - 1, s / square - 1, np.linalg.norm(v - space) / np.linalg.norm(space), n / norm - 1))
    return np.abs(np.array(rows, dtype=float)) / EPS


def main():
    rng = np.random.default_rng(2)
    rms = np.sqrt(np.mean([drifts(rng) ** 2 for _ in range(BODIES)], axis=0))
    print("rms drift in eps, and divided by sqrt(n)")
    print(f"{'steps':>9}" + "".join(f"{name:>18}" for name in NAMES))
    for count, row in zip(COUNTS[::10], rms[::10], strict=True):
        print(f"{count:9d}" + "".join(f"{x:10.1f} ({x / np.sqrt(count):.2f})" for x in row))
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "out/drift.png")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(6.5, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for column, name, color in zip(rms.T, NAMES, ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), strict=True):
        axes.loglog(COUNTS, column, color=color, label=name)
    axes.loglog(COUNTS, 0.3 * np.sqrt(COUNTS), "k--", linewidth=0.8, label="0.3 √n")
    axes.set(xlabel="exact steps n, h = 0.01", ylabel="rms drift [2⁻⁵³]", title="round-off is a random walk")
    axes.legend()
    figure.savefig(path, dpi=150)
    print(f"curve: {path}")


if __name__ == "__main__":
    main()
