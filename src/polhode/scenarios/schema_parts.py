"""Functions that return parts of JSON schemas: for kinds of values, and for the arguments of functions."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

import numpy as np

Node = dict[str, Any]


def text(description: str, **more: Any) -> Node:
    """Return the schema of a string that is not empty; `more` adds keywords such as ``pattern``."""
    return {"type": "string", "minLength": 1, "description": description, **more}


def whole_number(lowest: int, description: str) -> Node:
    """Return the schema of an integer that is at least `lowest`."""
    return {"type": "integer", "minimum": lowest, "description": f"{description}, an integer, {lowest} or more"}


def positive(description: str) -> Node:
    """Return the schema of a positive number."""
    return {"type": "number", "exclusiveMinimum": 0, "description": description}


def list_of(items: Node, description: str, length: int | None = None) -> Node:
    """Return the schema of a list of `length` items; omit `length` for any list that is not empty."""
    sizes = {"minItems": 1} if length is None else {"minItems": length, "maxItems": length}
    return {"type": "array", "items": items, "description": description, **sizes}


def table(properties: Mapping[str, Node], required: Iterable[str] = (), **more: Any) -> Node:
    """Return the schema of a table that has no other keys than `properties`; `more` adds keywords."""
    return {"additionalProperties": False, "properties": dict(properties), "required": list(required), **more}


def choice(branches: Iterable[Node], description: str) -> Node:
    """Return the schema of a table that matches exactly one of the schemas `branches`."""
    return {"type": "object", "oneOf": list(branches), "description": description}


NUMBER: Node = {"type": "number", "description": "a number"}
VECTOR: Node = {"type": ["number", "array"], "items": NUMBER, "description": "a number, or a list of numbers"}
ARRAY: Node = {
    "type": ["number", "array"],
    "items": {**VECTOR, "items": VECTOR},
    "description": "a number, a list of numbers, or a list of such lists",
}


def arguments_of(function: Callable[..., Any], **known: Node) -> Node:
    """Return the schema of a table with the arguments of a function; `known` has schemas that replace the default."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    in_table = [parameter for parameter in parameters if parameter.name != "body"]  # a table of its own
    properties = {parameter.name: known.get(parameter.name) or _argument(parameter) for parameter in in_table}
    return table(properties, [parameter.name for parameter in in_table if parameter.default is parameter.empty])


def _argument(parameter: inspect.Parameter) -> Node:
    """Return the schema of one argument, derived from its annotation and its default."""
    has_default = parameter.default is not parameter.empty and parameter.default is not None
    default = np.asarray(parameter.default).tolist() if has_default else None
    if get_origin(parameter.annotation) is Literal:
        node: Node = {"enum": list(get_args(parameter.annotation))}
    elif parameter.annotation is bool:
        node = {"type": "boolean", "description": "true or false"}
    elif parameter.annotation is str:
        node = text("a text")
    elif parameter.annotation is float:
        node = {**ARRAY, "description": "a number, or one for each body"}
    elif isinstance(default, list):
        node = {**ARRAY, "type": "array", "description": "a list of numbers, or a list of such lists"}
    else:
        node = ARRAY
    if not has_default:
        return node
    hint = {"description": f"{node['description']}, such as {json.dumps(default)}"} if "description" in node else {}
    return {**node, **hint, "default": default}


def branches(functions: Mapping[str, Callable[..., Any]], key: str = "kind", **known: Node) -> list[Node]:
    """Return one branch of a choice for each function, with its name as the value of `key` and its arguments."""
    tables = {name: arguments_of(function, **known) for name, function in functions.items()}
    return [
        table({key: {"const": name}, **arguments["properties"]}, [key, *arguments["required"]])
        for name, arguments in tables.items()
    ]


def makers(module: ModuleType, kind: type) -> dict[str, Callable[..., Any]]:
    """Return the public functions of a module that return a `kind` and take no callbacks, which no file can hold."""
    functions = {name: getattr(module, name) for name in module.__all__ if inspect.isfunction(getattr(module, name))}
    signatures = {name: inspect.signature(function, eval_str=True) for name, function in functions.items()}
    return {
        name: functions[name]
        for name, signature in signatures.items()
        if signature.return_annotation is kind
        and not any(get_origin(parameter.annotation) is Callable for parameter in signature.parameters.values())
    }
