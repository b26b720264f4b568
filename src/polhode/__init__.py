"""polhode: rigid bodies in time, exact when they are free.

Names load on first use (PEP 562), so that ``import polhode`` needs neither Numba nor any optional package.

>>> import polhode as ph
>>> m, q = ph.propagate((1.0, 1.65, 1.97), m=(0.3, 0.2, 0.9), q=(1, 0, 0, 0), t=10.0)
>>> m.shape, q.shape
((3,), (4,))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from polhode.flows import FLOWS

__version__ = "0.1.0"

if TYPE_CHECKING:
    from polhode import errors, geometry, problems, rotation
    from polhode.body import RigidBody
    from polhode.derivatives import ErrorBound, Jacobian
    from polhode.errors import InputError, PolhodeError
    from polhode.geometry import Andoyer, andoyer, from_andoyer
    from polhode.motion import FreeMotion, free_motion
    from polhode.propagation import propagate
    from polhode.state import State
    from polhode.study import OrderStudy, order_study

_HOME = {
    "Andoyer": "geometry",
    "ErrorBound": "derivatives",
    "FreeMotion": "motion",
    "InputError": "errors",
    "Jacobian": "derivatives",
    "OrderStudy": "study",
    "PolhodeError": "errors",
    "RigidBody": "body",
    "State": "state",
    "andoyer": "geometry",
    "free_motion": "motion",
    "from_andoyer": "geometry",
    "order_study": "study",
    "propagate": "propagation",
}
_HOME |= {name: f"flows.{module}" for name, module in FLOWS.items()}
_MODULES = ("errors", "flows", "geometry", "problems", "rotation")

__all__ = [
    "Andoyer",
    "ErrorBound",
    "FreeMotion",
    "InputError",
    "Jacobian",
    "OrderStudy",
    "PolhodeError",
    "RigidBody",
    "State",
    "andoyer",
    "errors",
    "flows",
    "free_motion",
    "from_andoyer",
    "geometry",
    "order_study",
    "problems",
    "propagate",
    "rotation",
]
__all__ += FLOWS
__all__.sort()


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"polhode.{name}")
    if name in _HOME:
        value = getattr(importlib.import_module(f"polhode.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'polhode' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
