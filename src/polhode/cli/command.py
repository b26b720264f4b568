"""What all commands share: how errors and warnings are told, tables, and settings."""

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

from polhode.cli.words import in_shell_words
from polhode.core.errors import PolhodeError, RunError, RunWarning, StepError

CTRL_C = 130
UNLIMITED = 10_000  # characters of a summary: long ones are continued on the next line


class Refused(click.ClickException):
    """Something to correct in a value, a file or a folder: a message without the "Usage:" of a mistyped command."""

    exit_code = 2


class Folder(click.Path):
    """The name of a folder, which is there or can be made."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        there = next(each for each in (path, *path.parents) if os.path.exists(each))
        if not there.is_dir():
            self.fail(f"{there} is not a folder; give the name of a folder, existing or new", param, ctx)
        return path


class FullSummary(click.Command):
    """A command whose summary is shown in full in the list of commands."""

    def get_short_help_str(self, limit: int = UNLIMITED) -> str:
        return super().get_short_help_str(UNLIMITED)


class Command(FullSummary):
    """A command whose errors are messages: a traceback is shown only with ``--debug``, which every command has."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        help_text = "Show where in the program an error comes from."
        self.params.append(click.Option(["--debug"], is_flag=True, expose_value=False, callback=_keep, help=help_text))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings():
                for kind in (UserWarning, RunWarning):
                    warnings.simplefilter("always", kind)
                warnings.showwarning = _Notes().show
                return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("\ninterrupted", err=True)
            ctx.exit(CTRL_C)
        except (PolhodeError, OSError, MemoryError) as problem:
            if ctx.meta.get("debug") or isinstance(problem, BrokenPipeError):  # somebody has seen enough, like head
                raise
            message = str(problem)
            if not isinstance(problem, PolhodeError):
                message = f"{'cannot write' if isinstance(problem, OSError) else 'not enough memory'}: {problem}"
            failed = isinstance(problem, (RunError, StepError))
            raise (click.ClickException if failed else Refused)(in_shell_words(message)) from None


class Group(FullSummary, click.Group):
    """Commands are listed in the order in which they are added: the most used first."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def _keep(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    ctx.meta["debug"] = wanted


class _Notes:
    """Warnings, as lines on the standard error, each once."""

    def __init__(self) -> None:
        self.told: set[str] = set()

    def show(self, message: Warning | str, *where: Any, **more: Any) -> None:
        if str(message) not in self.told:
            self.told.add(str(message))
            click.echo(f"note: {in_shell_words(str(message))}", err=True)


def show_progress() -> bool:
    """Whether somebody looks at the standard error."""
    return sys.stderr.isatty()


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def columns(rows: Sequence[Sequence[str]]) -> None:
    """A table whose columns are as wide as their widest entry; the first row is its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for i, row in enumerate(rows):
        line = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        click.secho(line, bold=i == 0)


def pairs(rows: Sequence[tuple[str, str]]) -> None:
    """Labels, and what they say."""
    for label, value in rows:
        click.echo(f"  {label:22} {in_shell_words(value)}")


def complete_problem(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of built-in problems, for shells."""
    from polhode.problems import REGISTRY

    return _beginning(begun, REGISTRY)


def complete_source(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of built-in problems, and files."""
    return [*complete_problem(ctx, param, begun), CompletionItem(begun, type="file")]


def complete_method(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of schemes and methods."""
    from polhode.methods import METHODS
    from polhode.methods.schemes import SCHEMES

    return _beginning(begun, (*SCHEMES, *METHODS))


def complete_flow(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of flows."""
    from polhode.flows import FLOWS

    return _beginning(begun, FLOWS)


def complete_setting(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Keys that ``--set`` changes in the scenario file or built-in problem of the command."""
    from polhode.scenarios.scenario import keys_to_set

    sources = ctx.params.get("source"), ctx.params.get("problem"), *ctx.args  # the last, while a value is missing
    found = next((keys for source in sources if source is not None and (keys := keys_to_set(source))), [])
    return _beginning(begun, [f"{key}=" for key in found])


def _beginning(begun: str, names: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(begun)]
