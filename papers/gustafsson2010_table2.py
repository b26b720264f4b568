"""Gustafsson 2010, Table 2: c0 and c3 of the factorization, quaternions and matrices, of order 8.

Means of 50 random starts that nobody knows any more, at t = 10: of |q - q_ref| for the factorization, of the matrix
2-norm for Magnus. So a printed mean is compared with the means of 40 such samples: it should lie among them, as a mean
of the same law does in 95 % of all cases. Starts are made of uniform numbers. The reference is that of the thesis,
ode45's formulas at the smallest tolerance they take: their own error, seen against the exact motion, is what the
smallest printed number consists of.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, trend
from papers.gustafsson2010 import MOMENTS, RUNS, T_END, by_ode45, starts
from polhode.core.arrays import FloatArray
from polhode.core.references import GUSTAFSSON_2010
from polhode.core.rotation import matrix
from polhode.core.state import State
from polhode.flows.flow import Flow
from polhode.flows.gauss import Gauss
from polhode.flows.magnus import Magnus
from polhode.free.propagation import propagate

STEPS = (0.25, 0.5, 1.0)
C0_C3, C3 = "factorization, c0 = c3 = 1/2", "factorization, c0 = 0, c3 = 1/√2"
QUATERNIONS, MATRICES = "Magnus, quaternions", "Magnus, matrices"
PRINTED = {
    C0_C3: (5.87069055e-15, 7.33070308e-13, 2.21108904e-10),
    C3: (5.88406887e-15, 7.33077876e-13, 2.21108938e-10),
    QUATERNIONS: (7.11045663e-13, 1.58750231e-10, 4.54203022e-8),
    MATRICES: (7.11056953e-13, 1.58750216e-10, 4.54203021e-8),
}
FLOWS: dict[str, Flow] = {
    C0_C3: Gauss(4, 0.5, 0.5, axis=3),
    C3: Gauss(4, 0.0, 0.5**0.5, axis=3),
    QUATERNIONS: Magnus(8),
}
SAMPLES, FULL_SAMPLES = 40, 400
MACHINE = 1e-15  # means of 50 that differ by less are the same


def run(full: bool) -> Report:
    """40 samples by default, 400 if full."""
    return report(FULL_SAMPLES if full else SAMPLES)


def report(samples: int) -> Report:
    """Of so many samples of 50 starts."""
    start = starts(RUNS * samples)
    reference, exact = by_ode45(start), propagate(MOMENTS, start.m, start.q, T_END)[1]
    means = {C0_C3: _means(_steps(FLOWS[C0_C3], start), reference), C3: _means(_steps(FLOWS[C3], start), reference)}
    means[QUATERNIONS] = _means(_in_matrices(_steps(FLOWS[QUATERNIONS], start)), matrix(reference))
    means[MATRICES] = _means(_matrix_steps(start), matrix(reference))
    claims = [_among(name, h, PRINTED[name][i], means[name][i]) for name in means for i, h in enumerate(STEPS)]
    claims += [
        _same("factorization, c0 and c3", C0_C3, C3, means[C0_C3], means[C3]),
        _same("Magnus, quaternions or matrices", QUATERNIONS, MATRICES, means[QUATERNIONS], means[MATRICES]),
        beyond("reference by ode45's formulas", f"off the exact motion by {_sizes(reference - exact).mean():.1e}"),
    ]
    chosen = _means(_steps(Gauss(4), start), exact)
    claims.append(beyond("factorization with the axis that m circles, against the exact motion",
                         ", ".join(f"{x:.1e}" for x in chosen.mean(axis=1))))  # fmt: skip
    return Report(tuple(claims), (
        _panel("factorization", means, Curve("axis chosen", STEPS, chosen.mean(axis=1), True)),
        _panel("Magnus", means),
    ))  # fmt: skip


def _panel(method: str, means: dict[str, FloatArray], *others: Curve) -> Panel:
    curves = [Curve(f"{name}, printed", STEPS, row) for name, row in PRINTED.items() if name.startswith(method)]
    curves += [Curve(f"{name}, ours", STEPS, rows.mean(axis=1), True) for name, rows in means.items() if method in name]
    short = [curve._replace(label=curve.label.removeprefix(f"{method}, ")) for curve in curves]
    return Panel(f"{method}, order 8, t = 10", "step h", "mean error", [*short, *others])


def _steps(flow: Flow, start: State) -> Callable[[float], FloatArray]:
    return lambda h: flow.step(MOMENTS, start, h, round(T_END / h)).q


def _in_matrices(attitudes: Callable[[float], FloatArray]) -> Callable[[float], FloatArray]:
    return lambda h: matrix(attitudes(h))


def _matrix_steps(start: State) -> Callable[[float], FloatArray]:
    def attitudes(h: float) -> FloatArray:
        bodies = zip(start.m, matrix(start.q), strict=True)
        return np.array([Magnus(8).step_matrix(MOMENTS, m, Q, h, round(T_END / h))[1] for m, Q in bodies])

    return attitudes


def _sizes(off: FloatArray) -> FloatArray:
    """Of quaternions (n, 4) or matrices (n, 3, 3)."""
    return np.linalg.norm(off, axis=-1) if off.ndim == 2 else np.linalg.norm(off, ord=2, axis=(-2, -1))


def _means(attitudes: Callable[[float], FloatArray], reference: FloatArray) -> FloatArray:
    """(steps, samples of 50)"""
    errors = np.array([_sizes(attitudes(h) - reference) for h in STEPS])
    return errors.reshape(len(STEPS), -1, RUNS).mean(axis=2)


def _among(name: str, h: float, printed: float, means: FloatArray) -> Claim:
    low, high = means.min(), means.max()
    measured = f"{means.mean():.3g}; of 50: {low:.2g} to {high:.2g}"
    return trend(f"{name}, h = {h:g}", f"{printed:.3g}, mean of 50", measured, bool(low <= printed <= high))


def _same(what: str, one: str, other: str, a: FloatArray, b: FloatArray) -> Claim:
    printed = max(abs(x - y) for x, y in zip(PRINTED[one], PRINTED[other], strict=True))
    off = float(np.abs(a - b).max())
    return trend(what, f"means of 50 differ by {printed:.0e} at most: machine accuracy", f"differ by {off:.0e}",
                 off < MACHINE)  # fmt: skip


EXPERIMENT = Experiment(GUSTAFSSON_2010, "Table 2", "Choices that do not matter", run)
