"""Configurations of atoms, from ASE and from XYZ files, as states of rigid molecules."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from polhode.core.arrays import FloatArray
from polhode.core.checks import check_finite
from polhode.core.errors import InputError, StoreError
from polhode.core.extras import optional
from polhode.core.rotation import matrix
from polhode.core.state import State
from polhode.systems.interactions.molecular import Molecular
from polhode.systems.interactions.neighbors import Box

ANGSTROM = 0.1  # in nm
FLAT = 1e-12  # smallest singular value of the positions of sites, relative to the largest, that is not round-off


@dataclass(frozen=True)
class Atoms:
    """Atoms in units of nm, ps and u; a slice of them contains the selected atoms.

    Attributes
    ----------
    symbols : list of str
        Chemical symbols of the N atoms.
    masses : ndarray, shape (N,)
        Masses.
    positions : ndarray, shape (N, 3)
        Positions.
    velocities : ndarray of shape (N, 3), or None
        Velocities, or None if they are not known.
    box : ndarray of shape (3,), or None
        Lengths of the periodic box, or None in open space.

    Examples
    --------
    >>> water = Atoms(["O", "H", "H"], np.array([15.999, 1.008, 1.008]), np.zeros((3, 3)), None, None)
    >>> len(water), water[1:].symbols
    (3, ['H', 'H'])
    """

    symbols: list[str]
    masses: FloatArray
    positions: FloatArray
    velocities: FloatArray | None
    box: FloatArray | None

    def __len__(self) -> int:
        """Return the number of atoms."""
        return len(self.symbols)

    def __getitem__(self, rows: slice) -> Atoms:
        """Return the atoms of a slice."""
        velocities = None if self.velocities is None else self.velocities[rows]
        return Atoms(self.symbols[rows], self.masses[rows], self.positions[rows], velocities, self.box)


def read_atoms(source: Any, *, length: float = ANGSTROM, index: int = -1) -> Atoms:
    """Return the atoms of an ``ase.Atoms`` object, or of an XYZ or extended XYZ file, in nm, ps and u.

    Parameters
    ----------
    source : ase.Atoms, str or path-like
        The atoms, or the name of the file, which ASE reads.
    length : float, optional
        Unit of length of the source in nm. The default is 0.1, the angstrom, in which ASE computes. For files written
        by ``SystemTrajectory.save``, it is the unit of the trajectory: 1.0 if that is in nm.
    index : int, optional
        Number of the frame in the file. The default is -1, the last one.

    Returns
    -------
    Atoms
        The atoms. Velocities are converted from the unit of ASE, which is sqrt(eV/u), by the constants of
        ``ase.units``; masses are those of ASE.

    Raises
    ------
    InputError
        If the cell is periodic along some of its edges only, its angles are not right angles, or a number is not valid.
    MissingExtraError
        If ASE is not installed.
    StoreError
        If the file cannot be read.

    Examples
    --------
    The body and the sites of one molecule are those of ``Molecular.from_atoms``:

    >>> from ase.build import molecule
    >>> atoms = read_atoms(molecule("CO2"))
    >>> atoms.symbols
    ['C', 'O', 'O']
    >>> Molecular.from_atoms(atoms.masses, atoms.positions).body
    RigidBody.linear(0.444527, mass=44.009)
    """
    if not 0 < length < np.inf:
        raise InputError(f"length = {length!r}: expected the unit of length in nm, such as 0.1 for the angstrom")
    atoms = _of_ase(source, index)
    check_finite(atoms.positions, "positions", InputError)
    return Atoms(
        symbols=atoms.get_chemical_symbols(),
        masses=atoms.get_masses(),
        positions=length * atoms.positions,
        velocities=_velocities(atoms),
        box=_box_lengths(atoms, length),
    )


def _of_ase(source: Any, index: int) -> Any:
    """Return `source` as an ``ase.Atoms`` object; read the frame `index` if it is a file."""
    with optional("ase", "ase"):
        import ase.io
    if isinstance(source, ase.Atoms):
        return source
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"source is {source!r}; expected an ase.Atoms object, or the name of an .xyz file")
    try:
        return ase.io.read(source, index=index, format="extxyz")
    except Exception as error:  # ASE raises many kinds
        raise StoreError(f"{source} cannot be read by ASE as an XYZ file: {error}") from error


def _velocities(atoms: Any) -> FloatArray | None:
    """Return the velocities of ASE's atoms in nm/ps, or None if they have none."""
    from ase import units

    return atoms.get_velocities() * (1000 * units.fs / units.nm) if atoms.has("momenta") else None


def _box_lengths(atoms: Any, length: float) -> FloatArray | None:
    """Return the lengths of the periodic cell of ASE's atoms in nm, or None if the cell is not periodic."""
    if not atoms.pbc.any():
        return None
    cell = atoms.cell.array
    lengths = np.diag(cell)
    if not atoms.pbc.all():
        raise InputError(f"the cell is periodic along {atoms.pbc.tolist()}; expected all of its edges, or none")
    if not np.allclose(cell, np.diag(lengths), rtol=0, atol=1e-9 * np.abs(cell).max()):
        raise InputError(f"the cell has the edges {cell.tolist()}; expected right angles, and edges along the axes")
    return Box(length * lengths).lengths


class _Frame(NamedTuple):
    """Sites of a molecule about their mean, with the masses of the atoms as weights."""

    masses: FloatArray  # (s,)
    mean: FloatArray  # (3,), of the sites
    arms: FloatArray  # (s, 3), sites minus their mean
    rank: int  # 0 for one point, 1 for points on a line, 2 or 3 otherwise
    axis: FloatArray  # (3,), along the line


def state_of_atoms(atoms: Any, molecule: Molecular, *, tolerance: float = 0.01) -> State:
    """Return the state of n equal rigid molecules, whose atoms follow each other molecule by molecule.

    Each molecule is placed so that its sites are as close as possible to the atoms, by least squares weighted by the
    masses of the atoms. Molecules that cross the periodic boundary are put together at their first atoms. Velocities
    are fitted in the same way; their part that deforms a molecule is left out.

    Parameters
    ----------
    atoms : Atoms, ase.Atoms, str or path-like
        The atoms, in the order of the sites, or a source of ``read_atoms``.
    molecule : Molecular
        Model with a body and s sites, from ``Molecular.from_atoms`` or ``water``, in nm and u.
    tolerance : float, optional
        Largest distance of an atom from its site, relative to the largest distance of a site from the mass center. The
        default is 0.01.

    Returns
    -------
    State
        Batch of shape (n,) with x, q, p and m in the body axes of the molecule. Without velocities, p and m are 0. The
        attitude of single atoms is the identity, and that of linear molecules has an arbitrary angle about the axis.

    Raises
    ------
    InputError
        If the number of atoms is not a multiple of s, the model has no body, or a molecule does not fit.

    Examples
    --------
    >>> import ase
    >>> from polhode.systems.interactions import water
    >>> model = water("SPC/E")
    >>> state = state_of_atoms(ase.Atoms("OHH", positions=10 * model.sites + (3, 4, 7)), model)
    >>> state.x.round(12)
    array([[0.3, 0.4, 0.7]])
    """
    if not 0 <= tolerance < np.inf:
        raise InputError(f"tolerance = {tolerance!r}: expected a number, 0 or more, relative to the size of a molecule")
    if molecule.body is None:
        raise InputError(f"{molecule!r} has no body; type Molecular.from_atoms(masses, positions, ...) or water()")
    given = atoms if isinstance(atoms, Atoms) else read_atoms(atoms)
    size = len(molecule.sites)
    if not len(given) or len(given) % size:
        raise InputError(f"got {len(given)} atoms; expected a multiple of {size}, the number of sites of {molecule!r}")
    positions = given.positions.reshape(-1, size, 3)
    first = positions[:, :1]
    positions = first + Box(given.box).nearest(positions - first)
    frame = _frame(molecule.sites, given.masses[:size])
    means = _mean(frame, positions)
    q = np.array([_attitude(frame, each) for each in positions - means[:, None]])
    Q = matrix(q)
    x = means - Q @ frame.mean
    _check_fit(positions, x, Q, molecule.sites, tolerance)
    if given.velocities is None:
        return State(np.zeros_like(x), q, x=x, p=np.zeros_like(x))
    omega, velocity = _rigid_motion(frame, Q, given.velocities.reshape(-1, size, 3))
    m = molecule.body.momentum(np.einsum("nij,ni->nj", Q, omega))
    return State(m, q, x=x, p=float(np.asarray(molecule.body.mass)) * velocity)


def _frame(sites: FloatArray, masses: FloatArray) -> _Frame:
    """Return the sites about their mean."""
    mean = masses @ sites / masses.sum()
    arms = sites - mean
    _, spread, axes = np.linalg.svd(arms)
    reach = float(np.abs(sites).max())
    return _Frame(masses, mean, arms, int((spread > FLAT * reach).sum()), axes[0])


def _mean(frame: _Frame, vectors: FloatArray) -> FloatArray:
    """Return the weighted means (n, 3) of vectors (n, s, 3) of the atoms of each molecule."""
    return np.einsum("s,nsi->ni", frame.masses, vectors) / frame.masses.sum()


def _attitude(frame: _Frame, arms: FloatArray) -> FloatArray:
    """Return the quaternion (4,), scalar first, that turns the sites closest to atoms at `arms` (s, 3)."""
    from scipy.spatial.transform import Rotation

    if frame.rank == 0:
        return np.array([1.0, 0.0, 0.0, 0.0])
    if frame.rank == 1:
        along = frame.arms @ frame.axis
        rotation, _ = Rotation.align_vectors([(frame.masses * along) @ arms], [frame.axis])
    else:
        rotation, _ = Rotation.align_vectors(arms, frame.arms, weights=frame.masses)
    return np.roll(rotation.as_quat(), 1)


def _check_fit(positions: FloatArray, x: FloatArray, Q: FloatArray, sites: FloatArray, tolerance: float) -> None:
    """Raise InputError if a site of a molecule is too far from its atom."""
    placed = x[:, None] + np.einsum("nij,sj->nsi", Q, sites)
    misfit = np.linalg.norm(placed - positions, axis=-1).max(axis=-1)
    extent = float(np.linalg.norm(sites, axis=-1).max())
    worst = int(np.argmax(misfit))
    if misfit[worst] > tolerance * extent:
        raise InputError(
            f"molecule {worst} does not fit: one of its atoms is {misfit[worst]:.3g} nm from its site; expected at "
            f"most tolerance={tolerance:g} times {extent:.3g} nm, the largest distance of a site from the mass center; "
            "check the order of the atoms, the unit of length and the model, or increase tolerance"
        )


def _rigid_motion(frame: _Frame, Q: FloatArray, velocities: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the angular velocities and those of the mass centers, (n, 3), of molecules with attitudes Q (n, 3, 3).

    They fit the velocities (n, s, 3) of the atoms best. Components about the axis of linear molecules are 0.
    """
    arms = np.einsum("nij,sj->nsi", Q, frame.arms)
    mean = _mean(frame, velocities)
    spin = np.einsum("s,nsi->ni", frame.masses, np.cross(arms, velocities - mean[:, None]))
    products = np.einsum("s,si,sj->ij", frame.masses, frame.arms, frame.arms)
    inverse = np.linalg.pinv(np.trace(products) * np.eye(3) - products, rcond=FLAT, hermitian=True)
    omega = np.einsum("nij,jk,nlk,nl->ni", Q, inverse, Q, spin)
    return omega, mean - np.cross(omega, Q @ frame.mean)
