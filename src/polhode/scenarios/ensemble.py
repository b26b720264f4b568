"""Ensembles of scenarios: which keys of a file vary among members, by its table ``[ensemble]`` (docs/ensembles.md)."""

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
class Made:
    """The problem of a scenario with some of its keys set to those of the members, or of one member."""

    data: dict[str, Any]
    source: str
    allow_python: bool

    def __call__(self, rows: Rows) -> Problem:
        return unchecked(self.with_values(rows), self.source, {}, allow_python=self.allow_python).problem

    def with_values(self, rows: Rows) -> dict[str, Any]:
        """Return the tables of the scenario with the values of members, or of one member."""
        data = copy.deepcopy(self.data)
        for key, values in rows.items():
            array = np.asarray(values)
            if DAMPING.fullmatch(key) and array.ndim == 2:  # three members of three numbers are no matrix
                array = array[:, None, :] * np.eye(3)
            set_value(data, key, array.tolist(), f"sample {key!r}")
        return data


def arguments_of(scenario: Scenario, source: str, *, allow_python: bool = False) -> dict[str, Any]:
    """What ``ensemble`` takes: the problem as a function of samples, the samples, and how."""
    given = scenario.data.get("ensemble")
    if given is None:
        raise InputError(f"{source}: there is no table [ensemble]; expected one with count and [ensemble.samples]")
    data = {key: value for key, value in scenario.data.items() if key != "ensemble"}
    samples = samples_of(given, source)
    make = Made(data, source, allow_python)
    first_member = {key: values[0] for key, values in samples[:1].rows().items()}
    build(make.with_values(first_member), source, allow_python=allow_python)  # the others have the same structure
    states = given.get("states", 1)
    t0, t1 = scenario.problem.t_span
    return {
        "problem": make, "samples": samples, "method": scenario.method, "h": scenario.h, "rtol": scenario.rtol,
        "t_eval": np.linspace(t0, t1, states) if states > 1 else [t1], "reduce": given.get("reduce"),
        "chunk": given.get("chunk"), "seed": given.get("seed"), "vectorized": _takes_many(make, samples),
    }  # fmt: skip


def samples_of(given: dict[str, Any], source: str) -> Samples:
    """Distributions, or a grid if all of them are lists of values."""
    laws = given["samples"]
    listed = [key for key, law in laws.items() if law["kind"] == "values"]
    if not laws:
        raise InputError(f"{source}: ensemble.samples is empty; expected a key of the scenario, such as 'state.omega'")
    if listed and len(listed) < len(laws):
        raise InputError(f"{source}: ensemble.samples: {listed[0]} has values and others have not; give all or none")
    if listed:
        if "count" in given:
            raise InputError(f"{source}: ensemble.count = {given['count']}: a grid has as many members as combinations")
        return sampling.grid(**{key: law["values"] for key, law in laws.items()})
    if "count" not in given:
        raise InputError(f"{source}: ensemble.count is missing; expected how many members")
    return sampling.draw(given["count"], **{key: _law(law, f"{source}: {key}") for key, law in laws.items()})


def _law(given: dict[str, Any], where: str) -> Any:
    arguments = {key: value for key, value in given.items() if key != "kind"}
    try:
        return getattr(sampling, given["kind"])(**arguments)
    except (TypeError, ValueError) as problem:
        raise InputError(f"{where}: {arguments} make no {given['kind']}: {problem}") from problem


def _takes_many(make: Made, samples: Samples) -> bool:
    """Whether the keys that vary take lists, one value for each body; if not, members are made one by one."""
    try:
        return batch_of(make(samples[:2].rows())) == (len(samples[:2]),)
    except InputError:
        return False
