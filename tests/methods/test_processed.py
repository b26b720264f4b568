"""Schemes with a processor: order conditions of what is seen, and runs whose states are corrected when looked at."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import factorial

import numpy as np
import pytest

import polhode as ph
from oracles import lie
from polhode import problems, schemes
from polhode.core.errors import InputError
from polhode.integration import running
from polhode.methods.scheme import Scheme
from polhode.solve import integrate

CORRECTORS = ("WH17", "WH17G")  # of order eps
GROWING = 3.546e-8  # of PABA1264, in units of eps^2 h^6 w^5
PAYING = {"ABA1064": 2.0, "PABA1264": 1.25}  # steps, for the same number of torques
NAMES = (*CORRECTORS, "PABA1264")


def whole(scheme):
    """What leads from one state that is seen to the next."""
    return *scheme.preprocessor, *scheme.stages, *scheme.processor


@pytest.mark.parametrize("name", CORRECTORS)
def test_generalized_orders_are_as_declared(name):
    scheme = schemes.get(name)
    residuals = lie.residuals(whole(scheme), 6, nystrom=scheme.rkn_only)
    weak, strong = scheme.generalized_order
    assert max(x for (_, kicks), x in residuals.items() if kicks == 1) < 1e-40
    assert max(x for (length, _), x in residuals.items() if length <= strong) < 1e-40
    assert residuals[strong + 1, 2] > 1e-3
    moments = [sum(b * t**n for t, b in kicks_of(scheme)) - Fraction(1, n + 1) for n in range(weak + 3)]
    assert not any(moments[: weak + 1])
    assert any(moments[weak + 1 :])


def test_generalized_orders_of_second_order_in_the_torque():
    scheme = schemes.get("PABA1264")
    orders = dict(enumerate(scheme.generalized_order, 1))
    residuals = lie.residuals(whole(scheme), 7)
    for (length, kicks), x in residuals.items():
        assert x < 1e-40 or length > orders.get(kicks, 4), (length, kicks)
    assert 1e-8 < residuals[7, 2] < 1e-6
    assert residuals[5, 3] > 1e-4
    moments = [abs(sum(b * t**n for t, b in kicks_of(scheme)) - Fraction(1, n + 1)) for n in range(13)]
    assert max(moments[:12]) < 1e-40
    assert moments[12] > 1e-7


@pytest.mark.dense
def test_all_but_what_grows_is_corrected():
    """Terms (x + y)^a (x - y)^b of [x^p B, y^q B], in fractions: of those up to a + b = 7 only a = 0 is left."""
    kicks = [(t - Fraction(1, 2), b) for t, b in kicks_of(schemes.get("PABA1264"))]
    left = {}
    for a, b in product(range(8), range(1, 8, 2)):
        exact = 0 if a % 2 else Fraction(-factorial(a) * factorial(b), factorial(a + b + 2))
        found = sum(v * w * (s + t) ** a * (s - t) ** b for (s, v), (t, w) in combinations(kicks, 2))
        left[a, b] = abs(float(found - exact))
    assert {(a, b) for (a, b), x in left.items() if a + b <= 7 and x > 1e-40} == {(0, 5), (0, 7)}
    assert left[0, 5] / factorial(5) == pytest.approx(GROWING, rel=1e-3)


def test_secular_terms_of_second_order():
    """Of a torque e^(i w t) + e^(-i w t), by the sum over all pairs of kicks of a long run; exactly it is 1/w.

    Kicks of one step are summed as they are, those n = 1, 2, ... steps earlier in the sense of Abel: the sum of
    sin(w (n + t)) is cos(w (t + 1/2))/(2 sin(w/2)). No processor has a part in it.
    """

    def excess(name, w):
        t, found = 0.0, []
        for letter, x in schemes.get(name).stages:
            t += float(x) if letter == "A" else 0.0
            found += [(t, float(x))] if letter == "B" else []
        for i, (t, b) in enumerate(found):
            yield from (b * c * np.sin(w * (t - s)) for s, c in found[:i])
            yield from (b * c * np.cos(w * (t - s + 0.5)) / (2 * np.sin(w / 2)) for s, c in found)
        yield -1 / w

    for w in (0.5, 1.0, 2.0):
        ours, theirs = sum(excess("PABA1264", w)), sum(excess("ABA1064", w))
        assert abs(ours) < 0.08 * abs(theirs)
        assert ours == pytest.approx(-GROWING * w**5, rel=0.02)


def kicks_of(scheme):
    t, found = Fraction(0), []
    for letter, x in whole(scheme):
        t += x if letter == "A" else 0
        found += [(t, x)] if letter == "B" else []
    return found


@pytest.mark.parametrize("name", NAMES)
def test_without_processor_the_quadrature_has_order_2(name):
    scheme = schemes.get(name)
    with pytest.raises(InputError, match="taken as a quadrature"):
        Scheme("bare", scheme.order, scheme.stages, scheme.generalized_order, scheme.rkn_only)


@pytest.mark.dense
@pytest.mark.parametrize(("name", "weak"), [("WH17", 2e-12), ("WH17G", 2e-12), ("PABA1264", 2e-12)])
def test_a_very_weak_torque(name, weak):
    """Errors of first order in the torque are gone; those of V2, the same steps alone, are not."""
    problem = problems.heavy_top(1e-6, t_end=200.0)
    truth = integrate(problem, method="ABA1064", h=0.5)
    error = {s: np.abs(integrate(problem, method=s, h=0.25).q[-1] - truth.q[-1]).max() for s in (name, "V2")}
    assert error[name] < weak
    assert error["V2"] > 1000 * weak


@pytest.mark.dense
def test_the_gradient_kick_removes_what_grows():
    """In units of eps^2: at the end of a long run, and by which power of the step."""
    errors = {}
    for name in CORRECTORS:
        for h in (0.2, 0.1):
            problem = problems.heavy_top(1e-2, t_end=200.0)
            truth = integrate(problem, method="RKN8_19", h=0.05)
            errors[name, h] = np.abs(integrate(problem, method=name, h=h).q[-1] - truth.q[-1]).max()
    assert np.log2(errors["WH17", 0.2] / errors["WH17", 0.1]) == pytest.approx(2, abs=0.3)
    assert errors["WH17G", 0.2] < 0.05 * errors["WH17", 0.2]
    assert np.log2(errors["WH17G", 0.2] / errors["WH17G", 0.1]) > 2.7


@pytest.mark.dense
def test_it_pays_on_long_runs():
    """The same torques as ABA1064, longer steps for each of them: errors that are far smaller."""
    problem = problems.perturbed(t_end=5000.0)
    truth = integrate(problem, method="RKN8_19", h=0.25, save_every=20_000).q[-1]
    runs = {name: integrate(problem, method=name, h=h, save_every=10_000) for name, h in PAYING.items()}
    error = {name: np.abs(run.q[-1] - truth).max() for name, run in runs.items()}
    assert runs["PABA1264"].stats.torques <= runs["ABA1064"].stats.torques + 36
    assert error["PABA1264"] < 0.05 * error["ABA1064"]


def test_what_is_seen_does_not_depend_on_when_one_looks(monkeypatch):
    problem = problems.heavy_top(1e-3)
    every, seldom = integrate(problem, method="WH17", h=0.25), integrate(problem, method="WH17", h=0.25, save_every=20)
    np.testing.assert_allclose(every.q[::20], seldom.q, rtol=0, atol=2e-13)
    np.testing.assert_array_equal(every.q[0], problem.state.q)
    assert every.stats.torques == 80 + 16 + 80 * 16  # steps, undoing once, doing at every state but the first
    monkeypatch.setattr(running, "FIRST_PIECE", 7)
    monkeypatch.setattr(running, "PIECE_SECONDS", 1e-9)
    pieces = integrate(problem, method="WH17", h=0.25)
    np.testing.assert_array_equal(pieces.q, every.q)


def test_backward_and_sol():
    problem = problems.heavy_top(1e-4)
    run = integrate(problem, method="WH17G", h=0.25)
    back = integrate(ph.Problem(problem.body, run.state(), problem.force, (20.0, 0.0)), method="WH17G", h=0.25)
    np.testing.assert_allclose(back.q[-1], problem.state.q, rtol=0, atol=1.5e-12)
    truth = integrate(problem, method="ABA1064", h=0.25)
    np.testing.assert_allclose(run.sol(7.77)[1], truth.sol(7.77)[1], rtol=0, atol=1e-8)
