"""NO_SQUISH as molecular dynamics has it: factors of the propagator on (q, p) in R^8; m appears at the ends only.

Miller et al., J. Chem. Phys. 116 (2002) 8649: the quaternion q and its conjugate momentum p, with the kinetic energy

    sum_k (p . P_k q)^2 / (8 I_k)
    P_1 q = (-q1, q0, q3, -q2),  P_2 q = (-q2, -q3, q0, q1),  P_3 q = (-q3, q2, -q1, q0)

Each term alone turns q and p in the planes of (q, P_k q) and (p, P_k p) by zeta t, zeta = p . P_k q / (4 I_k), which is
constant. p = 2 q (0, m).
"""

from mpmath import mp

NO_SQUISH = ((3, 0.5), (2, 0.5), (1, 1), (2, 0.5), (3, 0.5))  # (axis, part of the step) of each factor


def split_step(inertia, m, q, h, factors=NO_SQUISH, digits=40):
    """(m, q) after one step: the factors one after the other. Floats are taken as exact; q must be of unit norm."""
    with mp.workdps(digits):
        inertia, m, q, h = (
            [mp.convert(x) for x in inertia],
            [mp.convert(x) for x in m],
            [mp.convert(x) for x in q],
            mp.convert(h),
        )
        size = mp.norm(q)
        q = [x / size for x in q]
        p = _momentum(q, m)
        for axis, part in factors:
            q, p = _factor(axis, inertia[axis - 1], q, p, part * h)
        return [_dot(p, _permuted(k, q)) / 2 for k in (1, 2, 3)], [x * size for x in q]


def _momentum(q, m):
    p = [mp.zero] * 4
    for k in (1, 2, 3):
        p = [a + 2 * m[k - 1] * b for a, b in zip(p, _permuted(k, q), strict=True)]
    return p


def _factor(axis, moment, q, p, t):
    zeta = _dot(p, _permuted(axis, q)) / (4 * moment)
    c, s = mp.cos(zeta * t), mp.sin(zeta * t)
    return _rotated(q, _permuted(axis, q), c, s), _rotated(p, _permuted(axis, p), c, s)


def _rotated(x, y, c, s):
    return [c * a + s * b for a, b in zip(x, y, strict=True)]


def _permuted(axis, q):
    q0, q1, q2, q3 = q
    if axis == 1:
        return [-q1, q0, q3, -q2]
    if axis == 2:
        return [-q2, -q3, q0, q1]
    return [-q3, q2, -q1, q0]


def _dot(x, y):
    return mp.fsum(a * b for a, b in zip(x, y, strict=True))
