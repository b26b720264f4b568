"""Code for functions of t, Q, w and p that are graphs, in the form in which compiled loops call torques and energies.

The arguments are those of Numba for the same signature, see ``intrinsics.call_by_address``: tuples are passed number by
number, and an array as its owner, its parent, the numbers of elements and of bytes of each, the data, the length and
the stride. The result is written to memory, and the function returns whether it failed: as in Python, a division by 0
is an error. Other invalid operations result in NaN or infinity.
"""

from __future__ import annotations

from collections.abc import Sequence

from polhode.kernels.graphs.functions import functions
from polhode.kernels.graphs.graph import Graph, Node, computed
from polhode.kernels.graphs.writer import Value, Writer, operand

ATTITUDE = tuple(f"Q{i}{j}" for i in range(3) for j in range(3))
VELOCITY = tuple(f"w{i}" for i in range(3))
PARAMETERS = "ptr %owner, ptr %parent, i64 %count, i64 %size, ptr noalias readonly %params, i64 %length, i64 %stride"
RAISED = -1  # Numba's status of an exception; 0 is that of a result


def function_text(graph: Graph, outputs: Sequence[int], with_velocity: bool) -> str:
    """Return the code of a function as text of LLVM; see ``compiler.generated``.

    Parameters
    ----------
    graph : Graph
        Graph with inputs t, Q00, ..., Q22, w0, ..., w2, p0, ...
    outputs : sequence of int
        Nodes of the values of the function, in the order in which they are written to memory.
    with_velocity : bool
        Whether the function has the argument w.

    Returns
    -------
    str
        The text.
    """
    writer = Writer()
    divisors = _write_values(writer, graph, outputs)
    writer.put(f"ret i32 {_status(writer, divisors)}")
    names = ("t", *ATTITUDE, *(VELOCITY if with_velocity else ()))
    numbers = ", ".join(f"double %{name}" for name in names)
    head = f"define i32 @generated(ptr noalias %result, ptr %exception, {numbers}, {PARAMETERS})"
    return "\n".join([f"{head} {{", "begin:", *writer.lines, "}", *sorted(writer.called), ""])


def _write_values(writer: Writer, graph: Graph, outputs: Sequence[int]) -> list[Value]:
    """Write the code that computes and stores the values of nodes, and return all numbers by which it divides."""
    values: dict[int, Value | float] = {}
    divisors: list[Value] = []
    known = functions(writer)
    for index in graph.needed(outputs):
        node = graph.nodes[index]
        if node.operation in ("number", "input"):
            values[index] = node.value if node.operation == "number" else _input(writer, node)
            continue
        arguments = [values[argument] for argument in graph.own_arguments(index)]
        if node.operation == "divide" and isinstance(arguments[1], Value):
            divisors.append(arguments[1])
        values[index] = computed(node, arguments, known)
    for place, index in enumerate(outputs):
        writer.store(_without_negative_zero(writer, values[index]), "%result", 8 * place)
    return divisors


def _input(writer: Writer, node: Node) -> Value:
    """Return an input: a parameter from the array, or an argument."""
    name = node.value
    return writer.load("%params", 8 * int(name[1:])) if name[0] == "p" else Value(writer, f"%{name}")


def _without_negative_zero(writer: Writer, x: Value | float) -> Value | float:
    """Return a number plus 0: simplified expressions have zeros of any sign, and -0 looks odd when it is printed."""
    if isinstance(x, float):
        return x
    return Value(writer, writer.value(f"fadd double {x.name}, {operand(0.0, 'double')}"))


def _status(writer: Writer, divisors: Sequence[Value]) -> str:
    """Write the code that compares divisors with 0, and return the status."""
    if not divisors:
        return "0"
    zero = operand(0.0, "double")
    any_zero = "false"
    for divisor in divisors:
        is_zero = writer.value(f"fcmp oeq double {divisor.name}, {zero}")
        any_zero = writer.value(f"or i1 {any_zero}, {is_zero}")
    return writer.value(f"select i1 {any_zero}, i32 {RAISED}, i32 0")
