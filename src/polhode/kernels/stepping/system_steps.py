"""Steps of a system of bodies: attitude matrices for its interaction, torques in body axes, drifts, kicks, stages."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.exact.standard_form import INPUT, TIMES, quaternion_of, vector_of
from polhode.kernels.numbers.exponential import FARTHEST, rate, rotation, turned, unit
from polhode.kernels.numbers.quat import matrix
from polhode.kernels.numbers.vectors import by_components, cross, dot, image, in_body, matrix_in
from polhode.kernels.stepping.dormand_prince import COLUMN, FIFTH, FIRST, THIRD, WEIGHT
from polhode.kernels.stepping.header import BOOL, Moving, row_of
from polhode.kernels.stepping.step_length import eighth_root, factor_of, next_end


@inline
def quaternion_matrix(q, i):
    """Return the matrix of the unit quaternion in row i of q (n, 4)."""
    return matrix(quaternion_of(q, i))


@inline
def set_matrices(q, axes, out, force, torque):
    """Compute the attitude matrices of all bodies, from the user's body axes to space, and set forces and torques to 0.

    The matrices are Q A^T with the principal axes A (n or 1, 9), or (0, 9) if the user's axes are principal axes.
    """
    for i in range(q.shape[0]):
        for c in range(3):
            force[i, c], torque[i, c] = 0.0, 0.0
        Q = quaternion_matrix(q, i)
        if axes.shape[0] > 0:
            A = matrix_in(axes[row_of(axes, i)], 0)
            Q = image(A, Q[0]), image(A, Q[1]), image(A, Q[2])
        for j in range(3):
            out[i, j, 0], out[i, j, 1], out[i, j, 2] = Q[j][0], Q[j][1], Q[j][2]


@inline
def turn_torques(q, force, torque, linear, out):
    """Write the torques (n, 3), given in space axes, in principal axes to ``out``.

    The component along the axis of a linear rotor is set to 0. Return the index of the first body whose force or torque
    is not finite, or NOBODY.
    """
    for i in range(q.shape[0]):
        t = float(torque[i, 0]), float(torque[i, 1]), float(torque[i, 2])
        f1, f2, f3 = in_body(quaternion_matrix(q, i), t)
        out[i, 0], out[i, 1], out[i, 2] = 0.0 if linear[i] else f1, f2, f3
        f = float(force[i, 0]) + float(force[i, 1]) + float(force[i, 2])
        if (f - f) + (f1 - f1) + (f2 - f2) + (f3 - f3) != 0.0:
            return i
    return NOBODY


@inline
def add_motion(x, p, per_mass, time):
    """Add time p / mass to x, for positions x and momenta p of shape (n, 3)."""
    for i in range(x.shape[0]):
        s = time * float(per_mass[row_of(per_mass, i)])
        for c in range(3):
            x[i, c] += s * float(p[i, c])


@inline
def add_kick(p, m, force, torque, time):
    """Add time force to p and time torque to m, all of shape (n, 3)."""
    for i in range(p.shape[0]):
        for c in range(3):
            p[i, c] += time * float(force[i, c])
            m[i, c] += time * float(torque[i, c])


@entry_point(f"void({INPUT}, {INPUT}, f8[:,:,::1], f8[:,::1], f8[:,::1])")
def prepare_forces(q, axes, out, force, torque):
    """Call ``set_matrices``."""
    set_matrices(q, axes, out, force, torque)


@entry_point(f"i8({INPUT}, {INPUT}, {INPUT}, b1[::1], f8[:,::1])")
def torques_in_body(q, force, torque, linear, out):
    """Call ``turn_torques``."""
    return turn_torques(q, force, torque, linear, out)


@entry_point(f"void(f8[:,::1], {INPUT}, {TIMES}, f8)")
def move(x, p, per_mass, time):
    """Call ``add_motion``."""
    add_motion(x, p, per_mass, time)


@entry_point(f"void(f8[:,::1], f8[:,::1], {INPUT}, {INPUT}, f8)")
def kick(p, m, force, torque, time):
    """Call ``add_kick``."""
    add_kick(p, m, force, torque, time)


ROWS = "f8[:,::1]"


@entry_point((BOOL, Moving, INPUT, BOOL, Moving))
def advance_bodies(a, change, final, b):
    """Write the states b after changes (n, 12) of x, p, the rotation vector and m of the states a.

    Return whether all rotations are small enough. If ``final`` is true, the attitudes are normalized.
    """
    for i in range(a.x.shape[0]):
        for c in range(3):
            b.x[i, c] = a.x[i, c] + change[i, c]
            b.p[i, c] = a.p[i, c] + change[i, 3 + c]
            b.m[i, c] = a.m[i, c] + change[i, 9 + c]
        s = float(change[i, 6]), float(change[i, 7]), float(change[i, 8])
        if not dot(s, s) <= FARTHEST:
            return False
        r0, r, _ = rotation(s)
        q = turned(quaternion_of(a.q, i), r0, r, s)
        if final:
            q = unit(q)
        b.q[i, 0], b.q[i, 1], b.q[i, 2], b.q[i, 3] = q
    return True


@entry_point(("void", INPUT, Moving, TIMES, INPUT, "f8", ROWS))
def step_slopes(change, a, per_mass, per_moments, h, out):
    """Write h times the derivatives of x, p, the rotation vector and m, see ``munthe_kaas`` (1), to out (n, 12)."""
    for i in range(a.p.shape[0]):
        m = vector_of(a.m, i)
        w = by_components(m, vector_of(per_moments, i))
        s = float(change[i, 6]), float(change[i, 7]), float(change[i, 8])
        _, _, c = rotation(s)
        u = cross(m, w)
        r = rate(c, s, w)
        for k in range(3):
            out[i, k] = h * (float(a.p[i, k]) * float(per_mass[i]))
            out[i, 3 + k] = h * float(a.force[i, k])
            out[i, 6 + k] = h * r[k]
            out[i, 9 + k] = h * (u[k] + float(a.torque[i, k]))


SLOPES = "Array(f8, 3, 'C', readonly=True)"


@inline
def add_weighted(slopes, n, i, out):
    """Write the sum of the slopes (k, n, 12) of body i, with the weights in row n of the table, to out (12,)."""
    for c in range(12):
        out[c] = 0.0
    for l in range(FIRST[n], FIRST[n + 1]):
        a = WEIGHT[l]
        row = slopes[COLUMN[l], i]
        for c in range(12):
            out[c] += a * float(row[c])


@entry_point(f"void({SLOPES}, i8, {ROWS})")
def combined(slopes, n, out):
    """Write the sums of the slopes (k, n, 12), with the weights in row n of the table of the method, to out (n, 12)."""
    for i in range(out.shape[0]):
        add_weighted(slopes, n, i, out[i])


@inline
def squares(estimate, allowed):
    """Return the sum of squares of an error estimate (12,), relative to the allowed errors of x, p, s and m."""
    total = 0.0
    for c in range(12):
        part = estimate[c] / float(allowed[c // 3])
        total += part * part
    return total


@entry_point(f"f8({SLOPES}, {TIMES})")
def largest_error(slopes, allowed):
    """Return the error of order 5, corrected by that of order 3, of the worst body, relative to the allowed errors.

    It is infinite if an estimate is not finite; see ``munthe_kaas.error_of``.
    """
    estimate = np.empty(12)
    worst = 0.0
    for i in range(slopes.shape[1]):
        add_weighted(slopes, FIFTH, i, estimate)
        fifth = squares(estimate, allowed)
        add_weighted(slopes, THIRD, i, estimate)
        third = squares(estimate, allowed)
        if not fifth + third < inf:
            return inf
        if fifth > 0.0:
            worst = max(worst, fifth / sqrt(4.0 * (fifth + 0.01 * third)))
    return worst


@entry_point("f8(f8)")
def step_factor(error):
    """Call ``factor_of``."""
    return factor_of(error)


@entry_point("f8(f8)")
def first_fraction(rtol):
    """Return the length of the first step in radians of the fastest motion; see ``step_length.first_length``."""
    return eighth_root(0.01 * rtol)


@entry_point("Tuple((f8, b1))(f8, f8, f8, f8)")
def trial_end(h, t, longest, t_end):
    """Call ``next_end``."""
    return next_end(h, t, longest, t_end)
