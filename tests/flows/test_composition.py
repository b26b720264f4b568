"""Compositions check themselves when they are built; Composed says what it takes, and gives the order it declares."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import polhode as ph
from polhode.core.errors import UnknownNameError
from polhode.flows.composition import BY_ORDER, COMPOSITIONS, Composition

NAMES = list(COMPOSITIONS)
INERTIA, START = (1.0, 1.75, 2.75), ph.State((0.625, -0.5, 1.0), (0.5, 0.5, -0.5, 0.5))


def misprinted(fractions, place, change):
    """One digit of fraction ``place``, and of its mirror image, changed; the middle makes up for it."""
    new = list(fractions)
    new[place] += change
    new[-1 - place] = new[place]
    middle = len(new) // 2
    new[middle] = 0
    new[middle] = 1 - sum(new)
    return tuple(new)


@pytest.mark.parametrize("name", NAMES)
def test_every_misprinted_digit_is_noticed(name):
    """Of the first fifteen after the point, in every fraction, even if the sum is still 1."""
    right = COMPOSITIONS[name]
    for place in range(len(right.fractions) // 2):
        for digit in range(1, 16):
            for sign in (1, -1):
                wrong = misprinted(right.fractions, place, Fraction(sign, 10**digit))
                with pytest.raises(ph.InputError, match=rf"composition {name}: the sum of the powers \d+ of its"):
                    Composition(name, right.order, wrong)


@pytest.mark.parametrize("name", NAMES)
def test_a_higher_order_is_not_believed(name):
    right = COMPOSITIONS[name]
    with pytest.raises(ph.InputError, match=f"so its order is not {right.order + 2}"):
        Composition(name, right.order + 2, right.fractions)


def test_what_is_not_a_palindrome():
    with pytest.raises(ph.InputError, match="expected a palindrome, got 3 fractions"):
        Composition("skew", 2, (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)))


def test_closed_forms():
    """Yoshida 1990: 1/(2 - 2^(1/3)); Suzuki 1990: 1/(4 - 4^(1/3))."""
    assert float(COMPOSITIONS["Yoshida4"].fractions[0]) == pytest.approx(1 / (2 - 2 ** (1 / 3)), rel=1e-15)
    assert float(COMPOSITIONS["Suzuki4"].fractions[0]) == pytest.approx(1 / (4 - 4 ** (1 / 3)), rel=1e-15)


def test_numbers_of_stages():
    """As published."""
    stages = {3: "Yoshida4", 5: "Suzuki4", 7: "Yoshida6A", 9: "KahanLi6", 13: "SS6_13", 17: "KahanLi8"}
    stages |= {21: "SS8_21", 35: "SS10_35"}
    assert {len(c.fractions): name for name, c in COMPOSITIONS.items()} == stages
    for order, composition in BY_ORDER.items():
        assert composition.order == order


def error(flow, n, span=6.0):
    end = flow.step(INERTIA, START, span / n, n)
    m, q = ph.propagate(INERTIA, START.m, START.q, span)
    return np.hypot(np.linalg.norm(end.m - m), np.linalg.norm(end.q - q))


@pytest.mark.parametrize("name", [name for name in NAMES if COMPOSITIONS[name].order <= 8])
@pytest.mark.parametrize("basic", [ph.SymmetricRotation(), ph.NoSquish()], ids=repr)
def test_orders(name, basic):
    """On flows that the variants do not have. By one halving, at an error of about 1e-10."""
    flow = ph.Composed(basic, name)
    assert flow.record.order == COMPOSITIONS[name].order
    n = next(n for n in (8, 12, 16, 24, 32, 48, 64, 128, 256, 512) if error(flow, n) < 1e-7)
    assert np.log2(error(flow, n) / error(flow, 2 * n)) == pytest.approx(flow.record.order, abs=0.2)


def test_a_step_is_its_parts():
    """To the bit: one step of the composition, or steps of its lengths."""
    composition, basic = COMPOSITIONS["Yoshida6A"], ph.SymmetricRotation()
    once, state = ph.Composed(basic, composition).step(INERTIA, START, 0.5), START
    for part in composition.fractions:
        state = basic.step(INERTIA, state, 0.5 * float(part))
    np.testing.assert_array_equal(once.m, state.m)
    np.testing.assert_array_equal(once.q, state.q)


def test_compositions_of_compositions():
    flow = ph.Composed(ph.Composed(ph.NoSquish(), "Yoshida4"), "Yoshida6A")
    assert len(flow.fractions) == 3 * 7
    assert repr(flow) == "Composed(Composed(NoSquish(), 'Yoshida4'), 'Yoshida6A')"
    assert flow.record.order == 6
    assert np.log2(error(flow, 16) / error(flow, 32)) > 5.8


def test_a_composition_of_ones_own():
    triple = Composition("thirds", 2, (Fraction(1, 3),) * 3)
    with pytest.raises(ph.InputError, match="thirds: expected a symmetric flow of an order below 2"):
        ph.Composed(ph.NoSquish(), triple)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("Yoshida", "did you mean 'Yoshida4'"), ("KahanLi10", "did you mean 'KahanLi"), ("qqq", "known are: Yoshida4, ")],
)
def test_unknown_names(name, hint):
    with pytest.raises(UnknownNameError, match=f"no composition is called '{name}'; {hint}"):
        ph.Composed(ph.NoSquish(), name)


def test_what_cannot_be_raised():
    with pytest.raises(
        ph.InputError, match=r"expected a symmetric flow of an order below 4; Exact.* of order infinity"
    ):
        ph.Composed(ph.Exact(), "Yoshida4")
    with pytest.raises(ph.InputError, match=r"ThreeRotations\(6\) is symmetric, of order 6"):
        ph.Composed(ph.ThreeRotations(6), "Yoshida4")


def test_record_of_a_composition():
    basic = ph.SymmetricRotation()
    record = ph.Composed(basic, "SS6_13").record
    assert record.name == "Composed(SymmetricRotation(), 'SS6_13')"
    assert record.references == (*basic.record.references, *COMPOSITIONS["SS6_13"].references)
    assert record.preserves == basic.record.preserves
