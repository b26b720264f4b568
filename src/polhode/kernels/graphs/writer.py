"""Text of LLVM for arithmetic: values with operators that write instructions.

Products may be fused with sums ('contract'). A factor or a summand may be a float; 0 and 1 are simplified, so that
formulas for general coefficients cost nothing where coefficients vanish.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

LANES = 4  # of vectors
VECTOR = f"<{LANES} x double>"


class Writer:
    """Collects instructions and the constants of the entry block."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.block = "begin"  # the present block
        self._count = 0
        self.called: set[str] = set()

    def name(self) -> str:
        """Return a new name of a value or of a block."""
        self._count += 1
        return f"v{self._count}"

    def put(self, line: str) -> None:
        """Write an instruction without a result."""
        self.lines.append(f"  {line}")

    def value(self, instruction: str) -> str:
        """Write an instruction and return the name of its result."""
        result = f"%{self.name()}"
        self.put(f"{result} = {instruction}")
        return result

    def label(self, name: str) -> None:
        """Begin a block."""
        self.block = name
        self.lines.append(f"{name}:")

    def load(self, pointer: str, offset: str | int, kind: str = "double") -> Value:
        """Return the number, or vector, at a pointer plus an offset in bytes."""
        align = 32 if kind == VECTOR else 8
        return Value(self, self.value(f"load {kind}, ptr {self.at(pointer, offset)}, align {align}"), kind)

    def store(self, value: Value | float, pointer: str, offset: str | int, kind: str = "double") -> None:
        """Store a number, or vector, at a pointer plus an offset in bytes."""
        align = 32 if kind == VECTOR else 8
        self.put(f"store {kind} {operand(value, kind)}, ptr {self.at(pointer, offset)}, align {align}")

    def at(self, pointer: str, offset: str | int) -> str:
        """Return a pointer plus an offset in bytes."""
        return self.value(f"getelementptr i8, ptr {pointer}, i64 {offset}") if offset != 0 else pointer

    def call(self, function: str, *arguments: Value | float) -> Value:
        """Return the value of a function of C, or of LLVM."""
        name = {"sqrt": "llvm.sqrt.f64", "power": "pow"}.get(function, function)
        self.called.add(f"declare double @{name}({', '.join(['double'] * len(arguments))})")
        given = ", ".join(f"double {operand(x, 'double')}" for x in arguments)
        return Value(self, self.value(f"call double @{name}({given})"))

    def vector(self, lanes: Sequence[Value | float], begin: Value | None = None) -> Value:
        """Return the vector of up to four numbers; lanes that are 0.0 are those of `begin`, or 0."""
        name = "zeroinitializer" if begin is None else begin.name
        for lane, x in enumerate(lanes):
            if not (isinstance(x, float) and x == 0.0):
                name = self.value(f"insertelement {VECTOR} {name}, double {operand(x, 'double')}, i32 {lane}")
        return Value(self, name, VECTOR)

    def lane(self, vector: Value, lane: int) -> Value:
        """Return a number of a vector."""
        return Value(self, self.value(f"extractelement {VECTOR} {vector.name}, i32 {lane}"))

    def shuffled(self, vector: Value, lanes: Sequence[int]) -> Value:
        """Return the vector of lanes of another one."""
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        kind = f"<{LANES} x i32>"
        text = f"shufflevector {VECTOR} {vector.name}, {VECTOR} poison, {kind} <{mask}>"
        return Value(self, self.value(text), VECTOR)

    def with_signs(self, vector: Value, signs: Sequence[float]) -> Value:
        """Return a vector times 1 or -1 in each lane, by changing the sign bits."""
        kind = f"<{LANES} x i64>"
        bits = self.value(f"bitcast {VECTOR} {vector.name} to {kind}")
        mask = ", ".join("i64 -9223372036854775808" if sign < 0.0 else "i64 0" for sign in signs)
        changed = self.value(f"xor {kind} {bits}, <{mask}>")
        return Value(self, self.value(f"bitcast {kind} {changed} to {VECTOR}"), VECTOR)

    def everywhere(self, x: Value) -> Value:
        """Return the vector with a number in all lanes."""
        first = self.value(f"insertelement {VECTOR} poison, double {x.name}, i32 0")
        return self.shuffled(Value(self, first, VECTOR), (0,) * LANES)


class Value:
    """A number, or vector, in compiled code."""

    def __init__(self, writer: Writer, name: str, kind: str = "double") -> None:
        self.writer, self.name, self.kind = writer, name, kind

    def _binary(self, instruction: str, left: Value | float, right: Value | float) -> Value:
        """Write an operation on two numbers."""
        first, second = operand(left, self.kind), operand(right, self.kind)
        return Value(self.writer, self.writer.value(f"{instruction} contract {self.kind} {first}, {second}"), self.kind)

    def __add__(self, other: Value | float) -> Value:
        """Return the sum."""
        return self if _is(other, 0.0) else self._binary("fadd", self, other)

    __radd__ = __add__

    def __sub__(self, other: Value | float) -> Value:
        """Return the difference."""
        return self if _is(other, 0.0) else self._binary("fsub", self, other)

    def __rsub__(self, other: float) -> Value:
        """Return the difference of a float and this value."""
        return -self if _is(other, 0.0) else self._binary("fsub", other, self)

    def __mul__(self, other: Value | float) -> Value | float:
        """Return the product."""
        if _is(other, 0.0):
            return 0.0
        if _is(other, 1.0) or _is(other, -1.0):
            return self if other == 1.0 else -self
        return self._binary("fmul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Value | float) -> Value:
        """Return the quotient."""
        return self._binary("fdiv", self, other)

    def __rtruediv__(self, other: float) -> Value | float:
        """Return the quotient of a float and this value."""
        return self._binary("fdiv", other, self)

    def __neg__(self) -> Value:
        """Return the negative."""
        return Value(self.writer, self.writer.value(f"fneg contract {self.kind} {self.name}"), self.kind)


def _is(x: Value | float, number: float) -> bool:
    """Return whether x is this float."""
    return isinstance(x, float) and x == number


def operand(x: Value | float, kind: str) -> str:
    """Return a value as text: its name, or the bits of a float."""
    if isinstance(x, Value):
        return x.name
    bits = f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"
    return f"<{', '.join([f'double {bits}'] * LANES)}>" if kind == VECTOR else bits


def functions(writer: Writer) -> dict[str, Callable[..., Value]]:
    """Return the functions of ``graph.computed`` for values."""

    def named(name: str) -> Callable[..., Value]:
        return lambda *arguments: writer.call(name, *arguments)

    names = ("sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "atan", "atan2", "power")
    return {name: named(name) for name in names} | {"divide": lambda x, y: x / y}
