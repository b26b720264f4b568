"""Systems of dipolar soft spheres: how schemes and flows compare. What they cost: many_bodies.py.

    python benchmarks/dipoles.py [random | lattice]

(random) Celledoni et al. 2008, Figure 3.8: 100 random dipoles, energy errors of schemes at equal numbers of
evaluations, with exact and with three-rotation drifts.
(lattice) Figures 3.9 and 3.10: a 5 x 5 x 5 lattice, from weak coupling, where the exact flow wins, to strong coupling,
where the splitting into T + V dominates, and RKN6_14a breaks down before RKN4_6b.
"""

from __future__ import annotations

import sys

import numpy as np

import polhode as ph
from polhode.systems.interactions import DipolarSoftSpheres
from polhode.systems.start import random_attitudes
from polhode.systems.system import System

BODY = ph.RigidBody((1.0, 1.88, 2.88), mass=1.0)
DIPOLE = (0.0, 1.0, 1.0)
SCHEMES = ("V2", "S4_6", "RKN4_6b", "S6_10", "RKN6_14a")
FLOWS = {"exact": ph.Exact(), "MR": ph.ThreeRotations()}


def lattice(side, spacing, kT):
    return System.lattice(BODY, side, spacing, DipolarSoftSpheres(DIPOLE), kT=kT, seed=1)


def run(system, scheme, flow, evaluations, t_end):
    """With about so many evaluations; twenty states, or so, are kept."""
    method = ph.Splitting(flow, scheme)
    steps = max(1, round(evaluations / method.scheme.torques_per_step))
    return ph.integrate(system, (0.0, t_end), method=method, h=t_end / steps, save_every=max(1, steps // 20))


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
    wanted = sys.argv[1:] or ["random", "lattice"]
    for name, show in (("random", print_random), ("lattice", print_lattices)):
        if name in wanted:
            show()


if __name__ == "__main__":
    main()
