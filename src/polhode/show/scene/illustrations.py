"""Illustrations of bodies: solids in any axes, whose inertia is that of their meshes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from polhode.problems.dzhanibekov import BAR, RADIUS, STEM
from polhode.show.scene.mesh import Mesh, cuboid, joined, lathe, ring, rod, sphere


def t_handle() -> Mesh:
    """Return the two rods of ``problems.dzhanibekov``."""
    stem = rod(np.zeros(3), np.array([STEM, 0.0, 0.0]), RADIUS)
    bar = rod(np.array([0.0, -0.5 * BAR, 0.0]), np.array([0.0, 0.5 * BAR, 0.0]), RADIUS)
    return joined([bar, replace(stem, shades=0.5 + 0.5 * stem.shades)])


def book() -> Mesh:
    """Return a book: white pages between two covers and a spine."""
    pages = cuboid((1.92, 1.32, 0.26), (-0.02, 0.0, 0.0)).painted("white", 0.0)
    cover = cuboid((2.0, 1.4, 0.04))
    covers = [cover.painted("body", shade).moved((0.0, 0.0, z)) for z, shade in ((0.15, 0.0), (-0.15, 0.35))]
    spine = cuboid((0.04, 1.4, 0.34), (0.98, 0.0, 0.0)).painted("body", 0.15)
    title = cuboid((1.0, 0.7, 0.006), (0.0, 0.0, 0.173)).painted("white", 0.0)
    return joined([pages, *covers, spine, title])


def phone() -> Mesh:
    """Return a telephone with a screen and a camera."""
    case = cuboid((0.75, 1.6, 0.09)).painted("dark", 0.0)
    screen = cuboid((0.70, 1.50, 0.01), (0.0, 0.0, 0.046)).painted("blue", 0.55)
    back = cuboid((0.75, 1.6, 0.01), (0.0, 0.0, -0.046)).painted("body", 0.1)
    camera = cuboid((0.25, 0.25, 0.04), (0.2, 0.6, -0.06)).painted("dark", 0.3)
    return joined([case, screen, back, camera])


def racket() -> Mesh:
    """Return a tennis racket: a frame with strings, a throat and a handle."""
    strings = []
    for k in np.linspace(-0.8, 0.8, 9):
        across, along = 0.84 * np.sqrt(1 - k * k), 1.1 * np.sqrt(1 - k * k)
        strings += [
            cuboid((across, 0.012, 0.012), (0.0, 0.55 * k, 0.0)),
            cuboid((0.012, along, 0.012), (0.42 * k, 0.0, 0.0)),
        ]
    throat = [rod(np.array([x, -0.5, 0.0]), np.array([0.25 * x, -0.95, 0.0]), 0.03, 8) for x in (-0.18, 0.18)]
    handle = rod(np.array([0.0, -0.9, 0.0]), np.array([0.0, -1.65, 0.0]), 0.055, 12)
    frame = ring(0.035).stretched((0.42, 0.55, 1.0))
    paint = [part.painted("white", 0.0) for part in strings] + [part.painted("body", 0.15) for part in throat]
    return joined([frame, *paint, handle.painted("dark", 0.15)])


def wing_nut() -> Mesh:
    """Return a wing nut: a threaded hub with two wings."""
    hub = lathe([0.0, 0.30, 0.34, 0.28, 0.22, 0.0], [-0.25, -0.25, -0.15, 0.25, 0.3, 0.3]).painted("metal", 0.3)
    bolt = lathe([0.0, 0.12, 0.12, 0.0], [-0.26, -0.26, 0.32, 0.32]).painted("dark", 0.1)
    wing = sphere(10).stretched((0.42, 0.09, 0.30)).painted("body", 0.2)
    return joined([hub, bolt, wing.moved((0.62, 0.0, 0.22)), wing.moved((-0.62, 0.0, 0.22))])


def rocket_body() -> Mesh:
    """Return the upper stage of a rocket: a tank with stripes, a rounded end and a nozzle."""
    tank = lathe([0.0, 0.24, 0.30, 0.30, 0.30, 0.30, 0.0], [1.3, 1.22, 1.05, 0.6, -0.3, -0.9, -0.9])
    band = lathe([0.0, 0.304, 0.304, 0.0], [0.72, 0.72, 0.62, 0.62]).painted("red", 0.1)
    nozzle = lathe([0.0, 0.08, 0.10, 0.24, 0.0], [-0.9, -0.9, -1.0, -1.35, -1.3]).painted("dark", 0.2)
    return joined([tank.painted("white", 0.0), band, nozzle])


def cubesat() -> Mesh:
    """Return a CubeSat of three units with two solar panels and an antenna."""
    case = cuboid((0.5, 0.5, 1.5)).painted("gold", 0.3)
    frames = [cuboid((0.53, 0.53, 0.06), (0.0, 0.0, z)).painted("metal", 0.4) for z in (-0.72, -0.25, 0.25, 0.72)]
    lens = lathe([0.0, 0.16, 0.16, 0.0], [0.75, 0.75, 0.88, 0.88]).painted("dark", 0.0)
    panels = [cuboid((0.03, 0.75, 1.3), (0.0, y, 0.0)).painted("blue", 0.1) for y in (-0.72, 0.72)]
    stripe = cuboid((0.034, 0.72, 0.02)).painted("metal", 0.5)
    stripes = [stripe.moved((0.0, y, z)) for y in (-0.72, 0.72) for z in (-0.33, 0.0, 0.33)]
    antenna = rod(np.array([0.0, 0.0, -0.7]), np.array([0.0, 0.0, -1.1]), 0.015, 8).painted("dark", 0.3)
    return joined([case, *frames, lens, *panels, *stripes, antenna])


def asteroid() -> Mesh:
    """Return an irregular lump with hills and hollows."""
    ball = sphere(18)
    x, y, z = ball.vertices.T
    hills = 1.0 + 0.16 * np.sin(3 * x + 1.0) * np.cos(2 * y - 0.5) + 0.08 * np.sin(7 * y + 2 * z) * np.cos(5 * x + 1.0)
    hollows = 0.2 * np.exp(-((x - 0.5) ** 2 + (y - 0.7) ** 2 + (z - 0.4) ** 2) / 0.08)
    lump = replace(ball, vertices=ball.vertices * ((hills - hollows)[:, None] * (1.0, 0.68, 0.52)))
    return replace(lump.painted("metal"), shades=0.15 + 0.1 * ball.shades)


def water() -> Mesh:
    """Return a molecule of water: red oxygen, white hydrogen."""
    atoms = np.array([(0.0, 0.0, 0.12), (0.0, 0.76, -0.47), (0.0, -0.76, -0.47)])
    oxygen = sphere(14).stretched(0.55).painted("red", 0.0).moved(atoms[0])
    hydrogen = [sphere(12).stretched(0.38).painted("white", 0.0).moved(place) for place in atoms[1:]]
    bonds = [rod(atoms[0], place, 0.14).painted("metal", 0.4) for place in atoms[1:]]
    return joined([oxygen, *hydrogen, *bonds])


ILLUSTRATIONS: dict[str, Callable[[], Mesh]] = {
    "t-handle": t_handle,
    "racket": racket,
    "book": book,
    "phone": phone,
    "wing-nut": wing_nut,
    "rocket": rocket_body,
    "cubesat": cubesat,
    "asteroid": asteroid,
    "molecule": water,
}
