"""Initial states of systems: lattices, random attitudes and thermal momenta, all determined by a seed."""

from __future__ import annotations

import numpy as np

from polhode.core.arrays import BoolArray, FloatArray
from polhode.core.body import RigidBody, flow_moments
from polhode.core.checks import as_floats, positive_number, whole_number
from polhode.core.errors import InertiaError, InputError
from polhode.core.rotation import normalize

ATTITUDES, VELOCITIES, PLACES, ORDER = 1, 2, 3, 4  # independent streams of random numbers with one seed


def cubic_lattice(side: int, spacing: float) -> FloatArray:
    """Return the positions of a cubic lattice centered at the origin.

    Parameters
    ----------
    side : int
        Number of positions along an edge.
    spacing : float
        Distance of neighbors.

    Returns
    -------
    ndarray, shape (side**3, 3)
        The positions.

    Raises
    ------
    InputError
        If `side` or `spacing` is not positive.

    Examples
    --------
    >>> cubic_lattice(2, 1.0)[:3]
    array([[-0.5, -0.5, -0.5],
           [-0.5, -0.5,  0.5],
           [-0.5,  0.5, -0.5]])
    """
    line = positive_number(spacing, "spacing") * (np.arange(whole_number(side, "side", 1)) - 0.5 * (side - 1))
    return np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)


def spread_in_cube(count: int, length: float) -> FloatArray:
    """Return `count` positions, shape (count, 3), of a cubic lattice in a cube of edge `length` around the origin.

    The lattice is the smallest one with at least `count` positions. Vacant positions are distributed evenly.

    Examples
    --------
    >>> spread_in_cube(9, 3.0).shape
    (9, 3)
    """
    side = 1
    while side**3 < count:
        side += 1
    positions = cubic_lattice(side, length / side)
    return positions[(np.arange(count) * len(positions)) // count]


def shuffled(x: FloatArray, seed: int = 0) -> FloatArray:
    """Return the rows of x (n, 3) in random order.

    Examples
    --------
    >>> shuffled(np.arange(6.0).reshape(2, 3), seed=1).sum()
    np.float64(15.0)
    """
    return _generator(seed, ORDER).permutation(x)


def scattered(x: FloatArray, deviation: float, seed: int = 0) -> FloatArray:
    """Return positions x (n, 3) with normally distributed displacements of standard deviation `deviation` added.

    Examples
    --------
    >>> float(scattered(np.zeros((10_000, 3)), 0.1, seed=1).std().round(2))
    0.1
    """
    if not 0 <= deviation < np.inf:
        raise InputError(f"scatter times spacing = {deviation!r}: expected a finite number, 0 or more")
    return x + deviation * _generator(seed, PLACES).normal(size=x.shape) if deviation else x


def random_attitudes(count: int, seed: int = 0) -> FloatArray:
    """Return uniformly distributed random attitudes.

    Parameters
    ----------
    count : int
        Number of attitudes.
    seed : int, optional
        Seed of the random numbers. The default is 0.

    Returns
    -------
    ndarray, shape (count, 4)
        Unit quaternions.

    Examples
    --------
    >>> random_attitudes(5, seed=1).shape
    (5, 4)
    """
    return normalize(_generator(seed, ATTITUDES).normal(size=(whole_number(count, "count", 1), 4)))


def maxwell_boltzmann(
    body: RigidBody, count: int, kT: float, seed: int = 0, *, at_rest: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Return random momenta with the Maxwell-Boltzmann distribution.

    Parameters
    ----------
    body : RigidBody
        The body, with a mass; one for all, or a batch of shape (count,).
    count : int
        Number of bodies.
    kT : float
        Temperature in units of energy.
    seed : int, optional
        Seed of the random numbers. The default is 0.
    at_rest : bool, optional
        Whether to subtract the mean velocity, so that the total momentum is 0. The temperature of the translation is
        then lower by a factor of 1 - 1/count, on average. The default is True.

    Returns
    -------
    p : ndarray, shape (count, 3)
        Linear momenta in space axes.
    m : ndarray, shape (count, 3)
        Angular momenta in body axes.

    Raises
    ------
    InputError
        If `kT` is negative or not finite.
    InertiaError
        If the body has no mass.

    Examples
    --------
    >>> p, m = maxwell_boltzmann(RigidBody((1.0, 2.0, 3.0), mass=2.0), 20_000, kT=0.5, seed=1)
    >>> (m**2).mean(axis=0).round(1)  # kT times the moments
    array([0.5, 1. , 1.5])
    """
    if body.mass is None:
        raise InertiaError("the body has no mass: type RigidBody(inertia, mass=...)")
    n = whole_number(count, "count", 1)
    mass, moments = np.broadcast_to(body.mass, (n,)), np.broadcast_to(flow_moments(body), (n, 3))
    axes = None if body.is_principal else body.axes
    return thermal_momenta(mass, moments, axes, np.full(n, body.is_linear), kT, seed, at_rest=at_rest)


def thermal_momenta(
    mass: FloatArray,
    moments: FloatArray,
    axes: FloatArray | None,
    linear: BoolArray,
    kT: float,
    seed: int = 0,
    *,
    at_rest: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Return the momenta (p, m) of ``maxwell_boltzmann`` for bodies of any kinds.

    Masses (n,), moments (n, 3), axes (n, 3, 3) or None, and linear (n,) are those of ``System``.

    Examples
    --------
    >>> p, m = thermal_momenta(np.array([1.0, 2.0]), np.ones((2, 3)), None, np.array([True, False]), kT=0.5)
    >>> bool(m[0, 0] == 0.0), bool(abs(p.sum(axis=0)).max() < 1e-15)
    (True, True)
    """
    energy = float(as_floats(kT, "kT"))
    if not 0 <= energy < np.inf:
        raise InputError(f"kT = {kT!r}: expected a finite number, 0 or more")
    random = _generator(seed, VELOCITIES)
    n, mass = len(mass), mass[:, None]
    p = random.normal(size=(n, 3)) * np.sqrt(energy * mass)
    m = random.normal(size=(n, 3)) * np.sqrt(energy * moments)
    m[linear, 0] = 0.0
    if axes is not None:
        m = np.einsum("...ij,...j->...i", axes, m)
    return (p - mass * (p.sum(axis=0) / mass.sum()) if at_rest else p), m


def _generator(seed: int, stream: int) -> np.random.Generator:
    """Return the random number generator of one stream of a seed."""
    return np.random.default_rng([stream, whole_number(seed, "seed")])
