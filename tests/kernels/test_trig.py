"""sincos against mpmath: absolute errors in units of 2^-53, with all digits of huge arguments."""

from __future__ import annotations

from math import pi, ulp

import numpy as np
import pytest
from mpmath import mp, mpf

from conftest import EPS
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.numbers import trig

BOUND = 4.0  # reached: 1.2 compiled and 1.3 uncompiled


@entry_point("UniTuple(f8,2)(f8,f8)", cache=False)
def sincos(x, low):
    return trig.sincos(x, low)


@entry_point("UniTuple(f8,2)(f8,f8)", cache=False)
def sincos_of_sum(x, y):
    return trig.sincos_of_sum(x, y)


@entry_point("f8(f8)", cache=False)
def rint(x):
    return trig.rint(x)


def errors(x, low=0.0):
    """Absolute errors of sine and cosine in EPS; 400 digits hold the whole turns of 1e300."""
    s, c = sincos(x, low)
    with mp.workdps(40 if abs(x) < 1e10 else 400):
        angle = mpf(x) + mpf(low)
        return float(abs(s - mp.sin(angle)) / EPS), float(abs(c - mp.cos(angle)) / EPS)


def signed(rng, values):
    return (rng.choice((-1.0, 1.0), len(values)) * values).tolist()


@pytest.mark.parametrize("largest", [0.8, 10.0, 1e3, trig.MANY])
def test_within_its_own_range(largest, rng):
    for x in [*signed(rng, rng.uniform(0, largest, 1500)), largest, -largest]:
        assert max(errors(x)) <= BOUND, x


def test_any_size(rng):
    for x in [*signed(rng, 10.0 ** rng.uniform(-300, 300, 800)), 1e300, -1e300, 1.7976931348623157e308]:
        assert max(errors(x)) <= BOUND, x


def test_both_sides_of_the_switch():
    beyond = trig.MANY
    for _ in range(20):
        beyond += ulp(beyond)
        assert max(errors(beyond)) <= BOUND
        assert max(errors(2 * trig.MANY - beyond)) <= BOUND


def test_next_to_multiples_of_half_pi(rng):
    turns = [*range(-40, 41), *rng.integers(-600_000, 600_000, 300).tolist()]
    for n in turns:
        with mp.workdps(40):
            nearest = float(n * mp.pi / 2)
        for k in (-3, -1, 0, 1, 2):
            x = nearest + k * ulp(nearest)
            assert max(errors(x)) <= BOUND, x
            if n and abs(n) < 1e5:  # what is small is also right relative to its size
                value = sincos(x, 0.0)[0 if n % 2 == 0 else 1]
                with mp.workdps(40):
                    truth = mp.sin(x) if n % 2 == 0 else mp.cos(x)
                assert abs(value / truth - 1) <= 1e-8


def test_worst_case_of_range_reduction():
    """The double closest to a multiple of pi/2, relative to its size (Muller, Elementary Functions, table 11.1)."""
    x = 6381956970095103.0 * 2.0**797
    assert max(errors(x)) <= BOUND
    assert abs(sincos(x, 0.0)[1]) < 1.5e-18


@pytest.mark.parametrize("x", [0.0, 5e-324, 1e-300, -1e-200, 2.0**-30, -1e-9, 1e-8])
def test_tiny(x):
    s, c = sincos(x, 0.0)
    assert abs(s - x) <= EPS * abs(x)
    assert c == 1.0
    assert sincos(-x, 0.0) == (-s, c)


@pytest.mark.parametrize("scale", [1.0, 50.0, 1e5, 1e9, 1e14])
def test_low_part_counts(scale, rng):
    """x + low: an ulp of 1e14 is 2^-6, so that low moves the result by much more than its error."""
    moved = 0
    for x, part in zip(signed(rng, rng.uniform(0.5, 1, 300) * scale), rng.uniform(-1, 1, 300).tolist(), strict=True):
        low = part * ulp(x)
        assert max(errors(x, low)) <= BOUND + 0.5, (x, low)
        moved += sincos(x, low) != sincos(x, 0.0)
    assert moved > (30 if scale == 1.0 else 250)


def test_no_term_is_missing(rng):
    """At the end of the polynomials' range the mean error is their remainder; the next terms are below 1e-3 eps."""
    xs = rng.uniform(0.76, 0.785, 1000).tolist()
    with mp.workdps(40):
        sine = [float((sincos(x, 0.0)[0] - mp.sin(x)) / EPS) for x in xs]
        cosine = [float((sincos(x, 0.0)[1] - mp.cos(x)) / EPS) for x in xs]
    assert abs(np.mean(sine)) <= 0.1
    assert abs(np.mean(cosine)) <= 0.1


@pytest.mark.parametrize("size", [1e-12, 1e-4, 0.03, trig.SLIGHT, 1.0000001 * trig.SLIGHT, 2.0, 1e4])
def test_sum(size, rng):
    """A slight y is never rounded into x; otherwise the rounding of x + y comes on top."""
    x, y = signed(rng, 10.0 ** rng.uniform(-3, 5, 600)), signed(rng, rng.uniform(0.99, 1, 600) * size)
    for a, b in zip(x, y, strict=True):
        s, c = sincos_of_sum(a, b)
        with mp.workdps(40):
            angle = mpf(a) + mpf(b)
            error = max(abs(s - mp.sin(angle)), abs(c - mp.cos(angle))) / EPS
        rounding = 0.0 if abs(b) <= trig.SLIGHT else ulp(a + b) / (2 * EPS)
        assert error <= 2.7 + rounding, (a, b)


def test_no_term_of_the_slight_series_is_missing(rng):
    errors = []
    for x, part in rng.uniform((-0.7, 0.98), (0.7, 1.0), (1000, 2)).tolist():
        y = part * trig.SLIGHT
        s, c = sincos_of_sum(x, y)
        with mp.workdps(40):
            s, c = s - mp.sin(mpf(x) + y), c - mp.cos(mpf(x) + y)
            turn = mp.cos(x) * s - mp.sin(x) * c, mp.sin(x) * s + mp.cos(x) * c  # errors of sin y and cos y
        errors.append([float(e / EPS) for e in turn])
    assert np.abs(np.mean(errors, axis=0)).max() <= 0.15


def test_quarters():
    """Signs in all four quarters, on both sides of zero."""
    for k in range(-9, 10):
        for offset in (-0.7, 0.0, 0.7):
            x = k * pi / 2 + offset
            np.testing.assert_allclose(sincos(x, 0.0), (np.sin(x), np.cos(x)), atol=4 * EPS, rtol=0)


def test_rint_is_to_nearest_even():
    assert [rint(x) for x in (0.5, 1.5, 2.5, -0.5, -1.5, 0.49999999999999994, 1e300)] == [0, 2, 2, 0, -2, 0, 1e300]
