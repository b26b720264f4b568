"""What the site looks like: formulas have a font of their own, dots of derivatives are seen, wide tables fit."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT
from view_pages import FLAGS, installed_browser

STATIC = ROOT / "docs" / "_static"
COLUMN = 742  # pixels that the theme has for text


def test_the_style_sheet_asks_for_nothing_from_elsewhere_and_its_font_has_a_license():
    css = (STATIC / "site.css").read_text("utf-8")
    addresses = re.findall(r'url\("?([^")]+)"?\)', css)
    assert addresses
    for address in addresses:
        path = STATIC / address
        assert path.exists()
        license_ = path.with_name(f"{path.stem.split('-')[0]}-LICENSE.txt").read_text("utf-8")
        assert "SIL OPEN FONT LICENSE Version 1.1" in license_
        assert "Copyright 2001-2021 The STIX Fonts Project Authors" in license_
    assert "@import" not in css


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    path = installed_browser()
    if path is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


def shown(browser, tmp_path, body, before=""):
    """A page with the style sheet of the site, at the size of an ordinary screen."""
    page = browser.new_page(viewport={"width": 1200, "height": 400})
    file = tmp_path / "page.html"
    sheet = (STATIC / "site.css").as_uri()
    head = f'<meta charset="utf-8">{before}<link rel="stylesheet" href="{sheet}">'
    file.write_text(f"<!doctype html><html><head>{head}</head><body>{body}</body></html>", encoding="utf-8")
    page.goto(file.as_uri())
    page.evaluate("document.fonts.ready")
    return page


@pytest.mark.parametrize("tex", [r"\dot m", r"\dot q", r"\dot\psi", r"\dot Q"])
def test_dots_stand_apart_from_their_letters(browser, tmp_path, monkeypatch, tex):
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("sphinx")
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs" / "_extensions"), *sys.path])
    import mathml

    page = shown(browser, tmp_path, f'<p style="font-size: 16px; padding: 20px">{mathml._translated(tex, False)}</p>')
    fonts = page.evaluate("[...document.fonts].map(f => [f.family, f.status])")
    assert [(family.strip('"'), status) for family, status in fonts] == [("STIX Two Math", "loaded")]
    pixels = np.asarray(image.open(io.BytesIO(page.query_selector("p").screenshot())).convert("L"))
    rows = np.concatenate([[False], (pixels < 160).any(axis=1)])
    starts = np.flatnonzero(rows[1:] & ~rows[:-1])
    assert len(starts) == 2  # a dot, at least one row of paper, and the letter
    page.close()


def test_the_table_of_programs_fits_the_page(browser, tmp_path):
    furo = pytest.importorskip("furo")
    theme = Path(furo.__file__).parent / "theme" / "furo" / "static" / "styles" / "furo.css"
    text = (ROOT / "docs" / "comparison.md").read_text("utf-8").split("## In one table")[1].split("##")[0]
    lines = [re.sub(r"\[(.+?)\]\(.+?\)", r"\1", line).strip("|").split("|") for line in text.strip().splitlines()]
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>" for line in lines[2:])
    head = "".join(f"<th>{cell}</th>" for cell in lines[0])
    table = f'<table class="docutils"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    style = f'<link rel="stylesheet" href="{theme.as_uri()}">'
    page = shown(browser, tmp_path, f'<article style="width: {COLUMN}px">{table}</article>', style)
    assert page.evaluate("document.querySelector('table').offsetWidth") <= COLUMN
    page.close()
