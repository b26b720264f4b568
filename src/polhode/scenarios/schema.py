"""Checks data against a JSON schema, in the words of this package: where, what came, what is needed, what is near.

The part of JSON Schema (draft 2020-12) that ``scenario.schema.json`` uses. What is needed is said by the schema's own
``description`` entries, so that files and messages cannot disagree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from polhode.core.checks import near
from polhode.core.errors import InputError

Node = Mapping[str, Any]
SHOWN = 60  # characters of a value in a message


class SchemaError(InputError):
    """A value that the schema does not allow; ``key`` is its place, with dots into tables and lists."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(message)
        self.key = where.replace("[", ".").replace("]", "")


TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "integer": (int, float),
}


def check(value: Any, schema: Node) -> None:
    """Raise a SchemaError that says which key of ``value`` the schema does not allow, and what it does allow.

    >>> check({"h": -1}, {"type": "object", "properties": {"h": {"exclusiveMinimum": 0, "description": "a step"}}})
    Traceback (most recent call last):
    polhode.scenarios.schema.SchemaError: h = -1; needed: a step
    """
    _Checker(schema).check(value, schema, "")


class _Checker:
    def __init__(self, schema: Node) -> None:
        self.definitions = schema.get("$defs", {})

    def resolved(self, node: Node) -> Node:
        while "$ref" in node:
            node = self.definitions[node["$ref"].removeprefix("#/$defs/")]
        return node

    def check(self, value: Any, node: Node, where: str) -> None:
        """Tables entry by entry; all else as a whole."""
        node = self.resolved(node)
        inner = self._of_tables(value, node)
        if inner is None and not self.fits(value, node):
            raise SchemaError(where, f"{where or 'the whole'} = {_shown(value)}; needed: {_needed(node)}")
        if isinstance(value, dict) and inner is not None:
            self._table(value, inner, where)
        elif isinstance(value, list) and inner is not None:
            for i, entry in enumerate(value):
                self.check(entry, inner["items"], f"{where}[{i}]")

    def _of_tables(self, value: Any, node: Node) -> Node | None:
        """The entry of the schema by which to look into ``value``, if that is a table or a list of tables."""
        for choice in map(self.resolved, node.get("anyOf", (node,))):
            if isinstance(value, dict) and choice.get("type") == "object":
                return choice
            if isinstance(value, list) and choice.get("type") == "array":
                items = self.resolved(choice["items"])
                if items.get("type") == "object":
                    return choice
        return None

    def _table(self, table: dict[str, Any], node: Node, where: str) -> None:
        choices = [c for c in node.get("oneOf", ()) if "properties" in c]
        if choices:
            self._table(table, self._chosen(table, choices, where), where)
            return
        properties, others = node.get("properties", {}), node.get("additionalProperties", True)
        for key, value in table.items():
            if key in properties or isinstance(others, dict):
                self.check(value, properties.get(key, others), _joined(where, key))
            elif others is False:
                raise SchemaError(_joined(where, key), f"{_joined(where, key)} is not known; {near(key, properties)}")
        for key in node.get("required", ()):
            self._require(table, key, node, where)
        for key, needed in node.get("dependentRequired", {}).items():
            for other in needed if key in table else ():
                self._require(table, other, node, where, f" (which {key!r} needs)")
        one_of = [c["required"][0] for c in node.get("oneOf", ())]
        if one_of and sum(key in table for key in one_of) != 1:
            raise SchemaError(where, _one_of(where, one_of, table))
        if "not" in node and all(key in table for key in node["not"]["required"]):
            raise SchemaError(where, _one_of(where, node["not"]["required"], table))

    def _require(self, table: dict[str, Any], key: str, node: Node, where: str, why: str = "") -> None:
        if key not in table:
            needed = _needed(self.resolved(node.get("properties", {}).get(key, {})))
            raise SchemaError(where, f"{_joined(where, key)} is missing{why}; needed: {needed}")

    def _chosen(self, table: dict[str, Any], choices: list[Node], where: str) -> Node:
        """The choice whose first required key the table has, with the value that the choice names, if it names one."""
        keys = list(dict.fromkeys(choice["required"][0] for choice in choices))
        present = [key for key in keys if key in table]
        if len(present) != 1:
            raise SchemaError(where, _one_of(where, keys, table))
        key = present[0]
        fitting = [c for c in choices if c["required"][0] == key]
        names = [c["properties"][key].get("const") for c in fitting]
        if names == [None]:
            return fitting[0]
        if not isinstance(table[key], str) or table[key] not in names:
            raise SchemaError(
                _joined(where, key), f"{_joined(where, key)} = {_shown(table[key])}; {near(table[key], names)}"
            )
        return fitting[names.index(table[key])]

    def fits(self, value: Any, node: Node) -> bool:
        """Whether a value without tables is what the schema allows."""
        node = self.resolved(node)
        if "anyOf" in node:
            return any(self.fits(value, choice) for choice in node["anyOf"])
        if "enum" in node:
            return isinstance(value, str) and value in node["enum"]
        if "type" in node and not _is_of_type(value, node["type"]):
            return False
        if isinstance(value, list):
            size = node.get("minItems", 0) <= len(value) <= node.get("maxItems", len(value))
            return size and all(self.fits(entry, node.get("items", {})) for entry in value)
        if isinstance(value, str):
            return len(value) >= node.get("minLength", 0) and re.search(node.get("pattern", ""), value) is not None
        above = "exclusiveMinimum" not in node or not value <= node["exclusiveMinimum"]
        return above and ("minimum" not in node or not value < node["minimum"])


def _is_of_type(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    whole = not isinstance(value, float) or value.is_integer()
    return isinstance(value, TYPES[kind]) and (kind != "integer" or whole)


def _joined(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _needed(node: Node) -> str:
    text = str(node.get("description", "a value"))
    return f"{text}; {near('', node['enum'])}" if "enum" in node else text


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def _one_of(where: str, keys: list[str], table: dict[str, Any]) -> str:
    came = [key for key in keys if key in table]
    told = f"{' and '.join(came)} came" if came else "none of them came"
    here = f"{where}: " if where else ""
    others = [key for key in table if key not in keys]
    hint = "" if came or not others else f" ({', '.join(others[:6])} came)"
    return f"{here}give exactly one of {', '.join(keys)}; {told}{hint}"
