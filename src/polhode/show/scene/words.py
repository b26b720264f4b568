"""Titles and sentences of physics for the pages of ready-made problems.

Both hold whatever the arguments of the problem are; what depends on these is in the summary of the problem.
"""

from __future__ import annotations

from polhode.integration.problem import Problem

TOP = (
    "Gravity turns the angular momentum m sideways, so that the axis of a spinning top goes around the vertical instead"
    " of falling."
)
GRADIENT = "Gravity pulls harder on the near side than on the far side"
# By the name of the problem: a title, and a sentence that says what to look at.
WORDS = {
    "dzhanibekov": ("A T-handle in weightlessness", ""),
    "free_body": ("A free body", ""),
    "gyro_top": ("A spinning top", TOP),
    "heavy_top": ("A heavy top", TOP),
    "perturbed": ("A free body, slightly disturbed", "A weak torque makes the polhode drift slowly."),
    "satellite": ("A tumbling satellite", f"{GRADIENT}, which slowly changes how the satellite tumbles."),
    "satellite_orbit": (
        "A satellite in its orbit",
        f"{GRADIENT}: a long satellite swings about the line to the Earth like a pendulum.",
    ),
    "vessel": ("A ship that rights itself", "Buoyancy turns the ship upright, however it is pushed."),
    "vilmart_top": ("A heavy top of three different moments", TOP),
}


def title_of(problem: Problem) -> str:
    """Return the title of the page of a problem: known words, or its name with spaces."""
    return WORDS[problem.name][0] if problem.name in WORDS else spoken(problem.name)


def spoken(name: str) -> str:
    """Return a name as words.

    >>> spoken("water_box")
    'Water box'
    """
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def sentence_of(problem: Problem) -> str:
    """Return sentences about a problem: its summary, and known words."""
    summary = problem.summary.rstrip()
    if summary and summary[-1] not in ".!?":
        summary += "."
    return f"{summary} {WORDS.get(problem.name, ('', ''))[1]}".strip()
