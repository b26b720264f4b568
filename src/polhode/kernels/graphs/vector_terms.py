"""Vectors of nodes as sums of vectors that exist: products of a group, q and u, times vectors of constants.

A component of the torque is a sum of nodes, each times a constant. Many of these nodes are computed side by side. If
the torque were put together from its components, each of them would have to be taken out of a vector and be put into
another one: from order to order nothing waits longer. Instead, the terms of all components that come from one vector
are added at once, if necessary with its lanes in another order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence, Set
from typing import NamedTuple

from polhode.kernels.graphs.graph import Graph, Kind
from polhode.kernels.graphs.writer import LANES

Source = Hashable  # a vector in which nodes are lanes; None for nodes that are no lanes


class Term(NamedTuple):
    """A node times a sign and constants."""

    node: int
    sign: float
    constants: tuple[int, ...]


class VectorTerm(NamedTuple):
    """A term of each component, or none, and the lanes of the source that are their nodes."""

    source: Source
    lanes: tuple[int, ...]
    terms: tuple[Term | None, ...]


def vector_terms(
    graph: Graph, nodes: Sequence[int], places: Mapping[int, tuple[Source, int]], depths: Mapping[int, int]
) -> list[VectorTerm]:
    """Return the sum for a vector of nodes, from order 1 on; what is known last is added last.

    Parameters
    ----------
    graph : Graph
        The graph.
    nodes : sequence of int
        Up to four nodes.
    places : mapping
        Source and lane of the nodes that are lanes of a vector.
    depths : mapping
        The largest number of products of which a node consists, one inside of the other.

    Returns
    -------
    list of VectorTerm
        The terms.
    """
    uses = Counter(argument for node in graph.used(nodes) for argument in graph.own_arguments(node)) + Counter(nodes)
    shared = {node for node, count in uses.items() if count > 1}  # computed once
    components = [_terms(graph, node, shared) for node in nodes]
    sources = [[places.get(term.node, (None, 0))[0] for term in terms] for terms in components]
    found = []
    for source in dict.fromkeys(source for row in sources for source in row):
        queues = [
            [term for term, own in zip(terms, row, strict=True) if own == source]
            for terms, row in zip(components, sources, strict=True)
        ]
        for n in range(max(map(len, queues))):
            terms = tuple(queue[n] if n < len(queue) else None for queue in queues)
            found.append(VectorTerm(source, _lanes(source, terms, places), terms))
    return sorted(found, key=lambda vector: max(depths[term.node] for term in vector.terms if term))


def _terms(graph: Graph, node: int, shared: Set[int]) -> list[Term]:
    """Return the terms of a node that are not constant."""
    terms: list[Term] = []
    waiting = [Term(node, 1.0, ())]
    while waiting:
        term = waiting.pop()
        operation, arguments, _ = graph.nodes[term.node]
        if graph.kinds[term.node] == Kind.CONSTANT:
            continue
        if term.node in shared:
            terms.append(term)
        elif operation in ("add", "subtract"):
            sign = term.sign if operation == "add" else -term.sign
            waiting += [term._replace(node=arguments[1], sign=sign), term._replace(node=arguments[0])]
        elif operation == "multiply" and graph.kinds[arguments[0]] == Kind.CONSTANT:
            waiting.append(Term(arguments[1], term.sign, (*term.constants, arguments[0])))
        else:
            terms.append(term)
    return terms


def _lanes(source: Source, terms: Sequence[Term | None], places: Mapping[int, tuple[Source, int]]) -> tuple[int, ...]:
    """Return which lanes of the source are the nodes of terms; lanes that no component needs stay in their places."""
    lanes = list(range(LANES))
    for component, term in enumerate(terms):
        if source is not None and term is not None:
            lanes[component] = places[term.node][1]
    return tuple(lanes)
