"""Rigid bodies: inertia and optional mass, in body axes chosen by the user."""

from __future__ import annotations

from functools import cached_property
from os import PathLike
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import (
    all_positive,
    are_matrices,
    as_floats,
    check_finite,
    check_moments,
    common_batch,
    first_bad,
    place,
    row_of_one,
    show,
    symmetric,
)
from polhode.core.errors import InertiaError, InputError, MomentumError, ShapeError
from polhode.core.html import html_fields
from polhode.core.rotation import UNIT_MATRIX, conjugate, from_matrix, multiply
from polhode.core.solids import read_solid, solid_properties
from polhode.core.units import together
from polhode.core.value import Value

AS_TENSORS = (
    "an array (..., 3, 3) is read as inertia tensors; for the principal moments of several bodies type "
    "polhode.RigidBody.from_moments(...)"
)
LINEAR_TOLERANCE = 1e-14  # largest component of m along the axis of a linear rotor, relative to |m|


class Frame(NamedTuple):
    """Principal axes of bodies that are not their body axes."""

    axes: FloatArray  # (..., 3, 3), rotation matrices with the principal axes as columns, in body axes
    q: FloatArray  # (..., 4), the same rotations as quaternions

    @classmethod
    def of(cls, axes: FloatArray | None) -> Frame | None:
        """Return the frame with these axes; None, which stands for the body axes, if they are None."""
        return None if axes is None else cls(axes, from_matrix(axes))


class RigidBody(Value):
    """A rigid body, or a batch of them, given by its inertia.

    Parameters
    ----------
    inertia : array_like of shape (..., 3) or (..., 3, 3)
        Principal moments in any order, or symmetric inertia tensors. Leading axes are a batch of bodies. An array of
        shape (..., 3, 3) is always read as tensors; use ``RigidBody.from_moments`` for three bodies given by moments.
        With a tensor, all vectors are in the axes in which the tensor is written.
    mass : array_like of shape (...), optional
        Mass. It is required only by ``System`` and ``about``.
    physical : bool, optional
        Whether to raise an error for moments that violate the triangle inequality (I3 > I1 + I2). No distribution of
        mass has such moments, but some problems in the literature use them. The default is False.

    Raises
    ------
    InertiaError
        If moments are not positive and finite, or a tensor is not symmetric and positive definite.
    ShapeError
        If the shape of ``inertia`` or ``mass`` is wrong.

    Notes
    -----
    A body never changes: its arrays are read-only, and ``body.replaced(mass=...)`` returns a changed copy. Bodies with
    equal moments, axes and mass are equal.

    Examples
    --------
    >>> body = RigidBody((1.0, 1.65, 1.97))
    >>> body.omega((0.0, 3.3, 0.0))
    array([0., 2., 0.])
    >>> body.replaced(mass=2.0) == RigidBody((1.0, 1.65, 1.97), mass=2.0)
    True
    """

    _replaceable: ClassVar = ("inertia", "mass", "physical")
    _moments: FloatArray
    _axes: FloatArray | None
    _mass: FloatArray | None
    _linear: bool

    def __init__(self, inertia: npt.ArrayLike, *, mass: npt.ArrayLike | None = None, physical: bool = False) -> None:
        self._set(inertia=inertia, mass=mass, physical=physical)

    def _set(self, **arguments: Any) -> None:
        """Check and store some of inertia and mass; if ``physical`` is True, check the triangle inequality."""
        if arguments.get("mass") is not None:
            arguments = together(**arguments)
        if "inertia" in arguments:
            self._store_axes(*principal(as_floats(arguments["inertia"], "inertia", 3)))
        if "mass" in arguments:
            mass = arguments["mass"]
            self._store(_mass=None if mass is None else np.array(_positive(mass, "mass")))
        if self._mass is not None and common_batch(inertia=self.batch, mass=self._mass.shape) != self.batch:
            raise ShapeError(f"mass has shape {self._mass.shape}; expected (), or {self.batch} as the batch of bodies")
        if arguments.get("physical"):
            self._check_physical()

    def _store_axes(self, moments: FloatArray, axes: FloatArray | None, *, linear: bool = False) -> None:
        """Validate and store moments (..., 3), and axes (..., 3, 3) or None for the identity."""
        if not linear:
            check_moments(moments)
        self._store(
            _moments=np.array(moments, order="C"),
            _axes=None if axes is None else np.array(axes, order="C"),
            _linear=linear,
        )

    @classmethod
    def _from_axes(
        cls, moments: FloatArray, axes: FloatArray | None, *, linear: bool = False, **arguments: Any
    ) -> RigidBody:
        """Return a body with the given principal moments and axes, and other arguments of the constructor."""
        body = cls.__new__(cls)
        body._store_axes(moments, axes, linear=linear)
        body._set(**{"mass": None, **arguments})
        return body

    @classmethod
    def from_moments(
        cls, moments: npt.ArrayLike, *, mass: npt.ArrayLike | None = None, physical: bool = False
    ) -> RigidBody:
        """Return a body, or a batch of bodies, with the given principal moments.

        Unlike in ``RigidBody(...)``, an array of shape (..., 3, 3) is a batch of moments, not of tensors.

        Parameters
        ----------
        moments : array_like, shape (..., 3)
            Principal moments, in any order.
        mass : array_like, shape (...), optional
            Mass.
        physical : bool, optional
            Whether to raise an error for moments that violate the triangle inequality. The default is False.

        Returns
        -------
        RigidBody
            The body.

        Examples
        --------
        >>> RigidBody.from_moments([(1, 2, 3), (2, 3, 4), (3, 4, 5)]).batch
        (3,)
        """
        moments, mass = together(moments=moments, mass=mass).values()
        return cls._from_axes(as_floats(moments, "moments", 3), None, mass=mass, physical=physical)

    @classmethod
    def linear(cls, moment: float, *, mass: npt.ArrayLike | None = None) -> RigidBody:
        """Return a linear rotor along the first body axis, with the moments (0, I, I).

        Its angular momentum has no component along that axis.

        Parameters
        ----------
        moment : array_like, shape (...)
            The moment I.
        mass : array_like, shape (...), optional
            Mass.

        Returns
        -------
        RigidBody
            The rotor.

        Examples
        --------
        >>> RigidBody.linear(2.0).moments
        array([0., 2., 2.])
        """
        moment, mass = together(moment=moment, mass=mass).values()
        value = _positive(moment, "moment")
        return cls._from_axes(np.stack([np.zeros_like(value), value, value], axis=-1), None, mass=mass, linear=True)

    @classmethod
    def cuboid(cls, mass: float, a: float, b: float, c: float) -> RigidBody:
        """Return a solid cuboid with edges along the body axes.

        Parameters
        ----------
        mass : array_like, shape (...)
            Mass.
        a, b, c : array_like, shape (...)
            Lengths of the edges.

        Returns
        -------
        RigidBody
            The body, with its inertia about the mass center.

        Examples
        --------
        >>> RigidBody.cuboid(12.0, 1.0, 2.0, 3.0).moments
        array([13., 10.,  5.])
        """
        weight, *edges = _all_positive(mass=mass, a=a, b=b, c=c)
        return cls._from_second_moments(weight, [x**2 / 12 for x in edges])

    @classmethod
    def ellipsoid(cls, mass: float, a: float, b: float, c: float) -> RigidBody:
        """Return a solid ellipsoid with semi-axes along the body axes.

        Parameters
        ----------
        mass : array_like, shape (...)
            Mass.
        a, b, c : array_like, shape (...)
            Lengths of the semi-axes.

        Returns
        -------
        RigidBody
            The body, with its inertia about the mass center.

        Examples
        --------
        >>> RigidBody.ellipsoid(5.0, 1.0, 2.0, 3.0).moments
        array([13., 10.,  5.])
        """
        weight, *axes = _all_positive(mass=mass, a=a, b=b, c=c)
        return cls._from_second_moments(weight, [x**2 / 5 for x in axes])

    @classmethod
    def cylinder(cls, mass: float, radius: float, height: float) -> RigidBody:
        """Return a solid circular cylinder along the third body axis.

        Parameters
        ----------
        mass : array_like, shape (...)
            Mass.
        radius, height : array_like, shape (...)
            Dimensions.

        Returns
        -------
        RigidBody
            The body, with its inertia about the mass center.

        Examples
        --------
        >>> RigidBody.cylinder(12.0, 1.0, 1.0).moments
        array([4., 4., 6.])
        """
        weight, radius_, height_ = _all_positive(mass=mass, radius=radius, height=height)
        return cls._from_second_moments(weight, [radius_**2 / 4, radius_**2 / 4, height_**2 / 12])

    @classmethod
    def cone(cls, mass: float, radius: float, height: float) -> RigidBody:
        """Return a solid circular cone along the third body axis.

        Parameters
        ----------
        mass : array_like, shape (...)
            Mass.
        radius, height : array_like, shape (...)
            Dimensions. The mass center is at a quarter of the height above the base.

        Returns
        -------
        RigidBody
            The body, with its inertia about the mass center.

        Examples
        --------
        >>> RigidBody.cone(80.0, 1.0, 2.0).moments
        array([24., 24., 24.])
        """
        weight, radius_, height_ = _all_positive(mass=mass, radius=radius, height=height)
        return cls._from_second_moments(weight, [radius_**2 * 3 / 20, radius_**2 * 3 / 20, height_**2 * 3 / 80])

    @classmethod
    def _from_second_moments(cls, mass: FloatArray, second: list[FloatArray]) -> RigidBody:
        """Return a body from the mean squares of the coordinates: I1 = mass (<y^2> + <z^2>), and so on."""
        x, y, z = second
        common_batch(mass=mass.shape, sizes_1=x.shape, sizes_2=y.shape, sizes_3=z.shape)
        return cls.from_moments(
            np.stack(np.broadcast_arrays(mass * (y + z), mass * (x + z), mass * (x + y)), axis=-1),
            mass=mass,
        )

    @classmethod
    def points(cls, masses: npt.ArrayLike, positions: npt.ArrayLike) -> RigidBody:
        """Return a body that consists of point masses.

        Parameters
        ----------
        masses : array_like, shape (n,)
            Masses of the points.
        positions : array_like, shape (n, 3)
            Positions in body axes, from any origin.

        Returns
        -------
        RigidBody
            The body, with its inertia about the mass center.

        Raises
        ------
        InertiaError
            If all points lie on a line.
        ShapeError
            If the shapes do not match, or there are no points.

        Examples
        --------
        >>> RigidBody.points([1, 1, 1, 1], [(1, 1, 0), (1, -1, 0), (-1, 1, 0), (-1, -1, 0)]).moments
        array([4., 4., 8.])
        """
        masses, positions = together(masses=masses, positions=positions).values()
        weights = _positive(masses, "masses")
        r = as_floats(positions, "positions", 3)
        check_finite(r, "positions", InputError)
        if weights.ndim != 1 or r.shape != (len(weights), 3):
            raise ShapeError(f"masses {weights.shape} and positions {r.shape}; expected (n,) and (n, 3)")
        if len(weights) == 0:
            raise ShapeError("masses and positions are empty; expected at least three points")
        r = r - weights @ r / weights.sum()
        spread = np.linalg.svd(r * np.sqrt(weights)[:, None], compute_uv=False)
        if len(spread) < 2 or spread[1] <= 1e-12 * spread[0]:
            raise InertiaError(
                "the points lie on a line, so one moment is zero; a linear rotor is polhode.RigidBody.linear(I)"
            )
        products = np.einsum("n,ni,nj->ij", weights, r, r)
        return cls(np.trace(products) * np.eye(3) - products, mass=float(weights.sum()))

    @classmethod
    def from_mesh(cls, path: str | PathLike[str], density: float = 1.0) -> RigidBody:
        """Return a solid body whose surface is a mesh in a file.

        Parameters
        ----------
        path : str or path-like
            File with a closed surface of triangles, such as .stl, .obj or .ply, which trimesh reads.
        density : float, optional
            Mass per volume, in units that fit the lengths of the file. The default is 1.

        Returns
        -------
        RigidBody
            The body, in the axes of the file, with its mass and its inertia about the mass center.

        Raises
        ------
        InputError
            If the file cannot be read, or its surface is not closed.
        MissingExtraError
            If trimesh is not installed.

        Examples
        --------
        >>> body = RigidBody.from_mesh("part.stl", density=2700.0)  # doctest: +SKIP
        >>> body.mass, body.moments  # doctest: +SKIP
        """
        solid = solid_properties(*read_solid(path))
        weight = float(_positive(density, "density"))
        return cls(weight * solid.inertia, mass=weight * solid.volume)

    @property
    def moments(self) -> FloatArray:
        """Principal moments, shape (..., 3), in the order of ``axes``."""
        return self._moments

    @property
    def axes(self) -> FloatArray:
        """Rotation matrices with the principal axes as columns, in body axes, shape (..., 3, 3)."""
        if self._axes is None:
            return np.broadcast_to(UNIT_MATRIX, (*self.batch, 3, 3))
        return self._axes

    @cached_property
    def _frame(self) -> Frame | None:
        """Principal axes as a Frame, computed once; None if they are the body axes."""
        return Frame.of(self._axes)

    @property
    def middle_axis(self) -> FloatArray:
        """Principal axis of the middle moment, in body axes, shape (..., 3).

        Raises
        ------
        InertiaError
            If two moments are equal.

        Examples
        --------
        >>> RigidBody((3.0, 2.0, 1.0)).middle_axis
        array([0., 1., 0.])
        """
        order = np.sort(self._moments, axis=-1)
        equal = (order[..., 0] == order[..., 1]) | (order[..., 1] == order[..., 2])
        if equal.any():
            moments = self._moments[equal][0] if self.batch else self._moments
            raise InertiaError(
                f"two of the moments {moments.tolist()} are equal, so that there is no middle axis; "
                "expected three different moments"
            )
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
        """Inertia tensor in body axes, shape (..., 3, 3)."""
        if self._axes is None:
            return self._moments[..., None, :] * UNIT_MATRIX
        return np.einsum("...ij,...j,...kj->...ik", self._axes, self._moments, self._axes)

    @property
    def mass(self) -> FloatArray | None:
        """Mass, or None if it is not known."""
        return self._mass

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of bodies; () for one body."""
        return self._moments.shape[:-1]

    def about(self, point: npt.ArrayLike) -> RigidBody:
        """Return the same body with its inertia about another point.

        Parameters
        ----------
        point : array_like, shape (..., 3)
            Position of the point relative to the mass center, in body axes.

        Returns
        -------
        RigidBody
            The body. Its inertia must be about the mass center before.

        Raises
        ------
        InertiaError
            If the mass is not known.

        Examples
        --------
        >>> RigidBody((1.0, 1.0, 1.0), mass=2.0).about((0, 0, 3)).moments
        array([19., 19.,  1.])
        """
        if self._mass is None:
            raise InertiaError("the body has no mass; about(point) expected one: type RigidBody(inertia, mass=...)")
        d = as_floats(point, "point", 3)
        check_finite(d, "point", InputError)
        common_batch(body=self.batch, point=d.shape[:-1])
        shift = np.sum(d * d, axis=-1)[..., None, None] * np.eye(3) - d[..., :, None] * d[..., None, :]
        return RigidBody(self.tensor + self._mass[..., None, None] * shift, mass=self._mass)

    def select(self, batch: tuple[int, ...], index: Any) -> RigidBody:
        """Return the bodies that ``index`` selects from this body broadcast to the shape ``batch``."""
        axes = None if self._axes is None else np.broadcast_to(self._axes, (*batch, 3, 3))[index]
        mass = None if self._mass is None else np.broadcast_to(self._mass, batch)[index]
        moments = np.broadcast_to(self._moments, (*batch, 3))[index]
        return RigidBody._from_axes(moments, axes, mass=mass, linear=self._linear)

    def momentum(self, omega: npt.ArrayLike) -> FloatArray:
        """Return the angular momentum I omega for angular velocities (..., 3), both in body axes."""
        w = as_floats(omega, "omega", 3)
        check_finite(w, "omega")
        return scale_along(self._axes, self._moments, w, "omega")

    def omega(self, m: npt.ArrayLike) -> FloatArray:
        """Return the angular velocity I^-1 m for angular momenta (..., 3), both in body axes.

        The component along the axis of a linear rotor is 0.
        """
        return velocity_of(self, self.check_momentum(m))

    def kinetic_energy(self, m: npt.ArrayLike) -> FloatArray:
        """Return the kinetic energy m . omega/2, shape (...), for angular momenta (..., 3) in body axes."""
        return 0.5 * np.sum(as_floats(m, "m", 3) * self.omega(m), axis=-1)

    def check_momentum(self, m: npt.ArrayLike, name: str = "m") -> FloatArray:
        """Return angular momenta as an array of shape (..., 3) after validation.

        Raise MomentumError unless they are finite and, for a linear rotor, perpendicular to its axis.
        """
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
        """Raise InertiaError if moments violate the triangle inequality."""
        good = 2 * self._moments.max(axis=-1) <= self._moments.sum(axis=-1) * (1 + 1e-12)
        if not good.all():
            index = first_bad(good)
            raise InertiaError(
                f"{place('inertia', index)} = {show(self._moments[index])}: no mass distribution has one moment larger "
                "than the sum of the other two; omit physical=True to allow it"
            )

    def __repr__(self) -> str:
        """Return moments and mass, or the number of bodies of a batch."""
        if self.batch:
            kind = "linear rotors" if self._linear else "bodies"
            return f"RigidBody(<{'x'.join(map(str, self.batch))} {kind}>)"
        if self._linear:
            text = f"RigidBody.linear({self._moments[1]:.6g}"
        else:
            text = f"RigidBody({show(self._moments)}" + ("" if self.is_principal else " in turned axes")
        return text + (")" if self._mass is None else f", mass={show(self._mass).strip('()')})")

    def _repr_html_(self) -> str:
        """Return the representation for notebooks."""
        if self.batch:
            return html_fields("RigidBody", {"bodies": " x ".join(map(str, self.batch))})
        axes = "body axes" if self.is_principal else "turned from the body axes"
        mass = "" if self._mass is None else f"{float(self._mass):.6g}"
        return html_fields("RigidBody", {"moments": show(self._moments), "principal axes": axes, "mass": mass})


def principal(inertia: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Return principal moments and axes of an inertia array.

    Moments of shape (..., 3) are returned unchanged, with None for the axes. Tensors of shape (..., 3, 3) are
    diagonalized; the columns of the axes, shape (..., 3, 3), are their principal axes.
    """
    if not are_matrices(inertia):
        return inertia, None
    from polhode.kernels.compiler.limits import NOBODY
    from polhode.kernels.exact.principal import principal_axes

    check_finite(inertia, "inertia", InertiaError)
    work = np.array(symmetric(inertia, "inertia", InertiaError, AS_TENSORS), order="C").reshape(-1, 3, 3)
    moments = np.empty(work.shape[:2])
    axes = np.empty(work.shape)
    bad = principal_axes(work, moments, axes)
    if bad != NOBODY:
        index = tuple(int(i) for i in np.unravel_index(bad, inertia.shape[:-2]))
        raise InertiaError(
            f"{place('inertia', index)} is not positive definite: it has the principal moments "
            f"{show(np.linalg.eigvalsh(inertia[index]))}; expected three positive moments "
            "(a linear rotor is polhode.RigidBody.linear(I))"
        )
    return moments.reshape(inertia.shape[:-1]), axes.reshape(inertia.shape)


def scale_along(axes: FloatArray | None, factors: FloatArray, vector: FloatArray, name: str) -> FloatArray:
    """Return A diag(factors) A^T vector, shape (..., 3), where A is ``axes`` or the identity for None."""
    common_batch(**{"inertia": factors.shape[:-1], name: vector.shape[:-1]})
    if axes is None:
        return vector * factors
    return np.einsum("...ij,...j,...kj,...k->...i", axes, factors, axes, vector)


def velocity_of(body: RigidBody, m: FloatArray) -> FloatArray:
    """Return the angular velocities, shape (..., 3), of momenta that are not checked; both are in body axes."""
    return scale_along(body._axes, 1.0 / flow_moments(body), m, "m")


def frame_of(body: RigidBody) -> Frame | None:
    """Return the principal axes of a body; None if they are its body axes."""
    return body._frame


def to_principal(frame: Frame | None, m: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return momentum and attitude in principal axes; None stands for the body axes."""
    if frame is None:
        return m, q
    return np.einsum("...ji,...j->...i", frame.axes, m), multiply(q, frame.q)


def from_principal(frame: Frame | None, m: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return momentum and attitude in body axes; the inverse of ``to_principal``."""
    if frame is None:
        return m, q
    return np.einsum("...ij,...j->...i", frame.axes, m), multiply(q, conjugate(frame.q))


def flow_moments(body: RigidBody) -> FloatArray:
    """Return principal moments for the free flow, shape (..., 3).

    They are those of a sphere for a linear rotor, whose momentum is perpendicular to its axis at all times.
    """
    return body.moments[..., [1, 1, 1]] if body.is_linear else body.moments


def moments_of_one(inertia: Any) -> FloatArray | None:
    """Return the moments of one body as a row of shape (1, 3), or None for anything that is not plain.

    Plain are moments as in ``row_of_one``, and a RigidBody in principal axes with three positive moments.
    """
    if not isinstance(inertia, RigidBody):
        return row_of_one(inertia, 3)
    return None if inertia._linear or inertia._axes is not None else row_of_one(inertia._moments, 3)


def as_body(body: Any) -> RigidBody:
    """Return ``body`` as a RigidBody; it may also be an array of moments or tensors."""
    return body if isinstance(body, RigidBody) else RigidBody(body)


def _positive(value: npt.ArrayLike, name: str) -> FloatArray:
    """Return ``value`` as a float array; raise InputError unless all elements are positive and finite."""
    array = as_floats(value, name)
    if not all_positive(array):
        index = first_bad(np.isfinite(array) & (array > 0))
        raise InputError(f"{place(name, index)} = {array[index]:.6g}; expected a positive finite number")
    return array


def _all_positive(**sizes: Any) -> list[FloatArray]:
    """Return the arguments of one call as float arrays, each like `_positive`."""
    return [_positive(value, name) for name, value in together(**sizes).items()]
