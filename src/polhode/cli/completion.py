"""Shell completion: the script that a shell loads, written by click."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from polhode.cli.command import Command

SHELLS = ("bash", "zsh", "fish")


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that completes commands in a shell.

    It knows commands, options, problems, methods, and keys of --set.

    \b
    Examples:
      polhode completion bash >> ~/.bashrc
      polhode completion zsh >> ~/.zshrc
      polhode completion fish > ~/.config/fish/completions/polhode.fish
    """
    made = get_completion_class(shell)
    assert made is not None
    click.echo(made.source_template % made(ctx.find_root().command, {}, "polhode", "_POLHODE_COMPLETE").source_vars())
