"""The state of a body: angular momentum and attitude, and optionally position and linear momentum."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray, frozen
from polhode.core.body import RigidBody, as_body
from polhode.core.checks import IDENTITY, as_floats, check_finite, common_batch
from polhode.core.errors import InputError, MomentumError
from polhode.core.rotation import as_quaternion, as_rotation, rotate
from polhode.core.units import together
from polhode.core.value import Value

NOT_TURNED = frozen(np.array(IDENTITY))


class State(Value):
    """The state of a rigid body, or of a batch of bodies: angular momentum and attitude.

    Parameters
    ----------
    m : array_like of shape (..., 3)
        Angular momentum in body axes. Leading axes are a batch.
    q : array_like of shape (..., 4) or scipy.spatial.transform.Rotation, optional
        Attitude as a quaternion, scalar first, body to space. It is normalized. The default is the identity.
    x, p : array_like of shape (..., 3), optional
        Position and momentum of the center of mass, for the bodies of a System.

    Notes
    -----
    A state never changes: its arrays are read-only copies, and ``state.replaced(m=...)`` returns a changed copy. States
    with equal numbers are equal.

    Examples
    --------
    >>> state = State(m=(0.3, 0.2, 0.9))
    >>> state.m_space
    array([0.3, 0.2, 0.9])
    >>> state.replaced(m=(0.0, 0.0, 1.0)) == State(m=(0.0, 0.0, 1.0))
    True
    """

    _replaceable: ClassVar = ("m", "q", "x", "p")
    m: FloatArray
    q: FloatArray
    x: FloatArray | None
    p: FloatArray | None

    def __init__(
        self,
        m: npt.ArrayLike,
        q: Any = IDENTITY,
        *,
        x: npt.ArrayLike | None = None,
        p: npt.ArrayLike | None = None,
    ) -> None:
        self._set(m=m, q=q, x=x, p=p)

    def _set(self, **parts: Any) -> None:
        """Check and store some of m, q, x and p."""
        if parts.get("x") is not None or parts.get("p") is not None:
            parts = together(**parts)
        self._store(**{name: CHECKS[name](value) for name, value in parts.items()})
        self.batch  # noqa: B018  raises if the shapes do not broadcast

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
        if motion or not isinstance(body, RigidBody):
            body, omega, *parts = together(body=body, omega=omega, **motion).values()
            motion = dict(zip(motion, parts, strict=True))
        return cls(as_body(body).momentum(omega), q, **motion)

    def _exactly(self, **parts: Any) -> State:
        """Return this state with other arrays, which are kept to the bit: q is not normalized, nothing is checked."""
        return self._copy(**parts)

    def select(self, batch: tuple[int, ...], index: Any) -> State:
        """Return the states that ``index`` selects from this state broadcast to the shape ``batch``."""
        parts = {name: getattr(self, name) for name in self._replaceable}
        return self._exactly(
            **{k: None if v is None else np.broadcast_to(v, batch + v.shape[-1:])[index] for k, v in parts.items()}
        )

    def check_at_rest(self, name: str) -> None:
        """Raise InputError if the state has a position or a linear momentum, where bodies only rotate."""
        if self.x is not None or self.p is not None:
            parts = " and ".join(part for part in ("x", "p") if getattr(self, part) is not None)
            raise InputError(
                f"{name} has {parts}; expected only m and q, because bodies only rotate here; for bodies that move, "
                f"type System(body, {name}, interaction); otherwise omit {parts}: State(m=..., q=...)"
            )

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of states; () for one state."""
        return common_batch(**{name: part.shape[:-1] for name, part in vars(self).items() if part is not None})

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


def _vector(value: Any, name: str, error: type[InputError] = InputError) -> FloatArray:
    """Return a copy of a vector (..., 3); raise ``error`` unless it is finite."""
    array = as_floats(value, name, 3)
    check_finite(array, name, error)
    return array if type(value) in (tuple, list) else array.copy()


def _vector_or_none(value: Any, name: str) -> FloatArray | None:
    """Return a copy of a vector (..., 3), or None for None."""
    return None if value is None else _vector(value, name)


def _attitude(value: Any) -> FloatArray:
    """Return a copy of a unit quaternion (..., 4)."""
    return NOT_TURNED if value is IDENTITY else as_quaternion(value)


CHECKS: dict[str, Callable[[Any], FloatArray | None]] = {
    "m": partial(_vector, name="m", error=MomentumError),
    "q": _attitude,
    "x": partial(_vector_or_none, name="x"),
    "p": partial(_vector_or_none, name="p"),
}
