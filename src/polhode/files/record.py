"""A trajectory as named arrays and texts, which is what files hold; ``polhode.files.stored_trajectory`` makes
trajectories of them.

Arrays, with their dimensions (``body``, or ``body_0``, ``body_1``..., only of a batch):

    time (time)    m, omega, m_space (time, body, xyz)    q (time, body, quaternion)    energy (time, body)
    moments (body, xyz)    axes (body, xyz, principal)    mass, status (body)
    damping (body, xyz) along the body axes, or matrices (body, xyz, column)
    params (body, parameter)    event_number, event_body, event_time, event_m, event_q (event, ...)
    start_m (body, xyz)    start_q (body, quaternion)    breaks (break)

m and omega are in body axes, m_space in space axes; q is scalar first and turns body into space axes. What acts on the
body is kept as a name, with its damping and symmetry axis; energy where it has one. Functions are not stored.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode._version import __version__
from polhode.core.arrays import FloatArray
from polhode.core.errors import InputError, StoreError, StoreWarning
from polhode.core.fingerprint import Fingerprint, differences
from polhode.forces.base import Force, diagonals
from polhode.integration.problem import Problem
from polhode.integration.trajectory import Trajectory

KIND, SYSTEM, FORMAT = "polhode trajectory", "polhode system", 1
COLUMN = "column"  # of a matrix
LABELS = {"xyz": ("x", "y", "z"), "quaternion": ("w", "x", "y", "z")}
FRAMES = {
    "m": "body", "omega": "body", "m_space": "space", "q": "body to space, scalar first", "moments": "principal",
    "axes": "body, principal axes as columns", "damping": "body", "start_m": "body", "start_q": "body to space",
    "x": "space", "p": "space",
}  # fmt: skip
# whose unit an array has, if not its own
UNITS = {"time": "t", "breaks": "t", "m_space": "m", "start_m": "m", "moments": "inertia"}

Arrays = dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]]


@dataclass(frozen=True)
class Record:
    """Arrays by name, each with the names of its dimensions, and attributes: texts and numbers."""

    arrays: Arrays
    attributes: dict[str, Any]

    def labels(self, name: str) -> dict[str, str]:
        """The unit of an array, if the problem had one, and its frame."""
        found = {"units": json.loads(self.attributes["units"]).get(UNITS.get(name, name)), "frame": FRAMES.get(name)}
        return {key: text for key, text in found.items() if text}

    def values(self, name: str) -> npt.NDArray[Any] | None:
        return self.arrays[name][1] if name in self.arrays else None


def body_dimensions(batch: tuple[int, ...]) -> tuple[str, ...]:
    """Names for the axes of a batch."""
    return ("body",) if len(batch) == 1 else tuple(f"body_{i}" for i in range(len(batch)))


def pack(trajectory: Trajectory) -> Record:
    """All of a trajectory that a file can hold."""
    batch = trajectory.m.shape[1:-1]
    dims = ("time", *body_dimensions(batch))
    arrays: Arrays = {
        "time": (("time",), trajectory.t),
        "m": ((*dims, "xyz"), trajectory.m),
        "q": ((*dims, "quaternion"), trajectory.q),
        "omega": ((*dims, "xyz"), trajectory.omega),
        "m_space": ((*dims, "xyz"), trajectory.m_space),
    }
    if has_energy(trajectory.problem):
        arrays["energy"] = dims, trajectory.energy
    arrays |= parameters(trajectory.problem, batch)
    arrays["status"] = dims[1:], np.asarray(trajectory.status, dtype=np.int64)
    arrays |= _events(trajectory)
    return Record(arrays, describe(trajectory.problem) | outcome(trajectory))


def has_energy(problem: Problem) -> bool:
    return problem.force is None or problem.force.has_energy


def functions_of(problem: Problem) -> Fingerprint:
    """Digests of the user's functions in a problem, by which they are known again."""
    return {} if problem.force is None else problem.force.fingerprint()


def check_functions(path: Path, began: Fingerprint | None, now: Fingerprint) -> None:
    """That the user's functions do what they did when the store was begun."""
    if began is None:
        if now:
            warnings.warn(
                f"{path} was begun by a version that kept nothing of functions; whether they have changed is not known",
                StoreWarning,
                stacklevel=4,
            )
        return
    other = differences(began, now)
    if other:
        raise InputError(
            f"{path} was begun with other functions: {'; '.join(other)} differ; give the same functions, or type "
            "force=True (--force on the command line) to go on with the new ones"
        )


def parameters(problem: Problem, batch: tuple[int, ...]) -> Arrays:
    """What belongs to bodies and their start: one for all, or as many as there are bodies."""
    body, state, force = problem.body, problem.state, problem.force
    found: dict[str, tuple[FloatArray | None, tuple[str, ...]]] = {
        "moments": (body.moments, ("xyz",)),
        "axes": (None if body.is_principal else body.axes, ("xyz", "principal")),
        "mass": (body.mass, ()),
        "start_m": (state.m, ("xyz",)),
        "start_q": (state.q, ("quaternion",)),
        "damping": _damping(force),
        "params": (None if force is None or not force.params.size else force.params, ("parameter",)),
    }
    arrays: Arrays = {}
    for name, (values, dims) in found.items():
        if values is not None:
            own = values.shape[: values.ndim - len(dims)]
            leading = batch if own else ()
            spread = np.broadcast_to(values, leading + values.shape[values.ndim - len(dims) :])
            arrays[name] = (*(body_dimensions(batch) if own else ()), *dims), spread
    if force is not None and force.breaks.size:
        arrays["breaks"] = ("break",), force.breaks
    return arrays


def _damping(force: Force | None) -> tuple[FloatArray | None, tuple[str, ...]]:
    """Matrices, or only their diagonals if there is nothing else in them."""
    if force is None:
        return None, ()
    along = diagonals(force.damping)
    return (force.damping, ("xyz", COLUMN)) if along is None else (along, ("xyz",))


def _events(trajectory: Trajectory) -> Arrays:
    """One row for each time that something happened: which event, to which body of the batch, when, and the state."""
    if trajectory.t_events is None:
        return {}
    single = trajectory.m.ndim == 2
    columns: dict[str, list[Any]] = {name: [] for name in ("number", "body", "time", "m", "q")}
    for number, parts in enumerate(zip(trajectory.t_events, trajectory.m_events, trajectory.q_events, strict=True)):
        for body, (t, m, q) in enumerate(zip(*([part] if single else part.flat for part in parts), strict=True)):
            for name, values in zip(columns, ([number] * len(t), [body] * len(t), t, m, q), strict=True):
                columns[name].extend(values)
    last = {"m": ("xyz",), "q": ("quaternion",)}
    arrays: Arrays = {}
    for name, values in columns.items():
        dims = ("event", *last.get(name, ()))
        shape = (-1, *(len(LABELS[dim]) for dim in dims[1:]))
        kind = np.int64 if name in ("number", "body") else np.float64
        arrays[f"event_{name}"] = dims, np.array(values, dtype=kind).reshape(shape)
    return arrays


def describe(problem: Problem) -> dict[str, Any]:
    """What a problem is, in texts and numbers; lists and tables as JSON."""
    force = problem.force
    return {
        "kind": KIND,
        "format": FORMAT,
        "polhode": __version__,
        "name": problem.name,
        "summary": problem.summary,
        "references": json.dumps(problem.references, ensure_ascii=False),
        "units": json.dumps(problem.units, ensure_ascii=False),
        "body": repr(problem.body),
        "linear": int(problem.body.is_linear),
        "force": "" if force is None else repr(force),
        "force_axis": json.dumps(None if force is None or force.axis is None else force.axis.tolist()),
        "velocity_dependent": int(force is not None and force.velocity_dependent),
        "time_dependent": int(force is not None and force.time_dependent),
        "t_span": json.dumps(problem.t_span),
        "suggested_h": json.dumps(problem.h),
        "conventions": "q scalar first, body to space; m and omega in body axes; m_space in space axes",
    }


def outcome(trajectory: Trajectory) -> dict[str, Any]:
    """How a run went, in texts and numbers."""
    return {
        "method": repr(trajectory.method),
        "h": float(trajectory.h),
        "message": trajectory.message,
        "stats": json.dumps(asdict(trajectory.stats)),
        "events": -1 if trajectory.t_events is None else len(trajectory.t_events),
        "error_estimate": json.dumps(trajectory.error_estimate),
    }


def check_format(attributes: dict[str, Any]) -> None:
    """That these are the attributes of a trajectory that this version can read."""
    if attributes.get("kind") == SYSTEM:
        raise StoreError("this is a system of bodies; read it by xarray.open_dataset(path), or xarray.open_zarr(path)")
    if attributes.get("kind") != KIND:
        raise StoreError(f"this is not a trajectory of polhode: its attribute 'kind' is {attributes.get('kind')!r}")
    if int(attributes["format"]) != FORMAT:
        raise StoreError(
            f"this is format {attributes['format']}, written by polhode {attributes['polhode']}; this is polhode "
            f"{__version__}, which reads format {FORMAT}; type: pip install --upgrade polhode"
        )
