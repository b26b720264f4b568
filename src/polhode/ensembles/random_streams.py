"""Random streams of the members of an ensemble: each a function of the seed, the member's number and a name, no more.

So a member has the same numbers in whatever chunk, order or process they are drawn; and leaving one name out changes
nothing about the others. The generator is Philox4x64-10 (``kernels.numbers.philox``), with key (seed, member) and
counter (block, 0, 0, hash of the name).
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.checks import whole_number
from polhode.core.errors import InputError

LARGEST = 2**63 - 1  # files hold seeds as signed numbers


def as_seed(seed: int | None) -> int:
    """A whole number of up to 63 bits; None makes a new one."""
    if seed is None:
        return secrets.randbits(63)
    if whole_number(seed, "seed") > LARGEST:
        raise InputError(f"seed is {seed}; needed: a whole number from 0 to 2^63 - 1")
    return int(seed)


def uniforms(seed: int, name: str, first: int, members: int, count: int) -> FloatArray:
    """(members, count) numbers between 0 and 1, never one of them, of the members from number ``first`` on.

    >>> a, b = uniforms(7, "spin", 0, 10, 3), uniforms(7, "spin", 6, 4, 3)
    >>> bool((a[6:] == b).all())
    True
    """
    from polhode.kernels.numbers import philox

    out = np.empty((members, count))
    philox.uniforms(_halves(seed), _halves(_stream(name)), first, 0, members, out)
    return out


def generator(seed: int, name: str, member: int) -> np.random.Generator:
    """NumPy's generator on the same stream: for what no formula makes of uniform numbers.

    >>> float(generator(7, "spin", 6).random()) == float(generator(7, "spin", 6).random())
    True
    """
    counter, key = np.array([0, 0, 0, _stream(name)], np.uint64), np.array([seed, member], np.uint64)
    return np.random.Generator(np.random.Philox(counter=counter, key=key))


def _stream(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big")


def _halves(word: int) -> tuple[int, int]:
    return word >> 32, word & (2**32 - 1)
