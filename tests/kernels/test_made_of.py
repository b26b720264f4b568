"""Stamps of entry points: each changes with every number that is compiled into it, and with nothing else.

What an entry point is made of is found a second time here, from the text of the sources: by which names each function
refers to which others.
"""

from __future__ import annotations

import ast
import functools
import gc
import importlib
from types import CodeType, FunctionType

import pytest

from conftest import ROOT
from polhode.kernels.compiler import JIT, build, made_of

pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled with POLHODE_JIT=0")

SOURCE = ROOT / "src"
COMPILER = "polhode.kernels.compiler"
CONSTANTS = int, float, tuple
LINKED = {
    "call_by_name",
    "linked_address",
}  # of entry points that are linked with their callers, not compiled with them


def modules():
    """The modules that may hold compiled code, but for those that compile."""
    for folder in build.COMPILED_FOLDERS:
        for path in sorted((SOURCE / "polhode" / folder).rglob("*.py")):
            name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
            if not name.startswith(COMPILER):
                yield name


@functools.cache
def tree(module):
    path = SOURCE.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_bytes()) if path.exists() else ast.Module([], [])


@functools.cache
def names(module):
    """Name in a module -> (module, name) elsewhere, another module, or the statement that defines it."""
    found = {}
    waiting = list(tree(module).body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.If):
            waiting += node.body  # as ``if JIT``
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found[alias.asname or alias.name] = whole if tree(whole).body else (node.module, alias.name)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Tuple)
            and isinstance(node.value, ast.Tuple)
        ):
            pairs = zip(node.targets[0].elts, node.value.elts, strict=True)
            waiting += [ast.Assign([target], value) for target, value in pairs]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in ast.walk(node):
                if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store):
                    found[target.id] = node
    return found


def reads(node):
    """Names, and names with an attribute, that a function or an expression reads from outside."""
    if isinstance(node, ast.ClassDef) or LINKED & {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}:
        return set()
    parts = [*node.body, node.args] if isinstance(node, ast.FunctionDef) else [node.value or ast.Constant(0)]
    if isinstance(parts[0], ast.Call) and ast.unparse(parts[0].func) == "call_by_address":
        parts = parts[0].args[:1]  # the other one is for plain Python
    inner = [x for part in parts for x in ast.walk(part)]
    own = {x.id for x in inner if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    own |= {x.arg for x in inner if isinstance(x, ast.arg)}
    found = {(x.id, None) for x in inner if isinstance(x, ast.Name)}
    found |= {(x.value.id, x.attr) for x in inner if isinstance(x, ast.Attribute) and isinstance(x.value, ast.Name)}
    return {(name, attribute) for name, attribute in found if name not in own}


@functools.cache
def reached(module, name, directly=False):
    """All (module, name) that are part of a function; ``directly``: without those that constants are computed from."""
    found, waiting = set(), [(module, name)]
    while waiting:
        place = waiting.pop()
        if place in found or not place[0].startswith("polhode") or place[0].startswith(COMPILER):
            continue
        meaning = names(place[0]).get(place[1])
        if isinstance(meaning, tuple):
            waiting.append(meaning)
        elif isinstance(meaning, ast.AST):
            found.add(place)
            is_constant = type(getattr(importlib.import_module(place[0]), place[1])) in CONSTANTS
            for name, attribute in reads(meaning) if not (directly and is_constant) else ():
                other = names(place[0]).get(name)
                waiting.append((other, attribute) if isinstance(other, str) else (place[0], name))
    return found


def made_from(entry, directly=False):
    """All (module, name) that are part of an entry point, by the text of the sources."""
    outer, _, rest = entry.__qualname__.partition(".")
    if not rest:
        return reached(entry.__module__, outer, directly)
    module, prepare, advance = rest.rsplit(".", 2)  # made by ``loops``
    own = (entry.__module__, advance) if outer == "advance_entry" else (module, prepare)
    return reached(*own, directly) | {("polhode.kernels.stepping.loops", outer)}


@pytest.fixture(scope="module")
def entries():
    return {key.rsplit("-", 1)[0]: entry for key, entry in build.entries().items()}


def changed(x):
    """Code, a number or a tuple with every number changed."""
    if isinstance(x, CodeType):
        return x.replace(co_consts=changed(x.co_consts))
    if type(x) is tuple:
        return tuple(map(changed, x))
    return x if type(x) not in (int, float) else x + 1 if x + 1 != x == x else 0.5  # for 1e150, infinity and nan


def stamps(entries):
    return {name: made_of.stamp(entry, "compiler") for name, entry in entries.items()}


def check(entries, parts, before, places):
    """Return the entry points that changed; they must be those that contain one of the places."""
    after = stamps(entries)
    found = {name for name in entries if after[name] != before[name]}
    expected = {name for name in entries if parts[name] & places}
    assert (found - expected, expected - found) == (set(), set())
    return found


@pytest.mark.long
def test_every_entry_point_depends_on_the_numbers_in_its_functions_and_on_no_others(entries):
    """All numbers in the functions of a module are changed, one module at a time."""
    before, parts = stamps(entries), {name: made_from(entry) for name, entry in entries.items()}
    functions = {}
    for function in [x for x in gc.get_objects() if type(x) is FunctionType]:  # others may be dead references
        functions.setdefault(function.__globals__.get("__name__"), []).append(function)
    seen = set()
    for module in modules():
        originals = {f: f.__code__ for f in functions.get(module, ()) if changed(f.__code__) != f.__code__}
        for function, original in originals.items():
            function.__code__ = changed(original)
        try:
            places = {(module, function.__qualname__.partition(".")[0]) for function in originals}
            seen |= check(entries, parts, before, places) if places else set()
        finally:
            for function, original in originals.items():
                function.__code__ = original
    assert {*entries} - seen == {"polhode.kernels.stepping.system_steps.step_factor"}  # there are no numbers in it


@pytest.mark.long
def test_every_entry_point_depends_on_the_constants_that_it_reads_and_on_no_others(entries, monkeypatch):
    """All constants of a module are changed, one module at a time, also where others have imported them."""
    before, parts = stamps(entries), {name: made_from(entry, directly=True) for name, entry in entries.items()}
    seen = set()
    for module in modules():
        places = set()
        with monkeypatch.context() as patch:
            for name, node in names(module).items():
                value = vars(importlib.import_module(module)).get(name)
                if isinstance(node, ast.Assign) and type(value) in CONSTANTS and changed(value) != value:
                    places.add((module, name))
                    for other in modules():
                        for alias, meaning in names(other).items():
                            if (other, alias) == (module, name) or meaning == (module, name):
                                patch.setattr(importlib.import_module(other), alias, changed(value))
            if places and check(entries, parts, before, places):
                seen.add(module)
    assert {
        "polhode.kernels.graphs.places",
        "polhode.kernels.numbers.series",
        "polhode.kernels.numbers.lanes",
    } <= seen
