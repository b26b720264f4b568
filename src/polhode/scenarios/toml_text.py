"""Tables as TOML text: the half of TOML that Python's standard library does not have."""

from __future__ import annotations

import json
import re
from typing import Any


def to_toml(table: dict[str, Any]) -> str:
    """TOML of numbers, texts, truth values, lists and tables, whose reading gives ``table`` again.

    >>> print(to_toml({"h": 0.5, "body": {"moments": [1.0, 2.0, 3.0]}}), end="")
    h = 0.5
    <BLANKLINE>
    [body]
    moments = [1.0, 2.0, 3.0]
    """
    plain = [f"{_key(key)} = {toml_value(value)}" for key, value in table.items() if not isinstance(value, dict)]
    tables = [f"[{_key(key)}]\n{_lines(value)}" for key, value in table.items() if isinstance(value, dict)]
    return "\n\n".join(block.rstrip("\n") for block in ("\n".join(plain), *tables) if block) + "\n"


def _lines(table: dict[str, Any]) -> str:
    return "".join(f"{_key(key)} = {toml_value(value)}\n" for key, value in table.items())


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _text(key)


def toml_value(value: Any) -> str:
    """Return a value as TOML writes it, a table on one line.

    >>> toml_value([1.0, True, "a"])
    '[1.0, true, "a"]'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {toml_value(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    return repr(value)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
