"""Frozen cases of files: numbers that are written, read by others or as text, and numbers of a text that is loaded."""

from __future__ import annotations

import re
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

import polhode as ph
from system_cases import field, molecules
from torqued_cases import satellite, top

IDENTITY = {
    "object_name": "TOP", "object_id": "2026-001A", "originator": "TEST", "epoch": "2026-01-01T00:00:00",
    "time_system": "TAI", "space_frame": "ICRF", "body_frame": "SC_BODY_1",
}  # fmt: skip
NUMBER = re.compile(r"(?<![\w.:-])-?\d+\.\d+(?:[eE][+-]?\d+)?(?![\w:])")
STATES = ("m", "q", "omega")
AEM = """CCSDS_AEM_VERS = 2.0
CREATION_DATE = 2026-01-01T00:00:00
ORIGINATOR = TEST
META_START
OBJECT_NAME = TOP
OBJECT_ID = 2026-001A
REF_FRAME_A = ICRF
REF_FRAME_B = SC_BODY_1
TIME_SYSTEM = UTC
START_TIME = 2026-01-01T00:00:00
STOP_TIME = 2026-01-01T00:00:10.7
ATTITUDE_TYPE = QUATERNION
META_STOP
DATA_START
2026-01-01T00:00:00 0.56748 0.03146 0.45689 0.68427
2026-01-01T00:00:03.5 0.42319 -0.45697 0.23784 0.74533
2026-01-01T00:00:10.7 0.74563 -0.45375 0.36875 0.31964
DATA_STOP
"""


def written(made, suffix, options, nudge):
    """All numbers that another program finds in a file, and the states that polhode loads from it."""
    problem = made(nudge)
    traj = ph.integrate(problem, method="V2", h=problem.t_span[1] / 4)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"run{suffix}"
        traj.save(path, **options)
        loaded = () if suffix in (".xyz", ".gsd") else (ph.load(path).q,)
        return *READERS[suffix](path), *loaded


def of_netcdf(path):
    import h5py

    with h5py.File(path) as file:
        return [np.asarray(file[name]) for name in ("time", *STATES)]


def of_zarr(path):
    import zarr

    group = zarr.open_group(path, mode="r")
    return [np.asarray(group[name]) for name in ("time", *STATES)]


def of_text(path):
    """All numbers but those of comments, one of which is the time that the run took."""
    lines = (line for line in path.read_text().splitlines() if not line.startswith(("#", "COMMENT")))
    return [np.array([float(number) for line in lines for number in NUMBER.findall(line)])]


def of_gsd(path):
    import gsd.hoomd

    with gsd.hoomd.open(path) as file:
        particles = file[-1].particles
        return particles.position, particles.orientation, particles.angmom


READERS = {".nc": of_netcdf, ".zarr": of_zarr, ".csv": of_text, ".aem": of_text, ".xyz": of_text, ".gsd": of_gsd}


def loaded(nudge):
    """An attitude ephemeris as others write it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "top.aem"
        path.write_text(AEM)
        found = ph.load(path)
    return (found.q + nudge,)


def files():
    found = {f"{suffix} of a body": partial(written, top, suffix, {}) for suffix in (".nc", ".zarr", ".csv")}
    found[".aem of a body"] = partial(written, satellite, ".aem", IDENTITY)
    found |= {f"{suffix} of a system": partial(written, field, suffix, {}) for suffix in (".nc", ".zarr", ".gsd")}
    found[".xyz of a system"] = partial(written, molecules, ".xyz", {"species": ("O", "H", "H")})
    return found | {".aem loaded": loaded}
