"""Teams of threads: every piece is done once, whoever helps; jobs at once, jobs that fail, helpers that come and go."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from polhode.core import team
from polhode.core.team import NO_DESK, TEAM_FROM
from polhode.core.threads import PARALLEL_FROM, in_ranges
from polhode.kernels.compiler.jit import JIT, entry, helper
from polhode.kernels.stepping.team import AWAKE, CAME, LOOKS, in_pieces
from polhode.systems.interactions import DipolarSoftSpheres

pytestmark = pytest.mark.dense

COUNTED = "Tuple((i8[::1], i8[::1], f8))"  # (how often each piece was done, numbers (k,), a factor)


@helper
def count_piece(told, k):
    done, numbers, factor = told
    for _ in range(100 * (k % 7)):  # of different length
        numbers[k] = (5 * numbers[k] + k) % 1001
    done[k] += int(factor)


count_all = in_pieces(count_piece, COUNTED)


@entry(f"void(i8[::1], {COUNTED}, i8)", cache=False)
def count_pieces(desk, told, count):
    count_all(desk, told, count)


@helper
def failing_piece(told, k):
    (numbers,) = told
    if k == numbers[0]:
        raise ValueError("as told")
    numbers[k + 1] = 1


fail_all = in_pieces(failing_piece, "Tuple((i8[::1],))")


@entry("void(i8[::1], Tuple((i8[::1],)), i8)", cache=False)
def fail_at(desk, told, count):
    fail_all(desk, told, count)


@pytest.fixture
def use(monkeypatch):
    """A function that sets the number of threads; teams that a test wakes are asleep when it ends."""
    yield lambda number: monkeypatch.setenv("POLHODE_NUM_THREADS", str(number))
    asleep()


def asleep():
    """Whether all helpers that were called leave, in time."""
    start, desk = time.monotonic(), team._team.desk
    while (desk[CAME] < team._team.called or desk[AWAKE]) and time.monotonic() < start + 30:
        time.sleep(0.001)
    return desk[AWAKE] == 0


def counted(count):
    done, numbers = np.zeros(count, np.int64), np.arange(count)
    team.in_team(lambda desk: count_pieces(desk, (done, numbers, 1.0), count), count, TEAM_FROM)
    return done, numbers


@pytest.mark.parametrize("number", [1, 2, 3, 6])
def test_every_piece_is_done_once(number, use):
    use(number)
    for count in [0, 1, 2, 3, 17, 1000, 70_000]:
        done, numbers = counted(count)
        assert (done == 1).all()
        use(1)
        np.testing.assert_array_equal(counted(count)[1], numbers)
        use(number)


def test_one_job_after_the_other(use):
    """Helpers that are late find the next job: never a piece of the last one."""
    use(3)
    done, numbers, expected = (np.zeros(5, np.int64) for _ in range(3))
    for k in range(20_000):
        count = 2 + k % 4
        team.in_team(lambda desk, count=count: count_pieces(desk, (done, numbers, 1.0), count), count, TEAM_FROM)
        expected[:count] += 1
        assert (done == expected).all()


@pytest.mark.skipif(not JIT, reason="uncompiled, nobody helps")
def test_helpers_come_and_go(use):
    use(3)
    for _ in range(2):
        start = time.monotonic()
        while team._team.desk[AWAKE] < 2:  # as long as there is work
            counted(100)
            assert time.monotonic() < start + 60
        assert asleep()


@pytest.mark.skipif(not JIT, reason="uncompiled, nobody helps")
def test_large_batches_send_helpers_away(use, monkeypatch):
    use(3)
    monkeypatch.setattr(team._team, "patience", 2**60)  # for ever
    counted(100)
    in_ranges(lambda start, stop: 0, PARALLEL_FROM)
    assert asleep()


def test_helpers_who_do_not_come_are_awaited_once(use, monkeypatch):
    """Their threads may have longer work: of any number of jobs, only one waits."""
    use(2)
    waits, lonely = [], team.Team()
    with monkeypatch.context() as patch:
        patch.setattr(team, "_team", lonely)
        patch.setattr(team, "started", lambda threads, number, *work: [None] * number)
        patch.setattr(team, "wait_for_helpers", lambda desk, number, patience: waits.append(patience))
        for _ in range(5):
            assert (counted(50)[0] == 1).all()
    assert waits == [0, lonely.patience]  # the first one is to compile it


def test_patience_is_found_on_a_busy_machine(monkeypatch):
    """One look takes some nanoseconds; a try that others interrupt does not count."""
    seconds = iter(x for k in range(20) for x in (0.0, 3e-6 if k == 13 else 5e-3))
    monkeypatch.setattr(team.time, "perf_counter", lambda: next(seconds))
    one = team.Team()
    one._find_patience()
    assert one.patience == int((LOOKS - 1) * 2e-4 / 3e-6)


def test_two_threads_with_jobs_at_once(use):
    """The team serves one of them, and the other works alone: nobody waits, and nothing is mixed up."""
    use(2)
    wrong = []

    def work():
        for _ in range(300):
            done, numbers = counted(50)
            wrong.extend([] if (done == 1).all() and (numbers == true).all() else [done])

    true = counted(50)[1]
    users = [threading.Thread(target=work) for _ in range(3)]
    for one in users:
        one.start()
    for one in users:
        one.join()
    assert wrong == []


def test_a_job_while_the_team_is_taken_is_done_alone(use):
    use(2)
    with team._team.taken:
        assert team.in_team(lambda desk: desk is NO_DESK, 2, TEAM_FROM)
    assert not team.in_team(lambda desk: desk is NO_DESK, 2, TEAM_FROM)
    assert team.in_team(lambda desk: desk is NO_DESK, 2, 0.49 * TEAM_FROM)  # too short
    assert team.in_team(lambda desk: desk is NO_DESK, 1, TEAM_FROM)  # in one piece


@pytest.mark.skipif(not JIT, reason="uncompiled, what raises, raises")
@pytest.mark.parametrize("number", [1, 3])
def test_pieces_that_raise(number, use):
    """The job is over when all others are done, and the next one is as ever."""
    use(number)
    for bad in range(4):
        numbers = np.zeros(5, np.int64)
        numbers[0] = bad
        with pytest.raises(MemoryError, match="memory"):
            team.in_team(lambda desk, n=numbers: fail_at(desk, (n,), 4), 4, TEAM_FROM)
        np.testing.assert_array_equal(numbers[1:], np.arange(4) != bad)
        assert (counted(20)[0] == 1).all()


def test_an_error_gives_the_team_back(use):
    use(2)
    with pytest.raises(ZeroDivisionError):
        team.in_team(lambda desk: 1 // 0, 2, TEAM_FROM)
    assert not team._team.taken.locked()


@pytest.mark.parametrize("cutoff", [None, 3.0])
def test_bits_of_forces_and_no_memory_lost(cutoff, use, rng):
    """For every number of threads, and after very many jobs."""
    resource = pytest.importorskip("resource")
    n, interaction = 300, DipolarSoftSpheres((0, 1.0, 1.0), cutoff=cutoff)
    x, Q = 8.0 * rng.random((n, 3)), np.broadcast_to(np.eye(3), (n, 3, 3)).copy()

    def forces():
        force, torque = np.zeros((n, 3)), np.zeros((n, 3))
        return interaction.evaluate(0.0, x, Q, force, torque), force.tobytes(), torque.tobytes()

    use(1)
    alone = forces()
    for number in (2, 3, 5):
        use(number)
        assert all(forces() == alone for _ in range(20))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(1000):  # of about 0.1 MB of sums each
        forces()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 20_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_has_a_team_of_its_own(use):
    use(2)
    true = counted(50)[1]
    child = os.fork()
    if not child:
        done, numbers = counted(50)
        os._exit(0 if (done == 1).all() and (numbers == true).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (counted(50)[0] == 1).all()


AT_EXIT = """
import atexit
import numpy as np
import polhode as ph
from polhode.systems.interactions import DipolarSoftSpheres

def work():
    m = np.tile((0.3, 0.4, 0.5), (30_000, 1))
    ph.propagate((1.0, 2.0, 3.0), m, np.tile((1.0, 0, 0, 0), (30_000, 1)), 0.1)
    Q, force, torque = np.stack([np.eye(3)] * 200), np.zeros((200, 3)), np.zeros((200, 3))
    DipolarSoftSpheres((0, 0, 1.0)).evaluate(0.0, x, Q, force, torque)
    print("done", flush=True)

x = np.random.default_rng(1).random((200, 3))
work()
atexit.register(work)
"""


def test_work_when_python_ends():
    """Then there are no threads any more."""
    run = subprocess.run(
        [sys.executable, "-c", AT_EXIT], env=os.environ | {"POLHODE_NUM_THREADS": "2"}, capture_output=True, text=True
    )
    assert (run.stdout, run.returncode) == ("done\ndone\n", 0), run.stderr


KERNELS = """
from polhode.kernels.compiler.jit import entry, helper
from polhode.kernels.stepping.team import in_pieces

KIND = "Tuple((f8[::1],))"


@helper
def one_piece(told, k):
    told[0][k] = 1.0


@helper
def two_piece(told, k):
    told[0][k] = 2.0


ones, twos = in_pieces(one_piece, KIND), in_pieces(two_piece, KIND)


@entry(f"void(i8[::1], {KIND}, i8)")
def one(desk, told, count):
    ones(desk, told, count)


@entry(f"void(i8[::1], {KIND}, i8)")
def two(desk, told, count):
    twos(desk, told, count)
"""

RUN = """
import numpy as np
import team_kernels
from polhode.kernels.stepping.team import SIZE
a = np.zeros(2)
for name in {names}:
    getattr(team_kernels, name)(np.zeros(SIZE, np.int64), (a,), 2)
    print(*a)
"""


@pytest.mark.long
@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_jobs_that_were_compiled_in_different_processes(tmp_path):
    """Numbers of functions begin anew in every process: their names must differ by more, or code is mixed up."""
    (tmp_path / "team_kernels.py").write_text(KERNELS)
    found = os.pathsep.join([str(tmp_path), *sys.path])
    settings = {"POLHODE_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": found}

    def run(*names):
        command = [sys.executable, "-c", RUN.format(names=names)]
        done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    assert run("one") == ["1.0 1.0"]
    assert run("two") == ["2.0 2.0"]
    assert run("one", "two") == ["1.0 1.0", "2.0 2.0"]
    assert run("two", "one") == ["2.0 2.0", "1.0 1.0"]
