"""Gustafsson 2010, Table 1: floating-point operations of one step of the attitude, Magnus and factorization.

m at the nodes is given; q is not normalized. The printed numbers, row by row, are found again by running the thesis'
program (``gustafsson2010``) on numbers that count; rows are told apart by the functions in which operations happen. Our
kernels are counted in the same way, uncompiled: they take any |m|, any axis and any order in one loop, and normalize
their rotation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from papers import gustafsson2010
from papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, number, trend
from papers.gustafsson2010 import ORDERS, commutator, product
from papers.operations import ATTITUDE, Counted, count, kernel_operations
from polhode.core.references import GUSTAFSSON_2010

COMMUTATORS, PRODUCTS, CROSS = "commutators", "quaternion products", "cross products"
ADDITIONS, OTHER, TOTAL = "additions and constants times vectors", "other operations", "total"
Rows = dict[str, tuple[int, ...]]  # by orders
PRINTED: dict[str, Rows] = {
    "Magnus": {
        COMMUTATORS: (0, 12, 36, 72),
        PRODUCTS: (28, 28, 28, 28),
        ADDITIONS: (3, 18, 54, 198),
        OTHER: (16, 19, 22, 25),
        TOTAL: (47, 77, 140, 323),
    },
    "factorization": {
        CROSS: (9, 18, 27, 36),
        PRODUCTS: (84, 84, 84, 84),
        OTHER: (53, 69, 84, 99),
        TOTAL: (146, 171, 195, 219),
    },
}
FUNCTIONS = {"commutator": COMMUTATORS, "product": PRODUCTS, "cross": CROSS, "magnus_series": ADDITIONS}
PRODUCT, COMMUTATOR = 28, 12
H = 0.1


def run(full: bool) -> Report:
    """The paper's size always."""
    a, b = _counted(0.6, 0.0, 0.8), _counted(0.0, 0.6, 0.8)
    q = _counted(*ATTITUDE)
    rows = {
        "Magnus": [_rows(partial(gustafsson2010.magnus_step, order, H, [a] * (order // 2), q)) for order in ORDERS],
        "factorization": [
            _rows(partial(gustafsson2010.factorization_step, Counted(H), Counted(0.3), a, b, [a] * (order // 2), q))
            for order in ORDERS
        ],
    }
    found = {name: [counts[TOTAL] for counts in by_order] for name, by_order in rows.items()}
    kernels = kernel_operations()
    ours = {
        "Magnus": [kernels[f"Magnus({order})"] for order in ORDERS],
        "factorization": [kernels[f"Gauss({order // 2})"] for order in ORDERS],
    }
    claims = [
        number("quaternion product", str(PRODUCT), count(lambda: product(q, q)), units=0),
        number("commutator", str(COMMUTATOR), count(lambda: commutator(a, b)), units=0),
        *(number(f"{name}, order {order}: {row}", str(printed), rows[name][i].get(row, 0), units=0)
          for name, table in PRINTED.items()
          for row, numbers in table.items()
          for i, (order, printed) in enumerate(zip(ORDERS, numbers, strict=True))),
        *_comparisons(found, ours),
        beyond("our kernels, orders 2 to 8", "; ".join(f"{k} {', '.join(map(str, v))}" for k, v in ours.items())),
        beyond("our exact flow, momentum and attitude", f"{kernels['Exact()']} operations"),
    ]  # fmt: skip
    curves = [Curve(f"{name}, printed", ORDERS, table[TOTAL]) for name, table in PRINTED.items()]
    curves += [Curve(f"{name}, our kernels", ORDERS, row, True) for name, row in ours.items()]
    return Report(tuple(claims), (Panel("one step, momentum given", "order", "operations", curves, log=""),))


def _rows(work: Callable[[], object]) -> dict[str, int]:
    """Operations of ``work`` by rows of the table, and their total.

    An operation belongs to the row of the innermost of ``FUNCTIONS`` that does it. What a product or a commutator calls
    is its own.
    """
    found = dict.fromkeys((*FUNCTIONS.values(), OTHER), 0)
    inside, seen = [OTHER], [Counted.count]

    def settle() -> None:
        found[inside[-1]] += Counted.count - seen[0]
        seen[0] = Counted.count

    def told(function: Callable[..., Any], row: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if inside[-1] in (PRODUCTS, COMMUTATORS):
                return function(*arguments)
            settle()
            inside.append(row)
            result = function(*arguments)
            settle()
            inside.pop()
            return result

        return call

    originals = {name: getattr(gustafsson2010, name) for name in FUNCTIONS}
    try:
        for name, row in FUNCTIONS.items():
            setattr(gustafsson2010, name, told(originals[name], row))
        work()
        settle()
    finally:
        for name, original in originals.items():
            setattr(gustafsson2010, name, original)
    return found | {TOTAL: sum(found.values())}


def _counted(*values: float) -> npt.NDArray[np.object_]:
    return np.array([Counted(x) for x in values], dtype=object)


def _comparisons(found: dict[str, list[int]], ours: dict[str, list[int]]) -> list[Claim]:
    def cheaper(counts: dict[str, list[int]]) -> list[int]:
        return [o for o, m, f in zip(ORDERS, counts["Magnus"], counts["factorization"], strict=True) if m < f]

    return [
        trend("orders at which Magnus takes fewer operations", "2, 4, 6", f"{', '.join(map(str, cheaper(found)))}; "
              f"our kernels: {', '.join(map(str, cheaper(ours))) or 'none'}", cheaper(found) == [2, 4, 6])
    ]  # fmt: skip


EXPERIMENT = Experiment(GUSTAFSSON_2010, "Table 1", "Operations of a step: Magnus and factorization", run)
