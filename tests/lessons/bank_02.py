"""The exercises of the bank for lesson 02."""

from tests.lessons import solved_numbers
from tests.lessons.tables import right_answers, wrong_answers

START = """        if (p + 3 < pieces)
            copy_async<4>(&slots[(p + 3) % 4][t], &in[64 * (p + 3) + t]);
"""
COMMIT = "        commit_group();                               // in every turn, also when there was nothing to copy\n"
WAIT = (
    "        wait_group<3>();                              "
    "// the newest three may be on their way; piece p is older\n"
)
USE = "        out[64 * p + t] = 2 * slots[p % 4][t];\n"
SAY_FULL = "named_arrive<64>(FULL + (piece - 1) % SLOTS);"
BEFORE = "                wait_group<1>();                      // the piece before this one has landed\n"
WHOLE = "            if (piece > 0) {\n" + BEFORE + "                " + SAY_FULL + "\n            }\n"
LAST = "        wait_all();\n        named_arrive<64>(FULL + (pieces - 1) % SLOTS);\n"

GAPS = ["02.12"]
RIGHT_ANSWERS = right_answers(
    """
02.11
    a list
        (1, 3, 3) -> [1, 3, 3]
    counted
        (1, 3, 3) -> tuple(sum(map(len, ([0], [1, 2], [], [3])[:4 - n])) for n in (3, 2, 1))

02.12
    no empty groups, and an end of its own
        - $START
        - $COMMIT
        - $WAIT
        +         if (p + 3 < pieces) {
        +             copy_async<4>(&slots[(p + 3) % 4][t], &in[64 * (p + 3) + t]);
        +             commit_group();
        +             wait_group<3>();
        +         } else
        +             wait_all();
    waits first
        - $START
        - $COMMIT
        - $WAIT
        +         wait_group<2>();
        + $START
        + $COMMIT
    uses it, then starts the next copy
        - $START
        - $COMMIT
        - $WAIT
        +         wait_group<2>();
        +         float mine = slots[p % 4][t];
        + $START
        + $COMMIT
        2 * slots[p % 4][t] -> 2 * mine
    bits for remainders
        (p + 3) % 4 -> p + 3 & 3

02.13
    the consumers wait too
        named_arrive<96>(EMPTY) -> named_sync<96>(EMPTY)
    a barrier for each consumer
        -                 named_sync<96>(EMPTY); …
        +                 { named_sync<64>(EMPTY); named_sync<64>(EMPTY + 1); }…
        named_arrive<96>(EMPTY) -> named_arrive<64>(EMPTY + warp - 1)
    the producer waits at FULL too
        named_arrive<96>(FULL) -> named_sync<96>(FULL)

02.14
    the slot before
        (piece - 1) % SLOTS -> (slot + SLOTS - 1) % SLOTS
    by a condition
        (piece - 1) % SLOTS -> (slot ? slot - 1 : SLOTS - 1)
    waits for the piece before at the top of the turn
        $WHOLE ->
        -             copy_async<4>…
        +             int before = (piece + SLOTS - 1) % SLOTS;
        +             copy_async<4>…
        -             commit_group();
        +             commit_group();
        +             wait_group<1>();
        +             if (piece)
        +                 named_arrive<64>(FULL + before);
""",
    **globals(),
)
WRONG_ANSWERS = wrong_answers(
    """
02.11
    the empty group not counted: an empty one
        (1, 3, 3) -> (1, 3, 4)
    nothing at first: which one is the oldest
        (1, -> (0,
    copies instead of groups: the newest two groups
        (1, 3, 3) -> (1, 2, 3)
    one group for each copy: which one is the oldest
        (1, -> (2,
    waits for so many: which one is the oldest
        (1, 3, 3) -> (3, 2, 1)
    all landed: which one is the oldest
        (1, 3, 3) -> (4, 4, 4)
    the second all: the newest two groups
        (1, 3, 3) -> (1, 4, 4)
    only two looks: three whole numbers
        (1, 3, 3) -> (1, 3)

02.12
    no wait: a copy is still on its way
        $WAIT ->
    one group too many: a copy is still on its way
        wait_group<3> -> wait_group<4>
    no commit: a copy is still on its way
        $COMMIT ->
    commits only with a copy: in the last ones
        - $START
        - $COMMIT
        +         if (p + 3 < pieces) {
        +             copy_async<4>(&slots[(p + 3) % 4][t], &in[64 * (p + 3) + t]);
        +             commit_group();
        +         }
    waits for all: they may stay on their way
        - $WAIT
        +         wait_all();
    nothing left on its way: they may stay on their way
        wait_group<3> -> wait_group<0>
    one left: they may stay on their way
        wait_group<3> -> wait_group<1>
    a barrier to be sure: for no other thread
        - $WAIT
        + $WAIT
        +         __syncthreads();
    always a copy: pieces 0 to pieces - 1
        -         if (p + 3 < pieces)
    one piece too many: pieces 0 to pieces - 1
        p + 3 < pieces -> p + 3 <= pieces
    the slot of this piece: Which slot is that
        slots[(p + 3) % 4] -> slots[p % 4]
    no copy: nothing was copied to
        $START ->
    plain loads: by one copy_async
        - copy_async<4>(&slots[(p + 3) % 4][t], &in[64 * (p + 3) + t]);…
        + slots[(p + 3) % 4][t] = in[64 * (p + 3) + t];…

02.13
    the line of the consumers: names thread 0
        (12, -> (16,
    the line in the header: names thread 0
        (12, -> (9,
    only one consumer: both consumers
        - 96)
        + 64)
    who waits there: both consumers
        - 96)
        + 32)
    nothing changed: add up the threads that come
        <96>(EMPTY) -> <64>(EMPTY)
    only the producer's count: both sides must agree
        named_arrive<96>(EMPTY) -> named_arrive<64>(EMPTY)
    only the consumers' count: both sides must agree
        named_sync<96>(EMPTY) -> named_sync<64>(EMPTY)
    no wait at EMPTY: Does it wait at EMPTY
        -                 named_sync<96>(EMPTY); …
        +                 ;…
    everybody waits at one barrier: is two barriers
        named_sync<96>(EMPTY) -> __syncthreads()
        named_arrive<96>(EMPTY) -> __syncthreads()
    waits in every turn: add up the threads that come
        -             if (piece > 0)
    FULL for one consumer: count everybody who comes
        <96>(FULL) -> <64>(FULL)

02.14
    as given: how often FULL is said
        (piece - 1) % SLOTS -> slot
    the slot after: how often FULL is said
        (piece - 1) % SLOTS -> (piece + 1) % SLOTS
    a remainder as in Python: (0 - 1) % 3 is -1
        (piece - 1) % SLOTS -> (slot - 1) % SLOTS
    the slot before, without a remainder: barrier 0
        (piece - 1) % SLOTS -> slot - 1
    waits for all: nothing overlaps
        - $BEFORE
        +                 wait_all();
    waits for its own copy and says so: nothing overlaps
        - $WHOLE
        +             wait_all();
        +             named_arrive<64>(FULL + slot);
        $LAST ->
    no wait: called full while its copy
        $BEFORE ->
    two left on their way: called full while its copy
        wait_group<1> -> wait_group<2>
    the last piece not said: once for each piece
        $LAST ->
    no remainder: how often FULL is said
        (piece - 1) % SLOTS -> piece - 1
    the last one not waited for: called full while its copy
        -         wait_all();
        -         named…
        +         named…
""",
    **globals(),
)
SOLVED = {"02.11": solved_numbers, "02.13": solved_numbers}
