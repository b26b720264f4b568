"""Kicks of blocks of bodies: the formulas of ``splitting`` and ``damping``, in loops over lanes."""

from __future__ import annotations

from math import expm1, inf, sqrt

from polhode.kernels.compiler.intrinsics import power_of_two
from polhode.kernels.compiler.jit import inline, noinline
from polhode.kernels.exact.block import at
from polhode.kernels.numbers.lanes import LANES, lanes_of, put_pair, put_triple, triple
from polhode.kernels.numbers.quat import product
from polhode.kernels.numbers.trig import sincos_near
from polhode.kernels.numbers.vectors import by_components, cross, dot, image, largest, plus, times
from polhode.kernels.stepping.header import FINE, NO_STEP
from polhode.kernels.stepping.splitting import DIFFERENCE, MOST_ITERATIONS, ROUNDING
from polhode.kernels.stepping.torqued_block import (
    attitude_of,
    evaluate,
    matrix_of,
    own,
    put_attitude,
    set_arguments,
)


@inline
def find_kick(block, pending):
    """Evaluate the torques for the pending kick, and its derivatives for a gradient kick.

    A kick by a torque that depends on w is iterated here. The momenta are not changed: see ``apply_kick``. Returns a
    positive number if lanes have failed, else 0.
    """
    w, groups = block.w, block.counts[0]
    set_arguments(w, groups, pending.time)
    if block.implicit:
        return iterate(block, pending.kick)
    failed = evaluate(block)
    count = 1.0
    if pending.gradient != 0.0:
        failed += differentiate(block)
        count = 5.0
    for l in range(lanes_of(groups)):
        w[own.evaluations + l] += count
    return failed


@inline
def apply_kick(block, pending):
    """Change the momenta by the pending kick and gradient kick, after ``find_kick``."""
    w, groups = block.w, block.counts[0]
    if block.implicit:
        for l in range(lanes_of(groups)):
            m1, m2, m3 = plus(triple(w, at.m, l), 1.0, triple(w, own.change, l))
            put_triple(w, at.m, l, m1, m2, m3)
    elif pending.gradient != 0.0:
        gradient_kick(w, groups, pending)
    elif block.damped:
        damped_kick(block, pending.kick)
    else:
        for l in range(lanes_of(groups)):
            time = pending.kick * w[own.h + l]
            m1, m2, m3 = plus(triple(w, at.m, l), time, triple(w, own.torque, l))
            put_triple(w, at.m, l, m1, m2, m3)


@noinline
def differentiate(block):
    """Store the torque f and the derivative of f along f/I, by the difference quotient of ``gradient_torque``.

    Returns a positive number if lanes have failed, else 0.
    """
    w, groups = block.w, block.counts[0]
    failed = 0
    for l in range(lanes_of(groups)):
        f = triple(w, own.torque, l)
        a = by_components(triple(w, own.per_I, l), f)
        unit, per_unit = power_of_two(largest(a))
        a = times(per_unit, a)
        size = sqrt(dot(a, a))
        per_size = 1.0 / (size if size > 0.0 else 1.0)
        put_triple(w, own.force, l, f[0], f[1], f[2])
        put_triple(w, own.axis, l, a[0] * per_size, a[1] * per_size, a[2] * per_size)
        w[own.size + l] = size * unit * (1.0 / (12.0 * DIFFERENCE))
        put_triple(w, own.along, l, 0.0, 0.0, 0.0)
    for k in range(4):
        step = (-2.0, -1.0, 1.0, 2.0)[k]
        weight = (1.0, -8.0, 8.0, -1.0)[k]
        s, c = sincos_near(0.5 * step * DIFFERENCE, 0.0)
        for l in range(lanes_of(groups)):
            a1, a2, a3 = triple(w, own.axis, l)
            put_attitude(w, own.attitude, l, product(attitude_of(w, at.q, l), (c, s * a1, s * a2, s * a3)))
        failed += evaluate(block)
        for l in range(lanes_of(groups)):
            x, y, z = plus(triple(w, own.along, l), weight * w[own.size + l], triple(w, own.torque, l))
            put_triple(w, own.along, l, x, y, z)
    return failed


@inline
def gradient_kick(w, groups, pending):
    """Change the momenta by a kick and a gradient kick."""
    for l in range(lanes_of(groups)):
        h = w[own.h + l]
        f = triple(w, own.force, l)
        a = by_components(triple(w, own.per_I, l), f)
        g = plus(triple(w, own.along, l), 1.0, cross(a, f))
        change = plus(times(pending.kick * h, f), 2.0 * (pending.gradient * h * h * h), g)
        m1, m2, m3 = plus(triple(w, at.m, l), 1.0, change)
        put_triple(w, at.m, l, m1, m2, m3)


@noinline
def damped_kick(block, kick):
    """Change the momenta by a kick with damping, solved exactly; lanes without damping as by a plain kick."""
    w, groups = block.w, block.counts[0]
    for k in range(3):
        for l in range(lanes_of(groups)):
            w[own.growth + k * LANES + l] = expm1(-(kick * w[own.h + l]) * w[own.rates + k * LANES + l])
    for l in range(lanes_of(groups)):
        time = kick * w[own.h + l]
        m, f = triple(w, at.m, l), triple(w, own.torque, l)
        x, y = m, f
        if block.oblique:
            inverse = matrix_of(w, own.inverse, l)
            x, y = image(inverse, m), image(inverse, f)
        (k1, k2, k3), (g1, g2, g3) = triple(w, own.rates, l), triple(w, own.growth, l)
        c = damped(x[0], y[0], k1, g1, time), damped(x[1], y[1], k2, g2, time), damped(x[2], y[2], k3, g3, time)
        if block.oblique:
            c = image(matrix_of(w, own.modes, l), c)
        d1, d2, d3 = plus(m, 1.0, c)
        p1, p2, p3 = plus(m, time, f)
        is_damped = w[own.damped + l] != 0.0
        put_triple(w, at.m, l, d1 if is_damped else p1, d2 if is_damped else p2, d3 if is_damped else p3)


@inline
def damped(m, f, k, growth, time):
    """Return the exact change of m in ``time`` by m' = f - k m, with growth = expm1(-k time); k may be 0."""
    z = -time * k
    ratio = growth / (z if z != 0.0 else 1.0)
    return growth * m + time * (ratio if z != 0.0 else 1.0) * f


@noinline
def iterate(block, kick):
    """Find the change of the momenta by a kick whose torque depends on w; see ``splitting.implicit_kick``.

    A lane whose iteration has ended does not change anymore. Returns a positive number if lanes have failed, else 0.
    """
    w, groups = block.w, block.counts[0]
    failed = 0
    for l in range(lanes_of(groups)):
        put_triple(w, own.change, l, 0.0, 0.0, 0.0)
        put_pair(w, own.done, l, 0.0, inf)
    for _ in range(MOST_ITERATIONS):
        for l in range(lanes_of(groups)):
            middle = plus(triple(w, at.m, l), 0.5, triple(w, own.change, l))
            v1, v2, v3 = by_components(triple(w, own.per_I, l), middle)
            put_triple(w, own.velocity, l, v1, v2, v3)
        failed += evaluate(block)
        next_change(block, kick)
        if all_done(w, groups):
            return failed
    for l in range(lanes_of(groups)):
        status = w[own.status + l]
        w[own.status + l] = min(status, float(FINE) if w[own.done + l] != 0.0 else float(NO_STEP))
    return 1


@inline
def next_change(block, kick):
    """Make one step of the iteration, and mark the lanes at which it ends: it has converged, or the torque failed."""
    w, groups = block.w, block.counts[0]
    for l in range(lanes_of(groups)):
        m, before = triple(w, at.m, l), triple(w, own.change, l)
        middle = plus(m, 0.5, before)
        x1, x2, x3 = by_components(triple(w, own.rates, l), middle)
        if block.oblique:
            y = by_components(triple(w, own.rates, l), image(matrix_of(w, own.inverse, l), middle))
            x1, x2, x3 = image(matrix_of(w, own.modes, l), y)
        new = times(kick * w[own.h + l], plus(triple(w, own.torque, l), -1.0, (x1, x2, x3)))
        moved = largest(plus(new, -1.0, before))
        end = plus(m, 1.0, new)
        was_done, moved_before = w[own.done + l] != 0.0, w[own.moved + l]
        failed = w[own.status + l] != float(FINE)
        converged = (moved >= moved_before) & (moved <= ROUNDING * largest(end))
        c1, c2, c3 = (
            new[0] if not was_done else before[0],
            new[1] if not was_done else before[1],
            new[2] if not was_done else before[2],
        )
        put_triple(w, own.change, l, c1, c2, c3)
        w[own.moved + l] = moved
        w[own.evaluations + l] += 0.0 if was_done else 1.0
        w[own.done + l] = 1.0 if was_done | failed | converged else 0.0


@inline
def all_done(w, groups):
    """Return whether the iteration has ended for all lanes."""
    others = 0
    for l in range(lanes_of(groups)):
        others += 1 if w[own.done + l] == 0.0 else 0
    return others == 0
