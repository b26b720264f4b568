"""Attitude ephemeris messages: CCSDS 504.0-B-2 (ADM version 2), section 4, in keyword-value notation (KVN).

Frame A is the space frame, frame B the body frame. The quaternion "from A to B" of the standard turns the basis vectors
of A into those of B (annex F2.1), so the coordinates of a vector in A are Q times those in B. This is polhode's q, body
to space: the same four numbers, except that their order is Q1 Q2 Q3 QC, with the scalar QC last. (Coordinates, which
many programs mean by "from A to B", transform with the inverse, M_BA = Q^T.) Angular velocities are those of B with
respect to A (annex F4), along the axes of B, in degrees per second (4.2.4.6).

The standard allows up to 16 digits (6.8.4.2), which do not reproduce every float64. Therefore ``digits`` is 17 by
default; 16 conforms strictly to the standard. Minus zero is written as zero, as 6.8.5 requires. A comment after the
version, where the header may contain comments (4.2.2), holds a checksum of all other lines; other programs ignore it.

``polhode.files.aem_reader`` reads these files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.errors import InputError
from polhode.core.messages import Hint
from polhode.files import epochs
from polhode.integration.trajectory import Trajectory

if TYPE_CHECKING:
    from polhode.files import aem_reader

LONGEST_LINE = 254  # 6.6.1
CHECKSUM = "COMMENT SHA-256 of the other lines: "


def write(
    trajectory: Trajectory,
    path: Path,
    *,
    object_name: str = "",
    object_id: str = "",
    originator: str = "",
    epoch: Any = None,
    time_system: str = "",
    space_frame: str = "",
    body_frame: str = "",
    center_name: str = "",
    message_id: str = "",
    body: int | tuple[int, ...] = (),
    digits: int = 17,
) -> None:
    """Write the attitudes and angular velocities of one body as an AEM, ADM version 2, type QUATERNION/ANGVEL.

    Parameters
    ----------
    trajectory : Trajectory
        Trajectory whose times are in seconds and whose angular velocities are in rad/s.
    path : Path
        File to write.
    object_name, object_id, originator : str
        Name and identifier of the object and author of the message, such as "ENVISAT", "2002-009A" and "ESOC".
    epoch : str, datetime or numpy.datetime64
        Date of t = 0 in ``time_system``, with a resolution of up to a nanosecond.
    time_system : str
        For example "UTC" (leap seconds are taken into account), "TAI", "TT", "TDB" or "GPS".
    space_frame, body_frame : str
        Names of the frames, such as "ICRF" (REF_FRAME_A) and "SC_BODY_1" (REF_FRAME_B).
    center_name, message_id : str, optional
        For example "EARTH" and "A7015". By default, they are not written.
    body : int or tuple of int, optional
        Index of the body in a batch. Omit it if there is only one body.
    digits : {17, 16}, optional
        Significant digits of each number: 17 reproduce every float64, 16 conform strictly to the standard.

    Raises
    ------
    InputError
        If a required value is missing, contains characters that the standard does not allow, or does not fit the
        trajectory.
    """
    required = {
        "object_name": object_name, "object_id": object_id, "originator": originator, "epoch": epoch,
        "time_system": time_system, "space_frame": space_frame, "body_frame": body_frame,
    }  # fmt: skip
    if missing := [name for name, value in required.items() if value is None or value == ""]:
        raise InputError(f"an .aem file needs {', '.join(missing)}; ", _setting(missing[0]))
    if digits not in (16, 17):
        raise InputError(
            f"digits is {digits!r}; expected 17 (every float64 is reproduced) or 16 (the limit of the standard)"
        )
    t, q, omega = _of_one_body(trajectory, body)
    dates = _dates(t, epochs.from_user(epoch, time_system), time_system)
    lines = [
        "CCSDS_AEM_VERS = 2.0",
        f"CREATION_DATE = {epochs.now()}",
        *_assignments(ORIGINATOR=originator, MESSAGE_ID=message_id),
        "",
        "META_START",
        *_assignments(
            OBJECT_NAME=object_name,
            OBJECT_ID=object_id,
            CENTER_NAME=center_name,
            REF_FRAME_A=space_frame,
            REF_FRAME_B=body_frame,
            TIME_SYSTEM=time_system,
            START_TIME=dates[0],
            STOP_TIME=dates[-1],
            ATTITUDE_TYPE="QUATERNION/ANGVEL",
            ANGVEL_FRAME=body_frame,
        ),
        "META_STOP",
        "",
        "DATA_START",
    ]
    numbers = np.concatenate([np.roll(q, -1, axis=-1), np.degrees(omega)], axis=-1) + 0.0  # -0 + 0 is 0
    rows = (" ".join(f"{x:.{digits - 1}E}" for x in row) for row in numbers.tolist())
    lines += [f"{date} {row}" for date, row in zip(dates, rows, strict=True)]
    lines.append("DATA_STOP")
    lines.insert(1, CHECKSUM + checksum(lines))
    path.write_text("\n".join([*lines, ""]), encoding="ascii", newline="\n")


def read(path: Path, damaged: str) -> aem_reader.Attitudes:
    """Return the attitudes of a file; ``damaged`` has no effect, because there is one checksum for all lines."""
    from polhode.files import aem_reader

    return aem_reader.read_one(path)


def _setting(name: str) -> Hint:
    """Return the hint that says how to give an option of the file."""
    return Hint(f"type save(path, {name}=..., ...)", f"add --set {name}=...")


def checksum(lines: list[str]) -> str:
    """Return the SHA-256 digest of lines, joined by newlines."""
    return hashlib.sha256("\n".join(lines).encode("latin-1")).hexdigest()


def _of_one_body(trajectory: Trajectory, body: int | tuple[int, ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return t, q and omega of one body with t increasing, without states that the body did not reach."""
    batch = trajectory.m.shape[1:-1]
    index = (body,) if isinstance(body, int) else tuple(body)
    if len(index) != len(batch) or any(not -n <= i < n for i, n in zip(index, batch, strict=True)):
        if not batch:
            raise InputError(f"body is {body!r}, but there is only one body; omit body")
        raise InputError(f"an .aem file holds one body, but this is a batch {batch}; ", _setting("body"), ", its index")
    for quantity, unit in (("t", "s"), ("omega", "rad/s")):
        if trajectory.problem.units.get(quantity, unit) != unit:
            raise InputError(
                f"the unit of {quantity} is {trajectory.problem.units[quantity]!r}; an .aem file needs {unit}"
            )
    q, omega = (np.moveaxis(values, 0, -2)[index] for values in (trajectory.q, trajectory.omega))
    good = np.isfinite(q).all(axis=-1)
    order = slice(None, None, -1 if trajectory.t[-1] < trajectory.t[0] else 1)
    return trajectory.t[good][order], q[good][order], omega[good][order]


def _dates(t: FloatArray, zero: int, time_system: str) -> list[str]:
    """Return the dates of the times ``t`` (seconds) as texts; ``zero`` is the epoch of t = 0 in nanoseconds."""
    whole = np.floor(t)
    offsets = whole.astype(np.int64) * epochs.SECOND + np.rint((t - whole) * 1e9).astype(np.int64)  # t - whole is exact
    if not len(t) or (np.diff(offsets) <= 0).any():
        raise InputError(
            "expected one state or more, at times that differ by one nanosecond or more (4.2.4.8.1), in an .aem file"
        )
    return [epochs.show(zero + offset, time_system) for offset in offsets.tolist()]


def _assignments(**values: str) -> Iterator[str]:
    """Yield lines KEYWORD = value for values that are not empty.

    InputError is raised for characters that the standard does not allow in a value (6.6, 6.8.6).
    """
    for keyword, value in values.items():
        line = f"{keyword} = {value}"
        if not line.isascii() or not line.isprintable() or len(line) > LONGEST_LINE:
            raise InputError(f"{keyword} is {value!r}; expected printable ASCII, lines up to {LONGEST_LINE} characters")
        if value not in (value.upper(), value.lower()):
            raise InputError(
                f"{keyword} is {value!r}; expected only uppercase or only lowercase letters; type {value.upper()!r}"
            )
        if value:
            yield line
