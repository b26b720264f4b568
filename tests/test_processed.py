"""Schemes with a processor: order conditions of what is seen, and runs whose states are corrected when looked at."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pytest

import polhode as ph
from oracles import lie
from polhode import problems, schemes
from polhode.errors import InputError
from polhode.integration import integrate
from polhode.running import Run
from polhode.scheme import Scheme

MODULE = sys.modules[Run.__module__]
NAMES = ("WH17", "WH17G")


def whole(scheme):
    """What leads from one state that is seen to the next."""
    return *scheme.preprocessor, *scheme.stages, *scheme.processor


@pytest.mark.parametrize("name", NAMES)
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


@pytest.mark.parametrize(("name", "weak"), [("WH17", 2e-12), ("WH17G", 2e-12)])
def test_a_very_weak_torque(name, weak):
    """Errors of first order in the torque are gone; those of V2, the same steps alone, are not."""
    problem = problems.heavy_top(1e-6, t_end=200.0)
    truth = integrate(problem, method="ABA1064", h=0.5)
    error = {s: np.abs(integrate(problem, method=s, h=0.25).q[-1] - truth.q[-1]).max() for s in (name, "V2")}
    assert error[name] < weak
    assert error["V2"] > 1000 * weak


def test_the_gradient_kick_removes_what_grows():
    """In units of eps^2: at the end of a long run, and by which power of the step."""
    errors = {}
    for name in NAMES:
        for h in (0.2, 0.1):
            problem = problems.heavy_top(1e-2, t_end=200.0)
            truth = integrate(problem, method="RKN8_19", h=0.05)
            errors[name, h] = np.abs(integrate(problem, method=name, h=h).q[-1] - truth.q[-1]).max()
    assert np.log2(errors["WH17", 0.2] / errors["WH17", 0.1]) == pytest.approx(2, abs=0.3)
    assert errors["WH17G", 0.2] < 0.05 * errors["WH17", 0.2]
    assert np.log2(errors["WH17G", 0.2] / errors["WH17G", 0.1]) > 2.7


def test_what_is_seen_does_not_depend_on_when_one_looks(monkeypatch):
    problem = problems.heavy_top(1e-3)
    every, seldom = integrate(problem, method="WH17", h=0.25), integrate(problem, method="WH17", h=0.25, save_every=20)
    np.testing.assert_allclose(every.q[::20], seldom.q, rtol=0, atol=2e-13)
    np.testing.assert_array_equal(every.q[0], problem.state.q)
    assert every.stats.torques == 80 + 16 + 80 * 16  # steps, undoing once, doing at every state but the first
    monkeypatch.setattr(MODULE, "FIRST_PIECE", 7)
    monkeypatch.setattr(MODULE, "PIECE_SECONDS", 1e-9)
    pieces = integrate(problem, method="WH17", h=0.25)
    np.testing.assert_array_equal(pieces.q, every.q)


def test_backward_and_sol():
    problem = problems.heavy_top(1e-4)
    run = integrate(problem, method="WH17G", h=0.25)
    back = integrate(ph.Problem(problem.body, run.state(), problem.force, (20.0, 0.0)), method="WH17G", h=0.25)
    np.testing.assert_allclose(back.q[-1], problem.state.q, rtol=0, atol=1e-12)
    truth = integrate(problem, method="ABA1064", h=0.25)
    np.testing.assert_allclose(run.sol(7.77)[1], truth.sol(7.77)[1], rtol=0, atol=1e-8)
