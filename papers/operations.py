"""Counting what a kernel does: numbers that count the operations they take part in.

Sums, products, quotients, roots, sines and cosines count as one each, signs and comparisons as none. Kernels are plain
Python when they are not compiled, and take numbers of any type; so they are counted in a process of their own, which
runs this module with POLHODE_JIT=0:

    python -m papers.operations     prints {flow: operations of one step}
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

FLOWS = ("Magnus(2)", "Magnus(4)", "Magnus(6)", "Magnus(8)", "Gauss(1)", "Gauss(2)", "Gauss(3)", "Gauss(4)")
WHOLE = ("Exact()",)  # with the momentum, which the others take as given
BODY, MOMENTUM, ATTITUDE, STEP = (1.0, 1.65, 1.97), (0.3, 0.5, 1.2), (0.5, 0.5, 0.5, 0.5), 0.1


class Counted:
    """A number; ``Counted.count`` is the number of operations so far."""

    count = 0

    def __init__(self, value: Any) -> None:
        self.value = float(value)

    @staticmethod
    def one(value: float) -> Counted:
        """The result of one operation."""
        Counted.count += 1
        return Counted(value)

    def sqrt(self) -> Counted:
        return Counted.one(math.sqrt(self.value))

    def sin(self) -> Counted:
        return Counted.one(math.sin(self.value))

    def cos(self) -> Counted:
        return Counted.one(math.cos(self.value))

    def __neg__(self) -> Counted:
        return Counted(-self.value)

    def __abs__(self) -> Counted:
        return Counted(abs(self.value))

    def __float__(self) -> float:
        return self.value

    def __int__(self) -> int:
        return int(self.value)


def _counting(name: str) -> Callable[[Any, Any], Any]:
    """An operation, which arrays of numbers do one by one."""
    operation = getattr(float, name)

    def counted(self: Counted, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else Counted.one(operation(self.value, float(other)))

    return counted


def _comparing(name: str) -> Callable[[Any, Any], Any]:
    operation = getattr(float, name)
    return lambda self, other: operation(self.value, float(other))


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv"):
    setattr(Counted, f"__{_name}__", _counting(f"__{_name}__"))
for _name in ("eq", "lt", "le", "gt", "ge"):
    setattr(Counted, f"__{_name}__", _comparing(f"__{_name}__"))


def count(work: Callable[[], object]) -> int:
    """How many operations ``work`` does on counted numbers.

    >>> x = Counted(2.0)
    >>> count(lambda: (1.0 + x) * x - np.sqrt(x))
    4
    """
    before = Counted.count
    work()
    return Counted.count - before


def kernel_operations() -> dict[str, int]:
    """Operations of one step of our flows, uncompiled: {flow: operations}."""
    told = subprocess.run(
        [sys.executable, "-m", "papers.operations"],
        cwd=Path(__file__).parents[1],
        env=os.environ | {"POLHODE_JIT": "0"},
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, int] = json.loads(told.stdout)
    return found


@contextmanager
def _replaced_functions(momentum_given: bool) -> Iterator[None]:
    """Wherever kernels and flows know a root, a sine, or the momentum at a later time, by a name of their own."""
    from polhode.kernels.exact import momentum
    from polhode.kernels.numbers import trig

    replaced: dict[Any, Any] = {
        math.sqrt: lambda x: Counted(x).sqrt(),
        trig.sincos: lambda x, low: (Counted(x).sin(), Counted(x).cos()),
    }
    if momentum_given:
        replaced[momentum.momentum_after] = lambda body, m, h: tuple(Counted(x) for x in m)
    changed = []
    for module in [m for name, m in sys.modules.items() if name.startswith(("polhode.kernels.", "polhode.flows."))]:
        for name, value in list(vars(module).items()):
            if callable(value) and value in replaced:
                changed.append((module, name, value))
                setattr(module, name, replaced[value])
    yield
    for module, name, value in changed:
        setattr(module, name, value)


def _operations_of(flow: Any, momentum_given: bool) -> int:
    constants: list[Any] = [0.0] * flow.kernels.size
    flow.kernels.prepare(0, BODY, [float(x) for x in flow.exact_parameters], constants)
    constants = [Counted(x) for x in constants]
    m, q = tuple(map(Counted, MOMENTUM)), tuple(map(Counted, ATTITUDE))
    with _replaced_functions(momentum_given):
        return count(lambda: flow.kernels.advance(constants, m, q, Counted(STEP)))


def _main() -> None:
    from polhode.methods.expressions import flow_of

    told = {name: _operations_of(flow_of(name), name not in WHOLE) for name in (*FLOWS, *WHOLE)}
    print(json.dumps(told))


if __name__ == "__main__":
    _main()
