"""Rigid water, 216 molecules in a box: how well energy is kept, and what it costs.

    python benchmarks/water.py [drift | schemes | flows | models]

(drift) SPC/E at 2 fs with V2 (Stoermer-Verlet with exact rotations) for 10 ps: drift of the energy in kT per molecule
and ps, by a straight line through all steps, and the spread of the energy around it at 1, 2 and 4 fs, which is to go
with h^2.
(schemes) Largest error of the energy in kT per molecule on 1 ps, by scheme and step, at equal numbers of evaluations.
(flows) The same with other rotations in the place of the exact ones: NoSquish, five rotations (Miller et al. 2002), and
three; and the processor's time for a step with each, measured in turns.
(models) SPC, SPC/E and TIP3P at 298 K: potential energy per molecule and the temperatures.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import polhode as ph
from polhode.systems.interactions import BOLTZMANN, water

KT = 298.15 * BOLTZMANN
MOLECULES = 216
FS = 0.001  # ps


def melted(model="SPC/E", seed=1, picoseconds=3.0):
    """Liquid: off the lattice, with momenta brought back to 298.15 K every 0.1 ps."""
    system = ph.System.liquid(water(model), MOLECULES, kT=KT, seed=seed)
    for _ in range(round(10 * picoseconds)):
        traj = ph.integrate(system, (0.0, 0.1), method="V2", h=2 * FS, save_every=10**6)
        system = system.replaced(state=traj.state()).at_temperature(KT)
    return system


def energies(system, method, h, t_end, every=1):
    """(t, total energy in kT per molecule, run)"""
    traj = ph.integrate(system, (0.0, t_end), method=method, h=h, save_every=every)
    return traj.t, traj.energy / (KT * system.count), traj


def line(t, energy):
    """(slope, spread around the line)"""
    slope, start = np.polyfit(t, energy, 1)
    return slope, np.std(energy - start - slope * t)


def print_drift(system):
    print(f"V2, {system.count} molecules of SPC/E; drift in kT per molecule and ps, spread in kT per molecule")
    spreads = {}
    for h, t_end in ((1, 2.5), (2, 2.5), (4, 2.5), (2, 10.0)):
        t, energy, traj = energies(system, "V2", h * FS, t_end, every=max(1, 4 // h))
        slope, spread = line(t, energy)
        spreads.setdefault(h, spread)
        print(
            f"    h = {h} fs, {t_end:4.1f} ps: drift {slope:9.1e}, spread {spread:8.1e}; mean T "
            f"{np.mean(traj.temperature_translation) / BOLTZMANN:.0f} K (places), "
            f"{np.mean(traj.temperature_rotation) / BOLTZMANN:.0f} K (attitudes); {traj.stats.seconds:.1f} s",
            flush=True,
        )
    print(f"    spreads at 1, 2, 4 fs: powers of h {np.log2(spreads[2] / spreads[1]):.2f} and", end=" ")
    print(f"{np.log2(spreads[4] / spreads[2]):.2f}", flush=True)


def print_schemes(system):
    budgets = 2000, 1000, 500, 250
    print("\nlargest error of the energy on 1 ps, kT per molecule, by evaluations of the forces")
    print(f"    {'scheme':10}" + "".join(f"{n:>12d}" for n in budgets))
    for scheme in ("V2", "S4_6", "RKN4_6b", "RKN6_14a"):
        row = []
        for evaluations in budgets:
            method = ph.Splitting(ph.Exact(), scheme)
            steps = max(1, round(evaluations / method.scheme.torques_per_step))
            row.append(largest(system, method, 1.0 / steps))
        print(f"    {scheme:10}" + "".join(f"{e:12.1e}" for e in row), flush=True)


def largest(system, method, h, t_end=1.0):
    try:
        _, energy, _ = energies(system, method, h, t_end)
    except ph.PolhodeError:
        return np.nan
    return np.abs(energy - energy[0]).max()


def print_flows(system):
    flows = {"exact": ph.Exact(), "NoSquish": ph.NoSquish(), "3 rotations": ph.ThreeRotations()}
    seconds = dict.fromkeys(flows, np.inf)
    for _ in range(5):
        for name, flow in flows.items():
            start = time.thread_time()
            ph.integrate(system, (0, 0.1), method=ph.Splitting(flow, "V2"), h=2 * FS, save_every=10**6)
            seconds[name] = min(seconds[name], (time.thread_time() - start) / 50)
    print("\nother rotations, us per step of V2: " + ", ".join(f"{name} {1e6 * s:.0f}" for name, s in seconds.items()))
    print("largest error of the energy on 0.6 ps, kT per molecule, by h in fs")
    for scheme, lengths in (("V2", (1, 2, 4, 6)), ("RKN4_6b", (3, 4, 5, 6))):
        print(f"    {scheme:12}" + "".join(f"{h:>10d}" for h in lengths))
        for name, flow in flows.items():
            row = [largest(system, ph.Splitting(flow, scheme), h * FS, 0.6) for h in lengths]
            print(f"    {name:12}" + "".join(f"{e:10.1e}" for e in row), flush=True)


def print_models():
    print("\nmodels, 298 K after melting, 2 ps: potential energy in kJ/mol per molecule, temperatures in K")
    for name in ("SPC", "SPC/E", "TIP3P"):
        start = time.perf_counter()
        _, _, traj = energies(melted(name), "V2", 2 * FS, 2.0, every=5)
        places, attitudes = traj.temperature_translation, traj.temperature_rotation
        print(
            f"    {name:6} {traj.potential.mean() / MOLECULES:7.2f}   T = {places.mean() / BOLTZMANN:.0f} and "
            f"{attitudes.mean() / BOLTZMANN:.0f}; {time.perf_counter() - start:.0f} s",
            flush=True,
        )


def main():
    wanted = sys.argv[1:] or ["drift", "schemes", "flows", "models"]
    if {"drift", "schemes", "flows"} & set(wanted):
        system = melted()
        for name, show in (("drift", print_drift), ("schemes", print_schemes), ("flows", print_flows)):
            if name in wanted:
                show(system)
    if "models" in wanted:
        print_models()


if __name__ == "__main__":
    main()
