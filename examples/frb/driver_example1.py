"""driver_example1 of FRB: a perturbed free body by a splitting of order 6, h = 0.5 (frb_step; section 4.3, Fig. 7).

    python examples/frb/driver_example1.py [init_example1.dat [out_example1.dat]]

Reads the coefficients a1..a8 and b1..b7 of the splitting, h, the end of time, m, Q, the moments and u0; writes m, Q
and t after every step. The torque is (u2, -u1, 0), u = Q^T u0. A shorter way to the same run, by name:
``polhode run perturbed --method RKN6_14a``.
"""

from __future__ import annotations

import numpy as np
from frb_files import main, matrix_of, read, write

import polhode as ph


def drive(source, target, flow=None):
    a, b, h, t_end, m, columns, moments, u0 = read(source, 8, 7, 1, 1, 3, 9, 3, 3)
    q = ph.rotation.from_matrix(matrix_of(columns))
    force = ph.forces.gravity(np.linalg.norm(u0), offset=(0, 0, 1), up=u0)
    problem = ph.Problem(moments, ph.State(m, q), force, t_span=(0.0, t_end[0]))
    method = ph.Splitting(flow or ph.FrbMatrix(), scheme_of(a, b))
    run = ph.integrate(problem, method=method, h=t_end[0] / int(t_end[0] / h[0]))
    write(target, zip(run.m, run.matrix, run.t, strict=True))


def scheme_of(a, b):
    """A a1 B b1 ... B b7 A a8 and back; a8 and b7 follow from the others to all digits, (23)."""
    half = " ".join(f"A {x!r} B {y!r}" for x, y in zip(a[:-1].tolist(), b.tolist(), strict=True))
    return ph.Scheme.from_half("of the file", 6, f"{half} A {float(a[-1])!r}", rkn_only=True)


if __name__ == "__main__":
    main(drive, 1)
