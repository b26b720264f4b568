"""The library for C and Fortran: programs compiled with it, run on golden cases, and compared with truth and Python."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import polhode as ph
from conftest import EPS, ROOT, distance, golden_cases
from polhode.cli import cli
from polhode.compiled import headers
from polhode.compiled.export import TARGETS
from polhode.compiled.functions import FUNCTIONS
from polhode.kernels.compiler import JIT
from polhode.kernels.exact.dense import USABLE

HERE = Path(__file__).parent
CASES = golden_cases()
I, M, Q, T = (np.array([case[key] for case in CASES], dtype=float) for key in ("I", "m0", "q0", "t"))
SIZES = np.linalg.norm(M, axis=1)
NODES = 5
ALL = np.arange(len(CASES))
FOREIGN = "x86-64" if platform.machine().lower() in ("aarch64", "arm64") else "aarch64"  # another architecture

pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled")
needs_c = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler cc")
needs_fortran = pytest.mark.skipif(shutil.which("gfortran") is None, reason="gfortran is not installed")


@pytest.fixture(
    scope="module", params=["native", *(pytest.param(cpu, marks=pytest.mark.long) for cpu in ("x86-64-v3", "x86-64"))]
)
def library(request, tmp_path_factory):
    """Folder with a library, and the processor for which it is made."""
    from polhode.kernels.compiler import machine

    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "native":
        ph.compiled.export(folder, cpu="native")
        return folder, request.param
    if not machine.process_triple().startswith("x86_64"):
        pytest.skip("this machine is no x86-64")
    if request.param == "x86-64-v3" and machine.missing_instructions("x86-64-v3"):
        pytest.skip("this machine is no x86-64-v3")
    ph.compiled.export(folder, request.param)
    return folder, request.param


def run(command, folder, cases, *emulator):
    """Compile a program, run it with these cases, and return the numbers that it writes."""
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    with (folder / "in.bin").open("wb") as file:
        file.write(np.int64(len(cases)).tobytes())
        for numbers in (I, M, Q, T):
            file.write(numbers[cases].tobytes())
    done = subprocess.run([*emulator, "./program", "in.bin", "out.bin"], cwd=folder, check=False)
    assert done.returncode == 0
    return np.fromfile(folder / "out.bin")


def parts(numbers, count, *sizes):
    """Momenta and attitudes of the batch, and the other results of each body, as arrays of these sizes."""
    m, q, rest = np.split(numbers, [3 * count, 7 * count])
    columns = np.split(rest.reshape(count, -1), np.cumsum(sizes)[:-1], axis=1)
    return m.reshape(count, 3), q.reshape(count, 4), columns


def assert_true(m, q, cases):
    for k, m1, q1 in zip(cases, m, q, strict=True):
        case = CASES[k]
        assert distance(m1, case["m"]) / (SIZES[k] or 1.0) <= 5 * EPS * (1 + case["cond_m"]), case["label"]
        assert distance(q1, case["q"]) <= 5 * EPS * (1 + case["cond_q"]), case["label"]


def assert_matrices(Q_out, q, cases):
    """Attitudes of frb_step, by columns, from the unit matrix: that of the step."""
    turn = ph.rotation.multiply(ph.rotation.conjugate(Q[cases]), q)
    expected = ph.rotation.matrix(turn / np.linalg.norm(turn, axis=1, keepdims=True))
    np.testing.assert_allclose(Q_out.reshape(-1, 3, 3).transpose(0, 2, 1), expected, atol=1e-15 * 20, rtol=0)


NAMES = (
    "m_step",
    "q_step",
    "orbit",
    "m_dense",
    "q_dense",
    "m_few",
    "q_few",
    "one",
    "m_frb",
    "Q_frb",
    "m_quat",
    "q_quat",
)


def c_results(folder, kind="static", cases=ALL):
    """Results of the program in C, by their names."""
    link = ["libpolhode.a"] if kind == "static" else ["-L.", "-lpolhode", "-Wl,-rpath,$ORIGIN"]
    command = ["cc", "-O2", "-Wall", "-Werror", "-I.", str(HERE / "driver.c"), *link, "-lm", "-o", "program"]
    m, q, columns = parts(run(command, folder, cases), len(cases), 3, 4, 2, 60, 80, 9, 12, 1, 3, 9, 3, 4)
    return {"m": m, "q": q} | dict(zip(NAMES, columns, strict=True))


def python_results():
    """The same results by Python."""
    m, q = ph.propagate(I, M, Q, T)
    step = ph.Exact().step(I, ph.State(M, Q), T)
    found = {"m": m, "q": q, "m_step": step.m, "q_step": step.q}
    motions = [ph.free_motion(I[k], m=M[k], q=Q[k]) for k in ALL]
    found["orbit"] = np.array([(motion.period, motion._orbit[2]) for motion in motions])
    found["by_theta"] = np.array([motion._series[0, USABLE] for motion in motions])
    dense = [motion.sample(T[k] * np.arange(1, 21) / 20) for k, motion in enumerate(motions)]
    return found | {
        "m_dense": np.array([x.ravel() for x, _ in dense]),
        "q_dense": np.array([y.ravel() for _, y in dense]),
    }


def check_bits(found, expected):
    """All bits of states, but those at many times only where theta functions are used: sines are others in C."""
    rows = expected.pop("by_theta") != 0
    assert rows.mean() > 0.5
    for name, numbers in expected.items():
        chosen = rows if name.endswith("dense") else slice(None)
        np.testing.assert_array_equal(found[name][chosen], numbers[chosen], err_msg=name)


@needs_c
@pytest.mark.parametrize("kind", ["static", "shared"])
def test_a_program_in_c(library, kind):
    found = c_results(library[0], kind)
    assert_true(found["m"], found["q"], ALL)
    assert_true(found["m_step"], found["q_step"], ALL)
    assert_true(found["m_dense"].reshape(-1, 20, 3)[:, -1], found["q_dense"].reshape(-1, 20, 4)[:, -1], ALL)
    np.testing.assert_array_equal(found["m_frb"], found["m_step"])
    assert_matrices(found["Q_frb"], found["q_step"], ALL)
    for case, x in zip(CASES, found["one"][:, 0], strict=True):
        assert distance([x], case["q"][1:2]) <= 5 * EPS * (1 + case["cond_q"]), case["label"]


@needs_c
def test_bits_of_python(library):
    folder, cpu = library
    if cpu != "native":
        pytest.skip("the code is for other processors than this one")
    check_bits(c_results(folder), python_results())


OLDER = """
import sys
import numpy as np
sys.path[:0] = {path!r}
import test_export
np.savez("python.npz", **test_export.python_results())
"""


@needs_c
@pytest.mark.long
def test_bits_of_python_on_an_older_processor(library):
    """Python makes its code for the oldest processors of x86-64-v3, as it would on such a machine."""
    folder, cpu = library
    if cpu != "x86-64-v3":
        pytest.skip("the code is for other processors")
    script = OLDER.format(path=[str(HERE), str(HERE.parent)])
    subprocess.run([sys.executable, "-c", script], env={**os.environ, "POLHODE_CPU": cpu}, cwd=folder, check=True)
    check_bits(c_results(folder), dict(np.load(folder / "python.npz")))


@needs_c
def test_published_steps_with_quadrature(library):
    """quat_step with five nodes is the flow FrbQuaternion(5), whose error is that of the quadrature."""
    cases = np.array([k for k, case in enumerate(CASES) if case["label"].startswith("generic/")])
    found = c_results(library[0], cases=cases)
    expected = ph.FrbQuaternion(NODES).step(I[cases], ph.State(M[cases], Q[cases]), T[cases])
    np.testing.assert_allclose(found["m_quat"], expected.m, atol=1e-11, rtol=0)
    np.testing.assert_allclose(found["q_quat"], expected.q, atol=1e-11, rtol=0)


@needs_c
@needs_fortran
def test_a_program_in_fortran(library):
    folder, _ = library
    sources = ["polhode.f90", str(HERE / "driver.f90")]
    numbers = run(["gfortran", "-Wall", *sources, "libpolhode.a", "-o", "program"], folder, ALL)
    m, q, columns = parts(numbers, len(ALL), 3, 4, 2, 3, 4, 3, 9, 3, 4)
    m_step, q_step, _, m_motion, q_motion, m_frb, Q_frb, _, _ = columns
    for computed in ((m, q), (m_step, q_step), (m_motion, q_motion)):
        assert_true(*computed, ALL)
    np.testing.assert_array_equal(m_frb, m_step)
    assert_matrices(Q_frb, q_step, ALL)


@needs_c
def test_the_library_needs_only_mathematics(library):
    folder, _ = library
    from polhode.kernels.compiler import machine

    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    done = subprocess.run(["nm", "-u", "polhode.o"], cwd=folder, check=True, capture_output=True, text=True)
    names = set(re.findall(r"U (\w+)", done.stdout))
    assert names <= machine.C_FUNCTIONS | {"floor", "rint"} - {"malloc", "free"}


@needs_c
def test_the_example_in_c_finds_the_order_of_euler(library):
    folder, _ = library
    source = ROOT / "examples" / "c" / "check_integrator.c"
    command = ["cc", "-O2", "-Wall", "-Werror", "-I.", str(source), "libpolhode.a", "-lm", "-o", "check"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["./check"], cwd=folder, check=True, capture_output=True, text=True)
    errors = np.array(
        [[float(x) for x in re.findall(r"by (\S+?)(?: rad|$)", line)] for line in done.stdout.splitlines()]
    )
    np.testing.assert_allclose(errors[2] / errors[3], 10.0, rtol=0.01)


@pytest.mark.long
def test_the_command_writes_object_code_for_another_architecture(tmp_path):
    result = CliRunner().invoke(cli, ["export", "--out", str(tmp_path / "lib"), "--target", FOREIGN])
    assert result.exit_code == 0, result.output
    written = {path.name for path in (tmp_path / "lib").iterdir()}
    assert written == {"polhode.h", "polhode.f90", "polhode.o"}
    assert {Path(line).name for line in result.output.splitlines()} == written
    kind = (tmp_path / "lib" / "polhode.o").read_bytes()[:20]
    assert kind[:4] == b"\x7fELF"
    assert int.from_bytes(kind[18:20], "little") == {"aarch64": 183, "x86-64": 62}[FOREIGN]


ARM = ("aarch64-linux-gnu-gcc", "qemu-aarch64")


@pytest.mark.long
@pytest.mark.skipif(not all(map(shutil.which, ARM)), reason=f"{' or '.join(ARM)} is not installed")
def test_object_code_for_arm(tmp_path):
    ph.compiled.export(tmp_path, "aarch64")
    compiler, emulator = ARM
    command = [compiler, "-O2", "-static", "-I.", str(HERE / "driver.c"), "polhode.o", "-lm", "-o", "program"]
    numbers = run(command, tmp_path, ALL, emulator)
    m, q, columns = parts(numbers, len(ALL), 3, 4, 2, 60, 80, 9, 12, 1, 3, 9, 3, 4)
    assert_true(m, q, ALL)
    assert_true(*columns[:2], ALL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "x86-64-v9"], "x86-64-v3"),
        (["--compiler", "no-such-compiler"], "no C compiler was found: no-such-compiler"),
        (["--cpu", "no-such-cpu"], "'no-such-cpu' is no processor that LLVM knows"),
        (["--target", "aarch64", "--cpu", "znver4"], "'znver4' is no processor that LLVM knows for aarch64"),
        (["--target", FOREIGN, "--cpu", "native"], "'native' is no processor that LLVM knows"),
    ],
)
def test_refused(options, message, tmp_path):
    result = CliRunner().invoke(cli, ["export", "--out", str(tmp_path / "lib"), *options])
    assert result.exit_code == 2
    assert message in result.output
    assert not (tmp_path / "lib").exists()


def test_headers_declare_every_function():
    header, module = headers.c_header(), headers.fortran_module()
    for function in FUNCTIONS:
        names = ", ".join(argument.name for argument in function.arguments)
        assert re.search(rf"\b{function.name}\(.*{function.arguments[-1].name}\);", header)
        if function.result != "void":
            assert f"function {function.name}({names})" in module
    assert max(map(len, module.splitlines())) <= 132
    assert set(TARGETS) == {"x86-64-v3", "x86-64", "aarch64"}
