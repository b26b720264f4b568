"""Base class of the trajectories of bodies and of systems: sequences of states, and quantities computed from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import index as as_index
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, overload

import numpy as np

from polhode.core.arrays import FloatArray, IntArray
from polhode.core.html import html_fields
from polhode.core.rotation import matrix, rotate
from polhode.core.state import State
from polhode.core.value import Value
from polhode.kernels.stepping.status import Status

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from polhode.methods.method import Method


@dataclass(frozen=True)
class Stats:
    """Cost of a run: numbers for all bodies together, and the run time.

    Attributes
    ----------
    steps : int
        Number of steps.
    torques : int
        Number of torque evaluations.
    seconds : float
        Run time without compilation.
    iterations : int
        Number of iterations of methods that solve equations.
    rejected : int
        Number of rejected steps of adaptive methods.
    """

    steps: int
    torques: int
    seconds: float
    iterations: int = 0
    rejected: int = 0


# Names of the data of a run.
OF_RUN = ("method", "h", "stats", "status", "message", "failure", "sol", "events", "error_estimate")


class BaseTrajectory(Value, ABC):
    """States at times `t` of shape (k,), with the method and the status of the run that computed them.

    ``traj[i]`` is a State, a slice is a trajectory, and a loop over a trajectory yields its states.
    """

    _source: ClassVar[str]  # attribute that holds what was integrated
    _kind: ClassVar[str]  # what that is called if it has no name
    _evaluations: ClassVar[str]  # what ``stats.torques`` counts
    _event_names: ClassVar[tuple[str, ...]]  # attributes that hold the times of events, and the states there
    _in_time: ClassVar[tuple[str, ...]]  # attributes that are arrays with one row for each time
    _compared: ClassVar[tuple[str, ...]]  # other attributes that matter to ``==``
    t: FloatArray
    m: FloatArray
    q: FloatArray
    method: Method
    h: Any
    stats: Stats
    status: Any
    message: str
    failure: str
    t_events: Any
    error_estimate: tuple[float, ...] | None
    _sol: Any

    def __init_subclass__(cls, source: str = "", states: tuple[str, ...] = (), **more: Any) -> None:
        """Name what was integrated, and the arrays of the states."""
        super().__init_subclass__(**more)
        if source:
            cls._source, cls._in_time = source, ("t", *states)
            cls._event_names = tuple(f"{name}_events" for name in cls._in_time)
            cls._compared = (source, "method", "h", "status")
            cls._replaceable = (source, *cls._in_time, *OF_RUN)

    def __init__(
        self, source: Any, t: FloatArray, *states: FloatArray, method: Method, h: Any, stats: Stats,
        status: Any = Status.REACHED_END, message: str = "", failure: str = "", sol: Any = None,
        events: tuple[list[Any], ...] | None = None, error_estimate: tuple[float, ...] | None = None,
    ) -> None:  # fmt: skip
        """Store what was integrated, the states and the data of the run; see the class for their description."""
        parts = dict(zip(self._replaceable, (source, t, *states), strict=False))
        data = method, h, stats, status, message, failure, sol, events, error_estimate
        self._set(**parts, **dict(zip(OF_RUN, data, strict=True)))

    def doubt(self) -> str:
        """Return why the result cannot be right; empty if nothing is known that speaks against it."""
        return ""

    @property
    def sol(self) -> Any:
        """Dense output: ``sol(t)`` returns the states at times t of shape (...).

        For bodies these are m, of shape (...) + batch + (3,), and q, of shape (...) + batch + (4,); for a system of n
        bodies x, p, m, of shape (...) + (n, 3), and q, of shape (...) + (n, 4). Steps are repeated from saved states.
        An AttributeError is raised if the steps were not saved.
        """
        if self._sol is None:
            raise AttributeError(f"steps of {self.method!r} were not saved; type integrate(..., dense_output=True)")
        return self._sol

    @property
    def success(self) -> bool:
        """Whether all bodies reached the end of the time span or a terminal event."""
        return not np.any(np.less(self.status, 0))

    @property
    def matrix(self) -> FloatArray:
        """Attitude matrices from body to space axes, of shape (k,) + batch + (3, 3)."""
        return matrix(self.q)

    @property
    def m_space(self) -> FloatArray:
        """Angular momenta about the mass centers of the bodies, in space axes, of shape (k,) + batch + (3,)."""
        return rotate(self.q, self.m)

    @property
    @abstractmethod
    def kinetic(self) -> FloatArray:
        """Kinetic energy."""

    @property
    @abstractmethod
    def potential(self) -> FloatArray:
        """Potential energy."""

    @property
    def energy(self) -> FloatArray:
        """Sum of kinetic and potential energy, of the same shape as `kinetic`."""
        return self.kinetic + self.potential

    def energy_error(self) -> FloatArray:
        """Return the relative energy error, ``energy / energy[0] - 1``.

        Returns
        -------
        ndarray
            Error of the energy relative to the energy at the start, of the same shape as `energy`.
        """
        energy = self.energy
        return energy / energy[0] - 1.0

    @overload
    def __getitem__(self, index: int) -> State: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> State | Self:
        """Return the state at one of the saved times, or the trajectory of a slice of them."""
        if not isinstance(index, slice):
            return self.state(index)
        arrays = {name: getattr(self, name) for name in self._in_time}
        return self._copy(**{name: None if array is None else array[index] for name, array in arrays.items()})

    def __iter__(self) -> Iterator[State]:
        """Yield the states at the saved times."""
        return map(self.state, range(len(self)))

    def state(self, index: int = -1) -> State:
        """Return the state at one of the saved times.

        Parameters
        ----------
        index : int, optional
            Index of the time. The default is -1, the last time.

        Returns
        -------
        State
            The state of the body, of the batch, or of all bodies of a system, with their positions and momenta.

        Raises
        ------
        IndexError
            If there is no such time.
        """
        row = self._row(index)
        arrays = {name: getattr(self, name)[row].copy() for name in self._replaceable[2 : 1 + len(self._event_names)]}
        state: State = getattr(self, self._source).state
        return state._exactly(**arrays)

    @abstractmethod
    def _drifts(self) -> dict[str, FloatArray]:
        """Return the drifts of the conserved quantities."""

    def invariants(self) -> dict[str, float]:
        """Return the largest drift of each conserved quantity, relative to its value at the start.

        The drift of ``|q|`` is absolute. The energy is included if the force has one and no damping; ``|m|`` and the
        momentum in space if the body is free; the momentum along the symmetry axis of the force if it has one. Of a
        system they are the energy, if the interaction has one, and the total momenta.

        Returns
        -------
        dict of str to float
            The largest absolute drift of each quantity, of all states and bodies.
        """
        return {n: float(np.nanmax(np.abs(drift))) if drift.size else 0.0 for n, drift in self._drifts().items()}

    def _row(self, index: Any) -> int:
        """Return `index` as an int; raise IndexError, with the number of states, if it is out of range."""
        try:
            row = as_index(index)
        except TypeError:
            raise TypeError(f"the index of a trajectory is {index!r}; expected an integer or a slice") from None
        if not -len(self) <= row < len(self):
            raise IndexError(
                f"index {row} is out of range: the trajectory has {len(self)} states; expected {-len(self)} to "
                f"{len(self) - 1}"
            )
        return row

    def to_pandas(self) -> DataFrame:
        """Return a ``pandas.DataFrame`` with one row for each time and body.

        Returns
        -------
        pandas.DataFrame
            The index is ``t``; for a batch, ``t`` and the index of the body, ``body`` or ``body_0``, ``body_1`` and so
            on. The columns are ``m_x``, ``m_y``, ``m_z``, ``q_w`` to ``q_z``, ``omega_x`` to ``omega_z``, and
            ``energy`` if the force has one. A system has ``x_x`` to ``x_z`` and ``p_x`` to ``p_z`` in addition, and no
            energy, because that does not belong to a single body.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        from polhode.integration.table import table

        return table(self)

    @abstractmethod
    def columns(self) -> dict[str, FloatArray]:
        """Return the quantities of a table by name, of shapes (k,) + batch and (k,) + batch + (3 or 4,)."""

    def _content(self) -> Mapping[str, Any]:
        """Return what is compared: states to the bit, method and status, but not the cost."""
        arrays = {name: getattr(self, name) for name in self._in_time}
        states = {name: None if array is None else _bits(array) for name, array in arrays.items()}
        return states | {name: getattr(self, name) for name in self._compared}

    def _set(self, **arguments: Any) -> None:
        """Store arguments of the constructor, which need no check."""
        if "sol" in arguments:
            arguments["_sol"] = arguments.pop("sol")
        if "events" in arguments:
            events = arguments.pop("events")
            arguments |= zip(self._event_names, events, strict=True) if events else dict.fromkeys(self._event_names)
        self.__dict__.update(arguments)

    def _store(self, **attributes: Any) -> None:
        """Set attributes; arrays stay writable, because they may be large and are often processed in place."""
        self.__dict__.update(attributes)

    def to_xarray(self) -> Any:
        """Return the trajectory as an ``xarray.Dataset``, with units and frames in its attributes."""
        from polhode.files.saving import to_xarray

        return to_xarray(cast(Any, self))

    def save(self, path: Any, **options: Any) -> None:
        """Save the trajectory to a file.

        ``polhode.load`` reads .nc and .zarr files, which contain everything except functions, to the bit.

        Parameters
        ----------
        path : str or path-like
            Path whose name ends in .nc (netCDF) or .zarr; in .csv or .aem (CCSDS, see ``polhode.files.aem.write``) for
            bodies; in .xyz (extended XYZ, see ``polhode.files.xyz.write``) or .gsd (HOOMD, see
            ``polhode.files.gsd_file.write``) for systems.
        **options
            Further arguments of the writer of this format.
        """
        from polhode.files.saving import save

        save(cast(Any, self), path, **options)

    def plot(self, *kinds: str) -> Figure:
        """Plot the trajectory; see ``polhode.plot.plot_trajectory``.

        Parameters
        ----------
        *kinds : str
            Names of the panels. By default the panels are chosen to suit the trajectory. Those of a system are "space",
            "energy", "temperature" and "errors".

        Returns
        -------
        matplotlib.figure.Figure
            The figure. In a script, show it by ``matplotlib.pyplot.show()``.
        """
        from polhode.show.plot import plot_trajectory

        return plot_trajectory(cast(Any, self), kinds or None)

    def view(self, path: Any = None, **options: Any) -> Any:
        """Return an animated 3-D page of the motion; see ``polhode.view``.

        Parameters
        ----------
        path : str or path-like, optional
            File to which the page is saved. By default the page is not saved.
        **options
            Further arguments of ``polhode.view``.
        """
        from polhode.show.page import view

        return view(self, path, **options)

    def animate(self, **options: Any) -> Any:
        """Return a film of the motion, which a notebook displays; see ``polhode.plot.animate``.

        Parameters
        ----------
        **options
            Arguments of ``polhode.plot.animate``.
        """
        from polhode.show.plot import animate

        return animate(self, **options)

    def movie(self, path: Any, **options: Any) -> Any:
        """Write a film of the motion to a file, and return its path.

        Parameters
        ----------
        path : str or path-like
            Name of the file: .mp4, .webm or .mov, written by ffmpeg, or .gif.
        **options
            Arguments of ``polhode.plot.animate``.
        """
        return self.animate(**options).save(path)

    def __len__(self) -> int:
        """Return the number of saved states."""
        return len(self.t)

    def _title(self) -> str:
        """Return what the trajectory is of."""
        return f"{type(self).__name__.removeprefix('Stored')} of {getattr(self, self._source).name or self._kind}"

    def __repr__(self) -> str:
        """Return a one-line summary: the states, the method, the cost and the status of the run."""
        bodies = "x".join(map(str, self.m.shape[1:-1]))
        ended = "reached the end" if self.success else f"ended early: {self.message}"
        step = f", {size}" if (size := step_text(self.h)) else ""
        span = f", t = {self.t[0]:g} to {self.t[-1]:g}" if len(self) else ""
        return (
            f"{self._title()}{f' ({bodies} bodies)' if bodies else ''}: {len(self)} states{span}, {self.method!r}{step}"
            f"; {self.stats.steps} steps, {self.stats.torques} {self._evaluations}, {self.stats.seconds:.3g} s; {ended}"
        )

    def _repr_html_(self) -> str:
        """Return a summary as an HTML table, for notebooks."""
        return html_fields(
            self._title(),
            {
                "states": len(self.t),
                "bodies": " x ".join(map(str, self.m.shape[1:-1])),
                "time": f"{self.t[0]:g} to {self.t[-1]:g}" if len(self) else "",
                "method": self.method,
                "step": step_text(self.h).removeprefix("h = "),
                "steps": self.stats.steps,
                self._evaluations: self.stats.torques,
                "seconds": f"{self.stats.seconds:.3g}",
                "end": "reached" if self.success else "not reached",
                "message": self.message,
            },
        )


def step_text(h: Any, digits: int = 6) -> str:
    """Return a step size as text, or the smallest and the largest of an array of them; empty if there is none.

    Examples
    --------
    >>> step_text(0.5), step_text(np.array([0.25, -0.125])), step_text(np.nan)
    ('h = 0.5', 'h = 0.125 to 0.25', '')
    """
    if np.ndim(h) == 0:
        return f"h = {h:.{digits}g}" if np.isfinite(h) else ""
    sizes = np.abs(h)[np.isfinite(h)]
    if not sizes.size:
        return ""
    return "h = " + " to ".join(dict.fromkeys(f"{size:.{digits}g}" for size in (sizes.min(), sizes.max())))


def steps_between(trajectory: BaseTrajectory) -> float:
    """Return the average number of steps between two saved states; 1 if the method has chosen the steps."""
    saved = abs(trajectory.t[-1] - trajectory.t[0]) / max(1, len(trajectory) - 1)
    steps = saved / np.min(np.abs(trajectory.h))
    return max(1.0, float(steps)) if np.isfinite(steps) else 1.0


def _bits(array: FloatArray) -> IntArray:
    """Return the bits of numbers as integers, those of every NaN being the same."""
    return np.where(np.isnan(array), np.nan, array).view(np.int64)
