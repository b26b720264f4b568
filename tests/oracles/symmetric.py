"""Free symmetric body in elementary functions: a turn about m0, then one about the axis of the body.

With moments (a, a, c), w = m/a + (1/c - 1/a) m3 e3 and m3 is constant, so that (Landau, Lifshitz, Mechanics, sec. 33)

    Q(t) = Q0 exp(t hat(m0)/a) exp(t (1/c - 1/a) m3 hat(e3)),   m(t) = exp(-t (1/c - 1/a) m3 hat(e3)) m0
"""

from mpmath import mp, mpf


def symmetric_flow(inertia, m0, q0, t, digits=100):
    """State (m, q) after time t for moments (a, a, c); all digits but those of the number of radians are right."""
    with mp.workdps(digits):
        a, _, c = map(mpf, inertia)
        m, q, t = [mpf(x) for x in m0], [mpf(x) for x in q0], mpf(t)
        angle = (1 / c - 1 / a) * m[2] * t
        cos, sin = mp.cos(angle), mp.sin(angle)
        q = _product(_product(q, _turn(m, mp.norm(m) * t / a)), _turn([0, 0, 1], angle))
        return [cos * m[0] + sin * m[1], cos * m[1] - sin * m[0], m[2]], q


def _turn(axis, angle):
    size = mp.norm(axis)
    return mp.cos(angle / 2), [mp.sin(angle / 2) * x / size for x in axis]


def _product(a, b):
    """A quaternion of four numbers times a turn (scalar, vector)."""
    a0, a1, a2, a3 = a
    b0, (b1, b2, b3) = b
    return [
        a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
        a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
        a0 * b2 + a2 * b0 + a3 * b1 - a1 * b3,
        a0 * b3 + a3 * b0 + a1 * b2 - a2 * b1,
    ]
