"""The experiments of the papers, one file each, with published and measured numbers side by side.

>>> import papers
>>> papers.get("gustafsson2010_table3").figure
'Table 3'
"""

from __future__ import annotations

from importlib import import_module

from papers.experiment import Claim, Curve, Experiment, Panel, Points, Report
from polhode.core.checks import unknown_name

# Every experiment is the module of that name, with an EXPERIMENT in it; in the order of the papers.
EXPERIMENTS = (
    "celledoni2008_fig3_1",
    "celledoni2008_fig3_3",
    "celledoni2008_fig3_4",
    "celledoni2008_fig3_5",
    "celledoni2008_fig3_6",
    "celledoni2008_fig3_8",
    "celledoni2008_fig3_9",
    "celledoni2008_fig3_10",
    "celledoni2008_appendix_c",
    "frb2010_fig5",
    "frb2010_fig6",
    "frb2010_fig7",
    "gustafsson2010_fig1",
    "gustafsson2010_roundoff",
    "gustafsson2010_table1",
    "gustafsson2010_fig2",
    "gustafsson2010_fig3",
    "gustafsson2010_table2",
    "gustafsson2010_fig4",
    "gustafsson2010_table3",
    "vilmart2013_fig1",
    "vilmart2013_table2",
    "betsch2009_fig1",
    "betsch2009_fig3",
    "betsch2009_fig4",
    "betsch2009_fig5",
)

__all__ = ["EXPERIMENTS", "Claim", "Curve", "Experiment", "Panel", "Points", "Report", "get"]


def get(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    found: Experiment = import_module(f"papers.{name}").EXPERIMENT
    return found
