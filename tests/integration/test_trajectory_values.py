"""Trajectories are values, sequences of states, and tables."""

from __future__ import annotations

import numpy as np
import pytest

import polhode as ph
from polhode import Problem, State, forces
from polhode.core.errors import UnknownNameError


def top(**more):
    gravity = forces.gravity(1.0, (0, 0, 0.3))
    return Problem((1.0, 1.0, 0.5), State(m=(0.1, 0.0, 2.0)), gravity, (0.0, 2.0), **more)


def run(problem=None, **options):
    return ph.integrate(problem or top(), **{"method": "V2", "h": 0.1} | options)


# Trajectories as values


@pytest.mark.parametrize("name", ["t", "m", "q", "problem", "method", "h", "status", "message", "error_estimate"])
def test_a_trajectory_cannot_be_changed(name):
    with pytest.raises(AttributeError, match=rf"Trajectory\.{name} cannot be assigned.*\.replaced\({name}=\.\.\.\)"):
        setattr(run(), name, None)


def test_replaced_parts_of_a_trajectory():
    old = run()
    new = old.replaced(m=2 * old.m, message="twice")
    np.testing.assert_array_equal(new.m, 2 * old.m)
    assert new.message == "twice"
    assert new.q is old.q
    assert new.sol is old.sol
    assert old.message == ""
    with pytest.raises(AttributeError, match="were not saved"):
        _ = old.replaced(sol=None).sol
    events = [np.ones(1)], [np.ones((1, 3))], [np.ones((1, 4))]
    assert old.replaced(events=events).t_events is events[0]
    with pytest.raises(UnknownNameError, match=r"Trajectory\.replaced.*'time'"):
        old.replaced(time=old.t)


def test_equal_trajectories():
    one, two = run(), run()
    assert one.stats.seconds != two.stats.seconds
    assert one == two
    assert hash(one) == hash(two)
    assert one != run(h=0.05)
    assert one != run(method="V2_BAB")
    assert one != one.replaced(q=np.nextafter(one.q, 2))
    assert one != one.replaced(status=1)
    assert one != one.replaced(problem=top().replaced(name="other"))
    assert one != one[:-1]


def test_states_are_compared_to_the_bit_and_nan_is_equal():
    one = run()
    m = one.m.copy()
    m[3:] = np.nan
    negative = m.copy()
    negative[3:] = -np.nan
    assert one.replaced(m=m) == one.replaced(m=negative)
    assert hash(one.replaced(m=m)) == hash(one.replaced(m=negative))
    zero = np.zeros_like(m)
    assert one.replaced(m=zero) != one.replaced(m=-zero)


def test_two_loaded_trajectories(tmp_path):
    force = ph.Torque(lambda t, Q, w, p: (0.1, 0.0, 0.0)) + forces.gravity(1.0, (0, 0, 0.3))
    run(top().replaced(force=force)).save(tmp_path / "run.csv")
    one, two = (ph.load(tmp_path / "run.csv") for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)


# Trajectories as sequences


def test_one_state():
    traj = run()
    assert traj[3] == traj.state(3)
    assert traj[-1] == traj.state() == traj[len(traj) - 1]
    assert isinstance(traj[np.int64(3)], State)
    np.testing.assert_array_equal(traj[3].q, traj.q[3])


def test_a_state_does_not_change_with_its_trajectory():
    traj = run()
    state = traj[3]
    traj.m[3] = 7.0
    assert not np.any(state.m == 7.0)


@pytest.mark.parametrize("index", [21, -22])
def test_out_of_range(index):
    with pytest.raises(IndexError, match=rf"index {index}.*21 states.*-21 to 20"):
        run()[index]
    with pytest.raises(IndexError, match="21 states"):
        run().state(index)


@pytest.mark.parametrize("index", [1.5, "m", (1, 2), None])
def test_not_an_index(index):
    with pytest.raises(TypeError, match="expected an integer or a slice"):
        run()[index]


def test_slices():
    traj = run(events=lambda t, m, q: t - 1.23)
    part = traj[10:20]
    assert type(part) is type(traj)
    np.testing.assert_array_equal(part.t, traj.t[10:20])
    np.testing.assert_array_equal(part.q, traj.q[10:20])
    assert part.problem is traj.problem
    assert part.method is traj.method
    assert part.sol is traj.sol
    assert part.t_events is traj.t_events
    np.testing.assert_array_equal(traj[::-2].m, traj.m[::-2])
    assert traj[:] == traj
    assert len(traj[5:5]) == 0
    assert "0 states" in repr(traj[5:5])
    assert traj[5:5]._repr_html_()


def test_iteration():
    traj = run()
    states = list(traj)
    assert len(states) == len(traj) == 21
    assert states[7] == traj[7]
    assert next(reversed(traj)) == traj[-1]


def test_a_stored_trajectory_keeps_its_energy(tmp_path):
    run().save(tmp_path / "run.csv")
    stored = ph.load(tmp_path / "run.csv")
    np.testing.assert_array_equal(stored[5:9].energy, stored.energy[5:9])
    assert stored[3].m.tolist() == stored.m[3].tolist()


def test_a_batch():
    traj = run(top().replaced(state=State(m=[(0.1, 0, 2), (0.2, 0, 2)])))
    assert traj[2].batch == (2,)
    assert traj[2:4].m.shape == (2, 2, 3)


# Tables


def test_table_of_one_body():
    pytest.importorskip("pandas")
    traj = run()
    table = traj.to_pandas()
    assert table.index.name == "t"
    np.testing.assert_array_equal(table.index, traj.t)
    expected = "m_x m_y m_z q_w q_x q_y q_z omega_x omega_y omega_z energy"
    assert list(table.columns) == expected.split()
    np.testing.assert_array_equal(table[["m_x", "m_y", "m_z"]], traj.m)
    np.testing.assert_array_equal(table[["q_w", "q_x", "q_y", "q_z"]], traj.q)
    np.testing.assert_array_equal(table["omega_y"], traj.omega[:, 1])
    np.testing.assert_array_equal(table["energy"], traj.energy)


def test_table_without_energy():
    pytest.importorskip("pandas")
    table = run(top().replaced(force=ph.Torque(lambda t, Q, w, p: (0.1, 0.0, 0.0)))).to_pandas()
    assert list(table.columns)[-1] == "omega_z"


def test_a_failing_energy_is_not_hidden():
    pytest.importorskip("pandas")

    def energy(t, Q, p):
        if t > 1.0:
            raise AttributeError("the energy failed")
        return Q[2][2]

    traj = run(t_span=(0, 0.5)).replaced(problem=top().replaced(force=ph.Potential(energy)), t=np.linspace(0, 2, 6))
    with pytest.raises(AttributeError, match="the energy failed"):
        traj.to_pandas()


def test_table_of_a_batch():
    pytest.importorskip("pandas")
    traj = run(top().replaced(state=State(m=np.ones((2, 3, 3)))))
    table = traj.to_pandas()
    assert table.index.names == ["t", "body_0", "body_1"]
    assert len(table) == 21 * 6
    np.testing.assert_array_equal(table.loc[(traj.t[4], 1, 2), ["m_x", "m_y", "m_z"]], traj.m[4, 1, 2])
    np.testing.assert_array_equal(table["energy"].to_numpy().reshape(21, 2, 3), traj.energy)
    line = run(top().replaced(state=State(m=np.ones((4, 3))))).to_pandas()
    assert line.index.names == ["t", "body"]
