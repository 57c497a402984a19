"""The exercises of the bank for lesson 00."""

from tests.lessons import solved_numbers
from tests.lessons.tables import right_answers, wrong_answers

NEXT = "    if (t == 0 && i + 64 < n)\n        tile[64] = x[i + 64];\n"
ADD = "            tile[t] += tile[t + half];                // 256 numbers become 128, then 64, 32, ...\n"
IF_ADD = "        if (t < half)\n" + ADD
TURN = "    for (int half = 128; half > 0; half /= 2) {\n" + IF_ADD + "        __syncthreads();\n    }\n"
COPIED = "    __syncthreads();\n    for (int half"

RIGHT_ANSWERS = right_answers(
    """
00.11
    a name for a text
        "no hazard" -> str().join(("no", " hazard"))
    texts of NumPy
        "no hazard" -> __import__('numpy').array(["no hazard"])[0]

00.12
    the last thread brings it
        t == 0 && i + 64 < n -> t == 63 && i + 1 < n
        x[i + 64] -> x[i + 1]
    a loop over the tile
        -     if (i < n)
        -         tile[t] = x[i];
        - $NEXT
        +     for (int j = t; j < 65 && blockIdx.x * 64 + j < n; j += 64)
        +         tile[j] = x[blockIdx.x * 64 + j];
    two neighbours for each thread
        $NEXT ->
        tile[t + 1]) / 2 -> (t < 63 ? tile[t + 1] : x[i + 1])) / 2

00.13
    the barrier at the top of the turn
        - $COPIED…
        +     for (int half…
        - $IF_ADD
        -         __syncthreads();
        +         __syncthreads();
        + $IF_ADD
    neighbours first
        - $TURN
        +     for (int step = 1; step < 256; step *= 2) {
        +         if (t % (2 * step) == 0)
        +             tile[t] += tile[t + step];
        +         __syncthreads();
        +     }
    the last turns in one warp
        -         __syncthreads();
        -     }…
        +         if (half > 32) __syncthreads(); else __syncwarp();
        +     }…
    halves by shifting
        half > 0; half /= 2 -> half; half >>= 1
    the sum in a register
        -     tile[t] = x…
        +     float mine;
        +     tile[t] = mine = x…
        tile[t] += tile[t + half]; -> tile[t] = mine += tile[t + half];

""",
    **globals(),
)
WRONG_ANSWERS = wrong_answers(
    """
00.11
    lanes of a warp run in step: Is there anything between
        ("read-after-write" -> ("no hazard"
    only the large barrier counts: in which warp
        "no hazard" -> "read-after-write"
    any barrier will do: in which warp
        "no hazard", "read-after-write" -> "no hazard", "no hazard"
    the barrier is there: Who may still read
        "write-after-read" -> "no hazard"
    the other way round: Who may still read
        "write-after-read" -> "read-after-write"
    a barrier is there, so all is well: does anybody write
        "uninitialised-read" -> "no hazard"
    a read too early: does anybody write
        "uninitialised-read" -> "read-after-write"
    a word of one's own: is no kind
        "write-after-read" -> "race"
    one word for all: five texts
        , "no hazard", "read-after-write", "write-after-read", "uninitialised-read" ->

00.12
    the thread that has no neighbour at all: thread ... of block
        (63, -> (0,
    counted from 1: thread ... of block
        (63, -> (64,
    the byte: the report names it
        - 64)
        + 256)
    the element before: the report names it
        - 64)
        + 63)
    nothing changed: has no thread of its own
        $NEXT ->
    without looking at n: does the one that you bring exist
        t == 0 && i + 64 < n -> t == 0
    one too far: does the one that you bring exist
        i + 64 < n -> i + 64 <= n
    after the barrier: before the barrier
        $NEXT ->
        -     __syncthreads();
        +     __syncthreads();
        + $NEXT
    the wrong element: the first one of the next block
        x[i + 64] -> x[i + 63]
    all threads bring it: needs one thread
        t == 0 && i + 64 < n -> i + 64 < n
    blocks that overlap: two blocks write one element
        $NEXT ->
        blockIdx.x * 64 + t -> blockIdx.x * 63 + t
    the tile larger: has no thread of its own
        $NEXT ->
        tile[65] -> tile[128]
    the neighbour left out: the first one of the next block
        tile[t + 1]) / 2 -> tile[t < 63 ? t + 1 : t]) / 2
    without the tile: only one element is not
        tile[t] + tile[t + 1] -> x[i] + x[i + 1]
    the neighbour always from x: only one element is not
        $NEXT ->
        tile[t + 1]) -> x[i + 1])
    not written: the first one of the next block
        $NEXT ->
        if (i + 1 < n) -> if (i + 1 < n && t < 63)

00.13
    as given: which threads come to this barrier
        - $TURN
        +     for (int half = 128; half > 0; half /= 2) {
        +         if (t < half) {
        +             tile[t] += tile[t + half];                // 256 numbers become 128, then 64, 32, ...
        +         __syncthreads(); }
        +     }
    no barrier in the loop: between two turns
        - $TURN
        +     for (int half = 128; half > 0; half /= 2) {
        +         if (t < half)
        +             tile[t] += tile[t + half];                // 256 numbers become 128, then 64, 32, ...
        +     }
    only the warp waits: between two turns
        - $TURN
        +     for (int half = 128; half > 0; half /= 2) {
        +         if (t < half)
        +             tile[t] += tile[t + half];                // 256 numbers become 128, then 64, 32, ...
        +         __syncwarp();
        +     }
    no barrier before the loop: before the first one
        - $COPIED…
        +     for (int half…
    a turn too many: t + half must stay below 256
        half = 128; -> half = 256;
    a turn too few: Is every number added
        half > 0; -> half > 1;
    from the quarter: Is every number added
        half = 128; -> half = 64;
    no sum: Is every number added
        tile[t] += tile[t + half] -> tile[t] = tile[t + half]
    one thread adds all: half of the threads rest
        - $TURN
        +     if (t == 0)
        +         for (int i = 1; i < 256; ++i) tile[0] += tile[i];
    barriers to be sure: one in each turn are enough
        -         __syncthreads();
        -     }…
        +         __syncthreads(); __syncthreads();
        +     }…
    a fence only: between two turns
        - $TURN
        +     for (int half = 128; half > 0; half /= 2) {
        +         if (t < half)
        +             tile[t] += tile[t + half];                // 256 numbers become 128, then 64, 32, ...
        +         __threadfence_block();
        +     }
    no end: a loop has no end
        half /= 2 -> half /= 1

""",
    **globals(),
)
SOLVED = {"00.11": solved_numbers, "00.12": solved_numbers}
