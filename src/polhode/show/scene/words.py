"""Titles and sentences of physics for the pages of ready-made problems."""

from __future__ import annotations

from polhode.integration.problem import Problem

# By the name of the problem: a title, and one sentence that says what to look at.
WORDS = {
    "dzhanibekov": ("The T-handle that turns over", "A T-handle floats freely, spun about its stem."),
    "free_body": ("A free body", "No torque acts: the angular momentum m stays fixed in space while the body tumbles."),
    "gyro_top": (
        "A spinning top in steady precession",
        "Gravity pulls sideways on the angular momentum m, so the top does not fall: its axis moves around the vertical"
        " at a constant rate.",
    ),
    "heavy_top": (
        "A fast top",
        "Gravity is weak against the spin: the top moves almost like a free body, and its axis drifts slowly.",
    ),
    "perturbed": ("A free body, slightly disturbed", "A weak torque makes the polhode drift slowly."),
    "satellite": (
        "A tumbling satellite",
        "Gravity pulls harder on the near side than on the far side, which slowly changes how the satellite tumbles.",
    ),
    "satellite_orbit": (
        "A satellite that keeps pointing at the Earth",
        "Gravity pulls harder on the near end: like a pendulum, the satellite swings about the line to the Earth while"
        " it goes around.",
    ),
    "vessel": (
        "A ship that rights itself",
        "Buoyancy turns the ship upright again, and the water damps its rolling until it lies still.",
    ),
    "vilmart_top": ("A heavy top", "Gravity is as strong as the spin: the axis of the top swings wildly."),
}


def title_of(problem: Problem) -> str:
    """Return the title of the page of a problem: known words, or its name with spaces."""
    if problem.name in WORDS:
        return WORDS[problem.name][0]
    return spoken(problem.name)


def spoken(name: str) -> str:
    """Return a name as words.

    >>> spoken("water_box")
    'Water box'
    """
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def sentence_of(problem: Problem) -> str:
    """Return a sentence about a problem: known words, or its summary."""
    if problem.name in WORDS:
        return WORDS[problem.name][1]
    summary = problem.summary.rstrip()
    return summary if not summary or summary[-1] in ".!?" else f"{summary}."
