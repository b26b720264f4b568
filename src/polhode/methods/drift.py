"""Free flight of all bodies of a system by any flow; the exact flow is evaluated in vectorized blocks."""

from __future__ import annotations

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.threads import in_ranges
from polhode.flows.exact import Exact
from polhode.flows.flow import Flow
from polhode.kernels.exact.batch import propagate_range
from polhode.kernels.exact.standard_form import propagate_rows
from polhode.kernels.stepping.header import FreeSteps
from polhode.kernels.stepping.repeat import repeat

BLOCK = 64  # bodies in one vectorized block


class Drift:
    """Free flight of bodies: ``drift(m, q, time)`` updates m (n, 3) and q (n, 4) in place."""

    def __init__(self, flow: Flow, moments: FloatArray) -> None:
        """Prepare `flow` for bodies with principal moments (n, 3)."""
        all_equal = bool((moments == moments[0]).all())
        self.flow = flow
        self.moments = np.ascontiguousarray(moments[:1] if all_equal else moments)
        self.data = flow.data()
        self.bodies = len(moments)
        self.alone = np.empty(self.bodies, np.int64)
        self.time = np.empty(1)
        self.step = self._exactly if isinstance(flow, Exact) else self._by_flow
        self.done = np.empty(self.bodies, np.int64)
        self.iterations = np.empty(self.bodies)

    def __call__(self, m: FloatArray, q: FloatArray, time: float) -> int:
        """Advance all bodies by `time`; return the index of the first invalid body, or NOBODY."""
        self.time[0] = time

        def work(start: int, stop: int) -> int:
            return self.step(m, q, BLOCK * start, min(BLOCK * stop, self.bodies))

        return in_ranges(work, -(-self.bodies // BLOCK), BLOCK * len(self.flow.fractions))

    def _exactly(self, m: FloatArray, q: FloatArray, start: int, stop: int) -> int:
        """Advance bodies start to stop by the exact flow; those that the vectorized loop skips follow one by one."""
        operands = self.moments, m, q, self.time
        bad, left = propagate_range(*operands, start, stop, m, q, self.alone)
        if left:
            bad = min(bad, propagate_rows(*operands, self.alone[start : start + left], m, q))
        return bad

    def _by_flow(self, m: FloatArray, q: FloatArray, start: int, stop: int) -> int:
        """Advance bodies start to stop by a flow other than the exact one."""
        steps = FreeSteps(self.moments, self.time, 1, start, stop, m, q, self.done, self.iterations)
        return repeat(self.data, steps)
