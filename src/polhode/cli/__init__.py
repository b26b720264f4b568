"""The command line. Exit codes: 0 done, 2 something to correct in what was typed, 130 Ctrl-C, 1 anything else.

One file for each group of commands; they load what they need when they run, so that ``--help`` is quick.
"""

from __future__ import annotations

import click

from polhode._version import __version__
from polhode.cli.command import Group
from polhode.cli.completion import completion
from polhode.cli.convert import convert
from polhode.cli.ensemble import ensemble
from polhode.cli.listing import cite, methods, problems, schema
from polhode.cli.run import resume, run
from polhode.cli.studies import compare, order
from polhode.cli.view import view


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="polhode")
def cli() -> None:
    """Rigid bodies in time: exact when they are free, structure kept when torques act.

    \b
    Examples:
      polhode run dzhanibekov
      polhode run scenario.toml --out results
      polhode COMMAND --help
    """


for command in (run, resume, view, ensemble, problems, methods, schema, order, compare, cite, convert, completion):
    cli.add_command(command)
