"""Machine code for this processor: made by LLVM from its intermediate code, and loaded into this process.

Numba is not needed for that. The environment variable ``POLHODE_CPU`` names the processor, if code shall not be made
for all the instructions that this one has: "x86-64-v3", for example, gives the same bits on all processors that have
the instructions of that level.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import re
import sys
from pathlib import Path

import llvmlite.binding as llvm

from polhode.kernels.compiler import CPU

# Functions of C that kernels may call. The others are inlined, so that code on disk fits every process.
C_FUNCTIONS = set(
    re.findall(
        r"\w+",
        """acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf erfc exp exp2 expm1 fma fmod hypot ldexp lgamma log
        log10 log1p log2 nextafter pow sin sincos sinh sqrt tan tanh tgamma free malloc memcpy memmove memset""",
    )
)
REGISTERS = "x86_regcallcc"  # calling convention in bitcode, for calls with numbers in registers; see ``intrinsics``
TRIAL = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
machine = llvm.Target.from_triple(sys.argv[1]).create_target_machine(cpu=sys.argv[2])
machine.emit_object(llvm.parse_assembly("define void @nothing() { ret void }"))
"""
# Levels of the architecture x86-64, and the instructions that each has beyond the one before it, in LLVM's words.
LEVELS = {
    "x86-64-v2": {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"},
    "x86-64-v3": {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"},
    "x86-64-v4": {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"},
}
QUICK = 1  # level of optimization of generated code
LLVM_VERSION = llvm.llvm_version_info[0]
BITCODE = f"bitcode-{LLVM_VERSION}"  # name of a folder in the cache


def missing_instructions(level):
    """Return the instructions of one of LEVELS that this processor does not have, by name."""
    available = {name for name, is_available in llvm.get_host_cpu_features().items() if is_available}
    names = list(LEVELS)
    return set().union(*(LEVELS[name] for name in names[: names.index(level) + 1])) - available


@functools.cache
def processor():
    """Return LLVM's name of the processor that machine code is made for, and its instructions.

    Raises
    ------
    ValueError
        If ``POLHODE_CPU`` names no processor, or one with instructions that this one does not have.
    """
    if CPU == "native":
        return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    setting = f"the environment variable POLHODE_CPU is {CPU!r}"
    if CPU not in LEVELS:
        raise ValueError(f"{setting}; expected 'native' or one of {list(LEVELS)}; unset it to use this processor")
    if missing := missing_instructions(CPU):
        raise ValueError(
            f"{setting}, but this processor ({llvm.get_host_cpu_name()}) lacks {', '.join(sorted(missing))}; unset it, "
            "or choose an older processor"
        )
    return CPU, ""


@functools.cache
def target(level=3):
    """Return the target machine: ``processor`` in this process; ``level`` is that of code generation."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple = llvm.get_process_triple()
    cpu, features = processor()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu,
        features=features,
        opt=level,
        reloc="static" if triple.startswith("x86") else "default",
        codemodel="jitdefault",
        jit=True,
    )


def target_of(triple, cpu):
    """Return the target machine for code that other programs are linked with.

    The processor has LLVM's name ``cpu``, or is that of this process if that is "native".
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    features = ""
    if cpu == "native":
        cpu, features = processor()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default"
    )


def knows(triple, cpu):
    """Return whether LLVM can make code for a processor.

    Another process tries it: LLVM ignores names that it does not know, or ends the process.
    """
    import subprocess

    done = subprocess.run([sys.executable, "-c", TRIAL, triple, cpu], capture_output=True, text=True, check=False)
    return done.returncode == 0 and "not a recognized processor" not in done.stderr


def process_triple():
    """Return the name of processor and system of this process, as LLVM writes it."""
    return llvm.get_process_triple()


@functools.cache
def version():
    """Return a digest of what machine code depends on besides its source: processor, instructions, version of LLVM."""
    facts = llvm.get_process_triple(), *processor(), llvm.llvm_version_info
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


@functools.cache
def _own_source():
    """Return the source of this file, which says how machine code is made."""
    return Path(__file__).read_bytes()


def digest_of(*parts):
    """Return a digest of what machine code is made from, and of how it is made, as 16 hexadecimal digits."""
    digest = hashlib.sha256(_own_source())
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]


def parsed(code):
    """Return a module of LLVM from its text or its bitcode."""
    return llvm.parse_bitcode(code) if isinstance(code, bytes) else llvm.parse_assembly(code)


def object_code(module, machine=None):
    """Return the machine code of a module that was simplified, as an object file."""
    machine = machine or target()
    if not machine.triple.startswith("x86"):
        module = parsed(str(module).replace(REGISTERS, ""))
    _set_target(module, machine)
    return machine.emit_object(module)


def object_code_of_text(module):
    """Return the machine code of a module that was not simplified: it was written as text, and is optimized quickly."""
    machine = target(QUICK)
    _set_target(module, machine)
    _optimize(module, machine, QUICK)
    return machine.emit_object(module)


def simplify(module):
    """Optimize a module for all processors, so that nothing but its translation remains to be done on every machine.

    Loops over lanes become instructions on vectors of four numbers, which code for processors with shorter vectors
    divides. Functions and variables that nothing uses are removed, and the names of all others that are not external.
    """
    first, last = llvm.create_new_module_pass_manager(), llvm.create_new_module_pass_manager()
    first.add_global_dead_code_eliminate_pass()
    first.add_loop_rotate_pass()
    first.add_instruction_combine_pass()
    first.add_jump_threading_pass()
    first.run(module, _pass_builder(_any_processor(), 0))
    _optimize(module, _any_processor(), 3, loop_unrolling=False)
    _set_target(module, _vector_processor())
    _optimize(module, _vector_processor(), QUICK, loop_vectorization=True)
    last.add_strip_dead_prototype_pass()
    last.add_strip_symbols_pass()
    last.run(module, _pass_builder(_any_processor(), 0))


def _set_target(module, machine):
    """Make a module one for a target machine."""
    module.triple, module.data_layout = machine.triple, str(machine.target_data)


@functools.cache
def _any_processor():
    """Return a target machine with the instructions that all processors of the kind of this one have."""
    llvm.initialize_native_target()
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()


@functools.cache
def _vector_processor():
    """Return a target machine with vectors of four numbers: the same one on every machine, if LLVM knows it."""
    llvm.initialize_all_targets()
    try:
        return llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(cpu="x86-64-v3")
    except RuntimeError:
        return _any_processor()


def _optimize(module, machine, level, **options):
    """Run the passes of LLVM of a level over a module."""
    builder = _pass_builder(machine, level, **options)
    builder.getModulePassManager().run(module, builder)


def _pass_builder(machine, level, loop_vectorization=False, loop_unrolling=True):
    """Return what runs passes of LLVM."""
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization, options.loop_unrolling = loop_vectorization, loop_unrolling
    options.slp_vectorization = False  # it makes loops over stages a tenth slower
    return llvm.create_pass_builder(machine, options)


@functools.cache
def _engine():
    """Return the engine that holds loaded code, after the functions of C are made known to it."""
    for name in C_FUNCTIONS:
        if llvm.address_of_symbol(name) is None and (function := getattr(_c_library(), name, None)):
            define(name, ctypes.cast(function, ctypes.c_void_p).value)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), target())


@functools.cache
def _c_library():
    """Return the library with the mathematical functions of C."""
    return ctypes.CDLL({"win32": "ucrtbase", "darwin": None}.get(sys.platform, "libm.so.6"))


def define(name, address):
    """Make an external symbol known to the code that is loaded later."""
    llvm.add_symbol(name, address)


def load(code):
    """Load an object file."""
    _engine().add_object_file(llvm.ObjectFileRef.from_data(code))


def address(symbol):
    """Return the address of a function of a loaded object file."""
    return _engine().get_function_address(symbol)


def linked(parts, public, separate):
    """Return one module of several parts, bitcode or text, in which only ``public`` functions are visible from outside.

    Those of ``separate`` are compiled as if they were alone, independently of who calls them.
    """
    first, *others = map(parsed, parts)
    for other in others:
        first.link_in(other)
    for symbol in (*first.functions, *first.global_variables):
        if symbol.name in separate:
            symbol.visibility = "hidden"
            symbol.add_function_attribute("noinline")
        elif not symbol.is_declaration and symbol.name not in public:
            symbol.linkage = "internal"
    simplify(first)
    return first


def unknown(module):
    """Return the external functions and variables of a module that no process but this one may have.

    Entry points of this package are known: see ``intrinsics.call_by_name``.
    """
    functions = {f.name for f in module.functions if f.is_declaration and not f.name.startswith(("llvm.", "polhode."))}
    variables = {v.name for v in module.global_variables if v.is_declaration}
    return sorted((functions | variables) - C_FUNCTIONS)
