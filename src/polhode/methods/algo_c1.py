"""ALGO_C1, the momentum scheme of Simo and Wong 1991, as Betsch and Siebert 2009 describe it.

They compare with it and refer to the original paper, which was not available. It is Newmark's rule with beta = 1/4 and
gamma = 1/2, in body axes, with the momentum balance in space:

    Theta = (h/2) (w0 + w1),   Q1 = Q0 exp(hat Theta),   Q1 J w1 = Q0 J w0 + h tau

They do not print where tau = Q f is evaluated. Both symmetric readings are available: at Q0 exp(hat Theta/2), the
midpoint rule, or the mean of tau at Q0 and at Q1, the trapezoidal rule. In terms of e = tan(|Theta|/4) Theta/|Theta|
these are the equations of ``kernels.stepping.half_turns`` with g = atan|e|/|e| and k = h f, or, in the axes of the
middle, k = (h/2) (C^T f0 + C f1).
"""

from __future__ import annotations

from dataclasses import replace
from math import atan, sqrt
from typing import TYPE_CHECKING, Any

from polhode.core.checks import known_name
from polhode.core.errors import InputError
from polhode.core.references import BETSCH_SIEBERT_2009
from polhode.kernels.compiler.jit import entry_point, inline
from polhode.kernels.numbers.quat import product
from polhode.kernels.numbers.vectors import cross, dot, plus, times
from polhode.kernels.stepping.half_turns import half_turn_step, half_turn_system, middle
from polhode.kernels.stepping.header import ADDRESS, FINE, Work
from polhode.kernels.stepping.implicit import StepContext
from polhode.kernels.stepping.torques import torque_at
from polhode.kernels.stepping.whole_steps import Step, take_steps
from polhode.methods.record import CONSTRAINTS, ENERGIES, MOMENTA, MOMENTUM_ALONG, MethodRecord
from polhode.methods.whole_step import WholeStep

if TYPE_CHECKING:
    from polhode.forces.base import Force

SIMO_WONG_1991 = (
    "J. C. Simo, K. K. Wong, Unconditionally stable algorithms for rigid body dynamics that exactly preserve energy "
    "and momentum, Int. J. Numer. Meth. Engng. 31 (1991) 19-52"
)

AT_REST = 0.0, 0.0, 0.0  # replaces the angular velocity, on which the torque must not depend
SMALL = 2.0**-10  # the largest |e|^2 for which dg/d(|e|^2) is computed from its series


@inline
def impulse(step, e):
    """Return (k, status, noise) by the midpoint rule, for the half turn `e`."""
    x = 1.0 / sqrt(1.0 + dot(e, e))
    h0, h1, h2, h3 = middle(step.q, e)
    half = x * h0, x * h1, x * h2, x * h3
    f, status = torque_at(step.tools, step.params, step.body.frame, step.t, AT_REST, half)
    return times(step.body.time, f), status, 0.0


@inline
def from_middle(e, v):
    """Return C v: `v` turned from the middle axes to the start axes, or from the end axes to the middle axes."""
    u = cross(e, v)
    return plus(v, 2.0 / (1.0 + dot(e, e)), plus(u, 1.0, cross(e, u)))


@inline
def impulse_of_both_ends(step, e):
    """Return (k, status, noise) by the trapezoidal rule, from the torques at the start and at the end of the step."""
    x = 1.0 / (1.0 + dot(e, e))
    end_q = product(middle(step.q, e), (x, x * e[0], x * e[1], x * e[2]))
    end = step.t + 0.5 * step.body.time
    f, status = torque_at(step.tools, step.params, step.body.frame, end, AT_REST, end_q)
    both = plus(from_middle(times(-1.0, e), step.start), 1.0, from_middle(e, f))
    return times(0.5 * step.body.time, both), status, 0.0


@inline
def stretch(ee):
    """Return (g, dg/d(|e|^2)) at `ee` = |e|^2."""
    if ee <= SMALL:
        g = 1.0 - ee * (1.0 / 3.0 - ee * (0.2 - ee * (1.0 / 7.0 - ee / 9.0)))
        return g, -1.0 / 3.0 + ee * (0.4 - ee * (3.0 / 7.0))
    x = sqrt(ee)
    g = atan(x) / x
    return g, 0.5 * (1.0 / (1.0 + ee) - g) / ee


@inline
def system(body, m, e, k, K, noise):
    """Return the equations for `e`, the columns of their Jacobian and the noise, given k and its derivatives K."""
    g, slope = stretch(dot(e, e))
    return half_turn_system(body, g, slope, m, e, k, K, noise)


@inline
def step(torque, params, body, t, memory, first, m, q):
    """Return the Step from (m, q) by the midpoint rule; `t` is the middle of the step."""
    return half_turn_step(impulse, system, StepContext(torque, params, body, t, 0.0, q), m)


@inline
def trapezoidal_step(torque, params, body, t, memory, first, m, q):
    """Return the Step from (m, q) by the trapezoidal rule; `t` is the middle of the step."""
    begin = t - 0.5 * body.time
    f, status = torque_at(torque, params, body.frame, begin, AT_REST, q)
    if status != FINE:
        return Step(m, q, status, 1, 0, 0.0)
    return half_turn_step(impulse_of_both_ends, system, StepContext(torque, params, body, t, f, q), m)


@entry_point(("void", ADDRESS, Work))
def run(torque, work):
    """Advance bodies by the midpoint rule; see `take_steps`."""
    take_steps(step, torque, work)


@entry_point(("void", ADDRESS, Work))
def run_trapezoidal(torque, work):
    """Advance bodies by the trapezoidal rule; see `take_steps`."""
    take_steps(trapezoidal_step, torque, work)


RULES = {"midpoint": run, "trapezoidal": run_trapezoidal}


class AlgoC1(WholeStep):
    """Momentum scheme of Simo and Wong, of order 2, for any torque that depends on the attitude alone.

    It conserves the momentum along every direction in space along which there is no torque, and the energy of a free
    body.

    Parameters
    ----------
    rule : {"midpoint", "trapezoidal"}, optional
        Where the torque of a step is evaluated: at half of its rotation (the default), or at both ends of the step.
        Betsch and Siebert 2009 do not specify it. A torque with ``breaks`` requires the midpoint rule.

    Raises
    ------
    InputError
        If `rule` is not one of the two names.

    Examples
    --------
    >>> from polhode import integrate, problems
    >>> traj = integrate(problems.free_body("betsch_siebert"), method=AlgoC1(), h=0.05)
    >>> bool(abs(traj.energy_error()).max() < 1e-13)
    True
    """

    needs_gradient = False
    not_for_systems = (
        "iterates with the torque on one body, and a system would need the forces of all pairs in every iteration"
    )
    record = MethodRecord(
        name="AlgoC1()",
        summary="momentum scheme of Newmark type",
        order=2,
        symmetric=True,
        symplectic=False,
        free=ENERGIES | MOMENTA | CONSTRAINTS,
        quadratic=CONSTRAINTS | {MOMENTUM_ALONG},
        axial=CONSTRAINTS | {MOMENTUM_ALONG},
        potential=CONSTRAINTS,
        references=(SIMO_WONG_1991, BETSCH_SIEBERT_2009),
        test_step=0.4,
    )

    def __init__(self, rule: str = "midpoint") -> None:
        self.rule = known_name("rule of AlgoC1", rule, RULES)
        if rule != "midpoint":
            self.record = replace(type(self).record, name=f"AlgoC1({rule!r})")

    def check(self, force: Force) -> None:
        """Raise InputError if the force is damped or depends on the angular velocity.

        With the trapezoidal rule, also raise it if the force has breaks.
        """
        super().check(force)
        if self.rule != "midpoint" and len(force.breaks):
            raise InputError(
                f"{force!r} has breaks, and {self!r} evaluates torques at the ends of steps, where they jump; choose "
                "AlgoC1()"
            )

    @property
    def loop(self) -> Any:
        """Return the entry point of the chosen rule."""
        return RULES[self.rule]

    def tools(self, force: Force) -> tuple[Any, ...]:
        """Return the address of the torque, which `loop` takes before the arrays."""
        return (force.torque_address(),)
