"""The experiments of the papers, one file each, with published and measured numbers side by side.

>>> from polhode import papers
>>> papers.get("gustafsson2010_table3").figure
'Table 3'
"""

from __future__ import annotations

from importlib import import_module

from polhode.checks import unknown_name
from polhode.papers.experiment import Claim, Curve, Experiment, Panel, Points, Report

# Every experiment is the module of that name, with an EXPERIMENT in it; in the order of the papers.
EXPERIMENTS = ("gustafsson2010_table3",)

__all__ = ["EXPERIMENTS", "Claim", "Curve", "Experiment", "Panel", "Points", "Report", "get"]


def get(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    found: Experiment = import_module(f"polhode.papers.{name}").EXPERIMENT
    return found
