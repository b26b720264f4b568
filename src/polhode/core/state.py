"""The state of a body: angular momentum and attitude, and place and momentum where it also moves."""

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
    """The state of a rigid body, or of a batch of them: angular momentum and attitude.

    Parameters
    ----------
    m : array_like of shape (..., 3)
        Angular momentum in body axes. Leading axes are a batch.
    q : array_like of shape (..., 4) or scipy.spatial.transform.Rotation, optional
        Attitude as a quaternion, scalar first, body to space. It is normalized once. The default is the identity.
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
        """State of a body that turns at ``omega`` (..., 3), body axes.

        >>> State.from_omega((1.0, 2.0, 3.0), (1.0, 1.0, 1.0)).m
        array([1., 2., 3.])
        """
        return cls(as_body(body).momentum(omega), q, **motion)

    def replaced(self, m: FloatArray, q: FloatArray) -> State:
        """This state with another momentum and attitude, which are taken as they are: q is not normalized."""
        return _as_they_are(m, q, self.x, self.p)

    def select(self, batch: tuple[int, ...], index: Any) -> State:
        """Some states of a batch: ``index`` into this state broadcast to ``batch``."""
        m, q, x, p = (
            None if v is None else np.broadcast_to(v, batch + v.shape[-1:])[index]
            for v in (self.m, self.q, self.x, self.p)
        )
        return _as_they_are(m, q, x, p)

    def check_at_rest(self, name: str) -> None:
        """Refuse a place or a momentum of the center of mass where bodies only turn."""
        given = [part for part in ("x", "p") if getattr(self, part) is not None]
        if given:
            raise InputError(
                f"{name} has {' and '.join(given)}, and here bodies only turn: they would not move. For bodies that "
                f"move type System(body, {name}, interaction); or leave {' and '.join(given)} out: State(m=..., q=...)"
            )

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of states; () for one."""
        return self._batch

    @property
    def rotation(self) -> Any:
        """The attitude as a SciPy Rotation."""
        return as_rotation(self.q)

    @property
    def m_space(self) -> FloatArray:
        """Angular momentum in space axes, Q m, (..., 3)."""
        return rotate(self.q, self.m)

    def __repr__(self) -> str:
        if self.batch:
            return f"State(<{'x'.join(map(str, self.batch))} states>)"
        extra = "".join(f", {n}={v.tolist()}" for n, v in (("x", self.x), ("p", self.p)) if v is not None)
        return f"State(m={self.m.tolist()}, q={self.q.tolist()}{extra})"


def _vector(value: npt.ArrayLike | None, name: str) -> FloatArray | None:
    if value is None:
        return None
    array = as_floats(value, name, 3).copy()
    check_finite(array, name, InputError)
    return array


def _common_batch(state: State) -> tuple[int, ...]:
    parts = {"m": state.m, "q": state.q, "x": state.x, "p": state.p}
    return common_batch(**{name: v.shape[:-1] for name, v in parts.items() if v is not None})


def _as_they_are(m: Any, q: Any, x: Any, p: Any) -> State:
    state = State.__new__(State)
    state.m, state.q, state.x, state.p = m, q, x, p
    state._batch = _common_batch(state)
    return state
