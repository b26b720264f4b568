"""
Order and chaos in an asymmetric top
====================================

A heavy top without symmetry has, in general, no third integral, and many of its motions are chaotic. With a weak
weight, it is a perturbed free body: far from the separatrix, motions stay on tori, and the chaos begins near the
separatrix. Poincaré's section shows both at once: of each motion, only the moments count at which the angular momentum
crosses a plane of the body.
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

MOMENTS = np.array([1.0, 1.5, 2.2])
GRAVITY = ph.forces.gravity(0.1, offset=(0.6, 0.0, 0.8))
ENERGY, VERTICAL = 1.0, 0.8  # both are conserved: energy, and the momentum along the vertical

# %%
# Motions of one energy and one vertical momentum start in the plane m1 = 0. In Andoyer's variables they differ by the
# ratio L/G, the part of the momentum along the third axis, and by the angle g; the length G follows from the energy,
# here by repetition.


def starts(ratio, g):
    """States in the section with these ratios L/G and angles g."""
    zero, G = np.zeros_like(ratio), np.full_like(ratio, 1.5)
    for _ in range(60):
        state = ph.from_andoyer(G, ratio * G, zero + VERTICAL, g, zero + np.pi, zero)
        kinetic = ENERGY - GRAVITY.potential(0.0, state.q)
        G = np.sqrt(2 * kinetic / ((1 - ratio**2) / MOMENTS[1] + ratio**2 / MOMENTS[2]))
    return state


ratio = np.concatenate([np.linspace(0.3, 0.99, 16), np.linspace(0.62, 0.72, 6), [0.55, 0.6, 0.65, 0.7]])
g = np.where(np.arange(len(ratio)) < 22, np.pi / 2, -np.pi / 2)
top = ph.Problem(MOMENTS, starts(ratio, g), GRAVITY, t_span=(0, 4000))
crossing = ph.events.section(normal=(1, 0, 0), of="m")
traj = ph.integrate(top, method="RKN6_14a", h=0.2, t_eval=[0, 4000], events=crossing)
kept = np.ptp(traj.energy)
print(f"{sum(map(len, traj.t_events[0]))} crossings; energies agree to {kept:.1e} at the end")

# %%
# Two motions, each with a neighbor a ten-billionth away: on a torus they part slowly, in the chaotic sea by a constant
# factor in each unit of time.

pair = starts(np.array([0.95, 0.95 + 1e-10, 0.35, 0.35 + 1e-10]), np.zeros(4))
times = np.linspace(0, 600, 1201)
near = ph.integrate(ph.Problem(MOMENTS, pair, GRAVITY, t_span=(0, 600)), method="RKN6_14a", h=0.1, t_eval=times)
regular, chaotic = (np.linalg.norm(near.m[:, i + 1] - near.m[:, i], axis=-1) for i in (0, 2))
print(f"after t = 600 neighbors are {regular[-1]:.1e} apart on the torus, {chaotic[-1]:.1e} in the sea")

# %%
# Left, the section, one color for each motion: curves are tori, the islands a resonance, the scattered points chaos.
# Right, the distance of the neighbors.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), width_ratios=(2, 1), layout="constrained")
for m, q, color in zip(traj.m_events[0], traj.q_events[0], plt.cm.turbo(np.linspace(0, 1, len(ratio))), strict=True):
    v = ph.andoyer(m, q)
    left.plot(np.degrees(v.g), v.L / v.G, ".", ms=1.6, color=color)
left.set(xlabel="g [degrees]", ylabel="L/G", xlim=(-180, 180), ylim=(-0.45, 1), title="where m₁ changes its sign")
right.semilogy(times, chaotic, color="C3", lw=0.8, label="in the sea")
right.semilogy(times, regular, color="C0", lw=0.8, label="on a torus")
right.set(xlabel="t", ylabel="distance of two neighbors in m", xlim=(0, 600))
right.legend()
plt.show()
