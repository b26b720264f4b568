"""Conversion of tables to readable TOML text, with lists of plain values on one line."""

from __future__ import annotations

import re
from typing import Any

from polhode.core.extras import optional

# tomli_w writes each entry of a list on a line of its own, and no text in it has a line break.
PLAIN_LIST = re.compile(r"\[\n((?:[^\[\]{}\n]*,\n)+) *\]")


def to_toml(table: dict[str, Any]) -> str:
    """Return the TOML text of a table of numbers, strings, booleans, lists and tables; parsing it returns `table`.

    >>> print(to_toml({"h": 0.5, "body": {"moments": [1.0, 2.0, 3.0]}}), end="")
    h = 0.5
    <BLANKLINE>
    [body]
    moments = [1.0, 2.0, 3.0]
    """
    with optional("tomli_w", "cli"):
        import tomli_w
    return PLAIN_LIST.sub(_on_one_line, tomli_w.dumps(table))


def _on_one_line(plain_list: re.Match[str]) -> str:
    entries = (line.strip().removesuffix(",") for line in plain_list[1].split("\n")[:-1])
    return f"[{', '.join(entries)}]"
