"""Compiled code is loaded without Numba, is the same in every process, and lives beside functions of the user."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import numpy as np
import pytest

from conftest import ROOT
from polhode.kernels.compiler import JIT, cache, machine
from polhode.kernels.compiler.jit import Entry, entry_point
from polhode.kernels.exact.batch import propagate_range
from polhode.kernels.stepping.block_splitting import split_blocks

pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled with POLHODE_JIT=0")

RESULTS = """
import sys
import numpy as np
import polhode as ph
from polhode import forces

rng = np.random.default_rng(7)
inertia = np.sort(rng.uniform(1.0, 2.0, (300, 3)))
m, q = rng.normal(size=(300, 3)), rng.normal(size=(300, 4))
q /= np.linalg.norm(q, axis=1, keepdims=True)
body, state = ph.RigidBody((1.0, 1.65, 1.97)), ph.State(m=(0.3, 0.2, 0.9), q=(1.0, 0.0, 0.0, 0.0))
top = ph.Problem(body, state, forces.gravity(0.3, offset=(0, 0, 1)), t_span=(0, 5))
motion = ph.free_motion(body, m=state.m)
gas = ph.System.lattice(
    ph.RigidBody((1, 2, 3), mass=1), 2, 2.0, ph.interactions.DipolarSoftSpheres((0, 0, 1)), kT=0.1, seed=1
)
found = {
    "propagate": ph.propagate(inertia, m, q, 3.0),
    "one": ph.propagate(body, state.m, state.q, 10.0),
    "motion": (motion.q(10.0), motion.q(np.linspace(0.0, 10.0, 100))),
    "splitting": ph.integrate(top, method="ABA1064", h=0.1).q[-1],
    "rtol": ph.integrate(top, rtol=1e-8).q[-1],
    "adaptive": ph.integrate(top, method=ph.Adaptive(1e-8)).q[-1],
    "dipoles": ph.integrate(gas, (0, 0.1), h=0.01, method="V2").q[-1],
}
digits = {name: [x.hex() for part in np.atleast_1d(value) for x in np.ravel(part).tolist()]
          if not isinstance(value, tuple) else [x.hex() for part in value for x in np.ravel(part).tolist()]
          for name, value in found.items()}
"""
PRINTED = f"{RESULTS}\nimport json\nprint(json.dumps([digits, 'numba' in sys.modules]))"


def results(source, folder, code=PRINTED, **environment):
    """What a new process prints, with a package and a folder for compiled code."""
    settings = {**os.environ, "PYTHONPATH": str(source), "POLHODE_CACHE_DIR": str(folder), **environment}
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def bitcode_alone(tmp_path_factory):
    """A cache that has bitcode as in a wheel, but no machine code."""
    folder = tmp_path_factory.mktemp("cache")
    folder.chmod(0o700)
    if cache.folder() is None:
        pytest.skip("there is no cache")
    shutil.copytree(cache.folder() / machine.BITCODE, folder / cache.FOLDER / machine.BITCODE, dirs_exist_ok=True)
    return folder


def test_the_same_bits_cold_and_warm_and_without_numba(bitcode_alone):
    """The first process makes machine code, the second loads it."""
    cold, numba_cold = results(ROOT / "src", bitcode_alone)
    warm, numba_warm = results(ROOT / "src", bitcode_alone)
    assert cold == warm
    assert not numba_warm
    assert not numba_cold or not list((cache.folder() / machine.BITCODE).iterdir())
    here: dict[str, object] = {}
    exec(RESULTS, here)
    assert here["digits"] == warm


USER = """
import json, sys
import numpy as np
import numba
import polhode as ph
from polhode.kernels.numbers.quat import product
from polhode.kernels.exact.standard_form import NOBODY

@numba.njit
def own(x):
    return product((0.0, x, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))[3]

def ours():
    return ph.propagate((1.0, 1.65, 1.97), (0.3, 0.2, 0.9), (1.0, 0.0, 0.0, 0.0), 10.0)

if {first!r} == "own":
    x = own(2.0), *(list(part) for part in ours())
else:
    x = *(list(part) for part in ours()), own(2.0)
    x = x[-1], *x[:-1]
print(json.dumps(x))
"""


@pytest.mark.long
def test_kernels_in_functions_of_the_user_beside_native_ones_in_both_orders(tmp_path):
    folder = os.environ.get("POLHODE_CACHE_DIR") or cache.cache_root()
    one, other = (results(ROOT / "src", folder, USER.format(first=first)) for first in ("own", "ours"))
    assert one == other
    assert one[0] == 2.0


TORQUE = """
import json, sys
import polhode as ph
gain = {gain}
def torque(t, Q, w, p):
    return gain * Q[0][1], {second}, p[0]
problem = ph.Problem((1.0, 1.65, 1.97), ph.State(m=(0.3, 0.2, 0.9), q=(1, 0, 0, 0)), ph.Torque(torque, (0.1,)))
end = ph.integrate(problem, (0, 5), method="V2", h=0.1)
print(json.dumps([[x.hex() for x in end.m[-1]], "numba" in sys.modules]))
"""


@pytest.fixture
def without_torques(tmp_path):
    """A cache with the compiled code of the kernels, but of no torque of the user."""
    folder = tmp_path / "cache"
    shutil.copytree(cache.folder(), folder / cache.FOLDER)
    folder.chmod(0o700)
    for pattern in ("*_locals_*.o", "generated_*.o"):
        for old in folder.rglob(pattern):
            old.unlink()
    return folder


@pytest.mark.long
@pytest.mark.parametrize(
    ("second", "needs_numba"),
    [("-0.2 * w[1]", False), ("-0.2 * max(w[1], 0.0)", True)],
    ids=["by its graph", "by Numba, because it has no graph"],
)
def test_a_torque_of_the_user_is_compiled_once_and_again_if_a_global_changes(without_torques, second, needs_numba):
    def run(gain):
        return results(ROOT / "src", without_torques, TORQUE.format(gain=gain, second=second))

    (first, numba_first), (again, numba_again), (changed, numba_changed) = run(0.1), run(0.1), run(0.2)
    assert (numba_first, numba_again, numba_changed) == (needs_numba, False, needs_numba)
    assert first == again
    assert changed != first


CALLED_BACK = """
import json, warnings
import polhode as ph
warnings.simplefilter("ignore")
known = {"gain": 2.0}
def torque(t, Q, w, p):
    return known.get("gain", 0.0) * w[0], 0.0, 0.0
total = ph.Torque(torque) + ph.forces.constant((1.0, 0.0, 0.0)) + ph.forces.gravity(0.3, offset=(0, 0, 1))
print(json.dumps(total.torque(0.0, (1, 0, 0, 0), (1.0, 0.0, 0.0)).tolist()))
"""


@pytest.mark.long
def test_a_sum_with_a_function_that_is_called_back_is_not_kept_on_disk(without_torques):
    """It contains an address in the process that compiled it, which ended others."""
    for _ in range(2):
        assert results(ROOT / "src", without_torques, CALLED_BACK) == [3.0, 0.0, 0.0]


POTENTIALS = """
import json, sys
from math import exp
import polhode as ph
state = ph.State(m=(0.3, 0.2, 0.9), q=(1, 0, 0, 0))
smooth = ph.Potential(lambda t, Q, p: p[0] * exp(Q[2][2]), params=[0.1])
height = ph.Potential(lambda t, Q, p: p[0] * Q[2][2], lambda t, Q, p: ((0, 0, 0), (0, 0, 0), (0, 0, p[0])), [0.1])
problem = ph.Problem((1.0, 1.65, 1.97), state, smooth + height + ph.forces.gravity(0.3, offset=(0, 0, 1)), (0, 2))
runs = [ph.integrate(problem, rtol=1e-8), ph.integrate(problem, method=ph.Adaptive(1e-8))]
runs.append(ph.integrate(ph.Problem((1.0, 1.65, 1.97), state, height, (0, 2)), method=ph.Rattle(), h=0.1))
print(json.dumps([[float(abs(run.energy_error()).max()) for run in runs], "numba" in sys.modules]))
"""


def test_energies_gradients_and_sums_need_no_numba(without_torques):
    errors, has_numba = results(ROOT / "src", without_torques, POTENTIALS)
    assert max(errors) < 1e-2
    assert not has_numba


@entry_point("UniTuple(f8, 2)(f8, i8, b1)", cache=False)
def mixed(x, n, flag):
    return (x if flag else -x), x * n


def test_numbers_are_converted_as_by_python():
    assert mixed(2, np.int64(3), np.True_) == (2.0, 6.0)
    assert mixed(np.float32(0.5), 3, []) == (-0.5, 1.5)
    assert mixed(-1.0, -1, 0) == (1.0, 1.0)  # -1 is what functions of C return for an error
    with pytest.raises(TypeError):
        mixed("2", 3, True)
    with pytest.raises(TypeError):
        mixed(2.0, 3.5, True)
    with pytest.raises(OverflowError):
        mixed(2.0, 2**64, True)


def test_code_of_the_user_that_needs_numba_runs_without_the_cache():
    """Linear algebra of Numba is a library of its own."""

    @entry_point("f8(f8[:,::1])", cache=False)
    def determinant(a):
        return np.linalg.det(a)

    assert determinant(np.array([[2.0, 1.0], [1.0, 3.0]])) == pytest.approx(5.0)
    assert determinant.address


@pytest.mark.parametrize("kernel", [propagate_range, split_blocks])
def test_the_step_of_a_block_is_compiled_once(kernel):
    """Copies at every call took LLVM three times as long; the angles of a step are rounded at three places."""
    from polhode.kernels.compiler import code

    bitcode = code.bitcode_of(kernel, code.name_of(kernel))
    counts = [
        str(function).count("@llvm.rint.v4f64(<4 x double> %") for function in machine.parsed(bitcode.content).functions
    ]
    assert max(counts) == 3
    assert sum(counts) <= 4  # one more, in ``split_blocks``, is not of the step


@pytest.mark.parametrize("triple", ["aarch64-unknown-linux-gnu", "arm64-apple-macosx", "x86_64-pc-windows-msvc"])
@pytest.mark.release
def test_bitcode_compiles_for_other_machines(triple):
    import llvmlite.binding as llvm

    from polhode.kernels.compiler import build, code

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    other = llvm.Target.from_triple(triple).create_target_machine(opt=3, reloc="pic", codemodel="default")
    for entry in build.entries().values():
        assert machine.object_code(machine.parsed(code.bitcode_of(entry, code.name_of(entry)).content), other)


class Terminal(io.StringIO):
    """Text that is shown to somebody."""

    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
@pytest.mark.parametrize("kept", [True, False])
def test_compilation_is_announced_on_a_terminal_and_nowhere_else(stream, kept, monkeypatch):
    def thrice(x):
        return 3.0 * x

    monkeypatch.setattr(sys, "stderr", shown := stream())
    key = f"a key that is new: {uuid4()}" if kept else None
    assert Entry(thrice, "f8(f8)", key, cache=kept)(2.0) == 6.0
    message = "compiling thrice, once on this machine ..." if kept else "compiling thrice ..."
    assert shown.getvalue() == (f"{message}\r{' ' * len(message)}\r" if stream is Terminal else "")


def test_threads_that_call_a_kernel_first_at_the_same_time():
    """Code is loaded once: a second definition of the same function would be an error of LLVM."""

    @entry_point("f8(f8)", cache=False)
    def twice(x):
        return 2.0 * x

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(twice, range(50))) == [2.0 * x for x in range(50)]


def test_kernels_are_compiled_here_if_there_is_no_program_to_start():
    """As in programs in which Python is embedded."""
    code = """
import sys
sys.executable = None
from polhode.kernels.pairs.cells import all_within
import json, numpy as np
print(json.dumps([bool(all_within(np.zeros((2, 3)), np.ones((2, 3)), 4.0)), "numba" in sys.modules]))
"""
    with tempfile.TemporaryDirectory() as empty:
        assert results(ROOT / "src", empty, code) == [True, True]
