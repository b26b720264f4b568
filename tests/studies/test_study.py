"""Studies of the order: against errors from the oracle, chosen steps, and what they say to bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest

import polhode as ph
from conftest import distance
from oracles.addition import addition_flow
from polhode import errors
from polhode.kernels.compiler import JIT
from polhode.studies.study import order_study

INERTIA, M, Q = (1.75, 1.0, 2.75), (0.625, -0.5, 1.0), (0.5, 0.5, -0.5, 0.5)
START = ph.State(M, Q)


def study(flow, t=3.0, h=None, body=INERTIA, state=START):
    return order_study(flow, body, state, t, h)


def test_errors_are_those_of_the_oracle():
    found = study(ph.NoSquish(), 3.0, (0.3, 0.15))
    m, q = addition_flow(INERTIA, M, Q, 3.0)
    for i, n in enumerate((10, 20)):
        end = ph.NoSquish().step(INERTIA, START, 3.0 / n, n)
        assert found.error_m[i] == pytest.approx(distance(end.m, m) / np.linalg.norm(M), rel=1e-9)
        assert found.error_q[i] == pytest.approx(distance(end.q, q), rel=1e-9)
    np.testing.assert_allclose(found.h, (0.3, 0.15), rtol=1e-15)
    assert found.order_m[0] == pytest.approx(np.log2(found.error_m[0] / found.error_m[1]), rel=1e-12)
    assert found.order_q[0] == pytest.approx(np.log2(found.error_q[0] / found.error_q[1]), rel=1e-12)


@pytest.mark.parametrize("flow", [ph.NoSquish(), ph.ThreeRotations(4), ph.MoserVeselov(6), ph.Magnus(4)], ids=repr)
def test_chosen_steps_show_the_order(flow):
    if not JIT and flow.record.order == 2:
        pytest.skip("half a million steps")
    found = study(flow)
    size = np.maximum(found.error_m, found.error_q)
    assert (size <= 1e-2).all()
    np.testing.assert_allclose(found.h[:-1] / found.h[1:], 2, rtol=1e-12)
    assert len(found.h) >= 3
    assert len(found.order_q) == len(found.h) - 1
    assert found.declared == flow.record.order
    assert np.nanmax(np.abs(found.order_q[1:] - flow.record.order)) < 0.2


def test_steps_go_down_to_round_off():
    found = study(ph.MoserVeselov(6))
    assert 1e-14 < found.error_q[-1] < 1e-11


def test_exact_flows_show_none():
    found = study(ph.Exact())
    assert found.declared is None
    assert (np.maximum(found.error_m, found.error_q) < 1e-14).all()
    assert np.isnan(found.order_m).all()
    assert np.isnan(found.order_q).all()
    assert "exact" in str(found)


def test_an_exact_momentum_shows_no_order():
    """Gauss quadrature is for the attitude only."""
    found = study(ph.Gauss(2), 6.0, (0.5, 0.25, 0.125))
    assert np.isnan(found.order_m).all()
    np.testing.assert_allclose(found.order_q, 4, atol=0.1)


def test_steps_are_rounded_to_a_whole_number_of_them():
    found = study(ph.NoSquish(), 1.0, (0.3, 0.11))
    np.testing.assert_allclose(found.h, (1 / 3, 1 / 9), rtol=1e-15)
    assert found.order_q[0] == pytest.approx(2, abs=0.1)


def test_backward():
    forth, back = study(ph.NoSquish(), 3.0, (0.1, 0.05)), study(ph.NoSquish(), -3.0, (0.1, 0.05))
    np.testing.assert_array_equal(forth.h, back.h)
    np.testing.assert_allclose(back.order_q, 2, atol=0.05)
    assert back.t == -3.0


def test_too_long_steps_of_implicit_flows_are_left_out():
    """A radian at a time has no discrete Moser-Veselov step."""
    found = study(ph.MoserVeselov(), 2.0, state=ph.State((0.0, 1.0, 8.0)))
    assert found.error_q[0] <= 1e-2
    with pytest.raises(errors.StepError):
        study(ph.MoserVeselov(), 2.0, (1.0, 0.5), state=ph.State((0.0, 1.0, 8.0)))


def test_the_sign_of_q_does_not_matter():
    found = study(ph.FrbMatrix(), 40.0, (40.0, 20.0))
    assert (found.error_q < 1e-13).all()


def test_tensors_and_bodies():
    plain, body = study(ph.NoSquish(), h=(0.3, 0.15)), study(ph.NoSquish(), h=(0.3, 0.15), body=ph.RigidBody(INERTIA))
    np.testing.assert_array_equal(plain.error_q, body.error_q)
    found = study(ph.ThreeRotations(), h=(0.1, 0.05), body=[[2.0, 0.3, 0.1], [0.3, 1.5, 0.0], [0.1, 0.0, 3.0]])
    np.testing.assert_allclose(found.order_q, 2, atol=0.1)


def test_what_is_printed():
    lines = str(study(ph.NoSquish(), 1.5, (0.5, 0.25))).splitlines()
    assert lines[0] == "NoSquish(), order 2; errors at t = 1.5"
    assert lines[1].split() == ["h", "m", "order", "q", "order"]
    assert lines[2].split()[0] == "0.5"
    assert len(lines[2].split()) == 3
    assert len(lines[3].split()) == 5


def test_plain_numbers():
    found = study(ph.Gauss(2), 6.0, (0.5, 0.25))
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["flow"] == "Gauss(2)"
    assert told["declared"] == 4
    assert told["order_m"] == [None]
    assert told["error_q"] == found.error_q.tolist()


@pytest.mark.parametrize(
    ("change", "error", "part"),
    [
        ({"t": 0.0}, errors.TimeError, "one finite time other than 0"),
        ({"t": np.nan}, errors.TimeError, "one finite time"),
        ({"t": (1.0, 2.0)}, errors.TimeError, "one finite time"),
        ({"t": "1"}, errors.InputError, "t must be numbers"),
        ({"h": (0.1,)}, errors.ShapeError, "2 steps or more"),
        ({"h": 0.1}, errors.ShapeError, "2 steps or more"),
        ({"h": (0.1, -0.1)}, errors.TimeError, "positive and finite"),
        ({"h": (0.1, np.inf)}, errors.TimeError, "positive and finite"),
        ({"h": (0.1, 0.1)}, errors.InputError, "different numbers"),
        ({"h": (4.0, 5.0)}, errors.InputError, "[1, 1] steps"),
        ({"h": (0.1, 1e-300)}, errors.InputError, "more than 1e+09 steps"),
        ({"state": ph.State((0, 0, 0))}, errors.MomentumError, "at rest"),
        ({"state": ph.State([M, M])}, errors.ShapeError, "one body and one state"),
        ({"body": [INERTIA, INERTIA]}, errors.ShapeError, "one body and one state"),
        ({"state": M}, errors.InputError, "expected a State"),
        ({"flow": "NoSquish"}, errors.InputError, "expected a flow"),
        ({"flow": ph.NoSquish}, errors.InputError, "expected a flow"),
        ({"t": 1e9}, errors.InputError, "expected a shorter t"),
    ],
)  # fmt: skip
def test_bad_input(change, error, part):
    if not JIT and change == {"t": 1e9}:
        pytest.skip("a million steps")
    with pytest.raises(error) as caught:
        study(**{"flow": ph.NoSquish(), **change})
    assert part in str(caught.value)
