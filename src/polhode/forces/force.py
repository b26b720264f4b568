"""The user's physics: ``Potential`` and ``Torque``; every force is a ``Force``, and forces add up.

Ready-made ones are in ``polhode.forces``; the classes themselves in ``polhode.forces.base``.
"""

from __future__ import annotations

from polhode.forces.base import Force, Potential, Torque
from polhode.forces.functions import SlowTorqueWarning

__all__ = ["Force", "Potential", "SlowTorqueWarning", "Torque"]
