"""Decorators that compile kernels, or leave them as plain Python functions.

``inline``           a building block, inlined into its callers. Products may be fused with sums ('contract').
``noinline``         like ``inline``, but called: for large functions with several callers.
``inline_strict``    like ``inline``, but without fused products: for error-free transformations.
``noinline_strict``  like ``inline_strict``, but called: for code that is rarely executed.
``entry_point``      a function for the user layer: compiled for one signature on first use, cached, releases the GIL.

With ``POLHODE_JIT=0`` all of them return the Python function unchanged (for debugging, coverage, other number types).
"""

from __future__ import annotations

import functools
import threading
import warnings
from time import perf_counter

from polhode.kernels.compiler import CHECK, JIT
from polhode.kernels.compiler.cache import cache_folder


class CompileTime:
    """Seconds that this process has spent compiling or loading machine code; a context that adds to them."""

    seconds = 0.0
    _depth = 0  # a compilation may begin another one
    _began = 0.0

    def __enter__(self):
        """Begin to count, unless another compilation is counted already."""
        if self._depth == 0:
            self._began = perf_counter()
        self._depth += 1

    def __exit__(self, *error):
        """Add the time since the beginning."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._began


COMPILE_TIME = CompileTime()

if JIT:
    import numba

    from polhode.kernels.compiler.numba_internals import (
        address_of,
        direct_call,
        is_compiled,
        signature_of,
        use_cache,
        without_scipy_linalg,
    )

    NOINLINE_OPTIONS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
    INLINE_OPTIONS = {"forceinline": True, **NOINLINE_OPTIONS}

    def inline(func):
        """Compile a kernel that is inlined into its callers; products may be fused with sums."""
        return numba.njit(fastmath={"contract"}, **INLINE_OPTIONS)(func)

    def noinline(func):
        """Compile a kernel that is called, not inlined; products may be fused with sums."""
        return numba.njit(fastmath={"contract"}, **NOINLINE_OPTIONS)(func)

    def inline_strict(func):
        """Compile a kernel that is inlined into its callers, without fused products."""
        return numba.njit(**INLINE_OPTIONS)(func)

    def noinline_strict(func):
        """Compile a kernel that is called, not inlined, without fused products."""
        return numba.njit(**NOINLINE_OPTIONS)(func)

    # Compilation changes global settings of Numba temporarily. The same thread may begin another one meanwhile: for a
    # function that was sent from another process, Numba imports its module, which may compute something at import.
    COMPILE_LOCK = threading.RLock()

    class Entry:
        """Kernel that is compiled on its first call, for one signature.

        If the signature is a string, arguments of other types are converted or rejected. Arguments that are named
        tuples are passed as they are; ``POLHODE_CHECK=1`` rejects those of other types.
        """

        def __init__(self, func, signature, cache):
            """Store the Python function, its signature, and whether its machine code is cached on disk."""
            functools.update_wrapper(self, func)
            self._signature = signature
            self._cache = cache
            self._compiled = None
            self._call = None

        def __call__(self, *args):
            """Call the compiled kernel, and compile it first if necessary."""
            return (self._call or self.loaded())(*args)

        def function(self):
            """Return the compiled function, which other compiled code can call."""
            with COMPILE_LOCK:
                if self._compiled is None:
                    with COMPILE_TIME:
                        self._compiled = self._compile()
            return self._compiled

        def loaded(self):
            """Return the compiled kernel for calls from Python."""
            if self._call is None:
                compiled = self.function()
                self._call = compiled if isinstance(self._signature, str) else direct_call(compiled, CHECK)
            return self._call

        @functools.cached_property
        def address(self):
            """Address of the compiled kernel."""
            return address_of(self.function(), self._signature)

        def _compile(self):
            """Return the kernel compiled for its signature, or loaded from the cache."""
            folder = cache_folder() if self._cache else None
            compiled = numba.njit(nogil=True, error_model="numpy", fastmath={"contract"})(self.__wrapped__)
            if folder is not None:
                use_cache(compiled, folder)
            with without_scipy_linalg():
                arguments, result = signature_of(self._signature)
                compiled.compile(result(*arguments))
            compiled.disable_compile()
            return compiled

        def __reduce__(self):
            """Return the qualified name: entries are pickled by name, because machine code belongs to this process."""
            return self.__qualname__

    def entry_point(signature, cache=True):
        """Return a decorator that compiles a kernel for a signature, see ``signature_of``, on its first call."""
        return lambda func: Entry(func, signature, cache)

    def loaded(kernel):
        """Return an entry point for many calls: compile it, or load it from the cache, if necessary."""
        return kernel.loaded()

    def address(kernel):
        """Return the address of an entry point, for other kernels."""
        return kernel.address

    def in_python(kernel):
        """Return the Python function of an inlined kernel."""
        return kernel.py_func

    PYTHON_SEMANTICS = {"error_model": "python", "boundscheck": True, "fastmath": {"contract"}}

    def compile_user(func, signature=None):
        """Compile a function of the user in memory.

        As in Python, division by zero and an index out of range raise an exception.

        Parameters
        ----------
        func : callable
            Python function, entry point, or function compiled by ``numba.njit``, which is returned as it is.
        signature : str, optional
            Signature to compile for. If omitted, the function is compiled for the types that its callers use.

        Returns
        -------
        callable
            Compiled function.

        Raises
        ------
        numba.core.errors.NumbaError
            If Numba cannot compile the function.
        """
        if isinstance(func, Entry):
            return func.function()
        if is_compiled(func):
            return func
        if signature is None:
            return numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **PYTHON_SEMANTICS)(func)
        with COMPILE_LOCK, COMPILE_TIME, without_scipy_linalg(), warnings.catch_warnings():
            warnings.simplefilter("ignore", numba.NumbaWarning)
            return numba.njit(signature, **PYTHON_SEMANTICS)(func)

else:

    def inline(func):
        """Return the Python function unchanged."""
        return func

    noinline = inline_strict = noinline_strict = inline

    def entry_point(signature, cache=True):
        """Return a decorator that returns the Python function unchanged."""
        return inline

    def loaded(kernel):
        """Return the Python function unchanged."""
        return kernel

    in_python = address = loaded

    def compile_user(func, signature=None):
        """Return ``func`` as a Python function, also if the user has compiled it."""
        return getattr(func, "py_func", func)
