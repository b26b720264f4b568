"""Properties of a free motion as a whole: its regime, period, precession and crossings of the middle plane.

Symbols are those of ``euler``, with t = 1. For D > 0 the momentum circles axis 1 (least inertia), for D < 0 axis 3.
"""

from __future__ import annotations

from math import asinh, hypot, inf, sqrt, tau

from polhode.kernels.compiler.intrinsics import power_of_two
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.exact.euler import body_constants, invariants, separatrix_gap
from polhode.kernels.exact.standard_form import INPUT, from_standard_time, standard_form, vector_of
from polhode.kernels.numbers.elliptic import carlson_rf, complete_k_and_l
from polhode.kernels.numbers.vectors import times

REST, SPHERICAL, STEADY, SYMMETRIC, AROUND_MIN, AROUND_MAX, SEPARATRIX = range(7)


@inline
def regime_of(body, D, m):
    """Return the regime of a motion.

    The result is exact: every test compares with zero a number that is computed without rounding.
    """
    m1, m2, m3 = m
    if m1 == 0.0 and m2 == 0.0 and m3 == 0.0:
        return REST
    if body.w13 == 0.0:
        return SPHERICAL
    off1 = body.w23 == 0.0 or m2 == 0.0 or m3 == 0.0
    off2 = m1 == 0.0 or m3 == 0.0
    off3 = body.w12 == 0.0 or m1 == 0.0 or m2 == 0.0
    if off1 and off2 and off3:  # m x w = 0
        return STEADY
    if body.w23 == 0.0 or body.w12 == 0.0:
        return SYMMETRIC
    if D == 0.0:
        return SEPARATRIX
    return AROUND_MIN if D > 0.0 else AROUND_MAX


@inline
def period_and_precession(body, inv, D, root):
    """Return the period 4K/lambda, and the angle about m by which the circled axis advances in a period.

    D is nonzero, and only its sign is used; root = sqrt(|D|).
    """
    l2 = inv.p if D > 0.0 else inv.r
    lam = sqrt(l2)
    K, L = complete_k_and_l(min(1.0, root / lam), inv.n / l2)
    T = 4.0 * K / lam
    theta = 4.0 * inv.be * (inv.n / l2) * L / lam
    # (5) of euler is the rotation about m. If its form is that of the circled axis, m has turned about that axis once
    # more than the form counts, and the axis about m once less (D < 0) or once more (D > 0).
    if inv.axis3:
        angle = inv.G * (body.w3 * T + theta)
        return (T, angle) if D > 0.0 else (T, angle + tau)
    angle = inv.G * (body.w1 * T - theta)
    return (T, angle) if D < 0.0 else (T, angle - tau)


@inline
def middle_component(inv, D, root, m):
    """Return the time nearest to 0 at which m2 = 0, and the largest |m2|/|m|.

    The time is -F(phi)/rate, where tan phi is m2 over the component proportional to cn. Where that component vanishes,
    |m2| is largest.
    """
    m1, m2, m3 = m
    if D >= 0.0:
        weight, x, rate = sqrt(inv.ga), m3 * sqrt(inv.be), sqrt(inv.p)
        forward = m1 > 0.0
    else:
        weight, x, rate = sqrt(inv.al), m1 * sqrt(inv.be), sqrt(inv.r)
        forward = m3 > 0.0
    y = m2 * weight
    amplitude = hypot(x, y)  # not sqrt(C1) or sqrt(C3), which underflow
    cosine, sine = abs(x) / amplitude, y / amplitude
    F = abs(elliptic_angle(cosine, abs(sine), min(1.0, root / rate))) / rate
    return (-F if forward == (sine * x >= 0.0) else F), amplitude / (weight * inv.G)


@inline
def elliptic_angle(cosine, sine, kc):
    """Return F(phi, k) for 0 <= phi <= pi/2, from cos phi, sin phi and kc.

    The result is accurate also where squares of these numbers underflow.
    """
    if cosine >= 0.5:
        return sine * carlson_rf(cosine * cosine, cosine * cosine + (kc * sine) * (kc * sine), 1.0)
    if kc == 0.0:
        return asinh(sine / cosine)
    dn = hypot(cosine, kc * sine)
    cd, ks, kd = cosine / dn, kc * sine / dn, kc / dn
    return complete_k_and_l(kc, 0.0)[0] - cd * carlson_rf(ks * ks, kd * kd, 1.0)  # F(phi) = K - F(psi), sin psi = cd


@entry_point(f"void({INPUT}, {INPUT}, f8[:,::1])")
def orbits(inertia, m, out):
    """Compute regime, period, precession per period, first crossing and reach of free motions.

    The first crossing is the time nearest to 0 at which m2 = 0; the reach is the largest |m2|/|m|.

    Parameters
    ----------
    inertia, m : array, shape (n, 3) or (1, 3)
        Principal moments and momenta; a single row serves all bodies.
    out : array, shape (n, 5)
        Output: one row for each body.
    """
    for i in range(out.shape[0]):
        _, scale, I, momentum = standard_form(vector_of(inertia, i), vector_of(m, i))
        body = body_constants(I)
        inv = invariants(body, momentum, 1.0)
        unit, per_unit = power_of_two(max(abs(momentum[0]), abs(momentum[2])))
        D = separatrix_gap(body, times(per_unit, momentum))  # its sign is exact, also where m1^2 would underflow
        root = sqrt(abs(D)) * unit
        regime = regime_of(body, D, momentum)
        period, precession, crossing, reach = 0.0, 0.0, 0.0, 0.0
        if regime == SEPARATRIX:
            period, precession = inf, inf
        elif regime >= SYMMETRIC:
            period, precession = period_and_precession(body, inv, D, root)
            period = from_standard_time(period, scale)
        if regime > SYMMETRIC:
            crossing, reach = middle_component(inv, D, root, momentum)
            crossing = from_standard_time(crossing, scale)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3], out[i, 4] = regime, period, precession, crossing, reach
