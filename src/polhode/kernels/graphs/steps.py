"""Steps by Taylor series as generated code: step after step, until a body needs the attention of the caller.

The function ``generated(block, rows, work, order, only)`` goes on from the new state of each body in the block. A step
leads from the state at ATTITUDE, MOMENTUM and T, which it copies from NEW_ATTITUDE, NEW_MOMENTUM and NEW_T, to a new
state there; its coefficients stay in the rows. It returns after the step in which an active body reaches the time NEXT,
has made LEFT steps, cannot make a step that is longer than the rounding of t, has a state that is not finite, or is in
DOUBT. If ``only`` is COEFFICIENTS, it computes the coefficients and returns; if it is TRIAL, it evaluates those that
are there at NEW_T, which the caller has changed, and returns.

A step is verified at its end: du/dT by the series is compared with that by the equations of motion, which is the first
coefficient of the next step anyway. With e the largest difference times REACH, the length of the step, the step is
WRONG unless e <= BOUND times the SIZE of m (``step_rule``), or unless e turns the body by no more than rounding in the
time that the series allows for a step. The step is DOUBTFUL if an argument of a function changes more than the limit of
``watches``: the caller then makes trials within the step.

Two choices keep results free of units and of drift: the unit of time is a power of two near the length of the step,
so that coefficients neither overflow nor underflow, and its choice does not change a bit of the result; and the length
of q is corrected only if it differs from 1 by more than rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

from polhode.kernels.graphs import places as at
from polhode.kernels.graphs.jet import HEAD, RECIPROCALS, Jet
from polhode.kernels.graphs.step_rule import Rule, Sizes, end_of, rule
from polhode.kernels.graphs.writer import LANES, VECTOR, Value, Writer

MOST_GROWTH = 256.0  # of the unit of time from step to step
NO_TURN = 64.0 * 2.0**-52  # radians that a body turns by rounding


def text_of_steps(jet: Jet) -> str:
    """Return the code of the function as text of LLVM; see ``compiler.generated``."""
    writer = jet.writer
    writer.put(f"%is_trial = icmp eq i64 %only, {at.TRIAL}")
    writer.put("br i1 %is_trial, label %trial, label %beginning")
    writer.label("trial")
    trial = _stored_reach(jet)
    writer.put("br label %end")
    writer.label("beginning")
    place_of_phi = len(writer.lines)
    jet.write_beginning()
    writer.put("br i1 %is_end, label %verify, label %orders")
    writer.label("verify")
    _write_verification(jet)
    writer.label("orders")
    jet.write_orders()
    writer.put(f"%is_only = icmp eq i64 %only, {at.COEFFICIENTS}")
    writer.put("br i1 %is_only, label %return, label %rule")
    writer.label("rule")
    step = _write_length(jet)
    writer.label("end")
    _write_end(jet, *(writer.joined({"trial": a, "rule": b}) for a, b in zip(trial, step, strict=True)))
    writer.lines.insert(place_of_phi, f"  %is_end = phi i1 [ false, %begin ], [ true, %{writer.block} ]")
    writer.label("return")
    writer.put("ret i32 0")
    body = "\n".join(writer.lines)
    declared = "\n".join((RECIPROCALS, *sorted(writer.called)))
    return f"{declared}\n{HEAD}\n{body}\n}}\n"


class Reach(NamedTuple):
    """How far a step goes: in registers, because the next operations wait for it."""

    x: Value  # in units of time
    per_unit: Value  # 1/unit


def _stored_reach(jet: Jet) -> Reach:
    """Return how far a step goes whose end the caller has changed."""
    _, per_unit = jet.writer.power_of_two(jet.load_number(at.UNIT))
    return Reach(per_unit * (jet.load_number(at.NEW_T) - jet.load_number(at.T)), per_unit)


def _write_length(jet: Jet) -> Reach:
    """Write the code that chooses the end of the step, and goes on to %end."""
    writer = jet.writer
    radius, size = _rule(jet)
    length = jet.unit * radius * jet.load_number(at.FACTOR)
    allowed, growth = writer.smallest(length, jet.load_number(at.LONGEST)), jet.load_number(at.GROWTH)
    right = end_of(writer, jet.t, writer.smallest(allowed, growth), jet.load_number(at.END))
    jet.store_number(writer.choose(writer.compared("olt", growth, allowed), at.RECOVERY * growth, inf), at.GROWTH)
    jet.store_number(right, at.NEW_T)
    jet.store_number(right - jet.t, at.REACH)
    jet.store_number(size, at.SIZE)
    jet.store_number(writer.smallest(length, MOST_GROWTH * jet.unit), at.LENGTH)
    jet.store_number(jet.load_number(at.LEFT) - 1.0, at.LEFT)
    reach = Reach(jet.per_unit * (right - jet.t), jet.per_unit)
    writer.put("br label %end")
    return reach


def _write_end(jet: Jet, x: Value, per_unit: Value) -> None:
    """Write the code for the state at the end of the step, and what is needed to verify it; go on to %beginning."""
    state, slopes = _evaluated(jet, x, 2.0 * per_unit)
    jet.store_state(state, at.NEW_ATTITUDE, at.NEW_MOMENTUM)
    jet.store_slopes(slopes, at.PREDICTED)
    jet.store_number(_doubt(jet, x), at.DOUBT)
    jet.writer.put("br label %beginning")


def _doubt(jet: Jet, x: Value) -> Value | float:
    """Return DOUBTFUL if a watched argument changes more than its limit up to the time x, otherwise 0."""
    writer, layout = jet.writer, jet.layout
    if not layout.watches:
        return 0.0
    work, factor = writer.at("%work", jet.head_size), jet.spread(writer.magnitude(x))
    offsets = [8 * LANES * n for n in range(layout.watched_vectors)]

    def add(order: str, sums: list[Value]) -> list[Value]:
        row = writer.at(work, writer.value(f"mul i64 {order}, {layout.stride}"))
        coefficients = [writer.load(row, layout.watched + offset, VECTOR) for offset in offsets]
        return [writer.magnitude(c) + factor * total for c, total in zip(coefficients, sums, strict=True)]

    totals = _downwards(writer, writer.value("sub i64 %order, 1"), 1, len(offsets), add)
    changes = [factor * total for total in totals]
    exceeded = [
        writer.compared("ogt", change * change, writer.load("%work", layout.limits + offset, VECTOR))
        for change, offset in zip(changes, offsets, strict=True)
    ]
    return writer.choose(jet.of_some(exceeded), at.DOUBTFUL, 0.0)


def _write_verification(jet: Jet) -> None:
    """Write the code that compares slopes at the end of the step; go on to %return or %orders."""
    writer = jet.writer
    doubt = writer.choose(_is_wrong(jet), at.WRONG, jet.load_number(at.DOUBT))
    jet.store_number(doubt, at.DOUBT)
    sign, right = jet.load_number(at.SIGN), jet.t
    stops = writer.compared("oge", sign * right, sign * jet.load_number(at.NEXT))
    for condition in (
        writer.compared("ole", jet.load_number(at.LEFT), 0.0),
        writer.equal(right, jet.load_number(at.T)),
        writer.compared("ogt", doubt, 0.0),
        _not_finite(jet, jet.new_state),
    ):
        stops = writer.either(stops, condition)
    stops = writer.anywhere(writer.both(stops, writer.compared("ogt", jet.load_number(at.ACTIVE), 0.0)))
    returns = writer.either(stops, Value(writer, "%is_trial", "i1"))
    writer.put(f"br i1 {returns.name}, label %return, label %orders")


def _is_wrong(jet: Jet) -> Value:
    """Return whether the series misses the slopes at the end of the step, also if these are not numbers."""
    writer = jet.writer
    unit, per_unit = writer.power_of_two(jet.load_number(at.UNIT))
    ratio = unit * jet.per_unit
    factor = jet.spread(ratio * ratio)
    u = jet.one_state[jet.attitude_parts :]
    missed = [predicted - factor * x for predicted, x in zip(jet.load_slopes(at.PREDICTED), u, strict=True)]
    reach = writer.magnitude(per_unit * jet.load_number(at.REACH))
    of_m, of_u = (reach * jet.largest(vectors) for vectors in (jet.weighted(missed), missed))
    turn = of_u * (per_unit * jet.load_number(at.LENGTH))
    is_large = writer.compared("ugt", of_m, jet.load_number(at.BOUND) * jet.load_number(at.SIZE))
    is_wrong = writer.both(is_large, writer.compared("ugt", turn, NO_TURN))
    return writer.either(is_wrong, _not_finite(jet, missed))


def _rule(jet: Jet) -> Rule:
    """Return the radius in units of time, and the scale of m."""
    writer = jet.writer
    before = writer.value("sub i64 %order, 1")
    rows = [writer.value(f"mul i64 {k}, {jet.row_size}") for k in (before, "%order")]
    (a, c), (b, d) = (jet.sizes(writer.at("%rows", offset)) for offset in rows)
    first = [jet.sizes(writer.at("%rows", jet.row_size * k))[1] for k in range(4)]
    sizes = Sizes(a, b, c, d, (first[0], first[1], first[2], first[3]))
    return rule(writer, sizes, jet.reciprocal(before), jet.reciprocal("%order"))


def _not_finite(jet: Jet, vectors: list[Value]) -> Value:
    """Return whether a component of q and m, or of u, is not finite; that is lost where the largest one is taken."""
    total = vectors[0] - vectors[0]
    for vector in vectors[1:]:
        total = total + (vector - vector)
    return jet.of_some([jet.writer.compared("une", total, 0.0)])


class End(NamedTuple):
    """Vectors of the new state, and of du/dT there."""

    state: list[Value]
    slopes: list[Value]


def _evaluated(jet: Jet, x: Value, factor: Value) -> End:
    """Return the state at the time x, in units of time, from the beginning of the step; ``factor`` is 2/unit.

    Even and odd orders are summed separately, which takes half the time; the row behind the last one is zero.
    """
    x_spread, z = jet.spread(x), jet.spread(x * x)
    sums = _sums(jet, z)
    changes = [x_spread * (b + x_spread * a) for a, b in zip(sums.even, sums.odd, strict=True)]
    first = jet.load_state(at.ATTITUDE, at.MOMENTUM)
    inertia = jet.load_state(at.ATTITUDE, at.INERTIA)
    count = jet.attitude_parts
    to_m = jet.spread(factor)
    m = [a + to_m * I * change for a, I, change in zip(first[count:], inertia[count:], changes[count:], strict=True)]
    slopes = [
        odd + 2.0 * (x_spread * even + z * (odd_slope + x_spread * even_slope))
        for even, odd, even_slope, odd_slope in zip(
            sums.even[count:], sums.odd[count:], sums.even_slopes, sums.odd_slopes, strict=True
        )
    ]
    return End([*_turned(jet, first[:count], changes[:count]), *m], slopes)


def _turned(jet: Jet, q: list[Value], change: list[Value]) -> list[Value]:
    """Return q plus a change with the length 1 to rounding, by a step of Newton's method.

    Squares that differ from 1 by rounding alone are left as they are: to correct these in every step, by errors of the
    sum as large as they are, would make the energy drift.
    """
    writer = jet.writer
    sums = [a + d for a, d in zip(q, change, strict=True)]
    excess = jet.square(sums) - 1.0
    is_larger = writer.compared("ogt", writer.magnitude(excess), at.ROUNDING)
    z = jet.spread(writer.choose(is_larger, 0.5 * excess, 0.0))
    return [a + (d - z * s) for a, d, s in zip(q, change, sums, strict=True)]


class Sums(NamedTuple):
    """Sums over z = x^2, of even orders k of z^(k/2 - 1), of odd ones of z^((k - 1)/2); slopes of those of u by z."""

    even: list[Value]
    odd: list[Value]
    even_slopes: list[Value]
    odd_slopes: list[Value]


def _sums(jet: Jet, z: Value) -> Sums:
    """Write the loop for the sums of all orders, from 1 on."""
    writer, n, first = jet.writer, jet.parts, jet.attitude_parts
    slopes = n - first

    def add(degree: str, values: list[Value]) -> list[Value]:
        row = writer.at("%rows", writer.value(f"mul i64 {degree}, {jet.row_size}"))
        rows = [*jet.load_row(row), *jet.load_row(writer.at(row, -jet.row_size))]
        sums = values[: 2 * n]
        of_u = [*sums[first:n], *sums[n + first :]]
        after = [coefficient + z * total for coefficient, total in zip(rows, sums, strict=True)]
        return after + [total + z * slope for total, slope in zip(of_u, values[2 * n :], strict=True)]

    top = writer.value("and i64 %order, 1")
    found = _downwards(writer, writer.value(f"add i64 %order, {top}"), 2, 2 * (n + slopes), add)
    return Sums(found[:n], found[n : 2 * n], found[2 * n : 2 * n + slopes], found[2 * n + slopes :])


def _downwards(
    writer: Writer, first: str, by: int, count: int, body: Callable[[str, list[Value]], list[Value]]
) -> list[Value]:
    """Write a loop over k from ``first`` down to 1, in steps of ``by``; return the vectors that it computes from 0."""
    before, name = writer.block, writer.name()
    writer.put(f"br label %loop{name}")
    writer.label(f"loop{name}")
    phis = len(writer.lines)
    values = [Value(writer, f"%{name}_{n}", VECTOR) for n in range(count)]
    after = body(f"%k{name}", values)
    writer.put(f"%below{name} = sub i64 %k{name}, {by}")
    goes_on = writer.value(f"icmp sgt i64 %below{name}, 0")
    writer.put(f"br i1 {goes_on}, label %loop{name}, label %after{name}")
    writer.lines[phis:phis] = [
        f"  %k{name} = phi i64 [ {first}, %{before} ], [ %below{name}, %loop{name} ]",
        *(
            f"  {value.name} = phi {VECTOR} [ zeroinitializer, %{before} ], [ {a.name}, %loop{name} ]"
            for value, a in zip(values, after, strict=True)
        ),
    ]
    writer.label(f"after{name}")
    return after
