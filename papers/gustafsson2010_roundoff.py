"""Gustafsson 2010, section 4.2: round-off of m over many steps, linear or as a random walk.

The thesis says, after Vilmart, that with the constants of section 4.1, which come from the energy, round-off adds up
linearly, and with those of section 4.2, of which only two are independent, as a random walk. It shows no numbers. Here
the constants are formed anew in every step, as a splitting has to; rms over bodies of the relative change of the energy
and of |m|^2.

Section 4.1 needs |m| = 1: m is divided by |m| before a step and multiplied after it. Section 4.2 does not; the thesis
scales it all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log2

import numpy as np

from papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, trend
from papers.gustafsson2010 import MOMENTS, Momentum, momentum_by_energy, momentum_by_squares, starts
from polhode.core.arrays import FloatArray
from polhode.core.references import GUSTAFSSON_2010
from polhode.core.state import State
from polhode.flows.exact import Exact
from polhode.flows.flow import Flow
from polhode.flows.frb_quaternion import FrbQuaternion

H = 0.1
BODIES = 100
COUNTS, FULL_COUNTS = (64, 256, 1024, 4096), (64, 256, 1024, 4096, 16384, 65536)
OURS = (64, 256, 1024, 4096, 16384, 65536)
EPS = 2.0**-53
LINEAR = (0.9, 1.1)  # exponents of a drift
WALK = 0.6  # the largest exponent of what grows no faster than a random walk, 1/2

OneStep = Callable[[FloatArray], FloatArray]
Advance = Callable[[FloatArray, int], FloatArray]


def run(full: bool) -> Report:
    """4096 steps of the closed forms by default, 65536 if full; as many of the compiled flows always."""
    return report(FULL_COUNTS if full else COUNTS, OURS)


def report(counts: tuple[int, ...], our_counts: tuple[int, ...]) -> Report:
    """With changes looked at after so many steps of the closed forms, and of compiled flows."""
    start = starts(BODIES, uniform=False)
    drifts = {
        "section 4.1": _drifts(_closed(_scaled(momentum_by_energy)), start.m, counts),
        "section 4.2": _drifts(_closed(_plain(momentum_by_squares)), start.m, counts),
        "section 4.2, scaled": _drifts(_closed(_scaled(momentum_by_squares)), start.m, counts),
        "FRB, compiled": _drifts(_flow(FrbQuaternion(), start), start.m, our_counts),
        "exact flow": _drifts(_flow(Exact(), start), start.m, our_counts),
    }
    claims = [
        _exponent("section 4.1", "linear", drifts["section 4.1"], counts, lambda x: LINEAR[0] < x < LINEAR[1]),
        _exponent(
            "section 4.2, no faster than a walk",
            "like a random walk",
            drifts["section 4.2"],
            counts,
            lambda x: x < WALK,
        ),
        beyond(f"section 4.2, scaled to |m| = 1, {counts[-1]} steps", _told(drifts["section 4.2, scaled"], counts)),
        *(
            beyond(f"{name}, {our_counts[-1]} steps", _told(drifts[name], our_counts))
            for name in ("FRB, compiled", "exact flow")
        ),
    ]
    x = {name: counts if name.startswith("section") else our_counts for name in drifts}
    panels = [
        Panel(f"rms relative change of {what}", "steps, h = 0.1", "in units of 2⁻⁵³",
              [Curve(name, x[name], rows[:, i] / EPS, not name.startswith("section")) for name, rows in drifts.items()])
        for i, what in enumerate(("the energy", "|m|²"))
    ]  # fmt: skip
    return Report(tuple(claims), tuple(panels))


def _plain(momentum: Callable[[FloatArray], Momentum]) -> OneStep:
    return lambda m: momentum(m.T).at(H).T


def _scaled(momentum: Callable[[FloatArray], Momentum]) -> OneStep:
    def one_step(m: FloatArray) -> FloatArray:
        G = np.sqrt(np.sum(m * m, axis=-1))
        return G[:, None] * momentum((m / G[:, None]).T).at(H * G).T

    return one_step


def _closed(one_step: OneStep) -> Advance:
    """m (n, 3) after some steps of a closed form."""

    def advance(m: FloatArray, steps: int) -> FloatArray:
        for _ in range(steps):
            m = one_step(m)
        return m

    return advance


def _flow(flow: Flow, start: State) -> Advance:
    return lambda m, steps: flow.step(MOMENTS, State(m, start.q), H, steps).m


def _drifts(advance: Advance, m: FloatArray, counts: tuple[int, ...]) -> FloatArray:
    """(counts, 2): rms relative changes, in extended precision: sums would round by as much as what is measured."""
    first, done, rows = _squares(m), 0, []
    for count in counts:
        m, done = advance(m, count - done), count
        rows.append(np.sqrt(np.mean((_squares(m) / first - 1) ** 2, axis=0)).astype(float))
    return np.array(rows)


def _squares(m: FloatArray) -> FloatArray:
    """(n, 2): twice the energy, and |m|^2."""
    x = m.astype(np.longdouble) ** 2
    return np.stack([np.sum(x / MOMENTS.astype(np.longdouble), axis=-1), np.sum(x, axis=-1)], axis=-1)


def _powers(drifts: FloatArray, counts: tuple[int, ...]) -> FloatArray:
    """Of the number of steps with which the changes grow, over all of them but the first."""
    return np.array([log2(b / a) / log2(counts[-1] / counts[1]) for a, b in zip(drifts[1], drifts[-1], strict=True)])


def _told(drifts: FloatArray, counts: tuple[int, ...]) -> str:
    energy, square = _powers(drifts, counts)
    return (
        f"energy {drifts[-1, 0] / EPS:.0f} eps, like n^{energy:.2f}; |m|² {drifts[-1, 1] / EPS:.0f} eps, n^{square:.2f}"
    )


def _exponent(
    name: str, published: str, drifts: FloatArray, counts: tuple[int, ...], holds: Callable[[float], bool]
) -> Claim:
    return trend(f"round-off of {name}, {counts[-1]} steps", published, _told(drifts, counts),
                 all(holds(x) for x in _powers(drifts, counts)))  # fmt: skip


EXPERIMENT = Experiment(GUSTAFSSON_2010, "Section 4.2", "Round-off: linear, or a random walk", run)
