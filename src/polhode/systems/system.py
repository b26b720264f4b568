"""A system: many bodies that move, turn, and act on each other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.body import RigidBody, as_body, flow_moments, scale_along
from polhode.core.checks import as_floats, whole_number
from polhode.core.errors import InertiaError, InputError, MomentumError, ShapeError
from polhode.core.html import html_fields
from polhode.core.rotation import matrix
from polhode.core.state import State
from polhode.integration.problem import checked_span
from polhode.systems.interactions.base import Interaction
from polhode.systems.interactions.molecular import Molecular
from polhode.systems.interactions.neighbors import Box
from polhode.systems.start import cubic_lattice, maxwell_boltzmann, random_attitudes, scattered, spread_in_cube

ONE_OR_ALL = "give one body for all, or one for each state"


class System:
    """N bodies with their states at ``t_span[0]``, to be followed to ``t_span[1]`` under an interaction.

    Parameters
    ----------
    bodies : RigidBody or list of RigidBody
        A RigidBody with a mass, for all or as a batch (n,), or a list of n of them, linear rotors among them.
    states : State or sequence of State
        A State with x (n, 3), m, q, and p if they move, or a list of n of them.
    interaction : Interaction
        See ``polhode.interactions``; interactions add up.
    box : array_like or Box, optional
        Lengths (Lx, Ly, Lz), or one for all, of a box that repeats itself: every body meets the nearest image of every
        other one. Places are not wrapped; ``system.box.wrapped(x)`` does. None: open space.
    h : float, optional
        A step that suits the system.

    Examples
    --------
    >>> from polhode.systems.interactions import DipolarSoftSpheres
    >>> body = RigidBody((1.0, 1.88, 2.88), mass=1.0)
    >>> states = State(m=np.zeros((2, 3)), x=[(0, 0, 0), (0, 0, 1.5)])
    >>> System(body, states, DipolarSoftSpheres((0, 1, 1))).count
    2
    """

    def __init__(
        self,
        bodies: Any,
        states: State | Sequence[State],
        interaction: Interaction,
        box: npt.ArrayLike | Box | None = None,
        *,
        t_span: tuple[float, float] = (0.0, 1.0),
        h: float | None = None,
        name: str = "",
    ) -> None:
        if not isinstance(interaction, Interaction):
            raise InputError(
                f"interaction is {interaction!r}; expected one of polhode.interactions, such as "
                "DipolarSoftSpheres((0, 1, 1)), PairPotential(energy) or Field(forces)"
            )
        self.state = _joined_states(states)
        self.count = len(self.state.m)
        self.bodies = _bodies(bodies, self.count)
        self.box = box if isinstance(box, Box) else Box(box)
        self.interaction = interaction.in_box(self.box)
        self.t_span, self.h, self.name = checked_span(t_span), h, name
        for i, body in enumerate(self.bodies):
            body.check_momentum(self.state.m if len(self.bodies) == 1 else self.state.m[i], "states.m")
            if body.mass is None:
                raise InertiaError("bodies have no mass: type RigidBody(inertia, mass=...)")

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
        """Return side^3 equal bodies on a cubic lattice, with random attitudes and velocities of temperature kT.

        Places are moved at random by ``scatter``, the standard deviation of each coordinate in units of the spacing.
        With ``energy``, the first and the last body get opposite momenta along the diagonal, instead of their own, so
        that kinetic and potential energy together have that value (Celledoni et al. 2008, section 3.4).

        The lattices of Celledoni et al. 2008, Figures 3.9 and 3.10, are::

            body = RigidBody((1, 1.88, 2.88), mass=1)
            weak = System.lattice(body, 5, 4.0, DipolarSoftSpheres((0, 1, 1)), kT=0.5, seed=1)
            strong = System.lattice(body, 5, 2.0, DipolarSoftSpheres((0, 1, 1)), seed=1)

        to be run by ``integrate(weak, (0, 1), method=Splitting(Exact(), "RKN4_6b"), h=1/steps)``, and compared at equal
        ``stats.torques`` by ``abs(traj.energy_error()).max()``; see benchmarks/dipoles.py.

        >>> from polhode.systems.interactions import DipolarSoftSpheres
        >>> gas = System.lattice(RigidBody((1, 2, 3), mass=1), 3, 2.0, DipolarSoftSpheres((0, 0, 1)), kT=0.5, seed=1)
        >>> gas.count, float(abs(gas.state.p.sum(axis=0)).max()) < 1e-14
        (27, True)
        """
        x = scattered(cubic_lattice(side, spacing), scatter * spacing, seed)
        p, m = maxwell_boltzmann(body, len(x), kT, seed)
        system = cls(body, State(m=m, q=random_attitudes(len(x), seed), x=x, p=p), interaction, **more)
        return system if energy is None else system._at_energy(energy)

    @property
    def energy(self) -> float:
        """Kinetic and potential energy together, at the start."""
        state, omega = self.state, scale_along(self.axes, 1.0 / self.moments, self.state.m, "m")
        x, p = np.asarray(state.x), np.asarray(state.p)
        kinetic = 0.5 * float(np.sum(state.m * omega) + np.sum(p * p / self.mass[:, None]))
        return kinetic + self.interaction.energy(self.t_span[0], x, matrix(state.q))

    def _at_energy(self, energy: float) -> System:
        """The same bodies, the first and the last of them with opposite momenta that make up for the energy."""
        p = np.array(self.state.p)
        p[0] = p[-1] = 0.0
        still = self.replaced(State(self.state.m, self.state.q, x=self.state.x, p=p))
        missing = float(as_floats(energy, "energy")) - still.energy
        if not 0 <= missing < np.inf:
            raise InputError(
                f"energy = {energy!r}; the bodies have {still.energy:.6g} with the first and the last of them at rest: "
                "expected a finite number that is not smaller; or give a wider spacing"
            )
        reduced_mass = 1.0 / (1.0 / self.mass[0] + 1.0 / self.mass[-1])
        p[0] = np.sqrt(2.0 * missing * reduced_mass / 3.0)
        p[-1] = -p[0]
        return self.replaced(State(self.state.m, self.state.q, x=self.state.x, p=p))

    @classmethod
    def liquid(
        cls,
        molecules: Molecular,
        count: int,
        *,
        kT: float,
        density: float | None = None,
        seed: int = 0,
        **more: Any,
    ) -> System:
        """``count`` molecules of a model in a cubic box, on a lattice, with random attitudes, at temperature kT.

        ``density`` is their number in a unit of volume; that of the model, unless told otherwise. What begins on a
        lattice has to melt: its temperature changes for a while.

        >>> from polhode.systems.interactions import BOLTZMANN, water
        >>> liquid = System.liquid(water("SPC/E"), 216, kT=298.15 * BOLTZMANN, seed=1)
        >>> liquid.count, liquid.box
        (216, box (1.86445, 1.86445, 1.86445))
        """
        if molecules.body is None:
            raise InputError(f"{molecules!r} has no body; type Molecular.from_atoms(masses, positions, ...) or water()")
        per_volume = molecules.number_density if density is None else density
        if per_volume is None or not 0 < per_volume < np.inf:
            raise InputError(f"density = {per_volume!r}: expected the number of molecules in a unit of volume")
        length = (whole_number(count, "count", 1) / per_volume) ** (1 / 3)
        x = spread_in_cube(count, length)
        p, m = maxwell_boltzmann(molecules.body, count, kT, seed)
        state = State(m=m, q=random_attitudes(count, seed), x=x, p=p)
        return cls(molecules.body, state, molecules, length, **more)

    def replaced(self, state: State) -> System:
        """The same bodies in another state: that of the end of a run, for instance."""
        bodies = self.bodies[0] if len(self.bodies) == 1 else self.bodies
        return System(bodies, state, self.interaction, self.box, t_span=self.t_span, h=self.h, name=self.name)

    def at_temperature(self, kT: float) -> System:
        """The same bodies at the same places, momenta scaled so that both temperatures are kT.

        >>> from polhode.systems.interactions import DipolarSoftSpheres
        >>> gas = System.lattice(RigidBody((1, 2, 3), mass=1), 3, 2.0, DipolarSoftSpheres((0, 0, 1)), kT=0.5, seed=1)
        >>> float((gas.at_temperature(2.0).state.p ** 2).sum() / (3 * gas.count)).__round__(12)
        2.0
        """
        state, moving, turning = self.state, 3 * self.count, 3 * self.count - int(self.linear.sum())
        p, omega = np.asarray(state.p), scale_along(self.axes, 1.0 / self.moments, state.m, "m")
        twice = float((p * p / self.mass[:, None]).sum()), float((state.m * omega).sum())
        if not min(*twice, kT) > 0:
            raise InputError(f"kT = {kT!r}, and twice the kinetic energies are {twice}: expected positive numbers")
        u, v = (np.sqrt(kT * count / energy) for count, energy in zip((moving, turning), twice, strict=True))
        return self.replaced(State(v * state.m, state.q, x=state.x, p=u * p))

    @cached_property
    def mass(self) -> FloatArray:
        """(n,)"""
        return self._each(lambda body: body.mass, ())

    @cached_property
    def moments(self) -> FloatArray:
        """Principal moments (n, 3) as flows use them: a linear rotor turns like a sphere whose m stays across it."""
        return self._each(flow_moments, (3,))

    @cached_property
    def axes(self) -> FloatArray | None:
        """Principal axes (n, 3, 3), columns in body axes; None if those of all bodies are the body axes."""
        if all(body.is_principal for body in self.bodies):
            return None
        return self._each(lambda body: body.axes, (3, 3))

    @cached_property
    def linear(self) -> npt.NDArray[np.bool_]:
        """Which bodies are linear rotors, (n,)."""
        return np.array(self._each(lambda body: np.array(body.is_linear), ()), dtype=np.bool_)

    def _each(self, what: Any, shape: tuple[int, ...]) -> Any:
        """Something of every body, (n,) + shape."""
        values = np.concatenate([np.broadcast_to(what(b), (*b.batch, *shape)).reshape(-1, *shape) for b in self.bodies])
        return np.ascontiguousarray(np.broadcast_to(values, (self.count, *shape)))

    def __repr__(self) -> str:
        label = f"{self.name}: " if self.name else ""
        where = f"{self.box}, " if self.box.repeats else ""
        span = f"t from {self.t_span[0]:g} to {self.t_span[1]:g}"
        return f"System({label}{self.count} bodies, {self.interaction!r}, {where}{span})"

    def _repr_html_(self) -> str:
        return html_fields(
            f"System {self.name}".rstrip(),
            {
                "bodies": self.count,
                "interaction": self.interaction,
                "box": self.box if self.box.repeats else "",
                "time": f"{self.t_span[0]:g} to {self.t_span[1]:g}",
            },
        )


def _bodies(bodies: Any, count: int) -> tuple[RigidBody, ...]:
    """One for all (batch () or (n,)), or n of them."""
    if isinstance(bodies, RigidBody) or not _are_bodies(bodies):
        body = as_body(bodies)
        if body.batch not in ((), (count,)):
            raise ShapeError(f"bodies are {body.batch}, states ({count},): {ONE_OR_ALL}")
        return (body,)
    if len(bodies) != count or any(body.batch for body in bodies):
        raise ShapeError(f"{len(bodies)} bodies came with {count} states: {ONE_OR_ALL}")
    return tuple(bodies)


def _are_bodies(bodies: Any) -> bool:
    return isinstance(bodies, Sequence) and any(isinstance(body, RigidBody) for body in bodies)


def _joined_states(states: State | Sequence[State]) -> State:
    """A batch (n,) of states with places and momenta, all of the same shape."""
    if not isinstance(states, State):
        if not (isinstance(states, Sequence) and states and all(isinstance(s, State) for s in states)):
            raise InputError(f"states is {states!r}; expected State(m=..., q=..., x=..., p=...) with rows, or a list")
        states = State(*(np.stack([getattr(s, k) for s in states]) for k in "mq"), **_places(states))
    if len(states.batch) != 1:
        raise ShapeError(f"states have the batch {states.batch}; expected (n,), one state for each body")
    if states.x is None:
        raise MomentumError("states have no places: type State(m=..., q=..., x=..., p=...)")
    p = np.zeros(3) if states.p is None else states.p
    rows = [np.array(np.broadcast_to(v, (*states.batch, v.shape[-1]))) for v in (states.m, states.q, states.x, p)]
    return State(rows[0], rows[1], x=rows[2], p=rows[3])


def _places(states: Sequence[State]) -> dict[str, Any]:
    if any(s.x is None for s in states):
        raise MomentumError("a state has no place: type State(m=..., q=..., x=..., p=...)")
    return {
        "x": np.stack([np.asarray(s.x) for s in states]),
        "p": np.stack([np.zeros(3) if s.p is None else s.p for s in states]),
    }
