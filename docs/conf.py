"""The documentation site: ``sphinx-build -W -b html docs docs/_build/html``. Nothing is fetched from a network."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

import polhode  # noqa: E402

project = "polhode"
author = "The polhode developers"
copyright = "2026, The polhode developers"
version = release = polhode.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx.ext.napoleon",
    "mathml",
    "tables",
    "film_thumbnails",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "gallery/*.json"]
templates_path: list[str] = []
default_role = "code"

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

napoleon_google_docstring = False
napoleon_use_ivar = True  # members have entries of their own
napoleon_use_rtype = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # shapes are what matters, and docstrings have them
add_module_names = False
toc_object_entries_show_parents = "hide"

GALLERY = HERE.parent / "examples" / "gallery"
if any(GALLERY.glob("*.py")):
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": [str(GALLERY)],
        "gallery_dirs": ["gallery"],
        "filename_pattern": r"\.py$",
        "plot_gallery": "True",
        "image_scrapers": ("matplotlib", "film_thumbnails.scrape_films"),
        "abort_on_example_error": True,
        "download_all_examples": False,
        "show_memory": False,
        "write_computation_times": False,  # their page would fetch scripts
    }

html_theme = "furo"
html_title = f"polhode {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}

# Pages of the repository that links of ours lead to, and where the site has them.
OUTSIDE = {
    "](../README.md)": "](index.md)",
    "](../ARCHITECTURE.md": "](architecture.md",
    "](../CHANGELOG.md)": "](changelog.md)",
    "](../CONTRIBUTING.md)": "](contributing.md)",
    "](ARCHITECTURE.md": "](architecture.md",
}
OPTIONAL = (
    "gallery/index",
    "many_bodies",
    "view",
    "papers/index",
    "papers/*[0-9]",
)  # left out where there is nothing to make them of


def _to_the_site(app, page, source):
    for name in OPTIONAL if page == "index" else ():
        made = "sphinx_gallery.gen_gallery" in extensions if name == "gallery/index" else any(HERE.glob(f"{name}.md"))
        if not made:
            source[0] = source[0].replace(f"\n{name}\n", "\n")
    source[0] = _inside(source[0], "../" * page.count("/"))


def _included_to_the_site(app, path, page, content):
    content[0] = _inside(content[0], "")


def _inside(text, up):
    for outside, inside in OUTSIDE.items():
        text = text.replace(outside.replace("](", f"]({up}"), inside.replace("](", f"]({up}"))
    return text


def setup(app):
    app.connect("source-read", _to_the_site)
    app.connect("include-read", _included_to_the_site)
