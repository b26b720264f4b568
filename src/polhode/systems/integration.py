"""Integration of systems of bodies, which ``polhode.integrate`` calls."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.capacity import memory_for
from polhode.core.checks import whole_number
from polhode.core.errors import InputError, Interrupted, RunError
from polhode.core.progress import Progress, Report
from polhode.integration.problem import checked_span
from polhode.integration.stretches import times_within
from polhode.integration.trajectory import Stats
from polhode.kernels.stepping.status import Status
from polhode.methods import as_method
from polhode.methods.splitting import Splitting
from polhode.systems.run import StepFailure, SystemRun
from polhode.systems.system import System
from polhode.systems.trajectory import SystemTrajectory

if TYPE_CHECKING:
    from polhode.methods import MethodLike

DEFAULT_METHOD = "V2"
STATE_BYTES = 13 * 8  # memory of x, p, m and q of one body
FEWER_STATES = "keep fewer, with save_every=... or t_eval=..."
ONE_BODY_ONLY = "applies to single bodies and batches, not to a System; omit it"


def integrate_system(
    system: System,
    t_span: tuple[float, float] | None = None,
    *,
    method: MethodLike | None = None,
    h: float | None = None,
    t_eval: npt.ArrayLike | None = None,
    save_every: int = 1,
    progress: bool | Report = False,
    **one_body_only: Any,
) -> SystemTrajectory:
    """Integrate the motion of the bodies of a system.

    Parameters
    ----------
    system : System
        Bodies, states, interaction and time span.
    t_span : tuple of two floats, optional
        Start and end of the integration. The default is ``system.t_span``.
    method : str, Scheme or Splitting, optional
        A splitting method. The default is "V2".
    h : float, optional
        Step size. The default is ``system.h``.
    t_eval : array_like, shape (k,), optional
        Times at which states are saved. By default, those of the steps.
    save_every : int, optional
        Number of steps between saved states. The default is 1. Ignored with `t_eval`.
    progress : bool or callable, optional
        Whether to show a progress bar; or a callback that is called with the completed part of the run, 0 to 1.
    **one_body_only
        Arguments of ``integrate`` for single bodies only, which must be omitted or false.

    Returns
    -------
    SystemTrajectory
        States at the saved times.

    Raises
    ------
    InputError
        If an argument is not for systems, or `method` is not a splitting method.
    Interrupted
        If Ctrl-C is pressed. It is a KeyboardInterrupt with the trajectory so far.
    RunError
        If the run failed; the exception has the trajectory up to there.

    Examples
    --------
    >>> from polhode import RigidBody
    >>> from polhode.systems.interactions import DipolarSoftSpheres
    >>> gas = System.lattice(RigidBody((1, 2, 3), mass=1), 2, 2.0, DipolarSoftSpheres((0, 0, 1)), kT=0.1, seed=1)
    >>> traj = integrate_system(gas, (0, 1), method="RKN4_6b", h=0.1)
    >>> len(traj), bool(abs(traj.energy_error()).max() < 1e-6)
    (11, True)
    """
    for name, value in one_body_only.items():
        if value:
            raise InputError(f"{name} = {value!r} {ONE_BODY_ONLY}")
    span = system.t_span if t_span is None else checked_span(t_span)
    chosen = as_method(DEFAULT_METHOD if method is None else method)
    if not isinstance(chosen, Splitting):
        raise InputError(
            f"{chosen!r} is for single bodies; expected Splitting(flow, scheme), or the name of a scheme, such as "
            "method='V2', 'RKN4_6b' or 'RKN6_14a'"
        )
    run = SystemRun(system, span, chosen, h)
    times = None if t_eval is None else times_within(t_eval, span)
    every = whole_number(save_every, "save_every", 1)
    states = 1 + -(-run.count // every) if times is None else len(times)
    size = states * STATE_BYTES * run.system.count
    memory = memory_for(f"{states} states of {run.system.count} bodies each", size, FEWER_STATES)
    with memory, Progress(progress, run.count, time_after=run.times) as bar:
        return _followed(run, times, every, bar)


def _followed(run: SystemRun, times: FloatArray | None, every: int, bar: Progress) -> SystemTrajectory:
    """Run, and return the states at `times`, or after every `every` steps, including the first and the last."""
    if times is None:
        steps = np.append(np.arange(0, run.count, every, dtype=np.int64), run.count)
        times = run.times(steps)
        rest = np.zeros(len(steps))
    else:
        steps = np.clip(np.floor((times - run.t0) / run.h).astype(np.int64), 0, run.count)
        rest = times - run.times(steps)
    saved = tuple(np.empty((len(times), run.system.count, width)) for width in (3, 3, 3, 4))
    reached = np.zeros(len(times), np.bool_)
    failure = None
    began = time.perf_counter()
    try:
        for j in np.argsort(times * np.sign(run.h), kind="stable"):
            run.to_step(int(steps[j]), bar)
            now = run.output_state_after(float(rest[j])) if rest[j] else run.output_state()
            for array, values in zip(saved, run.to_user(now), strict=True):
                array[j] = values
            reached[j] = True
    except KeyboardInterrupt:
        run.interrupted = True
    except StepFailure as error:
        failure = error
    run.seconds += time.perf_counter() - began
    return _result(run, times[reached], tuple(array[reached] for array in saved), failure)


def _result(
    run: SystemRun, t: FloatArray, saved: tuple[FloatArray, ...], failure: StepFailure | None
) -> SystemTrajectory:
    """Return the trajectory of the saved states; raise a RunError that contains it if the run failed."""
    status, message = (Status.INTERRUPTED, Status.INTERRUPTED.message) if run.interrupted else (Status.REACHED_END, "")
    if failure is not None:
        status = failure.status
        message = (
            f"the system stopped in step {int(run.when) + 1} of {run.count}, at t = {run.t_reached:.6g}: {failure}"
        )
    stats = Stats(run.steps, run.evaluations, run.seconds)
    result = SystemTrajectory(
        run.system, t, *saved, method=run.method, h=run.h, stats=stats, status=status, message=message
    )  # fmt: skip
    if run.interrupted:
        raise Interrupted(result)
    if failure is not None:
        raise RunError(message, result) from failure.__cause__
    return result
