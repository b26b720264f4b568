"""Runs in steps of the caller: one step, or to a time, with states and parameters that may be changed in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import as_floats, check_finite
from polhode.core.errors import InputError, ShapeError, TimeError
from polhode.core.state import State
from polhode.integration.base_trajectory import Stats
from polhode.integration.rows import States
from polhode.integration.stepping import SteppingRun, new_stepping
from polhode.methods.method import Method


class Stepper:
    """A run that advances by one step, or to a time, at each call; ``polhode.start`` returns it.

    State and time are those after the last call. Reading them changes nothing: results of ``step()`` and of ``to(t)``
    at times of steps are those of ``integrate``, to the bit. The run has no end: the time span of the problem gives the
    start, the direction of ``step()``, and the time in which ``start`` looks for a step size.

    If a step fails, RunError is raised, and the state is that after the last good step of all bodies, so that the run
    can go on after a change. With ``Adaptive``, a batch returns to the state before the call. Steppers can be pickled,
    and ``copy.deepcopy(run)`` goes on by itself.

    Notes
    -----
    The torque is what it was at the start of the run, or at the last ``reset``, also if values that it reads change
    meanwhile, such as globals; `params` may change at any time.

    Steps of a fixed size ``h`` end at t_0 + k h, where t_0 is the time at which the run began: at the start, by
    ``reset`` or ``apply``, after a change of `params`, at a break of the force, or by ``to(t)`` with a time that is
    not that of a step. Such a time is reached by whole steps and one step of the remaining length. A step is never
    shorter because of round-off alone. In the other direction, steps have the size -h and begin at the present time.
    Between breaks of the force steps are of equal size, at most h, as with ``integrate``.

    ``Adaptive`` chooses its steps, and those of ``to(t)`` end at t. Its steps also end at the end of the time span and
    behind it after every further time span of the same length. ``max_steps`` is the largest number of trial steps in
    one call of ``to(t)``, or in one time span. A step of ``ClosedForm`` has the length ``h``.

    Attributes
    ----------
    problem : Problem or System
        What is integrated; it never changes.
    method : method
        The method of integration.
    h : float
        Step size, negative if the time span is backward; NaN if the method chooses the steps.

    Examples
    --------
    >>> import polhode as ph
    >>> run = ph.start(ph.problems.heavy_top(), method="ABA1064", h=0.5)
    >>> run.step()
    >>> run.to(3.2)
    >>> run.t, run.stats.steps
    (3.2, 7)
    >>> run.apply((0.0, 0.0, 0.1))  # an impulse about the third body axis
    >>> run.to(0.0)  # back in time
    """

    def __init__(self, run: SteppingRun, keep: bool = False) -> None:
        """Take a run; `keep` tells whether states are kept for ``trajectory``."""
        self._run = run
        self.problem: Any = run.problem
        self.method: Method = run.method
        self.h = run.h
        self._params: FloatArray | None = getattr(run.bodies, "params", None)
        self._known_params: bytes | None = None  # not before the user asks for them
        self._kept: list[States] | None = None
        if keep:
            self._kept = [_copied(run)]

    @property
    def t(self) -> float:
        """Time."""
        return self._run.t

    @property
    def m(self) -> FloatArray:
        """Angular momentum in body axes, of shape batch + (3,); for a System of n bodies (n, 3)."""
        return self._array("m")

    @property
    def q(self) -> FloatArray:
        """Attitude, scalar first, body to space, of shape batch + (4,); for a System of n bodies (n, 4)."""
        return self._array("q")

    @property
    def x(self) -> FloatArray:
        """Positions of the bodies of a System in space axes, of shape (n, 3)."""
        return self._array("x")

    @property
    def p(self) -> FloatArray:
        """Linear momenta of the bodies of a System in space axes, of shape (n, 3)."""
        return self._array("p")

    @property
    def omega(self) -> FloatArray:
        """Angular velocity in body axes, of the same shape as `m`."""
        return self._run.rows.velocities(self.m)

    @property
    def state(self) -> State:
        """State, from which a problem can go on to the bit: ``problem.replaced(state=run.state)``."""
        return self.problem.state._exactly(**dict(zip(self._run.rows.names, self._arrays(), strict=True)))

    @property
    def params(self) -> FloatArray:
        """Parameters of the force, of shape (k,) or batch + (k,): an array that may be written to.

        A change acts from the present time on. The parameters of the problem stay as they are.
        """
        if self._params is None:
            raise AttributeError("a System has no params; its interaction does not change")
        if self._known_params is None:
            self._known_params = self._params.tobytes()
        shape = () if len(self._params) == 1 else self._run.batch
        return self._params.reshape(*shape, self._params.shape[-1])

    @property
    def stats(self) -> Stats:
        """Cost of all calls so far."""
        return self._run.stats()

    def step(self) -> None:
        """Make one step in the direction of the time span: of size `h`, or one that the method chooses.

        Raises
        ------
        RunError
            If the step fails. The state is that before the step.
        InputError
            If the bodies of a batch have steps of their own.
        """
        self._advance(self._run.step)

    def to(self, t: float) -> None:
        """Advance to a time, forward or backward: whole steps, and a last one that ends at `t`.

        Parameters
        ----------
        t : float
            The time.

        Raises
        ------
        RunError
            If a step fails. The state is that after the last good step.
        TimeError
            If `t` is not a finite time.
        """
        time = _time(t, self.problem.units)
        run = self._run
        if self._kept is None and self._known_params is None and run.reaches(time):
            return
        if time != run.t:
            self._advance(run.to, time)

    def apply(self, impulse: npt.ArrayLike) -> None:
        """Add an angular impulse to the angular momentum, at once.

        Parameters
        ----------
        impulse : array_like, shape (3,) or batch + (3,)
            The integral of a short torque over time, in body axes; for a System of n bodies of shape (n, 3).

        Raises
        ------
        InputError
            If the impulse is not finite, or has a component about the axis of a linear rotor.
        """
        change = as_floats(impulse, "impulse", 3, self.problem.units)
        check_finite(change, "impulse")
        run = self._run
        shape = self.problem.state.m.shape if not run.batch else (*run.batch, 3)
        if len(change.shape) > len(shape) or change.shape != shape[len(shape) - len(change.shape) :]:
            raise ShapeError(f"impulse has shape {change.shape}; expected (3,) or {shape}")
        states = run.states
        run.begin(run.t, *run.rows.with_impulse(states.m[0], states.q[0], change))

    def reset(self, state: State | None = None, t: float | None = None) -> None:
        """Go back to the start, or to a state, and forget kept states; `params` stay as they are.

        If a value that the torque or the interaction reads has changed since the start, such as a global, the torque or
        the interaction is a new one.

        Parameters
        ----------
        state : State, optional
            The new state. The default is that of the problem.
        t : float, optional
            The new time. The default is the start of the time span.

        Raises
        ------
        ShapeError
            If the state is not of the shape of the problem.
        """
        if self.problem.current() is not self.problem:
            self._renew()
        run = self._run
        if state is None and t is None:
            run.restart()
        else:
            rows = run.rows if state is None else self.problem.replaced(state=state).rows
            if rows.batch != run.batch or rows.m.shape != run.rows.m.shape:
                raise ShapeError(f"state has the batch {rows.batch}; expected a state of the batch {run.batch}")
            run.begin(run.t0 if t is None else _time(t, self.problem.units), rows.m, rows.q)
        if self._kept is not None:
            self._kept = [_copied(run)]

    def _renew(self) -> None:
        """Begin anew with the torque as it is now."""
        problem = self.problem.current()
        old = self._run
        h = abs(self.h) if old.method.takes_h else None
        run = new_stepping(problem, (old.t0, old.t1), old.method, h)
        run.load()
        if self._params is not None:
            run.bodies.params[:] = self._params
        self.__init__(run, self._kept is not None)  # type: ignore[misc]

    def trajectory(self) -> Any:
        """Return the kept states: the first one, and those after every call of ``step`` and ``to``.

        Returns
        -------
        Trajectory or SystemTrajectory
            The states, without dense output.

        Raises
        ------
        InputError
            If states are not kept.
        """
        if self._kept is None:
            raise InputError("states are not kept; type start(..., keep=True)")
        return self._trajectory_of(self._kept)

    def _trajectory_of(self, kept: list[States]) -> Any:
        """Return the trajectory of states; raise RunError with it if a body has failed."""
        return self._run.trajectory(States(*(np.concatenate(arrays) for arrays in zip(*kept, strict=True))))

    def _advance(self, advance: Callable[..., None], *arguments: float) -> None:
        """Call a method of the run that advances it; if that fails, return to the last good step and raise."""
        run = self._run
        if self._known_params is not None and self._params_changed():
            run.begin(run.t, run.states.m[0], run.states.q[0])
        try:
            advance(*arguments)
            if run.any_stopped:
                self._trajectory_of(self._kept or [_copied(run)])  # raises
        except BaseException:
            run.go_back()
            raise
        if self._kept is not None:
            self._kept.append(_copied(run))

    def _params_changed(self) -> bool:
        """Return whether the user has written to the parameters; bytes are compared quickly."""
        assert self._params is not None
        known, self._known_params = self._known_params, self._params.tobytes()
        return known != self._known_params

    def _arrays(self) -> list[FloatArray]:
        """Return copies of the arrays of the user."""
        states = self._run.states
        return [np.array(array[0]) for array in self._run.rows.to_user(states.m, states.q)]

    def _array(self, name: str) -> FloatArray:
        """Return a copy of one of the arrays of the user."""
        names = self._run.rows.names
        if name not in names:
            raise AttributeError(f"bodies that only rotate have no {name}; they have {' and '.join(names)}")
        return self._arrays()[names.index(name)]

    def __repr__(self) -> str:
        """Return a one-line description: what moves, the time, the method and the number of steps."""
        step = f", h = {self.h:g}" if isfinite(self.h) else ""
        return f"Stepper at t = {self.t:g}: {self.problem!r}, {self.method!r}{step}; {self.stats.steps} steps"


def _copied(run: SteppingRun) -> States:
    """Return a copy of the present states of a run."""
    return States(*map(np.copy, run.states))


def _time(t: Any, units: Mapping[str, str]) -> float:
    """Return a time as a float; raise TimeError unless it is finite."""
    if isinstance(t, float) and isfinite(t):
        return float(t)  # not a float64 of NumPy, with which Python computes slowly
    time = as_floats(t, "t", units=units)
    if time.shape or not isfinite(time):
        raise TimeError(f"t = {t!r}: expected a finite time")
    return float(time)
