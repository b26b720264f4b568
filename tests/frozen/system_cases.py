"""Frozen cases of systems of bodies: all pairs, neighbor lists, molecules, fields of the user; all kinds of methods."""

from __future__ import annotations

from functools import partial

import numpy as np

import polhode as ph
from inputs import MOMENTS, attitudes, nudged, scattered
from polhode.systems.interactions import DipolarSoftSpheres, Field, Molecular, PairPotential

SPAN, H = (0.0, 0.05), 0.01
SIDE = 1.4
LATTICE = SIDE * np.array([(i, j, k) for i in range(3) for j in range(3) for k in range(3)], dtype=float)


def pull(t, x, Q, F, T, p):
    F[:] = -p[0] * x
    T[:, 2] = p[1] * Q[:, 2, 0] * (1.0 + t)


def soft(r, A, B, p):
    """A repulsion, and an energy of the third axes."""
    square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    return p[0] / square**3 + p[0] * (A[0][2] * B[0][2] + A[1][2] * B[1][2] + A[2][2] * B[2][2]) / square


def crowd(interaction, nudge, body=None, count=27, spacing=1.0, box=None):
    """Bodies near the points of a lattice, at speeds of up to 1."""
    body = body or ph.RigidBody((1.0, 1.0, 0.1), mass=1.0)
    x = spacing * (LATTICE[:count] + 0.1 * scattered(count, 3))
    m = nudged(0.3 * scattered(count, 3, seed=2), nudge)
    state = ph.State(m, attitudes(count), x=x, p=0.5 * scattered(count, 3, seed=3))
    return ph.System(body, state, interaction, box, t_span=SPAN)


def dipoles(nudge):
    return crowd(DipolarSoftSpheres((0, 0.3, 0.3)), nudge)


def near_dipoles(nudge):
    return crowd(DipolarSoftSpheres((0, 0.3, 0.3), cutoff=2.0), nudge, box=3 * SIDE)


def pairs(nudge):
    return crowd(PairPotential(soft, params=(0.01,)), nudge)


def field(nudge):
    body = ph.RigidBody(MOMENTS, mass=2.0)
    return crowd(Field(pull, params=(0.4, 0.3), arrays=True), nudge, body, count=5)


def molecules(nudge):
    """Water, to four digits; that of the library begins with linear algebra, whose last bits differ by processor."""
    sites = [(0.0, 0.0, -0.0065), (0.0816, 0.0, 0.0513), (-0.0816, 0.0, 0.0513)]
    strength = {"charges": [-0.85, 0.425, 0.425], "sigma": [0.3166, 0.0, 0.0], "epsilon": [0.65, 0.0, 0.0]}
    body = ph.RigidBody((0.006, 0.0134, 0.0194), mass=18.0)
    system = crowd(Molecular(sites, **strength, cutoff=0.4), nudge, body, spacing=0.3 / SIDE, box=0.9)
    state = system.state
    return system.replaced(state=state.replaced(m=1e-3 * state.m), t_span=(0.0, 0.005))


def integrated(system, method, nudge):
    made = system(nudge)
    step = {} if isinstance(method, ph.Adaptive) else {"h": made.t_span[1] / 5}
    traj = ph.integrate(made, method=method, **step)
    return traj.m[-1], traj.q[-1], traj.x[-1], traj.p[-1]


def stepped(nudge):
    run = ph.start(dipoles(nudge), method="RKN4_6b", h=H)
    run.step()
    run.to(0.025)
    return run.m, run.q, run.x, run.p


def systems():
    methods = ("V2", "RKN4_6b", "PABA1264", ph.Adaptive(1e-9))
    found = {f"{method!r}, dipoles": partial(integrated, dipoles, method) for method in methods}
    for system in (near_dipoles, pairs, field, molecules):
        found |= {
            f"{method!r}, {system.__name__}": partial(integrated, system, method)
            for method in ("V2", ph.Adaptive(1e-9))
        }
    return found | {"start, dipoles": stepped}
