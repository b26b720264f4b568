"""Write ``src/polhode/kernels/numbers/series.py``: the series and quadrature constants of the exact kernel.

Everything starts from rational numbers: the Laurent coefficients of Weierstrass' function by their recurrence
(DLMF 23.9.5) as exact fractions, the quadrature nodes as roots of Legendre polynomials with integer coefficients.

    python scripts/generate_series.py            writes the file
    python scripts/generate_series.py --check    exits with 1 if the file is not what would be written
"""

from __future__ import annotations

import argparse
import sys
from fractions import Fraction
from math import factorial
from pathlib import Path

import mpmath

TARGET = Path(__file__).resolve().parents[1] / "src" / "polhode" / "kernels" / "numbers" / "series.py"
HIGHEST_WEIGHT = 10  # a counts 2, b counts 3: fifteen terms, enough for lambda t <= 1/2
MOST_NODES = 7
SINE_TERMS = 8  # the next one is below 2^-63 for |x| <= pi/4
COSINE_TERMS = 7

HEADER = '''"""Series and quadrature constants of the exact flow. scripts/generate_series.py writes it; do not edit."""

'''


def weierstrass_laurent(highest_weight):
    """{(i, j): rational} with t^2 wp(t) = 1 + sum c_ij a^i b^j, a = g2 t^4/20, b = g3 t^6/28 (DLMF 23.9.5)."""
    c = {2: {(1, 0): Fraction(1)}, 3: {(0, 1): Fraction(1)}}
    for k in range(4, highest_weight + 1):
        c[k] = {}
        for m in range(2, k - 1):
            for (i, j), x in c[m].items():
                for (p, q), y in c[k - m].items():
                    key = (i + p, j + q)
                    c[k][key] = c[k].get(key, 0) + Fraction(3, (2 * k + 1) * (k - 3)) * x * y
    return {key: value for terms in c.values() for key, value in terms.items()}


def horner_rows(coefficients):
    """Coefficients of a^i for each power of b, as tuples of fractions; the leading 1 stands at a^0 b^0."""
    coefficients = {(0, 0): Fraction(1), **coefficients}
    rows = max(j for _, j in coefficients) + 1
    return [
        tuple(
            coefficients[i, j] for i in range(1 + max(i for i, jj in coefficients if jj == j)) if (i, j) in coefficients
        )
        for j in range(rows)
    ]


def legendre_integer_coefficients(n):
    """2^n P_n as integers, highest power first (DLMF 18.5.8 expanded)."""
    coefficients = [0] * (n + 1)
    for k in range(n // 2 + 1):
        coefficients[2 * k] = (-1) ** k * int(mpmath.binomial(n, k)) * int(mpmath.binomial(2 * n - 2 * k, n))
    return coefficients


def horner(coefficients, x):
    """The polynomial with these coefficients, highest power first."""
    value = mpmath.mpf(0)
    for c in coefficients:
        value = value * x + c
    return value


def quadrature(nodes):
    """x_i^2 and w_i with int_0^1 x^2 f(x^2) dx = sum w_i f(x_i^2) for polynomials f of degree < 2*nodes.

    They are the positive half of the Gauss-Legendre rule with 2*nodes + 1 points, whose middle point has x = 0.
    """
    n = 2 * nodes + 1
    with mpmath.workdps(50):
        coefficients = legendre_integer_coefficients(n)
        derivative = [c * (n - i) for i, c in enumerate(coefficients[:-1])]
        rule = []
        for i in range(nodes, 0, -1):
            x = mpmath.cos(mpmath.pi * (4 * i - 1) / (4 * n + 2))  # Tricomi's estimate, then Newton's iteration
            for _ in range(8):
                x -= horner(coefficients, x) / horner(derivative, x)
            slope = horner(derivative, x) / mpmath.mpf(2) ** n
            rule.append((float(x**2), float(2 * x**2 / ((1 - x**2) * slope**2))))
    return rule


def taylor(first, step, terms):
    """(-1)^n/(first + step n)! as exact fractions: the series of sine (first = 3) and cosine (first = 2, 4, ...)."""
    return [Fraction((-1) ** (n + 1), factorial(first + step * n)) for n in range(terms)]


def half_pi_in_parts():
    """pi/2 as three doubles, the first two of 33 bits, so that up to 2^20 multiples of them are exact."""
    parts, bits = [], 33
    with mpmath.workdps(60):
        rest = mpmath.pi / 2
        for _ in range(2):
            exponent = mpmath.floor(mpmath.log(rest, 2)) + 1 - bits
            part = mpmath.floor(mpmath.ldexp(rest, -int(exponent)))
            parts.append(float(mpmath.ldexp(part, int(exponent))))
            rest -= mpmath.mpf(parts[-1])
        return [*parts, float(rest)]


def render_tuple(name, values):
    """As ruff formats it: one value per line, a single one on the line of the name."""
    values = list(values)
    if len(values) == 1:
        return [f"{name} = ({values[0]},)\n"]
    return [f"{name} = (\n", *(f"    {value},\n" for value in values), ")\n"]


def ratio(x):
    return f"{x.numerator}.0 / {x.denominator}.0"


def render():
    lines = [HEADER]
    lines.append("# t^2 wp(t) = sum_j b^j sum_i WP[j][i] a^i with a = g2 t^4/20, b = g3 t^6/28 (DLMF 23.9.5)\n")
    for j, row in enumerate(horner_rows(weierstrass_laurent(HIGHEST_WEIGHT))):
        lines += render_tuple(f"WP{j}", map(ratio, row))
    lines.append("\n# int_0^1 x^2 f(x^2) dx = sum_i WEIGHT[i] f(NODE[i]): the rule with M nodes starts at FIRST[M]\n")
    nodes, weights, first = [], [], [0, 0]
    for count in range(1, MOST_NODES + 1):
        if count > 1:
            first.append(len(nodes))
        for x2, w in quadrature(count):
            nodes.append(x2)
            weights.append(w)
    lines.append(f"FIRST = ({', '.join(map(str, first))})\n")
    lines += render_tuple("NODE", map(repr, nodes)) + render_tuple("WEIGHT", map(repr, weights))
    lines.append("\n# sin x = x + x^3 sum SIN[n] x^(2n), cos x = 1 - x^2/2 + x^4 sum COS[n] x^(2n) for |x| <= pi/4\n")
    lines += render_tuple("SIN", map(ratio, taylor(3, 2, SINE_TERMS)))
    lines += render_tuple("COS", (ratio(-x) for x in taylor(4, 2, COSINE_TERMS)))
    lines.append("# pi/2; multiples up to 2^20 of the first two parts are exact\n")
    lines += render_tuple("HALF_PI", map(repr, half_pi_in_parts()))
    return "".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only")
    if parser.parse_args().check:
        if TARGET.read_text() != render():
            sys.exit(f"{TARGET} is out of date: run python scripts/generate_series.py")
    else:
        TARGET.write_text(render())


if __name__ == "__main__":
    main()
