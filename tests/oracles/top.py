"""Heavy top, and a body with a restoring torque, by Taylor series in arbitrary precision.

    m' = m x w + u x f,  u' = u x w,  q' = q (0, w)/2,   w = m/I,  f = chi + B u,  u = Q^T e3

(B is diagonal, the quaternion scalar first, body to space). All right hand sides are products of the unknowns, so that
the Taylor coefficients follow from Cauchy products. Nothing is split, and no energy is known here.

The results are mpf numbers with more digits than the ambient mpmath precision may have: compare them inside
`mpmath.workdps`.
"""

from mpmath import mp

GUARD = 8  # digits that rounding may take
NOTHING = (0, 0, 0)


def top_flow(inertia, m0, q0, times, chi, B=NOTHING, digits=25):
    """States [(m, q), ...] at the times, which go one way from 0, with errors of about 10^-digits.

    Numbers may be anything mpmath converts; floats are taken as exact. q0 is divided by its norm; q keeps the
    continuous sign.
    """
    with mp.workdps(digits + GUARD):
        inertia, m, q, chi, B = (_exact(x) for x in (inertia, m0, q0, chi, B))
        size, degree = mp.norm(q), int(1.5 * mp.dps)
        q = [x / size for x in q]
        start, states = mp.zero, []
        series = _series(inertia, chi, B, [*m, *_up(q), *q], degree)
        for t in _exact(times):
            while abs(t - start) > _reach(series):
                step = mp.sign(t - start) * _reach(series)
                start, series = start + step, _series(inertia, chi, B, _values(series, step), degree)
            y = _values(series, t - start)
            states.append((y[:3], y[6:]))
        return states


def _exact(values):
    return [mp.convert(x) for x in values]


def _up(q):
    """Q^T e3, the last row of the matrix of a unit quaternion."""
    a, b, c, d = q
    return [2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d]


def _series(inertia, chi, B, y, degree):
    """Taylor coefficients of the ten unknowns (m, u, q), each a list."""
    series = [[x] for x in y]
    m, u, q = series[:3], series[3:6], series[6:]
    w, f = [[], [], []], [[], [], []]
    for n in range(degree):
        for k in range(3):
            w[k].append(m[k][n] / inertia[k])
            f[k].append(B[k] * u[k][n] + (chi[k] if n == 0 else 0))
        torque = [x + y for x, y in zip(_cross(m, w), _cross(u, f), strict=True)]
        for column, slope in zip(series, [*torque, *_cross(u, w), *_half_turn(q, w)], strict=True):
            column.append(slope / (n + 1))
    return series


def _cauchy(a, b):
    """The last coefficient of the product of two series of which equally many coefficients are known."""
    n = len(b)
    return mp.fdot(zip(a[:n], reversed(b), strict=True))


def _cross(a, b):
    return [_cauchy(a[i - 2], b[i - 1]) - _cauchy(a[i - 1], b[i - 2]) for i in range(3)]


def _half_turn(q, w):
    """The last coefficient of q (0, w)/2."""
    a, v = q[0], q[1:]
    scalar = -sum(_cauchy(x, y) for x, y in zip(v, w, strict=True))
    turned = [_cauchy(a, w[i]) + x for i, x in enumerate(_cross(v, w))]
    return [x / 2 for x in (scalar, *turned)]


def _reach(series):
    """The time up to which the last two terms that are kept do not count."""
    last = len(series[0]) - 1
    sizes = [(max(abs(column[n]) for column in series), n) for n in (last - 1, last)]
    return min(((mp.eps / size) ** (mp.one / n) for size, n in sizes if size), default=mp.inf)


def _values(series, t):
    powers = [t**n for n in range(len(series[0]))]
    return [mp.fdot(column, powers) for column in series]
