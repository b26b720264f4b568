"""A perturbed free body over a very long time: ``driver_example1`` of the Fortran routines FRB.

Celledoni and Zanna 2010, section 4.3: f = (u_2, -u_1, 0), u = Q^T u_0 with |u_0| = 1e-3, on [0, 5e4] with h = 0.5 and a
splitting of order 6. The trajectory stays on a torus close to the unperturbed one. As I_3 > I_1 + I_2, no real body has
these moments; the equations of motion remain valid.
"""

from __future__ import annotations

import numpy as np

from polhode.core.references import FRB_2010
from polhode.core.state import State
from polhode.forces import gravity
from polhode.integration.problem import Problem

MOMENTS = (1.0, 1.0126869887825154, 3.3062374224730378)
M0 = (-3.4790957088547336e-01, -1.9822914599675923e-01, -9.1633189192763642e-01)
U0 = (9.5586303547238536e-05, 4.8777318247201465e-04, -8.6772148817192390e-04)

AT_100 = State(  # at t = 100, from Taylor series in high precision
    m=(-0.3992738619223024, 0.014451763758186733, -0.9167228560656816),
    q=(0.6779115827797574, 0.1754267434929365, 0.043532707185571985, 0.7125771867002219),
)


def perturbed(t_end: float = 5e4) -> Problem:
    """Return the problem of a free body perturbed by a small constant weight, oblique to the space axes.

    Parameters
    ----------
    t_end : float, optional
        End of the time span. The default is 5e4.

    Returns
    -------
    Problem
        The problem, without units.

    Examples
    --------
    >>> from polhode.solve import integrate
    >>> traj = integrate(perturbed(t_end=100.0), method="ABA1064")
    >>> bool(abs(traj.energy_error()).max() < 1e-12)
    True
    """
    return Problem(
        name="perturbed",
        summary="Free body, weakly perturbed, driver_example1 of FRB",
        body=MOMENTS,
        state=State(M0),
        force=gravity(np.linalg.norm(U0), offset=(0.0, 0.0, 1.0), up=U0),
        t_span=(0.0, t_end),
        h=0.5,
        references=(FRB_2010,),
        truth={100.0: AT_100},
    )
