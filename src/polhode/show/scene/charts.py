"""Charts below a scene: energy and momentum as functions of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.rotation import conjugate, multiply
from polhode.core.vectors import length
from polhode.show.labels import BLUE, COMPONENT_COLORS, GRAY, GREEN, ORANGE, PURPLE, SKY, VERMILION, with_unit
from polhode.show.scene.frames import Track
from polhode.systems.invariants import energy_of
from polhode.systems.trajectory import SystemTrajectory

# Palette of Okabe and Ito, without blue (m) and vermilion (omega).
BODY_COLORS = (ORANGE, SKY, GREEN, PURPLE, "#F0E442", GRAY)
TRACK_COLORS = (ORANGE, SKY, GREEN, PURPLE, BLUE, GRAY)  # without yellow, which is not visible on white
DASHES = ("solid", "dot", "dash", "longdash", "dashdot", "longdashdot")
BODY, SPACE = "₁₂₃", "xyz"
LEVEL = 1e-9  # smaller relative changes are drawn as a constant


@dataclass(frozen=True)
class Curve:
    """Curve of a chart; ``y`` has shape (k,), with one number for each frame."""

    name: str
    color: str
    y: FloatArray
    dash: str = "solid"


@dataclass(frozen=True)
class Chart:
    """Curves that share an axis.

    ``own_legend`` (texts, colors, dashes) replaces the legend of the curve names. ``size`` is that of the terms whose
    sums the curves are; rounding errors of such terms do not fill the axis.
    """

    title: str
    curves: Sequence[Curve]
    own_legend: Sequence[tuple[str, str, str]] = ()
    size: float = 0.0

    @property
    def legend(self) -> Sequence[tuple[str, str, str]]:
        """Entries of the legend: text, color and dash."""
        return self.own_legend or [(curve.name, curve.color, curve.dash) for curve in self.curves]

    @property
    def range(self) -> tuple[float, float]:
        """Range of the axis: all curves with a margin; a range of rounding errors is extended to zero."""
        values = np.concatenate([curve.y for curve in self.curves])
        low, high = float(np.min(values)), float(np.max(values))
        if high - low <= LEVEL * max(abs(low), abs(high)):
            low, high = min(low, 0.0), max(high, 0.0)
        low, high = min(low, high - LEVEL * self.size), max(high, low + LEVEL * self.size)
        margin = 0.06 * (high - low) or 1.0
        return low - margin, high + margin


def unit_of(tracks: Sequence[Track], name: str) -> str:
    """Return the unit of a quantity from the first problem that has one, or an empty string."""
    return next((track.problem.units[name] for track in tracks if name in track.problem.units), "")


def track_charts(tracks: Sequence[Track]) -> list[Chart]:
    """Return the charts of one body, or of several bodies side by side."""
    if len(tracks) > 1:
        return [*_energies(tracks), _momentum("Momentum, body axes", BODY, tracks, "m"), _angles(tracks)]
    return [
        Chart(with_unit("Energy", unit_of(tracks, "energy")), _energy(tracks[0])),
        _momentum("Momentum, body axes", BODY, tracks, "m"),
        _momentum("Momentum, space axes", SPACE, tracks, "m_space"),
    ]


def spread_charts(tracks: Sequence[Track]) -> list[Chart]:
    """Return the charts of many bodies: quantiles of their angles from the first body, and of their rates."""
    angles = np.degrees([_angle(tracks[0], track) for track in tracks[1:]])
    rates = np.array([length(track.omega) for track in tracks])
    return [
        Chart(with_unit("Angle from the first body", "degrees"), _quantiles(angles)),
        Chart(with_unit("Rate of rotation |ω|", unit_of(tracks, "omega")), _quantiles(rates)),
    ]


def _quantiles(values: FloatArray) -> list[Curve]:
    """Return curves of the quantiles over bodies; `values` has shape (n, k)."""
    names = {"10 %": (0.1, "dot"), "median": (0.5, "solid"), "90 %": (0.9, "dash")}
    return [Curve(name, BLUE, np.quantile(values, part, axis=0), dash) for name, (part, dash) in names.items()]


def _energy(track: Track) -> list[Curve]:
    """Return the curves of the kinetic and, if there is one, the potential and total energy."""
    kinetic = Curve("kinetic", VERMILION, track.kinetic)
    if track.energy is None or track.problem.force.is_zero:
        return [kinetic]
    potential = Curve("potential", BLUE, track.energy - track.kinetic)
    return [kinetic, potential, Curve("total", "black", track.energy)]


def _energies(tracks: Sequence[Track]) -> list[Chart]:
    """Return a chart of the relative changes of energy, in which methods differ; empty if an energy starts at zero."""
    energies = [track.kinetic if track.energy is None else track.energy for track in tracks]
    if any(energy[0] == 0 for energy in energies):
        return []
    curves = [
        Curve(track.label, TRACK_COLORS[i], energy / energy[0] - 1.0, DASHES[i])
        for i, (track, energy) in enumerate(zip(tracks, energies, strict=True))
    ]
    kind = "Kinetic energy" if any(track.energy is None for track in tracks) else "Energy"
    return [Chart(f"{kind}, relative change", curves)]


def _momentum(title: str, names: str, tracks: Sequence[Track], which: str) -> Chart:
    """Return a chart of the components of the momentum, in body axes if `which` is "m", else in space axes."""
    curves = []
    for i, track in enumerate(tracks):
        m = getattr(track, which)
        for k, name in enumerate(names):
            label = f"m{name}" if len(tracks) == 1 else f"m{name} {track.label}"
            curves.append(Curve(label, COMPONENT_COLORS[k], m[:, k], DASHES[i]))
        if len(tracks) == 1:
            curves.append(Curve("|m|", "black", length(m), "dot"))
    legend = [(f"m{name}", color, "solid") for name, color in zip(names, COMPONENT_COLORS, strict=True)]
    legend += [(track.label, "black", DASHES[i]) for i, track in enumerate(tracks)]
    return Chart(with_unit(title, unit_of(tracks, "m")), curves, legend if len(tracks) > 1 else ())


def _angles(tracks: Sequence[Track]) -> Chart:
    """Return a chart of the angles between the attitude of the first body and those of the others."""
    first = tracks[0]
    curves = []
    for i, track in enumerate(tracks[1:], 1):
        curves.append(Curve(track.label, TRACK_COLORS[i], np.degrees(_angle(first, track)), DASHES[i]))
    return Chart(with_unit(f"Angle from {first.label}", "degrees"), curves)


def _angle(first: Track, other: Track) -> FloatArray:
    """Return the angle between the attitudes of two bodies at each frame, in radians, shape (k,)."""
    turn = multiply(conjugate(first.q), other.q)
    angle: FloatArray = 2.0 * np.arctan2(length(turn[:, 1:]), np.abs(turn[:, 0]))
    return angle


def system_charts(traj: SystemTrajectory, rows: slice) -> list[Chart]:
    """Return the charts of a system: total energy, total momenta, and temperatures."""
    energy = [Curve("kinetic", VERMILION, traj.kinetic[rows])]
    total = energy_of(traj)
    if total is not None:
        energy += [Curve("potential", BLUE, traj.potential[rows]), Curve("total", "black", total[rows])]
    temperature = [
        Curve("of translation", BLUE, traj.temperature_translation[rows]),
        Curve("of rotation", VERMILION, traj.temperature_rotation[rows]),
    ]
    return [Chart("Energy", energy), _total_momenta(traj, rows), Chart("Temperature", temperature)]


def _total_momenta(traj: SystemTrajectory, rows: slice) -> Chart:
    """Return a chart of the total momentum and, in open space, where it is conserved, of the angular momentum."""
    momenta, title = [("P", traj.momentum, "dot")], "Total momentum P"
    if not traj.system.box.repeats:
        momenta.append(("L", traj.angular_momentum, "solid"))
        title += ", angular momentum L"
    curves = [
        Curve(f"{letter}{name}", color, values[rows, k], dash)
        for letter, values, dash in momenta
        for k, (name, color) in enumerate(zip(SPACE, COMPONENT_COLORS, strict=True))
    ]
    return Chart(title, curves, size=float(length(traj.p).sum(axis=-1).max()))
