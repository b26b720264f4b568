"""What a run found, as plain numbers for files and as lines for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.free.motion import FreeMotion
from polhode.integration.invariants import drifts

if TYPE_CHECKING:
    from polhode.files.long_run_writer import Streamed
    from polhode.integration.problem import Problem
    from polhode.integration.trajectory import Trajectory

RELATIVE = "energy", "|m|", "Q m", "m along axis"
MOST_FLIPS = 12  # that a line of the table shows
MOST_PERIODS = 1e4  # in which flips are listed


def summary(traj: Trajectory) -> dict[str, Any]:
    """What the run was, what it cost, where it ended, and how well its invariants held; numbers, texts and lists.

    >>> from polhode import problems, integrate
    >>> summary(integrate(problems.heavy_top(), method="RKN6_14a"))["steps"]
    40
    """
    last, single = rows_reached(traj) - 1, traj.m.ndim == 2
    found = {
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
    return _plain(found)


def streamed_summary(problem: Problem, done: Streamed) -> dict[str, Any]:
    """The same of a run whose states are on the disk, as far as it is known without reading them."""
    return _plain({**_outcome(problem, done), "states": done.rows, "invariants": {}})


def _outcome(problem: Problem, run: Trajectory | Streamed) -> dict[str, Any]:
    return {
        "problem": problem.name,
        "summary": problem.summary,
        "units": dict(problem.units),
        "force": None if problem.force is None else repr(problem.force),
        "bodies": int(np.size(run.status)),
        **asdict(run.stats),
        "success": run.success,
        "stopped": int(np.sum(np.less(run.status, 0))),
        "message": run.message,
    }


def free_summary(motion: FreeMotion, t_span: tuple[float, float]) -> dict[str, Any]:
    """What is known in closed form of one free body, with its flips in that time; the motion begins at t_span[0].

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


def lines(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A summary as pairs of a label and a text; that of a free body has an entry "free", made by ``free_summary``."""
    unit = {key: f" {value}" for key, value in found["units"].items()}
    rows = [("bodies", str(found["bodies"]))]
    if found.get("moments"):
        rows = [("moments of inertia", ", ".join(f"{x:.6g}" for x in found["moments"]) + unit.get("inertia", ""))]
    rows += _free_lines(found, unit) if "free" in found else _run_lines(found)
    for name in ("m", "q"):
        if found.get(name):
            rows.append((f"{name} at the end", ", ".join(f"{x:.12g}" for x in found[name]) + unit.get(name, "")))
    for name, error in found["invariants"].items():
        held = "not known" if error is None else f"{error:.1e}" + (" (relative)" if name in RELATIVE else "")
        rows.append((f"{name} held to", held))
    if found["stopped"]:
        rows.append(("ended early", f"{found['stopped']} of {found['bodies']}: {found['message']}"))
    return rows


def _run_lines(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [("force", found["force"] or "none")]
    if "method" in found:
        step = "" if found["h"] is None else f", h = {found['h']:.6g}"
        rows.append(("method", found["method"] + step))
    if found["success"] and found["message"]:
        rows.append(("why", found["message"]))
    cost = [f"{found['steps']} steps", f"{found['torques']} torques"]
    cost += [f"{found[name]} {name}" for name in ("iterations", "rejected") if found[name]]
    rows.append(("computed", f"{', '.join(cost)} in {1e3 * found['seconds']:.3g} ms"))
    return rows


def _free_lines(found: Mapping[str, Any], unit: Mapping[str, str]) -> list[tuple[str, str]]:
    free, ms = found["free"], 1e3 * found["seconds"]
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
    each = 1e6 * ms / found["states"]
    return [*rows, ("computed", f"{found['states']} exact states in {ms:.2f} ms ({each:.0f} ns each)")]


def rows_reached(traj: Trajectory) -> int:
    """How many states there are until no body goes on."""
    reached = np.isfinite(traj.m.reshape(len(traj.t), -1)).any(axis=1)
    return 1 + int(np.flatnonzero(reached)[-1])


def _largest(drift: FloatArray) -> float | None:
    known = np.abs(drift[np.isfinite(drift)])
    return float(known.max()) if known.size else None


def _plain(value: Any) -> Any:
    """As JSON can hold it: a number that is not finite is None."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not isfinite(value) else value
