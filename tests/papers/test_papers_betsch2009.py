"""Betsch and Siebert 2009, made again. Figures only are printed there: statements, slopes, and the longest step."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import papers
from papers import betsch2009, betsch2009_fig1, betsch2009_fig3
from papers.drawing import plot_report

pytestmark = [pytest.mark.dense, pytest.mark.long]


@cache
def report_of(figure):
    return papers.get(f"betsch2009_fig{figure}").run(False)


def curves(report, panel=-1):
    return {curve.label: np.asarray(curve.y) for curve in report.panels[panel].curves}


@pytest.mark.parametrize("figure", [1, 3, 4, 5])
def test_all_is_reproduced(figure):
    report = report_of(figure)
    assert report.reproduced
    assert any(claim.verdict in ("agrees", "trend holds") for claim in report.claims)
    assert len(plot_report(report).axes) == len(report.panels)


@pytest.mark.parametrize("figure", [1, 3])
def test_quat_em_conserves_with_long_steps(figure):
    """Rounding of 20 and 100 steps."""
    for change in curves(report_of(figure), 0).values():
        assert np.abs(change).max() < 10  # 1e-15
        assert len(change) == {1: 21, 3: 101}[figure]


def test_figure_1_errors():
    """At h = 0.001, of an independent program; no solution of QUAT_VI at 0.05."""
    errors, at = curves(report_of(1)), betsch2009_fig1.STEPS.index(0.001)
    known = {"QUAT_EM": "1.45e-03", "QUAT_VI": "5.82e-03", "DIR_EM": "2.91e-03", "ALGO_C1": "1.12e-03"}
    assert {name: f"{errors[name][at]:.2e}" for name in known} == known
    assert np.isnan(errors["QUAT_VI"][0])
    assert np.isfinite(errors["QUAT_VI"][2:]).all()
    assert errors["exact flow"].max() < 1e-12
    assert errors["DMV 10"][at] < 1e-12 < errors["DMV 4"][at] < 1e-6


def test_figure_3_errors():
    """At h = 0.001, of an independent program; DIR_EM is the best of the four everywhere, V2 better by 20 and more."""
    errors, at = curves(report_of(3)), betsch2009_fig3.STEPS.index(0.001)
    known = {"QUAT_EM": "1.64e-02", "QUAT_VI": "6.22e-03", "DIR_EM": "8.46e-04", "ALGO_C1": "8.24e-03"}
    assert {name: f"{errors[name][at]:.2e}" for name in known} == known
    for name in ("QUAT_EM", "QUAT_VI", "ALGO_C1"):
        assert np.nanmin(errors[name] / errors["DIR_EM"]) > 5
    assert (errors["DIR_EM"] > 20 * errors["V2"]).all()
    assert errors["RKN8_19"].max() < 1e-12


def test_figure_4_z_is_constant_in_truth_only():
    z = curves(report_of(4), 1)
    assert np.ptp(z["closed form"]) < 1e-15
    assert np.ptp(z["QUAT_EM"]) > 5 * np.ptp(z["DIR_EM"]) > 50 * np.ptp(z["V2"])


def test_figure_5_longest_step():
    """7 ms is the longest step of QUAT_VI in whole milliseconds; w3 = 140.6 allows 7.11."""
    (claim,) = [claim for claim in report_of(5).claims if claim.what.startswith("longest step")]
    assert (claim.published, claim.measured, claim.verdict) == ("7", "7", "agrees")
    assert "7.11 ms" in claim.note
    assert np.isnan(betsch2009.error_at_1s(betsch2009.METHODS["QUAT_VI"], 0.0072))
    assert np.isfinite(betsch2009.error_at_1s(betsch2009.METHODS["QUAT_VI"], 0.007))
