"""Commands that list problems, flows, schemes and methods, print the schema of scenarios, and print citations."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from polhode.cli.command import Command, columns, complete_method, print_json

if TYPE_CHECKING:
    from polhode.flows.flow import FlowRecord
    from polhode.methods.scheme import Scheme

as_json = click.option("--json", "as_json", is_flag=True, help="Print the complete records as JSON.")


@click.command(cls=Command)
@as_json
def problems(as_json: bool) -> None:
    r"""List the built-in problems and their arguments.

    Change arguments with the option --set of polhode run.

    \b
    Examples:
      polhode problems
      polhode run heavy_top --set eps=1e-6
    """
    import inspect

    from polhode.problems import REGISTRY

    entries = [(name, make(), list(inspect.signature(make).parameters)) for name, make in REGISTRY.items()]
    if as_json:
        print_json(
            [
                {"name": name, "summary": p.summary, "arguments": arguments, "references": p.references}
                for name, p, arguments in entries
            ]
        )
        return
    columns([("name", "summary", "arguments"), *((n, p.summary, ", ".join(arguments)) for n, p, arguments in entries)])


@click.command(cls=Command)
@as_json
def methods(as_json: bool) -> None:
    r"""List the flows, schemes and methods, and their properties.

    The properties are the order, the structure, and the preserved quantities. The test suite checks that declared
    properties hold and that undeclared ones do not. Pass names as they are listed: --method S6_10, --method
    "Splitting(Gauss(3), 'S6_10')".

    \b
    Examples:
      polhode methods
      polhode methods --json
    """
    from polhode.flows import variants
    from polhode.methods import METHODS, load
    from polhode.methods.schemes import SCHEMES

    flows = [flow.record for flow in variants()]
    summaries = {name: load(name).__doc__.splitlines()[0].replace("``", "") for name in METHODS}
    if as_json:
        print_json(
            {
                "flows": [{**asdict(record), "preserves": sorted(record.preserves)} for record in flows],
                "schemes": [_scheme_record(scheme) for scheme in SCHEMES.values()],
                "methods": [{"name": name, "summary": text} for name, text in summaries.items()],
            }
        )
        return
    head = ("flow", "order", "symmetric", "Poisson", "symplectic", "preserves", "summary")
    columns([head, *map(_flow_row, flows)])
    click.echo()
    columns([("scheme", "order", "torques", "kind", "made for"), *map(_scheme_row, SCHEMES.values())])
    click.echo()
    columns([("method", "summary"), *summaries.items()])


@click.command(cls=Command)
def schema() -> None:
    r"""Print the JSON schema of scenario files.

    Editors use it to complete and check scenario files.

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
    r"""Print the publications behind problems and methods.

    NAMES are names of problems, flows, schemes and methods.

    \b
    Examples:
      polhode cite heavy_top RKN6_14a
      polhode cite "MoserVeselov(6)"
    """
    from polhode.studies.citing import cite as references

    publications = references(*map(_named, names))
    if as_json:
        print_json(list(publications))
        return
    for reference in publications:
        click.echo(reference)


def _named(name: str) -> Any:
    """Return the problem, flow, scheme or method of that name."""
    from polhode import problems
    from polhode.flows import FLOWS
    from polhode.methods.expressions import flow_of, method_of
    from polhode.methods.schemes import SCHEMES

    if name in problems.REGISTRY:
        return problems.get(name)
    if name in SCHEMES:
        return SCHEMES[name]
    return flow_of(name) if name.partition("(")[0].strip() in FLOWS else method_of(name)
