"""The pages that ``docs/view.md`` tells of, written to docs/_build/pages (or the folder given): each is about 1 MB.

With ``--shots`` they are opened in an installed Chromium, by playwright, and pictures of them go to docs/images.
"""

from __future__ import annotations

import argparse
import io
import shutil
from pathlib import Path

import numpy as np

import polhode as ph
from polhode import interactions
from polhode.show.page import Page, view

HERE = Path(__file__).parent
SIZES = {"desktop": (1200, 940), "phone": (390, 844)}
MOMENTS = {
    "play": 0.13, "dzhanibekov": 0.085, "gyro_top": 0.6, "satellite_orbit": 0.2, "vessel": 0.2, "dipoles": 0.7,
    "flips": 0.7, "rackets": 0.3,
}  # fmt: skip
PHONE = "play", "dzhanibekov"  # of which there are pictures on a phone, too
FLAGS = "--no-sandbox --disable-quic --no-first-run --disable-background-networking --disable-component-update"


def dipoles() -> Page:
    """27 molecules with a dipole each, let go from a lattice."""
    body = ph.RigidBody((1.0, 1.88, 2.88), mass=1.0)
    box = ph.System.lattice(
        body, 3, 1.5, interactions.DipolarSoftSpheres((0, 1, 1)), kT=0.05, seed=3, t_span=(0, 10), name="dipoles"
    )
    return view(ph.integrate(box, method="RKN4_6b", h=0.01, save_every=2), title="27 dipolar molecules")


def flips() -> Page:
    """The same handle three times: exactly, and by approximations that step too far."""
    handle = ph.problems.dzhanibekov(t_end=12.0)
    runs = [
        ph.integrate(handle, method=ph.Splitting(ph.Exact(), "V2"), h=0.04),
        ph.integrate(handle, method=ph.Splitting(ph.ThreeRotations(), "V2"), h=0.04),
        ph.integrate(handle, method=ph.Splitting(ph.MoserVeselov(), "V2"), h=0.04),
    ]
    labels = ["exact", "three rotations, h = 0.04 s", "Moser-Veselov, h = 0.04 s"]
    return view(runs, labels=labels, title="A flip, computed in three ways")


def rackets() -> Page:
    """96 rackets, thrown almost alike."""
    nudges = 0.03 * np.random.default_rng(1).normal(size=(96, 3))
    thrown = ph.free_motion((1.0, 1.6, 2.5), omega=np.array([0.0, 5.0, 0.0]) + nudges)
    return thrown.view(shape="racket", t_span=(0.0, 20.0), title="96 rackets, thrown almost alike")


def pages() -> dict[str, Page]:
    """All of them, by name."""
    handle = ph.problems.dzhanibekov()
    made = {
        "play": ph.play(),
        "rackets": rackets(),
        "dzhanibekov": ph.integrate(handle, method=ph.Splitting(ph.Exact(), "V2"), h=0.05).view(),
    }
    for name in ("gyro_top", "satellite_orbit", "vessel"):
        made[name] = ph.integrate(ph.problems.get(name)).view()
    return made | {"dipoles": dipoles(), "flips": flips()}


def shoot(folder: Path) -> None:
    """Pictures of the pages, at a moment each."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS.split())
        for name, part in MOMENTS.items():
            for device in ("desktop", "phone") if name in PHONE else ("desktop",):
                width, height = SIZES[device]
                page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce")
                page.goto((folder / f"{name}.html").resolve().as_uri(), timeout=120_000)
                page.wait_for_selector("body[data-ready]", timeout=120_000)
                page.evaluate(f"polhode.seek({part} * polhode.frames)")
                if device == "phone":
                    page.evaluate("document.getElementById('controls').style.position = 'static'")
                shot = page.screenshot(full_page=device == "phone", timeout=120_000)
                picture = Image.open(io.BytesIO(shot)).convert("RGB")
                picture.save(HERE / "images" / f"view_{name}{'_phone' if device == 'phone' else ''}.png", optimize=True)
                page.close()
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=HERE / "_build" / "pages")
    parser.add_argument("--shots", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, page in pages().items():
        print(page.save(given.folder / f"{name}.html"))
    if given.shots:
        shoot(given.folder)
