"""Choice of a method and a step size for systems of bodies, by the fastest motion and by trial runs.

If the time span is short, the step size is searched as for single bodies: the wanted error is that of the states at the
end. Systems of many bodies are chaotic, and errors of states grow exponentially whatever the method. In a long time
span, the wanted error is therefore that of the energy, relative to the kinetic energy, in the time in which the fastest
motion makes RADIANS radians: an error per time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from polhode.integration import rules
from polhode.integration.choice import Choice, has_to_choose, no_step_taken, wanted_tolerances
from polhode.integration.fixed_run import FixedRun
from polhode.integration.output import OutputOptions
from polhode.integration.running import new_run
from polhode.integration.step_search import Trial
from polhode.integration.strength import Strength, strong_scheme
from polhode.integration.stretches import StepSize
from polhode.integration.trials import Task
from polhode.kernels.stepping.status import Status
from polhode.methods import as_method
from polhode.methods.adaptive import Adaptive
from polhode.methods.many_bodies import M, P, Q, X
from polhode.methods.method import Method
from polhode.methods.splitting import Splitting
from polhode.systems.system import System

if TYPE_CHECKING:
    from polhode.methods import MethodLike

MOST_BYTES = 2**28  # of the states of a trial run that are kept at once
BY_MOTION = f"a step is 1/{rules.STEPS_PER_RADIAN} of a radian of the fastest motion at the start"
BY_STATES = "bodies that interact"
BY_ENERGY = "bodies that interact; errors are those of the energy, as states of chaotic systems cannot be predicted"


def choose_for_system(
    system: System, span: tuple[float, float], method: MethodLike | None = None, h: StepSize | None = None,
    rtol: float | None = None, atol: float = 0.0, output: OutputOptions | None = None,
) -> Choice:  # fmt: skip
    """Choose a method, a step size or both, whichever the user omitted; see ``integration.choice.choose``.

    Without `h`, `rtol` and a step size that the system suggests, steps are those of the fastest motion at the start.

    Parameters
    ----------
    system : System
        System to integrate.
    span : tuple of two floats
        Start and end of the integration.
    method : str, Scheme or Method, optional
        Method of the user; by default V2, or the best one of several if `rtol` is given.
    h : float, optional
        Step size of the user; by default, one is chosen.
    rtol, atol : float, optional
        Wanted error: see above.
    output : OutputOptions, optional
        Output of the run, if the choice shall include the run. By default it does not.

    Returns
    -------
    Choice
        Method and step size, the reason, and the estimated error.

    Raises
    ------
    InputError
        If an argument is invalid, or the method is not for systems.
    """
    user_method = None if method is None else as_method(method)
    if user_method is not None and h is not None and not user_method.takes_h:
        raise no_step_taken(user_method, h)
    tolerances = wanted_tolerances(rtol, atol, h)
    simplest = user_method or Splitting(None, "V2")
    system.rows.check(simplest)
    if h is not None or (user_method is None and rtol is None and system.h is not None):
        return Choice(simplest, system.h if h is None else h, is_made=False)
    if user_method and not has_to_choose(user_method, isinstance(method, str), rtol is None, system.h is None):
        return Choice(user_method, None if user_method.chooses_steps else system.h, is_made=False)
    radian = fastest_radian(system, span)
    if rtol is None:
        return Choice(simplest, radian / rules.STEPS_PER_RADIAN, BY_MOTION)
    return _by_trials(system, span, user_method, tolerances, radian, output)


def _by_trials(
    system: System, span: tuple[float, float], method: Method | None, tolerances: tuple[float, float], radian: float,
    output: OutputOptions | None,
) -> Choice:  # fmt: skip
    """Choose by trial runs, by the errors of states in a short time span, by those of the energy in a long one."""
    from polhode.integration.choice_by_trials import by_scheme, by_tolerance, with_user_method  # with all they need

    most = max(rules.LEAST_TRIAL, rules.MOST_TORQUES // system.count**2)
    structure = system.rows.sampled_structure(span)
    reused = output if output is not None and output.events is None else None  # an event may end a run
    task = Task(system, span, *tolerances, radian, structure, most, reused)
    why = BY_STATES
    if task.length > rules.RADIANS * radian and system.interaction.has_energy:
        piece = span[0], span[0] + np.copysign(rules.RADIANS * radian, span[1] - span[0])
        known = structure._replace(rough=np.zeros(1, np.bool_))  # there are no states to compare with
        task = EnergyTask(system, piece, *tolerances, radian, known, most)
        why = BY_ENERGY
    if method is None and task.structure.rough.any():
        family = Adaptive(max_step=float(structure.longest.min()))
        choice = by_tolerance(task, family, "a field is not smooth in time")
        if choice.error < inf:  # Adaptive cannot start bodies at rest by a jump, which has no relative error
            return choice
    if method is None:
        name = strong_scheme(task.error_per_length)
        return by_scheme(task, name, Strength(1.0, radian), why)
    if not method.chooses_steps:
        return with_user_method(task, method)
    if isinstance(task, EnergyTask):
        return Choice(method.with_tolerance(*tolerances), None, "rtol is the error of each step")
    return by_tolerance(task, method)


@dataclass(frozen=True)
class EnergyTask(Task):
    """Task whose errors are those of the energy in the time span, relative to the kinetic energy."""

    @property
    def compares_states(self) -> bool:
        """False: states of chaotic systems cannot be predicted."""
        return False

    def own_errors(self, method: Method) -> Callable[[Trial], float]:
        """Return the function that returns the error of a trial with fixed steps."""
        return lambda trial: inf if trial.end is None else float(trial.end[0])

    def trial(
        self, method: Method, x: float, h: StepSize | None = None, least: int = 1, keep: bool = False,
        shorter: float = 1.0,
    ) -> Trial:  # fmt: skip
        """Run to the end; with fixed steps, what is compared is the largest error of the energy, not the last state."""
        if method.chooses_steps:
            return super().trial(method, x)
        run = new_run(self.problem, self.span, method, h)
        assert isinstance(run, FixedRun)
        at_once = max(1, MOST_BYTES // (8 * run.rows.floats * run.rows.count))
        energies, kinetic = [], 0.0
        for first in range(0, run.count + 1, at_once):
            states = run.at_steps(np.arange(first, min(first + at_once, run.count + 1)), None)
            if run.interrupted:
                raise KeyboardInterrupt
            if (run.current.status != Status.REACHED_END).any():
                return Trial(x, None)
            result = run.trajectory(states)
            energies.append(result.energy)
            kinetic = max(kinetic, float(result.kinetic.max()))
        energy = np.concatenate(energies)
        return Trial(x, (np.abs(energy - energy[0]).max() / kinetic,))


def fastest_radian(system: System, span: tuple[float, float]) -> float:
    """Return the time of a radian of the fastest motion at the start, or the length of the span if nothing moves."""
    rows = system.rows
    bodies = rows.bodies_for_run()
    x, p, m, q = (
        np.ascontiguousarray(part) for part in (rows.q[0, :, X], rows.m[0, :, P], rows.m[0, :, M], rows.q[0, :, Q])
    )
    force, torque = np.empty_like(x), np.empty_like(x)
    bodies.find_forces(span[0], x, q, force, torque)
    return min(bodies.radian(p, m, force, torque), abs(span[1] - span[0]))
