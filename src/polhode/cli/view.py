"""The page with a body in 3-D, of a trajectory that was computed before."""

from __future__ import annotations

from pathlib import Path

import click

from polhode.cli.command import Command

NAMES = "trajectory.nc", "trajectory.zarr", "trajectory.csv"  # what ``polhode run`` writes


@click.command(cls=Command)
@click.argument("sources", metavar="FOLDER|FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The page.  [default: FOLDER/view.html, "
              "or FILE with another ending]")  # fmt: skip
@click.option("--shape", help="box, ellipsoid, top, ship or t-handle.  [default: what suits the problem, or a box]")
@click.option("--title", help="A title.  [default: the name of the problem]")
@click.option("--span", type=float, nargs=2, metavar="START END", help="A part of the time.")
def view(
    sources: tuple[Path, ...], out: Path | None, shape: str | None, title: str | None, span: tuple[float, float] | None
) -> None:
    """Write a page that shows a body in 3-D, for any browser.

    The page is one file, and needs no network. It shows the folder of a run, or a file (.nc, .zarr, .csv) with a
    trajectory; several are shown side by side.

    \b
    Examples:
      polhode view out/dzhanibekov
      polhode view exact.nc three_rotations.nc --out both.html --shape t-handle
    """
    from polhode.files import saving as store
    from polhode.scenarios.results import list_page
    from polhode.show.page import view as write

    files = [_trajectory_in(source) for source in sources]
    target = out or (sources[0] / "view.html" if files[0] != sources[0] else sources[0].with_suffix(".html"))
    labels = [source.name for source in sources] if len(sources) > 1 else None
    page = write([store.load(file) for file in files], target, labels=labels, title=title, shape=shape, t_span=span)
    if target.parent in sources:
        list_page(target)
    click.echo(f"view: {page.path}")


def _trajectory_in(source: Path) -> Path:
    """The file, or the one in that folder; a .zarr is a folder itself."""
    from polhode.core.errors import InputError

    if source.suffix == ".zarr" or not source.is_dir():
        return source
    for name in NAMES:
        if (source / name).exists():
            return source / name
    raise InputError(f"{source} has none of {', '.join(NAMES)}; expected a folder that polhode run wrote, or a file")
