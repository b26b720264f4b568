"""Distributions of what an ensemble varies: formulas from uniform numbers, a fixed count of them for each member.

All but ``Each`` are vectorized: ``of(u)`` takes uniform numbers (n, uniforms) to values (n,) + shape.
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
from polhode.core.rotation import as_quaternion, from_rotation_vector, multiply
from polhode.ensembles.random_streams import generator, uniforms

Shape = tuple[int, ...]


class Distribution(ABC):
    """Values of one shape, a function of ``uniforms`` numbers between 0 and 1."""

    shape: Shape
    uniforms: int

    @abstractmethod
    def of(self, u: FloatArray) -> FloatArray:
        """Values (n,) + shape of uniform numbers (n, uniforms)."""

    def draw(self, seed: int, name: str, first: int, members: int) -> FloatArray:
        """Values (members,) + shape of the members from number ``first`` on."""
        return self.of(uniforms(seed, name, first, members, self.uniforms))


@dataclass(frozen=True, eq=False)
class Always(Distribution):
    """One value for all members."""

    value: FloatArray
    uniforms = 0

    @property
    def shape(self) -> Shape:  # type: ignore[override]
        return self.value.shape

    def of(self, u: FloatArray) -> FloatArray:
        return np.broadcast_to(self.value, (len(u), *self.shape)).copy()


@dataclass(frozen=True, eq=False)
class Independent(Distribution):
    """Components that are independent, each by the inverse of its distribution function."""

    inverse: Callable[..., Any]
    arguments: tuple[FloatArray, ...]  # that broadcast to the shape
    name: str

    @property
    def shape(self) -> Shape:  # type: ignore[override]
        return common_batch(**{f"argument {i + 1}": a.shape for i, a in enumerate(self.arguments)})

    @property
    def uniforms(self) -> int:  # type: ignore[override]
        return int(np.prod(self.shape, dtype=int))

    def of(self, u: FloatArray) -> FloatArray:
        return np.asarray(self.inverse(u.reshape(-1, *self.shape), *self.arguments), dtype=np.float64)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(str(a.tolist()) for a in self.arguments)})"


@dataclass(frozen=True, eq=False)
class Frozen(Distribution):
    """A distribution of scipy.stats with its arguments: anything with ``ppf``, the inverse distribution function."""

    ppf: Callable[[Any], Any]
    name: str

    @property
    def shape(self) -> Shape:  # type: ignore[override]
        return np.shape(self.ppf(0.5))

    @property
    def uniforms(self) -> int:  # type: ignore[override]
        return int(np.prod(self.shape, dtype=int))

    def of(self, u: FloatArray) -> FloatArray:
        return np.asarray(self.ppf(u.reshape(-1, *self.shape)), dtype=np.float64)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Correlated(Distribution):
    """Normal, with a covariance: mean + L z, L its Cholesky factor."""

    mean: FloatArray
    factor: FloatArray

    @property
    def shape(self) -> Shape:  # type: ignore[override]
        return self.mean.shape

    @property
    def uniforms(self) -> int:  # type: ignore[override]
        return len(self.mean)

    def of(self, u: FloatArray) -> FloatArray:
        z = standard_normal(u)
        terms = [z[:, j, None] * self.factor[:, j] for j in range(len(self.mean))]
        return self.mean + sum(terms[1:], terms[0])  # never a matrix product, whose sums depend on how many rows it has


@dataclass(frozen=True)
class Attitude(Distribution):
    """Uniform on SO(3). K. Shoemake, Uniform random rotations, Graphics Gems III (1992), pp. 124-132."""

    shape = (4,)
    uniforms = 3

    def of(self, u: FloatArray) -> FloatArray:
        near, far = np.sqrt(1.0 - u[:, 0]), np.sqrt(u[:, 0])
        a, b = 2.0 * np.pi * u[:, 1], 2.0 * np.pi * u[:, 2]
        return np.stack([far * np.cos(b), near * np.sin(a), near * np.cos(a), far * np.sin(b)], axis=-1)


@dataclass(frozen=True, eq=False)
class AttitudeNear(Distribution):
    """q turned by a rotation vector in body axes whose components are normal, with deviations in radians."""

    q: FloatArray
    deviation: FloatArray
    shape = (4,)
    uniforms = 3

    def of(self, u: FloatArray) -> FloatArray:
        return multiply(self.q, from_rotation_vector(self.deviation * standard_normal(u)))


@dataclass(frozen=True, eq=False)
class Directions(Distribution):
    """Vectors of all directions alike, and lengths by another distribution (of one number)."""

    length: Distribution
    shape = (3,)

    @property
    def uniforms(self) -> int:  # type: ignore[override]
        return 2 + self.length.uniforms

    def of(self, u: FloatArray) -> FloatArray:
        z, angle = 2.0 * u[:, 0] - 1.0, 2.0 * np.pi * u[:, 1]
        across = 2.0 * np.sqrt(u[:, 0] * (1.0 - u[:, 0]))
        unit = np.stack([across * np.cos(angle), across * np.sin(angle), z], axis=-1)
        return self.length.of(u[:, 2:])[:, None] * unit


@dataclass(frozen=True, eq=False)
class MomentsNear(Distribution):
    """Moments of bodies that exist: the second moments of the mass, I1 = J2 + J3 and so on, are log-normal."""

    second: FloatArray
    spread: FloatArray
    shape = (3,)
    uniforms = 3

    def of(self, u: FloatArray) -> FloatArray:
        J = self.second * np.exp(self.spread * standard_normal(u))
        return np.stack([J[:, 1] + J[:, 2], J[:, 0] + J[:, 2], J[:, 0] + J[:, 1]], axis=-1)


@dataclass(frozen=True)
class Triangle(Distribution):
    """All bodies that exist, by their moments relative to I1 + I2 + I3: uniform in the inertia triangle."""

    trace: float
    shape = (3,)
    uniforms = 2

    def of(self, u: FloatArray) -> FloatArray:
        low, high = np.minimum(u[:, 0], u[:, 1]), np.maximum(u[:, 0], u[:, 1])
        return 0.5 * self.trace * np.stack([1.0 - low, 1.0 - (high - low), high], axis=-1)


@dataclass(frozen=True, eq=False)
class Each(Distribution):
    """function(rng) -> a value, called for each member with NumPy's generator on the member's own stream: any law."""

    function: Callable[[np.random.Generator], Any]
    shape: Shape
    uniforms = 0

    def of(self, u: FloatArray) -> FloatArray:
        raise NotImplementedError("each member has a generator of its own; call draw")

    def draw(self, seed: int, name: str, first: int, members: int) -> FloatArray:
        out = np.empty((members, *self.shape))
        for i in range(members):
            out[i] = self.function(generator(seed, name, first + i))
        return out


def standard_normal(u: FloatArray) -> FloatArray:
    from scipy.special import ndtri

    return ndtri(u)


def second_moments(moments: npt.ArrayLike) -> FloatArray:
    """J1 = (I2 + I3 - I1)/2 and so on, of one body that exists."""
    given = as_floats(moments, "moments", 3)
    if given.shape != (3,):
        raise ShapeError(f"moments have shape {given.shape}; expected (3,), those in the middle of the distribution")
    check_moments(given, "moments")
    J = 0.5 * given.sum() - given
    if not (J > 0).all():
        raise InputError(f"moments = {show(given)}: expected moments of a solid body, each less than the other two")
    return J


def cholesky(covariance: npt.ArrayLike, size: int) -> FloatArray:
    given = as_floats(covariance, "covariance", size)
    if given.shape != (size, size) or not np.allclose(given, given.T, rtol=1e-12, atol=0):
        raise ShapeError(f"covariance has shape {given.shape}; expected ({size}, {size}), symmetric")
    try:
        return np.asarray(np.linalg.cholesky(given), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise InputError("covariance is not positive definite, as needed; type its true eigenvalues") from None


def one_attitude(q: Any) -> FloatArray:
    found = as_quaternion(q)
    if found.shape != (4,):
        raise ShapeError(f"q has shape {found.shape}; expected (4,), the attitude in the middle of the distribution")
    return found
