"""Where systems of bodies start: lattices, random attitudes, velocities of a temperature. All by seed."""

from __future__ import annotations

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody, flow_moments
from polhode.core.checks import as_floats, whole_number
from polhode.core.errors import InertiaError, InputError
from polhode.core.rotation import normalize

ATTITUDES, VELOCITIES, PLACES = 1, 2, 3  # streams of random numbers that belong to one seed


def cubic_lattice(side: int, spacing: float) -> FloatArray:
    """Places (side^3, 3) on a cubic lattice, whose center is the origin.

    >>> cubic_lattice(2, 1.0)[:3]
    array([[-0.5, -0.5, -0.5],
           [-0.5, -0.5,  0.5],
           [-0.5,  0.5, -0.5]])
    """
    length = float(as_floats(spacing, "spacing"))
    if not 0 < length < np.inf:
        raise InputError(f"spacing = {spacing!r}: expected a positive finite number")
    line = length * (np.arange(whole_number(side, "side", 1)) - 0.5 * (side - 1))
    return np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)


def spread_in_cube(count: int, length: float) -> FloatArray:
    """``count`` places of the smallest cubic lattice that has so many, in a cube around the origin; gaps are spread.

    >>> spread_in_cube(9, 3.0).shape
    (9, 3)
    """
    side = 1
    while side**3 < count:
        side += 1
    places = cubic_lattice(side, length / side)
    return places[(np.arange(count) * len(places)) // count]


def scattered(x: FloatArray, deviation: float, seed: int = 0) -> FloatArray:
    """Return places (n, 3) moved at random, each coordinate by normal numbers of that standard deviation.

    >>> float(scattered(np.zeros((10_000, 3)), 0.1, seed=1).std().round(2))
    0.1
    """
    if not 0 <= deviation < np.inf:
        raise InputError(f"scatter times spacing = {deviation!r}: expected a finite number, 0 or more")
    return x + deviation * _generator(seed, PLACES).normal(size=x.shape) if deviation else x


def random_attitudes(count: int, seed: int = 0) -> FloatArray:
    """Quaternions (count, 4), all attitudes alike likely.

    >>> random_attitudes(5, seed=1).shape
    (5, 4)
    """
    return normalize(_generator(seed, ATTITUDES).normal(size=(whole_number(count, "count", 1), 4)))


def maxwell_boltzmann(
    body: RigidBody, count: int, kT: float, seed: int = 0, *, at_rest: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Momenta p (count, 3) in space and m (count, 3) in body axes, of temperature kT in units of energy.

    ``at_rest`` takes the mean velocity away, so that the total momentum is 0: the temperature of the places is then
    lower by a factor of 1 - 1/count, on average.

    >>> p, m = maxwell_boltzmann(RigidBody((1.0, 2.0, 3.0), mass=2.0), 20_000, kT=0.5, seed=1)
    >>> (m**2).mean(axis=0).round(1)  # kT times the moments
    array([0.5, 1. , 1.5])
    """
    energy = float(as_floats(kT, "kT"))
    if not 0 <= energy < np.inf:
        raise InputError(f"kT = {kT!r}: expected a finite number, 0 or more")
    if body.mass is None:
        raise InertiaError("the body has no mass: type RigidBody(inertia, mass=...)")
    random, n = _generator(seed, VELOCITIES), whole_number(count, "count", 1)
    mass = np.broadcast_to(body.mass, (n,))[:, None]
    p = random.normal(size=(n, 3)) * np.sqrt(energy * mass)
    m = random.normal(size=(n, 3)) * np.sqrt(energy * np.broadcast_to(flow_moments(body), (n, 3)))
    if body.is_linear:
        m[:, 0] = 0.0
    if not body.is_principal:
        m = np.einsum("...ij,...j->...i", body.axes, m)
    return (p - mass * (p.sum(axis=0) / mass.sum()) if at_rest else p), m


def _generator(seed: int, stream: int) -> np.random.Generator:
    return np.random.default_rng([stream, whole_number(seed, "seed")])
