"""Scenarios: TOML files with a problem, the way to integrate it, and the results to write (``docs/scenarios.md``).

The structure of a file is checked against a JSON schema (``structure``), and its values by the functions that use them.
Nothing in a file is executed: a torque in Python is loaded only with ``allow_python=True``.
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
from polhode.core.checks import known_name
from polhode.core.errors import InputError, PolhodeError
from polhode.core.messages import Hint
from polhode.core.state import State
from polhode.forces.base import Force, Torque
from polhode.integration.problem import Problem
from polhode.methods.expressions import flow_of, method_of
from polhode.methods.method import Method
from polhode.methods.splitting import Splitting
from polhode.scenarios import schema
from polhode.scenarios.structure import json_schema

__all__ = [
    "Output",
    "Scenario",
    "json_schema",
    "read_scenario",
]
__dir__ = __all__.copy  # public names only


AUTO = "auto"
OWN = ("body", "state", "force")  # tables that a built-in problem replaces
PLAIN = ("name", "summary", "t_span", "method", "h", "rtol")  # keys with a single value that every scenario may have
DESCRIBED = ("problem", "arguments", "body", "state", "force")  # keys that the summary of a file describes
NUMERIC = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)  # errors that invalid arguments cause


@dataclass(frozen=True)
class Output:
    """Results to write: the table ``[output]`` of a scenario.

    Parameters
    ----------
    folder : str, optional
        Folder for the results. By default, ``out/NAME``.
    save_every : int, optional
        Number of steps from one saved state to the next.
    states : int, optional
        Number of saved states, evenly spaced in time, instead of ``save_every``.
    format : {"nc", "zarr", "csv"}, optional
        File format of the trajectory. By default, it depends on the number of states and the installed packages.
    plots : tuple of str, optional
        Pictures to draw.

    Examples
    --------
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
    r"""Scenario that was read from a TOML file by ``read_scenario``.

    Parameters
    ----------
    data : dict
        Tables of the file with all settings; written as TOML, they describe the same scenario.
    problem : Problem
        Problem to integrate.
    method : method, optional
        Method of integration. None lets polhode choose one.
    h : float, optional
        Step size.
    rtol : float, optional
        Error tolerance at the end of the time span.
    output : Output, optional
        Results to write.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "top.toml")
    ...     _ = path.write_text('problem = "heavy_top"\nh = 0.05', "utf-8")
    ...     read_scenario(path).h
    0.05
    """

    data: dict[str, Any]
    problem: Problem
    method: Method | None = None
    h: float | None = None
    rtol: float | None = None
    output: Output = field(default_factory=Output)


def read_scenario(path: str | Path, settings: Sequence[str] = (), *, allow_python: bool = False) -> Scenario:
    r"""Return the scenario that a TOML file describes.

    Parameters
    ----------
    path : str or Path
        TOML file.
    settings : sequence of str, optional
        Settings such as ``"h=0.1"``, which replace values of the file.
    allow_python : bool, optional
        Whether to load torques that the file names as Python code. Pass True only for files that you trust.

    Returns
    -------
    Scenario
        Scenario with the settings.

    Raises
    ------
    InputError
        If the file cannot be read, has an invalid key or value, or names Python code that is not allowed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "top.toml")
    ...     _ = path.write_text('problem = "heavy_top"\nh = 0.05', "utf-8")
    ...     read_scenario(path, ["h=0.1"]).h
    0.1
    """
    return build(with_settings(read(path), settings), str(path), settings=settings, allow_python=allow_python)


def read(path: str | Path) -> dict[str, Any]:
    """Return the tables of a TOML file, not checked yet, with its folder if it names modules of Python."""
    file = Path(path)
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror or problem}") from None
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{path} is not a TOML file: {problem}") from None
    return {"python_folder": str(file.resolve().parent), **data} if _has_python(data) else data


def built_in(name: str) -> dict[str, Any]:
    """Return the tables of the scenario that is a built-in problem with its default arguments.

    >>> built_in("heavy_top")
    {'problem': 'heavy_top'}
    """
    return {"problem": known_name("problem", name, problems.REGISTRY)}


def with_settings(data: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """Return a copy of `data` with some keys set, each by a string "key=value" whose value is in TOML syntax.

    A key that is not a key of scenarios is an argument of the built-in problem. The summary of a file describes its own
    body, state and forces; if settings change these, a list of the settings replaces the summary.

    >>> with_settings({"problem": "heavy_top"}, ["h=0.1", "eps=1e-6"])
    {'problem': 'heavy_top', 'h': 0.1, 'arguments': {'eps': 1e-06}}
    """
    changed = copy.deepcopy(dict(data))
    undescribed: list[str] = []  # settings that contradict the summary of the file
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(_setting(text), ": expected KEY=VALUE, for example h=0.1 or body.mass=2")
        path = set_value(changed, name, _toml_value(value), _setting(text))
        if path[0] in DESCRIBED:
            undescribed.append(text)
    if undescribed and changed.get("summary", "") == data.get("summary"):
        changed["summary"] = f"with {', '.join(undescribed)}"
    return changed


def set_value(data: dict[str, Any], key: str, value: Any, origin: str) -> list[str]:
    """Set one key of `data`, with dots into tables and lists, and return its path; `origin` begins messages."""
    path = _path(data, key)
    if path[0] in OWN and "problem" in data:
        known = defaults_of(data["problem"])
        raise InputError(
            origin,
            f": {data['problem']} is a built-in problem, whose {path[0]} follows from its arguments; ",
            *(("use ", _setting(f"{path[-1]}=...")) if path[-1] in known else ("known are: ", ", ".join(known))),
        )
    _put(data, path, value, origin)
    return path


def _setting(text: str) -> Hint:
    """Return the name of a setting in messages."""
    return Hint(f"setting {text!r}", f"--set {text}")


def _path(data: Mapping[str, Any], key: str) -> list[str]:
    """Return the path of a key, which is in ``arguments`` if it is not a key of scenarios."""
    path = key.strip().split(".")
    return ["arguments", *path] if path[0] not in json_schema()["properties"] and "problem" in data else path


def defaults_of(problem: str) -> dict[str, Any]:
    """Return the arguments of a built-in problem and their defaults, as values of TOML.

    >>> defaults_of("perturbed")
    {'t_end': 50000.0}
    """
    parameters = inspect.signature(problems.REGISTRY[problem]).parameters if problem in problems.REGISTRY else {}
    return {name: np.asarray(parameter.default).tolist() for name, parameter in parameters.items()}


def keys_to_set(source: str) -> list[str]:
    """Return the keys of a built-in problem or a scenario file that settings can change; empty if it cannot be read.

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
    """Yield the keys of all values that are not tables, with dots into tables and lists of tables."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if _is_of_tables(value) else None
    if entries is None:
        yield place
    else:
        for key, entry in entries:
            yield from _leaves(entry, f"{place}.{key}" if place else str(key))


def _is_of_tables(value: Any) -> bool:
    """Return whether a value is a list of tables."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def build(data: dict[str, Any], source: str, *, settings: Sequence[str] = (), allow_python: bool = False) -> Scenario:
    """Return the scenario that the tables `data` describe.

    Parameters
    ----------
    data : dict
        Tables of a scenario, with all settings.
    source : str
        Name of the file or the built-in problem, for messages.
    settings : sequence of str, optional
        Settings that were applied to `data`. The message of an error in one of them names it instead of `source`.
    allow_python : bool, optional
        Whether to load torques that `data` names as Python code.

    Returns
    -------
    Scenario
        Scenario with the built problem and method.

    Raises
    ------
    InputError
        If a key or a value is invalid; the message names the source, the key, the value and what is expected.
    """
    settings_by_key = {".".join(_path(data, text.partition("=")[0])): text for text in settings}
    with _located_errors(source, settings=settings_by_key):
        schema.check(data, json_schema())
    return unchecked(data, source, settings_by_key, allow_python=allow_python)


def unchecked(data: dict[str, Any], source: str, settings: Mapping[str, str], *, allow_python: bool) -> Scenario:
    """Return the scenario of `data` without checking its structure; `settings` maps keys to the settings of them."""
    with np.errstate(all="ignore"):  # numbers that overflow raise an error that names them
        problem = _built_in(data, source, settings) if "problem" in data else _own(data, source, allow_python)
        with _located_errors(source):
            problem = problem.replaced(**{k: data[k] for k in ("t_span", "name", "summary", "units") if k in data})
        with _located_errors(source, "method", settings):
            method = _method(data.get("method", AUTO))
    output = data.get("output", {})
    chosen = {**output, "plots": tuple(output["plots"])} if "plots" in output else output
    return Scenario(data, problem, method, data.get("h"), data.get("rtol"), Output(**chosen))


def _built_in(data: Mapping[str, Any], source: str, settings: Mapping[str, str]) -> Problem:
    """Return the built-in problem of a scenario."""
    name = data["problem"]
    arguments = data.get("arguments", {})
    make: Any = problems.REGISTRY[name]
    with _located_errors(source, "arguments", settings):
        try:
            return make(**arguments)
        except NUMERIC as problem:
            raise InputError(f"{arguments} are not valid arguments of {name}: {problem}") from problem


def _own(data: Mapping[str, Any], source: str, allow_python: bool) -> Problem:
    """Return the problem that the tables ``[body]``, ``[state]`` and ``[force]`` of a scenario describe."""
    with _located_errors(source, "body"):
        body = _body(data["body"])
    with _located_errors(source, "state"):
        table = data["state"]
        attitude = {"q": table["q"]} if "q" in table else {}
        state = State(table["m"], **attitude) if "m" in table else State.from_omega(body, table["omega"], **attitude)
    entries = data.get("force", [])
    parts: list[Force] = []
    for i, entry in enumerate(entries if isinstance(entries, list) else [entries]):
        with _located_errors(source, f"force[{i}]" if isinstance(entries, list) else "force"):
            parts.append(_force(entry, body, data.get("python_folder", "."), allow_python))
    with _located_errors(source):
        return Problem(body, state, sum(parts[1:], parts[0]) if parts else None, tuple(data["t_span"]))


def _body(entry: Mapping[str, Any]) -> RigidBody:
    """Return the body that a table describes by its moments, its inertia tensor or its shape."""
    measures = {key: value for key, value in entry.items() if key not in ("shape", "about", "moments", "tensor")}
    if "shape" in entry:
        body = getattr(RigidBody, entry["shape"])(**measures)
    else:
        make = RigidBody.from_moments if "moments" in entry else RigidBody
        body = make(entry.get("moments", entry.get("tensor")), **measures)
    return body.about(entry["about"]) if "about" in entry else body


def _force(entry: Mapping[str, Any], body: RigidBody, folder: str, allow_python: bool) -> Force:
    """Return the force of a table; modules of Python torques are searched for in `folder` first."""
    arguments = {key: value for key, value in entry.items() if key not in ("kind", "python")}
    if "python" in entry:
        if not allow_python:
            raise InputError(
                f"python = {entry['python']!r}: code that a file names is not loaded by default; if you trust "
                "it, add --allow-python",
                Hint(" (in Python: allow_python=True)", ""),
            )
        return Torque(_function(entry["python"], folder), **arguments)
    make = getattr(forces, entry["kind"])
    return make(body, **arguments) if "body" in inspect.signature(make).parameters else make(**arguments)


def _function(spec: str, folder: str) -> Any:
    """Return the function "module:function" of a module in `folder` or on the path of Python."""
    module, _, name = spec.partition(":")
    sys.path.insert(0, folder)
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as problem:  # a module can raise anything
        raise InputError(f"python = {spec!r} cannot be loaded: {type(problem).__name__}: {problem}") from problem
    finally:
        sys.path.remove(folder)


def _method(entry: Any) -> Any:
    """Return the method of a name or a table with a flow and a scheme, or None for "auto"."""
    if isinstance(entry, str):
        return None if entry == AUTO else method_of(entry)
    flow = flow_of(entry["flow"]) if "flow" in entry else None
    return Splitting(flow, entry["scheme"])


def _has_python(data: Mapping[str, Any]) -> bool:
    """Return whether a torque of the scenario is Python code; the structure of `data` is not checked yet."""
    entries = data.get("force", [])
    return any("python" in entry for entry in (entries if isinstance(entries, list) else [entries]) if entry)


def _toml_value(text: str) -> Any:
    """Return the value of a TOML expression, or the text itself if it is not valid TOML."""
    try:
        table = tomllib.loads(f"value = {text.strip()}")
    except (ValueError, RecursionError):
        return text.strip()
    return table["value"] if len(table) == 1 else text.strip()


def _put(table: Any, path: list[str], value: Any, origin: str) -> None:
    """Set the value at a path into nested tables and lists; tables that are missing are created."""
    for place, key in enumerate(path):
        last = place == len(path) - 1
        if isinstance(table, list) and key.isdecimal() and int(key) < len(table):
            index: Any = int(key)
        elif isinstance(table, dict):
            index = key
            if not last:
                table.setdefault(key, {})
        else:
            raise InputError(origin, f": there is no {'.'.join(path[: place + 1])!r} to set")
        if last:
            table[index] = value
        table = table[index]


@contextmanager
def _located_errors(source: str, key: str = "", settings: Mapping[str, str] = {}) -> Iterator[None]:
    """Add the file and the key to messages of errors, or the setting of that key if there is one in `settings`."""
    try:
        yield
    except PolhodeError as problem:
        place = f"{getattr(problem, 'key', key)}."
        wrong = next((text for name, text in settings.items() if place.startswith(f"{name}.")), None)
        where = f"{source}: {key}" if key else source
        raise InputError(where if wrong is None else _setting(wrong), ": ", problem) from problem
