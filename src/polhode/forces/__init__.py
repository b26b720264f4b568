"""Ready-made forces, one module each: gravity, gravity_gradient, restoring, spring, constant, damping.

Forces can be added.

>>> from polhode import forces
>>> forces.gravity(1.0, offset=(0, 0, 1)) + forces.damping(0.1)
gravity + damping
"""

from __future__ import annotations

from polhode.forces.constant import constant
from polhode.forces.damping import damping
from polhode.forces.gravity import gravity
from polhode.forces.gravity_gradient import gravity_gradient, gravity_gradient_strength
from polhode.forces.restoring import restoring
from polhode.forces.spring import spring

__all__ = ["constant", "damping", "gravity", "gravity_gradient", "gravity_gradient_strength", "restoring", "spring"]
__dir__ = __all__.copy  # public names only
