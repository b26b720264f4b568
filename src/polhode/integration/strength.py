"""Size of a torque relative to the free motion, and the schemes and step sizes that suit it.

The torque is sampled along the beginning of the free motion. The change of momentum per radian of rotation, relative to
the momentum, decides whether a torque is weak, so that near-integrable (ABA) schemes are best, or strong, so that
Runge-Kutta-Nyström schemes are. The step size that a scheme needs is estimated by a power law of the error in LENGTH
radians and of the strength; ``benchmarks/rtol.py fit`` measures its numbers on random bodies. They hold within a factor
of about 1.4: enough for a first trial run.
"""

from __future__ import annotations

from functools import cache, reduce
from typing import Any, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray, lengths, writable
from polhode.core.body import velocity_of
from polhode.forces.nothing import nothing
from polhode.integration import rules
from polhode.integration.problem import Problem
from polhode.integration.rows import ProblemRows
from polhode.kernels.stepping.header import Clock, Saved, Wanted
from polhode.methods.method import Advance, Method
from polhode.methods.schemes import get
from polhode.methods.splitting import Splitting

# Radians per step are c * error**a * strength**b.
POWER_LAWS = {
    "WH17": (1.56, 0.104, -0.133),
    "ABA82": (4.40, 0.084, -0.091),
    "ABA1064": (5.66, 0.147, -0.241),
    "PABA1264": (3.62, 0.132, -0.226),
    "RKN4_6b": (5.66, 0.217, -0.379),
    "RKN6_14a": (4.65, 0.133, -0.323),
    "RKN8_19": (2.94, 0.106, -0.346),
}
# Errors of second order in the torque, relative to the square of the strength and of the radians per step.
SECOND_ORDER = {"WH17": 0.6, "ABA82": 0.05}
WEAK_SCHEMES = ("WH17", "ABA82", "ABA1064", "PABA1264")  # the first one for long times only


class Strength(NamedTuple):
    """Size of the torque relative to the free motion, of one body or, as arrays (n,), of each body of a batch."""

    torque: Any  # part of the momentum by which the torque changes it per radian
    radian: Any  # time in which the body rotates by one radian

    @property
    def largest(self) -> Strength:
        """The largest relative size of the torque and the shortest radian, of all bodies, as numbers."""
        return Strength(float(np.max(self.torque)), float(np.min(self.radian)))

    @property
    def typical(self) -> Strength:
        """The medians of all bodies, as numbers."""
        return Strength(float(np.median(self.torque)), float(np.median(self.radian)))

    @property
    def is_weak(self) -> bool:
        """Whether the torque is a small perturbation of the free motion."""
        return self.torque <= rules.WEAK_TORQUE

    def steps(self, name: str, error: Any) -> Any:
        """Return the step sizes with which a scheme has about these errors in LENGTH radians."""
        torque = np.minimum(1.0, np.maximum(self.torque, rules.WEAKEST))
        return self.radian * reduce(np.minimum, _by_power_laws(name, error, torque))

    def guess(self, method: Method, order: float, error: Any) -> Any:
        """Return the step sizes with which a method of the user, of this order, may have errors in LENGTH radians."""
        if name := law_of(method):
            return self.steps(name, error)
        has_exact_flow = isinstance(method, Splitting) and method.flow.record.order is None
        torque = np.minimum(1.0, np.maximum(self.torque, rules.WEAKEST)) if has_exact_flow else 1.0
        return self.radian * np.minimum(1.0, (error / torque) ** (1.0 / order))


def _by_power_laws(name: str, error: Any, torque: Any) -> tuple[Any, ...]:
    """Return upper bounds of the radians per step of a scheme with this error, one of which is a power law."""
    c, a, b = POWER_LAWS[name]
    bounds = rules.LONGEST_STEP, c * error**a * torque**b
    return (*bounds, (error / SECOND_ORDER[name]) ** 0.5 / torque) if name in SECOND_ORDER else bounds


def law_of(method: Method) -> str:
    """Return the name of the power law for the step size of a method, or an empty string."""
    if not isinstance(method, Splitting) or method.flow.record.order is not None:
        return ""
    name = method.scheme.name
    return name if name in POWER_LAWS and method.scheme is get(name) else ""


def expected_order(name: str) -> float:
    """Return the order with which errors of a scheme usually decrease, by its power law."""
    return 1.0 / POWER_LAWS[name][1]


def strong_scheme(error: float) -> str:
    """Return the name of the best scheme for strong torques, by the wanted error in LENGTH radians."""
    if error >= rules.LOOSE:
        return "RKN4_6b"
    return "RKN6_14a" if error >= rules.TIGHT else "RKN8_19"


def measured(problem: Problem, span: tuple[float, float]) -> Strength:
    """Return the largest relative size of the torque, of all bodies, along the first radians of the free motion."""
    return measured_each(problem, span).largest


def measured_each(problem: Problem, span: tuple[float, float]) -> Strength:
    """Return the relative size of the torque on each body, along the first radians of its free motion."""
    rows = problem.rows
    length = abs(span[1] - span[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        radians = np.minimum(length, rules.RADIANS / rows.speed(rows.m[None])[0])
    samples = rules.SAMPLES
    t = np.arange(samples)[:, None] * (np.copysign(radians, span[1] - span[0]) / (samples - 1))
    m, q = free_samples(rows, t)
    shape = samples, rows.count
    w = velocity_of(problem.body, m)
    f = _sizes(rows, span[0] + t, q, w)
    momentum, speeds = (lengths(x).reshape(shape) for x in (m, w))
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.fmax(f / (momentum * speeds), 0.0).max(axis=0)  # 0 without motion and without torque
        by_torque = (f.max(axis=0) / rows.bodies.inertia.min(axis=-1)) ** 0.5
        fastest = np.maximum(speeds.max(axis=0), by_torque)
        return Strength(part, np.where(fastest > 0, 1.0 / fastest, length))


def free_samples(rows: ProblemRows, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (m, q) of the free motion at evenly spaced times t (k, n), by the loop that trial runs use as well."""
    method, advance = _free_loop()
    states = rows.not_reached(t[:, 0])
    bodies = rows.bodies._replace(damping=np.zeros((1, 3)))
    steps = np.arange(len(t))
    current = rows.new_state(method, rows.m, rows.q)
    clock = Clock(np.zeros(1), np.ascontiguousarray(t[1]))
    advance(bodies, clock, Wanted(len(t), steps), 0, rows.count, current, Saved(states.m, states.q))
    return rows.to_user(states.m, states.q)


@cache
def _free_loop() -> tuple[Method, Advance]:
    """Return a method that is exact for free bodies, and its loop over steps."""
    method = Splitting(None, "V2")
    return method, method.advance(nothing())


def _sizes(rows: ProblemRows, t: FloatArray, q: FloatArray, w: FloatArray) -> FloatArray:
    """Return ``|f|`` (k, n) of all bodies at times t (k, n), without damping, or at the first time if a torque raises.

    The run itself reports such an error where it occurs.
    """
    count = rows.count
    params = np.broadcast_to(rows.bodies.params, (count, rows.bodies.params.shape[-1]))
    out = np.empty((len(t) * count, 3))
    arguments = t.ravel(), q.reshape(-1, 4), w.reshape(-1, 3), writable(np.tile(params, (len(t), 1))), out
    try:
        rows.force.evaluate_torques(arguments)
    except Exception:
        return _sizes(rows, t[:1], q[:1], w[:1]) if len(t) > 1 else np.zeros((1, count))
    sizes = lengths(out).reshape(len(t), count)
    return np.where(np.isfinite(sizes), sizes, 0.0)
