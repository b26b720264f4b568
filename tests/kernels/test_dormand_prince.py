"""The method of Dormand and Prince: all its order conditions; and the exponential that takes it to the rotations."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import combinations_with_replacement
from math import prod
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp, mpf

from conftest import EPS, distance
from polhode.kernels.compiler.jit import entry_point
from polhode.kernels.numbers import exponential
from polhode.kernels.stepping import dormand_prince as data

# The coefficients: every order condition, one for each rooted tree (a tuple of the trees that hang on its root).


@cache
def trees(order):
    """All rooted trees with so many vertices."""
    if order == 1:
        return ((),)
    found = set()
    for parts in partitions(order - 1):
        groups = [list(combinations_with_replacement(trees(p), k)) for p, k in Counter(parts).items()]
        forests = [()]
        for group in groups:
            forests = [(*forest, *more) for forest in forests for more in group]
        found.update(tuple(sorted(forest)) for forest in forests)
    return tuple(found)


def partitions(n, largest=None):
    if n == 0:
        yield ()
    for part in range(min(n, largest or n), 0, -1):
        for rest in partitions(n - part, part):
            yield (part, *rest)


def vertices(tree):
    return 1 + sum(map(vertices, tree))


def density(tree):
    return vertices(tree) * prod(map(density, tree))


DIGITS = 40
ROUNDED, SEEN = 1e-24, 1e-9


@cache
def printed():
    """The module with all digits of its source, more than a double has."""
    source = re.sub(r"(?<![\w.])\d+\.\d+(e-\d+)?", lambda found: f"mpf('{found[0]}')", Path(data.__file__).read_text())
    found = {"mpf": mpf}
    with mp.workdps(DIGITS):
        exec(source, found)
    return found


def weights_of(row):
    return np.array([row.get(j, mpf(0)) for j in range(data.STAGES)])


@cache
def stage_weights(tree):
    """What the stages make of a tree."""
    value = np.full(data.STAGES, mpf(1))
    for branch in tree:
        value = value * (matrix() @ stage_weights(branch))
    return value


@cache
def matrix():
    return np.array([weights_of(row) for row in printed()["A"]])


def largest(weights, order, value):
    """Defect of the conditions of an order."""
    with mp.workdps(DIGITS):
        return float(max(abs(weights @ stage_weights(tree) - value(tree)) for tree in trees(order)))


def exact_step(tree):
    return 1 / mpf(density(tree))


def nothing(tree):
    return 0


def test_number_of_trees():
    assert [len(trees(n)) for n in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]


def test_digits_are_those_of_the_source():
    for name in ("A", "D"):
        for row, doubles in zip(printed()[name], getattr(data, name), strict=True):
            assert {j: float(x) for j, x in row.items()} == doubles
    assert [float(x) for x in printed()["C"]] == list(data.C)


def test_stages_are_consistent():
    with mp.workdps(DIGITS):
        assert max(abs(row.sum() - c) for row, c in zip(matrix(), printed()["C"], strict=True)) < ROUNDED


def test_all_conditions_of_order_8():
    weights = weights_of(printed()["A"][data.END])
    assert max(largest(weights, n, exact_step) for n in range(1, 9)) < ROUNDED
    assert largest(weights, 9, exact_step) > SEEN


@pytest.mark.parametrize(("name", "order"), [("E5", 5), ("E3", 3)])
def test_error_estimates_see_their_order_and_no_lower_one(name, order):
    weights = weights_of(printed()[name])
    assert max(largest(weights, n, nothing) for n in range(1, order + 1)) < ROUNDED
    assert largest(weights, order + 1, nothing) > SEEN


@pytest.mark.parametrize("x", [0.125, 0.5, 0.875])
def test_all_conditions_of_order_7_within_a_step(x):
    with mp.workdps(DIGITS):
        end, unit = weights_of(printed()["A"][data.END]), np.array([[mpf(i == j) for j in range(16)] for i in (0, 12)])
        rows = [end, unit[0] - end, 2 * end - (unit[0] + unit[1]), *map(weights_of, printed()["D"])]
        weights = np.cumprod([mpf(y) for y in (x, 1 - x, x, 1 - x, x, 1 - x, x)]) @ np.array(rows)

    def exact(tree):
        return mpf(x) ** vertices(tree) / density(tree)

    assert max(largest(weights, n, exact) for n in range(1, 8)) < ROUNDED
    assert largest(weights, 8, exact) > SEEN


# The exponential.


@entry_point("UniTuple(f8, 3)(f8, f8, f8)", cache=False)
def rotation(s1, s2, s3):
    return exponential.rotation((s1, s2, s3))


@entry_point("UniTuple(f8, 3)(f8, f8, f8, f8, f8, f8)", cache=False)
def rate(s1, s2, s3, w1, w2, w3):
    s = s1, s2, s3
    _, _, c = exponential.rotation(s)
    return exponential.rate(c, s, (w1, w2, w3))


@pytest.mark.parametrize("angle", [0.0, 1e-200, 1e-8, 1e-3, 0.1, 1.0, 1.5, 2.5, 3.14])
def test_rotation_series(angle):
    with mp.workdps(500):
        a = mpf(angle)
        exact = (1, mpf(1) / 2, mpf(1) / 12)
        if angle:
            exact = mp.cos(a / 2), mp.sin(a / 2) / a, (1 - a / 2 * mp.cot(a / 2)) / a**2
        for found, value in zip(rotation(angle, 0.0, 0.0), exact, strict=True):
            assert abs(found - value) < 4 * EPS


def test_rate_of_the_rotation_vector():
    """Against the velocity 2 conj(q) q' of a curve, differentiated in high precision."""

    def vector(t):
        return [mp.sin(t), mpf("0.7") * mp.cos(2 * t), t**2 - mpf("0.3")]

    def quaternion(t):
        s = vector(t)
        a = mp.norm(s)
        return [mp.cos(a / 2), *(mp.sin(a / 2) / a * x for x in s)]

    with mp.workdps(40):
        t = mpf("0.8")
        slope = [mp.diff(lambda x, k=k: vector(x)[k], t) for k in range(3)]
        p, d = quaternion(t), [mp.diff(lambda x, k=k: quaternion(x)[k], t) for k in range(4)]
        axes = (1, 2, 3), (2, 3, 1), (3, 1, 2)
        w = [2 * (p[0] * d[i] - d[0] * p[i] - (p[j] * d[k] - p[k] * d[j])) for i, j, k in axes]
        found = rate(*(float(x) for x in vector(t)), *(float(x) for x in w))
    assert distance(found, slope) < 10 * EPS
