"""Notebooks from scripts of the gallery: cells part at ``# %%``, comments after it become text.

python examples/notebooks/make.py

Notebooks are written without outputs, so that they change only when their scripts do.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

HERE = Path(__file__).parent
GALLERY = HERE.parent / "gallery"
CHOSEN = ("tennis_racket", "toutatis", "gravity_gradient")


def cells(source):
    """[(kind, text), ...] of a script: "markdown" or "code"."""
    title, _, *prose = ast.get_docstring(ast.parse(source)).split("\n")
    found = [("markdown", f"# {title}\n\n" + "\n".join(prose).strip())]
    code = source.split('"""', 2)[2]
    for block in re.split(r"^# %%.*\n", code, flags=re.MULTILINE):
        text = re.match(r"(?:#.*\n)*", block).group()
        if text:
            found.append(("markdown", re.sub(r"^# ?", "", text, flags=re.MULTILINE).strip()))
        found.append(("code", block[len(text) :].strip()))
    return [(kind, text.replace("``", "`") if kind == "markdown" else text) for kind, text in found if text]


def notebook(source):
    """The text of an .ipynb file, format 4.5."""
    made = []
    for number, (kind, text) in enumerate(cells(source)):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def main():
    for name in CHOSEN:
        path = HERE / f"{name}.ipynb"
        path.write_text(notebook((GALLERY / f"plot_{name}.py").read_text()))
        print(path.name)


if __name__ == "__main__":
    main()
