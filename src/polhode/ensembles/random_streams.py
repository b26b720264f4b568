"""Random streams of the members of an ensemble, which depend only on the seed, the member's number and a name.

A member therefore gets the same numbers in whatever chunk, order or process they are drawn, and removing one name does
not change the others. The generator is NumPy's Philox4x64-10; its key is a digest of the seed and the name. Of the
2^256 blocks of a key, the first 2^128 hold the uniform numbers, the same count for each member, one member after the
other. After them, every member has 2^128 blocks for a generator of its own.
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.checks import whole_number
from polhode.core.errors import InputError

LARGEST = 2**63 - 1  # files store seeds as signed integers
WORDS_PER_BLOCK = 4  # of Philox4x64; a uniform number takes one word
LEAST = 2.0**-54  # replaces 0, one of NumPy's 2^53 values, at which the inverse normal distribution is infinite


def as_seed(seed: int | None) -> int:
    """Return ``seed`` if it is an integer from 0 to 2^63 - 1, or a new random seed if it is None."""
    if seed is None:
        return secrets.randbits(63)
    if whole_number(seed, "seed") > LARGEST:
        raise InputError(f"seed is {seed}; expected a whole number from 0 to 2^63 - 1")
    return int(seed)


def uniforms(seed: int, name: str, first: int, members: int, count: int) -> FloatArray:
    """Return uniform numbers between 0 and 1 (exclusive), shape (members, count), starting with member ``first``.

    >>> a, b = uniforms(7, "spin", 0, 10, 3), uniforms(7, "spin", 6, 4, 3)
    >>> bool((a[6:] == b).all())
    True
    """
    block, offset = divmod(first * count, WORDS_PER_BLOCK)
    numbers = _philox(seed, name, block).random(offset + members * count)
    return np.maximum(numbers[offset:], LEAST).reshape(members, count)


def generator(seed: int, name: str, member: int) -> np.random.Generator:
    """Return a NumPy generator for one member, for distributions that are not a function of uniform numbers.

    >>> float(generator(7, "spin", 6).random()) == float(generator(7, "spin", 6).random())
    True
    """
    return _philox(seed, name, (member + 1) << 128)


def _philox(seed: int, name: str, counter: int) -> np.random.Generator:
    """Return NumPy's Philox generator, starting at block ``counter``; its key is a digest of the seed and the name."""
    key = hashlib.blake2b(f"{seed} {name}".encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(counter=counter, key=int.from_bytes(key, "big")))
