"""Where the published formulas lose digits, and by how much: the golden set, regime by regime.

    python benchmarks/lost_digits.py

The largest error of m/|m| and of q in units of eps (1 + cond), eps = 2^-53: 1 is what rounding the input costs. The
published flows are compiled like the others, and their misprints are corrected.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from mpmath import mp, mpf

from polhode.core.state import State
from polhode.flows.exact import Exact
from polhode.flows.frb_matrix import FrbMatrix
from polhode.flows.frb_quaternion import FrbQuaternion
from polhode.flows.van_zon_schofield import VanZonSchofield

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden" / "free_rigid_body.json"
EPS = 2.0**-53
FLOWS = (Exact(), FrbQuaternion(), FrbMatrix(), VanZonSchofield())
BY_DISTANCE = ("near_separatrix", "near_spherical", "near_axis", "near_symmetric_equator")


def cases():
    return json.loads(GOLDEN.read_text())["cases"]


def regime(label):
    """'near_axis 1, 1e-06' where the distance matters, else the first word."""
    kind, *rest = label.split("/")
    if kind not in BY_DISTANCE:
        return kind
    axis = f" {rest[0]}" if kind == "near_axis" else ""
    return f"{kind}{axis}, {rest[-1]}"


def distance(computed, digits):
    with mp.workdps(40):
        return float(mp.norm([mpf(float(a)) - mpf(b) for a, b in zip(computed, digits, strict=True)]))


def errors(flow, case):
    """Of m and q in eps (1 + cond), after one step; q up to its sign if the flow does not know it."""
    end = flow.step(case["I"], State(case["m0"], case["q0"]), case["t"])
    q = end.q if np.dot(end.q, np.array(case["q"], float)) > 0 or not isinstance(flow, FrbMatrix) else -end.q
    dm = distance(end.m, case["m"]) / (np.linalg.norm(case["m0"]) or 1.0)
    return dm / EPS / (1 + case["cond_m"]), distance(q, case["q"]) / EPS / (1 + case["cond_q"])


def table():
    """{regime: (flows, 2) largest errors of m and q}"""
    found = {}
    for case in cases():
        new = np.array([errors(flow, case) for flow in FLOWS])
        key = regime(case["label"])
        found[key] = np.maximum(found.get(key, 0.0), new)
    return found


def text(found):
    head = f"{'':32}" + "".join(f"{flow!r:>20}" for flow in FLOWS)
    lines = [head, f"{'largest error, eps (1 + cond)':32}" + f"{'m':>10}{'q':>10}" * len(FLOWS)]
    for key, rows in found.items():
        lines.append(f"{key:32}" + "".join(f"{m:10.2g}{q:10.2g}" for m, q in rows))
    return "\n".join(lines)


if __name__ == "__main__":
    print(text(table()))
