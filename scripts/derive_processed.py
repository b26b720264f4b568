"""Print the coefficients of PABA1264 (``polhode.schemes.processed``): 45 digits, by Newton's method from a few.

A kick w at the time t (the drifts before it, in steps, counted from the middle of the step) is exp(w e^(t x) B), where
x is the commutator with the drift A; kicks one after the other multiply. With s = x + y and u = x - y for the two
factors of [x^p B, y^q B], the logarithm of a sequence of kicks is

    sum_i w_i e^(t_i x) B + sum_(i<j) w_i w_j e^((t_i + t_j) s/2) sinh((t_i - t_j) u/2) [B, B] + ...,

to be compared, power by power, with the flow of A + B, for which sums are integrals over -1/2 < t_1 < t_2 < 1/2:

    sum_i w_i t_i^n                                    = 1/(2^n (n + 1)),         n even                       (1)
    sum_(i<j) w_i w_j (t_i + t_j)^a (t_i - t_j)^b      = -a! b!/(a + b + 2)!,     a even, b odd                (2)

The sequence is processor undone, step, processor. The step has five kicks, three of them close to the middle: their
spacing is nearly even, and the inner ones, which go back and forth, act like a gradient kick. No processor changes
what is left of (2) at s = 0, the terms that grow: the step has to meet a = 0 for b = 1 and 3. Of its four parameters
two are left, and taken where the next error that grows, b = 5, is smallest.

The processor is Z, then Z with times and weights of opposite signs. If the even moments of Z vanish,

    sum_Z v_i t_i^n = 0,   n even,                                                                             (3)

then so do all terms of even degree, and (1) and (2) with a > 0 are left: up to n = 10, and a + b = 7. Two parameters
are free and rounded. The start was found by least squares from thousands of random ones; most of these end in no
solution, and of the two that were found this one has the smaller weights.

    python scripts/derive_processed.py            prints the table
    python scripts/derive_processed.py --check    exits with 1 if the scheme is not what would be printed
"""

from __future__ import annotations

import argparse
import sys
from itertools import combinations
from math import factorial

from mpmath import findroot, mp, mpf, nstr

from polhode import schemes

DIGITS = 45
OUTER_TIME, INNER_WEIGHT = "0.3392", "0.653"  # of the step: free
STEP_START = (0.026774, 0.3204)  # time of the inner kicks, weight of the outer ones
MOMENTS = (2, 4, 6, 8, 10)  # (1); of even degree, the odd ones hold by symmetry
COMMUTATORS = ((0, 1), (0, 3), (2, 1), (2, 3), (4, 1), (2, 5), (4, 3), (6, 1))  # (2)
VANISHING = (0, 2, 4, 6, 8)  # (3)
ROUNDED = {2: "-0.3326", 4: "-0.1596"}  # times of Z: free
Z_TIMES = (-0.03291308, -0.75524639, -0.33263, -0.77598753, -0.15955851, -0.83208274, -0.85696622, -0.38536019,
           -0.79599812)  # fmt: skip
Z_WEIGHTS = (0.04189457, 0.12652964, 0.12390918, -0.09373968, -0.07967971, 0.15525257, -0.05624665, -0.09160872,
             -0.12631119)  # fmt: skip


def unknown(x):
    """(step, Z) as lists of (time, weight)."""
    inner_time, outer_weight, *rest = x
    outer, inner = (-mpf(OUTER_TIME), outer_weight), (inner_time, mpf(INNER_WEIGHT))
    middle = mpf(0), 1 - 2 * (outer[1] + inner[1])
    step = [outer, inner, middle, (-inner[0], inner[1]), (-outer[0], outer[1])]
    weights, times = rest[: len(Z_WEIGHTS)], iter(rest[len(Z_WEIGHTS) :])
    return step, [(mpf(ROUNDED[k]) if k in ROUNDED else next(times), v) for k, v in enumerate(weights)]


def processor(Z):
    return Z + [(-t, -v) for t, v in Z]


def whole(step, Z):
    """What leads from one state that is seen to the next."""
    half, kicks = mpf(1) / 2, processor(Z)
    return [(t - half, -v) for t, v in kicks[::-1]] + step + [(t + half, v) for t, v in kicks]


def residuals(*x):
    step, Z = unknown(x)
    kicks = whole(step, Z)
    pairs = [(v * w, s + t, s - t) for (s, v), (t, w) in combinations(kicks, 2)]
    first = [sum(w * t**n for t, w in kicks) - mpf(1) / (2**n * (n + 1)) for n in MOMENTS]
    second = [
        sum(w * s**a * d**b for w, s, d in pairs) / (factorial(a) * factorial(b)) + mpf(1) / factorial(a + b + 2)
        for a, b in COMMUTATORS
    ]
    return [*first, *second, *(sum(v * t**n for t, v in Z) for n in VANISHING)]


def solved():
    """(step, Z) to all digits."""
    mp.dps = DIGITS + 25
    times = (t for k, t in enumerate(Z_TIMES) if k not in ROUNDED)
    start = [mpf(repr(x)) for x in (*STEP_START, *Z_WEIGHTS, *times)]
    return unknown(list(findroot(residuals, start, tol=mpf(10) ** (-2 * DIGITS - 20), maxsteps=30)))


def stages(kicks, begin, end):
    """Drifts and kicks in turn."""
    found = []
    for t, w in [*kicks, (end, None)]:
        found += [("A", t - begin), ("B", w)]
        begin = t
    return found[:-1]


def table(step, Z):
    lines = ["step, first half:"]
    lines += [f"    {letter} {nstr(x, DIGITS)}" for letter, x in stages(step, mpf(-1) / 2, mpf(1) / 2)[:6]]
    lines += ["processor, first half (time, weight):"]
    lines += [f"    {nstr(t, DIGITS)} {nstr(v, DIGITS)}" for t, v in Z]
    return "\n".join(lines)


def largest_difference(step, Z):
    scheme = schemes.get("PABA1264")
    ours = stages(step, mpf(-1) / 2, mpf(1) / 2) + stages(processor(Z), mpf(0), mpf(0))
    theirs = [*scheme.stages, *scheme.processor]
    assert [letter for letter, _ in ours] == [letter for letter, _ in theirs]
    return max(abs(x - mpf(y.numerator) / y.denominator) for (_, x), (_, y) in zip(ours, theirs, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the scheme instead of printing")
    if parser.parse_args().check:
        difference = largest_difference(*solved())
        print(f"largest difference {nstr(difference, 3)}")
        sys.exit(difference > mpf(10) ** (2 - DIGITS))
    print(table(*solved()))


if __name__ == "__main__":
    main()
