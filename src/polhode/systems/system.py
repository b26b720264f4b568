"""Systems of rigid bodies that translate, rotate and interact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import BoolArray, FloatArray, frozen
from polhode.core.body import RigidBody, as_body, flow_moments, scale_along
from polhode.core.checks import as_floats, whole_number
from polhode.core.errors import InertiaError, InputError, MomentumError, ShapeError
from polhode.core.html import html_fields
from polhode.core.rotation import matrix
from polhode.core.state import State
from polhode.core.units import NO_UNITS, in_numbers, together
from polhode.core.value import Value
from polhode.integration.problem import WITHOUT_SPAN, checked_span
from polhode.systems.interactions.base import Interaction
from polhode.systems.interactions.molecular import Molecular
from polhode.systems.interactions.neighbors import Box, as_box
from polhode.systems.rows import SystemRows
from polhode.systems.start import (
    cubic_lattice,
    maxwell_boltzmann,
    random_attitudes,
    scattered,
    shuffled,
    spread_in_cube,
    thermal_momenta,
)

ONE_OR_ALL = "expected one body for all states, or one for each state"

WITH_UNITS = ("box", "t_span", "h")  # arguments of systems that may be quantities


class System(Value):
    """System of n interacting rigid bodies: bodies, states at ``t_span[0]``, interaction and time span.

    Parameters
    ----------
    bodies : RigidBody or list of RigidBody
        A RigidBody with a mass, which is one body for all states or a batch of shape (n,), or a list of n bodies.
        Linear rotors are allowed.
    states : State or sequence of State
        A State with positions x (n, 3), m, q, and optionally linear momenta p, or a list of n states.
    interaction : Interaction
        One of ``polhode.interactions``, or a sum of them.
    box : array_like or Box, optional
        Lengths (Lx, Ly, Lz) of a periodic box, or one length for all: each body interacts with the nearest image of
        every other body. Positions are not wrapped; use ``system.box.wrapped(x)``. By default space is open.
    t_span : tuple of two floats, optional
        Start and end of the integration. The default is (0, 1).
    h : float, optional
        Suggested step size.
    name : str, optional
        Label for tables and plots.

    Raises
    ------
    InputError
        If `interaction` or `box` is not valid, or the interaction is one of other bodies.
    ShapeError
        If the numbers of bodies and states differ.
    MomentumError
        If a state has no position, or a momentum that does not fit its body.
    InertiaError
        If a body has no mass.

    Notes
    -----
    A system never changes: ``system.replaced(state=..., t_span=...)`` returns a copy with other values of any of the
    attributes `bodies`, `state`, `interaction`, `box`, `t_span`, `h` and `name`, checked again. Systems are equal if
    all of these are.

    Examples
    --------
    >>> from polhode.systems.interactions import DipolarSoftSpheres
    >>> body = RigidBody((1.0, 1.88, 2.88), mass=1.0)
    >>> states = State(m=np.zeros((2, 3)), x=[(0, 0, 0), (0, 0, 1.5)])
    >>> pair = System(body, states, DipolarSoftSpheres((0, 1, 1)))
    >>> pair.count, pair.replaced(t_span=(0, 5)).t_span, pair.replaced(t_span=(0, 1)) == pair
    (2, (0.0, 5.0), True)
    """

    _replaceable: ClassVar = ("bodies", "state", "interaction", "box", "t_span", "h", "name")
    bodies: tuple[RigidBody, ...]
    state: State
    interaction: Interaction
    box: Box
    t_span: tuple[float, float]
    h: float | None
    name: str

    def __init__(
        self,
        bodies: Any,
        states: State | Sequence[State],
        interaction: Interaction,
        box: npt.ArrayLike | Box | None = None,
        *,
        t_span: tuple[float, float] = WITHOUT_SPAN,
        h: float | None = None,
        name: str = "",
    ) -> None:
        """Check the arguments; see the class for their description."""
        self._set(interaction=interaction, state=states, bodies=bodies, box=box, t_span=t_span, h=h, name=name)

    def _set(self, **arguments: Any) -> None:
        """Check and store some of the arguments of the constructor, and check again the parts that depend on them."""
        interaction = arguments.get("interaction", vars(self).get("interaction"))
        given = {name: value for name, value in arguments.items() if name in WITH_UNITS and value is not WITHOUT_SPAN}
        arguments |= together(getattr(interaction, "units", NO_UNITS), **given)
        new_bodies = {name: arguments.pop(name) for name in ("bodies",) if name in arguments}
        self._store(**{name: CHECKS[name](value) if name in CHECKS else value for name, value in arguments.items()})
        if new_bodies or "state" in arguments:
            self._set_bodies(**new_bodies)
        if {"interaction", "box"} & arguments.keys():
            self._store(interaction=self.interaction.in_box(self.box))
        if new_bodies or {"state", "interaction"} & arguments.keys():
            self.interaction.check_bodies(self.mass, self.moments, self.axes, self.linear)

    def _set_bodies(self, **new: Any) -> None:
        """Store new bodies, if any; raise an error if they have no mass, or do not fit the states."""
        present = vars(self).get("bodies", ())
        bodies = new.get("bodies", present[0] if len(present) == 1 else present)
        self._store(bodies=_bodies(bodies, self.count))
        for i, body in enumerate(self.bodies):
            body.check_momentum(self.state.m if len(self.bodies) == 1 else self.state.m[i], "states.m")
            if body.mass is None:
                raise InertiaError("bodies have no mass: type RigidBody(inertia, mass=...)")

    def current(self) -> System:
        """Return this system or, if a value that its interaction reads has changed, one with the changed interaction.

        See ``Interaction.current``.
        """
        newest = self._newest[-1] if self._newest else self
        interaction = newest.interaction.current()
        if interaction is newest.interaction:
            return newest
        self._newest[:] = [newest.replaced(interaction=interaction)]
        return self._newest[-1]

    @cached_property
    def _newest(self) -> list[System]:
        """The system that `current` has returned last, if it is not this one."""
        return []

    @property
    def units(self) -> Mapping[str, str]:
        """Units to which times with units are converted: those of the interaction, or else SI."""
        return self.interaction.units

    @property
    def count(self) -> int:
        """Number of bodies."""
        return len(self.state.m)

    @classmethod
    def lattice(
        cls,
        body: RigidBody,
        side: int,
        spacing: float,
        interaction: Interaction,
        *,
        kT: float = 0.0,
        seed: int = 0,
        scatter: float = 0.0,
        energy: float | None = None,
        **more: Any,
    ) -> System:
        """Return a system of equal bodies on a cubic lattice, with random attitudes and thermal momenta.

        Parameters
        ----------
        body : RigidBody
            The body, with a mass.
        side : int
            Number of bodies along an edge; the system has side**3 bodies.
        spacing : float
            Distance of neighbors.
        interaction : Interaction
            One of ``polhode.interactions``, or a sum of them.
        kT : float, optional
            Temperature in units of energy. The default is 0.
        seed : int, optional
            Seed of the random numbers. The default is 0.
        scatter : float, optional
            Standard deviation of random displacements, for each coordinate, in units of `spacing`. The default is 0.
        energy : float, optional
            Total energy. The first and the last body then have opposite momenta along the diagonal, instead of thermal
            ones, so that the total energy has this value (Celledoni et al. 2008, section 3.4).
        **more
            Further arguments of ``System``.

        Returns
        -------
        System
            The system.

        Raises
        ------
        InputError
            If a number is out of range, or `energy` is less than the energy without these two momenta.

        Notes
        -----
        The lattices of Celledoni et al. 2008, Figures 3.9 and 3.10, are::

            body = RigidBody((1, 1.88, 2.88), mass=1)
            weak = System.lattice(body, 5, 4.0, DipolarSoftSpheres((0, 1, 1)), kT=0.5, seed=1)
            strong = System.lattice(body, 5, 2.0, DipolarSoftSpheres((0, 1, 1)), seed=1)

        They are integrated by ``integrate(weak, (0, 1), method=Splitting(Exact(), "RKN4_6b"), h=1/steps)``. Methods are
        compared at equal ``stats.torques`` by ``abs(traj.energy_error()).max()``; see benchmarks/dipoles.py.

        Examples
        --------
        >>> from polhode.systems.interactions import DipolarSoftSpheres
        >>> gas = System.lattice(RigidBody((1, 2, 3), mass=1), 3, 2.0, DipolarSoftSpheres((0, 0, 1)), kT=0.5, seed=1)
        >>> gas.count, float(abs(gas.state.p.sum(axis=0)).max()) < 1e-14
        (27, True)
        """
        sizes = together(interaction.units, spacing=spacing, kT=kT, energy=energy)
        spacing, kT, energy = sizes.values()
        x = scattered(cubic_lattice(side, spacing), scatter * spacing, seed)
        p, m = maxwell_boltzmann(body, len(x), kT, seed)
        system = cls(body, State(m=m, q=random_attitudes(len(x), seed), x=x, p=p), interaction, **more)
        return system if energy is None else system._at_energy(energy)

    @property
    def energy(self) -> float:
        """Sum of kinetic and potential energy at the start."""
        state = self.state
        omega = scale_along(self.axes, 1.0 / self.moments, self.state.m, "m")
        x, p = np.asarray(state.x), np.asarray(state.p)
        kinetic = 0.5 * float(np.sum(state.m * omega) + np.sum(p * p / self.mass[:, None]))
        return kinetic + self.interaction.energy(self.t_span[0], x, matrix(state.q))

    def _at_energy(self, energy: float) -> System:
        """Return the system with opposite momenta of the first and the last body, so that it has this energy."""
        p = np.array(self.state.p)
        p[0] = p[-1] = 0.0
        still = self.replaced(state=State(self.state.m, self.state.q, x=self.state.x, p=p))
        missing = float(as_floats(energy, "energy")) - still.energy
        if not 0 <= missing < np.inf:
            raise InputError(
                f"energy = {energy!r}; the bodies have {still.energy:.6g} with the first and the last of them at rest: "
                "expected a finite number that is not smaller; increase energy or spacing"
            )
        reduced_mass = 1.0 / (1.0 / self.mass[0] + 1.0 / self.mass[-1])
        p[0] = np.sqrt(2.0 * missing * reduced_mass / 3.0)
        p[-1] = -p[0]
        return self.replaced(state=State(self.state.m, self.state.q, x=self.state.x, p=p))

    @classmethod
    def liquid(
        cls,
        molecules: Molecular,
        count: int | None = None,
        *,
        kT: float,
        density: float | None = None,
        seed: int = 0,
        **more: Any,
    ) -> System:
        """Return a system of molecules on a lattice in a periodic cubic box, with random attitudes and thermal momenta.

        The lattice melts after the start, and the temperature changes meanwhile.

        Parameters
        ----------
        molecules : Molecular
            Model of a molecule, with a body, or a mixture of them, whose species are distributed at random.
        count : int, optional
            Number of molecules. Omit it for a mixture, which has numbers of its own.
        kT : float
            Temperature in units of energy.
        density : float, optional
            Number of molecules per unit of volume. The default is that of the model.
        seed : int, optional
            Seed of the random numbers. The default is 0.
        **more
            Further arguments of ``System``.

        Returns
        -------
        System
            The system.

        Raises
        ------
        InputError
            If the model has no body, or a number is out of range.

        Examples
        --------
        >>> from polhode.systems.interactions import BOLTZMANN, water
        >>> liquid = System.liquid(water("SPC/E"), 216, kT=298.15 * BOLTZMANN, seed=1)
        >>> liquid.count, liquid.box
        (216, box (1.86445, 1.86445, 1.86445))
        >>> argon = Molecular.from_atoms([39.948], [(0, 0, 0)], sigma=0.34, epsilon=0.996, name="Ar")
        >>> mixture = Molecular.mixture([water("SPC/E"), argon], [200, 16], cutoff=0.9)
        >>> System.liquid(mixture, kT=298.15 * BOLTZMANN, density=33.0, seed=1).interaction
        mixture(200 SPC/E, 16 Ar, cutoff=0.9, reaction field)
        """
        bodies = molecules.bodies
        if bodies is None:
            raise InputError(f"{molecules!r} has no body; type Molecular.from_atoms(masses, positions, ...) or water()")
        n = _molecule_count(molecules, count)
        per_volume = molecules.number_density if density is None else density
        if per_volume is None or not 0 < per_volume < np.inf:
            raise InputError(f"density = {per_volume!r}: expected the number of molecules per unit of volume")
        length = (n / per_volume) ** (1 / 3)
        x = spread_in_cube(n, length)
        if molecules.species is not None:
            x = shuffled(x, seed)
        q = random_attitudes(n, seed)
        still = cls(bodies, State(np.zeros((n, 3)), q, x=x), molecules, length, **more)
        kT = in_numbers(kT, "kT", molecules.units)
        p, m = thermal_momenta(still.mass, still.moments, still.axes, still.linear, kT, seed)
        m[molecules.atoms(n)] = 0.0
        return still.replaced(state=State(m, q, x=x, p=p))

    def at_temperature(self, kT: float) -> System:
        """Return the system with momenta scaled so that translation and rotation have temperature kT.

        Parameters
        ----------
        kT : float
            Temperature in units of energy, positive.

        Returns
        -------
        System
            The same bodies at the same positions.

        Raises
        ------
        InputError
            If `kT` or one of the kinetic energies is not positive.

        Examples
        --------
        >>> from polhode.systems.interactions import DipolarSoftSpheres
        >>> gas = System.lattice(RigidBody((1, 2, 3), mass=1), 3, 2.0, DipolarSoftSpheres((0, 0, 1)), kT=0.5, seed=1)
        >>> float((gas.at_temperature(2.0).state.p ** 2).sum() / (3 * gas.count)).__round__(12)
        2.0
        """
        state = self.state
        kT = in_numbers(kT, "kT", self.units)
        p = np.asarray(state.p)
        omega = scale_along(self.axes, 1.0 / self.moments, state.m, "m")
        twice = float((p * p / self.mass[:, None]).sum()), float((state.m * omega).sum())
        if not (min(twice[0], kT) > 0 and (twice[1] > 0 or self.degrees_of_freedom[1] == 0)):
            raise InputError(f"kT = {kT!r}, and twice the kinetic energies are {twice}: expected positive numbers")
        u, v = (
            np.sqrt(kT * count / part) if count else 1.0
            for count, part in zip(self.degrees_of_freedom, twice, strict=True)
        )
        return self.replaced(state=State(v * state.m, state.q, x=state.x, p=u * p))

    @cached_property
    def degrees_of_freedom(self) -> tuple[int, int]:
        """Numbers of degrees of freedom of the translation and of the rotation.

        A body has three of rotation, a linear rotor two, and an atom none if it is at rest: then it never rotates. An
        atom is the body of a model with a single atom (``Molecular.from_atoms``). All of them are counted, also if the
        total momentum is conserved.
        """
        still = self.interaction.atoms(self.count) & ~self.state.m.any(axis=-1)
        return 3 * self.count, 3 * self.count - int(self.linear.sum()) - 3 * int(still.sum())

    @cached_property
    def mass(self) -> FloatArray:
        """Masses of the bodies, of shape (n,)."""
        return self._each(lambda body: body.mass, ())

    @cached_property
    def moments(self) -> FloatArray:
        """Principal moments of shape (n, 3) as flows use them.

        A linear rotor moves like a sphere whose m is perpendicular to the axis of the rotor.
        """
        return self._each(flow_moments, (3,))

    @cached_property
    def axes(self) -> FloatArray | None:
        """Principal axes of shape (n, 3, 3), columns in body axes; None if they are the body axes of all bodies."""
        if all(body.is_principal for body in self.bodies):
            return None
        return self._each(lambda body: body.axes, (3, 3))

    @cached_property
    def linear(self) -> BoolArray:
        """Whether each body is a linear rotor, of shape (n,)."""
        return self._each(lambda body: np.array(body.is_linear), ())

    def _each(self, value_of: Any, shape: tuple[int, ...]) -> Any:
        """Return ``value_of(body)`` for all bodies, as a read-only array of shape (n,) + shape."""
        different = {id(b): b for b in self.bodies}  # equal molecules share their body
        rows = {k: np.broadcast_to(value_of(b), (*b.batch, *shape)).reshape(-1, *shape) for k, b in different.items()}
        values = np.concatenate([rows[id(b)] for b in self.bodies])
        return frozen(np.broadcast_to(values, (self.count, *shape)))

    @cached_property
    def rows(self) -> SystemRows:
        """The system as runs take it, arranged once for all runs."""
        return SystemRows(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the data of the system, without what runs derive from them."""
        return {name: value for name, value in vars(self).items() if name not in ("rows", "_newest")}

    def __repr__(self) -> str:
        """Return a one-line description: name, number of bodies, interaction, box and time span."""
        label = f"{self.name}: " if self.name else ""
        where = f"{self.box}, " if self.box.repeats else ""
        span = f"t from {self.t_span[0]:g} to {self.t_span[1]:g}"
        return f"System({label}{self.count} bodies, {self.interaction!r}, {where}{span})"

    def _repr_html_(self) -> str:
        """Return a description as an HTML table, for notebooks."""
        return html_fields(
            f"System {self.name}".rstrip(),
            {
                "bodies": self.count,
                "interaction": self.interaction,
                "box": self.box if self.box.repeats else "",
                "time": f"{self.t_span[0]:g} to {self.t_span[1]:g}",
            },
        )


def _as_interaction(value: Any) -> Interaction:
    """Return the interaction; raise an InputError if it is none."""
    if not isinstance(value, Interaction):
        raise InputError(
            f"interaction is {value!r}; expected one of polhode.interactions, such as DipolarSoftSpheres((0, 1, 1)), "
            "PairPotential(energy) or Field(forces)"
        )
    return value


def _bodies(bodies: Any, count: int) -> tuple[RigidBody, ...]:
    """Return a tuple of one body, of batch () or (count,), or of `count` bodies; raise unless the numbers fit."""
    if isinstance(bodies, RigidBody) or not _are_bodies(bodies):
        body = as_body(bodies)
        if body.batch not in ((), (count,)):
            raise ShapeError(f"bodies have the batch {body.batch}, and states the batch ({count},); {ONE_OR_ALL}")
        return (body,)
    if len(bodies) != count or any(body.batch for body in bodies):
        raise ShapeError(f"got {len(bodies)} bodies and {count} states; {ONE_OR_ALL}")
    return tuple(bodies)


def _molecule_count(molecules: Molecular, count: int | None) -> int:
    """Return the number of molecules of a liquid, which is `count` unless `molecules` is a mixture."""
    if molecules.species is None:
        return whole_number(count, "count", 1)
    if count is not None:
        raise InputError(f"count = {count!r}, and {molecules!r} has numbers of molecules of its own; omit count")
    return len(molecules.species)


def _are_bodies(bodies: Any) -> bool:
    """Return whether `bodies` is a sequence with a RigidBody in it."""
    return isinstance(bodies, Sequence) and any(isinstance(body, RigidBody) for body in bodies)


def _joined_states(states: State | Sequence[State]) -> State:
    """Return a batch (n,) of states with positions and linear momenta, all arrays having n rows."""
    if not isinstance(states, State):
        if not (isinstance(states, Sequence) and states and all(isinstance(s, State) for s in states)):
            raise InputError(f"states is {states!r}; expected State(m=..., q=..., x=..., p=...) with rows, or a list")
        states = State(*(np.stack([getattr(s, k) for s in states]) for k in "mq"), **_positions(states))
    if len(states.batch) != 1:
        raise ShapeError(f"states have the batch {states.batch}; expected (n,), one state for each body")
    if states.x is None:
        raise MomentumError("states have no positions x; type State(m=..., q=..., x=..., p=...)")
    p = np.zeros(3) if states.p is None else states.p
    rows = [np.array(np.broadcast_to(v, (*states.batch, v.shape[-1]))) for v in (states.m, states.q, states.x, p)]
    return State(rows[0], rows[1], x=rows[2], p=rows[3])


def _positions(states: Sequence[State]) -> dict[str, Any]:
    """Return positions x and linear momenta p of a sequence of states, as arguments of ``State``."""
    if any(s.x is None for s in states):
        raise MomentumError("a state has no position x; type State(m=..., q=..., x=..., p=...)")
    return {
        "x": np.stack([np.asarray(s.x) for s in states]),
        "p": np.stack([np.zeros(3) if s.p is None else s.p for s in states]),
    }


CHECKS: dict[str, Callable[[Any], Any]] = {
    "interaction": _as_interaction, "state": _joined_states, "box": as_box, "t_span": checked_span,
}  # fmt: skip
