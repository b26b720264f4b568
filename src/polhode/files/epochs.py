"""Dates with a resolution of one nanosecond, as integers: CCSDS 301.0-B-4, ASCII time codes A and B.

Examples of the codes are "2024-03-01T12:00:00.123456789" and "2024-061T12:00:00.123456789". An epoch is the number of
nanoseconds since the beginning of 2000 in its own time system. In UTC, leap seconds are counted, so that differences of
epochs are elapsed times, and "23:59:60" is a valid time.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from polhode.core.errors import InputError

SECOND = 10**9
DAY = 86400 * SECOND
ORIGIN = date(2000, 1, 1)
LARGEST = 292 * 365 * DAY  # less than 2^63
# Days that ended with 23:59:60 (IERS Bulletin C); since 1972, TAI - UTC is 10 s plus one second for each of them.
JUNES = (1972, 1981, 1982, 1983, 1985, 1992, 1993, 1994, 1997, 2012, 2015)
DECEMBERS = (*range(1972, 1980), 1987, 1989, 1990, 1995, 1998, 2005, 2008, 2016)
LEAP_DAYS = sorted(
    (date(year, *day) - ORIGIN).days for years, day in ((JUNES, (6, 30)), (DECEMBERS, (12, 31))) for year in years
)
FORM = re.compile(r"(\d{4})-(?:(\d\d)-(\d\d)|(\d{3}))T(\d\d):(\d\d):(\d\d)(?:\.(\d*))?Z?")
NEEDED = "expected a date such as '2024-03-01T12:00:00.123456789'"


def parse(text: str, time_system: str) -> int:
    """Return the epoch of a date: nanoseconds since the beginning of 2000 in ``time_system``.

    >>> parse("2000-01-01T00:00:01.5", "TAI")
    1500000000
    >>> parse("2017-01-01T00:00:00", "UTC") - parse("2016-12-31T23:59:59", "UTC")
    2000000000
    """
    match = FORM.fullmatch(text.strip())
    if not match:
        raise InputError(f"{text!r}: {NEEDED}")
    year, month, day, of_year, hour, minute, second, fraction = match.groups()
    try:
        start = date(int(year), 1, 1) if of_year else date(int(year), int(month), int(day))
        number = (start - ORIGIN).days + (int(of_year) - 1 if of_year else 0)
    except ValueError as problem:
        raise InputError(f"{text!r}: {problem}; {NEEDED}") from None
    last = 60 if is_utc(time_system) and number in LEAP_DAYS and hour + minute == "2359" else 59
    if int(hour) > 23 or int(minute) > 59 or int(second) > last or (of_year and not 1 <= int(of_year) <= 366):
        raise InputError(f"{text!r} is a time of day that does not exist in {time_system}; {NEEDED}")
    seconds = 3600 * int(hour) + 60 * int(minute) + int(second)
    nanoseconds = round(float(f"0.{(fraction or '0')[:17]}") * SECOND)
    epoch = number * DAY + (seconds + leaps_before(number, time_system)) * SECOND + nanoseconds
    if abs(epoch) >= LARGEST:
        raise InputError(f"{text!r} is too far from 2000: 64 bits of nanoseconds reach 291 years")
    return epoch


def show(epoch: int, time_system: str) -> str:
    """Return the date of an epoch as a text with nanoseconds.

    >>> show(parse("2016-366T23:59:60.25", "UTC"), "UTC")
    '2016-12-31T23:59:60.250000000'
    """
    number = epoch // DAY + 1  # leap seconds before 2000 count as negative
    while epoch < number * DAY + leaps_before(number, time_system) * SECOND:
        number -= 1
    left = epoch - number * DAY - leaps_before(number, time_system) * SECOND
    seconds, nanoseconds = divmod(left, SECOND)
    minutes = min(seconds // 60, 1439)  # a leap second belongs to the last minute of its day
    day = ORIGIN + timedelta(days=number)
    return f"{day}T{minutes // 60:02}:{minutes % 60:02}:{seconds - 60 * minutes:02}.{nanoseconds:09}"


def from_user(epoch: Any, time_system: str) -> int:
    """Return the epoch of a text, a datetime (with a time zone only in UTC) or a numpy.datetime64."""
    if isinstance(epoch, datetime):
        if epoch.tzinfo is not None and not is_utc(time_system):
            raise InputError(f"epoch {epoch} has a time zone, but time_system is {time_system!r}; remove its tzinfo")
        epoch = (epoch if epoch.tzinfo is None else epoch.astimezone(UTC).replace(tzinfo=None)).isoformat()
    elif isinstance(epoch, np.datetime64):
        epoch = str(epoch.astype("datetime64[ns]"))
    if not isinstance(epoch, str):
        raise InputError(f"epoch is {epoch!r}; {NEEDED}")
    return parse(epoch, time_system)


def now() -> str:
    """Return the current date in UTC as a text with seconds."""
    return datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds")


def leaps_before(day: int, time_system: str) -> int:
    """Return the number of leap seconds between the beginning of 2000 and a day; negative before 2000."""
    return bisect_left(LEAP_DAYS, day) - bisect_left(LEAP_DAYS, 0) if is_utc(time_system) else 0


def is_utc(time_system: str) -> bool:
    """Return whether a time system is UTC."""
    return time_system.upper() == "UTC"
