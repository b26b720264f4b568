"""Attitude ephemeris messages are read here, in KVN: CCSDS 504.0-B-2 (version 2) and 504.0-B-1 (version 1), section 4.

``polhode.files.aem`` explains what a quaternion from frame A to frame B is. In version 1 the scalar may be first or
last (QUATERNION_TYPE), and the quaternion may be that from B to A (ATTITUDE_DIR). Its QUATERNION/RATE is what is called
QUATERNION/ANGVEL in version 2 (annex J); with the direction B2A it does not say whose angular velocity that is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.errors import InputError, StoreError
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
    t : ndarray
        (k,), seconds since the first epoch.
    epochs : ndarray of int
        (k,), nanoseconds since the beginning of 2000 in the time system; ``dates`` are the same as texts.
    q : ndarray
        (k, 4), scalar first, from frame B (the body's, as a rule) to frame A; the bits of the file, not normalized.
    omega : ndarray
        (k, 3), rad/s, of frame B with respect to A, along the axes of B; None if the file does not tell.
    header : dict
        Keywords and values.
    metadata : dict
        Keywords and values.
    """

    epochs: IntArray
    q: FloatArray
    omega: FloatArray | None
    header: Words
    metadata: Words

    @property
    def t(self) -> FloatArray:
        seconds, rest = np.divmod(self.epochs - self.epochs[0], epochs.SECOND)
        return np.asarray(seconds + rest / epochs.SECOND)

    @property
    def dates(self) -> list[str]:
        return [epochs.show(epoch, self.metadata["TIME_SYSTEM"]) for epoch in self.epochs.tolist()]

    def __len__(self) -> int:
        return len(self.epochs)

    def __repr__(self) -> str:
        name, a, b = (self.metadata[key] for key in ("OBJECT_NAME", "REF_FRAME_A", "REF_FRAME_B"))
        return f"Attitudes of {name}: {len(self)} from {self.dates[0]} to {self.dates[-1]}, {b} in {a}"


def read_one(path: str | os.PathLike[str]) -> Attitudes:
    """The attitudes of a file that has a single segment."""
    segments = read(path)
    if len(segments) != 1:
        raise StoreError(
            f"{path} has {len(segments)} segments; type polhode.files.aem_reader.read(path) for a list of them"
        )
    return segments[0]


def read(path: str | os.PathLike[str]) -> list[Attitudes]:
    """The segments of a file with quaternions."""
    header: Words = {}
    metadata: Words = {}
    rows: Lines = []
    segments: list[Attitudes] = []
    place = "header"
    lines = Path(path).read_text(encoding="latin-1").splitlines()
    _check(path, lines)
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0] == "COMMENT":
            continue
        if words[0] in ("META_START", "META_STOP", "DATA_START", "DATA_STOP"):
            place = words[0]
            if place == "META_START":
                metadata, rows = {}, []
            elif place == "DATA_STOP":
                segments.append(_segment(path, header, metadata, rows))
        elif place == "DATA_START":
            rows.append((number, words))
        else:
            keyword, equals, value = line.partition("=")
            if not equals:
                raise StoreError(f"{path}, line {number}: {line.strip()!r} is not of the form KEYWORD = value")
            (header if place == "header" else metadata)[keyword.strip()] = value.strip()
    if place != "DATA_STOP":
        raise StoreError(f"{path} ends before DATA_STOP: it is not complete, or not an attitude ephemeris in KVN")
    return segments


def _check(path: str | os.PathLike[str], lines: list[str]) -> None:
    """Compare the lines with their checksum, if polhode wrote one."""
    others = [line for line in lines if not line.startswith(aem.CHECKSUM)]
    if len(others) + 1 == len(lines) and aem.CHECKSUM + aem.checksum(others) not in lines:
        raise StoreError(
            f"{path} is damaged: its checksum is not that of its lines; if it was changed on purpose, remove the line "
            f"that begins with {aem.CHECKSUM!r}"
        )


def _segment(path: str | os.PathLike[str], header: Words, metadata: Words, rows: Lines) -> Attitudes:
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

    q, omega = scalar_first(table[:, :4]), None
    if width == 8:
        omega = 2.0 * multiply(conjugate(q), scalar_first(table[:, 4:]))[:, 1:]  # q' = q omega/2
    elif width == 7 and not backward:
        omega = _along_b(metadata, q, np.radians(table[:, 4:]))
    return Attitudes(stamps, q, omega, header, metadata)


def _choice(words: Words, keyword: str, *allowed: str) -> str:
    """The value of a keyword in capitals, if it is one of those that are allowed."""
    found = words.get(keyword, "").upper()
    if not found or (allowed and found not in allowed):
        raise InputError(f"{keyword} is {found or 'missing'}; expected {' or '.join(allowed) or 'a value'}")
    return found


def _numbers(rows: Lines, width: int, time_system: str) -> tuple[IntArray, FloatArray]:
    stamps, numbers = [], []
    for number, (date, *words) in rows:
        try:
            stamps.append(epochs.parse(date, time_system))
            numbers.append([float(word) for word in words])
        except ValueError as problem:
            raise InputError(f"line {number}: {problem}") from None
        if len(words) != width:
            raise InputError(f"line {number} has {len(words)} numbers after the date; expected {width}")
    if not rows:
        raise InputError("a segment without data")
    return np.array(stamps, np.int64), np.array(numbers)


def _along_b(metadata: Words, q: FloatArray, omega: FloatArray) -> FloatArray | None:
    """Angular velocities along the axes of frame B; None if theirs are neither those of A nor of B."""
    frame = metadata.get("ANGVEL_FRAME", metadata.get("RATE_FRAME", "")).upper()
    if frame in ("REF_FRAME_B", metadata["REF_FRAME_B"].upper()):
        return omega
    if frame in ("REF_FRAME_A", metadata["REF_FRAME_A"].upper()):
        return rotate(conjugate(q), omega)
    return None
