"""The generated constants, and that the terms and nodes chosen at run time are enough at every size of the step."""

from __future__ import annotations

import importlib.util
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from mpmath import mp, mpf

from conftest import EPS, ROOT
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.exact import euler
from polhode.kernels.numbers import series


def load_generator():
    spec = importlib.util.spec_from_file_location("generate_series", ROOT / "scripts" / "generate_series.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generator = load_generator()


# The generated file


def check(monkeypatch, target):
    monkeypatch.setattr(generator, "TARGET", target)
    monkeypatch.setattr("sys.argv", ["generate_series.py", "--check"])
    generator.main()


def test_file_is_what_the_generator_writes(monkeypatch):
    check(monkeypatch, generator.TARGET)


@pytest.mark.parametrize("digits", ["1989.0", "0.6", "0.8211619131854208", "39916800.0", "1.5707963"])
def test_one_changed_digit_is_found(digits, monkeypatch, tmp_path):
    text = generator.TARGET.read_text()
    assert digits in text
    last = digits.rstrip("0").rstrip(".")[-1]
    place = text.index(digits) + digits.rindex(last)
    copy = tmp_path / "series.py"
    copy.write_text(text[:place] + str((int(last) + 1) % 10) + text[place + 1 :])
    with pytest.raises(SystemExit, match="out of date"):
        check(monkeypatch, copy)
    monkeypatch.setattr("sys.argv", ["generate_series.py"])
    generator.main()
    assert copy.read_text() == text


def test_weierstrass_coefficients():
    """As printed in Abramowitz and Stegun 18.5.2 - 18.5.24 (there with c2 = a, c3 = b)."""
    known = {
        (2, 0): "1/3", (1, 1): "3/11", (3, 0): "2/39", (0, 2): "1/13", (2, 1): "2/33", (4, 0): "5/663",
        (1, 2): "60/2431", (3, 1): "29/2717", (0, 3): "1/247", (5, 0): "2/1989", (2, 2): "485/80223",
        (1, 0): "1", (0, 1): "1",
    }  # fmt: skip
    found = generator.weierstrass_laurent(generator.HIGHEST_WEIGHT)
    assert found == {key: Fraction(value) for key, value in known.items()}
    for j, row in enumerate((series.WP0, series.WP1, series.WP2, series.WP3)):
        start = 1 if j in (0,) else 0
        expected = [float(found[i, j]) for i in range(10) if (i, j) in found]
        assert list(row[start:]) == expected


def test_weierstrass_series_is_wp():
    """t^2/S^2 = 1 + (p + r)/3 + sum c_ij a^i b^j has a remainder of order t^22 (weight 11), in high precision."""
    terms = generator.weierstrass_laurent(generator.HIGHEST_WEIGHT)

    def remainder(t):
        p, r = mpf("0.9") * t**2, mpf("0.37") * t**2
        a, b = (p * p - p * r + r * r) / 15, (p + r) * (2 * p - r) * (p - 2 * r) / 189
        value = 1 + (p + r) / 3 + sum(mpf(c.numerator) / c.denominator * a**i * b**j for (i, j), c in terms.items())
        sn = mp.ellipfun("sn", mp.sqrt(p), m=r / p)
        return abs(value - p / sn**2)

    with mp.workdps(60):
        order = mp.log(remainder(mpf("0.2")) / remainder(mpf("0.1")), 2)
    assert order == pytest.approx(22, abs=0.1)


@pytest.mark.parametrize("nodes", range(1, generator.MOST_NODES + 1))
def test_quadrature_is_exact_up_to_its_degree(nodes):
    first = 0 if nodes == 1 else series.FIRST[nodes]
    x = [Fraction(v) for v in series.NODE[first : first + nodes]]
    w = [Fraction(v) for v in series.WEIGHT[first : first + nodes]]
    assert sorted(x) == x
    assert 0 < x[0] <= x[-1] < 1

    def error(k):
        return abs(sum(a * b**k for a, b in zip(w, x, strict=True)) * (2 * k + 3) - 1)

    for k in range(2 * nodes):
        assert error(k) <= (k + 2) * EPS
    assert error(2 * nodes) > 1e-13  # one degree more is not


def test_rules_follow_each_other():
    assert list(series.FIRST[1:]) == [m * (m - 1) // 2 for m in range(1, generator.MOST_NODES + 1)]
    assert len(series.NODE) == len(series.WEIGHT) == sum(range(1, generator.MOST_NODES + 1))


def test_half_pi_in_parts():
    a, b, c = series.HALF_PI
    for part in (a, b):
        assert all(Fraction(part * n) == Fraction(part) * n for n in (2**20 - 1, 3**12, 999_983))
    with mp.workdps(60):
        assert abs(mpf(a) + mpf(b) + mpf(c) - mp.pi / 2) < 2.0**-118


# Terms and nodes at run time


@entry_point("UniTuple(f8,5)(f8,f8,f8)", cache=False)
def small_arc(p, r, n):
    arc, theta = euler.small_arc(p, r, n)
    return arc.s, arc.r, arc.c, arc.d, theta


def limits():
    """Every number in (0, SMALL] that the module or its two functions name: the tiers are among them."""
    generated = vars(series).values()
    named = [x for x in vars(euler).values() if isinstance(x, float | tuple) and not any(x is y for y in generated)]
    for helper in (euler.small_arc, euler.third_kind):
        named += getattr(helper, "py_func", helper).__code__.co_consts
    flat = [x for value in named for x in (value if isinstance(value, tuple) else (value,))]
    return sorted({x for x in flat if isinstance(x, float) and 1e-4 < x <= euler.SMALL})


def true_arc(p, r, n, t=1):
    """S, C, D_ at t and int_0^t n S^2/(1 + n S^2), by Jacobi's functions and Carlson's R_J (DLMF 19.25.14)."""
    p, r, n, t = map(mpf, (p, r, n, t))
    rate = mp.sqrt(max(p, r))
    sn, cn, dn = (mp.ellipfun(kind, rate * t, m=min(p, r) / max(p, r)) for kind in ("sn", "cn", "dn"))
    C, D_ = (cn, dn) if p >= r else (dn, cn)
    S = sn / rate
    theta = n / 3 * mp.elliprj(1 / S**2, 1 / S**2 - p, 1 / S**2 - r, 1 / S**2 + n)
    return S, C, D_, theta


def test_truth_is_the_defining_integral():
    for p, r, n in ((0.2, 0.06, 0.1), (0.05, 0.2, 0.02), (0.15, 0.15, 0.15)):

        def integrand(t, p=p, r=r, n=n):
            S2 = true_arc(p, r, n, t)[0] ** 2
            return n * S2 / (1 + n * S2)

        with mp.workdps(25):
            assert abs(mp.quad(integrand, [0, 1]) / true_arc(p, r, n)[3] - 1) < 1e-20


RATIOS = [(1.0, 1.0), (1.0, 0.5), (1.0, 0.9), (0.3, 1.0), (1.0, 1e-3), (1e-8, 1.0), (1.0, 0.0), (0.0, 1.0), (0.75, 1.0)]


def sizes():
    at_limits = [limit * (1 + side) for limit in limits() for side in (-1e-14, 0.0, 1e-14)]
    return [x for x in at_limits if x <= euler.SMALL] + np.geomspace(1e-9, euler.SMALL, 40).tolist()


def arc_errors(p, r, n):
    """Signed errors in eps: of S, C, D_ relative to themselves, of Theta/be relative to 1 and relative to itself."""
    s, root, c, d, theta = small_arc(p, r, n)
    with mp.workdps(40):
        S, C, D_, truth = true_arc(p, r, n)
        found = [(mpf(x) / mpf(root) / y - 1) / EPS for x, y in ((s, S), (c, C), (d, D_))]
        found += [(theta - truth) / EPS, (theta - truth) / (truth or 1) / EPS]
    return [float(x) for x in found]


@pytest.mark.parametrize(("p", "r"), RATIOS)
def test_terms_and_nodes_are_enough(p, r):
    """S, C, D_ to their last digits, and Theta to the last digits of the angle |m| (w t + Theta) that it is part of.

    A rule with M nodes leaves 0.27 eps of |m| be at the end of its range, which for the shortest steps is a few
    hundred eps of the then tiny Theta itself.
    """
    assert {euler.SHORT, euler.SMALL} <= set(limits())
    for size in sizes():
        for part in (0.0, 1e-6, 0.4, 1.0):
            S, C, D_, of_angle, of_itself = map(abs, arc_errors(p * size, r * size, part * size * sqrt(p * r)))
            assert max(S, C, D_) <= 7, (size, part)
            assert of_angle <= 0.4, (size, part)
            assert of_itself <= (8 if size < 1e-4 else 500), (size, part)


@pytest.mark.parametrize("limit", [euler.SHORT, euler.SMALL])
@pytest.mark.parametrize(("p", "r"), [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0)])
def test_no_term_is_missing(p, r, limit):
    """Where rounding averages out, what is left is the remainder of the series: largest at the end of its range."""
    near = np.linspace(0.99, 1.0, 200) * limit
    errors = np.array([arc_errors(p * size, r * size, 0.0)[:3] for size in near.tolist()])
    assert np.abs(errors.mean(axis=0)).max() <= 0.6  # reached: 0.47 at the end of all fifteen terms
