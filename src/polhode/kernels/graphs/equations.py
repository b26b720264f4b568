"""Equations of motion of a rigid body under a torque that is a graph, without units.

The unit of time s and the unit of inertia J are powers of two. The variables are the attitude q and half the angle by
which the body turns about each axis in a unit of time, u_i = s m_i/(2 I_i). With T = (t - t0)/s and i, j, k in cyclic
order

    dq/dT = q u,    du_i/dT = kick_i (gyro_i u_j u_k + g_i),    kick_i = J/I_i,    gyro_i = 2 (I_j - I_k)/J,
    g_i = scale f_i - sum_j drag_ij u_j,    scale = s^2/(2 J).

The factor kick_i is rounded, but it is the same for all torques. With rounded numbers, too, these equations conserve an
energy, of which the kinetic part is the sum of u_i^2/kick_i, if the three numbers gyro_i add up to 0. Generated code
also knows the errors of gyro and kick, which would make the motion drift. f is the torque in principal axes. The graph
of the torque has the body axes of the user: x_user = A x, Q_user = Q A^T.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from polhode.kernels.graphs import places as at
from polhode.kernels.graphs.graph import Graph

ATTITUDES = ("q0", "q1", "q2", "q3")
TURNS = ("u0", "u1", "u2")


class Equations(NamedTuple):
    """The graph of the right-hand sides g_0, g_1, g_2."""

    graph: Graph
    g: tuple[int, int, int]


def place(name: str) -> int:
    """Return the place of an input in a block."""
    letter, digits = name[0], name.lstrip("abcdefghijklmnopqrstuvwxyz")
    if letter == "p":
        return at.PARAMS + int(digits)
    first = {
        "t": at.T, "q": at.ATTITUDE, "cgyro": at.GYRO, "ckick": at.KICK, "crate": at.RATE, "cscale": at.SCALE,
        "cdrag": at.DRAG, "caxis": at.AXES,
    }[name[: len(name) - len(digits)]]  # fmt: skip
    row, column = divmod(int(digits or "0"), 10)
    return first + 3 * row + column


def in_unit(name: str, number: Any, unit: Any, per_unit: Any) -> Any:
    """Return an input for a unit of time, from that for the unit 1; the numbers are those of any type."""
    if name == "crate":
        return number * per_unit
    if name == "cscale":
        return number * unit * unit
    return number * unit if name.startswith("cdrag") else number


def equations(torque: Graph, components: tuple[int, int, int], turned: bool, drag: str) -> Equations:
    """Return the equations of motion.

    Parameters
    ----------
    torque : Graph
        Graph with inputs t, Q00, ..., Q22, w0, ..., w2, p0, ...
    components : tuple of int, length 3
        Its nodes with the torque in the body axes of the user.
    turned : bool
        Whether these differ from the principal axes.
    drag : {"none", "diagonal", "full"}
        Which entries of the matrix ``drag`` are not zero.

    Returns
    -------
    Equations
        The equations.
    """
    graph = Graph(torque.exact)
    has_velocity = any(name[0] == "w" for name in torque.inputs(components))
    w = [graph.multiply(graph.input("crate"), graph.input(name)) for name in TURNS] if has_velocity else []
    f = principal_torque(graph, torque, components, turned, w)
    g = [_scaled(graph, graph.input("cscale"), component) for component in f]
    turns = [graph.input(name) for name in TURNS]
    for i in range(3):
        for j in range(3):
            if drag == "full" or (drag == "diagonal" and i == j):
                g[i] = graph.subtract(g[i], graph.multiply(graph.input(f"cdrag{i}{j}"), turns[j]))
    return Equations(graph, (g[0], g[1], g[2]))


def _scaled(graph: Graph, factor: int, i: int) -> int:
    """Return a constant times a node; it multiplies the constants of sums, whose terms then need no other product.

    Nothing is rounded by that if the constant is a power of two.
    """
    operation, arguments, _ = graph.nodes[i]
    if operation in ("add", "subtract"):
        return graph.again(operation, [_scaled(graph, factor, argument) for argument in arguments], None)
    return graph.multiply(factor, i)


class Slopes(NamedTuple):
    """The graph of all that is needed for dq/dT and du/dT."""

    graph: Graph
    turned: list[int]  # q u
    products: list[int]  # u_j u_k
    g: list[int]


def slopes(equations: Equations) -> Slopes:
    """Return the graph of the slopes, for code that computes all of its nodes alike."""
    graph = Graph(equations.graph.exact)
    names = equations.graph.inputs(equations.g)
    g = equations.graph.copied(equations.g, graph, {name: graph.input(name) for name in names})
    q, u = ([graph.input(name) for name in part] for part in (ATTITUDES, TURNS))
    turned = [
        graph.negative(graph.dot(u, q[1:])),
        graph.subtract(graph.dot((u[0], u[2]), (q[0], q[2])), graph.multiply(u[1], q[3])),
        graph.subtract(graph.dot((u[1], u[0]), (q[0], q[3])), graph.multiply(u[2], q[1])),
        graph.subtract(graph.dot((u[2], u[1]), (q[0], q[1])), graph.multiply(u[0], q[2])),
    ]
    return Slopes(graph, turned, [graph.multiply(u[i - 2], u[i - 1]) for i in range(3)], g)


def principal_torque(
    graph: Graph, torque: Graph, components: Sequence[int], turned: bool, w: Sequence[int]
) -> list[int]:
    """Return nodes of a graph with the torque in principal axes, as a function of t, the quaternion and w.

    Parameters
    ----------
    graph : Graph
        Graph to which nodes are added, with inputs t, q0, ..., q3, p0, ..., and caxis00, ..., the principal axes.
    torque, components, turned
        As for `equations`.
    w : sequence of int
        Nodes of the angular velocity in principal axes; none if the torque does not depend on it.

    Returns
    -------
    list of int
        The nodes.
    """
    used = torque.inputs(components)
    inputs = {name: graph.input(name) for name in used if name[0] in "tp"}
    if turned and w:
        w = [graph.dot([graph.input(f"caxis{i}{j}") for j in range(3)], w) for i in range(3)]
    inputs |= {f"w{i}": node for i, node in enumerate(w)} | _attitudes(graph, used, turned)
    f = torque.copied(components, graph, inputs)
    if turned:
        f = [graph.dot(f, [graph.input(f"caxis{j}{i}") for j in range(3)]) for i in range(3)]
    return f


def _attitudes(graph: Graph, used: list[str], turned: bool) -> dict[str, int]:
    """Return the nodes of the entries of Q that are used, in the axes of the user."""
    names = [name for name in used if name[0] == "Q"]
    if not turned:
        return {name: _entry(graph, int(name[1]), int(name[2])) for name in names}
    entries = {}
    for name in names:
        i, j = int(name[1]), int(name[2])
        row = [_entry(graph, i, k) for k in range(3)]
        entries[name] = graph.dot(row, [graph.input(f"caxis{j}{k}") for k in range(3)])
    return entries


def _entry(graph: Graph, i: int, j: int) -> int:
    """Return the node of Q_ij of a unit quaternion, with as few products as possible."""
    q = [graph.input(name) for name in ATTITUDES]
    two = graph.number(2.0)
    if i == j:
        a, b = (graph.multiply(q[1 + k], q[1 + k]) for k in range(3) if k != i)
        return graph.subtract(graph.number(1.0), graph.multiply(two, graph.add(a, b)))
    k = 3 - i - j
    across, along = graph.multiply(q[1 + i], q[1 + j]), graph.multiply(q[0], q[1 + k])
    total = graph.subtract(across, along) if (j - i) % 3 == 1 else graph.add(across, along)
    return graph.multiply(two, total)
