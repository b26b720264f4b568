"""What tests of pages share: the numbers in a page, and a real browser."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import time

import numpy as np

BROWSERS = "chromium", "chromium-browser", "google-chrome", "chrome"
FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


DESKTOP = {"width": 1200, "height": 800}
WAIT = 90_000  # milliseconds: machines of others may be busy
VERTICES = """
(object, scale, instance) => {
  const matrix = new THREE.Matrix4(), point = new THREE.Vector3(), all = [];
  const place = object.geometry.attributes.position;
  object.updateWorldMatrix(true, false);
  if (instance === null) matrix.copy(object.matrixWorld); else object.getMatrixAt(instance, matrix);
  for (let i = 0; i < place.count; i++) {
    all.push(point.fromBufferAttribute(place, i).applyMatrix4(matrix).divideScalar(scale).toArray());
  }
  return all;
}
"""


class Opened:
    """A page in a browser, with everything that it complained about or asked for."""

    def __init__(self, browser, path, *, size=None, moving=False, script=None):
        motion = "no-preference" if moving else "reduce"
        self.context = browser.new_context(viewport=size or DESKTOP, reduced_motion=motion)
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda told: told.type == "error" and self.complaints.append(told.text))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.set_default_timeout(WAIT)
        if script is not None:
            self.page.add_init_script(script)
        self.page.goto(path.as_uri(), timeout=WAIT)
        self.page.wait_for_selector("body[data-ready]", timeout=WAIT)

    def run(self, script):
        return self.page.evaluate(script)

    def wait_until(self, condition):
        """Wait for a condition; playwright's own function would need a policy that allows ``eval``."""
        deadline = time.monotonic() + WAIT / 1000
        while not self.run(condition):
            assert time.monotonic() < deadline, condition
            self.page.wait_for_timeout(20)

    def vertices(self, mesh, scale="1", instance="null"):
        """Vertices of what three.js draws, in space, divided by a scale."""
        return np.array(self.run(f"({VERTICES})({mesh}, {scale}, {instance})"))

    def corners(self, body=0):
        """Corners of the triangles of a body of the first kind, (3 f, 3)."""
        return self.vertices("scenes.space.groups[0].mesh", instance=body)

    def now(self):
        return self.run("[polhode.frame, polhode.time, polhode.quaternion()]")


def data_of(page):
    """The JSON inside a page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.html, re.DOTALL)
    return json.loads(found[1])


def numbers(packed, *shape):
    array = np.frombuffer(base64.b64decode(packed["base64"]), dtype=f"<{packed['kind']}")
    return array.reshape(*shape) if shape else array


def values(chart, curve):
    """The numbers of a curve; in the page they are parts of the range of the chart."""
    low, high = chart["range"]
    return low + numbers(chart["curves"][curve]["y"]).astype(float) * (high - low)


def packed_page(shown):
    """The HTML text inside what a notebook displays."""
    return gzip.decompress(base64.b64decode(re.search(r'atob\("([^"]+)"\)', shown)[1])).decode()


def installed_browser():
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)
