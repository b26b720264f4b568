"""Fingerprints of functions: what changes a result changes them and is named; nothing else does."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from functools import partial
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from polhode.core.fingerprint import PYTHON, differences, fingerprint, identity
from polhode.kernels.compiler import JIT

SETTINGS = ModuleType("settings_of_the_user")
SETTINGS.RATE = 2.0

WIND = """
def helper(x, power=2):
    return STRENGTH * x ** power

def outer(k):
    def wind(t, gain=1.0, *, phase=0.5):
        return gain * k * RATE * t + helper(phase) + TABLE[0] + settings.RATE
    return wind

wind = outer(K)
"""
NAMES = {"STRENGTH": 1.0, "RATE": 3.0, "K": 4.0, "TABLE": np.arange(3.0), "settings": SETTINGS}


def made(source=WIND, **names):
    space = NAMES | names
    exec(compile(source, "<made here>", "exec"), space)
    return space["wind"]


def changed(source=WIND, **names):
    return differences(fingerprint(made()), fingerprint(made(source, **names)))


def edited(old, new):
    assert WIND.count(old) == 1
    return changed(WIND.replace(old, new))


OTHER_SETTINGS = ModuleType("settings_of_the_user")
OTHER_SETTINGS.RATE = 2.5


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (lambda: edited("gain * k * RATE * t +", "gain * k * RATE * t -"), ["the code of wind"]),
        (lambda: edited("gain * k * RATE * t", "gain * k * RATE * t * 2.0"), ["the code of wind"]),
        (lambda: edited("x ** power", "x * power"), ["the code of helper"]),
        (lambda: edited("gain=1.0", "gain=1"), ["gain, a default of wind"]),
        (lambda: edited("phase=0.5", "phase=-0.5"), ["phase, a default of wind"]),
        (lambda: edited("power=2", "power=3"), ["power, a default of helper"]),
        (lambda: changed(K=4.5), ["k, a closure variable of wind"]),
        (lambda: changed(RATE=3), ["RATE, a global of wind"]),
        (lambda: changed(STRENGTH=2.0), ["STRENGTH, a global of helper"]),
        (lambda: changed(TABLE=np.array([0.0, 1.0, 3.0])), ["TABLE, a global of wind"]),
        (lambda: changed(TABLE=np.arange(3.0, dtype=np.float32)), ["TABLE, a global of wind"]),
        (lambda: changed(settings=OTHER_SETTINGS), ["settings.RATE, a global of wind"]),
    ],
)
def test_what_changes_a_result_is_named(found, words):
    assert found() == words


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def outer", "\n\n# a comment\ndef outer"),
        ("    return STRENGTH", "    # why\n\n    return STRENGTH"),
        ("    return STRENGTH", "    'A docstring.'\n    return STRENGTH"),
        ("def helper(x, power=2):\n    return STRENGTH * x", "def helper(y, power=2):\n    return STRENGTH * y"),
    ],
)
def test_what_changes_nothing_changes_nothing(old, new):
    assert edited(old, new) == []
    assert changed(SOMETHING_ELSE=1.0) == []


def test_numbers_that_are_equal_but_not_the_same():
    assert len({identity(x)[1] for x in (0.0, -0.0, 0, False, 0j, np.float64(0.0), np.array(0.0), None, "0.0")}) == 9
    assert identity(float("nan"))[1] == identity(float("nan"))[1]


def test_a_text_that_is_no_docstring_counts():
    a, b = made("def wind():\n    return 'a'"), made("def wind():\n    return 'b'")
    assert differences(fingerprint(a), fingerprint(b)) == ["the code of wind"]
    a, b = (made(f"def wind():\n    return sum(x == {c!r} for x in 'abc')") for c in "ab")
    assert differences(fingerprint(a), fingerprint(b)) == ["the code of wind"]


class Motor:
    limit = 3.0

    def __init__(self, gain):
        self.gain = gain

    def __call__(self, t):
        return self.clipped(self.gain * t)

    def clipped(self, x):
        return min(x, self.limit)


class StrongMotor(Motor):
    def clipped(self, x):
        return x


def slope(a, b, t):
    return a * t + b


def test_callable_objects_by_their_data():
    alike = fingerprint(Motor(1.0))
    assert alike == fingerprint(Motor(1.0))
    assert "the code of clipped" in alike
    assert differences(alike, fingerprint(Motor(2.0))) == ["gain, an attribute of Motor"]
    assert "the code of clipped" in differences(alike, fingerprint(StrongMotor(1.0)))
    method, other = Motor(1.0).clipped, Motor(2.0).clipped
    assert identity(method)[1] == identity(Motor(1.0).clipped)[1] != identity(other)[1]
    first, second = partial(slope, 1.0, b=2.0), partial(slope, 1.0, b=3.0)
    assert identity(first)[1] == identity(partial(slope, 1.0, b=2.0))[1] != identity(second)[1]
    assert identity(SimpleNamespace(a=1))[1] != identity(SimpleNamespace(a=2))[1]


def test_numbers_of_the_class_count(monkeypatch):
    before = fingerprint(Motor(1.0))
    monkeypatch.setattr(Motor, "limit", 4.0)
    assert differences(before, fingerprint(Motor(1.0))) == ["limit, an attribute of Motor"]


def test_what_contains_itself_comes_to_an_end():
    def endless(n):
        return 0 if n == 0 else endless(n - 1) + other(n) + len(ring)

    def other(n):
        return endless(n)

    ring = [1.0]
    ring.append(ring)
    holder = Motor(1.0)
    holder.friends = {holder}
    assert fingerprint(endless)
    assert fingerprint(holder)
    ring[0] = 2.0
    assert "ring, a closure variable of endless" in fingerprint(endless)


def test_which_of_two_functions_of_one_name_matters():
    one, two = (lambda x: x), (lambda x: 2 * x)

    def uses(*functions):
        return lambda x: [function(x) for function in functions]

    assert identity(uses(one, two, one))[1] == identity(uses(one, two, one))[1]
    assert identity(uses(one, two, one))[1] != identity(uses(one, two, two))[1]
    assert identity(uses(one, two))[1] != identity(uses(two, one))[1]


def test_objects_without_content_count_by_their_address():
    first, second = object(), iter(int, 1)
    lock = __import__("threading").Lock
    a, b = lock(), lock()
    assert identity(a)[1] == identity(a)[1] != identity(b)[1]
    assert fingerprint(a) == fingerprint(b)
    assert identity(first)[1] != identity(second)[1]


def test_installed_packages_count_by_name():
    def uses(t):
        return np.sin(t) + np.linalg.norm(t) + json.loads("1")

    assert sorted(fingerprint(uses)) == ["json, a global of uses", "np, a global of uses", "the code of uses"]


def test_an_installed_package_that_the_function_comes_from_is_looked_at(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    (folder / "winds").mkdir(parents=True)
    (folder / "winds" / "__init__.py").write_text("from winds.rates import RATE\ndef breeze(t):\n    return RATE * t\n")
    (folder / "winds" / "rates.py").write_text("RATE = 1.0\n")
    monkeypatch.syspath_prepend(str(folder))
    import winds

    before = fingerprint(winds.breeze)
    monkeypatch.setattr(winds, "RATE", 2.0)
    assert differences(before, fingerprint(winds.breeze)) == ["RATE, a global of breeze"]
    assert "the code of breeze" not in fingerprint(lambda t: winds.breeze(t))


@pytest.mark.skipif(not JIT, reason="Numba is not used")
def test_functions_that_numba_compiled_are_their_source():
    from numba import njit

    def helper(x):
        return x + 1.0

    compiled = fingerprint(njit(helper))
    assert compiled == fingerprint(helper)
    assert identity(njit(helper))[1] != identity(njit(fastmath=True)(helper))[1]


def test_bytecode_of_two_versions_cannot_be_compared():
    new = fingerprint(slope)
    old = {label: value.replace(PYTHON, "3.9") for label, value in new.items()}
    assert differences(old, new) == [f"the code of slope (bytecode of Python 3.9 and {PYTHON} cannot be compared)"]


PROGRAM = """
import json, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from torques import wind, gust
from polhode.core.fingerprint import fingerprint
print(json.dumps([fingerprint(wind), fingerprint(gust)]))
"""
TORQUES = """
import math
import numpy as np
COLORS = frozenset({"red", "green", "blue", "white"})
TABLE = {"a": np.arange(4.0), "b": (1, 2.0, None)}
def gust(t, kinds={"x", "y", "z"}):
    return t in {"one", "two", "three"} or t in COLORS or len(kinds)
class Fan:
    def __init__(self): self.speed, self.names = 2.0, {"left", "right"}
    def __call__(self, t): return math.sin(t) * self.speed + np.sum(TABLE["a"])
FAN = Fan()
def wind(t): return FAN(t) + gust(t)
"""


def test_no_digest_depends_on_process_or_place(tmp_path):
    found = set()
    for place, seed, lines in (("a", "1", 0), ("elsewhere/deep", "2", 7)):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        (folder / "torques.py").write_text("\n" * lines + TORQUES)
        command = [sys.executable, "-c", PROGRAM, str(folder)]
        done = subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1
    assert "speed, an attribute of Fan" in found.pop()


def test_functions_written_in_c_do_not_change():
    """Nothing has to be traversed again for them."""

    def law(t):
        return math.sin(t) + np.cos(t)

    assert identity(law).seen.is_unchanged()
