"""Symmetric flows, raised to a higher order by a composition of their steps (data: ``polhode.flows.composition``)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polhode.core.checks import known_name
from polhode.core.errors import InputError
from polhode.flows.composition import COMPOSITIONS, Composition
from polhode.flows.flow import Flow


class Composed(Flow):
    """Composition of steps g_1 h, g_2 h, ... of a symmetric flow, which has a higher order.

    Parameters
    ----------
    flow : Flow
        A symmetric flow, of an order lower than that of the composition.
    composition : Composition or str
        The fractions g_1, g_2, ..., or the name of one of ``polhode.flows.composition.COMPOSITIONS``.

    Raises
    ------
    InputError
        If the flow is not symmetric, its order is not lower, or there is no composition of that name.

    Examples
    --------
    >>> from polhode import Midpoint, State
    >>> Composed(Midpoint(), "Yoshida4").step((1.0, 2.0, 3.0), State(m=(0.3, 0.2, 0.9)), 0.05, steps=1000).m.round(5)
    array([0.03578, 0.62839, 0.73746])
    """

    def __init__(self, flow: Flow, composition: Composition | str) -> None:
        if isinstance(composition, str):
            composition = COMPOSITIONS[known_name("composition", composition, COMPOSITIONS)]
        inner = flow.record
        if not inner.symmetric or inner.order is None or inner.order >= composition.order:
            raise InputError(
                f"composition {composition.name}: expected a symmetric flow of an order below {composition.order}; "
                f"{flow!r} is {'' if inner.symmetric else 'not '}symmetric, of order {inner.order or 'infinity'}"
            )
        self.flow = flow
        self.composition = composition
        self.kernels = flow.kernels
        self.exact_parameters = flow.exact_parameters
        self.fractions = tuple(a * b for a in composition.fractions for b in flow.fractions)
        self.record = replace(
            inner,
            name=f"Composed({flow!r}, {composition.name!r})",
            summary=f"{inner.summary}; composed",
            order=composition.order,
            references=(*inner.references, *composition.references),
            test_step=3 * inner.test_step,
        )

    def __reduce__(self) -> Any:
        """Return the arguments for pickle; the kernels are those of the inner flow."""
        return Composed, (self.flow, self.composition)

    @classmethod
    def variants(cls) -> tuple[Flow, ...]:
        """Return the members of the family that are listed in tables and tested."""
        from polhode.flows.midpoint import Midpoint
        from polhode.flows.moser_veselov import MoserVeselov
        from polhode.flows.three_rotations import ThreeRotations

        return (
            *(cls(ThreeRotations(), name) for name in ("Yoshida4", "Yoshida6A", "SS6_13", "KahanLi8")),
            cls(MoserVeselov(), "Suzuki4"),
            cls(Midpoint(), "KahanLi6"),
        )
