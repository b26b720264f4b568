"""Frozen cases of free bodies: the exact flow in all its forms, all other flows, elliptic functions."""

from __future__ import annotations

from functools import partial

import numpy as np

import polhode as ph
from conftest import golden_cases
from inputs import MOMENTS, attitudes, nudged, scattered
from polhode import elliptic as elliptic_functions
from polhode.flows import variants

STEPS = 8


def single(case, nudge):
    return ph.propagate(case["I"], nudged(case["m0"], nudge), case["q0"], case["t"])


def batch(nudge):
    """All golden cases in one call: the bits of each alone."""
    cases = golden_cases()
    inertia, m, q, t = (np.array([case[name] for case in cases]) for name in ("I", "m0", "q0", "t"))
    m, q = ph.propagate(inertia, nudged(m, nudge), q, t)
    return *m, *q


def motion(case, nudge):
    """A free motion at five times, with what it says of itself."""
    free = ph.free_motion(case["I"], m=nudged(case["m0"], nudge), q=case["q0"])
    t = float(case["t"]) * np.array([-0.5, 0.0, 0.25, 0.5, 1.0])
    return free.m(t), free.q(t), free.omega(t), free.energy


def at_many_times(m, nudge):
    """Dense output, by theta functions."""
    free = ph.free_motion(MOMENTS, m=nudged(m, nudge), q=(0.5, 0.1, -0.7, 0.5))
    t = np.arange(-20, 44) / 4.0
    return free.m(t), free.q(t), free.m(1e5 + t)


def facts(m, nudge):
    free = ph.free_motion(MOMENTS, m=nudged(m, nudge))
    return free.period, free.precession_per_period, free.rotation_number, free.middle_crossings(0.0, 30.0)


def derivatives(nudge):
    m = nudged(scattered(12, 3), nudge)
    m, q, jacobian, error = ph.propagate(MOMENTS, m, attitudes(12), 7.0, jacobian=True, return_error=True)
    return m, q, jacobian.dm_dm, jacobian.dq_dm, jacobian.dm_dI, jacobian.dq_dt, error.q


def elliptic(nudge):
    u, k, n = 3.0 * scattered(20) + nudge, 0.5 + 0.49 * scattered(20, seed=2), 0.9 * scattered(20, seed=3)
    x, y, z = 1.0 + scattered(3, 20, seed=4)
    carlson = elliptic_functions.RF(x, y, z), elliptic_functions.RJ(x, y, z, 1.5 + u)
    legendre = (elliptic_functions.K(k=k), *(f(u, k=k) for f in (elliptic_functions.F, elliptic_functions.E)))
    return *elliptic_functions.ellipj(u, k=k), *legendre, elliptic_functions.Pi(n, u, k=k), *carlson


def given_rates(nudge):
    """An attitude from angular velocities, which are polynomials of time."""
    found = ph.attitude_from_rates(lambda t: (0.3 + nudge + t, 0.2 * t * t, 0.9 - t), (0.0, 1.0), h=0.125)
    return (found.q,)


def flow_steps(flow, nudge):
    state = ph.State(nudged((0.45, 0.6, 0.66), nudge), (0.5, 0.1, -0.7, 0.5))
    end = flow.step(MOMENTS, state, 0.5 * flow.record.test_step, STEPS)
    return end.m, end.q


def own_loop(flow, nudge):
    """The same by the function that users call in loops of their own."""
    step, m, q = ph.compiled.step(flow), tuple(nudged((0.45, 0.6, 0.66), nudge)), (0.5, 0.1, -0.7, 0.5)
    for _ in range(STEPS):
        m, q = step(MOMENTS, m, q, 0.125)
    return np.array(m), np.array(q)


FAMILIES = {"i": (1.0, 0.3, 0.2), "ii": (0.1, 0.3, 1.0), "near the separatrix": (0.01, 1.0, 0.01)}


def free():
    found = {f"propagate {case['label']}": partial(single, case) for case in golden_cases()}
    found["propagate all at once"] = batch
    kinds = {case["label"].split("/")[0]: case for case in golden_cases()}
    found |= {f"free_motion {kind}": partial(motion, case) for kind, case in kinds.items()}
    found |= {f"many times {name}": partial(at_many_times, m) for name, m in FAMILIES.items()}
    found |= {f"facts {name}": partial(facts, m) for name, m in FAMILIES.items()}
    return found | {"derivatives": derivatives, "elliptic": elliptic}


def flows():
    found = {repr(flow): partial(flow_steps, flow) for flow in variants()}
    found |= {f"{flow!r} in a loop of the user": partial(own_loop, flow) for flow in (ph.Exact(), ph.FrbQuaternion())}
    return found | {"given rates": given_rates}
