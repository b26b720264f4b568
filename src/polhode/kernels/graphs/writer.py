"""Text of LLVM for arithmetic: values with operators that write instructions.

Products may be fused with sums ('contract'). A factor or a summand may be a float; 0 and 1 are simplified, so that
formulas for general coefficients cost nothing where coefficients vanish.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

LANES = 4  # of vectors: ``Writer.reduced`` combines four, ``interior_loop`` and ``one_body`` place four sums
VECTOR = f"<{LANES} x double>"
INTEGERS = {"double": "i64", VECTOR: f"<{LANES} x i64>"}
SHORT = {"double": "i32", VECTOR: f"<{LANES} x i32>"}
CONDITIONS = {"double": "i1", VECTOR: f"<{LANES} x i1>"}
SUFFIX = {"double": "f64", VECTOR: f"v{LANES}f64"}  # of the names of functions of LLVM
EXPONENT, SMALLEST, LARGEST, INVERSE = 0x7FF << 52, 1 << 52, 0x7FD << 52, 0x7FE << 52  # bits of powers of two


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

    def joined(self, values: dict[str, Value]) -> Value:
        """Return the value of the block that led here, at the beginning of a block."""
        kind = next(iter(values.values())).kind
        pairs = ", ".join(f"[ {value.name}, %{block} ]" for block, value in values.items())
        return Value(self, self.value(f"phi {kind} {pairs}"), kind)

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
        """Return the value of a function of C, or of LLVM; functions of C are called for each lane of vectors."""
        kind = _kind(*arguments)
        if function == "sqrt":
            return self._call("llvm.sqrt", kind, arguments, SUFFIX[kind])
        name = "pow" if function == "power" else function
        if kind == VECTOR:
            lanes = [[x if isinstance(x, float) else self.lane(x, n) for x in arguments] for n in range(LANES)]
            return self.vector([self._call(name, "double", lane) for lane in lanes])
        return self._call(name, kind, arguments)

    def _call(self, name: str, kind: str, arguments: Sequence[Value | float], suffix: str = "") -> Value:
        """Return the value of a function; those of LLVM have suffixes for kinds of arguments."""
        name = f"{name}.{suffix}" if suffix else name
        self.called.add(f"declare {kind} @{name}({', '.join([kind] * len(arguments))})")
        given = ", ".join(f"{kind} {operand(x, kind)}" for x in arguments)
        return Value(self, self.value(f"call {kind} @{name}({given})"), kind)

    def fused(self, x: Value, y: Value | float, z: Value | float) -> Value:
        """Return x y + z, rounded once; floats are simplified as in operations."""
        if isinstance(y, float) or isinstance(z, float):
            return x * y + z
        return self._call("llvm.fma", x.kind, [x, y, z], SUFFIX[x.kind])

    def magnitude(self, x: Value) -> Value:
        """Return |x|."""
        return self._call("llvm.fabs", x.kind, [x], SUFFIX[x.kind])

    def with_sign(self, x: Value, sign: Value) -> Value:
        """Return x >= 0 with the sign of another number."""
        return self._call("llvm.copysign", x.kind, [x, sign], SUFFIX[x.kind])

    def compared(self, how: str, x: Value | float, y: Value | float) -> Value:
        """Return whether a comparison of LLVM is true, such as "ogt" or, true also for NaN, "une"."""
        kind = _kind(x, y)
        text = f"fcmp {how} {kind} {operand(x, kind)}, {operand(y, kind)}"
        return Value(self, self.value(text), CONDITIONS[kind])

    def either(self, a: Value, b: Value) -> Value:
        """Return whether one of two conditions is true."""
        return Value(self, self.value(f"or {a.kind} {a.name}, {b.name}"), a.kind)

    def both(self, a: Value, b: Value) -> Value:
        """Return whether two conditions are true."""
        return Value(self, self.value(f"and {a.kind} {a.name}, {b.name}"), a.kind)

    def anywhere(self, condition: Value) -> Value:
        """Return whether a condition is true in any lane."""
        if condition.kind == "i1":
            return condition
        bits = self.value(f"bitcast {condition.kind} {condition.name} to i{LANES}")
        return Value(self, self.value(f"icmp ne i{LANES} {bits}, 0"), "i1")

    def choose(self, condition: Value, x: Value | float, y: Value | float) -> Value:
        """Return x where a condition is true, otherwise y."""
        kind = "double" if condition.kind == "i1" else VECTOR
        text = f"select {condition.kind} {condition.name}, {kind} {operand(x, kind)}, {kind} {operand(y, kind)}"
        return Value(self, self.value(text), kind)

    def largest(self, x: Value | float, y: Value | float) -> Value:
        """Return the larger number; y if x is not a number."""
        return self.choose(self.compared("ogt", x, y), x, y)

    def smallest(self, x: Value | float, y: Value | float) -> Value:
        """Return the smaller number; y if x is not a number."""
        return self.choose(self.compared("olt", x, y), x, y)

    def equal(self, x: Value | float, y: Value | float) -> Value:
        """Return whether two numbers are equal."""
        return self.compared("oeq", x, y)

    def log2(self, x: Value) -> Value:
        """Return log2 |x|, linear between powers of two; see ``step_rule.Floats.log2``."""
        kind, short = INTEGERS[x.kind], SHORT[x.kind]
        high = self.value(f"lshr {kind} {self._bits(x)}, {_integer(32, kind)}")
        narrow = self.value(f"trunc {kind} {high} to {short}")
        positive = self.value(f"and {short} {narrow}, {_integer(0x7FFFFFFF, short)}")
        centered = self.value(f"sub {short} {positive}, {_integer(0x3FF00000, short)}")
        number = Value(self, self.value(f"sitofp {short} {centered} to {x.kind}"), x.kind)
        return number * 2.0**-20

    def two_to_the(self, k: Value) -> Value:
        """Return 2^k for a whole number from -1022 to 1023."""
        kind, short = INTEGERS[k.kind], SHORT[k.kind]
        number = self.value(f"fptosi {k.kind} {k.name} to {short}")
        wide = self.value(f"sext {short} {number} to {kind}")
        biased = self.value(f"add {kind} {wide}, {_integer(1023, kind)}")
        return self._from_bits(self.value(f"shl {kind} {biased}, {_integer(52, kind)}"), k.kind)

    def nearest(self, x: Value) -> Value:
        """Return the nearest whole number."""
        return self._call("llvm.rint", x.kind, [x], SUFFIX[x.kind])

    def floor(self, x: Value) -> Value:
        """Return the largest whole number that is not larger than x."""
        return self._call("llvm.floor", x.kind, [x], SUFFIX[x.kind])

    def power_of_two(self, x: Value) -> tuple[Value, Value]:
        """Return (2^k, 2^-k) with 2^k <= |x| < 2^(k+1), -1022 <= k <= 1022."""
        kind = INTEGERS[x.kind]
        bits = self.value(f"and {kind} {self._bits(x)}, {_integer(EXPONENT, kind)}")
        for compared, bound in (("slt", SMALLEST), ("sgt", LARGEST)):
            is_beyond = self.value(f"icmp {compared} {kind} {bits}, {_integer(bound, kind)}")
            condition = f"{CONDITIONS[x.kind]} {is_beyond}"
            bits = self.value(f"select {condition}, {kind} {_integer(bound, kind)}, {kind} {bits}")
        inverse = self.value(f"sub {kind} {_integer(INVERSE, kind)}, {bits}")
        return self._from_bits(bits, x.kind), self._from_bits(inverse, x.kind)

    def _bits(self, x: Value) -> str:
        """Return the bits of a number as an integer."""
        return self.value(f"bitcast {x.kind} {x.name} to {INTEGERS[x.kind]}")

    def _from_bits(self, bits: str, kind: str) -> Value:
        """Return the number with the bits of an integer."""
        return Value(self, self.value(f"bitcast {INTEGERS[kind]} {bits} to {kind}"), kind)

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

    def reduced(self, vector: Value, combine: Callable[[Value, Value], Value]) -> Value:
        """Return the combination of all lanes of a vector, such as their sum, as a number."""
        halves = combine(vector, self.shuffled(vector, (2, 3, 2, 3)))
        return self.lane(combine(halves, self.shuffled(halves, (1, 1, 1, 1))), 0)

    def everywhere(self, x: Value | float) -> Value:
        """Return the vector with a number in all lanes; a vector as it is."""
        if isinstance(x, float) or x.kind == VECTOR:
            return Value(self, operand(x, VECTOR), VECTOR)
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


def _kind(*arguments: Value | float) -> str:
    """Return the kind of a function of numbers, at least one of which is not a float."""
    return next((x.kind for x in arguments if isinstance(x, Value)), "double")


def _integer(number: int, kind: str) -> str:
    """Return an integer, or the vector of it, as text."""
    if not kind.startswith("<"):
        return str(number)
    return f"<{', '.join([f'{kind.split()[-1][:-1]} {number}'] * LANES)}>"


def operand(x: Value | float, kind: str = "double") -> str:
    """Return a value as text: its name, or the bits of a float."""
    if isinstance(x, Value):
        return x.name
    bits = f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"
    return f"<{', '.join([f'double {bits}'] * LANES)}>" if kind == VECTOR else bits
