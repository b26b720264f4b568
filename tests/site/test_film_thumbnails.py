"""Thumbnails of the gallery move where scripts end with a film, unless less motion is requested."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import polhode as ph
from conftest import ROOT

image = pytest.importorskip("PIL.Image")
pytest.importorskip("matplotlib")

INDEX = """
<div class="sphx-glr-thumbcontainer"><img alt="" src="../_images/sphx_glr_plot_ship_thumb.gif" />
<div class="sphx-glr-thumbcontainer"><img alt="" src="../_images/sphx_glr_plot_chaos_thumb.png" />
"""


@pytest.fixture
def thumbnails(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs" / "_extensions"), *sys.path])
    import film_thumbnails

    return film_thumbnails


class Paths:
    """Names of pictures, one after the other, as Sphinx-Gallery gives them."""

    def __init__(self, folder):
        self.folder, self.count = folder, 1  # a figure was before

    def __len__(self):
        return self.count

    def __next__(self):
        self.count += 1
        return self.folder / f"picture_{self.count:03}.png"


def scraped(thumbnails, folder, value):
    names = {"___": value}
    of_block = {"example_globals": names, "image_path_iterator": Paths(folder), "file_conf": {}}
    assert thumbnails.scrape_films(None, of_block, None) == ""
    return of_block["file_conf"]


def test_a_film_is_the_thumbnail(thumbnails, tmp_path):
    handle = ph.free_motion((1.0, 2.0, 3.0), m=(0.01, 2.0, 0.0))
    film = handle.animate(t_span=(0, 20), seconds=5)
    assert scraped(thumbnails, tmp_path, film) == {"thumbnail_number": 2}
    path = tmp_path / "picture_002.gif"
    assert path.stat().st_size < 400_000
    with image.open(path) as gif:
        assert gif.n_frames == thumbnails.PICTURES
        assert gif.info["loop"] == 0
        assert gif.width <= thumbnails.SIZE[0]
        assert gif.height == thumbnails.SIZE[1]
        shots = []
        for number in (0, 20):
            gif.seek(number)
            shots.append(np.asarray(gif.convert("L"), dtype=int))
    assert (np.abs(shots[1] - shots[0]) > 30).mean() > 0.02  # it moves


@pytest.mark.parametrize("value", [None, 3.0])
def test_other_scripts_keep_their_figure(thumbnails, tmp_path, value):
    assert scraped(thumbnails, tmp_path, value) == {}
    assert not any(tmp_path.iterdir())


def test_a_figure_is_offered_instead_if_less_motion_is_requested(thumbnails):
    context = {"body": INDEX}
    thumbnails.still_for_reduced_motion(SimpleNamespace(), "gallery/index", "page.html", context, None)
    moving, still = context["body"].strip().splitlines()
    assert '<source media="(prefers-reduced-motion: reduce)" srcset="../_images/sphx_glr_plot_ship_001.png">' in moving
    assert 'src="../_images/sphx_glr_plot_ship_thumb.gif" /></picture>' in moving
    assert still == INDEX.strip().splitlines()[1]
    context = {"body": INDEX}
    thumbnails.still_for_reduced_motion(SimpleNamespace(), "view", "page.html", context, None)
    assert context["body"] == INDEX
