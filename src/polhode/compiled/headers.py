"""Header files of the library: for C, and a module for Fortran; made from the table of ``functions``."""

from __future__ import annotations

from polhode._version import __version__
from polhode.compiled.functions import FUNCTIONS, MOTION, Argument, CFunction

C_TYPES = {
    "number": "double {}",
    "count": "int64_t {}",
    "in": "const double *{}",
    "out": "double *{}",
    "integers": "const int *{}",
    "data": "void *{}",
}
C_RESULTS = {"status": "int64_t", "double": "double", "void": "void"}
FORTRAN_TYPES = {
    "number": "real(c_double), value :: {}",
    "count": "integer(c_int64_t), value :: {}",
    "in": "real(c_double), intent(in) :: {}",
    "out": "real(c_double), intent(inout) :: {}",
    "data": "type(c_ptr), value :: {}",
}
FORTRAN_RESULTS = {"status": "integer(c_int64_t)", "double": "real(c_double)"}

ABOUT = f"""polhode {__version__}: the rotation of free rigid bodies, exactly.

Functions of the type int64_t return 0, or the number of the first body that is not valid, counted from 1: moments have
to be positive, quaternions of length 1, and all numbers finite. A negative number of bodies or times returns -1. No
function allocates memory, or keeps anything between calls; all of them may be called from several threads."""


def declaration(function: CFunction) -> str:
    """Return the declaration of a function in C, after a comment that explains its arguments."""
    width = max(len(_shaped(argument)) for argument in function.arguments)
    lines = [f"   {_shaped(argument):{width}}  {argument.meaning}" for argument in function.arguments]
    arguments = ", ".join(C_TYPES[argument.kind].format(argument.name) for argument in function.arguments)
    comment = "\n".join([f"/* {function.summary}", *lines]) + " */"
    return f"{comment}\n{C_RESULTS[function.result]} {function.name}({arguments});"


def c_header() -> str:
    """Return the text of polhode.h."""
    declarations = "\n\n".join(map(declaration, FUNCTIONS))
    return f"""/* {ABOUT} */

#ifndef POLHODE_H
#define POLHODE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

#define POLHODE_MOTION {MOTION} /* doubles of a motion */

{declarations}

#ifdef __cplusplus
}}
#endif

#endif
"""


def fortran_module() -> str:
    """Return the text of polhode.f90, a module with interfaces of all functions but those of FRB, which need none."""
    about = "\n".join(f"! {line}".rstrip() for line in ABOUT.splitlines())
    interfaces = "\n".join(_interface(function) for function in FUNCTIONS if function.result in FORTRAN_RESULTS)
    return f"""{about}
! call frb_step(Piout, Qout, h, aInert, Piin, Qin, Np) and quat_step, of FRB, need no interface.

module polhode
  use, intrinsic :: iso_c_binding, only: c_double, c_int, c_int64_t, c_ptr
  implicit none
  integer, parameter :: polhode_motion = {MOTION}  ! numbers of a motion

  interface
{interfaces}
  end interface
end module polhode
"""


def _interface(function: CFunction) -> str:
    """Return the interface of a function; arrays of C are those of Fortran with the dimensions in reverse order."""
    names = ", ".join(argument.name for argument in function.arguments)
    lines = [f"    ! {function.summary}", f"    function {function.name}({names}) bind(c) result(status)"]
    lines.append("      import :: c_double, c_int, c_int64_t, c_ptr")
    counts = [argument for argument in function.arguments if argument.kind == "count"]
    for argument in (*counts, *(other for other in function.arguments if other.kind != "count")):
        is_array = argument.shape not in ((), (1,)) and argument.kind != "data"
        lengths = f"({', '.join(map(str, argument.shape[::-1]))})" if is_array else ""
        declared = FORTRAN_TYPES[argument.kind].format(argument.name + lengths)
        lines.append(f"      {declared}  ! {argument.meaning}")
    lines += [f"      {FORTRAN_RESULTS[function.result]} :: status", f"    end function {function.name}"]
    return "\n".join(lines)


def _shaped(argument: Argument) -> str:
    """Return the name of an argument, with the lengths of its dimensions if it is an array."""
    lengths = "POLHODE_MOTION" if argument.shape == (MOTION,) else "".join(f"[{n}]" for n in argument.shape)
    if argument.shape in ((), (1,)) or argument.kind == "data":
        return argument.name
    return f"{argument.name}[{lengths}]" if lengths == "POLHODE_MOTION" else f"{argument.name}{lengths}"
