"""Decorators that compile kernels, or leave them as plain Python functions.

``inline``           a building block, inlined into its callers. Products may be fused with sums ('contract').
``noinline``         like ``inline``, but LLVM decides whether to call it: for large functions with several callers; see
                     also ``intrinsics.stay_separate``.
``inline_strict``    like ``inline``, but without fused products, whatever its callers have: for error-free
                     transformations.
``noinline_strict``  like ``inline_strict``, but called: for code that is rarely executed.
``entry_point``      a function for the user layer: its machine code is loaded, or made, on its first call.

With ``POLHODE_JIT=0`` all of them return the Python function unchanged (for debugging, coverage, other number types).
Numba is imported only if something has to be compiled: see ``code``.
"""

from __future__ import annotations

import functools
import weakref

import polhode.kernels.compiler.cache  # noqa: F401  # computes the stamp of the sources before they are loaded
from polhode.kernels.compiler import JIT

ENTRIES = weakref.WeakSet()  # all entry points of this process

CONTRACT, STRICT = {"fastmath": {"contract"}}, {"fastmath": False}  # otherwise Numba passes on what callers have
NOINLINE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
INLINE = {"forceinline": True, **NOINLINE}


class Kernel:
    """Function that Numba compiles when compiled code calls it."""

    def __init__(self, func, **options):
        """Store the Python function, and the options of Numba."""
        functools.update_wrapper(self, func)
        self.py_func = func
        self._options = options

    @functools.cached_property
    def compiled(self):
        """Function compiled by Numba, for other compiled code."""
        from polhode.kernels.compiler import numba_internals

        return numba_internals.dispatcher(self.py_func, self._options)

    @property
    def _numba_type_(self):
        """Type by which Numba finds the compiled function if it finds this object."""
        return self.compiled._numba_type_

    def __reduce__(self):
        """Return the qualified name: kernels are pickled by name, because machine code belongs to this process."""
        return self.__qualname__


class Entry(Kernel):
    """Kernel that is called from Python, or by its address, and compiled for one signature.

    Its arguments must have the types of the signature.

    Parameters
    ----------
    func : callable
        Python function.
    signature : str or tuple
        Signature; see ``numba_signatures.signature_of``.
    key : str, optional
        Name under which the machine code of a function that is not part of this package is kept on disk.
    cache : bool, optional
        Whether machine code is kept on disk.
    registers : bool, optional
        Whether only other compiled code calls the kernel, by its address, with numbers in registers; see
        ``intrinsics.call_in_registers``.
    **options
        Options of Numba.
    """

    def __init__(self, func, signature, key=None, cache=True, registers=False, **options):
        super().__init__(func, nogil=True, **{**CONTRACT, **NOINLINE, **options})
        self.signature, self.key, self.cache, self.registers = signature, key, cache, registers
        self._code = self._call = None
        ENTRIES.add(self)

    def __call__(self, *args):
        """Call the kernel, and load its machine code first if necessary."""
        return (self._call or self.loaded())(*args)

    @property
    def code(self):
        """Machine code of this kernel, loaded."""
        if self._code is None:
            from polhode.kernels.compiler import code

            with code.LOCK:  # another thread may have loaded it meanwhile
                self._code = self._code or code.loaded(self)
        return self._code

    def loaded(self):
        """Return the function for calls from Python."""
        if self._call is None:
            from polhode.kernels.compiler import calls, code

            with code.LOCK:
                self._call = self._call or calls.python_function(self.code.words_address, self.code.form)
        return self._call

    @property
    def address(self):
        """Address of the machine code, for other kernels."""
        return self.code.address


if JIT:

    def inline(func):
        """Compile a kernel that is inlined into its callers; products may be fused with sums."""
        return Kernel(func, **CONTRACT, **INLINE)

    def noinline(func):
        """Compile a kernel that is called, not inlined; products may be fused with sums."""
        return Kernel(func, **CONTRACT, **NOINLINE)

    def inline_strict(func):
        """Compile a kernel that is inlined into its callers, without fused products."""
        return Kernel(func, **STRICT, **INLINE)

    def noinline_strict(func):
        """Compile a kernel that is called, not inlined, without fused products."""
        return Kernel(func, **STRICT, **NOINLINE)

    def entry_point(signature, cache=True, registers=False):
        """Return a decorator that makes an entry point; for the signature see ``numba_signatures.signature_of``."""
        return lambda func: Entry(func, signature, cache=cache, registers=registers)

    def loaded(kernel):
        """Return an entry point for many calls from Python."""
        return kernel.loaded()

    def address(kernel):
        """Return the address of an entry point, for other kernels."""
        return kernel.address

    def prepared(kernel, arguments):
        """Return a call of an entry point with these arguments behind the first two, a float and an integer."""
        from polhode.kernels.compiler.calls import PreparedCall

        return PreparedCall(kernel.code.words_address, arguments)

    def in_python(kernel):
        """Return the Python function of an inlined kernel."""
        return kernel.py_func

    def for_users(func):
        """Compile a function that is inlined into functions of the user, and that Python can call, too."""
        from polhode.kernels.compiler import numba_internals

        return numba_internals.dispatcher(func, {**CONTRACT, "forceinline": True, "error_model": "numpy"})

else:

    def inline(func):
        """Return the Python function unchanged."""
        return func

    noinline = inline_strict = noinline_strict = inline

    def entry_point(signature, cache=True, registers=False):
        """Return a decorator that returns the Python function unchanged."""
        return inline

    def loaded(kernel):
        """Return the Python function unchanged."""
        return kernel

    in_python = for_users = address = loaded

    def prepared(kernel, arguments):
        """Return a call of a function with these arguments behind the first two."""
        return lambda number, count: kernel(number, count, *arguments)
