"""RATTLE against its own definition; comparisons of methods; citations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import root

import polhode as ph
from conftest import random_attitude
from polhode import errors, forces
from polhode.core.references import MOSER_VESELOV_1991, VILMART_2013

MOMENTS, M0, OFFSET = (1.1, 1.6, 1.9), (0.3, -0.4, 0.9), (0.2, 0.1, 0.7)


def top(t_span=(0.0, 2.0), force=None):
    return ph.Problem(MOMENTS, ph.State(M0), force or forces.gravity(0.8, OFFSET), t_span)


# RATTLE on matrices, with Lagrange multipliers: Vilmart 2013, (11). T = tr(Q' D Q'^T)/2, P = Q' D, U = weight (Q a).e3

D = np.diag([(MOMENTS[1] + MOMENTS[2] - MOMENTS[0]) / 2, (MOMENTS[0] + MOMENTS[2] - MOMENTS[1]) / 2,
             (MOMENTS[0] + MOMENTS[1] - MOMENTS[2]) / 2])  # fmt: skip


def hat(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def symmetric(v):
    return np.array([[v[0], v[1], v[2]], [v[1], v[3], v[4]], [v[2], v[4], v[5]]])


def upper(S):
    return S[np.triu_indices(3)]


def rattle(Q, m, h):
    """One step: the multipliers of Q1^T Q1 = 1 by Newton's method, those of the velocities by a linear equation."""
    force = 0.8 * np.outer([0, 0, 1], OFFSET)  # dU/dQ
    P = Q @ hat(np.array(m) / MOMENTS) @ D

    def end(v):
        half = P - h / 2 * force - h / 2 * Q @ symmetric(v)
        return Q + h * half @ np.linalg.inv(D), half

    solved = root(
        lambda v: upper(end(v)[0].T @ end(v)[0] - np.eye(3)), np.zeros(6), method="lm", options={"xtol": 1e-15}
    )
    Q1, half = end(solved.x)
    half = half - h / 2 * force

    def off(v):
        velocity = Q1.T @ (half - h / 2 * Q1 @ symmetric(v)) @ np.linalg.inv(D)
        return upper(velocity + velocity.T)

    columns = np.array([off(e) - off(np.zeros(6)) for e in np.eye(6)]).T
    P1 = half - h / 2 * Q1 @ symmetric(np.linalg.solve(columns, -off(np.zeros(6))))
    A = Q1.T @ P1 - P1.T @ Q1
    return Q1, np.array([A[2, 1], A[0, 2], A[1, 0]])


def test_rattle_is_kick_moser_veselov_kick():
    rng = np.random.default_rng(1)
    for h in (0.3, -0.2):
        q = random_attitude(rng)
        start = ph.Problem(MOMENTS, ph.State(M0, q), forces.gravity(0.8, OFFSET), (0.0, h))
        run = ph.integrate(start, method=ph.Rattle(), h=abs(h))
        Q1, m1 = rattle(ph.rotation.matrix(q), M0, h)
        np.testing.assert_allclose(run.matrix[-1], Q1, rtol=0, atol=1e-13)
        np.testing.assert_allclose(run.m[-1], m1, rtol=0, atol=1e-13)


def test_rattle_is_a_splitting():
    assert repr(ph.Rattle()) == "Rattle()"
    assert ph.Rattle().order == 2
    assert ph.Rattle().scheme.name == "V2_BAB"


# Work and precision


def test_work_precision():
    found = ph.work_precision(top(), ["V2", "S4_6", "RKN6_14a", ph.Rattle()], h=(0.2, 0.1, 0.05))
    assert len(found.runs) == 12
    for method, order in (("V2", 2), ("S4_6", 4), (ph.Rattle(), 2)):
        runs = found.of(method)
        assert [run.h for run in runs] == [0.2, 0.1, 0.05]
        observed = np.log2([runs[0].error_q / runs[1].error_q, runs[1].error_q / runs[2].error_q])
        assert abs(observed - order).min() < 0.3
        assert runs[2].torques > runs[0].torques > 0
    assert [run.torques for run in found.of("RKN6_14a")] == [140, 280, 560]
    assert "RKN6_14a" in str(found)
    assert found.to_dict()["runs"][0]["h"] == 0.2


def test_runs_are_found_by_the_method_and_not_by_its_name():
    stages = (("A", "1/2"), ("B", 1), ("A", "1/2")), (("B", "1/2"), ("A", 1), ("B", "1/2"))
    first, second = (ph.Splitting(ph.Exact(), ph.Scheme("mine", 2, each)) for each in stages)
    found = ph.work_precision(top(), [first, second], h=(0.2,))
    assert found.of(first) == found.runs[:1]
    assert found.of(second) == found.runs[1:]
    assert found.runs[0].method is first
    assert found.to_dict()["runs"][0]["method"] == repr(first)


def test_work_precision_with_a_given_truth():
    """Of a free body, whose exact end is known."""
    free = ph.Problem(MOMENTS, ph.State(M0), t_span=(0.0, 2.0))
    m, q = ph.propagate(MOMENTS, M0, t=2.0)
    (run,) = ph.work_precision(free, ["V2"], h=(0.5,), reference=ph.State(m, q)).runs
    assert max(run.error_m, run.error_q) < 1e-14


def drag(t, Q, w, p):
    return -0.1 * w[0], 0.0, 0.0


def test_work_precision_with_steps_of_their_own():
    found = ph.work_precision(top(force=ph.Torque(drag)), ["V2", ph.Adaptive(1e-6), ph.Adaptive(1e-9)], h=(0.1, 0.05))
    coarse, fine, loose, tight = found.runs
    assert coarse.error_q / fine.error_q == pytest.approx(4, rel=0.2)
    assert tight.error_q < loose.error_q < 1e-6


def test_work_precision_refuses():
    with pytest.raises(errors.ShapeError, match="steps"):
        ph.work_precision(top(), ["V2"], h=0.1)
    with pytest.raises(errors.ShapeError, match="not a batch"):
        ph.work_precision(ph.Problem(MOMENTS, ph.State([M0, M0])), ["V2"], h=(0.1,))


def test_a_method_that_fails_does_not_stop_the_others():
    fast = ph.Problem(MOMENTS, ph.State((3.0, 4.0, 9.0)), forces.gravity(0.8, OFFSET), (0.0, 2.0))
    failed, fine = ph.work_precision(fast, [ph.Rattle(), "RKN6_14a"], h=(1.0,)).runs
    assert np.isnan(failed.error_q)
    assert np.isfinite(fine.error_q)


# Citations


def test_cite():
    assert MOSER_VESELOV_1991 in ph.cite(ph.MoserVeselov(4))
    assert MOSER_VESELOV_1991 in ph.cite(ph.Rattle())
    assert any("Munthe-Kaas" in text for text in ph.cite("Adaptive"))
    assert any("Betsch" in text for text in ph.cite("QuatEM"))
    assert ph.cite("RKN6_14a") == ph.schemes.get("RKN6_14a").references
    run = ph.integrate(top(), method=ph.Splitting(ph.SymmetricRotation(), "RKN6_14a"), h=0.5)
    assert VILMART_2013 in ph.cite(run)
    both = ph.cite(ph.Exact(), ph.Exact())
    assert len(set(both)) == len(both)
    with pytest.raises(errors.InputError, match="expected a flow"):
        ph.cite(7)
    with pytest.raises(errors.UnknownNameError, match="RKN6_14a"):
        ph.cite("RKN6_14b")
