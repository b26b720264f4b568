"""What the members of an ensemble are: arrays, distributions by a seed, or a grid.

A member's values depend on the seed and its own number alone: see ``polhode.ensembles.random_streams``.

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
from polhode.core.checks import as_floats, whole_number
from polhode.core.errors import InputError, ShapeError
from polhode.ensembles.distributions import (
    Always,
    Attitude,
    AttitudeNear,
    Correlated,
    Directions,
    Distribution,
    Each,
    Frozen,
    Independent,
    MomentsNear,
    Triangle,
    cholesky,
    one_attitude,
    second_moments,
    standard_normal,
)
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


def __dir__() -> list[str]:
    return __all__


Rows = dict[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Axis:
    """An axis of a grid: members count through its values, the next axis turning ``period`` times as fast."""

    values: FloatArray
    period: int

    def draw(self, seed: int, name: str, first: int, members: int) -> FloatArray:
        return self.values[np.arange(first, first + members) // self.period % len(self.values)]


@dataclass(frozen=True)
class Samples:
    """``count`` members from number ``first`` on: columns by name, each an array, a distribution or an axis of a grid.

    ``samples[a:b]`` are some of them, ``rows()`` their values, with the members along the first axis.

    >>> samples = grid(a=[1.0, 2.0], b=[0.1, 0.2, 0.3])
    >>> len(samples), samples[4:].rows()["b"]
    (6, array([0.2, 0.3]))
    """

    columns: Mapping[str, FloatArray | Distribution | Axis]
    count: int
    first: int = 0
    seed: int | None = None

    def seeded(self, seed: int | None) -> Samples:
        """The same, with a seed; None makes a new one."""
        return replace(self, seed=as_seed(seed))

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, part: slice) -> Samples:
        start, stop, _ = part.indices(self.count)
        columns = {n: c[start:stop] if isinstance(c, np.ndarray) else c for n, c in self.columns.items()}
        return replace(self, columns=columns, count=max(0, stop - start), first=self.first + start)

    def rows(self) -> Rows:
        seed = as_seed(self.seed) if self.seed is None else self.seed
        return {
            name: column if isinstance(column, np.ndarray) else column.draw(seed, name, self.first, self.count)
            for name, column in self.columns.items()
        }

    def digest(self, ends: int) -> str:
        """By which the same samples are known again: all arrays, and ``ends`` members at both ends of the rest."""
        found = hashlib.sha256()
        for name, column in sorted(self.columns.items()):
            found.update(name.encode())
            if isinstance(column, np.ndarray):
                found.update(np.ascontiguousarray(column).tobytes())
        drawn = replace(self, columns={n: c for n, c in self.columns.items() if not isinstance(c, np.ndarray)})
        for part in (drawn[:ends], drawn[max(0, self.count - ends) :]):
            for _, values in sorted(part.rows().items()):
                found.update(np.ascontiguousarray(values).tobytes())
        return found.hexdigest()


def as_samples(samples: Any) -> Samples:
    """What ``draw`` or ``grid`` made, or a table of arrays (members, ...), with distributions beside them."""
    if isinstance(samples, Samples):
        return samples
    if not isinstance(samples, Mapping) or not samples:
        raise InputError(
            f"samples are {type(samples).__name__}; expected a dict of arrays such as {{'omega': array (members, 3)}}, "
            "sampling.draw(count, ...) or sampling.grid(...)"
        )
    given = {name: column for name, column in samples.items() if not _is_law(column)}
    if not given:
        raise InputError("samples are distributions only; say how many: sampling.draw(1000, omega=..., q=...)")
    name, column = next(iter(given.items()))
    array = as_floats(column, name)
    if not array.ndim:
        raise ShapeError(f"{name} is one number; expected one for each member, or sampling.always({array})")
    return draw(len(array), **samples)


def draw(count: int, **columns: Any) -> Samples:
    """``count`` members, with values from distributions (also those of scipy.stats) or arrays (count, ...).

    >>> from scipy import stats
    >>> draw(3, m=normal((0, 0, 1), 0.1), t=stats.expon(scale=5.0)).seeded(1).rows()["t"].shape
    (3,)
    """
    number = whole_number(count, "count", 1)
    found: dict[str, FloatArray | Distribution | Axis] = {}
    for name, column in columns.items():
        law = as_law(column)
        if law is not None:
            found[name] = law
            continue
        array = as_floats(column, name)
        if array.shape[:1] != (number,):
            raise ShapeError(f"{name} has shape {array.shape}; expected ({number}, ...), the first axis being members")
        found[name] = array
    if not found:
        raise InputError("nothing is varied; type for instance sampling.draw(100, q=sampling.attitude())")
    return Samples(found, number)


def grid(**axes: npt.ArrayLike) -> Samples:
    """Every combination of values (k, ...), the last name varying fastest.

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
    """A distribution, also one of scipy.stats; None if it is none."""
    if isinstance(column, Distribution):
        return column
    if not hasattr(column, "ppf"):
        return None
    told = getattr(getattr(column, "dist", None), "name", type(column).__name__)
    return Frozen(column.ppf, f"{told}{getattr(column, 'args', '')}{getattr(column, 'kwds', '')}")


def _is_law(column: Any) -> bool:
    return isinstance(column, Distribution) or hasattr(column, "ppf")


def always(value: npt.ArrayLike) -> Distribution:
    """The same value (...) for all members.

    >>> always((1.0, 2.0)).draw(1, "weight", 0, 3).shape
    (3, 2)
    """
    return Always(as_floats(value, "value"))


def uniform(low: npt.ArrayLike, high: npt.ArrayLike) -> Distribution:
    """Between low and high (...), which broadcast; components are independent.

    >>> float(uniform(2.0, 4.0).of(np.array([[0.25]]))[0])
    2.5
    """
    return _independent("uniform", _between, low=low, high=high)


def normal(mean: npt.ArrayLike, deviation: npt.ArrayLike | None = None, *, covariance: Any = None) -> Distribution:
    """Normal: with a standard deviation (...) of independent components, or with a covariance (k, k).

    >>> normal((0.0, 0.1, 0.0), 0.01).draw(1, "omega", 0, 5).shape
    (5, 3)
    """
    if (deviation is None) == (covariance is None):
        raise InputError("give either the standard deviation or covariance=..., such as normal((0, 0, 1), 0.1)")
    if covariance is None:
        return _independent("normal", _around, mean=mean, deviation=deviation)
    middle = np.atleast_1d(as_floats(mean, "mean"))
    return Correlated(middle, cholesky(covariance, middle.size))


def log_normal(median: npt.ArrayLike, spread: npt.ArrayLike) -> Distribution:
    """median exp(spread z), z normal (...): positive, and for small spreads known to that relative error.

    >>> bool((log_normal(2.0, 0.5).draw(1, "mass", 0, 100) > 0).all())
    True
    """
    return _independent("log_normal", _factor_around, median=median, spread=spread)


def attitude() -> Distribution:
    """Quaternions (4,) of all attitudes alike: uniform on SO(3).

    >>> attitude().draw(1, "q", 0, 5).shape
    (5, 4)
    """
    return Attitude()


def attitude_near(q: Any, deviation: npt.ArrayLike) -> Distribution:
    """Quaternions (4,) near q: turned about body axes by normal angles with deviations (3,), or one, in radians.

    >>> bool((attitude_near((1, 0, 0, 0), 1e-3).draw(1, "q", 0, 100)[:, 0] > 0.9999).all())
    True
    """
    return AttitudeNear(one_attitude(q), np.broadcast_to(as_floats(deviation, "deviation"), (3,)))


def direction(length: Any = 1.0) -> Distribution:
    """Vectors (3,) of all directions alike, and a length that is a number or a distribution of one.

    >>> np.linalg.norm(direction(2.0).draw(1, "m", 0, 3), axis=-1).round(12)
    array([2., 2., 2.])
    """
    law = as_law(length) or always(length)
    if law.shape:
        raise ShapeError(f"length has shape {law.shape}; expected one number, or a distribution of one number")
    return Directions(law)


def moments_near(moments: npt.ArrayLike, spread: npt.ArrayLike) -> Distribution:
    """Principal moments (3,) of bodies that exist (none exceeds the sum of the others), about those given.

    ``spread`` (3,), or one, is the relative deviation of the mean squares of the mass along the axes.

    >>> a, b, c = moments_near((1.0, 1.65, 1.97), 0.2).draw(1, "moments", 0, 1000).T
    >>> bool((a + b > c).all())
    True
    """
    return MomentsNear(second_moments(moments), np.broadcast_to(as_floats(spread, "spread"), (3,)))


def inertia_triangle(trace: float = 1.0) -> Distribution:
    """Principal moments (3,) of all bodies that exist with I1 + I2 + I3 = trace, uniform in the inertia triangle.

    >>> inertia_triangle(3.0).draw(1, "moments", 0, 2).sum(axis=-1).round(12)
    array([3., 3.])
    """
    return Triangle(float(trace))


def each(function: Callable[[np.random.Generator], Any], shape: tuple[int, ...] = ()) -> Distribution:
    """Any law: ``function(rng)`` gives one value of that shape, from the member's own generator; slower.

    >>> gamma = each(lambda rng: rng.gamma(2.0))
    >>> gamma.draw(7, "weight", 0, 5)[3] == gamma.draw(7, "weight", 3, 1)[0]
    np.True_
    """
    return Each(function, tuple(shape))


def _independent(name: str, inverse: Callable[..., Any], **arguments: Any) -> Distribution:
    return Independent(inverse, tuple(as_floats(value, key) for key, value in arguments.items()), name)


def _between(u: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    return low + u * (high - low)


def _around(u: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    return mean + deviation * standard_normal(u)


def _factor_around(u: FloatArray, median: FloatArray, spread: FloatArray) -> FloatArray:
    return median * np.exp(spread * standard_normal(u))
