"""The race: what our methods, heyoka, SciPy and a compiled DOP853 need for the same error of the attitude at the end.

    python benchmarks/race.py [case ...] [--curves]

Cases: weak_top strong_top satellite perturbed, the batches weak_tops strong_tops satellites, and rotations. Truth is
that of ``truth.py``, in 25 digits; the error is that of the quaternion. With --curves every run is printed.

Times are of two kinds, for everybody who has them. A *whole call* is what a user types in Python, after compilation:
``integrate(...)``; the state of heyoka's integrator set, ``propagate_until``, the attitude read; ``solve_ivp``. A
*loop* is the compiled integration alone. Times are those of the processor, on one core. All runs of a case take turns,
and the least time of each counts. A run counts for an error only if all runs of the same program with shorter steps or
smaller tolerances are at least as accurate, so that a lucky one helps nobody; between two runs, times are interpolated
in logarithms. heyoka (``heyoka_form.py``) takes part if it is installed.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import inf, log
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import polhode as ph
import truth
from flat import solve as flat_solve
from loops import in_loops
from polhode import problems

SECONDS = 12.0  # for the rounds of a case, of which there are at least ROUNDS
ROUNDS = 3
CHUNK = 2e-3  # seconds for which a short run is repeated in each round
BODIES = 2048  # of a batch
TURNS, SAMPLES = 1e5, 20

OURS, CHOSEN, HEYOKA, FLAT, SCIPY = "method and h given", "rtol=", "heyoka", "compiled DOP853", "SciPy DOP853"
TAYLOR = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 2.3e-16)


def geometric(longest: float, count: int, ratio: float = 1.3) -> tuple[float, ...]:
    return tuple(longest / ratio**k for k in range(count))


def powers(first: int, last: int) -> tuple[float, ...]:
    return tuple(10.0**-k for k in range(first, last + 1))


@dataclass
class Case:
    """A problem of one body, the errors at which everybody is compared, and steps and tolerances of the runs."""

    name: str
    make: Callable[[], ph.Problem]
    errors: tuple[float, ...]
    methods: dict[str, tuple[float, ...]]  # steps
    chosen: tuple[float, ...] = powers(4, 13)
    adaptive: tuple[float, ...] = ()
    flat: tuple[float, ...] = ()
    scipy: tuple[float, ...] = (1e-5, 1e-7, 1e-9, 1e-11)


CASES = {
    case.name: case
    for case in (
        Case("weak_top", lambda: problems.heavy_top(1e-3), (1e-6, 1e-9, 1e-12),
             {"ABA82": geometric(5, 9), "ABA1064": geometric(5, 10), "PABA1264": geometric(4, 8)},
             adaptive=powers(5, 12), flat=powers(5, 13), scipy=powers(5, 12)),
        Case("strong_top", lambda: problems.heavy_top(1.0), (1e-6, 1e-10, 1e-12),
             {"RKN6_14a": geometric(0.8, 10), "RKN8_19": geometric(1, 8)},
             adaptive=powers(5, 13), flat=powers(5, 13), scipy=powers(6, 13)),
        Case("satellite", problems.satellite, (1e-4, 1e-8, 1e-10),
             {"ABA82": geometric(0.1, 6), "ABA1064": geometric(0.16, 7), "PABA1264": geometric(0.16, 9)},
             chosen=powers(4, 11), flat=powers(9, 13)),
        Case("perturbed", problems.perturbed, (1e-4, 1e-8, 2e-10),
             {"ABA82": geometric(4, 5), "ABA1064": geometric(6, 8), "PABA1264": geometric(4, 10)},
             chosen=powers(4, 11)),
    )
}  # fmt: skip


@dataclass
class Batch:
    """Bodies of one inertia under one torque, and the runs for all of them."""

    name: str
    make: Callable[[], ph.Problem]  # body and force of which are used
    methods: dict[str, tuple[float, ...]]
    adaptive: tuple[float, ...] = ()
    errors: tuple[float, ...] = (1e-6, 1e-9)
    taylor: tuple[float, ...] = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)  # ours, and that of heyoka


BATCHES = {
    batch.name: batch
    for batch in (
        Batch("weak_tops", lambda: problems.heavy_top(1e-3),
              {"ABA82": geometric(4, 4, 2.0), "ABA1064": geometric(4, 8), "PABA1264": geometric(3, 5)}),
        Batch("strong_tops", lambda: problems.heavy_top(1.0), {"RKN6_14a": geometric(0.6, 8)}, powers(6, 12)),
        Batch("satellites", problems.satellite, {"ABA1064": geometric(0.1, 7), "PABA1264": geometric(0.1, 8)}),
    )
}  # fmt: skip


@dataclass
class Run:
    """One run of one program, which may be repeated; the least seconds of a whole call and of the loop alone."""

    program: str
    setting: str
    error: float
    whole: Callable[[], Any]
    loop: Callable[[], float] | None = None  # returns its own seconds
    part: float = 1.0  # of the time span; times are divided by it
    seconds: dict[str, float] = field(default_factory=lambda: {"whole": inf, "loop": inf})

    def measure(self) -> None:
        self.repeat("whole", lambda: timed(self.whole))
        if self.loop is not None:
            self.repeat("loop", self.loop)

    def repeat(self, kind: str, seconds_of_a_call: Callable[[], float]) -> None:
        until = time.perf_counter() + CHUNK
        while True:
            seconds = seconds_of_a_call() / self.part
            if seconds > 0:  # the clock of some virtual machines stands still now and then
                self.seconds[kind] = min(self.seconds[kind], seconds)
            if time.perf_counter() > until:
                return


def timed(call: Callable[[], Any]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def measure_in_turns(runs: list[Run]) -> None:
    """All runs in each round, so that what else the machine does disturbs everybody alike."""
    began, rounds = time.perf_counter(), 0
    while rounds < ROUNDS or time.perf_counter() < began + SECONDS:
        for run in runs:
            run.measure()
        rounds += 1


def error_of(q: np.ndarray, Q: np.ndarray) -> float:
    """The largest distance of quaternions (n, 4), of any length and sign, from the attitudes Q (n, 3, 3)."""
    difference = Rotation.from_quat(np.atleast_2d(q), scalar_first=True).as_matrix() - Q
    return float(np.linalg.norm(difference, axis=(-2, -1)).max()) / 8**0.5


# Programs: each yields its runs.


def our_runs(case: Case, problem: ph.Problem, Q: np.ndarray) -> Iterator[Run]:
    """By methods and steps that are given, and by ``rtol=``."""
    end = [problem.t_span[1]]
    for name, h in ((name, h) for name, steps in case.methods.items() for h in steps):
        yield our_run(problem, name, Q, h)
    for rtol in case.adaptive:
        yield our_run(problem, ph.Adaptive(rtol), Q)
    for rtol in TAYLOR:
        yield our_run(problem, ph.Taylor(rtol), Q)
    for rtol in case.chosen:

        def chosen(rtol: float = rtol) -> ph.Trajectory:
            return ph.integrate(problem, rtol=rtol, t_eval=end)

        result = chosen()
        yield Run(CHOSEN, f"{rtol:.0e}: {result.method!r}", error_of(result.q[-1], Q), chosen)


def our_run(problem: ph.Problem, method: Any, Q: np.ndarray, h: float | None = None) -> Run:
    def whole() -> ph.Trajectory:
        return ph.integrate(problem, method=method, h=h, t_eval=[problem.t_span[1]])

    setting = f"{method}, h = {h:.3g}" if h else repr(method)
    return Run(OURS, setting, error_of(whole().q[-1], Q), whole, lambda: in_loops(whole)[1])


def flat_runs(case: Case, problem: ph.Problem, Q: np.ndarray) -> Iterator[Run]:
    """By DOP853 in R^7."""
    for rtol in case.flat:

        def whole(rtol: float = rtol) -> Any:
            return flat_solve(problem, rtol, rtol)

        yield Run(FLAT, f"{rtol:.0e}", error_of(whole()[1], Q), whole, lambda whole=whole: whole()[2]["seconds"])


def scipy_runs(case: Case, problem: ph.Problem) -> Iterator[Run]:
    """On the part of the span up to the first known state: the error of a phase grows with time, at least."""
    body = truth.CASES[case.name]
    end = body.times[0]
    part, Q = end / body.times[-1], truth.attitudes(case.name, end)
    y0 = np.concatenate([problem.state.m, problem.state.q])
    slope = right_hand_side(problem)
    for rtol in case.scipy:

        def whole(rtol: float = rtol) -> np.ndarray:
            return solve_ivp(slope, (0.0, end), y0, "DOP853", rtol=rtol, atol=rtol).y[3:, -1]

        yield Run(SCIPY, f"{rtol:.0e}", error_of(whole(), Q) / part, whole, part=part)


def right_hand_side(problem: ph.Problem) -> Callable[[float, np.ndarray], tuple[float, ...]]:
    """y' for SciPy, y = (m, q), in Python without NumPy, which is faster for seven numbers."""
    I1, I2, I3 = problem.body.moments.tolist()
    torque, params = problem.force.torque_function(), np.array(problem.force.params)

    def f(t: float, y: np.ndarray) -> tuple[float, ...]:
        m1, m2, m3, q0, q1, q2, q3 = y.tolist()
        w1, w2, w3 = m1 / I1, m2 / I2, m3 / I3
        Q = (
            (q0 * q0 + q1 * q1 - q2 * q2 - q3 * q3, 2 * (q1 * q2 - q0 * q3), 2 * (q1 * q3 + q0 * q2)),
            (2 * (q1 * q2 + q0 * q3), q0 * q0 - q1 * q1 + q2 * q2 - q3 * q3, 2 * (q2 * q3 - q0 * q1)),
            (2 * (q1 * q3 - q0 * q2), 2 * (q2 * q3 + q0 * q1), q0 * q0 - q1 * q1 - q2 * q2 + q3 * q3),
        )
        f1, f2, f3 = torque(t, Q, (w1, w2, w3), params)
        return (
            m2 * w3 - m3 * w2 + f1, m3 * w1 - m1 * w3 + f2, m1 * w2 - m2 * w1 + f3,
            -0.5 * (q1 * w1 + q2 * w2 + q3 * w3), 0.5 * (q0 * w1 + q2 * w3 - q3 * w2),
            0.5 * (q0 * w2 + q3 * w1 - q1 * w3), 0.5 * (q0 * w3 + q1 * w2 - q2 * w1),
        )  # fmt: skip

    return f


def heyoka_runs(case: Case, Q: np.ndarray) -> Iterator[Run]:
    from heyoka_form import one_body

    for tolerance in TAYLOR:
        whole, loop = one_body(truth.CASES[case.name], tolerance)
        yield Run(HEYOKA, f"{tolerance:.0e}", error_of(whole(), Q), whole, loop)


def runs_of(case: Case) -> list[Run]:
    problem, Q = case.make(), truth.attitudes(case.name)
    runs = [*our_runs(case, problem, Q), *flat_runs(case, problem, Q), *scipy_runs(case, problem)]
    return [*runs, *heyoka_runs(case, Q)] if has_heyoka() else runs


def runs_of_batch(batch: Batch) -> list[Run]:
    """Whole calls for all bodies, on one core; an error is the largest of the bodies whose truth is known."""
    base, body, Q = batch.make(), truth.bodies_of(batch.name)[0], truth.attitudes(batch.name)
    m, q = truth.batch(batch.name, BODIES)
    end = body.times[-1]
    problem = ph.Problem(base.body, ph.State(m, q), base.force, (0.0, end))
    settings = [(name, h) for name, steps in batch.methods.items() for h in steps]
    runs = []
    chosen_by = [*(ph.Adaptive(rtol) for rtol in batch.adaptive), *(ph.Taylor(rtol) for rtol in batch.taylor)]
    for method, h in [*settings, *((method, None) for method in chosen_by)]:

        def whole(method: Any = method, h: float | None = h) -> np.ndarray:
            return ph.integrate(problem, method=method, h=h, t_eval=[end]).q[-1]

        setting = f"{method}, h = {h:.3g}" if h else repr(method)
        runs.append(Run(OURS, setting, error_of(whole()[: len(Q)], Q), whole))
    if has_heyoka():
        from heyoka_form import many_bodies

        for tolerance in batch.taylor:
            whole = many_bodies(body, m, q, tolerance)
            runs.append(Run(HEYOKA, f"{tolerance:.0e}", error_of(whole()[: len(Q)], Q), whole))
    return runs


def has_heyoka() -> bool:
    return importlib.util.find_spec("heyoka") is not None


# What is compared


def at_error(runs: list[Run], error: float, kind: str) -> tuple[float, str] | None:
    """Seconds for that error, and the setting of the run that reaches it; None if none of the runs does.

    The runs are given from the least accurate to the most accurate setting.
    """
    runs = [run for run in runs if run.seconds[kind] < inf]
    errors = np.maximum.accumulate([run.error for run in runs][::-1])[::-1]  # of this run and all later ones
    good = [run for run, worst in zip(runs, errors, strict=True) if worst <= error]
    if not good:
        return None
    best = min(good, key=lambda run: run.seconds[kind])
    seconds = best.seconds[kind]
    if best is good[0] is not runs[0]:
        k = len(runs) - len(good)
        part = log(errors[k - 1] / error) / log(errors[k - 1] / errors[k])
        seconds = runs[k - 1].seconds[kind] ** (1 - part) * seconds**part
    return seconds, best.setting


def compare(runs: list[Run], error: float, kind: str) -> dict[str, tuple[float, str]]:
    """The best of each program: of our methods, the fastest one."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        method = run.setting.split(",")[0].split("(")[0] if run.program == OURS else ""
        groups.setdefault((run.program, method), []).append(run)
    best: dict[str, tuple[float, str]] = {}
    for (program, _), group in groups.items():
        found = at_error(group, error, kind)
        if found is not None and found[0] < best.get(program, (inf, ""))[0]:
            best[program] = found
    return best


def race(name: str) -> tuple[list[Run], dict[float, dict[str, dict[str, tuple[float, str]]]]]:
    """All runs of a case or batch, and by error and kind of time what each program needs."""
    warnings.simplefilter("ignore")  # of tolerances that round-off does not allow, and of negative kicks
    os.environ["POLHODE_NUM_THREADS"] = "1"
    case = CASES[name] if name in CASES else BATCHES[name]
    runs = runs_of(case) if isinstance(case, Case) else runs_of_batch(case)
    measure_in_turns(runs)
    kinds = ("whole", "loop") if isinstance(case, Case) else ("whole",)
    return runs, {error: {kind: compare(runs, error, kind) for kind in kinds} for error in case.errors}


def rotations() -> dict[str, tuple[float, float]]:
    """Very many turns of the perturbed body: seconds of the whole call and largest relative error of the energy."""
    speed = np.linalg.norm(np.array(problems.perturbed().body.omega(problems.perturbed().state.m)))
    times = np.linspace(0.0, TURNS * 2 * np.pi / float(speed), SAMPLES + 1)
    problem = problems.perturbed(float(times[-1]))
    found = {}
    for scheme, h in (("ABA1064", 1.0), ("PABA1264", 2.0), ("PABA1264", 1.0)):
        began = time.process_time()
        run = ph.integrate(problem, method=scheme, h=h, t_eval=times)
        found[f"{scheme}, h = {h:g}"] = time.process_time() - began, float(np.abs(run.energy_error()).max())
    if has_heyoka():
        from heyoka_form import along

        for tolerance in (1e-12, 2.3e-16):
            along(truth.CASES["perturbed"], times[:2], tolerance)  # compiles, and heyoka keeps what it compiled
            began = time.process_time()
            m, q = along(truth.CASES["perturbed"], times, tolerance)
            seconds = time.process_time() - began
            energy = energies(m, q)
            found[f"heyoka, {tolerance:.0e}"] = seconds, float(np.abs(energy / energy[0] - 1).max())
    return found


def energies(m: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Of the perturbed body."""
    body = truth.CASES["perturbed"]
    axes = Rotation.from_quat(q, scalar_first=True).as_matrix()[:, :, 2]
    return 0.5 * (m**2 / body.I).sum(axis=1) + axes @ body.s


# What is printed


def duration(seconds: float) -> str:
    size, unit = (1.0, "s") if seconds >= 1.0 else (1e-3, "ms") if seconds >= 1e-3 else (1e-6, "us")
    return f"{seconds / size:.3g} {unit}"


def print_race(name: str, curves: bool) -> None:
    runs, found = race(name)
    print(f"\n{name}")
    if curves:
        for run in sorted(runs, key=lambda run: (run.program, -run.error)):
            times = ", ".join(f"{kind} {duration(x)}" for kind, x in run.seconds.items() if x < inf)
            print(f"    {run.program:20} {run.setting:28} error {run.error:8.1e}   {times}")
    for error, kinds in found.items():
        for kind, best in kinds.items():
            print(f"  error {error:.0e}, {kind}")
            for program, (seconds, setting) in sorted(best.items(), key=lambda item: item[1]):
                print(f"    {program:20} {duration(seconds):>10}   {setting}")


def main() -> None:
    names = [name for name in sys.argv[1:] if not name.startswith("--")]
    if not has_heyoka():
        print("(heyoka is not installed)")
    for name in names or [*CASES, *BATCHES, "rotations"]:
        if name == "rotations":
            for program, (seconds, energy) in rotations().items():
                print(f"    {program:20} {duration(seconds):>10}   energy {energy:.1e}")
        else:
            print_race(name, "--curves" in sys.argv)


if __name__ == "__main__":
    main()
