"""One free motion at many times, by theta functions.

With the nome N and z = pi t/T2 (T2 = 2K/lambda is the half-period, T = 2 T2 the period of m), s, c, d of (1) in
``euler`` at the time t are

    sn = th3 th1(z)/(th2 th4(z)),  cn = th4 th2(z)/(th2 th4(z)),  dn = th4 th3(z)/(th3 th4(z))         DLMF 22.2.4-6

(th_i without argument is the value at 0). The integral of the third kind is the sum of an angle that grows linearly and
the argument of a theta function (DLMF 22.16, Whittaker & Watson 22.74): with n' = n/lambda^2 and
zeta = M R_F(n', n' + k^2, n' + 1)

    |m| be Theta(t) = rho t - arg(Im + i Re),  Re + i Im = th1(z + i zeta)

where M is the arithmetic-geometric mean of 1 and kc. No integrals and no iterations are needed at each time. The rate
of the angle phi of (5) is computed by ``secular``, in double-double; its periodic part repeats after T2 up to its sign.

The series are sums over k of N^(k^2) times cosines of 2 k z, here polynomials in y = cos 2z. E = exp(-2 zeta) and
x = N/E = exp(-2 M R_F(o, o + k^2, o + 1)), o = k^2/n', are computed, and N = E x, so that nothing overflows where N
vanishes: symmetric bodies and steady spins.
"""

from __future__ import annotations

from itertools import accumulate
from math import exp, isfinite, pi, sqrt
from typing import NamedTuple

import numpy as np

from polhode.kernels.compiler.intrinsics import stack_array
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.exact.euler import MANY_TURNS, Arc, body_constants, invariants, separatrix_gap
from polhode.kernels.exact.secular import FARTHEST, constants
from polhode.kernels.exact.standard_form import (
    INPUT,
    TIMES,
    attitude_to_order,
    quaternion_of,
    standard_form,
    to_order,
    vector_of,
)
from polhode.kernels.numbers.eft import two_prod, two_sum
from polhode.kernels.numbers.elliptic import carlson_rf, complete_k
from polhode.kernels.numbers.lanes import (
    LANES,
    pair,
    pass_cache,
    put_pair,
    put_triple,
    store_rows,
    store_rows_past_cache,
    triple,
    wait_for_memory,
)
from polhode.kernels.numbers.quat import product
from polhode.kernels.numbers.trig import rint, sincos_near, sincos_small

CLOSE = 9e-4  # kc^2 up to which the series would be too long, and the kernel of single steps is used
DEGREE = 6  # enough for kc^2 = CLOSE
TURNING = 1e9  # turns in half a period up to which the rate is accurate
TWO_PI = (6.283185307179586, 2.4492935982947064e-16)


def powers_of_y():
    """Return cos 2kz, sin((2k+1) z)/sin z and cos((2k+1) z)/cos z as polynomials in y = cos 2z.

    Each is an array of shape (DEGREE + 1, DEGREE + 1) whose rows are the coefficients for k = 0, ..., DEGREE.
    """
    cosine = np.eye(DEGREE + 1)
    for k in range(2, DEGREE + 1):
        cosine[k, 1:] = 2.0 * cosine[k - 1, :-1]
        cosine[k] -= cosine[k - 2]
    odd = 2.0 * np.cumsum(cosine, axis=0) - cosine[0]  # 1 + 2 cos 2z + ... + 2 cos 2kz
    even = odd * (-1.0) ** np.add.outer(range(DEGREE + 1), range(DEGREE + 1))  # z -> pi/2 - z
    return cosine, odd, even


COSINE, ODD, EVEN = powers_of_y()


class DenseMotion(NamedTuple):
    """Constants of one motion, which together with the polynomials are a row of numbers."""

    T: float  # pairs: period, turn in a period, rate of the linear part of phi in turns
    T_low: float
    turn: float
    turn_low: float
    rate: float
    rate_low: float
    usable: float  # 1 if the series are accurate, else 0; and the largest |t| for which they are
    time_limit: float
    axis3: float  # 1 for the first form of (5), about axis 3, else 0
    D: float  # only its sign is used
    square: float  # 1 - al ga y^2 s^2 = square x^2 + cosine y^2 cn^2 for any m = (x, y, z) of the motion; z for D < 0
    cosine: float
    al: float
    be: float
    ga: float
    m1: float  # standard form
    m2: float
    m3: float
    q0: float
    q1: float
    q2: float
    q3: float
    p0: float  # q (0, m)/|m|
    p1: float
    p2: float
    p3: float
    unit: float  # of momenta, negative if the sorted axes are a reflection
    column1: float  # of the user's axes
    column2: float
    column3: float


POLYNOMIALS = len(DenseMotion._fields)  # where the polynomials begin: s, cn, dn, denominator, Im, Re
USABLE, TIME_LIMIT = DenseMotion._fields.index("usable"), DenseMotion._fields.index("time_limit")
ROW = POLYNOMIALS + 6 * (DEGREE + 1)
new_series = stack_array(6 * (DEGREE + 1))


@entry_point(f"void({INPUT}, {INPUT}, {INPUT}, f8[:,::1])")
def dense_constants(inertia, m, q, out):
    """Compute the constants and polynomials of motions.

    Parameters
    ----------
    inertia, m : array, shape (n, 3) or (1, 3)
        Principal moments and momenta; a single row serves all bodies.
    q : array, shape (n, 4) or (1, 4)
        Attitudes.
    out : array, shape (n, ROW)
        Output: one row for each motion.
    """
    series = new_series()
    for i in range(out.shape[0]):
        motion = motion_of(vector_of(inertia, i), vector_of(m, i), quaternion_of(q, i), series)
        for k in range(POLYNOMIALS):
            out[i, k] = motion[k]
        for k in range(6 * (DEGREE + 1)):
            out[i, POLYNOMIALS + k] = series[k]


@inline
def motion_of(I, m, q, series):
    """Return the constants of a motion, and write its polynomials to ``series``."""
    order, scale, I, m = standard_form(I, m)
    q = attitude_to_order(order, q)
    column1, column2, column3 = to_order(order, (1.0, 2.0, 3.0))
    body = body_constants(I)
    inv = invariants(body, m, 1.0)
    D = separatrix_gap(body, m)
    T, turn, rate = constants(I, m, D, inv.axis3, scale)
    usable = abs(D) > CLOSE * max(inv.p, inv.r) and isfinite(T[0]) and abs(rate[0]) * T[0] <= TURNING
    square, cosine, p = 0.0, 0.0, (0.0, 0.0, 0.0, 0.0)
    if usable:
        find_series(inv, D, series)
        square = inv.be / (inv.C3 if D > 0.0 else inv.C1)
        cosine = inv.al / inv.C3 if D > 0.0 else inv.ga / inv.C1
        p = product(q, (0.0, m[0] / inv.G, m[1] / inv.G, m[2] / inv.G))
    unit = scale.m if column1 > 0.0 else -scale.m
    can_use, axis3 = 1.0 if usable else 0.0, 1.0 if inv.axis3 else 0.0
    return DenseMotion(
        *T, *turn, *rate, can_use, min(MANY_TURNS * T[0], FARTHEST), axis3, D, square, cosine,
        inv.al, inv.be, inv.ga, *m, *q, *p, unit, abs(column1) - 1.0, abs(column2) - 1.0, abs(column3) - 1.0,
    )  # fmt: skip


@inline
def find_series(inv, D, series):
    """Write the coefficients of the six polynomials in cos 2z to ``series``."""
    l2, small = (inv.p, inv.r) if D > 0.0 else (inv.r, inv.p)
    mc, k2, n = min(1.0, abs(D) / l2), small / l2, inv.n / l2
    other = (inv.ga * inv.C1 if inv.axis3 else inv.al * inv.C3) / l2
    twice_mean = pi / complete_k(mc)
    E, x = exp_of_rf(twice_mean, n, k2), exp_of_rf(twice_mean, other, k2)
    nome = E * x
    terms = DEGREE + 1
    for k in range(len(series)):
        series[k] = 0.0
    for k in range(terms):
        sign = 1.0 - 2.0 * (k % 2)
        square = nome ** (k * k)
        double = 1.0 if k == 0 else 2.0
        small = square * nome**k
        large = sign * square * x**k
        weight = E ** (2 * k + 1)
        for i in range(terms):
            series[i] += sign * small * ODD[k, i]
            series[terms + i] += small * EVEN[k, i]
            series[2 * terms + i] += double * square * COSINE[k, i]
            series[3 * terms + i] += sign * double * square * COSINE[k, i]
            series[4 * terms + i] += large * (1.0 - weight) * EVEN[k, i]
            series[5 * terms + i] += large * (1.0 + weight) * ODD[k, i]
    theta2, theta3, theta4 = 0.0, 0.0, 0.0  # at 0, where y = 1
    for i in range(terms):
        theta2, theta3, theta4 = (
            theta2 + series[terms + i],
            theta3 + series[2 * terms + i],
            theta4 + series[3 * terms + i],
        )
    for i in range(terms):
        series[i] *= theta3 / (theta2 * sqrt(l2))
        series[terms + i] *= theta4 / theta2
        series[2 * terms + i] *= theta4 / theta3


@inline
def exp_of_rf(twice_mean, n, k2):
    """Return exp(-2 M R_F(n, n + k^2, n + 1)); R_F is infinite if n = k = 0."""
    return exp(-twice_mean * carlson_rf(n, n + k2, n + 1.0)) if n + k2 > 0.0 else 0.0


# Functions of one time. They are short, so that ``sample`` can loop over lanes around each of them.


@inline
def clock(motion, time):
    """Return (x, phi, phi_low): the time in periods, and the linear part of phi.

    Whole periods and turns are subtracted.
    """
    per_T = 1.0 / motion.T  # the compiler moves it out of the loop over times
    j = rint(time * per_T)
    p, e = two_prod(j, motion.T)
    rest, rest_low = two_sum(time - p, -(e + j * motion.T_low))
    p, e = two_prod(motion.rate, rest)
    low = e + (motion.rate * rest_low + motion.rate_low * rest)
    whole, e = two_prod(j, motion.turn)
    f, g = two_sum(p - rint(p), whole - rint(whole))
    low += g + (e + j * motion.turn_low)
    phi, e = two_prod(TWO_PI[0], f)
    return rest * per_T, phi, e + (TWO_PI[0] * low + TWO_PI[1] * f)


@inline
def circle(x):
    """Return (sin, cos) of z = pi x, |x| <= 1/2, from those of z/2."""
    s, c = sincos_small(0.5 * pi * x)
    return 2.0 * (s * c), 1.0 - 2.0 * (s * s)


@inline
def arc_and_turn(motion, series, sz, cz):
    """Return the ``Arc`` of ``euler``, and the turn (re, im) by the periodic part of phi.

    The length of (re, im) is arbitrary.
    """
    for_s, for_c, for_d, denominator, for_re, for_im = series
    y = 1.0 - 2.0 * (sz * sz)
    y2 = y * y
    y4 = y2 * y2
    cn, dn = cz * polynomial(for_c, y, y2, y4), polynomial(for_d, y, y2, y4)
    c, d = (cn, dn) if motion.D > 0.0 else (dn, cn)
    s, r = sz * polynomial(for_s, y, y2, y4), polynomial(denominator, y, y2, y4)
    re, im = cz * polynomial(for_re, y, y2, y4), sz * polynomial(for_im, y, y2, y4)
    return Arc(s, r, c, d), (re, (1.0 - 2.0 * motion.axis3) * im)


@inline
def polynomial(p, y, y2, y4):
    """Return the value of a polynomial in y by Estrin's rule.

    It has as many products as Horner's rule, but half of them do not wait for others.
    """
    return (p[0] + y * p[1]) + y2 * (p[2] + y * p[3]) + y4 * ((p[4] + y * p[5]) + y2 * p[6])


@inline
def momentum(motion, arc):
    """Return the momentum, and X of (5) in ``euler`` with arbitrary length.

    m is (2) of ``euler`` from the midpoint, which is (2) from m0. The increment (3) is not used, because steps are not
    chained here. Denominators are sums of positive terms.
    """
    s, r, c, d = arc
    sc, sr, sd = motion.al * (s * c), motion.be * (s * r), motion.ga * (s * d)
    dr, cd, cr = d * r, c * d, c * r
    m1, m2, m3 = motion.m1, motion.m2, motion.m3
    b1, b2, b3 = m1 * dr - sc * (m2 * m3), m2 * cd + sr * (m1 * m3), m3 * cr - sd * (m1 * m2)
    E = denominator_of(motion, arc, (m1, m2, m3))
    dr, cd, cr = E * dr, E * cd, E * cr
    f = 1.0 / denominator_of(motion, arc, (b1, b2, b3))
    n1, n2, n3 = b1 * dr - sc * (b2 * b3), b2 * cd + sr * (b1 * b3), b3 * cr - sd * (b1 * b2)
    axis3 = motion.axis3 > 0.0
    x1, x2, x3 = sr * b1, (sc if axis3 else -sd) * b2, -sr * b3
    # X is selected before m is a tuple: 54 instead of 62 ns in a loop over single times
    X = cr if axis3 else dr, x1 if axis3 else 0.0, x2, 0.0 if axis3 else x3
    return (n1 * f, n2 * f, n3 * f), X


@inline
def denominator_of(motion, arc, m):
    """Return r^2 - al ga m2^2 s^2 without cancellation."""
    m1, m2, m3 = m
    around, cn = (m1 * arc.r, arc.c) if motion.D > 0.0 else (m3 * arc.r, arc.d)
    y = m2 * cn
    return motion.square * (around * around) + motion.cosine * (y * y)


@inline
def attitude(motion, turn, X):
    """Return q of (5) in ``euler``; ``turn`` is the sine and cosine of phi, and lengths are arbitrary."""
    sphi, cphi = turn
    y0, y1 = cphi * motion.q0 + sphi * motion.p0, cphi * motion.q1 + sphi * motion.p1
    y2, y3 = cphi * motion.q2 + sphi * motion.p2, cphi * motion.q3 + sphi * motion.p3
    q0, q1, q2, q3 = product((y0, y1, y2, y3), X)
    f = 1.0 / sqrt(q0 * q0 + q1 * q1 + q2 * q2 + q3 * q3)
    return q0 * f, q1 * f, q2 * f, q3 * f


@inline
def turned_phase(phi, low, turn):
    """Return the sine and cosine of phi turned by ``turn`` = (re, im), times the length of (re, im)."""
    s, c = sincos_near(phi, low)
    re, im = turn
    return s * re + c * im, c * re - s * im


# Functions of blocks of times


class DenseFields(NamedTuple):
    """Positions in a block of times at which the numbers of each quantity begin."""

    time: int
    x: int
    phi: int
    z: int
    arc: int  # s, r, c, d
    turn: int
    m: int
    X: int  # x1, x2, x3, x0
    q: int


WIDTHS = {"phi": 2, "z": 2, "arc": 4, "turn": 2, "m": 3, "X": 4, "q": 4}  # all others: 1
ENDS = list(accumulate(LANES * WIDTHS.get(name, 1) for name in DenseFields._fields))
at = DenseFields(0, *ENDS[:-1])
SIZE = ENDS[-1]
new_block = stack_array(SIZE)


@entry_point(f"i8({INPUT}, {TIMES}, i8, i8, f8[:,:,::1], f8[:,:,::1])")
def sample(motions, t, start, stop, m_out, q_out):
    """Compute the states of all usable motions at times start, ..., stop - 1.

    Parameters
    ----------
    motions : array, shape (n, ROW)
        Constants of motions, from ``dense_constants``.
    t : array, shape (times,)
        Times.
    start, stop : int
        Range of times.
    m_out : array, shape (times, n, 3)
        Output: momenta.
    q_out : array, shape (times, n, 4)
        Output: attitudes.

    Returns
    -------
    int
        Always 0, because ``in_ranges`` expects a number.
    """
    w = new_block()
    past_cache = pass_cache(m_out, start) and pass_cache(q_out, start)
    for b in range(motions.shape[0]):
        motion, series = read(motions, b)
        if motion.usable == 0.0:
            continue
        for first in range(start, stop, LANES):
            count = min(LANES, stop - first)
            for l in range(count):
                w[at.time + l] = float(t[first + l])
            for l in range(count, LANES):
                w[at.time + l] = 0.0
            to_arcs(motion, series, w)
            to_states(motion, w)
            if count < LANES or motions.shape[0] > 1:
                store_partial(motion, w, first, count, b, m_out, q_out)
            elif past_cache:
                store_rows_past_cache(m_out, first, w, fields_of_m(motion))
                store_rows_past_cache(q_out, first, w, fields_of_q(motion))
            else:
                store_rows(m_out, first, w, fields_of_m(motion))
                store_rows(q_out, first, w, fields_of_q(motion))
    wait_for_memory()
    return 0


@inline
def read(motions, b):
    """Return row b of ``motions`` as (Motion, the six polynomials)."""
    c = motions[b]
    motion = DenseMotion(
        float(c[0]), float(c[1]), float(c[2]), float(c[3]), float(c[4]), float(c[5]), float(c[6]), float(c[7]),
        float(c[8]), float(c[9]), float(c[10]), float(c[11]), float(c[12]), float(c[13]), float(c[14]), float(c[15]),
        float(c[16]), float(c[17]), float(c[18]), float(c[19]), float(c[20]), float(c[21]), float(c[22]),
        float(c[23]), float(c[24]), float(c[25]), float(c[26]), float(c[27]), float(c[28]), float(c[29]),
    )  # fmt: skip
    series = (
        coefficients(c, 0), coefficients(c, 1), coefficients(c, 2),
        coefficients(c, 3), coefficients(c, 4), coefficients(c, 5),
    )  # fmt: skip
    return motion, series


@inline
def coefficients(c, which):
    """Return the coefficients of polynomial number ``which`` of the row c."""
    i = POLYNOMIALS + which * (DEGREE + 1)
    return (
        float(c[i]), float(c[i + 1]), float(c[i + 2]), float(c[i + 3]),
        float(c[i + 4]), float(c[i + 5]), float(c[i + 6]),
    )  # fmt: skip


@inline
def to_arcs(motion, series, w):
    """Compute the arcs and phases of all lanes."""
    for l in range(LANES):
        w[at.x + l], phi, low = clock(motion, w[at.time + l])
        put_pair(w, at.phi, l, phi, low)
    for l in range(LANES):
        sz, cz = circle(w[at.x + l])
        put_pair(w, at.z, l, sz, cz)
    for l in range(LANES):
        sz, cz = pair(w, at.z, l)
        (s, r, c, d), (re, im) = arc_and_turn(motion, series, sz, cz)
        put_pair(w, at.arc, l, s, r)
        put_pair(w, at.arc + 2 * LANES, l, c, d)
        put_pair(w, at.turn, l, re, im)


@inline
def to_states(motion, w):
    """Compute m and q of all lanes, in the sorted axes, in the user's scale and orientation."""
    unit = motion.unit
    sign = 1.0 if motion.unit > 0.0 else -1.0
    for l in range(LANES):
        phi, low = pair(w, at.phi, l)
        sphi, cphi = turned_phase(phi, low, pair(w, at.turn, l))
        put_pair(w, at.phi, l, sphi, cphi)
    for l in range(LANES):
        s, r = pair(w, at.arc, l)
        c, d = pair(w, at.arc + 2 * LANES, l)
        (m1, m2, m3), (x0, x1, x2, x3) = momentum(motion, Arc(s, r, c, d))
        put_triple(w, at.m, l, unit * m1, unit * m2, unit * m3)
        put_triple(w, at.X, l, x1, x2, x3)
        w[at.X + 3 * LANES + l] = x0
    for l in range(LANES):
        turn = pair(w, at.phi, l)
        x1, x2, x3 = triple(w, at.X, l)
        w[at.q + l], q1, q2, q3 = attitude(motion, turn, (w[at.X + 3 * LANES + l], x1, x2, x3))
        put_triple(w, at.q + LANES, l, sign * q1, sign * q2, sign * q3)


@inline
def store_partial(motion, w, first, count, b, m_out, q_out):
    """Copy lanes 0, ..., count - 1 into rows first, ... of body b, in the user's axes."""
    a1, a2, a3 = int(motion.column1), int(motion.column2), int(motion.column3)
    for l in range(count):
        i = first + l
        m_out[i, b, a1], m_out[i, b, a2], m_out[i, b, a3] = triple(w, at.m, l)
        q_out[i, b, 0] = w[at.q + l]
        q_out[i, b, a1 + 1], q_out[i, b, a2 + 1], q_out[i, b, a3 + 1] = triple(w, at.q + LANES, l)


@inline
def fields_of_m(motion):
    """Return the fields of the components of m along the user's axes."""
    return at.m + position(motion, 0.0), at.m + position(motion, 1.0), at.m + position(motion, 2.0)


@inline
def fields_of_q(motion):
    """Return the fields of the components of q in the user's axes."""
    vector = at.q + LANES
    return at.q, vector + position(motion, 0.0), vector + position(motion, 1.0), vector + position(motion, 2.0)


@inline
def position(motion, axis):
    """Return the offset of the component along a user's axis among those along the sorted axes."""
    return 0 if motion.column1 == axis else (LANES if motion.column2 == axis else 2 * LANES)
