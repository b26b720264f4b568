"""JSON schema (draft 2020-12) of scenario files, generated from the functions of the library.

The schemas of problems, forces, shapes and distributions are derived from the signatures of their functions, so that a
new function needs no entry here. Descriptions say what is expected, in messages and in editors. The shape of a list of
numbers is not restricted where the function that takes it checks the shape.
"""

from __future__ import annotations

from functools import cache

from polhode import forces, problems
from polhode.core.body import RigidBody
from polhode.ensembles import sampling
from polhode.ensembles.distributions import Distribution
from polhode.ensembles.summaries import SUMMARIES
from polhode.files.formats import COMPLETE
from polhode.forces.base import Force
from polhode.scenarios.schema_parts import (
    NUMBER,
    VECTOR,
    Node,
    arguments_of,
    branches,
    choice,
    list_of,
    makers,
    positive,
    table,
    text,
    whole_number,
)
from polhode.show.plot import KINDS

SHAPES = ("cuboid", "ellipsoid", "cylinder", "cone")
FILE_NAME = (  # excludes device names, characters that file systems refuse, and dots or spaces at either end
    r"^(?!(?:[cC][oO][nN]|[pP][rR][nN]|[aA][uU][xX]|[nN][uU][lL]|[cC][oO][mM][0-9]|[lL][pP][tT][0-9])(?:\.|$))"
    r'(?![\s\S]*[<>:"/\\|?*\u0000-\u001f\u007f])[^\s.](?:[\s\S]{0,98}[^\s.])?$'
)
POSITIVE = positive("a positive number")
THREE = list_of(NUMBER, "three numbers", 3)
FOUR = list_of(NUMBER, "four numbers", 4)
MATRIX = list_of(list_of(NUMBER, "a row of three numbers", 3), "three rows of three numbers", 3)


def _one_or_many(node: Node, description: str) -> Node:
    """Return the schema of a value or of a list with one value per body, which comes first because that is faster."""
    return {"anyOf": [list_of(node, "one for each body"), node], "description": description}


THREES = _one_or_many(THREE, "three numbers, such as [0, 0, 1], or three for each body")
FOURS = _one_or_many(FOUR, "a unit quaternion, scalar first, such as [1, 0, 0, 0], or one for each body")


def _body() -> Node:
    shapes = {name: getattr(RigidBody, name) for name in SHAPES}
    tables = [
        table({"moments": THREES, "mass": POSITIVE}, ["moments"]),
        table({"tensor": MATRIX, "mass": POSITIVE}, ["tensor"]),
    ]
    tables += branches(shapes, "shape", **dict.fromkeys(("mass", "a", "b", "c", "radius", "height"), POSITIVE))
    for table_of_body in tables:
        table_of_body["properties"]["about"] = THREE
    return choice(
        tables,
        "a table with moments, a tensor, or a shape and its measures; about: the held point, from the mass center",
    )


def _force() -> Node:
    python = {
        "python": text('a function torque(t, Q, w, p), as "module:function"',
                        pattern=r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*$"),
        "params": {"type": "array", "items": NUMBER, "description": "the numbers p that the function gets"},
        "frame": {"enum": ["body", "space"], "description": "the axes of the torque"},
        "arrays": {"type": "boolean", "description": "true if the function takes and returns NumPy arrays"},
        "breaks": {"type": "array", "items": NUMBER,
                   "description": "the times at which the torque switches, such as [30, 31]; steps end there"},
    }  # fmt: skip
    return choice(
        [*branches(makers(forces, Force)), table(python, ["python"])],
        'a table with kind = "gravity" or another force and its arguments, or python = "module:function"',
    )


def _ensemble() -> Node:
    values = list_of(VECTOR, "a list of values; the members are all combinations of the lists")
    laws = branches(makers(sampling, Distribution), length=POSITIVE, trace=POSITIVE, q=FOUR)
    law = choice(
        [*laws, table({"kind": {"const": "values"}, "values": values}, ["kind", "values"])],
        'a table with kind = "normal" or another distribution and its arguments, or kind = "values"',
    )
    properties = {
        "count": whole_number(1, "the number of members"),
        "seed": whole_number(0, "the seed of the random samples"),
        "chunk": whole_number(1, "the number of members that are integrated together"),
        "states": whole_number(1, "the number of states to save for each member, evenly spaced in time (1: the last)"),
        "reduce": {"enum": list(SUMMARIES), "description": "a summary to save instead of states"},
        "samples": {"type": "object", "additionalProperties": law,
                    "description": 'a table: keys of the scenario, such as "state.omega", and the values of members'},
    }  # fmt: skip
    description = "a table that describes which keys vary among members, and how, for polhode ensemble"
    return table(properties, ["samples"], type="object", description=description)


def _output() -> Node:
    properties = {
        "folder": text("the folder for the results"),
        "save_every": whole_number(1, "the number of steps from one saved state to the next"),
        "states": whole_number(2, "the number of states to save, evenly spaced in time"),
        "format": {"enum": [suffix[1:] for suffix in COMPLETE], "description": "the file format of the trajectory"},
        "plots": {"type": "array", "items": {"enum": list(KINDS)}, "description": "a list of pictures"},
    }
    description = "a table that describes what is saved, where, and which pictures are drawn"
    return table(properties, type="object", description=description, **{"not": {"required": ["save_every", "states"]}})


def _method() -> Node:
    flow = text('a free flow, such as "Gauss(3)"; omit it for Exact()')
    scheme = text('the name of a splitting scheme, such as "S6_10"')
    return {
        "anyOf": [
            {"type": "string", "minLength": 1},
            table({"flow": flow, "scheme": scheme}, ["scheme"], type="object"),
        ],
        "description": '"auto", a scheme such as "RKN6_14a", a method such as "Adaptive(1e-8)", '
        "or {flow = ..., scheme = ...}",
    }


def _units() -> Node:
    units = {"t": ("time", "s"), "omega": ("angular velocity", "rad/s"), "m": ("angular momentum", "kg m^2/s"),
             "inertia": ("inertia", "kg m^2"), "energy": ("energy", "J")}  # fmt: skip
    properties = {
        key: {"type": "string", "description": f'the unit of {quantity}, such as "{unit}"'}
        for key, (quantity, unit) in units.items()
    }
    return table(
        properties,
        type="object",
        description="units for the labels of tables, pictures and files; they do not affect the computation",
    )


def _built_in(name: str) -> Node:
    """Return the branch of the schema for scenarios with the built-in problem `name`."""
    arguments = arguments_of(problems.REGISTRY[name])
    return {"required": ["problem"], "properties": {"problem": {"const": name}, "arguments": arguments}}


@cache
def json_schema() -> Node:
    """Return the JSON schema of scenario files (draft 2020-12).

    Returns
    -------
    dict
        The schema, as ``json.dumps`` accepts it. It is shared by all callers: copy it before changing it.

    Examples
    --------
    >>> json_schema()["properties"]["h"]["description"]
    'the step size, a positive number'
    """
    force = _force()
    angular = {"m": THREES, "omega": THREES}
    state = [table({key: node, "q": FOURS}, [key]) for key, node in angular.items()]
    properties = {
        "$schema": {"type": "string", "description": "the address of this schema, used by editors"},
        "name": text('a short name, such as "top", also the name of the folder of the results: no / \\ : * ? " < > |, '
                      "no dot at its ends, at most 100 characters", pattern=FILE_NAME),
        "summary": {"type": "string", "description": "one line about the problem, the title of its pictures"},
        "problem": {"enum": list(problems.REGISTRY), "description": "the name of a built-in problem"},
        "arguments": {"type": "object", "description": "arguments of the built-in problem, such as eps = 1e-6"},
        "body": _body(),
        "state": choice(state, "a table with m, the angular momentum in body axes, or omega, and q, the attitude"),
        "force": {"anyOf": [force, {"type": "array", "items": force}],
                  "description": "a table, or a list of tables whose forces are added; omit it for a free body"},
        "t_span": list_of(NUMBER, "the first and the last time, such as [0, 10]", 2),
        "method": _method(),
        "h": positive("the step size, a positive number"),
        "rtol": positive("the error tolerance at the end, a positive number such as 1e-9"),
        "units": _units(),
        "output": _output(),
        "ensemble": _ensemble(),
        "python_folder": text("the folder of the modules of Python torques; omit it for the folder of the scenario"),
    }  # fmt: skip
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://polhode.invalid/scenario.schema.json",
        "title": "A scenario of polhode: a body or a built-in problem, how to integrate it, and what to write",
        **table(properties, type="object"),
        "oneOf": [*map(_built_in, problems.REGISTRY), {"required": ["body"]}],
        "dependentRequired": {
            "body": ["state", "t_span"], "state": ["body"], "force": ["body"], "arguments": ["problem"]
        },
    }  # fmt: skip
