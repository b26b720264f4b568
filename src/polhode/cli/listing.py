"""What there is: problems, flows, schemes and methods, and what to cite for them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from polhode.cli.command import Command, columns, complete_method, print_json

if TYPE_CHECKING:
    from polhode.flows.flow import FlowRecord
    from polhode.methods.scheme import Scheme

as_json = click.option("--json", "as_json", is_flag=True, help="The whole records, for other programs.")


@click.command(cls=Command)
@as_json
def problems(as_json: bool) -> None:
    """List the built-in problems and their arguments.

    The option --set of polhode run changes arguments.

    \b
    Examples:
      polhode problems
      polhode run heavy_top --set eps=1e-6
    """
    import inspect

    from polhode.problems import REGISTRY

    found = [(name, make(), list(inspect.signature(make).parameters)) for name, make in REGISTRY.items()]
    if as_json:
        print_json(
            [
                {"name": name, "summary": made.summary, "arguments": arguments, "references": made.references}
                for name, made, arguments in found
            ]
        )
        return
    columns([("name", "summary", "arguments"), *((n, p.summary, ", ".join(arguments)) for n, p, arguments in found)])


@click.command(cls=Command)
@as_json
def methods(as_json: bool) -> None:
    """List the flows, schemes and methods, and their properties.

    These are their order, their structure, and what they preserve. Every entry is checked by the tests, both ways: what
    is declared holds, and what is not declared is seen to fail. Names can be typed as they stand here: --method S6_10,
    --method "Splitting(Gauss(3), 'S6_10')".

    \b
    Examples:
      polhode methods
      polhode methods --json
    """
    from polhode.flows import variants
    from polhode.methods import METHODS, load
    from polhode.methods.schemes import SCHEMES

    flows = [flow.record for flow in variants()]
    whole = {name: load(name).__doc__.splitlines()[0].replace("``", "") for name in METHODS}
    if as_json:
        print_json(
            {
                "flows": [{**asdict(record), "preserves": sorted(record.preserves)} for record in flows],
                "schemes": [_scheme_record(scheme) for scheme in SCHEMES.values()],
                "methods": [{"name": name, "summary": text} for name, text in whole.items()],
            }
        )
        return
    head = ("flow", "order", "symmetric", "Poisson", "symplectic", "preserves", "summary")
    columns([head, *map(_flow_row, flows)])
    click.echo()
    columns([("scheme", "order", "torques", "kind", "made for"), *map(_scheme_row, SCHEMES.values())])
    click.echo()
    columns([("method", "summary"), *whole.items()])


@click.command(cls=Command)
def schema() -> None:
    """Print the JSON schema of scenario files.

    Editors complete and check scenario files with it.

    \b
    Example:
      polhode schema > scenario.schema.json
    """
    from polhode.scenarios.scenario import json_schema

    print_json(json_schema())


def _flow_row(record: FlowRecord) -> tuple[str, ...]:
    from polhode.flows.flow import INVARIANTS

    marks = ("yes" if declared else "no" for declared in (record.symmetric, record.poisson, record.symplectic))
    preserves = ", ".join(name for name in INVARIANTS if name in record.preserves)
    order = "exact" if record.order is None else str(record.order)
    return record.name, order, *marks, preserves, record.summary


def _scheme_row(scheme: Scheme) -> tuple[str, ...]:
    weak = f"weak torques, order {scheme.generalized_order}" if scheme.generalized_order else "any torque"
    made_for = "torques of the attitude alone" if scheme.rkn_only else weak
    return scheme.name, str(scheme.order), str(scheme.torques_per_step), scheme.kind, made_for


def _scheme_record(scheme: Scheme) -> dict[str, Any]:
    keys = ("name", "order", "torques_per_step", "gradients_per_step", "kind", "rkn_only", "symmetric", "references")
    return {key: getattr(scheme, key) for key in keys} | {"generalized_order": list(scheme.generalized_order)}


@click.command(cls=Command)
@click.argument("names", nargs=-1, required=True, shell_complete=complete_method)
@as_json
def cite(names: tuple[str, ...], as_json: bool) -> None:
    """Print the publications behind problems and methods.

    NAMES are those of problems, flows, schemes and methods.

    \b
    Examples:
      polhode cite heavy_top RKN6_14a
      polhode cite "MoserVeselov(6)"
    """
    from polhode.studies.citing import cite as references

    found = references(*map(_named, names))
    if as_json:
        print_json(list(found))
        return
    for reference in found:
        click.echo(reference)


def _named(name: str) -> Any:
    """The problem, flow, scheme or method of that name."""
    from polhode import problems
    from polhode.flows import FLOWS
    from polhode.methods.expressions import flow_of, method_of
    from polhode.methods.schemes import SCHEMES

    if name in problems.REGISTRY:
        return problems.get(name)
    if name in SCHEMES:
        return SCHEMES[name]
    return flow_of(name) if name.partition("(")[0].strip() in FLOWS else method_of(name)
