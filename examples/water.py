"""Rigid water: 216 molecules of SPC/E in a box that repeats itself, melted off a lattice and then left alone.

python examples/water.py [picoseconds] [picture.png]

The picture shows how kinetic and potential energy settle, and then the error of the total energy of two methods that
cost the same, a thousand evaluations of the forces per picosecond: Stoermer-Verlet with steps of 1 fs, and a scheme of
order 4 with steps of 6 fs. Units are nm, ps, u and kJ/mol.
"""

import sys

import numpy as np

import polhode as ph
from polhode import interactions

KT = 298.15 * interactions.BOLTZMANN
FS = 0.001  # ps
RUNS = (("V2", 1 * FS, "#D55E00"), ("RKN4_6b", 6 * FS, "#0072B2"))


def melt(molecules=216, rounds=15, cutoff=0.9):
    """(liquid at 298.15 K, a list of (time, kinetic, potential energy per molecule) on the way to it)"""
    system, told = ph.System.liquid(interactions.water("SPC/E", cutoff=cutoff), molecules, kT=KT, seed=1), []
    for k in range(rounds):
        traj = ph.integrate(system, (0.1 * k, 0.1 * (k + 1)), method="V2", h=2 * FS, save_every=5)
        told.append((traj.t, traj.kinetic / molecules, traj.potential / molecules))
        system = system.replaced(state=traj.state()).at_temperature(KT)
    return system, told


def follow(system, picoseconds=1.0):
    """Trajectories of both methods, by name."""
    return {
        name: ph.integrate(system, (0.0, picoseconds), method=name, h=h, save_every=round(6 * FS / h))
        for name, h, _ in RUNS
    }


def errors(traj):
    """Of the energy, in kT per molecule."""
    return (traj.energy - traj.energy[0]) / (KT * traj.system.count)


def draw(told, runs, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for k, (name, color) in enumerate((("kinetic", "#E69F00"), ("potential", "#0072B2"))):
        for t, *energy in told:
            left.plot(t, energy[k], color=color, label=name if t[0] == 0.0 else None)
    left.set(xlabel="ps", ylabel="energy per molecule, kJ/mol", title="melting, brought back to 298 K every 0.1 ps")
    left.legend()
    for name, h, color in RUNS:
        label = f"{name}, {1000 * h:g} fs"
        right.semilogy(runs[name].t[1:], np.abs(errors(runs[name]))[1:], color=color, label=label)
    right.set(xlabel="ps", ylabel="error of the energy per molecule, kT", title="left alone: both cost the same")
    right.legend(loc="lower right")
    figure.savefig(path, dpi=130)


def main(picoseconds=1.0, path="water.png"):
    system, told = melt()
    runs = follow(system, picoseconds)
    print(f"{system}\n")
    for name, traj in runs.items():
        kelvin = np.mean(traj.temperature_translation), np.mean(traj.temperature_rotation)
        print(
            f"{name:8} {1000 * traj.h:g} fs: {traj.stats.torques} evaluations, {traj.stats.seconds:.1f} s; error "
            f"{np.abs(errors(traj)).max():.1e} kT per molecule; {kelvin[0] / interactions.BOLTZMANN:.0f} K of places, "
            f"{kelvin[1] / interactions.BOLTZMANN:.0f} K of attitudes; "
            f"potential {traj.potential.mean() / system.count:.1f} kJ/mol"
        )
    draw(told, runs, path)
    print(f"\npicture: {path}")


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((float, str), sys.argv[1:], strict=False)))
