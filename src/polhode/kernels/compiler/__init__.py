"""What turns kernels into machine code: decorators, the cache, intrinsics, limits.

It knows nothing of rigid bodies.
"""
