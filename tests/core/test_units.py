"""Quantities of astropy and pint are converted where they fit, and refused elsewhere; never stripped."""

from __future__ import annotations

import numpy as np
import pytest

import polhode as ph
from polhode.core.errors import InputError
from polhode.systems.interactions import BOLTZMANN, DipolarSoftSpheres, Molecular, water

BODY, M, Q = (1.0, 1.5, 2.0), (0.3, 0.2, 0.9), (1.0, 0.0, 0.0, 0.0)
DEGREE = np.pi / 180


def of_astropy(number, unit):
    from astropy.units import Quantity

    return Quantity(number, unit)


REGISTRY = []


def of_pint(number, unit):
    import pint

    REGISTRY[:] = REGISTRY or [pint.UnitRegistry()]
    return REGISTRY[0].Quantity(np.asarray(number) if isinstance(number, tuple | list) else number, unit)


@pytest.fixture(params=[of_astropy, of_pint], ids=["astropy", "pint"])
def quantity(request):
    return request.param


def same(result, expected):
    """Compare results as plain arrays, up to the rounding of a conversion."""
    assert type(result) is np.ndarray
    np.testing.assert_allclose(result, expected, rtol=1e-14, atol=0)


def heavy_top(**more):
    return ph.Problem(BODY, ph.State(M), ph.forces.gravity(1.0, (0, 0, 0.3)), (0.0, 2.0), **more)


def crossings(height, angle):
    events = [ph.events.section((1, 0, 0), height), ph.events.cone((0, 0, 1), (0, 0, 1), angle, direction=0)]
    turning = ph.Problem(BODY, ph.State(M), t_span=(0, 20))
    return np.concatenate(ph.integrate(turning, method="V2", h=0.1, events=events).t_events)


CONVERTED = {
    "omega": (lambda u: ph.State.from_omega(BODY, u(M, "deg/s")).m, np.multiply(BODY, M) * DEGREE),
    "omega in a list": (
        lambda u: ph.free_motion(BODY, omega=[u(x, "deg/s") for x in (1.0, 2.0, 3.0)]).initial.m,
        np.multiply(BODY, (1, 2, 3)) * DEGREE,
    ),
    "omega, m / inertia": (lambda u: ph.State.from_omega(BODY, u(M, "1/s")).m, np.multiply(BODY, M)),
    "omega of propagate": (
        lambda u: ph.propagate(BODY, omega=u(M, "deg/s"), t=0.0)[0], np.multiply(BODY, M) * DEGREE,
    ),
    "omega of a problem": (
        lambda u: ph.Problem(BODY, omega=u(M, "deg/s")).state.m, np.multiply(BODY, M) * DEGREE,
    ),
    "m": (lambda u: ph.State(u(M, "g cm^2/s")).m, np.multiply(M, 1e-7)),
    "m with radians": (lambda u: ph.State(u(M, "N m s rad")).m, M),
    "rows of m": (lambda u: ph.State([u(M, "g cm^2/s"), u(M, "N m s")]).m, np.multiply([[1e-7], [1.0]], M)),
    "all of propagate": (
        lambda u: ph.propagate(u(BODY, "g cm^2"), u(M, "g cm^2/s"), Q, u(1.0, "min"))[0],
        ph.propagate(np.multiply(BODY, 1e-7), np.multiply(M, 1e-7), Q, 60.0)[0],
    ),
    "t beside numbers": (
        lambda u: ph.propagate(BODY, M, Q, u((0.5, 1.0), "min"))[1], ph.propagate(BODY, M, Q, (30.0, 60.0))[1],
    ),
    "t of a motion": (lambda u: ph.free_motion(BODY, m=M).q(u(1.0, "min")), ph.free_motion(BODY, m=M).q(60.0)),
    "inertia": (lambda u: ph.RigidBody(u(BODY, "g cm^2")).moments, np.multiply(BODY, 1e-7)),
    "tensor": (lambda u: ph.RigidBody(u(np.diag(BODY).tolist(), "g cm^2")).moments, np.multiply(BODY, 1e-7)),
    "cuboid": (
        lambda u: ph.RigidBody.cuboid(u(12.0, "g"), u(1.0, "cm"), u(2.0, "m"), u(3.0, "m")).moments,
        ph.RigidBody.cuboid(0.012, 0.01, 2.0, 3.0).moments,
    ),
    "points": (
        lambda u: ph.RigidBody.points(u((1.0, 1.0, 2.0), "g"), u(np.eye(3).tolist(), "cm")).moments,
        ph.RigidBody.points((1.0, 1.0, 2.0), np.eye(3)).moments * 1e-7,
    ),
    "x and p": (lambda u: ph.State(u(M, "N m s"), x=u(M, "km"), p=u(M, "g m/s")).x, np.multiply(M, 1e3)),
    "t_span": (lambda u: np.array(ph.Problem(BODY, ph.State(M), t_span=u((0.0, 2.0), "min")).t_span), (0.0, 120.0)),
    "t_span in the units of the problem": (
        lambda u: np.array(heavy_top(units={"t": "ms"}).replaced(t_span=u((0.0, 2.0), "s")).t_span), (0.0, 2000.0),
    ),
    "omega in the units of the problem": (
        lambda u: ph.Problem(BODY, omega=u(M, "rad/s"), units={"t": "h", "omega": "rad/h"}).state.m,
        3600 * np.multiply(BODY, M),
    ),
    "t of a motion in the units of the problem": (
        lambda u: ph.Problem(BODY, ph.State(M), units={"t": "min"}).free_motion().q(u(1.0, "h")),
        ph.free_motion(BODY, m=M).q(60.0),
    ),
    "t_eval": (lambda u: ph.integrate(heavy_top(), method="V2", h=0.1, t_eval=u((0.0, 500.0), "ms")).t, (0.0, 0.5)),
    "h": (lambda u: ph.integrate(heavy_top(), method="V2", h=u(500.0, "ms")).t, (0.0, 0.5, 1.0, 1.5, 2.0)),
    "span of a run": (lambda u: ph.integrate(heavy_top(), u((0.0, 1000.0), "ms"), method="V2", h=0.5).t, (0, 0.5, 1)),
    "t of a solution": (
        lambda u: ph.integrate(heavy_top(), method="V2", h=0.5).sol(u(500.0, "ms"))[0],
        ph.integrate(heavy_top(), method="V2", h=0.5).m[1],
    ),
    "weight and offset": (
        lambda u: ph.forces.gravity(u(3.0, "kN"), u((0.0, 0.0, 1.0), "cm")).params, (0, 0, 3000.0, 0, 0, 0.01),
    ),
    "torque": (lambda u: ph.forces.constant(u((0.0, 0.0, 1.0), "kN m")).params, (0.0, 0.0, 1000.0)),
    "strength": (
        lambda u: np.array(ph.forces.gravity_gradient_strength(u(3.986e5, "km^3/s^2"), u(7e3, "km"))),
        3 * 3.986e14 / 7e6**3,
    ),
    "rates of a gyroscope": (
        lambda u: ph.attitude_from_rates((u((0.0, 1.0), "min"), u([M, M], "deg/s")), order=2)[1][-1],
        ph.rotation.from_rotation_vector(60.0 * DEGREE * np.array(M)),
    ),
    "angles": (lambda u: ph.rotation.from_euler("ZXZ", u(M, "deg")), ph.rotation.from_euler("ZXZ", M, degrees=True)),
    "angles in degrees": (
        lambda u: ph.rotation.from_euler("ZXZ", u(M, "rad"), degrees=True), ph.rotation.from_euler("ZXZ", M),
    ),
    "a vector in degrees": (
        lambda u: ph.rotation.from_rotation_vector(u(M, "rad"), degrees=True), ph.rotation.from_rotation_vector(M),
    ),
    "events": (lambda u: crossings(u(0.1, "N m s"), u(50.0, "deg")), crossings(0.1, 50.0 * DEGREE)),
    "samples": (
        lambda u: ph.sampling.draw(2, omega=u([M, M], "deg/s")).rows()["omega"], np.multiply([M, M], DEGREE),
    ),
    "percent": (lambda u: ph.State(M, u((100.0, 0.0, 0.0, 0.0), "percent")).q, Q),
    "params without dimension": (lambda u: damped(u((1.0,), "m/km")).params, (0.001,)),
    "liquid": (
        lambda u: np.array(liquid(u).t_span + (liquid(u).h,)), (0.0, 0.5, 0.002)
    ),
    "lattice": (
        lambda u: np.ptp(lattice(u(5.0, "cm")).state.x, axis=0), (0.05, 0.05, 0.05),
    ),
}  # fmt: skip


def damped(params):
    return ph.Torque(lambda t, Q, w, p: (-p[0] * w[0], 0.0, 0.0), params=params)


def liquid(u):
    return ph.System.liquid(water(), 216, kT=300 * BOLTZMANN, seed=1, t_span=u((0.0, 500.0), "fs"), h=u(2.0, "fs"))


def lattice(spacing):
    return ph.System.lattice(ph.RigidBody(BODY, mass=1.0), 2, spacing, DipolarSoftSpheres((0, 0, 1.0)))


@pytest.mark.parametrize("name", CONVERTED)
def test_quantities_are_converted(name, quantity):
    call, expected = CONVERTED[name]
    same(call(quantity), expected)


def test_a_run_with_units_goes_step_by_step(quantity):
    run = ph.start(heavy_top(units={"t": "s"}), method="V2", h=quantity(100.0, "ms"))
    run.to(quantity(1000.0, "ms"))
    assert run.t == pytest.approx(1.0, rel=1e-15)
    m = run.m
    run.apply(quantity((1.0, 0.0, 0.0), "kg m^2/s"))
    np.testing.assert_allclose(run.m, m + (1, 0, 0), rtol=1e-15)


REFUSED = {
    "a wrong dimension": (lambda u: ph.State(u(M, "rad/s")), r"m has the unit rad.*; expected a unit such as kg m\^2"),
    "a length as time": (lambda u: ph.propagate(BODY, M, Q, u(1.0, "m")), "t has the unit m"),
    "an angle as time": (lambda u: ph.free_motion(BODY, m=M).q(u(1.0, "deg")), "t has the unit deg"),
    "turns or radians": (lambda u: ph.State.from_omega(BODY, u(M, "kHz")), "omega has the unit k.*such as rad/s"),
    "m beside numbers": (lambda u: ph.propagate(BODY, u(M, "N m s"), Q, 1.0), "m has a unit, inertia is plain numbers"),
    "a time in numbers": (
        lambda u: ph.propagate(u(BODY, "kg m^2"), u(M, "N m s"), Q, 1.0), "inertia has a unit, t is plain numbers",
    ),
    "an edge in numbers": (lambda u: ph.RigidBody.cuboid(u(1.0, "kg"), 1, 2, 3), "mass has a unit, a is plain"),
    "a body of a problem": (
        lambda u: ph.Problem(u(BODY, "kg m^2"), omega=M), "body has a unit, omega is plain numbers",
    ),
    "a span of a problem": (
        lambda u: ph.Problem(u(BODY, "kg m^2"), omega=u(M, "deg/s"), t_span=(0, 5)), "body has a unit, t_span is",
    ),
    "an offset": (lambda u: ph.forces.gravity(u(3.0, "N"), (0, 0, 1)), "weight has a unit, offset is plain numbers"),
    "a list of both": (lambda u: ph.State([u(0.3, "N m s"), 0.2, 0.9]), "quantities and plain numbers"),
    "a list of both, last": (lambda u: ph.propagate(BODY, (0.3, u(0.2, "N m s"), 0.9)), "a unit for each number"),
    "params": (lambda u: damped(u((1.0,), "N m s")), r"params has the unit .*quantity.to_value\(unit\) with astropy"),
    "rows of both": (lambda u: ph.State([np.array(M), u(M, "N m s")]), "quantities and plain numbers"),
    "two systems of units": (
        lambda u: ph.Problem(BODY, omega=u(M, "rad/s"), units={"t": "h"}), "rad/s for omega does not fit the",
    ),
    "degrees as a unit": (
        lambda u: ph.Problem(BODY, omega=u(M, "rad/s"), units={"omega": "deg/s"}), "deg/s for omega does not fit",
    ),
    "an unknown unit": (
        lambda u: ph.Problem(BODY, ph.State(M), t_span=u((0.0, 1.0), "s"), units={"t": "ticks"}), r"units\['t'\] = ",
    ),
    "sites": (lambda u: Molecular(u(np.eye(3).tolist(), "nm")), "sites has the unit"),
    "a moment of a dipole": (lambda u: DipolarSoftSpheres(u((0.0, 0.0, 1.0), "A m^2")), "dipole has the unit"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_quantities_that_do_not_fit_are_refused(name, quantity):
    call, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        call(quantity)


def test_times_of_astropy_say_what_to_type():
    from astropy.time import Time, TimeDelta

    for time in (TimeDelta(5.0, format="sec"), Time(2460000.5, format="jd")):
        with pytest.raises(InputError, match=r"dt.to_value\('s'\) for a TimeDelta, \(t - epoch\)"):
            ph.propagate(BODY, M, Q, time)


def test_arrays_with_an_unknown_kind_of_unit_are_refused():
    class Array(np.ndarray):
        unit = "deg / s"

    with pytest.raises(InputError, match="omega has the unit deg / s; expected a unit such as rad/s"):
        ph.State.from_omega(BODY, np.array(M).view(Array))


def test_systems_of_units_hold_for_all_quantities(quantity):
    units = {"t": "min", "omega": "rad/min", "m": "kg m^2/min", "inertia": "kg m^2", "energy": "J", "name": "x"}
    with pytest.raises(InputError, match=r"kg m\^2/s for m does not fit"):
        ph.Problem(BODY, omega=quantity(M, "deg/s"), units=units | {"m": "kg m^2/s"})
    problem = ph.Problem(
        quantity(BODY, "kg m^2"), omega=quantity(M, "deg/s"), t_span=quantity((0.0, 60.0), "s"), units=units
    )
    same(problem.state.m, np.multiply(BODY, M) * DEGREE * 60)
    assert problem.t_span == (0.0, pytest.approx(1.0, rel=1e-15))


def test_what_was_replaced_is_converted_to_the_units_of_the_problem(quantity):
    problem = heavy_top(units={"t": "ms", "omega": "rad/ms"})
    same(problem.replaced(omega=quantity(M, "rad/s")).state.m, np.multiply(BODY, M) / 1000)


def test_streams_ensembles_and_studies_convert_times(quantity, tmp_path):
    problem, h, span = heavy_top(units={"t": "ms"}), quantity(0.0001, "s"), quantity((0.0, 0.001), "s")
    done = ph.stream(problem, tmp_path / "run.zarr", method="V2", h=h, t_span=span)
    assert done.rows == 11
    found = ph.ensemble(problem, {"m": np.array([M, M])}, method="V2", h=h, t_span=span, t_eval=span)
    wanted = ph.ensemble(problem, {"m": np.array([M, M])}, method="V2", h=0.1, t_span=(0, 1), t_eval=(0, 1))
    same(np.asarray(found.m), np.asarray(wanted.m))
    studied = ph.work_precision(problem, ["V2"], h=quantity((0.0002, 0.0001), "s"), reference=problem.state)
    assert [run.h for run in studied.of("V2")] == pytest.approx([0.2, 0.1], rel=1e-15)
