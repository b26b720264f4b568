"""Trajectories of systems are values, sequences of states, and tables."""

from __future__ import annotations

import numpy as np
import pytest

import polhode as ph
from polhode.systems.interactions import DipolarSoftSpheres

GAS = ph.System.lattice(ph.RigidBody((1, 2, 3), mass=1), 2, 2.0, DipolarSoftSpheres((0, 0, 1)), kT=0.1, seed=1)


def run(**options):
    return ph.integrate(GAS, (0, 1), **{"method": "V2", "h": 0.1} | options)


def test_states_and_slices():
    traj = run()
    assert traj[3] == traj.state(3)
    assert traj[-1] == traj.state()
    np.testing.assert_array_equal(traj[3].x, traj.x[3])
    assert len(list(traj)) == 11
    part = traj[2:8:2]
    for name in ("t", "x", "p", "m", "q"):
        np.testing.assert_array_equal(getattr(part, name), getattr(traj, name)[2:8:2])
    assert part.system is GAS
    with pytest.raises(IndexError, match="11 states"):
        traj[11]


def test_results_computed_once_are_those_of_the_slice():
    traj = run()
    potential = traj.potential
    np.testing.assert_array_equal(traj[4:6].potential, potential[4:6])
    assert traj == run()
    assert hash(traj) == hash(run())


def test_a_trajectory_cannot_be_changed():
    traj = run()
    with pytest.raises(AttributeError, match=r"SystemTrajectory\.x cannot be assigned.*\.replaced\(x=\.\.\.\)"):
        traj.x = traj.x + 1
    shifted = traj.replaced(x=traj.x + 1)
    np.testing.assert_array_equal(shifted.x, traj.x + 1)
    assert shifted != traj
    assert traj != run(h=0.05)[::2]


def test_table():
    pytest.importorskip("pandas")
    traj = run()
    table = traj.to_pandas()
    assert table.index.names == ["t", "body"]
    names = "x_x x_y x_z p_x p_y p_z m_x m_y m_z q_w q_x q_y q_z omega_x omega_y omega_z"
    assert list(table.columns) == names.split()
    np.testing.assert_array_equal(table.loc[(traj.t[2], 5), ["p_x", "p_y", "p_z"]], traj.p[2, 5])
