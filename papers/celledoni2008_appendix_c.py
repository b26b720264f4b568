"""Celledoni et al. 2008, Appendix C: effective errors E_f = s |c|^(1/p) of the splitting schemes.

c are the coefficients of the leading term of the error, p is the order, and s the number of stages. The step is the
exponential of A + B + error in the free Lie algebra of drift A and kick B, so that c depends on the basis of elements
of degree p + 1; which one Blanes and Moan used is not printed. Four are evaluated here: right-nested brackets
[x, [x, [x, ...]]], by words in the order of a dictionary in which A or B is the first letter, and Lyndon words,
likewise. A bracket belongs to the basis if it is independent of those before it. For Nystrom schemes [B,[B,[B,A]]] = 0:
elements of the ideal it generates are no errors, and the basis is one of the quotient. Printed numbers are compared
with right-nested brackets, B first: of the four bases, the one in which most of them come out.

Elements of the free algebra are lists of arrays: of degree d, (2^d,), by words of which A is a digit 0 and B a digit 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from math import factorial

import numpy as np

from papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, number, trend
from polhode.core.arrays import FloatArray
from polhode.core.references import CELLEDONI_2008
from polhode.methods.scheme import Scheme
from polhode.methods.schemes import get

PRINTED = {"S4_6": "0.56", "RKN4_6b": "0.28", "S6_10": "1.12", "RKN6_14a": "0.63"}
NEWER = ("PEFRL", "RKN6_11b")
ROUNDED = 0.5  # units of the last printed digit: a number agrees if it is rounded to the printed one
A, B = np.array([1.0, 0.0]), np.array([0.0, 1.0])

Element = list[FloatArray]
Word = tuple[int, ...]
Letters = tuple[FloatArray, FloatArray]


def run(full: bool) -> Report:
    """The same always: about a second."""
    found = {name: {basis: effective_error(get(name), basis) for basis in BASES} for name in (*PRINTED, *NEWER)}
    claims = [_claim(name, found[name][JUDGED]) for name in PRINTED]
    ranked = sorted(PRINTED, key=lambda name: float(PRINTED[name]))
    ours = [sorted(PRINTED, key=lambda name: found[name][basis]) for basis in BASES]
    claims.append(
        trend("schemes by E_f, in all bases", " < ".join(ranked), " < ".join(ours[0]), all(x == ranked for x in ours))
    )
    claims += [
        beyond(f"E_f of {', '.join(PRINTED)}; {basis}", ", ".join(f"{found[name][basis]:.3f}" for name in PRINTED))
        for basis in BASES
        if basis != JUDGED
    ]
    claims += [beyond(f"E_f of {name}", f"{found[name][JUDGED]:.3f}") for name in NEWER]
    printed = [float(PRINTED[name]) for name in ranked]
    curves = [Curve("printed", printed, printed)]
    curves += [Curve(basis, printed, [found[name][basis] for name in ranked], True) for basis in BASES]
    return Report(tuple(claims), (Panel(", ".join(ranked), "E_f, printed", "E_f", curves, log=""),))


def effective_error(scheme: Scheme, basis: str = "right-nested, B first") -> float:
    """E_f of a symmetric scheme, in one of ``BASES``.

    >>> round(effective_error(get("V2")), 3)  # |(-1/24, 1/12)|^(1/2)
    0.305
    """
    degree = scheme.order + 1
    no_errors = _no_errors(degree) if scheme.rkn_only else []
    chosen = _independent(BASES[basis](degree), no_errors)
    columns = np.column_stack([*chosen, *no_errors])
    coordinates = np.linalg.lstsq(columns, logarithm(_step(scheme, degree))[degree])[0][: len(chosen)]
    return float(scheme.torques_per_step * np.linalg.norm(coordinates) ** (1 / scheme.order))


def _claim(name: str, value: float) -> Claim:
    note = "the basis is not printed; in that of Lyndon words with A < B it is 0.282" if name == "RKN4_6b" else ""
    return number(f"E_f of {name}; {JUDGED}", PRINTED[name], value, units=ROUNDED, note=note)


def _independent(candidates: list[FloatArray], given: list[FloatArray]) -> list[FloatArray]:
    """Those that are no combinations of the given ones and of earlier ones."""
    rows, chosen = list(given), []
    rank = int(np.linalg.matrix_rank(rows)) if rows else 0
    for candidate in candidates:
        if np.linalg.matrix_rank([*rows, candidate]) > rank:
            rows.append(candidate)
            chosen.append(candidate)
            rank += 1
    return chosen


def _right_nested(degree: int, letters: Letters) -> list[FloatArray]:
    return [_nested(word, letters) for word in product((0, 1), repeat=degree)]


def _nested(word: Word, letters: Letters) -> FloatArray:
    """[x, [y, [z, ...]]] of the word xyz..."""
    bracket = letters[word[-1]]
    for letter in word[-2::-1]:
        bracket = _commutator(letters[letter], bracket)
    return bracket


def _lyndon_brackets(degree: int, letters: Letters) -> list[FloatArray]:
    return [_bracket(word, letters) for word in _lyndon(degree)]


def _step(scheme: Scheme, degree: int) -> Element:
    """The product of exponentials."""
    x = _one(degree)
    for letter, size in scheme.stages:
        y = [np.zeros(2**d) for d in range(degree + 1)]
        for d in range(degree + 1):
            y[d][0 if letter == "A" else -1] = float(size) ** d / factorial(d)
        x = _times(x, y)
    return x


def logarithm(x: Element) -> Element:
    """Of 1 + y, by its series in y, which has no term of degree 0."""
    degree = len(x) - 1
    y = [np.zeros(1), *x[1:]]
    power, total = _one(degree), [np.zeros(2**d) for d in range(degree + 1)]
    for k in range(1, degree + 1):
        power = _times(power, y)
        total = [a - (-1) ** k / k * b for a, b in zip(total, power, strict=True)]
    return total


def _one(degree: int) -> Element:
    return [np.ones(1), *(np.zeros(2**d) for d in range(1, degree + 1))]


def _times(x: Element, y: Element) -> Element:
    return [np.sum([np.outer(x[i], y[d - i]).ravel() for i in range(d + 1)], axis=0) for d in range(len(x))]


def _commutator(x: FloatArray, y: FloatArray) -> FloatArray:
    """Of two homogeneous elements."""
    return np.outer(x, y).ravel() - np.outer(y, x).ravel()


def _lyndon(degree: int) -> list[Word]:
    """Words of 0 and 1 that are smaller than all their ends."""
    return [word for word in product((0, 1), repeat=degree) if _is_lyndon(word)]


def _is_lyndon(word: Word) -> bool:
    return all(word < word[i:] for i in range(1, len(word)))


def _bracket(word: Word, letters: Letters) -> FloatArray:
    """Of a Lyndon word: it is cut before the longest end that is one."""
    if len(word) == 1:
        return letters[word[0]]
    cut = next(i for i in range(1, len(word)) if _is_lyndon(word[i:]))
    return _commutator(_bracket(word[:cut], letters), _bracket(word[cut:], letters))


def _no_errors(degree: int) -> list[FloatArray]:
    """What [B,[B,[B,A]]] generates in that degree."""
    found = [_commutator(B, _commutator(B, _commutator(B, A)))]
    for _ in range(degree - 4):
        found = [_commutator(letter, x) for x in found for letter in (A, B)]
    return found


BASES: dict[str, Callable[[int], list[FloatArray]]] = {
    "right-nested, A first": partial(_right_nested, letters=(A, B)),
    "right-nested, B first": partial(_right_nested, letters=(B, A)),
    "Lyndon words, A < B": partial(_lyndon_brackets, letters=(A, B)),
    "Lyndon words, B < A": partial(_lyndon_brackets, letters=(B, A)),
}
JUDGED = "right-nested, B first"

EXPERIMENT = Experiment(CELLEDONI_2008, "Appendix C", "Effective errors of the splitting schemes", run)
