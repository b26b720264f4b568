"""What an experiment of a paper is: claims, published and measured side by side, and panels of its figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import numpy.typing as npt

from polhode.core.arrays import FloatArray

Verdict = Literal["agrees", "trend holds", "not reproduced", "beyond the paper"]


@dataclass(frozen=True)
class Claim:
    """One thing a paper says, what was measured here, and whether they agree; ``note`` says why, if they do not."""

    what: str
    published: str
    measured: str
    verdict: Verdict
    note: str = ""


def number(what: str, published: str, measured: float, *, units: float = 1.0, note: str = "") -> Claim:
    """A printed number; it agrees if it is off by no more than ``units`` of its last printed digit.

    >>> number("error of m", "1.382e-2", 0.013830).verdict
    'agrees'
    >>> number("error of m", "1.38e-2", 0.0141).verdict
    'not reproduced'
    """
    printed = Decimal(published)
    last_digit = Decimal(1).scaleb(int(printed.as_tuple().exponent))
    agrees = abs(Decimal(repr(float(measured))) - printed) <= Decimal(units) * last_digit
    digits = len(printed.as_tuple().digits)
    shown = f"{measured:.{digits}e}" if "e" in published else f"{measured:.{digits + 1}g}"
    return Claim(what, published, shown, "agrees" if agrees else "not reproduced", note)


def trend(what: str, published: str, measured: str, holds: bool, *, note: str = "") -> Claim:
    """What a paper says in words or shows in a figure."""
    return Claim(what, published, measured, "trend holds" if holds else "not reproduced", note)


def beyond(what: str, measured: str, *, note: str = "") -> Claim:
    """What the paper does not have: a newer method on the same axes."""
    return Claim(what, "", measured, "beyond the paper", note)


class Curve(NamedTuple):
    """A line of a figure, x and y (k,), in space also z; ``beyond`` if the paper does not have it.

    ``like`` is the label of an earlier curve of the panel: this one is drawn in the same color, dash-dotted.
    """

    label: str
    x: npt.ArrayLike
    y: npt.ArrayLike
    beyond: bool = False
    z: npt.ArrayLike | None = None
    like: str = ""


class Points(NamedTuple):
    """Colored points of a map, such as of the inertia triangle: x, y and value (k,), nan where there is none.

    ``limits`` are the values of the first and the last color; by default, the least and the largest.
    """

    x: FloatArray
    y: FloatArray
    value: FloatArray
    label: str
    limits: tuple[float, float] | None = None


@dataclass(frozen=True)
class Panel:
    """One pair of axes: curves, or points with colors."""

    title: str
    x: str
    y: str
    curves: Sequence[Curve] = ()
    points: Points | None = None
    log: Literal["", "x", "y", "xy"] = "xy"
    lines: bool = True  # or dots alone
    equal: bool = False  # the same length of a unit on all axes
    z: str = ""  # a third axis: then curves are drawn in space, and nothing is logarithmic
    marks: tuple[FloatArray, FloatArray] | None = None  # x and y of gray dots behind the curves
    sphere: bool = False  # in space: the unit sphere behind the curves


@dataclass(frozen=True)
class Report:
    """What an experiment found."""

    claims: tuple[Claim, ...]
    panels: tuple[Panel, ...]

    @property
    def reproduced(self) -> bool:
        """Whether no claim failed."""
        return all(claim.verdict != "not reproduced" for claim in self.claims)

    def to_dict(self) -> dict[str, Any]:
        """Plain texts, for files."""
        return {"reproduced": self.reproduced, "claims": [asdict(claim) for claim in self.claims]}


@dataclass(frozen=True)
class Experiment:
    """A figure or table of a paper: ``run(full)`` makes it again, at the paper's size if ``full``."""

    paper: str  # one of ``polhode.core.references``
    figure: str
    title: str
    run: Callable[[bool], Report]
