"""Plan of an ensemble: a few members are tried first and determine the method, the step and the shapes for all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from polhode.core.arrays import FloatArray
from polhode.core.checks import whole_number
from polhode.core.errors import InputError, ShapeError
from polhode.core.fingerprint import Fingerprint, fingerprint, merged
from polhode.core.units import together
from polhode.ensembles.distributions import Distribution, Each
from polhode.ensembles.members import Factory, Job, Reduce
from polhode.ensembles.reader import FORMAT, KIND
from polhode.ensembles.sampling import Rows, Samples
from polhode.ensembles.store import Layout
from polhode.ensembles.variation import OWN_TIME, batch_of
from polhode.files.environment import environment
from polhode.files.record import describe, functions_of, parameters
from polhode.integration.choice import Choice, choose, wanted_tolerances
from polhode.integration.problem import Problem, checked_span
from polhode.integration.stretches import step_count, step_length
from polhode.kernels.compiler.bytecode import digest
from polhode.methods.closed_form import ClosedForm

if TYPE_CHECKING:
    from polhode.methods import MethodLike

PILOT = 8  # number of members that are tried first
CHUNK_BYTES = 2**24  # of the states of a chunk
LARGEST_CHUNK = 2**16  # members
DESCRIBED = ("polhode", "name", "summary", "references", "units", "force", "conventions")


class EnsembleOptions(NamedTuple):
    """Options of ``ensemble`` that determine how members are integrated; None where the user omitted them."""

    t_span: tuple[float, float] | None
    method: MethodLike | None
    h: float | None
    rtol: float | None
    t_eval: npt.ArrayLike | None
    reduce: Reduce | None
    vectorized: bool


def plan(source: Problem | Factory, members: Samples, options: EnsembleOptions) -> tuple[Job, Problem]:
    """Return the job for all members, and the problem of the first few members.

    Parameters
    ----------
    source : Problem or callable
        The problem whose parameters the samples replace, or a function that builds problems from samples.
    members : Samples
        Samples of all members.
    options : EnsembleOptions
        Options of the user.

    Returns
    -------
    job : Job
        How members are built, integrated and summarized.
    pilot : Problem
        Problem of the first members.
    """
    if not isinstance(source, Problem) and not callable(source):
        raise InputError(f"the problem is {source!r}; expected a Problem, or a function of samples that returns one")
    rows = members[: PILOT if options.vectorized else 1].rows()
    return _first_that_works(rows, options.vectorized, lambda selected: _planned(source, selected, options))


def _first_that_works(
    rows: Rows, vectorized: bool, follow: Callable[[Rows], tuple[Job, Problem]]
) -> tuple[Job, Problem]:
    """Return ``follow(rows)`` of all rows together, or else of the first single row that raises no exception.

    If every attempt fails, the first exception is raised.
    """
    count = len(next(iter(rows.values())))
    parts = [slice(0, count)] * vectorized + [slice(i, i + 1) for i in range(count)]
    first: Exception | None = None
    for part in parts:
        try:
            return follow({name: values[part] for name, values in rows.items()})
        except (MemoryError, ShapeError):  # a ShapeError might not occur for a single member, and would be hidden
            raise
        except Exception as problem:
            first = first or problem
    assert first is not None
    raise first


def _planned(source: Problem | Factory, rows: Rows, options: EnsembleOptions) -> tuple[Job, Problem]:
    """Return the job and the problem of the members with the samples ``rows``."""
    job = Job(source, (0.0, 1.0), None, ClosedForm(), None, options.reduce, options.vectorized, {})
    pilot = job.problem(rows)
    given = {"t_span": options.t_span, "h": options.h, "t_eval": options.t_eval}
    options = options._replace(**together(pilot.units, **given))
    span = pilot.t_span if options.t_span is None else checked_span(options.t_span)
    choice = _choice(pilot, span, options)
    times = None
    if OWN_TIME in rows:
        _check_own_times(rows[OWN_TIME], choice.method.any_time, options)
    else:
        times = choice.times(span, [span[1]] if options.t_eval is None else options.t_eval, 1)
    job = replace(job, span=span, times=times, method=choice.method, h=choice.h, rtol=_own_rtol(choice, options))
    if options.reduce is None:
        axes = () if times is None else (len(times),)
        return replace(job, shapes={"m": (*axes, 3), "q": (*axes, 4)}), pilot
    batch_axes = len(batch_of(pilot))
    results = job.results(job.follow(rows))
    return replace(job, shapes={name: values.shape[batch_axes:] for name, values in results.items()}), pilot


def _choice(pilot: Problem, span: tuple[float, float], options: EnsembleOptions) -> Choice:
    """Return the method and the step, chosen from the first members if the user omitted them."""
    choice = choose(pilot, span, options.method, options.h, options.rtol)
    choice.method.check(pilot.force)
    if choice.h is not None:
        step_count(span, step_length(choice.h))  # raises an error if the step is too short
    return choice


def _own_rtol(choice: Choice, options: EnsembleOptions) -> float | None:
    """Return the wanted error if each member gets its own step size: if a step size was chosen by trial runs."""
    if options.h is not None or choice.h is None or not choice.is_made or choice.error == 0.0:
        return None
    return wanted_tolerances(options.rtol, 0.0)[0]


def _check_own_times(times: FloatArray, free: bool, options: EnsembleOptions) -> None:
    """Raise InputError unless the samples "t" are one time for each member of an ensemble of free bodies."""
    if not free:
        raise InputError(
            f"samples {OWN_TIME!r} are times of free bodies, but these bodies have a force or a method; pass t_eval "
            f"instead, or rename the samples if {OWN_TIME!r} is another parameter of your function"
        )
    if times.ndim != 1 or options.t_eval is not None or options.reduce is not None:
        raise InputError(
            f"samples {OWN_TIME!r} have shape {times.shape}; expected one time for each member, (members,), and "
            "neither t_eval nor reduce"
        )


def layout_of(job: Job, pilot: Problem, members: Samples, chunk: int | None, most: float = inf) -> Layout:
    """Return the layout of the store, with attributes by which a resumed ensemble is recognized as the same.

    Parameters
    ----------
    job : Job
        How members are integrated.
    pilot : Problem
        Problem of the first members.
    members : Samples
        Samples of all members.
    chunk : int or None
        Members per chunk. None for as many as have 16 MB of states, but at most `most`.
    most : float, optional
        Largest number of members per chunk, by their cost.

    Returns
    -------
    Layout
    """
    times = 1 if job.times is None else len(job.times)
    largest = max(1, int(min(LARGEST_CHUNK, CHUNK_BYTES // (56 * times), most)))
    size = largest if chunk is None else whole_number(chunk, "chunk", 1)
    described = describe(pilot)
    digests = {"samples": members.digest(PILOT), "problem": _digest(pilot, job)}
    attributes = {"kind": KIND, "format": FORMAT} | {key: described[key] for key in DESCRIBED}
    attributes |= {
        "count": len(members), "chunk": size, "seed": members.seed, "t_span": json.dumps(job.span),
        "method": repr(job.method), "h": json.dumps(job.h if job.rtol is None else None),
        "plan": json.dumps(digests), "environment": json.dumps(environment()),
        "functions": json.dumps(_functions(job, pilot, members)),
    }  # fmt: skip
    if job.rtol is not None:
        attributes["rtol"] = job.rtol
    samples = {name: values.shape[1:] for name, values in members[:1].rows().items()}
    return Layout(len(members), size, samples, job.shapes, None if job.reduce is not None else job.times, attributes)


def _functions(job: Job, pilot: Problem, members: Samples) -> Fingerprint:
    """Return the fingerprint of all user functions: of the force, of samples, the factory, and ``reduce``."""
    laws = [column for column in members.columns.values() if isinstance(column, Distribution)]
    functions = [job.source, job.reduce, *(law.function if isinstance(law, Each) else law for law in laws)]
    own = [function for function in functions if not type(function).__module__.startswith("polhode.")]
    summary = {} if job.reduce is None else {"reduce": digest(getattr(job.reduce, "__name__", repr(type(job.reduce))))}
    return merged(functions_of(pilot), fingerprint(*own), summary)


def _digest(pilot: Problem, job: Job) -> str:
    """Return the SHA-256 digest of the times and of the parameters of the first members."""
    sha256 = hashlib.sha256(np.ascontiguousarray(() if job.times is None else job.times).tobytes())
    for name, (_, values) in sorted(parameters(pilot).items()):
        sha256.update(name.encode() + np.ascontiguousarray(values).tobytes())
    return sha256.hexdigest()
