"""All code that uses the private interface of Numba, and why it does.

``Cache``: Numba's own cache watches only the file of a function, not the files of the functions that are compiled into
it, and it loads damaged files.
``without_scipy_linalg``: Numba imports scipy.linalg at every start.
``address_of``, ``call_by_address``: passing a first-class function of Numba takes 0.1 ms, and a try block takes as long
as a call.
``borrowed``, ``keep``: reference counts of arrays are atomic operations around every call.
``direct_call``: finding the types of named tuples takes 5 us per call.
"""

from __future__ import annotations

import hashlib
import importlib
import pickle
import re
import sys
import typing
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from polhode.kernels.compiler import JIT

CHECKSUM = 16  # number of bytes at the beginning of every file of the cache


class CacheWarning(UserWarning):
    """Warning that compiled code on disk is damaged: it is removed, and the function is compiled again."""


if JIT:
    import numba
    from numba.core import cgutils, sigutils, types
    from numba.core.caching import NullCache
    from numba.core.compiler import CompileResult
    from numba.core.dispatcher import Dispatcher
    from numba.core.serialize import dumps
    from numba.extending import intrinsic

    class Cache(NullCache):
        """Machine code of one function in a folder: one file for each processor and version, a checksum and a pickle.

        Files are replaced as a whole, so that several processes may read and write at the same time. A damaged file is
        removed, with one warning in each process, and the function is compiled again.
        """

        _warned = False

        def __init__(self, func, folder):
            """Store the folder, and the name and the hash of the source file of ``func``."""
            self._folder = folder
            self._name = re.sub(r"[^\w.]", "_", f"{func.__module__}.{func.__qualname__}")
            source = Path(func.__code__.co_filename).read_bytes()  # the stamp covers files of the package only
            self._source = hashlib.sha256(source).hexdigest()

        def load_overload(self, sig, target_context):
            """Return the compiled function for the signature ``sig``, or None if it is not in the cache."""
            target_context.refresh()
            path = self._path(sig, target_context.codegen())
            try:
                content = path.read_bytes()
            except OSError:  # the file does not exist, or cannot be read
                return None
            try:
                if self._checksum(content[CHECKSUM:]) != content[:CHECKSUM]:
                    raise ValueError("the checksum differs")
                return CompileResult._rebuild(target_context, *pickle.loads(content[CHECKSUM:]))
            except Exception as problem:  # a damaged pickle may raise anything
                self._remove(path, problem)
                return None

        def save_overload(self, sig, data):
            """Write the compiled function ``data`` for the signature ``sig``; failures of the disk are ignored."""
            if data.library.has_dynamic_globals:  # the code contains addresses of this process
                return
            content = dumps(data._reduce())
            path = self._path(sig, data.codegen)
            partial = path.with_name(f"{path.name}.{uuid4().hex}.partial")
            try:
                partial.write_bytes(self._checksum(content) + content)
                partial.replace(path)
            except OSError:  # a full disk, for instance
                with suppress(OSError):
                    partial.unlink()

        def _path(self, sig, codegen):
            """Return the path of the file for a signature and a processor."""
            versions = numba.__version__, sys.implementation.cache_tag
            key = hashlib.sha256(repr((str(sig), codegen.magic_tuple(), versions, self._source)).encode()).hexdigest()
            return self._folder / f"{self._name}-{key[:16]}.nbc"

        def _checksum(self, content):
            """Return the checksum of ``content`` as CHECKSUM bytes."""
            return hashlib.blake2b(content, digest_size=CHECKSUM).digest()

        def _remove(self, path, problem):
            """Remove a damaged file, and warn if this is the first one in this process."""
            with suppress(OSError):
                path.unlink()
            if not Cache._warned:
                Cache._warned = True
                warnings.warn(
                    f"compiled code in {path} is damaged ({problem}); damaged files are removed and compiled again",
                    CacheWarning,
                    stacklevel=2,
                )

    def use_cache(compiled, folder):
        """Let the dispatcher ``compiled`` load and save its machine code in a folder.

        Code that was executed without a module is not cached: Numba stores the module name and could not load it.
        """
        if compiled.py_func.__module__ not in sys.modules:
            return
        with suppress(OSError):  # functions of a console or a notebook have no file
            compiled._cache = Cache(compiled.py_func, folder)

    def is_compiled(function):
        """Return whether the user has decorated a function with ``numba.njit``."""
        return isinstance(function, Dispatcher)

    @contextmanager
    def without_scipy_linalg():
        """Prevent Numba from importing scipy.linalg, which takes a quarter of a second at every start.

        Numba imports it with its array functions to find out whether there is a BLAS. SciPy is installed with polhode,
        so there is one; functions that use it check again, and import it then.
        """
        linalg = importlib.import_module("numba.np.linalg")
        original = linalg.ensure_blas
        linalg.ensure_blas = lambda: None
        try:
            yield
        finally:
            linalg.ensure_blas = original

    def signature_of(declared):
        """Return the signature of an entry point: a string, or the type of the result and those of the arguments.

        Types are strings, or subclasses of NamedTuple whose fields are int, float, bool, other such classes, or
        ``Annotated[..., type]``.
        """
        if isinstance(declared, str):
            return sigutils.normalize_signature(declared)
        result, *arguments = map(_type_of, declared)
        return tuple(arguments), result

    def _type_of(kind):
        """Return the type of a field or an argument; see ``signature_of``."""
        if isinstance(kind, str):
            return sigutils.normalize_signature(f"{kind}()")[1]
        if kind in (int, float, bool):
            return {int: types.int64, float: types.float64, bool: types.boolean}[kind]
        if hasattr(kind, "__metadata__"):
            return _type_of(kind.__metadata__[0])
        fields = typing.get_type_hints(kind, include_extras=True).values()
        return types.BaseTuple.from_types(tuple(map(_type_of, fields)), kind)

    def direct_call(compiled, check):
        """Return the only version of a compiled function, called without a look at the types of its arguments.

        With ``check``, arguments of other types are rejected, as Numba does, but slowly.
        """
        (version,) = compiled.overloads.values()
        if not check:
            return version.entry_point

        def checked(*arguments):
            for value, kind in zip(arguments, version.signature.args, strict=True):
                _check(value, kind, compiled.__name__)
            return version.entry_point(*arguments)

        return checked

    def _check(value, kind, name):
        """Raise TypeError unless a value, or every entry of a named tuple, can be passed as the type ``kind``."""
        if isinstance(kind, types.BaseTuple):
            if len(value) != len(kind) or type(value) is not getattr(kind, "instance_class", tuple):
                raise TypeError(f"{name}: expected {kind}, not {type(value)}")
            for entry, entry_kind in zip(value, kind, strict=True):
                _check(entry, entry_kind, name)
            return
        found = numba.typeof(value)
        if isinstance(kind, types.Array) and isinstance(found, types.Array):
            matches = found.copy(readonly=not kind.mutable) == kind and (found.mutable or not kind.mutable)
        else:
            matches = found == kind or (isinstance(found, types.Number) and isinstance(kind, types.Number))
        if not matches:
            raise TypeError(f"{name}: expected {kind}, not {found}")

    def address_of(function, signature):
        """Return the address of a compiled function, compiled for ``signature``, as an integer.

        Passing an integer to a kernel takes no time, whereas passing a function takes 0.1 ms.
        """
        arguments, result = signature_of(signature)
        compiled = function.get_compile_result(result(*arguments))
        return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)

    def call_by_address(signature, nothing):
        """Return an intrinsic call(address, arguments) -> (result, raised) for functions of a signature.

        ``raised`` is True if the function raised an exception; the result is then unspecified. A try block of Numba
        would cost as much as the call.
        """
        kinds, result = sigutils.normalize_signature(signature)

        @intrinsic
        def call(typingctx, address, arguments):
            def codegen(context, builder, signature, args):
                convention = context.call_conv
                kind = convention.get_function_type(result, kinds)
                function = builder.inttoptr(args[0], kind.as_pointer())
                values = [
                    context.cast(builder, value, signature.args[1][k], kinds[k])
                    for k, value in enumerate(cgutils.unpack_tuple(builder, args[1]))
                ]
                status, value = convention.call_function(builder, function, result, kinds, values)
                return context.make_tuple(builder, signature.return_type, [value, status.is_error])

            return types.Tuple((result, types.boolean))(types.int64, arguments), codegen

        return call

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

else:

    def keep(array):
        """Do nothing: Python keeps the array alive."""

    def borrowed(value):
        """Return the array or tuple."""
        return value

    def address_of(function, signature):
        """Return the function itself, in place of its address."""
        return function

    def call_by_address(signature, nothing):
        """Return a function call(function, arguments) -> (result, raised).

        ``raised`` is True if the function raised an exception; the result is then ``nothing``.
        """

        def call(function, arguments):
            try:
                return function(*arguments), False
            except Exception:
                return nothing, True

        return call
