"""Edges of a periodic box, as figures and pages draw them."""

from __future__ import annotations

from itertools import product

import numpy as np

from polhode.core.arrays import FloatArray


def box_edges(lengths: FloatArray) -> FloatArray:
    """Return the twelve edges of a box around the origin as a line that is interrupted by NaN, shape (36, 3).

    >>> box_edges(np.array([2.0, 4.0, 6.0]))[:4]
    array([[-1., -2., -3.],
           [ 1., -2., -3.],
           [nan, nan, nan],
           [-1., -2.,  3.]])
    """
    edges = np.full((3, 4, 3, 3), np.nan)
    corners = np.array(list(product((-0.5, 0.5), repeat=2)))
    for axis in range(3):
        for end, position in enumerate((-0.5, 0.5)):
            edges[axis, :, end] = np.insert(corners, axis, position, axis=1) * lengths
    return edges.reshape(36, 3)
