"""Orders of splittings: exp(a1 A) exp(b1 B) exp(a2 A) ... as a power series in words of the letters A and B.

Drift A and kick B do not commute, and nothing else is assumed about them: words are independent. exp(A + B) has the
coefficient 1/n! in front of each word of n letters, and a scheme is of order p if so has its product for n <= p.
No bracket, no basis, no condition taken from a paper. Numbers are integers in units of 2^-BITS.

A factor C is the kick by a force gradient, the bracket C = [B, [A, B]] = 2 BAB - BBA - ABB.

**Nystrom schemes.** If A is quadratic in the momenta and B depends on the configuration alone, then so does C, hence it
commutes with B: BBBA = 3 BBAB - 3 BABB + ABBB. Used from left to right, this rule makes words smaller (as in a
dictionary), and no BBBA overlaps with another one, so that words without BBBA are a basis of the quotient (a Groebner
basis of one element). Mechanics has one more relation with eight letters, five of them B (with D = [B, A] and
E = [B, D], E and [D, E] both depend on the configuration alone, hence commute), and those that follow from it. They
cannot matter here: a palindrome has no conditions of even degree, so eight letters hold by themselves; and
that an order is *not* reached can be seen from words with fewer B.
"""

from __future__ import annotations

from math import factorial

BITS = 256
FACTORS = {"A": {"A": 1}, "B": {"B": 1}, "C": {"BAB": 2, "BBA": -1, "ABB": -1}}


def product(stages, degree):
    """{word: coefficient} of the product of exponentials in order of the stages, for words of up to degree letters."""
    series = {"": 1 << BITS}
    for letter, coefficient in stages:
        scaled = round(coefficient * 2**BITS)
        term, power = series, 0
        series = dict(series)
        while term:
            power += 1
            longer = {}
            for word, value in term.items():
                value = (value * scaled >> BITS) // power
                for letters, times in FACTORS[letter].items():
                    if len(word) + len(letters) <= degree:
                        longer[word + letters] = longer.get(word + letters, 0) + times * value
            for word, value in longer.items():
                series[word] = series.get(word, 0) + value
            term = longer
    return series


def words(degree):
    return [
        "".join("AB"[n >> k & 1] for k in range(length)) for length in range(1, degree + 1) for n in range(1 << length)
    ]


def normal_form(series):
    """The same element of the quotient, in words without BBBA."""
    series = dict(series)
    for word in sorted(words(max(map(len, series))), reverse=True):  # each rewriting makes words that come later
        start = word.find("BBBA")
        if start >= 0 and word in series:
            value = series.pop(word)
            for letters, times in (("BBAB", 3), ("BABB", -3), ("ABBB", 1)):
                smaller = word[:start] + letters + word[start + 4 :]
                series[smaller] = series.get(smaller, 0) + times * value
    return series


def residuals(stages, degree, nystrom=False):
    """{(letters, of them B): largest coefficient of the product minus exp(A + B)} for 1 <= letters <= degree."""
    series = product(stages, degree)
    difference = {word: series.get(word, 0) - (1 << BITS) // factorial(len(word)) for word in words(degree)}
    largest = {}
    for word, value in (normal_form(difference) if nystrom else difference).items():
        place = len(word), word.count("B")
        largest[place] = max(largest.get(place, 0.0), abs(value) / 2**BITS)
    return largest
