"""Celledoni et al. 2008, Appendix C: effective errors E_f = s |c|^(1/p) of the splitting schemes.

c are the coefficients of the leading term of the error, p is the order, and s the number of stages. The step is the
exponential of A + B + error in the free Lie algebra of drift A and kick B, so that c depends on the basis of elements
of degree p + 1; which one Blanes and Moan used is not printed. Two are evaluated here: Lyndon words with A < B and with
B < A. For Nystrom schemes [B,[B,[B,A]]] = 0: elements of the ideal it generates are no errors, and |c| is the distance
to them.

Elements of the free algebra are lists of arrays: of degree d, (2^d,), by words of which A is a digit 0 and B a digit 1.
"""

from __future__ import annotations

from itertools import product
from math import factorial

import numpy as np

from polhode.checks import FloatArray
from polhode.papers.experiment import Claim, Curve, Experiment, Panel, Report, beyond, trend
from polhode.references import CELLEDONI_2008
from polhode.scheme import Scheme
from polhode.schemes import get

PRINTED = {"S4_6": 0.56, "RKN4_6b": 0.28, "S6_10": 1.12, "RKN6_14a": 0.63}
NEWER = ("PEFRL", "RKN6_11b")
LETTERS = (("A", "B"), ("B", "A"))
CLOSE = 0.02  # relative, for printed values of two digits

Element = list[FloatArray]
Word = tuple[int, ...]
Letters = tuple[str, str]


def run(full: bool) -> Report:
    """The same always: less than a second."""
    found = {name: [effective_error(get(name), letters) for letters in LETTERS] for name in (*PRINTED, *NEWER)}
    claims = [_claim(name, found[name]) for name in PRINTED]
    ranked = sorted(PRINTED, key=lambda name: PRINTED[name])
    ours = [[name for _, name in sorted((found[name][i], name) for name in PRINTED)] for i in range(len(LETTERS))]
    claims.append(
        trend("schemes by E_f", " < ".join(ranked), " < ".join(ours[0]), all(each == ranked for each in ours))
    )
    claims += [beyond(f"E_f of {name}", _told(found[name])) for name in NEWER]
    printed = [PRINTED[name] for name in ranked]
    curves = [Curve("printed", printed, printed)]
    curves += [
        Curve(f"Lyndon words, {a} < {b}", printed, [found[name][i] for name in ranked], True)
        for i, (a, b) in enumerate(LETTERS)
    ]
    return Report(tuple(claims), (Panel(", ".join(ranked), "E_f, printed", "E_f", curves, log=""),))


def effective_error(scheme: Scheme, letters: Letters = LETTERS[0]) -> float:
    """E_f of a symmetric scheme, in the basis of Lyndon words whose first letter is the first of ``letters``.

    >>> round(effective_error(get("V2")), 3)  # |(-1/24, 1/12)|^(1/2)
    0.305
    """
    degree = scheme.order + 1
    basis = np.column_stack([_bracket(word, letters) for word in _lyndon(degree)])
    coordinates = np.linalg.lstsq(basis, logarithm(_step(scheme, degree))[degree])[0]
    if scheme.rkn_only:
        ideal = np.linalg.lstsq(basis, np.column_stack(_no_errors(degree)))[0]
        coordinates = coordinates - ideal @ np.linalg.lstsq(ideal, coordinates)[0]
    return float(scheme.torques_per_step * np.linalg.norm(coordinates) ** (1 / scheme.order))


def _claim(name: str, values: list[float]) -> Claim:
    printed = PRINTED[name]
    return trend(
        f"E_f of {name}",
        f"{printed:g}",
        _told(values),
        min(values) * (1 - CLOSE) < printed < max(values) * (1 + CLOSE),
        note="it depends on the basis, which is not printed; verdict: within 2 % of the range of the two",
    )


def _told(values: list[float]) -> str:
    return " or ".join(f"{value:.3f}" for value in values)


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
        return np.array([1.0, 0.0]) if letters[word[0]] == "A" else np.array([0.0, 1.0])
    cut = next(i for i in range(1, len(word)) if _is_lyndon(word[i:]))
    return _commutator(_bracket(word[:cut], letters), _bracket(word[cut:], letters))


def _no_errors(degree: int) -> list[FloatArray]:
    """What [B,[B,[B,A]]] generates in that degree."""
    A, B = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    found = [_commutator(B, _commutator(B, _commutator(B, A)))]
    for _ in range(degree - 4):
        found = [_commutator(letter, x) for x in found for letter in (A, B)]
    return found


EXPERIMENT = Experiment(CELLEDONI_2008, "Appendix C", "Effective errors of the splitting schemes", run)
