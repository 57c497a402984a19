"""What orders two accesses and what does not: barriers, named barriers, warps, atomics, copies, blocks."""

import numpy as np
import pytest

from ptxsim.ground.work import Budget
from ptxsim.races import orders
from ptxsim.races.orders import Orders, Trail
from ptxsim.races.touches import Touch, Touches
from tests.ptxsim.small_kernels import found, run, run_on_numbers

T = np.arange(256)


def wrong(name, kind, body, **how):
    return pytest.param(kind, body, how, id=name)


def right(name, expected, body, **how):
    """`expected`: the first numbers of `out`."""
    return pytest.param(np.asarray(expected), body, how, id=name)


TILE = "__shared__ int tile[256];\n"
ALL = "COMMIT; WAIT(0); __syncthreads();\n"

# ---- copies

COPIES_WRONG = [
    wrong(
        "lanes-of-one-copy-to-one-place",
        "write-after-write",
        TILE + "COPY(&tile[t % 32], in + t); // HERE\n" + ALL + "out[t] = tile[t % 32];",
        block=64,
    ),
    wrong(
        "lanes-of-one-warp-to-one-place",
        "write-after-write",
        TILE + "COPY(&tile[t / 2], in + t); // HERE\n" + ALL + "out[t] = tile[t / 2];",
    ),
    wrong(
        "two-copies-of-one-thread",
        "write-after-write",
        TILE + "COPY(&tile[t], in + t);\nCOPY(&tile[t], in + 32 + t); // HERE\n" + ALL + "out[t] = tile[t];",
    ),
    wrong(
        "what-was-there-is-stored-over-a-copy-in-flight",
        "write-after-write",
        TILE + "tile[t] = -1; COPY(&tile[t], in + t); COMMIT;\ntile[t] = -1; // HERE\nWAIT(0); out[t] = tile[t];",
    ),
    wrong(
        "a-source-that-another-block-writes",
        "block-conflict",
        TILE + "if (blockIdx.x == 0) {\nCOPY(&tile[t], out + t); // HERE\n" + ALL + "in2[t] = tile[t];\n}\n"
        "else out[t] = t; // HERE",
        parameters="int* out, int* in2",
        grid=2,
    ),
    wrong(
        "a-source-that-its-thread-overwrites",
        "read-after-write",
        TILE + "COPY(&tile[t], out + t); // HERE\nCOMMIT; out[t] = 5; WAIT(0);\nin2[t] = tile[t];",
        parameters="int* out, int* in2",
    ),
]  # fmt: skip

# ---- named barriers

NAMED_WRONG = [
    wrong(
        "counts-that-differ",
        "barrier-count",
        "if (t < 32) ARRIVE(1, 64); // HERE\nelse BAR(1, 96); // HERE\nout[t] = t;",
        block=96,
    ),
    wrong(
        "all-and-a-count",
        "barrier-count",
        'if (t < 32) asm volatile("bar.sync 1;" ::: "memory"); // HERE\nelse BAR(1, 64); // HERE\nout[t] = t;',
        block=64,
    ),
    wrong(
        "arriving-twice",
        "deadlock",  # unless the other warp comes in between
        "if (t < 32) { ARRIVE(1, 64); ARRIVE(1, 64); }\nelse BAR(1, 64); // HERE\nout[t] = t;",
        block=64,
    ),
    wrong(
        "an-arrival-orders-what-came-before-it-only",
        "read-after-write",
        TILE + "if (t < 32) { ARRIVE(1, 64); tile[t] = t; }\nelse { BAR(1, 64);\nout[t] = tile[t - 32]; // HERE\n}",
        block=64,
    ),
    wrong(
        "a-barrier-of-other-warps",
        "read-after-write",
        TILE + "tile[t] = t;\nif (t >= 32) BAR(1, 96);\nout[t] = tile[t ^ 32]; // HERE",
        block=128,
    ),
]  # fmt: skip
NAMED_RIGHT = [
    right(
        "one-barrier-at-two-places",
        T[:64] ^ 32,
        TILE + "tile[t] = t;\nif (t < 32) { BAR(1, 64); out[t] = tile[t + 32]; }\n"
        "else { BAR(1, 64); out[t] = tile[t - 32]; }",
        block=64,
    ),
    right(
        "arrive-and-sync",
        np.r_[np.full(32, -1), T[:32]],
        TILE + "if (t < 32) { tile[t] = t; ARRIVE(1, 64); }\nelse { BAR(1, 64); out[t] = tile[t - 32]; }",
        block=64,
    ),
]

# ---- atomics in shared memory

ZERO = TILE + "tile[t] = 0; __syncthreads();\n"
ATOMICS_WRONG = [
    wrong(
        "an-unordered-atomic-of-warp-2",
        "read-after-write",
        ZERO + "if (t / 32 == 2) atomicAdd(&tile[t - 64], 5);\nif (t < 32) out[t] = tile[t]; // HERE",
        block=96,
    ),
    wrong(
        "warps-1-and-2-behind-a-barrier-of-0-and-1",
        "read-after-write",
        ZERO + "if (t / 32 == 2) atomicAdd(&tile[t - 64], 5);\nif (t < 64) BAR(1, 64);\n"
        "if (t / 32 == 1) out[t] = tile[t - 32]; // HERE",
        block=96,
    ),
    wrong(
        "a-plain-write-over-an-atomic",
        "write-after-write|read-after-write",
        ZERO + "if (t < 32) atomicAdd(&tile[t], 5); // HERE\nelse tile[t - 32] = 7; // HERE\n"
        "__syncthreads(); out[t] = tile[t];",
        block=64,
    ),
]  # fmt: skip
ATOMICS_RIGHT = [
    right("own-cell", T[:96] + 1, TILE + "tile[t] = t; atomicAdd(&tile[t], 1); out[t] = tile[t];", block=96),
    right(
        "histogram-of-each-warp",
        np.full(96, 8),
        TILE + "tile[t] = 0; __syncwarp();\nint* mine = tile + t / 32 * 32;\natomicAdd(&mine[t % 4], 1);\n"
        "__syncwarp(); out[t] = mine[t % 4];",
        block=96,
    ),
    right(
        "warps-1-and-2-meet",
        np.r_[np.full(32, -1), T[32:96] ^ 96],
        ZERO + "if (t >= 32) { atomicAdd(&tile[t], t); BAR(1, 64); out[t] = tile[t ^ 96]; }",
        block=96,
    ),
    right("everybody-on-one-cell", [4560], ZERO + "atomicAdd(&tile[0], t); __syncthreads(); if (!t) out[0] = tile[0];",
          block=96),
]  # fmt: skip

# ---- parts of a warp, parts of a block

PARTS_WRONG = [
    wrong(
        "the-last-word-of-a-wide-read",
        "write-after-read|read-after-write",
        "__shared__ alignas(16) int tile[256];\nfor (int i = t; i < 256; i += 64) tile[i] = i;\n__syncthreads();\n"
        "int4 v = ((int4*)tile)[t]; // HERE\nout[t] = v.x + v.y + v.z + v.w;\nif (t == 0) tile[255] = 1; // HERE",
        block=64,
    ),
    wrong(
        "half-a-warp-meets-and-the-other-half-reads",
        "read-after-write",
        TILE + "tile[t] = t;\nif (t < 16) __syncwarp(0xffff);\nout[t] = tile[31 - t]; // HERE",
    ),
    wrong("no-meeting-at-all", "read-after-write", TILE + "tile[t] = t;\nout[t] = tile[31 - t]; // HERE"),
    wrong(
        "thread-0-passes-the-barrier-by",
        "barrier-divergence",
        TILE + "tile[t] = t;\nif (t > 0) __syncthreads(); // HERE\nout[t] = tile[t];",
        block=64,
    ),
    wrong(
        "a-barrier-in-a-loop-of-different-lengths",
        "barrier-divergence",
        TILE + "int i = 0;\nfor (; i < 2 + (t == 3); ++i) __syncthreads(); // HERE\nout[t] = i;",
        block=64,
    ),
    wrong(
        "half-of-each-warp",
        "barrier-divergence",
        TILE + "tile[t] = t;\nif (t % 2) __syncthreads(); // HERE\nout[t] = tile[t];",
        block=64,
    ),
    wrong(
        "whole-warps-at-two-barriers",
        "barrier-divergence",
        TILE + "tile[t] = t;\nif (t < 32) __syncthreads(); // HERE\nelse __syncthreads(); // HERE\n"
        "out[t] = tile[t ^ 32];",
        block=64,
    ),
]
PARTS_RIGHT = [
    right("threads-that-exited", np.r_[np.full(8, -1), T[8:64]],
          TILE + "tile[t] = t; if (t < 8) return;\n__syncthreads(); out[t] = tile[t];", block=64),
    right(
        "who-exits-has-read-before",
        np.r_[np.full(32, 7), np.full(32, 8)],
        TILE + "tile[t] = 7; __syncthreads();\nif (t < 32) { out[t] = tile[t + 32]; return; }\n"
        "__syncthreads(); tile[t] = 8; out[t] = tile[t];",
        block=64,
    ),
    right(
        "syncwarp-in-both-branches",
        T[:32] ^ 16,
        TILE + "tile[t] = t;\nif (t < 16) __syncwarp(); else __syncwarp();\nout[t] = tile[t ^ 16];",
    ),
    right(
        "half-a-warp-for-itself",
        T[:32] ^ 1,
        TILE + "tile[t] = t;\nif (t < 16) __syncwarp(0xffff); else __syncwarp(0xffff0000);\nout[t] = tile[t ^ 1];",
    ),
]  # fmt: skip

# ---- blocks

HANDS_ON = """if (blockIdx.x == 0) {{
    if (t < 32) out[t] = in[t] + 1; // HERE
    __syncthreads();
    if (t == 0) asm volatile("{} [%0], %1;" :: "l"(out + 255), "r"(9) : "memory");
}} else {{
    int v;
    if (t == 0) do asm volatile("{} %0, [%1];" : "=r"(v) : "l"(out + 255) : "memory"); while (v != 9);
    __syncthreads();
    out[t + 32] = out[t] + 1; // HERE
}}"""
BLOCKS_WRONG = [
    wrong("a-flag-that-releases-nothing", "block-conflict",
          HANDS_ON.format("st.relaxed.gpu.global.s32", "ld.acquire.gpu.global.s32"), grid=2),
    wrong("a-flag-that-acquires-nothing", "block-conflict",
          HANDS_ON.format("st.release.gpu.global.s32", "ld.relaxed.gpu.global.s32"), grid=2),
    wrong("a-flag-of-the-block", "block-conflict",
          HANDS_ON.format("st.release.cta.global.s32", "ld.acquire.cta.global.s32")
          .replace('"r"(9) : "memory");', '"r"(9) : "memory"); // HERE')
          .replace("while (v != 9);", "while (v != 9); // HERE"), grid=2),
    wrong("a-read-against-atomics-of-other-blocks", "block-conflict",
          "if (t == 0 && out[0] < (int)blockIdx.x + 100) // HERE\natomicMax(out, blockIdx.x); // HERE", grid=4),
    wrong("an-atomic-of-the-block-behind-a-wider-one", "block-conflict",
          "if (blockIdx.x == 0) atomicAdd(out, 1); // HERE\nelse atomicAdd_block(out, 1); // HERE", grid=2, block=1),
    wrong("an-atomic-of-the-block-before-a-wider-one", "block-conflict",
          "if (blockIdx.x == 0) atomicAdd_block(out, 1); // HERE\nelse atomicAdd(out, 1); // HERE", grid=2, block=1),
    wrong("a-fence-alone", "block-conflict",
          "__threadfence(); if (t == 0) out[0] = out[0] + 1; // HERE", grid=4),
    wrong("volatile-alone", "block-conflict",
          "if (t == 0) out[0] = *(volatile int*)out + 1; // HERE", grid=4),
]  # fmt: skip
BLOCKS_RIGHT = [
    right("release-and-acquire", np.r_[T[1:33], T[2:34]],
          HANDS_ON.format("st.release.gpu.global.s32", "ld.acquire.gpu.global.s32"), grid=2),
    right("volatile-and-fences", np.r_[T[1:33], T[2:34]],
          HANDS_ON.format("membar.gl; st.volatile.global.s32", "ld.volatile.global.s32")
          .replace("while (v != 9);", "while (v != 9);\n__threadfence();"), grid=2),
]  # fmt: skip


# ---- the tests


def check_wrong(kind, body, how, seed):
    report, _ = run_on_numbers(body, **how, seed=seed)
    kinds, elsewhere = found(report)
    assert kinds and set(kinds) <= set(kind.split("|")), report
    assert not elsewhere, report


@pytest.mark.parametrize(
    ("kind", "body", "how"), COPIES_WRONG + NAMED_WRONG + ATOMICS_WRONG + PARTS_WRONG + BLOCKS_WRONG
)
def test_what_is_not_ordered_is_found(kind, body, how):
    check_wrong(kind, body, how, None)


@pytest.mark.parametrize(("kind", "body", "how"), COPIES_WRONG + ATOMICS_WRONG + PARTS_WRONG + BLOCKS_WRONG)
def test_in_another_order_of_the_warps_too(kind, body, how):
    check_wrong(kind, body, how, 1)


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize(
    ("expected", "body", "how"), NAMED_RIGHT + ATOMICS_RIGHT + PARTS_RIGHT + BLOCKS_RIGHT
)
def test_what_is_ordered_is_right(expected, body, how, seed):
    report, out = run_on_numbers(body, **how, seed=seed)
    assert report.ok, report
    assert (out[: len(expected)] == expected).all()


TURN = "tile[t] = in[t];\n{}out[t] = tile[t ^ 32];"


def numbers_by_seed(body):
    return [run_on_numbers(TILE + body, block=64, seed=seed)[1][:64] for seed in range(8)]


def test_a_seed_changes_what_a_race_gives():
    """It chooses another order of the warps, though no branch divides them."""
    assert len({out.tobytes() for out in numbers_by_seed(TURN.format(""))}) > 1


def test_a_seed_changes_nothing_of_a_right_kernel():
    for out in numbers_by_seed(TURN.format("__syncthreads();\n")):
        assert (out == T[:64] ^ 32).all()


def test_a_racy_kernel_is_found_whatever_the_order():
    for seed in range(8):
        report, _ = run_on_numbers(TILE + TURN.format(""), block=64, seed=seed)
        assert {"read-after-write", "uninitialised-read", "write-after-read"} & set(found(report)[0])


def test_blocks_may_hand_on_through_a_part_of_an_array_and_the_whole():
    """One array, passed twice: whoever writes through one name conflicts with who reads through the other."""
    x = np.arange(64, dtype=np.int32)
    body = "if (blockIdx.x == 0) out[t] = 5; // HERE\nelse y[t] = in[t]; // HERE"
    report = run(
        body, x[:32], x, np.zeros(32, np.int32), parameters="int* out, const int* in, int* y", grid=2
    )
    assert found(report) == (["block-conflict"], set()), report


def test_a_view_may_be_left_for_the_rest_of_its_array():
    x, out = np.arange(34, dtype=np.int32), np.zeros(32, np.int32)
    report = run("out[t] = in[t - 1] + in[t + 1];", out, x[1:33])
    assert report.ok, report
    assert (out == 2 * np.arange(1, 33)).all()


ATOMIC_REF = """if (blockIdx.x == 0) {
    if (t < 32) out[t] = in[t] + 1;
    __syncthreads();
    if (t == 0) cuda::atomic_ref<int, cuda::thread_scope_device>(out[255]).store(9, cuda::memory_order_release);
} else {
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(out[255]);
    if (t == 0) while (flag.load(cuda::memory_order_acquire) != 9) { }
    __syncthreads();
    out[t + 32] = out[t] + 1;
}"""


def test_cuda_atomic_ref_hands_on_between_blocks():
    report, out = run_on_numbers(ATOMIC_REF, before="#include <cuda/atomic>\n", grid=2)
    assert report.ok, report
    assert (out[:64] == np.r_[T[1:33], T[2:34]]).all()


GRID_BARRIER = """out[blockIdx.x * 1024 + t] = t;
__threadfence(); __syncthreads();
if (t == 0) { atomicAdd(count, 1); while (*(volatile int*)count < gridDim.x) { } __threadfence(); }
__syncthreads();
y[blockIdx.x * 1024 + t] = out[(gridDim.x - 1 - blockIdx.x) * 1024 + t] + 1;"""


def test_all_blocks_of_a_grid_may_wait_for_each_other():
    """17 x 1024 threads: more than run at once elsewhere."""
    out, y, count = np.zeros(17 * 1024, np.int32), np.zeros(17 * 1024, np.int32), np.zeros(1, np.int32)
    report = run(GRID_BARRIER, out, y, count, parameters="int* out, int* y, int* count", grid=17, block=1024)
    assert report.ok, report
    assert (y.reshape(17, 1024) == np.arange(1024) + 1).all()


def test_pairs_that_are_alike_get_the_answer_of_each():
    """A tile read for one lane: few copies brought it, and each of them is asked for once."""
    known = Orders(Trail(), {}, first_block=0, blocks=2, threads=64, single=False)
    known.trail.now = 20
    known.meet(np.arange(32, 96))
    random = np.random.default_rng(0)
    kinds = random.integers(0, 128, 4), random.integers(1, 40, 4).astype(np.int32)
    writers, times = (np.repeat(kind, 10 * orders.FEW) for kind in kinds)
    found = [known.unseen(np.full(len(times), lane), writers, times) for lane in range(128)]
    alone = [
        [
            known.unseen(np.array([lane]), writers[at : at + 1], times[at : at + 1])[0]
            for at in range(len(times))
        ]
        for lane in range(128)
    ]
    assert np.array_equal(found, alone)
    assert np.any(found) and not np.all(found)


def test_lanes_that_have_ended_and_other_blocks_hold_nobody_back():
    """What all of a block has seen may be forgotten: by it alone, and by all once the others have ended."""
    known = Orders(Trail(), {}, first_block=0, blocks=3, threads=64, single=False)
    lanes = np.arange(64)
    reads = Touches(3 * 16, 16, Budget(None))
    for block in range(3):
        reads.note(Touch(lanes + 64 * block, 0, lanes % 16 + 16 * block, 1, known.trail.step(0)), known.low)
    before = known.low
    known.meet(lanes)
    assert known.low == before and known.lows[0] > before
    reads.enter(known.low, lows=known.lows)
    assert reads.time[:16].max() == 0 and reads.time[16:].min() > 0
    known.end(np.arange(64, 128))
    assert known.low == before
    known.end(np.arange(128, 192))
    assert known.low > before and known.floor == known.low
