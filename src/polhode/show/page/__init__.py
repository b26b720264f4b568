"""Interactive pages that show a rotating body in 3-D, Poinsot's construction and charts, synchronized in time.

A page is one file that works offline in any browser with WebGL. ``view`` shows motions that were computed; methods such
as ``trajectory.view(path)`` call it. ``play`` shows a free body that the reader changes with sliders.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polhode.free.motion import FreeMotion
from polhode.integration.problem import Problem
from polhode.show.page.live import live_page
from polhode.show.page.page import Page, render
from polhode.show.scene import scene_of

__all__ = ["Page", "play", "view"]


def view(
    shown: Any,
    path: Any = None,
    *,
    labels: Sequence[str] | None = None,
    title: str | None = None,
    shape: Any = None,
    t_span: tuple[float, float] | None = None,
    problem: Problem | None = None,
) -> Page:
    """Return an interactive page that shows a motion in 3-D, or several motions side by side.

    Parameters
    ----------
    shown : Trajectory, FreeMotion, SystemTrajectory, Dataset of an ensemble, or list
        Motion to show, or a list of up to six motions that are not systems. More than six bodies of a batch are shown
        in a grid, up to 400.
    path : str or path-like, optional
        File to which the page is saved. If omitted, the page is returned without being saved; a notebook displays it
        in a frame, compressed to about 0.3 MB.
    labels : sequence of str, optional
        One label for each motion of a list. By default, the names of the methods.
    title : str, optional
        Title of the page. By default, the name of the problem.
    shape : str or array_like, shape (n, 3), optional
        "box", "ellipsoid", "top", "ship", "t-handle", "racket", "book", "phone", "wing-nut", "rocket", "cubesat",
        "asteroid", "molecule", the name of a file with a mesh (.stl, .obj), or the sites of a molecule in body axes. By
        default, a shape that suits the problem, or a box (in systems, an ellipsoid) with the inertia of the body.
    t_span : pair of float, optional
        Part of the time span to show. By default, the whole trajectory; for a FreeMotion, two periods or forty turns,
        whichever ends first.
    problem : Problem, optional
        Problem of an ensemble, which is required if `shown` is a Dataset of ``polhode.ensemble`` with several times.

    Returns
    -------
    Page
        The page, with its text ``html`` and the method ``save``.

    Raises
    ------
    InputError
        If there is nothing to show, or too many bodies, or if `labels` or `shape` do not fit the motions.
    TimeError
        If `t_span` is outside the trajectory, or the motions have no time in common.

    Examples
    --------
    >>> from polhode import free_motion
    >>> page = view(free_motion((1.0, 2.0, 3.0), m=(0.01, 2.0, 0.0)), title="A flip")
    >>> page.html.startswith("<!DOCTYPE html>"), page.title
    (True, 'A flip')
    """
    page = render(scene_of(shown, labels, title, shape, t_span, problem))
    return page if path is None else page.save(path)


def play(
    path: Any = None, *, motion: FreeMotion | None = None, shape: str | None = None, title: str | None = None
) -> Page:
    """Return a page on which the inertia, spin and attitude of a free body are sliders, and the motion follows at once.

    The page evaluates the closed form of the free motion itself. It shows the body, Poinsot's construction, the map of
    polhodes, and the regime, period and flips of the motion.

    Parameters
    ----------
    path : str or path-like, optional
        File to which the page is saved. If omitted, the page is returned without being saved; a notebook displays it.
    motion : FreeMotion, optional
        Motion at which the sliders start, of one body. By default, a T-handle that is spun about its middle axis.
    shape : str, optional
        Shape of the body at the start: "t-handle", "box", "ellipsoid", "racket", "book", "phone", "wing-nut", "rocket",
        "cubesat", "asteroid" or "molecule". It is stretched until it has the moments of inertia.
    title : str, optional
        Title of the page.

    Returns
    -------
    Page
        The page, with its text ``html`` and the method ``save``.

    Raises
    ------
    InputError
        If the shape is unknown, or the motion is that of a batch.

    Examples
    --------
    >>> from polhode import free_motion
    >>> page = play(motion=free_motion((1.0, 2.0, 3.0), omega=(0.01, 5.0, 0.01)), shape="book")
    >>> page.html.count('<input type="range"')  # and one for time
    12
    """
    page = live_page(motion, shape, title)
    return page if path is None else page.save(path)
