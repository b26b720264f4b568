"""Flows in as many digits as one likes: the source of their kernels, run on mpmath's numbers.

Uncompiled (POLHODE_JIT=0), a kernel is plain Python, and adds and multiplies what it is given. Only what it calls by
name rounds to doubles: those names are exchanged for mpmath's functions while a step is taken, and the exact motion of
m for the oracle's. Constants reach a flow through ``exact_parameters`` and ``fractions``, which have all their digits.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import pytest
from mpmath import mp, mpf

from oracles.addition import addition_flow
from polhode.kernels.compiler import JIT
from polhode.kernels.exact import momentum
from polhode.kernels.numbers import trig

uncompiled_only = pytest.mark.skipif(JIT, reason="compiled kernels know doubles only: POLHODE_JIT=0")

ORDER = 0  # the axes are sorted as they come
GUARD = 15  # digits that are lost on the way


def sincos(x, low):
    return mp.sin(x + low), mp.cos(x + low)


def momentum_after(body, m, h):
    inertia, q = (body.I1, body.I2, body.I3), (1, 0, 0, 0)
    return tuple(addition_flow(inertia, m, q, h, mp.dps)[0])


REPLACED = {
    math.sqrt: mp.sqrt,
    math.sin: mp.sin,
    math.cos: mp.cos,
    math.tan: mp.tan,
    math.atan: mp.atan,
    math.atan2: mp.atan2,
    momentum.momentum_after: momentum_after,
    trig.sincos: sincos,
    trig.sincos_near: sincos,
    trig.sincos_of_sum: lambda x, y: sincos(x, y),
    trig.sincos_small: lambda x: sincos(x, 0),
}


def in_digits(flow, inertia, m, q, h, steps, digits):
    """(m, q) after ``steps`` steps, as mpf numbers; ``inertia`` ascends from 1 <= I1 < 2, and 1 <= max |m_i| < 2."""
    with pytest.MonkeyPatch.context() as patch, mp.workdps(digits + GUARD):
        exchange_functions(patch)
        inertia, m, q, h = [number(x) for x in inertia], [number(x) for x in m], [number(x) for x in q], number(h)
        parameters, parts = ([number(x) for x in values] for values in (flow.exact_parameters, flow.fractions))
        constants = [0.0] * flow.kernels.size
        flow.kernels.prepare(ORDER, tuple(inertia), parameters, constants)
        for _ in range(steps):
            for part in parts:
                m, q, count = flow.kernels.advance(constants, tuple(m), tuple(q), part * h)
                assert count >= 0, "no solution"
        return m, q


def exchange_functions(patch):
    """Wherever kernels and flows know one of the functions by a name of their own."""
    modules = [
        module for name, module in sys.modules.items() if name.startswith(("polhode.kernels.", "polhode.flows."))
    ]
    for module in modules:
        for name, value in list(vars(module).items()):
            if callable(value) and value in REPLACED:
                patch.setattr(module, name, REPLACED[value])


def number(x):
    return mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mp.convert(x)
