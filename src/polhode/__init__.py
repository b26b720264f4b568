"""polhode: the motion of rigid bodies, exact in the absence of torques.

Names are loaded on first use (PEP 562), so that ``import polhode`` imports neither Numba nor any optional package.

>>> import polhode as ph
>>> m, q = ph.propagate((1.0, 1.65, 1.97), m=(0.3, 0.2, 0.9), q=(1, 0, 0, 0), t=10.0)
>>> m.shape, q.shape
((3,), (4,))
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from polhode._version import __version__ as __version__
from polhode.core.errors import INTERRUPTIBLE
from polhode.flows import FLOWS
from polhode.methods import METHODS

if TYPE_CHECKING:  # for type checkers and editors; a test checks that the names are those of ``_HOME``
    from polhode import compiled as compiled
    from polhode import elliptic as elliptic
    from polhode import flows as flows
    from polhode import forces as forces
    from polhode import problems as problems
    from polhode.core import errors as errors
    from polhode.core import rotation as rotation
    from polhode.core.body import RigidBody as RigidBody
    from polhode.core.errors import InputError as InputError
    from polhode.core.errors import PolhodeError as PolhodeError
    from polhode.core.state import State as State
    from polhode.ensembles import sampling as sampling
    from polhode.ensembles import summaries as summaries
    from polhode.ensembles import variation as variation
    from polhode.ensembles.ensemble import ensemble as ensemble
    from polhode.ensembles.ensemble import open_ensemble as open_ensemble
    from polhode.files.long_runs import resume as resume
    from polhode.files.long_runs import stream as stream
    from polhode.files.saving import load as load
    from polhode.flows.composed import Composed as Composed
    from polhode.flows.exact import Exact as Exact
    from polhode.flows.frb_matrix import FrbMatrix as FrbMatrix
    from polhode.flows.frb_quaternion import FrbQuaternion as FrbQuaternion
    from polhode.flows.gauss import Gauss as Gauss
    from polhode.flows.given_rates import Attitudes as Attitudes
    from polhode.flows.given_rates import attitude_from_rates as attitude_from_rates
    from polhode.flows.magnus import Magnus as Magnus
    from polhode.flows.midpoint import Midpoint as Midpoint
    from polhode.flows.moser_veselov import MoserVeselov as MoserVeselov
    from polhode.flows.symmetric_rotation import SymmetricRotation as SymmetricRotation
    from polhode.flows.three_rotations import NoSquish as NoSquish
    from polhode.flows.three_rotations import ThreeRotations as ThreeRotations
    from polhode.flows.van_zon_schofield import VanZonSchofield as VanZonSchofield
    from polhode.forces.base import Potential as Potential
    from polhode.forces.base import Torque as Torque
    from polhode.free import geometry as geometry
    from polhode.free.derivatives import ErrorBound as ErrorBound
    from polhode.free.derivatives import Jacobian as Jacobian
    from polhode.free.geometry import Andoyer as Andoyer
    from polhode.free.geometry import andoyer as andoyer
    from polhode.free.geometry import from_andoyer as from_andoyer
    from polhode.free.motion import FreeMotion as FreeMotion
    from polhode.free.motion import free_motion as free_motion
    from polhode.free.propagation import propagate as propagate
    from polhode.integration.problem import Problem as Problem
    from polhode.integration.stepper import Stepper as Stepper
    from polhode.integration.trajectory import Trajectory as Trajectory
    from polhode.kernels.stepping.status import Status as Status
    from polhode.methods import schemes as schemes
    from polhode.methods.adaptive import Adaptive as Adaptive
    from polhode.methods.algo_c1 import AlgoC1 as AlgoC1
    from polhode.methods.closed_form import ClosedForm as ClosedForm
    from polhode.methods.dir_em import DirEM as DirEM
    from polhode.methods.quat_em import QuatEM as QuatEM
    from polhode.methods.quat_vi import QuatVI as QuatVI
    from polhode.methods.rattle import Rattle as Rattle
    from polhode.methods.scheme import Scheme as Scheme
    from polhode.methods.splitting import Splitting as Splitting
    from polhode.methods.taylor import Taylor as Taylor
    from polhode.scenarios import scenario as scenario
    from polhode.show import plot as plot
    from polhode.show.page import play as play
    from polhode.show.page import view as view
    from polhode.solve import integrate as integrate
    from polhode.solve import start as start
    from polhode.studies.citing import cite as cite
    from polhode.studies.comparison import WorkPrecision as WorkPrecision
    from polhode.studies.comparison import work_precision as work_precision
    from polhode.studies.referee import referee as referee
    from polhode.studies.study import OrderStudy as OrderStudy
    from polhode.studies.study import order_study as order_study
    from polhode.systems import adapters as adapters
    from polhode.systems import events as events
    from polhode.systems import interactions as interactions
    from polhode.systems.system import System as System
    from polhode.systems.trajectory import SystemTrajectory as SystemTrajectory

_MODULES = {
    "adapters": "systems.adapters",
    "compiled": "compiled",
    "elliptic": "elliptic",
    "errors": "core.errors",
    "events": "systems.events",
    "flows": "flows",
    "forces": "forces",
    "geometry": "free.geometry",
    "interactions": "systems.interactions",
    "plot": "show.plot",
    "problems": "problems",
    "rotation": "core.rotation",
    "sampling": "ensembles.sampling",
    "scenario": "scenarios.scenario",
    "schemes": "methods.schemes",
    "summaries": "ensembles.summaries",
    "variation": "ensembles.variation",
}
_HOME = {
    "Andoyer": "free.geometry",
    "Attitudes": "flows.given_rates",
    "ErrorBound": "free.derivatives",
    "FreeMotion": "free.motion",
    "InputError": "core.errors",
    "Jacobian": "free.derivatives",
    "OrderStudy": "studies.study",
    "PolhodeError": "core.errors",
    "Potential": "forces.base",
    "Problem": "integration.problem",
    "RigidBody": "core.body",
    "Scheme": "methods.scheme",
    "State": "core.state",
    "Stepper": "integration.stepper",
    "Status": "kernels.stepping.status",
    "System": "systems.system",
    "SystemTrajectory": "systems.trajectory",
    "Torque": "forces.base",
    "Trajectory": "integration.trajectory",
    "WorkPrecision": "studies.comparison",
    "andoyer": "free.geometry",
    "attitude_from_rates": "flows.given_rates",
    "cite": "studies.citing",
    "ensemble": "ensembles.ensemble",
    "free_motion": "free.motion",
    "from_andoyer": "free.geometry",
    "integrate": "solve",
    "load": "files.saving",
    "open_ensemble": "ensembles.ensemble",
    "order_study": "studies.study",
    "play": "show.page",
    "propagate": "free.propagation",
    "referee": "studies.referee",
    "resume": "files.long_runs",
    "start": "solve",
    "stream": "files.long_runs",
    "view": "show.page",
    "work_precision": "studies.comparison",
}
_HOME |= {name: f"flows.{module}" for name, module in FLOWS.items()}
_HOME |= {name: f"methods.{module}" for name, module in METHODS.items()}

__all__ = sorted([*_MODULES, *_HOME])


if not TYPE_CHECKING:  # otherwise type checkers would accept any name

    def __getattr__(name: str) -> object:
        """Import a public name on first use."""
        with INTERRUPTIBLE:  # an import takes a part of the time in which a run seems to have begun
            if name in _MODULES:
                value = importlib.import_module(f"polhode.{_MODULES[name]}")
                globals()[name] = value
                return value
            if name in _HOME:
                value = getattr(importlib.import_module(f"polhode.{_HOME[name]}"), name)
                globals()[name] = value
                return value
        # Given name and obj, Python suggests the most similar name of ``dir(polhode)``.
        raise AttributeError(f"module 'polhode' has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    """Return the public names of the package."""
    return [*__all__, "__version__"]
