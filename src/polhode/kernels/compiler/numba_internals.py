"""All code that uses the private interface of Numba, and why it does.

``dispatcher``, ``type_of_intrinsic``: Numba is imported only if something is compiled.
``bitcode``: code of LLVM that needs neither Numba nor its runtime library can be kept on disk.
``make_no_machine_code``: Numba makes it for every function that another one calls.
``config.CPU_NAME``: functions of the user, and kernels that they call, are compiled for the processor of ``machine``.
``without_scipy_linalg``: Numba imports scipy.linalg at every start.
``keeping_ctrl_c``: LLVM calls Python while Numba makes machine code, and an exception cannot pass through LLVM.

Definitions of intrinsics are in ``numba_intrinsics``.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from contextlib import contextmanager
from itertools import count

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba.core import cgutils, codegen, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from polhode.kernels.compiler import machine, numba_intrinsics
from polhode.kernels.compiler.code import Code, Loaded, NeedsNumba, words
from polhode.kernels.compiler.numba_signatures import signature_of

if machine.CPU != "native":
    numba.config.CPU_NAME, numba.config.CPU_FEATURES = machine.processor()

WORD, STATUS = ir.IntType(64), ir.IntType(32)
WORDS, RESULTS, ARRAYS = 512, 64, 64  # room of ``call.ll``
LETTERS = {types.float64: b"dd", types.int64: b"lq", types.int32: b"il", types.boolean: b"??"}  # as in ``struct``

# Memory for arrays of kernels, in place of that of Numba. The block of memory begins with the six words that Numba's
# code expects: reference count, destructor, its argument, address of the data, size, allocator.
MEMORY = """
declare ptr @malloc(i64)
declare void @free(ptr)

define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %alignment) {
  %align = zext i32 %alignment to i64
  %head = add i64 %align, 48
  %total = add i64 %size, %head
  %block = call ptr @malloc(i64 %total)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %leave, label %fill
fill:
  call void @llvm.memset.p0.i64(ptr %block, i8 0, i64 48, i1 false)
  store i64 1, ptr %block
  %start = ptrtoint ptr %block to i64
  %end = add i64 %start, %head
  %beyond = urem i64 %end, %align
  %aligned = sub i64 %end, %beyond
  %data.at = getelementptr i64, ptr %block, i64 3
  store i64 %aligned, ptr %data.at
  %size.at = getelementptr i64, ptr %block, i64 4
  store i64 %size, ptr %size.at
  br label %leave
leave:
  ret ptr %block
}

define void @NRT_MemInfo_call_dtor(ptr %block) {
  call void @free(ptr %block)
  ret void
}

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


def make_no_machine_code():
    """Let Numba make no machine code in this process."""
    codegen.JITCPUCodegen._add_module = lambda self, module: None
    codegen.JITCPUCodegen.set_env = lambda self, name, environment: None
    codegen.JITCodeLibrary._finalize_specific = lambda self: None
    codegen.JITCodeLibrary.get_pointer_to_function = lambda self, name: 0


def dispatcher(func, options):
    """Return a function that Numba compiles when compiled code calls it."""
    return numba.njit(**options)(func)


def type_of_intrinsic(name, *settings):
    """Return the type of an intrinsic of ``numba_intrinsics``, or of the one that a function of this name makes."""
    defined = getattr(numba_intrinsics, name)
    if settings:
        defined = defined(*settings)
    cpu_target.typing_context.refresh()
    return cpu_target.typing_context.resolve_value_type(defined)


def bitcode(entry, name):
    """Compile an entry point, and return its code with the symbols ``name`` and ``words(name)``.

    Raises
    ------
    NeedsNumba
        If the code needs functions of Numba or of Python, which other processes may not have.
    """
    with global_compiler_lock, keeping_ctrl_c(), without_scipy_linalg(), warnings.catch_warnings():
        warnings.simplefilter("ignore", numba.NumbaWarning)
        result = _compiled(entry)
        wrapper = _register_function(result, name) if entry.registers else _words_function(result, words(name))
        form, own_name = form_of(result.signature), result.fndesc.llvm_func_name
        result.library._ensure_finalized()
        module = llvm.parse_bitcode(result.library._final_module.as_bitcode())  # Numba may use its own module again
        for part in (str(wrapper), MEMORY):
            module.link_in(llvm.parse_assembly(part))
        if not entry.registers:
            module.get_function(own_name).name = name
        _hide(module, {name, words(name)})
        machine.simplify(module)
        if others := machine.unknown(module):
            raise NeedsNumba(Loaded(form, *_addresses(result, wrapper, entry.registers)), others)
    return Code(form, module.as_bitcode())


def _addresses(result, wrapper, registers):
    """Return the addresses of two functions, of which Numba makes the machine code; see ``code.Loaded``."""
    library = result.library.codegen.create_library(wrapper.name)
    library.add_ir_module(wrapper)
    library.add_linking_library(result.library)
    outer = library.get_pointer_to_function(wrapper.name)
    return (outer, 0) if registers else (result.library.get_pointer_to_function(result.fndesc.llvm_func_name), outer)


def _compiled(entry):
    """Return Numba's result for the signature of an entry point."""
    arguments, result = signature_of(entry.signature)
    entry.compiled.compile(result(*arguments))
    return entry.compiled.overloads[arguments]


def _words_function(result, name):
    """Return a module with a function i32 name(i64* result, i64* words), for calls from Python; see ``call.ll``."""
    context, kinds = result.target_context, result.signature.args
    module = context.create_module(name)
    function = ir.Function(module, ir.FunctionType(STATUS, [WORD.as_pointer()] * 2), name)
    builder = ir.IRBuilder(function.append_basic_block())
    reader = _Words(context, builder, function.args[1])
    arguments = [reader.read(kind) for kind in kinds]
    returned = result.signature.return_type
    callee = ir.Function(module, context.call_conv.get_function_type(returned, kinds), result.fndesc.llvm_func_name)
    status, value = context.call_conv.call_function(builder, callee, returned, kinds, arguments)
    _Words(context, builder, function.args[0]).write(returned, value)
    builder.ret(builder.zext(status.is_error, STATUS))
    return module


def _register_function(result, name):
    """Return a module with a function of numbers in registers; see ``intrinsics.call_in_registers``."""
    context, kinds, returned = result.target_context, result.signature.args, result.signature.return_type
    module = context.create_module(name)
    function = ir.Function(module, numba_intrinsics.type_in_registers(context, returned, kinds), name)
    function.calling_convention = numba_intrinsics.REGISTERS
    builder = ir.IRBuilder(function.append_basic_block())
    numbers = iter(function.args)
    arguments = [numba_intrinsics.assembled(context, builder, kind, numbers) for kind in kinds]
    callee = ir.Function(module, context.call_conv.get_function_type(returned, kinds), result.fndesc.llvm_func_name)
    _, value = context.call_conv.call_function(builder, callee, returned, kinds, arguments)
    builder.ret(cgutils.pack_struct(builder, numba_intrinsics.flat(context, builder, returned, value)))
    return module


class _Words:
    """Code that reads or writes values as words, one after the other."""

    def __init__(self, context, builder, words):
        """Begin with the first of ``words``."""
        self._context, self._builder, self._words = context, builder, words
        self._numbers = count()

    def _next(self):
        """Return the address of the next word."""
        return self._builder.gep(self._words, [WORD(next(self._numbers))])

    def read(self, kind):
        """Return a value of a type of Numba."""
        if isinstance(kind, types.BaseTuple):
            return self._context.make_tuple(self._builder, kind, [self.read(entry) for entry in kind])
        if isinstance(kind, types.Array):
            pointer = self._builder.inttoptr(self._builder.load(self._next()), ir.IntType(8).as_pointer())
            shape = [self._builder.load(self._next()) for _ in range(kind.ndim)]
            return numba_intrinsics.array_at(self._context, self._builder, kind, pointer, shape)
        word, own = self._builder.load(self._next()), self._context.get_value_type(kind)
        if isinstance(kind, types.Float):
            return self._builder.bitcast(word, own)
        return word if own == WORD else self._builder.trunc(word, own)

    def write(self, kind, value):
        """Write a value of a type of Numba."""
        if isinstance(kind, types.BaseTuple):
            for entry, part in zip(kind, cgutils.unpack_tuple(self._builder, value), strict=True):
                self.write(entry, part)
        elif isinstance(kind, types.Float):
            self._builder.store(self._builder.bitcast(value, WORD), self._next())
        elif not isinstance(kind, types.NoneType):
            wide = value if value.type == WORD else self._builder.zext(value, WORD)
            self._builder.store(wide, self._next())


def _hide(module, names):
    """Hide all functions and variables of a module but those with the given names, so that unused ones can go."""
    for symbol in (*module.functions, *module.global_variables):
        if not symbol.is_declaration and symbol.name not in names:
            symbol.linkage = "internal"


def form_of(signature):
    """Return the form of the arguments and the result of a signature; see ``call.ll``, which has room for so many."""
    words, arrays = _size(types.BaseTuple.from_types(signature.args))
    if words > WORDS or arrays > ARRAYS or _size(signature.return_type)[0] > RESULTS:
        raise TypeError(
            f"a kernel has at most {ARRAYS} arrays, {WORDS} words and {RESULTS} results, unlike {signature}"
        )
    return _form(types.BaseTuple.from_types(signature.args)) + _form(signature.return_type)


def _size(kind):
    """Return the number of words, and of arrays, of a type of Numba."""
    if isinstance(kind, types.BaseTuple):
        return tuple(map(sum, zip((0, 0), *map(_size, kind), strict=True)))
    return (1 + kind.ndim, 1) if isinstance(kind, types.Array) else (1, 0)


def _form(kind):
    """Return the form of a type of Numba."""
    if isinstance(kind, types.BaseTuple):
        return b"(" + bytes([len(kind)]) + b"".join(map(_form, kind))
    if isinstance(kind, types.Array):
        if kind.layout != "C":
            raise TypeError(f"arrays of kernels are C-contiguous, but one is {kind}")
        return (b"w" if kind.mutable else b"r") + bytes([kind.ndim]) + LETTERS[kind.dtype]
    return {types.float64: b"d", types.int64: b"l", types.boolean: b"b", types.void: b"n"}[kind]


@contextmanager
def keeping_ctrl_c():
    """Raise KeyboardInterrupt at the end of the block if Ctrl-C was pressed in a function that LLVM calls."""
    pressed, show = [], sys.unraisablehook

    def keep(lost):
        if issubclass(lost.exc_type, KeyboardInterrupt):
            pressed.append(True)
        else:
            show(lost)

    sys.unraisablehook = keep
    try:
        yield
    finally:
        sys.unraisablehook = show
    if pressed:
        raise KeyboardInterrupt


@contextmanager
def without_scipy_linalg():
    """Prevent Numba from importing scipy.linalg, which takes a quarter of a second at every start.

    Numba imports it with its array functions to find out whether there is a BLAS. SciPy is installed with polhode, so
    there is one; functions that use it check again, and import it then.
    """
    linalg = importlib.import_module("numba.np.linalg")
    original = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        yield
    finally:
        linalg.ensure_blas = original
