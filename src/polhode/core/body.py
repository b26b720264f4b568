"""Rigid bodies: an inertia, possibly a mass, in the user's own body axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import (
    are_matrices,
    as_floats,
    check_finite,
    check_moments,
    common_batch,
    first_bad,
    place,
    show,
    symmetric,
)
from polhode.core.errors import InertiaError, InputError, MomentumError, ShapeError
from polhode.core.html import html_fields
from polhode.core.rotation import conjugate, from_matrix, multiply

AS_TENSORS = (
    "an array (..., 3, 3) is read as inertia tensors; for the principal moments of several bodies type "
    "polhode.RigidBody.from_moments(...)"
)
LINEAR_TOLERANCE = 1e-14  # of m along the axis of a linear rotor, relative to |m|


class RigidBody:
    """A rigid body, or a batch of them, given by its inertia.

    Parameters
    ----------
    inertia : array_like of shape (..., 3) or (..., 3, 3)
        Principal moments in any order, or symmetric inertia tensors. Leading axes are a batch of bodies. An array of
        shape (..., 3, 3) is always read as tensors; use ``RigidBody.from_moments`` for three bodies given by moments.
        With a tensor, all vectors are in the axes in which the tensor is written.
    mass : array_like of shape (...), optional
        Mass, which only systems of moving bodies and ``about`` need.
    physical : bool, optional
        Whether to refuse moments that break the triangle inequality (I3 > I1 + I2). No distribution of mass has such
        moments, but many formulas in the literature allow them.

    Examples
    --------
    >>> body = RigidBody((1.0, 1.65, 1.97))
    >>> body.omega((0.0, 3.3, 0.0))
    array([0., 2., 0.])
    """

    def __init__(self, inertia: npt.ArrayLike, *, mass: npt.ArrayLike | None = None, physical: bool = False) -> None:
        array = as_floats(inertia, "inertia", 3)
        moments, axes = principal(array)
        self._set(moments, axes, mass)
        if physical:
            self._check_physical()

    def _set(
        self,
        moments: FloatArray,
        axes: FloatArray | None,
        mass: npt.ArrayLike | None,
        *,
        linear: bool = False,
    ) -> None:
        if not linear:
            check_moments(moments)
        self._moments = _frozen(moments)
        self._axes = None if axes is None else _frozen(axes)
        self._mass = None if mass is None else _positive(mass, "mass")
        if self._mass is not None and common_batch(inertia=self.batch, mass=self._mass.shape) != self.batch:
            raise ShapeError(f"mass has shape {self._mass.shape}; expected (), or {self.batch} as the batch of bodies")
        self._linear = linear

    @classmethod
    def from_moments(
        cls, moments: npt.ArrayLike, *, mass: npt.ArrayLike | None = None, physical: bool = False
    ) -> RigidBody:
        """Principal moments (..., 3), also where the batch would make them look like a tensor.

        >>> RigidBody.from_moments([(1, 2, 3), (2, 3, 4), (3, 4, 5)]).batch
        (3,)
        """
        body = cls.__new__(cls)
        body._set(as_floats(moments, "moments", 3), None, mass)
        if physical:
            body._check_physical()
        return body

    @classmethod
    def linear(cls, moment: float, *, mass: npt.ArrayLike | None = None) -> RigidBody:
        """A linear rotor along the first body axis: moments (0, I, I). Its m has no component along that axis.

        >>> RigidBody.linear(2.0).moments
        array([0., 2., 2.])
        """
        value = _positive(moment, "moment")
        body = cls.__new__(cls)
        body._set(np.stack([np.zeros_like(value), value, value], axis=-1), None, mass, linear=True)
        return body

    @classmethod
    def cuboid(cls, mass: float, a: float, b: float, c: float) -> RigidBody:
        """A solid cuboid with edges a, b, c along the body axes.

        >>> RigidBody.cuboid(12.0, 1.0, 2.0, 3.0).moments
        array([13., 10.,  5.])
        """
        return cls._from_second_moments(mass, [_positive(x, n) ** 2 / 12 for x, n in ((a, "a"), (b, "b"), (c, "c"))])

    @classmethod
    def ellipsoid(cls, mass: float, a: float, b: float, c: float) -> RigidBody:
        """A solid ellipsoid with semi-axes a, b, c along the body axes.

        >>> RigidBody.ellipsoid(5.0, 1.0, 2.0, 3.0).moments
        array([13., 10.,  5.])
        """
        return cls._from_second_moments(mass, [_positive(x, n) ** 2 / 5 for x, n in ((a, "a"), (b, "b"), (c, "c"))])

    @classmethod
    def cylinder(cls, mass: float, radius: float, height: float) -> RigidBody:
        """A solid cylinder along the third body axis.

        >>> RigidBody.cylinder(12.0, 1.0, 1.0).moments
        array([4., 4., 6.])
        """
        across = _positive(radius, "radius") ** 2 / 4
        return cls._from_second_moments(mass, [across, across, _positive(height, "height") ** 2 / 12])

    @classmethod
    def cone(cls, mass: float, radius: float, height: float) -> RigidBody:
        """A solid circular cone along the third body axis, about its mass center (a quarter of the height up).

        >>> RigidBody.cone(80.0, 1.0, 2.0).moments
        array([24., 24., 24.])
        """
        across = _positive(radius, "radius") ** 2 * 3 / 20
        return cls._from_second_moments(mass, [across, across, _positive(height, "height") ** 2 * 3 / 80])

    @classmethod
    def _from_second_moments(cls, mass: float, second: list[FloatArray]) -> RigidBody:
        """Moments from the mean squares of the coordinates: I1 = mass (<y^2> + <z^2>), and so on."""
        mass_ = _positive(mass, "mass")
        x, y, z = second
        common_batch(mass=mass_.shape, sizes_1=x.shape, sizes_2=y.shape, sizes_3=z.shape)
        return cls.from_moments(
            np.stack(np.broadcast_arrays(mass_ * (y + z), mass_ * (x + z), mass_ * (x + y)), axis=-1),
            mass=mass,
        )

    @classmethod
    def points(cls, masses: npt.ArrayLike, positions: npt.ArrayLike) -> RigidBody:
        """Point masses (n,) at positions (n, 3) in body axes; the inertia is about their mass center.

        >>> RigidBody.points([1, 1, 1, 1], [(1, 1, 0), (1, -1, 0), (-1, 1, 0), (-1, -1, 0)]).moments
        array([4., 4., 8.])
        """
        weights = _positive(masses, "masses")
        r = as_floats(positions, "positions", 3)
        check_finite(r, "positions", InputError)
        if weights.ndim != 1 or r.shape != (len(weights), 3):
            raise ShapeError(f"masses {weights.shape} and positions {r.shape}: expected (n,) and (n, 3)")
        if len(weights) == 0:
            raise ShapeError("masses and positions are empty: a body needs points")
        r = r - weights @ r / weights.sum()
        spread = np.linalg.svd(r * np.sqrt(weights)[:, None], compute_uv=False)
        if len(spread) < 2 or spread[1] <= 1e-12 * spread[0]:
            raise InertiaError(
                "the points lie on a line, so one moment is zero; a linear rotor is polhode.RigidBody.linear(I)"
            )
        products = np.einsum("n,ni,nj->ij", weights, r, r)
        return cls(np.trace(products) * np.eye(3) - products, mass=float(weights.sum()))

    @property
    def moments(self) -> FloatArray:
        """Principal moments (..., 3), in the order of ``axes``."""
        return self._moments

    @property
    def axes(self) -> FloatArray:
        """Rotation (..., 3, 3) whose columns are the principal axes, in body axes."""
        if self._axes is None:
            return np.broadcast_to(np.eye(3), (*self.batch, 3, 3))
        return self._axes

    @property
    def middle_axis(self) -> FloatArray:
        """The principal axis (..., 3) of the middle moment, in body axes; an error if two moments are equal.

        >>> RigidBody((3.0, 2.0, 1.0)).middle_axis
        array([0., 1., 0.])
        """
        order = np.sort(self._moments, axis=-1)
        equal = (order[..., 0] == order[..., 1]) | (order[..., 1] == order[..., 2])
        if equal.any():
            moments = self._moments[equal][0] if self.batch else self._moments
            raise InertiaError(f"two of the moments {moments.tolist()} are equal: there is no middle axis")
        column = np.argsort(self._moments, axis=-1)[..., 1]
        return np.take_along_axis(self.axes, column[..., None, None], axis=-1)[..., 0]

    @property
    def is_principal(self) -> bool:
        """Whether the body axes are the principal axes."""
        return self._axes is None

    @property
    def is_linear(self) -> bool:
        """Whether this is a linear rotor, with moments (0, I, I)."""
        return self._linear

    @property
    def tensor(self) -> FloatArray:
        """The inertia tensor (..., 3, 3) in body axes."""
        axes = self.axes
        return np.einsum("...ij,...j,...kj->...ik", axes, self._moments, axes)

    @property
    def mass(self) -> FloatArray | None:
        """The mass, if it was given."""
        return self._mass

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of bodies; () for one."""
        return self._moments.shape[:-1]

    def about(self, point: npt.ArrayLike) -> RigidBody:
        """The same body with its inertia taken about ``point`` (3,), measured from the mass center in body axes.

        >>> RigidBody((1.0, 1.0, 1.0), mass=2.0).about((0, 0, 3)).moments
        array([19., 19.,  1.])
        """
        if self._mass is None:
            raise InertiaError("about(point) needs the mass: RigidBody(inertia, mass=...)")
        d = as_floats(point, "point", 3)
        check_finite(d, "point", InputError)
        common_batch(body=self.batch, point=d.shape[:-1])
        shift = np.sum(d * d, axis=-1)[..., None, None] * np.eye(3) - d[..., :, None] * d[..., None, :]
        return RigidBody(self.tensor + self._mass[..., None, None] * shift, mass=self._mass)

    def select(self, batch: tuple[int, ...], index: Any) -> RigidBody:
        """Some bodies of a batch: ``index`` into this body broadcast to ``batch``."""
        body = RigidBody.__new__(RigidBody)
        axes = None if self._axes is None else np.broadcast_to(self._axes, (*batch, 3, 3))[index]
        mass = None if self._mass is None else np.broadcast_to(self._mass, batch)[index]
        body._set(np.broadcast_to(self._moments, (*batch, 3))[index], axes, mass, linear=self._linear)
        return body

    def momentum(self, omega: npt.ArrayLike) -> FloatArray:
        """m = I omega, body axes, (..., 3) -> (..., 3)."""
        w = as_floats(omega, "omega", 3)
        check_finite(w, "omega")
        return scale_along(self._axes, self._moments, w, "omega")

    def omega(self, m: npt.ArrayLike) -> FloatArray:
        """omega = I^-1 m, body axes, (..., 3) -> (..., 3). A linear rotor does not spin about its own axis."""
        return scale_along(self._axes, 1.0 / flow_moments(self), self.check_momentum(m), "m")

    def kinetic_energy(self, m: npt.ArrayLike) -> FloatArray:
        """m . omega/2, (..., 3) -> (...)."""
        return 0.5 * np.sum(as_floats(m, "m", 3) * self.omega(m), axis=-1)

    def check_momentum(self, m: npt.ArrayLike, name: str = "m") -> FloatArray:
        """m (..., 3) as finite numbers, without a component along the axis of a linear rotor."""
        array = as_floats(m, name, 3)
        check_finite(array, name)
        if self._linear:
            good = np.abs(array[..., 0]) <= LINEAR_TOLERANCE * np.abs(array).max(axis=-1)
            if not good.all():
                index = first_bad(good)
                raise MomentumError(
                    f"{place(name, index)} = {show(array[index])}: a linear rotor has no angular momentum along its "
                    "axis, the first body axis; set that component to 0"
                )
        return array

    def _check_physical(self) -> None:
        good = 2 * self._moments.max(axis=-1) <= self._moments.sum(axis=-1) * (1 + 1e-12)
        if not good.all():
            index = first_bad(good)
            raise InertiaError(
                f"{place('inertia', index)} = {show(self._moments[index])}: no mass distribution has one moment larger "
                "than the sum of the other two; leave out physical=True to compute with it all the same"
            )

    def __repr__(self) -> str:
        if self.batch:
            kind = "linear rotors" if self._linear else "bodies"
            return f"RigidBody(<{'x'.join(map(str, self.batch))} {kind}>)"
        if self._linear:
            text = f"RigidBody.linear({self._moments[1]:.6g}"
        else:
            text = f"RigidBody({show(self._moments)}" + ("" if self.is_principal else " in turned axes")
        return text + (")" if self._mass is None else f", mass={show(self._mass).strip('()')})")

    def _repr_html_(self) -> str:
        if self.batch:
            return html_fields("RigidBody", {"bodies": " x ".join(map(str, self.batch))})
        axes = "body axes" if self.is_principal else "turned from the body axes"
        mass = "" if self._mass is None else f"{float(self._mass):.6g}"
        return html_fields("RigidBody", {"moments": show(self._moments), "principal axes": axes, "mass": mass})


def principal(inertia: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """(moments, axes) of moments (..., 3), whose axes are None, or of tensors (..., 3, 3)."""
    if not are_matrices(inertia):
        return inertia, None
    from polhode.kernels.compiler.limits import NOBODY
    from polhode.kernels.exact.principal import principal_axes

    check_finite(inertia, "inertia", InertiaError)
    work = np.array(symmetric(inertia, "inertia", InertiaError, AS_TENSORS), order="C").reshape(-1, 3, 3)
    moments, axes = np.empty(work.shape[:2]), np.empty(work.shape)
    bad = principal_axes(work, moments, axes)
    if bad != NOBODY:
        index = tuple(int(i) for i in np.unravel_index(bad, inertia.shape[:-2]))
        raise InertiaError(
            f"{place('inertia', index)} is not positive definite: its principal moments come out as "
            f"{show(np.linalg.eigvalsh(inertia[index]))}; expected three positive ones "
            "(a linear rotor is polhode.RigidBody.linear(I))"
        )
    return moments.reshape(inertia.shape[:-1]), axes.reshape(inertia.shape)


def scale_along(axes: FloatArray | None, factors: FloatArray, vector: FloatArray, name: str) -> FloatArray:
    """A diag(factors) A^T vector with A the axes (None: the identity), (..., 3) -> (..., 3)."""
    common_batch(**{"inertia": factors.shape[:-1], name: vector.shape[:-1]})
    if axes is None:
        return vector * factors
    return np.einsum("...ij,...j,...kj,...k->...i", axes, factors, axes, vector)


def to_principal(axes: FloatArray | None, m: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Momentum and attitude in principal axes, the columns of ``axes`` (..., 3, 3); None if those are the body axes."""
    if axes is None:
        return m, q
    return np.einsum("...ji,...j->...i", axes, m), multiply(q, from_matrix(axes))


def from_principal(axes: FloatArray | None, m: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The inverse of ``to_principal``."""
    if axes is None:
        return m, q
    return np.einsum("...ij,...j->...i", axes, m), multiply(q, conjugate(from_matrix(axes)))


def flow_moments(body: RigidBody) -> FloatArray:
    """Moments the flow can use: a linear rotor, whose m never leaves the plane across its axis, moves as a sphere."""
    return body.moments[..., [1, 1, 1]] if body.is_linear else body.moments


def as_body(body: Any) -> RigidBody:
    """A RigidBody, made of moments or a tensor if it is not one already."""
    return body if isinstance(body, RigidBody) else RigidBody(body)


def _frozen(array: FloatArray) -> FloatArray:
    array = np.array(array, order="C")
    array.flags.writeable = False
    return array


def _positive(value: npt.ArrayLike, name: str) -> FloatArray:
    array = as_floats(value, name)
    good = np.isfinite(array) & (array > 0)
    if not good.all():
        index = first_bad(good)
        raise InputError(f"{place(name, index)} = {array[index]:.6g}: must be positive and finite")
    return array
