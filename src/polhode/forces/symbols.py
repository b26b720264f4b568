"""Symbols: numbers that record what is computed with them, as nodes of a graph.

A function that is called with symbols instead of numbers returns symbols, whose nodes are its graph. Arithmetic and
smooth functions are recorded; functions that the graph does not have are expressed by those that it has. Whatever
requires the value of a symbol, such as a comparison, is refused, unless the symbol depends on parameters only: then it
is decided by their numbers, if it is the same for all bodies of a batch, and the decision becomes a condition of the
graph.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from types import CodeType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.errors import NotTraceable
from polhode.kernels.graphs import graph as graphs
from polhode.kernels.graphs.array_series import OF_ARRAYS
from polhode.kernels.graphs.graph import Graph, Kind

LARGEST_GRAPH = 20_000  # nodes; far more than can be compiled in reasonable time
OTHERWISE = "use the method Adaptive, which needs no graph"
ON_BREAKS = "use the method Adaptive, and pass the times of switches as breaks if the branch depends on t only"
OWN_MODULES = tuple(f"polhode.forces.{name}" for name in ("symbols", "rebinding", "tracing"))
LONGEST_TEXT = 24  # numbers and inputs of an expression that is written in a message


class Condition(NamedTuple):
    """What was decided by the numbers of parameters: the outcome of a NumPy function of some nodes."""

    function: np.ufunc
    nodes: tuple[int, ...]
    outcome: Any

    def holds(self, graph: Graph, rows: FloatArray) -> bool:
        """Return whether the outcome is the same for all rows of parameters (n, k)."""
        return bool(np.all(self.function(*values_of(graph, self.nodes, rows)) == self.outcome))


class Recording:
    """A graph that grows while functions are called with its symbols, and the decisions made meanwhile.

    Parameters
    ----------
    rows : ndarray, shape (n, k)
        Parameters of all bodies, by which comparisons of parameters are decided.
    exact : bool, optional
        Whether operations on numbers are recorded, too, instead of being computed.

    Attributes
    ----------
    graph : Graph
        The graph.
    conditions : list of Condition
        The decisions.
    is_faithful : bool
        Whether all functions are as accurate in the graph as in Python, and have the same domain: see UNFAITHFUL.
    """

    def __init__(self, rows: FloatArray, exact: bool = False) -> None:
        self.graph = Graph(exact)
        self.rows = rows
        self.conditions: list[Condition] = []
        self.is_faithful = True

    def input(self, name: str) -> Symbol:
        """Return the symbol of an input."""
        return Symbol(self, self.graph.input(name))

    def symbol(self, x: Any) -> Symbol:
        """Return a symbol of a number or a symbol."""
        if type(x) is Symbol and x.recording is not self:
            refuse("a value of an earlier call cannot be traced")
        return x if type(x) is Symbol else Symbol(self, self.graph.number(float(x)))

    def decided(self, function: np.ufunc, *symbols: Symbol) -> Any:
        """Return the value of a NumPy function of symbols that depend on parameters only, and record it."""
        nodes = tuple(symbol.node for symbol in symbols)
        with np.errstate(all="ignore"):
            outcomes = np.ravel(function(*values_of(self.graph, nodes, self.rows)))
        if not outcomes.size or np.any(outcomes != outcomes[0]):
            texts = " and ".join(map(str, symbols))
            refuse(
                f"a decision depends on parameters ({texts}), and is not the same for all bodies of the batch",
                "pass bodies with different decisions separately, or use the method Adaptive",
            )
        outcome = outcomes[0].item()
        condition = Condition(function, nodes, outcome)
        if condition not in self.conditions:
            self.conditions.append(condition)
        return outcome


def values_of(graph: Graph, nodes: Sequence[int], rows: FloatArray) -> list[Any]:
    """Return the values of nodes that depend on parameters only, for all rows of parameters (n, k)."""
    inputs = {f"p{k}": rows[:, k] for k in range(rows.shape[1])}
    return graphs.evaluate(graph, nodes, inputs, OF_ARRAYS)


class Symbol:
    """A number that is not known: a node of the graph of a recording.

    Examples
    --------
    >>> recording = Recording(np.empty((1, 0)))
    >>> x = recording.input("w0")
    >>> np.sin(2.0 * x) + x * x
    sin(2*w0) + w0^2
    """

    __slots__ = ("node", "recording")

    def __init__(self, recording: Recording, node: int) -> None:
        if node > LARGEST_GRAPH:
            refuse(f"the function consists of more than {LARGEST_GRAPH} operations")
        self.recording = recording
        self.node = node

    def __repr__(self) -> str:
        """Return the expression, or, if it is long, the inputs on which it depends."""
        graph = self.recording.graph
        if text_length(graph, self.node) <= LONGEST_TEXT:
            return graph.text(self.node)
        return f"an expression of {', '.join(sorted(graph.inputs([self.node])))}"

    def __format__(self, specification: str) -> str:
        """Return the expression, whatever format is asked for."""
        return repr(self)

    @property
    def number(self) -> float | None:
        """Return the value if the symbol is a number, and None otherwise."""
        node = self.recording.graph.nodes[self.node]
        return node.value if node.operation == "number" else None

    # Arithmetic. Arrays of NumPy, which are not numbers, compute their elements by __array_ufunc__.

    def __add__(self, other: Any) -> Any:
        """Return self + other."""
        return self._combined("add", other)

    def __radd__(self, other: Any) -> Any:
        """Return other + self."""
        return self._combined("add", other, swapped=True)

    def __sub__(self, other: Any) -> Any:
        """Return self - other."""
        return self._combined("subtract", other)

    def __rsub__(self, other: Any) -> Any:
        """Return other - self."""
        return self._combined("subtract", other, swapped=True)

    def __mul__(self, other: Any) -> Any:
        """Return self * other."""
        return self._combined("multiply", other)

    def __rmul__(self, other: Any) -> Any:
        """Return other * self."""
        return self._combined("multiply", other, swapped=True)

    def __truediv__(self, other: Any) -> Any:
        """Return self / other."""
        return self._combined("divide", other)

    def __rtruediv__(self, other: Any) -> Any:
        """Return other / self."""
        return self._combined("divide", other, swapped=True)

    def __pow__(self, other: Any) -> Any:
        """Return self ** other."""
        return power(self, self.recording.symbol(other)) if is_number(other) else NotImplemented

    def __rpow__(self, other: Any) -> Any:
        """Return other ** self."""
        return power(self.recording.symbol(other), self) if is_number(other) else NotImplemented

    def __neg__(self) -> Symbol:
        """Return -self."""
        return Symbol(self.recording, self.recording.graph.negative(self.node))

    def __pos__(self) -> Symbol:
        """Return self."""
        return self

    def _combined(self, operation: str, other: Any, swapped: bool = False) -> Any:
        """Return the symbol of an operation on this symbol and another one or a number."""
        if not is_number(other):
            return NotImplemented
        nodes = self.node, self.recording.symbol(other).node
        method = getattr(self.recording.graph, operation)
        return Symbol(self.recording, method(*(reversed(nodes) if swapped else nodes)))

    def _function(self, name: str) -> Symbol:
        """Return one of the functions of graphs."""
        return Symbol(self.recording, self.recording.graph.function(name, self.node))

    # What requires values: it is decided by the numbers of parameters, or refused.

    def __bool__(self) -> bool:
        """Return whether the value is not 0."""
        return self._compared(np.not_equal, 0.0)

    def __lt__(self, other: Any) -> bool:
        """Return whether self < other."""
        return self._compared(np.less, other)

    def __le__(self, other: Any) -> bool:
        """Return whether self <= other."""
        return self._compared(np.less_equal, other)

    def __gt__(self, other: Any) -> bool:
        """Return whether self > other."""
        return self._compared(np.greater, other)

    def __ge__(self, other: Any) -> bool:
        """Return whether self >= other."""
        return self._compared(np.greater_equal, other)

    def __eq__(self, other: object) -> bool:
        """Return whether self == other."""
        return self._compared(np.equal, other)

    def __ne__(self, other: object) -> bool:
        """Return whether self != other."""
        return self._compared(np.not_equal, other)

    def __hash__(self) -> int:
        """Return a hash of the node."""
        return hash((id(self.recording), self.node))

    def _compared(self, comparison: np.ufunc, other: Any) -> bool:
        """Return the outcome of a comparison of parameters; raise NotTraceable if it depends on the state."""
        if not is_number(other):
            return NotImplemented
        both = self, self.recording.symbol(other)
        for symbol in both:
            if symbol._is_variable:
                refuse(f"a branch on the state ({symbol}) cannot be traced", ON_BREAKS)
        if None not in (numbers := [symbol.number for symbol in both]):
            return bool(comparison(*numbers))
        return bool(self.recording.decided(comparison, *both))

    @property
    def _is_variable(self) -> bool:
        """Return whether the symbol depends on more than parameters."""
        graph = self.recording.graph
        return graph.kinds[self.node] != Kind.CONSTANT or any(name[0] != "p" for name in graph.inputs([self.node]))

    def rounded(self, function: np.ufunc, name: str) -> float:
        """Return the value of a function that jumps, such as the floor, of parameters."""
        if self._is_variable:
            refuse(f"{name} of the state ({self}) cannot be traced")
        number = self.number
        return float(function(number) if number is not None else self.recording.decided(function, self))

    def __float__(self) -> float:
        """Return the value; raise NotTraceable if it depends on the state."""
        return self.rounded(np.positive, "a function that requires a number, such as float(),")

    def __complex__(self) -> complex:
        """Raise NotTraceable."""
        refuse(f"complex numbers of the state ({self}) cannot be traced")

    def __int__(self) -> int:
        """Return the integer part of a parameter; raise NotTraceable if it depends on the state."""
        return int(self.rounded(np.trunc, "int()"))

    def __index__(self) -> int:
        """Raise TypeError, as floats do."""
        raise TypeError(f"{self} is not an integer")

    def __round__(self, digits: int | None = None) -> Any:
        """Return a parameter, rounded; raise NotTraceable if it depends on the state."""
        value = self.rounded(np.positive, "round()")
        return round(value) if digits is None else round(value, digits)

    def __trunc__(self) -> int:
        """Return the integer part of a parameter."""
        return int(self)

    def __floor__(self) -> int:
        """Return the largest integer that is not larger than a parameter."""
        return int(self.rounded(np.floor, "floor"))

    def __ceil__(self) -> int:
        """Return the smallest integer that is not smaller than a parameter."""
        return int(self.rounded(np.ceil, "ceil"))

    def __abs__(self) -> Symbol:
        """Return the absolute value."""
        if self._is_variable:
            return Symbol(self.recording, self.recording.graph.absolute(self.node))
        return self if self >= 0.0 else -self

    def __mod__(self, other: Any) -> NoReturn:
        """Raise NotTraceable."""
        refuse(f"a remainder or a rounded quotient ({self}) cannot be traced")

    __rmod__ = __floordiv__ = __rfloordiv__ = __divmod__ = __rdivmod__ = __mod__

    # NumPy.

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *arguments: Any, **options: Any) -> Any:
        """Return the value of a function of NumPy, of symbols, numbers and arrays of these."""
        if method != "__call__":
            refuse(f"np.{ufunc.__name__}.{method} of a single number cannot be traced")
        return apply_ufunc(ufunc, *arguments, **options)

    @property
    def real(self) -> Symbol:
        """Return self."""
        return self

    def item(self) -> Symbol:
        """Return self, as numbers of NumPy do."""
        return self


def refuse(reason: str, advice: str = OTHERWISE) -> NoReturn:
    """Raise NotTraceable, with the line of the user's function that is being called."""
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and is_inner(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    raise NotTraceable(f"{located(frame.f_code, frame.f_lineno)}: {reason}; {advice}")


def located(code: CodeType, line: int) -> str:
    """Return the name of a function, with its file and the line where it is."""
    return f"{code.co_qualname} ({code.co_filename}:{line})"


def is_inner(module: str | None) -> bool:
    """Return whether code of a module is called by functions of the user to compute with symbols.

    Code that ``exec`` runs has no module.
    """
    return module in OWN_MODULES or (module or "").partition(".")[0] in ("numpy", "functools")


def text_length(graph: Graph, node: int) -> int:
    """Return how many numbers and inputs the text of a node consists of; shared expressions are repeated there."""
    lengths: dict[int, int] = {}
    for index in graph.used([node]):
        own = graph.own_arguments(index)
        lengths[index] = sum(lengths[argument] for argument in own) if own else 1
    return lengths[node]


def is_number(x: Any) -> bool:
    """Return whether an object is a symbol or a real number."""
    return type(x) in (Symbol, float, int) or isinstance(x, Real | np.bool_)


# Functions that graphs do not have, in terms of those that they have.


def power(x: Symbol, y: Symbol) -> Symbol:
    """Return x ** y."""
    exponent = y.number
    if exponent is None and not y._is_variable:
        exponent = _common_value(y)
    if exponent is None:
        x.recording.is_faithful = False  # the base may be negative if the exponent is a whole number
        return (y * x._function("log"))._function("exp")
    return Symbol(x.recording, x.recording.graph.power(x.node, exponent))


def _common_value(y: Symbol) -> float | None:
    """Return the value of a symbol of parameters if all bodies have the same, and None otherwise."""
    values = np.ravel(values_of(y.recording.graph, [y.node], y.recording.rows)[0])
    return y.recording.decided(np.positive, y) if np.all(values == values[:1]) else None


def hypot(*x: Symbol) -> Symbol:
    """Return the length of a vector."""
    return sum(component * component for component in x)._function("sqrt")


def copysign(x: Symbol, y: Symbol) -> Symbol:
    """Return |x| with the sign of y."""
    return abs(x) * Symbol(y.recording, y.recording.graph.sign(y.node))


def cbrt(x: Symbol) -> Symbol:
    """Return the cube root, also of negative numbers."""
    return x * (x * x) ** (-1.0 / 3.0)


def expm1(x: Symbol) -> Symbol:
    """Return exp(x) - 1 without cancellation."""
    return 2.0 * (0.5 * x)._function("exp") * (0.5 * x)._function("sinh")


def arctanh(x: Symbol) -> Symbol:
    """Return the inverse of tanh."""
    return 0.5 * ((1.0 + x) / (1.0 - x))._function("log")


def arcsinh(x: Symbol) -> Symbol:
    """Return the inverse of sinh, by a formula whose cancellation at large negative numbers is small."""
    return 2.0 * arctanh(x / (1.0 + (1.0 + x * x)._function("sqrt")))


def arccosh(x: Symbol) -> Symbol:
    """Return the inverse of cosh."""
    return (x + (x * x - 1.0)._function("sqrt"))._function("log")


def logarithm(x: Symbol, base: Symbol | None = None) -> Symbol:
    """Return the logarithm to a base; the natural one by default."""
    return x._function("log") if base is None else x._function("log") / base._function("log")


def arctan2(y: Symbol, x: Symbol) -> Symbol:
    """Return the angle of the vector (x, y)."""
    return Symbol(y.recording, y.recording.graph.atan2(y.node, x.node))


def _of_graph(name: str) -> Callable[[Symbol], Symbol]:
    """Return a function of symbols that graphs have."""
    return lambda x: x._function(name)


def _jump(function: np.ufunc) -> Callable[[Symbol], float]:
    """Return a function of symbols that jumps, which is defined for parameters only."""
    return lambda x: x.rounded(function, function.__name__)


# Functions of symbols by their names in NumPy.
LOWERED: Mapping[str, Callable[..., Any]] = {
    **{name: _of_graph(name) for name in ("sqrt", "exp", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: _jump(getattr(np, name)) for name in ("floor", "ceil", "trunc", "rint", "sign")},
    **{name: _jump(getattr(np, name)) for name in ("isfinite", "isnan", "isinf", "signbit")},
    "log": logarithm,
    "arcsin": _of_graph("asin"),
    "arccos": lambda x: 0.5 * math.pi - x._function("asin"),
    "arctan": _of_graph("atan"),
    "arctan2": arctan2,
    "arcsinh": arcsinh,
    "arccosh": arccosh,
    "arctanh": arctanh,
    "log2": lambda x: x._function("log") * (1.0 / math.log(2.0)),
    "log10": lambda x: x._function("log") * (1.0 / math.log(10.0)),
    "log1p": lambda x: (1.0 + x)._function("log"),
    "logaddexp": lambda x, y: (x._function("exp") + y._function("exp"))._function("log"),
    "exp2": lambda x: (x * math.log(2.0))._function("exp"),
    "expm1": expm1,
    "hypot": hypot,
    "cbrt": cbrt,
    "copysign": copysign,
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1.0 / x,
    "power": power,
    "float_power": power,
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "negative": operator.neg,
    "positive": operator.pos,
    "conjugate": operator.pos,
    "absolute": abs,
    "fabs": abs,
    "radians": lambda x: x * (math.pi / 180.0),
    "deg2rad": lambda x: x * (math.pi / 180.0),
    "degrees": lambda x: x * (180.0 / math.pi),
    "rad2deg": lambda x: x * (180.0 / math.pi),
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "maximum": lambda x, y: x if x >= y else y,
    "minimum": lambda x, y: x if x <= y else y,
    "fmax": lambda x, y: x if x >= y else y,
    "fmin": lambda x, y: x if x <= y else y,
}

# Functions of LOWERED that lose digits near a zero, or fail at numbers where those of Python do not.
UNFAITHFUL = {"arccos", "arcsinh", "arccosh", "arctanh", "log1p", "logaddexp", "cbrt", "copysign"}

# NumPy calls methods of these names on the elements of arrays of objects.
METHODS = (
    "sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arctan2",
    "arcsinh", "arccosh", "arctanh", "log2", "log10", "log1p", "exp2", "expm1", "hypot", "cbrt", "conjugate", "fabs",
    "floor", "ceil", "trunc", "rint", "radians", "degrees", "deg2rad", "rad2deg",
)  # fmt: skip


def _method(name: str) -> Callable[..., Any]:
    """Return a method of symbols that computes one of the functions of LOWERED."""

    def method(*arguments: Any) -> Any:
        return lowered(name, *arguments)

    method.__name__ = name
    return method


for _name in METHODS:
    setattr(Symbol, _name, _method(_name))


def lowered(name: str, *arguments: Any) -> Any:
    """Return a function, by its name in NumPy, of symbols and numbers, one of which is a symbol."""
    if name not in LOWERED:
        refuse(f"the function {name} cannot be traced")
    recording = next(x.recording for x in arguments if type(x) is Symbol)
    recording.is_faithful &= name not in UNFAITHFUL
    return LOWERED[name](*map(recording.symbol, arguments))


def apply_ufunc(ufunc: np.ufunc, *given: Any, out: Any = None, **options: Any) -> Any:
    """Return a function of NumPy of symbols, numbers, and arrays or sequences of these."""
    arguments, target = given[: ufunc.nin], given[ufunc.nin :] or out
    if options:
        refuse(f"np.{ufunc.__name__} with the arguments {', '.join(options)} cannot be traced")
    if ufunc.signature is not None:  # of whole arrays, such as matmul
        result = ufunc(*map(boxed, arguments))
    else:
        result = np.frompyfunc(_of_elements(ufunc), ufunc.nin, 1)(*map(boxed, arguments))
    if target is None:
        return result
    array = target[0] if isinstance(target, tuple) else target
    array[...] = result
    return array


def _of_elements(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return a function of symbols or numbers, which calls `ufunc` if none is a symbol."""

    def function(*arguments: Any) -> Any:
        if any(type(x) is Symbol for x in arguments):
            return lowered(ufunc.__name__, *arguments)
        return ufunc(*map(float, arguments)).item()

    return function


def boxed(x: Any) -> Any:
    """Return an array of objects of a symbol or a sequence of symbols; arrays and numbers are returned unchanged."""
    if type(x) is Symbol:
        box = np.empty((), dtype=object)
        box[()] = x
        return box
    return np.array(x, dtype=object) if isinstance(x, list | tuple) else x


def has_symbols(x: Any) -> bool:
    """Return whether an object is a symbol, or an array of objects or a sequence that may contain symbols."""
    if isinstance(x, list | tuple):
        return any(map(has_symbols, x))
    return type(x) is Symbol or (isinstance(x, np.ndarray) and x.dtype == object)
