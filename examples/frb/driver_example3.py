"""driver_example3 of FRB: a free body in steps of h, the integral of the third kind by Gauss quadrature (frb_step).

    python examples/frb/driver_example3.py [init_example3.dat [out_example3.dat]]

Reads h, the end of time, m, Q, the moments and Np, the number of nodes (0: the integral itself); writes m, Q and t
after every step.
"""

from __future__ import annotations

from frb_files import main, matrix_of, read, write

import polhode as ph


def drive(source, target, flow=None):
    h, t_end, m, columns, moments, nodes = read(source, 1, 1, 3, 9, 3, 1)
    Q = matrix_of(columns)
    steps = int(t_end[0] / h[0])
    flow = flow or ph.FrbMatrix(int(nodes[0]))
    state, records = ph.State(m, ph.rotation.from_matrix(Q)), [(m, Q, 0.0)]
    for n in range(1, steps + 1):
        state = flow.step(moments, state, t_end[0] / steps)
        records.append((state.m, ph.rotation.matrix(state.q), n * t_end[0] / steps))
    write(target, records)


if __name__ == "__main__":
    main(drive, 3)
