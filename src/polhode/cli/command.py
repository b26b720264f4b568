"""Code shared by all commands: reporting of errors and warnings, tables, and shell completion."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from polhode.core.errors import PolhodeError, RunError, RunWarning, StepError
from polhode.core.messages import in_shell_words
from polhode.core.progress import Lines, Report

CTRL_C = 130
UNLIMITED = 10_000  # characters of a summary, so that click wraps it instead of cutting it off


class Refused(click.ClickException):
    """Error in a value, a file or a folder; unlike for a mistyped command, no "Usage:" line is printed."""

    exit_code = 2


class Folder(click.Path):
    """Parameter type for a folder that exists or can be created."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path of the folder; fail if it, or one of its parents, is a file."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        existing = next(each for each in (path, *path.parents) if os.path.exists(each))
        if not existing.is_dir():
            self.fail(f"{existing} is not a folder; expected the name of an existing or new folder", param, ctx)
        return path


class FullSummary(click.Command):
    r"""Command whose summary is shown in full in the list of commands.

    Docstrings of commands are raw strings; the ``\b`` in them, which tells click not to wrap a paragraph, is converted
    to the backspace character that click expects.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if self.help is not None:
            self.help = self.help.replace(r"\b", "\b")

    def get_short_help_str(self, limit: int = UNLIMITED) -> str:
        """Return the whole summary; `limit` is ignored."""
        return super().get_short_help_str(UNLIMITED)


class Command(FullSummary):
    """Command that reports errors as messages; its option ``--debug`` shows the traceback instead."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        help_text = "Show where in the program an error comes from."
        self.params.append(
            click.Option(["--debug"], is_flag=True, expose_value=False, callback=_save_debug_flag, help=help_text)
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; print warnings as notes, and convert errors of the library to messages of the shell."""
        try:
            with warnings.catch_warnings():
                for kind in (UserWarning, RunWarning):
                    warnings.simplefilter("always", kind)
                warnings.showwarning = _WarningPrinter().show
                return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("\ninterrupted", err=True)
            ctx.exit(CTRL_C)
        except (PolhodeError, OSError, MemoryError) as problem:
            pipe_closed = isinstance(problem, BrokenPipeError)  # by the reader, such as head
            if ctx.meta.get("debug") or pipe_closed:
                raise
            message = in_shell_words(problem)
            if not isinstance(problem, PolhodeError):
                message = f"{'cannot write' if isinstance(problem, OSError) else 'not enough memory'}: {problem}"
            failed = isinstance(problem, (RunError, StepError))
            raise (click.ClickException if failed else Refused)(message) from None


class Group(FullSummary, click.Group):
    """Group of commands that lists them in the order in which they are added, the most used first."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order in which they were added."""
        return list(self.commands)


def _save_debug_flag(ctx: click.Context, option: click.Parameter, value: bool) -> None:
    ctx.meta["debug"] = value


class _WarningPrinter:
    """Printer of warnings on the standard error, each message once."""

    def __init__(self) -> None:
        self.printed: set[str] = set()

    def show(self, message: Warning | str, *where: Any, **more: Any) -> None:
        if str(message) not in self.printed:
            self.printed.add(str(message))
            click.echo(f"note: {in_shell_words(message)}", err=True)


def show_progress() -> bool | Report:
    """Return True for a progress bar if the standard error is a terminal, and otherwise what prints a few lines."""
    return sys.stderr.isatty() or Lines()


def print_json(value: Any) -> None:
    """Print a value as indented JSON; raise ValueError if it contains NaN or infinity."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def columns(rows: Sequence[Sequence[str]]) -> None:
    """Print a table with columns as wide as their widest entry; the first row is its header, in bold."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for i, row in enumerate(rows):
        line = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        click.secho(line, bold=i == 0)


def pairs(rows: Sequence[tuple[str, str]]) -> None:
    """Print pairs of a label and a value, one per line."""
    for label, value in rows:
        click.echo(f"  {label:22} {in_shell_words(value)}")


def complete_problem(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the names of built-in problems that start with `begun`, for shell completion."""
    from polhode.problems import REGISTRY

    return _starting_with(begun, REGISTRY)


def complete_source(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the names of built-in problems that start with `begun`, and let the shell complete files."""
    return [*complete_problem(ctx, param, begun), CompletionItem(begun, type="file")]


def complete_method(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the names of schemes and methods that start with `begun`, for shell completion."""
    from polhode.methods import METHODS
    from polhode.methods.schemes import SCHEMES

    return _starting_with(begun, (*SCHEMES, *METHODS))


def complete_flow(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the names of flows that start with `begun`, for shell completion."""
    from polhode.flows import FLOWS

    return _starting_with(begun, FLOWS)


def complete_setting(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the keys that ``--set`` can change in the scenario file or built-in problem, for shell completion."""
    from polhode.scenarios.scenario import keys_to_set

    # While the value of --set is missing, click leaves the source in args.
    sources = ctx.params.get("source"), ctx.params.get("problem"), *ctx.args
    names = next((keys for source in sources if source is not None and (keys := keys_to_set(source))), [])
    return _starting_with(begun, [f"{key}=" for key in names])


def _starting_with(begun: str, names: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(begun)]
