"""Code for torques that are graphs, for all lanes of a block of bodies: text of LLVM.

Such a function has the arguments of ``torqued_block.call_torques``: the address of a block of numbers, and the number
of lanes, a multiple of that of a vector. Inputs and results are fields of the block. It never fails; if a lane divides
by 0, which is an error in Python, its field ``raised`` becomes 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from polhode.kernels.graphs.equations import principal_torque
from polhode.kernels.graphs.function import VELOCITY
from polhode.kernels.graphs.functions import functions
from polhode.kernels.graphs.graph import Graph, computed
from polhode.kernels.graphs.writer import LANES, VECTOR, Value, Writer, operand
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
    known = functions(writer)
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
