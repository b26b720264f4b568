"""``rtol`` of a batch: every body gets its own step size, which depends on this body alone, and meets the error."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import polhode as ph
from polhode import Problem, State, Torque, integrate, problems
from polhode.core.errors import InputError
from polhode.integration.rows import attitude_errors, momentum_errors

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import truth as stored_truth
from promises import Torques

pytestmark = pytest.mark.dense  # trial runs of many bodies take minutes in plain Python

T_END = 4.0


def satellites(count, t_end=T_END, **more):
    """Satellites of random spin, whose ends at t = 4 are stored in benchmarks/truth.json."""
    m, q = stored_truth.batch("satellites", count)
    return problems.satellite().replaced(state=State(m=m, q=q), t_span=(0.0, t_end), truth=None, **more)


@pytest.mark.parametrize("method", [None, "ABA82", "ABA1064"])
@pytest.mark.parametrize("rtol", [1e-5, 1e-8])
def test_errors_by_stored_truth(method, rtol):
    """The ends of the first bodies are known to many digits by a program of its own."""
    bodies = stored_truth.stored()["satellites"]["bodies"]
    m = np.array([body["states"][-1]["m"] for body in bodies], float)
    end = integrate(satellites(len(bodies)), method=method, rtol=rtol, t_eval=[T_END])
    matrices = end.matrix[-1] - stored_truth.attitudes("satellites")
    assert momentum_errors(end.m[-1], m).max() <= rtol
    assert np.linalg.norm(matrices, axis=(-1, -2)).max() / 8**0.5 <= rtol
    assert end.h.shape == (len(bodies),)
    assert end.h.max() > 3 * end.h.min()


@pytest.mark.parametrize("t_end", [T_END, 80.0])
def test_a_body_gets_what_it_gets_alone(t_end):
    """Step sizes and states, to the bit, in any place and with any neighbors; in a short and in a long time."""
    batch = satellites(24, t_end)
    all_together = integrate(batch, method="ABA1064", rtol=1e-7)
    order = np.random.default_rng(3).permutation(24)
    turned = integrate(batch.replaced(state=State(m=batch.state.m[order], q=batch.state.q[order])),
                       method="ABA1064", rtol=1e-7)  # fmt: skip
    assert np.array_equal(turned.m, all_together.m[:, order])
    assert np.array_equal(turned.h, all_together.h[order])
    for i in (0, 5, 23):
        some = slice(i, i + 1)
        one = integrate(batch.replaced(state=State(m=batch.state.m[some], q=batch.state.q[some])),
                        method="ABA1064", rtol=1e-7)  # fmt: skip
        assert np.array_equal(one.m[:, 0], all_together.m[:, i])
        assert np.array_equal(one.q[:, 0], all_together.q[:, i])
        assert one.h[0] == all_together.h[i]


def switched(t, Q, w, p):
    size = p[0] * (1.0 if t < 1.3 else -0.5)
    return (size * Q[2][1], -size * Q[2][0], 0.1 * size)


SWITCHED = Problem((1.0, 1.5, 2.0), State(m=(0.3, 0.2, 0.9)), Torque(switched, params=(0.4,), breaks=(1.3,)),
                   t_span=(0.0, 3.0))  # fmt: skip


@pytest.mark.parametrize(
    ("problem", "method", "rtol"),
    [
        (problems.satellite(), None, 1e-7),
        (problems.satellite(), None, 1e-5),
        (problems.satellite(), "ABA1064", 1e-7),
        (problems.satellite(t_end=T_END), "RKN6_14a", 1e-6),
        (problems.heavy_top(1e-3), "ABA1064", 1e-8),
        (problems.heavy_top(1.0), "RKN6_14a", 1e-6),
        (problems.vilmart_top(), "RKN8_19", 1e-9),
        (SWITCHED, "RKN6_14a", 1e-8),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_batch_of_one_gets_what_the_body_gets(problem, method, rtol):
    """The same trial runs, from the first to the last; states agree up to the rounding of the loop for batches."""
    state = problem.state
    batch = problem.replaced(state=State(m=state.m[None], q=state.q[None]), truth=None)
    end = [problem.t_span[1]]
    with Torques() as of_one:
        alone = integrate(problem, method=method, rtol=rtol, t_eval=end)
    with Torques() as of_batch:
        one = integrate(batch, method=method, rtol=rtol, t_eval=end)
    assert one.h.tolist() == [alone.h]
    assert one.method == alone.method
    assert one.stats.torques == alone.stats.torques
    assert of_batch.count == of_one.count
    assert np.allclose(one.m[:, 0], alone.m, rtol=0, atol=0.01 * rtol * np.linalg.norm(alone.m))


def test_errors_in_a_long_time():
    batch = satellites(16, 80.0)
    result = integrate(batch, method="ABA1064", rtol=1e-7, t_eval=[80.0])
    reference = integrate(batch, method=ph.Taylor(1e-15), t_eval=[80.0])
    assert momentum_errors(result.m, reference.m).max() < 1e-7
    assert attitude_errors(result.q, reference.q).max() < 1e-7
    assert not result.message.count("more than was asked for")


def test_result_is_that_of_its_step_sizes():
    """The run that is returned, of bodies that left the trials at different times, can be made again."""
    batch, times = satellites(12), [0.3, 1.7, T_END]
    result = integrate(batch, method="PABA1264", rtol=1e-9, t_eval=times)
    again = integrate(batch, method=result.method, h=result.h, t_eval=times)
    assert np.array_equal(result.m, again.m)
    assert np.array_equal(result.q, again.q)
    assert np.array_equal(result.h, again.h)
    assert result.stats.steps == again.stats.steps
    m, q = result.sol([0.77])
    assert np.allclose(m, again.sol([0.77])[0], rtol=1e-11)
    assert np.allclose(q, again.sol([0.77])[1], rtol=0, atol=1e-11)


def test_start_and_end_are_saved_and_save_every_is_refused():
    result = integrate(satellites(5), method="ABA1064", rtol=1e-6)
    assert result.t.tolist() == [0.0, T_END]
    with pytest.raises(InputError, match="save_every = 2, but every body of the batch has its own steps"):
        integrate(satellites(5), method="ABA1064", rtol=1e-6, save_every=2)
    assert len(integrate(satellites(5), method="ABA1064", rtol=1e-6, save_every=2, t_eval=[1.0, 2.0, 3.0])) == 3


def test_events_find_the_same_zeros():
    def crosses(t, m, q):
        return m[..., 0]

    found = integrate(satellites(4), method="ABA1064", rtol=1e-9, events=crosses).t_events[0]
    reference = integrate(satellites(4), method=ph.Taylor(1e-14), events=crosses).t_events[0]
    for times, expected in zip(found, reference, strict=True):
        assert np.allclose(times, expected, rtol=0, atol=1e-8)


def test_breaks_and_time_dependence():
    """A torque that is switched and one that oscillates: errors by a method that is not a splitting."""

    def switched(t, Q, w, p):
        size = p[0] * (1.0 if t < 1.3 else -0.5)
        return (size * Q[2][1], -size * Q[2][0], 0.1 * size)

    def oscillating(t, Q, w, p):
        size = p[0] * math_sin(3.0 * t)
        return (size * Q[2][1], -size * Q[2][0], 0.0)

    from math import sin as math_sin

    m = np.random.default_rng(1).normal(size=(6, 3)) * np.geomspace(0.3, 5.0, 6)[:, None]
    for force in (Torque(switched, params=(0.4,), breaks=(1.3,)), Torque(oscillating, params=(0.4,))):
        problem = Problem((1.0, 1.5, 2.0), State(m=m), force, t_span=(0.0, 3.0))
        result = integrate(problem, method="RKN6_14a", rtol=1e-8, t_eval=[3.0])
        reference = integrate(problem, method=ph.Adaptive(1e-13), t_eval=[3.0])
        assert momentum_errors(result.m, reference.m).max() < 1e-8
        assert attitude_errors(result.q, reference.q).max() < 1e-8


def test_message_names_the_worst_body():
    """Below round-off, the message says of which body the error is the largest, and of how many."""
    with pytest.warns(ph.core.errors.RunWarning, match=r"estimated error .* of body\[\d+\], which is more than was"):
        result = integrate(satellites(4, 40.0), method="RKN8_19", rtol=1e-13)
    assert "bodies have larger errors" in result.message


def test_stream_shares_one_step(tmp_path):
    done = ph.stream(satellites(3), tmp_path / "run.zarr", method="ABA1064", h=0.1)
    assert done.finished
