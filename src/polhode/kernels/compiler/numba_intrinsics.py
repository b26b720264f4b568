"""Definitions, for Numba, of the functions that ``intrinsics`` names."""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from polhode.kernels.compiler import machine
from polhode.kernels.compiler.numba_signatures import signature_of

# Calling convention by which numbers are passed and returned in registers: LLVM's default one does so on processors
# other than x86, for which ``machine.object_code`` removes this word from bitcode.
REGISTERS = machine.REGISTERS if machine.process_triple().startswith("x86") else ""


@intrinsic
def fma(typingctx, a, b, c):
    """Return a*b + c, rounded once."""

    def codegen(context, builder, signature, args):
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), codegen


@intrinsic
def prefetch(typingctx, array, i):
    """Request that number i of a contiguous array (index into the flat array, may be out of range) is cached."""

    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        pointer = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
        request = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        address = builder.bitcast(builder.gep(data, [args[1]]), pointer)
        builder.call(request, [address, flag(0), flag(3), flag(1)])  # read access, highest locality, data cache
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


def _vector_at(context, builder, array_type, array, number, count):
    """Return a pointer to ``count`` doubles of an array as a vector.

    ``number`` is the index of the first of them in the flat array.
    """
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [number]), ir.VectorType(ir.DoubleType(), count).as_pointer())


def _constants(numbers):
    """Return the integers ``numbers`` as a constant vector of LLVM, for shuffles."""
    return ir.Constant(ir.VectorType(ir.IntType(32), len(numbers)), list(numbers))


def _void_of_rows(rows, i, w, columns, l):
    """Return the signature of the intrinsics that copy rows."""
    return types.void(rows, types.int64, w, columns, types.int64)


@intrinsic
def four_rows_in(typingctx, rows, i, w, columns, l):
    """Copy four rows into lanes l, ..., l + 3 of a block.

    ``i`` is the index of the first number in the flat array ``rows``, and ``columns`` is a tuple of the positions
    of the columns in the block ``w``. The copy is one load and a few shuffles; the compiler would move single
    numbers.
    """

    def codegen(context, builder, signature, args):
        rows, i, w, columns, l = args
        width = signature.args[3].count
        source = _vector_at(context, builder, signature.args[0], rows, i, 4 * width)
        numbers = builder.load(source, align=8)
        for k, column in enumerate(cgutils.unpack_tuple(builder, columns, width)):
            four = builder.shuffle_vector(numbers, numbers, _constants(range(k, 4 * width, width)))
            target = _vector_at(context, builder, signature.args[2], w, builder.add(column, l), 4)
            builder.store(four, target, align=8)
        return context.get_dummy_value()

    return _void_of_rows(rows, i, w, columns, l), codegen


def _rows_out(past_cache):
    """Return the intrinsic that copies lanes of a block into four rows of three or four columns.

    With ``past_cache`` the rows are stored without loading them into the cache first; they must be aligned to 16
    bytes.
    """

    @intrinsic
    def rows_out(typingctx, rows, i, w, columns, l):
        """Copy lanes l, ..., l + 3 of a block into four rows: the inverse of ``four_rows_in``."""

        def codegen(context, builder, signature, args):
            rows, i, w, columns, l = args
            width = signature.args[3].count
            fours = []
            for column in cgutils.unpack_tuple(builder, columns, width):
                source = _vector_at(context, builder, signature.args[2], w, builder.add(column, l), 4)
                fours.append(builder.load(source, align=8))
            halves = fours[:2], (fours[2], fours[-1])
            halves = [builder.shuffle_vector(a, b, _constants(range(8))) for a, b in halves]
            by_rows = [4 * k + r for r in range(4) for k in range(width)]
            for n in range(0, 4 * width, 4):
                numbers = builder.shuffle_vector(*halves, _constants(by_rows[n : n + 4]))
                place = builder.add(i, ir.Constant(i.type, n))
                target = _vector_at(context, builder, signature.args[0], rows, place, 4)
                stored = builder.store(numbers, target, align=16 if past_cache else 8)
                if past_cache:
                    stored.set_metadata("nontemporal", builder.module.add_metadata([ir.IntType(32)(1)]))
            return context.get_dummy_value()

        return _void_of_rows(rows, i, w, columns, l), codegen

    return rows_out


four_rows_out = _rows_out(past_cache=False)
four_rows_past_cache = _rows_out(past_cache=True)


@intrinsic
def address(typingctx, array):
    """Return the address of the first number of an array."""

    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(data, ir.IntType(64))

    return types.int64(array), codegen


@intrinsic
def as_rows(typingctx, numbers, width):
    """Return a contiguous array of numbers, or of rows, as rows of ``width`` of these.

    It needs no function of Numba's library.
    """

    def codegen(context, builder, signature, args):
        numbers = context.make_array(signature.args[0])(context, builder, args[0])
        rows = context.make_array(signature.return_type)(context, builder)
        count, *rest = cgutils.unpack_tuple(builder, numbers.shape)
        strides = cgutils.unpack_tuple(builder, numbers.strides)
        populate_array(
            rows,
            data=numbers.data,
            shape=[builder.sdiv(count, args[1]), args[1], *rest],
            strides=[builder.mul(strides[0], args[1]), *strides],
            itemsize=numbers.itemsize,
            meminfo=None,
        )
        return rows._getvalue()

    return numbers.copy(ndim=numbers.ndim + 1)(numbers, types.int64), codegen


@intrinsic
def wait_for_memory(typingctx):
    """Wait until everything that was stored is visible, also to other threads."""

    def codegen(context, builder, signature, args):
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def bits_of(typingctx, x):
    """Return the bits of a float as an integer."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.int64))

    return types.int64(types.float64), codegen


@intrinsic
def from_bits(typingctx, n):
    """Return the float with the bits of the integer n."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.float64))

    return types.float64(types.int64), codegen


def _converted(context, builder, given, kinds, arguments):
    """Return the entries of a tuple of arguments as values of the types that a function has; tuples may be nested."""
    values = []
    for one, kind, value in zip(given, kinds, cgutils.unpack_tuple(builder, arguments), strict=True):
        if isinstance(kind, types.BaseTuple):
            values.append(context.make_tuple(builder, kind, _converted(context, builder, one, kind, value)))
        else:
            values.append(context.cast(builder, value, one, kind))
    return values


def call_by_address(signature):
    """Return an intrinsic call(address, arguments) -> (result, raised) for functions of a signature.

    ``raised`` is True if the function raised an exception; the result is then unspecified. A try block of Numba
    would cost as much as the call.
    """
    kinds, result = signature_of(signature)

    @intrinsic
    def call(typingctx, address, arguments):
        def codegen(context, builder, signature, args):
            convention = context.call_conv
            kind = convention.get_function_type(result, kinds)
            function = builder.inttoptr(args[0], kind.as_pointer())
            values = _converted(context, builder, signature.args[1], kinds, args[1])
            status, value = convention.call_function(builder, function, result, kinds, values)
            return context.make_tuple(builder, signature.return_type, [value, status.is_error])

        return types.Tuple((result, types.boolean))(types.int64, arguments), codegen

    return call


def call_by_name(name, signature):
    """Return an intrinsic call(arguments) -> result for a function of another module with this symbol."""
    kinds, result = signature_of(signature)

    @intrinsic
    def call(typingctx, arguments):
        def codegen(context, builder, signature, args):
            convention = context.call_conv
            kind = convention.get_function_type(result, kinds)
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            values = _converted(context, builder, signature.args[0], kinds, args[0])
            return convention.call_function(builder, function, result, kinds, values)[1]

        return result(arguments), codegen

    return call


def call_in_registers(signature):
    """Return an intrinsic call(address, arguments) -> result for entry points made with ``registers``."""
    kinds, result = signature_of(signature)

    @intrinsic
    def call(typingctx, address, arguments):
        def codegen(context, builder, signature, args):
            function = builder.inttoptr(args[0], type_in_registers(context, result, kinds).as_pointer())
            values = _converted(context, builder, signature.args[1], kinds, args[1])
            pairs = zip(kinds, values, strict=True)
            numbers = [number for kind, value in pairs for number in flat(context, builder, kind, value)]
            returned = builder.call(function, numbers, cconv=REGISTERS)
            return assembled(context, builder, result, iter(cgutils.unpack_tuple(builder, returned)))

        return result(types.int64, arguments), codegen

    return call


def type_in_registers(context, result, kinds):
    """Return the type of LLVM of an entry point that takes and returns numbers."""
    numbers = ir.LiteralStructType(_number_types(context, [result]))
    return ir.FunctionType(numbers, _number_types(context, kinds))


def _number_types(context, kinds):
    """Return the types of LLVM of all numbers in values of these types."""
    found = []
    for kind in kinds:
        if isinstance(kind, types.BaseTuple):
            found += _number_types(context, kind)
        elif isinstance(kind, types.Array):
            found += [context.get_data_type(kind.dtype).as_pointer(), *[ir.IntType(64)] * kind.ndim]
        else:
            found.append(context.get_value_type(kind))
    return found


def flat(context, builder, kind, value):
    """Return the numbers of a value, one after the other; of a contiguous array, its address and its shape."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        return [array.data, *cgutils.unpack_tuple(builder, array.shape)]
    if not isinstance(kind, types.BaseTuple):
        return [value]
    entries = zip(kind, cgutils.unpack_tuple(builder, value), strict=True)
    return [number for one, entry in entries for number in flat(context, builder, one, entry)]


def assembled(context, builder, kind, numbers):
    """Return a value of the next ``numbers``, the inverse of ``flat``."""
    if isinstance(kind, types.Array):
        return array_at(context, builder, kind, next(numbers), [next(numbers) for _ in range(kind.ndim)])
    if not isinstance(kind, types.BaseTuple):
        return next(numbers)
    return context.make_tuple(builder, kind, [assembled(context, builder, one, numbers) for one in kind])


def linked_address(name):
    """Return an intrinsic that returns the address of a function of another module with this symbol."""

    @intrinsic
    def address(typingctx):
        def codegen(context, builder, signature, args):
            function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), []), name)
            return builder.ptrtoint(function, ir.IntType(64))

        return types.int64(), codegen

    return address


@intrinsic
def borrowed(typingctx, value):
    """Return the same array, or tuple with arrays, without reference counts.

    Numba otherwise updates the counts by atomic operations around every call, and every time an array of a named
    tuple is used. Arguments of an entry point exist until it returns; the owner of a new array has to call ``keep``
    on it after the last use of the borrowed array.
    """

    def codegen(context, builder, signature, args):
        return _without_owner(context, builder, signature.args[0], args[0])

    return value(value), codegen


def _without_owner(context, builder, kind, value):
    """Return a value without the owners of its arrays."""
    if isinstance(kind, types.Array):
        view = context.make_array(kind)(context, builder, value)
        view.meminfo, view.parent = view.meminfo.type(None), view.parent.type(None)
        return view._getvalue()
    if isinstance(kind, types.BaseTuple):
        entries = cgutils.unpack_tuple(builder, value)
        kept = [_without_owner(context, builder, one, entry) for one, entry in zip(kind, entries, strict=True)]
        return context.make_tuple(builder, kind, kept)
    return value


@intrinsic
def keep(typingctx, array):
    """Keep the array alive up to this call; it compiles to no instruction."""
    return types.void(array), lambda context, builder, signature, args: context.get_dummy_value()


@intrinsic
def stay_separate(typingctx):
    """Prevent LLVM from inlining the function that this is called in; it compiles to no instruction.

    Numba passes ``forceinline`` on from a caller to the functions that it calls, and LLVM inlines large functions that
    are called in loops, once for every call.
    """

    def codegen(context, builder, signature, args):
        builder.function.attributes.discard("alwaysinline")
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen


def stack_array(size, kind):
    """Return an intrinsic that makes an array of ``size`` numbers on the stack, aligned to 64 bytes.

    The array is valid until its caller returns, and has no owner.
    """
    entry = types.float64 if kind == "f8" else types.int64

    @intrinsic
    def new(typingctx):
        def codegen(context, builder, signature, args):
            room = cgutils.alloca_once(builder, ir.ArrayType(context.get_data_type(entry), size))
            room.align = 64
            return array_at(context, builder, signature.return_type, room, [context.get_constant(types.intp, size)])

        return types.Array(entry, 1, "C")(), codegen

    return new


@intrinsic
def numbers_at(typingctx, address, count):
    """Return an array of ``count`` numbers at an address, without an owner."""

    def codegen(context, builder, signature, args):
        room = builder.inttoptr(args[0], ir.IntType(8).as_pointer())
        return array_at(context, builder, signature.return_type, room, [args[1]])

    return types.Array(types.float64, 1, "C")(types.int64, types.int64), codegen


def array_at(context, builder, kind, pointer, shape):
    """Return a contiguous array of a type and a shape at an address, without an owner."""
    array = context.make_array(kind)(context, builder)
    size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [size]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.bitcast(pointer, array.data.type)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
    return array._getvalue()


def fixed_address(number):
    """Return an intrinsic that returns the address of a function of this process.

    Numba then refuses to keep the code of its callers on disk, where the address would be that of another process.
    """

    @intrinsic
    def address(typingctx):
        def codegen(context, builder, signature, args):
            place = context.add_dynamic_addr(builder, number, "polhode_function")
            return builder.ptrtoint(place, ir.IntType(64))

        return types.int64(), codegen

    return address
