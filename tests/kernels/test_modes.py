"""Compiled and uncompiled are the same function: the golden set in this process and, the other way, in a second one."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import polhode as ph
from conftest import EPS, TESTS, golden_cases
from polhode.kernels.compiler import JIT

CASES = golden_cases()

OTHER_WAY = """
import json, sys
import polhode as ph
from polhode.kernels.exact.batch import propagate_range
cases = json.load(open(sys.argv[1]))["cases"]
results = [ph.propagate(c["I"], c["m0"], c["q0"], c["t"]) for c in cases]
results = [[m.tolist(), q.tolist()] for m, q in results]
json.dump({"jit": hasattr(propagate_range, "code"), "results": results}, sys.stdout)
"""


@pytest.fixture(scope="module")
def other_way():
    """The golden set with POLHODE_JIT toggled. Shortest decimal digits carry doubles exactly."""
    environment = {**os.environ, "POLHODE_JIT": "0" if JIT else "1"}
    command = [sys.executable, "-W", "error", "-c", OTHER_WAY, str(TESTS / "golden" / "free_rigid_body.json")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["jit"] is not JIT
    return answer["results"]


@pytest.fixture(scope="module")
def differences(other_way):
    """In eps (1 + cond): of m/|m0| and of q, sign included, for each case."""
    found = []
    for case, (m, q) in zip(CASES, other_way, strict=True):
        m1, q1 = ph.propagate(case["I"], case["m0"], case["q0"], case["t"])
        size = np.linalg.norm(case["m0"]) or 1.0
        apart_m = np.linalg.norm(m1 - np.array(m)) / size
        apart_q = np.linalg.norm(q1 - np.array(q))
        found.append((apart_m / EPS / (1 + case["cond_m"]), apart_q / EPS / (1 + case["cond_q"])))
    return np.array(found)


def test_compiled_and_uncompiled_agree(differences):
    assert len(differences) > 190
    worst = [case["label"] for case, apart in zip(CASES, differences, strict=True) if not max(apart) <= 5]
    assert not worst
