"""Initial value problem of a rigid body: body, initial state, force and time span."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.body import RigidBody, as_body
from polhode.core.checks import IDENTITY, as_floats
from polhode.core.errors import InputError, MomentumError, TimeError
from polhode.core.html import html_fields
from polhode.core.state import State
from polhode.forces.base import Force
from polhode.forces.nothing import nothing
from polhode.free.motion import FreeMotion, free_motion
from polhode.integration.rows import ProblemRows


class Problem:
    """Initial value problem: a rigid body, its initial state, the force that acts on it, and a time span.

    Parameters
    ----------
    body : RigidBody, or array_like of shape (..., 3) or (..., 3, 3)
        The body, its principal moments, or its inertia tensor.
    state : State, optional
        State at ``t_span[0]``. Exactly one of `state` and `omega` is required.
    force : Force, optional
        Force that acts on the body: a ``Torque``, a ``Potential``, one of ``polhode.forces``, or a sum of them. By
        default the body is free, and the attribute ``force`` is the zero force.
    t_span : tuple of two floats, optional
        Start and end. The end may be before the start. The default is (0, 1).
    omega : array_like of shape (..., 3), optional
        Angular velocity at ``t_span[0]`` in body axes, instead of ``state``.
    q : array_like of shape (..., 4) or scipy.spatial.transform.Rotation, optional
        Attitude at ``t_span[0]``, with ``omega``.
    name, summary : str, optional
        Labels for tables and plots.
    units : dict of str, optional
        Units by quantity, such as ``{"t": "s"}``. They label plots and tables and never enter the arithmetic.
    references : tuple of str, optional
        Keys of the publications that the problem comes from.
    h : float, optional
        Suggested step size.
    truth : dict of State by time, optional
        Reference states from other sources.

    Raises
    ------
    MomentumError
        If neither or both of `state` and `omega` are passed, or the momentum does not fit the body.
    TimeError
        If `t_span` is not two different finite times.

    Examples
    --------
    >>> Problem((1.0, 1.65, 1.97), State(m=(0.3, 0.2, 0.9)), t_span=(0, 20)).duration
    20.0
    """

    def __init__(
        self,
        body: RigidBody | npt.ArrayLike,
        state: State | None = None,
        force: Force | None = None,
        t_span: tuple[float, float] = (0.0, 1.0),
        *,
        omega: npt.ArrayLike | None = None,
        q: Any = IDENTITY,
        name: str = "",
        summary: str = "",
        units: Mapping[str, str] | None = None,
        references: tuple[str, ...] = (),
        h: float | None = None,
        truth: Mapping[float, State] | None = None,
    ) -> None:
        """Check the arguments; see the class for their description."""
        self.body = as_body(body)
        if (state is None) == (omega is None):
            passed = "neither state nor omega" if state is None else "both state and omega"
            raise MomentumError(f"got {passed}; expected either state=State(...) or omega=..., the angular velocity")
        self.state = state if state is not None else State.from_omega(self.body, omega, q)  # type: ignore[arg-type]
        self.state.check_at_rest("state")
        self.body.check_momentum(self.state.m, "state.m")
        self.force: Force = nothing() if force is None else force
        self.t_span = checked_span(t_span)
        self.name = name
        self.summary = summary
        self.h = h
        self.units = dict(units or {})
        self.references = references
        self.truth = dict(truth or {})

    @cached_property
    def rows(self) -> ProblemRows:
        """The bodies in rows for kernels, arranged once for all runs of the problem."""
        return ProblemRows(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the data of the problem, without what is derived from them."""
        return {name: value for name, value in vars(self).items() if name != "rows"}

    @property
    def duration(self) -> float:
        """Length of the time span; negative if the end is before the start."""
        return self.t_span[1] - self.t_span[0]

    def free_motion(self) -> FreeMotion:
        """Return the exact motion of a problem without a force, with t counted from ``t_span[0]``.

        Returns
        -------
        FreeMotion
            The motion in closed form.

        Raises
        ------
        InputError
            If the problem has a force.
        """
        if not self.force.is_zero:
            raise InputError(f"{self.name or 'this problem'} has a force: only a free body has a closed form")
        return free_motion(self.body, self.state)

    def __repr__(self) -> str:
        """Return a one-line description: name, body, force and time span."""
        label = f"{self.name}: " if self.name else ""
        acting = "free" if self.force.is_zero else repr(self.force)
        return f"Problem({label}{self.body!r}, {acting}, t from {self.t_span[0]:g} to {self.t_span[1]:g})"

    def _repr_html_(self) -> str:
        """Return a description as an HTML table, for notebooks."""
        batch = np.broadcast_shapes(self.body.batch, self.state.batch)
        return html_fields(
            f"Problem {self.name}".rstrip(),
            {
                "summary": self.summary,
                "body": self.body,
                "bodies": " x ".join(map(str, batch)),
                "force": "none: free motion" if self.force.is_zero else self.force,
                "time": f"{self.t_span[0]:g} to {self.t_span[1]:g}",
                "suggested step": "" if self.h is None else f"{self.h:g}",
            },
        )


def checked_span(t_span: Any) -> tuple[float, float]:
    """Return `t_span` as two floats; raise TimeError unless they are two different finite times."""
    array = as_floats(t_span, "t_span")
    if array.shape != (2,) or not np.isfinite(array).all() or array[0] == array[1]:
        raise TimeError(f"t_span = {t_span!r}: expected two different finite times, such as (0, 10)")
    return float(array[0]), float(array[1])
