"""The motion of a free body as a function of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from math import prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody, as_body, flow_moments, moments_of_one
from polhode.core.checks import (
    IDENTITY,
    as_floats,
    check_finite,
    check_spread,
    common_batch,
    rows_of,
    show,
    time_of_one,
)
from polhode.core.errors import InputError, MomentumError, TimeError
from polhode.core.html import html_fields
from polhode.core.rotation import as_rotation, conjugate, from_matrix, multiply, product
from polhode.core.state import State
from polhode.core.threads import in_ranges
from polhode.core.units import NO_UNITS, together
from polhode.core.vectors import components, scalar, stacked, unit
from polhode.free import geometry
from polhode.free.derivatives import Jacobian
from polhode.free.propagation import outputs, propagate, propagate_one

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from scipy.spatial.transform import Rotation

REGIMES = np.array(["rest", "spherical", "steady", "symmetric", "around_min", "around_max", "separatrix"])

MOST_CROSSINGS = 1e8  # in one call
FLIP_REACH = 0.5 * sqrt(3.0)  # |m.e2|/|m| that a flip reaches: m comes within 30 degrees of the middle axis
# Number of times from which theta functions pay off: their constants cost the time and memory of a dozen steps.
MANY_TIMES = 16


def free_motion(
    body: RigidBody | npt.ArrayLike,
    state: State | None = None,
    *,
    m: npt.ArrayLike | None = None,
    omega: npt.ArrayLike | None = None,
    q: Any = IDENTITY,
) -> FreeMotion:
    """Return the free motion of a body as a function of time, given its state at t = 0.

    Parameters
    ----------
    body : RigidBody, or array_like of shape (..., 3) or (..., 3, 3)
        The body, its principal moments in any order, or its inertia tensor.
    state : State, optional
        Angular momentum and attitude at t = 0. Exactly one of ``state``, ``m`` and ``omega`` must be given.
    m : array_like of shape (..., 3), optional
        Angular momentum at t = 0 in body axes.
    omega : array_like of shape (..., 3), optional
        Angular velocity at t = 0 in body axes.
    q : array_like of shape (..., 4) or scipy.spatial.transform.Rotation, optional
        Attitude at t = 0, scalar first, body to space, with ``m`` or ``omega``. The default is the identity.

    Returns
    -------
    FreeMotion
        The motion: ``motion.m(t)``, ``motion.q(t)``, ``motion.period`` and so on.

    Raises
    ------
    MomentumError
        If not exactly one of ``state``, ``m`` and ``omega`` is given.
    InputError
        If ``state`` is not a State, or ``q`` is given together with ``state``.

    Examples
    --------
    >>> motion = free_motion((1.0, 2.0, 3.0), m=(0.01, 2.0, 0.0))
    >>> motion.regime
    'around_min'
    >>> bool(np.allclose(motion.m(motion.period), (0.01, 2.0, 0.0), rtol=0, atol=1e-15))
    True
    """
    body, m, omega = together(body=body, m=m, omega=omega).values()
    body = as_body(body)
    given = [name for name, value in (("state", state), ("m", m), ("omega", omega)) if value is not None]
    if len(given) != 1:
        received = " and ".join(given) or "none of them"
        raise MomentumError(f"expected exactly one of state=State(...), m=... or omega=...; got {received}")
    if state is not None and not isinstance(state, State):
        raise InputError(
            f"state is of type {type(state).__name__}; expected State(m, q); for a momentum alone, type m=..."
        )
    if state is not None and q is not IDENTITY:
        raise InputError(
            "got both state and q; expected the attitude as part of the state: type State(m, q), or omit q"
        )
    if omega is not None:
        state = State.from_omega(body, omega, q)
    elif m is not None:
        state = State(m, q)
    assert state is not None
    state.check_at_rest("state")
    return FreeMotion(body, state)


@cache
def _kernels() -> tuple[Any, Any]:
    """Return the kernels of periods, which are imported only when they are needed."""
    from polhode.kernels.compiler.jit import loaded
    from polhode.kernels.exact.secular import secular_constants, take_off_periods

    return loaded(secular_constants), loaded(take_off_periods)  # type: ignore[no-untyped-call]


class FreeMotion:
    """The motion of a free rigid body, evaluated exactly at any time, without time steps.

    Use ``free_motion`` to create it.

    Attributes
    ----------
    body : RigidBody
        The body, or a batch of bodies.
    initial : State
        Momentum and attitude at t = 0.
    batch : tuple of int
        Common shape of the bodies and states; ``()`` for one body.

    Notes
    -----
    Times may have any shape; the results have the shape ``t.shape + batch + (3,)`` or ``t.shape + batch + (4,)``. The
    quaternion is continuous in t. Sixteen or more times in one call are evaluated by theta functions, which is faster;
    the last bits may then differ from those of a call with a single time.

    Examples
    --------
    >>> motion = free_motion((1.0, 2.0, 3.0), m=(0.01, 2.0, 0.0), q=(1, 0, 0, 0))
    >>> motion.m(np.linspace(0, 10, 50)).shape, motion.q(1e6).shape
    ((50, 3), (4,))
    >>> len(motion.flips(0, 100 * motion.period))
    200
    """

    units: Mapping[str, str] = NO_UNITS  # of the problem that it is the motion of

    def __init__(self, body: RigidBody, state: State) -> None:
        self.body = body
        self.initial = state
        if body.is_linear:
            body.check_momentum(state.m)
        self.batch = common_batch(body=body.batch, state=state.batch)

    def sample(
        self, t: npt.ArrayLike, *, out: tuple[FloatArray, FloatArray] | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return momentum and attitude at the times ``t`` from one evaluation.

        Parameters
        ----------
        t : array_like
            Times, of any shape.
        out : tuple of two float64 arrays, optional
            Arrays of shapes t.shape + batch + (3,) and t.shape + batch + (4,) for the result.

        Returns
        -------
        m : ndarray, shape t.shape + batch + (3,)
            Angular momentum in body axes.
        q : ndarray, shape t.shape + batch + (4,)
            Attitude, continuous in t.

        Examples
        --------
        >>> m, q = free_motion((1.0, 2.0, 3.0), m=(0.3, 0.2, 0.9)).sample(np.linspace(0, 60, 1000))
        >>> m.shape, q.shape
        ((1000, 3), (1000, 4))
        """
        time = time_of_one(t) if out is None else None
        result = None if time is None else self._at_one(time)
        if result is not None:
            return result
        times = as_floats(t, "t", units=self.units)
        check_finite(times, "t", TimeError)
        m, q = outputs(out, times.shape + self.batch, (times,))
        if times.size >= MANY_TIMES:
            self._by_series(times.reshape(-1), m, q)
        else:
            m[...], q[...] = self._by_steps(times)
        if out is not None and m is not out[0]:
            out[0][...], out[1][...] = m, q
            return out
        return m, q

    def _at_one(self, time: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return m and q at one time (1,), with the bits of ``_by_steps``; None for a batch and for turned axes."""
        if self._one is None:
            return None
        moments, m, secular, q, (x, y, z) = self._one
        reduced = np.empty((1, 2))
        _kernels()[1](secular, time, reduced)
        angle = reduced.item(1)
        cosine, sine = float(np.cos(angle)), float(np.sin(angle))
        turned = np.array((product(q, (cosine, sine * x, sine * y, sine * z)),))
        return propagate_one((moments, m, turned, reduced[0, :1]))

    @cached_property
    def _one(self) -> tuple[FloatArray, FloatArray, FloatArray, list[float], list[float]] | None:
        """Moments, momentum and period of one body in principal axes as rows, q and the direction of m as numbers.

        None for other motions.
        """
        moments = None if self.batch else moments_of_one(self.body)
        if moments is None:
            return None
        check_spread(moments)
        m, secular = self.initial.m[None], np.empty((1, 4))
        _kernels()[0](moments, m, secular)
        return moments, m, secular, self.initial.q.tolist(), unit(self.initial.m).tolist()

    def _by_series(self, times: FloatArray, m_out: FloatArray, q_out: FloatArray) -> None:
        """Write m and q at ``times`` (n,) to the outputs, evaluated by theta functions.

        Bodies for which the theta functions are not usable up to these times are evaluated by ``_by_steps``.
        """
        from polhode.kernels.exact.dense import TIME_LIMIT, USABLE, sample

        rows = self._series.copy()
        times = np.ascontiguousarray(times)
        bodies = len(rows)
        rows[:, USABLE] *= max(times.max(), -times.min()) <= rows[:, TIME_LIMIT]
        m, q = m_out.reshape(times.size, bodies, 3), q_out.reshape(times.size, bodies, 4)  # views
        others = rows[:, USABLE] == 0
        if others.any():
            selected = self[np.nonzero(others.reshape(self.batch))] if self.batch else self
            selected_m, selected_q = selected._by_steps(times)
            m[:, others] = selected_m.reshape(times.size, -1, 3)
            q[:, others] = selected_q.reshape(times.size, -1, 4)
        in_ranges(lambda start, stop: sample(rows, times, start, stop, m, q), times.size, bodies)
        if not self.body.is_principal and not others.all():
            axes = np.broadcast_to(self.body.axes, (*self.batch, 3, 3)).reshape(bodies, 3, 3)[~others]
            m[:, ~others] = np.einsum("bij,tbj->tbi", axes, m[:, ~others])
            q[:, ~others] = multiply(q[:, ~others], conjugate(from_matrix(axes)))

    @cached_property
    def _series(self) -> FloatArray:
        """Constants of the theta functions, shape (bodies, ROW)."""
        from polhode.kernels.exact.dense import ROW, dense_constants

        q = self.initial.q
        if not self.body.is_principal:
            q = multiply(q, from_matrix(self.body.axes))
        bodies = prod(self.batch)
        moments, m = self._in_principal_axes()
        rows = (
            np.ascontiguousarray(np.broadcast_to(x, (*self.batch, k)).reshape(bodies, k))
            for x, k in ((moments, 3), (m, 3), (q, 4))
        )
        out = np.empty((bodies, ROW))
        dense_constants(*rows, out)
        return out

    def _by_steps(self, times: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return m and q at ``times``, evaluated by one step of less than half a period."""
        rest, angle = self._take_off_periods(times)
        m, q = propagate(self.body, self.initial.m, self._turned(angle), rest)
        return m, q

    def _turned(self, angle: FloatArray) -> FloatArray:
        """Return the initial attitude turned about m by angles t.shape + batch, shape t.shape + batch + (4,)."""
        x, y, z = components(self._direction)
        cosine, sine = np.cos(angle), np.sin(angle)
        return stacked(*product(components(self.initial.q), (cosine, sine * x, sine * y, sine * z)))

    @cached_property
    def _direction(self) -> FloatArray:
        """Direction of the initial momentum, batch + (3,), or 0 where that is 0."""
        return unit(self.initial.m)

    def _take_off_periods(self, times: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the times minus whole periods, and the angle by which q turns about m in these periods.

        Their shapes are t.shape + batch.
        """
        secular, shape = self._secular, times.shape + self.batch
        if self.batch:
            times = np.broadcast_to(times.reshape(times.shape + (1,) * len(self.batch)), shape)
            secular = np.ascontiguousarray(np.broadcast_to(secular, (*shape, 4)))
        out = np.empty((times.size, 2))
        _kernels()[1](secular.reshape(-1, 4), np.ascontiguousarray(times.reshape(-1)), out)
        return out[:, 0].reshape(shape), out[:, 1].reshape(shape)

    @cached_property
    def _secular(self) -> FloatArray:
        """Period and rotation angle per period, as double-doubles, shape batch + (4,)."""
        return self._per_body(_kernels()[0], 4)

    def m(self, t: npt.ArrayLike) -> FloatArray:
        """Return the angular momentum in body axes at the times ``t``, shape t.shape + batch + (3,)."""
        return self.sample(t)[0]

    def q(self, t: npt.ArrayLike) -> FloatArray:
        """Return the attitude at the times ``t``, shape t.shape + batch + (4,), continuous in t."""
        return self.sample(t)[1]

    def omega(self, t: npt.ArrayLike) -> FloatArray:
        """Return the angular velocity in body axes at the times ``t``, shape t.shape + batch + (3,)."""
        return self.body.omega(self.m(t))

    def rotation(self, t: npt.ArrayLike) -> Rotation:
        """Return the attitude as a SciPy Rotation, for one time or a one-dimensional array of times."""
        return as_rotation(self.q(t))

    def state(self, t: npt.ArrayLike) -> State:
        """Return momentum and attitude at the times ``t`` as a State of shape t.shape + batch."""
        m, q = self.sample(t)
        return self.initial._exactly(m=m, q=q)

    def jacobian(self, t: npt.ArrayLike) -> Jacobian:
        """Return the derivatives of m(t) and q(t) with respect to the initial m and q, the principal moments and t.

        Parameters
        ----------
        t : array_like
            Times, of any shape.

        Returns
        -------
        Jacobian
            The derivatives. The leading axes of every block are t.shape + batch.

        Examples
        --------
        >>> J = free_motion((1.0, 2.0, 3.0), m=(0.3, 0.2, 0.9)).jacobian(np.linspace(0, 10, 5))
        >>> J.dq_dm.shape, bool(np.allclose(np.linalg.det(J.dm_dm), 1, rtol=0, atol=1e-12))
        ((5, 4, 3), True)
        """
        times = as_floats(t, "t", units=self.units)
        times = times.reshape(times.shape + (1,) * len(self.batch))
        _, _, jacobian = propagate(self.body, self.initial.m, self.initial.q, times, jacobian=True)
        return jacobian

    def polhode(self, samples: int = 361, *, of: str = "omega") -> FloatArray:
        """Return the closed curve of omega (or m) in body axes, (samples,) + batch + (3,); see ``geometry.polhode``."""
        return geometry.polhode(self, samples, of=of)

    def herpolhode(self, t: npt.ArrayLike) -> FloatArray:
        """Return the curve of omega on the invariable plane, t.shape + batch + (2,); see ``geometry.herpolhode``."""
        return geometry.herpolhode(self, t)

    @property
    def herpolhode_radii(self) -> tuple[float | FloatArray, float | FloatArray]:
        """Inner and outer radius of the ring that the herpolhode fills; see ``geometry.herpolhode_radii``."""
        return geometry.herpolhode_radii(self)

    @property
    def invariable_frame(self) -> FloatArray:
        """Matrix with the columns ``(e1, e2, m_space/|m|)`` in space axes; see ``geometry.invariable_frame``."""
        return geometry.invariable_frame(self)

    def andoyer(self, t: npt.ArrayLike) -> geometry.Andoyer:
        """Return the Andoyer variables at the times ``t``; see ``geometry.andoyer``."""
        return geometry.andoyer(*self.sample(t))

    @property
    def energy(self) -> float | FloatArray:
        """Kinetic energy, m . omega/2, a number or an array of shape batch."""
        return scalar(self.body.kinetic_energy(self.initial.m))

    @property
    def m_space(self) -> FloatArray:
        """Angular momentum in space axes, constant in time, batch + (3,)."""
        return self.initial.m_space

    @cached_property
    def _orbit(self) -> FloatArray:
        """Constants of the orbit of m, shape batch + (5,).

        They are the index of the regime, the period, the precession per period, the time nearest to 0 with m.e2 = 0,
        and the largest |m.e2|/|m|.
        """
        from polhode.kernels.exact.orbit import orbits

        return self._per_body(orbits, 5)

    def _per_body(self, kernel: Callable[[FloatArray, FloatArray, FloatArray], None], columns: int) -> FloatArray:
        """Return the results of ``kernel`` for moments and momenta in principal axes, shape batch + (columns,)."""
        moments, m = self._in_principal_axes()
        shape = common_batch(body=self.body.batch, m=m.shape[:-1])
        out = np.empty((prod(shape), columns))
        kernel(rows_of(moments, shape, 3), rows_of(m, shape, 3), out)
        result = out.reshape(*shape, columns)
        return result if shape == self.batch else np.broadcast_to(result, (*self.batch, columns))

    def _in_principal_axes(self) -> tuple[FloatArray, FloatArray]:
        """Return the principal moments, and the momenta in principal axes."""
        check_spread(flow_moments(self.body))
        m = self.initial.m
        if not self.body.is_principal:
            m = np.einsum("...ji,...j->...i", self.body.axes, m)
        return flow_moments(self.body), m

    @property
    def regime(self) -> str | npt.NDArray[np.str_]:
        """Kind of motion, decided exactly.

        One of 'rest', 'spherical', 'steady', 'symmetric', 'around_min', 'around_max' and 'separatrix', or an array of
        these of shape batch.
        """
        names = REGIMES[self._orbit[..., 0].astype(int)]
        if self.body.is_linear:
            names = np.where(names == "spherical", "steady", names)
        return str(names) if names.ndim == 0 else names

    @property
    def period(self) -> float | FloatArray:
        """Period of m; inf on the separatrix, 0 if m is constant. A number or an array of shape batch."""
        return scalar(self._orbit[..., 1])

    @property
    def precession_per_period(self) -> float | FloatArray:
        """Angle about m_space by which the body axis that m circles advances in one period (inf on the separatrix)."""
        return scalar(self._orbit[..., 2])

    @property
    def rotation_number(self) -> float | FloatArray:
        """Precession per period as a number of revolutions, ``precession_per_period/(2 pi)``."""
        return scalar(self._orbit[..., 2] / (2 * np.pi))

    def flips(self, t0: float, t1: float) -> FloatArray:
        """Return the times in [t0, t1] at which the body flips over, in ascending order.

        They are the ``middle_crossings`` of a motion in which m comes within 30 degrees of the middle axis, on both
        sides. A body that only wobbles about another axis does not flip.

        Parameters
        ----------
        t0, t1 : float
            Ends of the interval, in either order.

        Returns
        -------
        ndarray, shape (n,)
            The times, two per period or none.

        Raises
        ------
        InertiaError
            If two moments are equal, so that there is no middle axis.
        InputError
            If the motion is that of a batch.

        Examples
        --------
        >>> free_motion((1.0, 2.0, 3.0), omega=(0.01, 5.0, 0.01)).flips(0, 10).round(2)
        array([2.74, 7.77])
        >>> free_motion((1.0, 2.0, 3.0), omega=(5.0, 0.01, 0.01)).flips(0, 10)
        array([], dtype=float64)
        """
        crossings = self.middle_crossings(t0, t1)
        return crossings if self._orbit[4] > FLIP_REACH else crossings[:0]

    def middle_crossings(self, t0: float, t1: float) -> FloatArray:
        """Return the times in [t0, t1] at which m has no component along the middle axis, in ascending order.

        Parameters
        ----------
        t0, t1 : float
            Ends of the interval, in either order.

        Returns
        -------
        ndarray, shape (n,)
            The times: two per period, only one for the whole motion on the separatrix, and none if m is constant.

        Raises
        ------
        InertiaError
            If two moments are equal, so that there is no middle axis.
        InputError
            If the motion is that of a batch.
        TimeError
            If there are more than 1e8 such times.

        Examples
        --------
        >>> len(free_motion((1.0, 2.0, 3.0), omega=(5.0, 0.01, 0.01)).middle_crossings(0, 10))
        9
        """
        if self.batch:
            raise InputError(
                f"this motion has the batch {self.batch}; flips and middle_crossings expected one body: type motion[i]"
            )
        ends = as_floats([t0, t1], "(t0, t1)", units=self.units)
        check_finite(ends, "(t0, t1)", TimeError)
        self.body.middle_axis  # noqa: B018  raises if there is none
        _, period, _, first, _ = self._orbit
        if period == 0:
            return np.empty(0)
        low, high = ends.min(), ends.max()
        if np.isinf(period):
            times = np.array([first])
        else:
            half = 0.5 * period
            if high - low > MOST_CROSSINGS * half:
                expected = f"at most {MOST_CROSSINGS:.0e} crossings, two per {period:.6g}"
                raise TimeError(f"(t0, t1) = ({low:.6g}, {high:.6g}); expected {expected}: choose a shorter interval")
            count = np.arange(np.ceil((low - first) / half) - 1, np.floor((high - first) / half) + 2)
            times = first + half * count
        return times[(low <= times) & (times <= high)]

    def plot(self, t0: float, t1: float) -> Figure:
        """Plot polhode, momentum and attitude from t0 to t1; see ``polhode.plot.plot_free_motion``.

        Parameters
        ----------
        t0, t1 : float
            Ends of the interval.

        Returns
        -------
        matplotlib.figure.Figure
            The figure. A notebook displays it; in a script, call ``matplotlib.pyplot.show()``.
        """
        from polhode.show.plot import plot_free_motion

        return plot_free_motion(self, t0, t1)

    def view(self, path: Any = None, **options: Any) -> Any:
        """Return a page that shows the rotating body in 3-D, saved to ``path`` if given; see ``polhode.view``."""
        from polhode.show.page import view

        return view(self, path, **options)

    def animate(self, **options: Any) -> Any:
        """Return a film of the rotating body, which a notebook displays; see ``polhode.plot.animate``."""
        from polhode.show.plot import animate

        return animate(self, **options)

    def movie(self, path: Any, **options: Any) -> Any:
        """Write a film of the rotating body to a file (.mp4, .webm, .gif); see ``polhode.plot.animate``."""
        return self.animate(**options).save(path)

    def __getitem__(self, index: Any) -> FreeMotion:
        """Return the motion of the bodies of the batch that ``index`` selects."""
        if not self.batch:
            raise IndexError("this motion has one body and no batch; expected no index")
        m = np.broadcast_to(self.initial.m, (*self.batch, 3))[index]
        q = np.broadcast_to(self.initial.q, (*self.batch, 4))[index]
        selected = np.broadcast_to(0, self.batch)[index].shape
        if m.shape != (*selected, 3) or q.shape != (*selected, 4):
            raise IndexError(f"index {index!r} does not fit the batch {self.batch}")
        return FreeMotion(self.body.select(self.batch, index), State(m, q))

    def __repr__(self) -> str:
        """Return the body, the regime, the period and the energy, or the number of bodies of a batch."""
        if self.batch:
            return f"FreeMotion(<{'x'.join(map(str, self.batch))} bodies>)"
        return f"FreeMotion({self.body}, {self.regime}, period={self.period:.6g}, energy={self.energy:.6g})"

    def _repr_html_(self) -> str:
        """Return the representation for notebooks."""
        if self.batch:
            return html_fields("FreeMotion", {"bodies": " x ".join(map(str, self.batch))})
        return html_fields(
            "FreeMotion",
            {
                "body": self.body,
                "regime": self.regime,
                "period": f"{self.period:.6g}",
                "energy": f"{self.energy:.6g}",
                "momentum in space": show(self.m_space),
            },
        )
