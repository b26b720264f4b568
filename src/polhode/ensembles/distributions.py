"""Distributions of the sampled parameters of an ensemble, computed from a fixed count of uniform numbers per member.

All distributions except ``Each`` are vectorized: ``of(u)`` maps uniform numbers of shape (n, uniforms) to values of
shape (n,) + shape, by one of the functions below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import as_floats, check_moments, show
from polhode.core.errors import InputError, ShapeError
from polhode.core.pickling import HoldsFunctions
from polhode.core.rotation import as_quaternion, from_rotation_vector, multiply
from polhode.ensembles.random_streams import generator, uniforms

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Distribution:
    """A distribution of values that are computed from uniform numbers.

    Attributes
    ----------
    name : str
        What ``repr`` returns: a function of ``polhode.sampling`` with its arguments.
    shape : tuple of int
        Shape of one value.
    uniforms : int
        How many uniform numbers between 0 and 1 one value is computed from.
    function : callable
        ``function(u, **arguments)`` returns n values from uniform numbers of shape (n, uniforms), or (n,) + shape if
        each component has its own.
    arguments : Mapping
        Parameters of the distribution.
    """

    name: str
    shape: Shape
    uniforms: int
    function: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def of(self, u: FloatArray) -> FloatArray:
        """Return values of shape (n,) + shape, computed from uniform numbers ``u`` of shape (n, uniforms)."""
        numbers = u.reshape(len(u), *self.shape) if self.uniforms == prod(self.shape) else u
        return np.asarray(self.function(numbers, **self.arguments), dtype=np.float64)

    def draw(self, seed: int, name: str, first: int, members: int) -> FloatArray:
        """Return values of shape (members,) + shape for consecutive members, starting with member ``first``.

        Parameters
        ----------
        seed : int
            Seed of the ensemble.
        name : str
            Name of the sampled parameter; different names have independent random streams.
        first : int
            Number of the first member.
        members : int
            Number of members.

        Returns
        -------
        ndarray, shape (members,) + shape
        """
        return self.of(uniforms(seed, name, first, members, self.uniforms))

    def __repr__(self) -> str:
        """Return the name of the distribution with its arguments."""
        return self.name


class Each(HoldsFunctions, Distribution):
    """Any distribution: ``function(rng)`` returns one value and is called for each member with its own generator."""

    def of(self, u: FloatArray) -> FloatArray:
        """Raise NotImplementedError: the values are not a function of uniform numbers."""
        raise NotImplementedError("each member has a generator of its own; call draw")

    def draw(self, seed: int, name: str, first: int, members: int) -> FloatArray:
        """Return values of shape (members,) + shape for consecutive members, starting with member ``first``."""
        out = np.empty((members, *self.shape))
        for i in range(members):
            out[i] = self.function(generator(seed, name, first + i))
        return out


def always(u: FloatArray, value: FloatArray) -> FloatArray:
    """Return copies of a value."""
    return np.broadcast_to(value, (len(u), *value.shape)).copy()


def between(u: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the inverse distribution function of the uniform distribution."""
    return low + u * (high - low)


def around(u: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the inverse distribution function of the normal distribution."""
    return mean + deviation * standard_normal(u)


def factor_around(u: FloatArray, median: FloatArray, spread: FloatArray) -> FloatArray:
    """Return the inverse distribution function of the log-normal distribution."""
    return median * np.exp(spread * standard_normal(u))


def correlated(u: FloatArray, mean: FloatArray, factor: FloatArray) -> FloatArray:
    """Return normal values mean + L z, where L is the Cholesky factor of the covariance."""
    z = standard_normal(u)
    terms = [z[:, j, None] * factor[:, j] for j in range(len(mean))]
    return mean + sum(terms[1:], terms[0])  # in a matrix product, the order of sums depends on the row count


def attitude(u: FloatArray) -> FloatArray:
    """Return quaternions, uniform on SO(3). K. Shoemake, Uniform random rotations, Graphics Gems III (1992) 124-132."""
    near, far = np.sqrt(1.0 - u[:, 0]), np.sqrt(u[:, 0])
    a, b = 2.0 * np.pi * u[:, 1], 2.0 * np.pi * u[:, 2]
    return np.stack([far * np.cos(b), near * np.sin(a), near * np.cos(a), far * np.sin(b)], axis=-1)


def attitude_near(u: FloatArray, q: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return q, rotated by rotation vectors in body axes with normal components of given deviations (rad)."""
    return multiply(q, from_rotation_vector(deviation * standard_normal(u)))


def direction(u: FloatArray, length: Distribution) -> FloatArray:
    """Return vectors with uniformly distributed directions and lengths drawn from a scalar distribution."""
    z = 2.0 * u[:, 0] - 1.0
    angle = 2.0 * np.pi * u[:, 1]
    across = 2.0 * np.sqrt(u[:, 0] * (1.0 - u[:, 0]))
    unit = np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=-1)
    return length.of(u[:, 2:])[:, None] * unit


def moments_near(u: FloatArray, second: FloatArray, spread: FloatArray) -> FloatArray:
    """Return possible principal moments: the second moments of mass J (I1 = J2 + J3, ...) are log-normal."""
    J = second * np.exp(spread * standard_normal(u))
    return np.stack([J[:, 1] + J[:, 2], J[:, 0] + J[:, 2], J[:, 0] + J[:, 1]], axis=-1)


def triangle(u: FloatArray, trace: float) -> FloatArray:
    """Return principal moments with a fixed sum, uniform in the inertia triangle (the set of possible moments)."""
    low, high = np.minimum(u[:, 0], u[:, 1]), np.maximum(u[:, 0], u[:, 1])
    return 0.5 * trace * np.stack([1.0 - low, 1.0 - (high - low), high], axis=-1)


def standard_normal(u: FloatArray) -> FloatArray:
    """Return the inverse of the standard normal distribution function at ``u`` (any shape)."""
    from scipy.special import ndtri

    return ndtri(u)


def second_moments(moments: npt.ArrayLike) -> FloatArray:
    """Return the second moments of mass, J1 = (I2 + I3 - I1)/2 and so on, of one body; moments have shape (3,)."""
    center = as_floats(moments, "moments", 3)
    if center.shape != (3,):
        raise ShapeError(f"moments have shape {center.shape}; expected (3,), the center of the distribution")
    check_moments(center, "moments")
    J = 0.5 * center.sum() - center
    if not (J > 0).all():
        raise InputError(
            f"moments = {show(center)}; expected moments of a solid body, each less than the sum of the other two"
        )
    return J


def cholesky(covariance: npt.ArrayLike, size: int) -> FloatArray:
    """Return the Cholesky factor of a covariance matrix of shape (size, size)."""
    matrix = as_floats(covariance, "covariance", size)
    if matrix.shape != (size, size) or not np.allclose(matrix, matrix.T, rtol=1e-12, atol=0):
        raise ShapeError(f"covariance has shape {matrix.shape}; expected a symmetric matrix of shape ({size}, {size})")
    try:
        return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise InputError("covariance is not positive definite; expected a matrix with positive eigenvalues") from None


def one_attitude(q: Any) -> FloatArray:
    """Return the attitude ``q`` as one quaternion, shape (4,); raise ShapeError if it is a batch."""
    quaternion = as_quaternion(q)
    if quaternion.shape != (4,):
        raise ShapeError(f"q has shape {quaternion.shape}; expected (4,), the center of the distribution")
    return quaternion
