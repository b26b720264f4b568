"""Three rotations against the splitting of molecular dynamics, in its own variables; what the literature misprints."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import polhode as ph
from conftest import EPS, distance, random_attitude
from oracles.addition import addition_flow
from oracles.miller import NO_SQUISH, split_step
from polhode.flows.composition import BY_ORDER
from polhode.kernels.compiler import JIT

ORDERS = list(permutations((1, 2, 3)))


def bodies(rng, n):
    """Moments in any order, momenta, attitudes, steps of either sign."""
    return rng.uniform(1, 3, (n, 3)), rng.normal(size=(n, 3)), random_attitude(rng, n), rng.uniform(-1.5, 1.5, n)


def palindrome(a, b, c):
    return (a, 0.5), (b, 0.5), (c, 1), (b, 0.5), (a, 0.5)


def off(flow, factors, inertia, m, q, h):
    """How far one step of the flow is from the oracle's: m in units of |m|, and q."""
    end = flow.step(inertia, ph.State(m, q), h)
    m_exact, q_exact = split_step(inertia.tolist(), m.tolist(), ph.State(m, q).q.tolist(), float(h), factors)
    return max(distance(end.m, m_exact) / np.linalg.norm(m), distance(end.q, q_exact))


def test_no_squish(rng):
    worst = max(off(ph.NoSquish(), NO_SQUISH, *body) for body in zip(*bodies(rng, 60), strict=True))
    assert worst <= 16 * EPS


@pytest.mark.parametrize("axes", ORDERS, ids=str)
def test_order_of_axes(rng, axes):
    flow = ph.ThreeRotations(axes=axes)
    worst = max(off(flow, palindrome(*axes), *body) for body in zip(*bodies(rng, 20), strict=True))
    assert worst <= 16 * EPS


def test_no_squish_is_one_of_them(rng):
    inertia, m, q, h = bodies(rng, 30)
    body, state = ph.RigidBody.from_moments(inertia), ph.State(m, q)
    ends = [flow.step(body, state, h, 5) for flow in (ph.NoSquish(), ph.ThreeRotations(axes=(3, 2, 1)))]
    np.testing.assert_array_equal(ends[0].m, ends[1].m)
    np.testing.assert_array_equal(ends[0].q, ends[1].q)


def test_axes_chosen_for_each_body_are_the_best_on_average(rng):
    """The default is one of the six orders for every body, and of the smallest mean error."""
    n = 200 if JIT else 40
    inertia, m, q, _ = bodies(rng, n)
    m /= np.linalg.norm(m, axis=-1, keepdims=True)
    body, state, h = ph.RigidBody.from_moments(inertia), ph.State(m, q), 0.1
    chosen = ph.ThreeRotations().step(body, state, h)
    fixed = [ph.ThreeRotations(axes=axes).step(body, state, h) for axes in ORDERS]
    assert np.all(
        np.any([np.all(end.m == chosen.m, axis=-1) & np.all(end.q == chosen.q, axis=-1) for end in fixed], axis=0)
    )
    exact = ph.Exact().step(body, state, h)
    errors = [np.hypot(*(np.linalg.norm(a - b, axis=-1) for a, b in ((e.m, exact.m), (e.q, exact.q)))) for e in fixed]
    own = np.hypot(np.linalg.norm(chosen.m - exact.m, axis=-1), np.linalg.norm(chosen.q - exact.q, axis=-1))
    assert own.mean() < min(e.mean() for e in errors)


AS_PRINTED = ((3, 0.5), (2, 0.5), (1, 1), (2, 0.5), (1, 0.5))  # Vilmart: the last factor should be about axis 3
CORRECTED = palindrome(3, 2, 1)


def slopes(factors):
    """Errors of q after a time of 1, by 8, 16, 32 and 64 steps, and the orders between them."""
    inertia, start_m, start_q = (1.0, 1.75, 2.75), (0.625, -0.5, 1.0), (0.5, 0.5, -0.5, 0.5)
    exact = [float(x) for x in addition_flow(inertia, start_m, start_q, 1.0)[1]]
    errors = []
    for n in (8, 16, 32, 64):
        m, q = start_m, start_q
        for _ in range(n):
            m, q = split_step(inertia, m, q, 1.0 / n, factors, 20)
        errors.append(distance(exact, q))
    return errors, np.log2(np.divide(errors[:-1], errors[1:]))


def test_as_printed_it_does_not_converge():
    errors, observed = slopes(AS_PRINTED)
    assert min(errors) > 0.05
    assert max(abs(observed)) < 0.2


def test_corrected_it_does():
    errors, observed = slopes(CORRECTED)
    assert errors[-1] < 1e-3
    np.testing.assert_allclose(observed, 2, atol=0.05)


@pytest.mark.parametrize("order", [0, 1, 3, 5, 12, "4", None, 2.5])
def test_unknown_orders(order):
    with pytest.raises(ph.InputError, match=r"order = .*: ThreeRotations expected one of 2, 4, 6, 8, 10"):
        ph.ThreeRotations(order)


@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 2), (1, 2, 2), (1, 2, 3, 1), "321", (-1, 2, 3)], ids=str)
def test_unknown_axes(axes):
    with pytest.raises(ph.InputError, match=r"axes = .*expected a permutation of \(1, 2, 3\)"):
        ph.ThreeRotations(axes=axes)


def test_arguments_reach_the_record():
    flow = ph.ThreeRotations(6, axes=(2, 1, 3))
    assert repr(flow) == "ThreeRotations(6, axes=(2, 1, 3))"
    assert flow.record.order == 6
    assert flow.fractions == BY_ORDER[6].fractions
    assert set(BY_ORDER[6].references) <= set(flow.record.references)
    assert flow == ph.ThreeRotations(6, axes=[2, 1, 3])
    assert flow != ph.ThreeRotations(6)
    assert ph.NoSquish() != ph.ThreeRotations(axes=(3, 2, 1))
