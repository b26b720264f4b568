"""Elliptic functions and integrals for arrays against mpmath. Unit of errors: 2^-53.

mpmath evaluates what the kernels do not use: Jacobi's functions of the parameter, symmetric integrals where Legendre's
are tested, Legendre's where symmetric ones are. The bounds are what was reached compiled and uncompiled, rounded up.
"""

from math import inf, isnan, nan, pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from polhode import elliptic
from polhode.core.errors import InputError, ShapeError

EPS = 2.0**-53
PERIOD_DIGITS = 2.0**-102  # relative error of the quarter period
thorough = settings(max_examples=120, deadline=None, derandomize=True)


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(50):
        yield


def logarithmic(low, high):
    return st.floats(low, high).map(lambda x: 10.0**x)


def error(value, truth, floor=0):
    """|value - truth| in units of EPS |truth|, beyond an absolute error ``floor``."""
    if truth == 0:
        return float(abs(value) / EPS)
    return float(max(0, abs(value - truth) - floor) / abs(truth) / EPS)


def digits_for(name, value):
    """Enough decimal digits for m = 1 - mc and the cancellations that follow."""
    mc = {"m": 1.0 - value, "k": (1.0 - value) * (1.0 + value), "mc": value}[name]
    return mp.workdps(60 if mc == 0 else int(60 + 1.5 * abs(mp.log10(abs(mc)))))


# Jacobi's functions

PARAMETERS = {
    "m": st.one_of(
        st.sampled_from([0.0, 1.0, 0.5, -1.0, 2.0, 5e-324, 1 - 2.0**-53, 1 + 2.0**-52]),
        st.floats(-3.0, 3.0),
        logarithmic(-320.0, -1.0),
        logarithmic(0.0, 12.0).map(lambda x: -x),
        logarithmic(0.0, 6.0),
    ),
    "k": st.one_of(st.floats(0.0, 1.5), logarithmic(-16.0, -1.0).map(lambda x: 1.0 - x)),
    "mc": st.one_of(st.just(0.0), logarithmic(-323.3, 0.0), st.floats(0.45, 0.55), logarithmic(0.0, 12.0)),
}
MODULI = {"m": mpf, "k": lambda k: mpf(k) ** 2, "mc": lambda mc: 1 - mpf(mc)}


def true_jacobi(u, m):
    """sn, cn, dn, am at u; the amplitude from the number of half-periods."""
    u = mpf(u)
    if m == 1:
        return mp.tanh(u), mp.sech(u), mp.sech(u), mp.atan(mp.sinh(u))
    sn, cn, dn = (mp.re(mp.ellipfun(kind, u, m=m)) for kind in ("sn", "cn", "dn"))
    if m > 1:
        return sn, cn, dn, mp.asin(sn)
    turns = int(mp.nint(u / (2 * mp.ellipk(m))))
    return sn, cn, dn, turns * mp.pi + mp.atan2(sn * (-1) ** turns, cn * (-1) ** turns)


def check_jacobi(u, name, value):
    with digits_for(name, value):
        m = MODULI[name](value)
        sn, cn, dn, am = true_jacobi(u, m)
        slopes = cn * dn, -sn * dn, -m * sn * cn, dn
        for got, truth, slope in zip(elliptic.ellipj(u, **{name: value}), (sn, cn, dn, am), slopes, strict=True):
            assert error(got, truth, PERIOD_DIGITS * abs(u * slope) + 5e-324) <= 4.5


@thorough
@given(u=st.one_of(st.floats(-12.0, 12.0), st.floats(-700.0, 700.0)).filter(bool), data=st.data())
def test_jacobi(u, data):
    name = data.draw(st.sampled_from(["m", "k", "mc"]))
    check_jacobi(u, name, data.draw(PARAMETERS[name]))


@thorough
@given(quarters=st.integers(1, 9), offset=st.sampled_from([0.0, 2e-16, -1e-9, 1e-4, 0.5, -0.499999]), data=st.data())
def test_jacobi_next_to_multiples_of_the_quarter_period(quarters, offset, data):
    """Zeros keep their digits, and formulas meet in the middle."""
    mc = data.draw(st.one_of(logarithmic(-300.0, 0.0), logarithmic(0.0, 12.0)))
    check_jacobi((quarters + offset) * elliptic.K(mc=mc), "mc", mc)


@thorough
@given(u=logarithmic(1.0, 13.9), m=st.one_of(st.floats(-1.0, 0.999), st.floats(1.001, 3.0)))
def test_jacobi_after_many_periods(u, m):
    check_jacobi(u, "m", m)


@thorough
@given(u=logarithmic(-323.3, -2.0), m=st.one_of(st.floats(-3.0, 3.0), logarithmic(1.0, 300.0).map(lambda x: -x)))
def test_jacobi_of_small_arguments(u, m):
    check_jacobi(u if abs(m) * u * u < 1 else u * 1e-300, "m", m)


def test_jacobi_near_the_separatrix_beats_the_parameter():
    """Where m = 1 - mc is rounded, everything but mc is lost."""
    check_jacobi(50.0, "mc", 1e-40)
    assert elliptic.ellipj(50.0, m=1 - 1e-40)[1] == pytest.approx(float(mp.sech(50)), rel=1e-15)


def test_jacobi_at_0_infinity_and_nan():
    assert elliptic.ellipj(0.0, m=0.5) == (0.0, 1.0, 1.0, 0.0)
    assert elliptic.ellipj(inf, m=1.0) == (1.0, 0.0, 0.0, pi / 2)
    assert elliptic.ellipj(-inf, mc=0.0) == (-1.0, 0.0, 0.0, -pi / 2)
    sn, cn, dn, am = elliptic.ellipj(-inf, m=0.5)
    assert isnan(sn)
    assert isnan(cn)
    assert isnan(dn)
    assert am == -inf
    assert all(isnan(x) for x in elliptic.ellipj(inf, m=2.0))
    assert all(isnan(x) for x in elliptic.ellipj(nan, m=0.5))
    assert all(isnan(x) for x in elliptic.ellipj(0.5, k=nan))
    assert elliptic.ellipj(1e300, m=0.0)[0] == float(mp.sin(mpf(1e300)))


# Legendre's integrals


def true_rj(x, y, z, p):
    """R_J, for p < 0 by the relation with the largest argument, which the kernels do not use (DLMF 19.21.12)."""
    with mp.workdps(max(110, mp.dps)):
        if p > 0:
            return mp.elliprj(x, y, z, p)
        x, y, z = sorted((x, y, z))
        q = z - (z - x) * (z - y) / (z - p)
        a, b = x * y / z, -p * q / z
        last = mp.sqrt(a / (a + b)) * mp.elliprc(a + b, b)
        return (3 * last - 3 * mp.elliprf(x, y, z) - (z - q) * mp.elliprj(x, y, z, q)) / (z - p)


def true_integral(kind, n, phi, m):
    """F, E or Pi from symmetric integrals; phi = None for the complete one."""
    turns = 0 if phi is None else int(mp.nint(mpf(phi) / mp.pi))
    s, c = (mpf(1), mpf(0)) if phi is None else (mp.sin(mpf(phi) - turns * mp.pi), mp.cos(mpf(phi) - turns * mp.pi))
    d = 1 - m * s * s
    value = s * mp.elliprf(c * c, d, 1)
    if kind == "E":
        value -= m * s**3 / 3 * mp.elliprd(c * c, d, 1)
    if kind == "Pi":
        value += mpf(n) * s**3 / 3 * true_rj(c * c, d, mpf(1), 1 - mpf(n) * s * s)
    return value + (2 * turns * true_integral(kind, n, None, m) if turns else 0)


REAL_PARAMETERS = {  # m <= 1
    "m": st.one_of(st.sampled_from([0.0, 0.5, -1.0, 5e-324]), st.floats(-5.0, 0.999), st.floats(-300.0, 0.0).map(
        lambda x: -(10.0**-x))),
    "k": st.floats(-0.999, 0.999),
    "mc": st.one_of(logarithmic(-323.0, 0.0), logarithmic(0.0, 300.0)),
}  # fmt: skip
AMPLITUDES = st.one_of(
    st.floats(-pi / 2, pi / 2),
    logarithmic(-300.0, -2.0),
    logarithmic(-16.0, -1.0).map(lambda x: pi / 2 * (1.0 - x)),
    st.just(pi / 2),
)
BEYOND = st.one_of(
    st.floats(-60.0, 60.0),
    st.integers(-2000, 2000).map(lambda j: j * pi / 2),
    logarithmic(2.0, 22.0),
    st.floats(1.5, 1.7),
)


def check_integral(kind, phi, data, bound):
    name = data.draw(st.sampled_from(["m", "k", "mc"]))
    value = data.draw(REAL_PARAMETERS[name])
    with digits_for(name, value):
        truth = true_integral(kind, 0.0, phi, MODULI[name](value))
        function = {"F": elliptic.F, "E": elliptic.E}[kind]
        assert error(function(phi, **{name: value}), truth) <= bound


@pytest.mark.parametrize("kind", ["F", "E"])
@thorough
@given(phi=AMPLITUDES, data=st.data())
def test_first_and_second_kind(kind, phi, data):
    check_integral(kind, phi, data, 6)


@pytest.mark.parametrize("kind", ["F", "E"])
@thorough
@given(phi=BEYOND, data=st.data())
def test_first_and_second_kind_beyond_a_quarter(kind, phi, data):
    """Next to pi/2 the integral is a difference, 2K - F: its terms are up to twice as large."""
    check_integral(kind, phi, data, 13)


@thorough
@given(data=st.data())
def test_complete_first_and_second_kind(data):
    name = data.draw(st.sampled_from(["m", "k", "mc"]))
    value = data.draw(REAL_PARAMETERS[name])
    with digits_for(name, value):
        m = MODULI[name](value)
        assert error(elliptic.K(**{name: value}), mp.elliprf(0, 1 - m, 1)) <= 6
        assert error(elliptic.E(**{name: value}), 2 * mp.elliprg(0, 1 - m, 1)) <= 9


@thorough
@given(share=st.floats(-1.0, 1.0), m=st.one_of(logarithmic(0.0, 100.0), st.floats(1.0, 2.0)), n=st.floats(-3.0, 0.9))
def test_parameters_beyond_1(share, m, n):
    """Real up to m sin^2(phi) = 1, where rounding phi alone has an infinite effect."""
    phi = 0.99 * share * float(mp.asin(1 / mp.sqrt(mpf(m))))
    for kind, value in (("F", elliptic.F(phi, m=m)), ("E", elliptic.E(phi, m=m)), ("Pi", elliptic.Pi(n, phi, m=m))):
        assert error(value, true_integral(kind, n, phi, mpf(m))) <= 60


CHARACTERISTICS = {
    "below 1": st.one_of(st.floats(0.0, 0.999), logarithmic(-15.0, -1.0).map(lambda x: 1.0 - x)),
    "negative": st.one_of(logarithmic(-300.0, 0.0), logarithmic(0.0, 20.0)).map(lambda x: -x),
    "principal value": st.one_of(st.floats(1.001, 3.0), logarithmic(0.5, 8.0)),
}


@pytest.mark.parametrize("kind", CHARACTERISTICS)
@thorough
@given(phi=st.one_of(AMPLITUDES, st.floats(-30.0, 30.0), st.none()), data=st.data())
def test_third_kind(kind, phi, data):
    name = data.draw(st.sampled_from(["m", "k", "mc"]))
    value = data.draw(REAL_PARAMETERS[name].filter(lambda x: abs(x) < 1e40 and (name != "mc" or x > 1e-60)))
    n = data.draw(CHARACTERISTICS[kind])
    with digits_for(name, value):
        m, h = MODULI[name](value), mpf(2) ** -53
        truth = true_integral("Pi", n, phi, m)
        rounding = abs(true_integral("Pi", mpf(n) * (1 + h), phi, m) - truth) if kind == "principal value" else 0
        assert error(elliptic.Pi(n, phi, **{name: value}), truth, 4 * rounding) <= 15


@pytest.mark.parametrize(("n", "m", "phi"), [(2.0, 0.5, 1.0), (5.0, -3.0, 0.9), (1.25, 0.9, 1.4)])
def test_principal_value_by_quadrature(n, m, phi):
    """x = tan t moves the pole to 1/sqrt(n - 1); what remains after it is taken away is smooth."""
    b, X = mpf(n) - 1, mp.tan(mpf(phi))
    pole = 1 / mp.sqrt(b)

    def weight(x):
        return mp.sqrt((1 + x * x) / (1 + (1 - mpf(m)) * x * x))

    with mp.workdps(60):
        smooth = mp.quad(lambda x: (weight(x) - weight(pole)) / (1 - b * x * x), [0, pole / 2, pole, X])
    truth = smooth + weight(pole) * pole / 2 * mp.log(abs((pole + X) / (pole - X)))
    assert error(elliptic.Pi(n, phi, m=m), truth) <= 20


def test_integrals_that_are_infinite():
    assert elliptic.K(m=1.0) == elliptic.K(mc=0.0) == inf
    assert elliptic.E(m=1.0) == 1.0
    assert elliptic.F(2.0, m=1.0) == inf
    assert elliptic.F(-2.0, m=1.0) == -inf
    assert elliptic.F(inf, m=0.5) == inf
    assert elliptic.E(-inf, m=0.5) == -inf
    assert elliptic.Pi(1.0, m=0.5) == inf
    assert elliptic.Pi(1.0, 2.0, m=0.5) == inf
    assert elliptic.Pi(0.5, m=1.0) == inf
    assert elliptic.Pi(2.0, m=1.0) == -inf
    assert isnan(elliptic.F(nan, m=0.5))
    assert isnan(elliptic.Pi(nan, m=0.5))
    assert isnan(elliptic.K(m=nan))


# Carlson's integrals

wide = logarithmic(-150.0, 150.0)
wide_or_zero = st.one_of(st.just(0.0), wide)


@thorough
@given(x=wide_or_zero, y=wide, z=wide)
def test_symmetric_integrals(x, y, z):
    assert error(elliptic.RF(x, y, z), mp.elliprf(x, y, z)) <= 6
    assert error(elliptic.RD(x, y, z), mp.elliprd(x, y, z)) <= 10
    assert error(elliptic.RG(x, y, z), mp.elliprg(x, y, z)) <= 8
    assert error(elliptic.RC(x, y), mp.elliprc(x, y)) <= 5


@thorough
@given(
    x=st.one_of(st.just(0.0), logarithmic(-9.0, 9.0)),
    y=logarithmic(-9.0, 9.0),
    z=logarithmic(-9.0, 9.0),
    p=logarithmic(-9.0, 9.0),
    sign=st.sampled_from([-1.0, 1.0]),
)
def test_symmetric_integral_of_the_third_kind(x, y, z, p, sign):
    truth = true_rj(mpf(x), mpf(y), mpf(z), mpf(sign * p))
    terms = 3 * mp.elliprf(x, y, z) / (p + sorted((x, y, z))[1]) if sign < 0 else 0  # of the difference
    assert error(elliptic.RJ(x, y, z, sign * p), truth, 8 * EPS * terms) <= 14


@pytest.mark.parametrize("size", [1e-308, 1e308, 5e-324])
def test_symmetric_integrals_of_extreme_size(size):
    for arguments in ((size, size, size), (0.0, size, size), (0.0, size, 0.3 * size)):
        if 0.3 * size == 0.0 and arguments[2] != size:
            continue
        assert error(elliptic.RF(*arguments), mp.elliprf(*map(mpf, arguments))) <= 10
        assert error(elliptic.RG(*arguments), mp.elliprg(*map(mpf, arguments))) <= 10


def test_symmetric_integrals_published():
    """Carlson, Numer. Algorithms 10 (1995) 13, section 3."""
    assert f"{elliptic.RJ(2.0, 3.0, 4.0, -5.0):.13f}" == "-0.1271123004296"
    assert f"{elliptic.RJ(2.0, 3.0, 4.0, -0.5):.13f}" == "0.2472381970305"
    assert f"{elliptic.RD(0.0, 2.0, 1.0):.13f}" == "1.7972103521034"
    assert f"{elliptic.RD(2.0, 3.0, 4.0):.14f}" == "0.16510527294261"
    assert f"{elliptic.RG(0.0, 16.0, 16.0):.13f}" == "3.1415926535898"
    assert f"{elliptic.RG(2.0, 3.0, 4.0):.13f}" == "1.7255030280692"
    assert f"{elliptic.RG(0.0, 0.0796, 4.0):.13f}" == "1.0284758090288"


def test_symmetric_integrals_that_are_infinite():
    assert elliptic.RF(0.0, 0.0, 1.0) == elliptic.RC(1.0, 0.0) == elliptic.RD(1.0, 2.0, 0.0) == inf
    assert elliptic.RJ(1.0, 2.0, 3.0, 0.0) == elliptic.RJ(0.0, 0.0, 3.0, 1.0) == inf
    assert elliptic.RG(0.0, 0.0, 4.0) == 1.0
    assert elliptic.RG(0.0, 0.0, 0.0) == 0.0
    assert isnan(elliptic.RJ(1.0, 2.0, 3.0, nan))


# Arrays


def test_arrays_broadcast_and_numbers_stay_numbers():
    u, m = np.linspace(-3, 3, 7)[:, None], np.array([0.0, 0.5, 1.0])
    results = elliptic.ellipj(u, m)
    assert all(x.shape == (7, 3) for x in results)
    for i in range(7):
        for j in range(3):
            assert elliptic.ellipj(float(u[i, 0]), float(m[j])) == tuple(x[i, j] for x in results)
    assert isinstance(elliptic.K(m=0.5), float)
    assert elliptic.K(m=[0.5]).shape == (1,)
    assert elliptic.Pi(0.1, np.ones((2, 1)), k=np.zeros((1, 0))).shape == (2, 0)
    frozen = np.broadcast_to(0.5, 4)
    assert np.array_equal(elliptic.RF(frozen, 1, 2), np.full(4, elliptic.RF(0.5, 1, 2)))


@pytest.mark.dense
def test_results_do_not_depend_on_threads(monkeypatch):
    u, m = np.linspace(-30, 30, 50_000), np.linspace(-2, 2, 50_000)
    monkeypatch.setenv("POLHODE_NUM_THREADS", "1")
    alone = elliptic.ellipj(u, m)
    monkeypatch.setenv("POLHODE_NUM_THREADS", "3")
    for x, y in zip(alone, elliptic.ellipj(u, m), strict=True):
        assert np.array_equal(x, y)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: elliptic.ellipj(1.0), "ellipj expected exactly one of m, the parameter, .* got none of them"),
        (lambda: elliptic.E(0.5), r"got none of them; for the complete integral, type E\(m=...\)"),
        (lambda: elliptic.F(1.0, m=0.5, mc=0.5), "got m and mc"),
        (lambda: elliptic.ellipj([1.0, 1e20], m=0.5), r"u\[1\] = 1e\+20, m = 0.5: expected at most 1e14 quarter"),
        (lambda: elliptic.ellipj(1.0, mc=inf), "mc = inf: expected a finite parameter"),
        (lambda: elliptic.K(m=[0.5, 2.0]), r"K with m\[1\] = 2: a complete integral is not real for m > 1"),
        (lambda: elliptic.F([[0.1], [1.0]], m=2.0), r"phi\[1, 0\] = 1, m = 2: for m > 1 the integral is real"),
        (lambda: elliptic.Pi(inf, m=0.5), "Pi with n = inf, m = 0.5: expected finite arguments"),
        (lambda: elliptic.RF(1.0, -1.0, 2.0), "RF with x = 1, y = -1, z = 2: expected no negative argument"),
        (lambda: elliptic.RJ(1.0, -1.0, 2.0, -1.0), "expected no negative argument but p"),
        (lambda: elliptic.RD(1.0, inf, 2.0), "every argument must be finite"),
        (lambda: elliptic.RC(1e-200, 1e200), "0 or at least 1e-300 of the largest one"),
    ],
)
def test_errors_say_what_is_expected(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_shapes_that_do_not_broadcast():
    with pytest.raises(ShapeError, match="do not broadcast"):
        elliptic.F(np.ones(2), m=np.zeros(3))
