"""Schemes have the orders they declare, neither lower nor higher; misprints are noticed; bad schemes are refused.

Truth: the power series of ``oracles.lie``, golden coefficients, numbers printed in the papers, and a mechanical system.
"""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from fractions import Fraction
from itertools import accumulate

import pytest
from mpmath import mp, mpf

from conftest import TESTS
from oracles import lie
from polhode import schemes
from polhode.core.errors import InputError, UnknownNameError
from polhode.flows.composition import COMPOSITIONS
from polhode.methods.scheme import Scheme
from polhode.methods.schemes import force_gradient, near_integrable, processed

ALL = [scheme for scheme in schemes.SCHEMES.values() if scheme not in processed.SCHEMES]  # those: see test_processed
TABLES = [scheme for scheme in ALL if scheme.name not in COMPOSITIONS]
EXACT = 1e-28  # coefficients of tables have 30 digits
COMPOSED = 1e-26  # and those of some compositions 26
DECIDED_BY = 4  # with more kicks in a word, mechanics has relations that the oracle does not know


def named(selected):
    return pytest.mark.parametrize("scheme", selected, ids=lambda scheme: scheme.name)


def violation(scheme):
    """The largest residual of the conditions that ``scheme`` declares: letters up to the order for that many kicks."""
    orders = scheme.generalized_order or (scheme.order,)
    residuals = lie.residuals(scheme.stages, orders[0], scheme.rkn_only)
    return max(x for (length, kicks), x in residuals.items() if length <= orders[min(max(kicks, 1), len(orders)) - 1])


def reached(stages, highest, nystrom=False):
    """The order of a sequence of stages."""
    residuals = lie.residuals(stages, highest + 1, nystrom)
    return min(length for (length, _), x in residuals.items() if x > 1e-15) - 1


def exchanged(stages):
    return [({"A": "B", "B": "A"}[letter], x) for letter, x in stages]


@named(ALL)
def test_orders_are_as_declared(scheme):
    assert violation(scheme) < (EXACT if scheme in TABLES else COMPOSED)
    above = lie.residuals(scheme.stages, scheme.order + 1, scheme.rkn_only)
    assert max(x for (length, kicks), x in above.items() if length > scheme.order and kicks <= DECIDED_BY) > 1e-10


@named(near_integrable.SCHEMES)
def test_generalized_orders_are_as_declared(scheme):
    residuals = lie.residuals(scheme.stages, scheme.generalized_order[0] + 1)
    for kicks, order in enumerate(scheme.generalized_order, 1):
        assert max(x for (length, k), x in residuals.items() if k == kicks and length <= order) < EXACT
        assert residuals[order + 1, kicks] > 1e-11


@pytest.mark.parametrize(("name", "order"), [("RKN4_6b", 4), ("RKN6_14a", 4), ("RKN6_11b", 4), ("RKN8_19", 4)])
def test_nystrom_schemes_with_any_torque(name, order):
    """As observed with torques that damp. Order 4 needs no Nystrom scheme: its conditions are of degree 3."""
    assert reached(schemes.get(name).stages, 4) == order


def test_exchanging_drifts_and_kicks():
    """As observed on the heavy top."""
    assert [reached(exchanged(schemes.get(name).stages), 6) for name in ("S4_6", "S6_10")] == [4, 6]
    assert [reached(exchanged(schemes.get(name).stages), 6, nystrom=True) for name in ("RKN4_6b", "RKN6_14a")] == [4, 4]


@named(force_gradient.SCHEMES)
def test_gradient_kicks_of_the_wrong_sign_or_size(scheme):
    for factor in (-1, 0, 2):
        stages = [(letter, x * factor if letter == "C" else x) for letter, x in scheme.stages]
        assert reached(stages, scheme.order, nystrom=True) == 2


def forces(x, y):
    return -x - 2 * x * y, -y - x * x + y * y


def one_step(scheme, state, h):
    """Henon and Heiles: two degrees of freedom, and a potential of degree 3."""
    x, y, px, py = state
    for letter, coefficient in scheme.stages:
        c = mpf(coefficient.numerator) / coefficient.denominator
        fx, fy = forces(x, y)
        if letter == "A":
            x, y = x + c * h * px, y + c * h * py
        elif letter == "B":
            px, py = px + c * h * fx, py + c * h * fy
        else:  # p -= c h^3 G, where G = -2 (derivative of the force along the force)
            gx, gy = 2 * ((1 + 2 * y) * fx + 2 * x * fy), 2 * (2 * x * fx + (1 - 2 * y) * fy)
            px, py = px - c * h**3 * gx, py - c * h**3 * gy
    return x, y, px, py


def difference_to_half_steps(scheme, h):
    start = tuple(mpf(x) / 8 for x in (3, -2, 1, 4))
    once, half = one_step(scheme, start, h), one_step(scheme, one_step(scheme, start, h / 2), h / 2)
    return mp.norm([a - b for a, b in zip(once, half, strict=True)])


@named(ALL)
def test_orders_on_a_mechanical_system(scheme):
    """The error of one step falls by 2^(order + 1)."""
    with mp.workdps(60):
        h = mpf(1) / 2 ** (66 // (scheme.order + 1))
        ratio = difference_to_half_steps(scheme, h) / difference_to_half_steps(scheme, h / 2)
        assert float(mp.log(ratio, 2)) == pytest.approx(scheme.order + 1, abs=0.05)


GOLDEN = json.loads((TESTS / "golden" / "splitting_schemes.json").read_text())["schemes"]


def merged(sequence):
    """Kicks before and after a gradient kick, with which they commute, added up before it."""
    stages = []
    for letter, digits in sequence:
        if letter == "B" and stages and stages[-1][0] == "C":
            stages[-2] = "B", stages[-2][1] + Fraction(digits)
        else:
            stages.append((letter, Fraction(digits)))
    return stages


def test_every_golden_scheme_is_there():
    assert {entry["name"] for entry in GOLDEN} <= set(schemes.SCHEMES)


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda entry: entry["name"])
def test_golden_coefficients_and_counts(golden):
    ours, stages = schemes.get(golden["name"]), merged(golden["sequence"])
    assert [letter for letter, _ in ours.stages] == [letter for letter, _ in stages]
    assert max(abs(x - y) for (_, x), (_, y) in zip(ours.stages, stages, strict=True)) < Fraction(1, 10**25)
    assert (ours.order, ours.kind, ours.rkn_only) == (golden["order"], golden["kind"], golden["rkn_only"])
    assert ours.generalized_order == tuple(golden.get("generalized_order", ()))
    assert ours.torques_per_step == golden["torque_evaluations_per_step_coalesced"]
    assert ours.first == golden["first"]


def test_gradients_per_step():
    counts = {scheme.name: scheme.gradients_per_step for scheme in ALL if scheme.gradients_per_step}
    assert counts.items() >= {"Chin4A": 1, "Chin4B": 2, "Chin4C": 1, "OMF6": 3}.items()
    assert not counts.keys() & {"V2", "S6_10", "RKN6_14a"}
    assert [float(x) for x in schemes.get("Chin4A").gradients] == [0, 1 / 72, 0]
    ends = Scheme.from_half("ends", 2, "B C 1/100 A", rkn_only=True)
    assert (ends.torques_per_step, ends.gradients_per_step) == (1, 1)
    assert schemes.get("PEFRL").torques_per_step == 4


@named(ALL)
def test_sums_palindromes_and_signs(scheme):
    for coefficients in (scheme.drifts, scheme.kicks, scheme.gradients):
        assert coefficients == coefficients[::-1]
    assert sum(scheme.drifts) == sum(scheme.kicks) == 1
    assert len(scheme.stages) == len(scheme.drifts) + len(scheme.kicks) + sum(map(bool, scheme.gradients))
    assert scheme.symmetric
    assert scheme.references
    assert scheme.exact_drift == (scheme in near_integrable.SCHEMES)
    if scheme.order > 2 and scheme.kind != "force-gradient":  # Sheng 1989, Suzuki 1991: no way without steps backward
        assert scheme.has_negative_kicks
        assert min(scheme.drifts) < 0
    elif scheme.name != "OMF6":
        assert not scheme.has_negative_kicks


# Celledoni et al. 2008, (4.5) to (4.8), as printed, with the two misprints corrected.
PRINTED = {
    "S6_10": """A 0.0502627644003922 B 0.148816447901042 A 0.413514300428344 B -0.132385865767784 A 0.0450798897943977
        B 0.067307604692185 A -0.188054853819569 B 0.432666402578175 A 0.541960678450780 B A""",
    "S4_6": """A 0.07920369643119565 B 0.209515106613362 A 0.353172906049774 B -0.143851773179818 A -0.04206508035771952
        B A""",
    "RKN4_6b": """B 0.0829844064174052 A 0.245298957184271 B 0.396309801498368 A 0.604872665711080
        B -0.0390563049223486 A B""",
    "RKN6_14a": """A 0.0378593198406116 B 0.09171915262446165 A 0.102635633102435 B 0.183983170005006
        A -0.0258678882665587 B -0.05653436583288827 A 0.314241403071447 B 0.004914688774712854 A -0.130144459517415
        B 0.143761127168358 A 0.106417700369543 B 0.328567693746804 A -0.00879424312851058 B A""",
    "PEFRL": "A 0.1786178958448091 B 0.7123418310626054 A -0.06626458266981849 B -0.2123418310626054 A",
}


def printed(name, old="", new=""):
    ours = schemes.get(name)
    assert old in PRINTED[name]
    return Scheme.from_half(name, ours.order, PRINTED[name].replace(old, new), rkn_only=ours.rkn_only)


@pytest.mark.parametrize("name", PRINTED)
def test_printed_digits(name):
    ours, theirs = schemes.get(name), printed(name)
    assert max(abs(x - y) for (_, x), (_, y) in zip(ours.stages, theirs.stages, strict=True)) < 4e-15
    assert violation(theirs) < 2e-16


def test_printed_misprints():
    """Celledoni et al. 2008: the sign of b2 in (4.6), two digits of a4 in (4.8)."""
    with pytest.raises(InputError, match=r"S4_6: its kicks, taken as a quadrature, integrate t\^2 with an error of "):
        printed("S4_6", "B -0.143851773179818", "B 0.143851773179818")
    assert violation(printed("RKN6_14a", "071447", "071477")) > 2e-15


def first_half(scheme):
    """Up to the middle, a kick together with its gradient kick."""
    numbers = accumulate(letter != "C" for letter, _ in scheme.stages)
    middle = (len(scheme.drifts) + len(scheme.kicks) + 1) // 2
    return [stage for stage, number in zip(scheme.stages, numbers, strict=True) if number <= middle]


def accepted(like, half):
    """The scheme with this first half; None if it is refused because of its order."""
    try:
        return Scheme.from_half("x", like.order, half, rkn_only=like.rkn_only, generalized_order=like.generalized_order)
    except InputError as refused:
        if "look for a misprint" in str(refused):
            return None
        raise


# Order 2 alone leaves coefficients free.
@named([scheme for scheme in TABLES if max((scheme.order, *(scheme.generalized_order or ()))) > 2])
def test_every_misprinted_digit_is_noticed(scheme):
    """Of the first fifteen, in every coefficient that is given, even if the sums are still 1."""
    half = first_half(scheme)
    ruled = {max(k for k, (letter, _) in enumerate(half) if letter == which) for which in "AB"}
    for place in set(range(len(half))) - ruled:
        for digit in (2, 8, 15):
            wrong = half.copy()
            wrong[place] = half[place][0], half[place][1] + Fraction(1, 10**digit)
            text = " ".join(letter if k in ruled else f"{letter} {x}" for k, (letter, x) in enumerate(wrong))
            built = accepted(scheme, text)
            if built is not None:
                assert digit > 2 or half[place][0] == "C"  # large ones are refused at once
                assert violation(built) > 1e-18


@pytest.mark.parametrize("name", ["Yoshida4", "Suzuki4", "Yoshida6A", "KahanLi6"])
@pytest.mark.parametrize("first", ["A", "B"])
def test_compositions_are_products_of_steps(name, first):
    """Of Strang's steps, one after the other, before neighbors are added up."""
    composition = COMPOSITIONS[name]
    inner = "BA"["AB".index(first)]
    separate = [stage for g in composition.fractions for stage in ((first, g / 2), (inner, g), (first, g / 2))]
    scheme = Scheme.composed(composition, first)
    assert scheme.name == (name if first == "A" else f"{name}_BAB")
    assert (scheme.first, scheme.order, scheme.references) == (first, composition.order, composition.references)
    assert scheme.torques_per_step == len(composition.fractions)
    one, other = lie.product(scheme.stages, 5), lie.product(separate, 5)
    assert max(abs(one[word] - other[word]) for word in one) < 2 ** (lie.BITS - 240)
    assert violation(scheme) < COMPOSED


def test_closed_forms():
    with mp.workdps(40):
        root = mp.sqrt(3)
        for x, exact in (
            (schemes.get("Chin4B").drifts[0], (1 - 1 / root) / 2),
            (schemes.get("Chin4B").drifts[1], 1 / root),
            (schemes.get("Chin4B").gradients[0], (2 - root) / 48),
            (schemes.get("Yoshida4").kicks[0], 1 / (2 - mp.cbrt(2))),
            (schemes.get("ABA82").drifts[0], (1 - mp.sqrt(mpf(3) / 7 + mpf(2) / 7 * mp.sqrt(mpf(6) / 5))) / 2),
            (schemes.get("ABA82").kicks[0], (18 - mp.sqrt(30)) / 72),
        ):
            assert abs(mpf(x.numerator) / x.denominator - exact) < 1e-29


RUTH = (("B", "7/24"), ("A", "2/3"), ("B", "3/4"), ("A", "-2/3"), ("B", "-1/24"), ("A", 1))


def test_a_scheme_of_ones_own():
    """Ruth 1983, of order 3: not symmetric."""
    ruth = Scheme("Ruth3", 3, RUTH, symmetric=False)
    assert repr(ruth) == "<Scheme Ruth3: order 3, kick first, 3 torques per step, not symmetric>"
    assert violation(ruth) < EXACT
    assert reached(ruth.stages, 3) == 3
    assert (ruth.torques_per_step, ruth.has_negative_kicks, ruth.kind) == (3, True, "splitting")
    with pytest.raises(FrozenInstanceError):
        ruth.order = 4
    assert not Scheme.from_half("back and forth", 2, "A 0.6 B A").has_negative_kicks  # only a negative drift
    assert Scheme("twice", 2, (("A", 0.1), ("B", 0.5), ("A", 0.8), ("B", 0.5), ("A", 0.1))).drifts[0] == Fraction(1, 10)
    full = Scheme.from_half(
        "full", 4, "A 0.6756035959798288 B 1.3512071919596577 A -0.1756035959798288 B -1.7024143839193"
    )
    assert full.stages == Scheme.from_half("full", 4, "A 0.6756035959798288 B 1.3512071919596577 A B").stages


HALF = Fraction(1, 2)
STRANG = (("A", HALF), ("B", 1), ("A", HALF))
GRADIENT = (("B", HALF), ("C", 1), ("A", 1), ("B", HALF), ("C", 1))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Scheme("x", 2, ()), r"x: its stages are none; expected at least a drift A and a kick B"),
        (lambda: Scheme("x", 1, (("A", 1),)), r"x: its stages are A; expected at least"),
        (
            lambda: Scheme("x", 2, (("D", 1),)),
            r"x: got the stage \('D', 1\); expected a pair of a letter, 'A' \(drift\)",
        ),
        (lambda: Scheme("x", 2, (1.0,)), r"x: got the stage 1.0; expected a pair"),
        (lambda: Scheme("x", 2, (("A", float("nan")),)), r"x: the coefficient nan of a stage A is not a finite number"),
        (lambda: Scheme("x", 2, (("B", float("inf")),)), r"x: the coefficient inf of a stage B is not a finite number"),
        (
            lambda: Scheme("x", 2, (("B", "1/0"),)),
            r"x: the coefficient '1/0' of a stage B is not a finite number; type",
        ),
        (lambda: Scheme("x", 2, (("B", None),)), r"x: the coefficient None of a stage B"),
        (lambda: Scheme("x", 2, (("A", "half"),)), r"x: the coefficient 'half' of a stage A"),
        (lambda: Scheme("x", 2, (("A", 1), ("B", 1), ("B", 0))), r"x: in ABB, drifts A and kicks B do not alternate"),
        (
            lambda: Scheme("x", 2, (("C", 1), ("B", 1), ("A", 1))),
            r"x: in CBA, a gradient kick C does not directly foll",
        ),
        (lambda: Scheme("x", 2, (*STRANG, ("C", 1))), r"x: in ABAC, a gradient kick C"),
        (lambda: Scheme("x", 2, GRADIENT), r"x: gradient kicks C are for torques .* alone; add rkn_only=True"),
        (lambda: Scheme("x", 2, (("A", HALF), ("B", 1), ("A", 0.4))), r"x: its drifts A add up to 1 - 1.0e-01 instead"),
        (
            lambda: Scheme("x", 2, (("A", HALF), ("B", 1 + 1e-15), ("A", HALF))),
            r"x: its kicks B add up to 1 \+ 1.0e-15",
        ),
        (
            lambda: Scheme("x", 3, RUTH),
            r"x: its sequence of stages is not a palindrome; add symmetric=False, or look for",
        ),
        (
            lambda: Scheme("x", 2, STRANG, symmetric=False),
            r"x: its sequence of stages is a palindrome; use symmetric=T",
        ),
        (lambda: Scheme("x", 0, STRANG), r"x: order = 0; expected an integer of at least 1"),
        (lambda: Scheme("x", 2.0, STRANG), r"x: order = 2.0; expected an integer of at least 1"),
        (lambda: Scheme("x", 4, STRANG), r"x: its kicks, .*, integrate t\^2 with an error of -8.3e-02, .* for order 4"),
        (lambda: Scheme("x", 2, STRANG, (8, 2)), r"x: its kicks, .* is too much for order 8"),
        (
            lambda: Scheme("x", 2, STRANG, (8, 4)),
            r"x: generalized_order = \(8, 4\); expected orders .* end with the order 2, ",
        ),
        (lambda: Scheme("x", 2, STRANG, (2, 4, 2)), r"x: generalized_order = \(2, 4, 2\); expected"),
        (lambda: Scheme.from_half("x", 2, ""), r"x: its stages are none"),
        (lambda: Scheme.from_half("x", 2, "A 1"), r"x: its stages are A; expected at least"),
        (lambda: Scheme.from_half("x", 2, "0.5 B"), r"x: expected a letter A, B or C before '0.5', as in 'A 0.5 B 1'"),
        (lambda: Scheme.from_half("x", 2, "A 1 2 B"), r"x: expected a letter A, B or C before '2'"),
        (lambda: Scheme.from_half("x", 2, "A 0.5 D"), r"x: expected a letter A, B or C before 'D'"),
        (lambda: Scheme.from_half("x", 2, "A x B"), r"x: the coefficient 'x' of a stage A is not a finite number"),
        (lambda: Scheme.from_half("x", 2, "A A B"), r"x: in AAB, drifts A and kicks B do not alternate"),
        (
            lambda: Scheme.from_half("x", 2, "A B A B"),
            r"x: a stage A has no number; only those of the last A and the last B may",
        ),
        (lambda: Scheme.from_half("x", 2, "A B C"), r"x: a stage C has no number"),
        (lambda: Scheme.from_half("x", 2, "A 0.4 B"), r"x: the last A is 0.4; expected 0.5, for a sum of 1"),
        (lambda: Scheme.from_half("x", 2, "A B 2"), r"x: the last B is 2.0; expected 1.0, for a sum of 1"),
        (lambda: Scheme.composed(COMPOSITIONS["Yoshida4"], "C"), r"first = 'C'; expected 'A' .* or 'B'"),
    ],
)
def test_what_is_refused(build, message):
    with pytest.raises(InputError, match=f"^(scheme )?{message}"):
        build()


def test_names():
    for scheme in ALL:
        assert schemes.get(scheme.name) is scheme
        assert scheme.name.isidentifier()
        assert repr(scheme) == f"<Scheme {scheme.description}>"
        assert scheme.description.startswith(f"{scheme.name}: order {scheme.order}")
        assert "\n" not in scheme.description


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("RKN6_14", "did you mean 'RKN6_14a'?"),
        ("aba864", "did you mean 'ABA864'?"),
        ("Verlet", "known are: V2"),
        ("", "known are: V2, "),
    ],
)
def test_unknown_names(name, hint):
    with pytest.raises(UnknownNameError) as refused:
        schemes.get(name)
    assert str(refused.value).startswith(f"no scheme is called {name!r}; {hint}")


def test_oracle_against_matrices():
    """Words of six letters vanish for strictly triangular 6 x 6 matrices, so that both sides are finite sums."""
    size = 6
    matrices = {
        "A": [[(3 * i + 5 * j) % 7 - 3 if i < j else 0 for j in range(size)] for i in range(size)],
        "B": [[(2 * i + 3 * j) % 5 - 2 if i < j else 0 for j in range(size)] for i in range(size)],
    }

    def times(x, y):
        return [[sum(x[i][k] * y[k][j] for k in range(size)) for j in range(size)] for i in range(size)]

    def added(x, y, factor):
        return [[a + factor * b for a, b in zip(r, s, strict=True)] for r, s in zip(x, y, strict=True)]

    def bracket(x, y):
        return added(times(x, y), times(y, x), -1)

    one = [[Fraction(i == j) for j in range(size)] for i in range(size)]
    matrices["C"] = bracket(matrices["B"], bracket(matrices["A"], matrices["B"]))
    for scheme in (schemes.get("S4_6"), schemes.get("OMF6")):
        total = one
        for letter, x in scheme.stages:
            term, exponential = one, one
            for power in range(1, size):
                term = [[x * entry / power for entry in row] for row in times(term, matrices[letter])]
                exponential = added(exponential, term, 1)
            total = times(total, exponential)
        for word, value in lie.product(scheme.stages, size - 1).items():
            product = one
            for letter in word:
                product = times(product, matrices[letter])
            total = added(total, product, -Fraction(value, 2**lie.BITS))
        assert max(abs(entry) for row in total for entry in row) < 1e-60


def test_oracle_of_the_quotient():
    """Its dimensions have the generating function 1/(1 - 2 t + t^4), and what contains the relation is zero in it."""
    normal = [word for word in lie.words(9) if "BBBA" not in word]
    dimensions = [sum(len(word) == n for word in normal) for n in range(1, 10)]
    assert dimensions == [2, 4, 8, 15, 28, 52, 96, 177, 326]
    relation = {"BBBA": 1, "BBAB": -3, "BABB": 3, "ABBB": -1}
    for before, after in (("", ""), ("AB", ""), ("BB", "A"), ("BBB", "ABBBA"), ("A", "BBBBA")):
        reduced = lie.normal_form({before + word + after: value for word, value in relation.items()})
        assert not any(reduced.values())
    assert lie.normal_form({"AABB": 5}) == {"AABB": 5}
