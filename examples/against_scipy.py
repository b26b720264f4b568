"""The same tumbling body by SciPy's general ODE solver and by polhode: they agree until the solver drifts.

python examples/against_scipy.py
"""

import time

import numpy as np
from scipy.integrate import solve_ivp

import polhode as ph

INERTIA = np.array([1.0, 1.65, 1.97])
TIMES = (1.0, 10.0, 100.0, 1000.0)
M0, Q0 = np.array([0.3, 0.2, 0.9]), np.array([1.0, 0.0, 0.0, 0.0])


def euler_equations(t, y):
    """m' = m x w, q' = q (0, w)/2."""
    m, q = y[:3], y[3:]
    w = m / INERTIA
    return np.concatenate([np.cross(m, w), 0.5 * ph.rotation.multiply(q, np.array([0.0, *w]))])


def difference(t_end):
    """(largest difference of m and q at t_end, seconds of SciPy, seconds of polhode)."""
    start = time.perf_counter()
    solution = solve_ivp(euler_equations, (0, t_end), [*M0, *Q0], method="DOP853", rtol=1e-13, atol=1e-13)
    middle = time.perf_counter()
    m, q = ph.propagate(INERTIA, M0, Q0, t_end)
    end = time.perf_counter()
    return np.abs(solution.y[:, -1] - [*m, *q]).max(), middle - start, end - middle


def main():
    ph.propagate(INERTIA, M0, Q0, 1.0)  # load or compile once
    print(f"{'t':>6} {'|SciPy - polhode|':>18} {'SciPy':>10} {'polhode':>10}")
    for t_end in TIMES:
        gap, scipy_time, our_time = difference(t_end)
        print(f"{t_end:6g} {gap:18.1e} {scipy_time * 1e3:7.1f} ms {our_time * 1e6:7.1f} us")


if __name__ == "__main__":
    main()
