"""A supply ship that rolls, pitches and yaws. Gustafsson 2010, sections 5.2 and 5.3.

    m' = m x w + m_v g u x (GM_L u_1, GM_T u_2, 0) - D_R w,   u = Q^T e_3                                  (44)
    V  = m_v g (GM_L u_1^2 + GM_T u_2^2)/2

GM_L and GM_T are the metacentric heights, due to which buoyancy rights the ship, and D_R is linear damping, strong
enough to bring the ship to rest. The initial rate of 1 rad/s about every axis is unrealistically large, to make the
effects visible.
"""

from __future__ import annotations

from polhode import forces
from polhode.core.references import GUSTAFSSON_2010
from polhode.core.state import State
from polhode.forces.base import Force
from polhode.integration.problem import Problem

MOMENTS = (3.2164e8, 5.4782e9, 5.7426e9)  # kg m^2
MASS = 6.3622e6  # kg
GRAVITY = 9.81  # m/s^2
GM_L, GM_T = 103.628, 2.14440  # m, longitudinal and transverse
DAMPING = (1e9, 1e9, 1e9)  # N m s
OMEGA = (1.0, 1.0, 1.0)  # rad/s
AT_15 = {  # at t = 15 with buoyancy, damped or not: from Taylor series in high precision
    True: State(
        m=(-3126570.2531884806, 31733281.36472442, 427832082.22815233),
        q=(-0.9920056077547542, -0.03267695636134926, 0.10165724395456288, 0.06725247547593872),
    ),
    False: State(
        m=(139947723.2546788, 6791815993.477015, 2428209277.3356276),
        q=(-0.8296506440206902, -0.45029246834006026, 0.1849885168685604, -0.27330523313511607),
    ),
}


def vessel(damped: bool = True, restoring: bool = True, t_end: float = 15.0) -> Problem:
    """Return the problem of a supply ship in the water.

    Parameters
    ----------
    damped : bool, optional
        Whether the motion is damped. The default is True.
    restoring : bool, optional
        Whether buoyancy rights the ship. The default is True.
    t_end : float, optional
        End of the time span [s]. The default is 15.

    Returns
    -------
    Problem
        The problem, in SI units.

    Examples
    --------
    >>> from polhode.solve import integrate
    >>> traj = integrate(vessel(), method="V2_BAB")
    >>> bool(traj.kinetic[-1] < 0.01 * traj.kinetic[0])
    True
    >>> vessel(damped=False, restoring=False).force.is_zero
    True
    """
    acting_forces: list[Force] = []
    effects: list[str] = []
    if restoring:
        effects.append("righted by buoyancy")
        acting_forces.append(forces.restoring(MASS * GRAVITY, longitudinal=GM_L, transverse=GM_T))
    if damped:
        effects.append("damped by the water")
        acting_forces.append(forces.damping(DAMPING))
    return Problem(
        name="vessel",
        summary=f"Supply ship, {' and '.join(effects) or 'without buoyancy and damping'}",
        body=MOMENTS,
        omega=OMEGA,
        force=sum(acting_forces[1:], acting_forces[0]) if acting_forces else None,
        t_span=(0.0, t_end),
        h=0.1,
        units={"t": "s", "omega": "rad/s", "m": "kg m^2/s", "inertia": "kg m^2", "energy": "J"},
        references=(GUSTAFSSON_2010,),
        truth={15.0: AT_15[bool(damped)]} if restoring else None,
    )
