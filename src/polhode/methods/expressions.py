"""Parsing of flows and methods written as text, such as "Gauss(3)" or "Splitting(Midpoint(), 'S6_10')".

The `repr` of a flow or method can be typed again, on the command line and in files. Text is never executed: only known
names are accepted, with numbers, strings and other known names as their arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from polhode import flows, methods
from polhode.core.checks import unknown_name
from polhode.core.errors import InputError

if TYPE_CHECKING:
    from polhode.flows.flow import Flow
    from polhode.methods.method import Method

LONGEST = 200  # characters
FLOW, METHOD = "flow", "method"


def flow_of(text: str) -> Flow:
    """Return the flow that `text` describes.

    Parameters
    ----------
    text : str
        A call such as "Gauss(3)". Empty parentheses may be omitted.

    Returns
    -------
    Flow
        The flow.

    Raises
    ------
    InputError
        If `text` is not such a call, or the name or its arguments are not valid.

    Examples
    --------
    >>> flow_of("Gauss(3)"), flow_of("Exact")
    (Gauss(3), Exact())
    """
    return _built(_parsed(text, FLOW), FLOW, text, {FLOW: flows})


def method_of(text: str) -> Method:
    """Return the method that `text` describes.

    Parameters
    ----------
    text : str
        A call such as "Adaptive(1e-8)", the name of a method, or the name of a scheme, which becomes a `Splitting` with
        exact drifts.

    Returns
    -------
    Method
        The method.

    Raises
    ------
    InputError
        If `text` is not such a call or name, or the name or its arguments are not valid.

    Examples
    --------
    >>> method_of("S6_10")
    Splitting(Exact(), 'S6_10')
    >>> method_of("Splitting(Midpoint(), 'V2')")
    Splitting(Midpoint(), 'V2')
    """
    node = _parsed(text, METHOD)
    if isinstance(node, ast.Name):
        return methods.as_method(node.id)
    return _built(node, METHOD, text, {FLOW: flows, METHOD: methods})


def _parsed(text: str, kind: str) -> ast.expr:
    """Return the syntax tree of `text`; `kind` is "flow" or "method", for error messages."""
    hint = f'expected a name, or a name with arguments, such as "{"Gauss(3)" if kind == FLOW else "Adaptive(1e-8)"}"'
    if not text.isascii() or "\\" in text or len(text) > LONGEST:
        raise InputError(f"{kind} = {text[:LONGEST]!r}; {hint}")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(f"{kind} = {text!r} cannot be read; {hint}") from None


def _built(node: ast.expr, kind: str, text: str, sources: Mapping[str, Any]) -> Any:
    """Return the flow or method of a syntax node; `sources` maps the allowed kinds to the packages that define them."""
    call = node if isinstance(node, ast.Call) else ast.Call(node, [], [])
    if not isinstance(call.func, ast.Name):
        raise InputError(f"{kind} = {text!r}; expected a name, possibly with arguments in parentheses")
    arguments = [_argument(value, text, sources) for value in call.args]
    by_name = {word.arg or "**": _argument(word.value, text, sources) for word in call.keywords}
    if len(by_name) < len(call.keywords):
        raise InputError(f"{kind} = {text!r}: got the same argument twice; expected each one once")
    constructor = _class(call.func.id, kind, sources)
    try:
        return constructor(*arguments, **by_name)
    except (TypeError, ValueError, AttributeError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(f"{kind} = {text!r}: {problem}") from None


def _class(name: str, kind: str, sources: Mapping[str, Any]) -> Any:
    """Return the class called `name`; raise InputError, which suggests similar names, if there is none."""
    tables = {FLOW: flows.FLOWS, METHOD: methods.METHODS}
    for source, module in sources.items():
        if name in tables[source]:
            return module.load(name)
    raise unknown_name(kind, name, [known for source in sources for known in tables[source]])


def _argument(node: ast.expr, text: str, sources: Mapping[str, Any]) -> Any:
    """Return the value of an argument: a literal (a number, a string or a list of them) or a flow."""
    if isinstance(node, ast.Call):
        return _built(node, FLOW, text, {FLOW: sources[FLOW]})
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise InputError(f"{text!r}: expected arguments that are numbers, strings, lists of them, or flows") from None
