"""Loops of the user with compiled steps, as a ratio to the loops of polhode in the same run.

    python benchmarks/own_loop.py

A loop of the user calls ``ph.compiled.step(flow)`` or, with the constants of the body, ``ph.compiled.prepared(flow)``;
the loop of polhode is that of ``flow.step(..., steps=n)`` without what a call from Python adds. For splittings, both
loops take n steps, without output of the states in between. The best of many interleaved runs counts.
"""

from __future__ import annotations

import time

import numba
import numpy as np

import polhode as ph
from polhode.kernels.stepping.header import BatchState, Clock, FreeSteps, Saved, Wanted
from polhode.kernels.stepping.repeat import repeat

I, M, Q, H = (1.0, 1.65, 1.97), (0.3, 0.2, 0.9), (1.0, 0.0, 0.0, 0.0), 0.05
STEPS, RUNS = 10_000, 60
FLOWS = (
    ph.Exact(),
    ph.Midpoint(),
    ph.ThreeRotations(),
    ph.SymmetricRotation(),
    ph.MoserVeselov(),
    ph.Magnus(),
    ph.Gauss(),
    ph.Composed(ph.ThreeRotations(), "Yoshida4"),
    ph.FrbQuaternion(),
)
TORQUE = ph.Torque(lambda t, Q, w, p: (p[0] * Q[2][1], -p[0] * Q[2][0], 0.0), params=[0.5])


def seconds(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def best(*calls):
    """Nanoseconds per step of each call, the best of interleaved runs."""
    for call in calls:
        call()
    return 1e9 / STEPS * np.min([[seconds(call) for call in calls] for _ in range(RUNS)], axis=0)


def of_flow(flow):
    step = ph.compiled.step(flow)
    prepare, advance = ph.compiled.prepared(flow)

    @numba.njit
    def by_steps(inertia, m, q, h, n):
        for _ in range(n):
            m, q = step(inertia, m, q, h)
        return m, q

    @numba.njit
    def by_body(inertia, m, q, h, n):
        body = prepare(inertia, m)
        for _ in range(n):
            m, q = advance(body, m, q, h)
        return m, q

    def own():
        arrays = np.array([M]), np.array([Q]), np.empty(1, np.int64), np.empty(1)
        repeat(flow.data(), FreeSteps(np.array([I]), np.array([H]), STEPS, 0, 1, *arrays))

    return best(own, lambda: by_body(I, M, Q, H, STEPS), lambda: by_steps(I, M, Q, H, STEPS))


def of_splitting(scheme):
    method = ph.Splitting(scheme=scheme)
    step = ph.compiled.step(method, TORQUE)
    prepare, advance = ph.compiled.prepared(method, TORQUE)
    problem = ph.Problem(I, ph.State(M, Q), TORQUE, t_span=(0.0, STEPS * H))
    run = method.advance(TORQUE)

    @numba.njit
    def by_steps(inertia, m, q, h, n):
        return step(inertia, m, q, 0.0, h, n)

    @numba.njit
    def by_body(inertia, m, q, h, n):
        return advance(prepare(inertia, m), m, q, 0.0, h, n)

    def own():
        state = BatchState.new(np.array([M]), np.array([Q]), method.memory)
        saved = Saved(np.empty((1, 1, 3)), np.empty((1, 1, 4)))
        wanted = Wanted(STEPS, np.array([STEPS]))
        run(problem.rows.bodies, Clock(np.zeros(1), np.array([H])), wanted, 0, 1, state, saved)

    return best(own, lambda: by_body(I, M, Q, H, STEPS), lambda: by_steps(I, M, Q, H, STEPS))


def main():
    print(f"{'nanoseconds per step':42} {'polhode':>9} {'prepared':>9} {'ratio':>7} {'step':>9} {'ratio':>7}")
    cases = [(repr(flow), of_flow, flow) for flow in FLOWS]
    cases += [(repr(ph.Splitting(scheme=name)), of_splitting, name) for name in ("V2", "RKN6_14a")]
    for name, measure, case in cases:
        own, prepared, step = measure(case)
        print(f"{name:42} {own:9.1f} {prepared:9.1f} {prepared / own:7.3f} {step:9.1f} {step / own:7.3f}", flush=True)


if __name__ == "__main__":
    main()
