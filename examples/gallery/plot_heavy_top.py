"""
A top sleeps, loops and stops at cusps
======================================

Lagrange's top: a symmetric body that spins on its tip. Depending on how its axis is pushed at the start, the axis draws
waves, cusps or loops around the vertical. Upright and fast enough, it sleeps; a little too slow, it falls and gets up
again. Where the turning points are is known in closed form (H. Goldstein, Classical mechanics, section 5.7).
"""

import matplotlib.pyplot as plt
import numpy as np

import polhode as ph

I1, I3, WEIGHT = 1.0, 0.5, 1.0  # moments about the tip; weight times lever
BODY, GRAVITY = ph.RigidBody((I1, I1, I3)), ph.forces.gravity(WEIGHT, offset=(0, 0, 1))


def let_go(tilt, push, spin, t_end):
    """The motion of a top that is let go at that tilt, with the precession ``push`` and that spin."""
    omega = push * np.array([0.0, np.sin(tilt), np.cos(tilt)]) + [0.0, 0.0, spin]
    q = ph.rotation.from_rotation_vector((tilt, 0.0, 0.0))
    top = ph.Problem(BODY, omega=omega, q=q, force=GRAVITY, t_span=(0, t_end))
    return ph.integrate(top, method="RKN6_14a", h=0.05)


# %%
# Three ways to let it go at a tilt of 30 degrees: pushed forward, at rest, pushed backward. At rest it makes cusps, and
# falls to the height at which the cosine u of the tilt is b - sqrt(b^2 - 2 b u0 + 1), b = (I3 spin)^2/(4 I1 weight).

TILT, SPIN = np.radians(30), 8.0
pushes = {"pushed forward: waves": 0.12, "let go: cusps": 0.0, "pushed backward: loops": -0.4}
tops = {name: let_go(TILT, push, SPIN, 26.0) for name, push in pushes.items()}
curves = {name: top.matrix[..., 2] for name, top in tops.items()}  # of the axis
b = (I3 * SPIN) ** 2 / (4 * I1 * WEIGHT)
expected = np.degrees(np.arccos(b - np.sqrt(b**2 - 2 * b * np.cos(TILT) + 1)))
lowest = np.degrees(np.arccos(curves["let go: cusps"][:, 2].min()))
print(f"with cusps the axis falls to {lowest:.4f} degrees; by the formula {expected:.4f}")

# %%
# Upright, a spin of 2 sqrt(I1 weight)/I3 parts sleeping from falling. A touch of a thousandth of a radian stays small
# with 5 percent more; with 5 percent less the axis falls to u = 2 b - 1.

least = 2 * np.sqrt(I1 * WEIGHT) / I3
tilts = {}
for factor in (1.05, 0.95):
    upright = let_go(1e-3, 0.0, factor * least, 200.0)
    axis = upright.matrix[..., 2]
    tilts[factor] = np.degrees(np.arctan2(np.hypot(axis[:, 0], axis[:, 1]), axis[:, 2]))
fallen = np.degrees(np.arccos(2 * 0.95**2 - 1))
print(
    f"asleep: at most {tilts[1.05].max():.3f} degrees; too slow: {tilts[0.95].max():.3f}, by the formula {fallen:.3f}"
)

# %%
# The tip of the axis, seen from above; and the tilt of the two tops that stand upright.

figure = plt.figure(figsize=(10, 6), layout="constrained")
above, below = figure.subfigures(2, 1, height_ratios=(1.4, 1))
for panel, (name, axis) in zip(above.subplots(1, 3), curves.items(), strict=True):
    x, y = axis[:, :2].T
    panel.plot(x, y, lw=0.9)
    for radius in (np.hypot(x, y).min(), np.hypot(x, y).max()):
        panel.add_patch(plt.Circle((0, 0), radius, fill=False, color="C7", lw=0.6, ls="--"))
    panel.set(aspect="equal", title=name, xticks=(), yticks=())
panel = below.subplots()
panel.plot(upright.t, tilts[0.95], label="5 percent too slow")
panel.plot(upright.t, tilts[1.05], label="5 percent faster than needed: asleep")
panel.axhline(fallen, color="C7", lw=0.8, ls="--")
panel.set(xlabel="t", ylabel="tilt [degrees]", xlim=(0, 200))
panel.legend(loc="upper right")
plt.show()

# %%
# The top that draws loops, as a film.

tops["pushed backward: loops"].animate(shape="top", title="A top that draws loops", seconds=10)
