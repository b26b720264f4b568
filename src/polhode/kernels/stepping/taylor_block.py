"""Arrays that the loops around steps by Taylor series share with generated code, and how they call it."""

from __future__ import annotations

from typing import NamedTuple

from polhode.kernels.compiler.intrinsics import address, call_by_address
from polhode.kernels.compiler.jit import inline

# steps(block, rows, work, order, only): addresses of arrays, and numbers
call_steps = call_by_address("void(i8, i8, i8, i8, i8)", None)
# What is known of a body from step to step: the largest length of the next step, or 0; how often steps were shortened
# almost to nothing, and when that was the last time; the end of the latest step that left a state without a series, or
# 0. Indices in a row of ``BatchState.memory``.
LONGEST_NEXT, TINY_STEPS, LAST_TINY, LEFT_AT = 0, 1, 2, 3


class TaylorSettings(NamedTuple):
    """Order and step of Taylor series, and the lengths of arrays."""

    order: int
    factor: float  # of the step length to the radius
    bound: float  # of defects: see ``steps``
    max_steps: int
    lanes: int  # number of bodies that generated code advances together
    block: int  # length of a block, per lane
    work: int  # length of the work array
    watched: int  # number of arguments that are watched, and so on: see ``WatchedSeries``
    bending: int
    limits: int
    first: int
    stride: int


class Space(NamedTuple):
    """Arrays of a block of bodies; those that generated code uses begin at a multiple of 32 bytes."""

    block: object
    rows: object
    work: object
    samples: object  # see ``taylor_samples``
    lanes: int


@inline
def get(space, place, lane):
    """Return a number of a body from the block."""
    return float(space.block[place * space.lanes + lane])


@inline
def put_number(space, place, lane, x):
    """Write a number of a body to the block."""
    space.block[place * space.lanes + lane] = x


@inline
def put_vector(space, place, lane, x):
    """Write three numbers of a body to the block."""
    for k in range(3):
        put_number(space, place + k, lane, x[k])


@inline
def get_vector(space, place, lane):
    """Return three numbers of a body from the block."""
    return get(space, place, lane), get(space, place + 1, lane), get(space, place + 2, lane)


@inline
def compute(steps, space, order, only):
    """Make steps, compute coefficients, or make a trial: see ``graphs.steps``."""
    call_steps(steps, (address(space.block), address(space.rows), address(space.work), order, only))
