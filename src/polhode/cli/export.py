"""Command that writes the library for C and Fortran."""

from __future__ import annotations

from pathlib import Path

import click

from polhode.cli.command import Command, Folder


@click.command(cls=Command)
@click.option("--out", "folder", type=Folder(), default="lib", show_default=True, help="Folder for the files.")
@click.option(
    "--target",
    metavar="NAME",
    help="Processors that can execute the code: x86-64-v3, x86-64 or aarch64. Default: those like this one.",
)
@click.option(
    "--cpu",
    metavar="NAME",
    help="LLVM's name of a processor, such as znver4, or native for this one.",
)
@click.option("--compiler", metavar="COMMAND", help="C compiler that links. Default: cc, gcc, clang or ziglang.")
def export(folder: Path, target: str | None, cpu: str | None, compiler: str | None) -> None:
    r"""Write a library for C and Fortran, with its headers.

    The library has the exact free motion: steps, batches, motions as functions of time, periods, and the routines
    frb_step and quat_step of the package FRB. It does not need Python. For another architecture than that of this
    machine, only object code is written.

    \b
    Examples:
      polhode export --out lib
      cc program.c -Ilib lib/libpolhode.a -lm
      gfortran lib/polhode.f90 program.f90 lib/libpolhode.a
    """
    from polhode.compiled.export import export

    for path in export(folder, target, cpu=cpu, compiler=compiler):
        click.echo(path)
