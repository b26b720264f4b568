"""A heavy top of small weight: a free body perturbed by eps. Celledoni et al. 2008, section 3.3.1.

    H = T + eps V,   V = u_3,   u = Q^T e_3,   f = eps (u_2, -u_1, 0)                                     (3.7)

I_1 = 1, the first two components of m are given (in the paper they are random, like I), and the third is chosen such
that T = 1; Q is the identity. With exact free motion between kicks, energy errors are smaller than eps for all but very
long steps.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polhode.core.checks import as_floats
from polhode.core.errors import MomentumError
from polhode.core.references import CELLEDONI_2008
from polhode.core.state import State
from polhode.forces import gravity
from polhode.integration.problem import Problem

KINETIC = 1.0
MOMENTS, M12 = (1.0, 1.5, 2.25), (0.5, 0.75)
TRUTH = {  # by eps: state at t = 20 for the default moments and start, from Taylor series in high precision
    1e-3: State(
        m=(0.6150365657670154, 0.49127077588218865, 1.8129793543788455),
        q=(-0.9956885870221173, 0.049060588763494666, 0.00657059128227273, -0.07844822263302163),
    ),
    1e-6: State(
        m=(0.6117713660645455, 0.5018356476267065, 1.8111176199807644),
        q=(-0.9960821089327353, 0.04571285292077972, 0.004693474877312965, -0.07555619521610164),
    ),
}


def heavy_top(
    eps: float = 1e-3,
    moments: npt.ArrayLike = MOMENTS,
    m12: npt.ArrayLike = M12,
    t_end: float = 20.0,
) -> Problem:
    """Return the problem of a heavy top of small weight, with initial kinetic energy 1.

    Parameters
    ----------
    eps : float, optional
        Weight times lever. The default is 1e-3.
    moments : array_like, shape (..., 3), optional
        Principal moments.
    m12 : array_like, shape (..., 2), optional
        First two components of the initial angular momentum in body axes.
    t_end : float, optional
        End of the time span. The default is 20.

    Returns
    -------
    Problem
        The problem, without units.

    Raises
    ------
    MomentumError
        If ``m12`` alone has a kinetic energy larger than 1.

    Examples
    --------
    >>> from polhode.solve import integrate
    >>> top = heavy_top(1e-6, t_end=5.0)
    >>> bool(abs(integrate(top, method="ABA1064").energy_error()).max() < 1e-14)
    True
    """
    I = as_floats(moments, "moments", 3)
    start = as_floats(m12, "m12", 2)
    remaining = 2.0 * KINETIC - np.sum(start**2 / I[..., :2], axis=-1)  # 2 T of the third axis
    if not (remaining >= 0.0).all():
        raise MomentumError("m12 alone has a kinetic energy larger than 1; expected m1^2/I1 + m2^2/I2 <= 2")
    known = eps in TRUTH and np.array_equal(I, MOMENTS) and np.array_equal(start, M12)
    start = np.broadcast_to(start, (*remaining.shape, 2))
    return Problem(
        name="heavy_top",
        summary=f"Heavy top whose weight times lever is {eps:g} of its kinetic energy",
        body=I,
        state=State(np.concatenate([start, np.sqrt(I[..., 2] * remaining)[..., None]], axis=-1)),
        force=gravity(eps, offset=(0.0, 0.0, 1.0)),
        t_span=(0.0, t_end),
        h=0.5,
        references=(CELLEDONI_2008,),
        truth={20.0: TRUTH[eps]} if known else None,
    )
