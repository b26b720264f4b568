"""Without an optional package: what needs it says what to install, and everything else works."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# package -> (the set that brings it, what needs it)
USES = {
    "matplotlib": ("plot", "traj.plot()"),
    "xarray": ("store", "traj.to_xarray()"),
    "zarr": ("store", "ph.stream(top, f'{folder}/run.zarr', method='V2', h=0.1)"),
    "h5netcdf": ("store", "traj.save(f'{folder}/run.nc')"),
    "h5py": ("store", "traj.save(f'{folder}/run.nc')"),
    "distributed": ("cluster", "ph.ensemble(free, samples, seed=1, client='tcp://127.0.0.1:1')"),
    "openmm": ("openmm", "OpenMM(None)"),
    "gsd": ("gsd", "gas.save(f'{folder}/gas.gsd')"),
    "ase": ("ase", "ph.adapters.read_atoms('gas.xyz')"),
    "imageio_ffmpeg": ("movie", "traj.movie(f'{folder}/run.mp4')"),
    "trimesh": ("mesh", "ph.RigidBody.from_mesh('part.stl', 1.0)"),
}

SCRIPT = """
import sys, tempfile
sys.modules[{package!r}] = None  # as if it were not installed
import polhode as ph
from polhode import sampling
from polhode.systems.adapters.openmm import OpenMM

folder = tempfile.mkdtemp()
top = ph.Problem((1.0, 1.0, 0.5), ph.State(m=(0.1, 0.0, 2.0)), ph.forces.gravity(1.0, (0, 0, 0.3)), (0, 1))
traj = ph.integrate(top, method="V2", h=0.1)
traj.save(folder + "/run.csv")
assert (ph.load(folder + "/run.csv").q == traj.q).all()
nothing = ph.interactions.Field(lambda t, x, Q, F, T, p: None, arrays=True)
gas = ph.integrate(ph.System(ph.RigidBody((1, 2, 3), mass=1), [ph.State((1, 1, 1), x=(0, 0, 0))], nothing), h=0.5)
free = ph.Problem((1.0, 1.65, 1.97), omega=(0.1, 1.0, 0.1))
samples = sampling.draw(4, m=sampling.direction())
try:
    {use}
except ph.errors.MissingExtraError as error:
    assert isinstance(error, ImportError)
    print(error)
else:
    print("it did without")
"""


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=os.environ)


@pytest.mark.parametrize("package", USES)
def test_a_missing_package_is_named_with_what_to_type(package):
    extra, use = USES[package]
    done = run("-c", SCRIPT.format(package=package, use=use))
    assert done.returncode == 0, done.stderr
    expected = f"this needs {package}, which is not installed; type: pip install 'polhode[{extra}]'"
    assert done.stdout.strip() == expected


def test_without_click_the_command_line_says_so():
    done = run("-c", "import sys; sys.modules['click'] = None; from polhode.__main__ import main; main()")
    assert done.returncode == 1
    assert (
        done.stderr.strip() == "the command line needs click, which is not installed; type: pip install 'polhode[cli]'"
    )
