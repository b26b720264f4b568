"""Moving pictures in the index of the gallery: if a script ends with a film, a short version of it is its thumbnail."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from polhode.show.plot.film import Film, Picture, write_gif

SIZE = 320, 224  # pixels, at most
PICTURES, FPS = 40, 10  # of a thumbnail


def scrape_films(block, block_vars, gallery_conf):
    """Make the thumbnail of a script whose block ends with a film; the page itself shows the whole film."""
    film = block_vars["example_globals"].get("___")  # where Sphinx-Gallery keeps the value of the last expression
    if isinstance(film, Film):
        path = Path(next(block_vars["image_path_iterator"])).with_suffix(".gif")
        save_thumbnail(film, path)
        block_vars["file_conf"]["thumbnail_number"] = len(block_vars["image_path_iterator"])
    return ""


def save_thumbnail(film: Film, path: Path) -> None:
    """Write the scene of a film, without its chart, as a small gif that repeats."""
    picture = Picture(film.scene)
    panel = picture.panel.get_window_extent()
    height = picture.figure.bbox.height
    edges = [round(edge) for edge in (panel.x0, height - panel.y1, panel.x1, height - panel.y0)]
    picture.moving.remove(picture.clock)  # too small to read

    def pixels(part: float) -> np.ndarray:
        return np.asarray(ImageOps.contain(Image.fromarray(picture.pixels(part)).crop(edges), SIZE))

    write_gif(path, pixels, np.linspace(0.0, film.share, PICTURES, endpoint=False), FPS)


def still_for_reduced_motion(app, pagename, templatename, context, doctree):
    """Offer the first figure of a script instead of its moving thumbnail to those who asked for less motion."""
    if pagename == "gallery/index" and "body" in context:
        context["body"] = re.sub(r'<img [^>]*src="([^"]*sphx_glr_\w+)_thumb\.gif"[^>]*>', _with_still, context["body"])


def _with_still(image: re.Match[str]) -> str:
    source = f'<source media="(prefers-reduced-motion: reduce)" srcset="{image[1]}_001.png">'
    return f"<picture>{source}{image[0]}</picture>"


def setup(app):
    app.connect("html-page-context", still_for_reduced_motion)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
