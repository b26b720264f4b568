"""DIR_EM, the energy-momentum scheme on the nine direction cosines.

Betsch and Siebert 2009, section 3, with the midpoint rule of Betsch and Steinmann 2001.

    Q1 - Q0 = (h/2) (V0 + V1),   (V1 - V0) E = -h dV/dQ(Qh) - h Qh L,   L symmetric,   Q1^T Q1 = 1             (1)

Qh = (Q0 + Q1)/2 is not a rotation; E = tr(J)/2 - J. With Q1 = Q0 R, R = (1 + hat e) (1 - hat e)^-1 and the velocities
W = Q^T V, the multipliers drop out of the skew part of (1):

    ((4/h) J + tr(A) - A) e = rot(A),   A = 2 W E - h Q0^T dV/dQ(Qh)                                           (2)
    W1 = N (2/h + W) - W,   N = 1 - R^T = 2 (hat e - hat e^2)/(1 + |e|^2),   m = rot(W E)                      (3)

(2) is linear if dV/dQ does not depend on Q, as for gravity, and is then solved once per step. Otherwise it is iterated.
To keep systematic rounding errors small, e = e0 + d is computed as a correction of e0, which follows from the skew part
of W alone, and W1 as a correction of W. With S, the symmetric part of W, and A as above,

    ((4/h) J + tr(A) - A) d = 2 rot(S E) - rot(h Q0^T dV/dQ) - (tr(A) - A) e0,   hat e0 = (h/4) (W - W^T)       (4)
    W1 = (4/h) (hat d - (|e|^2 hat e + hat e^2)/(1 + |e|^2)) + N W - W^T                                       (5)

W is hat(w) at the start and is not skew later: the conserved energy is tr(W E W^T)/2 + V, not the energy of m and q.
"""

from __future__ import annotations

from math import inf

from polhode.core.references import BETSCH_SIEBERT_2009
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.numbers.cayley import solve3, turn
from polhode.kernels.numbers.quat import matrix
from polhode.kernels.numbers.vectors import columns, dot, hat, image, largest, matrix_product, plus, rot, times
from polhode.kernels.stepping.header import ADDRESS, FINE, NO_STEP, Work
from polhode.kernels.stepping.whole_steps import Step, slope_at, take_steps
from polhode.methods.record import MOMENTA, MOMENTUM_ALONG, ORTHOGONALITY, OWN_ENERGY, MethodRecord
from polhode.methods.whole_step import WholeStep

BETSCH_STEINMANN_2001 = (
    "P. Betsch, P. Steinmann, Constrained integration of rigid body dynamics, Comput. Methods Appl. Mech. Engrg. 191 "
    "(2001) 467-488"
)

MOST = 200  # iterations of (2)
ROUNDING = 2.0**-51  # relative to e: the iteration has converged when the change is smaller
STALLED = 2.0**-40  # relative to e: a change that no longer decreases is rounding if it is smaller than this


@inline
def velocities(body, memory, first, m):
    """Return W, a matrix (3, 3): hat(w) in the first step, the matrix stored in `memory` (9,) later."""
    if first:
        return hat((m[0] / body.J[0], m[1] / body.J[1], m[2] / body.J[2]))
    x = 1.0 / body.rate
    return (
        (x * float(memory[0]), x * float(memory[1]), x * float(memory[2])),
        (x * float(memory[3]), x * float(memory[4]), x * float(memory[5])),
        (x * float(memory[6]), x * float(memory[7]), x * float(memory[8])),
    )


@inline
def times_Euler(W, J):
    """Return W E for a matrix W (3, 3) and principal moments J (3,)."""
    E1, E2, E3 = 0.5 * (J[1] + J[2] - J[0]), 0.5 * (J[2] + J[0] - J[1]), 0.5 * (J[0] + J[1] - J[2])
    (a, b, c), (d, e, f), (g, h, i) = W
    return (a * E1, b * E2, c * E3), (d * E1, e * E2, f * E3), (g * E1, h * E2, i * E3)


@inline
def combined(A, x, B):
    """Return A + x B for matrices A and B (3, 3) and a number x."""
    return plus(A[0], x, B[0]), plus(A[1], x, B[1]), plus(A[2], x, B[2])


@inline
def mean_turn(e):
    """Return (1 + R)/2 = (1 + hat e + e e^T)/(1 + |e|^2), a matrix (3, 3)."""
    x = 1.0 / (1.0 + dot(e, e))
    a, b, c = e
    return (
        times(x, (1.0 + a * a, a * b - c, a * c + b)),
        times(x, (b * a + c, 1.0 + b * b, b * c - a)),
        times(x, (c * a - b, c * b + a, 1.0 + c * c)),
    )


@inline
def correction(body, W, WE, QG, e0):
    """Return (det, det d) of (4), det being the determinant of its matrix."""
    x = 0.25 * body.h
    J = body.J
    A = combined(combined(WE, 1.0, WE), -1.0, QG)
    (a, b, c), (d, e, f), (g, h, i) = A
    r = plus(plus(plus(symmetric_momentum(W, J), -0.5, rot(QG)), -0.5 * (a + e + i), e0), 0.5, image(A, e0))
    return solve3(
        (J[0] + x * (e + i), -x * b, -x * c),
        (-x * d, J[1] + x * (i + a), -x * f),
        (-x * g, -x * h, J[2] + x * (a + e)),
        times(2.0 * x, r),
    )


@inline
def symmetric_momentum(W, J):
    """Return rot(S E), a vector (3,), with S the symmetric part of W."""
    a, b, c = W[1][2] + W[2][1], W[2][0] + W[0][2], W[0][1] + W[1][0]
    return 0.5 * a * (J[2] - J[1]), 0.5 * b * (J[0] - J[2]), 0.5 * c * (J[1] - J[0])


@inline
def turned_velocities(body, W, d, e):
    """Return W1 of (5), a matrix (3, 3)."""
    a, b, c = e
    ee = dot(e, e)
    x = 2.0 / (1.0 + dot(e, e))
    y = 2.0 / body.h
    squares = (b * b + c * c, -a * b, -a * c), (-a * b, a * a + c * c, -b * c), (-a * c, -b * c, a * a + b * b)
    N = combined(hat(e), 1.0, squares)
    grown = combined(hat(plus(times(2.0 * y, d), -x * y * ee, e)), x * y, squares)
    return combined(combined(grown, x, matrix_product(N, W)), -1.0, columns(W))


@inline
def step(gradient, params, body, t, memory, first, m, q):
    """Return the Step from (m, q) by (4) and (5), and store W1 in `memory`; `t` is the middle of the step."""
    W = velocities(body, memory, first, m)
    Q0 = matrix(q)
    WE = times_Euler(W, body.J)
    e0 = times(0.25 * body.h, rot(W))
    zero = (0.0, 0.0, 0.0)
    d = zero
    last_G = (zero, zero, zero)
    last_change = inf
    residual = 0.0
    solved = 0
    status = NO_STEP
    for n in range(MOST):
        G, gradient_status = slope_at(gradient, params, body, t, matrix_product(Q0, mean_turn(plus(e0, 1.0, d))))
        if gradient_status != FINE:
            return Step(m, q, gradient_status, n + 1, solved, 0.0)
        if n > 0 and largest_difference(G, last_G) == 0.0:
            status = FINE
            break
        det, times_det = correction(body, W, WE, matrix_product(columns(Q0), G), e0)
        if not det > 0.0:
            break
        new = times(1.0 / det, times_det)
        change = largest(plus(new, -1.0, d))
        size = largest(plus(e0, 1.0, new))
        d = new
        last_G = G
        residual = change / size if size > 0.0 else 0.0
        solved = n + 1
        if change <= ROUNDING * size or last_change <= change <= STALLED * size:
            status = FINE
            break
        last_change = change
    if status != FINE:
        return Step(m, q, NO_STEP, n + 1, solved, residual)
    e = plus(e0, 1.0, d)
    W = turned_velocities(body, W, d, e)
    for j in range(3):
        memory[3 * j], memory[3 * j + 1], memory[3 * j + 2] = times(body.rate, W[j])
    _, q = turn(e, (0.0, 0.0, 0.0), q)
    return Step(rot(times_Euler(W, body.J)), q, FINE, n + 1, solved, 0.0)


@inline
def largest_difference(A, B):
    """Return the largest absolute entry of A - B for matrices (3, 3)."""
    C = combined(A, -1.0, B)
    return max(largest(C[0]), largest(C[1]), largest(C[2]))


@entry_point(("void", ADDRESS, Work))
def run(gradient, work):
    """Advance bodies by this method; see `take_steps`."""
    take_steps(step, gradient, work)


class DirEM(WholeStep):
    """Director-based energy-momentum scheme of order 2, which conserves the energy and momentum of its own velocities.

    These velocities are nine numbers, more than a rigid body has degrees of freedom: the energy of ``m`` and ``q`` has
    an error proportional to the fourth power of the step. The method requires a force with a gradient, which is also
    evaluated at means of rotation matrices.

    Examples
    --------
    >>> from polhode import integrate, problems
    >>> traj = integrate(problems.gyro_top(), method=DirEM(), h=0.005)
    >>> traj.stats.iterations == traj.stats.steps
    True
    """

    loop = staticmethod(run)
    memory = 9
    record = MethodRecord(
        name="DirEM()",
        summary="energy-momentum scheme on direction cosines",
        order=2,
        symmetric=True,
        symplectic=False,
        free=MOMENTA | {OWN_ENERGY, ORTHOGONALITY},
        quadratic=frozenset({OWN_ENERGY, MOMENTUM_ALONG, ORTHOGONALITY}),
        axial=frozenset({MOMENTUM_ALONG, ORTHOGONALITY}),
        potential=frozenset({ORTHOGONALITY}),
        references=(BETSCH_STEINMANN_2001, BETSCH_SIEBERT_2009),
        test_step=0.4,
    )
