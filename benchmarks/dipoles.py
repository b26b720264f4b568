"""Systems of dipolar soft spheres: what forces and steps cost, and how schemes and flows compare.

    python benchmarks/dipoles.py [costs | random | lattice]

(costs) Microseconds per evaluation of all forces and torques, and per step of V2, on one core and on all; the share of
the free flight in a step; and a straightforward compiled loop over pairs, for comparison.
(random) Celledoni et al. 2008, Figure 3.8: 100 random dipoles, energy errors of schemes at equal numbers of
evaluations, with exact and with three-rotation drifts.
(lattice) Figures 3.9 and 3.10: a 5 x 5 x 5 lattice, from weak coupling, where the exact flow wins, to strong coupling,
where the splitting into T + V dominates, and RKN6_14a breaks down before RKN4_6b.
"""

from __future__ import annotations

import os
import sys
import time

import numba
import numpy as np

import polhode as ph
from polhode.interactions import DipolarSoftSpheres
from polhode.rotation import matrix
from polhode.system import System
from polhode.system_integration import integrate_system
from polhode.system_start import random_attitudes

BODY = ph.RigidBody((1.0, 1.88, 2.88), mass=1.0)
DIPOLE = (0.0, 1.0, 1.0)
SCHEMES = ("V2", "S4_6", "RKN4_6b", "S6_10", "RKN6_14a")
FLOWS = {"exact": ph.Exact(), "MR": ph.ThreeRotations()}
SIDES = (5, 10, 20)
REPEATS = 7


@numba.njit
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


def best(work, repeats=REPEATS):
    """Microseconds, the least of several tries."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e6 * min(times)


def lattice(side, spacing, kT):
    return System.lattice(BODY, side, spacing, DipolarSoftSpheres(DIPOLE), kT=kT, seed=1)


def print_costs():
    print(
        f"{'bodies':>7} {'threads':>7} {'plain loop':>11} {'forces':>9} {'ratio':>6} {'V2 step':>9} {'drift':>8}   us"
    )
    for side in SIDES:
        system = lattice(side, 2.0, 0.1)
        x, Q = system.state.x, matrix(system.state.q)
        d, F, g = system.interaction.dipoles(Q), np.empty_like(x), np.empty_like(x)
        few = 2 if side > 10 else REPEATS
        simple = best(lambda x=x, d=d, F=F, g=g: plain_loop(x, d, F, g), few)
        for threads in sorted({"1", str(len(os.sched_getaffinity(0)))}, key=int):
            os.environ["POLHODE_NUM_THREADS"] = threads
            forces = best(lambda s=system, x=x, Q=Q, F=F, g=g: s.interaction.evaluate(0.0, x, Q, F, g), few)
            steps = max(2, int(1e5 / forces))
            runs = [run(system, "V2", ph.Exact(), steps, 0.001 * steps).stats for _ in range(few)]
            step = 1e6 * min(stats.seconds for stats in runs) / steps
            drift = best(lambda s=system: drifts(s)) / 10
            costs = f"{simple:11.0f} {forces:9.1f} {simple / forces:6.1f} {step:9.1f} {drift:8.1f}"
            print(f"{system.count:7d} {threads:>7} {costs}", flush=True)
    del os.environ["POLHODE_NUM_THREADS"]


def drifts(system):
    """Ten free flights of all bodies."""
    from polhode.system_drift import Drift

    drift, m, q = Drift(ph.Exact(), system.moments), system.state.m.copy(), system.state.q.copy()
    for _ in range(10):
        drift(m, q, 0.001)


def run(system, scheme, flow, evaluations, t_end):
    """With about so many evaluations; twenty states, or so, are kept."""
    method = ph.Splitting(flow, scheme)
    steps = max(1, round(evaluations / method.scheme.torques_per_step))
    return integrate_system(system, (0.0, t_end), method=method, h=t_end / steps, save_every=max(1, steps // 20))


def error(system, scheme, flow, evaluations, t_end):
    return abs(run(system, scheme, flow, evaluations, t_end).energy_error()).max()


def print_errors(title, system, t_end, budgets, schemes=SCHEMES):
    energy = run(system, "V2", ph.Exact(), 1, 1e-3).energy[0]
    print(f"\n{title}; H0 = {energy:.4g}; largest relative error of the energy, by evaluations")
    print(f"    {'scheme':10} {'flow':6} " + "".join(f"{n:>10d}" for n in budgets))
    for scheme in schemes:
        for name, flow in FLOWS.items():
            errors = [error(system, scheme, flow, n, t_end) for n in budgets]
            print(f"    {scheme:10} {name:6} " + "".join(f"{e:10.1e}" for e in errors), flush=True)


def random_gas(count=100, seed=3):
    """At rest, no two closer than 1: the paper's own random places, a hundred times further, hardly interact."""
    rng, places = np.random.default_rng(seed), []
    while len(places) < count:
        place = 3.0 * rng.normal(size=3)
        if all(np.linalg.norm(place - other) > 1.0 for other in places):
            places.append(place)
    state = ph.State(m=np.zeros((count, 3)), q=random_attitudes(count, seed), x=places)
    return System(BODY, state, DipolarSoftSpheres(DIPOLE))


def print_random():
    print_errors("100 random dipoles, T = 1", random_gas(), 1.0, (160, 640, 1280))


def print_lattices():
    for spacing, kT, t_end, budgets in ((4.0, 0.5, 1.0, (40, 80, 160)), (2.0, 0.0, 10.0, (420, 840, 1680))):
        system = lattice(5, spacing, kT)
        print_errors(f"5 x 5 x 5, spacing {spacing:g}, kT = {kT:g}, T = {t_end:g}", system, t_end, budgets)


def main():
    wanted = sys.argv[1:] or ["costs", "random", "lattice"]
    for name, show in (("costs", print_costs), ("random", print_random), ("lattice", print_lattices)):
        if name in wanted:
            show()


if __name__ == "__main__":
    main()
