"""Short work on several cores: pieces of a job, taken by whoever is free, and threads that wait for them awake.

To wake a thread takes as long as all forces on a hundred bodies. So a thread that has helped keeps looking at a desk
for a moment: an array of words, which stand together in a line of the cache if they are read together:

    TICKET  the number of pieces, and the piece to be taken next
    JOB     the address of piece(told, k), compiled
    TOLD    the address of what all pieces are told, a tuple

    DONE    pieces that are done
    FAILED  pieces that raised, which they do if there is no memory left

    LEAVE   1 if nobody shall wait any longer
    AWAKE   how many wait
    CAME    how many came to wait, ever

Whoever moves the ticket on has a piece, and as long as it is not done, its job is not either: so JOB and TOLD, if they
are read then, belong to that piece. One thread hands out jobs, works, and returns when all pieces are done; whether
others came to help, and when, changes nothing but the time. A desk without words is that of one who works alone.
"""

from __future__ import annotations

from polhode.kernels.compiler.jit import JIT, caller, entry, helper

LINE = 16  # words: two lines of the cache, which some processors load together
TICKET, JOB, TOLD = LINE, LINE + 1, LINE + 2
DONE, FAILED = 2 * LINE, 2 * LINE + 1
LEAVE, AWAKE, CAME, SIZE = 3 * LINE, 3 * LINE + 1, 3 * LINE + 2, 4 * LINE
BITS = 31  # of the ticket for the number of pieces, and for the piece
MASK = 2**BITS - 1
LOOKS = 64  # at a word, before others may have the core

if JIT:
    from polhode.kernels.compiler.atomics import (
        add_to_word,
        let_others_run,
        linked,
        pause,
        read_word,
        swap_word,
        tuple_by_address,
        write_word,
    )

    call_piece = caller("void(i8, i8)", None)

    @helper
    def take(desk):
        """A piece of the job on the desk, or -1."""
        while True:
            ticket = read_word(desk, TICKET)
            if ticket & MASK >= ticket >> BITS:
                return -1
            if swap_word(desk, TICKET, ticket, ticket + 1):
                return ticket & MASK

    @helper
    def look_away(looks):
        """For a moment; every now and then long enough for others who need the core."""
        if looks % LOOKS:
            pause()
        else:
            let_others_run()

    @helper
    def work(desk, k):
        _, failed = call_piece(desk[JOB], (desk[TOLD], k))
        if failed:
            add_to_word(desk, FAILED, 1)
        add_to_word(desk, DONE, 1)

    @entry("void(i8[::1], i8)")
    def help_out(desk, patience):
        """Take pieces of all jobs that come, until none came for so many looks."""
        add_to_word(desk, AWAKE, 1)
        add_to_word(desk, CAME, 1)
        looks = 0
        while looks < patience and not read_word(desk, LEAVE):
            k = take(desk)
            if k < 0:
                looks += 1
                look_away(looks)
            else:
                work(desk, k)
                looks = 0
        add_to_word(desk, AWAKE, -1)

    @entry("void(i8[::1], i8, i8)")
    def wait_for_helpers(desk, number, patience):
        """Until so many have come, ever; or not any longer than so many looks. Here nobody keeps them from Python."""
        looks = 0
        while looks < patience and read_word(desk, CAME) < number:
            looks += 1
            look_away(looks)

    @helper
    def alone(job, told, count):
        failed = False
        for k in range(count):
            _, raised = call_piece(job, (told, k))
            failed = failed or raised
        return failed

    @helper
    def hand_out(desk, job, told, count):
        """All pieces of a job; whether one raised."""
        desk[JOB], desk[TOLD] = job, told
        write_word(desk, FAILED, 0)
        write_word(desk, DONE, 0)
        write_word(desk, TICKET, count << BITS)
        k = take(desk)
        while k >= 0:
            work(desk, k)
            k = take(desk)
        looks = 0
        while read_word(desk, DONE) < count:
            looks += 1
            look_away(looks)
        return read_word(desk, FAILED) > 0

    def in_pieces(piece, kind):
        """run(desk, told, count): piece(told, k) for k = 0 .. count - 1 in any order, with told of its only type."""
        put, read = tuple_by_address(kind)

        def from_address(told, k):
            piece(read(told), k)

        job = linked(from_address, "void(i8, i8)", f"{piece.__module__}.{piece.__qualname__}")

        @helper
        def run(desk, told, count):
            place = put(told)
            short = count == 1 or desk.size == 0
            failed = alone(job(), place, count) if short else hand_out(desk, job(), place, count)
            if failed:
                raise MemoryError("there is not enough memory for the work of a thread")

        return run

else:

    def help_out(desk, patience):
        """Nothing: uncompiled, one thread does it all."""
        desk[CAME] += 1

    def wait_for_helpers(desk, number, patience):
        """Nothing: they need not come."""

    def in_pieces(piece, kind):
        """run(desk, told, count): piece(told, k) for k = 0 .. count - 1."""

        def run(desk, told, count):
            for k in range(count):
                piece(told, k)

        return run
