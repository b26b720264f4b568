"""polhode: the motion of rigid bodies, exact in the absence of torques.

Names are loaded on first use (PEP 562), so that ``import polhode`` imports neither Numba nor any optional package. They
are listed in ``__init__.pyi``.

>>> import polhode as ph
>>> m, q = ph.propagate((1.0, 1.65, 1.97), m=(0.3, 0.2, 0.9), q=(1, 0, 0, 0), t=10.0)
>>> m.shape, q.shape
((3,), (4,))
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

from polhode._version import __version__ as __version__
from polhode.core.errors import nothing_computed

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOME = {name: home for home, name in re.findall(r"^from (\S+) import ([a-zA-Z]\w*)", _STUB, re.MULTILINE)}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    """Import a public name on first use: a module, or what it defines."""
    if name not in _HOME:
        # Given name and obj, Python suggests the most similar name of ``dir(polhode)``.
        raise AttributeError(f"module 'polhode' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    try:
        home = importlib.import_module(_HOME[name])
        value = vars(home)[name] if name in vars(home) else importlib.import_module(f"{home.__name__}.{name}")
    except KeyboardInterrupt as stop:  # the import takes a part of the time in which a run seems to have begun
        nothing_computed(stop)
        raise
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names of the package."""
    return [*__all__, "__version__"]
