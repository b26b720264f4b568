"""Contents of trajectory files: named arrays and attributes.

``polhode.files.stored_trajectory`` builds trajectories from them. The arrays and their dimensions are as follows; the
dimension ``body``, or ``body_0``, ``body_1`` and so on, exists only if there is a batch:

    time (time)    m, omega, m_space (time, body, xyz)    q (time, body, quaternion)    energy (time, body)
    moments (body, xyz)    axes (body, xyz, principal)    mass, status (body)    h (body) if every body has its own
    damping (body, xyz) along the body axes, or matrices (body, xyz, column)
    params (body, parameter)    event_number, event_body, event_time, event_m, event_q (event, ...)
    start_m (body, xyz)    start_q (body, quaternion)    breaks (break)

m and omega are in body axes, m_space in space axes; q is scalar first and turns body into space axes. Of a force, only
the name, the damping, the parameters and the symmetry axis are stored, and the energy if it has one. Functions are not
stored.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode._version import __version__
from polhode.core.arrays import FloatArray
from polhode.core.errors import InputError, StoreError, StoreWarning
from polhode.core.fingerprint import Fingerprint, differences
from polhode.core.messages import Hint
from polhode.core.warning import warn
from polhode.forces.base import Force, diagonals
from polhode.integration.base_trajectory import BaseTrajectory
from polhode.integration.problem import Problem
from polhode.integration.table import body_dimensions
from polhode.integration.trajectory import Trajectory, energies

KIND = "polhode trajectory"
SYSTEM = "polhode system"
FORMAT = 1
DEFINING = ("force", "linear", "velocity_dependent")  # attributes that define a problem, with its arrays
COLUMN = "column"  # dimension: the columns of a matrix
LABELS = {"xyz": ("x", "y", "z"), "quaternion": ("w", "x", "y", "z")}
FRAMES = {
    "m": "body", "omega": "body", "m_space": "space", "q": "body to space, scalar first", "moments": "principal",
    "axes": "body, principal axes as columns", "damping": "body", "start_m": "body", "start_q": "body to space",
    "x": "space", "p": "space", "start_x": "space", "start_p": "space", "event_m": "body", "event_q": "body to space",
    "event_x": "space", "event_p": "space",
}  # fmt: skip
# quantities whose units these arrays have
UNITS = {"time": "t", "breaks": "t", "h": "t", "m_space": "m", "start_m": "m", "moments": "inertia"}

Arrays = dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]]


@dataclass(frozen=True)
class FileRecord:
    """Contents of a file.

    Attributes
    ----------
    arrays : dict
        For each name a tuple of the names of the dimensions, and the values.
    attributes : dict
        Texts and numbers by name.
    """

    arrays: Arrays
    attributes: dict[str, Any]

    def labels(self, name: str) -> dict[str, str]:
        """Return the unit and the frame of an array, as far as they are known."""
        units = json.loads(self.attributes["units"])
        labels = {"units": units.get(UNITS.get(name, name)), "frame": FRAMES.get(name)}
        return {key: text for key, text in labels.items() if text}

    def values(self, name: str) -> npt.NDArray[Any] | None:
        """Return the values of an array, or None if it does not exist."""
        return self.arrays[name][1] if name in self.arrays else None


def pack(trajectory: Trajectory) -> FileRecord:
    """Return everything of a trajectory that is stored in files."""
    batch = trajectory.m.shape[1:-1]
    dims = ("time", *body_dimensions(batch))
    arrays: Arrays = {
        "time": (("time",), trajectory.t),
        "m": ((*dims, "xyz"), trajectory.m),
        "q": ((*dims, "quaternion"), trajectory.q),
        "omega": ((*dims, "xyz"), trajectory.omega),
        "m_space": ((*dims, "xyz"), trajectory.m_space),
    }
    if trajectory.problem.force.has_energy:
        arrays["energy"] = dims, trajectory.energy
    arrays |= parameters(trajectory.problem)
    arrays["status"] = dims[1:], np.asarray(trajectory.status, dtype=np.int64)
    if np.ndim(trajectory.h):
        arrays["h"] = dims[1:], trajectory.h
    arrays |= _events(trajectory)
    return FileRecord(arrays, describe(trajectory.problem) | outcome(trajectory))


def state_arrays(problem: Problem, t: FloatArray, m: FloatArray, q: FloatArray) -> Arrays:
    """Return the arrays of states of a long run, and the energy if it is defined."""
    dims = ("time", *body_dimensions(m.shape[1:-1]))
    arrays: Arrays = {"time": (("time",), t), "m": ((*dims, "xyz"), m), "q": ((*dims, "quaternion"), q)}
    return arrays | ({"energy": (dims, energies(problem, t, m, q))} if problem.force.has_energy else {})


def functions_of(problem: Problem) -> Fingerprint:
    """Return digests of the user functions of a problem, by which changes are recognized."""
    return problem.force.fingerprint()


def check_functions(path: Path, stored: Fingerprint | None, current: Fingerprint) -> None:
    """Raise InputError if user functions have changed since the store was created; warn if this is not known."""
    if stored is None:
        if current:
            warn(
                f"{path} was begun by a version of polhode that did not store digests of functions; whether they have "
                "changed is not known",
                StoreWarning,
            )
        return
    changed = differences(stored, current)
    if changed:
        raise InputError(
            f"{path} was begun with other functions: {'; '.join(changed)} differ; pass the same functions, or ",
            Hint("type force=True (--force on the command line)", "add --force"),
            " to go on with the new ones",
        )


def parameters(problem: Problem) -> Arrays:
    """Return the arrays of the inertia, the initial state and the force of a problem.

    Each array has the dimensions of the batch, unless it is the same for all bodies.
    """
    batch = problem.rows.batch
    body, state, force = problem.body, problem.state, problem.force
    columns: dict[str, tuple[FloatArray | None, tuple[str, ...]]] = {
        "moments": (body.moments, ("xyz",)),
        "axes": (None if body.is_principal else body.axes, ("xyz", "principal")),
        "mass": (body.mass, ()),
        "start_m": (state.m, ("xyz",)),
        "start_q": (state.q, ("quaternion",)),
        "damping": _damping(force),
        "params": (force.params if force.params.size else None, ("parameter",)),
    }
    arrays: Arrays = {}
    for name, (values, dims) in columns.items():
        if values is not None:
            own = values.shape[: values.ndim - len(dims)]
            leading = batch if own else ()
            spread = np.broadcast_to(values, leading + values.shape[values.ndim - len(dims) :])
            arrays[name] = (*(body_dimensions(batch) if own else ()), *dims), spread
    if force.breaks.size:
        arrays["breaks"] = ("break",), force.breaks
    return arrays


def _damping(force: Force) -> tuple[FloatArray | None, tuple[str, ...]]:
    """Return the damping and its dimensions: matrices, or only their diagonals if all of them are diagonal."""
    if force.is_zero:
        return None, ()
    along = diagonals(force.damping)
    return (force.damping, ("xyz", COLUMN)) if along is None else (along, ("xyz",))


def _events(trajectory: Trajectory) -> Arrays:
    """Return arrays with one row for each event: its number, the index of the body, the time and the state."""
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
    """Return the description of a problem as attributes: texts and numbers, with lists and dicts as JSON."""
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
        "force": "" if force.is_zero else repr(force),
        "force_axis": json.dumps(None if force.axis is None else force.axis.tolist()),
        "velocity_dependent": int(force.velocity_dependent),
        "time_dependent": int(force.time_dependent),
        "t_span": json.dumps(problem.t_span),
        "suggested_h": json.dumps(problem.h),
        "conventions": "q scalar first, body to space; m and omega in body axes; m_space in space axes",
    }


def outcome(trajectory: BaseTrajectory) -> dict[str, Any]:
    """Return how a run was made, what it took, its estimated error and its number of events as attributes."""
    events = getattr(trajectory, "t_events", None)
    return {
        "method": repr(trajectory.method),
        "h": nan if np.ndim(trajectory.h) else float(trajectory.h),
        "message": str(trajectory.message),  # without the words of a shell, which h5py cannot write
        "stats": json.dumps(asdict(trajectory.stats)),
        "events": -1 if events is None else len(events),
        "error_estimate": json.dumps(trajectory.error_estimate),
    }


def check_format(attributes: dict[str, Any]) -> None:
    """Raise StoreError unless these are attributes of a trajectory, of bodies or a system, that can be read here."""
    if attributes.get("kind") not in (KIND, SYSTEM):
        raise StoreError(f"this is not a trajectory of polhode: its attribute 'kind' is {attributes.get('kind')!r}")
    if int(attributes["format"]) != FORMAT:
        raise StoreError(
            f"this is format {attributes['format']}, written by polhode {attributes['polhode']}; this is polhode "
            f"{__version__}, which reads format {FORMAT}; type: pip install --upgrade polhode"
        )
