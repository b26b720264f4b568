"""Short HTML tables for notebooks, as returned by ``_repr_html_``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape


def html_fields(title: str, fields: Mapping[str, object]) -> str:
    """Return a table with one row for each name and value; values that are empty strings are omitted.

    Examples
    --------
    >>> html_fields("body", {"mass": 2.0, "name": ""})
    '<table><caption>body</caption><tr><th>mass</th><td>2.0</td></tr></table>'
    """
    rows = (f"<th>{escape(name)}</th><td>{_text(value)}</td>" for name, value in fields.items() if value != "")
    return _table(title, rows)


def html_rows(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with a header and one row for each sequence of cells.

    Examples
    --------
    >>> html_rows("errors", ["h"], [[0.1]])
    '<table><caption>errors</caption><tr><th>h</th></tr><tr><td>0.1</td></tr></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    return _table(title, [head, *("".join(f"<td>{_text(cell)}</td>" for cell in row) for row in rows)])


def _table(title: str, rows: Iterable[str]) -> str:
    """Return a table with a caption and rows of HTML cells."""
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><caption>{escape(title)}</caption>{body}</table>"


def _text(value: object) -> str:
    """Return a value as escaped text."""
    return escape(str(value))
