"""Samples: NumPy's Philox, number for number, laws as the textbooks have them, and no number that depends on chunks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from polhode import errors, sampling
from polhode.core.rotation import matrix
from polhode.ensembles import distributions
from polhode.ensembles import random_streams as streams

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


def numpy_words(block):
    """Return NumPy's Philox from one of its blocks on; the key is what ``b2sum -l 128`` prints for SEED and "spin"."""
    return np.random.Philox(key=0xC8BC1F53B5E3F7448612370B491991CA).advance(block)


def test_numbers_are_those_of_numpy():
    """Uniform numbers lie member after member in blocks of four words; generators of members lie 2^128 blocks apart."""
    first, members, count = 2**40 + 5, 9, 11
    words = numpy_words(first * count // 4)
    words.random_raw(first * count % 4)
    expected = np.random.Generator(words).random((members, count))
    assert (streams.uniforms(SEED, "spin", first, members, count) == expected).all()
    for member in (0, first):
        words = numpy_words((member + 1) * 2**128).random_raw(5)
        assert (streams.generator(SEED, "spin", member).bit_generator.random_raw(5) == words).all()


def test_streams_differ():
    keys = list(itertools.product((0, 1, 2**63 - 2, 2**63 - 1), ("a", "b", "1 a"), (0, 1, 2**33)))
    blocks = [streams.uniforms(*key, 1, 8) for key in keys]
    alone = [streams.generator(*key).random(8) for key in keys]
    assert len({numbers.tobytes() for numbers in blocks + alone}) == 2 * len(keys)
    assert streams.as_seed(None) != streams.as_seed(None)


def test_never_zero_or_one(monkeypatch):
    """NumPy's numbers may be 0 and are at most 1 - 2^-53; at 0 and 1 the normal distribution has infinite values."""

    class Extremes:
        def random(self, size):
            return np.resize([0.0, 1 - 2.0**-53], size)

    monkeypatch.setattr(streams, "_philox", lambda *key: Extremes())
    numbers = streams.uniforms(SEED, "spin", 0, 2, 2)
    assert ((numbers > 0) & (numbers < 1)).all()
    assert np.isfinite(distributions.standard_normal(numbers)).all()


@pytest.mark.parametrize("name", LAWS)
def test_no_number_depends_on_the_chunk(name):
    whole = drawn(name, 200)
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
    others = (
        u[1:, 0],
        streams.uniforms(SEED, "y", 0, COUNT - 1, 1)[:, 0],
        streams.uniforms(SEED + 1, "x", 0, COUNT - 1, 1)[:, 0],
    )
    for other in others:
        assert abs(np.corrcoef(u[:-1, 0], other)[0, 1]) < 5 / np.sqrt(COUNT)


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
        (lambda: sampling.as_samples([1, 2]), "samples are list; expected a dict of arrays"),
        (lambda: sampling.as_samples({"q": sampling.attitude()}), "pass the number of members: sampling.draw"),
        (lambda: sampling.as_samples({"weight": 3.0}), "sampling.always"),
        (lambda: sampling.draw(3, a=[1.0, 2.0]), r"a has shape \(2,\); expected \(3, ...\)"),
        (lambda: sampling.draw(0, a=sampling.attitude()), "count is 0; expected 1 or more"),
        (lambda: sampling.draw(5), "got no parameters"),
        (lambda: sampling.grid(a=[]), "one or more values"),
        (lambda: sampling.normal(0.0), "either the standard deviation or covariance"),
        (lambda: sampling.normal((0, 0), covariance=((1, 2), (2, 1))), "not positive definite"),
        (lambda: sampling.normal((0, 0), covariance=((1, 2), (3, 1))), "symmetric"),
        (lambda: sampling.moments_near((1, 1, 3), 0.1), "each less than the sum of the other two"),
        (lambda: sampling.moments_near(((1, 1, 1),), 0.1), r"expected \(3,\)"),
        (lambda: sampling.direction(sampling.attitude()), "one number"),
        (lambda: sampling.attitude_near(((1, 0, 0, 0),), 0.1), r"expected \(4,\)"),
        (lambda: streams.as_seed(-1), "seed is -1"),
        (lambda: streams.as_seed(2**63), "from 0 to 2"),
        (lambda: streams.as_seed(1.5), "a whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(call, told):
    with pytest.raises(errors.InputError, match=told):
        call()
