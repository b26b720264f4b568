"""Vilmart 2013: Fig. 1 and every entry of Table 2, found again; and the claims see what would be wrong."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import polhode as ph
from papers import vilmart2013_fig1, vilmart2013_table2
from papers.drawing import plot_report
from papers.vilmart2013_table2 import COLUMNS, NO, TABLE, YES, canonical, defects, derivative, hat
from polhode.flows.flow import ENERGY, MOMENTUM_SPACE, NORM

pytestmark = pytest.mark.long

PRINTED = {  # Table 2, once more: order, Q y, C, H, Poisson, symplectic
    "Jacobi's solution": "exact + + + + +",
    "Symmetric+Rotation": "2 + + - + +",
    "RATTLE/DMV": "2 + + + + +",
    "Implicit midpoint": "2 + + + - -",
    "Preprocessed DMV, p = 2": "4 + + + + -",
    "Preprocessed DMV, p = 3": "6 + + + + -",
    "Preprocessed DMV, p = 4": "8 + + + + -",
}


@cache
def table():
    return vilmart2013_table2.run(False)


@cache
def figure():
    return vilmart2013_fig1.run(False)


def test_entries_are_the_printed_ones():
    marks = {YES: "+", NO: "-"}
    assert {
        name: " ".join((order, *(marks[e] for e in entries))) for name, (_, order, entries) in TABLE.items()
    } == PRINTED


def test_table():
    """7 rows of an order and 5 properties, all as printed."""
    claims = [claim for claim in table().claims if claim.verdict != "beyond the paper"]
    assert len(claims) == 7 * 6
    assert table().reproduced


@pytest.mark.parametrize("name", TABLE)
def test_table_agrees_with_the_records(name):
    """What the flows declare, and ``test_declared`` holds them to by other means."""
    flow, order, entries = TABLE[name]
    record = flow.record
    kept = [what in record.preserves for what in (MOMENTUM_SPACE, NORM, ENERGY)]
    assert [entry == YES for entry in entries] == [*kept, record.poisson, record.symplectic]
    assert order == str(record.order or "exact")


@pytest.mark.parametrize("name", TABLE)
def test_wrong_entries_would_be_seen(name):
    """Every entry turned around is refused."""
    flow, _, entries = TABLE[name]
    found = defects(flow, vilmart2013_table2.H)
    for what, entry in zip(COLUMNS, entries, strict=True):
        wrong = NO if entry == YES else YES
        assert vilmart2013_table2._entry(what, wrong, found[what]).verdict == "not reproduced"


def test_derivative_is_that_of_the_closed_form():
    """Difference quotients of order 6, against the Jacobian of ``propagate``, which is no quotient: within 1e-12."""
    J, _, _ = derivative(ph.Exact(), 0.8)
    exact = ph.propagate(vilmart2013_table2.MOMENTS, vilmart2013_table2.M0, vilmart2013_table2.Q0, 0.8, jacobian=True)[
        2
    ]
    np.testing.assert_allclose(J[3:, 3:], exact.dm_dm, rtol=0, atol=1e-12)
    np.testing.assert_allclose(J[3:, :3], 0.0, rtol=0, atol=1e-12)


def test_forms():
    v, w = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -1.0])
    np.testing.assert_allclose(hat(v) @ w, np.cross(v, w), rtol=0, atol=1e-16)
    np.testing.assert_array_equal(canonical(v), -canonical(v).T)


def test_book():
    """Order 10 at h = 0.01 leaves round-off of 4000 steps: 3e-14 was found before, by another program."""
    report = figure()
    assert report.reproduced
    told = {claim.what: claim.measured for claim in report.claims}
    drawn = told["the figure: order 10, h = 0.01, 4000 steps"]
    assert float(drawn.split()[-1]) < 4e-13
    assert told["nearly flat body"] == "d = (0.6255, 0.3745, 0.0015)"


def test_book_orders():
    """At h = 0.01, found before: 5e-4, 6e-9, then round-off; and the slopes of the curves are the orders."""
    curves = {curve.label: np.asarray(curve.y) for curve in figure().panels[2].curves}
    h = vilmart2013_fig1.STEPS
    assert curves["order 2"][-1] == pytest.approx(6.2e-4, rel=0.5)
    assert curves["order 4"][-1] == pytest.approx(6e-9, rel=0.5)
    for order in (4, 6, 8, 10):
        errors = curves[f"order {order}"]
        seen = np.flatnonzero(errors > 1e-12)[-2:]
        slope = np.log(errors[seen[0]] / errors[seen[1]]) / np.log(h[seen[0]] / h[seen[1]])
        assert slope == pytest.approx(order, abs=0.5)
    assert (curves["order 20"] < 1e-12).all()


def test_book_is_drawn_in_space():
    axes = plot_report(figure()).axes
    assert axes[0].name == axes[1].name == "3d"
    *arrows, edges = [np.array(line.get_data_3d()) for line in axes[0].get_lines()]
    assert len(arrows) == 3
    assert np.nanmax(edges, axis=1) == pytest.approx([1.370, 1.060, 0.067], abs=1e-3)  # half of the sides, sqrt(3 d)
    lines = np.array([line.get_data_3d() for line in axes[1].get_lines()])
    assert lines.shape == (3, 3, 4001)
    np.testing.assert_allclose(np.linalg.norm(lines, axis=1), 1.0, rtol=0, atol=1e-12)  # on the unit sphere
