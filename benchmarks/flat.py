"""The opponent of ``Adaptive``: DOP853 on m and an unnormalized quaternion in R^7, compiled with the same care.

    python benchmarks/flat.py

Torques are called the same way, the step is controlled the same way; errors are measured as usual for R^n, component by
component. Printed for a strong heavy top (eps = 1): errors at t = 20, against ``Adaptive`` with rtol = 2e-14, and the
nanoseconds that a trial step takes in a run to t = 2000, so long that the call itself no longer counts.
"""

from __future__ import annotations

import time
from math import sqrt

import numpy as np

import polhode as ph
from loops import in_loops
from polhode import problems
from polhode.kernels.compiler.intrinsics import borrowed, keep
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.numbers.quat import matrix
from polhode.kernels.stepping.dormand_prince import COLUMN, END, FIFTH, FIRST, NODE, STAGES, THIRD, WEIGHT
from polhode.kernels.stepping.header import call_torque

SIZE, STRIDE = 7, 8
SAFETY, MOST, LEAST = 0.9, 10.0, 0.2
REPEATS = 21
TOLERANCES = (1e-6, 1e-8, 1e-10, 1e-12)
TRUTH = 2e-14


@inline
def slope(torque, params, per_I, D, t, y, k, n, h):
    """Row n of k: h y' at y = (m, q)."""
    m1, m2, m3, q0, q1, q2, q3 = y[0], y[1], y[2], y[3], y[4], y[5], y[6]
    w1, w2, w3 = m1 * per_I[0], m2 * per_I[1], m3 * per_I[2]
    (f1, f2, f3), _ = call_torque(torque, (t, matrix((q0, q1, q2, q3)), (w1, w2, w3), params))
    j = STRIDE * n
    k[j] = h * (m2 * w3 - m3 * w2 + f1 - D[0] * w1)
    k[j + 1] = h * (m3 * w1 - m1 * w3 + f2 - D[1] * w2)
    k[j + 2] = h * (m1 * w2 - m2 * w1 + f3 - D[2] * w3)
    k[j + 3] = -0.5 * h * (q1 * w1 + q2 * w2 + q3 * w3)
    k[j + 4] = 0.5 * h * (q0 * w1 + q2 * w3 - q3 * w2)
    k[j + 5] = 0.5 * h * (q0 * w2 + q3 * w1 - q1 * w3)
    k[j + 6] = 0.5 * h * (q0 * w3 + q1 * w2 - q2 * w1)


@inline
def combine(n, k, y, z):
    """z = y + the rows of k with the weights in row n of the table."""
    s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for l in range(FIRST[n], FIRST[n + 1]):
        a, j = WEIGHT[l], STRIDE * COLUMN[l]
        s1, s2, s3, s4 = s1 + a * k[j], s2 + a * k[j + 1], s3 + a * k[j + 2], s4 + a * k[j + 3]
        s5, s6, s7 = s5 + a * k[j + 4], s6 + a * k[j + 5], s7 + a * k[j + 6]
    z[0], z[1], z[2], z[3] = y[0] + s1, y[1] + s2, y[2] + s3, y[3] + s4
    z[4], z[5], z[6] = y[4] + s5, y[5] + s6, y[6] + s7


@inline
def error_of(k, y, z, zero, e, rtol, atol):
    """In units of what is allowed."""
    fifth, third = 0.0, 0.0
    combine(FIFTH, k, zero, e)
    for l in range(SIZE):
        fifth += (e[l] / (atol + rtol * max(abs(y[l]), abs(z[l])))) ** 2
    combine(THIRD, k, zero, e)
    for l in range(SIZE):
        third += (e[l] / (atol + rtol * max(abs(y[l]), abs(z[l])))) ** 2
    return fifth / sqrt(SIZE * (fifth + 0.01 * third))


@entry_point("void(i8, Tuple((f8[::1], f8[::1], f8[::1], f8, f8, f8, f8, f8, f8[::1], i8[::1])))")
def flat(torque, arguments):
    """From t to t_end, in place on y = (m, q); counts: steps, rejected."""
    params, per_I, D, t, t_end, h, rtol, atol, y, counts = arguments
    work = np.zeros(STRIDE * (STAGES + 3))
    k, z = borrowed(work), borrowed(work)[STRIDE * STAGES :]
    e, zero = borrowed(work)[STRIDE * (STAGES + 1) :], borrowed(work)[STRIDE * (STAGES + 2) :]
    params, per_I, D, y = borrowed(params), borrowed(per_I), borrowed(D), borrowed(y)
    slope(torque, params, per_I, D, t, y, k, 0, h)
    last = h
    after_rejection = False
    while t < t_end:
        h = min(h, t_end - t)
        for l in range(SIZE):
            k[l] *= h / last
        last = h
        for n in range(1, END + 1):
            combine(n, k, y, z)
            slope(torque, params, per_I, D, t + NODE[n] * h, z, k, n, h)
        error = error_of(k, y, z, zero, e, rtol, atol)
        factor = min(MOST, max(LEAST, SAFETY / sqrt(sqrt(sqrt(error))) if error > 0.0 else MOST))
        if error < 1.0:
            t = t_end if h == t_end - t else t + h
            for l in range(SIZE):
                y[l], k[l] = z[l], k[STRIDE * END + l]
            h *= min(1.0, factor) if after_rejection else factor
            counts[0] += 1
            after_rejection = False
        else:
            h *= factor
            counts[1] += 1
            after_rejection = True
    keep(work)


def solve(problem, rtol, atol, first_step=1e-2):
    """(m, q, {'steps', 'rejected', 'seconds'}) at the end of the problem's time span: one body, principal axes."""
    y = np.concatenate([problem.state.m, problem.state.q])
    counts, force = np.zeros(2, np.int64), problem.force
    params = np.array(force.params)
    per_I, damping = 1.0 / problem.body.moments, np.diagonal(force.damping).copy()
    torque = force.torque_address()
    began = time.process_time()
    flat(torque, (params, per_I, damping, *problem.t_span, first_step, rtol, atol, y, counts))
    seconds = time.process_time() - began
    return y[:3], y[3:], {"steps": int(counts[0]), "rejected": int(counts[1]), "seconds": seconds}


def solve_adaptive(problem, rtol, atol):
    """The same by ``Adaptive``, its loop alone."""
    method = ph.Adaptive(rtol, atol)
    end, seconds = in_loops(lambda: ph.integrate(problem, method=method, t_eval=[problem.t_span[1]]))
    counts = {"steps": end.stats.steps, "rejected": end.stats.rejected, "seconds": seconds}
    return end.m[-1], end.q[-1], counts


def nanoseconds(solver, problem, rtol, atol):
    """Per trial."""
    runs = [solver(problem, rtol, atol)[2] for _ in range(REPEATS)]
    return min(1e9 * run["seconds"] / (run["steps"] + run["rejected"]) for run in runs)


def main():
    problem, long = problems.heavy_top(1.0, t_end=20.0), problems.heavy_top(1.0, t_end=2000.0)
    m, q, _ = solve_adaptive(problem, TRUTH, 0.0)
    print("            rtol   steps rejected   ns/trial    error m    error q    |q| - 1")
    for rtol in TOLERANCES:
        for name, solver, atol in (("flat R^7", solve, rtol), ("Adaptive", solve_adaptive, 0.0)):
            found_m, found_q, counts = solver(problem, rtol, atol)
            error = np.linalg.norm(found_m - m) / np.linalg.norm(m), np.linalg.norm(found_q - q)
            print(
                f"{name:9} {rtol:6.0e} {counts['steps']:7d} {counts['rejected']:8d} "
                f"{nanoseconds(solver, long, rtol, atol):10.0f} {error[0]:10.1e} {error[1]:10.1e} "
                f"{abs(np.linalg.norm(found_q) - 1.0):10.1e}"
            )


if __name__ == "__main__":
    main()
