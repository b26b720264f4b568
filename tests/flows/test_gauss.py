"""``Gauss``: exact momenta, the order in time, every regime, and the numbers of Gustafsson's thesis."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, permutations
from math import ceil

import numpy as np
import pytest
from mpmath import mp

import polhode as ph
from conftest import EPS, distance, golden_cases, random_attitude
from multiprecision import in_digits, number, uncompiled_only
from oracles.addition import addition_flow
from polhode.core.errors import InputError
from polhode.core.rotation import rotate
from polhode.kernels.compiler import JIT

CASES = golden_cases()
MANY = 400 if JIT else 20  # bodies

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case["label"])


def start_of(case):
    return ph.State(case["m0"], case["q0"])


def spread_of(case):
    """lambda |t| at most: of the sides of the polhode, in radians."""
    w = min(case["I"]) / np.sort(case["I"])
    turns = np.linalg.norm(case["m0"]) / min(case["I"]) * abs(case["t"])
    return turns * np.sqrt((w[0] - w[2]) * max(w[0] - w[1], w[1] - w[2]))


# Regimes


@every_case
def test_momentum_is_exact_for_any_step(case):
    m = ph.Gauss(1).step(case["I"], start_of(case), case["t"]).m
    assert distance(m, case["m"]) <= 10 * EPS * (1 + case["cond_m"]) * np.linalg.norm(case["m0"])


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if c["label"].startswith(("near_separatrix/", "separatrix/"))],
    ids=lambda case: case["label"],
)
def test_momentum_at_the_separatrix_whatever_the_condition(case):
    m = ph.Gauss(1).step(case["I"], start_of(case), case["t"]).m
    assert distance(m, case["m"]) <= 500 * EPS * np.linalg.norm(case["m0"])


def steps_of(case):
    return max(1, ceil(spread_of(case) / 1.5))


def is_chained(case):
    """Next to the separatrix rounding of one step grows in the steps that follow, whatever the flow."""
    unstable = case["label"].startswith(("near_separatrix/", "near_axis/2/"))
    return steps_of(case) <= (1 if unstable else 200)


@pytest.mark.parametrize("case", [c for c in CASES if is_chained(c)], ids=lambda case: case["label"])
def test_golden_in_steps_that_leave_no_error_of_quadrature(case):
    steps = steps_of(case)
    end = ph.Gauss(10).step(case["I"], start_of(case), case["t"] / steps, steps)
    assert distance(end.m, case["m"]) <= 20 * EPS * (1 + case["cond_m"]) * np.linalg.norm(case["m0"])
    assert distance(end.q, case["q"]) <= 20 * EPS * (1 + case["cond_q"])


def check_short_step(flow, case, turn):
    """One step, in which the body turns by about ``turn``, from the start of the case, against the second path."""
    turns = np.linalg.norm(case["m0"]) / min(case["I"])
    start, h = start_of(case), turn / turns if turns else 1.0
    end = flow.step(case["I"], start, h)
    with mp.workdps(50):
        m, q = addition_flow(case["I"], case["m0"], start.q.tolist(), h)
        assert distance(end.m, m) <= 10 * EPS * (1 + turn) * np.linalg.norm(case["m0"])
        assert distance(end.q, q) <= 10 * EPS * (1 + turn)


@every_case
def test_short_step_from_every_golden_start(case):
    check_short_step(ph.Gauss(10), case, turn=1.0)


@pytest.mark.parametrize("h", [1e3, -1e10, 1e40, 1e149])
def test_steps_of_any_length_have_a_result(rng, h):
    """Far from the truth, but with everything that is preserved: no number on the way overflows or is lost."""
    m, q = rng.normal(size=(MANY, 3)), random_attitude(rng, MANY)
    m[:6] = 0, 0, 0
    m[:6, :3] += np.vstack([np.zeros(3), np.eye(3), -np.eye(2, 3)])
    moments = rng.uniform(1, 3, (MANY, 3))
    moments[::3, 1] = moments[::3, 0]
    end = ph.Gauss(3).step(ph.RigidBody.from_moments(moments), ph.State(m, q), h)
    np.testing.assert_allclose(np.linalg.norm(end.q, axis=-1), 1, atol=20 * EPS)
    np.testing.assert_allclose(np.linalg.norm(end.m, axis=-1), np.linalg.norm(m, axis=-1), rtol=1e-12)
    np.testing.assert_allclose(rotate(end.q, end.m), rotate(q, m), atol=1e-12)


# Order

MOMENTS, M0, Q0 = (1.25, 3.5, 5.75), (0.5, 0.5, 1.0), (0.5, 0.5, -0.5, 0.5)


@cache
def truth(span, digits=40):
    return addition_flow(MOMENTS, M0, Q0, span, digits)


def observed_orders(errors):
    return [float(mp.log(a / b, 2)) for a, b in pairwise(errors)]


def orders_in_doubles(flow, span, steps):
    """Over three halvings that begin with so many steps."""
    q = np.array([float(x) for x in truth(span)[1]])
    ends = [flow.step(MOMENTS, ph.State(M0, Q0), span / n, n) for n in (steps, 2 * steps, 4 * steps, 8 * steps)]
    return observed_orders([float(np.linalg.norm(end.q - q)) for end in ends])


@pytest.mark.parametrize(("nodes", "steps"), [(1, 32), (2, 16), (3, 8), (4, 2)])
def test_order_in_doubles(nodes, steps):
    np.testing.assert_allclose(orders_in_doubles(ph.Gauss(nodes), 12.0, steps), 2 * nodes, atol=0.2)


@uncompiled_only
@pytest.mark.parametrize("nodes", range(5, 11))
def test_order_in_many_digits(nodes):
    """Above 8 doubles show no order: the same source with 60 digits."""
    flow, span, digits, errors = ph.Gauss(nodes), 2, 60, []
    with mp.workdps(digits):
        q = truth(span, digits)[1]
        for steps in (4, 8, 16, 32):
            end = in_digits(flow, MOMENTS, M0, Q0, number(span) / steps, steps, digits)[1]
            errors.append(mp.norm([x - y for x, y in zip(end, q, strict=True)]))
    np.testing.assert_allclose(observed_orders(errors), flow.record.order, atol=0.2)


# Structure over many steps


@pytest.fixture
def bodies(rng):
    m = rng.normal(size=(MANY, 3))
    m /= np.linalg.norm(m, axis=-1, keepdims=True)
    return ph.RigidBody.from_moments(rng.uniform(1, 3, (MANY, 3))), ph.State(m, random_attitude(rng, MANY))


@pytest.mark.parametrize("flow", [ph.Gauss(1), ph.Gauss(3), ph.Gauss(2, 0.5, -0.5), ph.Gauss(4, axis=3)], ids=repr)
def test_momentum_in_space_walks_at_random(bodies, flow):
    """However large the error of the angle: by round-off in a step, in many about their square root as much."""
    body, start = bodies
    for steps in (1, 100):
        end = flow.step(body, start, 0.7, steps)
        moved = np.linalg.norm(rotate(end.q, end.m) - start.m_space, axis=-1)
        assert moved.max() <= 70 * EPS * steps**0.5


@pytest.mark.parametrize("h", [0.3, -2.0])
def test_return_trip(bodies, h):
    """The axis is the same for all steps of a motion, also for those that come back."""
    body, start = bodies
    flow = ph.Gauss(2)
    home = flow.step(body, flow.step(body, start, h, 20), -h, 20)
    assert np.linalg.norm(home.m - start.m, axis=-1).max() <= 2000 * EPS  # rounding is sheared by 20 steps
    assert np.linalg.norm(home.q - start.q, axis=-1).max() <= 2000 * EPS


def test_batch_is_the_loop_to_the_bit(bodies):
    body, start = bodies
    end = ph.Gauss(3).step(body, start, 0.4, 5)
    for i in range(20):
        one = ph.Gauss(3).step(body.moments[i], ph.State(start.m[i], start.q[i]), 0.4, 5)
        np.testing.assert_array_equal(end.m[i], one.m)
        np.testing.assert_array_equal(end.q[i], one.q)


# The rotation of m onto an axis


@pytest.mark.parametrize(("c0", "c3"), [(0.5, 0.5), (0.5, -0.5), (-0.1, -0.7), (None, 0.5**0.5), (0.1, 0.7)])
def test_errors_do_not_depend_on_c0_and_c3(bodies, c0, c3):
    body, start = bodies
    plain, other = (flow.step(body, start, 1.5) for flow in (ph.Gauss(2), ph.Gauss(2, c0, c3)))
    np.testing.assert_array_equal(plain.m, other.m)
    assert np.linalg.norm(plain.q - other.q, axis=-1).max() <= 20 * EPS
    assert (plain.q != other.q).any()


@pytest.mark.parametrize("moments", list(permutations((1.0, 1.5, 2.5))))
@pytest.mark.parametrize("axis", [1, 2, 3])
def test_fixed_axis_is_the_users(moments, axis):
    """Errors are large where m passes close to its negative end; a spin about either end has none."""
    spin = np.zeros(3)
    spin[axis - 1] = 1.0
    flow, errors = ph.Gauss(2, axis=axis), []
    for end in (1, -1):
        spinning = flow.step(moments, ph.State(end * spin), 2.0).q
        np.testing.assert_allclose(spinning, ph.propagate(moments, end * spin, (1, 0, 0, 0), 2.0)[1], atol=4 * EPS)
        near = ph.State(end * spin + 0.1)
        apart = flow.step(moments, near, 2.0).q - ph.propagate(moments, near.m, near.q, 2.0)[1]
        errors.append(np.linalg.norm(apart))
    assert errors[1] > 100 * errors[0]


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_any_fixed_axis_converges(bodies, axis):
    body, start = bodies
    m = np.abs(start.m)  # far from the negative ends
    end = ph.Gauss(10, axis=axis).step(body, ph.State(m, start.q), 0.5)
    assert np.linalg.norm(end.q - ph.propagate(body.moments, m, start.q, 0.5)[1], axis=-1).max() <= 20 * EPS


@pytest.mark.parametrize("offset", [1e-3, 1e-7, 1e-9, 1e-14, 1e-160, 0.0])
def test_next_to_the_negative_end_of_the_fixed_axis(offset):
    """However close, there is a result, and Q m stays."""
    start = ph.State((offset, -2 * offset, -1.0))
    end = ph.Gauss(2, axis=3).step((1.0, 1.5, 2.5), start, 0.25, 10)
    assert np.linalg.norm(rotate(end.q, end.m) - start.m) <= 20 * EPS * 10


@pytest.mark.parametrize("arguments", [(0.5, 0.4), (0.7,), (None, 0.5), (0.0, 0.0), (float("nan"), 0.5)])
def test_c0_and_c3_must_fit(arguments):
    with pytest.raises(InputError, match=r"c0\^2 \+ c3\^2 = 1/2"):
        ph.Gauss(4, *arguments)


def test_other_input():
    for nodes in (0, 11, 2.5, None):
        with pytest.raises(InputError, match="1 to 10 nodes"):
            ph.Gauss(nodes)
    with pytest.raises(InputError, match="axis = 4"):
        ph.Gauss(4, axis=4)


# Table 2 of the thesis: 50 random m0 and q0 of norm 1, the interval [0, 10], mean errors of the methods of order 8

THESIS = (1.0, 1.648785782711929, 1.972012709664193)
H = (0.25, 0.5, 1.0)
FACTORIZATION = np.array([5.87069055e-15, 7.33070308e-13, 2.21108904e-10])
DRAWS = 50


def thesis_draws():
    """Uniform numbers, as MATLAB's rand. (The means of normal ones are up to three times larger.)"""
    rng = np.random.default_rng(2010)
    m, q = rng.random((DRAWS, 3)), rng.random((DRAWS, 4))
    start = ph.State(*(v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (m, q)))
    return start, ph.propagate(THESIS, start.m, start.q, 10.0)[1]


def factorization_errors(flow):
    """(steps, draws)"""
    start, q = thesis_draws()
    return np.array([np.linalg.norm(flow.step(THESIS, start, h, round(10 / h)).q - q, axis=-1) for h in H])


def check_like_the_thesis(means, printed):
    np.testing.assert_array_less(np.abs(np.log(means / printed)), np.log(4))
    ratios = (means[1:] / means[:-1]) / (printed[1:] / printed[:-1])
    np.testing.assert_array_less(np.abs(np.log(ratios)), np.log(2))


@pytest.mark.parametrize("flow", [ph.Gauss(4, axis=3), ph.Gauss(4, 0.5, 0.5, axis=3)], ids=repr)
def test_table_2_of_the_thesis(flow):
    """In the thesis' frame, whose axis is e_3. Runs that pass close to m3 = -1 dominate the mean, not the median."""
    errors = factorization_errors(flow)
    check_like_the_thesis(errors.mean(axis=1), FACTORIZATION)
    assert np.median(errors[2]) < errors[2].mean() / 5


def test_chosen_axis_is_better_than_table_2():
    """Round-off up to h = 1/2; at h = 1 ten thousand times less than the thesis, and mean and median are close."""
    errors = factorization_errors(ph.Gauss(4))
    assert errors[:2].max() < 80 * EPS
    assert errors[2].mean() < 1e-4 * FACTORIZATION[2]
    assert errors[2].mean() < 3 * np.median(errors[2])
