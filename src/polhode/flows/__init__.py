"""Free flows, one per file; a new flow is a file with a class, and one line in ``FLOWS``.

Flows are loaded on first use, because they import their kernels, which import Numba.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["FLOWS", "load", "variants"]
__dir__ = __all__.copy  # public names only


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
    """Return the flow class called ``name``, a key of ``FLOWS``."""
    return getattr(importlib.import_module(f"polhode.flows.{FLOWS[name]}"), name)


def variants() -> list[Any]:
    """Return all flows that are listed in tables and tested: the variants of every class."""
    return [flow for name in FLOWS for flow in load(name).variants()]
