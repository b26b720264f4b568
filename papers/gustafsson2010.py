"""The program of Gustafsson 2010 (appendix), for arrays of many bodies: what its own rounding and its counts are.

``Magnus`` and ``Gauss`` are the flows to compute with. Here the operations are those of the thesis, one by one: m at
all nodes from one closed form, by SciPy's Jacobi functions, and the attitude by

    conj(q)' = W conj(q)/2, W = (0, -w), by a Magnus series of commutators [a, b] = 2 a x b                  (22)-(25)
    q(h) = q p(0)^-1 y p(h), with c0 = c3 = 1/2, and one angle by quadrature                                 (31)-(36)

Vectors are arrays (3, ...), quaternions (4, ...), also of numbers that count operations (``operations``). |m| = 1.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipkinc

from polhode.core.arrays import FloatArray
from polhode.core.state import State
from polhode.core.vectors import unit
from polhode.ensembles import sampling
from polhode.flows.magnus import Magnus
from polhode.flows.quadrature import gauss_legendre
from polhode.problems.free_body import DATA

MOMENTS = np.array(DATA["gustafsson"].moments)
T_END = DATA["gustafsson"].t_end
ORDERS = (2, 4, 6, 8)
RUNS = 50  # random starts of which the thesis takes the mean
SEED = 2010
ODE45_TOLERANCE = 2.2205e-14  # MATLAB's least, and SciPy's
EPS = 2.0**-52
CONJUGATE = np.array([[1.0], [-1.0], [-1.0], [-1.0]])


def starts(count: int, uniform: bool = True, seed: int = SEED) -> State:
    """Random m and q of norm 1: from uniform numbers, as of MATLAB's rand, or of all directions alike."""
    laws: dict[str, Any] = {"m": sampling.direction(), "q": sampling.attitude()}
    if uniform:
        laws = {"m": sampling.uniform(np.zeros(3), 1.0), "q": sampling.uniform(np.zeros(4), 1.0)}
    rows = sampling.draw(count, **laws).seeded(seed).rows()
    return State(unit(rows["m"]), unit(rows["q"]))


class Momentum(NamedTuple):
    """m(t), arrays (n): m2 = on_sn sn, another = on_cn cn, the third by dn, or from d^2 - c m2^2 if there is c."""

    around_1: Any  # case (I)
    k2: Any
    lam: Any
    phase: Any  # -nu
    on_sn: Any
    on_cn: Any
    on_dn: Any  # sigma B, or sigma d
    c: Any

    def at(self, t: Any) -> FloatArray:
        """(3, times, n) at times t (times, 1), or (3, n) at times (n)."""
        sn, cn, dn, _ = ellipj(self.lam * t + self.phase, self.k2)
        m2, other = self.on_sn * sn, self.on_cn * cn
        by_root = np.copysign(np.sqrt(self.on_dn**2 - self.c * m2**2), self.on_dn)
        third = np.where(np.isnan(self.c), self.on_dn * dn, by_root)
        return np.array([np.where(self.around_1, third, other), m2, np.where(self.around_1, other, third)])


def momentum_by_energy(m: FloatArray, moments: FloatArray = MOMENTS) -> Momentum:
    """Section 4.1: constants B_ij from the energy. m (3, n)."""
    T1, T2, T3 = moments
    two_E = np.sum(m * m / moments[:, None], axis=0)
    D1, D3 = np.abs(1.0 - two_E * T1), np.abs(1.0 - two_E * T3)
    B13, B31 = np.sqrt(T1 * D3 / (T3 - T1)), np.sqrt(T3 * D1 / (T3 - T1))
    B21, B23 = np.sqrt(T2 * D1 / (T2 - T1)), np.sqrt(T2 * D3 / (T3 - T2))
    k2 = D1 * (T3 - T2) / (D3 * (T2 - T1))
    I = k2 < 1.0
    lam = np.sqrt(np.where(I, D3 * (T2 - T1), D1 * (T3 - T2)) / (T1 * T2 * T3))
    return _momentum(m, I, k2, lam, np.where(I, B21, B23), np.where(I, B31, B13), np.where(I, B13, B31), np.nan)


def momentum_by_squares(m: FloatArray, moments: FloatArray = MOMENTS) -> Momentum:
    """Section 4.2: two independent constants only, c1 and lambda. m (3, n)."""
    T1, T2, T3 = moments
    c2 = 1.0 - T1 * (T3 - T2) / (T2 * (T3 - T1))
    c1 = 1.0 - c2
    d1, d3 = np.sqrt(m[0] ** 2 + c1 * m[1] ** 2), np.sqrt(c2 * m[1] ** 2 + m[2] ** 2)
    k2 = c1 * d3**2 / (c2 * d1**2)
    I = k2 < 1.0
    d2 = np.sqrt(np.where(I, m[1] ** 2 + m[2] ** 2 / c2, m[0] ** 2 / c1 + m[1] ** 2))
    l1, l3 = np.sqrt((T2 - T1) * (T3 - T1) / (T1**2 * T2 * T3)), np.sqrt((T3 - T2) * (T3 - T1) / (T1 * T2 * T3**2))
    lam, on_cn, on_dn = np.where(I, l1 * d1, l3 * d3), np.where(I, d3, d1), np.where(I, d1, d3)
    return _momentum(m, I, k2, lam, d2, on_cn, on_dn, np.where(I, c1, c2))


def _momentum(m: Any, I: Any, k2: Any, lam: Any, on_sn: Any, on_cn: Any, on_dn: Any, c: Any) -> Momentum:
    sigma = np.where(np.where(I, m[0], m[2]) < 0.0, -1.0, 1.0)
    parameter = np.where(I, k2, 1.0 / k2)
    phi = np.arctan2(m[1] / on_sn, np.where(I, m[2], m[0]) / on_cn)
    return Momentum(I, parameter, sigma * lam, ellipkinc(phi, parameter), on_sn, on_cn, sigma * on_dn, c)


def by_ode45(start: State) -> FloatArray:
    """q (n, 4) at T_END, the reference of the thesis: by the pair of Dormand and Prince, all bodies at once."""
    n = len(start.m)

    def slope(t: float, y: FloatArray) -> FloatArray:
        m, q = y[: 3 * n].reshape(3, n), y[3 * n :].reshape(4, n)
        w = m / MOMENTS[:, None]
        return np.concatenate([cross(m, w), 0.5 * product(q, np.concatenate([np.zeros((1, n)), w]))]).ravel()

    y0 = np.concatenate([start.m.T.ravel(), start.q.T.ravel()])
    found = solve_ivp(slope, (0.0, T_END), y0, "RK45", [T_END], rtol=ODE45_TOLERANCE, atol=EPS)
    return np.asarray(found.y[3 * n :, -1].reshape(4, n).T)


def magnus_attitude(order: int, start: State, h: float, steps: int) -> FloatArray:
    """q (n, 4) after some steps; start of n bodies."""
    q, (_, nodes) = start.q.T * CONJUGATE, _momenta(order, start, h, steps)
    for k in range(steps):
        q = magnus_step(order, h, [m[:, k] for m in nodes], q)
        q = q / np.sqrt(np.sum(q * q, axis=0))
    return (q * CONJUGATE).T


def factorization_attitude(order: int, start: State, h: float, steps: int) -> FloatArray:
    """q (n, 4) after some steps; start of n bodies."""
    q, (ends, nodes) = start.q.T, _momenta(order, start, h, steps)
    energy, m = 0.5 * np.sum(start.m.T**2 / MOMENTS[:, None], axis=0), start.m.T
    for k in range(steps):
        q = factorization_step(h, energy, m, ends[:, k], [at[:, k] for at in nodes], q)
        q, m = q / np.sqrt(np.sum(q * q, axis=0)), ends[:, k]
    return q.T


def _momenta(order: int, start: State, h: float, steps: int) -> tuple[FloatArray, list[FloatArray]]:
    """m (3, steps, n) at the ends of all steps, and at each of their nodes."""
    motion, first = momentum_by_squares(start.m.T), np.arange(steps)[:, None]
    return motion.at(h * (first + 1)), [motion.at(h * (first + float(c))) for c in gauss_legendre(order // 2)[0]]


def magnus_step(order: int, h: float, m: list[Any], conj_q: Any) -> Any:
    """conj(q) after a step, from m (3, ...) at the nodes; not normalized."""
    v = magnus_series(order, h, [-each / _column(MOMENTS, each) for each in m])
    a = np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    return product(_quaternion(np.cos(a), v * (1.0 / a * np.sin(a))), conj_q)


def magnus_series(order: int, h: float, W: list[Any]) -> Any:
    """(22)-(25) with c = 1/2."""
    if order == 2:
        return 0.5 * h * W[0]
    if order == 4:
        return 0.25 * h * (W[0] + W[1]) + sqrt(3.0) / 12.0 * h * h * commutator(0.5 * W[1], 0.5 * W[0])
    if order == 6:
        a1, a2 = 0.5 * h * W[1], sqrt(15.0) / 6.0 * h * (W[2] - W[0])
        a3 = 10.0 / 6.0 * h * (W[2] - 2.0 * W[1] + W[0])
        s1 = commutator(a1, a2)
        r1 = -1.0 / 60.0 * commutator(a1, 2.0 * a3 + s1)
        return a1 + 1.0 / 12.0 * a3 + 1.0 / 240.0 * commutator(-20.0 * a1 - a3 + s1, a2 + r1)
    weights = 0.5 * h * np.array([float(x) for x in Magnus(8).exact_parameters[4:]]).reshape(4, 5)[:, 1:].T  # (21)
    a1, a2, a3, a4 = (x[0] * W[0] + x[1] * W[1] + x[2] * W[2] + x[3] * W[3] for x in weights)
    s1 = -1.0 / 28.0 * commutator(a1 + 1.0 / 28.0 * a3, a2 + 3.0 / 28.0 * a4)
    r1 = 1.0 / 3.0 * commutator(a1, -1.0 / 14.0 * a3 + s1)
    s2 = commutator(a1 + 1.0 / 28.0 * a3 + s1, a2 + 3.0 / 28.0 * a4 + r1)
    r2 = commutator(a1 + 1.25 * s1, 2.0 * a3 + s2 + 0.5 * commutator(a2, s1))
    left = a1 + 1.0 / 12.0 * a3 - 7.0 / 3.0 * s1 - 1.0 / 6.0 * s2
    s3 = commutator(left, -9.0 * a2 - 2.25 * a4 + 63.0 * r1 + r2)
    return a1 + 1.0 / 12.0 * a3 - 7.0 / 120.0 * s2 + 1.0 / 360.0 * s3


def factorization_step(h: Any, energy: Any, m: Any, end: Any, nodes: list[Any], q: Any) -> Any:
    """q after a step from m to end, from m (3, ...) at the nodes; not normalized."""
    parts = []
    for weight, at in zip(gauss_legendre(len(nodes))[1], nodes, strict=True):
        slope = cross(at, at / _column(MOMENTS, at))
        turned = 0.5 / (1.0 + at[2]) * (at[1] * slope[0] - at[0] * slope[1])
        rate = 2.0 * energy + 2.0 * turned
        parts.append(h * rate if len(nodes) == 1 else h * float(weight) * rate)
    psi = sum(parts[1:], parts[0])  # (33)
    zero = np.zeros_like(q[0]) if q.dtype == float else 0.0
    y = np.array([np.cos(psi / 2.0), zero, zero, np.sin(psi / 2.0)])
    back = _onto_e3(m)
    inverse = np.array([back[0], -back[1], -back[2], -back[3]])
    return product(q, product(inverse, product(y, _onto_e3(end))))  # (31)


def _onto_e3(m: Any) -> Any:
    """p of (34), (36), its four roots taken one by one, as in the program."""
    c0 = c3 = 0.5
    return np.array([
        c0 * np.sqrt(1.0 + m[2]), (c3 * m[0] + c0 * m[1]) / np.sqrt(1.0 + m[2]),
        (c3 * m[1] - c0 * m[0]) / np.sqrt(1.0 + m[2]), c3 * np.sqrt(1.0 + m[2]),
    ])  # fmt: skip


def cross(a: Any, b: Any) -> Any:
    """a x b, (3, ...)."""
    return a[[1, 2, 0]] * b[[2, 0, 1]] - a[[2, 0, 1]] * b[[1, 2, 0]]


def commutator(a: Any, b: Any) -> Any:
    """Of pure quaternions (0, a), (0, b)."""
    return 2.0 * cross(a, b)


def product(p: Any, q: Any) -> Any:
    """The Hamilton product, (4, ...), in the 28 operations of section 4.4."""
    u, v = p[1:], q[1:]
    scalar = p[0] * q[0] - (u[0] * v[0] + u[1] * v[1] + u[2] * v[2])
    return _quaternion(scalar, p[0] * v + q[0] * u + cross(u, v))


def _quaternion(scalar: Any, vector: Any) -> Any:
    return np.concatenate([np.asarray(scalar)[None], vector])


def _column(values: FloatArray, like: Any) -> Any:
    return values.reshape(3, *(1,) * (like.ndim - 1))
