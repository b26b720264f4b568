"""Input of frozen cases: literals, and what +, -, *, / and whole numbers make of them, the same on every machine."""

from __future__ import annotations

from math import prod

import numpy as np

NUDGE = 1e-7
DIRECTION = np.array([0.48, -0.6, 0.64])
MOMENTS = (1.0, 1.65, 1.97)
TENSOR = np.array([[2.0, 0.1, -0.2], [0.1, 1.6, 0.05], [-0.2, 0.05, 1.1]])
UNITS = np.array([(0.8, 0.6, 0.0, 0.0), (0.5, -0.5, 0.5, 0.5), (0.64, 0.48, -0.36, 0.48), (0.1, 0.7, 0.5, -0.5)])


def nudged(m, nudge):
    """m, moved by ``nudge`` |m|."""
    m = np.asarray(m, float)
    return m + nudge * np.linalg.norm(m, axis=-1, keepdims=True) * DIRECTION


def scattered(*shape, seed=1):
    """Numbers between -1 and 1 without an order: multiples of 2^-10."""
    k = np.arange(prod(shape)) + 1009 * seed
    return ((k * k * 7919 + k * 104729) % 2039 - 1019).reshape(shape) / 1024.0


def attitudes(count):
    return UNITS[np.arange(count) % len(UNITS)]
