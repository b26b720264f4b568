"""Jacobi's elliptic functions, and elliptic integrals in the forms of Legendre and of Carlson, for arrays.

Give the parameter ``m`` = k^2, the modulus ``k`` or the complementary parameter ``mc`` = 1 - k^2, exactly one of them.
Near k = 1 the distance from 1 is what matters, and only ``mc`` holds all its digits. All arguments broadcast, and large
arrays use all cores (the environment variable ``POLHODE_NUM_THREADS`` limits them). Results for numbers are numbers.
NaN gives NaN; arguments for which there is no real value raise InputError.

References: NIST Digital Library of Mathematical Functions, chapters 19 and 22; B. C. Carlson, Numer. Algorithms 10
(1995) 13.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import as_floats, common_batch, place
from polhode.core.errors import InputError
from polhode.core.threads import in_ranges
from polhode.core.vectors import scalar
from polhode.kernels.compiler.limits import NOBODY

__all__ = ["RC", "RD", "RF", "RG", "RJ", "E", "F", "K", "Pi", "ellipj"]
__dir__ = __all__.copy  # public names only


Real = float | FloatArray  # a number for numbers, an array for arrays


def ellipj(
    u: npt.ArrayLike,
    m: npt.ArrayLike | None = None,
    k: npt.ArrayLike | None = None,
    mc: npt.ArrayLike | None = None,
) -> tuple[Real, Real, Real, Real]:
    """Return Jacobi's elliptic functions sn, cn, dn and the amplitude am of the argument ``u``.

    Parameters
    ----------
    u : array_like
        Argument. Up to 1e14 quarter periods are accepted, and any finite number for m = 0 and m = 1.
    m, k, mc : array_like, optional
        Parameter m = k^2, modulus k, or complementary parameter mc = 1 - m; exactly one of them. Every real parameter
        is accepted, also m < 0 and m > 1.

    Returns
    -------
    sn, cn, dn : float or ndarray
        The functions sin(am), cos(am) and sqrt(1 - m sn^2) with its sign.
    am : float or ndarray
        The amplitude, continuous in ``u``.

    Raises
    ------
    InputError
        If not exactly one of ``m``, ``k``, ``mc`` is given, it is infinite, or ``u`` is too large.

    Notes
    -----
    For infinite ``u``, the result is the limit for m = 1; otherwise sn, cn and dn are NaN, and am is infinite for m < 1
    and NaN for m > 1.

    Examples
    --------
    >>> from polhode import elliptic
    >>> sn, cn, dn, am = elliptic.ellipj(1.0, m=0.5)
    >>> round(sn, 12), round(am, 12)
    (0.803001824896, 0.932315079884)

    Close to m = 1, pass ``mc``; the period grows without bound:

    >>> sn, cn, dn, am = elliptic.ellipj(100.0, mc=1e-60)
    >>> f"{cn:.6e}"
    '-3.360146e-18'
    """
    from polhode.kernels.numbers.jacobi import jacobi_range

    kind, given = _parameter(m, k, mc, "ellipj")

    def compute(x: list[FloatArray], rows: tuple[int, int], out: list[FloatArray]) -> int:
        return int(jacobi_range(*x, kind, *rows, *out))

    def explain(values: dict[str, float]) -> str:
        if not all(np.isfinite(values[name]) for name in given):
            return "expected a finite parameter"
        return "expected at most 1e14 quarter periods, because the period is known to 31 digits"

    sn, cn, dn, am = _evaluate("ellipj", {"u": u, **given}, 4, compute, explain, ["u", *given])
    return sn, cn, dn, am


def F(
    phi: npt.ArrayLike,
    m: npt.ArrayLike | None = None,
    k: npt.ArrayLike | None = None,
    mc: npt.ArrayLike | None = None,
) -> Real:
    """Return the incomplete integral of the first kind, int_0^phi dt/sqrt(1 - m sin^2 t).

    Parameters
    ----------
    phi : array_like
        Amplitude in radians, of any size. For m > 1 the integral is real for m sin^2(phi) <= 1, abs(phi) <= pi/2.
    m, k, mc : array_like, optional
        Parameter m = k^2, modulus k, or complementary parameter mc = 1 - m; exactly one of them.

    Returns
    -------
    float or ndarray
        The integral. It is infinite for m = 1 and abs(phi) > pi/2, and for infinite ``phi``.

    Raises
    ------
    InputError
        If not exactly one of ``m``, ``k``, ``mc`` is given, it is infinite, or the integral is not real.

    Examples
    --------
    >>> from polhode import elliptic
    >>> round(elliptic.F(1.0, m=0.5), 12)
    1.083216772845
    """
    return _legendre("FIRST", phi, m, k, mc)


def K(m: npt.ArrayLike | None = None, k: npt.ArrayLike | None = None, mc: npt.ArrayLike | None = None) -> Real:
    """Return the complete integral of the first kind, F(pi/2), the quarter period of sn.

    Parameters
    ----------
    m, k, mc : array_like, optional
        Parameter m = k^2 <= 1, modulus k, or complementary parameter mc = 1 - m >= 0; exactly one of them.

    Returns
    -------
    float or ndarray
        The integral. It is infinite for m = 1.

    Raises
    ------
    InputError
        If not exactly one of ``m``, ``k``, ``mc`` is given, it is infinite, or m > 1.

    Examples
    --------
    >>> from polhode import elliptic
    >>> round(elliptic.K(m=0.5), 12), round(elliptic.K(mc=1e-300), 9)
    (1.854074677301, 346.77405831)
    """
    return _legendre("FIRST", None, m, k, mc)


def E(
    phi: npt.ArrayLike | None = None,
    m: npt.ArrayLike | None = None,
    k: npt.ArrayLike | None = None,
    mc: npt.ArrayLike | None = None,
) -> Real:
    """Return the integral of the second kind, int_0^phi sqrt(1 - m sin^2 t) dt, complete if ``phi`` is omitted.

    Parameters
    ----------
    phi : array_like, optional
        Amplitude in radians, as for ``F``. Omit it for the complete integral, E(pi/2).
    m, k, mc : array_like, optional
        Parameter m = k^2, modulus k, or complementary parameter mc = 1 - m; exactly one of them.

    Returns
    -------
    float or ndarray
        The integral.

    Raises
    ------
    InputError
        If not exactly one of ``m``, ``k``, ``mc`` is given, it is infinite, or the integral is not real.

    Examples
    --------
    >>> from polhode import elliptic
    >>> round(elliptic.E(m=0.5), 12), round(elliptic.E(1.0, m=0.5), 12)
    (1.350643881048, 0.927329883624)
    """
    return _legendre("SECOND", phi, m, k, mc)


def Pi(
    n: npt.ArrayLike,
    phi: npt.ArrayLike | None = None,
    m: npt.ArrayLike | None = None,
    k: npt.ArrayLike | None = None,
    mc: npt.ArrayLike | None = None,
) -> Real:
    """Return the integral of the third kind, int_0^phi dt/((1 - n sin^2 t) sqrt(1 - m sin^2 t)).

    Parameters
    ----------
    n : array_like
        Characteristic, any real number. If the integrand has poles in the interval, n sin^2(t) = 1, the result is the
        Cauchy principal value.
    phi : array_like, optional
        Amplitude in radians, as for ``F``. Omit it for the complete integral, Pi(n, pi/2).
    m, k, mc : array_like, optional
        Parameter m = k^2, modulus k, or complementary parameter mc = 1 - m; exactly one of them.

    Returns
    -------
    float or ndarray
        The integral. It is infinite if it ends at a pole, and for n = 1 beyond pi/2.

    Raises
    ------
    InputError
        If not exactly one of ``m``, ``k``, ``mc`` is given, an argument other than ``phi`` is infinite, or the integral
        is not real.

    Notes
    -----
    Near its zeros, which only principal values have, the relative error grows like the effect of rounding ``n``.

    Examples
    --------
    >>> from polhode import elliptic
    >>> round(elliptic.Pi(0.3, m=0.5), 12), round(elliptic.Pi(2.0, 1.0, m=0.5), 12)
    (2.250376821944, 0.704583746769)
    """
    return _legendre("THIRD", phi, m, k, mc, n)


def RC(x: npt.ArrayLike, y: npt.ArrayLike) -> Real:
    """Return Carlson's integral R_C(x, y) = 1/2 int_0^inf dt/(sqrt(t + x) (t + y)).

    Parameters
    ----------
    x, y : array_like
        Arguments, x >= 0. For y < 0 the result is the Cauchy principal value.

    Returns
    -------
    float or ndarray
        The integral. It is infinite for y = 0.

    Raises
    ------
    InputError
        If an argument is negative or infinite, or smaller than 1e-300 of the other one, but not 0.

    Examples
    --------
    >>> from polhode import elliptic
    >>> round(elliptic.RC(2.25, 2.0), 12)
    0.69314718056
    """
    return _carlson("RC", x=x, y=y)


def RF(x: npt.ArrayLike, y: npt.ArrayLike, z: npt.ArrayLike) -> Real:
    """Return Carlson's integral of the first kind, R_F = 1/2 int_0^inf dt/sqrt((t + x)(t + y)(t + z)).

    Parameters
    ----------
    x, y, z : array_like
        Arguments, none of them negative.

    Returns
    -------
    float or ndarray
        The integral. It is infinite if two arguments are 0.

    Raises
    ------
    InputError
        If an argument is negative or infinite, or smaller than 1e-300 of the largest one, but not 0.

    Examples
    --------
    >>> from polhode import elliptic
    >>> round(elliptic.RF(2.0, 3.0, 4.0), 12)
    0.584082841677
    """
    return _carlson("RF", x=x, y=y, z=z)


def RD(x: npt.ArrayLike, y: npt.ArrayLike, z: npt.ArrayLike) -> Real:
    """Return Carlson's integral of the second kind, R_D = 3/2 int_0^inf dt/(sqrt((t + x)(t + y)) (t + z)^(3/2)).

    Parameters
    ----------
    x, y, z : array_like
        Arguments, none of them negative.

    Returns
    -------
    float or ndarray
        The integral. It is infinite if z = 0 or x = y = 0.

    Raises
    ------
    InputError
        If an argument is negative or infinite, or smaller than 1e-300 of the largest one, but not 0.

    Examples
    --------
    >>> from polhode import elliptic
    >>> round(elliptic.RD(2.0, 3.0, 4.0), 12)
    0.165105272943
    """
    return _carlson("RD", x=x, y=y, z=z)


def RJ(x: npt.ArrayLike, y: npt.ArrayLike, z: npt.ArrayLike, p: npt.ArrayLike) -> Real:
    """Return Carlson's integral of the third kind, R_J = 3/2 int_0^inf dt/(sqrt((t + x)(t + y)(t + z)) (t + p)).

    Parameters
    ----------
    x, y, z : array_like
        Arguments, none of them negative.
    p : array_like
        Argument. For p < 0 the result is the Cauchy principal value.

    Returns
    -------
    float or ndarray
        The integral. It is infinite if p = 0, or two of the other arguments are 0.

    Raises
    ------
    InputError
        If ``x``, ``y`` or ``z`` is negative, or an argument is infinite, or smaller than 1e-300 of the largest one, but
        not 0.

    Examples
    --------
    >>> from polhode import elliptic
    >>> round(elliptic.RJ(2.0, 3.0, 4.0, 5.0), 12), round(elliptic.RJ(2.0, 3.0, 4.0, -5.0), 12)
    (0.142975796672, -0.12711230043)
    """
    return _carlson("RJ", x=x, y=y, z=z, p=p)


def RG(x: npt.ArrayLike, y: npt.ArrayLike, z: npt.ArrayLike) -> Real:
    """Return Carlson's integral R_G, the mean of sqrt(x u^2 + y v^2 + z w^2) over unit vectors (u, v, w).

    The surface area of an ellipsoid with semiaxes a, b, c is 4 pi a b c R_G(1/a^2, 1/b^2, 1/c^2).

    Parameters
    ----------
    x, y, z : array_like
        Arguments, none of them negative.

    Returns
    -------
    float or ndarray
        The integral.

    Raises
    ------
    InputError
        If an argument is negative or infinite, or smaller than 1e-300 of the largest one, but not 0.

    Examples
    --------
    >>> from polhode import elliptic
    >>> round(elliptic.RG(2.0, 3.0, 4.0), 12)
    1.725503028069
    """
    return _carlson("RG", x=x, y=y, z=z)


def _parameter(m: Any, k: Any, mc: Any, function: str) -> tuple[int, dict[str, Any]]:
    """Return the kind of parameter for the kernels, and its name with its value."""
    given = {name: value for name, value in (("m", m), ("k", k), ("mc", mc)) if value is not None}
    if len(given) != 1:
        received = " and ".join(given) or "none of them"
        hint = f"; for the complete integral, type {function}(m=...)" if function == "E" else ""
        raise InputError(
            f"{function} expected exactly one of m, the parameter, k, the modulus, and mc = 1 - m; got {received}{hint}"
        )
    (name,) = given
    return ("m", "k", "mc").index(name), given


def _legendre(kind: str, phi: Any, m: Any, k: Any, mc: Any, n: Any = 0.0) -> Real:
    """Return an integral of Legendre's, complete if ``phi`` is None."""
    from polhode.kernels.numbers import legendre

    function = {"FIRST": "K" if phi is None else "F", "SECOND": "E", "THIRD": "Pi"}[kind]
    given_as, given = _parameter(m, k, mc, function)
    code, complete = getattr(legendre, kind), int(phi is None)

    def compute(x: list[FloatArray], rows: tuple[int, int], out: list[FloatArray]) -> int:
        return int(legendre.legendre_range(code, *x, given_as, complete, *rows, *out))

    def explain(values: dict[str, float]) -> str:
        if not np.isfinite([values["n"], *(values[name] for name in given)]).all():
            return "expected finite arguments; only phi may be infinite"
        if complete:
            return "a complete integral is not real for m > 1; expected m <= 1, that is, mc >= 0"
        return (
            "for m > 1 the integral is real for abs(phi) <= pi/2 and m sin(phi)^2 <= 1; expected such a phi, or m <= 1"
        )

    arguments = {"n": n, "phi": 0.0 if complete else phi, **given}
    shown = [*(["n"] if kind == "THIRD" else []), *([] if complete else ["phi"]), *given]
    (result,) = _evaluate(function, arguments, 1, compute, explain, shown)
    return result


def _carlson(kind: str, **arguments: Any) -> Real:
    """Return a symmetric integral of Carlson's."""
    from polhode.kernels.numbers import legendre

    code = getattr(legendre, kind)

    def compute(x: list[FloatArray], rows: tuple[int, int], out: list[FloatArray]) -> int:
        four = [*x, x[1], x[1]][:4] if kind == "RC" else [*x, x[1]][:4]
        return int(legendre.carlson_range(code, *four, *rows, *out))

    def explain(values: dict[str, float]) -> str:
        if not np.isfinite(list(values.values())).all():
            return "every argument must be finite"
        signed = {"RC": "y", "RJ": "p"}.get(kind)
        if any(value < 0 for name, value in values.items() if name != signed):
            return "expected no negative argument" + (f" but {signed}" if signed else "")
        return "expected arguments that are 0 or at least 1e-300 of the largest one"

    (result,) = _evaluate(kind, arguments, 1, compute, explain, list(arguments))
    return result


def _evaluate(
    function: str,
    arguments: dict[str, Any],
    outputs: int,
    compute: Callable[[list[FloatArray], tuple[int, int], list[FloatArray]], int],
    explain: Callable[[dict[str, float]], str],
    shown: list[str],
) -> list[Real]:
    """Return the results of a kernel for arguments that broadcast; raise InputError with the first invalid ones.

    ``compute`` calls the kernel for a range of flat arrays; ``explain`` returns the reason why it has rejected values,
    of which those with the names ``shown`` are part of the message.
    """
    arrays = {name: as_floats(value, name) for name, value in arguments.items()}
    batch = common_batch(**{name: array.shape for name, array in arrays.items()})
    flat = [
        x.reshape(1) if x.size == 1 else np.require(np.broadcast_to(x, batch), requirements=["C", "W"]).reshape(-1)
        for x in arrays.values()
    ]
    count = prod(batch)
    out = [np.empty(count) for _ in range(outputs)]
    bad = in_ranges(lambda start, stop: compute(flat, (start, stop), out), count)
    if bad < NOBODY:
        index = tuple(int(i) for i in np.unravel_index(bad, batch)) if batch else ()
        values = {name: float(np.broadcast_to(x, batch)[index]) for name, x in arrays.items()}
        listed = ", ".join(f"{place(name, index if arrays[name].ndim else ())} = {values[name]:.6g}" for name in shown)
        raise InputError(f"{function} with {listed}: {explain(values)}")
    return [scalar(x.reshape(batch)) for x in out]
