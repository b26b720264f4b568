"""Start-up: seconds from the start of a new process to its end, with a first result in between.

    python benchmarks/startup.py [wheel] [clone] [commands]

"wheel" builds a wheel, as users install it, and unpacks it: compiled code comes along as bitcode. "clone" takes the
sources of this checkout: kernels are compiled by Numba. "cold" is the first process on a new machine, with an empty
cache; "warm" is the best of several later ones. The wall time is followed by the time of the processor, which includes
that of processes that compile. SciPy and heyoka, if it is installed, solve the same problems beside.
"""

from __future__ import annotations

import compileall
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

ROOT = Path(__file__).resolve().parents[1]
REPEATS = 5
COMMANDS = ("--help", "run --help", "run dzhanibekov", "run heavy_top")

BODY = """
import polhode as ph
body, state = ph.RigidBody((1.0, 1.65, 1.97)), ph.State(m=(0.3, 0.2, 0.9), q=(1.0, 0.0, 0.0, 0.0))
"""
TOP = f"{BODY}\nproblem = ph.Problem(body, state, ph.forces.gravity(0.3, offset=(0, 0, 1)), t_span=(0, 10))\n"
CASES = {
    "nothing but import numpy": "import numpy",
    "import polhode": "import polhode",
    "propagate": f"{BODY}\nph.propagate(body, state.m, state.q, 10.0)",
    "free_motion(...).q(t)": f"{BODY}\nph.free_motion(body, m=state.m).q(10.0)",
    "integrate, ABA1064": f"{TOP}\nph.integrate(problem, method='ABA1064', h=0.1)",
    "integrate, rtol=1e-8": f"{TOP}\nph.integrate(problem, rtol=1e-8)",
    "integrate, Adaptive": f"{TOP}\nph.integrate(problem, method=ph.Adaptive(1e-8))",
    "a System of 27 dipoles": """
import polhode as ph
sphere = ph.RigidBody((1.0, 1.88, 2.88), mass=1.0)
gas = ph.System.lattice(sphere, 3, 2.0, ph.interactions.DipolarSoftSpheres((0, 1, 1)), kT=0.5, seed=1)
ph.integrate(gas, (0, 0.1), h=0.01, method="V2")
""",
    "a torque of the user, V2": f"""{BODY}
def torque(t, Q, w, p):
    return 0.1 * Q[0][1], -0.2 * w[1], 0.1
ph.integrate(ph.Problem(body, state, ph.Torque(torque), t_span=(0, 10)), method="V2", h=0.1)
""",
}
CASES["all of these in one process"] = "\n".join(CASES.values())
OTHERS = {
    "SciPy: DOP853": """
import numpy as np
from scipy.integrate import solve_ivp
def f(t, y):
    w = y[:3] / (1.0, 1.65, 1.97)
    return np.concatenate([np.cross(y[:3], w), 0.5 * np.array([-y[4:] @ w, *(y[3] * w + np.cross(y[4:], w))])])
solve_ivp(f, (0, 10), (0.3, 0.2, 0.9, 1, 0, 0, 0), "DOP853", rtol=1e-8, atol=1e-8)
""",
    "heyoka": """
import heyoka as hy
m, q = hy.make_vars("m1", "m2", "m3"), hy.make_vars("q0", "q1", "q2", "q3")
w = [x / i for x, i in zip(m, (1.0, 1.65, 1.97))]
def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
turn = [-q[1] * w[0] - q[2] * w[1] - q[3] * w[2], *(q[0] * x + y for x, y in zip(w, cross(q[1:], w)))]
system = [*zip(m, cross(m, w)), *((x, 0.5 * y) for x, y in zip(q, turn))]
hy.taylor_adaptive(system, [0.3, 0.2, 0.9, 1, 0, 0, 0], tol=1e-8).propagate_until(10.0)
""",
}


def seconds(command, package, cache, folder=None):
    """Wall time and time of the processor of a new process."""
    environment = {**os.environ, "POLHODE_CACHE_DIR": str(cache)}
    if package:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH")]))
    before, start = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], env=environment, cwd=folder, capture_output=True, check=True)
    wall, after = time.perf_counter() - start, getrusage(RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def best(command, package, cache, folder=None):
    """Smallest wall time and time of the processor of several processes."""
    return tuple(map(min, zip(*(seconds(command, package, cache, folder) for _ in range(REPEATS)), strict=True)))


def shown(pair):
    """Wall time and time of the processor as a text."""
    return f"{pair[0]:7.2f} {pair[1]:6.2f}"


def measure(package):
    """Yield names of all cases with their cold and warm times."""
    for name, code in CASES.items():
        with tempfile.TemporaryDirectory() as cache:
            yield name, seconds(["-c", code], package, cache), best(["-c", code], package, cache)


def table(package):
    """Print the cold and the warm times of all cases."""
    print(f"{'':32}{'cold: wall    CPU':>20}{'warm: wall    CPU':>20}")
    for name, cold, warm in measure(package):
        print(f"{name:32}{shown(cold):>20}{shown(warm):>20}", flush=True)


def measure_others():
    """Yield names of other programs with their times; every process of theirs is like the first one."""
    for name, code in OTHERS.items():
        if not name.startswith("heyoka") or importlib.util.find_spec("heyoka"):
            yield name, best(["-c", code], None, "")


def unpacked_wheel(folder):
    """Build a wheel, with bitcode from the cache if it is there, and unpack it; print its size."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = Path(folder).glob("*.whl")
    print(f"\nfrom a wheel of {wheel.stat().st_size / 1e6:.2f} MB, seconds")
    unpacked = Path(folder) / "unpacked"
    with zipfile.ZipFile(wheel) as file:
        file.extractall(unpacked)
    compileall.compile_dir(unpacked, quiet=1)  # as pip does
    return unpacked


def commands():
    """Print the times of some commands, with a warm cache."""
    with tempfile.TemporaryDirectory() as folder:
        for words in COMMANDS:
            pair = best(
                ["-m", "polhode", *words.split()], ROOT / "src", os.environ.get("POLHODE_CACHE_DIR", ""), folder
            )
            print(f"{'polhode ' + words:32}{'':20}{shown(pair):>20}", flush=True)


def main(*parts):
    if "wheel" in parts:
        with tempfile.TemporaryDirectory() as folder:
            table(unpacked_wheel(folder))
    if "clone" in parts:
        print("\nfrom a clone, seconds")
        table(ROOT / "src")
    for name, pair in measure_others():
        print(f"{name:32}{'':20}{shown(pair):>20}", flush=True)
    if "commands" in parts:
        commands()


if __name__ == "__main__":
    main(*(sys.argv[1:] or ("wheel", "clone", "commands")))
