"""Steps of a system of bodies: attitude matrices for its interaction, torques in body axes, drifts and kicks."""

from __future__ import annotations

from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.compiler.limits import NOBODY
from polhode.kernels.exact.standard_form import INPUT, TIMES
from polhode.kernels.numbers.quat import matrix
from polhode.kernels.numbers.vectors import image, in_body
from polhode.kernels.stepping.header import row_of


@inline
def quaternion_matrix(q, i):
    """Return the matrix of the unit quaternion in row i of q (n, 4)."""
    return matrix(float(q[i, 0]), float(q[i, 1]), float(q[i, 2]), float(q[i, 3]))


@entry_point(f"void({INPUT}, {INPUT}, f8[:,:,::1], f8[:,::1], f8[:,::1])")
def prepare_forces(q, axes, out, force, torque):
    """Compute the attitude matrices of all bodies, from the user's body axes to space, and set forces and torques to 0.

    The matrices are Q A^T with the principal axes A (n or 1, 9), or (0, 9) if the user's axes are principal axes.
    """
    for i in range(q.shape[0]):
        for c in range(3):
            force[i, c], torque[i, c] = 0.0, 0.0
        Q = quaternion_matrix(q, i)
        if axes.shape[0] > 0:
            a = axes[row_of(axes, i)]
            A = (float(a[0]), float(a[1]), float(a[2])), (float(a[3]), float(a[4]), float(a[5])), (
                float(a[6]), float(a[7]), float(a[8]),
            )  # fmt: skip
            Q = image(A, Q[0]), image(A, Q[1]), image(A, Q[2])
        for j in range(3):
            out[i, j, 0], out[i, j, 1], out[i, j, 2] = Q[j][0], Q[j][1], Q[j][2]


@entry_point(f"i8({INPUT}, {INPUT}, {INPUT}, b1[::1], f8[:,::1])")
def torques_in_body(q, force, torque, linear, out):
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


@entry_point(f"void(f8[:,::1], {INPUT}, {TIMES}, f8)")
def move(x, p, per_mass, time):
    """Add time p / mass to x, for positions x and momenta p of shape (n, 3)."""
    for i in range(x.shape[0]):
        s = time * float(per_mass[row_of(per_mass, i)])
        for c in range(3):
            x[i, c] += s * float(p[i, c])


@entry_point(f"void(f8[:,::1], f8[:,::1], {INPUT}, {INPUT}, f8)")
def kick(p, m, force, torque, time):
    """Add time force to p and time torque to m, all of shape (n, 3)."""
    for i in range(p.shape[0]):
        for c in range(3):
            p[i, c] += time * float(force[i, c])
            m[i, c] += time * float(torque[i, c])
