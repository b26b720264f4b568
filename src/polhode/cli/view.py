"""Commands that write pages with bodies in 3-D, and films."""

from __future__ import annotations

from pathlib import Path

import click

from polhode.cli.command import Command


@click.command(cls=Command)
@click.argument("sources", metavar="FOLDER|FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="The file of the page.  [default: "
              "FOLDER/view.html, or FILE with the suffix .html]")  # fmt: skip
@click.option(
    "--shape",
    help="A shape such as box, ellipsoid, top, ship, t-handle, racket, book, cubesat or asteroid, or a file with a "
    "mesh (.stl, .obj).  [default: a shape that suits the problem, or a box; for systems, an ellipsoid]",
)
@click.option("--title", help="The title of the page.  [default: the name of the problem]")
@click.option("--span", type=float, nargs=2, metavar="START END", help="The part of the time span to show.")
def view(
    sources: tuple[Path, ...], out: Path | None, shape: str | None, title: str | None, span: tuple[float, float] | None
) -> None:
    r"""Write a page that shows bodies in 3-D, for any browser.

    The page is one file and needs no network. Pass the folder of a run, or a file (.nc, .zarr, .csv) with a
    trajectory; several motions of single bodies are shown side by side, a system of bodies alone.

    \b
    Examples:
      polhode view out/dzhanibekov
      polhode view gas.nc --span 0 5
      polhode view exact.nc three_rotations.nc --out both.html --shape t-handle
    """
    from polhode.files import saving as store
    from polhode.scenarios.results import list_page
    from polhode.show.page import view as write_page

    files = [_trajectory_in(source) for source in sources]
    target = out or (sources[0] / "view.html" if files[0] != sources[0] else sources[0].with_suffix(".html"))
    labels = [source.name for source in sources] if len(sources) > 1 else None
    page = write_page(
        [store.load(file) for file in files], target, labels=labels, title=title, shape=shape, t_span=span
    )
    if target.parent in sources:
        list_page(target)
    click.echo(f"view: {page.path}")


@click.command(cls=Command)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), default=Path("play.html"), show_default=True,
              help="The file of the page.")  # fmt: skip
@click.option("--shape", help="The shape at the start, such as box, racket, book or wing-nut.  [default: t-handle]")
@click.option("--title", help="The title of the page.")
def play(out: Path, shape: str | None, title: str | None) -> None:
    r"""Write a page with a free body to change by sliders.

    Its motion follows at once. The page is one file and needs no network. Sliders are the sides or moments of the body,
    its spin and its attitude; the page shows the body, Poinsot's construction, the map of polhodes, and the period and
    flips of the motion.

    \b
    Examples:
      polhode play
      polhode play --out racket.html --shape racket
    """
    from polhode.show.page import play as write_page

    click.echo(f"play: {write_page(out, shape=shape, title=title).path}")


@click.command(cls=Command)
@click.argument("source", metavar="PROBLEM|FOLDER|FILE")
@click.argument("out", metavar="OUT", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--seconds", type=float, help="The duration of the film.  [default: as on a page, up to 20 s]")
@click.option("--fps", type=int, default=25, show_default=True, help="Pictures per second.")
@click.option("--shape", help="The shape of the body, as for polhode view.")
@click.option("--title", help="The title of the film.  [default: the name of the problem]")
@click.option("--span", type=float, nargs=2, metavar="START END", help="The part of the time span to show.")
def movie(
    source: str, out: Path, seconds: float | None, fps: int, shape: str | None, title: str | None,
    span: tuple[float, float] | None,
) -> None:  # fmt: skip
    r"""Write a film of a motion: .mp4, .webm, .mov or .gif.

    Pass the name of a problem, which is computed, or the folder of a run, or a file with a trajectory.

    \b
    Examples:
      polhode movie dzhanibekov flip.gif
      polhode movie out/heavy_top top.mp4 --seconds 10
    """
    from polhode.files import saving as store
    from polhode.problems import REGISTRY, get
    from polhode.show.plot import animate
    from polhode.solve import integrate

    trajectory = integrate(get(source)) if source in REGISTRY else store.load(_trajectory_in(Path(source)))
    film = animate(trajectory, seconds=seconds, fps=fps, shape=shape, title=title, t_span=span)
    click.echo(f"movie: {film.save(out)}")


def _trajectory_in(source: Path) -> Path:
    """Return the file itself, or the trajectory file in a folder; a .zarr store, though a folder, is a file here."""
    from polhode.core.errors import InputError
    from polhode.files.formats import COMPLETE

    if source.suffix == ".zarr" or not source.is_dir():
        return source
    names = [f"trajectory{suffix}" for suffix in COMPLETE]
    for name in names:
        if (source / name).exists():
            return source / name
    raise InputError(f"{source} has none of {', '.join(names)}; expected a folder that polhode run wrote, or a file")
