"""The Dzhanibekov effect: a T-handle that spins about its stem in weightlessness flips over periodically.

The stem is the axis of middle inertia, about which a spin is unstable (Poinsot 1834). V. Dzhanibekov observed the
effect in orbit in 1985; for tennis rackets it is the theorem of Ashbaugh, Chicone and Cushman. The dimensions of the
handle are our own choice.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polhode.core.body import RigidBody
from polhode.core.state import State
from polhode.integration.problem import Problem

STEEL = 7850.0  # kg/m^3
RADIUS = 0.008  # m, of both rods
BAR = 0.10  # m, along y
STEM = 0.05  # m, along x, from the middle of the bar
PARTS = ("its stem", "its bar", "the normal of its plane")  # body axes
RANKS = ("least", "middle", "greatest")  # moments of inertia
NEARLY = 0.5 * np.sqrt(3.0)  # smallest fraction of the angular velocity along an axis for a spin about it


def t_handle() -> RigidBody:
    """Return a T of two steel rods, with the stem along the first body axis and the bar along the second."""
    area = np.pi * RADIUS**2
    masses = STEEL * area * np.array([STEM, BAR])
    along_z = [RigidBody.cylinder(mass, RADIUS, length) for mass, length in zip(masses, (STEM, BAR), strict=True)]
    turns = (np.roll(np.eye(3), -1, axis=1), np.roll(np.eye(3), -2, axis=1))  # e3 -> e1, e3 -> e2
    centers = np.array([(0.5 * STEM, 0.0, 0.0), (0.0, 0.0, 0.0)])
    centers = centers - masses @ centers / masses.sum()
    tensors = [
        RigidBody(turn @ rod.tensor @ turn.T, mass=mass).about(center).tensor
        for turn, rod, mass, center in zip(turns, along_z, masses, centers, strict=True)
    ]
    return RigidBody.from_moments(np.diagonal(sum(tensors)), mass=masses.sum(), physical=True)


def spin(body: RigidBody, omega: npt.ArrayLike) -> str:
    """Return a description of angular velocities, shape (..., 3), for the summary of a problem.

    Examples
    --------
    >>> spin(t_handle(), (0.0, 5.0, 0.1))
    'spun about its bar, the axis of least inertia'
    """
    rates = np.abs(np.asarray(omega, dtype=float)).reshape(-1, 3)
    axes = np.argmax(rates, axis=1)
    if not rates.any():
        return "at rest"
    if (axes != axes[0]).any() or (rates[:, axes[0]] <= NEARLY * np.linalg.norm(rates, axis=1)).any():
        return "tumbling"
    rank = np.argsort(np.argsort(body.moments))[axes[0]]
    return f"spun about {PARTS[axes[0]]}, the axis of {RANKS[rank]} inertia"


def dzhanibekov(omega: tuple[float, float, float] = (10.0, 0.02, 0.0), t_end: float = 15.0) -> Problem:
    """Return the problem of a T-handle in free flight.

    Parameters
    ----------
    omega : array_like, shape (..., 3), optional
        Initial angular velocity in body axes [rad/s]. By default it is nearly along the stem.
    t_end : float, optional
        End of the time span [s]. The default is 15.

    Returns
    -------
    Problem
        The problem, in SI units.

    Examples
    --------
    >>> dzhanibekov().free_motion().regime
    'around_min'
    """
    body = t_handle()
    return Problem(
        name="dzhanibekov",
        summary=f"T-handle in free flight, {spin(body, omega)}",
        body=body,
        state=State.from_omega(body, omega),
        t_span=(0.0, t_end),
        units={"t": "s", "omega": "rad/s", "m": "kg m^2/s", "inertia": "kg m^2", "energy": "J"},
        references=(
            "L. Poinsot, Théorie nouvelle de la rotation des corps, 1834",
            "M. S. Ashbaugh, C. C. Chicone, R. H. Cushman, The twisting tennis racket, J. Dyn. Diff. Eq. 3 (1991) 67",
        ),
    )
