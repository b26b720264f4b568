"""Words of memory that several threads read and write at once, and tuples by their address. Compiled code only."""

from __future__ import annotations

import os
import platform

from polhode.kernels.compiler.jit import JIT

X86 = platform.machine().lower() in ("x86_64", "amd64")

if JIT:
    from llvmlite import ir
    from numba.core import cgutils, sigutils, types
    from numba.extending import intrinsic

    def _word(context, builder, array_type, array, i):
        return builder.gep(context.make_array(array_type)(context, builder, array).data, [i])

    @intrinsic
    def read_word(typingctx, words, i):
        """Number i of an array of integers, and all that was written before it was."""

        def codegen(context, builder, signature, args):
            return builder.load_atomic(_word(context, builder, signature.args[0], *args), "seq_cst", 8)

        return types.int64(words, types.int64), codegen

    @intrinsic
    def write_word(typingctx, words, i, value):
        """Number i of an array of integers, after all that was written so far."""

        def codegen(context, builder, signature, args):
            builder.store_atomic(args[2], _word(context, builder, signature.args[0], *args[:2]), "seq_cst", 8)
            return context.get_dummy_value()

        return types.void(words, types.int64, types.int64), codegen

    @intrinsic
    def add_to_word(typingctx, words, i, value):
        """What number i was before."""

        def codegen(context, builder, signature, args):
            return builder.atomic_rmw("add", _word(context, builder, signature.args[0], *args[:2]), args[2], "seq_cst")

        return types.int64(words, types.int64, types.int64), codegen

    @intrinsic
    def swap_word(typingctx, words, i, old, new):
        """Number i becomes ``new`` if it is ``old``; whether it was."""

        def codegen(context, builder, signature, args):
            place = _word(context, builder, signature.args[0], *args[:2])
            found = builder.cmpxchg(place, args[2], args[3], "seq_cst", "seq_cst")
            return builder.extract_value(found, 1)

        return types.boolean(words, types.int64, types.int64, types.int64), codegen

    @intrinsic
    def pause(typingctx):
        """A moment, for one that looks at a word again and again."""

        def codegen(context, builder, signature, args):
            if X86:
                kind = ir.FunctionType(ir.VoidType(), [])
                builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause"), [])
            return context.get_dummy_value()

        return types.void(), codegen

    @intrinsic
    def let_others_run(typingctx):
        """This thread steps back for others that wait for its core."""

        def codegen(context, builder, signature, args):
            if os.name == "posix":
                kind = ir.FunctionType(ir.IntType(32), [])
                builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
            return context.get_dummy_value()

        return types.void(), codegen

    def tuple_by_address(kind):
        """put(tuple) -> address, valid until the function that asked returns; read(address) -> tuple, of that type."""
        result = sigutils.normalize_signature(f"{kind}()")[1]

        @intrinsic
        def put(typingctx, values):
            def codegen(context, builder, signature, args):
                value = context.cast(builder, args[0], signature.args[0], result)
                return builder.ptrtoint(cgutils.alloca_once_value(builder, value), ir.IntType(64))

            return types.int64(values), codegen

        @intrinsic
        def read(typingctx, address):
            def codegen(context, builder, signature, args):
                place = builder.inttoptr(args[0], context.get_value_type(result).as_pointer())
                values = builder.load(place)
                context.nrt.incref(builder, result, values)
                return values

            return result(types.int64), codegen

        return put, read

    def linked(function, signature, name):
        """address(): of a function that is compiled into whatever asks for it.

        Its name has to be the only one of its kind. Numba tells functions of one name apart by numbers, which begin
        anew in every process; of two that come from the cache and have the same, the linker would take the first.
        """
        arguments, result = sigutils.normalize_signature(signature)
        function.__qualname__ = name

        @intrinsic
        def address(typingctx):
            def codegen(context, builder, signature, args):
                compiled = context.compile_subroutine(builder, function, result(*arguments))
                place = context.declare_function(builder.module, compiled.fndesc)
                return builder.ptrtoint(place, ir.IntType(64))

            return types.int64(), codegen

        return address
