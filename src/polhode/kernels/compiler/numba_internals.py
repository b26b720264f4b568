"""Everything that uses the private interface of Numba, with its reasons.

``Cache``: Numba's own cache watches the file of a function alone, not the files of what is compiled into it, and it
loads files that are damaged.
``scipy_left_alone``: Numba imports scipy.linalg at every start.
``address_of``, ``call_by_address``: Numba's first-class functions take 0.1 ms to pass, a try block as long as a call.
``borrowed``, ``keep``: reference counts of arrays are atomic operations around every call.
"""

from __future__ import annotations

import hashlib
import importlib
import pickle
import re
import sys
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from polhode.kernels.compiler import JIT

CHECKSUM = 16  # bytes, at the beginning of every file of the cache


class CacheWarning(UserWarning):
    """Compiled code on disk is damaged: it is removed and compiled again."""


if JIT:
    import numba
    from numba.core import cgutils, sigutils, types
    from numba.core.caching import NullCache
    from numba.core.compiler import CompileResult
    from numba.core.dispatcher import Dispatcher
    from numba.core.serialize import dumps
    from numba.extending import intrinsic

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

    def use_cache(compiled, folder):
        """Let the dispatcher ``compiled`` load and save its machine code in a folder.

        Code that was executed without a module is not cached: what Numba stores names the module, and cannot be loaded.
        """
        if compiled.py_func.__module__ not in sys.modules:
            return
        with suppress(OSError):  # what was typed into a console or a notebook has no file, and is not cached
            compiled._cache = Cache(compiled.py_func, folder)

    def is_compiled(function):
        """Return whether the user has decorated a function with ``numba.njit``."""
        return isinstance(function, Dispatcher)

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

    def address_of(function, signature):
        """Of a compiled function: a number, which takes no time to hand to kernels (a function takes 0.1 ms)."""
        arguments, result = sigutils.normalize_signature(signature)
        compiled = function.get_compile_result(result(*arguments))
        return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)

    def call_by_address(signature, nothing):
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

else:

    def keep(array):
        """Nothing: see the compiled one."""

    def borrowed(array):
        """Return the array."""
        return array

    def address_of(function, signature):
        """The function itself."""
        return function

    def call_by_address(signature, nothing):
        """call(function, arguments) -> (result, whether it raised); ``nothing`` is the result then."""

        def call(function, arguments):
            try:
                return function(*arguments), False
            except Exception:
                return nothing, True

        return call
