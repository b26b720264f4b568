"""Elliptic functions and integrals against mpmath, published values and closed forms. Unit of errors: 2^-53.

The bounds are what was reached compiled and uncompiled, rounded up: a larger error is a mistake, not noise.
"""

from itertools import pairwise
from math import inf, isnan, log, nan, pi, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from polhode.kernels.compiler.jit import entry
from polhode.kernels.numbers import elliptic

EPS = 2.0**-53
PARAMETERS = [1.0, 0.9, 0.5, 1e-1, 1e-3, 1e-6, 1e-9, 1e-12, 1e-20, 1e-100]
CHARACTERISTICS = [-1.0 + 1e-9, -0.9, -0.3, 0.0, 1e-7, 0.25, 0.2500001, 1.0, 30.0, 1e6, 1e12]

thorough = settings(max_examples=150, deadline=None, derandomize=True)


# Helpers have no Python wrapper when compiled: one entry for each.


@entry("UniTuple(f8,3)(f8,f8)", cache=False)
def jacobi(u, mc):
    return elliptic.jacobi(u, mc)


@entry("f8(f8,f8)", cache=False)
def amplitude(u, mc):
    return elliptic.amplitude(u, mc)


@entry("f8(f8)", cache=False)
def complete_k(mc):
    return elliptic.complete_k(mc)


@entry("UniTuple(f8,2)(f8,f8)", cache=False)
def complete_k_and_l(kc, n):
    return elliptic.complete_k_and_l(kc, n)


@entry("f8(f8,f8)", cache=False)
def complete_third(n, mc):
    return elliptic.complete_third(n, mc)


@entry("f8(f8,f8,f8)", cache=False)
def incomplete_third(phi, n, mc):
    return elliptic.incomplete_third(phi, n, mc)


@entry("f8(f8,f8)", cache=False)
def carlson_rc(x, y):
    return elliptic.carlson_rc(x, y)


@entry("f8(f8,f8,f8)", cache=False)
def carlson_rf(x, y, z):
    return elliptic.carlson_rf(x, y, z)


@entry("f8(f8,f8,f8,f8)", cache=False)
def carlson_rj(x, y, z, p):
    return elliptic.carlson_rj(x, y, z, p)


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(50):
        yield


def error(value, truth, scale=None):
    """|value - truth| in units of EPS times the scale (the truth's own size unless given)."""
    scale = abs(truth) if scale is None else scale
    return float(abs(value - truth) / (EPS * scale))


def digits_for(mc):
    """Enough decimal digits for m = 1 - mc and the cancellations that follow."""
    return mp.workdps(50 if mc > 1e-3 else int(50 - 1.3 * log(mc) / log(10)))


def true_jacobi(u, mc):
    with digits_for(mc):
        m = 1 - mpf(mc)
        return tuple(mp.ellipfun(kind, mpf(u), m=m) for kind in ("sn", "cn", "dn"))


def true_third(phi, n, mc):
    with digits_for(mc):
        return mp.ellippi(-mpf(n), mpf(phi), 1 - mpf(mc))


def logarithmic(low, high):
    return st.floats(low, high).map(lambda x: 10.0**x)


# Complete integrals


def test_complete_k_published():
    assert complete_k(1.0) == pi / 2
    assert error(complete_k(0.5), mpf("1.85407467730137191843")) <= 1.5  # Abramowitz-Stegun table 17.1
    assert error(complete_k(0.1), mpf("2.57809211334817319")) <= 3
    assert complete_k(0.0) == inf


@pytest.mark.parametrize("mc", [*PARAMETERS, 1e-200, 1e-300, 5e-324])
def test_complete_k(mc):
    with digits_for(mc):
        assert error(complete_k(mc), mp.ellipk(1 - mpf(mc))) <= 4.5


def true_l(kc, n):
    return mp.elliprj(0, mpf(kc) ** 2, 1, 1 + mpf(n)) / 3  # DLMF 19.25.14


@pytest.mark.parametrize("n", [0.0, 1e-5, 0.3, 1.0, 50.0])
@pytest.mark.parametrize("kc", [1.0, 0.7, 0.05])
def test_l_is_its_defining_integral(kc, n):
    def integrand(phi):
        s2, c2 = mp.sin(phi) ** 2, mp.cos(phi) ** 2
        return s2 / ((1 + mpf(n) * s2) * mp.sqrt(c2 + mpf(kc) ** 2 * s2))

    with mp.workdps(25):
        integral = mp.quad(integrand, [0, mp.pi / 4, mp.pi / 2])
        assert abs(integral / true_l(kc, n) - 1) < 1e-20
        assert error(complete_k_and_l(kc, n)[1], integral) <= 6


@thorough
@given(kc=logarithmic(-2.0, 0.0), n=st.one_of(st.just(0.0), logarithmic(-9.0, 0.0)))
def test_k_and_l(kc, n):
    first, third = complete_k_and_l(kc, n)
    assert error(first, mp.elliprf(0, mpf(kc) ** 2, 1)) <= 4
    assert error(third, true_l(kc, n)) <= 8.5


@thorough
@given(kc=logarithmic(-160.0, 0.0), n=st.one_of(st.just(0.0), logarithmic(-9.0, 30.0)))
def test_k_and_l_wide(kc, n):
    first, third = complete_k_and_l(kc, n)
    assert error(first, mp.elliprf(0, mpf(kc) ** 2, 1)) <= 5.5
    assert error(third, true_l(kc, n)) <= 10.5


@pytest.mark.parametrize("n", CHARACTERISTICS)
@pytest.mark.parametrize("mc", PARAMETERS)
def test_complete_third(n, mc):
    with digits_for(mc):
        truth = mp.ellippi(-mpf(n), 1 - mpf(mc))
    assert error(complete_third(n, mc), truth) <= 7


def test_complete_third_without_modulus():
    assert error(complete_third(3.0, 1.0), mp.pi / 4) <= 1  # pi/(2 sqrt(1 + n)), DLMF 19.6(i)


# Jacobi's functions: an error in u of eps |u| moves cn and dn by at most eps |u| dn


def arguments(mc):
    """Within a period, close to K on both sides, tiny, negative, and many periods away."""
    quarter = complete_k(mc)
    inside = [quarter * x for x in (-0.97, -0.5, -0.11, 0.2, 0.45, 0.83)]
    near = [quarter * x for x in (1.0, 1 - 1e-15, 1 + 1e-12, -1 - 1e-9, 1 - 1e-6, -1 + 1e-3)]
    far = [quarter * x for x in (1.6, -2.0, 2.3, 3.001, -5.5, 41.2, -399.0, 1e4 + 0.3, -1e6 + 0.6)]
    return [*inside, *near, 1e-300, -1e-160, 1e-9, -0.01, *far]


@pytest.mark.parametrize("mc", PARAMETERS)
def test_jacobi(mc):
    for u in arguments(mc):
        values = jacobi(u, mc)
        sn, cn, dn = true_jacobi(u, mc)
        moved = abs(u) * dn
        assert error(values[0], sn, abs(sn) + moved * abs(cn)) <= 3, u
        assert error(values[1], cn, dn + moved) <= 5, u
        assert error(values[2], dn, dn + moved) <= 5, u


@thorough
@given(mc=logarithmic(-30.0, 0.0), x=st.floats(-1.0, 1.0))
def test_jacobi_within_a_period(mc, x):
    u = x * complete_k(mc)
    values = jacobi(u, mc)
    sn, cn, dn = true_jacobi(u, mc)
    for value, truth in zip(values, (sn, cn, dn), strict=True):
        assert error(value, truth, dn * (1 + abs(u)) if truth is not sn else 1) <= 5


@pytest.mark.parametrize("mc", PARAMETERS)
def test_jacobi_at_half_the_quarter_period(mc):
    """DLMF table 22.5.2: sn, cn, dn of K/2 are 1/sqrt(1 + k'), sqrt(k'/(1 + k')), sqrt(k')."""
    u = complete_k(mc) / 2
    kc = mp.sqrt(mc)
    values = jacobi(u, mc)
    assert error(values[0], 1 / mp.sqrt(1 + kc)) <= 4
    assert error(values[1], mp.sqrt(kc / (1 + kc))) <= 4 * (1 + u)
    assert error(values[2], mp.sqrt(kc)) <= 4 * (1 + u)


@pytest.mark.parametrize("u", [0.0, 1e-300, -1e-5, 0.3, -2.0, 19.0, -50.0, 300.0, -700.0])
def test_jacobi_on_the_separatrix(u):
    sn, cn, dn = jacobi(u, 0.0)
    assert cn == dn
    assert sn == u == 0.0 or error(sn, mp.tanh(u)) <= 2
    assert error(cn, mp.sech(u)) <= 3


def test_jacobi_far_out_on_the_separatrix():
    assert jacobi(1e4, 0.0) == (1.0, 0.0, 0.0)
    assert jacobi(-inf, 0.0) == (-1.0, 0.0, 0.0)


@pytest.mark.parametrize("u", [0.0, -0.4, 2.0, 14.0])
def test_jacobi_tends_to_the_separatrix(u):
    for value, limit in zip(jacobi(u, 1e-100), jacobi(u, 0.0), strict=True):
        assert value == pytest.approx(limit, rel=6 * EPS * (1 + abs(u)), abs=0.0)


# Amplitude


def true_amplitude(u, mc):
    with digits_for(mc):
        quarter = mp.ellipk(1 - mpf(mc))
        turns = mp.nint(u / (2 * quarter))
        sn, cn, dn = true_jacobi(u - 2 * turns * quarter, mc)
        return turns * mp.pi + mp.atan2(sn, cn), dn


@pytest.mark.parametrize("mc", PARAMETERS)
def test_amplitude(mc):
    for u in arguments(mc):
        truth, dn = true_amplitude(mpf(u), mc)
        assert error(amplitude(u, mc), truth, abs(truth) + dn * abs(u)) <= 3, u


@pytest.mark.parametrize("u", [1e-200, -0.7, 3.0, 40.0, -800.0])
def test_amplitude_on_the_separatrix(u):
    assert error(amplitude(u, 0.0), 2 * mp.atan(mp.tanh(mpf(u) / 2))) <= 3


@pytest.mark.parametrize("mc", [0.9, 1e-3, 1e-12])
def test_amplitude_never_jumps(mc):
    step = complete_k(mc) / 32
    angles = [amplitude(step * i, mc) for i in range(-300, 300)]
    increments = [b - a for a, b in pairwise(angles)]
    assert min(increments) > 0
    assert max(increments) <= 1.001 * step  # dn <= 1


@thorough
@given(mc=logarithmic(-12.0, 0.0), u=st.floats(-100.0, 100.0).filter(lambda u: abs(u) > 1e-9))
def test_first_kind_inverts_the_amplitude(mc, u):
    angle = amplitude(u, mc)
    dn = jacobi(u, mc)[2]
    assert error(incomplete_third(angle, 0.0, mc), u, abs(u) + abs(angle) / dn) <= 5


# Incomplete integral of the third kind


@pytest.mark.parametrize("n", CHARACTERISTICS)
@pytest.mark.parametrize("mc", [1.0, 0.5, 1e-3, 1e-9, 1e-20])
def test_incomplete_third(n, mc):
    for phi in (
        1e-200,
        -1e-7,
        0.2,
        -1.0,
        1.5,
        1.5707963,
        pi / 2,
        1.6,
        -3.0,
        -1.5 * pi,
        8.0,
        20.5 * pi,
        -100.0,
    ):
        truth = true_third(phi, n, mc)
        period = 2 * complete_third(n, mc) if abs(phi) > pi / 2 else 0.0  # whole periods plus or minus a part
        assert error(incomplete_third(phi, n, mc), truth, abs(truth) + period) <= 7.5, phi


@thorough
@given(
    phi=st.floats(-1.57, 1.57),
    n=st.one_of(st.floats(-0.999, 1.0), logarithmic(0.0, 9.0)),
    mc=logarithmic(-9.0, 0.0),
)
def test_incomplete_third_within_a_quarter(phi, n, mc):
    truth = true_third(phi, n, mc)
    assert truth == phi == 0.0 or error(incomplete_third(phi, n, mc), truth, abs(truth) + 1e-300) <= 5


def test_third_kind_on_the_separatrix():
    phi = 1.3
    gudermann = mp.asinh(mp.tan(phi))
    assert error(incomplete_third(phi, 0.0, 0.0), gudermann) <= 3
    truth = (gudermann + mp.sqrt(2) * mp.atan(mp.sqrt(2) * mp.sin(phi))) / 3  # n = 2
    assert error(incomplete_third(phi, 2.0, 0.0), truth) <= 3
    assert complete_third(0.3, 0.0) == inf
    assert incomplete_third(-2.0, 0.3, 0.0) == -inf


@pytest.mark.parametrize("n", [0.1, 1.0, 40.0])
def test_third_kind_is_k_minus_n_l(n):
    first, third = complete_k_and_l(sqrt(0.2), n)
    assert error(complete_third(n, 0.2), first - n * third, first) <= 6


# Carlson's symmetric integrals

CARLSON_1995 = [  # Numer. Algorithms 10 (1995) 13, section 3, all the real checks
    (carlson_rf, (1.0, 2.0, 0.0), "1.3110287771461"),
    (carlson_rf, (0.5, 1.0, 0.0), "1.8540746773014"),
    (carlson_rf, (2.0, 3.0, 4.0), "0.58408284167715"),
    (carlson_rc, (0.0, 0.25), "3.1415926535898"),
    (carlson_rc, (2.25, 2.0), "0.69314718055995"),
    (carlson_rc, (0.25, -2.0), "0.23104906018665"),
    (carlson_rj, (0.0, 1.0, 2.0, 3.0), "0.77688623778582"),
    (carlson_rj, (2.0, 3.0, 4.0, 5.0), "0.14297579667157"),
]


@pytest.mark.parametrize(("function", "arguments", "printed"), CARLSON_1995)
def test_carlson_published(function, arguments, printed):
    decimals = len(printed) - 2
    assert f"{function(*arguments):.{decimals}f}" == printed


def test_rc_closed_forms():
    assert error(carlson_rc(0.0, 0.25), mp.pi) <= 1
    assert error(carlson_rc(2.25, 2.0), mp.log(2)) <= 2
    assert error(carlson_rc(0.25, -2.0), mp.log(2) / 3) <= 3
    assert carlson_rc(4.0, 4.0) == 0.5


@thorough
@given(x=logarithmic(-30.0, 30.0), y=logarithmic(-30.0, 30.0), sign=st.sampled_from([-1.0, 1.0]))
def test_rc(x, y, sign):
    assert error(carlson_rc(x, sign * y), mp.elliprc(mpf(x), mpf(sign * y))) <= 4.5


@thorough
@given(x=logarithmic(-3.0, 3.0), offset=logarithmic(-16.0, -1.0), sign=st.sampled_from([-1.0, 1.0]))
def test_rc_near_the_diagonal(x, offset, sign):
    y = x * (1.0 + sign * offset)
    assert error(carlson_rc(x, y), mp.elliprc(mpf(x), mpf(y))) <= 4


wide = logarithmic(-40.0, 40.0)
wide_or_zero = st.one_of(st.just(0.0), wide)


@thorough
@given(x=wide_or_zero, y=wide, z=wide)
def test_rf(x, y, z):
    truth = mp.elliprf(mpf(x), mpf(y), mpf(z))
    for permuted in ((x, y, z), (y, z, x), (z, x, y)):
        assert error(carlson_rf(*permuted), truth) <= 6


def true_rj(x, y, z, p):
    with mp.workdps(110):  # for p << x mpmath loses digits in 1 + e_n
        return mp.elliprj(mpf(x), mpf(y), mpf(z), mpf(p))


@thorough
@given(
    x=st.one_of(st.just(0.0), logarithmic(-3.0, 3.0)),
    y=logarithmic(-3.0, 3.0),
    z=logarithmic(-3.0, 3.0),
    p=logarithmic(-40.0, 3.0),
)
def test_rj(x, y, z, p):
    truth = true_rj(x, y, z, p)
    for permuted in ((x, y, z), (y, z, x), (z, x, y)):
        assert error(carlson_rj(*permuted, p), truth) <= 6.5


@thorough
@given(x=wide_or_zero, y=wide, z=wide, p=wide)
def test_rj_wide(x, y, z, p):
    assert error(carlson_rj(x, y, z, p), true_rj(x, y, z, p)) <= 10


@given(x=st.floats(0.01, 100.0), y=st.floats(0.01, 100.0), z=st.floats(0.01, 100.0), p=st.floats(0.01, 100.0))
@settings(thorough)
def test_carlson_homogeneous_to_the_bit(x, y, z, p):
    """A factor 4^k goes through every square root exactly (DLMF 19.20(i))."""
    big, root = 4.0**20, 2.0**20
    assert carlson_rc(big * x, big * y) * root == carlson_rc(x, y)
    assert carlson_rf(big * x, big * y, big * z) * root == carlson_rf(x, y, z)
    assert carlson_rj(big * x, big * y, big * z, big * p) * root**3 == carlson_rj(x, y, z, p)


@given(x=st.floats(1e-3, 1e3))
@settings(thorough)
def test_carlson_equal_arguments(x):
    assert error(carlson_rf(x, x, x), 1 / mp.sqrt(x)) <= 3  # DLMF 19.20.1
    assert error(carlson_rj(x, x, x, x), 1 / (x * mp.sqrt(x))) <= 5  # DLMF 19.20.6


def uncompiled(helper):
    return getattr(helper, "py_func", helper)


def order(remainder):
    """Observed order from halving a small step."""
    return float(mp.log(remainder(mpf(1) / 64) / remainder(mpf(1) / 128), 2))


@pytest.mark.parametrize("direction", [(1, 2, -3), (3, 1, -4), (5, -4, -1)])
def test_rf_series_is_complete_to_degree_7(direction):
    """In multiple precision, since the last terms are too small to be seen in doubles."""
    series = uncompiled(elliptic._rf_series)

    def remainder(h):
        d = [h * x / 5 for x in direction]
        return abs(series(*d) - mp.elliprf(*(1 - x for x in d)))

    assert order(remainder) == pytest.approx(8, abs=0.1)


@pytest.mark.parametrize("direction", [(1, 2, 3, -3), (1, 1, -4, 1), (5, -4, -1, 0), (4, 3, -1, -3)])
def test_rj_series_is_complete_to_degree_7(direction):
    series = uncompiled(elliptic._rj_series)

    def remainder(h):
        d = [h * x / 5 for x in direction]
        return abs(series(*d) - mp.elliprj(*(1 - x for x in d)))

    assert order(remainder) == pytest.approx(8, abs=0.1)


# Nothing hangs


@pytest.mark.parametrize("bad", [nan, inf])
def test_carlson_ends_on_bad_numbers(bad):
    assert isnan(carlson_rf(bad, 1.0, 2.0))
    assert isnan(carlson_rj(bad, 1.0, 2.0, 3.0))
    assert isnan(carlson_rj(1.0, 1.0, 2.0, bad))


def test_nan_comes_back_as_nan():
    assert all(map(isnan, jacobi(0.5, nan)))
    assert all(map(isnan, jacobi(nan, 0.5)))
    assert isnan(amplitude(nan, 0.5))
    assert isnan(incomplete_third(nan, 0.5, 0.5))
    assert all(map(isnan, complete_k_and_l(nan, 0.5)))
    assert isnan(complete_k(nan))
    assert isnan(complete_third(nan, 0.5))
