"""The functions that other languages can call: one table, of which headers, wrappers and ctypes are made."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from polhode.compiled import c_kernels

Kind = Literal["number", "count", "in", "out", "integers", "data"]
COUNT = "n"  # a length that an argument of the kind "count" gives


class Argument(NamedTuple):
    """Argument of a function of C: its name, kind, lengths of its dimensions if it is an array, and meaning."""

    name: str
    kind: Kind
    shape: tuple[int | str, ...]
    meaning: str


class CFunction(NamedTuple):
    """Function of C: its name, the kernel it calls, its arguments and the type of its result, and a summary.

    The kernel takes all arguments but counts, in the same order, and then those of ``again`` in another shape.
    """

    name: str
    kernel: Any
    arguments: tuple[Argument, ...]
    result: Literal["status", "double", "void"]
    summary: str
    again: tuple[Argument, ...] = ()


def _in(name: str, *shape: int | str, meaning: str) -> Argument:
    """Return an array that is read."""
    return Argument(name, "in", shape, meaning)


def _out(name: str, *shape: int | str, meaning: str) -> Argument:
    """Return an array that is written."""
    return Argument(name, "out", shape, meaning)


MOTION = c_kernels.MOTION
MOMENTS, MOMENTUM = "principal moments, in any order", "angular momentum, body axes"
ATTITUDE = "attitude, a quaternion, scalar first, body to space"
INERTIA, M, Q = _in("inertia", 3, meaning=MOMENTS), _in("m", 3, meaning=MOMENTUM), _in("q", 4, meaning=ATTITUDE)


def _of_frb(name: str, kernel: Any, attitude: str, length: int, form: str) -> CFunction:
    """Return a routine of the package FRB, in Fortran, with the names of its arguments there."""
    return CFunction(
        f"{name}_",
        kernel,
        (
            _out("m_out", 3, meaning="Piout, momentum after the step"),
            _out(f"{attitude}_out", length, meaning=f"{attitude}out, attitude after the step, {form}"),
            _in("h", 1, meaning="time step"),
            INERTIA,
            _in("m", 3, meaning="Piin, momentum"),
            _in(attitude, length, meaning=f"{attitude}in, attitude, {form}"),
            Argument("np", "integers", (1,), "0, or 1 to 10 quadrature nodes"),
        ),
        "void",
        f"call {name}(Piout, {attitude}out, h, aInert, Piin, {attitude}in, Np) of FRB; "
        "exact for Np = 0, NaN if it fails.",
    )


FUNCTIONS = (
    CFunction(
        "polhode_step",
        c_kernels.step,
        (
            INERTIA,
            M,
            Q,
            Argument("h", "number", (), "time, of either sign and any length"),
            _out("m_out", 3, meaning="momentum after the time h"),
            _out("q_out", 4, meaning="attitude after the time h"),
        ),
        "status",
        "Advance one free body by a time h, exactly. Outputs may be the inputs.",
    ),
    CFunction(
        "polhode_propagate",
        c_kernels.propagate,
        (
            Argument("n", "count", (), "number of bodies"),
            _in("inertia", COUNT, 3, meaning=MOMENTS),
            _in("m", COUNT, 3, meaning=MOMENTUM),
            _in("q", COUNT, 4, meaning=ATTITUDE),
            _in("t", COUNT, meaning="times"),
            _out("m_out", COUNT, 3, meaning="momenta after the times t"),
            _out("q_out", COUNT, 4, meaning="attitudes after the times t"),
        ),
        "status",
        "Advance n free bodies, each by its own time, exactly. Threads may advance parts of the arrays.",
    ),
    CFunction(
        "polhode_motion_prepare",
        c_kernels.prepare_motion,
        (INERTIA, M, Q, _out("motion", MOTION, meaning="constants of the motion")),
        "status",
        "Compute the constants of a free motion, for polhode_motion_evaluate.",
    ),
    CFunction(
        "polhode_motion_evaluate",
        c_kernels.evaluate_motion,
        (
            _in("motion", MOTION, meaning="from polhode_motion_prepare"),
            Argument("n", "count", (), "number of times"),
            _in("t", COUNT, meaning="times"),
            _out("m_out", COUNT, 3, meaning="momenta"),
            _out("q_out", COUNT, 4, meaning="attitudes"),
        ),
        "status",
        "Evaluate a free motion at n times; 16 or more are quickest.",
        (_out("m_out", COUNT, 1, 3, meaning=""), _out("q_out", COUNT, 1, 4, meaning="")),
    ),
    CFunction(
        "polhode_motion_component",
        c_kernels.component,
        (
            Argument("t", "number", (), "time"),
            Argument("chosen", "data", (MOTION + 1,), "doubles: 0..2 for m or 3..6 for q, and the motion"),
        ),
        "double",
        "Return one component of m or q at a time, for integrators of functions of one variable.",
    ),
    CFunction(
        "polhode_period",
        c_kernels.period,
        (
            INERTIA,
            M,
            _out("period", 1, meaning="period of m; infinite on the separatrix, 0 if m is constant"),
            _out("precession", 1, meaning="angle by which the body turns about m in a period"),
        ),
        "status",
        "Compute the period of the momentum in body axes.",
    ),
    _of_frb("frb_step", c_kernels.frb_step, "Q", 9, "by columns"),
    _of_frb("quat_step", c_kernels.quat_step, "q", 4, "scalar first"),
)
BY_NAME = {function.name: function for function in FUNCTIONS}
