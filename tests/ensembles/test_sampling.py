"""Samples: NumPy's Philox word for word, laws as the textbooks have them, and no number that depends on chunks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from polhode import errors, sampling
from polhode.core.rotation import matrix
from polhode.ensembles import distributions
from polhode.ensembles import random_streams as streams
from polhode.kernels.numbers import philox

SEED = 0x1EDCBA9876543210
COUNT = 20_000

LAWS = {
    "always": sampling.always((1.0, 2.0)),
    "uniform": sampling.uniform((0, 1, 2), 5),
    "normal": sampling.normal((1, 2, 3), 0.1),
    "correlated": sampling.normal((1, 2), covariance=((2.0, 0.5), (0.5, 1.0))),
    "log_normal": sampling.log_normal(2.0, 0.3),
    "attitude": sampling.attitude(),
    "attitude_near": sampling.attitude_near((0.6, 0.8, 0, 0), 0.05),
    "direction": sampling.direction(sampling.uniform(1, 2)),
    "moments_near": sampling.moments_near((1.0, 1.5, 2.0), (0.1, 0.2, 0.3)),
    "inertia_triangle": sampling.inertia_triangle(2.0),
    "each": sampling.each(lambda rng: rng.gamma(2.0, size=2), (2,)),
    "scipy": sampling.as_law(stats.expon(scale=3.0)),
}


def drawn(name, count=COUNT, first=0):
    return LAWS[name].draw(SEED, name, first, count)


def test_numbers_are_those_of_numpy():
    """numpy.random.Philox with key (seed, member), and the name's hash as the upper word of the counter."""
    first, count = 2**40 + 5, 11
    found = streams.uniforms(SEED, "spin", first, 9, count)
    for i, row in enumerate(found):
        words = streams.generator(SEED, "spin", first + i).bit_generator.random_raw(count)
        assert (row == ((words >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52).all()
        direct = np.random.Philox(key=np.array([SEED, first + i], np.uint64)).random_raw(count)
        assert not (direct == words).any()


def test_streams_differ():
    several = [streams.uniforms(s, n, f, 1, 8) for s in (0, 1) for n in ("a", "b") for f in (0, 1, 2**33)]
    assert len({x.tobytes() for x in several}) == 12
    assert streams.as_seed(None) != streams.as_seed(None)


def test_never_zero_or_one():
    """Whatever the words: the normal distribution has no infinite values."""
    for word, value in ((0, 2.0**-53), (2**32 - 1, 1 - 2.0**-53)):
        assert getattr(philox.unit, "py_func", philox.unit)((word, word)) == value


@pytest.mark.parametrize("name", LAWS)
def test_no_number_depends_on_the_chunk(name, monkeypatch):
    whole = drawn(name, 200)
    with monkeypatch.context() as patch:
        patch.setattr(distributions, "PIECE", 17)
        assert drawn(name, 200).tobytes() == whole.tobytes()
    assert whole.shape == (200, *LAWS[name].shape)
    for size in (1, 3, 64):
        parts = [drawn(name, min(size, 200 - first), first) for first in range(0, 200, size)]
        assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_samples_in_parts():
    rows = {"given": np.arange(20.0).reshape(10, 2), "q": sampling.attitude()}
    samples = sampling.as_samples(rows).seeded(3)
    part = samples[4:7]
    assert (len(part), part.first) == (3, 4)
    for name, values in samples.rows().items():
        assert values[4:7].tobytes() == part.rows()[name].tobytes()
        assert values[5:6].tobytes() == part[1:2].rows()[name].tobytes()
    alone = sampling.draw(10, q=sampling.attitude()).seeded(3).rows()["q"]
    assert alone.tobytes() == samples.rows()["q"].tobytes()


def agrees(values, law):
    return stats.kstest(np.ravel(values), law).pvalue > 1e-3


def test_laws_of_numbers():
    assert agrees(drawn("normal")[:, 1], stats.norm(2, 0.1).cdf)
    assert agrees(drawn("uniform")[:, 2], stats.uniform(2, 3).cdf)
    assert agrees(drawn("log_normal"), stats.lognorm(0.3, scale=2.0).cdf)
    assert agrees(drawn("scipy"), stats.expon(scale=3.0).cdf)
    assert agrees(drawn("each", 2000)[:, 0], stats.gamma(2.0).cdf)
    assert (drawn("always") == (1.0, 2.0)).all()


def test_components_are_independent():
    u = streams.uniforms(SEED, "x", 0, COUNT, 8)
    correlation = np.corrcoef(u, rowvar=False) - np.eye(8)
    assert np.abs(correlation).max() < 5 / np.sqrt(COUNT)
    neighbors = np.corrcoef(u[:-1, 0], u[1:, 0])[0, 1]
    assert abs(neighbors) < 5 / np.sqrt(COUNT)


def test_covariance():
    found = np.cov(drawn("correlated"), rowvar=False)
    assert np.abs(found - ((2.0, 0.5), (0.5, 1.0))).max() < 5 * 2 * np.sqrt(2 / COUNT)
    assert np.abs(drawn("correlated").mean(axis=0) - (1, 2)).max() < 5 * np.sqrt(2 / COUNT)


def test_attitudes_are_uniform():
    """The angle of rotation has the density (1 - cos a)/pi of Haar's measure; columns are uniform on the sphere."""
    q = drawn("attitude")
    assert np.abs(np.linalg.norm(q, axis=-1) - 1).max() < 1e-15
    angle = 2 * np.arccos(np.minimum(np.abs(q[:, 0]), 1.0))
    assert agrees(angle, lambda a: (a - np.sin(a)) / np.pi)
    for row, column in itertools.product(range(3), range(3)):
        assert agrees(matrix(q)[:, row, column], stats.uniform(-1, 2).cdf)


def test_attitudes_near():
    q = drawn("attitude_near")
    relative = np.einsum("ij,njk->nik", matrix(np.array([0.6, 0.8, 0, 0])).T, matrix(q))
    vector = np.stack([relative[:, 2, 1], relative[:, 0, 2], relative[:, 1, 0]], axis=-1)  # sin(a) u, nearly
    assert np.abs(vector.mean(axis=0)).max() < 5 * 0.05 / np.sqrt(COUNT)
    assert np.abs(vector.std(axis=0) / 0.05 - 1).max() < 0.02
    exact = sampling.attitude_near((0.6, 0.8, 0, 0), 0.0).draw(1, "q", 0, 3)
    assert np.abs(exact - (0.6, 0.8, 0, 0)).max() < 1e-15


def test_directions():
    v = drawn("direction")
    length = np.linalg.norm(v, axis=-1)
    assert agrees(length, stats.uniform(1, 1).cdf)
    for component in range(3):
        assert agrees(v[:, component] / length, stats.uniform(-1, 2).cdf)


def test_moments_of_bodies_that_exist():
    near, anywhere = drawn("moments_near"), drawn("inertia_triangle")
    for moments in (near, anywhere):
        assert (2 * moments.max(axis=-1) <= moments.sum(axis=-1) * (1 + 1e-15)).all()
    J = 0.5 * near.sum(axis=-1, keepdims=True) - near
    for k, (middle, spread) in enumerate(zip((1.25, 0.75, 0.25), (0.1, 0.2, 0.3), strict=True)):
        assert agrees(np.log(J[:, k] / middle), stats.norm(0, spread).cdf)
    assert np.abs(anywhere.sum(axis=-1) - 2.0).max() < 1e-15 * 4
    for k in range(3):  # a part of a stick that is broken at two places
        assert agrees(1.0 - anywhere[:, k], stats.beta(1, 2).cdf)


def test_grid():
    axes = {"a": [1.0, 2.0, 3.0], "b": [10.0, 20.0], "c": [(1.0, 1.0), (2.0, 2.0)]}
    samples = sampling.grid(**axes)
    rows = samples.rows()
    for member, (a, b, c) in enumerate(itertools.product(*axes.values())):
        assert (rows["a"][member], rows["b"][member]) == (a, b)
        assert rows["c"][member].tolist() == list(c)
    part = samples[5:9].rows()
    assert all((part[name] == rows[name][5:9]).all() for name in rows)


def test_digest():
    def digest(**columns):
        return sampling.draw(100, **columns).seeded(1).digest(8)

    array = np.arange(100.0)
    base = digest(a=array, q=sampling.attitude())
    assert base == digest(q=sampling.attitude(), a=array.copy())
    changed = array.copy()
    changed[50] += 1e-13
    assert base != digest(a=changed, q=sampling.attitude())
    assert base != digest(a=array, q=sampling.attitude_near((1, 0, 0, 0), 1.0))
    assert base != sampling.draw(100, a=array, q=sampling.attitude()).seeded(2).digest(8)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: sampling.as_samples([1, 2]), "samples are list; needed: a table of arrays"),
        (lambda: sampling.as_samples({"q": sampling.attitude()}), "say how many: sampling.draw"),
        (lambda: sampling.as_samples({"weight": 3.0}), "sampling.always"),
        (lambda: sampling.draw(3, a=[1.0, 2.0]), r"a has shape \(2,\); needed: \(3, ...\)"),
        (lambda: sampling.draw(0, a=sampling.attitude()), "count is 0; needed: 1 or more"),
        (lambda: sampling.draw(5), "nothing is varied"),
        (lambda: sampling.grid(a=[]), "one or more values"),
        (lambda: sampling.normal(0.0), "either the standard deviation or covariance"),
        (lambda: sampling.normal((0, 0), covariance=((1, 2), (2, 1))), "not positive definite"),
        (lambda: sampling.normal((0, 0), covariance=((1, 2), (3, 1))), "symmetric"),
        (lambda: sampling.moments_near((1, 1, 3), 0.1), "each less than the other two"),
        (lambda: sampling.moments_near(((1, 1, 1),), 0.1), r"needed: \(3,\)"),
        (lambda: sampling.direction(sampling.attitude()), "one number"),
        (lambda: sampling.attitude_near(((1, 0, 0, 0),), 0.1), r"needed: \(4,\)"),
        (lambda: streams.as_seed(-1), "seed is -1"),
        (lambda: streams.as_seed(2**63), "from 0 to 2"),
        (lambda: streams.as_seed(1.5), "a whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(call, told):
    with pytest.raises(errors.InputError, match=told):
        call()
