"""The recipes of docs/fit.md and docs/extend.md do what their text says."""

from __future__ import annotations

import re

import numpy as np
import pytest

import polhode as ph
from conftest import ROOT

pytestmark = pytest.mark.dense


def names_of(page):
    """What the Python blocks of a page define."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.M | re.S))
    names = {"__name__": "recipe"}
    exec(compile(code, page, "exec"), names)
    return names


@pytest.fixture(scope="module")
def fitted():
    return names_of("fit.md")


def test_the_jacobian_of_the_fit_is_that_of_its_residuals(fitted):
    rng = np.random.default_rng(5)
    x = fitted["x"] + 1e-3 * rng.normal(size=8)
    J = fitted["jacobian"](x, 40)
    ends = [[fitted["residuals"](x + sign * 1e-6 * e, 40) for sign in (1, -1)] for e in np.eye(8)]
    differences = np.stack([(after - before) / 2e-6 for after, before in ends], axis=-1)
    np.testing.assert_allclose(J, differences, rtol=0, atol=1e-7 * np.abs(J).max())


def test_the_fit_finds_the_ratios_within_its_own_deviations(fitted):
    off = (fitted["ratios"] - (1.65, 1.97)) / fitted["deviations"]
    assert np.abs(off).max() < 4
    assert fitted["deviations"].max() < 1e-3
    freedom = 3 * 121 - 8
    assert abs(2 * fitted["fit"].cost / freedom - 1) < 4 * np.sqrt(2 / freedom)


@pytest.fixture(scope="module")
def extended():
    return names_of("extend.md")


def test_the_flow_keeps_what_its_record_says_and_has_its_order(extended):
    flow, body = extended["ExplicitMidpoint"](), (1.0, 1.65, 1.97)
    start = ph.State(m=(0.3, 0.2, 0.9))
    end = flow.step(body, start, flow.record.test_step, steps=100)
    space = ph.rotation.rotate(end.q, end.m)
    np.testing.assert_allclose(space, start.m, rtol=0, atol=1e-13)
    energy = [np.sum(state.m**2 / body) for state in (start, end)]
    assert abs(energy[1] / energy[0] - 1) > 1e-6  # which it does not declare
    study = ph.order_study(flow, body, start, t=5.0, h=(0.1, 0.05, 0.025))
    np.testing.assert_allclose(study.order_q[1:], 2, atol=0.05)


def test_the_method_of_the_template_has_order_two(extended):
    top = ph.problems.vilmart_top(t_end=5.0)
    exact = ph.integrate(top, method="RKN8_19", h=0.01)
    steps = (0.04, 0.02, 0.01)
    errors = []
    for h in steps:
        traj = ph.integrate(top, method=extended["TurnKickTurn"](), h=h)
        errors.append(np.abs(traj.q[-1] - exact.q[-1]).max())
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2, atol=0.1)


def test_the_method_of_the_template_refuses_what_it_cannot_do(extended):
    damped = ph.Problem((1, 2, 3), ph.State(m=(1, 1, 1)), ph.forces.damping(0.1), t_span=(0, 1))
    with pytest.raises(ph.InputError, match="is made for torques that depend on the attitude alone"):
        ph.integrate(damped, method=extended["TurnKickTurn"](), h=0.1)
