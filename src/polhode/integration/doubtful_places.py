"""What tells that sign changes of an event may be missed within a step: samples, and arguments that change much.

The series of an event is compared with the event where an argument of a function has an extreme or a zero. Compiled
steps do the same for torques (``kernels.stepping.doubt``): a function may do anything where its argument has
an extreme or a zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.errors import RunWarning
from polhode.core.warning import warn
from polhode.kernels.graphs.array_series import WatchedArgument
from polhode.kernels.stepping.doubt import BISECTIONS, SAMPLES

ROUGH = 0.3  # second difference of samples, in amplitudes: that of an oscillation which turns by FARTHEST is 0.25
NOISE = 2.0**-40  # second differences of rounding errors, relative to the values
MOST_PARTS = 256  # of a step that is sampled


def places_in_doubt(
    watched: Sequence[WatchedArgument], chosen: npt.NDArray[np.bool_]
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield extremes and zeros, from 0 to 1, of arguments that change more than their limits.

    Parameters
    ----------
    watched : sequence of WatchedArgument
        Arguments along r pieces of steps.
    chosen : ndarray, shape (r,)
        The pieces of interest.

    Yields
    ------
    tuple of ndarray, shapes (k,), (k,)
        Indices of pieces, and places there.
    """
    for c, square_of_limit in watched:
        with np.errstate(all="ignore"):
            change = np.abs(c[1:]).sum(axis=0)
            pieces = np.flatnonzero(chosen & (change * change > square_of_limit))
        if len(pieces):
            slopes = np.arange(1.0, len(c))[:, None] * c[1:]
            for polynomial in (c[:, pieces], slopes[:, pieces]):
                index, x = _sign_changes(polynomial)
                yield pieces[index], x


def _sign_changes(c: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return where polynomials with coefficients (k, r) change their sign between samples: their indices, and x."""
    x = np.linspace(0.0, 1.0, SAMPLES + 1)
    is_positive = np.vander(x, len(c), increasing=True) @ c > 0.0
    place, index = np.nonzero(is_positive[1:] != is_positive[:-1])
    left, right, before = x[place], x[place + 1], is_positive[place, index]
    of_each = c[:, index]
    for _ in range(BISECTIONS if len(index) else 0):
        middle = 0.5 * (left + right)
        value = np.zeros(len(index))
        for coefficient in of_each[::-1]:
            value = coefficient + middle * value
        is_before = (value > 0.0) == before
        left, right = np.where(is_before, middle, left), np.where(is_before, right, middle)
    return index, right


def is_rough(g: FloatArray, jumps: float) -> bool:
    """Return whether values (k, n) of an event at consecutive times jump up and down, at more than a part of them."""
    with np.errstate(invalid="ignore"):
        bend = np.abs(g[2:] - 2.0 * g[1:-1] + g[:-2])
        size = 0.5 * (np.fmax.reduce(g) - np.fmin.reduce(g))
        is_bent = bend > np.fmax(ROUGH * size, NOISE * np.fmax.reduce(np.abs(g)))
    return bool(np.any(np.count_nonzero(is_bent, axis=0) > max(1.0, jumps * len(g))))


def warn_of_rough(event: str) -> None:
    """Warn that sign changes of an event of this name may be missed."""
    warn(
        f"event {event} changes too fast within steps, even for {MOST_PARTS} samples of a step, so that sign changes "
        "may be missed; type max_step= for shorter steps",
        RunWarning,
    )
