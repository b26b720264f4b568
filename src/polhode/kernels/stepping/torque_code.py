"""Code for torques that are graphs, for all lanes of a block of bodies: text of LLVM.

Such a function has the arguments of ``torqued_block.call_torques``: the address of a block of numbers, and the number
of lanes, a multiple of that of a vector. Inputs and results are fields of the block. It never fails; if a lane divides
by 0, which is an error in Python, its field ``raised`` becomes 1.

Sine and cosine are those of ``numbers.trig``, in vectors. All other functions but the square root are called for each
lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polhode.kernels.graphs.equations import principal_torque
from polhode.kernels.graphs.function import VELOCITY
from polhode.kernels.graphs.graph import Graph, computed
from polhode.kernels.graphs.writer import LANES, VECTOR, Value, Writer, functions, operand
from polhode.kernels.numbers.series import COS, HALF_PI, SIN
from polhode.kernels.numbers.trig import MANY, TWO_OVER_PI
from polhode.kernels.stepping.torqued_block import torque_fields

NUMBER = 8  # bytes
HEAD = "define i32 @generated(ptr %result, ptr %exception, i64 %address, i64 %lanes)"
BITS = f"<{LANES} x i1>"


def torque_text(torque: Graph, components: Sequence[int], params: int, turned: bool) -> str:
    """Return the code of a torque on all lanes of a block; see ``compiler.generated``.

    Parameters
    ----------
    torque : Graph
        Graph with inputs t, Q00, ..., Q22, w0, ..., w2, p0, ...
    components : sequence of int
        Its nodes with the torque in the body axes of the user.
    params : int
        Number of parameters.
    turned : bool
        Whether these axes differ from the principal axes.

    Returns
    -------
    str
        The text.
    """
    graph = Graph()
    f = principal_torque(graph, torque, components, turned, [graph.input(name) for name in VELOCITY])
    writer = Writer()
    writer.put("%block = inttoptr i64 %address to ptr")
    writer.put(f"%end = mul i64 %lanes, {NUMBER}")
    writer.put("br label %loop")
    writer.label("loop")
    writer.put("%offset = phi i64 [0, %begin], [%next, %last]")
    writer.put("%lane = getelementptr i8, ptr %block, i64 %offset")
    _write_values(writer, graph, f, torque_fields(params))
    writer.put("br label %last")
    writer.label("last")
    writer.put(f"%next = add i64 %offset, {NUMBER * LANES}")
    writer.put("%more = icmp ult i64 %next, %end")
    writer.put("br i1 %more, label %loop, label %done")
    writer.label("done")
    writer.put("ret i32 0")
    return "\n".join([f"{HEAD} {{", "begin:", *writer.lines, "}", *sorted(writer.called), ""])


def _write_values(writer: Writer, graph: Graph, outputs: Sequence[int], fields: dict[str, int]) -> None:
    """Write the code for the lanes of a vector."""
    values: dict[int, Value | float] = {}
    raised = "zeroinitializer"
    known = functions(writer) | _sine_and_cosine(writer)
    for index in graph.needed(outputs):
        node = graph.nodes[index]
        if node.operation == "number":
            values[index] = node.value
            continue
        if node.operation == "input":
            values[index] = writer.load("%lane", NUMBER * fields[node.value], VECTOR)
            continue
        arguments = [values[argument] for argument in graph.own_arguments(index)]
        if node.operation == "divide" and isinstance(arguments[1], Value):
            is_zero = writer.value(f"fcmp oeq {VECTOR} {arguments[1].name}, zeroinitializer")
            raised = writer.value(f"or {BITS} {raised}, {is_zero}")
        values[index] = computed(node, arguments, known)
    for place, index in enumerate(outputs):
        writer.store(values[index], "%lane", NUMBER * fields[f"f{place}"], VECTOR)
    one, zero = operand(1.0, VECTOR), operand(0.0, VECTOR)
    mark = writer.value(f"select {BITS} {raised}, {VECTOR} {one}, {VECTOR} {zero}")
    writer.store(Value(writer, mark, VECTOR), "%lane", NUMBER * fields["raised"], VECTOR)


def _sine_and_cosine(writer: Writer) -> dict[str, Callable[..., Value | float]]:
    """Return the functions sine and cosine of vectors, which are computed together."""
    known: dict[str, tuple[Value, Value]] = {}

    def both(x: Value) -> tuple[Value, Value]:
        if x.name not in known:
            known[x.name] = _any_sincos(writer, x)
        return known[x.name]

    return {"sin": lambda x: both(x)[0], "cos": lambda x: both(x)[1]}


def _any_sincos(writer: Writer, x: Value) -> tuple[Value, Value]:
    """Return sine and cosine of any number, as ``trig.sincos``: far from 0 those of C."""
    s, c = _sincos_near(writer, x)
    size = _rounded(writer, "fabs", x)
    near = writer.value(f"fcmp ole {VECTOR} {size.name}, {operand(MANY, VECTOR)}")
    all_near = writer.value(f"bitcast {BITS} {near} to i{LANES}")
    is_near = writer.value(f"icmp eq i{LANES} {all_near}, -1")
    here, far, after = writer.block, writer.name(), writer.name()
    writer.put(f"br i1 {is_near}, label %{after}, label %{far}")
    writer.label(far)
    called = [writer.call(name, x) for name in ("sin", "cos")]
    chosen = [
        writer.value(f"select {BITS} {near}, {VECTOR} {own.name}, {VECTOR} {other.name}")
        for own, other in zip((s, c), called, strict=True)
    ]
    writer.put(f"br label %{after}")
    writer.label(after)
    sine, cosine = (
        Value(writer, writer.value(f"phi {VECTOR} [{own.name}, %{here}], [{other}, %{far}]"), VECTOR)
        for own, other in zip((s, c), chosen, strict=True)
    )
    return sine, cosine


def _sincos_near(writer: Writer, x: Value) -> tuple[Value, Value]:
    """Return sine and cosine for |x| <= MANY, by the formulas of ``trig.sincos_near``."""
    turns = _rounded(writer, "rint", x * TWO_OVER_PI)
    r = ((x - turns * HALF_PI[0]) - turns * HALF_PI[1]) - turns * HALF_PI[2]
    rr = r * r
    r4 = rr * rr
    s = ((SIN[7] * rr + SIN[6]) * r4 + (SIN[5] * rr + SIN[4])) * r4 + (SIN[3] * rr + SIN[2])
    s = r + r * rr * (s * r4 + (SIN[1] * rr + SIN[0]))
    c = (COS[6] * r4 + (COS[5] * rr + COS[4])) * r4 + (COS[3] * rr + COS[2])
    c = 1.0 - (0.5 * rr - r4 * (c * r4 + (COS[1] * rr + COS[0])))
    half = _rounded(writer, "floor", turns * 0.5)
    sign = 1.0 - 2.0 * (half - 2.0 * _rounded(writer, "floor", half * 0.5))
    b = (turns - 2.0 * half) * sign
    a = sign - b
    return s * a + c * b, c * a - s * b


def _rounded(writer: Writer, name: str, x: Value) -> Value:
    """Return a function of LLVM of a vector: rint, floor or fabs."""
    function = f"@llvm.{name}.v{LANES}f64"
    writer.called.add(f"declare {VECTOR} {function}({VECTOR})")
    return Value(writer, writer.value(f"call {VECTOR} {function}({VECTOR} {x.name})"), VECTOR)
