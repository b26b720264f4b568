"""Summaries of runs: plain numbers for JSON files, and labelled lines for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.messages import joined
from polhode.free.motion import FreeMotion
from polhode.integration.invariants import drifts

if TYPE_CHECKING:
    from polhode.files.long_run_writer import Streamed
    from polhode.integration.problem import Problem
    from polhode.integration.trajectory import Trajectory

RELATIVE = "energy", "|m|", "Q m", "m along axis"
MOST_FLIPS = 12  # in a line of the table
MOST_PERIODS = 1e4  # flips are not listed for longer time spans


def summary(traj: Trajectory) -> dict[str, Any]:
    """Return the problem, method, cost, final state and errors of the invariants of a run, as JSON can hold them.

    >>> from polhode import problems, integrate
    >>> summary(integrate(problems.heavy_top(), method="RKN6_14a"))["steps"]
    40
    """
    last = rows_reached(traj) - 1
    single = traj.m.ndim == 2
    values = {
        **_outcome(traj.problem, traj),
        "moments": traj.body.moments.tolist() if single else None,
        "method": repr(traj.method),
        "h": float(traj.h),
        "t": [float(traj.t[0]), float(traj.t[last])],
        "states": len(traj.t),
        "m": traj.m[last].tolist() if single else None,
        "q": traj.q[last].tolist() if single else None,
        "invariants": {name: _largest(drift) for name, drift in drifts(traj).items()},
    }
    return _plain(values)


def streamed_summary(problem: Problem, run: Streamed) -> dict[str, Any]:
    """Return the part of the summary of a run on disk that is known without reading its states."""
    return _plain({**_outcome(problem, run), "states": run.rows, "invariants": {}})


def _outcome(problem: Problem, run: Trajectory | Streamed) -> dict[str, Any]:
    return {
        "problem": problem.name,
        "summary": problem.summary,
        "units": dict(problem.units),
        "force": None if problem.force.is_zero else repr(problem.force),
        "bodies": int(np.size(run.status)),
        **asdict(run.stats),
        "success": run.success,
        "stopped": int(np.sum(np.less(run.status, 0))),
        "message": run.message,
    }


def free_summary(motion: FreeMotion, t_span: tuple[float, float]) -> dict[str, Any]:
    """Return regime, energy, period, precession and flips of one free body, whose motion begins at ``t_span[0]``.

    >>> from polhode import free_motion
    >>> free_summary(free_motion((1, 1, 2), m=(3, 0, 4)), (0.0, 1.0))["regime"]
    'symmetric'
    """
    t0, t1 = t_span
    flips = len(np.unique(motion.body.moments)) == 3 and 0 < abs(t1 - t0) < MOST_PERIODS * motion.period
    return _plain(
        {
            "regime": motion.regime,
            "energy": float(motion.energy),
            "period": float(motion.period),
            "precession": float(motion.rotation_number),
            "flips": (t0 + motion.flips(0.0, t1 - t0)).tolist() if flips else [],
        }
    )


def lines(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a summary as pairs of a label and a text; its entry "free", if any, comes from ``free_summary``."""
    unit = {key: f" {value}" for key, value in values["units"].items()}
    rows = [("bodies", str(values["bodies"]))]
    if values.get("moments"):
        rows = [("moments of inertia", ", ".join(f"{x:.6g}" for x in values["moments"]) + unit.get("inertia", ""))]
    rows += _free_lines(values, unit) if "free" in values else _run_lines(values)
    for name in ("m", "q"):
        if values.get(name):
            rows.append((f"{name} at the end", ", ".join(f"{x:.12g}" for x in values[name]) + unit.get(name, "")))
    for name, error in values["invariants"].items():
        held = "not known" if error is None else f"{error:.1e}" + (" (relative)" if name in RELATIVE else "")
        rows.append((f"{name} held to", held))
    if values["stopped"]:
        rows.append(("ended early", joined(f"{values['stopped']} of {values['bodies']}: ", values["message"])))
    return rows


def _run_lines(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [("force", values["force"] or "none")]
    if "method" in values:
        step = "" if values["h"] is None else f", h = {values['h']:.6g}"
        rows.append(("method", values["method"] + step))
    if values["success"] and values["message"]:
        rows.append(("why", values["message"]))
    cost = [f"{values['steps']} steps", f"{values['torques']} torques"]
    cost += [f"{values[name]} {name}" for name in ("iterations", "rejected") if values[name]]
    rows.append(("computed", f"{', '.join(cost)} in {1e3 * values['seconds']:.3g} ms"))
    return rows


def _free_lines(values: Mapping[str, Any], unit: Mapping[str, str]) -> list[tuple[str, str]]:
    free = values["free"]
    ms = 1e3 * values["seconds"]
    rows = [
        ("regime", free["regime"]),
        ("energy", f"{free['energy']:.15g}{unit.get('energy', '')}"),
        ("period of m", "infinite" if free["period"] is None else f"{free['period']:.15g}{unit.get('t', '')}"),
    ]
    if free["precession"] is not None:
        rows.append(("precession per period", f"{free['precession']:.15g} turns"))
    if free["flips"]:
        more = len(free["flips"]) - MOST_FLIPS
        shown = ", ".join(f"{x:.6f}" for x in free["flips"][:MOST_FLIPS]) + unit.get("t", "")
        rows.append(("flips", shown + (f" and {more} more" if more > 0 else "")))
    nanoseconds = 1e6 * ms / values["states"]
    return [*rows, ("computed", f"{values['states']} exact states in {ms:.2f} ms ({nanoseconds:.0f} ns each)")]


def rows_reached(traj: Trajectory) -> int:
    """Return the number of states up to the last one that any body reached."""
    reached = np.isfinite(traj.m.reshape(len(traj.t), -1)).any(axis=1)
    return 1 + int(np.flatnonzero(reached)[-1])


def _largest(drift: FloatArray) -> float | None:
    known = np.abs(drift[np.isfinite(drift)])
    return float(known.max()) if known.size else None


def _plain(value: Any) -> Any:
    """Return the value as JSON can hold it, with None in place of numbers that are not finite."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not isfinite(value) else value
