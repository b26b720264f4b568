"""Philox4x64-10: random words as a function of a key and a counter, so that every member of an ensemble has its own.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3, SC11 (2011), section
3.3 and table 2. A round takes the counter (c0, c1, c2, c3) and the key (k0, k1), words of 64 bits, to

    (hi(M1 c2) ^ c1 ^ k0,  lo(M1 c2),  hi(M0 c0) ^ c3 ^ k1,  lo(M0 c0)),      k0 += W0,   k1 += W1                  (1)

A word is a pair (high, low) of halves of 32 bits in signed integers: so compiled code and Python agree. The key is
(seed, member), the counter (block, 0, 0, stream), its blocks beginning with 1: as numpy.random.Philox does it.
"""

from __future__ import annotations

from polhode.kernels.compiler.jit import entry, helper

HALF = 0xFFFFFFFF
M0 = 0xD2E7470E, 0xE14C6C93
M1 = 0xCA5A8263, 0x95121157
W0 = 0x9E3779B9, 0x7F4A7C15
W1 = 0xBB67AE85, 0x84CAA73B
ROUNDS = 10
UNIT = 2.0**-52


@helper
def product(x, y):
    """(high, low), the words of x y."""
    a, b, c, d = x[1] * y[1], x[0] * y[1], x[1] * y[0], x[0] * y[0]
    middle = ((a >> 32) & HALF) + (b & HALF) + (c & HALF)
    low = d + ((b >> 32) & HALF) + ((c >> 32) & HALF) + (middle >> 32)
    return ((low >> 32) & HALF, low & HALF), (middle & HALF, a & HALF)


@helper
def total(x, y):
    low = x[1] + y[1]
    return (x[0] + y[0] + (low >> 32)) & HALF, low & HALF


@helper
def different(x, y, z):
    return x[0] ^ y[0] ^ z[0], x[1] ^ y[1] ^ z[1]


@helper
def block(k0, k1, c0, c1, c2, c3):
    """Four words."""
    for _ in range(ROUNDS):
        high0, low0 = product(M0, c0)
        high1, low1 = product(M1, c2)
        c0, c1, c2, c3 = different(high1, c1, k0), low1, different(high0, c3, k1), low0  # (1)
        k0, k1 = total(k0, W0), total(k1, W1)
    return c0, c1, c2, c3


@helper
def halves(x):
    return (x >> 32) & HALF, x & HALF


@helper
def unit(x):
    """A number between 0 and 1, never one of them: the upper 52 bits of a word, and a half."""
    return float((x[0] << 20) | (x[1] >> 12)) * UNIT + 0.5 * UNIT


@entry("void(UniTuple(i8, 2), UniTuple(i8, 2), i8, i8, i8, f8[:,::1])")
def uniforms(seed, stream, first, start, stop, out):
    """Rows start..stop of ``out`` (n, k): k numbers for each of the members from number ``first`` on."""
    nothing = 0, 0
    count = out.shape[1]
    for i in range(start, stop):
        for number in range((count + 3) // 4):
            words = block(seed, halves(first + i), halves(number + 1), nothing, nothing, stream)
            for k in range(min(4, count - 4 * number)):
                out[i, 4 * number + k] = unit(words[k])
