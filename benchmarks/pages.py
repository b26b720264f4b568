"""Pages in a browser: their size, the seconds to the first picture, and pictures per second while they play.

    python benchmarks/pages.py folder [--repeat 3]

The folder holds pages, for example those of ``python docs/make_pages.py folder``. They are opened in an installed
Chromium without a display, which draws by software; the best of several runs counts. This needs playwright.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

FLAGS = "--no-sandbox --disable-quic --no-first-run --disable-background-networking --disable-component-update"
SIZE = {"width": 1200, "height": 800}
SETTLE, COUNTED = 1500, 4000  # milliseconds: until the page has chosen how many pixels to draw; of counting
PATIENCE = 120_000  # milliseconds
# The first picture is on the screen two frames after the page says that it is ready.
WATCH = """
addEventListener("DOMContentLoaded", () => {
  const frame = requestAnimationFrame, shown = () => { window.firstPicture = performance.now(); };
  const wait = () => frame(document.body.dataset.ready ? () => frame(shown) : wait);
  wait();
});
"""


def measure(browser: Browser, path: Path) -> tuple[float, float]:
    """Return the seconds to the first picture, and the pictures per second."""
    page = browser.new_page(viewport=SIZE)
    page.add_init_script(WATCH)
    page.goto(path.resolve().as_uri(), timeout=PATIENCE)
    page.wait_for_selector("body[data-ready]", timeout=PATIENCE)
    page.wait_for_timeout(SETTLE)
    counts = []
    for pause in (COUNTED, 0):
        counts.append(page.evaluate("[polhode.drawn, performance.now()]"))
        page.wait_for_timeout(pause)
    (drawn, begin), (later, end) = counts
    first = page.evaluate("firstPicture")
    page.close()
    return first / 1000, (later - drawn) / (end - begin) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    print(f"{'':20}       MB   first picture   pictures per second")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS.split())
        for path in sorted(given.folder.glob("*.html")):
            first, rate = zip(*(measure(browser, path) for _ in range(given.repeat)), strict=True)
            print(f"{path.stem:20} {path.stat().st_size / 1e6:8.2f} {min(first):12.2f} s {max(rate):18.1f}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
