"""Validation against a JSON schema (draft 2020-12), with errors that name the key, the value and what is expected.

The ``description`` entries of the schema say what is expected, so that schema and messages cannot disagree. Choices
between tables are lists ``oneOf``: the first required key of a branch, or its value, selects the branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from polhode.core.checks import near
from polhode.core.errors import InputError
from polhode.core.extras import optional

if TYPE_CHECKING:
    from jsonschema import ValidationError

Node = Mapping[str, Any]
UNSPECIFIC = ("anyOf", "oneOf", "required")  # other errors say more: a misspelt key is also a missing one
MOST_CHARACTERS = 60  # of a value in a message


class SchemaError(InputError):
    """Error for a value that the schema does not allow; ``key`` is its path, with dots into tables and lists."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(message)
        self.key = where.replace("[", ".").replace("]", "")


def check(value: Any, schema: Node) -> None:
    """Raise a SchemaError that names the first invalid key of `value` and says what is expected, if there is one.

    >>> check({"h": -1}, {"type": "object", "properties": {"h": {"exclusiveMinimum": 0, "description": "a step"}}})
    Traceback (most recent call last):
    polhode.scenarios.schema.SchemaError: h = -1; expected a step
    """
    with optional("jsonschema", "cli"):
        from jsonschema import Draft202012Validator
    errors = list(Draft202012Validator(schema).iter_errors(value))
    if errors:
        raise _translated(_best(errors))


def _best(errors: Iterable[ValidationError]) -> ValidationError:
    """Return the most specific error, and of several the one nearest to the root.

    ``best_match`` of jsonschema descends to the deepest error in any branch of a choice, not in the selected one.
    """
    return min(errors, key=lambda error: (error.validator in UNSPECIFIC, len(error.path)))


def _translated(error: ValidationError) -> SchemaError:
    """Convert an error of jsonschema to a SchemaError; for a choice, use the branch that the value selects."""
    where = _place(error)
    value = error.instance
    rule = error.validator_value
    match error.validator:
        case "additionalProperties":
            known = error.schema["properties"]
            key = next(key for key in value if key not in known)
            return SchemaError(_joined(where, key), f"{_joined(where, key)} is not known; {near(key, known)}")
        case "required":
            return _missing(where, error, rule)
        case "dependentRequired":
            key = next(key for key in rule if key in value and not value.keys() >= set(rule[key]))
            return _missing(where, error, rule[key], f" (required by {key!r})")
        case "not":
            return SchemaError(where, _one_of(where, rule["required"], value))
        case "oneOf":
            return _of_tables(where, error)
        case "anyOf":
            branches = [_branch(error, i) for i in range(len(rule))]
            possible = [
                branch for branch in branches if all(inner.path or inner.validator != "type" for inner in branch)
            ]
            return _translated(_best(possible[0])) if len(possible) == 1 else _of_value(error)
    return _of_value(error)


def _of_tables(where: str, error: ValidationError) -> SchemaError:
    """Return the error of a choice between tables."""
    table = error.instance
    branches = error.validator_value
    keys = list(dict.fromkeys(branch["required"][0] for branch in branches))
    present = [key for key in keys if key in table]
    if len(present) != 1:
        return SchemaError(where, _one_of(where, keys, table))
    (key,) = present
    of_key = {i: branch["properties"][key] for i, branch in enumerate(branches) if branch["required"][0] == key}
    selected = [i for i, node in of_key.items() if node.get("const", table[key]) == table[key]]
    if selected:
        return _translated(_best(_branch(error, selected[0])))
    hint = near(table[key], [node["const"] for node in of_key.values()])
    return SchemaError(_joined(where, key), f"{_joined(where, key)} = {_shown(table[key])}; {hint}")


def _of_value(error: ValidationError) -> SchemaError:
    """Return the error of a whole value, described by the innermost schema that has a description."""
    while not _expected(error.schema) and error.parent is not None:
        error = error.parent
    expected = _expected(error.schema, error.instance) or error.message
    return SchemaError(_place(error), f"{_place(error)} = {_shown(error.instance)}; {expected}")


def _branch(error: ValidationError, index: int) -> list[ValidationError]:
    """Return the errors in one branch of a choice."""
    return [inner for inner in error.context or () if inner.schema_path[0] == index]


def _missing(where: str, error: ValidationError, required: Iterable[str], why: str = "") -> SchemaError:
    key = next(key for key in required if key not in error.instance)
    expected = _expected(error.schema["properties"][key])
    return SchemaError(where, f"{_joined(where, key)} is missing{why}; {expected}")


def _expected(node: Node, value: Any = "") -> str:
    """Return the description of what the schema expects, with the name that is most similar to `value`."""
    description = [f"expected {node['description']}"] if "description" in node else []
    return "; ".join([*description, near(value, node["enum"])] if "enum" in node else description)


def _place(error: ValidationError) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
    return "".join(steps).removeprefix(".")


def _joined(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."


def _one_of(where: str, keys: list[str], table: Mapping[str, Any]) -> str:
    passed = [key for key in keys if key in table]
    others = [key for key in table if key not in keys]
    got = " and ".join(passed) if passed else "none of them"
    hint = "" if passed or not others else f" (only {', '.join(others[:6])})"
    return f"{f'{where}: ' if where else ''}expected exactly one of {', '.join(keys)}; got {got}{hint}"
