"""Splitting schemes: the coefficients of alternating drifts and kicks, validated on construction.

A step of length h is a sequence of stages, applied from left to right. Each is a letter and a coefficient:

    A  a    drift: the free motion for a time a h
    B  b    kick by the torque f: m += b h f
    C  c    gradient part of the preceding kick: m -= c h^3 g, g = -2 (D_w f + w x f), w = f/I

Coefficients are fractions, so that the conditions on the order can be checked beyond double precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import lcm
from typing import Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.errors import InputError
from polhode.flows.composition import Composition
from polhode.kernels.stepping.stages import DRIFT, GRADIENT, KICK

Stage = tuple[str, Fraction]
LETTERS = {"A": DRIFT, "B": KICK, "C": GRADIENT}

SUM_TOLERANCE = Fraction(1, 10**20)  # of the sum of the drifts, and of the kicks
DIGITS_TOLERANCE = Fraction(1, 10**10)  # of all other conditions: tables in print may have few digits


@dataclass(frozen=True, repr=False)
class Scheme:
    """Splitting scheme: the stages of a step, its order, and its requirements.

    `Scheme.from_half` and `Scheme.composed` create schemes from less input. Of the conditions on the order, those that
    are linear in the torque are checked: the kicks must be a quadrature rule of that order.

    Parameters
    ----------
    name : str
        Name of the scheme.
    order : int
        Order of the method with exact drifts.
    stages : sequence of (str, number or str)
        Letter ('A' for a drift, 'B' for a kick, 'C' for a gradient kick) and coefficient of each stage.
    generalized_order : tuple of int, optional
        Orders (p1, p2, ...) for weak torques of size eps: the error is eps h^p1 + eps^2 h^p2 + ... if drifts are exact.
    rkn_only : bool, optional
        Whether the scheme is designed for torques that depend on the configuration alone; with other torques the order
        is lower or the error larger.
    symmetric : bool, optional
        Whether the sequence of stages is a palindrome. The default is True.
    references : tuple of str, optional
        Publications.
    processor : sequence of (str, number or str), optional
        Stages that are applied to states before output, and inverted before the first step; between outputs only
        `stages` are applied.

    Raises
    ------
    InputError
        If the stages do not alternate, do not add up to 1, or contradict the declared properties.

    Examples
    --------
    >>> Scheme("leapfrog", 2, (("A", "1/2"), ("B", 1), ("A", "1/2")))
    <Scheme leapfrog: order 2, drift first, 1 torque per step>
    """

    name: str
    order: int
    stages: tuple[Stage, ...]
    generalized_order: tuple[int, ...] = ()
    rkn_only: bool = False
    symmetric: bool = True
    references: tuple[str, ...] = ()
    processor: tuple[Stage, ...] = ()

    def __post_init__(self) -> None:
        """Convert the coefficients to fractions and validate the scheme."""
        object.__setattr__(self, "generalized_order", tuple(self.generalized_order))
        for part in ("stages", "processor"):
            object.__setattr__(self, part, tuple(_stage(self.name, stage) for stage in getattr(self, part)))
        _check_letters(self.name, (letter for letter, _ in self.stages))
        _check_sums(self)
        _check_declarations(self)
        _check_quadrature(self)

    @classmethod
    def from_half(cls, name: str, order: int, half: str, **declared: Any) -> Scheme:
        """Return the symmetric scheme with the given first half.

        Parameters
        ----------
        name : str
            Name of the scheme.
        order : int
            Order of the method with exact drifts.
        half : str
            Letters, each followed by its coefficient, up to and including the middle stage. The coefficients of the
            last A and of the last B may be omitted, because they follow from the sums; if present, they are replaced by
            these values, so that the sums are exact.
        **declared
            Other arguments of `Scheme`.

        Returns
        -------
        Scheme
            The scheme.

        Raises
        ------
        InputError
            If `half` cannot be parsed, or the scheme is not valid.

        Examples
        --------
        >>> Scheme.from_half("ForestRuth", 4, "A 0.6756035959798288 B 1.3512071919596577 A B")
        <Scheme ForestRuth: order 4, drift first, 3 torques per step>
        """
        *before, middle = _groups(_completed(name, _parsed(name, half)))
        return cls(
            name, order, tuple(stage for group in (*before, middle, *before[::-1]) for stage in group), **declared
        )

    @classmethod
    def composed(cls, composition: Composition, first: str = "A") -> Scheme:
        """Return the scheme that composes Strang's steps with the step lengths of a composition.

        Parameters
        ----------
        composition : Composition
            Step lengths and order.
        first : {"A", "B"}, optional
            Whether Strang's step begins with half a drift ("A", the default) or half a kick ("B").

        Returns
        -------
        Scheme
            The scheme.

        Raises
        ------
        InputError
            If `first` is neither "A" nor "B".

        Examples
        --------
        >>> from polhode.flows.composition import COMPOSITIONS
        >>> Scheme.composed(COMPOSITIONS["Suzuki4"], first="B")
        <Scheme Suzuki4_BAB: order 4, kick first, 5 torques per step>
        """
        if first not in ("A", "B"):
            raise InputError(f"first = {first!r}; expected 'A' (drift) or 'B' (kick), the beginning of Strang's step")
        inner, name = ("B", composition.name) if first == "A" else ("A", f"{composition.name}_BAB")
        lengths = (Fraction(0), *composition.fractions)
        stages: list[Stage] = []
        for before, length in pairwise(lengths):
            stages += [(first, (before + length) / 2), (inner, length)]
        stages.append((first, lengths[-1] / 2))
        return cls(name, composition.order, tuple(stages), references=composition.references)

    @property
    def preprocessor(self) -> tuple[Stage, ...]:
        """Return the inverse of the processor, as stages."""
        return tuple((letter, -x) for letter, x in self.processor[::-1])

    @cached_property
    def table(self) -> FloatArray:
        """Return all stages for the kernel as an array of shape (stages, 3), preprocessor first and processor last.

        Columns are the kind of the stage, its coefficient, and the fraction of the step that is completed after it.
        """
        rows = []
        for stages in (self.preprocessor, self.stages, self.processor):
            part = Fraction(0)
            for letter, coefficient in stages:
                part += coefficient if letter == "A" else 0
                rows.append((LETTERS[letter], float(coefficient), float(part)))
        return np.array(rows)

    @property
    def first(self) -> str:
        """Return 'A' if a step begins with a drift, 'B' if it begins with a kick."""
        return self.stages[0][0]

    @property
    def drifts(self) -> tuple[Fraction, ...]:
        """Return the coefficients of the drifts."""
        return tuple(x for letter, x in self.stages if letter == "A")

    @property
    def kicks(self) -> tuple[Fraction, ...]:
        """Return the coefficients of the kicks."""
        return tuple(x for letter, x in self.stages if letter == "B")

    @property
    def gradients(self) -> tuple[Fraction, ...]:
        """Return the gradient coefficient c of every kick, 0 for kicks without a gradient."""
        return tuple(_gradient(group) for group in _groups(self.stages) if group[0][0] == "B")

    @property
    def torques_per_step(self) -> int:
        """Return the number of torque evaluations per step in a long run.

        If a step begins and ends with a kick, consecutive steps share one evaluation.
        """
        return len(self.kicks) - self._shares_torque

    @property
    def gradients_per_step(self) -> int:
        """Return the number of gradient evaluations per step in a long run; consecutive steps may share one."""
        c = self.gradients
        return sum(x != 0 for x in c) - (self._shares_torque and c[0] != 0 != c[-1])

    @property
    def _shares_torque(self) -> bool:
        """Return whether the last kick of a step and the first of the next one use the same torque."""
        return self.first == "B" and self.stages[-1][0] != "A"

    @property
    def reversible(self) -> bool:
        """Return whether steps backward undo steps forward to rounding; a processor makes this only approximate."""
        return self.symmetric and not self.processor

    @property
    def composes_strang(self) -> bool:
        """Return whether a step is a composition of Strang's steps that begin with half a drift, to ten digits."""
        means = [(before + after) / 2 for before, after in pairwise((Fraction(0), *self.kicks, Fraction(0)))]
        return (
            not self.processor
            and len(means) == len(self.drifts)
            and all(abs(drift - mean) <= DIGITS_TOLERANCE for drift, mean in zip(self.drifts, means, strict=True))
        )

    @property
    def has_negative_kicks(self) -> bool:
        """Return whether some kicks are negative; in these, damping amplifies: exp(-b h D) with b < 0."""
        return min(self.kicks) < 0

    @property
    def looks_beyond(self) -> bool:
        """Return whether torques are evaluated at times outside the step, by the drifts or by the processor."""
        times = self.table[self.table[:, 0] != DRIFT, 2]
        return bool(times.min() < 0.0 or times.max() > 1.0)

    @property
    def exact_drift(self) -> bool:
        """Return whether exact drifts are required, as they are for a generalized order."""
        return bool(self.generalized_order)

    @property
    def kind(self) -> str:
        """Return "force-gradient", "near-integrable" or "splitting"."""
        if any(self.gradients):
            return "force-gradient"
        return "near-integrable" if self.generalized_order else "splitting"

    @property
    def description(self) -> str:
        """Return a description of the scheme in one line.

        Examples
        --------
        >>> from polhode import schemes
        >>> schemes.get("Chin4A").description
        'Chin4A: order 4, kick first, 2 torques and 1 gradient per step, torques of the configuration only'
        """
        cost = _counted(self.torques_per_step, "torque")
        if self.gradients_per_step:
            cost += " and " + _counted(self.gradients_per_step, "gradient")
        weak = f" {self.generalized_order} for weak torques" if self.generalized_order else ""
        return (
            f"{self.name}: order {self.order}{weak}, {'drift' if self.first == 'A' else 'kick'} first, {cost} per step"
            f"{', torques of the configuration only' if self.rkn_only else ''}"
            f"{', exact drift' if self.exact_drift else ''}{'' if self.symmetric else ', not symmetric'}"
            f"{', with a processor' if self.processor else ''}"
        )

    def __repr__(self) -> str:
        """Return the description in angle brackets."""
        return f"<Scheme {self.description}>"


def _counted(number: int, word: str) -> str:
    """Return the number and the word, in the plural if the number is not 1."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def _stage(name: str, stage: Any) -> Stage:
    """Return a stage with its coefficient as a fraction; `name` is that of the scheme, for error messages."""
    if not (isinstance(stage, Sequence) and len(stage) == 2 and stage[0] in ("A", "B", "C")):
        raise InputError(
            f"scheme {name}: got the stage {stage!r}; expected a pair of a letter, 'A' (drift), 'B' (kick) or 'C' "
            "(gradient kick), and its coefficient, such as ('A', '0.5')"
        )
    return stage[0], _number(name, stage[0], stage[1])


def _number(name: str, letter: str, x: Any) -> Fraction:
    """Return the coefficient `x` of a stage as a fraction."""
    try:
        return Fraction(repr(float(x)) if isinstance(x, float) else x)  # a float stands for its shortest decimal digits
    except (TypeError, ValueError, ZeroDivisionError):
        raise InputError(
            f"scheme {name}: the coefficient {x!r} of a stage {letter} is not a finite number; "
            "type digits ('0.25'), a quotient ('1/4') or a Fraction"
        ) from None


def _check_letters(name: str, letters: Iterable[str]) -> None:
    """Raise InputError unless drifts and kicks alternate and each gradient kick follows a kick."""
    line = "".join(letters)
    plain = line.replace("BC", "B")
    if "C" in plain:
        raise InputError(f"scheme {name}: in {line}, a gradient kick C does not directly follow its kick B")
    if "AA" in plain or "BB" in plain:
        raise InputError(
            f"scheme {name}: in {line}, drifts A and kicks B do not alternate; add the coefficients of neighbors"
        )
    if set(plain) != {"A", "B"}:
        raise InputError(f"scheme {name}: its stages are {line or 'none'}; expected at least a drift A and a kick B")


def _check_sums(scheme: Scheme) -> None:
    """Raise InputError unless drifts and kicks each add up to 1."""
    for word, coefficients in (("drifts A", scheme.drifts), ("kicks B", scheme.kicks)):
        error = sum(coefficients, Fraction(-1))
        if abs(error) > SUM_TOLERANCE:
            raise InputError(
                f"scheme {scheme.name}: its {word} add up to 1 {'+' if error > 0 else '-'} {abs(float(error)):.1e} "
                "instead of 1; pass more digits, or use Scheme.from_half, which completes the sums"
            )


def _check_declarations(scheme: Scheme) -> None:
    """Raise InputError unless the stages agree with the declared order, type and symmetry."""
    name = scheme.name
    orders = scheme.generalized_order
    if not (isinstance(scheme.order, int) and scheme.order >= 1):
        raise InputError(f"scheme {name}: order = {scheme.order!r}; expected an integer of at least 1")
    if orders and (tuple(sorted(orders, reverse=True)) != orders or orders[-1] != scheme.order):
        raise InputError(
            f"scheme {name}: generalized_order = {orders}; expected orders that do not increase and end with the order "
            f"{scheme.order}, such as (8, 6, 4) for order 4"
        )
    if any(scheme.gradients) and not scheme.rkn_only:
        raise InputError(
            f"scheme {name}: gradient kicks C are for torques that depend on the configuration alone; add rkn_only=True"
        )
    groups = _groups(scheme.stages)
    if (groups == groups[::-1]) != scheme.symmetric:
        advice = (
            "is not a palindrome; add symmetric=False" if scheme.symmetric else "is a palindrome; use symmetric=True"
        )
        raise InputError(f"scheme {name}: its sequence of stages {advice}, or look for a misprint")


def _check_quadrature(scheme: Scheme) -> None:
    """Raise InputError unless the kicks are a quadrature rule of the declared order.

    These are the conditions linear in B: sum b_k c_k^n = 1/(n + 1), where c_k is the time of kick k. Most misprints in
    tables violate them.
    """
    degree = max((scheme.order, *scheme.generalized_order))
    whole = (*scheme.preprocessor, *scheme.stages, *scheme.processor)
    unit = lcm(*(x.denominator for letter, x in whole if letter != "C"))  # integers are faster than fractions
    time = 0
    moments = [0] * degree
    for letter, x in whole:
        units = x.numerator * (unit // x.denominator)
        if letter == "A":
            time += units
        elif letter == "B":
            for n in range(degree):
                moments[n] += units
                units *= time
    for n, moment in enumerate(moments):
        error = Fraction(moment, unit ** (n + 1)) - Fraction(1, n + 1)
        if abs(error) > DIGITS_TOLERANCE:
            raise InputError(
                f"scheme {scheme.name}: its kicks, taken as a quadrature, integrate t^{n} with an error of "
                f"{float(error):.1e}, which is too much for order {degree}; look for a misprint"
            )


def _groups(stages: Iterable[Stage]) -> tuple[tuple[Stage, ...], ...]:
    """Return the stages in groups: each drift alone, each kick together with its gradient kick."""
    groups: list[tuple[Stage, ...]] = []
    for stage in stages:
        if stage[0] == "C":
            groups[-1] += (stage,)
        else:
            groups.append((stage,))
    return tuple(groups)


def _gradient(group: tuple[Stage, ...]) -> Fraction:
    """Return the gradient coefficient of a group, 0 if it has none."""
    return group[1][1] if len(group) == 2 else Fraction(0)


def _parsed(name: str, half: str) -> list[tuple[str, Fraction | None]]:
    """Return the letters of `half` with their coefficients, None for omitted ones."""
    stages: list[tuple[str, Fraction | None]] = []
    for token in half.split():
        if token in ("A", "B", "C"):
            stages.append((token, None))
        elif stages and stages[-1][1] is None:
            letter = stages[-1][0]
            stages[-1] = letter, _number(name, letter, token)
        else:
            raise InputError(f"scheme {name}: expected a letter A, B or C before {token!r}, as in 'A 0.5 B 1'")
    _check_letters(name, (letter for letter, _ in stages))
    return stages


def _completed(name: str, half: list[tuple[str, Fraction | None]]) -> list[Stage]:
    """Return the stages with the last drift and the last kick computed from the sums.

    In these sums the middle stage counts once and every other stage twice.
    """
    stages = dict(enumerate(half))
    middle = max(k for k, (letter, _) in stages.items() if letter != "C")
    for k in (middle, max(k for k, (letter, _) in stages.items() if letter not in ("C", stages[middle][0]))):
        letter, coefficient = stages[k]
        others = sum((x for j, (same, x) in stages.items() if same == letter and j != k and x is not None), Fraction(0))
        rule = 1 - 2 * others if k == middle else Fraction(1, 2) - others
        if coefficient is not None and abs(coefficient - rule) > DIGITS_TOLERANCE:
            raise InputError(
                f"scheme {name}: the last {letter} is {float(coefficient)!r}; expected {float(rule)!r}, for a sum of 1"
            )
        stages[k] = letter, rule
    missing = [letter for letter, x in stages.values() if x is None]
    if missing:
        raise InputError(
            f"scheme {name}: a stage {missing[0]} has no number; only those of the last A and the last B may be omitted"
        )
    return [(letter, x) for letter, x in stages.values() if x is not None]
