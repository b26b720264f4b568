"""Arithmetic for kernels: error-free sums, series, trigonometry, quaternions, vectors, elliptic integrals, lanes.

Nothing in this package depends on the moments of inertia of a body.
"""
