"""Functions of values in text of LLVM: the square root in vectors, sine and cosine in vectors, others of C.

Sine and cosine of vectors are those of ``numbers.trig``. Functions of C are called for each lane.
"""

from __future__ import annotations

from collections.abc import Callable

from polhode.kernels.graphs.writer import VECTOR, Value, Writer
from polhode.kernels.numbers.series import COS, HALF_PI, SIN
from polhode.kernels.numbers.trig import MANY, TWO_OVER_PI


def functions(writer: Writer) -> dict[str, Callable[..., Value]]:
    """Return the functions of ``graph.computed`` for values."""

    def named(name: str) -> Callable[..., Value]:
        return lambda *arguments: writer.call(name, *arguments)

    names = ("sqrt", "exp", "log", "tan", "sinh", "cosh", "tanh", "asin", "atan", "atan2", "power")
    return {name: named(name) for name in names} | {"divide": lambda x, y: x / y} | _sine_and_cosine(writer)


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
    s, c = _sincos_near(writer, x)
    is_far = writer.compared("ugt", writer.magnitude(x), MANY)
    any_far = writer.anywhere(is_far)
    here, far, after = writer.block, writer.name(), writer.name()
    writer.put(f"br i1 {any_far.name}, label %{far}, label %{after}")
    writer.label(far)
    chosen = [writer.choose(is_far, writer.call(name, x), own) for name, own in (("sin", s), ("cos", c))]
    writer.put(f"br label %{after}")
    writer.label(after)
    sine, cosine = (
        Value(writer, writer.value(f"phi {VECTOR} [{own.name}, %{here}], [{other.name}, %{far}]"), VECTOR)
        for own, other in zip((s, c), chosen, strict=True)
    )
    return sine, cosine


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
