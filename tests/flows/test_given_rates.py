"""``attitude_from_rates``: orders against the exact free motion, constant rates, samples, batches, errors."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np
import pytest
from mpmath import mp

import polhode as ph
from conftest import EPS, random_attitude
from polhode import rotation
from polhode.core.errors import InputError, ShapeError, TimeError

MOTION = ph.free_motion((1.0, 1.65, 1.97), omega=(0.9, 0.4, -0.5), q=(0.5, -0.5, 0.5, 0.5))
END = 4.0


def rate(t):
    return MOTION.omega(t)


def error_at_the_end(order, steps, backward=False):
    span = (END, 0.0) if backward else (0.0, END)
    _, q = ph.attitude_from_rates(rate, span, MOTION.q(span[0]), order=order, h=END / steps, t_eval=[span[1]])
    return np.linalg.norm(q[-1] - MOTION.q(span[1]))


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(("order", "steps"), [(2, 64), (4, 32), (6, 12), (8, 6)])
def test_order_against_the_exact_free_motion(order, steps, backward):
    errors = [error_at_the_end(order, n, backward) for n in (steps, 2 * steps)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)
    assert errors[1] < 1e-4


def test_the_limit_is_round_off():
    assert error_at_the_end(8, 200) <= 60 * EPS


@pytest.mark.parametrize("order", [4, 8])
def test_a_rate_that_is_no_free_motion(order):
    """Against the Taylor series of mpmath."""

    def rates(t):
        return np.stack([np.sin(3 * t), 0.5 * t, np.cos(t) - 0.3], axis=-1)

    def derivative(t, q):
        a, b, c = mp.sin(3 * t), 0.5 * t, mp.cos(t) - mp.mpf(0.3)
        q0, q1, q2, q3 = q
        return [
            -(q1 * a + q2 * b + q3 * c) / 2,
            (q0 * a + q2 * c - q3 * b) / 2,
            (q0 * b + q3 * a - q1 * c) / 2,
            (q0 * c + q1 * b - q2 * a) / 2,
        ]

    with mp.workdps(20):
        truth = [float(x) for x in mp.odefun(derivative, 0, [1, 0, 0, 0])(1)]
    errors = [
        np.linalg.norm(ph.attitude_from_rates(rates, (0, 1), order=order, h=h).q[-1] - truth) for h in (0.25, 0.125)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.4)


@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_a_constant_rate_is_exact(order):
    w = np.array([0.3, -2.0, 1.1])
    t, q = ph.attitude_from_rates(lambda t: w, (0.0, 100.0), order=order, h=2.0)
    truth = rotation.from_rotation_vector(t[:, None] * w)
    assert len(t) == 51
    assert np.abs(q - truth).max() <= 1100 * EPS  # of an angle of 230 radians
    assert np.abs(np.linalg.norm(q, axis=-1) - 1).max() <= 6 * EPS


def test_a_function_of_one_time_and_of_many_are_the_same():
    calls = []

    def single(t):
        calls.append(t)
        return sin(t), cos(t), 0.1 if t < 0.5 else 0.2

    one = ph.attitude_from_rates(single, (0.0, 1.0), h=0.1)
    assert all(isinstance(t, float) for t in calls[:2])
    many = ph.attitude_from_rates(
        lambda t: np.stack([np.sin(t), np.cos(t), np.where(t < 0.5, 0.1, 0.2)], axis=-1), (0.0, 1.0), h=0.1
    )
    assert np.array_equal(one.t, many.t)
    assert np.abs(one.q - many.q).max() <= 4 * EPS


def test_functions_that_return_components_first_are_called_one_by_one():
    """For three times their result would have the right shape, and be wrong."""
    q = ph.attitude_from_rates(lambda t: np.array([np.sin(t), np.cos(t), 0 * t]), (0.0, 3.0), order=2, h=1.0).q
    other = ph.attitude_from_rates(lambda t: (sin(t), cos(t), 0.0), (0.0, 3.0), order=2, h=1.0).q
    assert np.array_equal(q, other)


# Samples


@pytest.mark.parametrize(("order", "samples"), [(2, 65), (4, 65), (6, 33), (8, 33)])
def test_order_of_samples(order, samples):
    errors = []
    for n in (samples, 2 * samples - 1):
        times = np.linspace(0.0, END, n)
        t, q = ph.attitude_from_rates((times, rate(times)), q0=MOTION.q(0.0), order=order)
        assert np.array_equal(t, times)
        errors.append(np.abs(q - MOTION.q(times)).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.6)


def test_samples_of_a_polynomial_are_the_function():
    """Cubic rates pass through the polynomials of order 4, also between times that are not equidistant."""

    def cubic(t):
        return np.stack([t**3 - t, 0.3 * t**2, 1.0 - 0.2 * t**3], axis=-1)

    times = np.sort(np.random.default_rng(1).uniform(0, 2, 30))
    sampled = ph.attitude_from_rates((times, cubic(times)), (times[0], 1.7), h=0.05)
    direct = ph.attitude_from_rates(cubic, (times[0], 1.7), h=1.0, t_eval=sampled.t[1:])
    assert np.abs(sampled.q[1:] - direct.q).max() <= 1e-13


def test_samples_backward_and_between():
    times = np.linspace(0.0, END, 201)
    pair = times, rate(times)
    t, q = ph.attitude_from_rates(pair, (3.503, 0.41), MOTION.q(3.503), order=8, t_eval=[3.2, 1.001, 0.41])
    assert np.array_equal(t, [3.2, 1.001, 0.41])
    assert np.abs(q - MOTION.q(t)).max() <= 1e-13


# Times, batches, results


def test_output_times():
    full = ph.attitude_from_rates(rate, (0.0, 1.0), h=0.1)
    assert np.allclose(full.t, np.linspace(0, 1, 11), rtol=0, atol=1e-15)
    some = ph.attitude_from_rates(rate, (0.0, 1.0), h=0.1, t_eval=[0.0, 0.35, 1.0])
    assert some.t.tolist() == [0.0, 0.35, 1.0]
    assert some.q[0].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert np.abs(some.q[-1] - full.q[-1]).max() < 1e-6
    assert ph.attitude_from_rates(rate, (0.0, 1.0), h=0.1, t_eval=[]).q.shape == (0, 4)
    assert ph.attitude_from_rates(rate, (2.0, 2.0), h=0.1).t.tolist() == [2.0]


def test_many_steps_are_taken_in_pieces(monkeypatch):
    def result():
        return ph.attitude_from_rates(
            lambda t: np.stack([t, 1 - t, t * t], axis=-1), (0.0, 1.0), h=0.01, t_eval=np.linspace(0, 1, 31)
        ).q

    whole = result()
    monkeypatch.setattr("polhode.flows.given_rates.PIECE", 7)
    assert np.array_equal(result(), whole)


def test_batches(rng):
    speeds, q0 = np.array([0.5, 1.0, 2.0]), random_attitude(rng, 2)[:, None]

    def rates(t):
        return np.multiply.outer(np.cos(t), speeds[:, None] * [0.0, 0.6, 0.8])

    q = ph.attitude_from_rates(rates, (0.0, 1.0), q0, h=0.1).q
    assert q.shape == (11, 2, 3, 4)
    for i in range(2):
        for j in range(3):
            one = ph.attitude_from_rates(lambda t, j=j: rates(t)[..., j, :], (0.0, 1.0), q0[i, 0], h=0.1)
            assert np.array_equal(one.q, q[:, i, j])


def test_rotation():
    result = ph.attitude_from_rates(lambda t: (0.0, 0.0, 1.0), (0.0, pi / 2), h=1.0)
    assert np.allclose(result.rotation.as_rotvec()[-1], (0.0, 0.0, pi / 2), rtol=0, atol=1e-15)
    again = ph.attitude_from_rates(lambda t: (0.0, 0.0, 1.0), (0.0, 1.0), result.rotation[-1], h=1.0)
    assert np.array_equal(again.q[0], result.q[-1])


# Errors


def test_a_step_of_a_full_turn_is_refused():
    for speed, h in ((6.28, 1.0), (62.8, 0.1)):
        ph.attitude_from_rates(lambda t, speed=speed: (0.0, 0.0, speed), (0.0, 1.0), h=h)
    with pytest.raises(TimeError, match=r"from t = 0.5 to 1 turns the body by a full turn or more \(\|Gamma\| >= pi\)"):
        ph.attitude_from_rates(lambda t: (0.0, 0.0, 0.0 if t < 0.5 else 12.6), (0.0, 1.0), h=0.5)
    rates = np.zeros((9, 2, 3, 3))
    rates[5:, 1, 2, 0] = 8.0
    with pytest.raises(TimeError, match=r"from t = 5 to 6 turns body \[1, 2\]"):
        ph.attitude_from_rates((np.arange(9.0), rates), order=2)


SAMPLES = np.arange(5.0), np.zeros((5, 3))


def test_an_order_may_be_a_float():
    rates = np.arange(5.0), np.random.default_rng(3).normal(size=(5, 3))
    np.testing.assert_array_equal(
        ph.attitude_from_rates(rates, order=4.0).q, ph.attitude_from_rates(rates, order=np.int64(4)).q
    )


@pytest.mark.parametrize(
    ("error", "words", "arguments", "options"),
    [
        (InputError, "order = 3; expected one of 2, 4, 6, 8", (rate, (0, 1)), {"h": 0.1, "order": 3}),
        (InputError, "t_span is missing", (rate,), {"h": 0.1}),
        (InputError, "h is missing", (rate, (0, 1)), {}),
        (InputError, "h = -1: expected a positive", (rate, (0, 1)), {"h": -1}),
        (InputError, "w is of type ndarray; expected a function of time, or a pair", (np.ones(3), (0, 1)), {"h": 1}),
        (InputError, "w is not finite at t = 0", (lambda t: (0.0, 0.0, np.nan), (0, 1)), {"h": 1}),
        (InputError, "w is not finite at t = 0", ((SAMPLES[0], SAMPLES[1] + np.inf),), {}),
        (ShapeError, r"w\(t\) has shape \(2,\)", (lambda t: (0.0, 0.0), (0, 1)), {"h": 1}),
        (ShapeError, "expected the first and the last time", (rate, (0, 1, 2)), {"h": 1}),
        (ShapeError, r"times has shape \(5,\), rates \(4, 3\)", ((SAMPLES[0], SAMPLES[1][1:]),), {}),
        (InputError, "got 5 samples; order 8 expected 8 or more", (SAMPLES,), {"order": 8}),
        (TimeError, r"times\[0\] = 0, times\[1\] = 0; expected increasing times", ((0 * SAMPLES[0], SAMPLES[1]),), {}),
        (TimeError, "expected times within the samples, from 0 to 4", (SAMPLES, (0, 5)), {}),
        (TimeError, "t_eval is not in order, or not within t_span", (SAMPLES,), {"t_eval": [2, 1]}),
        (TimeError, "t_eval is not in order, or not within t_span", (SAMPLES, (3, 1)), {"t_eval": [1, 3]}),
    ],
)
def test_errors_say_what_is_expected(error, words, arguments, options):
    with pytest.raises(error, match=words):
        ph.attitude_from_rates(*arguments, **options)
