"""Free flows, one file each. A new one is a file with a class of its name, and one line here.

Nothing is loaded before it is used: a flow brings its kernels, and those Numba.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["FLOWS", "load", "variants"]


def __dir__() -> list[str]:
    return __all__


FLOWS = {
    "Exact": "exact",
    "Gauss": "gauss",
    "Magnus": "magnus",
    "MoserVeselov": "moser_veselov",
    "Midpoint": "midpoint",
    "ThreeRotations": "three_rotations",
    "NoSquish": "three_rotations",
    "SymmetricRotation": "symmetric_rotation",
    "Composed": "composed",
    "FrbMatrix": "frb_matrix",
    "FrbQuaternion": "frb_quaternion",
    "VanZonSchofield": "van_zon_schofield",
}


def load(name: str) -> Any:
    """The class of that name."""
    return getattr(importlib.import_module(f"polhode.flows.{FLOWS[name]}"), name)


def variants() -> list[Any]:
    """Every member of every family that tables list and tests examine."""
    return [flow for name in FLOWS for flow in load(name).variants()]
