"""POLHODE_CPU names the processor that machine code is made for: kernels, generated code, functions of the user."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from polhode.kernels.compiler import CPU, JIT, machine

pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled with POLHODE_JIT=0")

LEVELS = ["native"]
if machine.process_triple().startswith("x86_64"):
    LEVELS += [level for level in machine.LEVELS if not machine.missing_instructions(level)]

# A sum of a product in a loop: fused where the processor can, and as wide as it likes.
CODE = """
define void @generated(ptr %x, ptr %y, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %at = getelementptr double, ptr %x, i64 %i
  %a = load double, ptr %at
  %square = fmul contract double %a, %a
  %sum = fadd contract double %square, %a
  store double %sum, ptr %at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %leave
leave:
  ret void
}
"""
REPORT = f"""
import json
import numba
import polhode as ph
from polhode.files.environment import processor
from polhode.kernels.compiler import machine, numba_internals

@numba.njit("f8(f8)", fastmath={{"contract"}})
def own(x):
    return x * x + 1.0

m, q = ph.propagate((1.0, 1.65, 1.97), (0.3, 0.2, 0.9), (1.0, 0.0, 0.0, 0.0), 10.0)
texts = machine.target().emit_assembly(machine.parsed({CODE!r})), *own.inspect_asm().values()
print(json.dumps([["vfmadd" in text for text in texts], machine.version(), processor(), m.tolist()]))
"""


def report(cpu, code=REPORT):
    environment = {**os.environ, "POLHODE_CPU": cpu}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


def test_code_is_made_for_the_named_processor():
    """Processors of x86-64-v2 have no fused products. Each has machine code of its own on disk."""
    if len(LEVELS) < 3:
        pytest.skip("this machine is no x86-64-v3")
    done = {level: report(level) for level in LEVELS[:3]}
    assert all(each.returncode == 0 for each in done.values()), done
    found = {level: json.loads(each.stdout) for level, each in done.items()}
    assert {level: fused for level, (fused, *_) in found.items()} == {
        "native": [True, True], "x86-64-v2": [False, False], "x86-64-v3": [True, True],
    }  # fmt: skip
    assert len({folder for _, folder, *_ in found.values()}) == 3
    assert [found[level][2] for level in LEVELS[1:3]] == LEVELS[1:3]
    for *_, m in found.values():
        assert m == pytest.approx(found["native"][3], rel=0, abs=1e-14)


@pytest.mark.parametrize("cpu", ["x86-64-v9", "haswell", "x86-64-v4"])
def test_a_processor_that_this_one_is_not(monkeypatch, cpu):
    monkeypatch.setattr(machine, "CPU", cpu)
    monkeypatch.setattr(machine.llvm, "get_host_cpu_features", lambda: {"avx512f": True, "avx512vl": False})
    expected = "this processor .* lacks .*avx512vl" if cpu == "x86-64-v4" else "expected 'native' or one of"
    with pytest.raises(ValueError, match=f"POLHODE_CPU is '{cpu}'.*{expected}.*unset it") as refused:
        machine.processor.__wrapped__()
    assert "avx512f" not in str(refused.value)


def test_an_empty_setting_is_this_processor():
    done = report("", "from polhode.kernels.compiler import CPU; print(CPU)")
    assert done.stdout == "native\n", done.stderr


def test_this_process_uses_what_it_was_told():
    assert machine.processor()[0] == (machine.llvm.get_host_cpu_name() if CPU == "native" else CPU)
