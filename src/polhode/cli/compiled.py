"""Commands for compiled code: where it is kept on disk, and how to compile everything in advance."""

from __future__ import annotations

import click

from polhode.cli.command import Command, Refused


@click.command(cls=Command)
@click.option("--clear", is_flag=True, help="Remove all compiled code; it is compiled again when it is needed.")
def cache(clear: bool) -> None:
    r"""Show the folder in which compiled code is kept, and its size.

    The folder is that of the environment variable POLHODE_CACHE_DIR, or the cache folder of your system.

    \b
    Examples:
      polhode cache
      polhode cache --clear
    """
    import shutil

    from polhode.kernels.compiler import cache

    root = cache.cache_root()
    if root is None:
        raise Refused("there is no home directory: nothing is kept; set POLHODE_CACHE_DIR to a folder")
    folders = cache.folders(root)
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    click.echo(f"{root}\n{len(files)} files, {size / 1e6:.1f} MB")
    if clear:
        for folder in folders:
            shutil.rmtree(folder)
        click.echo("removed")


@click.command("compile", cls=Command)
def compile_command() -> None:
    r"""Compile everything now, so that no later program has to wait.

    This is useful for images of containers and for the computers of a cluster, whose programs then read the folder that
    polhode cache shows. Functions of your own are compiled when they are used.

    \b
    Examples:
      polhode compile
      POLHODE_CACHE_DIR=/opt/polhode polhode compile
    """
    from polhode.kernels.compiler import JIT, cache, code

    if not JIT:
        raise Refused("nothing is compiled with POLHODE_JIT=0; unset that environment variable")
    steps = code.compile_all()
    with click.progressbar(steps, length=int(next(steps)), label="compiling kernels") as bar:
        for _ in bar:
            pass
    click.echo(
        f"compiled code is in {cache.folder()}" if cache.folder() else "no folder can be written: nothing is kept"
    )
