"""The Python blocks of a page of the documentation, and how to run them; imports nothing of polhode by itself."""

from __future__ import annotations

import inspect
import os
import re
import warnings
from pathlib import Path

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```", re.M | re.S)
COMMENT = re.compile(r"<!-- (?P<word>not run|first):(?P<text>((?!-->).)*)-->\s*\Z", re.S)  # right before a block
ELSEWHERE = ("distributed", "dask_jobqueue", "polhode.systems.adapters.openmm")  # clusters and other engines


def blocks(text: str) -> list[tuple[int, str]]:
    """(line, code) of all Python blocks, those that cannot run left out; what is hidden before one comes with it."""
    found = []
    for fence in FENCE.finditer(text):
        if fence["info"].strip() != "python":
            continue
        code = inspect.cleandoc("\n" + fence["body"]) if fence["indent"] else fence["body"]
        before = COMMENT.search(text[: fence.start()])
        if before and before["word"] == "not run":
            continue
        if any(f"from {package} import" in code for package in ELSEWHERE) or "Client(" in code:
            continue
        line = text.count("\n", 0, fence.start()) + 2
        found.append((line, (before["text"] if before else "") + "\n" + code))
    return found


def run_page(page: Path, folder: Path) -> list[str]:
    """Run all blocks of a page in one namespace, from top to bottom; return the names that they leave behind."""
    os.environ["MPLBACKEND"] = "Agg"
    os.chdir(folder)
    warnings.simplefilter("error")
    names: dict[str, object] = {"__name__": page.stem}
    for line, code in blocks(page.read_text()):
        exec(compile("\n" * (line - 2) + code, str(page), "exec"), names)
    return sorted(names)
