"""What several test files need: the golden flow, errors against high precision, seeded bodies of every kind."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path

import numba.core.compiler
import numpy as np
import pytest
from hypothesis import settings
from mpmath import mp, mpf

TESTS = Path(__file__).parent
ROOT = TESTS.parent
EPS = 2.0**-53

settings.register_profile("polhode", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("many", deadline=None, max_examples=5000)  # make test-release: other draws in every run
settings.load_profile("polhode")

sys.path[:0] = [str(TESTS), *(str(path) for path in sorted(TESTS.iterdir()) if path.is_dir())]


def fewer_examples(test):
    """Draw a quarter as many examples as others do: for tests with an oracle that takes long."""
    return settings(max_examples=settings.default.max_examples // 4)(test)


def unwatched(compile_extra):
    """Compile without a tracer: coverage counts our lines, and not those of Numba, which it slows down threefold."""

    @functools.wraps(compile_extra)
    def compiled(*args, **kwargs):
        tracer = sys.gettrace()
        sys.settrace(None)
        try:
            return compile_extra(*args, **kwargs)
        finally:
            sys.settrace(tracer)

    return compiled


numba.core.compiler.compile_extra = unwatched(numba.core.compiler.compile_extra)


def golden_cases():
    return json.loads((TESTS / "golden" / "free_rigid_body.json").read_text())["cases"]


def distance(computed, exact):
    """|computed - exact| in high precision; exact may be digits or mpf."""
    with mp.workdps(60):
        return float(mp.norm([mpf(float(a)) - mp.mpmathify(b) for a, b in zip(computed, exact, strict=True)]))


def pytest_report_header():
    from frozen_cases import frozen, is_comparable, versions

    machine = frozen()["machine"]
    if is_comparable():
        return f"frozen results: compared to the bit, by machine code for {machine['cpu']}"
    return f"frozen results: compared to 5 eps (1 + cond) per step; frozen with {machine}, here {versions()}"


@pytest.fixture
def rng():
    return np.random.default_rng(20260101)


def random_attitude(rng, *batch):
    q = rng.normal(size=(*batch, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


@pytest.fixture
def empty_pictures(request, monkeypatch):
    """Pictures are empty files, unless a test is marked ``drawn``: to draw one takes ten times as long as its run."""
    if not request.node.get_closest_marker("drawn"):
        figure = pytest.importorskip("matplotlib.figure").Figure
        monkeypatch.setattr(figure, "savefig", lambda self, path, **options: Path(path).write_bytes(b""))


@pytest.fixture(autouse=True)
def closed_figures():
    """Figures that a test plotted do not stay open."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
