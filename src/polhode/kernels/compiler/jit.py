"""How kernels are compiled, or left as plain Python.

Five decorators:

``inline``           a building block, inlined into whatever calls it. Products may be fused with sums ('contract').
``noinline``         the same, but called: for large code that has several callers.
``inline_strict``    like ``inline``, but without any freedom for the optimizer: for error-free transformations.
``noinline_strict``  like ``inline_strict``, but called: for what almost never happens.
``entry_point``      what the user layer calls: compiled for one signature on first use, cached, releases the GIL.

With ``POLHODE_JIT=0`` all of them leave the Python function as it is (for debugging, coverage, other number types).
"""

from __future__ import annotations

import functools
import threading
import warnings

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.cache import cache_folder

if JIT:
    import numba

    from polhode.kernels.compiler.numba_internals import is_compiled, scipy_left_alone, use_cache

    CALLED = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
    INLINED = {"forceinline": True, **CALLED}

    def inline(func):
        return numba.njit(fastmath={"contract"}, **INLINED)(func)

    def noinline(func):
        return numba.njit(fastmath={"contract"}, **CALLED)(func)

    def inline_strict(func):
        return numba.njit(**INLINED)(func)

    def noinline_strict(func):
        return numba.njit(**CALLED)(func)

    COMPILING = threading.Lock()  # what follows changes settings of Numba for a moment

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
                use_cache(compiled, folder)
            with scipy_left_alone():
                compiled.compile(self._signature)
            compiled.disable_compile()
            return compiled

        def __reduce__(self):
            """By name, as functions are: machine code belongs to this process."""
            return self.__qualname__

    def entry_point(signature, cache=True):
        return lambda func: Entry(func, signature, cache)

    AS_IN_PYTHON = {"error_model": "python", "boundscheck": True, "fastmath": {"contract"}}

    def compile_user(func, signature=None):
        """A function of the user, compiled in memory for one signature, or for whatever compiled code calls it with.

        As in Python, division by zero and an index that does not exist raise. What Numba cannot compile raises too.
        """
        if isinstance(func, Entry):
            return func.function()
        if is_compiled(func):
            return func
        if signature is None:
            return numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **AS_IN_PYTHON)(func)
        with COMPILING, scipy_left_alone(), warnings.catch_warnings():
            warnings.simplefilter("ignore", numba.NumbaWarning)
            return numba.njit(signature, **AS_IN_PYTHON)(func)

else:

    def inline(func):
        return func

    noinline = inline_strict = noinline_strict = inline

    def entry_point(signature, cache=True):
        return inline

    def compile_user(func, signature=None):
        """``func`` as it is; one that the user has compiled, as it was."""
        return getattr(func, "py_func", func)
