"""Code of LLVM that gives kernels the form of functions of C: made from the table of ``functions``.

Kernels take their arguments as words: a number is one word, an array is its address and its lengths; see ``call.ll``.
"""

from __future__ import annotations

from collections.abc import Iterator

from polhode.compiled.functions import COUNT, CFunction
from polhode.kernels.compiler import code

TYPES = {"number": "double", "count": "i64", "in": "ptr", "out": "ptr", "integers": "ptr", "data": "ptr"}
RESULTS = {"status": "i64", "double": "double", "void": "void"}
RETURNED = {
    "status": "  %value = load i64, ptr %result\n  ret i64 %value\n",
    "double": "  %value = load double, ptr %result\n  ret double %value\n",
    "void": "  ret void\n",
}


def kernel_name(function: CFunction) -> str:
    """Return the name of the kernel of a function in its bitcode."""
    return code.name_of(function.kernel)


def wrapper(function: CFunction) -> str:
    """Return the text of a function of C that calls its kernel."""
    parameters = ", ".join(f"{TYPES[argument.kind]} %{argument.name}" for argument in function.arguments)
    words = [*_words(function)]
    lines = []
    for k, (text, value) in enumerate(words):
        lines += [*([f"  %w{k} = {text}"] if text else []), f"  %a{k} = getelementptr i64, ptr %words, i64 {k}"]
        lines.append(f"  store i64 {value or f'%w{k}'}, ptr %a{k}")
    callee = f'@"{code.words(kernel_name(function))}"'
    body = "\n".join(lines)
    return (
        f"declare i32 {callee}(ptr, ptr)\n\n"
        f"define {RESULTS[function.result]} @{function.name}({parameters}) {{\n{_refused_count(function)}"
        f"  %result = alloca [2 x i64]\n  %words = alloca [{len(words)} x i64]\n{body}\n"
        f"  %status = call i32 {callee}(ptr %result, ptr %words)\n{RETURNED[function.result]}}}\n"
    )


def _refused_count(function: CFunction) -> str:
    """Return code that returns -1 if the length of arrays is negative; empty if there is no such argument."""
    if all(argument.kind != "count" for argument in function.arguments):
        return ""
    return (
        f"  %negative = icmp slt i64 %{COUNT}, 0\n  br i1 %negative, label %refuse, label %go\n"
        "refuse:\n  ret i64 -1\ngo:\n"
    )


def _words(function: CFunction) -> Iterator[tuple[str, str]]:
    """Yield an instruction that computes a word, or a value that is one."""
    for argument in (*function.arguments, *function.again):
        if argument.kind == "number":
            yield f"bitcast double %{argument.name} to i64", ""
        elif argument.kind != "count":
            yield f"ptrtoint ptr %{argument.name} to i64", ""
            yield from (("", f"%{COUNT}" if length == COUNT else str(length)) for length in argument.shape)
