"""driver_example2 of FRB: as driver_example0, with quaternions (quat_step).

    python examples/frb/driver_example2.py [init_example2.dat [out_example2.dat]]

Reads h, the moments of inertia, m and q, scalar first; writes m, q and t = 0, then m and q at t = h.
"""

from __future__ import annotations

from frb_files import main, read, write

import polhode as ph


def drive(source, target, flow=None):
    h, moments, m, q = read(source, 1, 3, 3, 4)
    end = (flow or ph.FrbQuaternion()).step(moments, ph.State(m, q), h[0])
    write(target, [(m, q, 0.0), (end.m, end.q, None)])


if __name__ == "__main__":
    main(drive, 2)
