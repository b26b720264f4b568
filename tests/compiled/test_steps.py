"""Compiled steps for loops of the user: the bits of flow.step and of integrate, the golden truth, and their limits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numba
import numpy as np
import pytest

import polhode as ph
from conftest import EPS, distance, golden_cases, random_attitude
from polhode.flows import variants
from polhode.flows.flow import Flow
from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.jit import inline
from polhode.kernels.stepping.loops import loops

Q0 = (1.0, 0.0, 0.0, 0.0)
# Flows with parameters, with parts of a step and with scratch numbers. Numba takes two seconds for the loops of each.
OFTEN = {
    "Exact()",
    "Gauss(4, c0=0.5, c3=0.5)",
    "MoserVeselov(6)",
    "Composed(ThreeRotations(), 'Yoshida4')",
    "FrbQuaternion(gamma=(0.6, 0.8))",
}
RARE = [pytest.mark.release] if JIT else []
FLOWS = [pytest.param(flow, id=repr(flow), marks=[] if repr(flow) in OFTEN else RARE) for flow in variants()]


def free_loops(flow):
    """Loops of the user over bodies: by single steps, and by prepared ones."""
    step = ph.compiled.step(flow)
    prepare, advance = ph.compiled.prepared(flow)

    def by_steps(inertia, m, q, h, m_out, q_out):
        for i in range(len(m)):
            m_out[i], q_out[i] = step(inertia[i], m[i], q[i], h[i])

    def by_bodies(inertia, m, q, h, m_out, q_out, steps):
        for i in range(len(m)):
            body = prepare(inertia[i], m[i])
            x, y = advance(body, m[i], q[i], h[i])
            for _ in range(steps - 1):
                x, y = advance(body, x, y, h[i])
            m_out[i], q_out[i] = x, y

    return (numba.njit(by_steps), numba.njit(by_bodies)) if JIT else (by_steps, by_bodies)


def bodies(rng, count, longest):
    inertia, m = rng.uniform(1, 3, (count, 3)), rng.normal(size=(count, 3))
    return inertia, m, random_attitude(rng, count), rng.uniform(-longest, longest, count)


@pytest.mark.parametrize("flow", FLOWS)
def test_bits_of_flow_step(flow, rng):
    longest = 0.15 if isinstance(flow, ph.MoserVeselov) else 0.5  # whose equations have no solution for longer steps
    inertia, m, q, h = bodies(rng, 2000 if JIT else 8, longest)
    by_steps, by_bodies = free_loops(flow)
    m_out, q_out = np.empty_like(m), np.empty_like(q)
    for steps in (1, 5):
        expected = flow.step(inertia, ph.State(m, q), h, steps=steps)
        by_bodies(inertia, m, q, h, m_out, q_out, steps)
        np.testing.assert_array_equal(m_out, expected.m)
        np.testing.assert_array_equal(q_out, expected.q)
        if steps == 1:
            by_steps(inertia, m, q, h, m_out, q_out)
            np.testing.assert_array_equal(m_out, expected.m)
            np.testing.assert_array_equal(q_out, expected.q)


def test_golden_cases_to_five_eps():
    by_steps, _ = free_loops(ph.Exact())
    cases = golden_cases()
    inertia, m, q, t = (np.array([case[key] for case in cases]) for key in ("I", "m0", "q0", "t"))
    m_out, q_out = np.empty_like(m), np.empty_like(q)
    by_steps(inertia, m, q, t, m_out, q_out)
    for case, m1, q1 in zip(cases, m_out, q_out, strict=True):
        size = np.linalg.norm(case["m0"]) or 1.0
        assert distance(m1, case["m"]) / size <= 5 * EPS * (1 + case["cond_m"]), case["label"]
        assert distance(q1, case["q"]) <= 5 * EPS * (1 + case["cond_q"]), case["label"]


@pytest.mark.parametrize("flow", FLOWS)
def test_bodies_are_not_changed_by_steps(flow):
    prepare, advance = ph.compiled.prepared(flow)
    body = prepare((2.0, 1.0, 3.0), (0.3, 0.2, 0.9))
    before = np.array(body)
    advance(body, (0.3, 0.2, 0.9), Q0, 0.1)
    np.testing.assert_array_equal(body, before)


@pytest.mark.parametrize("flow", [ph.Exact(), ph.Midpoint()], ids=repr)
@pytest.mark.parametrize("factor", [2.0**-300, 1e-9, 1e9, 2.0**300])
def test_momenta_of_another_size_than_the_prepared_one(flow, factor):
    prepare, advance = ph.compiled.prepared(flow)
    inertia, m = (2.0, 1.0, 3.0), (0.3, 0.2, 0.9)
    body = prepare(inertia, tuple(factor * x for x in m))
    expected = flow.step(inertia, ph.State(m), 0.3)
    m1, q1 = advance(body, m, Q0, 0.3)
    np.testing.assert_array_equal(m1, expected.m)
    np.testing.assert_array_equal(q1, expected.q)


def test_integers_arrays_and_rest():
    step = ph.compiled.step(ph.Exact())
    m, q = step((1, 2, 3), np.array([3, 2, 9]), (1, 0, 0, 0), 1)
    expected = ph.Exact().step((1, 2, 3), ph.State((3, 2, 9)), 1)
    assert m == tuple(expected.m)
    assert q == tuple(expected.q)
    assert step((1.0, 2.0, 3.0), (0.0, 0.0, 0.0), Q0, 1.0) == ((0.0, 0.0, 0.0), Q0)


@pytest.mark.parametrize(("flow", "h"), [(ph.Exact(), 1e160), (ph.MoserVeselov(), 9.0)])
def test_steps_without_a_result_are_nan(flow, h):
    with pytest.raises(ph.errors.StepError):
        flow.step((1.0, 2.0, 3.0), ph.State((0.3, 0.2, 0.9)), h)
    m, q = ph.compiled.step(flow)((1.0, 2.0, 3.0), (0.3, 0.2, 0.9), Q0, h)
    assert np.isnan([*m, *q]).all()


FORCES = {
    "torque": ph.Torque(lambda t, Q, w, p: (p[0] * Q[2][1], -p[0] * Q[2][0], p[1] * t), params=[0.5, 0.1]),
    "drag": ph.Torque(lambda t, Q, w, p: (-w[0] * abs(w[0]), 0.0, 0.3 * Q[0][0])),
    "damped": ph.forces.gravity(0.7, offset=(0, 0, 1)) + ph.forces.damping((0.1, 0.2, 0.05)),
}
SPLITTINGS = [
    ("V2", "torque"),
    ("RKN6_14a", "torque"),
    ("V2", "damped"),
    ("Suzuki4", "drag"),
    ("PABA1264", "torque"),
]


@pytest.mark.parametrize(("scheme", "force"), SPLITTINGS)
def test_bits_of_integrate(scheme, force, rng):
    method, force = ph.Splitting(scheme=scheme), FORCES[force]
    step = ph.compiled.step(method, force)
    prepare, advance = ph.compiled.prepared(method, force)
    for _ in range(5 if JIT else 1):
        inertia, m = rng.uniform(1, 3, 3), rng.normal(size=3)
        problem = ph.Problem(inertia, ph.State(m, random_attitude(rng)), force, t_span=(0.5, 1.5))
        q = problem.state.q
        ends = ph.integrate(problem, method=method, h=0.25, t_eval=[0.5, 1.5])
        m1, q1 = advance(prepare(inertia, m), m, q, 0.5, 0.25, 4)
        np.testing.assert_array_equal(m1, ends.m[-1])
        np.testing.assert_array_equal(q1, ends.q[-1])
        every = ph.integrate(problem, method=method, h=0.25)
        if not method.scheme.processor:  # which begins anew in every call
            for k in range(4):
                m1, q1 = step(inertia, every.m[k], every.q[k], every.t[k], 0.25)
                np.testing.assert_array_equal(m1, every.m[k + 1])
                np.testing.assert_array_equal(q1, every.q[k + 1])


@pytest.mark.parametrize("factor", [0.0, 2.0**-300, 1e-9, 1e9, 2.0**300])
def test_splittings_of_momenta_of_another_size_than_the_prepared_one(factor):
    method, inertia, m = ph.Splitting(scheme="V2"), (2.0, 1.0, 3.0), (0.3, 0.2, 0.9)
    prepare, advance = ph.compiled.prepared(method, FORCES["torque"])
    for start, prepared_for in ((m, np.multiply(factor, m)), (np.multiply(factor, m), m)):
        problem = ph.Problem(inertia, ph.State(start), FORCES["torque"], t_span=(0.0, 0.3))
        end = ph.integrate(problem, method=method, h=0.3)
        m1, q1 = advance(prepare(inertia, prepared_for), start, Q0, 0.0, 0.3)
        np.testing.assert_array_equal(m1, end.m[-1])
        np.testing.assert_array_equal(q1, end.q[-1])


def test_splittings_by_a_flow_with_scratch_numbers():
    method, inertia, m = ph.Splitting(ph.FrbQuaternion(3), "V2"), (2.0, 1.0, 3.0), (0.3, 0.2, 0.9)
    prepare, advance = ph.compiled.prepared(method, FORCES["torque"])
    problem = ph.Problem(inertia, ph.State(m), FORCES["torque"], t_span=(0.0, 0.2))
    end = ph.integrate(problem, method=method, h=0.1, t_eval=[0.0, 0.2])
    body = prepare(inertia, m)
    before = np.array(body)
    m1, q1 = advance(body, m, Q0, 0.0, 0.1, 2)
    np.testing.assert_array_equal(m1, end.m[-1])
    np.testing.assert_array_equal(q1, end.q[-1])
    np.testing.assert_array_equal(body, before)


def test_parameters_of_a_step():
    force = FORCES["torque"]
    step = ph.compiled.step(ph.Splitting(scheme="V2"), force)
    start = (1.0, 2.0, 3.0), (0.3, 0.2, 0.9), Q0, 0.0, 0.1
    assert step(*start) == step(*start, 1, (0.5, 0.1))
    other = ph.Problem(start[0], ph.State(start[1]), force.replaced(params=[0.2, 0.3]), t_span=(0.0, 0.1))
    end = ph.integrate(other, method="V2", h=0.1)
    m, q = step(*start, 1, np.array([0.2, 0.3]))
    np.testing.assert_array_equal(m, end.m[-1])
    np.testing.assert_array_equal(q, end.q[-1])


@pytest.mark.parametrize("m", [(0.3, 0.2, 0.9), (0.0, 0.0, 0.0)])
def test_steps_of_length_zero_change_nothing(m):
    inertia = (1.0, 2.0, 3.0)
    for method, force, time in ((ph.Exact(), (), ()), (ph.Splitting(scheme="V2"), (FORCES["torque"],), (0.5,))):
        prepare, advance = ph.compiled.prepared(method, *force)
        assert ph.compiled.step(method, *force)(inertia, m, Q0, *time, 0.0) == (m, Q0)
        assert advance(prepare(inertia, m), m, Q0, *time, 0.0) == (m, Q0)


def test_a_torque_that_raises_gives_nan():
    force = ph.Torque(lambda t, Q, w, p: (1.0 / p[0], 0.0, 0.0), params=[1.0])
    step = ph.compiled.step(ph.Splitting(scheme="V2"), force)
    m, q = step((1.0, 2.0, 3.0), (0.3, 0.2, 0.9), Q0, 0.0, 0.1, 1, (0.0,))
    assert np.isnan([*m, *q]).all()


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_steps_end_at_breaks(direction):
    """The torque jumps at t = 1: steps on either side have its limit from their side, and none may contain the jump."""
    jump = ph.Torque(lambda t, Q, w, p: (0.0, 0.0, 1.0 if t < 1.0 else -2.0), breaks=[1.0])
    method = ph.Splitting(scheme="V2")
    step, inertia, m = ph.compiled.step(method, jump), (1.0, 2.0, 3.0), (0.3, 0.2, 0.9)
    start, h = 1.0 - 0.5 * direction, 0.25 * direction
    run = ph.integrate(ph.Problem(inertia, ph.State(m), jump, t_span=(start, start + 4 * h)), method=method, h=abs(h))
    q = Q0
    for k in range(4):
        m, q = step(inertia, m, q, start + k * h, h)
        np.testing.assert_array_equal(m, run.m[k + 1])
        np.testing.assert_array_equal(q, run.q[k + 1])
    assert np.isnan(step(inertia, m, q, 0.9, 0.2)[0]).all()
    assert np.isnan(step(inertia, m, q, 0.5, 0.25, 4)[0]).all()
    assert np.isfinite(step(inertia, m, q, 0.5, 0.25, 2)[0]).all()


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
@pytest.mark.parametrize(
    "made",
    ["ph.Exact()", "ph.Splitting(scheme='V2'), ph.forces.gravity(1.0, offset=(0, 0, 1))"],
    ids=["flow", "splitting"],
)
def test_loops_are_not_kept_on_disk(made, tmp_path):
    """Addresses belong to this process: Numba says that it keeps nothing, instead of code that would fail elsewhere."""
    source = tmp_path / "user_loop.py"
    source.write_text(
        f"import numba, polhode as ph\nprepare, _ = ph.compiled.prepared({made})\n"
        "@numba.njit(cache=True)\ndef loop(m):\n    return prepare((1.0, 2.0, 3.0), m)\n"
    )
    scope = {"__file__": str(source), "__name__": "user_loop"}
    exec(compile(source.read_text(), str(source), "exec"), scope)
    with pytest.warns(numba.NumbaWarning, match="dynamic globals"):
        scope["loop"]((0.3, 0.2, 0.9))


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_threads_share_a_body(rng):
    """A flow with scratch numbers among its constants, called from many threads without the GIL."""
    flow = ph.FrbQuaternion(3)
    prepare, advance = ph.compiled.prepared(flow)
    inertia, m, q = (1.0, 2.0, 3.0), (0.3, 0.2, 0.9), Q0
    body = prepare(inertia, m)

    @numba.njit(nogil=True)
    def turned(h, count):
        x, y = m, q
        for _ in range(count):
            x, y = advance(body, x, y, h)
        return x

    lengths = rng.uniform(0.01, 0.1, 16)
    turned(0.1, 1)
    with ThreadPoolExecutor(4) as pool:
        ends = [*pool.map(lambda h: turned(h, 2000), lengths)]
    for h, end in zip(lengths, ends, strict=True):
        assert end == tuple(flow.step(inertia, ph.State(m), h, steps=2000).m)


@inline
def prepare_shear(order, I, parameters, c):
    c[0], c[1] = parameters[0], I[2]


@inline
def advance_shear(c, m, q, h):
    return (m[0] + c[0] * h * m[1] * m[2] / c[1], m[1], m[2]), q, 0.0


class Shear(Flow):
    """A flow of the user, in the file of the user."""

    kernels = loops(prepare_shear, advance_shear, size=2)
    record = replace(ph.Midpoint().record, name="Shear()")
    exact_parameters = (3.0,)


def test_a_flow_of_the_user():
    inertia, m = (1.0, 2.0, 3.0), (0.3, 0.2, 0.9)
    expected = Shear().step(inertia, ph.State(m), 0.5)
    found, q = ph.compiled.step(Shear())(inertia, m, Q0, 0.5)
    assert found == tuple(expected.m)
    assert q == Q0
    assert found[0] == pytest.approx(0.39, abs=1e-15)  # 0.3 + 3.0 * 0.5 * 0.2 * 0.9 / 3.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((ph.Exact(), FORCES["drag"]), "omit the force"),
        (("Exact",), "expected a flow"),
        (
            (ph.Splitting(scheme="V2"), lambda t, Q, w, p: (0.0, 0.0, 0.0)),
            "force is of type function; expected a force",
        ),
        ((ph.Splitting(),), "got no force"),
        ((ph.Splitting(), FORCES["drag"]), "RKN6_14a is made for torques"),
        ((ph.Splitting(scheme="V2"), FORCES["torque"].replaced(params=[[1, 2], [3, 4]])), "expected those of one body"),
        ((ph.Splitting(scheme="V2"), ph.forces.damping(0.1 * np.eye(3) + 0.01)), "not diagonal"),
    ],
)
def test_refused(arguments, message):
    with pytest.raises(ph.InputError, match=message):
        ph.compiled.step(*arguments)
