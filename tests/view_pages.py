"""What tests of pages share: the numbers in a page, and a real browser."""

from __future__ import annotations

import base64
import json
import re
import shutil

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


def data_of(page):
    """The JSON inside a page."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.html, re.DOTALL)
    return json.loads(found[1])


def numbers(packed, *shape):
    array = np.frombuffer(base64.b64decode(packed["base64"]), dtype=f"<{packed['kind']}")
    return array.reshape(*shape) if shape else array


def installed_browser():
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)
