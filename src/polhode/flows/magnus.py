"""Magnus: exact momentum at Gauss nodes, and attitude by one exponential of velocities and their commutators.

E. Gustafsson's thesis (2010), section 3.1: schemes (22)-(25), with few commutators, after Blanes, Casas, Ros 2000. The
equation is conj(q)' = c W conj(q), W = (0, -w), c = 1/2, or with matrices (Q^T)' = c W Q^T, W = -hat(w), c = 1. For
vectors the two are identical, W = -w and [a, b] = a x b, and share all of a step except its exponential.

The series of the inverse of the derivative of the exponential converges for |Omega| < pi (section 3.1), where a step
turns the body by less than a full turn. A longer step has no result, unless m is constant: then all commutators vanish.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt, tau

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody, as_body, flow_moments
from polhode.core.checks import as_floats, check_finite, check_spread, whole_number
from polhode.core.errors import InputError, ShapeError, TimeError
from polhode.core.references import BLANES_2000, CELLEDONI_2008, GUSTAFSSON_2010
from polhode.core.rotation import from_matrix
from polhode.flows.exact import CONSTANTS, read_body, write_body
from polhode.flows.flow import ENERGY, NORM, Flow, FlowRecord
from polhode.flows.quadrature import gauss_legendre
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.exact.momentum import momentum_after
from polhode.kernels.exact.standard_form import from_order, standard_form, to_order, to_standard_time
from polhode.kernels.numbers.quat import product
from polhode.kernels.numbers.trig import sincos
from polhode.kernels.numbers.vectors import by_components, cross, dot, plus, times
from polhode.kernels.stepping.loops import loops
from polhode.kernels.stepping.repeat import NO_SOLUTION, new_constants

# (parameters, size of c, inertia, h, steps, m, Q) of one body; m (3,) and Q (3, 3) are changed in place
MATRIX_STEPS = "b1(f8[::1], i8, f8[::1], f8, i8, f8[::1], f8[:,::1])"

ORDERS = (2, 4, 6, 8)
LONGEST_STEP = 1e12  # about radians: the series contains h^12, and its norm is squared
PARTS = Fraction(1, 3), Fraction(1, 5), Fraction(1, 7)  # factors of the coefficients of the schemes
NODES = CONSTANTS + 1 + len(PARTS)  # index of the first node; each is followed by its four coefficients
FIELDS = 5

# the inverse of T_ij = (1 - (-1)^(i+j))/((i+j) 2^(i+j)), i = 0..s-1, j = 1..s, of (20), for s nodes
PER_T: dict[int, tuple[tuple[int | Fraction, ...], ...]] = {
    1: ((1,),),
    2: ((1, 0), (0, 12)),
    3: ((Fraction(9, 4), 0, -15), (0, 12, 0), (-15, 0, 180)),
    4: ((Fraction(9, 4), 0, -15, 0), (0, 75, 0, -420), (-15, 0, 180, 0), (0, -420, 0, 2800)),
}


@inline
def prepare(order, I, parameters, c):
    """Write the constants of the body, the order, PARTS, nodes and their coefficients to c."""
    write_body(I, c)
    for k in range(len(parameters)):
        c[CONSTANTS + k] = parameters[k]


@inline
def magnus4(third, a1, a2):
    """Return Omega of order 4 by (23)."""
    return plus(a1, -0.25 * third, cross(a1, a2))


@inline
def magnus6(third, fifth, a1, a2, a3):
    """Return Omega of order 6 by (24)."""
    s1 = cross(a1, a2)
    r1 = times(-0.25 * third * fifth, cross(a1, plus(s1, 2.0, a3)))
    last = cross(plus(plus(s1, -1.0, a3), -20.0, a1), plus(a2, 1.0, r1))
    return plus(plus(a1, 0.25 * third, a3), 0.0625 * third * fifth, last)


@inline
def magnus8(third, fifth, seventh, a1, a2, a3, a4):
    """Return Omega of order 8 by (25)."""
    u = plus(a1, 0.25 * seventh, a3)
    v = plus(a2, 0.75 * seventh, a4)
    s1 = times(-0.25 * seventh, cross(u, v))
    r1 = times(third, cross(a1, plus(s1, -0.5 * seventh, a3)))
    s2 = cross(plus(u, 1.0, s1), plus(v, 1.0, r1))
    sh = cross(a2, s1)
    r2 = cross(plus(a1, 1.25, s1), plus(plus(s2, 2.0, a3), 0.5, sh))
    line = plus(a1, 0.25 * third, a3)
    left = plus(line, -0.5 * third, plus(s2, 14.0, s1))
    s3 = cross(left, plus(plus(plus(r2, -9.0, a2), -2.25, a4), 63.0, r1))
    return plus(line, 0.125 * third * third * fifth, plus(s3, -21.0, s2))


@inline
def exponent(c, first, a1, a2, a3, a4):
    """Return Omega by (22)-(25); order and PARTS are c[first], c[first + 1], ..."""
    order, third, fifth, seventh = c[first], c[first + 1], c[first + 2], c[first + 3]
    if order == 4.0:
        return magnus4(third, a1, a2)
    if order == 6.0:
        return magnus6(third, fifth, a1, a2, a3)
    if order == 8.0:
        return magnus8(third, fifth, seventh, a1, a2, a3, a4)
    return a1


@inline
def rotation_vector(c, body, m, h):
    """Return -Omega/c, the rotation vector of a step in body axes: conj(q(h)) = exp(Omega) conj(q)."""
    a1, a2, a3, a4 = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    nodes = int(c[CONSTANTS]) // 2
    per_I = body.w1, body.w2, body.w3
    for k in range(NODES, NODES + FIELDS * nodes, FIELDS):
        W = times(-h, by_components(momentum_after(body, m, c[k] * h), per_I))
        a1, a2 = plus(a1, c[k + 1], W), plus(a2, c[k + 2], W)
        a3, a4 = plus(a3, c[k + 3], W), plus(a4, c[k + 4], W)
    return times(-1.0, exponent(c, CONSTANTS, a1, a2, a3, a4))


@inline
def half_angle(v):
    """Return sin(a/2)/a, cos(a/2) and a = |v|."""
    a = sqrt(dot(v, v))
    s, c = sincos(0.5 * a, 0.0)
    return (s / a if a > 0.0 else 0.5), c, a


@inline
def advance(c, m, q, h):
    """Return m, q after one step h, and 0, or NO_SOLUTION if the series does not converge."""
    if not abs(h) <= LONGEST_STEP:
        return m, q, NO_SOLUTION
    body = read_body(c)
    end = momentum_after(body, m, h)
    v = rotation_vector(c, body, m, h)
    f, x0, angle = half_angle(v)
    if angle >= tau and end != m:
        return m, q, NO_SOLUTION
    return end, product(q, (x0, f * v[0], f * v[1], f * v[2])), 0.0


@inline
def turned_row(row, f, g, v):
    """Return a row of Q exp(hat(v)) by the formula of Rodrigues: row^T hat(v) = (row x v)^T."""
    once = cross(row, v)
    return plus(plus(row, f, once), g, cross(once, v))


@inline
def row_to_order(order, Q, i):
    """Return row i of Q in sorted axes."""
    return to_order(order, (float(Q[i, 0]), float(Q[i, 1]), float(Q[i, 2])))


@entry_point(MATRIX_STEPS)
def repeat_matrix(parameters, size, inertia, h, steps, m, Q):
    """Take ``steps`` steps of one body with attitude matrix Q (3, 3), in place; return whether all succeeded."""
    order, scale, I, mi = standard_form(
        (float(inertia[0]), float(inertia[1]), float(inertia[2])), (float(m[0]), float(m[1]), float(m[2]))
    )
    x, y, z = row_to_order(order, Q, 0), row_to_order(order, Q, 1), row_to_order(order, Q, 2)
    time = to_standard_time(h, scale)
    c = new_constants(size)
    if not abs(time) <= LONGEST_STEP:
        return False
    prepare(order, I, parameters, c)
    body = read_body(c)
    for _ in range(steps):
        v = rotation_vector(c, body, mi, time)
        half, cosine, angle = half_angle(v)
        end = momentum_after(body, mi, time)
        if angle >= tau and end != mi:
            return False
        f, g = 2.0 * half * cosine, 2.0 * half * half  # sin(a)/a and (1 - cos(a))/a^2
        x, y, z = turned_row(x, f, g, v), turned_row(y, f, g, v), turned_row(z, f, g, v)
        mi = end
    m[0], m[1], m[2] = from_order(order, times(scale.m, mi))
    Q[0, 0], Q[0, 1], Q[0, 2] = from_order(order, x)
    Q[1, 0], Q[1, 1], Q[1, 2] = from_order(order, y)
    Q[2, 0], Q[2, 1], Q[2, 2] = from_order(order, z)
    return True


class Magnus(Flow):
    """Exact momentum, and attitude by a Magnus series.

    The series converges for steps that turn the body by less than a full turn. For longer steps, unless m is constant,
    ``step`` raises ``StepError``, which contains a step length that works.

    Parameters
    ----------
    order : int, optional
        Order of the series, 2, 4, 6 or 8. Default is 4.

    Examples
    --------
    >>> from polhode import State
    >>> Magnus(6).step((1.0, 2.0, 3.0), State(m=(0.3, 0.2, 0.9)), 0.5, steps=100).m.round(6)
    array([0.035777, 0.628395, 0.737455])
    """

    kernels = loops(prepare, advance, size=NODES + FIELDS * ORDERS[-1] // 2)
    no_result = "the series does not converge for a step that turns the body by a full turn or more"

    def __init__(self, order: int = 4) -> None:
        if order not in ORDERS:
            raise InputError(f"order = {order!r}: Magnus expected one of {', '.join(map(str, ORDERS))}")
        self.exact_parameters = series_parameters(order)
        self.record = FlowRecord(
            name=f"Magnus({order})",
            summary="exact momentum; attitude by a Magnus series",
            order=order,
            symmetric=True,
            poisson=True,
            symplectic=False,
            preserves=frozenset({NORM, ENERGY}),
            references=(GUSTAFSSON_2010, BLANES_2000, CELLEDONI_2008),
            test_step=1.0,
            limits="a step must turn the body by less than a full turn, unless m is constant",
        )

    @classmethod
    def variants(cls) -> tuple[Flow, ...]:
        """Return the members of the family that are listed in tables and tested."""
        return tuple(cls(order) for order in ORDERS)

    def step_matrix(
        self, body: RigidBody | npt.ArrayLike, m: npt.ArrayLike, Q: npt.ArrayLike, h: float, steps: int = 1
    ) -> tuple[FloatArray, FloatArray]:
        """Return (m, Q) after ``steps`` steps of one body whose attitude is a matrix, as in the thesis.

        Parameters
        ----------
        body : RigidBody or array_like
            A RigidBody, principal moments (3,) or a tensor (3, 3).
        m : array_like, shape (3,)
            Angular momentum in body axes.
        Q : array_like, shape (3, 3)
            Attitude, from body to space axes; it is not orthogonalized.
        h : float
            Length of a step, of either sign.
        steps : int, optional
            Number of steps. Default is 1.

        Returns
        -------
        m : ndarray, shape (3,)
            The new angular momentum in body axes.
        Q : ndarray, shape (3, 3)
            The new attitude.

        Raises
        ------
        TimeError
            If a step is too long for the series to converge.

        Examples
        --------
        >>> m, Q = Magnus(4).step_matrix((1.0, 2.0, 3.0), (0.0, 0.0, 3.0), np.eye(3), np.pi / 2)
        >>> Q.round(12) + 0.0
        array([[ 0., -1.,  0.],
               [ 1.,  0.,  0.],
               [ 0.,  0.,  1.]])
        """
        body = as_body(body)
        momentum = as_floats(m, "m", 3)
        attitude = as_floats(Q, "Q", 3)
        time = as_floats(h, "h")
        if (body.batch, momentum.shape, attitude.shape, time.shape) != ((), (3,), (3, 3), ()):
            raise ShapeError(
                f"m has shape {momentum.shape}, Q {attitude.shape}, h {time.shape}, body has batch {body.batch}: "
                "step_matrix expected (3,), (3, 3), a number and one body; for batches, use Magnus.step"
            )
        body.check_momentum(momentum)
        from_matrix(attitude)  # raises if Q is not a rotation
        check_finite(time, "h", TimeError)
        moments = flow_moments(body)
        count = whole_number(steps, "steps")
        check_spread(moments)
        new_m = body.axes.T @ momentum
        new_Q = attitude @ body.axes
        parameters = np.array([float(x) for x in self.exact_parameters])
        if not repeat_matrix(parameters, self.kernels.size, np.array(moments), float(time), count, new_m, new_Q):
            raise TimeError(f"h = {float(time):.6g} is too long: {self!r} expected a shorter step; {self.no_result}")
        return body.axes @ new_m, new_Q @ body.axes.T


def series_parameters(order: int) -> tuple[Fraction, ...]:
    """Return the order, PARTS, and the nodes with their coefficients."""
    return Fraction(order), *PARTS, *_nodes_and_coefficients(order // 2)


def _nodes_and_coefficients(nodes: int) -> list[Fraction]:
    """Return each node c_i and the coefficients of W_i in a1, a2, a3, a4: a = h T^-1 Q W, Q_ij = b_j (c_j - 1/2)^i."""
    numbers: list[Fraction] = []
    for c, b in zip(*gauss_legendre(nodes), strict=True):
        moments = [b * (c - Fraction(1, 2)) ** i for i in range(nodes)]
        rows = [sum((t * x for t, x in zip(row, moments, strict=True)), Fraction(0)) for row in PER_T[nodes]]
        numbers += [c, *rows, *[Fraction(0)] * (4 - nodes)]
    return numbers
