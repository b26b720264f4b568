"""Steps by Taylor series as generated code: step after step, until a body needs the attention of the caller.

The function ``generated(block, rows, work, order, only)`` goes on from the new state of each body in the block. A step
leads from the state at ATTITUDE, MOMENTUM and T, which it copies from NEW_ATTITUDE, NEW_MOMENTUM and NEW_T, to a new
state there; its coefficients stay in the rows. It returns after the step in which an active body reaches the time NEXT,
has made LEFT steps, cannot make a step that is longer than the rounding of t, or has a state that is not finite. If
``only`` is not 0, it computes the coefficients and returns.

Two choices keep results free of units and of drift: the unit of time is a power of two near the length of the step,
so that coefficients neither overflow nor underflow, and its choice does not change a bit of the result; and the length
of q is corrected only if it differs from 1 by more than rounding.
"""

from __future__ import annotations

from polhode.kernels.graphs.equations import (
    ACTIVE,
    ATTITUDE,
    END,
    FACTOR,
    INERTIA,
    LEFT,
    LENGTH,
    LONGEST,
    MOMENTUM,
    NEW_ATTITUDE,
    NEW_MOMENTUM,
    NEW_T,
    NEXT,
    ROUNDING,
    SIGN,
)
from polhode.kernels.graphs.jet import HEAD, RECIPROCALS, Jet
from polhode.kernels.graphs.step_rule import Sizes, end_of, radius
from polhode.kernels.graphs.writer import VECTOR, Value

MOST_GROWTH = 256.0  # of the unit of time from step to step


def text_of_steps(jet: Jet) -> str:
    """Return the code of the function as text of LLVM; see ``compiler.generated``."""
    writer = jet.writer
    writer.label("step")
    jet.write()
    writer.put("%is_only = icmp ne i64 %only, 0")
    writer.put("br i1 %is_only, label %return, label %rule")
    writer.label("rule")
    _write_step(jet)
    writer.label("return")
    writer.put("ret i32 0")
    body = "\n".join(writer.lines)
    declared = "\n".join((RECIPROCALS, *sorted(writer.called)))
    return f"{declared}\n{HEAD}\n{body}\n}}\n"


def _write_step(jet: Jet) -> None:
    """Write the code that makes the step, and goes on with the next one or to %return."""
    writer = jet.writer
    length = jet.unit * _radius(jet) * jet.load_number(FACTOR)
    bounded = writer.smallest(length, jet.load_number(LONGEST))
    right = end_of(writer, jet.t, bounded, jet.load_number(END))
    left = jet.load_number(LEFT) - 1.0
    jet.store_number(right, NEW_T)
    jet.store_number(writer.smallest(length, MOST_GROWTH * jet.unit), LENGTH)
    jet.store_number(left, LEFT)
    state = _evaluated(jet, jet.per_unit * (right - jet.t))
    jet.store_state(state, NEW_ATTITUDE, NEW_MOMENTUM)
    sign = jet.load_number(SIGN)
    is_over = writer.either(
        writer.compared("oge", sign * right, sign * jet.load_number(NEXT)), writer.compared("ole", left, 0.0)
    )
    is_over = writer.either(is_over, writer.equal(right, jet.t))
    is_over = writer.both(is_over, writer.compared("ogt", jet.load_number(ACTIVE), 0.0))
    stops = writer.either(writer.anywhere(is_over), _is_not_finite(jet, state))
    writer.put(f"br i1 {stops.name}, label %return, label %step")


def _radius(jet: Jet) -> Value:
    """Return the radius in units of time."""
    writer = jet.writer
    before = writer.value("sub i64 %order, 1")
    rows = [writer.value(f"mul i64 {k}, {jet.row_size}") for k in (before, "%order")]
    (a, c), (b, d) = (jet.sizes(writer.at("%rows", offset)) for offset in rows)
    first = [jet.sizes(writer.at("%rows", jet.row_size * k))[1] for k in range(4)]
    sizes = Sizes(a, b, c, d, (first[0], first[1], first[2], first[3]))
    return radius(writer, sizes, jet.reciprocal(before), jet.reciprocal("%order"))


def _is_not_finite(jet: Jet, state: list[Value]) -> Value:
    """Return whether the new state of an active body is not finite; it is not if one of its coefficients is not."""
    writer = jet.writer
    total = state[0] - state[0]
    for vector in state[1:]:
        total = total + (vector - vector)
    lost = writer.compared("une", total, 0.0)
    if jet.number == VECTOR:
        lost = writer.both(lost, writer.compared("ogt", jet.load_number(ACTIVE), 0.0))
    return writer.anywhere(lost)


def _evaluated(jet: Jet, x: Value) -> list[Value]:
    """Return the state at the time x, in units of time, from the beginning of the step.

    Even and odd orders are summed separately, which takes half the time; the row behind the last one is zero.
    """
    even, odd = _sums(jet, jet.spread(x * x))
    x_spread = jet.spread(x)
    changes = [x_spread * (b + x_spread * a) for a, b in zip(even, odd, strict=True)]
    first = jet.load_state(ATTITUDE, MOMENTUM)
    rates = jet.load_state(ATTITUDE, INERTIA)
    count = len(first) * 4 // 7 if jet.number == VECTOR else 1  # of the vectors of q
    factor = jet.spread(2.0 * jet.per_unit)
    m = [a + factor * I * change for a, I, change in zip(first[count:], rates[count:], changes[count:], strict=True)]
    return [*_turned(jet, first[:count], changes[:count]), *m]


def _turned(jet: Jet, q: list[Value], change: list[Value]) -> list[Value]:
    """Return q plus a change with the length 1 to rounding, by a step of Newton's method.

    Squares that differ from 1 by rounding alone are left as they are: to correct these in every step, by errors of the
    sum as large as they are, would make the energy drift.
    """
    writer = jet.writer
    sums = [a + d for a, d in zip(q, change, strict=True)]
    excess = jet.square(sums) - 1.0
    is_larger = writer.compared("ogt", writer.magnitude(excess), ROUNDING)
    z = jet.spread(writer.choose(is_larger, 0.5 * excess, 0.0))
    return [a + (d - z * s) for a, d, s in zip(q, change, sums, strict=True)]


def _sums(jet: Jet, z: Value) -> tuple[list[Value], list[Value]]:
    """Write the loop for the sums of even orders from 2 on, over z^(k/2 - 1), and of odd ones, over z^((k - 1)/2)."""
    writer = jet.writer
    before = writer.block
    top = writer.value("and i64 %order, 1")
    top = writer.value(f"add i64 %order, {top}")
    writer.put("br label %horner")
    writer.label("horner")
    phis = len(writer.lines)
    values = [Value(writer, f"%sum{n}", VECTOR) for n in range(2 * jet.parts)]
    offset = writer.value(f"mul i64 %degree, {jet.row_size}")
    row = writer.at("%rows", offset)
    rows = [*jet.load_row(row), *jet.load_row(writer.at(row, -jet.row_size))]
    after = [coefficient + z * value for coefficient, value in zip(rows, values, strict=True)]
    writer.put("%next_degree = add i64 %degree, -2")
    goes_on = writer.value("icmp sgt i64 %next_degree, 0")
    writer.put(f"br i1 {goes_on}, label %horner, label %evaluated")
    writer.lines[phis:phis] = [
        f"  %degree = phi i64 [ {top}, %{before} ], [ %next_degree, %horner ]",
        *(
            f"  {value.name} = phi {VECTOR} [ zeroinitializer, %{before} ], [ {a.name}, %horner ]"
            for value, a in zip(values, after, strict=True)
        ),
    ]
    writer.label("evaluated")
    return after[: jet.parts], after[jet.parts :]
