"""Check that the bodies of a system are those for which an interaction was made."""

from __future__ import annotations

import numpy as np

from polhode.core.arrays import BoolArray, FloatArray, IntArray
from polhode.core.body import RigidBody, flow_moments
from polhode.core.checks import show
from polhode.core.errors import InputError

TOLERANCE = 1e-6  # largest relative difference of masses, and of inertia tensors


def check_same_body(
    expected: RigidBody,
    name: str,
    rows: IntArray,
    mass: FloatArray,
    moments: FloatArray,
    axes: FloatArray | None,
    linear: BoolArray,
) -> None:
    """Raise an InputError unless all bodies `rows` have the mass and the inertia of the body `expected`.

    Parameters
    ----------
    expected : RigidBody
        The body of one molecule, with a mass.
    name : str
        Name of the molecules, for the message.
    rows : ndarray, shape (k,)
        Indices of the bodies that are compared.
    mass, moments, axes, linear
        Those of all bodies; see ``Interaction.check_bodies``.
    """
    own_mass, own_moments = float(np.asarray(expected.mass)), flow_moments(expected)
    difference = np.abs(mass[rows] / own_mass - 1.0)
    turned = expected.axes.T if axes is None else expected.axes.T @ axes[rows]
    scaled = turned / np.sqrt(own_moments)[:, None]
    tensors = np.einsum("...ik,...k,...jk->...ij", scaled, moments[rows], scaled)  # 1 for equal moments and axes
    difference = np.maximum(difference, np.abs(tensors - np.eye(3)).max(axis=(-2, -1)))
    wrong = ~(difference <= TOLERANCE) | (linear[rows] != expected.is_linear)
    if not wrong.any():
        return
    i = int(rows[np.argmax(wrong)])
    is_turned = axes is not None and not np.array_equal(axes[i], np.eye(3))
    own_turned = not expected.is_principal
    raise InputError(
        f"body {i} has {_described(mass[i], moments[i], linear[i], is_turned)}; expected "
        f"{_described(own_mass, own_moments, expected.is_linear, own_turned)}, as a molecule of {name} has, to "
        f"{TOLERANCE:g} (they differ by {difference[np.argmax(wrong)]:.3g}): pass the attribute body of the model, or "
        "bodies of a mixture, or make the model by Molecular(sites, ...), without atoms, if other masses are intended"
    )


def _described(mass: float, moments: FloatArray, linear: bool, turned: bool) -> str:
    """Return mass and moments as text."""
    if linear:
        return f"mass {mass:.6g} and moment {moments[0]:.6g} as a linear rotor"
    return f"mass {mass:.6g} and moments {show(moments)}" + (" in turned axes" if turned else "")
