"""Single calls: microseconds of one call from Python, with one body, after everything has been compiled.

    python benchmarks/calls.py [--against PATH]

A call costs the Python around a kernel as well as the kernel, and with one body mostly the former. Times are those of
the processor, the smallest of many repeats. Calls of SciPy and heyoka (if installed) that answer the same question are
at the end: the motion of the same body up to the same time, with a tolerance of 1e-9.

With ``--against``, the calls of another checkout at PATH are measured, too, in processes of their own that alternate
with those of this one, and the table shows both times and their ratio.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from timeit import Timer

import numpy as np

HERE = Path(__file__).resolve().parents[1]
REPEATS = 40
SHORTEST = 2e-3  # seconds of one repeat
ROUNDS = 4  # processes of each checkout
MOMENTS, MOMENTUM, ATTITUDE, TIME = (1.0, 1.65, 1.97), (0.3, 0.2, 0.9), (1.0, 0.0, 0.0, 0.0), 10.0

Call = tuple[str, Callable[[], object]]


def free_calls() -> Iterator[Call]:
    """Calls for free bodies."""
    import polhode as ph

    I, m, q = (np.array(x) for x in (MOMENTS, MOMENTUM, ATTITUDE))
    body, motion = ph.RigidBody(MOMENTS), ph.free_motion(MOMENTS, m=MOMENTUM)
    turned = ph.RigidBody(np.diag(MOMENTS) + 0.1)
    times = np.linspace(0.0, TIME, 8)
    yield "propagate, tuples", lambda: ph.propagate(MOMENTS, MOMENTUM, ATTITUDE, TIME)
    yield "propagate, arrays", lambda: ph.propagate(I, m, q, TIME)
    yield "propagate, RigidBody", lambda: ph.propagate(body, m, q, TIME)
    yield "propagate, omega=", lambda: ph.propagate(body, omega=m, q=q, t=TIME)
    yield "propagate, inertia tensor", lambda: ph.propagate(turned, m, q, TIME)
    yield "propagate, 8 times", lambda: ph.propagate(body, m, q, times)
    yield "propagate, jacobian=True", lambda: ph.propagate(body, m, q, TIME, jacobian=True)
    yield "propagate, return_error=True", lambda: ph.propagate(body, m, q, TIME, return_error=True)
    yield "motion.q(t)", lambda: motion.q(TIME)
    yield "motion.m(t)", lambda: motion.m(TIME)
    yield "motion.state(t)", lambda: motion.state(TIME)
    yield "free_motion(...)", lambda: ph.free_motion(MOMENTS, m=MOMENTUM)
    yield "free_motion(...).q(t)", lambda: ph.free_motion(MOMENTS, m=MOMENTUM).q(TIME)


def value_calls() -> Iterator[Call]:
    """Constructors of values: bodies, states, forces, problems."""
    import polhode as ph

    body, state = ph.RigidBody(MOMENTS), ph.State(MOMENTUM)
    gravity = ph.forces.gravity(1.0, (0, 0, 0.3))
    yield "RigidBody(...)", lambda: ph.RigidBody(MOMENTS)
    yield "State(...)", lambda: ph.State(MOMENTUM, ATTITUDE)
    yield "forces.gravity(...)", lambda: ph.forces.gravity(1.0, (0, 0, 0.3))
    yield "forces.gravity_gradient(...)", lambda: ph.forces.gravity_gradient(body, 0.5)
    yield "forces.restoring(...)", lambda: ph.forces.restoring(10.0, 3.0, 1.0)
    yield "forces.spring(...)", lambda: ph.forces.spring(2.0)
    yield "forces.constant(...)", lambda: ph.forces.constant((1.0, 0.0, 0.0))
    yield "forces.damping(...)", lambda: ph.forces.damping(0.1)
    yield "Problem(...)", lambda: ph.Problem(body, state, gravity, (0.0, TIME))


def torqued_calls() -> Iterator[Call]:
    """Calls of ``integrate``: a heavy top, ten steps of a fixed size, or as many as the tolerance requires."""
    import polhode as ph

    top = ph.Problem((1.0, 1.0, 0.5), ph.State((0.1, 0.0, 2.0)), ph.forces.gravity(1.0, (0, 0, 0.3)), (0.0, 1.0))
    end = [1.0]
    yield "integrate, 10 steps of V2", lambda: ph.integrate(top, method="V2", h=0.1)
    yield "integrate, 10 steps of ABA1064", lambda: ph.integrate(top, method="ABA1064", h=0.1)
    yield "integrate, Adaptive, end only", lambda: ph.integrate(top, method=ph.Adaptive(1e-9), t_eval=end)
    if hasattr(ph, "start"):
        yield "start(...).step(), V2", lambda: ph.start(top, method="V2", h=0.1).step()
        yield "run.step(), V2", ph.start(top, method="V2", h=0.1).step
        run = ph.start(top, method="V2", h=0.1)
        yield "run.to(t) off the grid, V2", lambda: run.to(run.t + 0.03)


def calls_of_scipy() -> Iterator[Call]:
    """DOP853."""
    from scipy.integrate import solve_ivp

    w = 1.0 / np.array(MOMENTS)
    y0 = np.array(MOMENTUM + ATTITUDE)

    def slope(_, y):
        m1, m2, m3, q0, q1, q2, q3 = y.tolist()
        w1, w2, w3 = m1 * w[0], m2 * w[1], m3 * w[2]
        return (
            m2 * w3 - m3 * w2, m3 * w1 - m1 * w3, m1 * w2 - m2 * w1,
            -0.5 * (q1 * w1 + q2 * w2 + q3 * w3), 0.5 * (q0 * w1 + q2 * w3 - q3 * w2),
            0.5 * (q0 * w2 + q3 * w1 - q1 * w3), 0.5 * (q0 * w3 + q1 * w2 - q2 * w1),
        )  # fmt: skip

    yield "SciPy, solve_ivp (DOP853)", lambda: solve_ivp(slope, (0, TIME), y0, "DOP853", rtol=1e-9, atol=1e-9)


def calls_of_heyoka() -> Iterator[Call]:
    """The Taylor integrator, compiled before."""
    if importlib.util.find_spec("heyoka") is None:
        return
    from heyoka_form import one_body
    from truth import Body

    yield "heyoka, propagate_until", one_body(Body(MOMENTS, MOMENTUM, (TIME,)), 1e-9)[0]


def microseconds(call: Callable[[], object]) -> float:
    """Processor time of one call, the smallest of many repeats."""
    call()  # compiles, or loads machine code
    timer = Timer(call, timer=process_time)
    number = 1
    while timer.timeit(number) < SHORTEST:
        number *= 2
    return 1e6 * min(timer.repeat(REPEATS, number)) / number


def measure(groups) -> dict[str, float]:
    return {name: microseconds(call) for group in groups for name, call in group()}


def measure_checkout(path: Path) -> dict[str, float]:
    """The same in a new process that imports polhode from the checkout at ``path``."""
    environment = {**os.environ, "PYTHONPATH": str(path / "src")}
    command = [sys.executable, __file__, "--json"]
    return json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def compare(other: Path) -> None:
    """Print the times of two checkouts, the smallest of several processes of each, which alternate."""
    best: dict[Path, dict[str, float]] = {other: {}, HERE: {}}
    for _ in range(ROUNDS):
        for path, fastest in best.items():
            for name, time in measure_checkout(path).items():
                fastest[name] = min(time, fastest.get(name, np.inf))
    print(f"{'us per call':32} {'before':>8}    {'after':>8}   ratio")
    for name, after in best[HERE].items():
        before = best[other].get(name, np.nan)
        print(f"{name:32} {before:8.1f} -> {after:8.1f} {before / after:7.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, metavar="PATH", help="another checkout to compare with")
    parser.add_argument("--json", action="store_true", help="print the times of polhode as JSON")
    arguments = parser.parse_args()
    ours, others = (free_calls, value_calls, torqued_calls), (calls_of_scipy, calls_of_heyoka)
    if arguments.json:
        print(json.dumps(measure(ours)))
        return
    if arguments.against is not None:
        compare(arguments.against.resolve())
    else:
        print(f"{'us per call':32}")
    for name, time in measure(others if arguments.against else (*ours, *others)).items():
        print(f"{name:32} {time:8.1f}")


if __name__ == "__main__":
    main()
