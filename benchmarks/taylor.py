"""Taylor against heyoka: seven torques at four tolerances, in one run.

    python benchmarks/taylor.py [case ...]      # prepared runs, whole calls, errors, compile times
    python benchmarks/taylor.py dense           # 1000 states of the strong top
    python benchmarks/taylor.py many [case ...] # 2000 bodies of random attitude and spin
    python benchmarks/taylor.py equal [case ...] # ratios at equal errors, of prepared runs and of many bodies
    python benchmarks/taylor.py truth           # compute the end states again, by heyoka in 80 bits

Cases: strong weak satellite forced control magnet perturbed. Torques are plain Python functions. A *prepared run* is
``run = ph.start(problem, ph.Taylor(tol))`` before the clock starts, then ``run.reset()`` and ``run.to(t)``; that of
heyoka is its integrator with time and state set, and ``propagate_until``. A *whole call* is ``ph.integrate`` with the
method. Times are those of the processor, the least of many calls, which take turns. heyoka has its fastest form:
half the angular velocity instead of the momentum (``heyoka_form.py``). Compile times are those of a torque that is new
in this process; with an empty POLHODE_CACHE_DIR they include what is otherwise kept on disk.

Of many bodies, the whole call of ``ph.integrate`` is compared with ``taylor_adaptive_batch`` of heyoka, which advances
four bodies at a time, sorted by speed so that they need about as many steps. Errors are those that 99 percent of the
bodies stay below; the truth is the other program at the level of round-off.

At equal errors: errors scatter by a factor of ten from one tolerance to the next, because they cancel more or less.
Logarithms of time are therefore fitted linearly to those of the error, with 33 tolerances and weights that decay within
a factor of ten of the wanted error. Both programs are fitted alike.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from math import cos, sin, sqrt
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("POLHODE_NUM_THREADS", "1")

import heyoka as hy
import numpy as np

import polhode as ph
from heyoka_form import turning
from truth import CASES

TRUTH = Path(__file__).with_name("taylor_truth.json")
TOLERANCES = (1e-8, 1e-10, 1e-12, 2.3e-16)
SECONDS = 1.5  # for the calls of one tolerance
CHUNK = 1e-3  # seconds for which a short call is repeated
SAMPLES = 1000
COUNT = 2000  # bodies of a batch
MORE = 20_000  # bodies of another batch for two threads
TURNS = 5  # of one and of two threads
SCAN = np.geomspace(1e-5, 1e-13, 33)  # tolerances of the comparison at equal errors
EQUAL = (1e-8, 1e-9, 1e-10, 1e-11, 1e-12)
SHORT = 0.3  # seconds for each tolerance of a scan
# Cases with many bodies, and the ends of their motions.
MANY = {"strong": 20.0, "weak": 20.0, "satellite": 4.0, "forced": 20.0, "control": 20.0, "magnet": 20.0}
TOP = (1.0, 1.5, 2.25)
HALF, RATE, FIELD = 0.5, 2.0, (0.3, -0.2, 0.9)


def weight(t, Q, w, p):
    return p[0] * Q[2][1], -p[0] * Q[2][0], 0.0


def gravity_gradient(t, Q, w, p):
    x, y, z = Q[2]
    return (p[2] - p[1]) * y * z, (p[0] - p[2]) * z * x, (p[1] - p[0]) * x * y


def forced(t, Q, w, p):
    f = p[0] * (1.0 + HALF * sin(RATE * t))
    return f * Q[2][1], -f * Q[2][0], 0.0


def control(t, Q, w, p):
    drag = p[1] + p[2] * sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + 1e-6)
    return (
        p[0] * (Q[1][2] - Q[2][1]) - drag * w[0],
        p[0] * (Q[2][0] - Q[0][2]) - drag * w[1],
        p[0] * (Q[0][1] - Q[1][0]) - drag * w[2],
    )


def magnet(t, Q, w, p):
    """A dipole along the first body axis in the field of a dipole on an orbit, at the distance r."""
    c, s = cos(t), sin(t)
    r2 = 1.0 + 0.1 * c
    r = r2 * r2 * sqrt(r2)
    bx, by, bz = 3.0 * c * s / r, (3.0 * s * s - 1.0) / r, 0.5 * s / r
    u = Q[0][1] * bx + Q[1][1] * by + Q[2][1] * bz
    v = Q[0][2] * bx + Q[1][2] * by + Q[2][2] * bz
    return 0.0, -p[0] * v, p[0] * u


def oblique(t, Q, w, p):
    u = [p[0] * Q[0][j] + p[1] * Q[1][j] + p[2] * Q[2][j] for j in range(3)]
    return u[1], -u[0], 0.0


class Case(NamedTuple):
    """A body, its torque for us, and for heyoka as a function of t, Q and w."""

    I: Sequence[float]
    m: Sequence[float]
    q: Sequence[float]
    torque: Callable[..., Any]
    params: Sequence[float]
    end: float
    heyoka: Callable[..., Any] | None = None  # that for us, with the functions of heyoka, by default

    def problem(self) -> ph.Problem:
        force = ph.Torque(self.torque, params=self.params)
        return ph.Problem(self.I, ph.State(self.m, self.q), force, (0.0, self.end))


def with_functions(torque: Callable[..., Any]) -> Callable[..., Any]:
    """A torque with sine, cosine and root of heyoka."""
    names = {"sin": hy.sin, "cos": hy.cos, "sqrt": hy.sqrt}
    return type(torque)(torque.__code__, {**torque.__globals__, **names})


def control_for_heyoka(t, Q, w, p):
    """Q_12 - Q_21 and so on are single products."""
    q = Q.q
    drag = p[1] + p[2] * hy.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + 1e-6)
    return [-4.0 * p[0] * (q[0] * q[1 + i]) - drag * w[i] for i in range(3)]


def from_race(name: str, torque: Callable[..., Any], params: Sequence[float], end: float) -> Case:
    body = CASES[name]
    return Case(body.I, body.m, body.q, torque, params, end)


TOP_M = CASES["strong_top"].m
RACE = {
    "strong": from_race("strong_top", weight, (1.0,), 20.0),
    "weak": from_race("weak_top", weight, (1e-3,), 20.0),
    "satellite": from_race("satellite", gravity_gradient, CASES["satellite"].B, 40.0),
    "forced": Case(TOP, TOP_M, (1.0, 0.0, 0.0, 0.0), forced, (1.0,), 20.0),
    "control": Case((1.0, 1.4, 0.8), (0.5, -0.42, 0.8), (0.6, 0.8, 0.0, 0.0), control, (-0.5, 0.1, 0.1), 20.0,
                    control_for_heyoka),
    "magnet": Case(TOP, TOP_M, (1.0, 0.0, 0.0, 0.0), magnet, (0.4,), 20.0),
    "perturbed": from_race("perturbed", oblique, CASES["perturbed"].s, 5e4),
}  # fmt: skip


class Attitude(list):
    """The matrix of a quaternion of heyoka."""

    def __init__(self, q: Any) -> None:
        a, b, c, d = self.q = q
        super().__init__(
            [
                [1 - 2 * (c * c + d * d), 2 * (b * c - a * d), 2 * (b * d + a * c)],
                [2 * (b * c + a * d), 1 - 2 * (b * b + d * d), 2 * (c * d - a * b)],
                [2 * (b * d - a * c), 2 * (c * d + a * b), 1 - 2 * (b * b + c * c)],
            ]
        )


def equations(case: Case) -> list[tuple[Any, Any]]:
    v, q = hy.make_vars("v1", "v2", "v3"), hy.make_vars("q0", "q1", "q2", "q3")
    torque = case.heyoka or with_functions(case.torque)
    I = case.I
    f = torque(hy.time, Attitude(q), [2.0 * x for x in v], case.params)
    slopes = [
        2 * (I[(i + 1) % 3] - I[(i + 2) % 3]) / I[i] * (v[(i + 1) % 3] * v[(i + 2) % 3]) + f[i] * (0.5 / I[i])
        for i in range(3)
    ]
    slopes += turning(q, v)
    return list(zip((*v, *q), slopes, strict=True))


def start(case: Case, kind: Any = float) -> np.ndarray:
    half = np.array(case.m, kind) / (2 * np.array(case.I, kind))
    return np.concatenate([half, np.array(case.q, kind)])


def distance(q: Any, truth: np.ndarray) -> float:
    """Error of an attitude, in radians."""
    q = np.asarray(q, np.longdouble)
    return float(2 * min(np.linalg.norm(q - truth), np.linalg.norm(q + truth)))


def least(calls: Sequence[Callable[[], Any]], seconds: float = SECONDS) -> list[float]:
    """The least time of the processor that each call takes; they take turns, and short calls are repeated."""
    best = [float("inf")] * len(calls)
    counts = [1 + int(CHUNK / _time_of(call, 1)) for call in calls]
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        for k, call in enumerate(calls):
            best[k] = min(best[k], _time_of(call, counts[k]))
    return best


def _time_of(call: Callable[[], Any], count: int) -> float:
    """Time of the processor that a call takes, repeated so often; measured again if the clock stood still."""
    passed = 0.0
    while passed <= 0.0:
        began = time.process_time()
        for _ in range(count):
            call()
        passed = time.process_time() - began
    return passed / count


def heyoka_call(case: Case, tolerance: float) -> tuple[Callable[[], Any], Any]:
    first = start(case)
    integrator = hy.taylor_adaptive(equations(case), first, tol=tolerance)

    def call() -> None:
        integrator.time = 0.0
        integrator.state[:] = first
        integrator.propagate_until(case.end)

    return call, integrator


def compare(name: str) -> None:
    case = RACE[name]
    stored = json.loads(TRUTH.read_text())[name]
    truth = np.array([np.longdouble(x) for x in stored])
    problem = case.problem()
    began = time.process_time()
    problem.force.traced()
    traced = time.process_time()
    ph.start(problem, ph.Taylor(1e-8)).step()
    code = time.process_time() - traced
    print(f"{name}, t = {case.end:g}: trace {1e3 * (traced - began):.1f} ms, code {1e3 * code:.0f} ms")
    for tolerance in TOLERANCES:
        method = ph.Taylor(tolerance)
        run = ph.start(problem, method)

        def prepared(run: Any = run) -> None:
            run.reset()
            run.to(case.end)

        def whole(method: Any = method) -> None:
            ph.integrate(problem, method=method, t_eval=[case.end])

        began = time.process_time()
        theirs, integrator = heyoka_call(case, tolerance)
        compiled = time.process_time() - began
        times = least([prepared, whole, theirs])
        errors = distance(run.q, truth), distance(integrator.state[3:], truth)
        ours, whole_time, other = (1e6 * x for x in times)
        print(
            f"  {tolerance:7.1e}  prepared {ours:8.1f} us  heyoka {other:8.1f} us  ratio {ours / other:4.2f}   "
            f"integrate {whole_time:8.1f} us  ratio {whole_time / other:4.2f}   "
            f"errors {errors[0]:.1e} {errors[1]:.1e}   heyoka's code {1e3 * compiled:.0f} ms"
        )


def dense() -> None:
    case = RACE["strong"]
    problem, times = case.problem(), np.linspace(0.0, case.end, SAMPLES)
    for tolerance in TOLERANCES:
        first = start(case)
        integrator = hy.taylor_adaptive(equations(case), first, tol=tolerance)
        method = ph.Taylor(tolerance)

        def theirs(integrator: Any = integrator, first: Any = first) -> None:
            integrator.time = 0.0
            integrator.state[:] = first
            integrator.propagate_grid(times)

        def ours(method: Any = method) -> None:
            ph.integrate(problem, method=method, t_eval=times)

        def end(method: Any = method) -> None:
            ph.integrate(problem, method=method, t_eval=times[-1:])

        a, b, c = (1e6 * x for x in least([ours, end, theirs]))
        print(
            f"{tolerance:7.1e}  {SAMPLES} states {a:6.1f} us, end alone {b:6.1f} us, heyoka {c:6.1f} us, "
            f"ratio {a / c:.2f}"
        )


class Bodies(NamedTuple):
    """Momenta and attitudes of many bodies, sorted by speed."""

    m: np.ndarray
    q: np.ndarray


def random_bodies(case: Case, count: int = COUNT) -> Bodies:
    """Bodies of any attitude and spin axis, with 0.5 to 1.5 times the momentum of the case."""
    rng = np.random.default_rng(20)
    q, axis = rng.normal(size=(count, 4)), rng.normal(size=(count, 3))
    sizes = np.sort(rng.uniform(0.5, 1.5, (count, 1)) * np.linalg.norm(case.m), axis=0)
    return Bodies(sizes * axis / np.linalg.norm(axis, axis=1)[:, None], q / np.linalg.norm(q, axis=1)[:, None])


def heyoka_batch(case: Case, bodies: Bodies, tolerance: float, end: float) -> Callable[[], np.ndarray]:
    """Call that returns the attitudes at the end, by heyoka in four lanes."""
    states = np.hstack([bodies.m / (2 * np.array(case.I)), bodies.q])
    found = np.empty((COUNT, 4))
    integrator = hy.taylor_adaptive_batch(equations(case), np.ascontiguousarray(states[:4].T), tol=tolerance)

    def call() -> np.ndarray:
        for first in range(0, COUNT, 4):
            integrator.set_time(0.0)
            integrator.state[:] = states[first : first + 4].T
            integrator.propagate_until(end)
            found[first : first + 4] = integrator.state[3:].T
        return found

    return call


def our_batch(case: Case, bodies: Bodies, tolerance: float, end: float) -> Callable[[], np.ndarray]:
    """Call that returns the attitudes at the end, by ``integrate``."""
    force = ph.Torque(case.torque, params=case.params)
    problem = ph.Problem(case.I, ph.State(bodies.m, bodies.q), force, (0.0, end))
    return lambda: ph.integrate(problem, method=ph.Taylor(tolerance), t_eval=[end]).q[0]


def largest_errors(q: np.ndarray, truth: np.ndarray) -> float:
    """Error that 99 percent of the bodies stay below, in radians."""
    sign = np.sign((q * truth).sum(axis=1, keepdims=True))
    return float(np.quantile(2 * np.linalg.norm(sign * q - truth, axis=1), 0.99))


def many(names: Sequence[str]) -> None:
    for name in names or MANY:
        case, end = RACE[name], MANY[name]
        bodies = random_bodies(case)
        truths = [batch(case, bodies, TOLERANCES[-1], end)().copy() for batch in (heyoka_batch, our_batch)]
        print(f"{name}, t = {end:g}, {COUNT} bodies, us per body")
        for tolerance in TOLERANCES:
            ours, theirs = (batch(case, bodies, tolerance, end) for batch in (our_batch, heyoka_batch))
            errors = [largest_errors(call(), truth) for call, truth in zip((ours, theirs), truths, strict=True)]
            a, b = (1e6 * x / COUNT for x in least([ours, theirs]))
            two = [_speedup(call) for call in (ours, our_batch(case, random_bodies(case, MORE), tolerance, end))]
            print(
                f"  {tolerance:7.1e}  ours {a:6.2f}  heyoka {b:6.2f}  ratio {a / b:4.2f}   "
                f"errors {errors[0]:.1e} {errors[1]:.1e}   two cores {two[0]:.2f} times as fast, "
                f"with {MORE} bodies {two[1]:.2f}",
                flush=True,
            )


def _speedup(call: Callable[[], Any]) -> float:
    """How many times as fast a call is with two threads, by the clock: the ratio of the medians.

    Least times would favor one thread: two cores are rarely left alone at the same time.
    """
    seconds: dict[str, list[float]] = {"1": [], "2": []}
    for _ in range(TURNS):
        for threads, found in seconds.items():
            os.environ["POLHODE_NUM_THREADS"] = threads
            ends = time.perf_counter() + SECONDS / TURNS
            while time.perf_counter() < ends:
                began = time.perf_counter()
                call()
                found.append(time.perf_counter() - began)
    os.environ["POLHODE_NUM_THREADS"] = "1"
    return float(np.median(seconds["1"]) / np.median(seconds["2"]))


def equal(names: Sequence[str]) -> None:
    print("ours / heyoka at the errors", *(f"{error:.0e}" for error in EQUAL))
    for name in names or RACE:
        print(f"{name:10s} one body  {_ratios(_scan_of_one(RACE[name], name))}", flush=True)
        if name in MANY:
            print(f"{name:10s} {COUNT} bodies {_ratios(_scan_of_many(RACE[name], MANY[name]))}", flush=True)


def _scan_of_one(case: Case, name: str) -> np.ndarray:
    """Seconds and errors of both programs, of shape (tolerances, programs, 2)."""
    truth = np.array([np.longdouble(x) for x in json.loads(TRUTH.read_text())[name]])
    found = []
    for tolerance in SCAN:
        run = ph.start(case.problem(), ph.Taylor(tolerance))

        def ours(run: Any = run) -> None:
            run.reset()
            run.to(case.end)

        theirs, integrator = heyoka_call(case, tolerance)
        times = least([ours, theirs], SHORT)
        errors = distance(run.q, truth), distance(integrator.state[3:], truth)
        found.append(list(zip(times, errors, strict=True)))
    return np.array(found)


def _scan_of_many(case: Case, end: float) -> np.ndarray:
    """Seconds and errors of both programs, of shape (tolerances, programs, 2)."""
    bodies = random_bodies(case)
    truths = [batch(case, bodies, TOLERANCES[-1], end)().copy() for batch in (heyoka_batch, our_batch)]
    found = []
    for tolerance in SCAN:
        calls = [batch(case, bodies, tolerance, end) for batch in (our_batch, heyoka_batch)]
        errors = [largest_errors(call(), truth) for call, truth in zip(calls, truths, strict=True)]
        found.append(list(zip(least(calls, SHORT), errors, strict=True)))
    return np.array(found)


def _ratios(scan: np.ndarray) -> str:
    """Ratios of times at equal errors, as text; nothing where an error is not reached."""
    ratios = [_time_at(scan[:, 0], error) / _time_at(scan[:, 1], error) for error in EQUAL]
    return "  ".join(f"{ratio:.2f}" for ratio in ratios)


def _time_at(rows: np.ndarray, error: float) -> float:
    """Time that an error takes: see the beginning of this file."""
    x, y = np.log10(rows[:, 1] / error), np.log(rows[:, 0])
    if x.min() > 0.3:
        return float("nan")
    return float(np.exp(np.polyfit(x, y, 1, w=np.exp(-0.5 * x * x))[1]))


def compute_truth() -> None:
    """Write the attitudes at the end, by heyoka in 80 bits; the last digits of long times are uncertain."""
    results = {}
    for name, case in RACE.items():
        first = start(case, np.longdouble)
        integrator = hy.taylor_adaptive(equations(case), first, tol=np.longdouble("1e-19"), fp_type=np.longdouble)
        integrator.propagate_until(np.longdouble(case.end))
        results[name] = [str(x) for x in integrator.state[3:]]
    TRUTH.write_text(json.dumps(results, indent=1) + "\n")


def main(arguments: list[str]) -> None:
    if arguments == ["truth"]:
        compute_truth()
    elif arguments == ["dense"]:
        dense()
    elif arguments[:1] == ["many"]:
        many(arguments[1:])
    elif arguments[:1] == ["equal"]:
        equal(arguments[1:])
    else:
        for name in arguments or RACE:
            compare(name)


if __name__ == "__main__":
    main(sys.argv[1:])
