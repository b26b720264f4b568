"""Splitting schemes: by how much of the step a body drifts and is kicked, in turn. Pure data that checks itself.

A step of length h is a sequence of stages, applied from left to right. Each is a letter and a coefficient:

    A  a    drift: the free motion for a time a h
    B  b    kick by the torque f: m += b h f
    C  c    belongs to the kick before it, by the gradient of the torque: m -= c h^3 g, g = -2 (D_w f + w x f), w = f/I

Coefficients are fractions, so that what a scheme promises does not end at the digits of a double.
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

Stage = tuple[str, Fraction]
LETTERS = {"A": 0.0, "B": 1.0, "C": 2.0}  # DRIFT, KICK, GRADIENT of ``kernels.stepping.splitting``

SUM_TOLERANCE = Fraction(1, 10**20)  # of the drifts, and of the kicks
DIGITS_TOLERANCE = Fraction(1, 10**10)  # of all that needs many digits: a table may have been printed with few


@dataclass(frozen=True, repr=False)
class Scheme:
    """One splitting: its stages, its order, and what it needs. `from_half` and `composed` are easier to write.

    ``generalized_order`` (p1, p2, ...) is for weak torques, of size eps: the error is eps h^p1 + eps^2 h^p2 + ..., if
    the drift is exact. ``rkn_only``: made for torques that depend on the configuration alone; with others the order is
    lower, or the error larger. ``processor`` has stages that are applied to states that are looked at, and undone
    before the first step: in between there are the cheap ``stages`` alone. Of the conditions on the order, those that
    are linear in the torque are checked: the kicks are a quadrature of that order.

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
        object.__setattr__(self, "generalized_order", tuple(self.generalized_order))
        for part in ("stages", "processor"):
            object.__setattr__(self, part, tuple(_stage(self.name, stage) for stage in getattr(self, part)))
        _check_letters(self.name, (letter for letter, _ in self.stages))
        _check_sums(self)
        _check_declarations(self)
        _check_quadrature(self)

    @classmethod
    def from_half(cls, name: str, order: int, half: str, **declared: Any) -> Scheme:
        """The palindrome whose first half is given, the middle factor last; ``declared`` as for Scheme.

        The last A and the last B may come without a number: they follow from the sums. If they come with one, it is
        replaced by the sum rule's, so that the sums are exact.

        >>> Scheme.from_half("ForestRuth", 4, "A 0.6756035959798288 B 1.3512071919596577 A B")
        <Scheme ForestRuth: order 4, drift first, 3 torques per step>
        """
        *before, middle = _groups(_completed(name, _parsed(name, half)))
        return cls(
            name, order, tuple(stage for group in (*before, middle, *before[::-1]) for stage in group), **declared
        )

    @classmethod
    def composed(cls, composition: Composition, first: str = "A") -> Scheme:
        """Strang's step, half a drift or half a kick ``first``, repeated with the lengths of a composition.

        >>> from polhode.flows.composition import COMPOSITIONS
        >>> Scheme.composed(COMPOSITIONS["Suzuki4"], first="B")
        <Scheme Suzuki4_BAB: order 4, kick first, 5 torques per step>
        """
        if first not in ("A", "B"):
            raise InputError(f"Strang's step starts with 'A' (drift) or 'B' (kick), not with {first!r}")
        inner, name = ("B", composition.name) if first == "A" else ("A", f"{composition.name}_BAB")
        lengths = (Fraction(0), *composition.fractions)
        stages: list[Stage] = []
        for before, length in pairwise(lengths):
            stages += [(first, (before + length) / 2), (inner, length)]
        stages.append((first, lengths[-1] / 2))
        return cls(name, composition.order, tuple(stages), references=composition.references)

    @property
    def preprocessor(self) -> tuple[Stage, ...]:
        """The processor undone."""
        return tuple((letter, -x) for letter, x in self.processor[::-1])

    @cached_property
    def table(self) -> FloatArray:
        """For the kernel, (stages, 3), the processor undone before and done after: kind, coefficient, and the part of
        the step that is then over."""
        rows = []
        for stages in (self.preprocessor, self.stages, self.processor):
            part = Fraction(0)
            for letter, coefficient in stages:
                part += coefficient if letter == "A" else 0
                rows.append((LETTERS[letter], float(coefficient), float(part)))
        return np.array(rows)

    @property
    def first(self) -> str:
        """'A' if a step begins with a drift, 'B' if with a kick."""
        return self.stages[0][0]

    @property
    def drifts(self) -> tuple[Fraction, ...]:
        return tuple(x for letter, x in self.stages if letter == "A")

    @property
    def kicks(self) -> tuple[Fraction, ...]:
        return tuple(x for letter, x in self.stages if letter == "B")

    @property
    def gradients(self) -> tuple[Fraction, ...]:
        """The coefficient c of every kick, 0 where it has none."""
        return tuple(_gradient(group) for group in _groups(self.stages) if group[0][0] == "B")

    @property
    def torques_per_step(self) -> int:
        """Of many steps: if a step ends and begins with a kick, both have the same torque."""
        return len(self.kicks) - self._shares_torque

    @property
    def gradients_per_step(self) -> int:
        """Of many steps, like the torques."""
        c = self.gradients
        return sum(x != 0 for x in c) - (self._shares_torque and c[0] != 0 != c[-1])

    @property
    def _shares_torque(self) -> bool:
        return self.first == "B" and self.stages[-1][0] != "A"

    @property
    def reversible(self) -> bool:
        """Whether steps back lead home; with a processor, whose kicks then come in another order, only nearly."""
        return self.symmetric and not self.processor

    @property
    def composes_strang(self) -> bool:
        """Whether a step consists of Strang's steps, half a drift first: `composed`, as far as the digits go."""
        means = [(before + after) / 2 for before, after in pairwise((Fraction(0), *self.kicks, Fraction(0)))]
        return (
            not self.processor
            and len(means) == len(self.drifts)
            and all(abs(drift - mean) <= DIGITS_TOLERANCE for drift, mean in zip(self.drifts, means, strict=True))
        )

    @property
    def has_negative_kicks(self) -> bool:
        """Then damping by a kick grows instead: exp(-b h D) with b < 0."""
        return min(self.kicks) < 0

    @property
    def looks_beyond(self) -> bool:
        """Whether it takes torques at times before or after its step: by drifts that go so far, or a processor."""
        times = self.table[self.table[:, 0] != LETTERS["A"], 2]
        return bool(times.min() < 0.0 or times.max() > 1.0)

    @property
    def exact_drift(self) -> bool:
        """Whether the generalized order needs it."""
        return bool(self.generalized_order)

    @property
    def kind(self) -> str:
        if any(self.gradients):
            return "force-gradient"
        return "near-integrable" if self.generalized_order else "splitting"

    @property
    def description(self) -> str:
        """One line.

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
        return f"<Scheme {self.description}>"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _stage(name: str, stage: Any) -> Stage:
    if not (isinstance(stage, Sequence) and len(stage) == 2 and stage[0] in ("A", "B", "C")):
        raise InputError(
            f"scheme {name}: {stage!r} is no stage; a stage is a pair of a letter, 'A' (drift), 'B' (kick) or 'C' "
            "(gradient kick), and its coefficient, like ('A', '0.5')"
        )
    return stage[0], _number(name, stage[0], stage[1])


def _number(name: str, letter: str, x: Any) -> Fraction:
    try:
        return Fraction(repr(float(x)) if isinstance(x, float) else x)  # a float is the digits it was typed with
    except (TypeError, ValueError, ZeroDivisionError):
        raise InputError(
            f"scheme {name}: the coefficient {x!r} of a stage {letter} is not a finite number; "
            "type digits ('0.25'), a quotient ('1/4') or a Fraction"
        ) from None


def _check_letters(name: str, letters: Iterable[str]) -> None:
    line = "".join(letters)
    plain = line.replace("BC", "B")
    if "C" in plain:
        raise InputError(f"scheme {name}: in {line}, a gradient kick C does not directly follow its kick B")
    if "AA" in plain or "BB" in plain:
        raise InputError(f"scheme {name}: in {line}, drifts A and kicks B do not alternate; add up neighbors")
    if set(plain) != {"A", "B"}:
        raise InputError(f"scheme {name}: its stages are {line or 'none'}; at least a drift A and a kick B are needed")


def _check_sums(scheme: Scheme) -> None:
    for word, coefficients in (("drifts A", scheme.drifts), ("kicks B", scheme.kicks)):
        error = sum(coefficients, Fraction(-1))
        if abs(error) > SUM_TOLERANCE:
            raise InputError(
                f"scheme {scheme.name}: its {word} add up to 1 {'+' if error > 0 else '-'} {abs(float(error)):.1e} "
                "instead of 1; give more digits, or use Scheme.from_half, which completes the sums"
            )


def _check_declarations(scheme: Scheme) -> None:
    name, orders = scheme.name, scheme.generalized_order
    if not (isinstance(scheme.order, int) and scheme.order >= 1):
        raise InputError(f"scheme {name}: the order is a whole number from 1, not {scheme.order!r}")
    if orders and (tuple(sorted(orders, reverse=True)) != orders or orders[-1] != scheme.order):
        raise InputError(
            f"scheme {name}: a generalized order like (8, 6, 4) falls down to the order {scheme.order}; got {orders}"
        )
    if any(scheme.gradients) and not scheme.rkn_only:
        raise InputError(
            f"scheme {name}: gradient kicks C are for torques that depend on the configuration alone; add rkn_only=True"
        )
    groups = _groups(scheme.stages)
    if (groups == groups[::-1]) != scheme.symmetric:
        advice = "is no palindrome; add symmetric=False" if scheme.symmetric else "is a palindrome; use symmetric=True"
        raise InputError(f"scheme {name}: its sequence of stages {advice}, or look for a misprint")


def _check_quadrature(scheme: Scheme) -> None:
    """Conditions linear in B: sum b_k c_k^n = 1/(n + 1), where c_k is the time of kick k. Most misprints fail here."""
    degree = max((scheme.order, *scheme.generalized_order))
    whole = (*scheme.preprocessor, *scheme.stages, *scheme.processor)
    unit = lcm(*(x.denominator for letter, x in whole if letter != "C"))  # whole numbers: quicker than fractions
    time, moments = 0, [0] * degree
    for letter, x in whole:
        if letter == "A":
            time += int(x * unit)
        elif letter == "B":
            moments = [moment + int(x * unit) * time**n for n, moment in enumerate(moments)]
    for n, moment in enumerate(moments):
        error = Fraction(moment, unit ** (n + 1)) - Fraction(1, n + 1)
        if abs(error) > DIGITS_TOLERANCE:
            raise InputError(
                f"scheme {scheme.name}: its kicks, taken as a quadrature, integrate t^{n} with an error of "
                f"{float(error):.1e}, which is too much for order {degree}; look for a misprint"
            )


def _groups(stages: Iterable[Stage]) -> tuple[tuple[Stage, ...], ...]:
    """Drifts and kicks, each kick together with its gradient kick."""
    groups: list[tuple[Stage, ...]] = []
    for stage in stages:
        if stage[0] == "C":
            groups[-1] += (stage,)
        else:
            groups.append((stage,))
    return tuple(groups)


def _gradient(group: tuple[Stage, ...]) -> Fraction:
    return group[1][1] if len(group) == 2 else Fraction(0)


def _parsed(name: str, half: str) -> list[tuple[str, Fraction | None]]:
    """Letters with their numbers, None where there is none."""
    stages: list[tuple[str, Fraction | None]] = []
    for token in half.split():
        if token in ("A", "B", "C"):
            stages.append((token, None))
        elif stages and stages[-1][1] is None:
            letter = stages[-1][0]
            stages[-1] = letter, _number(name, letter, token)
        else:
            raise InputError(f"scheme {name}: a letter A, B or C is needed before {token!r}, as in 'A 0.5 B 1'")
    _check_letters(name, (letter for letter, _ in stages))
    return stages


def _completed(name: str, half: list[tuple[str, Fraction | None]]) -> list[Stage]:
    """The last drift and the last kick by the sum rules: the middle counts once, everything else twice."""
    stages = dict(enumerate(half))
    middle = max(k for k, (letter, _) in stages.items() if letter != "C")
    for k in (middle, max(k for k, (letter, _) in stages.items() if letter not in ("C", stages[middle][0]))):
        letter, given = stages[k]
        others = sum((x for j, (same, x) in stages.items() if same == letter and j != k and x is not None), Fraction(0))
        rule = 1 - 2 * others if k == middle else Fraction(1, 2) - others
        if given is not None and abs(given - rule) > DIGITS_TOLERANCE:
            raise InputError(
                f"scheme {name}: the last {letter} is {float(given)!r}, but for a sum of 1 it must be {float(rule)!r}"
            )
        stages[k] = letter, rule
    missing = [letter for letter, x in stages.values() if x is None]
    if missing:
        raise InputError(
            f"scheme {name}: a stage {missing[0]} has no number; only the last A and the last B may be left to the sums"
        )
    return [(letter, x) for letter, x in stages.values() if x is not None]
