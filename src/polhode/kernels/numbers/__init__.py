"""Numbers for kernels: error-free arithmetic, series, trigonometry, quaternions, vectors, elliptic functions, lanes.

Nothing here knows an inertia.
"""
