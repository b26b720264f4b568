"""A step size for each body of a batch: every body must move as it does alone, with its own step size."""

from __future__ import annotations

import numpy as np
import pytest

import polhode as ph
from polhode import Problem, State, Torque, forces, integrate
from polhode.core.errors import InputError, RunWarning, ShapeError, TimeError

T_EVAL = np.array([0.0, 0.31, 1.7, 4.0])


def tops(count=7, batch=None, **more):
    """Tops of different spin, with different torques, about axes that are not principal."""
    rng = np.random.default_rng(5)
    shape = (count,) if batch is None else batch
    tensor = np.array([[1.0, 0.1, 0.0], [0.1, 1.3, 0.2], [0.0, 0.2, 1.6]])
    force = forces.gravity(rng.uniform(0.5, 1.5, shape), (0.1, 0.0, 0.3))
    m = rng.normal(size=(*shape, 3)) * np.geomspace(0.5, 8.0, int(np.prod(shape))).reshape(*shape, 1)
    return Problem(tensor, State(m=m, q=(0.7, 0.1, -0.5, 0.5)), force, t_span=(0.0, 4.0), **more)


def alone(problem, i, **more):
    """The problem of body i, as a batch of one."""
    force = problem.force.replaced(params=problem.force.params[i : i + 1])
    return problem.replaced(state=State(m=problem.state.m[i : i + 1], q=problem.state.q), force=force, **more)


SIZES = np.array([0.1, 0.013, 0.1, 0.05, 0.5, 0.0999, 9.0])


@pytest.mark.dense
@pytest.mark.parametrize("method", ["V2", "ABA1064", "PABA1264", "RKN6_14a", ph.Rattle()])
def test_every_body_moves_as_alone(method):
    """States at start and end, and at times between steps, to the bit."""
    sizes = np.minimum(SIZES, 0.05) if isinstance(method, ph.Rattle) else SIZES
    ends = integrate(tops(), method=method, h=sizes)
    at_times = integrate(tops(), method=method, h=sizes, t_eval=T_EVAL)
    assert ends.t.tolist() == [0.0, 4.0]
    for i, h in enumerate(sizes):
        body = alone(tops(), i)
        end = integrate(body, method=method, h=h, save_every=10**6)
        assert np.array_equal(ends.m[:, i], end.m[:, 0])
        assert np.array_equal(ends.q[:, i], end.q[:, 0])
        assert ends.h[i] == end.h
        times = integrate(body, method=method, h=h, t_eval=T_EVAL)
        assert np.array_equal(at_times.m[:, i], times.m[:, 0])
        assert np.array_equal(at_times.q[:, i], times.q[:, 0])


def test_numbers_of_steps():
    """Steps are shortened to whole numbers of them: 4/0.1, 4/0.013, ... rounded up, by hand."""
    result = integrate(tops(), method="V2", h=SIZES)
    assert result.stats.steps == 40 + 308 + 40 + 80 + 8 + 41 + 1
    assert np.allclose(result.h, 4.0 / np.array([40, 308, 40, 80, 8, 41, 1]), rtol=1e-15)


def test_order_and_neighbors_do_not_matter():
    problem, order = tops(), np.array([4, 0, 6, 2, 1, 3, 5])
    result = integrate(problem, method="ABA82", h=SIZES, t_eval=T_EVAL)
    turned = problem.replaced(
        state=State(m=problem.state.m[order], q=problem.state.q),
        force=problem.force.replaced(params=problem.force.params[order]),
    )
    other = integrate(turned, method="ABA82", h=SIZES[order], t_eval=T_EVAL)
    assert np.array_equal(other.m, result.m[:, order])
    assert np.array_equal(other.q, result.q[:, order])


def test_shapes_broadcast_and_backward():
    problem = tops(batch=(2, 3), h=None).replaced(t_span=(4.0, 0.0))
    result = integrate(problem, method="V2", h=[[0.1], [0.05]])
    assert result.h.shape == (2, 3)
    assert np.allclose(result.h, [[-0.1] * 3, [-0.05] * 3])
    first = integrate(problem, method="V2", h=0.1, save_every=1000)
    assert np.array_equal(result.m[:, 0], first.m[:, 0])


def test_truth_of_the_heavy_top():
    """The errors at the end, by the reference states of the problem, decrease with each body's own step."""
    top = ph.problems.heavy_top()
    time, truth = next(iter(top.truth.items()))
    batch = top.replaced(state=State(m=np.tile(top.state.m, (3, 1)), q=top.state.q), t_span=(top.t_span[0], time))
    end = integrate(batch, method="ABA1064", h=np.array([1.0, 0.5, 0.25])).state()
    errors = np.linalg.norm(end.m - truth.m, axis=-1)
    assert errors[2] < errors[1] < errors[0] < 1e-3
    assert errors[2] < 1e-9


def test_breaks():
    """A torque that is switched: every stretch has whole steps of every body."""

    def switched(t, Q, w, p):
        return (0.0, p[0] if t < 1.3 else -p[0], 0.0)

    force = Torque(switched, params=(0.4,), breaks=(1.3,))
    problem = Problem((1.0, 1.5, 2.0), State(m=np.eye(3) + 0.2), force, t_span=(0.0, 3.0))
    sizes = np.array([0.5, 0.1, 0.33])
    result = integrate(problem, method="RKN6_14a", h=sizes, t_eval=[1.0, 1.3, 2.9])
    for i, h in enumerate(sizes):
        body = problem.replaced(state=State(m=problem.state.m[i : i + 1]))
        assert np.array_equal(result.m[:, i], integrate(body, method="RKN6_14a", h=h, t_eval=[1.0, 1.3, 2.9]).m[:, 0])


@pytest.mark.dense
def test_dense_output_with_and_without_steps():
    problem = tops()
    kept = integrate(problem, method="ABA82", h=SIZES, dense_output=True)
    repeated = integrate(problem, method="ABA82", h=SIZES)
    for i, h in enumerate(SIZES):
        m, q = integrate(alone(problem, i), method="ABA82", h=h).sol(T_EVAL)
        for result in (kept, repeated):
            m_own, q_own = result.sol(T_EVAL)
            assert np.allclose(m_own[:, i], m[:, 0], rtol=0, atol=1e-12)
            assert np.allclose(q_own[:, i], q[:, 0], rtol=0, atol=1e-12)


@pytest.mark.dense
def test_events():
    """Events, which may depend on the body, are found as with each body alone; terminal ones end a body."""
    levels = np.linspace(-0.2, 0.2, 7)

    def crosses(t, m, q):
        return m[..., 0] - levels

    def third(t, m, q):
        return m[..., 1]

    third.terminal = 3
    sizes = np.minimum(SIZES, 0.1)
    result = integrate(tops(), method="ABA1064", h=sizes, events=[crosses, third], t_eval=T_EVAL)
    for i, h in enumerate(sizes):

        def crosses_alone(t, m, q, level=levels[i]):
            return m[..., 0] - level

        one = integrate(alone(tops(), i), method="ABA1064", h=h, events=[crosses_alone, third], t_eval=T_EVAL)
        for event in (0, 1):
            assert len(one.t_events[event][0]) == len(result.t_events[event][i])
            assert np.allclose(result.t_events[event][i], one.t_events[event][0], rtol=0, atol=1e-12)
        assert result.status[i] == one.status[0]
        assert np.array_equal(np.isnan(result.m[:, i]), np.isnan(one.m[:, 0]))


def test_failure_names_the_body_and_its_steps():
    def bad(t, Q, w, p):
        return (0.0, 0.0, 1.0 / (0.0 if t > p[0] else 1.0))

    force = Torque(bad, params=[[9.0], [1.0], [9.0]])
    problem = Problem((1.0, 1.5, 2.0), State(m=np.eye(3)), force, t_span=(0.0, 3.0))
    with pytest.warns(RunWarning, match=r"1 of 3 bodies stopped early; body\[1\] stopped in step 21 of 60, at t = "):
        result = integrate(problem, method="V2", h=np.array([0.3, 0.05, 0.1]))
    assert result.status.tolist() == [0, ph.Status.TORQUE_RAISED, 0]
    assert np.isnan(result.m[-1, 1]).all()
    assert np.isfinite(result.m[-1, [0, 2]]).all()


def test_error_estimate_is_that_of_the_worst_body():
    problem = tops(3)
    sizes = np.array([0.1, 0.4, 0.05])
    errors = [integrate(alone(problem, i), method="V2", h=h, estimate_error=True).error_estimate
              for i, h in enumerate(sizes)]  # fmt: skip
    result = integrate(problem, method="V2", h=sizes, estimate_error=True)
    assert np.allclose(result.error_estimate, np.max(errors, axis=0), rtol=1e-9)


@pytest.mark.parametrize("name", ["run.nc", "run.zarr"])
def test_saved_and_loaded(tmp_path, name):
    result = integrate(tops(batch=(2, 3)), method="V2", h=np.linspace(0.05, 0.1, 6).reshape(2, 3))
    result.save(tmp_path / name)
    loaded = ph.load(tmp_path / name)
    assert np.array_equal(loaded.h, result.h)
    assert "h = 0.05 to 0.1" in repr(loaded)
    assert "0.05 to 0.1" in result._repr_html_()


def test_interrupted(monkeypatch):
    """After Ctrl-C, bodies whose groups were finished have their states, and others are marked."""
    from polhode.integration.fixed_run import FixedRun

    compute = FixedRun.compute

    def third_is_interrupted(self, *arguments):
        self.interrupted = self.h < 0.04
        return compute(self, *arguments)

    monkeypatch.setattr(FixedRun, "compute", third_is_interrupted)
    with pytest.raises(KeyboardInterrupt) as stop:
        integrate(tops(3), method="V2", h=[0.1, 0.03, 0.05], t_eval=[1.0, 4.0])
    assert stop.value.trajectory.status.tolist() == [0, ph.Status.INTERRUPTED, 0]


def test_progress_reaches_the_end():
    parts = []
    integrate(tops(), method="V2", h=SIZES, progress=parts.append)
    assert parts[-1] == 1.0
    assert np.all(np.diff(parts) >= 0)


def test_refusals(tmp_path):
    problem, sizes = tops(), np.full(7, 0.1)
    with pytest.raises(InputError, match=r"save_every = 3, but every body of the batch has its own steps"):
        integrate(problem, method="V2", h=sizes, save_every=3)
    with pytest.raises(ShapeError, match=r"h has shape \(3,\); expected one number, or an array of the shape \(7,\)"):
        integrate(problem, method="V2", h=sizes[:3])
    with pytest.raises(ShapeError, match=r"h has shape \(7,\); expected one number$"):
        integrate(alone(problem, 0).replaced(state=State(m=(1, 2, 3)), force=None), method="V2", h=sizes)
    with pytest.raises(TimeError, match=r"h contains .*-0.1.*: expected positive finite numbers"):
        integrate(problem, method="V2", h=[0.1] * 6 + [-0.1])
    with pytest.raises(InputError, match="Adaptive chooses its steps"):
        integrate(problem, method=ph.Adaptive(1e-8), h=sizes)
    with pytest.raises(InputError, match="which all bodies must share; type one number for h"):
        ph.stream(problem, tmp_path / "run.zarr", method="V2", h=sizes)
    assert not (tmp_path / "run.zarr").exists()
    with pytest.raises(TimeError, match="expected one positive finite number"):
        ph.start(problem, method="V2", h=sizes)


def test_structures_in_time_are_those_of_each_body():
    """They are computed once for a problem, and a part of its bodies has its own."""
    force = Torque(lambda t, Q, w, p: (p[0] * t * t, 0.0, 0.0), params=[[0.0], [1.0], [2.0]])
    rows = Problem((1.0, 1.5, 2.0), State(m=np.eye(3)), force).rows
    whole = rows.structure((0.0, 1.0))
    assert rows.structure((0.0, 1.0)) is whole
    assert rows.structure((0.0, 2.0)) is not whole
    assert np.isinf(whole.longest).tolist() == [True, False, False]
    assert np.isinf(rows.take(np.array([0])).structure((0.0, 1.0)).longest).tolist() == [True]
