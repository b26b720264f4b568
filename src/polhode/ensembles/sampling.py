"""Samples of the parameters of an ensemble: arrays, random distributions, or grids.

The values of a member depend only on the seed and on the member's number: see ``polhode.ensembles.random_streams``.

>>> from polhode import sampling
>>> spins = sampling.draw(1000, omega=sampling.normal((0, 0.1, 0), 0.01), q=sampling.attitude())
>>> {name: values.shape for name, values in spins.seeded(7)[990:].rows().items()}
{'omega': (10, 3), 'q': (10, 4)}
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import as_floats, common_batch, whole_number
from polhode.core.errors import InputError, ShapeError
from polhode.ensembles import distributions
from polhode.ensembles.distributions import Distribution, Each
from polhode.ensembles.random_streams import as_seed

__all__ = [
    "Samples",
    "always",
    "attitude",
    "attitude_near",
    "direction",
    "draw",
    "each",
    "grid",
    "inertia_triangle",
    "log_normal",
    "moments_near",
    "normal",
    "uniform",
]
__dir__ = __all__.copy  # public names only


Rows = dict[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a grid: each of its values is repeated for ``period`` consecutive members, and then the next."""

    values: FloatArray
    period: int

    def draw(self, seed: int, name: str, first: int, members: int) -> FloatArray:
        """Return the values of consecutive members, starting with member ``first``; they do not depend on the seed."""
        return self.values[np.arange(first, first + members) // self.period % len(self.values)]


@dataclass(frozen=True)
class Samples:
    """Samples of consecutive members of an ensemble; ``samples[a:b]`` selects some of them.

    Attributes
    ----------
    columns : dict
        For each name an array of shape (count, ...), a distribution, or an axis of a grid.
    count : int
        Number of members.
    first : int
        Number of the first member.
    seed : int or None
        Seed of the distributions. None if it is not chosen yet.

    Examples
    --------
    >>> samples = grid(a=[1.0, 2.0], b=[0.1, 0.2, 0.3])
    >>> len(samples), samples[4:].rows()["b"]
    (6, array([0.2, 0.3]))
    """

    columns: Mapping[str, FloatArray | Distribution | Axis]
    count: int
    first: int = 0
    seed: int | None = None

    def seeded(self, seed: int | None) -> Samples:
        """Return a copy with the given seed, or with a new random seed if ``seed`` is None."""
        return replace(self, seed=as_seed(seed))

    def __len__(self) -> int:
        """Return the number of members."""
        return self.count

    def __getitem__(self, part: slice) -> Samples:
        """Return the samples of the members in a slice; its step is ignored."""
        start, stop, _ = part.indices(self.count)
        columns = {n: c[start:stop] if isinstance(c, np.ndarray) else c for n, c in self.columns.items()}
        return replace(self, columns=columns, count=max(0, stop - start), first=self.first + start)

    def rows(self) -> Rows:
        """Return the values of all members: a dict of arrays of shape (count, ...).

        Without a seed, distributions give new random values at each call.
        """
        seed = as_seed(self.seed) if self.seed is None else self.seed
        return {
            name: column if isinstance(column, np.ndarray) else column.draw(seed, name, self.first, self.count)
            for name, column in self.columns.items()
        }

    def digest(self, ends: int) -> str:
        """Return a digest of the samples: of all arrays, and of the first and last ``ends`` members otherwise."""
        sha256 = hashlib.sha256()
        for name, column in sorted(self.columns.items()):
            sha256.update(name.encode())
            if isinstance(column, np.ndarray):
                sha256.update(np.ascontiguousarray(column).tobytes())
        drawn = replace(self, columns={n: c for n, c in self.columns.items() if not isinstance(c, np.ndarray)})
        for part in (drawn[:ends], drawn[max(0, self.count - ends) :]):
            for _, values in sorted(part.rows().items()):
                sha256.update(np.ascontiguousarray(values).tobytes())
        return sha256.hexdigest()


def as_samples(samples: Any) -> Samples:
    """Return ``samples`` as Samples; a dict needs one array of shape (members, ...) or more besides distributions."""
    if isinstance(samples, Samples):
        return samples
    if not isinstance(samples, Mapping) or not samples:
        raise InputError(
            f"samples are {type(samples).__name__}; expected a dict of arrays such as {{'omega': array (members, 3)}}, "
            "sampling.draw(count, ...) or sampling.grid(...)"
        )
    arrays = {name: column for name, column in samples.items() if as_law(column) is None}
    if not arrays:
        raise InputError(
            "samples contain only distributions; pass the number of members: sampling.draw(1000, omega=..., q=...)"
        )
    name, column = next(iter(arrays.items()))
    array = as_floats(column, name)
    if not array.ndim:
        raise ShapeError(f"{name} is one number; expected one value for each member, or sampling.always({array})")
    return draw(len(array), **samples)


def draw(count: int, **columns: Any) -> Samples:
    """Return samples of ``count`` members with values from distributions or arrays.

    Parameters
    ----------
    count : int
        Number of members.
    **columns : Distribution or array_like, shape (count, ...)
        Values by the name of the parameter: a distribution of this module, a frozen distribution of scipy.stats, or an
        array with one value for each member.

    Returns
    -------
    Samples

    Examples
    --------
    >>> from scipy import stats
    >>> draw(3, m=normal((0, 0, 1), 0.1), t=stats.expon(scale=5.0)).seeded(1).rows()["t"].shape
    (3,)
    """
    number = whole_number(count, "count", 1)
    checked: dict[str, FloatArray | Distribution | Axis] = {}
    for name, column in columns.items():
        law = as_law(column)
        if law is not None:
            checked[name] = law
            continue
        array = as_floats(column, name)
        if array.shape[:1] != (number,):
            raise ShapeError(
                f"{name} has shape {array.shape}; expected ({number}, ...), with members along the first axis"
            )
        checked[name] = array
    if not checked:
        raise InputError(
            "got no parameters; expected one or more, for instance sampling.draw(100, q=sampling.attitude())"
        )
    return Samples(checked, number)


def grid(**axes: npt.ArrayLike) -> Samples:
    """Return samples with every combination of the given values; the last name varies fastest.

    Parameters
    ----------
    **axes : array_like, shape (k, ...)
        Values by the name of the parameter.

    Returns
    -------
    Samples
        The number of members is the product of the numbers of values.

    Examples
    --------
    >>> samples = grid(a=[1.0, 2.0], b=[10.0, 20.0, 30.0])
    >>> samples.rows()["a"], samples.rows()["b"]
    (array([1., 1., 1., 2., 2., 2.]), array([10., 20., 30., 10., 20., 30.]))
    """
    values = {name: np.atleast_1d(as_floats(axis, name)) for name, axis in axes.items()}
    lengths = [len(axis) for axis in values.values()]
    if not prod(lengths) or not lengths:
        raise InputError("a grid needs one or more values for each name: sampling.grid(a=[1, 2], b=[1, 2, 3])")
    columns = {name: Axis(axis, prod(lengths[i + 1 :])) for i, (name, axis) in enumerate(values.items())}
    return Samples(columns, prod(lengths))


def as_law(column: Any) -> Distribution | None:
    """Return ``column`` as a Distribution, also if it comes from scipy.stats; None if it is not a distribution."""
    if isinstance(column, Distribution):
        return column
    if not hasattr(column, "ppf"):
        return None
    name = getattr(getattr(column, "dist", None), "name", type(column).__name__)
    name = f"{name}{getattr(column, 'args', '')}{getattr(column, 'kwds', '')}"
    shape = np.shape(column.ppf(0.5))
    return Distribution(name, shape, prod(shape), column.ppf)


def always(value: npt.ArrayLike) -> Distribution:
    """Return a distribution that gives all members the same value.

    Parameters
    ----------
    value : array_like
        The value, of any shape.

    Returns
    -------
    Distribution

    Examples
    --------
    >>> always((1.0, 2.0)).draw(1, "weight", 0, 3).shape
    (3, 2)
    """
    array = as_floats(value, "value")
    return _law("always", array.shape, 0, distributions.always, value=array)


def uniform(low: npt.ArrayLike, high: npt.ArrayLike) -> Distribution:
    """Return the uniform distribution between two limits, with independent components.

    Parameters
    ----------
    low, high : array_like
        Limits; they broadcast to the shape of one value.

    Returns
    -------
    Distribution

    Examples
    --------
    >>> float(uniform(2.0, 4.0).of(np.array([[0.25]]))[0])
    2.5
    """
    return _independent("uniform", distributions.between, low=low, high=high)


def normal(mean: npt.ArrayLike, deviation: npt.ArrayLike | None = None, *, covariance: Any = None) -> Distribution:
    """Return a normal distribution, with independent components or with a covariance matrix.

    Parameters
    ----------
    mean : array_like
        Mean. With ``covariance``, of shape (k,).
    deviation : array_like, optional
        Standard deviations of independent components; ``mean`` and ``deviation`` broadcast to the shape of one value.
    covariance : array_like, shape (k, k), optional
        Symmetric positive definite matrix. Pass either ``deviation`` or ``covariance``.

    Returns
    -------
    Distribution

    Examples
    --------
    >>> normal((0.0, 0.1, 0.0), 0.01).draw(1, "omega", 0, 5).shape
    (5, 3)
    """
    if (deviation is None) == (covariance is None):
        raise InputError("pass either the standard deviation or covariance=..., such as normal((0, 0, 1), 0.1)")
    if covariance is None:
        return _independent("normal", distributions.around, mean=mean, deviation=deviation)
    middle = np.atleast_1d(as_floats(mean, "mean"))
    factor = distributions.cholesky(covariance, middle.size)
    return _law("normal", middle.shape, middle.size, distributions.correlated, mean=middle, factor=factor)


def log_normal(median: npt.ArrayLike, spread: npt.ArrayLike) -> Distribution:
    """Return the log-normal distribution of median * exp(spread * z), z standard normal; the values are positive.

    Parameters
    ----------
    median : array_like
        Median of the values.
    spread : array_like
        Standard deviation of the logarithm; if it is small, that is the relative standard deviation of the values.
        ``median`` and ``spread`` broadcast to the shape of one value.

    Returns
    -------
    Distribution

    Examples
    --------
    >>> bool((log_normal(2.0, 0.5).draw(1, "mass", 0, 100) > 0).all())
    True
    """
    return _independent("log_normal", distributions.factor_around, median=median, spread=spread)


def attitude() -> Distribution:
    """Return the uniform distribution of attitudes on SO(3), as unit quaternions of shape (4,), scalar first.

    Returns
    -------
    Distribution

    Examples
    --------
    >>> attitude().draw(1, "q", 0, 5).shape
    (5, 4)
    """
    return _law("attitude", (4,), 3, distributions.attitude)


def attitude_near(q: Any, deviation: npt.ArrayLike) -> Distribution:
    """Return a distribution of attitudes near ``q``, as unit quaternions of shape (4,), scalar first.

    Parameters
    ----------
    q : array_like, shape (4,)
        Center of the distribution: a unit quaternion.
    deviation : float or array_like, shape (3,)
        Standard deviations, in radians, of the rotation vector in body axes, whose components are normal.

    Returns
    -------
    Distribution

    Examples
    --------
    >>> bool((attitude_near((1, 0, 0, 0), 1e-3).draw(1, "q", 0, 100)[:, 0] > 0.9999).all())
    True
    """
    center, widths = distributions.one_attitude(q), np.broadcast_to(as_floats(deviation, "deviation"), (3,))
    return _law("attitude_near", (4,), 3, distributions.attitude_near, q=center, deviation=widths)


def direction(length: Any = 1.0) -> Distribution:
    """Return a distribution of vectors of shape (3,) whose directions are uniform on the sphere.

    Parameters
    ----------
    length : float or Distribution, optional
        Length of the vectors, or a distribution of one number (also of scipy.stats).

    Returns
    -------
    Distribution

    Examples
    --------
    >>> np.linalg.norm(direction(2.0).draw(1, "m", 0, 3), axis=-1).round(12)
    array([2., 2., 2.])
    """
    law = as_law(length) or always(length)
    if law.shape:
        raise ShapeError(f"length has shape {law.shape}; expected one number, or a distribution of one number")
    return _law("direction", (3,), 2 + law.uniforms, distributions.direction, length=law)


def moments_near(moments: npt.ArrayLike, spread: npt.ArrayLike) -> Distribution:
    """Return a distribution of physically possible principal moments near ``moments``.

    No moment exceeds the sum of the other two, because the second moments of mass along the axes, (I2 + I3 - I1)/2 and
    so on, are drawn from log-normal distributions.

    Parameters
    ----------
    moments : array_like, shape (3,)
        Principal moments at the center of the distribution, each less than the sum of the other two.
    spread : float or array_like, shape (3,)
        Standard deviations of the logarithms of the second moments of mass.

    Returns
    -------
    Distribution

    Examples
    --------
    >>> a, b, c = moments_near((1.0, 1.65, 1.97), 0.2).draw(1, "moments", 0, 1000).T
    >>> bool((a + b > c).all())
    True
    """
    second, widths = distributions.second_moments(moments), np.broadcast_to(as_floats(spread, "spread"), (3,))
    return _law("moments_near", (3,), 3, distributions.moments_near, second=second, spread=widths)


def inertia_triangle(trace: float = 1.0) -> Distribution:
    """Return the uniform distribution of physically possible principal moments with I1 + I2 + I3 = trace.

    Such moments form a triangle, the inertia triangle: no moment exceeds the sum of the other two.

    Parameters
    ----------
    trace : float, optional
        Sum of the moments.

    Returns
    -------
    Distribution

    Examples
    --------
    >>> inertia_triangle(3.0).draw(1, "moments", 0, 2).sum(axis=-1).round(12)
    array([3., 3.])
    """
    return _law("inertia_triangle", (3,), 2, distributions.triangle, trace=float(trace))


def each(function: Callable[[np.random.Generator], Any], shape: tuple[int, ...] = ()) -> Distribution:
    """Return a distribution whose values are returned by a function, which is called once for each member.

    Any distribution can be written in this way, but it is slower than the others.

    Parameters
    ----------
    function : callable
        ``function(rng)`` returns one value; ``rng`` is a ``numpy.random.Generator`` of the member's own.
    shape : tuple of int, optional
        Shape of one value. By default, a number.

    Returns
    -------
    Distribution

    Examples
    --------
    >>> gamma = each(lambda rng: rng.gamma(2.0))
    >>> gamma.draw(7, "weight", 0, 5)[3] == gamma.draw(7, "weight", 3, 1)[0]
    np.True_
    """
    return Each("each", tuple(shape), 0, function)


def _independent(name: str, inverse: Callable[..., Any], **arguments: Any) -> Distribution:
    """Return a distribution of independent components with the given inverse distribution function."""
    arrays = {key: as_floats(value, key) for key, value in arguments.items()}
    shape = common_batch(**{key: array.shape for key, array in arrays.items()})
    return _law(name, shape, prod(shape), inverse, **arrays)


def _law(
    name: str, shape: tuple[int, ...], uniforms: int, function: Callable[..., Any], **arguments: Any
) -> Distribution:
    """Return a distribution whose name shows its arguments."""
    shown = ", ".join(str(x.tolist() if isinstance(x, np.ndarray) else x) for x in arguments.values())
    return Distribution(f"{name}({shown})", shape, uniforms, function, arguments)
