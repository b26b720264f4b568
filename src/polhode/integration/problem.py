"""Initial value problem of a rigid body: body, initial state, force and time span."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from math import isfinite, nan
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from polhode.core.body import RigidBody, as_body
from polhode.core.checks import IDENTITY, as_floats
from polhode.core.errors import InputError, MomentumError, TimeError
from polhode.core.html import html_fields
from polhode.core.state import State
from polhode.core.units import NO_UNITS, together
from polhode.core.value import Value
from polhode.forces.base import Force
from polhode.forces.nothing import nothing
from polhode.free.motion import FreeMotion, free_motion
from polhode.integration.rows import ProblemRows

WITHOUT_SPAN = (0.0, 1.0)  # by itself not an argument of the user
WITH_UNITS = ("body", "omega", "t_span", "h")  # arguments of problems that may be quantities


class Problem(Value):
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
        Units by quantity, such as ``{"t": "s"}``. They label plots and tables and never enter the arithmetic; arguments
        with units, of astropy or pint, are converted to them, or else to SI.
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

    Notes
    -----
    A problem never changes: ``problem.replaced(t_span=...)`` returns a copy with other values of any of the arguments
    above, checked again. The momentum stays the same if only the body is replaced, and the attitude if only ``omega``
    is. Problems are equal if all their parts are.

    Examples
    --------
    >>> problem = Problem((1.0, 1.65, 1.97), State(m=(0.3, 0.2, 0.9)), t_span=(0, 20))
    >>> problem.duration
    20.0
    >>> problem.replaced(t_span=(0, 5), omega=(0.0, 1.0, 0.0)).state.m
    array([0.  , 1.65, 0.  ])
    """

    _replaceable: ClassVar = (
        "body", "state", "force", "t_span", "omega", "q", "name", "summary", "units", "references", "h", "truth",
    )  # fmt: skip
    body: RigidBody
    state: State
    force: Force
    t_span: tuple[float, float]
    name: str
    summary: str
    units: dict[str, str]
    references: tuple[str, ...]
    h: float | None
    truth: dict[float, State]

    def __init__(
        self,
        body: RigidBody | npt.ArrayLike,
        state: State | None = None,
        force: Force | None = None,
        t_span: tuple[float, float] = WITHOUT_SPAN,
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
        start = {"state": state} if omega is None else {"state": state, "omega": omega, "q": q}
        self._set(
            body=body, **start, force=force, t_span=t_span, name=name, summary=summary, units=units,
            references=references, h=h, truth=truth,
        )  # fmt: skip

    def _set(self, **arguments: Any) -> None:
        """Check and store some of the arguments of the constructor."""
        units = arguments.get("units", self.__dict__.get("units")) or NO_UNITS
        given = {name: value for name, value in arguments.items() if name in WITH_UNITS and value is not WITHOUT_SPAN}
        arguments |= together(units, **given)
        start = {name: arguments.pop(name) for name in ("state", "omega", "q") if name in arguments}
        self._store(**{name: CHECKS.get(name, _as_it_is)(value) for name, value in arguments.items()})
        if start or "body" in arguments:
            self._store(state=self._start(**start))

    def _start(self, omega: Any = None, q: Any = None, **given: Any) -> State:
        """Return the initial state, with any of state, omega and q replaced, after a check that it fits the body."""
        state: Any = given.get("state", self.__dict__.get("state"))
        if "state" in given and (state is None) == (omega is None):
            passed = "neither state nor omega" if omega is None else "both state and omega"
            raise MomentumError(f"got {passed}; expected either state=State(...) or omega=..., the angular velocity")
        if omega is not None:
            state = State.from_omega(self.body, omega, state.q if q is None else q)
        elif q is not None:
            state = state.replaced(q=q)
        state.check_at_rest("state")
        self.body.check_momentum(state.m, "state.m")
        return cast(State, state)

    @cached_property
    def rows(self) -> ProblemRows:
        """The bodies in rows for kernels, arranged once for all runs of the problem."""
        return ProblemRows(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the data of the problem, without what is derived from them."""
        return dict(self._content())

    def current(self) -> Self:
        """Return this problem or, if a value that a torque of the user reads has changed, one with the changed torque.

        See ``Force.current``.
        """
        if self.force.never_changes:
            return self
        force = self.force.current()
        if force is self.force:
            return self
        if not self._newest or self._newest[-1].force is not force:
            self._newest[:] = [self.replaced(force=force)]
        return self._newest[-1]

    @cached_property
    def _newest(self) -> list[Self]:
        """The problem that `current` has returned last, if it is not this one."""
        return []

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
        motion = free_motion(self.body, self.state)
        motion.units = self.units
        return motion

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


def checked_span(t_span: Any, units: Mapping[str, str] = NO_UNITS) -> tuple[float, float]:
    """Return `t_span` as two floats; raise TimeError unless they are two different finite times."""
    array = as_floats(t_span, "t_span", units=units)
    start, end = array.tolist() if array.shape == (2,) else (nan, nan)
    if not (isfinite(start) and isfinite(end)) or start == end:
        raise TimeError(f"t_span = {t_span!r}: expected two different finite times, such as (0, 10)")
    return start, end


def _as_it_is(value: Any) -> Any:
    """Return a value that needs no check."""
    return value


def _as_force(value: Force | None) -> Force:
    """Return the force; None is the zero force."""
    return nothing() if value is None else value


def _as_dict(value: Mapping[Any, Any] | None) -> dict[Any, Any]:
    """Return a mapping as a dict of its own; None is empty."""
    return dict(value or {})


CHECKS: dict[str, Callable[[Any], Any]] = {
    "body": as_body, "force": _as_force, "t_span": checked_span, "units": _as_dict, "truth": _as_dict,
}  # fmt: skip
