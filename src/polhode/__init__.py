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
from polhode.methods import METHODS

__version__ = "0.1.0"

if TYPE_CHECKING:
    from polhode import adapters, errors, events, forces, geometry, interactions, problems, rotation, sampling, schemes
    from polhode.body import RigidBody
    from polhode.citing import cite
    from polhode.comparison import WorkPrecision, work_precision
    from polhode.derivatives import ErrorBound, Jacobian
    from polhode.ensembles import ensemble, open_ensemble
    from polhode.errors import InputError, PolhodeError
    from polhode.force import Potential, Torque
    from polhode.geometry import Andoyer, andoyer, from_andoyer
    from polhode.integration import integrate
    from polhode.motion import FreeMotion, free_motion
    from polhode.problem import Problem
    from polhode.propagation import propagate
    from polhode.scheme import Scheme
    from polhode.state import State
    from polhode.store import load
    from polhode.streaming import resume, stream
    from polhode.study import OrderStudy, order_study
    from polhode.system import System
    from polhode.system_trajectory import SystemTrajectory
    from polhode.trajectory import Trajectory
    from polhode.viewer import view

_HOME = {
    "Andoyer": "geometry",
    "ErrorBound": "derivatives",
    "FreeMotion": "motion",
    "InputError": "errors",
    "Jacobian": "derivatives",
    "OrderStudy": "study",
    "PolhodeError": "errors",
    "Potential": "force",
    "Problem": "problem",
    "RigidBody": "body",
    "Scheme": "scheme",
    "State": "state",
    "System": "system",
    "SystemTrajectory": "system_trajectory",
    "Torque": "force",
    "Trajectory": "trajectory",
    "WorkPrecision": "comparison",
    "andoyer": "geometry",
    "cite": "citing",
    "ensemble": "ensembles",
    "free_motion": "motion",
    "from_andoyer": "geometry",
    "integrate": "integration",
    "load": "store",
    "open_ensemble": "ensembles",
    "order_study": "study",
    "propagate": "propagation",
    "resume": "streaming",
    "stream": "streaming",
    "view": "viewer",
    "work_precision": "comparison",
}
_HOME |= {name: f"flows.{module}" for name, module in FLOWS.items()}
_HOME |= {name: f"methods.{module}" for name, module in METHODS.items()}
_MODULES = (
    "adapters",
    "errors",
    "events",
    "flows",
    "forces",
    "geometry",
    "interactions",
    "problems",
    "rotation",
    "sampling",
    "schemes",
)

__all__ = [
    "Andoyer",
    "ErrorBound",
    "FreeMotion",
    "InputError",
    "Jacobian",
    "OrderStudy",
    "PolhodeError",
    "Potential",
    "Problem",
    "RigidBody",
    "Scheme",
    "State",
    "System",
    "SystemTrajectory",
    "Torque",
    "Trajectory",
    "WorkPrecision",
    "adapters",
    "andoyer",
    "cite",
    "ensemble",
    "errors",
    "events",
    "flows",
    "forces",
    "free_motion",
    "from_andoyer",
    "geometry",
    "integrate",
    "interactions",
    "load",
    "open_ensemble",
    "order_study",
    "problems",
    "propagate",
    "resume",
    "rotation",
    "sampling",
    "schemes",
    "stream",
    "view",
    "work_precision",
]
__all__ += [*FLOWS, *METHODS]
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
