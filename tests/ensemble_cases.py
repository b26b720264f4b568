"""Ensembles that several processes compute: the workers of a cluster import them from here."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

import polhode as ph
from polhode import forces, sampling

COUNT, CHUNK, SEED = 240, 16, 11
HOW = {"method": "S6_10", "h": 0.05, "t_eval": np.linspace(0, 4, 5), "seed": SEED, "chunk": CHUNK}
SAMPLES = sampling.draw(
    COUNT,
    moments=sampling.moments_near((1.0, 1.5, 2.0), 0.2),
    omega=sampling.direction(sampling.uniform(0.1, 1.0)),
    q=sampling.attitude(),
    weight=sampling.uniform(0.5, 1.5),
)


def torque(t, Q, w, p):
    if p[0] > 1.4 and t > 2.0:
        raise ValueError("the string broke")
    return -p[0] * Q[2][1], p[0] * Q[2][0], 0.0


FORCE = ph.Torque(torque, params=(1.0,), velocity=False)


def pendulums(rows):
    """Bodies under a torque of our own; some members fail."""
    body = ph.RigidBody.from_moments(rows["moments"])
    force = FORCE.replaced(params=rows["weight"][:, None])
    return ph.Problem(body, force=force, omega=rows["omega"], q=rows["q"], t_span=(0.0, 4.0))


def tops(rows):
    """The same with a ready-made force, which needs no compiling."""
    body = ph.RigidBody.from_moments(rows["moments"])
    force = forces.gravity(rows["weight"], (0.0, 0.0, 0.2))
    return ph.Problem(body, force=force, omega=rows["omega"], q=rows["q"], t_span=(0.0, 4.0))


def slowly(rows):
    time.sleep(0.05)
    return tops(rows)


class KillsItsWorker:
    """Ends the process of the worker that makes the fifth chunk, the first time."""

    def __init__(self, flag: Path, here: int) -> None:
        self.flag, self.here = flag, here

    def __call__(self, rows):
        if os.getpid() != self.here and rows["weight"][0] == fifth() and not self.flag.exists():
            self.flag.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return tops(rows)


def fifth():
    return SAMPLES.seeded(SEED)[4 * CHUNK :][:1].rows()["weight"][0]
