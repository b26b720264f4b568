"""Reading of attitude ephemeris messages in KVN: CCSDS 504.0-B-2 (version 2) and 504.0-B-1 (version 1), section 4.

``polhode.files.aem`` explains the quaternion from frame A to frame B. In version 1, the scalar may be first or last
(QUATERNION_TYPE), and the quaternion may be that from B to A (ATTITUDE_DIR). QUATERNION/RATE of version 1 is called
QUATERNION/ANGVEL in version 2 (annex J); for the direction B2A, version 1 does not define whose angular velocity it is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.errors import InputError, StoreError
from polhode.core.messages import Hint
from polhode.core.rotation import conjugate, multiply, rotate
from polhode.files import aem, epochs

COLUMNS = {"QUATERNION": 4, "QUATERNION/ANGVEL": 7, "QUATERNION/RATE": 7, "QUATERNION/DERIVATIVE": 8}
NEEDED = ("OBJECT_NAME", "REF_FRAME_A", "REF_FRAME_B", "TIME_SYSTEM", "ATTITUDE_TYPE")

Words = dict[str, str]
Lines = list[tuple[int, list[str]]]


@dataclass(frozen=True)
class Attitudes:
    """One segment of an attitude ephemeris.

    Attributes
    ----------
    t : ndarray, shape (k,)
        Seconds since the first epoch.
    epochs : ndarray of int, shape (k,)
        Nanoseconds since the beginning of 2000 in the time system.
    dates : list of str
        The epochs as texts.
    q : ndarray, shape (k, 4)
        Quaternions, scalar first, from frame B (usually the body) to frame A, as in the file; they are not normalized.
    omega : ndarray, shape (k, 3), or None
        Angular velocity of frame B with respect to A, along the axes of B, in rad/s. None if the file does not have it.
    header : dict
        Keywords and values of the header.
    metadata : dict
        Keywords and values of the segment.
    """

    epochs: IntArray
    q: FloatArray
    omega: FloatArray | None
    header: Words
    metadata: Words

    @property
    def t(self) -> FloatArray:
        """Seconds since the first epoch, shape (k,)."""
        seconds, rest = np.divmod(self.epochs - self.epochs[0], epochs.SECOND)
        return np.asarray(seconds + rest / epochs.SECOND)

    @property
    def dates(self) -> list[str]:
        """Dates of the epochs as texts, to the nanosecond."""
        return [epochs.show(epoch, self.metadata["TIME_SYSTEM"]) for epoch in self.epochs.tolist()]

    def __len__(self) -> int:
        """Return the number of attitudes."""
        return len(self.epochs)

    def __repr__(self) -> str:
        """Return the name of the object, the number of attitudes, the first and last date, and the frames."""
        name, a, b = (self.metadata[key] for key in ("OBJECT_NAME", "REF_FRAME_A", "REF_FRAME_B"))
        return f"Attitudes of {name}: {len(self)} from {self.dates[0]} to {self.dates[-1]}, {b} in {a}"


def read_one(path: str | os.PathLike[str]) -> Attitudes:
    """Read the attitudes of an AEM with a single segment.

    Parameters
    ----------
    path : str or path-like
        File to read.

    Returns
    -------
    Attitudes

    Raises
    ------
    StoreError
        If the file is damaged, is not an AEM with quaternions, or has several segments.
    """
    segments = read(path)
    if len(segments) != 1:
        raise StoreError(
            f"{path} has {len(segments)} segments; ",
            Hint(
                "type polhode.files.aem_reader.read(path) for",
                "in Python, polhode.files.aem_reader.read(path) returns",
            ),
            " a list of them",
        )
    return segments[0]


def read(path: str | os.PathLike[str]) -> list[Attitudes]:
    """Read all segments of an AEM with quaternions.

    Parameters
    ----------
    path : str or path-like
        File to read.

    Returns
    -------
    list of Attitudes

    Raises
    ------
    StoreError
        If the file is damaged or is not an AEM with quaternions.
    """
    header: Words = {}
    metadata: Words = {}
    rows: Lines = []
    segments: list[Attitudes] = []
    section = "header"
    lines = Path(path).read_text(encoding="latin-1").splitlines()
    _check(path, lines)
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0] == "COMMENT":
            continue
        if words[0] in ("META_START", "META_STOP", "DATA_START", "DATA_STOP"):
            section = words[0]
            if section == "META_START":
                metadata = {}
                rows = []
            elif section == "DATA_STOP":
                segments.append(_segment(path, header, metadata, rows))
        elif section == "DATA_START":
            rows.append((number, words))
        else:
            keyword, equals, value = line.partition("=")
            if not equals:
                raise StoreError(f"{path}, line {number}: {line.strip()!r} is not of the form KEYWORD = value")
            (header if section == "header" else metadata)[keyword.strip()] = value.strip()
    if section != "DATA_STOP":
        raise StoreError(f"{path} ends before DATA_STOP: it is not complete, or not an attitude ephemeris in KVN")
    return segments


def _check(path: str | os.PathLike[str], lines: list[str]) -> None:
    """Compare the lines with their checksum, if polhode wrote one; raise StoreError if it differs."""
    others = [line for line in lines if not line.startswith(aem.CHECKSUM)]
    if len(others) + 1 == len(lines) and aem.CHECKSUM + aem.checksum(others) not in lines:
        raise StoreError(
            f"{path} is damaged: its checksum does not match its lines; if it was changed on purpose, remove the line "
            f"that begins with {aem.CHECKSUM!r}"
        )


def _segment(path: str | os.PathLike[str], header: Words, metadata: Words, rows: Lines) -> Attitudes:
    """Return the attitudes of one segment, with quaternions from B to A, scalar first."""
    try:
        version = _choice(header, "CCSDS_AEM_VERS", "1.0", "2.0")
        for keyword in NEEDED:
            _choice(metadata, keyword)
        width = COLUMNS[_choice(metadata, "ATTITUDE_TYPE", *COLUMNS)]
        stamps, table = _numbers(rows, width, metadata["TIME_SYSTEM"])
        first = version == "1.0" and _choice(metadata, "QUATERNION_TYPE", "FIRST", "LAST") == "FIRST"
        backward = version == "1.0" and _choice(metadata, "ATTITUDE_DIR", "A2B", "B2A") == "B2A"
    except InputError as problem:
        raise StoreError(f"{path}: {problem}") from None

    def scalar_first(numbers: FloatArray) -> FloatArray:
        ordered = numbers if first else np.roll(numbers, 1, axis=-1)
        return conjugate(ordered) if backward else ordered

    q = scalar_first(table[:, :4])
    omega = None
    if width == 8:
        omega = 2.0 * multiply(conjugate(q), scalar_first(table[:, 4:]))[:, 1:]  # q' = q omega/2
    elif width == 7 and not backward:
        omega = _along_b(metadata, q, np.radians(table[:, 4:]))
    return Attitudes(stamps, q, omega, header, metadata)


def _choice(words: Words, keyword: str, *allowed: str) -> str:
    """Return the value of a keyword in uppercase; raise InputError if it is missing or not one of ``allowed``."""
    value = words.get(keyword, "").upper()
    if not value or (allowed and value not in allowed):
        raise InputError(f"{keyword} is {value or 'missing'}; expected {' or '.join(allowed) or 'a value'}")
    return value


def _numbers(rows: Lines, width: int, time_system: str) -> tuple[IntArray, FloatArray]:
    """Return the epochs, shape (k,), and the numbers after them, shape (k, width), of the lines of a segment."""
    stamps: list[int] = []
    numbers: list[list[float]] = []
    for number, (date, *words) in rows:
        try:
            stamps.append(epochs.parse(date, time_system))
            numbers.append([float(word) for word in words])
        except ValueError as problem:
            raise InputError(f"line {number}: {problem}") from None
        if len(words) != width:
            raise InputError(f"line {number} has {len(words)} numbers after the date; expected {width}")
        if not all(map(isfinite, numbers[-1])):
            raise InputError(f"line {number} has a number that is not finite")
        if len(stamps) > 1 and stamps[-1] <= stamps[-2]:
            raise InputError(f"line {number}: {date} is not later than the date before it (4.2.4.8.1)")
    if not rows:
        raise InputError("a segment has no data; expected one line or more between DATA_START and DATA_STOP")
    return np.array(stamps, np.int64), np.array(numbers)


def _along_b(metadata: Words, q: FloatArray, omega: FloatArray) -> FloatArray | None:
    """Return angular velocities along the axes of frame B; None if they are along the axes of a third frame."""
    frame = metadata.get("ANGVEL_FRAME", metadata.get("RATE_FRAME", "")).upper()
    if frame in ("REF_FRAME_B", metadata["REF_FRAME_B"].upper()):
        return omega
    if frame in ("REF_FRAME_A", metadata["REF_FRAME_A"].upper()):
        return rotate(conjugate(q), omega)
    return None
