"""Random streams of the members of an ensemble: each a function of the seed, the member's number and a name, no more.

So a member has the same numbers in whatever chunk, order or process they are drawn; and leaving one name out changes
nothing about the others. The generator is NumPy's Philox4x64-10, whose key is a digest of seed and name. Of the
2^256 blocks of a key the first 2^128 hold the uniform numbers, member after member, as many for each; after them every
member has 2^128 blocks for a generator of its own.
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.checks import whole_number
from polhode.core.errors import InputError

LARGEST = 2**63 - 1  # files hold seeds as signed numbers
WORDS_PER_BLOCK = 4  # of Philox4x64; a uniform number takes one word
LEAST = 2.0**-54  # in place of 0, one of the 2^53 values of NumPy, of which the inverse normal distribution is infinite


def as_seed(seed: int | None) -> int:
    """A whole number of up to 63 bits; None makes a new one."""
    if seed is None:
        return secrets.randbits(63)
    if whole_number(seed, "seed") > LARGEST:
        raise InputError(f"seed is {seed}; expected a whole number from 0 to 2^63 - 1")
    return int(seed)


def uniforms(seed: int, name: str, first: int, members: int, count: int) -> FloatArray:
    """Return (members, count) numbers between 0 and 1, both excluded, of the members from number ``first`` on.

    >>> a, b = uniforms(7, "spin", 0, 10, 3), uniforms(7, "spin", 6, 4, 3)
    >>> bool((a[6:] == b).all())
    True
    """
    block, offset = divmod(first * count, WORDS_PER_BLOCK)
    numbers = _philox(seed, name, block).random(offset + members * count)
    return np.maximum(numbers[offset:], LEAST).reshape(members, count)


def generator(seed: int, name: str, member: int) -> np.random.Generator:
    """Return a NumPy generator for one member: for what no formula makes of uniform numbers.

    >>> float(generator(7, "spin", 6).random()) == float(generator(7, "spin", 6).random())
    True
    """
    return _philox(seed, name, (member + 1) << 128)


def _philox(seed: int, name: str, counter: int) -> np.random.Generator:
    """Return NumPy's generator from the block ``counter`` on; a digest of seed and name is the key."""
    key = hashlib.blake2b(f"{seed} {name}".encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(counter=counter, key=int.from_bytes(key, "big")))
