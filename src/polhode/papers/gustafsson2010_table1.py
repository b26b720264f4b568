"""Gustafsson 2010, Table 1: floating-point operations of one step of the attitude, Magnus and factorization.

m at the nodes is given; q is not normalized. The printed numbers are found again by running the thesis' program
(``gustafsson2010``) on numbers that count. Our kernels are counted in the same way, uncompiled: they take any |m|, any
axis and any order in one loop, and normalize their rotation.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from polhode.papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, number, trend
from polhode.papers.gustafsson2010 import ORDERS, commutator, factorization_step, magnus_step, product
from polhode.papers.operations import ATTITUDE, Counted, count, kernel_operations
from polhode.references import GUSTAFSSON_2010

PRINTED = {"Magnus": (47, 77, 140, 323), "factorization": (146, 171, 195, 219)}
PRODUCT, COMMUTATOR = 28, 12
H = 0.1


def run(full: bool) -> Report:
    """The paper's size always."""
    a, b = _counted(0.6, 0.0, 0.8), _counted(0.0, 0.6, 0.8)
    q = _counted(*ATTITUDE)
    found = {
        "Magnus": [count(partial(magnus_step, order, H, [a] * (order // 2), q)) for order in ORDERS],
        "factorization": [
            count(partial(factorization_step, Counted(H), Counted(0.3), a, b, [a] * (order // 2), q))
            for order in ORDERS
        ],
    }
    kernels = kernel_operations()
    ours = {
        "Magnus": [kernels[f"Magnus({order})"] for order in ORDERS],
        "factorization": [kernels[f"Gauss({order // 2})"] for order in ORDERS],
    }
    claims = [
        number("quaternion product", str(PRODUCT), count(lambda: product(q, q)), units=0),
        number("commutator", str(COMMUTATOR), count(lambda: commutator(a, b)), units=0),
        *(number(f"{name}, order {order}", str(printed), counted, units=0)
          for name in PRINTED
          for order, printed, counted in zip(ORDERS, PRINTED[name], found[name], strict=True)),
        *_comparisons(found, ours),
        beyond("our kernels, orders 2 to 8", "; ".join(f"{k} {', '.join(map(str, v))}" for k, v in ours.items())),
        beyond("our exact flow, momentum and attitude", f"{kernels['Exact()']} operations"),
    ]  # fmt: skip
    curves = [Curve(f"{name}, printed", ORDERS, row) for name, row in PRINTED.items()]
    curves += [Curve(f"{name}, our kernels", ORDERS, row, True) for name, row in ours.items()]
    return Report(tuple(claims), (Panel("one step, momentum given", "order", "operations", curves, log=""),))


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
