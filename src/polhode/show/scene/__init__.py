"""Contents of pages and films: states at all frames, meshes and colors of bodies, charts, titles and notes.

How they are drawn is in ``page`` (browsers) and ``plot`` (films).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polhode.core.errors import InputError
from polhode.integration.problem import Problem
from polhode.show.scene.single import Scene, motion_scene
from polhode.show.scene.system import system_scene
from polhode.systems.trajectory import SystemTrajectory

__all__ = ["Scene", "scene_of"]


def scene_of(
    shown: Any,
    labels: Sequence[str] | None = None,
    title: str | None = None,
    shape: Any = None,
    t_span: Any = None,
    problem: Problem | None = None,
) -> Scene:
    """Return the scene of a motion, of several motions side by side, or of a system; see ``polhode.view``."""
    motions = list(shown) if isinstance(shown, (list, tuple)) else [shown]
    if not motions:
        raise InputError(
            "got an empty list; expected a Trajectory, a FreeMotion, a SystemTrajectory, or a list of the first two"
        )
    if any(isinstance(motion, SystemTrajectory) for motion in motions):
        return system_scene(_only(motions, labels), title, shape, t_span)
    return motion_scene(motions, labels, title, shape, t_span, problem)


def _only(motions: Sequence[Any], labels: Sequence[str] | None) -> Any:
    """Return the only motion, which is a system; raise InputError if there are several, or labels."""
    if len(motions) > 1:
        raise InputError(
            f"got {len(motions)} motions, one of them of a system: a system has a page of its own; pass it alone"
        )
    if labels is not None:
        raise InputError(f"labels = {labels!r}; labels are for several motions: omit labels for a system")
    return motions[0]
