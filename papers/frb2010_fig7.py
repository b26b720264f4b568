"""Celledoni and Zanna 2010, Fig. 7: a perturbed free body over T = 5e4, and a close-up of its torus (driver_example1).

The splitting RKN6_14a with the drifts of frb_step, h = 0.5, 100 000 steps. "Nicely bounded" is read as: the second half
of the run goes no farther than the first. "On a torus" is read as: |m(t)| is quasi-periodic, its spectrum being a few
lines. The braids of the close-up, which the paper puts down to looking at multiples of h only, are looked for at as
many random times, too: strands repeat along the torus, so that laid on each other they leave most of the plane empty.
"""

from __future__ import annotations

import numpy as np

from papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, number, trend
from papers.others import Found, by_dop853, by_heyoka
from polhode.core.arrays import FloatArray
from polhode.core.references import FRB_2010
from polhode.core.state import State
from polhode.flows.frb_matrix import FrbMatrix
from polhode.free.motion import free_motion
from polhode.integration.problem import Problem
from polhode.integration.trajectory import Trajectory
from polhode.methods.splitting import Splitting
from polhode.problems.perturbed import U0, perturbed
from polhode.solve import integrate

H, T_END = 0.5, 5e4
PUBLISHED = Splitting(FrbMatrix(), "RKN6_14a")
NEWER = ("RKN6_14a", "ABA1064", "PABA1264")
SEEN = 10  # steps after which energy is looked at
FARTHER = 1.01  # the second half of the run may go so many times as far
LINES, BINS = 10, 4  # of the spectrum; BINS on each side of a line belong to it
OFF_LINES = 1e-6  # of the power of |m| may be elsewhere
CLOSE_UP = (0.12, 0.28)  # polar angle of (m1, m2)
PIECE = 0.04  # rad on each side of m2 = 0, of the close-up in space
CELLS, STRANDS = 40, range(100, 800)  # cells along and across a strand; how many strands there may be on the circle
SEED = 7
FINEST = 1e-15  # tolerance of heyoka
DOP853_PART, DOP853_TOLERANCE = 0.01, 1e-12  # of the time span: all of it takes SciPy minutes


def run(full: bool, t_end: float = T_END) -> Report:
    """The paper's size always: some seconds."""
    for method in (PUBLISHED, NEWER[0]):  # loads or compiles: not the methods' work
        integrate(perturbed(H), method=method, h=H)
    problem = perturbed(t_end)
    run = integrate(problem, method=PUBLISHED, h=H)
    times = np.sort(np.random.default_rng(SEED).uniform(0.0, t_end, len(run)))
    anywhere = integrate(problem, method=NEWER[0], h=H, t_eval=times)
    claims = [
        number("|u0|", "1.0e-3", float(np.linalg.norm(U0))),
        bounded(run),
        on_torus(run),
        close_to_free(run),
        braids(run, anywhere),
        *newer(problem, run),
    ]
    steps, random = f"multiples of h = {H:g}", "random times"
    panels = (_all(run), _near_in_space(run, steps), _near(run, steps), _near(anywhere, random))
    return Report(tuple(claims), panels)


def bounded(run: Trajectory) -> Claim:
    """How far |m| gets from its start, in the first and in the second half."""
    size = np.linalg.norm(run.m, axis=-1)
    away = np.abs(size - size[0])
    first, second = (float(part.max()) for part in np.array_split(away, 2))
    return trend(
        "the trajectory",
        "nicely bounded over very long time",
        f"|m| in [{size.min():.6f}, {size.max():.6f}]; largest change {first:.4e}, then {second:.4e}",
        second <= FARTHER * first,
    )


def on_torus(run: Trajectory) -> Claim:
    """The share of the power of |m| - mean that is not in the strongest lines of its spectrum."""
    size = np.linalg.norm(run.m, axis=-1)
    power = np.abs(np.fft.rfft((size - size.mean()) * np.hanning(len(size)))) ** 2
    total = power.sum()
    for _ in range(LINES):
        line = int(power.argmax())
        power[max(0, line - BINS) : line + BINS + 1] = 0.0
    rest = float(power.sum() / total)
    told = f"{LINES} lines hold all of the spectrum of |m| but {rest:.0e}"
    return trend("the close-up", "the orbit is on a torus", told, rest < OFF_LINES)


def close_to_free(run: Trajectory) -> Claim:
    """The largest distance of m from the polhode of the unperturbed body."""
    free = free_motion(run.body, run.problem.state).polhode(721, of="m")
    some = run.m[:: max(1, len(run) // 2000)]
    far = float(np.linalg.norm(some[:, None] - free, axis=-1).min(axis=1).max())
    return trend(
        "the torus", "close to the unperturbed problem", f"m is within {far:.1e} of the free polhode", far < 1e-2
    )


def braids(run: Trajectory, anywhere: Trajectory) -> Claim:
    at_steps, at_random = (_least_filled(*_close_up(found)) for found in (run, anywhere))
    return trend(
        "braids in the close-up",
        "because states are looked at after whole steps",
        f"strands lie on each other, filling {100 * at_steps:.0f} % of a strand's cells at multiples of h, and "
        f"{100 * at_random:.0f} % at random times",
        at_steps < 0.6 * at_random,
    )


def _close_up(run: Trajectory) -> tuple[FloatArray, FloatArray]:
    """Angle and |m| of the states in the close-up."""
    angle = np.arctan2(run.m[:, 1], run.m[:, 0])
    inside = (CLOSE_UP[0] < angle) & (angle < CLOSE_UP[1])
    return angle[inside], np.linalg.norm(run.m[inside], axis=-1)


def _least_filled(angle: FloatArray, size: FloatArray) -> float:
    """The least share of cells that hold states when equal parts of the circle, many or few, are laid on each other."""
    rows = (CELLS * (size - size.min()) / (1.001 * np.ptp(size))).astype(int)
    columns = [(CELLS * (angle * parts / (2 * np.pi) % 1.0)).astype(int) for parts in STRANDS]
    return min(len(np.unique(CELLS * column + rows)) for column in columns) / CELLS**2


def newer(problem: Problem, published: Trajectory) -> list[Claim]:
    """Errors at the end, energy and seconds of what the paper had, and of what it did not have."""
    truth = _truth(problem)
    runs = [published, *(integrate(problem, method=method, h=H, save_every=SEEN) for method in NEWER)]
    claims = [_told(run, truth) for run in runs]
    taylor = by_heyoka(problem, FINEST)
    if taylor is not None:
        claims.append(_other(f"heyoka, tolerance {FINEST:g}", taylor, truth))
    part = perturbed(DOP853_PART * problem.t_span[1])
    dop853 = by_dop853(part, DOP853_TOLERANCE)
    claims.append(
        _other(f"SciPy DOP853, rtol {DOP853_TOLERANCE:g}, to t = {part.t_span[1]:g} only", dop853, _truth(part))
    )
    return claims


def _truth(problem: Problem) -> State:
    return integrate(problem, method="ABA1064", h=H / 4, save_every=2**40).state()


def _told(run: Trajectory, truth: State) -> Claim:
    drift, error = float(np.abs(run.energy_error()).max()), _apart(run.q[-1], truth)
    told = f"energy within {drift:.0e}, error of q {error:.0e}, {run.stats.torques} torques, {run.stats.seconds:.2g} s"
    return beyond(f"{run.method!r}, h = {H:g}", told)


def _other(name: str, found: Found, truth: State) -> Claim:
    return beyond(name, f"error of q {_apart(found.q, truth):.0e}, {found.seconds:.2g} s")


def _apart(q: FloatArray, truth: State) -> float:
    return min(float(np.linalg.norm(q - sign * truth.q)) for sign in (1, -1))


def _all(run: Trajectory) -> Panel:
    x, y, z = run.m[:: max(1, len(run) // 20_000)].T
    return Panel("m after every fifth step", "m1", "m2", [Curve("", x, y, z=z)], log="", z="m3", lines=False)


def _near_in_space(run: Trajectory, which: str) -> Panel:
    """A short piece of the torus about m2 = 0, each axis with a scale of its own: the tube is 6e-4 wide."""
    angle = np.arctan2(run.m[:, 1], run.m[:, 0])
    x, y, z = run.m[np.abs(angle) < PIECE].T
    return Panel(f"close-up in space, {which}", "m1", "m2", [Curve("", x, y, z=z)], log="", z="m3", lines=False)


def _near(run: Trajectory, which: str) -> Panel:
    curve = Curve("", *_close_up(run))
    return Panel(f"close-up, states at {which}", "angle of (m1, m2)", "|m|", [curve], log="", lines=False)


EXPERIMENT = Experiment(FRB_2010, "Fig. 7", "A perturbed free body over a very long time", run)
