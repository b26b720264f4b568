"""Elliptic functions: nanoseconds per value beside SciPy, and errors of both, in one run.

    python benchmarks/elliptic.py

Both compute the same arrays of random arguments on one core; the best of several repeats counts. Errors are the largest
ones of 200 of the values, in units of 2^-53 of the true value (mpmath). SciPy has no integral of the third kind.
"""

from __future__ import annotations

import os

os.environ["POLHODE_NUM_THREADS"] = "1"

from time import process_time

import numpy as np
from mpmath import mp, mpf
from scipy import special

from polhode import elliptic

SIZE = 100_000
REPEATS = 7
CHECKED = 200
EPS = 2.0**-53


def best_time(function):
    """Nanoseconds of processor time per value."""
    times = []
    for _ in range(REPEATS):
        start = process_time()
        function()
        times.append(process_time() - start)
    return 1e9 * min(times) / SIZE


def largest_error(values, truths):
    return max(float(abs(x - t) / abs(t)) for x, t in zip(values, truths, strict=True)) / EPS


def rows():
    """Yield (name, ours, SciPy's or None, truth of element i)."""
    rng = np.random.default_rng(1)
    u, m, phi = rng.uniform(0, 20, SIZE), rng.uniform(0, 1, SIZE), rng.uniform(0, 1.57, SIZE)
    mc = 10.0 ** rng.uniform(-14, -2, SIZE)
    n, (x, y, z, p) = rng.uniform(-2, 1, SIZE), rng.uniform(0.1, 10, (4, SIZE))

    def cn(i):
        return mp.ellipfun("cn", mpf(u[i]), m=mpf(m[i]))

    yield "ellipj, random m", lambda: elliptic.ellipj(u, m)[1], lambda: special.ellipj(u, m)[1], cn
    one = lambda i: mp.ellipfun("cn", mpf(u[i]), m=mpf(0.7))  # noqa: E731
    yield "ellipj, one m", lambda: elliptic.ellipj(u, 0.7)[1], lambda: special.ellipj(u, 0.7)[1], one
    close = lambda i: mp.ellipfun("cn", mpf(u[i]), m=1 - mpf(mc[i]))  # noqa: E731
    yield "ellipj, mc < 0.01", lambda: elliptic.ellipj(u, mc=mc)[1], lambda: special.ellipj(u, 1 - mc)[1], close
    yield "K", lambda: elliptic.K(m), lambda: special.ellipk(m), lambda i: mp.ellipk(mpf(m[i]))
    yield "E", lambda: elliptic.E(m=m), lambda: special.ellipe(m), lambda i: mp.ellipe(mpf(m[i]))
    yield (
        "F",
        lambda: elliptic.F(phi, m),
        lambda: special.ellipkinc(phi, m),
        lambda i: mp.ellipf(mpf(phi[i]), mpf(m[i])),
    )
    yield (
        "E(phi)",
        lambda: elliptic.E(phi, m),
        lambda: special.ellipeinc(phi, m),
        lambda i: mp.ellipe(mpf(phi[i]), mpf(m[i])),
    )
    yield "Pi(phi)", lambda: elliptic.Pi(n, phi, m), None, lambda i: mp.ellippi(mpf(n[i]), mpf(phi[i]), mpf(m[i]))
    yield "RF", lambda: elliptic.RF(x, y, z), lambda: special.elliprf(x, y, z), lambda i: mp.elliprf(x[i], y[i], z[i])
    yield "RD", lambda: elliptic.RD(x, y, z), lambda: special.elliprd(x, y, z), lambda i: mp.elliprd(x[i], y[i], z[i])
    yield (
        "RJ",
        lambda: elliptic.RJ(x, y, z, p),
        lambda: special.elliprj(x, y, z, p),
        lambda i: mp.elliprj(x[i], y[i], z[i], p[i]),
    )
    yield "RG", lambda: elliptic.RG(x, y, z), lambda: special.elliprg(x, y, z), lambda i: mp.elliprg(x[i], y[i], z[i])


def main():
    print("one core; ns per value, and largest relative error in units of 2^-53")
    print(f"{'':18} {'polhode':>9} {'error':>9} {'SciPy':>9} {'error':>9} {'ratio':>7}")
    with mp.workdps(40):
        for name, ours, theirs, truth in rows():
            truths = [truth(i) for i in range(CHECKED)]
            time, error = best_time(ours), largest_error(ours()[:CHECKED], truths)
            line = f"{name:18} {time:9.1f} {error:9.3g}"
            if theirs is not None:
                other = best_time(theirs)
                line += f" {other:9.1f} {largest_error(theirs()[:CHECKED], truths):9.3g} {other / time:7.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
