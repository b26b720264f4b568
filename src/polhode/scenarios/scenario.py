"""Scenarios: a problem, how to follow it and what to write, as a TOML file (``docs/scenarios.md``).

The structure is checked against a JSON schema (``structure``); what the numbers mean, by the library itself. Nothing in
a file is executed: a torque in Python is loaded only if that is allowed in so many words.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from polhode import forces, problems
from polhode.core.body import RigidBody
from polhode.core.checks import unknown_name
from polhode.core.errors import InputError, PolhodeError
from polhode.core.state import State
from polhode.forces.base import Force, Torque
from polhode.integration.problem import Problem, checked_span
from polhode.methods.expressions import flow_of, method_of
from polhode.methods.splitting import Splitting
from polhode.scenarios import schema
from polhode.scenarios.structure import json_schema

__all__ = [
    "Output",
    "Scenario",
    "json_schema",
    "read_scenario",
]


def __dir__() -> list[str]:
    return __all__


AUTO = "auto"
OWN = ("body", "state", "force")  # what a built-in problem has of its own
PLAIN = ("name", "summary", "t_span", "method", "h", "rtol")  # keys of one value that every scenario may have
DESCRIBED = ("problem", "arguments", "body", "state", "force")  # by the summary of a file
NUMERIC = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)  # of arguments that make no sense


@dataclass(frozen=True)
class Output:
    """What is kept of a run, and where. None: as suits the run.

    >>> Output(format="zarr").save_every
    1
    """

    folder: str | None = None
    save_every: int = 1
    states: int | None = None
    format: str | None = None
    plots: tuple[str, ...] = ("overview",)


@dataclass(frozen=True)
class Scenario:
    """A problem, a method (None: one is chosen), its step or the wanted error, and what to write.

    ``data`` is what the file said, with all settings: written as TOML, it is this scenario again. Made by
    ``read_scenario``.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "top.toml")
    ...     _ = path.write_text('problem = "heavy_top"\\nh = 0.05', "utf-8")
    ...     read_scenario(path).h
    0.05
    """

    data: dict[str, Any]
    problem: Problem
    method: Any = None
    h: float | None = None
    rtol: float | None = None
    output: Output = field(default_factory=Output)


def read_scenario(path: str | Path, settings: Sequence[str] = (), *, allow_python: bool = False) -> Scenario:
    """Return the scenario of a TOML file, with ``settings`` such as "h=0.1" instead of what it says.

    A file that names functions in Python is read with ``allow_python=True`` only.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "top.toml")
    ...     _ = path.write_text('problem = "heavy_top"\\nh = 0.05', "utf-8")
    ...     read_scenario(path, ["h=0.1"]).h
    0.1
    """
    return build(with_settings(read(path), settings), str(path), settings=settings, allow_python=allow_python)


def read(path: str | Path) -> dict[str, Any]:
    """What a TOML file says, as tables; not checked yet. Its folder is where modules in Python are looked for."""
    file = Path(path)
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror or problem}") from None
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{path} is not a TOML file: {problem}") from None
    return {"python_folder": str(file.resolve().parent), **data} if _has_python(data) else data


def built_in(name: str) -> dict[str, Any]:
    """The scenario that is a built-in problem, as it is by default.

    >>> built_in("heavy_top")
    {'problem': 'heavy_top'}
    """
    if name not in problems.REGISTRY:
        raise unknown_name("problem", name, problems.REGISTRY)
    return {"problem": name}


def with_settings(data: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """A copy of ``data`` with some keys set, each by a text "key=value" with a value as in TOML.

    A key that scenarios do not have is an argument of the built-in problem. The summary of a file describes its own
    body, state and forces: where these are changed, the settings take its place.

    >>> with_settings({"problem": "heavy_top"}, ["h=0.1", "eps=1e-6"])
    {'problem': 'heavy_top', 'h': 0.1, 'arguments': {'eps': 1e-06}}
    """
    changed = copy.deepcopy(dict(data))
    others: list[str] = []  # than the file's own summary tells
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"setting {text!r}: expected KEY=VALUE, for example h=0.1 or body.mass=2")
        path = set_value(changed, name, _toml_value(value), f"setting {text!r}")
        if path[0] in DESCRIBED:
            others.append(text)
    if others and changed.get("summary", "") == data.get("summary"):
        changed["summary"] = f"with {', '.join(others)}"
    return changed


def set_value(data: dict[str, Any], key: str, value: Any, origin: str) -> list[str]:
    """Set one key of ``data``, with dots into tables and lists, and return its path; messages name ``origin``."""
    path = _path(data, key)
    if path[0] in OWN and "problem" in data:
        known = defaults_of(data["problem"])
        hint = f"use setting '{path[-1]}=...'" if path[-1] in known else f"known are: {', '.join(known)}"
        raise InputError(
            f"{origin}: {data['problem']} is a built-in problem, whose {path[0]} follows from its arguments; {hint}"
        )
    _put(data, path, value, origin)
    return path


def _path(data: Mapping[str, Any], key: str) -> list[str]:
    """Return where a key is: among the arguments of a built-in problem, if scenarios do not have it."""
    path = key.strip().split(".")
    return ["arguments", *path] if path[0] not in json_schema()["properties"] and "problem" in data else path


def defaults_of(problem: str) -> dict[str, Any]:
    """Return the arguments of a built-in problem, with their defaults as TOML has them.

    >>> defaults_of("perturbed")
    {'t_end': 50000.0}
    """
    parameters = inspect.signature(problems.REGISTRY[problem]).parameters if problem in problems.REGISTRY else {}
    return {name: np.asarray(parameter.default).tolist() for name, parameter in parameters.items()}


def keys_to_set(source: str) -> list[str]:
    """Return the keys of a built-in problem or a scenario file that settings can change; none if there is no such.

    >>> keys_to_set("perturbed")[:3]
    ['t_end', 'name', 'summary']
    """
    try:
        data = built_in(source) if source in problems.REGISTRY else read(source)
    except InputError:
        return []
    tables = ["output", *(["ensemble"] if "ensemble" in data else [])]
    optional = [f"{table}.{key}" for table in tables for key in json_schema()["properties"][table]["properties"]]
    keys = [*defaults_of(data.get("problem", "")), *PLAIN, *_leaves(data), *optional]
    return list(dict.fromkeys(key for key in keys if key != "problem"))


def _leaves(value: Any, place: str = "") -> Iterator[str]:
    """Yield the keys of all values that are no tables, with dots into tables and lists of tables."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if _is_of_tables(value) else None
    if entries is None:
        yield place
    else:
        for key, entry in entries:
            yield from _leaves(entry, f"{place}.{key}" if place else str(key))


def _is_of_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def build(data: dict[str, Any], source: str, *, settings: Sequence[str] = (), allow_python: bool = False) -> Scenario:
    """The scenario that ``data`` describes; InputError names ``source``, the key, what came and what is needed.

    ``settings`` are those that ``data`` has been changed by: an error in one of them names it, instead of the source.
    """
    given = {".".join(_path(data, text.partition("=")[0])): text for text in settings}
    with _told(source, given=given):
        schema.check(data, json_schema())
    return unchecked(data, source, given, allow_python=allow_python)


def unchecked(data: dict[str, Any], source: str, given: Mapping[str, str], *, allow_python: bool) -> Scenario:
    """Return the scenario of ``data`` whose structure has been checked; ``given`` are settings by their keys."""
    with np.errstate(all="ignore"):  # what overflows is refused by name
        problem = _built_in(data, source, given) if "problem" in data else _own(data, source, allow_python)
        with _told(source):
            problem.t_span = checked_span(data.get("t_span", problem.t_span))
        for label in ("name", "summary", "units"):
            setattr(problem, label, data.get(label, getattr(problem, label)))
        with _told(source, "method", given):
            method = _method(data.get("method", AUTO))
    output = data.get("output", {})
    chosen = {**output, "plots": tuple(output["plots"])} if "plots" in output else output
    return Scenario(data, problem, method, data.get("h"), data.get("rtol"), Output(**chosen))


def _built_in(data: Mapping[str, Any], source: str, given: Mapping[str, str]) -> Problem:
    name, arguments = data["problem"], data.get("arguments", {})
    make: Any = problems.REGISTRY[name]
    with _told(source, "arguments", given):
        try:
            return make(**arguments)
        except NUMERIC as problem:
            raise InputError(f"{arguments} do not make a {name}: {problem}") from problem


def _own(data: Mapping[str, Any], source: str, allow_python: bool) -> Problem:
    with _told(source, "body"):
        body = _body(data["body"])
    with _told(source, "state"):
        given = data["state"]
        attitude = {"q": given["q"]} if "q" in given else {}
        state = State(given["m"], **attitude) if "m" in given else State.from_omega(body, given["omega"], **attitude)
    acting = data.get("force", [])
    parts: list[Force] = []
    for i, entry in enumerate(acting if isinstance(acting, list) else [acting]):
        with _told(source, f"force[{i}]" if isinstance(acting, list) else "force"):
            parts.append(_force(entry, body, data.get("python_folder", "."), allow_python))
    with _told(source):
        return Problem(body, state, sum(parts[1:], parts[0]) if parts else None, tuple(data["t_span"]))


def _body(entry: Mapping[str, Any]) -> RigidBody:
    measures = {key: value for key, value in entry.items() if key not in ("shape", "about", "moments", "tensor")}
    if "shape" in entry:
        body = getattr(RigidBody, entry["shape"])(**measures)
    else:
        make = RigidBody.from_moments if "moments" in entry else RigidBody
        body = make(entry.get("moments", entry.get("tensor")), **measures)
    return body.about(entry["about"]) if "about" in entry else body


def _force(entry: Mapping[str, Any], body: RigidBody, folder: str, allow_python: bool) -> Force:
    arguments = {key: value for key, value in entry.items() if key not in ("kind", "python")}
    if "python" in entry:
        if not allow_python:
            raise InputError(
                f"python = {entry['python']!r}: running code that a file names must be allowed; if you trust "
                "it, add --allow-python (in Python: allow_python=True)"
            )
        return Torque(_function(entry["python"], folder), **arguments)
    make = getattr(forces, entry["kind"])
    return make(body, **arguments) if "body" in inspect.signature(make).parameters else make(**arguments)


def _function(spec: str, folder: str) -> Any:
    """The function "module:function", the module being in that folder or where Python finds it."""
    module, _, name = spec.partition(":")
    sys.path.insert(0, folder)
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as problem:  # whatever the module does
        raise InputError(f"python = {spec!r} cannot be loaded: {type(problem).__name__}: {problem}") from problem
    finally:
        sys.path.remove(folder)


def _method(given: Any) -> Any:
    if isinstance(given, str):
        return None if given == AUTO else method_of(given)
    flow = flow_of(given["flow"]) if "flow" in given else None
    return Splitting(flow, given["scheme"])


def _has_python(data: Mapping[str, Any]) -> bool:
    acting = data.get("force", [])
    return any("python" in entry for entry in (acting if isinstance(acting, list) else [acting]) if entry)


def _toml_value(text: str) -> Any:
    """A value as TOML writes it; what is none is a text."""
    try:
        found = tomllib.loads(f"value = {text.strip()}")
    except (ValueError, RecursionError):
        return text.strip()
    return found["value"] if len(found) == 1 else text.strip()


def _put(table: Any, path: list[str], value: Any, origin: str) -> None:
    for place, key in enumerate(path):
        last = place == len(path) - 1
        if isinstance(table, list) and key.isdecimal() and int(key) < len(table):
            index: Any = int(key)
        elif isinstance(table, dict):
            index = key
            if not last:
                table.setdefault(key, {})
        else:
            raise InputError(f"{origin}: there is no {'.'.join(path[: place + 1])!r} to set")
        if last:
            table[index] = value
        table = table[index]


@contextmanager
def _told(source: str, key: str = "", given: Mapping[str, str] = {}) -> Iterator[None]:
    """Errors say in which file, and at which key of it; or which of the settings ``given``, by their keys, is wrong."""
    try:
        yield
    except PolhodeError as problem:
        place = f"{getattr(problem, 'key', key)}."
        wrong = next((text for name, text in given.items() if place.startswith(f"{name}.")), None)
        where = f"{source}: {key}" if key else source
        raise InputError(f"{where if wrong is None else f'setting {wrong!r}'}: {problem}") from problem
