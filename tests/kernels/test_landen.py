"""Landen's transformations against mpmath, in doubles (units of 2^-53) and, uncompiled, in many digits."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from conftest import EPS
from multiprecision import exchange_functions, uncompiled_only
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.numbers import landen

PARAMETERS = [0.0, 1e-9, 0.1, 0.5, 0.9, 0.99]
ARGUMENTS = [-50.0, -3.3, -1e-5, 0.0, 0.2, 1.0, 1.6, 4.0, 11.0, 300.0]


@entry_point("f8(f8, f8, f8[::1])", cache=False)
def first_kind(phi, k2, r):
    levels, scale = landen.mean_ratios(k2, r, 0)
    return landen.ascend(phi, r, 0, levels) / scale


@entry_point("f8(f8, f8, f8[::1])", cache=False)
def amplitude(u, k2, r):
    levels, scale = landen.mean_ratios(k2, r, 0)
    return landen.descend(scale * u, r, 0, levels)


@entry_point("i8(f8, f8[::1])", cache=False)
def levels(k2, r):
    return landen.mean_ratios(k2, r, 0)[0]


def table():
    return np.zeros(landen.LEVELS)


@pytest.mark.parametrize("k2", PARAMETERS)
@pytest.mark.parametrize("phi", ARGUMENTS)
def test_integral_of_the_first_kind(phi, k2):
    """Beyond pi/2 too. Near k = 1 the start from k costs digits: 1/k' is in the bound."""
    with mp.workdps(30):
        exact = mp.ellipf(mpf(phi), mpf(k2))
        error = abs(first_kind(phi, k2, table()) - exact)
    assert error <= 4 * EPS * float(abs(exact)) / (1 - k2)


@pytest.mark.parametrize("k2", PARAMETERS)
@pytest.mark.parametrize("u", ARGUMENTS)
def test_amplitude_and_jacobi_functions(u, k2):
    """sn, cn, dn of the amplitude, and its inverse, which knows how often it has turned."""
    am = amplitude(u, k2, table())
    bound = 4 * EPS * (1 + abs(u)) / (1 - k2)
    with mp.workdps(30):
        for name, value in (("sn", np.sin(am)), ("cn", np.cos(am)), ("dn", np.sqrt(1 - k2 * np.sin(am) ** 2))):
            assert abs(value - mp.ellipfun(name, mpf(u), m=mpf(k2))) <= bound
        assert abs(mp.ellipf(mpf(am), mpf(k2)) - mpf(u)) <= bound / (1 - k2) ** 0.5


@pytest.mark.parametrize("k2", [0.2, 0.8])
def test_half_periods(k2):
    """am(u + 2 K) = am(u) + pi."""
    with mp.workdps(30):
        period = float(2 * mp.ellipk(mpf(k2)))
    for turns in (1, -1, 7, -30):
        shifted = amplitude(0.4 + turns * period, k2, table()) - amplitude(0.4, k2, table())
        assert abs(shifted - turns * np.pi) <= 20 * EPS * (1 + abs(turns * period))


def test_levels():
    """As many as convergence takes, up to the last k below 1."""
    counts = [levels(k2, table()) for k2 in (0.0, 0.5, 0.99, 1 - 2.0**-53)]
    assert counts == sorted(counts)
    assert counts[0] == 1
    assert counts[-1] < landen.LEVELS


@uncompiled_only
@pytest.mark.parametrize("k2", ["0.1", "0.75", "0.99999"])
def test_many_digits(k2, monkeypatch):
    """The mean stops where numbers of any precision need it to."""
    with mp.workdps(60):
        exchange_functions(monkeypatch)
        k2, u, r = mpf(k2), mpf("3.7"), [0.0] * landen.LEVELS
        count, scale = landen.mean_ratios(k2, r, 0)
        am = landen.descend(scale * u, r, 0, count)
        assert abs(mp.ellipf(am, k2) - u) < mpf(10) ** -50
        assert abs(landen.ascend(am, r, 0, count) / scale - u) < mpf(10) ** -50
        assert abs(mp.sin(am) - mp.ellipfun("sn", u, m=k2)) < mpf(10) ** -50
