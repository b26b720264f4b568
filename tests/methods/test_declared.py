"""What the records of flows and methods declare, held against them, both ways: what is declared is seen, and what is
not declared is seen to fail. Every member of every family; nothing here knows one of them by name, except the tables of
the papers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from mpmath import mp, mpf

import polhode as ph
from batches import AXIAL, CONSERVING, FREE, GENERAL, GRAVITY, RESTORING, begin, go_on, step
from conftest import EPS, random_attitude
from multiprecision import GUARD, in_digits, number, uncompiled_only
from oracles.addition import _product as product
from oracles.addition import addition_flow
from polhode.core.rotation import conjugate, from_rotation_vector, multiply
from polhode.core.threads import PARALLEL_FROM
from polhode.flows import FLOWS, load, variants
from polhode.flows.flow import ENERGY, INVARIANTS, MOMENTUM_SPACE, NORM
from polhode.kernels.compiler import JIT
from polhode.methods.record import KEPT as KEPT_BY_METHODS
from polhode.methods.record import MOMENTUM_ALONG, ORTHOGONALITY, OWN_ENERGY, TANGENCY

EVERY = variants()
PER_STEP = 60 * EPS  # three times the largest value that was seen
VISIBLE = 20_000 * EPS
MANY = 1000 if JIT else 30  # bodies
LOSES_DIGITS = "digits are lost"  # said by a record of its flow, in special places
NO_SIGN = "the sign of q is not known"  # the same
BELOW_ROUND_OFF = "below round-off"  # said by a record: what is not preserved moves less than doubles show
FEW = 8  # of them, for the slower tests
IN_DOUBLES = 6  # highest order that is always seen before round-off is

every_flow = pytest.mark.parametrize("flow", EVERY, ids=repr)


def rounding(flow):
    """Of a step. A composition takes many steps of its basic flow, whose rounding adds up like a random walk."""
    return PER_STEP * len(flow.fractions) ** 0.5


@cache
def any_bodies():
    """Moments (n, 3) between 1 and 3, in any order, and states with |m| = 1."""
    rng = np.random.default_rng(20060101)
    n = 20 * MANY
    m = rng.normal(size=(n, 3))
    return rng.uniform(1, 3, (n, 3)), m / np.linalg.norm(m, axis=-1, keepdims=True), random_attitude(rng, n)


def ordinary(moments, m):
    """Which bodies are neither near a sphere nor a symmetric top, nor their motion near an axis or the separatrix."""
    order = np.argsort(moments, axis=-1)
    moments, m = np.take_along_axis(moments, order, -1), np.abs(np.take_along_axis(m, order, -1))
    gaps = np.diff(moments, axis=-1)
    x, z = gaps[:, 0] / moments[:, 0] * m[:, 0] ** 2, gaps[:, 1] / moments[:, 2] * m[:, 2] ** 2
    return (gaps.min(axis=-1) > 0.3) & (m.min(axis=-1) > 0.3) & (np.abs(x - z) > 0.3 * (x + z))


def bodies(flow):
    """Any bodies; ordinary ones for flows whose records say that they are at a loss elsewhere."""
    moments, m, q = any_bodies()
    taken = ordinary(moments, m) if LOSES_DIGITS in flow.record.limits else np.full(len(m), True)
    moments, m, q = (v[taken][:MANY] for v in (moments, m, q))
    return ph.RigidBody.from_moments(moments), ph.State(m, q)


def apart(a, b):
    """Largest distance of two (batches of) states with |m| = 1, the sign of q included."""
    return max(np.linalg.norm(a.m - b.m, axis=-1).max(), np.linalg.norm(a.q - b.q, axis=-1).max())


def same_bits(a, b):
    return np.array_equal(a.m, b.m) and np.array_equal(a.q, b.q)


# Order

MOMENTS, M0, Q0 = (1.0, 1.75, 2.75), (0.625, -0.5, 1.0), (0.5, 0.5, -0.5, 0.5)  # no two alike, and no rounding
SPAN, SHORT_SPAN = 6.0, 0.75
FINEST = (8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)  # steps of the last of the halvings
DIGITS = 64


@cache
def truth(span):
    return addition_flow(MOMENTS, M0, Q0, span, DIGITS)


def error_in_doubles(flow, steps):
    end = flow.step(MOMENTS, ph.State(M0, Q0), SPAN / steps, steps)
    m, q = (np.array([float(x) for x in v]) for v in truth(SPAN))
    if NO_SIGN in flow.record.limits and end.q @ q < 0:
        q = -q
    return float(np.hypot(np.linalg.norm(end.m - m), np.linalg.norm(end.q - q)))


def error_in_digits(flow, steps):
    with mp.workdps(DIGITS):
        end = in_digits(flow, MOMENTS, M0, Q0, number(SHORT_SPAN) / steps, steps, DIGITS)
        return mp.norm([x - y for a, b in zip(end, truth(SHORT_SPAN), strict=True) for x, y in zip(a, b, strict=True)])


def observed_orders(errors):
    return [float(mp.log(a / b, 2)) for a, b in pairwise(errors)]


@pytest.mark.parametrize("flow", [f for f in EVERY if f.record.order and f.record.order <= IN_DOUBLES], ids=repr)
def test_order_in_doubles(flow):
    """Up to the number of steps, at most 512, that leaves the error just above round-off.

    Three halvings; one where three would begin at steps too long for the order to show. Three in many digits: below.
    """
    finest = max(n for n in FINEST if error_in_doubles(flow, n) > 100 * EPS * (n * len(flow.fractions)) ** 0.5)
    halvings = [2, 1] if finest < 96 else [8, 4, 2, 1]
    observed = observed_orders([error_in_doubles(flow, finest // k) for k in halvings])
    np.testing.assert_allclose(observed, flow.record.order, atol=0.2)


@uncompiled_only
@pytest.mark.parametrize("flow", [f for f in EVERY if f.record.order], ids=repr)
def test_order_in_many_digits(flow):
    observed = observed_orders([error_in_digits(flow, n) for n in (2, 4, 8, 16)])
    np.testing.assert_allclose(observed, flow.record.order, atol=0.2)


@pytest.mark.parametrize("flow", [f for f in EVERY if f.record.order is None], ids=repr)
def test_exact_flows_have_no_order(flow):
    """Round-off only, whether in one step or many."""
    for steps in (1, 3, 24):
        assert error_in_doubles(flow, steps) < 35 * steps * EPS


# Structure


@every_flow
def test_return_trip(flow):
    """A step and a step back lead home exactly if the flow is symmetric."""
    body, start = bodies(flow)
    h = flow.record.test_step
    home = apart(flow.step(body, flow.step(body, start, h), -h), start)
    if flow.record.symmetric:
        assert home <= 2 * rounding(flow)  # two steps
    else:
        assert home > VISIBLE


def invariants(body, state):
    """|m|, energy and Q m in extended precision where the machine has it; |q| does not matter."""
    m, q = (np.asarray(v, np.longdouble) for v in (state.m, state.q))
    q = q / np.sqrt((q * q).sum(axis=-1, keepdims=True))
    v, turned = q[..., 1:], 2 * np.cross(q[..., 1:], m)
    return {
        NORM: np.sqrt((m * m).sum(axis=-1)),
        ENERGY: (m * m / body.moments).sum(axis=-1) / 2,
        MOMENTUM_SPACE: m + q[..., :1] * turned + np.cross(v, turned),
    }


@every_flow
@pytest.mark.parametrize("name", INVARIANTS)
def test_invariants(flow, name):
    body, start = bodies(flow)
    end = flow.step(body, start, flow.record.test_step)
    before, after = invariants(body, start)[name], invariants(body, end)[name]
    if name == MOMENTUM_SPACE:
        moved = np.sqrt(((after - before) ** 2).sum(axis=-1)).max()
    else:
        moved = np.abs(after / before - 1).max()
    if name in flow.record.preserves:
        assert moved <= rounding(flow)
    else:
        assert moved > VISIBLE


# The derivative of a step, in the coordinates (xi, mu) of the tangent space: q exp(xi), m + mu

CENTRAL = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60  # a difference quotient at -3..3, of order 6
SHIFT = 0.005
KEPT, BROKEN = 5e-12, 5e-9  # of the structures: what difference quotients in doubles leave, and what is seen


@cache
def derivative(flow):
    """(6, 6) by difference quotients of order 6, and m at both ends."""
    m, q = np.array([0.48, -0.6, 0.64]), np.array([0.5, 0.1, -0.7, 0.5])
    shifts = SHIFT * np.arange(-3, 4)[:, None, None] * np.eye(6)
    states = ph.State(m + shifts[..., 3:], multiply(q, from_rotation_vector(shifts[..., :3])))
    ends = flow.step((2.75, 1.0, 1.75), states, flow.record.test_step)
    middle = ends.q[3, 0]
    slope_m = np.einsum("k,kic->ci", CENTRAL, ends.m) / SHIFT
    slope_q = np.einsum("k,kic->ci", CENTRAL, rotation_vector(multiply(conjugate(middle), ends.q))) / SHIFT
    return np.vstack([slope_q, slope_m]), m, ends.m[3, 0]


def rotation_vector(q):
    """Of rotations by less than half a turn."""
    size = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(size, q[..., :1])
    return np.divide(angle, size, out=np.full_like(size, 2.0), where=size > 0) * q[..., 1:]


def hat(v):
    return [[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]]


def canonical(m):
    """The symplectic form at m: ((-hat(m), 1), (-1, 0))."""
    upper = [[-x for x in row] + [int(i == j) for j in range(3)] for i, row in enumerate(hat(m))]
    return upper + [[-int(i == j) for j in range(3)] + [0, 0, 0] for i in range(3)]


def poisson_defect(flow):
    J, m0, m1 = derivative(flow)
    A = J[3:, 3:]  # dm1/dm0: the attitude does not matter to m
    return np.abs(A @ np.array(hat(m0)) @ A.T - hat(m1)).max()


def symplectic_defect(flow):
    J, m0, m1 = derivative(flow)
    return np.abs(J.T @ np.array(canonical(m1)) @ J - canonical(m0)).max()


@every_flow
def test_poisson(flow):
    assert poisson_defect(flow) < KEPT if flow.record.poisson else poisson_defect(flow) > BROKEN


@every_flow
def test_symplectic(flow):
    defect = symplectic_defect(flow)
    if BELOW_ROUND_OFF in flow.record.limits:
        assert not flow.record.symplectic  # many digits show it, below
        assert defect < BROKEN
    else:
        assert defect < KEPT if flow.record.symplectic else defect > BROKEN


@every_flow
def test_attitude_does_not_act_on_momentum(flow):
    assert np.abs(derivative(flow)[0][3:, :3]).max() < KEPT


# The same in many digits, where the smallest defect of a structure is seen

KEPT_IN_DIGITS, BROKEN_IN_DIGITS = 1e-45, 1e-38
SHIFT_IN_DIGITS = mpf(2) ** -80  # of which difference quotients leave the square
IN_DIGITS = [f for f in EVERY if f.record.order]

every_flow_in_digits = pytest.mark.parametrize("flow", IN_DIGITS, ids=repr)


def step_in_digits(flow, m, q, h):
    return in_digits(flow, MOMENTS, m, q, h, 1, DIGITS)


def exact_step(flow):
    """The step that turns this body, of |m| = 1.28, as far as test_step turns one of |m| = 1."""
    return number(flow.record.test_step) / mpf(np.linalg.norm(M0))


def derivative_in_digits(flow):
    h, columns = exact_step(flow), []
    m1, q1 = step_in_digits(flow, M0, Q0, h)
    for direction in range(6):
        ends = []
        for shift in (SHIFT_IN_DIGITS, -SHIFT_IN_DIGITS):
            v = [shift * (i == direction) for i in range(6)]
            m, q = step_in_digits(flow, [a + b for a, b in zip(M0, v[3:], strict=True)], turned(Q0, v[:3]), h)
            ends.append([*vector_of(product(conjugated(q1), q)), *m])
        columns.append([(a - b) / (2 * SHIFT_IN_DIGITS) for a, b in zip(*ends, strict=True)])
    return mp.matrix(columns).T, m1


def conjugated(q):
    return [q[0], -q[1], -q[2], -q[3]]


def turned(q, vector):
    """q times the rotation by a vector along one axis."""
    return product(q, [mp.cos(sum(vector) / 2), *(mp.sin(x / 2) for x in vector)])


def vector_of(q):
    size = mp.norm(q[1:])
    return [2 * mp.atan2(size, q[0]) / size * x if size else mpf(0) for x in q[1:]]


@uncompiled_only
@every_flow_in_digits
def test_structure_in_many_digits(flow):
    with mp.workdps(DIGITS + GUARD):
        J, m1 = derivative_in_digits(flow)
        A = J[3:, 3:]
        poisson = mp.mnorm(A * mp.matrix(hat(M0)) * A.T - mp.matrix(hat(m1)), mp.inf)
        before, after = (mp.matrix(canonical(m)) for m in (M0, m1))
        symplectic = mp.mnorm(J.T * after * J - before, mp.inf)
        assert poisson < KEPT_IN_DIGITS if flow.record.poisson else poisson > BROKEN_IN_DIGITS
        assert symplectic < KEPT_IN_DIGITS if flow.record.symplectic else symplectic > BROKEN_IN_DIGITS


def space_momentum(m, q):
    """|q|^2 Q m, whose first component is 0."""
    return product(product(q, [0, *m]), conjugated(q))


def invariants_in_digits(m, q):
    return {
        NORM: [mp.norm(m)],
        ENERGY: [sum(x * x / y for x, y in zip(m, MOMENTS, strict=True))],
        MOMENTUM_SPACE: space_momentum(m, q),
    }


@uncompiled_only
@every_flow_in_digits
def test_invariants_in_many_digits(flow):
    with mp.workdps(DIGITS):
        h = exact_step(flow)
        m, q = step_in_digits(flow, M0, Q0, h)
        before, after = (invariants_in_digits([number(x) for x in a], b) for a, b in ((M0, Q0), (m, q)))
        for name in INVARIANTS:
            moved = mp.norm([x - y for x, y in zip(before[name], after[name], strict=True)])
            assert moved < KEPT_IN_DIGITS if name in flow.record.preserves else moved > BROKEN_IN_DIGITS
        home = step_in_digits(flow, m, q, -h)
        away = mp.norm([x - y for a, b in zip(home, (M0, Q0), strict=True) for x, y in zip(a, b, strict=True)])
        assert away < KEPT_IN_DIGITS if flow.record.symmetric else away > BROKEN_IN_DIGITS


# Table 2 of Vilmart's article: order, Qy, C(y), H(y), Poisson, symplectic

TABLE_2 = {
    "Exact()": (None, True, True, True, True, True),
    "SymmetricRotation()": (2, True, True, False, True, True),
    "MoserVeselov()": (2, True, True, True, True, True),
    "Midpoint()": (2, True, True, True, False, False),
    **{f"MoserVeselov({order})": (order, True, True, True, True, False) for order in (4, 6, 8, 10)},
}


@pytest.mark.parametrize("name", [*TABLE_2, "ThreeRotations()"])
def test_table_2_of_vilmart(name):
    """The records say what the article says (three rotations: in its text, as the splitting); the rest of this file
    says that the records are right."""
    (flow,) = [f for f in EVERY if repr(f) == name]
    record = flow.record
    order, *checked = TABLE_2.get(name, TABLE_2["SymmetricRotation()"])
    assert record.order == order
    preserved = [x in record.preserves for x in (MOMENTUM_SPACE, NORM, ENERGY)]
    assert [*preserved, record.poisson, record.symplectic] == checked


# Symmetries of space and body


@every_flow
def test_turning_space(flow):
    """q -> g q commutes with a step; m does not notice, to the bit."""
    body, start = bodies(flow)
    g = ph.rotation.normalize((0.3, -0.5, 0.1, 0.8))
    h = flow.record.test_step
    turned, plain = (flow.step(body, s, h) for s in (ph.State(start.m, multiply(g, start.q)), start))
    np.testing.assert_array_equal(turned.m, plain.m)
    assert np.linalg.norm(turned.q - multiply(g, plain.q), axis=-1).max() <= rounding(flow)


RELABELINGS = (([1, 2, 0], 1), ([2, 0, 1], 1), ([1, 0, 2], -1), ([0, 2, 1], -1), ([2, 1, 0], -1))


def relabeled(body, state, order, sign):
    """The same body with its axes in another order; an odd order is a rotation if the axes are also reversed."""
    q = np.concatenate([state.q[:, :1], sign * state.q[:, 1:][:, order]], axis=1)
    return ph.RigidBody.from_moments(body.moments[:, order]), state._exactly(m=sign * state.m[:, order], q=q)


def has_fixed_axes(flow):
    return "axes=" in repr(flow) or "NoSquish" in repr(flow)


@every_flow
def test_relabeling_axes(flow):
    """Flows that do not name axes commute with it, to the bit; flows that do are seen not to."""
    body, start = bodies(flow)
    h = flow.record.test_step
    moved = []
    for order, sign in RELABELINGS:
        _, expected = relabeled(body, flow.step(body, start, h), order, sign)
        moved.append(apart(flow.step(*relabeled(body, start, order, sign), h), expected))
    assert max(moved) > VISIBLE if has_fixed_axes(flow) else max(moved) == 0


@pytest.mark.dense
@every_flow
@pytest.mark.parametrize(("a", "b"), [(1, 0), (-7, 12), (330, 330), (330, -330), (-330, 330), (-330, -330)])
def test_scale_changes_no_bit(flow, a, b):
    """m -> 2^a m, I -> 2^b I, h -> 2^(b-a) h."""
    body, start = bodies(flow)
    h = flow.record.test_step
    scaled = ph.RigidBody.from_moments(np.ldexp(body.moments, b))
    end = flow.step(scaled, ph.State(np.ldexp(start.m, a), start.q), np.ldexp(h, b - a), 3)
    plain = flow.step(body, start, h, 3)
    assert same_bits(start._exactly(m=np.ldexp(end.m, -a), q=end.q), plain)


# One body or many, compiled or not


@every_flow
def test_a_batch_is_a_loop(flow):
    body, start = bodies(flow)
    h = np.linspace(-1, 1, MANY) * flow.record.test_step
    whole = flow.step(body, start, h, 2)
    for i in range(0, MANY, MANY // 12):
        one = flow.step(body.moments[i], start.select((MANY,), i), h[i], 2)
        assert same_bits(one, whole.select((MANY,), i))


@pytest.mark.dense
@every_flow
def test_threads_change_no_bit(flow, monkeypatch):
    body, start = bodies(flow)
    h, steps = flow.record.test_step, 21
    assert MANY * steps > PARALLEL_FROM
    monkeypatch.setenv("POLHODE_NUM_THREADS", "3")
    whole = flow.step(body, start, h, steps)
    monkeypatch.setenv("POLHODE_NUM_THREADS", "1")
    for piece in (slice(0, 333), slice(333, 900), slice(900, MANY)):
        alone = flow.step(body.select((MANY,), piece), start.select((MANY,), piece), h, steps)
        assert same_bits(alone, whole.select((MANY,), piece))


OTHER_WAY = """
import json, sys
import polhode as ph
from polhode.flows import variants
from polhode.kernels.compiler import JIT, jit
ends = []
for flow, (moments, m, q, h) in zip(variants(), json.load(sys.stdin), strict=True):
    end = flow.step(ph.RigidBody.from_moments(moments), ph.State(m, q), h, 2)
    ends.append([end.m.tolist(), end.q.tolist()])
json.dump({"jit": JIT, "ends": ends}, sys.stdout)
"""


def some_bodies(flow):
    body, start = bodies(flow)
    return body.moments[:FEW], start.m[:FEW], start.q[:FEW], np.array(flow.record.test_step)


@pytest.fixture(scope="module")
def other_way():
    """The ends of all flows with POLHODE_JIT toggled. Shortest decimal digits carry doubles exactly."""
    told = json.dumps([[v.tolist() for v in some_bodies(flow)] for flow in EVERY])
    environment = {**os.environ, "POLHODE_JIT": "0" if JIT else "1"}
    command = [sys.executable, "-W", "error", "-c", OTHER_WAY]
    done = subprocess.run(command, env=environment, input=told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["jit"] is not JIT
    return dict(zip(map(repr, EVERY), answer["ends"], strict=True))


@pytest.mark.skipif(not JIT, reason="the compiled run has compared the two")
@every_flow
def test_compiled_and_uncompiled_agree(flow, other_way):
    moments, m, q, h = some_bodies(flow)
    end = flow.step(ph.RigidBody.from_moments(moments), ph.State(m, q), h, 2)
    other_m, other_q = map(np.array, other_way[repr(flow)])
    assert apart(end, end._exactly(m=other_m, q=other_q)) <= 2 * rounding(flow)


# Records


@every_flow
def test_record(flow):
    record = flow.record
    assert record.summary
    assert record.references
    assert all(isinstance(reference, str) and len(reference) > 20 for reference in record.references)
    assert len(set(record.references)) == len(record.references)
    assert record.test_step > 0
    assert record.order is None or (record.order >= 1 and isinstance(record.order, int))
    assert record.preserves <= set(INVARIANTS)
    assert record.poisson or not record.symplectic
    assert repr(flow) == record.name


@every_flow
def test_repr_is_what_to_type(flow):
    again = eval(repr(flow), {name: getattr(ph, name) for name in FLOWS})
    assert again == flow
    assert hash(again) == hash(flow)
    assert type(again) is type(flow)
    assert again.record == flow.record
    assert (again.exact_parameters, again.fractions) == (flow.exact_parameters, flow.fractions)


def test_every_family_has_members_and_every_name_is_used_once():
    assert len(set(map(repr, EVERY))) == len(EVERY)
    assert {type(flow).__name__ for flow in EVERY} == set(FLOWS)
    assert [load(name).__name__ for name in FLOWS] == list(FLOWS)


# Methods: what they keep of a free body, and under forces of each kind

every_method = pytest.mark.parametrize("method", CONSERVING, ids=repr)
FORCES = {"free": [FREE], "quadratic": [GRAVITY, RESTORING], "axial": [AXIAL], "potential": [GENERAL]}
KINDS = [(kind, force) for kind, of_kind in FORCES.items() for force in of_kind]


def positions(method, force):
    """Bodies, momenta and attitudes for a step of a method, and the current after it."""
    moments, m, q = (v[:MANY] for v in any_bodies())
    return moments, m, q, step(method, force, moments, m, q, method.record.test_step)


def velocities_of(method, moments, current):
    """Q^T Q' (n, 3, 3) in sorted axes: nine numbers that a method keeps, or hat(I^-1 m)."""
    if method.memory:
        return current.memory.reshape(-1, 3, 3).astype(np.longdouble)
    w = np.take_along_axis(current.m / moments, np.argsort(moments, axis=-1), -1)
    return np.cross(np.eye(3), w[:, None, :])


def kept_by_methods(method, force, moments, current):
    """In extended precision, where the machine has it, but for V."""
    state, body = ph.State(current.m, current.q), ph.RigidBody.from_moments(moments)
    found, V = invariants(body, state), force.potential(0.0, state.q)
    W, J = velocities_of(method, moments, current), np.sort(moments, axis=-1)
    E = J.sum(axis=-1, keepdims=True) / 2 - J
    return {
        ENERGY: found[ENERGY] + V,
        OWN_ENERGY: (W * W * E[:, None, :]).sum(axis=(-2, -1)) / 2 + V,
        MOMENTUM_SPACE: found[MOMENTUM_SPACE],
        MOMENTUM_ALONG: found[MOMENTUM_SPACE][:, 2],
        ORTHOGONALITY: np.sqrt((np.asarray(current.q, np.longdouble) ** 2).sum(axis=-1)),
        TANGENCY: W + np.swapaxes(W, -2, -1),
    }


@every_method
@pytest.mark.parametrize(("kind", "force"), KINDS, ids=[f"{kind}-{force!r}" for kind, force in KINDS])
@pytest.mark.parametrize("name", KEPT_BY_METHODS)
def test_what_methods_keep(method, kind, force, name):
    """Bodies of moments 1 to 3, |m| = 1, V of size 1."""
    moments, m, q, current = positions(method, force)
    start = begin(method, m, q)
    if method.memory:  # as it begins, with the velocities of m
        w = np.take_along_axis(m / moments, np.argsort(moments, axis=-1), -1)
        start.memory[:] = np.cross(np.eye(3), w[:, None, :]).reshape(-1, 9)
    before, after = (kept_by_methods(method, force, moments, c)[name] for c in (start, current))
    moved = np.abs(after - before).max()
    if name in getattr(method.record, kind):
        assert moved <= PER_STEP
    else:
        assert moved > VISIBLE


@every_method
@pytest.mark.parametrize("force", [FREE, GRAVITY, GENERAL], ids=repr)
def test_return_trip_of_methods(method, force):
    """With all that a method keeps from step to step."""
    moments, m, q, current = positions(method, force)
    go_on(method, force, moments, current, -method.record.test_step, 2)
    home = max(np.linalg.norm(current.m - m, axis=-1).max(), np.linalg.norm(current.q - q, axis=-1).max())
    assert home <= 4 * PER_STEP if method.record.symmetric else home > VISIBLE


@every_method
@pytest.mark.parametrize("force", [FREE, GRAVITY, RESTORING, GENERAL], ids=repr)
def test_symplectic_methods(method, force):
    m, q = np.array([0.48, -0.6, 0.64]), np.array([0.5, 0.1, -0.7, 0.5])
    shifts = (SHIFT * np.arange(-3, 4)[:, None, None] * np.eye(6)).reshape(-1, 6)
    attitudes = multiply(q, from_rotation_vector(shifts[:, :3]))
    current = step(method, force, (2.75, 1.0, 1.75), m + shifts[:, 3:], attitudes, method.record.test_step)
    ends_m, ends_q = current.m.reshape(7, 6, 3), current.q.reshape(7, 6, 4)
    slope_m = np.einsum("k,kic->ci", CENTRAL, ends_m) / SHIFT
    slope_q = np.einsum("k,kic->ci", CENTRAL, rotation_vector(multiply(conjugate(ends_q[3, 0]), ends_q))) / SHIFT
    J = np.vstack([slope_q, slope_m])
    defect = np.abs(J.T @ np.array(canonical(ends_m[3, 0])) @ J - canonical(m)).max()
    assert defect < KEPT if method.record.symplectic else defect > BROKEN


@every_method
def test_record_of_methods(method):
    record = method.record
    assert record.summary
    assert record.references
    assert all(len(reference) > 20 for reference in record.references)
    assert record.free | record.quadratic | record.axial | record.potential <= set(KEPT_BY_METHODS)
    assert record.order == method.order == 2
    assert eval(repr(method), {type(method).__name__: type(method)}) == method
    assert ph.cite(method) == record.references
