"""End states of the race in 25 digits, by Taylor series in big integers; ``benchmarks/truth.json`` stores them.

    python benchmarks/truth.py [case ...]     # compute these again, or all of them (some ten minutes)

Nothing of polhode is imported, and the formulation differs from all that race: no splitting, no quaternion, but the
textbook equations for the momentum in body axes and the nine entries of the attitude matrix,

    m' = m x w + u x (chi + B u) - D w,   Q' = Q hat(w),   w = m/I,   u = Q^T s,     B and D diagonal

which are products of the unknowns, so that coefficients of their series follow from convolutions of earlier ones. Each
case is computed twice, with different numbers of digits and hence different orders and steps, and the file tells how
far the two agree. A note in the file says where this was done by another program. Input numbers are doubles and exact.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cache
from math import isqrt, log2
from operator import mul
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("truth.json")
DIGITS = 25  # in the file
COMPUTED = 24, 20  # digits of the two computations, beyond those that round-off may cost
CHECKED = 16  # bodies of each batch whose end is known

Vector = tuple[float, ...]
CYCLIC = (0, 1, 2), (1, 2, 0), (2, 0, 1)
IDENTITY = (1.0, 0.0, 0.0, 0.0)
ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Body:
    """Numbers of the equations above, momentum and attitude at t = 0, and the times at which the state is wanted."""

    I: Vector
    m: Vector
    times: Vector
    s: Vector = (0.0, 0.0, 1.0)
    chi: Vector = ZERO
    B: Vector = ZERO
    D: Vector = ZERO
    q: Vector = IDENTITY


TOP = {"I": (1.0, 1.5, 2.25), "times": (20.0,), "chi": (0.0, 0.0, 1.0)}
TOP_MOMENTUM = (0.5, 0.75, 1.758905909933786)  # the last is that for which the kinetic energy is 1
SATELLITE = {
    "I": (1.7e4, 3.7e4, 5.4e4),
    "B": (6023.288888888889, 13109.511111111113, 19132.800000000003),  # 3 mu/r^3 I, mu = 3.986e14, r = 1.5e5
}
CASES = {
    "weak_top": Body(**TOP, m=TOP_MOMENTUM, s=(0.0, 0.0, 1e-3)),
    "strong_top": Body(**TOP, m=TOP_MOMENTUM),
    "satellite": Body(**SATELLITE, m=(255e3, -555e3, 810e3), times=(10.0, 400.0)),
    "perturbed": Body(
        I=(1.0, 1.0126869887825154, 3.3062374224730378),
        m=(-3.4790957088547336e-01, -1.9822914599675923e-01, -9.1633189192763642e-01),
        s=(9.5586303547238536e-05, 4.8777318247201465e-04, -8.6772148817192390e-04),
        chi=(0.0, 0.0, 1.0),
        times=(100.0, 5e4),
    ),
    "controlled": Body(
        I=(1.0, 1.4, 0.8),
        m=(0.5, -0.42, 0.8),
        q=(0.6, 0.8, 0.0, 0.0),
        chi=(0.0, 0.0, -0.5),
        D=(0.2,) * 3,
        times=(20.0,),
    ),
}


BATCHES = {
    "weak_tops": {**TOP, "s": (0.0, 0.0, 1e-3)},
    "strong_tops": {**TOP},
    "satellites": {**SATELLITE, "times": (4.0,)},
}
SIZES = {"weak_tops": 1.0, "strong_tops": 1.0, "satellites": 5e5}  # of each component of the momenta


def batch(name: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Momenta (count, 3) and attitudes (count, 4) of the first bodies of a batch; more of them do not change these."""
    rows = np.random.default_rng(1).normal(size=(count, 7))
    q = rows[:, 3:]
    return SIZES[name] * rows[:, :3], q / np.linalg.norm(q, axis=1, keepdims=True)


def bodies_of(name: str) -> list[Body]:
    """One body of a case, or the bodies of a batch whose ends are stored."""
    if name in CASES:
        return [CASES[name]]
    starts = zip(*(x.tolist() for x in batch(name, CHECKED)), strict=True)
    return [Body(**BATCHES[name], m=tuple(m), q=tuple(q)) for m, q in starts]


class Series:
    """Taylor series of one body in integers, in units of 2^-bits; m in units of a power of two above its size."""

    def __init__(self, body: Body, digits: int):
        speed = sum(abs(m / I) for m, I in zip(body.m, body.I, strict=True))
        turns = 1 + speed * max(body.times)
        self.bits = int(digits * log2(10) + 3 * log2(turns)) + 24
        self.order = int(0.35 * self.bits) + 8  # then the cheapest step is the radius of convergence over e^2
        self.unit = Fraction(2) ** int(log2(max(map(abs, body.m))) + 2)
        self.body = body
        self.H = Fraction(1 / (4 * speed)).limit_denominator(10**6)  # of the first step
        self.m = [self.fixed(Fraction(x) / self.unit) for x in body.m]
        self.Q = [self.fixed(x) for row in matrix(body.q) for x in row]

    def fixed(self, x: Fraction) -> int:
        return (x.numerator << self.bits) // x.denominator

    def advance(self, t: Fraction, end: Fraction) -> None:
        """Take steps of the length that the coefficients allow, in multiples of 2^-40."""
        while t != end:
            H = min(self.H, end - t)
            columns = self.coefficients(H)
            longest = Fraction(round(H * usable_part(columns) * 2**40), 2**40)
            step = min(longest, H)
            values = [self.sum_series(column, step / H) for column in columns]
            self.m, self.Q = values[:3], values[3:]
            t += step
            self.H = longest

    def coefficients(self, H: Fraction) -> list[list[int]]:
        """Coefficients, times H^n, of m and of the entries of Q, row by row."""
        body, bits = self.body, self.bits
        turn = [self.fixed(H * self.unit / Fraction(I)) for I in body.I]
        chi = [self.fixed(H / self.unit * Fraction(x)) for x in body.chi]
        B = [self.fixed(H / self.unit * Fraction(x)) for x in body.B]
        D = [self.fixed(Fraction(x) / self.unit) for x in body.D]  # times w, which contains H
        s = [self.fixed(Fraction(x)) for x in body.s]
        columns = [[x] for x in (*self.m, *self.Q)]
        m, rows = columns[:3], (columns[3:6], columns[6:9], columns[9:])
        u: list[list[int]] = [[], [], []]
        w: list[list[int]] = [[], [], []]  # last coefficient first, as convolutions need it
        u_reversed: list[list[int]] = [[], [], []]
        for n in range(1, self.order + 1):
            for i in range(3):
                w[i].insert(0, m[i][-1] * turn[i] >> bits)
                u[i].append(sum(s[k] * rows[k][i][-1] for k in range(3)) >> bits)
                u_reversed[i].insert(0, u[i][-1])
            slopes = []
            for i, j, k in CYCLIC:
                total = convolution(m[j], w[k]) - convolution(m[k], w[j])
                total += u[j][-1] * chi[k] - u[k][-1] * chi[j] - D[i] * w[i][0]
                if B[j] != B[k]:
                    total += (convolution(u[j], u_reversed[k]) >> bits) * (B[k] - B[j])
                slopes.append(total)
            for row in rows:
                slopes += [convolution(row[j], w[k]) - convolution(row[k], w[j]) for _, j, k in CYCLIC]
            for column, slope in zip(columns, slopes, strict=True):
                column.append((slope >> bits) // n)
        return columns

    def sum_series(self, column: list[int], part: Fraction) -> int:
        x, total = self.fixed(part), 0
        for value in reversed(column):
            total = value + (total * x >> self.bits)
        return total


def matrix(q: Vector) -> list[list[Fraction]]:
    """Attitude matrix of a quaternion of about unit length, whose rounding is divided out."""
    a, b, c, d = map(Fraction, q)
    square = a * a + b * b + c * c + d * d
    rows = (
        (a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)),
        (2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)),
        (2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d),
    )
    return [[x / square for x in row] for row in rows]


def convolution(a: list[int], b_reversed: list[int]) -> int:
    return sum(map(mul, a, b_reversed))


def usable_part(columns: list[list[int]]) -> Fraction:
    """Of a step, such that the last coefficients no longer matter; each may vanish, and their last bits are noise."""
    order = len(columns[0]) - 1
    logarithms = [2.0]
    for n in range(order - 7, order + 1):
        excess = max(abs(column[n]) for column in columns).bit_length() - 7
        if excess > 0:
            logarithms.append(-excess / n)
    return Fraction(round(2.0 ** (min(logarithms) + 10)), 1 << 10)


def states(body: Body, digits: int) -> list[dict[str, list[Fraction]]]:
    """m (3 numbers) and Q (9 numbers, row by row) at the times of the body."""
    series, t, found = Series(body, digits), Fraction(0), []
    one = Fraction(1, 1 << series.bits)
    for end in map(Fraction, body.times):
        series.advance(t, end)
        t = end
        found.append({"m": [x * one * series.unit for x in series.m], "Q": [x * one for x in series.Q]})
    return found


def decimal(x: Fraction, digits: int = DIGITS) -> str:
    """Rounded to so many digits after the point."""
    units = round(x * 10**digits)
    sign, units = "-" * (units < 0), abs(units)
    return f"{sign}{units // 10**digits}.{units % 10**digits:0{digits}d}"


def distance(a: dict[str, list[Fraction]], b: dict[str, list[Fraction]]) -> float:
    """The larger of the relative distance of the momenta and the distance of the attitude matrices."""

    def norm(v: list[Fraction]) -> float:
        return isqrt(int(sum(x * x for x in v) * 2**400)) / 2**200

    of_m, of_Q = ([x - y for x, y in zip(a[key], b[key], strict=True)] for key in ("m", "Q"))
    return max(norm(of_m) / norm(a["m"]), norm(of_Q))


def compute(name: str) -> dict[str, object]:
    """What the file contains about a case."""
    found, agreement = [], 0.0
    for body in bodies_of(name):
        first, second = (states(body, digits) for digits in COMPUTED)
        agreement = max(agreement, *map(distance, first, second))
        ends = [
            {"t": t, **{key: [decimal(x) for x in values] for key, values in end.items()}}
            for t, end in zip(body.times, first, strict=True)
        ]
        found.append({**asdict(body), "states": ends})
        found[-1].pop("times")
    return {"agreement": float(f"{agreement:.1e}"), "bodies": found}


@cache
def stored() -> dict[str, dict]:
    return json.loads(FILE.read_text())


def attitudes(name: str, t: float | None = None) -> np.ndarray:
    """Stored attitude matrices, shape (bodies, 3, 3), at a stored time or at the last one."""
    ends = [[end for end in body["states"] if t in (None, end["t"])][-1] for body in stored()[name]["bodies"]]
    return np.array([end["Q"] for end in ends], float).reshape(-1, 3, 3)


def main() -> None:
    found = stored() if FILE.exists() else {}
    for name in sys.argv[1:] or [*CASES, *BATCHES]:
        found[name] = compute(name)
        print(f"{name}: two computations agree to {found[name]['agreement']:.1e}", flush=True)
        lines = (f"{json.dumps(case)}: {json.dumps(found[case])}" for case in found)  # a case in each line
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
