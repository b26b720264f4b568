"""What turns kernels into machine code: decorators, the cache, intrinsics, limits.

It knows nothing of rigid bodies.
"""

import os

JIT = os.environ.get("POLHODE_JIT", "1") != "0"  # whether kernels are compiled
