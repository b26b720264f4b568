"""A tumbling satellite in a gravity gradient of fixed direction. Celledoni et al. 2008, section 3.3.2.

    V = 3 mu/(2 r^3) u.I u,   f = 3 mu/r^3 u x I u,   u = Q^T e_3                                     (3.8), (3.9)

The data are those of the paper: it uses r = 1.5e5 and mu = 3.986e14 without conversion (in meters, r is inside the
Earth), which gives the printed H_0 = 1.21595664e7. The moments are exactly those of a flat plate, I_1 + I_2 = I_3. For
a satellite in a real orbit see ``satellite_orbit``.
"""

from __future__ import annotations

from polhode.core.references import CELLEDONI_2008
from polhode.core.state import State
from polhode.forces import gravity_gradient
from polhode.integration.problem import Problem

MOMENTS = (1.7e4, 3.7e4, 5.4e4)
OMEGA = (15.0, -15.0, 15.0)
MU = 3.986e14
RADIUS = 1.5e5
AT_10 = State(  # at t = 10, from Taylor series in high precision
    m=(255172.53222807054, 554678.5562799437, 810201.9963938649),
    q=(-0.20376237941452943, 0.17909309401830464, 0.0036742236844776155, 0.9624931462044789),
)


def satellite(t_end: float = 400.0) -> Problem:
    """Return the problem of a satellite that tumbles at 26 rad per unit of time.

    Parameters
    ----------
    t_end : float, optional
        End of the time span. The default is 400.

    Returns
    -------
    Problem
        The problem, with the numbers of the paper and without units.

    Examples
    --------
    >>> from polhode.solve import integrate
    >>> traj = integrate(satellite(t_end=4.0))
    >>> float(traj.energy[0])
    12159566.4
    >>> bool(abs(traj.energy_error()).max() < 1e-6)
    True
    """
    return Problem(
        name="satellite",
        summary="Tumbling satellite in a gravity gradient of fixed direction",
        body=MOMENTS,
        omega=OMEGA,
        force=gravity_gradient(MOMENTS, strength=3.0 * MU / RADIUS**3),
        t_span=(0.0, t_end),
        h=0.1,
        truth={10.0: AT_10},
        references=(
            CELLEDONI_2008,
            "J. Wm. Mitchell, A simplified variation of parameters solution for the motion of an arbitrarily torqued "
            "mass asymmetric rigid body, Ph.D. thesis, University of Cincinnati (2000)",
        ),
    )
