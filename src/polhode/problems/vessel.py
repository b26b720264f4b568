"""A supply ship that rolls, pitches and yaws. Gustafsson 2010, sections 5.2 and 5.3.

    m' = m x w + m_v g u x (GM_L u_1, GM_T u_2, 0) - D_R w,   u = Q^T e_3                                  (44)
    V  = m_v g (GM_L u_1^2 + GM_T u_2^2)/2

GM_L and GM_T are the metacentric heights, which make buoyancy right the ship, and D_R is linear damping, so strong that
the ship comes to rest. It starts with an unreasonable 1 rad/s about every axis, to show the effects.
"""

from __future__ import annotations

from polhode import forces
from polhode.force import Force
from polhode.problem import Problem
from polhode.references import GUSTAFSSON_2010

MOMENTS = (3.2164e8, 5.4782e9, 5.7426e9)  # kg m^2
MASS = 6.3622e6  # kg
GRAVITY = 9.81  # m/s^2
GM_L, GM_T = 103.628, 2.14440  # m, longitudinal and transverse
DAMPING = (1e9, 1e9, 1e9)  # N m s
OMEGA = (1.0, 1.0, 1.0)  # rad/s


def vessel(damped: bool = True, restoring: bool = True, t_end: float = 15.0) -> Problem:
    """The ship, with damping or without, with buoyancy or without.

    >>> from polhode.integration import integrate
    >>> traj = integrate(vessel(), method="V2_BAB")
    >>> bool(traj.kinetic[-1] < 0.01 * traj.kinetic[0])
    True
    >>> vessel(damped=False, restoring=False).force is None
    True
    """
    acting: list[Force] = []
    if restoring:
        acting.append(forces.restoring(MASS * GRAVITY, longitudinal=GM_L, transverse=GM_T))
    if damped:
        acting.append(forces.damping(DAMPING))
    return Problem(
        name="vessel",
        summary="Supply ship that rolls, righted by buoyancy and damped by the water",
        body=MOMENTS,
        omega=OMEGA,
        force=sum(acting[1:], acting[0]) if acting else None,
        t_span=(0.0, t_end),
        h=0.1,
        units={"t": "s", "omega": "rad/s", "m": "kg m^2/s", "inertia": "kg m^2", "energy": "J"},
        references=(GUSTAFSSON_2010,),
    )
