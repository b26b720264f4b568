"""What knows Numba: how kernels are compiled, cached, or left as plain Python.

Five decorators:

``helper``  a building block, inlined into whatever calls it. Products may be fused with sums ('contract').
``called``  the same, but called: for large code that has several callers.
``exact``   the same without any freedom for the optimizer: for error-free transformations.
``rare``    like ``exact`` but called, not inlined: for what almost never happens.
``entry``   what the user layer calls: compiled for one signature on first use, cached on disk, releases the GIL.

With ``POLHODE_JIT=0`` all of them leave the Python function as it is (for debugging, coverage, other number types).
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import math
import os
import pickle
import re
import shutil
import sys
import threading
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

JIT = os.environ.get("POLHODE_JIT", "1") != "0"

PACKAGE = Path(__file__).resolve().parents[2]
COMPILED_FOLDERS = ("kernels", "flows", "forces", "methods")  # every folder that holds code Numba compiles
KEPT_STAMPS = 8  # caches of older sources that are kept for other checkouts and versions
CHECKSUM = 16  # bytes, at the beginning of every file of the cache


class CacheWarning(UserWarning):
    """Compiled code on disk is damaged: it is removed and compiled again."""


def source_stamp() -> str:
    """Content hash of every compiled source. Numba itself only watches the file of the cached function."""
    digest = hashlib.sha256()
    for folder in COMPILED_FOLDERS:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            digest.update(str(path.relative_to(PACKAGE)).encode() + b"\0")
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


LOADED = source_stamp()  # jit is the first kernel module to be imported


def cache_root() -> Path | None:
    """Where compiled code is kept: ``POLHODE_CACHE_DIR``, or the platform's folder for caches; None without a home."""
    if chosen := os.environ.get("POLHODE_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", "~"))
    elif sys.platform == "darwin":
        base = Path("~/Library/Caches")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    try:
        return base.expanduser() / "polhode"
    except RuntimeError:  # HOME is not set, and the user is unknown
        return None


def cache_folder() -> Path | None:
    """The cache of exactly these sources; None where nothing can be written (then nothing is cached).

    None also if a source was edited since this process began to load them: its code is of neither stamp.
    """
    root = cache_root()
    if root is None or source_stamp() != LOADED:
        return None
    folder = root / LOADED
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:
        return None
    if not os.access(folder, os.W_OK):
        return None
    _forget_old_stamps(folder.parent)
    return folder


def _forget_old_stamps(root: Path) -> None:
    try:
        stamps = [p for p in root.iterdir() if re.fullmatch("[0-9a-f]{16}", p.name)]  # nothing else is ours to delete
        folders = sorted(stamps, key=lambda p: p.stat().st_mtime, reverse=True)
    except OSError:  # another process is tidying up
        return
    for old in folders[KEPT_STAMPS:]:
        shutil.rmtree(old, ignore_errors=True)


if JIT:
    import numba
    from llvmlite import ir
    from numba.core import cgutils, sigutils, types
    from numba.core.caching import NullCache
    from numba.core.compiler import CompileResult
    from numba.core.serialize import dumps
    from numba.extending import intrinsic

    CALLED = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
    INLINED = {"forceinline": True, **CALLED}

    def helper(func):
        return numba.njit(fastmath={"contract"}, **INLINED)(func)

    def called(func):
        return numba.njit(fastmath={"contract"}, **CALLED)(func)

    def exact(func):
        return numba.njit(**INLINED)(func)

    def rare(func):
        return numba.njit(**CALLED)(func)

    COMPILING = threading.Lock()  # what follows changes settings of Numba for a moment

    class Cache(NullCache):
        """Machine code of one function in a folder: a file for each processor and version, a checksum and a pickle.

        Files are replaced as a whole, so that several processes may read and write at once. One that is damaged is
        removed, with one warning in each process, and the function is compiled again.
        """

        _warned = False

        def __init__(self, func, folder):
            self._folder, self._name = folder, re.sub(r"[^\w.]", "_", f"{func.__module__}.{func.__qualname__}")
            source = Path(func.__code__.co_filename).read_bytes()  # the folder's stamp knows those of the package only
            self._source = hashlib.sha256(source).hexdigest()

        def load_overload(self, sig, target_context):
            target_context.refresh()
            path = self._path(sig, target_context.codegen())
            try:
                content = path.read_bytes()
            except OSError:  # it was never written, or cannot be read
                return None
            try:
                if self._checksum(content[CHECKSUM:]) != content[:CHECKSUM]:
                    raise ValueError("the checksum differs")
                return CompileResult._rebuild(target_context, *pickle.loads(content[CHECKSUM:]))
            except Exception as problem:  # whatever the pickle holds
                self._remove(path, problem)
                return None

        def save_overload(self, sig, data):
            if data.library.has_dynamic_globals:  # addresses of this process
                return
            content, path = dumps(data._reduce()), self._path(sig, data.codegen)
            new = path.with_name(f"{path.name}.{uuid4().hex}.partial")
            try:
                new.write_bytes(self._checksum(content) + content)
                new.replace(path)
            except OSError:  # a full disk, for instance
                with suppress(OSError):
                    new.unlink()

        def _path(self, sig, codegen):
            versions = numba.__version__, sys.implementation.cache_tag
            key = hashlib.sha256(repr((str(sig), codegen.magic_tuple(), versions, self._source)).encode()).hexdigest()
            return self._folder / f"{self._name}-{key[:16]}.nbc"

        def _checksum(self, content):
            return hashlib.blake2b(content, digest_size=CHECKSUM).digest()

        def _remove(self, path, problem):
            with suppress(OSError):
                path.unlink()
            if not Cache._warned:
                Cache._warned = True
                warnings.warn(
                    f"compiled code in {path} is damaged ({problem}); such files are removed, and compiled again",
                    CacheWarning,
                    stacklevel=2,
                )

    @contextmanager
    def scipy_left_alone():
        """Spare Numba the import of scipy.linalg, a quarter of a second at every start.

        Numba imports it with its array functions to learn whether there is a BLAS. SciPy is installed with polhode,
        so there is; functions that use it still ask again, and import it then.
        """
        linalg = importlib.import_module("numba.np.linalg")
        asked = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            yield
        finally:
            linalg.ensure_blas = asked

    class Entry:
        """A kernel that compiles on its first call, for one signature: other types are converted or refused."""

        def __init__(self, func, signature, cache):
            functools.update_wrapper(self, func)
            self._signature = signature
            self._cache = cache
            self._compiled = None

        def __call__(self, *args):
            if self._compiled is None:
                self.function()
            return self._compiled(*args)

        def function(self):
            """The compiled function itself, to be handed to compiled code."""
            with COMPILING:
                self._compiled = self._compiled or self._compile()
            return self._compiled

        def _compile(self):
            folder = cache_folder() if self._cache else None
            compiled = numba.njit(nogil=True, error_model="numpy", fastmath={"contract"})(self.__wrapped__)
            if folder is not None:
                with suppress(OSError):  # what was typed into a console or a notebook has no file, and is not cached
                    compiled._cache = Cache(self.__wrapped__, folder)
            with scipy_left_alone():
                compiled.compile(self._signature)
            compiled.disable_compile()
            return compiled

        def __reduce__(self):
            """By name, as functions are: machine code belongs to this process."""
            return self.__qualname__

    def entry(signature, cache=True):
        return lambda func: Entry(func, signature, cache)

    def address_of(function, signature):
        """Of a compiled function: a number, which takes no time to hand to kernels (a function takes 0.1 ms)."""
        arguments, result = sigutils.normalize_signature(signature)
        compiled = function.get_compile_result(result(*arguments))
        return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)

    def caller(signature, nothing):
        """call(address, arguments) -> (result, whether it raised), for functions of that signature.

        Where one raises, the result means nothing. A try block of Numba's would cost as much as the call.
        """
        kinds, result = sigutils.normalize_signature(signature)

        @intrinsic
        def call(typingctx, address, arguments):
            def codegen(context, builder, signature, args):
                convention = context.call_conv
                kind = convention.get_function_type(result, kinds)
                function = builder.inttoptr(args[0], kind.as_pointer())
                given = [
                    context.cast(builder, value, signature.args[1][k], kinds[k])
                    for k, value in enumerate(cgutils.unpack_tuple(builder, args[1]))
                ]
                status, value = convention.call_function(builder, function, result, kinds, given)
                return context.make_tuple(builder, signature.return_type, [value, status.is_error])

            return types.Tuple((result, types.boolean))(types.int64, arguments), codegen

        return call

    @intrinsic
    def borrowed(typingctx, array):
        """The same array without its reference counts, which Numba otherwise keeps in atomic steps around every call.

        Whoever borrows has to ``keep`` what was made here, for as long as it is needed.
        """

        def codegen(context, builder, signature, args):
            view = context.make_array(signature.args[0])(context, builder, args[0])
            view.meminfo, view.parent = view.meminfo.type(None), view.parent.type(None)
            return view._getvalue()

        return array(array), codegen

    @intrinsic
    def keep(typingctx, array):
        """Nothing, but up to here the array exists."""
        return types.void(array), lambda context, builder, signature, args: context.get_dummy_value()

    @intrinsic
    def fma(typingctx, a, b, c):
        """a*b + c rounded once."""

        def codegen(context, builder, signature, args):
            return builder.fma(*args)

        return types.float64(types.float64, types.float64, types.float64), codegen

    @intrinsic
    def prefetch(typingctx, array, i):
        """Ask for number i of a contiguous array, counted flat, to come into the cache; it need not exist."""

        def codegen(context, builder, signature, args):
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            pointer, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
            request = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            address = builder.bitcast(builder.gep(data, [args[1]]), pointer)
            builder.call(request, [address, flag(0), flag(3), flag(1)])  # to read, to be kept, data
            return context.get_dummy_value()

        return types.void(array, types.int64), codegen

    def _vector_at(context, builder, array_type, array, number, count):
        """The address of ``count`` doubles of an array, from ``number`` on, counted flat, as those of one vector."""
        data = context.make_array(array_type)(context, builder, array).data
        return builder.bitcast(builder.gep(data, [number]), ir.VectorType(ir.DoubleType(), count).as_pointer())

    def _constants(numbers):
        return ir.Constant(ir.VectorType(ir.IntType(32), len(numbers)), list(numbers))

    def _void_of_rows(rows, i, w, columns, l):
        return types.void(rows, types.int64, w, columns, types.int64)

    @intrinsic
    def four_rows_in(typingctx, rows, i, w, columns, l):
        """Four rows, from the number i of ``rows`` on, into the lanes l.. of ``columns``, a tuple of places in w.

        As one load and a few shuffles: the compiler by itself moves number by number.
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
        @intrinsic
        def rows_out(typingctx, rows, i, w, columns, l):
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

    four_rows_out = _rows_out(past_cache=False)  # the reverse of ``four_rows_in``, for three or four columns
    four_rows_past_cache = _rows_out(past_cache=True)  # straight to memory, without reading what is there first

    @intrinsic
    def address(typingctx, array):
        """Where an array begins."""

        def codegen(context, builder, signature, args):
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            return builder.ptrtoint(data, ir.IntType(64))

        return types.int64(array), codegen

    @intrinsic
    def wait_for_memory(typingctx):
        """All that was stored is there, also for other threads."""

        def codegen(context, builder, signature, args):
            builder.fence("seq_cst")
            return context.get_dummy_value()

        return types.void(), codegen

    @intrinsic
    def _bits_of(typingctx, x):
        def codegen(context, builder, signature, args):
            return builder.bitcast(args[0], context.get_value_type(types.int64))

        return types.int64(types.float64), codegen

    @intrinsic
    def _from_bits(typingctx, n):
        def codegen(context, builder, signature, args):
            return builder.bitcast(args[0], context.get_value_type(types.float64))

        return types.float64(types.int64), codegen

    @exact
    def binade(x):
        """(2^k, 2^-k) with 2^k <= |x| < 2^(k+1), for normal numbers; any two numbers for others."""
        bits = _bits_of(x) & 0x7FF0000000000000
        return _from_bits(bits), _from_bits(0x7FE0000000000000 - bits)

    @exact
    def power_of_two(x):
        """(2^k, 2^-k) with 2^k <= |x| < 2^(k+1); k is kept within +-1022, so both are normal numbers."""
        bits = _bits_of(x) & 0x7FF0000000000000
        bits = min(max(bits, 0x0010000000000000), 0x7FD0000000000000)
        return _from_bits(bits), _from_bits(0x7FE0000000000000 - bits)

    AS_IN_PYTHON = {"error_model": "python", "boundscheck": True, "fastmath": {"contract"}}

    def compile_user(func, signature=None):
        """A function of the user, compiled in memory for one signature, or for whatever compiled code calls it with.

        As in Python, division by zero and an index that does not exist raise. What Numba cannot compile raises too.
        """
        if isinstance(func, Entry):
            return func.function()
        if isinstance(func, numba.core.dispatcher.Dispatcher):
            return func
        if signature is None:
            return numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **AS_IN_PYTHON)(func)
        with COMPILING, scipy_left_alone(), warnings.catch_warnings():
            warnings.simplefilter("ignore", numba.core.errors.NumbaWarning)
            return numba.njit(signature, **AS_IN_PYTHON)(func)

else:

    def helper(func):
        return func

    called = exact = rare = helper

    def entry(signature, cache=True):
        return helper

    def keep(array):
        """Nothing: see the compiled one."""

    borrowed = helper

    def address_of(function, signature):
        """The function itself."""
        return function

    def caller(signature, nothing):
        """call(function, arguments) -> (result, whether it raised); ``nothing`` is the result then."""

        def call(function, arguments):
            try:
                return function(*arguments), False
            except Exception:
                return nothing, True

        return call

    def prefetch(array, i):
        """Nothing: see the compiled one."""

    def fma(a, b, c):
        """a*b + c, rounded twice: uncompiled code must not rely on more (see ``eft.two_prod``)."""
        return a * b + c

    def power_of_two(x):
        """(2^k, 2^-k) with 2^k <= |x| < 2^(k+1); k is kept within +-1022, so both are normal numbers."""
        k = min(max(math.frexp(x)[1] - 1, -1022), 1022) if x else -1022
        return math.ldexp(1.0, k), math.ldexp(1.0, -k)

    binade = power_of_two

    def compile_user(func, signature=None):
        """``func`` as it is; one that the user has compiled, as it was."""
        return getattr(func, "py_func", func)
