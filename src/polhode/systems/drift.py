"""The free flight of all bodies of a system for one length of time, by any flow; the exact one in vectorized blocks."""

from __future__ import annotations

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.threads import in_ranges
from polhode.flows.exact import Exact
from polhode.flows.flow import Flow
from polhode.kernels.exact.batch import propagate_range
from polhode.kernels.exact.standard_form import propagate_rows

BLOCK = 64  # bodies that stay together, as lanes of one block


class Drift:
    """drift(m, q, time) moves bodies with principal moments (n, 3), in place on m (n, 3) and q (n, 4)."""

    def __init__(self, flow: Flow, moments: FloatArray) -> None:
        alike = bool((moments == moments[0]).all())
        self.flow, self.moments = flow, np.ascontiguousarray(moments[:1] if alike else moments)
        self.parameters = np.array([float(x) for x in flow.exact_parameters])
        self.fractions = np.array([float(x) for x in flow.fractions])
        self.bodies = len(moments)
        self.alone = np.empty(self.bodies, np.int64)
        self.time = np.empty(1)
        self.step = self._exactly if isinstance(flow, Exact) else self._by_flow
        self.done, self.iterations = np.empty(self.bodies, np.int64), np.empty(self.bodies)

    def __call__(self, m: FloatArray, q: FloatArray, time: float) -> int:
        """Move the bodies; return the number of the first one without a result, or NOBODY."""
        self.time[0] = time

        def work(start: int, stop: int) -> int:
            return self.step(m, q, BLOCK * start, min(BLOCK * stop, self.bodies))

        return in_ranges(work, -(-self.bodies // BLOCK), BLOCK * len(self.fractions))

    def _exactly(self, m: FloatArray, q: FloatArray, start: int, stop: int) -> int:
        operands = self.moments, m, q, self.time
        bad, left = propagate_range(*operands, start, stop, m, q, self.alone)
        if left:
            bad = min(bad, propagate_rows(*operands, self.alone[start : start + left], m, q))
        return bad

    def _by_flow(self, m: FloatArray, q: FloatArray, start: int, stop: int) -> int:
        told = self.parameters, self.flow.size, self.fractions, self.moments, self.time
        return self.flow.repeat((*told, 1, start, stop, m, q, self.done, self.iterations))
