"""The oracles against the golden flow and against each other: they share no formula and no code."""

import json
import random

import pytest
from mpmath import mp, mpf

from conftest import TESTS
from oracles.addition import addition_flow, addition_period, addition_precession
from oracles.taylor import taylor_flow
from oracles.top import top_flow

GOLDEN = json.loads((TESTS / "golden" / "free_rigid_body.json").read_text())["cases"]
ONE = (1, 0, 0, 0)
pytestmark = pytest.mark.release  # truth against truth: it changes only when the oracles do
TAYLOR_LIMIT = 100  # radians; the series costs a few milliseconds per radian


def turned_angle(case):
    """|w0| |t|, whatever the units (the products leave the range of doubles at the scale cases)."""
    return mp.norm([mpf(m) / moment for m, moment in zip(case["m0"], case["I"], strict=True)]) * abs(case["t"])


SHORT = [case for case in GOLDEN if turned_angle(case) <= TAYLOR_LIMIT]


def largest(values):
    return max(abs(x) for x in values)


def distance(first, second, m0):
    """Largest error of m/|m0| and of q, sign of q included."""
    with mp.workdps(80):
        (m, q), (n, r) = first, second
        G = mp.norm([mp.mpmathify(x) for x in m0]) or 1
        dm = largest(mp.mpmathify(a) - mp.mpmathify(b) for a, b in zip(m, n, strict=True)) / G
        dq = largest(mp.mpmathify(a) - mp.mpmathify(b) for a, b in zip(q, r, strict=True))
        return max(dm, dq)


def golden_error(flow, case, digits):
    got = flow(case["I"], case["m0"], case["q0"], case["t"], digits)
    return distance(got, (case["m"], case["q"]), case["m0"])


def random_case(rng):
    """A body in any axis order, a momentum of any sign, up to about 30 rad either way."""
    inertia = [rng.uniform(0.5, 3) for _ in range(3)]
    m0 = [rng.gauss(0, 1) for _ in range(3)]
    q0 = [rng.gauss(0, 0.5) for _ in range(4)]
    return inertia, m0, q0, rng.uniform(-20, 20)


RANDOM = [random_case(random.Random(seed)) for seed in range(24)]

HARD = {
    "separatrix": ((3, 4, 6), (1, 0.5, 1), 40),
    "separatrix, other signs": ((6, 4, 3), (1, 0.5, -1), -40),
    "separatrix, r = 3": ((1, 2, 2.25), (0.25, -1, 0.75), 12),
    "beside the separatrix": ((3, 4, 6), (1, 0.5, 1 + 2.0**-52), 120),
    "beside it, from inside": ((3, 4, 6), (1, 0.5, 1 - 2.0**-53), 120),
    "beside the middle axis": ((1, 2, 3), (1e-20, 1, -1e-21), 100),
    "almost a top": ((1, 2, 2 + 2.0**-51), (0.3, 0.4, 0.5), 50),
    "almost a sphere": ((1, 1 + 2.0**-52, 1 + 2.0**-51), (0.3, 0.4, 0.5), 50),
    "top": ((2, 1, 2), (0.3, 0.4, 0.5), -30),
    "top on its equator": ((2, 1, 2), (0.3, 0, 0.5), 30),
    "sphere": ((2, 2, 2), (0.3, 0.4, 0.5), 30),
    "needle": ((1e-4, 1, 1.5), (1e-4, 0.6, 0.8), 1),
    "not a body": ((1, 1.5, 1e6), (0.6, 0.1, 0.7), 15),
    "middle axis": ((1, 3, 2), (0, 0, 1), 30),
    "rest": ((1, 2, 3), (0, 0, 0), 5),
    "no time": ((1, 2, 3), (1, 1, 1), 0),
}


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["label"])
def test_addition_golden(case):
    assert golden_error(addition_flow, case, 40) < 1e-27


@pytest.mark.parametrize("case", SHORT, ids=lambda case: case["label"])
def test_taylor_golden(case):
    assert golden_error(taylor_flow, case, 30) < 1e-27


def test_taylor_golden_leaves_out_only_long_times():
    kinds = {case["label"].split("/")[0] for case in GOLDEN}
    assert kinds - {case["label"].split("/")[0] for case in SHORT} == {"long"}
    assert len(SHORT) >= 140


@pytest.mark.parametrize("case", RANDOM, ids=range(len(RANDOM)))
def test_oracles_agree_on_random_bodies(case):
    assert distance(taylor_flow(*case, digits=36), addition_flow(*case, digits=36), case[1]) < 1e-34


@pytest.mark.parametrize("name", HARD)
def test_oracles_agree_on_hard_bodies(name):
    inertia, m0, t = HARD[name]
    case = inertia, m0, (0.5, -0.5, 0.1, 0.7), t
    assert distance(taylor_flow(*case, digits=33), addition_flow(*case, digits=33), m0) < 1e-31


@pytest.mark.parametrize("flow", [taylor_flow, addition_flow])
@pytest.mark.parametrize("digits", [15, 22, 31, 50])
def test_digits_are_delivered(flow, digits):
    # Beside the separatrix the last digits are the first to go.
    for case in (*RANDOM[:4], ((3, 4, 6), (1, 0.5, 1 + 2.0**-40), ONE, 60)):
        coarse, fine = flow(*case, digits), flow(*case, digits + 20)
        assert distance(coarse, fine, case[1]) < mpf(10) ** -digits


@pytest.mark.parametrize("flow", [taylor_flow, addition_flow])
def test_units_do_not_matter(flow):
    """m -> 2^a m, I -> 2^b I, t -> 2^(b-a) t changes no bit."""
    inertia, m0, q0, t = RANDOM[1]
    a, b = 330, -330
    m, q = flow(inertia, m0, q0, t, 30)
    scaled = flow([mp.ldexp(x, b) for x in inertia], [mp.ldexp(x, a) for x in m0], q0, mp.ldexp(t, b - a), 30)
    assert scaled == ([mp.ldexp(x, a) for x in m], q)


@pytest.mark.parametrize("flow", [taylor_flow, addition_flow])
def test_forth_and_back(flow):
    inertia, m0, q0, t = RANDOM[2]
    m, q = flow(inertia, m0, q0, t, 30)
    assert distance(flow(inertia, m, q, -t, 30), (m0, q0), m0) < 1e-27


@pytest.mark.parametrize("case", RANDOM[:8], ids=range(8))
def test_period_and_precession(case):
    """After one period m is back and the body has turned by psi_T about m, with the sign of the path."""
    inertia, m0, _, _ = case
    T, psi = addition_period(inertia, m0, 36), addition_precession(inertia, m0, 36)
    with mp.workdps(50):
        G = mp.norm(m0)
        turn = [mp.cos(psi / 2), *(mp.sin(psi / 2) * x / G for x in m0)]
    assert distance(taylor_flow(inertia, m0, ONE, T, 33), (m0, turn), m0) < 1e-31
    half = taylor_flow(inertia, m0, ONE, T / 2, 20)[0]
    assert largest(a - b for a, b in zip(half, m0, strict=True)) > 1e-3


@pytest.mark.parametrize("name", ["top on its equator", "sphere", "middle axis", "rest"])
def test_constant_momentum_has_period_zero(name):
    inertia, m0, _ = HARD[name]
    assert addition_period(inertia, m0) == 0
    assert addition_precession(inertia, m0) == 0


def test_separatrix_has_no_period():
    assert addition_period((3, 4, 6), (1, 0.5, 1)) == mp.inf
    assert addition_precession((3, 4, 6), (1, 0.5, 1)) == mp.inf


def test_distance_sees_the_sign_of_q():
    case = GOLDEN[0]
    m, q = addition_flow(case["I"], case["m0"], case["q0"], case["t"], 40)
    assert distance((m, [-x for x in q]), (case["m"], case["q"]), case["m0"]) > 0.1


TORQUED = json.loads((TESTS / "golden" / "torqued.json").read_text())["cases"]
TOPS = {case["name"]: case for case in TORQUED if case["name"] in ("heavy_top_vilmart", "vessel_undamped")}


def hexadecimal(numbers):
    return [float.fromhex(x["hex"]) for x in numbers]


@pytest.mark.parametrize("name", TOPS)
def test_tops_against_the_golden_file(name):
    """Both are pulled along the third axis of space, with a unit of strength; one by chi, the other by B."""
    case = TOPS[name]
    assert hexadecimal(case["s"]) == [0.0, 0.0, 1.0]
    inertia, m0, q0, chi, B = (hexadecimal(case[key]) for key in ("I", "m0", "q0", "chi", "B"))
    times = [float.fromhex(state["t"]["hex"]) for state in case["states"]]
    for got, state in zip(top_flow(inertia, m0, q0, times, chi, B), case["states"], strict=True):
        assert distance(got, (state["m"], state["q"]), m0) < 1e-25


def test_a_top_without_a_torque_is_a_free_body():
    inertia, m0, q0, t = random_case(random.Random(1))
    with mp.workdps(60):
        unit = [x / mp.norm(q0) for x in q0]
    (got,) = top_flow(inertia, m0, q0, [t], (0, 0, 0))
    assert distance(got, addition_flow(inertia, m0, unit, t), m0) < 1e-25
