"""Results that rewriting the library must not change, to the bit on the machine that they were frozen on.

Elsewhere compilers fuse other products: there results agree to 5 eps (1 + cond) per step, and the header of the test
run says so.
"""

from __future__ import annotations

import pytest

import frozen_cases

FROZEN, CASES, TO_THE_BIT = frozen_cases.frozen(), frozen_cases.cases(), frozen_cases.to_the_bit()


def test_every_case_is_frozen():
    assert list(FROZEN["results"]) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_frozen(name):
    for part, expected in zip(CASES[name](0.0), FROZEN["results"][name], strict=True):
        if TO_THE_BIT:
            assert frozen_cases.in_digits(part) == expected["values"]
        else:
            assert frozen_cases.distance(part, expected) <= 5 * frozen_cases.rounded_steps(name)
