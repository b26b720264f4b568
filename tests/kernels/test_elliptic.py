"""Elliptic integrals against mpmath, published values and closed forms. Unit of errors: 2^-53.

The bounds are what was reached compiled and uncompiled, rounded up: a larger error is a mistake, not noise.
"""

from math import inf, isnan, log, nan, pi

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.exact import orbit
from polhode.kernels.numbers import elliptic

EPS = 2.0**-53
PARAMETERS = [1.0, 0.9, 0.5, 1e-1, 1e-3, 1e-6, 1e-9, 1e-12, 1e-20, 1e-100]

thorough = settings(max_examples=150, deadline=None, derandomize=True)


# Helpers have no Python wrapper when compiled: one entry for each.


@entry_point("f8(f8)", cache=False)
def complete_k(mc):
    return elliptic.complete_k(mc)


@entry_point("UniTuple(f8,2)(f8,f8)", cache=False)
def complete_k_and_l(kc, n):
    return elliptic.complete_k_and_l(kc, n)


@entry_point("f8(f8,f8,f8)", cache=False)
def elliptic_angle(cosine, sine, kc):
    return orbit.elliptic_angle(cosine, sine, kc)


@entry_point("f8(f8,f8)", cache=False)
def carlson_rc(x, y):
    return elliptic.carlson_rc(x, y)


@entry_point("f8(f8,f8,f8)", cache=False)
def carlson_rf(x, y, z):
    return elliptic.carlson_rf(x, y, z)


@entry_point("f8(f8,f8,f8,f8)", cache=False)
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


# The integral of the first kind: an error of eps in cn moves u by eps sn cn/dn


@pytest.mark.parametrize("mc", [*PARAMETERS, 1e-300])
def test_elliptic_angle_inverts_sn_and_cn(mc):
    """Near 0, across the change of formula at cn = 1/2, and up to the quarter period."""
    with digits_for(mc):
        m, quarter = 1 - mpf(mc), mp.ellipk(1 - mpf(mc))
        for part in (1e-300, 1e-160, 1e-9, 0.01, 0.2, 0.45, 0.6, 0.7, 0.83, 0.97, 1 - 1e-6, 1 - 1e-12, 1 - 1e-15):
            u = part * quarter
            sn, cn, dn = (mp.ellipfun(kind, u, m=m) for kind in ("sn", "cn", "dn"))
            value = elliptic_angle(float(cn), float(sn), float(mp.sqrt(mc)))
            size = u if cn >= 0.5 else quarter  # of which the rest is taken away beyond
            assert error(value, u, size + sn * cn / dn) <= 6, part


@pytest.mark.parametrize("u", [1e-300, 1e-5, 0.3, 2.0, 19.0, 50.0, 300.0, 700.0])
def test_elliptic_angle_on_the_separatrix(u):
    assert error(elliptic_angle(float(mp.sech(u)), float(mp.tanh(u)), 0.0), u, mpf(u) + mp.tanh(u)) <= 3


def test_elliptic_angle_begins_at_0_and_ends_at_the_quarter_period():
    assert elliptic_angle(1.0, 0.0, 0.3) == 0.0
    assert elliptic_angle(0.0, 1.0, 1.0) == pi / 2
    assert elliptic_angle(0.0, 1.0, 0.3) == complete_k_and_l(0.3, 0.0)[0]


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
    assert isnan(elliptic_angle(nan, 0.5, 0.5))
    assert isnan(elliptic_angle(0.6, 0.8, nan))
    assert all(map(isnan, complete_k_and_l(nan, 0.5)))
    assert isnan(complete_k(nan))
