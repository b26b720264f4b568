"""Our docstrings for Sphinx: plain text in which ``name : text`` under Parameters is a list, and |m| is a length.

What reStructuredText would take for markup outside of backticks is escaped, and indented formulas stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "References")
LISTS = ("Parameters", "Attributes")
LITERAL = re.compile(r"(``.+?``|`[^`]+?`)")
MARKUP = re.compile(r"([|*\\]|_(?![a-zA-Z0-9]))")


def escaped(line: str) -> str:
    """The line with its literals as they are, and everything else free of markup."""
    parts = LITERAL.split(line)
    return "".join(part if part.startswith("`") else MARKUP.sub(r"\\\1", part) for part in parts)


def translated(lines: list[str]) -> list[str]:
    """A docstring as reStructuredText."""
    return list(_blocks(lines))


def _blocks(lines: list[str]) -> Iterator[str]:
    section, k = "", 0
    while k < len(lines):
        line = lines[k]
        if line in SECTIONS and k + 1 < len(lines) and set(lines[k + 1]) == {"-"}:
            section = line
            yield from ("", f".. rubric:: {line}", "")
            k += 2
        elif line.startswith(">>>"):
            section = ""
            while k < len(lines) and lines[k].strip():
                yield lines[k]
                k += 1
        elif line.startswith(" ") and not section and (k == 0 or not lines[k - 1].strip()):
            yield from ("::", "")
            while k < len(lines) and (lines[k].startswith(" ") or not lines[k].strip()):
                yield lines[k]
                k += 1
            yield ""
        else:
            if section and not line.strip() and k + 1 < len(lines) and not lines[k + 1].startswith(" "):
                section = ""  # a paragraph after a list of names
            yield from _entry(line) if section in LISTS else (escaped(line),)
            k += 1


def _entry(line: str) -> Iterator[str]:
    """``name : text`` as a term and the beginning of its definition."""
    if line.startswith(" ") or " : " not in line:
        yield "    " + escaped(line.strip()) if line.strip() else ""
        return
    name, text = line.split(" : ", 1)
    yield from ("", ", ".join(f"``{part.strip()}``" for part in name.split(",")), "    " + escaped(text))


def _process(app, what, name, obj, options, lines):
    lines[:] = translated(lines)


def setup(app):
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
