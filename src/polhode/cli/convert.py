"""Command that converts a trajectory to another file format."""

from __future__ import annotations

from pathlib import Path

import click

from polhode.cli.command import Command


@click.command(cls=Command)
@click.argument("source", type=click.Path(path_type=Path))
@click.argument("target", type=click.Path(path_type=Path))
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="An option of the new file; required for .aem. May be given several times.",
)
def convert(source: Path, target: Path, settings: tuple[str, ...]) -> None:
    r"""Convert a trajectory to another file format.

    The formats follow from the suffixes of SOURCE and TARGET (.nc, .zarr; for bodies .csv, .aem; for systems, as
    TARGET, .xyz, .gsd). An .aem file (CCSDS attitude ephemeris message) requires the object, the date of t = 0 and both
    frames.

    \b
    Examples:
      polhode convert out/heavy_top/trajectory.nc top.csv
      polhode convert run.nc run.aem --set object_name=TOP --set object_id=2026-001A --set originator=ME \
        --set epoch=2026-01-01T00:00:00 --set time_system=UTC --set space_frame=EME2000 --set body_frame=SC_BODY_1
    """
    from polhode.core.errors import InputError
    from polhode.files import saving as store
    from polhode.files.aem_reader import Attitudes
    from polhode.scenarios.scenario import with_settings

    trajectory = store.load(source)
    if isinstance(trajectory, Attitudes):
        raise InputError(
            f"{source} has attitudes only; expected a trajectory with inertia and momentum to write {target.suffix}"
        )
    store.save(trajectory, target, **with_settings({}, settings))
    click.echo(f"{len(trajectory)} states: {target}")
