"""Command-line interface of polhode.

Exit codes: 0 for success, 2 for invalid arguments or input files, 130 after Ctrl-C, 1 for any other error. Each module
holds one group of commands. Commands import what they need when they run, so that ``--help`` is quick.
"""

from __future__ import annotations

import click

from polhode._version import __version__
from polhode.cli.command import Group
from polhode.cli.compiled import cache, compile_command
from polhode.cli.completion import completion
from polhode.cli.convert import convert
from polhode.cli.ensemble import ensemble
from polhode.cli.export import export
from polhode.cli.listing import cite, methods, problems, schema
from polhode.cli.run import resume, run
from polhode.cli.studies import compare, order
from polhode.cli.view import movie, play, view


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="polhode")
def cli() -> None:
    r"""Compute the rotation of rigid bodies: exactly without torques, with structure-preserving methods otherwise.

    \b
    Examples:
      polhode run dzhanibekov
      polhode run scenario.toml --out results
      polhode COMMAND --help
    """


RUNNING = (run, resume, view, play, movie, ensemble)
LISTING = (problems, methods, schema, cite)
for command in (*RUNNING, *LISTING, order, compare, convert, export, cache, compile_command, completion):
    cli.add_command(command)
