"""Figures drawn with matplotlib; no other package of polhode imports it.

The functions return a matplotlib Figure. A notebook displays it, and so does ``matplotlib.pyplot.show()`` in a script;
``figure.savefig("motion.png")`` saves it. ``animate`` returns a film, which a notebook displays and ``save`` writes.
"""

from __future__ import annotations

from polhode.show.labels import BLUE
from polhode.show.plot.film import animate
from polhode.show.plot.free import plot_free_motion
from polhode.show.plot.poinsot import plot_poinsot
from polhode.show.plot.studies import plot_order, plot_work_precision
from polhode.show.plot.trajectory import (
    KINDS,
    plot_attitude,
    plot_energy,
    plot_errors,
    plot_herpolhode,
    plot_momentum,
    plot_polhode,
    plot_trajectory,
)

__all__ = [
    "BLUE",
    "KINDS",
    "animate",
    "plot_attitude",
    "plot_energy",
    "plot_errors",
    "plot_free_motion",
    "plot_herpolhode",
    "plot_momentum",
    "plot_order",
    "plot_poinsot",
    "plot_polhode",
    "plot_trajectory",
    "plot_work_precision",
]
__dir__ = __all__.copy  # public names only
