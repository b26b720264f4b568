"""Functions for loops of your own: in Python compiled by Numba, and in C, Fortran and other languages.

What these functions compute is in the kernels, flows and methods; here are the forms in which others can call them.
"""

from __future__ import annotations

from polhode.compiled.export import export
from polhode.compiled.in_process import c_address, c_declaration, c_function, c_names
from polhode.compiled.steps import prepared, step

__all__ = ["c_address", "c_declaration", "c_function", "c_names", "export", "prepared", "step"]
__dir__ = __all__.copy  # public names only
