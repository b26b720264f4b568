"""Distributions of the sampled parameters of an ensemble, computed from a fixed count of uniform numbers per member.

All distributions except ``Each`` are vectorized: ``of(u)`` maps uniform numbers of shape (n, uniforms) to values of
shape (n,) + shape.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import as_floats, check_moments, common_batch, show
from polhode.core.errors import InputError, ShapeError
from polhode.core.pickling import HoldsFunctions
from polhode.core.rotation import as_quaternion, from_rotation_vector, multiply
from polhode.ensembles.random_streams import generator, uniforms

Shape = tuple[int, ...]


class Distribution(ABC):
    """Base class of distributions.

    Attributes
    ----------
    shape : tuple of int
        Shape of one value.
    uniforms : int
        How many uniform numbers between 0 and 1 one value is computed from.
    """

    shape: Shape
    uniforms: int

    @abstractmethod
    def of(self, u: FloatArray) -> FloatArray:
        """Return values of shape (n,) + shape, computed from uniform numbers ``u`` of shape (n, uniforms)."""

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


@dataclass(frozen=True, eq=False)
class Always(Distribution):
    """The same value for all members."""

    value: FloatArray
    uniforms = 0

    @property
    def shape(self) -> Shape:  # type: ignore[override]
        """Shape of the value."""
        return self.value.shape

    def of(self, u: FloatArray) -> FloatArray:
        """Return n copies of the value, shape (n,) + shape."""
        return np.broadcast_to(self.value, (len(u), *self.shape)).copy()


@dataclass(frozen=True, eq=False)
class Independent(Distribution):
    """Independent components, each computed with the inverse of its cumulative distribution function."""

    inverse: Callable[..., Any]
    arguments: tuple[FloatArray, ...]  # broadcast to ``shape``
    name: str

    @property
    def shape(self) -> Shape:  # type: ignore[override]
        """Shape to which the arguments broadcast."""
        return common_batch(**{f"argument {i + 1}": a.shape for i, a in enumerate(self.arguments)})

    @property
    def uniforms(self) -> int:  # type: ignore[override]
        """Number of components."""
        return int(np.prod(self.shape, dtype=int))

    def of(self, u: FloatArray) -> FloatArray:
        """Return the inverse distribution function of ``u``, shape (n,) + shape."""
        return np.asarray(self.inverse(u.reshape(-1, *self.shape), *self.arguments), dtype=np.float64)

    def __repr__(self) -> str:
        """Return the name of the distribution with its arguments."""
        return f"{self.name}({', '.join(str(a.tolist()) for a in self.arguments)})"


@dataclass(frozen=True, eq=False)
class Frozen(Distribution):
    """A frozen distribution of scipy.stats, or any object with ``ppf``, the inverse distribution function."""

    ppf: Callable[[Any], Any]
    name: str

    @property
    def shape(self) -> Shape:  # type: ignore[override]
        """Shape of one value of ``ppf``."""
        return np.shape(self.ppf(0.5))

    @property
    def uniforms(self) -> int:  # type: ignore[override]
        """Number of components."""
        return int(np.prod(self.shape, dtype=int))

    def of(self, u: FloatArray) -> FloatArray:
        """Return ``ppf(u)``, shape (n,) + shape."""
        return np.asarray(self.ppf(u.reshape(-1, *self.shape)), dtype=np.float64)

    def __repr__(self) -> str:
        """Return the name of the distribution with its arguments."""
        return self.name


@dataclass(frozen=True, eq=False)
class Correlated(Distribution):
    """Multivariate normal distribution: mean + L z, where L is the Cholesky factor of the covariance."""

    mean: FloatArray
    factor: FloatArray

    @property
    def shape(self) -> Shape:  # type: ignore[override]
        """Shape of the mean, (k,)."""
        return self.mean.shape

    @property
    def uniforms(self) -> int:  # type: ignore[override]
        """Number of components, k."""
        return len(self.mean)

    def of(self, u: FloatArray) -> FloatArray:
        """Return correlated normal values, shape (n, k)."""
        z = standard_normal(u)
        terms = [z[:, j, None] * self.factor[:, j] for j in range(len(self.mean))]
        return self.mean + sum(terms[1:], terms[0])  # in a matrix product, the order of sums depends on the row count


@dataclass(frozen=True)
class Attitude(Distribution):
    """Uniform distribution on SO(3). K. Shoemake, Uniform random rotations, Graphics Gems III (1992), pp. 124-132."""

    shape = (4,)
    uniforms = 3

    def of(self, u: FloatArray) -> FloatArray:
        """Return unit quaternions, scalar first, shape (n, 4)."""
        near, far = np.sqrt(1.0 - u[:, 0]), np.sqrt(u[:, 0])
        a, b = 2.0 * np.pi * u[:, 1], 2.0 * np.pi * u[:, 2]
        return np.stack([far * np.cos(b), near * np.sin(a), near * np.cos(a), far * np.sin(b)], axis=-1)


@dataclass(frozen=True, eq=False)
class AttitudeNear(Distribution):
    """The attitude q, rotated by a rotation vector in body axes with normal components of given deviations (rad)."""

    q: FloatArray
    deviation: FloatArray
    shape = (4,)
    uniforms = 3

    def of(self, u: FloatArray) -> FloatArray:
        """Return unit quaternions, scalar first, shape (n, 4)."""
        return multiply(self.q, from_rotation_vector(self.deviation * standard_normal(u)))


@dataclass(frozen=True, eq=False)
class Directions(Distribution):
    """Vectors with uniformly distributed directions and lengths drawn from a scalar distribution."""

    length: Distribution
    shape = (3,)

    @property
    def uniforms(self) -> int:  # type: ignore[override]
        """Two numbers for the direction, and those of the length."""
        return 2 + self.length.uniforms

    def of(self, u: FloatArray) -> FloatArray:
        """Return vectors, shape (n, 3)."""
        z = 2.0 * u[:, 0] - 1.0
        angle = 2.0 * np.pi * u[:, 1]
        across = 2.0 * np.sqrt(u[:, 0] * (1.0 - u[:, 0]))
        unit = np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=-1)
        return self.length.of(u[:, 2:])[:, None] * unit


@dataclass(frozen=True, eq=False)
class MomentsNear(Distribution):
    """Physically possible principal moments: the second moments of mass J (I1 = J2 + J3, ...) are log-normal."""

    second: FloatArray
    spread: FloatArray
    shape = (3,)
    uniforms = 3

    def of(self, u: FloatArray) -> FloatArray:
        """Return principal moments, shape (n, 3)."""
        J = self.second * np.exp(self.spread * standard_normal(u))
        return np.stack([J[:, 1] + J[:, 2], J[:, 0] + J[:, 2], J[:, 0] + J[:, 1]], axis=-1)


@dataclass(frozen=True)
class Triangle(Distribution):
    """Principal moments with a fixed sum, uniform in the inertia triangle (the set of physically possible moments)."""

    trace: float
    shape = (3,)
    uniforms = 2

    def of(self, u: FloatArray) -> FloatArray:
        """Return principal moments whose sum is ``trace``, shape (n, 3)."""
        low, high = np.minimum(u[:, 0], u[:, 1]), np.maximum(u[:, 0], u[:, 1])
        return 0.5 * self.trace * np.stack([1.0 - low, 1.0 - (high - low), high], axis=-1)


@dataclass(frozen=True, eq=False)
class Each(HoldsFunctions, Distribution):
    """Any distribution: ``function(rng)`` returns one value and is called for each member with its own generator."""

    function: Callable[[np.random.Generator], Any]
    shape: Shape
    uniforms = 0

    def of(self, u: FloatArray) -> FloatArray:
        """Raise NotImplementedError: the values are not a function of uniform numbers."""
        raise NotImplementedError("each member has a generator of its own; call draw")

    def draw(self, seed: int, name: str, first: int, members: int) -> FloatArray:
        """Return values of shape (members,) + shape for consecutive members, starting with member ``first``."""
        out = np.empty((members, *self.shape))
        for i in range(members):
            out[i] = self.function(generator(seed, name, first + i))
        return out


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
