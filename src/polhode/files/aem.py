"""Attitude ephemeris messages: CCSDS 504.0-B-2 (ADM version 2), section 4, as keywords and values (KVN).

Frame A is that of space, frame B that of the body. The quaternion "from A to B" of the standard turns the basis vectors
of A into those of B (annex F2.1), so coordinates of a vector in A are Q times those in B. That is polhode's q, body to
space: the same four numbers, but for their order, which is Q1 Q2 Q3 QC with the scalar QC last. (Coordinates, which
many programs mean by "from A to B", transform with the inverse, M_BA = Q^T.) Angular velocities are those of B with
respect to A (annex F4), written along the axes of B, in degrees per second (4.2.4.6).

The standard asks for up to 16 digits (6.8.4.2), with which not every float64 comes back: ``digits`` is 17 unless it has
to be obeyed to the letter. Minus zero is written as zero, as 6.8.5 asks. A comment after the version, where the header
may have some (4.2.2), holds a checksum of all other lines; programs that do not know it read over it.

``polhode.files.aem_reader`` reads such files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.errors import InputError
from polhode.files import epochs
from polhode.integration.trajectory import Trajectory

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
    """Attitudes and angular velocities of one body, whose t are seconds, as ADM version 2, QUATERNION/ANGVEL.

    Parameters
    ----------
    object_name, object_id, originator : str, optional
        As "ENVISAT", "2002-009A", "ESOC".
    epoch : str, datetime or numpy.datetime64
        The date of t = 0 in ``time_system``: a text to the nanosecond, a datetime, or a numpy.datetime64.
    time_system : str, optional
        As "UTC" (leap seconds are taken into account), "TAI", "TT", "TDB" or "GPS".
    space_frame, body_frame : str, optional
        As "ICRF" (REF_FRAME_A) and "SC_BODY_1" (REF_FRAME_B).
    center_name, message_id : str, optional
        As "EARTH" and "A7015"; left out if they are empty.
    body : int or tuple, optional
        Which one of a batch.
    digits : int, optional
        Of each number: 17, with which every bit comes back, or 16, which the standard asks for.
    """
    needed = {
        "object_name": object_name, "object_id": object_id, "originator": originator, "epoch": epoch,
        "time_system": time_system, "space_frame": space_frame, "body_frame": body_frame,
    }  # fmt: skip
    if missing := [name for name, value in needed.items() if value is None or value == ""]:
        raise InputError(f"an .aem file needs {', '.join(missing)}; type save(path, {missing[0]}=..., ...)")
    if digits not in (16, 17):
        raise InputError(f"digits is {digits!r}; expected 17 (every bit comes back) or 16 (as the standard asks)")
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


def checksum(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("latin-1")).hexdigest()


def _of_one_body(trajectory: Trajectory, body: int | tuple[int, ...]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(t, q, omega) with t increasing, as far as the body came."""
    batch, index = trajectory.m.shape[1:-1], (body,) if isinstance(body, int) else tuple(body)
    if len(index) != len(batch) or any(not -n <= i < n for i, n in zip(index, batch, strict=True)):
        raise InputError(
            f"an .aem file is about one body, and this is a batch {batch}; type save(path, body=..., ...), its index"
            if batch
            else f"body is {body!r}, and there is only one: leave it out"
        )
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
    whole = np.floor(t)
    offsets = whole.astype(np.int64) * epochs.SECOND + np.rint((t - whole) * 1e9).astype(np.int64)  # t - whole is exact
    if not len(t) or (np.diff(offsets) <= 0).any():
        raise InputError(
            "an .aem file needs one state or more, and times that differ by a nanosecond or more (4.2.4.8.1)"
        )
    return [epochs.show(zero + offset, time_system) for offset in offsets.tolist()]


def _assignments(**values: str) -> Iterator[str]:
    """KEYWORD = value, for those that are given; refuses what the standard does not allow in a text (6.6, 6.8.6)."""
    for keyword, value in values.items():
        line = f"{keyword} = {value}"
        if not line.isascii() or not line.isprintable() or len(line) > LONGEST_LINE:
            raise InputError(f"{keyword} is {value!r}; expected printable ASCII, lines up to {LONGEST_LINE} characters")
        if value not in (value.upper(), value.lower()):
            raise InputError(
                f"{keyword} is {value!r}; expected all capitals or all small letters; type {value.upper()!r}"
            )
        if value:
            yield line
