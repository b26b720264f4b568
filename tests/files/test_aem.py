"""CCSDS attitude ephemerides: what the standard says and prints, an independent reader, bits and nanoseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from ccsds_ndm import Aem

import polhode as ph
from polhode import errors, forces
from polhode.core.rotation import matrix, rotate
from polhode.files import aem_reader, epochs
from polhode.files import saving as store
from polhode.integration.problem import Problem
from polhode.solve import integrate

OPTIONS = {
    "object_name": "ENVISAT", "object_id": "2002-009A", "originator": "ESOC", "epoch": "2024-02-29T23:59:58.123456789",
    "time_system": "TAI", "space_frame": "ICRF", "body_frame": "SC_BODY_1",
}  # fmt: skip
UNITS = {"t": "s", "omega": "rad/s"}
# Figure G-4 of 504.0-B-2, first segment, without the records that it leaves out
FIGURE_G4 = """CCSDS_AEM_VERS = 2.0
CREATION_DATE = 2002-11-04T17:22:31
ORIGINATOR    = NASA/JPL
MESSAGE_ID    = A701523

META_START
COMMENT This file was produced by M.R. Somebody, MSOO NAV/JPL.
OBJECT_NAME       = MARS_GLOBAL_SURVEYOR
OBJECT_ID         = 1996-062A
CENTER_NAME       = MARS BARYCENTER
REF_FRAME_A         = EME2000
REF_FRAME_B         = SC_BODY_1
TIME_SYSTEM       = UTC
START_TIME        = 1996-11-28T21:29:07.2555
STOP_TIME         = 1996-11-30T01:28:02.5555
ATTITUDE_TYPE     = QUATERNION
INTERPOLATION_METHOD = HERMITE
INTERPOLATION_DEGREE = 7
META_STOP

DATA_START
1996-11-28T21:29:07.2555 0.56748 0.03146 0.45689 0.68427
1996-11-28T22:08:03.5555 0.42319 -0.45697 0.23784 0.74533
1996-11-30T01:28:02.5555 0.74563 -0.45375 0.36875 0.31964
DATA_STOP
"""
VERSION_1 = """CCSDS_AEM_VERS = 1.0
CREATION_DATE = 2002-11-04T17:22:31
ORIGINATOR = NASA/JPL
META_START
OBJECT_NAME = MARS GLOBAL SURVEYOR
OBJECT_ID = 1996-062A
REF_FRAME_A = EME2000
REF_FRAME_B = SC_BODY_1
ATTITUDE_DIR = {direction}
TIME_SYSTEM = UTC
START_TIME = 1996-333T21:29:07
STOP_TIME = 1996-333T21:29:08
ATTITUDE_TYPE = {type}
QUATERNION_TYPE = {order}
RATE_FRAME = {frame}
META_STOP
DATA_START
1996-333T21:29:07.0 {numbers}
DATA_STOP
"""


def random_run():
    state = ph.State((0.3, 0.2, 0.9), ph.rotation.normalize((0.5, -0.5, 0.1, 0.7)))
    problem = Problem((1.0, 1.65, 1.97), state, forces.gravity(0.1, (0, 0, 1)), (0.0, 20.0), units=UNITS)
    return integrate(problem, method="V2", h=0.1)


def written(tmp_path, traj, **options):
    store.save(traj, tmp_path / "run.aem", **(OPTIONS | options))
    return tmp_path / "run.aem"


def test_bits_and_nanoseconds_come_back(tmp_path):
    traj = random_run()
    path = written(tmp_path, traj)
    again = store.load(path)
    assert again.q.tobytes() == (traj.q + 0.0).tobytes()
    np.testing.assert_allclose(again.omega, traj.omega, rtol=8e-16, atol=1e-300)
    offsets = [round(float(t).as_integer_ratio()[0] * 10**9 / float(t).as_integer_ratio()[1]) for t in traj.t]
    start = epochs.parse(OPTIONS["epoch"], "TAI")
    assert again.epochs.tolist() == [start + offset for offset in offsets]
    assert again.dates[0] == OPTIONS["epoch"]
    assert again.dates[20] == "2024-03-01T00:00:00.123456789"  # two seconds later: 2024 has a February 29
    np.testing.assert_allclose(again.t, traj.t, rtol=0, atol=5e-10)
    assert again.metadata["OBJECT_ID"] == "2002-009A"
    assert again.header["ORIGINATOR"] == "ESOC"
    assert "ENVISAT: 201 from 2024-02-29" in repr(again)


def test_an_independent_reader_reads_it(tmp_path):
    traj = random_run()
    message = Aem.from_file(str(written(tmp_path, traj, center_name="EARTH", message_id="A1")))
    message.validate()
    assert message.version == "2.0"
    assert (message.header.originator, message.header.message_id) == ("ESOC", "A1")
    (segment,) = message.segments
    meta = segment.metadata
    assert (meta.object_name, meta.object_id, meta.center_name) == ("ENVISAT", "2002-009A", "EARTH")
    assert (meta.ref_frame_a, meta.ref_frame_b, meta.angvel_frame) == ("ICRF", "SC_BODY_1", "SC_BODY_1")
    assert (meta.start_time, meta.stop_time) == (OPTIONS["epoch"], "2024-03-01T00:00:18.123456789")
    assert segment.data.attitude_states_epochs == store.load(tmp_path / "run.aem").dates
    numbers = segment.data.attitude_states_numpy
    np.testing.assert_array_equal(numbers[:, [3, 0, 1, 2]], traj.q)
    np.testing.assert_allclose(numbers[:, 4:], traj.omega * 180 / np.pi, rtol=1e-15)


def test_the_example_of_the_standard():
    """Annex F2.2: B is A turned by 90 degrees about Z; x = (1, 0, 0) in A is (0, -1, 0) in B."""
    q = np.array([0.5**0.5, 0.0, 0.0, 0.5**0.5])  # QC, Q1, Q2, Q3 as printed there: 0.7071, 0, 0, 0.7071
    np.testing.assert_allclose(rotate(q, (0, -1, 0)), (1, 0, 0), atol=1e-15)  # coordinates from B to A
    np.testing.assert_allclose(matrix(q).T, [(0, 1, 0), (-1, 0, 0), (0, 0, 1)], atol=1e-15)  # M_BA as printed
    np.testing.assert_allclose(rotate(q, (1, 0, 0)), (0, 1, 0), atol=1e-15)  # the X axis of B, in A


def test_a_body_that_turns_about_z(tmp_path):
    """By hand: 90 deg/s about the third axis. After a second the first body axis is the second one of space."""
    problem = Problem((1, 1, 2), omega=(0, 0, np.pi / 2), t_span=(0, 1))
    path = written(tmp_path, integrate(problem, method="V2", h=1.0), epoch="2000-01-01T12:00:00")
    last = path.read_text().splitlines()[-2].split()
    assert last[0] == "2000-01-01T12:00:01.000000000"
    np.testing.assert_allclose(list(map(float, last[1:5])), (0, 0, 0.5**0.5, 0.5**0.5), atol=1e-15)
    np.testing.assert_allclose(list(map(float, last[5:])), (0, 0, 90), atol=1e-13)


def test_what_the_standard_demands_of_the_text(tmp_path):
    text = written(tmp_path, random_run(), digits=16).read_text()
    lines = text.splitlines()
    assert lines[0] == "CCSDS_AEM_VERS = 2.0"
    assert max(map(len, lines)) <= 254
    assert text.isascii()
    keywords = [line.split(" = ")[0] for line in lines if " = " in line]
    order = ["CCSDS_AEM_VERS", "CREATION_DATE", "ORIGINATOR", "OBJECT_NAME", "OBJECT_ID", "REF_FRAME_A", "REF_FRAME_B"]
    order += ["TIME_SYSTEM", "START_TIME", "STOP_TIME", "ATTITUDE_TYPE", "ANGVEL_FRAME"]  # tables 4-2 and 4-3
    assert keywords == order
    for word in lines[lines.index("DATA_START") + 1].split()[1:]:
        mantissa = word.lstrip("-").split("E")[0]
        assert mantissa[1] == "."
        assert len(mantissa) - 1 == 16  # digits, 6.8.4.2
    assert "-0.0000000000000000E+00" not in written(tmp_path, random_run()).read_text()


def test_a_run_backward_is_written_forward(tmp_path):
    problem = Problem((1, 2, 3), ph.State((0.3, 0.2, 0.9)), t_span=(1.0, -1.0), units=UNITS)
    traj = integrate(problem, method="V2", h=0.5)
    again = store.load(written(tmp_path, traj, epoch="2000-01-01T00:00:00"))
    assert again.dates == [f"{day}.{part}00000000" for day, part in zip(
        ("1999-12-31T23:59:59", "1999-12-31T23:59:59", "2000-01-01T00:00:00", "2000-01-01T00:00:00",
         "2000-01-01T00:00:01"), "05050", strict=True)]  # fmt: skip
    np.testing.assert_array_equal(again.q, traj.q[::-1])


def test_one_of_a_batch_as_far_as_it_came(tmp_path):
    state = ph.State([(0.3, 0.2, 0.9), (0.1, 0.1, 0.1)])
    traj = integrate(Problem((1, 2, 3), state), method="V2", h=0.25)
    traj.m[3:, 1], traj.q[3:, 1] = np.nan, np.nan
    again = store.load(written(tmp_path, traj, body=1))
    np.testing.assert_array_equal(again.q, traj.q[:3, 1])
    for body in ((), 2, (0, 0)):
        with pytest.raises(errors.InputError, match=r"batch \(2,\)"):
            written(tmp_path, traj, body=body)
    with pytest.raises(errors.InputError, match="only one"):
        written(tmp_path, random_run(), body=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"object_id": "", "epoch": None}, r"needs object_id, epoch; type save\(path, object_id="),
        ({"object_name": "Envisat"}, "type 'ENVISAT'"),
        ({"originator": "É"}, "printable ASCII"),
        ({"originator": "A\nB"}, "printable ASCII"),
        ({"epoch": 2451545.0}, "expected a date such as"),
        ({"epoch": "yesterday"}, "expected a date such as"),
        ({"epoch": "2023-02-29T00:00:00"}, "day is out of range"),
        ({"epoch": "2024-01-01T24:00:00"}, "does not exist in TAI"),
        ({"epoch": datetime(2024, 1, 1, tzinfo=UTC)}, "remove its tzinfo"),
        ({"digits": 5}, "digits is 5"),
    ],
)
def test_options_that_do_not_do(tmp_path, options, message):
    with pytest.raises(errors.InputError, match=message):
        written(tmp_path, random_run(), **options)
    assert not list(tmp_path.iterdir())


def test_units_must_be_those_of_the_standard(tmp_path):
    problem = Problem((1, 2, 3), ph.State((0.3, 0.2, 0.9)), units={"t": "h"})
    with pytest.raises(errors.InputError, match=r"unit of t is 'h'; an \.aem file needs s"):
        written(tmp_path, integrate(problem, method="V2", h=0.5))
    problem = Problem((1, 2, 3), ph.State((0.3, 0.2, 0.9)), t_span=(0, 1e-10))
    with pytest.raises(errors.InputError, match="nanosecond"):
        written(tmp_path, integrate(problem, method="V2", h=1e-10))


def test_epochs_that_are_given_in_other_ways():
    date = datetime(2024, 3, 1, 12, 0, 0, 250000)
    there = epochs.parse("2024-061T12:00:00.25", "UTC")
    assert epochs.from_user(date, "UTC") == there
    assert epochs.from_user(date.replace(tzinfo=timezone(timedelta(hours=-1))), "UTC") == there + 3600 * 10**9
    assert epochs.from_user(np.datetime64("2024-03-01T12:00:00.250000001"), "UTC") == there + 1


def test_leap_seconds():
    """TAI - UTC as it is printed: 10 s in 1972, 19 s when GPS time began, 32 s in 2000, 37 s since 2017."""
    for date, difference in (("1972-01-01", 10), ("1980-01-06", 19), ("2000-01-01", 32), ("2006-01-01", 33),
                             ("2015-07-01", 36), ("2017-01-01", 37), ("2024-01-01", 37)):  # fmt: skip
        text = f"{date}T00:00:00"
        assert epochs.parse(text, "UTC") - epochs.parse(text, "TAI") == (difference - 32) * 10**9
        assert epochs.show(epochs.parse(text, "UTC"), "UTC") == f"{text}.000000000"
    leap = epochs.parse("2016-12-31T23:59:60.5", "UTC")
    assert epochs.parse("2017-01-01T00:00:00", "UTC") - leap == 5 * 10**8
    assert epochs.show(leap, "UTC") == "2016-12-31T23:59:60.500000000"
    for text in ("2015-12-31T23:59:60", "2016-12-31T22:59:60"):
        with pytest.raises(errors.InputError, match="does not exist in UTC"):
            epochs.parse(text, "UTC")
    with pytest.raises(errors.InputError, match="does not exist in TAI"):
        epochs.parse("2016-12-31T23:59:60", "TAI")


def test_a_file_over_a_leap_second(tmp_path):
    problem = Problem((1, 2, 3), ph.State((0.3, 0.2, 0.9)), t_span=(0, 3))
    traj = integrate(problem, method="V2", h=1.0)
    again = store.load(written(tmp_path, traj, epoch="2016-12-31T23:59:59", time_system="UTC"))
    assert [date[17:19] for date in again.dates] == ["59", "60", "00", "01"]
    np.testing.assert_array_equal(again.t, [0, 1, 2, 3])


def test_the_printed_message(tmp_path):
    path = tmp_path / "g4.aem"
    path.write_text(FIGURE_G4)
    read = store.load(path)
    np.testing.assert_array_equal(read.q[1], (0.74533, 0.42319, -0.45697, 0.23784))
    assert read.omega is None
    assert read.dates[1] == "1996-11-28T22:08:03.555500000"
    assert read.epochs[1] - read.epochs[0] == (38 * 60 + 56) * 10**9 + 300_000_000
    path.write_text(FIGURE_G4 + FIGURE_G4[FIGURE_G4.index("META_START") :])
    assert len(aem_reader.read(path)) == 2
    with pytest.raises(errors.StoreError, match="has 2 segments"):
        store.load(path)


def version_1(tmp_path, numbers, **keywords):
    values = {"direction": "A2B", "type": "QUATERNION", "order": "LAST", "frame": "REF_FRAME_B"} | keywords
    path = tmp_path / "one.aem"
    path.write_text(VERSION_1.format(numbers=numbers, **values))
    return aem_reader.read(path)[0]


def test_version_1(tmp_path):
    last = version_1(tmp_path, "0.1 0.2 0.3 0.9")
    np.testing.assert_array_equal(last.q, [(0.9, 0.1, 0.2, 0.3)])
    assert last.dates == ["1996-11-28T21:29:07.000000000"]
    np.testing.assert_array_equal(version_1(tmp_path, "0.9 0.1 0.2 0.3", order="FIRST").q, last.q)
    np.testing.assert_array_equal(version_1(tmp_path, "0.9 -.1 -.2 -.3", order="FIRST", direction="B2A").q, last.q)


def test_angular_velocities_in_all_forms(tmp_path):
    """90 deg/s about the body's first axis, which is the second one of space: it is turned by 90 degrees about z."""
    q, rate = "0 0 0.7071067811865476 0.7071067811865476", np.pi / 2
    along_b = version_1(tmp_path, f"{q} 90 0 0", type="QUATERNION/RATE")
    along_a = version_1(tmp_path, f"{q} 0 90 0", type="QUATERNION/RATE", frame="EME2000")
    slope = 0.25 * np.pi * 0.5**0.5  # q' = q omega/2, q = (s, 0, 0, s), omega = (pi/2, 0, 0): s (0, pi/4, pi/4, 0)
    derivative = version_1(tmp_path, f"{q} {slope!r} {slope!r} 0 0", type="QUATERNION/DERIVATIVE")
    for found in (along_b, along_a, derivative):
        np.testing.assert_allclose(found.omega, [(rate, 0, 0)], atol=1e-15)
    backward = f"0.7071067811865476 0 0 -0.7071067811865476 0 {-slope!r} {-slope!r} 0"
    found = version_1(tmp_path, backward, type="QUATERNION/DERIVATIVE", order="FIRST", direction="B2A")
    np.testing.assert_allclose(found.omega, [(rate, 0, 0)], atol=1e-15)
    assert version_1(tmp_path, f"{q} 90 0 0", type="QUATERNION/RATE", frame="MOON_ME").omega is None
    assert version_1(tmp_path, f"{q} 90 0 0", type="QUATERNION/RATE", direction="B2A").omega is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("CCSDS_AEM_VERS = 2.0", "CCSDS_AEM_VERS = 3.0"), "CCSDS_AEM_VERS is 3.0; expected 1.0 or 2.0"),
        (("CCSDS_AEM_VERS = 2.0", "CCSDS_OEM_VERS = 2.0"), "CCSDS_AEM_VERS is missing"),
        (("= QUATERNION", "= SPIN"), "ATTITUDE_TYPE is SPIN; expected QUATERNION or"),
        (("REF_FRAME_B  ", "REF_FRAME_C  "), "REF_FRAME_B is missing"),
        (("0.74533", "0.74x"), "line 23: could not convert"),
        (("0.74533", "0.74533 9"), "line 23 has 5 numbers after the date; expected 4"),
        (("1996-11-28T22:08:03.5555", "1996-11-31T22:08:03.5555"), "line 23.*day is out of range"),
        (("0.74533", "nan"), "line 23 has a number that is not finite"),
        (("0.74533", "1e999"), "line 23 has a number that is not finite"),
        (("1996-11-28T22", "1996-11-27T22"), "line 23: 1996-11-27T22:08:03.5555 is not later"),
        (("1996-11-28T22:08:03.5555", "1996-11-28T21:29:07.2555"), "line 23: .* is not later"),
        (("1996-11-28T22", "2996-11-28T22"), "2996-11-28T22.* is too far from 2000"),
        (("DATA_STOP", ""), "ends before DATA_STOP"),
        (("CENTER_NAME       =", "CENTER_NAME"), "line 10: .* is not of the form"),
        (("1996-11-", "COMMENT "), "a segment has no data"),
    ],
)
def test_broken_messages(tmp_path, change, message):
    path = tmp_path / "bad.aem"
    path.write_text(FIGURE_G4.replace(*change))
    with pytest.raises(errors.StoreError, match=f"{path}.*{message}"):
        store.load(path)


def test_the_order_of_a_version_1_quaternion_is_never_guessed(tmp_path):
    with pytest.raises(errors.StoreError, match="QUATERNION_TYPE is MIDDLE; expected FIRST or LAST"):
        version_1(tmp_path, "0 0 0 1", order="MIDDLE")
