"""Motions to look at: a page with the body turning in 3-D, Poinsot's construction and charts, all linked to one clock.

A page is one file that works offline in any browser with WebGL. ``trajectory.view(path)`` and the like call ``view``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polhode.core.errors import InputError
from polhode.show.page.crowd import system_scene
from polhode.show.page.page import Page, render
from polhode.show.page.scene import motion_scene
from polhode.systems.trajectory import SystemTrajectory

__all__ = ["Page", "view"]


def view(
    shown: Any,
    path: Any = None,
    *,
    labels: Sequence[str] | None = None,
    title: str | None = None,
    shape: Any = None,
    t_span: tuple[float, float] | None = None,
) -> Page:
    """A page of a Trajectory, FreeMotion or SystemTrajectory, or of several of the first two, side by side.

    Parameters
    ----------
    shown : Trajectory, FreeMotion, SystemTrajectory or list
        What to show; of a batch the first four bodies, of a list up to six.
    path : str or path-like, optional
        Where to save the page; without it, a notebook shows it (about 5 MB, mostly Plotly's program).
    labels : sequence of str, optional
        One for each motion of a list; the methods, unless told otherwise.
    title : str, optional
        The name of the problem, unless told otherwise.
    shape : str or array_like, optional
        "box", "ellipsoid", "top", "ship", "t-handle", or the sites (n, 3) of a molecule in body axes; without it, what
        suits the problem, or a box (in systems an ellipsoid) of the body's inertia.
    t_span : pair of float, optional
        A part of the time; of a FreeMotion it is two periods, or forty turns, unless told otherwise.

    Examples
    --------
    >>> from polhode import free_motion
    >>> page = view(free_motion((1.0, 2.0, 3.0), m=(0.01, 2.0, 0.0)), title="A flip")
    >>> page.html.startswith("<!DOCTYPE html>"), page.title
    (True, 'A flip')
    """
    if isinstance(shown, SystemTrajectory):
        if labels is not None:
            raise InputError("labels are for several motions; a system has none")
        scene = system_scene(shown, title, shape, t_span)
    else:
        several = list(shown) if isinstance(shown, (list, tuple)) else [shown]
        if not several:
            raise InputError("nothing came; expected a Trajectory, FreeMotion or SystemTrajectory, or a list of them")
        scene = motion_scene(several, labels, title, shape, t_span)
    page = render(scene)
    return page if path is None else page.save(path)
