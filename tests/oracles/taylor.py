"""Free rigid body by Taylor series in big integers: no elliptic function, no third-kind integral, no frame.

    m' = m x W m,   q' = 1/2 q (0, W m),   W = diag(1/I)        (quaternion scalar first, body to space)

Both right hand sides are products of the unknowns, so the Taylor coefficients follow from Cauchy products.
Because Q m is constant, a multiple of the identity in W only adds a uniform rotation about m0:

    q(t) = q0 exp(W3 t (0, m0)/2) p(t),   p' = 1/2 p (0, u),   u = ((W1 - W3) m1, (W2 - W3) m2, 0),   p(0) = 1

and with two components of u left, p is two complex numbers and costs half of the products q would.

Numbers are integers in units of 2^-bits, with m scaled by a power of two so that 1 <= |m| < 2, and time is
counted in trial steps H, so that coefficient n is already multiplied by H^n: nothing here has a unit.

The results are mpf numbers with more digits than the ambient mpmath precision may have: compare them inside
`mpmath.workdps`.
"""

from operator import mul

from mpmath import mp, mpf


def taylor_flow(inertia, m0, q0, t, digits=40):
    """State (m, q) after time t, with absolute errors of about 10^-digits relative to |m0| and |q0|.

    `inertia` holds three positive principal moments in any order; t may have either sign. Numbers may be
    anything mpmath converts; floats are taken as exact. q is not normalized and keeps the continuous sign.
    """
    with mp.workprec(_to_bits(digits) + 64):
        inertia, m0, q0, t = _exact(inertia), _exact(m0), _exact(q0), mp.convert(t)
        if t == 0 or not any(m0):
            return m0, q0
        bits = _to_bits(digits) + _guard_bits(inertia, m0, t)
    with mp.workprec(bits + 32):
        m, p = _integrate([1 / x for x in inertia], m0, t, bits)
        return m, _product(_product(q0, _uniform_rotation(m0, t / inertia[2])), p)


def _to_bits(digits):
    return int(digits * 3.3219281) + 1


def _exact(values):
    return [mp.convert(x) for x in values]


def _guard_bits(inertia, m0, t):
    """Bits that the flow can lose: rounding accumulates with the turns and grows along unstable motions.

    Since m x W m = m x (W - w0) m for any number w0, errors of m grow by at most exp(|m| (Wmax - Wmin) |t|).
    Away from the separatrix they grow only linearly, with a factor ~ 1/(distance to it); the smaller of the
    two bounds decides.
    """
    W = sorted(1 / x for x in inertia)
    G = mp.norm(m0)
    turns = 2 * mp.log(1 + W[2] * G * abs(t), 2)
    growth = G * (W[2] - W[0]) * abs(t) / mp.ln2
    distance = _separatrix_distance(inertia, m0)
    if distance > 0:
        growth = min(growth, mp.log(1 / distance, 2))
    return int(turns + growth) + 16


def _separatrix_distance(inertia, m0):
    """|2T - G^2/I2| / G^2 in units of the wider gap between the 1/I: in (0, 1], 0 on the separatrix."""
    pairs = sorted(zip(inertia, m0, strict=True), key=lambda pair: pair[0])
    (I1, a), (I2, _), (I3, c) = pairs
    if I2 in (I1, I3):
        return mpf(1)  # a symmetric top has no separatrix: its errors grow linearly
    upper, lower = 1 / I1 - 1 / I2, 1 / I2 - 1 / I3
    return abs(upper * a**2 - lower * c**2) / (max(upper, lower) * mp.fsum(x**2 for x in m0))


def _integrate(W, m0, t, bits):
    """m(t) and p(t), in steps as long as `order` terms allow; the coefficients themselves tell how long."""
    order = int(0.35 * bits) + 8  # ~ bits ln(2)/2: then h is the radius of convergence / e^2, the cheapest
    exponent = mp.mag(mp.norm(m0)) - 1
    m = [_fixed(mp.ldexp(x, -exponent), bits) for x in m0]
    p = [1 << bits, 0, 0, 0]
    H = mp.sign(t) / (4 * mp.norm([w * x for w, x in zip(W, m0, strict=True)]))
    rates = [mp.ldexp(w, exponent) for w in W]
    left = t
    while left != 0:
        if abs(H) > abs(left):
            H = left
        series = _coefficients([_fixed(r * H, bits) for r in rates], m, p, order, bits)
        theta = _usable_fraction(series, bits)
        step = H * min(theta, 1)
        values = [_sum_series(c, min(theta, 1), bits) for c in series]
        m, p = values[:3], values[3:]
        left = mpf(0) if step == left else left - step
        H *= theta
    return [mp.ldexp(mpf(x), exponent - bits) for x in m], [mp.ldexp(mpf(x), -bits) for x in p]


def _fixed(x, bits):
    return int(mp.nint(mp.ldexp(x, bits)))


def _coefficients(W, m, p, order, bits):
    """Taylor coefficients, times H^n, of m1, m2, m3, p0, p1, p2, p3; W is H/I in fixed point."""
    m1, m2, m3 = ([x] for x in m)
    p0, p1, p2, p3 = ([x] for x in p)
    V1, V2, V3 = W[2] - W[1], W[0] - W[2], W[1] - W[0]
    U1, U2 = W[0] - W[2], W[1] - W[2]
    p03, p12 = [p[0] + p[3]], [p[1] + p[2]]
    u1, u2, u_sum, u_difference = [], [], [], []  # reversed, ready for the Cauchy products
    for n in range(1, order + 1):
        x, y = m1[-1] * U1 >> bits, m2[-1] * U2 >> bits
        for series, value in ((u1, x), (u2, y), (u_sum, x + y), (u_difference, x - y)):
            series.insert(0, value)
        # With A = p0 + i p3, B = p1 + i p2, z = u1 + i u2:  B' = A z/2,  A' = -B conj(z)/2, and a complex
        # product takes three real ones (Gauss).
        a, b, c = _dot(p0, u1), _dot(p3, u2), _dot(p03, u_sum)
        d, e, f = _dot(p1, u1), _dot(p2, u2), _dot(p12, u_difference)
        r2, r3 = m2[::-1], m3[::-1]
        v1, v2, v3 = _dot(m2, r3), _dot(m1, r3), _dot(m1, r2)
        p0.append((-d - e >> bits) // (2 * n))
        p3.append((d - e - f >> bits) // (2 * n))
        p1.append((a - b >> bits) // (2 * n))
        p2.append((c - a - b >> bits) // (2 * n))
        p03.append(p0[-1] + p3[-1])
        p12.append(p1[-1] + p2[-1])
        m1.append((v1 >> bits) * V1 // n >> bits)
        m2.append((v2 >> bits) * V2 // n >> bits)
        m3.append((v3 >> bits) * V3 // n >> bits)
    return m1, m2, m3, p0, p1, p2, p3


def _dot(a, b):
    return sum(map(mul, a, b))


def _usable_fraction(series, bits):
    """Largest theta <= 4 for which the last coefficients c_n, any of which may vanish, have c_n theta^n ~ 0.

    Coefficients are integers, and the last ~ 6 bits of them are noise: 0 means 2^7 units.
    """
    order = len(series[0]) - 1
    log_theta = 2.0
    for n in range(order - 7, order + 1):
        largest = max(abs(c[n]) for c in series).bit_length()
        if largest > 7:
            log_theta = min(log_theta, (7 - largest) / n)
    return mpf(2.0**log_theta)


def _sum_series(coefficients, theta, bits):
    if theta == 1:
        return sum(coefficients)
    theta = _fixed(theta, bits)
    total = 0
    for c in reversed(coefficients):
        total = c + (total * theta >> bits)
    return total


def _uniform_rotation(m, t):
    """exp(t (0, m)/2)"""
    G = mp.norm(m)
    return [mp.cos(G * t / 2), *(mp.sin(G * t / 2) * x / G for x in m)]


def _product(a, b):
    return [
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] + a[2] * b[0] + a[3] * b[1] - a[1] * b[3],
        a[0] * b[3] + a[3] * b[0] + a[1] * b[2] - a[2] * b[1],
    ]
