"""Results that rewriting the library must not change.

Machine code for x86-64-v3 is compared to the bit, in a process of its own, on every machine that has its instructions
and the versions of Numba and llvmlite that results were frozen with. Code for this processor, and other versions, may
fuse other products: there results agree to 5 eps (1 + cond) per step. The header of the test run says which.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import frozen_cases
from frozen_cases import LEVEL

FROZEN, CASES = frozen_cases.frozen()["results"], frozen_cases.cases()


def test_every_frozen_case_is_still_there():
    """New schemes, flows and forces have new cases, which are compared as soon as they are frozen."""
    assert FROZEN.keys() <= CASES.keys()


@pytest.mark.skipif(not frozen_cases.is_comparable(), reason="frozen for other instructions or versions of compilers")
def test_no_bit_has_changed():
    command = [sys.executable, "-W", "error", frozen_cases.__file__, "--print"]
    environment = {**os.environ, "POLHODE_CPU": LEVEL}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    moved = [name for name, parts in FROZEN.items() if found[name] != [part["values"] for part in parts]]
    assert not moved


@pytest.mark.parametrize("name", FROZEN)
def test_this_processor_agrees(name):
    for part, expected in zip(CASES[name](0.0), FROZEN[name], strict=True):
        assert frozen_cases.distance(part, expected) <= 5 * frozen_cases.rounded_steps(name)
