"""Ensembles of scenarios; the table ``[ensemble]`` of a file says which keys vary among members (docs/ensembles.md)."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.core.errors import InputError
from polhode.ensembles import sampling
from polhode.ensembles.sampling import Rows, Samples
from polhode.ensembles.variation import batch_of
from polhode.integration.problem import Problem
from polhode.scenarios.scenario import Scenario, build, set_value, unchecked

DAMPING = re.compile(r"force(\.\d+)?\.D")


@dataclass(frozen=True)
class ProblemFactory:
    """Callable that returns the problem of a scenario with the sampled values of members, or of one member.

    ``data`` holds the tables of the scenario without ``[ensemble]``; ``source`` is its name in messages.
    """

    data: dict[str, Any]
    source: str
    allow_python: bool

    def __call__(self, rows: Rows) -> Problem:
        """Return the problem whose keys have the values `rows`: an array for members, one value for one member."""
        return unchecked(self.with_values(rows), self.source, {}, allow_python=self.allow_python).problem

    def with_values(self, rows: Rows) -> dict[str, Any]:
        """Return a copy of the tables of the scenario with the values of members, or of one member."""
        data = copy.deepcopy(self.data)
        for key, values in rows.items():
            array = np.asarray(values)
            if DAMPING.fullmatch(key) and array.ndim == 2:  # one row of three numbers per member, not one matrix
                array = array[:, None, :] * np.eye(3)
            set_value(data, key, array.tolist(), f"sample {key!r}")
        return data


def arguments_of(scenario: Scenario, source: str, *, allow_python: bool = False) -> dict[str, Any]:
    """Return the keyword arguments of ``polhode.ensemble`` for a scenario with a table ``[ensemble]``.

    Raises
    ------
    InputError
        If the scenario has no such table, or if the first member cannot be built.
    """
    table = scenario.data.get("ensemble")
    if table is None:
        raise InputError(f"{source}: there is no table [ensemble]; expected one with count and [ensemble.samples]")
    data = {key: value for key, value in scenario.data.items() if key != "ensemble"}
    samples = samples_of(table, source)
    factory = ProblemFactory(data, source, allow_python)
    first_member = {key: values[0] for key, values in samples[:1].rows().items()}
    build(factory.with_values(first_member), source, allow_python=allow_python)  # all members have this structure
    states = table.get("states", 1)
    t0, t1 = scenario.problem.t_span
    return {
        "problem": factory, "samples": samples, "method": scenario.method, "h": scenario.h, "rtol": scenario.rtol,
        "t_eval": np.linspace(t0, t1, states) if states > 1 else [t1], "reduce": table.get("reduce"),
        "chunk": table.get("chunk"), "seed": table.get("seed"), "vectorized": _is_vectorized(factory, samples),
    }  # fmt: skip


def samples_of(table: dict[str, Any], source: str) -> Samples:
    """Return the samples of a table ``[ensemble]``: random ones, or a grid if all of them are lists of values."""
    laws = table["samples"]
    listed = [key for key, law in laws.items() if law["kind"] == "values"]
    if not laws:
        raise InputError(f"{source}: ensemble.samples is empty; expected a key of the scenario, such as 'state.omega'")
    if listed and len(listed) < len(laws):
        raise InputError(
            f"{source}: ensemble.samples: {listed[0]} has kind = 'values' and others have not; "
            "expected all of them or none to be lists of values"
        )
    if listed:
        if "count" in table:
            raise InputError(
                f"{source}: ensemble.count = {table['count']}; omit count: a grid has one member for each combination"
            )
        return sampling.grid(**{key: law["values"] for key, law in laws.items()})
    if "count" not in table:
        raise InputError(f"{source}: ensemble.count is missing; expected the number of members")
    return sampling.draw(table["count"], **{key: _law(law, f"{source}: {key}") for key, law in laws.items()})


def _law(table: dict[str, Any], where: str) -> Any:
    """Return the distribution that a table with its kind and arguments describes."""
    arguments = {key: value for key, value in table.items() if key != "kind"}
    try:
        return getattr(sampling, table["kind"])(**arguments)
    except (TypeError, ValueError) as problem:
        raise InputError(f"{where}: {arguments} are not valid arguments of {table['kind']}: ", problem) from problem


def _is_vectorized(factory: ProblemFactory, samples: Samples) -> bool:
    """Return whether all keys that vary accept one value per body; otherwise members are built one by one."""
    try:
        return batch_of(factory(samples[:2].rows())) == (len(samples[:2]),)
    except InputError:
        return False
