"""The state of a body: angular momentum and attitude, and optionally position and linear momentum."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody, as_body
from polhode.core.checks import IDENTITY, as_floats, check_finite, common_batch
from polhode.core.errors import InputError
from polhode.core.rotation import as_quaternion, as_rotation, rotate


class State:
    """The state of a rigid body, or of a batch of bodies: angular momentum and attitude.

    Parameters
    ----------
    m : array_like of shape (..., 3)
        Angular momentum in body axes. Leading axes are a batch.
    q : array_like of shape (..., 4) or scipy.spatial.transform.Rotation, optional
        Attitude as a quaternion, scalar first, body to space. It is normalized. The default is the identity.
    x, p : array_like of shape (..., 3), optional
        Position and momentum of the center of mass, for the bodies of a System.

    Examples
    --------
    >>> State(m=(0.3, 0.2, 0.9)).m_space
    array([0.3, 0.2, 0.9])
    """

    def __init__(
        self,
        m: npt.ArrayLike,
        q: Any = IDENTITY,
        *,
        x: npt.ArrayLike | None = None,
        p: npt.ArrayLike | None = None,
    ) -> None:
        self.m = as_floats(m, "m", 3).copy()
        check_finite(self.m, "m")
        self.q = as_quaternion(q)
        self.x = _vector(x, "x")
        self.p = _vector(p, "p")
        self._batch = _common_batch(self)

    @classmethod
    def from_omega(
        cls, body: RigidBody | npt.ArrayLike, omega: npt.ArrayLike, q: Any = IDENTITY, **motion: Any
    ) -> State:
        """Return the state of a body with a given angular velocity.

        Parameters
        ----------
        body : RigidBody, or array_like of shape (..., 3) or (..., 3, 3)
            The body, its principal moments or its inertia tensor.
        omega : array_like, shape (..., 3)
            Angular velocity in body axes.
        q : array_like of shape (..., 4) or scipy.spatial.transform.Rotation, optional
            Attitude. The default is the identity.
        **motion
            ``x`` and ``p`` of the state.

        Returns
        -------
        State
            The state.

        Examples
        --------
        >>> State.from_omega((1.0, 2.0, 3.0), (1.0, 1.0, 1.0)).m
        array([1., 2., 3.])
        """
        return cls(as_body(body).momentum(omega), q, **motion)

    def replaced(self, m: FloatArray, q: FloatArray) -> State:
        """Return this state with another momentum and attitude, without validation: q is not normalized."""
        return _unchecked(m, q, self.x, self.p)

    def select(self, batch: tuple[int, ...], index: Any) -> State:
        """Return the states that ``index`` selects from this state broadcast to the shape ``batch``."""
        m, q, x, p = (
            None if v is None else np.broadcast_to(v, batch + v.shape[-1:])[index]
            for v in (self.m, self.q, self.x, self.p)
        )
        return _unchecked(m, q, x, p)

    def check_at_rest(self, name: str) -> None:
        """Raise InputError if the state has a position or a linear momentum, where bodies only rotate."""
        parts = " and ".join(part for part in ("x", "p") if getattr(self, part) is not None)
        if parts:
            raise InputError(
                f"{name} has {parts}; expected only m and q, because bodies only rotate here; for bodies that move, "
                f"type System(body, {name}, interaction); otherwise omit {parts}: State(m=..., q=...)"
            )

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of states; () for one state."""
        return self._batch

    @property
    def rotation(self) -> Any:
        """Attitude as a SciPy Rotation."""
        return as_rotation(self.q)

    @property
    def m_space(self) -> FloatArray:
        """Angular momentum in space axes, Q m, shape (..., 3)."""
        return rotate(self.q, self.m)

    def __repr__(self) -> str:
        """Return the components, or the number of states of a batch."""
        if self.batch:
            return f"State(<{'x'.join(map(str, self.batch))} states>)"
        extra = "".join(f", {n}={v.tolist()}" for n, v in (("x", self.x), ("p", self.p)) if v is not None)
        return f"State(m={self.m.tolist()}, q={self.q.tolist()}{extra})"


def _vector(value: npt.ArrayLike | None, name: str) -> FloatArray | None:
    """Return a copy of an optional vector (..., 3); raise InputError unless it is finite."""
    if value is None:
        return None
    array = as_floats(value, name, 3).copy()
    check_finite(array, name, InputError)
    return array


def _common_batch(state: State) -> tuple[int, ...]:
    """Return the shape to which the components of a state broadcast."""
    parts = {"m": state.m, "q": state.q, "x": state.x, "p": state.p}
    return common_batch(**{name: v.shape[:-1] for name, v in parts.items() if v is not None})


def _unchecked(m: Any, q: Any, x: Any, p: Any) -> State:
    """Return a state of these arrays, without validation or copies."""
    state = State.__new__(State)
    state.m, state.q, state.x, state.p = m, q, x, p
    state._batch = _common_batch(state)
    return state
