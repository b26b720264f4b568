"""Scenario files: what they build, what the schema allows, and how they say no."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import sys
import tomllib
from typing import Any, Literal

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import polhode as ph
from conftest import ROOT
from polhode import errors, plot
from polhode.cli import cli
from polhode.files.formats import FORMATS
from polhode.forces.base import Force
from polhode.methods import METHODS
from polhode.methods.expressions import flow_of, method_of
from polhode.scenarios import schema
from polhode.scenarios.ensemble import ProblemFactory
from polhode.scenarios.scenario import build, defaults_of, json_schema, read, read_scenario, with_settings
from polhode.scenarios.toml_text import to_toml

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
VALIDATOR = jsonschema.Draft202012Validator(json_schema())
TOP = """
name = "top"
t_span = [0, 10]
method = "RKN6_14a"
h = 0.1

[body]
moments = [1.0, 1.5, 2.0]

[state]
m = [0.3, 0.2, 0.9]

[[force]]
kind = "gravity"
weight = 0.1
offset = [0, 0, 1]

[[force]]
kind = "spring"
stiffness = 0.2

[output]
save_every = 5
plots = ["errors"]
"""


BODY, METHOD, SPRING = "moments = [1.0, 1.5, 2.0]", 'method = "RKN6_14a"', 'kind = "spring"\nstiffness = 0.2'


def top(old, new):
    """The scenario above, with other words."""
    assert old in TOP
    return TOP.replace(old, new)


def scenario_of(text, **options):
    return build(tomllib.loads(text), "top.toml", **options)


# What files build


def test_a_body_of_ones_own():
    made = scenario_of(TOP)
    problem = made.problem
    assert problem.name == "top"
    assert problem.t_span == (0.0, 10.0)
    assert repr(made.method) == "Splitting(Exact(), 'RKN6_14a')"
    assert (made.h, made.rtol, made.output.save_every, made.output.plots) == (0.1, None, 5, ("errors",))
    np.testing.assert_array_equal(problem.body.moments, (1.0, 1.5, 2.0))
    np.testing.assert_array_equal(problem.state.m, (0.3, 0.2, 0.9))
    np.testing.assert_array_equal(problem.state.q, (1, 0, 0, 0))
    q = (0.8, 0.6, 0.0, 0.0)  # turned by acos(0.28) about x: gravity pulls by 0.1 sin, the spring back by 0.2 sin
    np.testing.assert_allclose(problem.force.torque(0.0, q), ((0.1 - 0.2) * 0.96, 0, 0), atol=1e-15)


@pytest.mark.parametrize(
    ("body", "moments"),
    [
        ('shape = "cuboid"\nmass = 12\na = 1\nb = 2\nc = 3', (13, 10, 5)),
        ('shape = "ellipsoid"\nmass = 5\na = 1\nb = 2\nc = 3', (13, 10, 5)),
        ('shape = "cylinder"\nmass = 12\nradius = 1\nheight = 1', (4, 4, 6)),
        ('shape = "cone"\nmass = 80\nradius = 1\nheight = 2', (24, 24, 24)),
        ("moments = [1, 1, 1]\nmass = 2\nabout = [0, 0, 3]", (19, 19, 1)),
        ("tensor = [[2, 0, 0], [0, 4, 0], [0, 0, 3]]", (2, 4, 3)),
    ],
)
def test_bodies(body, moments):
    made = scenario_of(f"t_span = [0, 1]\n[state]\nomega = [1, 2, 3]\n[body]\n{body}")
    tensor = np.diag(moments).astype(float)
    np.testing.assert_allclose(made.problem.body.tensor, tensor, atol=1e-14)
    np.testing.assert_allclose(made.problem.state.m, tensor @ (1, 2, 3), rtol=1e-14)


def test_batches():
    body = "[body]\nmoments = [[1, 2, 3], [2, 3, 4], [3, 4, 5]]"
    made = scenario_of(f"t_span = [0, 1]\n{body}\n[state]\nm = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]")
    assert made.problem.body.batch == made.problem.state.batch == (3,)


@pytest.mark.parametrize(
    ("method", "shown"),
    [
        ('"auto"', "None"),
        ('"Rattle"', "Rattle()"),
        ("\"Splitting(Gauss(3), 'S6_10')\"", "Splitting(Gauss(3), 'S6_10')"),
        ('{scheme = "S4_6"}', "Splitting(Exact(), 'S4_6')"),
        ('{flow = "MoserVeselov(4)", scheme = "V2"}', "Splitting(MoserVeselov(4), 'V2')"),
    ],
)
def test_methods(method, shown):
    assert repr(scenario_of(f'problem = "heavy_top"\nmethod = {method}').method) == shown


def test_a_built_in_problem_with_other_arguments():
    made = scenario_of(
        'problem = "heavy_top"\nt_span = [1, 5]\nsummary = "mine"\n[arguments]\neps = 0.5\nm12 = [0.1, 0.2]'
    )
    expected = ph.problems.heavy_top(0.5, m12=(0.1, 0.2))
    np.testing.assert_array_equal(made.problem.state.m, expected.state.m)
    np.testing.assert_array_equal(made.problem.force.params, expected.force.params)
    assert (made.problem.t_span, made.problem.summary, made.problem.h) == ((1.0, 5.0), "mine", expected.h)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path):
    data = tomllib.loads(path.read_text("utf-8"))
    VALIDATOR.validate(data)
    made = read_scenario(path, allow_python=True)
    assert made.problem.summary
    assert tomllib.loads(to_toml(made.data)) == made.data
    again = build(tomllib.loads(to_toml(made.data)), "again", allow_python=True)
    np.testing.assert_array_equal(again.problem.state.m, made.problem.state.m)


def test_examples_say_what_they_mean():
    top = read_scenario(ROOT / "examples" / "top.toml").problem
    mass, r, h = 0.7069, 0.05, 0.1
    across = mass * (3 / 20 * r**2 + 3 / 80 * h**2 + (3 / 4 * h) ** 2)
    np.testing.assert_allclose(top.body.moments, (across, across, 3 / 10 * mass * r**2), rtol=1e-13)
    assert math.isclose(math.acos(top.state.rotation.as_matrix()[2, 2]), math.pi / 3)
    satellite = read_scenario(ROOT / "examples" / "satellite.toml").problem
    built_in = ph.problems.satellite_orbit(pitch=0.2)
    np.testing.assert_allclose(satellite.state.q, built_in.state.q, atol=1e-14)
    np.testing.assert_allclose(satellite.state.m, built_in.state.m, rtol=1e-14)
    t, q = 321.0, (0.5, 0.5, 0.5, 0.5)
    np.testing.assert_allclose(satellite.force.torque(t, q), built_in.force.torque(t, q), rtol=1e-12)


# The schema


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(json_schema())


def test_the_schema_knows_what_the_library_has():
    output = json_schema()["properties"]["output"]["properties"]
    assert set(output["plots"]["items"]["enum"]) == set(plot.KINDS)
    assert {f".{name}" for name in output["format"]["enum"]} < set(FORMATS)


@pytest.mark.parametrize("name", ph.problems.REGISTRY)
def test_every_problem_makes_a_scenario_with_its_defaults_written_out(name):
    plain = build({"problem": name}, "top.toml")
    made = scenario_of(to_toml({"problem": name, "arguments": defaults_of(name)}))
    assert made.problem.t_span == plain.problem.t_span == ph.problems.get(name).t_span
    np.testing.assert_array_equal(made.problem.state.m, ph.problems.get(name).state.m)
    with pytest.raises(errors.InputError, match=r"top.toml: arguments.zeal is not known; .*known are: "):
        scenario_of(f'problem = "{name}"\narguments.zeal = 1')


FORCES: dict[str, dict[str, Any]] = {
    "constant": {"torque": [1, 0, 0], "frame": "space"},
    "damping": {"D": 0.1},
    "gravity": {"weight": 1, "offset": [0, 0, 1]},
    "gravity_gradient": {"strength": 1, "orbit_rate": 0.1},
    "restoring": {"weight": 1, "longitudinal": 2, "transverse": 3},
    "spring": {"stiffness": 0.2, "attitude": [1, 0, 0, 0]},
}


@pytest.mark.parametrize("kind", FORCES)
def test_every_force_makes_a_scenario(kind):
    scenario, arguments = tomllib.loads(TOP), FORCES[kind]
    key = next(iter(arguments))
    assert repr(build(scenario | {"force": {"kind": kind, **arguments}}, "top.toml").problem.force) == kind
    with pytest.raises(errors.InputError, match=f"top.toml: force.{key} = 'x'; expected a number, a list of numbers"):
        build(scenario | {"force": {"kind": kind, **arguments, key: "x"}}, "top.toml")
    with pytest.raises(errors.InputError, match=f"top.toml: force.{key} is missing; expected a number, a list of"):
        build(scenario | {"force": {"kind": kind}}, "top.toml")


def test_a_new_force_and_a_new_problem_need_no_line(monkeypatch):
    """What has the signature of a force or a problem is one, with its names, types, defaults and required arguments."""

    def push(body: Any, strength: float, *, frame: Literal["body", "space"] = "body", soft: bool = False) -> Force:
        return ph.forces.constant((strength * body.moments[0], 0, 0), frame)

    monkeypatch.setattr(ph.forces, "push", push, raising=False)
    monkeypatch.setattr(ph.forces, "__all__", [*ph.forces.__all__, "push"])
    monkeypatch.setitem(ph.problems.REGISTRY, "slow_top", lambda speed=1e-3: ph.problems.heavy_top(speed))
    json_schema.cache_clear()
    try:
        made = scenario_of(top(SPRING, 'kind = "push"\nstrength = 3'))
        with pytest.raises(errors.InputError, match=r"force\[1\].frame = 'boddy'; did you mean 'body'"):
            scenario_of(top(SPRING, 'kind = "push"\nstrength = 3\nframe = "boddy"'))
        with pytest.raises(errors.InputError, match=r"force\[1\].soft = 1; expected true or false, such as false"):
            scenario_of(top(SPRING, 'kind = "push"\nstrength = 3\nsoft = 1'))
        with pytest.raises(errors.InputError, match=r"arguments.sped is not known; did you mean 'speed'"):
            scenario_of('problem = "slow_top"\narguments.sped = 1')
    finally:
        json_schema.cache_clear()
    np.testing.assert_allclose(made.problem.force.torque(0.0, (1, 0, 0, 0)), (3, 0, 0))


BAD = [
    ("", "expected exactly one of problem, body"),
    ('problem = "heavy_top"\n' + TOP, "expected exactly one of problem, body; got problem and body"),
    ('problem = "heavy_tpo"', "problem = 'heavy_tpo'; expected the name of .*; did you mean 'heavy_top'"),
    ("problem = 3", "problem = 3"),
    ('problem = "heavy_top"\nmehtod = "V2"', "mehtod is not known; did you mean 'method'?"),
    ('problem = "heavy_top"\narguments = 1', "arguments = 1; expected arguments of the built-in problem"),
    ('problem = "heavy_top"\n[arguments]\neps = 1979-05-27', "arguments.eps = .*date"),
    ('problem = "heavy_top"\n[arguments]\nepz = 1', "arguments.epz is not known; did you mean 'eps'"),
    ('problem = "satellite_orbit"\n[arguments]\naltitude = "high"', "altitude = 'high'; expected a number.* such as 5"),
    (top("offset = [0, 0, 1]", 'offset = [0, "a", 1]'), r"force\[0\].offset\[1\] = 'a'; expected a number"),
    (top("moments", "momnts"), "body: expected exactly one of moments, tensor, shape"),
    (top("[1.0, 1.5, 2.0]", "[1.0, 1.5]"), r"body.moments = \[1.0, 1.5\]; expected three numbers"),
    (top("[1.0, 1.5, 2.0]", '[1.0, 1.5, "2"]'), "body.moments"),
    (top("[1.0, 1.5, 2.0]", "[1.0, 1.5, true]"), "body.moments"),
    (top("moments =", "tensor ="), r"body.tensor\[0\] = 1.0; expected a row of three numbers"),
    (top(BODY, 'shape = "cubiod"\nmass = 1'), "body.shape = 'cubiod'; did you mean 'cuboid'"),
    (top(BODY, 'shape = ["cone"]'), r"body.shape = \['cone'\]"),
    (top(BODY, 'shape = "cone"\nmass = 1\nradius = 2'), "body.height is missing; expected a positive"),
    (top(BODY, 'shape = "cone"\nmass = -1\nradius = 2\nheight = 1'), "body.mass = -1; expected a positive"),
    (top(BODY, "moments = [1, 1, 1]\nabout = [0, 1]"), "body.about"),
    (top("m = [0.3", "omega = [1, 1, 1]\nm = [0.3"), "state: expected exactly one of m, omega; got m and omega"),
    (top("m = [0.3, 0.2, 0.9]", "q = [1, 0, 0, 0]"), r"state: .*got none of them \(only q\)"),
    (top("[state]", "[[state]]"), "state = .*expected a table with m"),
    (top("t_span = [0, 10]", ""), r"t_span is missing \(required by 'body'\); expected the first and the last"),
    (top("t_span = [0, 10]", "t_span = 10"), "t_span = 10; expected the first and the last time"),
    (top("h = 0.1", "h = 0"), "h = 0; expected the step size, a positive number"),
    (top("h = 0.1", "h = true"), "h = True"),
    (top("h = 0.1", "rtol = -1e-9"), "rtol = -1e-09"),
    (top(METHOD, "method = 6"), 'method = 6; expected "auto", a scheme'),
    (top(METHOD, 'method = {flow = "Exact"}'), "method.scheme is missing"),
    (top(METHOD, 'method = {flo = "Exact", scheme = "V2"}'), "method.flo is not known; did you mean 'flow'"),
    (top('kind = "gravity"', 'kind = "gravty"'), r"force\[0\].kind = 'gravty'; did you mean 'gravity'"),
    (top('kind = "gravity"', ""), r"force\[0\]: expected exactly one of kind, python"),
    (top("weight", "wait"), r"force\[0\].wait is not known; did you mean 'weight'"),
    (top("weight = 0.1\n", ""), r"force\[0\].weight is missing"),
    (top("stiffness = 0.2", 'stiffness = "hard"'), r"force\[1\].stiffness = 'hard'; expected a number"),
    (top(SPRING, 'python = "os system"'), r"force\[1\].python = 'os system'; expected a function"),
    (top("save_every = 5", "save_every = 0"), "output.save_every = 0; expected .*1 or more"),
    (top("save_every = 5", "save_every = 1.5"), "output.save_every = 1.5"),
    (top("save_every = 5", "save_every = 5\nstates = 9"), "output: expected exactly one of save_every, states"),
    (top('["errors"]', '["eror"]'), r"output.plots\[0\] = 'eror'; did you mean 'errors'\?"),
    (top("[output]", "[outptu]"), "outptu is not known; did you mean 'output'"),
    (top("plots", "format"), "output.format"),
    (TOP + '[units]\nt = "s"\nlength = "m"', "units.length is not known; .*known are: t, omega, m, inertia, energy"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "match"), BAD, ids=range(len(BAD)))
def test_bad_files_are_refused(text, match):
    with pytest.raises(errors.InputError, match=match) as caught:
        scenario_of(text)
    assert str(caught.value).startswith("top.toml: ")


FULL = [[0.5, 0.2, 0.0], [0.2, 0.4, -0.1], [0.0, -0.1, 0.3]]


def test_damping_matrices():
    """One, or one for each body; and what was run can be run again."""
    for D, shape in ((FULL, (3, 3)), ([FULL, FULL], (2, 3, 3)), ([[1, 2, 3], [3, 2, 1]], (2, 3, 3)), (0.5, (3, 3))):
        text = top(SPRING, f'kind = "damping"\nD = {D}')
        made = scenario_of(text)
        assert made.problem.force.damping.shape == shape
        VALIDATOR.validate(tomllib.loads(text))
        again = scenario_of(to_toml(made.data))
        np.testing.assert_array_equal(again.problem.force.damping, made.problem.force.damping)
    with pytest.raises(errors.InputError, match=r"force\[1\]: D is not symmetric"):
        scenario_of(top(SPRING, 'kind = "damping"\nD = [[1, 2, 3], [3, 2, 1], [1, 1, 1]]'))


@pytest.mark.parametrize("members", [2, 3])
def test_samples_of_damping_are_no_matrix(members):
    data = tomllib.loads(top(SPRING, 'kind = "damping"\nD = 0.1'))
    rows = np.array([(0.1, 0.2, 0.3), (0.2, 0.2, 0.3), (0.3, 0.3, 0.3)])[:members]
    made = ProblemFactory(data, "top.toml", False)({"force.1.D": rows})
    np.testing.assert_array_equal(made.force.damping, rows[:, None, :] * np.eye(3))


OUTSIDE = ["../../evil", "..", ".", "/etc/evil", "a/b", "a\\\\b", "C:evil", "", " ", "evil\\n", "a\\u0000b", "nul",
           "COM1.txt", "ends.", "ends ", ".hidden", "what?", "a" * 101]  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_name_cannot_leave_its_folder(name):
    text = top('"top"', f'"{name}"')
    with pytest.raises(errors.InputError, match=r"name = .*; expected a short name"):
        scenario_of(text)
    assert not VALIDATOR.is_valid(tomllib.loads(text))


@pytest.mark.parametrize("name", ["t", "top-2", "Kreisel, schräg", "v1.2", "console", "a" * 100])
def test_names_of_folders(name):
    assert scenario_of(top('"top"', f'"{name}"')).problem.name == name
    VALIDATOR.validate(tomllib.loads(top('"top"', f'"{name}"')))


def test_a_summary_is_not_kept_for_another_problem():
    data = tomllib.loads('summary = "A slow top"' + TOP)
    for same in ([], ["h=0.5"], ["output.save_every=2", "name=other"], ["t_span=[0, 1]"]):
        assert with_settings(data, same)["summary"] == "A slow top"
    changed = with_settings(data, ["state.m=[0, 0, 9]", "h=0.5", "force.0.weight=2"])
    assert changed["summary"] == "with state.m=[0, 0, 9], force.0.weight=2"
    assert with_settings(data, ["state.m=[0, 0, 9]", "summary=A fast top"])["summary"] == "A fast top"
    assert "summary" not in with_settings({"problem": "heavy_top"}, ["eps=5"])


MEANINGLESS = [
    (top("[0, 10]", "[3, 3]"), "t_span = .*two different finite times"),
    (top("[0, 10]", "[0, nan]"), "t_span = .*two different finite times"),
    (top("1.5, 2.0]", "-1.5, 2.0]"), "body: .*principal moments must be positive"),
    (top("m = [0.3, 0.2, 0.9]", "m = [0.3, 0.2, 0.9]\nq = [1, 1, 0, 0]"), "state: q = .* unit quaternion"),
    (top("m = [0.3", "m = [inf"), "state: m = .*finite"),
    (top("RKN6_14a", "RKN6_14"), "method: no scheme or method is called 'RKN6_14'; did you mean 'RKN6_14a'"),
    (top("RKN6_14a", "Gaus(3)"), "method: .*called 'Gaus'"),
    (top("RKN6_14a", "Rattle(1)"), "method: method = 'Rattle.1.'"),
    (top("offset = [0, 0, 1]", "offset = [0, 1]"), r"force\[0\]: offset has shape \(2,\); expected \(\.\.\., 3\)"),
    (top("offset = [0, 0, 1]", "offset = [0, 0, 1]\nup = [0, 0, 0]"), r"force\[0\]: up = .* has no direction"),
    ('problem = "gyro_top"\n[arguments]\nprecession = 0', "arguments: .* are not valid arguments of gyro_top"),
    ('problem = "free_body"\n[arguments]\npaper = "moser"', "arguments: .*expected one of: vilmart"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "match"), MEANINGLESS, ids=range(len(MEANINGLESS)))
def test_what_only_the_library_can_refuse(text, match):
    VALIDATOR.validate(tomllib.loads(text))
    with pytest.raises(errors.InputError, match="top.toml: " + match):
        scenario_of(text)


VALUES = st.recursive(
    st.one_of(
        st.integers(-3, 3),
        st.floats(allow_nan=False, width=16),
        st.booleans(),
        st.sampled_from(["gravity", "body", "cone", "errors", "Exact()", "heavy_top", "m:f", "", "s"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["kind", "moments", "mass", "m", "q", "scheme", "states"]), inner, max_size=3),
    ),
    max_leaves=8,
)


def places(value):
    """All tables and lists within a value."""
    found = [value] if isinstance(value, dict | list) else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return found + [place for entry in inner for place in places(entry)]


def keys(value, place=""):
    """The keys of all values within a table, with dots; that of the table itself is empty."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {place.removeprefix(".")}.union(*(keys(entry, f"{place}.{key}") for key, entry in entries))


@settings(max_examples=300)
@given(st.data())
def test_what_is_refused_has_a_place(data):
    """A good scenario, in which something was removed, replaced or added."""
    base = data.draw(st.sampled_from([tomllib.loads(TOP), *(tomllib.loads(p.read_text("utf-8")) for p in EXAMPLES)]))
    changed = copy.deepcopy(base)
    for _ in range(data.draw(st.integers(1, 2))):
        table = data.draw(st.sampled_from(places(changed)))
        names = [*table, "kind", "states", "format", "zeal"] if isinstance(table, dict) else list(range(len(table)))
        if not names:
            continue
        name = data.draw(st.sampled_from(names))
        if data.draw(st.booleans()) and (not isinstance(table, dict) or name in table):
            del table[name]
        else:
            table[name] = data.draw(VALUES)
    if VALIDATOR.is_valid(changed):
        schema.check(changed, json_schema())
        return
    with pytest.raises(schema.SchemaError) as caught:
        schema.check(changed, json_schema())
    assert caught.value.key in keys(changed)


# How files are read


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, len(TOP)), end=st.integers(0, 40), put=st.text(max_size=12))
def test_damaged_text_is_a_usage_error(tmp_path, monkeypatch, cut, end, put):
    """Whatever stands in a file: a message that names it and exit code 2, or a scenario that can be built."""

    def stop(scenario, folder, **options):
        raise errors.InputError("built")

    monkeypatch.setattr("polhode.scenarios.results.run_scenario", stop)
    path = tmp_path / "damaged.toml"
    path.write_bytes((TOP[:cut] + put + TOP[cut + end :]).encode("utf-8", "surrogatepass"))
    result = CliRunner().invoke(cli, ["run", str(path)])
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert "damaged.toml" in result.output or "built" in result.output


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe", b"a" * 10, b"h = " + b"[" * 3000, b"h = " + b"9" * 5000, b"h = 1\nh = 2", b"h = \x00", b"[a]\n[a]"],
)
def test_files_that_are_not_toml(tmp_path, data):
    path = tmp_path / "bad.toml"
    path.write_bytes(data)
    with pytest.raises(errors.InputError, match=r"bad\.toml"):
        read_scenario(path)
    with pytest.raises(errors.InputError, match=r"none\.toml cannot be read"):
        read(tmp_path / "none.toml")
    with pytest.raises(errors.InputError, match="cannot be read"):
        read(tmp_path)


def test_numbers_of_any_size_are_refused_in_words():
    for number in ("1" + "0" * 400, "1e400", "-1e400", "nan", "0", "-5e-324"):
        with pytest.raises(errors.InputError, match=r"top\.toml: body"):
            scenario_of(top("1.0, 1.5", f"{number}, 1.5"))


LEAVES = st.one_of(st.integers(), st.floats(allow_nan=False), st.booleans(), st.text(st.characters(codec="utf-8")))
TABLES = st.dictionaries(
    st.text(st.characters(codec="utf-8")),
    st.recursive(
        LEAVES, lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text("ab- ."), inner)), max_leaves=6
    ),
    max_size=4,
)


@given(TABLES)
def test_toml_comes_back(table):
    """Written and read again by another program, Python's own reader: the same to the last bit."""
    assert tomllib.loads(to_toml(table)) == table


def test_vectors_stand_on_one_line():
    text = 'plots = ["a  b", "c, d"]\nm = [1.0, 2.0]\n\n[force]\nD = [\n    [1, 0],\n    [0, 1],\n]\n'
    assert to_toml(tomllib.loads(text)) == text


# Settings


def test_settings():
    data = tomllib.loads(TOP)
    before = copy.deepcopy(data)
    changed = with_settings(
        data, ["h=0.5", "body.moments=[3, 2, 1]", "force.1.stiffness = 7", "name=new", "output.states=7"]
    )
    assert data == before
    assert (changed["h"], changed["body"]["moments"], changed["force"][1]["stiffness"]) == (0.5, [3, 2, 1], 7)
    assert (changed["name"], changed["output"]["states"]) == ("new", 7)
    built_in = with_settings({"problem": "heavy_top"}, ["eps=1e-6", "h=1", "arguments.t_end=5.0"])
    assert built_in == {"problem": "heavy_top", "h": 1, "arguments": {"eps": 1e-6, "t_end": 5.0}}
    assert with_settings({}, ['method="V2"', "name=1\nh = 2"]) == {"method": "V2", "name": "1\nh = 2"}


@pytest.mark.parametrize("text", ["h", "=1", "force.5.weight=1", "h.x=1", "force.x=1", "t_span.0.a=1"])
def test_bad_settings(text):
    with pytest.raises(errors.InputError, match=r"KEY=VALUE|there is no"):
        with_settings(tomllib.loads(TOP), [text])


# Flows and methods by their texts


@pytest.mark.parametrize("flow", ph.flows.variants(), ids=repr)
def test_flows_come_back(flow):
    assert repr(flow_of(repr(flow))) == repr(flow)


@pytest.mark.parametrize("name", METHODS)
def test_methods_come_back(name):
    method = method_of(name)
    assert repr(method_of(repr(method))) == repr(method)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch hacked')", "Gauss(open('x'))", "Gauss(*[3])", "Gauss(**{'nodes': 3})",
        "Gauss[3]",
        "(lambda: 3)()", "Gauss(3", "", "Gauss(3).record", "'V2'", "Gauss(nodes=3, nodes=4)", "Splitting(V2)", "ünder",
        "Gauss(" * 60, "\\", "Composed(3, 4)", "Gauss('3')", "MoserVeselov(solver=7)", "Splitting(1, 2)", "f'{1}'",
        "V2 V2",
    ],
)  # fmt: skip
def test_texts_are_not_executed(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for read_text in (flow_of, method_of):
        with pytest.raises(errors.InputError):
            read_text(text)
    assert list(tmp_path.iterdir()) == []


@given(st.text(max_size=30))
def test_any_text_is_a_method_or_an_error(text):
    for read_text in (flow_of, method_of):
        with contextlib.suppress(errors.InputError):
            read_text(text)


# Torques in Python

PYTHON = top(SPRING, 'python = "{}"\nparams = [0.5]')


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    for name in ("pusher", "broken"):
        sys.modules.pop(name, None)


def test_python_must_be_allowed(folder):
    (folder / "pusher.py").write_text(
        "open(__file__ + '.loaded', 'w').close()\ndef push(t, Q, w, p):\n    return p[0], 0.0, 0.0\n"
    )
    path = folder / "top.toml"
    path.write_text(PYTHON.format("pusher:push"))
    with pytest.raises(errors.InputError, match=r"force\[1\]: python = 'pusher:push': .*--allow-python"):
        read_scenario(path)
    assert not (folder / "pusher.py.loaded").exists()
    made = read_scenario(path, allow_python=True)
    assert (folder / "pusher.py.loaded").exists()
    np.testing.assert_allclose(made.problem.force.torque(0.0, (1, 0, 0, 0)), (0.5, 0, 0))
    assert str(folder) not in sys.path
    assert made.data["python_folder"] == str(folder)  # so that a copy elsewhere finds it too


@pytest.mark.parametrize(
    ("spec", "match"),
    [("broken:push", "ZeroDivisionError"), ("nowhere:push", "ModuleNotFoundError"), ("pusher:pull", "AttributeError")],
)
def test_python_that_cannot_be_loaded(folder, spec, match):
    (folder / "broken.py").write_text("1 / 0")
    (folder / "pusher.py").write_text("def push(t, Q, w, p):\n    return 0.0, 0.0, 0.0\n")
    path = folder / "top.toml"
    path.write_text(PYTHON.format(spec))
    with pytest.raises(errors.InputError, match=f"cannot be loaded: {match}"):
        read_scenario(path, allow_python=True)


def test_the_schema_is_printed_for_editors():
    assert json.loads(CliRunner().invoke(cli, ["schema"]).stdout) == json_schema()
