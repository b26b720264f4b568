"""driver_example0 of FRB: a free body in a single step of length h, its attitude a matrix (frb_step).

    python examples/frb/driver_example0.py [init_example0.dat [out_example0.dat]]

Reads h, the moments of inertia, m and Q; writes m, Q and t = 0, then m and Q at t = h. ``FrbMatrix`` is the published
algorithm; with ``polhode.Exact()`` in its place the step is ten times faster and keeps its digits everywhere.
"""

from __future__ import annotations

from frb_files import main, matrix_of, read, write

import polhode as ph


def drive(source, target, flow=None):
    h, moments, m, columns = read(source, 1, 3, 3, 9)
    Q = matrix_of(columns)
    end = (flow or ph.FrbMatrix()).step(moments, ph.State(m, ph.rotation.from_matrix(Q)), h[0])
    write(target, [(m, Q, 0.0), (end.m, ph.rotation.matrix(end.q), None)])


if __name__ == "__main__":
    main(drive, 0)
