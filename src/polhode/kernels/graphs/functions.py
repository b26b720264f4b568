"""Functions of values in text of LLVM: root, sine, cosine, exponential and logarithm in vectors, others of C.

Sine and cosine of vectors are those of ``numbers.trig``. Functions of C are called for each lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial, sqrt

from polhode.kernels.graphs.writer import VECTOR, Value, Writer
from polhode.kernels.numbers.series import COS, HALF_PI, SIN
from polhode.kernels.numbers.trig import MANY, TWO_OVER_PI

LOG_TWO = float.fromhex("0x1.62E42FEEp-1"), float.fromhex("0x1.A39EF35793C76p-33")  # log(2) in two parts
EXP_ORDER, LOG_ORDER = 13, 10  # of series, for errors below 1e-17
LARGEST_EXPONENT = 700.0
SMALLEST_NORMAL, LARGEST_NORMAL = 2.0**-1000, 2.0**1000


def functions(writer: Writer) -> dict[str, Callable[..., Value]]:
    """Return the functions of ``graph.computed`` for values."""

    def named(name: str) -> Callable[..., Value]:
        return lambda *arguments: writer.call(name, *arguments)

    names = ("sqrt", "tan", "sinh", "cosh", "tanh", "asin", "atan", "atan2", "power")
    return {name: named(name) for name in names} | {
        "divide": lambda x, y: x / y,
        "sign": lambda x: writer.choose(writer.compared("olt", x, 0.0), -1.0, 1.0),
        "exp": lambda x: _exp(writer, x),
        "log": lambda x: _log(writer, x),
        **_sine_and_cosine(writer),
    }


def _sine_and_cosine(writer: Writer) -> dict[str, Callable[..., Value]]:
    """Return the functions sine and cosine, which are computed together for vectors."""
    known: dict[str, tuple[Value, Value]] = {}

    def both(x: Value) -> tuple[Value, Value]:
        if x.kind != VECTOR:
            return writer.call("sin", x), writer.call("cos", x)
        if x.name not in known:
            known[x.name] = _any_sincos(writer, x)
        return known[x.name]

    return {"sin": lambda x: both(x)[0], "cos": lambda x: both(x)[1]}


def _any_sincos(writer: Writer, x: Value) -> tuple[Value, Value]:
    """Return sine and cosine of any number, as ``trig.sincos``: far from 0 those of C."""
    is_far = writer.compared("ugt", writer.magnitude(x), MANY)
    s, c = _sincos_near(writer, x)
    sine, cosine = _or_called(writer, x, is_far, {"sin": s, "cos": c})
    return sine, cosine


def _or_called(writer: Writer, x: Value, is_far: Value, values: dict[str, Value]) -> list[Value]:
    """Return values of functions of x, by their names; in lanes where x is too far away, those of C."""
    here, far, after = writer.block, writer.name(), writer.name()
    writer.put(f"br i1 {writer.anywhere(is_far).name}, label %{far}, label %{after}")
    writer.label(far)
    chosen = [writer.choose(is_far, writer.call(name, x), own) for name, own in values.items()]
    writer.put(f"br label %{after}")
    writer.label(after)
    return [
        Value(writer, writer.value(f"phi {VECTOR} [{own.name}, %{here}], [{other.name}, %{far}]"), VECTOR)
        for own, other in zip(values.values(), chosen, strict=True)
    ]


def _sincos_near(writer: Writer, x: Value) -> tuple[Value, Value]:
    """Return sine and cosine for |x| <= MANY, by the formulas of ``trig.sincos_near``."""
    turns = writer.nearest(x * TWO_OVER_PI)
    r = ((x - turns * HALF_PI[0]) - turns * HALF_PI[1]) - turns * HALF_PI[2]
    rr = r * r
    r4 = rr * rr
    s = ((SIN[7] * rr + SIN[6]) * r4 + (SIN[5] * rr + SIN[4])) * r4 + (SIN[3] * rr + SIN[2])
    s = r + r * rr * (s * r4 + (SIN[1] * rr + SIN[0]))
    c = (COS[6] * r4 + (COS[5] * rr + COS[4])) * r4 + (COS[3] * rr + COS[2])
    c = 1.0 - (0.5 * rr - r4 * (c * r4 + (COS[1] * rr + COS[0])))
    half = writer.floor(turns * 0.5)
    sign = 1.0 - 2.0 * (half - 2.0 * writer.floor(half * 0.5))
    b = (turns - 2.0 * half) * sign
    a = sign - b
    return s * a + c * b, c * a - s * b


def _exp(writer: Writer, x: Value) -> Value:
    """Return e^x: 2^k e^r with |r| <= log(2)/2, and the series of e^r; that of C for numbers far from 0."""
    if x.kind != VECTOR:
        return writer.call("exp", x)
    k = writer.nearest(x * (1.0 / LOG_TWO[0]))
    r = (x - k * LOG_TWO[0]) - k * LOG_TWO[1]
    total = _polynomial([1.0 / factorial(n) for n in range(2, EXP_ORDER + 1)], r)
    value = writer.two_to_the(k) * (1.0 + (r + r * r * total))
    is_far = writer.compared("ugt", writer.magnitude(x), LARGEST_EXPONENT)
    return _or_called(writer, x, is_far, {"exp": value})[0]


def _log(writer: Writer, x: Value) -> Value:
    """Return log(x); that of C for numbers that are not positive and normal.

    With x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), and s = f/(2 + f),

        log(1 + f) = f - f^2/2 + s (f^2/2 + R),   R = log((1 + s)/(1 - s))/s - 2 = 2 s^2/3 + 2 s^4/5 + ...,

    in which only small terms are rounded.
    """
    if x.kind != VECTOR:
        return writer.call("log", x)
    k = writer.floor(writer.log2(x * sqrt(2.0)))
    f = x * writer.two_to_the(-k) - 1.0
    s = f / (2.0 + f)
    z, half = s * s, 0.5 * (f * f)
    R = z * _polynomial([2.0 / (2 * n + 1) for n in range(1, LOG_ORDER + 1)], z)
    value = k * LOG_TWO[0] - ((half - (s * (half + R) + k * LOG_TWO[1])) - f)
    is_far = writer.either(writer.compared("ult", x, SMALLEST_NORMAL), writer.compared("ugt", x, LARGEST_NORMAL))
    return _or_called(writer, x, is_far, {"log": value})[0]


def _polynomial(coefficients: Sequence[float], x: Value) -> Value:
    """Return c_0 + c_1 x + c_2 x^2 + ..., even and odd powers separately."""
    square = x * x
    even, odd = (_horner(coefficients[first::2], square) for first in (0, 1))
    return even + x * odd


def _horner(coefficients: Sequence[float], x: Value) -> Value:
    """Return c_0 + c_1 x + c_2 x^2 + ..., of at least two terms."""
    total = x * coefficients[-1] + coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        total = total * x + coefficient
    return total
