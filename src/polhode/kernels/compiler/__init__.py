"""Compilation of kernels to machine code: decorators, the cache on disk, intrinsics and limits of input.

Nothing in this package depends on rigid bodies.
"""

import os

JIT = os.environ.get("POLHODE_JIT", "1") != "0"  # whether kernels are compiled
CPU = os.environ.get("POLHODE_CPU") or "native"  # the processor that machine code is made for: see ``machine``
