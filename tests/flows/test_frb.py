"""The published flows: true where their formulas hold, lossy where those cancel, finite everywhere."""

from __future__ import annotations

import importlib.util
import itertools
import math
import sys

import numpy as np
import pytest
from mpmath import mp, mpf

import multiprecision
import polhode as ph
from conftest import EPS, ROOT, distance
from multiprecision import in_digits, number, uncompiled_only
from oracles.addition import addition_flow
from polhode.core.errors import InputError
from polhode.flows.exact import Exact
from polhode.flows.frb_matrix import FrbMatrix
from polhode.flows.frb_quaternion import FrbQuaternion
from polhode.flows.van_zon_schofield import VanZonSchofield
from polhode.kernels.compiler import JIT
from polhode.kernels.numbers import elliptic


def load_benchmark():
    spec = importlib.util.spec_from_file_location("lost_digits", ROOT / "benchmarks" / "lost_digits.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["lost_digits"] = module
    spec.loader.exec_module(module)
    return module


lost_digits = load_benchmark()

GAMMA = FrbQuaternion(gamma=(0.6, 0.8))
EXACT = (FrbQuaternion(), FrbMatrix(), VanZonSchofield(), GAMMA)
SEMI_EXACT = tuple(cls(nodes) for cls in (FrbQuaternion, FrbMatrix) for nodes in (1, 2, 3, 5, 10))
EVERY = (*EXACT, *SEMI_EXACT, VanZonSchofield(hermite=True))

INERTIA, MOMENTA = (1.0, 1.65, 1.97), ((0.45, 0.6, 0.66), (0.9, -0.3, 0.33))  # both families
HOLDS = ("generic", "long", "near_symmetric", "symmetric", "spherical", "axis", "scale", "zero_time", "tiny_time",
         "negative_time", "lamina", "needle", "no_triangle", "at_rest")  # fmt: skip
CASES = [case for case in lost_digits.cases() if case["label"].split("/")[0] in HOLDS]
GENERIC = [case for case in CASES if case["label"].startswith("generic/")]

exact_flows = pytest.mark.parametrize("flow", EXACT, ids=repr)
every_flow = pytest.mark.parametrize("flow", EVERY, ids=repr)


# Truth


@exact_flows
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["label"])
def test_golden(flow, case):
    """One step of any length; sign of q included, but for the matrix."""
    assert max(lost_digits.errors(flow, case)) <= 100


@exact_flows
@pytest.mark.parametrize("case", GENERIC, ids=lambda case: case["label"])
def test_many_steps_are_one(flow, case):
    """Steps of less than half a turn: then the matrix knows the sign of q too."""
    turns = abs(case["t"]) * np.linalg.norm(case["m0"]) / min(case["I"])
    steps = int(turns / 2) + 2
    end = flow.step(case["I"], ph.State(case["m0"], case["q0"]), case["t"] / steps, steps)
    assert distance(end.m, case["m"]) <= 100 * steps * EPS * (1 + case["cond_m"]) * np.linalg.norm(case["m0"])
    assert distance(end.q, case["q"]) <= 100 * steps * EPS * (1 + case["cond_q"])


def test_matrix_takes_the_nearer_sign():
    """A step of more than half a turn: q as if it were less."""
    state = ph.State(m=(0.3, 0.2, 0.9))
    for t in (1.0, 5.0, 9.0, 12.0, 50.0):
        q = Exact().step((1.0, 2.0, 3.0), state, t).q
        np.testing.assert_allclose(FrbMatrix().step((1.0, 2.0, 3.0), state, t).q, q * np.sign(q[0]), atol=1e-13)


SIGNS = list(itertools.product((1, -1), repeat=3))
REPLACED = {  # what else rounds to doubles in the exact flows
    elliptic.carlson_rf: mp.elliprf,
    elliptic.carlson_rj: mp.elliprj,
}


@uncompiled_only
@exact_flows
@pytest.mark.parametrize("m", [(1.125, 0.25, 0.75), (0.25, 0.5, 1.125)], ids=["i", "ii"])
@pytest.mark.parametrize("t", [0.375, -17.5])
def test_formulas_in_many_digits(flow, m, t, monkeypatch):
    """All signs of m: no misprint is left."""
    for function, replacement in REPLACED.items():
        monkeypatch.setitem(multiprecision.REPLACED, function, replacement)
    inertia, q = (1.0, 1.75, 2.75), (0.5, 0.5, -0.5, 0.5)
    for signs in SIGNS:
        start = [a * b for a, b in zip(signs, m, strict=True)]
        found_m, found_q = in_digits(flow, inertia, start, q, t, 1, 40)
        true_m, true_q = addition_flow(inertia, start, q, t, 45)
        with mp.workdps(60):
            sign = -1 if isinstance(flow, FrbMatrix) and mp.fdot(found_q, true_q) < 0 else 1
            assert mp.norm([a - b for a, b in zip(found_m, true_m, strict=True)]) < mpf(10) ** -38
            assert mp.norm([a - sign * b for a, b in zip(found_q, true_q, strict=True)]) < mpf(10) ** -38


# Where digits are lost


@pytest.fixture(scope="module")
def table():
    return lost_digits.table()


def test_print_lost_digits(table, capsys):
    with capsys.disabled():
        print("\n\n" + lost_digits.text(table))
    assert all(np.isfinite(rows).all() for rows in table.values())


def test_exact_keeps_its_digits(table):
    assert max(rows[0].max() for rows in table.values()) < 10


@pytest.mark.parametrize(
    "regime",
    [
        *(f"near_axis {axis}, 1e-{distance}" for axis in (1, 2, 3) for distance in ("06", "08")),
        "near_axis 2, 1e-04",
        "near_spherical, 1e-09",
        "near_spherical, 1e-12",
        "near_symmetric_equator, 1e-12",
    ],
)
def test_digits_are_lost(table, regime):
    """As section by section of the errata says: D_j cancels near axes and spheres, and everyone loses m."""
    assert table[regime][1:].max(axis=-1).min() > 1e3


@pytest.mark.parametrize("flow", [1, 2, 3], ids=[repr(flow) for flow in EXACT[:3]])
def test_digits_are_lost_near_the_separatrix(table, flow):
    assert max(table[f"near_separatrix, 1e-{d:02}"][flow].max() for d in range(8, 15)) > 1e3
    assert max(table[f"near_separatrix, 1e-{d:02}"][flow].max() for d in (2, 3)) < 100


def test_frames_about_e3_lose_more_next_to_it(table):
    quaternion, matrix, node = table["near_axis 3, 1e-06"][1:, 1]
    assert min(quaternion, node) > 1e9
    assert matrix < 1e6


# Finite everywhere

EXTREME = [0.0, 1.0, -1.0, 1e-9, -1e-9, 1e-16, 1e-149, 1e-170, 5e-324]
BODIES = [
    (1.0, 1.65, 1.97), (1.0, 1.0, 2.0), (1.0, 2.0, 2.0), (1.0, 1.0, 1.0), (1.0, 1.0 + 2.0**-52, 2.0), (3.0, 4.0, 6.0),
    (1.0, 2.0, 1e150), (1.0, 1e150, 1e150), (1.0, 2.0 - 2.0**-52, 2.0),
]  # fmt: skip


@pytest.mark.dense
@every_flow
@pytest.mark.parametrize("inertia", BODIES, ids=str)
def test_always_a_finite_result(flow, inertia):
    m = np.array(list(itertools.product(EXTREME, repeat=3)))
    for h in (0.1, -3.0, 1e5, 1e100) if JIT else (-3.0, 1e5):
        end = flow.step(inertia, ph.State(m), h)
        np.testing.assert_allclose(np.linalg.norm(end.m, axis=-1), np.linalg.norm(m, axis=-1), rtol=1e-7)
        q = np.linalg.norm(end.q, axis=-1)
        if isinstance(flow, FrbMatrix):
            np.testing.assert_allclose(q, 1.0, atol=1e-7)
        assert 0.5 < q.min() <= q.max() < 2.0  # about -e3, sqrt((1 + m3)/2) is what rounding made of it


@exact_flows
@pytest.mark.parametrize("signs", SIGNS, ids=str)
@pytest.mark.parametrize("t", [0.5, -2.0, 40.0])
def test_separatrix(flow, signs, t):
    """(3, 4, 6) with |m1| = |m3|: all four branches, to the digits that 1 - k^2 leaves."""
    m, inertia = np.array(signs) * (0.5, 0.75, 0.5), (3.0, 4.0, 6.0)
    end = flow.step(inertia, ph.State(m), t)
    true_m, true_q = addition_flow(inertia, m.tolist(), (1, 0, 0, 0), t)
    sign = -1 if isinstance(flow, FrbMatrix) and np.dot(end.q, [float(x) for x in true_q]) < 0 else 1
    assert distance(end.m, true_m) < 1e-6
    assert distance(sign * end.q, true_q) < 1e-6


@exact_flows
def test_symmetric_bodies_and_steady_spins(flow):
    """Two plane rotations, as in FRB; m = 0 rests."""
    for inertia, m in (
        ((1.0, 1.0, 2.5), (0.3, -0.5, 0.8)), ((2.5, 1.0, 2.5), (0.3, -0.5, 0.8)), ((2.0, 2.0, 2.0), (0.3, -0.5, 0.8)),
        ((1.0, 2.0, 3.0), (0.0, -0.7, 0.0)), ((1.0, 2.0, 3.0), (0.0, 0.0, -1.3)), ((1.0, 2.0, 3.0), (0.7, 0.0, 0.0)),
        ((1.0, 2.0, 3.0), (0.0, 0.0, 0.0)),
    ):  # fmt: skip
        end = flow.step(inertia, ph.State(m), 1.7, 3)
        true_m, true_q = addition_flow(inertia, m, (1, 0, 0, 0), 3 * mpf(1.7))
        assert distance(end.m, true_m) < 10 * EPS
        assert distance(end.q, true_q) < 15 * EPS


# Declared: on a body far from all that cancels


def invariants(state):
    """|m|, energy and Q m, in extended precision where the machine has it; |q| does not matter."""
    m, q = (np.asarray(x, np.longdouble) for x in (state.m, state.q))
    q = q / np.sqrt((q * q).sum())
    turned = 2 * np.cross(q[1:], m)
    return np.sqrt((m * m).sum()), (m * m / INERTIA).sum() / 2, m + q[0] * turned + np.cross(q[1:], turned)


@every_flow
@pytest.mark.parametrize("m", MOMENTA)
def test_invariants_and_return(flow, m):
    """20 eps per step, and for a step and a step back."""
    state = ph.State(m)
    for h in (0.1, 0.4, -1.3):
        for _ in range(50):
            end = flow.step(INERTIA, state, h)
            (norm, energy, space), (new_norm, new_energy, new_space) = invariants(state), invariants(end)
            assert abs(new_norm / norm - 1) <= 20 * EPS
            assert abs(new_energy / energy - 1) <= 20 * EPS
            assert np.sqrt(((new_space - space) ** 2).sum()) <= 30 * EPS
            back = flow.step(INERTIA, end, -h)
            assert np.linalg.norm(back.m - state.m) <= 60 * EPS
            assert np.linalg.norm(back.q - state.q) <= 40 * EPS
            state = ph.State(end.m, end.q)


def orders(errors):
    return [float(mp.log(a / b, 2)) for a, b in itertools.pairwise(errors)]


def error_of(flow, span, steps):
    end = flow.step(INERTIA, ph.State(MOMENTA[1]), span / steps, steps)
    return distance(end.q, addition_flow(INERTIA, MOMENTA[1], (1, 0, 0, 0), span)[1])


@pytest.mark.parametrize(
    ("flow", "steps"),
    [
        *((cls(nodes), (2, 4, 8, 16)) for cls in (FrbQuaternion, FrbMatrix) for nodes in (1, 2, 3)),
        (VanZonSchofield(hermite=True), (2, 4, 8, 16)),
        *((cls(4), (3, 6)) for cls in (FrbQuaternion, FrbMatrix)),  # then round-off
    ],
    ids=str,
)
def test_order_in_doubles(flow, steps):
    np.testing.assert_allclose(orders([error_of(flow, 2.0, n) for n in steps]), flow.record.order, atol=0.2)


DIGITS = 72  # errors of 1e-61 must be seen; the nodes have 77


@uncompiled_only
@pytest.mark.parametrize("cls", [FrbQuaternion, FrbMatrix])
@pytest.mark.parametrize("nodes", range(1, 11))
def test_order_in_many_digits(cls, nodes):
    flow, inertia, m, q, span = cls(nodes), INERTIA, (1.5, -0.5, 1.0), (1.0, 0.0, 0.0, 0.0), 0.0625
    with mp.workdps(DIGITS):
        truth = addition_flow(inertia, m, q, span, DIGITS)[1]
        errors = []
        for steps in (1, 2, 4, 8):
            end = in_digits(flow, inertia, m, q, number(span) / steps, steps, DIGITS)[1]
            errors.append(mp.norm([a - b for a, b in zip(end, truth, strict=True)]))
    assert flow.record.order == 2 * nodes
    np.testing.assert_allclose(orders(errors), flow.record.order, atol=0.2)


@pytest.mark.parametrize("cls", [FrbQuaternion, FrbMatrix])
def test_many_nodes_are_exact(cls):
    for m in MOMENTA:
        some, all_of_them = (cls(nodes).step(INERTIA, ph.State(m), 0.2, 20).q for nodes in (10, 0))
        assert np.linalg.norm(some - all_of_them) < 100 * EPS


@pytest.mark.parametrize("cls", [FrbQuaternion, FrbMatrix])
@pytest.mark.parametrize("nodes", [-1, 11, 2.5, "3", None])
def test_number_of_nodes(cls, nodes):
    with pytest.raises(InputError, match="0 nodes"):
        cls(nodes)


def test_the_rotation_of_2_22_is_another_rotation():
    """Near -e3, where the shortest rotation onto e3 loses its digits, that of (2.22) keeps them; near e3 it is the
    other way round."""
    for sign, good, bad in ((-1, GAMMA, FrbQuaternion()), (1, FrbQuaternion(), GAMMA)):
        state = ph.State(m=(3e-5, 2e-5, sign * 1.0))
        truth = addition_flow(INERTIA, state.m, state.q, 2.0)[1]
        errors = [distance(flow.step(INERTIA, state, 2.0).q, truth) for flow in (good, bad)]
        assert errors[0] < 1e-11
        assert errors[1] > 1e-9


@pytest.mark.parametrize("gamma", [(1.0, 1.0), (1.0,), 0.5, (math.nan, 1.0), (0.0, 0.0)])
def test_gamma_is_a_unit_vector(gamma):
    with pytest.raises(InputError, match=r"gamma1\^2 \+ gamma2\^2 = 1"):
        FrbQuaternion(gamma=gamma)


@every_flow
def test_record(flow):
    exact = flow in EXACT
    assert (flow.record.order is None) == exact
    assert flow.record.symplectic == exact
    assert "digits are lost" in flow.record.limits
    assert math.isfinite(flow.record.test_step)
    assert repr(flow) == flow.record.name
