"""Closed form of free motion: states at any time by Jacobi functions and elliptic integrals, without steps."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody
from polhode.core.errors import InputError
from polhode.core.references import CELLEDONI_2008
from polhode.core.state import State
from polhode.free.motion import MANY_TIMES, FreeMotion
from polhode.free.propagation import propagate
from polhode.kernels.stepping.header import BatchState, Bodies, Clock, Interpolation, Saved, Wanted
from polhode.methods.method import Advance, Between, Longest, Method, anything

if TYPE_CHECKING:
    from polhode.forces.base import Force

AT_REST = State((0.0, 0.0, 0.0))


class ClosedForm(Method):
    """The exact motion of free bodies, which is chosen for every problem without a force.

    There is one step, from the start to the end. States are saved at multiples of ``h``, or at ``t_eval``.

    Examples
    --------
    >>> from polhode import Problem, State, integrate
    >>> free = Problem((1.0, 1.65, 1.97), State(m=(0.3, 0.2, 0.9)), t_span=(0, 1e6))
    >>> traj = integrate(free, method=ClosedForm(), h=1e4)
    >>> len(traj), traj.stats.steps, bool(abs(traj.energy_error()).max() < 1e-14)
    (101, 1, True)
    """

    references = (CELLEDONI_2008,)
    order = inf
    stages = 0
    not_for_systems = "is the motion of free bodies, and the bodies of a system interact"
    chooses_steps = True
    any_time = True

    def check(self, force: Force) -> None:
        """Raise InputError if there is a force."""
        if not force.is_zero:
            raise InputError(
                f"ClosedForm() is the motion of free bodies, and {force!r} acts; omit method, or pass another one and h"
            )

    def is_exact_for(self, force: Force) -> bool:
        """Return whether there is no force."""
        return force.is_zero

    def finer(self, h: float | None) -> tuple[Method, float | None]:
        """Return the method itself: there is no error but round-off."""
        return self, h

    def new_batch_state(self, m: FloatArray, q: FloatArray, t0: float = 0.0, longest: Longest = anything) -> BatchState:
        """Return the state of bodies at `t0`, with momenta of shape (n, 3) and attitudes of shape (n, 4)."""
        return BatchState.new(m, q, 0).at(t0, np.inf, np.empty((0, 8)))

    def advance(self, force: Force) -> Advance:
        """Return the function that evaluates the motion; see `Advance` for its signature."""
        from polhode.kernels.exact import batch, dense, secular  # noqa: F401  loaded here, not in the run

        known: Any = None, None  # moments of inertia, and the bodies that have them

        def advance(
            bodies: Bodies, clock: Clock, wanted: Wanted, start: int, stop: int, current: Any, saved: Saved
        ) -> None:
            nonlocal known
            times = wanted.times
            t0 = float(current.t[start])
            if known[0] is not bodies.inertia:
                known = bodies.inertia, RigidBody.from_moments(bodies.inertia)
            body = known[1]
            if len(times):
                sample(body, current.m, current.q, times - t0, saved.m, saved.q)
            if len(times) and times[-1] == clock.end:
                m, q = saved.m[-1], saved.q[-1]
            else:
                m, q = propagate(body, current.m, current.q, clock.end - t0)
            current.m[:], current.q[:] = m, q
            current.t[:] = clock.end
            current.steps[:] += 1
            current.seen[:] = len(times)
            if len(saved.step_t):
                saved.step_t[0], saved.step_m[0], saved.step_q[0] = current.t, current.m, current.q
                saved.counts[:] = 1

        return advance

    def between(self, force: Force) -> Between:
        """Return the function that evaluates the motion from given states; see `Between`."""

        def between(work: Interpolation) -> None:
            step = work.step
            body = RigidBody.from_moments(work.bodies.take(step).inertia)
            work.m_out[:], work.q_out[:] = propagate(body, work.m[step], work.q[step], work.t - work.left[step])

        return between

    def __repr__(self) -> str:
        """Return the call that creates this method."""
        return "ClosedForm()"


def sample(
    body: RigidBody, m: FloatArray, q: FloatArray, times: FloatArray, m_out: FloatArray, q_out: FloatArray
) -> None:
    """Write the states of n free bodies after `times` (k,) to m_out (k, n, 3) and q_out (k, n, 4)."""
    if len(times) < MANY_TIMES:
        m_out[:], q_out[:] = propagate(body, m, q, times[:, None])
    else:
        FreeMotion(body, AT_REST._exactly(m=m.copy(), q=q.copy())).sample(times, out=(m_out, q_out))
