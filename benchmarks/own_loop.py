"""Loops of the user with compiled steps, as a ratio to the loops of polhode in the same run.

    python benchmarks/own_loop.py

A loop of the user calls ``ph.compiled.step(flow)`` or, with the constants of the body, ``ph.compiled.prepared(flow)``;
the loop of polhode is that of ``flow.step``, or of `integrate` for splittings, without what a call from Python adds. In
the loop of polhode over the steps of one body, the body is prepared once; in that over many bodies, for each of them.
The best of many interleaved runs counts.
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
SCHEMES = "V2", "S4_6", "RKN6_14a"
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


def steps_of_a_body(flow):
    """Nanoseconds per step of one body: the loop of polhode, prepared steps, and steps that prepare the body anew."""
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


def steps_of_bodies(flow):
    """Nanoseconds per step of many bodies, one step each: both loops prepare every body."""
    step = ph.compiled.step(flow)
    inertia, m, q = np.tile(I, (STEPS, 1)), np.tile(M, (STEPS, 1)), np.tile(Q, (STEPS, 1))

    @numba.njit
    def by_steps(inertia, m, q, h):
        for i in range(len(m)):
            m1, q1 = step(inertia[i], m[i], q[i], h)
            m[i, 0], m[i, 1], m[i, 2] = m1
            q[i, 0], q[i, 1], q[i, 2], q[i, 3] = q1

    def own():
        counts = np.empty(STEPS, np.int64), np.empty(STEPS)
        repeat(flow.data(), FreeSteps(inertia, np.array([H]), 1, 0, STEPS, m, q, *counts))

    return best(own, lambda: by_steps(inertia, m, q, H))


def steps_of_a_splitting(scheme, in_one_call):
    """Nanoseconds per step: the loop of polhode, prepared steps, and steps that prepare the body anew.

    Either one call takes all steps, and only the last state is saved, or each call takes one step, and all states are.
    """
    method = ph.Splitting(scheme=scheme)
    step = ph.compiled.step(method, TORQUE)
    prepare, advance = ph.compiled.prepared(method, TORQUE)
    problem = ph.Problem(I, ph.State(M, Q), TORQUE, t_span=(0.0, STEPS * H))
    run = method.advance(TORQUE)
    count, calls = (STEPS, 1) if in_one_call else (1, STEPS)
    m_out, q_out, steps = np.empty((calls, 1, 3)), np.empty((calls, 1, 4)), count * np.arange(1, calls + 1)

    @numba.njit
    def by_steps(inertia, m, q, h):
        for k in range(calls):
            m, q = step(inertia, m, q, k * h, h, count)
        return m, q

    @numba.njit
    def by_body(inertia, m, q, h):
        body = prepare(inertia, m)
        for k in range(calls):
            m, q = advance(body, m, q, k * h, h, count)
        return m, q

    def own():
        state = BatchState.new(np.array([M]), np.array([Q]), method.memory)
        clock = Clock(np.zeros(1), np.array([H]))
        run(problem.rows.bodies, clock, Wanted(STEPS, steps), 0, 1, state, Saved(m_out, q_out))

    return best(own, lambda: by_body(I, M, Q, H), lambda: by_steps(I, M, Q, H))


def steps_of_bodies_by_a_splitting(scheme):
    """Nanoseconds per step of many bodies, one step each."""
    method = ph.Splitting(scheme=scheme)
    step = ph.compiled.step(method, TORQUE)
    inertia, m, q = np.tile(I, (STEPS, 1)), np.tile(M, (STEPS, 1)), np.tile(Q, (STEPS, 1))
    bodies = ph.Problem(inertia, ph.State(m, q), TORQUE, t_span=(0.0, H)).rows.bodies
    run, clock, wanted = method.advance(TORQUE), Clock(np.zeros(1), np.array([H])), Wanted(1, np.array([1]))
    m_out, q_out = np.empty((STEPS, 3)), np.empty((STEPS, 4))

    @numba.njit
    def by_steps(inertia, m, q, h, m_out, q_out):
        for i in range(len(m)):
            m1, q1 = step(inertia[i], m[i], q[i], 0.0, h)
            m_out[i, 0], m_out[i, 1], m_out[i, 2] = m1
            q_out[i, 0], q_out[i, 1], q_out[i, 2], q_out[i, 3] = q1

    def own():
        state = BatchState.new(m, q, method.memory)
        run(bodies, clock, wanted, 0, STEPS, state, Saved(m_out[np.newaxis], q_out[np.newaxis]))

    return best(own, lambda: by_steps(inertia, m, q, H, m_out, q_out))


def show(name, own, *others):
    ratios = "".join(f" {number:9.1f} {number / own:7.3f}" for number in others)
    print(f"{name:42} {own:9.1f}{ratios}", flush=True)


def main():
    columns = f"{'polhode':>9} {'prepared':>9} {'ratio':>7} {'step':>9} {'ratio':>7}"
    print(f"{'nanoseconds per step of one body':42} {columns}")
    for flow in FLOWS:
        show(repr(flow), *steps_of_a_body(flow))
    for in_one_call, title in ((True, "all steps in one call"), (False, "one step in each call")):
        print(f"\n{title:42} {columns}")
        for scheme in SCHEMES:
            show(repr(ph.Splitting(scheme=scheme)), *steps_of_a_splitting(scheme, in_one_call))
    print(f"\n{'one step of each of many bodies':42} {'polhode':>9} {'step':>9} {'ratio':>7}")
    for flow in FLOWS:
        show(repr(flow), *steps_of_bodies(flow))
    for scheme in SCHEMES:
        show(repr(ph.Splitting(scheme=scheme)), *steps_of_bodies_by_a_splitting(scheme))


if __name__ == "__main__":
    main()
