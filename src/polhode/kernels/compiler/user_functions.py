"""Compilation of functions of the user, in this process."""

from __future__ import annotations

from polhode.kernels.compiler import JIT
from polhode.kernels.compiler.jit import CONTRACT, NOINLINE, Entry, Kernel

PYTHON_SEMANTICS = {"error_model": "python", "boundscheck": True}

if JIT:

    def compile_user(func, signature=None, key=None):
        """Compile a function of the user.

        As in Python, division by zero and an index out of range raise an exception.

        Parameters
        ----------
        func : callable
            Python function, kernel, or function compiled by ``numba.njit``, which is returned as it is.
        signature : str, optional
            Signature to compile for. If omitted, the function is compiled for the types that its callers use.
        key : str, optional
            Name under which machine code is kept on disk. If omitted, it is not kept.

        Returns
        -------
        callable
            Kernel, which compiled code can call, or an entry point if there is a signature.

        Raises
        ------
        numba.core.errors.NumbaError
            If Numba cannot compile the function for the signature.
        """
        if hasattr(func, "py_func"):
            return func
        if signature is None:
            return Kernel(func, **CONTRACT, **NOINLINE | PYTHON_SEMANTICS)
        entry = Entry(func, signature, key, cache=key is not None, **PYTHON_SEMANTICS)
        entry.code  # noqa: B018  # compile it now
        return entry

else:

    def compile_user(func, signature=None, key=None):
        """Return ``func`` as a Python function, also if the user has compiled it."""
        return getattr(func, "py_func", func)
