"""The exact free flow for arrays of bodies and times."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.body import (
    Frame,
    RigidBody,
    flow_moments,
    frame_of,
    from_principal,
    moments_of_one,
    principal,
    scale_along,
    to_principal,
)
from polhode.core.capacity import memory_for
from polhode.core.checks import (
    IDENTITY,
    as_floats,
    check_attitude,
    check_finite,
    check_moments,
    check_spread,
    common_batch,
    place,
    row_of_one,
    rows_of,
    show,
    time_of_one,
)
from polhode.core.errors import InputError, MomentumError, RunWarning, ShapeError, TimeError
from polhode.core.rotation import RotationLike, as_rotation, is_rotation, quaternion_components
from polhode.core.threads import in_ranges
from polhode.core.units import together
from polhode.core.warning import warn
from polhode.free.derivatives import ErrorBound, Jacobian, blocks, error_bound, flow_jacobian
from polhode.kernels.compiler.limits import MOST_RADIANS, NOBODY

FEWER_STATES = "pass fewer bodies or times at once, or out=(m, q) with arrays on a disk (numpy.memmap)"
MANY = 2**20  # states from which the free memory is checked
PIECE = 2**15  # tensors that are diagonalized at a time
MOST_BOUNDS = 1000  # of bodies, because a bound takes ten times as long as a result
ONLY = np.zeros(1, np.int64)  # the index of the only body: all that a kernel ever writes here is 0

Operands = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@overload
def propagate(
    inertia: RigidBody | npt.ArrayLike,
    m: npt.ArrayLike | None = None,
    q: npt.ArrayLike = IDENTITY,
    t: npt.ArrayLike = 0.0,
    *,
    omega: npt.ArrayLike | None = None,
    out: tuple[FloatArray, FloatArray] | None = None,
    jacobian: Literal[False] = False,
    return_error: Literal[False] = False,
) -> tuple[FloatArray, FloatArray]: ...
@overload
def propagate(
    inertia: RigidBody | npt.ArrayLike,
    m: npt.ArrayLike | None = None,
    q: npt.ArrayLike = IDENTITY,
    t: npt.ArrayLike = 0.0,
    *,
    omega: npt.ArrayLike | None = None,
    out: tuple[FloatArray, FloatArray] | None = None,
    jacobian: Literal[True],
    return_error: Literal[False] = False,
) -> tuple[FloatArray, FloatArray, Jacobian]: ...
@overload
def propagate(
    inertia: RigidBody | npt.ArrayLike,
    m: npt.ArrayLike | None = None,
    q: npt.ArrayLike = IDENTITY,
    t: npt.ArrayLike = 0.0,
    *,
    omega: npt.ArrayLike | None = None,
    out: tuple[FloatArray, FloatArray] | None = None,
    jacobian: Literal[False] = False,
    return_error: Literal[True],
) -> tuple[FloatArray, FloatArray, ErrorBound]: ...
@overload
def propagate(
    inertia: RigidBody | npt.ArrayLike,
    m: npt.ArrayLike | None = None,
    q: npt.ArrayLike = IDENTITY,
    t: npt.ArrayLike = 0.0,
    *,
    omega: npt.ArrayLike | None = None,
    out: tuple[FloatArray, FloatArray] | None = None,
    jacobian: Literal[True],
    return_error: Literal[True],
) -> tuple[FloatArray, FloatArray, Jacobian, ErrorBound]: ...
@overload
def propagate(
    inertia: RigidBody | npt.ArrayLike,
    m: npt.ArrayLike | None = None,
    q: RotationLike = ...,
    t: npt.ArrayLike = 0.0,
    *,
    omega: npt.ArrayLike | None = None,
    out: tuple[FloatArray, FloatArray] | None = None,
    jacobian: bool = False,
    return_error: bool = False,
) -> tuple[Any, ...]: ...
def propagate(
    inertia: RigidBody | npt.ArrayLike,
    m: npt.ArrayLike | None = None,
    q: npt.ArrayLike | RotationLike = IDENTITY,
    t: npt.ArrayLike = 0.0,
    *,
    omega: npt.ArrayLike | None = None,
    out: tuple[FloatArray, FloatArray] | None = None,
    jacobian: bool = False,
    return_error: bool = False,
) -> tuple[Any, ...]:
    """Return the angular momentum and the attitude of free bodies after a time ``t``, exactly.

    All leading axes broadcast. Large batches use all cores (the environment variable ``POLHODE_NUM_THREADS`` limits
    them). The bits of a body's result depend neither on the other bodies nor on the number of threads.

    Parameters
    ----------
    inertia : array_like of shape (..., 3) or (..., 3, 3), or RigidBody
        Principal moments in any order, or inertia tensors.
    m : array_like of shape (..., 3), optional
        Angular momentum in body axes. Either ``m`` or ``omega`` must be given.
    q : array_like of shape (..., 4) or scipy.spatial.transform.Rotation, optional
        Attitude as quaternions, scalar first, body to space. The default is the identity.
    t : array_like of shape (...), optional
        Time, of either sign and any length. The default is 0.
    omega : array_like of shape (..., 3), optional
        Angular velocity in body axes, instead of ``m``.
    out : tuple of two float64 arrays, optional
        Arrays of shapes batch + (3,) and batch + (4,) for the result. They may be ``m`` and ``q`` themselves.
    jacobian : bool, optional
        Whether to return the derivatives of m and q with respect to the initial m and q, the moments and t.
    return_error : bool, optional
        Whether to return a bound of how far m and q may be from the exact result for this input.

    Returns
    -------
    m : ndarray of shape (..., 3)
        Angular momentum in body axes.
    q : ndarray of shape (..., 4), or Rotation if a Rotation was given
        Attitude, continuous in t.
    jacobian : Jacobian
        Only if ``jacobian`` is true.
    error : ErrorBound
        Only if ``return_error`` is true.

    Raises
    ------
    InertiaError
        If the moments are not positive, or a tensor is not symmetric and positive definite.
    MomentumError
        If not exactly one of ``m`` and ``omega`` is given, or it is not finite.
    AttitudeError
        If a quaternion is not of unit norm.
    TimeError
        If a time is not finite, or so long that the number of revolutions exceeds 1e150.
    ShapeError
        If the leading axes do not broadcast, or ``out`` has the wrong shape or type.

    Warns
    -----
    RunWarning
        If a time is so long that no digit of the result is certain.

    Notes
    -----
    A rod or a disk that turns slowly, but would turn fast about another axis, may lose all digits without a warning
    before it would turn about that axis by 2^52 radians; ``return_error=True`` returns the bound, which shows it.

    Examples
    --------
    >>> m, q = propagate((1.0, 2.0, 2.0), (0.0, 0.0, 4.0), t=np.pi / 2)
    >>> m
    array([0., 0., 4.])
    >>> q.round(12) + 0.0
    array([0., 0., 0., 1.])

    >>> m, q, J, error = propagate((1.0, 2.0, 3.0), (0.3, 0.2, 0.9), t=50.0, jacobian=True, return_error=True)
    >>> J.dm_dI.shape, bool(error.m < 1e-13)
    ((3, 3), True)
    """
    one = _operands_of_one(inertia, m, q, t, omega) if out is None else None
    result = None if one is None else propagate_one(one)
    if one is not None and result is not None:
        if not (jacobian or return_error):
            return result
        return *result, *_derived(one, (), None, (one[0][0], one[1][0], one[3][0]), jacobian, return_error)
    inertia, m, q, t, omega = together(inertia=inertia, m=m, q=q, t=t, omega=omega).values()
    if not isinstance(inertia, RigidBody):
        inertia = as_floats(inertia, "inertia", 3)
    if _many_tensors(inertia) and not (jacobian or return_error):
        try:
            return _in_pieces(inertia, m, q, t, omega, out)
        except InputError:
            pass  # evaluated as a whole, the batch raises an error with the index of the invalid body
    moments, frame = _principal(inertia)
    m_in = _momentum(inertia, moments, frame, m, omega)
    q_in = quaternion_components(q)
    t_in = as_floats(t, "t")
    batch = common_batch(inertia=moments.shape[:-1], m=m_in.shape[:-1], q=q_in.shape[:-1], t=t_in.shape)
    m_out, q_out = outputs(out, batch, (moments, m_in, q_in, t_in))
    m_user = m_in
    if frame is not None:
        check_finite(m_in, "m")
        check_attitude(q_in)
        m_in, q_in = to_principal(frame, m_in, q_in)
    times = rows_of(t_in[..., None], batch, 1)[:, 0]
    operands = (rows_of(moments, batch, 3), rows_of(m_in, batch, 3), rows_of(q_in, batch, 4), times)
    _run(operands, batch, m_out, q_out)
    derived: list[Any] = []
    if jacobian or return_error:  # before writing to ``out``, which may share memory with m and q
        derived = _derived(operands, batch, frame, (moments, m_user, t_in), jacobian, return_error)
    if frame is not None:
        m_out[...], q_out[...] = from_principal(frame, m_out, q_out)
    if out is not None and m_out is not out[0]:
        out[0][...], out[1][...] = m_out, q_out
        m_out, q_out = out
    return m_out, (as_rotation(q_out) if is_rotation(q) else q_out), *derived


def _many_tensors(inertia: RigidBody | FloatArray) -> bool:
    """Return whether ``inertia`` is an array of more than ``PIECE`` tensors."""
    shape = () if isinstance(inertia, RigidBody) else inertia.shape
    return len(shape) > 2 and shape[-2:] == (3, 3) and prod(shape[:-2]) > PIECE


def _in_pieces(tensors: Any, m: Any, q: Any, t: Any, omega: Any, out: Any) -> Any:
    """Return the result of ``propagate`` for many tensors, computed for a part of them at a time.

    The principal axes of all tensors at once would take more memory than the result.
    """
    arguments = {"m": m, "omega": omega}
    vectors = {name: as_floats(x, name, 3) for name, x in arguments.items() if x is not None}
    q_in = quaternion_components(q)
    t_in = as_floats(t, "t")
    shapes = {name: x.shape[:-1] for name, x in vectors.items()}
    batch = common_batch(inertia=tensors.shape[:-2], **shapes, q=q_in.shape[:-1], t=t_in.shape)
    m_out, q_out = outputs(out, batch, (tensors, *vectors.values(), q_in, t_in))
    tensors = np.broadcast_to(tensors, (*batch, 3, 3))
    q_in = np.broadcast_to(q_in, (*batch, 4))
    vectors = {name: np.broadcast_to(x, (*batch, 3)) for name, x in vectors.items()}
    t_in = np.broadcast_to(t_in, batch)
    length = max(1, PIECE // prod(batch[1:]))
    for start in range(0, batch[0], length):
        part: Any = slice(start, start + length) if length > 1 else start
        part_vectors = {name: x[part] for name, x in vectors.items()}
        propagate(tensors[part], q=q_in[part], t=t_in[part], out=(m_out[part], q_out[part]), **part_vectors)
    if out is not None and m_out is not out[0]:
        out[0][...], out[1][...] = m_out, q_out
        m_out, q_out = out
    return m_out, (as_rotation(q_out) if is_rotation(q) else q_out)


def _principal(inertia: RigidBody | FloatArray) -> tuple[FloatArray, Frame | None]:
    """Return principal moments, shape (..., 3), and principal axes, or None for the identity."""
    if isinstance(inertia, RigidBody):
        return flow_moments(inertia), frame_of(inertia)
    moments, axes = principal(inertia)
    return moments, Frame.of(axes)


def _momentum(
    inertia: Any,
    moments: FloatArray,
    frame: Frame | None,
    m: npt.ArrayLike | None,
    omega: npt.ArrayLike | None,
) -> FloatArray:
    """Return the momentum in body axes, shape (..., 3), from either ``m`` or ``omega``."""
    if (m is None) == (omega is None):
        received = "neither" if m is None else "both"
        raise MomentumError(f"expected either m, the angular momentum, or omega, the angular velocity; got {received}")
    if m is not None:
        linear = isinstance(inertia, RigidBody) and inertia.is_linear
        return inertia.check_momentum(m) if linear else as_floats(m, "m", 3)
    w = as_floats(omega, "omega", 3)
    check_finite(w, "omega")
    if isinstance(inertia, RigidBody):
        return inertia.momentum(w)
    return scale_along(None if frame is None else frame.axes, moments, w, "omega")


def outputs(
    out: tuple[FloatArray, FloatArray] | None, batch: tuple[int, ...], inputs: tuple[FloatArray, ...]
) -> tuple[FloatArray, FloatArray]:
    """Return the arrays for m and q, of shapes batch + (3,) and batch + (4,).

    They are those of ``out``, or new arrays if ``out`` is None or shares memory with the inputs, which must not change
    before they have been read.
    """
    shapes = ((*batch, 3), (*batch, 4))
    if out is None:
        if prod(batch) < MANY:  # a check of the free memory takes as long as a body
            return np.empty(shapes[0]), np.empty(shapes[1])
        with memory_for(f"{prod(batch)} states", 7 * 8 * prod(batch), FEWER_STATES):
            return np.empty(shapes[0]), np.empty(shapes[1])
    if not (isinstance(out, tuple | list) and len(out) == 2 and all(map(_usable, out, shapes))):
        received = ", ".join(map(_description, out if isinstance(out, tuple | list) else (out,)))
        raise ShapeError(
            f"out must be two writable float64 arrays in C order of shapes {shapes[0]} and {shapes[1]}; got {received}"
        )
    if any(np.may_share_memory(x, y) for x in inputs for y in out):
        return np.empty(shapes[0]), np.empty(shapes[1])
    return out


def _usable(array: Any, shape: tuple[int, ...]) -> bool:
    """Return whether ``array`` is a writable float64 array of that shape in C order."""
    usable = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.flags.c_contiguous
    return usable and array.flags.writeable and array.shape == shape


def _description(array: Any) -> str:
    """Return type, flags and shape of an array for an error message."""
    if not isinstance(array, np.ndarray):
        return type(array).__name__
    flaws = ("" if array.flags.writeable else " read-only") + ("" if array.flags.c_contiguous else " strided")
    return f"{array.dtype}{flaws} {array.shape}"


def _operands_of_one(inertia: Any, m: Any, q: Any, t: Any, omega: Any) -> Operands | None:
    """Return the operands for one body in principal axes, given by plain numbers; None for anything else."""
    moments = moments_of_one(inertia)
    momentum = row_of_one(m if omega is None else omega, 3)
    attitude = row_of_one(q, 4)
    time = time_of_one(t)
    if moments is None or momentum is None or attitude is None or time is None:
        return None
    if omega is not None:
        if m is not None:
            return None
        momentum = momentum * moments
    return moments, momentum, attitude, time


def _derived(
    operands: Operands,
    batch: tuple[int, ...],
    frame: Frame | None,
    inputs: tuple[FloatArray, ...],
    jacobian: bool,
    return_error: bool,
) -> list[Any]:
    """Return the Jacobian and the error bound, or one of them; ``inputs`` are moments, m and t in the user's axes."""
    matrix = flow_jacobian(operands, batch, frame)
    bound = [error_bound(matrix, *inputs)] if return_error else []
    return [blocks(matrix), *bound] if jacobian else bound


def propagate_one(operands: Operands) -> tuple[FloatArray, FloatArray] | None:
    """Return m (3,) and q (4,) of one body, or None if the body is invalid; rows and bits are those of a batch."""
    m, q = np.empty(3), np.empty(4)
    lost: list[str] = []
    bad = _work(operands, 0, 1, m[None], q[None], ONLY, lost)
    if bad == NOBODY and lost:
        _warn_of_lost_digits(lost[0])
    return (m, q) if bad == NOBODY else None


def _run(operands: Operands, batch: tuple[int, ...], m_out: FloatArray, q_out: FloatArray) -> None:
    """Write the result for operands in principal axes to ``m_out`` and ``q_out``; raise if a body is invalid."""
    bodies = prod(batch)
    rows = m_out.reshape(bodies, 3), q_out.reshape(bodies, 4)
    remaining = np.empty(bodies, np.int64)  # rarely written, so rarely allocated
    lost: list[str] = []
    bad = in_ranges(lambda start, stop: _work(operands, start, stop, *rows, remaining, lost), bodies)
    if bad < NOBODY:
        _explain(operands, batch, bad)
    if lost:
        _warn_of_lost_digits(lost[0])


def _work(
    operands: Operands, start: int, stop: int, m: FloatArray, q: FloatArray, remaining: IntArray, lost: list[str]
) -> int:
    """Write the results of bodies ``start`` to ``stop`` to rows of m and q; return the index of the first invalid one.

    ``remaining`` is memory for the indices of bodies that the scalar code computes, one for each body. To ``lost`` is
    added what one of these bodies does, if no digit of its result is right.
    """
    propagate_range, propagate_rows = _kernels()
    bad, count = propagate_range(*operands, start, stop, m, q, remaining)
    if count:
        alone = remaining[start : start + count]
        others = propagate_rows(*operands, alone, m, q)
        bad = min(bad, others)
        if others > NOBODY:
            lost.extend(_what_is_lost(operands, alone))
    return int(bad)


def _what_is_lost(operands: Operands, rows: IntArray) -> list[str]:
    """Return what a body of ``rows`` does if no digit of its result is certain; an empty list if there is none.

    A body loses them if it turns too often, or if it is a rod or a disk that turns slowly, but would turn fast about
    another axis: then rounding makes it turn about that axis.
    """
    moments, m, _, t = operands
    I, momenta, times = (x if len(x) == 1 else x[rows] for x in (moments, m, t))
    with np.errstate(over="ignore"):
        radians = np.abs(momenta / I).max(axis=-1) * np.abs(times)
        fastest = np.abs(momenta).max(axis=-1) / I.min(axis=-1) * np.abs(times)
    if radians.max() > MOST_RADIANS:
        return [f"a body turns by {radians.max():.1e} radians"]
    doubtful = rows[np.broadcast_to(fastest > MOST_RADIANS, rows.shape)][:MOST_BOUNDS]
    some = tuple(x if len(x) == 1 else x[doubtful] for x in operands)
    matrix = flow_jacobian(some, doubtful.shape, None)  # type: ignore[arg-type]
    bound = float(np.max(error_bound(matrix, some[0], some[1], some[3]).q))
    return [f"a body turns by {radians.max():.1e} radians, and its error is {bound:.1e}"] if bound >= 1.0 else []


def _warn_of_lost_digits(reason: str) -> None:
    """Warn that a time is so long that the state at its end cannot be told."""
    warn(
        f"{reason}, so that rounding of its input, by a part of 1e-16, decides where it is at the end: no digit of m "
        "and q is certain; return_error=True returns a bound",
        RunWarning,
    )


@cache
def _kernels() -> tuple[Any, Any]:
    """Return the kernels, which are imported only when they are needed; the last one is loaded by its first call."""
    from polhode.kernels.compiler.jit import loaded
    from polhode.kernels.exact.batch import propagate_range
    from polhode.kernels.exact.standard_form import propagate_rows

    return loaded(propagate_range), propagate_rows  # type: ignore[no-untyped-call]


def _explain(operands: Operands, batch: tuple[int, ...], bad: int) -> None:
    """Raise the error for the body with the flat index ``bad``."""
    index = tuple(int(i) for i in np.unravel_index(bad, batch)) if batch else ()
    moments, m, q, t = (x[bad if len(x) > 1 else 0] for x in operands)
    names = [
        place(name, index if len(x) > 1 else ()) for name, x in zip(("inertia", "m", "q", "t"), operands, strict=True)
    ]
    check_moments(moments, names[0])
    check_finite(m, names[1])
    check_attitude(q, names[2])
    check_finite(t, names[3], TimeError)
    check_spread(moments, names[0])
    raise TimeError(
        f"{place('t', index)} = {float(t):.6g} with m = {show(m)} and inertia {show(moments)}; "
        "expected a shorter time: the number of turns (1e150 at most) or the result is too large"
    )
