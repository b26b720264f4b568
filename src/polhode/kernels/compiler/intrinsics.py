"""Instructions that Numba has no functions for, by LLVM: fused products, rows as vectors, bits of numbers, and others.

``fma(a, b, c)``                     a*b + c, rounded once
``prefetch(array, i)``               request that number i of an array is cached
``four_rows_in``, ``four_rows_out``  copy rows of an array into lanes of a block, and back
``as_rows(numbers, width)``          an array of numbers as rows
``call_by_address``                  call a function by its address
``call_in_registers``                the same with as many numbers in registers as there is room for
``call_by_name``                     call an entry point, of which there is only one copy in a library
``linked_address``                   the address of such an entry point
``binade``, ``power_of_two``, ``log2_in_steps``, ``two_to_the``  powers of two
``borrowed``, ``keep``               arrays without reference counts
``stay_separate``                    keep a function from being inlined
``stack_array``                      an array on the stack
``numbers_at``                       an array of numbers at an address
``fixed_address``                    the address of a function of this process

Compiled code finds their definitions in ``numba_intrinsics``, which is imported only if something is compiled.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.jit import inline_strict

if JIT:

    class Intrinsic:
        """Function that only compiled code can call."""

        def __init__(self, name, *settings):
            """Store the name of its definition, and the arguments if the definition is a function that makes it."""
            self._name, self._settings = name, settings

        @functools.cached_property
        def _numba_type_(self):
            """Type by which Numba finds the definition if it finds this object."""
            from polhode.kernels.compiler import numba_internals

            return numba_internals.type_of_intrinsic(self._name, *self._settings)

    fma = Intrinsic("fma")
    prefetch = Intrinsic("prefetch")
    four_rows_in = Intrinsic("four_rows_in")
    four_rows_out = Intrinsic("four_rows_out")
    four_rows_past_cache = Intrinsic("four_rows_past_cache")
    address = Intrinsic("address")
    as_rows = Intrinsic("as_rows")
    wait_for_memory = Intrinsic("wait_for_memory")
    borrowed = Intrinsic("borrowed")
    keep = Intrinsic("keep")
    stay_separate = Intrinsic("stay_separate")
    bits_of = Intrinsic("bits_of")
    from_bits = Intrinsic("from_bits")

    def call_by_address(signature, nothing):
        """Return a function call(address, arguments) -> (result, raised) for functions of a signature.

        ``raised`` is True if the function raised an exception; the result is then unspecified.
        """
        return Intrinsic("call_by_address", signature)

    def call_in_registers(signature):
        """Return a function call(address, arguments) -> result for entry points made with ``registers``.

        Their arguments and results are floats, integers, and tuples of these. Arguments may be contiguous arrays, too,
        of which the address and the shape are passed: a third of what Numba passes. Results that go through memory cost
        up to a third of a step: a wide load of numbers that were stored one by one waits until all of them are in the
        cache.
        """
        return Intrinsic("call_in_registers", signature)

    numbers_at = Intrinsic("numbers_at")

    def stack_array(size, kind="f8"):
        """Return a function new() -> array of ``size`` floats, or integers "i8", on the stack of its caller.

        The caller may pass the array on, but must not return it.
        """
        return Intrinsic("stack_array", size, kind)

    def fixed_address(address):
        """Return a function address() -> ``address``, whose callers Numba does not keep on disk."""
        return Intrinsic("fixed_address", address)

    def linked_address(entry):
        """Return a function address() -> address of an entry point that is linked with its callers."""
        return Intrinsic("linked_address", f"{entry.__module__}.{entry.__qualname__}")

    def call_by_name(entry):
        """Return a function call(arguments) -> result, for an entry point that is linked with its callers."""
        return Intrinsic("call_by_name", f"{entry.__module__}.{entry.__qualname__}", entry.signature)

    @inline_strict
    def binade(x):
        """Return (2^k, 2^-k) with 2^k <= |x| < 2^(k+1) for a normal number x.

        For other x the result is unspecified.
        """
        bits = bits_of(x) & 0x7FF0000000000000
        return from_bits(bits), from_bits(0x7FE0000000000000 - bits)

    @inline_strict
    def power_of_two(x):
        """Return (2^k, 2^-k) with 2^k <= |x| < 2^(k+1).

        k is limited to the range -1022, ..., 1022, so that both results are normal numbers.
        """
        bits = bits_of(x) & 0x7FF0000000000000
        bits = min(max(bits, 0x0010000000000000), 0x7FD0000000000000)
        return from_bits(bits), from_bits(0x7FE0000000000000 - bits)

    @inline_strict
    def log2_in_steps(x):
        """Return log2 |x|, linear between powers of two, for a normal number x; the error is at most 0.086.

        For 0 the result is -1023.
        """
        return 2.0**-52 * ((bits_of(x) & 0x7FFFFFFFFFFFFFFF) - 0x3FF0000000000000)

    @inline_strict
    def two_to_the(k):
        """Return 2^k for a whole number from -1022 to 1023."""
        return from_bits((k + 1023) << 52)

else:

    def address(array):
        """Return the array: uncompiled code passes arrays instead of addresses."""
        return array

    def log2_in_steps(x):
        """Return log2 |x|, linear between powers of two, for a normal number x; the error is at most 0.086.

        For 0 the result is -1023.
        """
        f, k = math.frexp(abs(x))
        return k + 2.0 * f - 2.0 if f else -1023.0

    def two_to_the(k):
        """Return 2^k for a whole number from -1022 to 1023."""
        return math.ldexp(1.0, k)

    def as_rows(numbers, width):
        """Return a contiguous array of numbers as rows of ``width`` numbers."""
        return np.reshape(numbers, (-1, width, *np.shape(numbers)[1:]))

    def prefetch(array, i):
        """Do nothing: uncompiled code does not prefetch."""

    def fma(a, b, c):
        """Return a*b + c, rounded twice: uncompiled code must not rely on a single rounding (see ``eft.two_prod``)."""
        return a * b + c

    def power_of_two(x):
        """Return (2^k, 2^-k) with 2^k <= |x| < 2^(k+1).

        k is limited to the range -1022, ..., 1022, so that both results are normal numbers.
        """
        k = min(max(math.frexp(x)[1] - 1, -1022), 1022) if x else -1022
        return math.ldexp(1.0, k), math.ldexp(1.0, -k)

    binade = power_of_two

    def call_by_name(entry):
        """Return a function call(arguments) -> result."""
        return lambda arguments: entry(*arguments)

    def call_in_registers(signature):
        """Return a function call(function, arguments) -> result."""
        return lambda function, arguments: function(*arguments)

    def numbers_at(array, count):
        """Return the array: see ``address``."""
        return array

    def stack_array(size, kind="f8"):
        """Return a function new() -> list of ``size`` zeros; a list can hold numbers of any type.

        Python's floats overflow and underflow without warnings, unlike those of NumPy.
        """
        return lambda: [0.0 if kind == "f8" else 0] * size

    def fixed_address(address):
        """Return a function address() -> ``address``."""
        return lambda: address

    linked_address = fixed_address

    def keep(array):
        """Do nothing: Python keeps the array alive."""

    def borrowed(value):
        """Return the array or tuple."""
        return value

    def stay_separate():
        """Do nothing: uncompiled code inlines nothing."""

    def call_by_address(signature, nothing):
        """Return a function call(function, arguments) -> (result, raised).

        ``raised`` is True if the function raised an exception; the result is then ``nothing``.
        """

        def call(function, arguments):
            try:
                return function(*arguments), False
            except Exception:
                return nothing, True

        return call
