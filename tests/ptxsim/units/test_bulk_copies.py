"""The copy engine: tensor maps, what a copy brings and when, what must be waited for and fenced."""

import sys

import numpy as np
import pytest

import ptxsim
from ptxsim import TensorMap
from ptxsim.ground import work
from tests.ptxsim.units.test_mbarrier import HOPPER, OPS

COPIES = (
    OPS
    + r"""
struct alignas(64) Map { u64 words[16]; };
__device__ void load(void* to, const Map* map, u64* b, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4}], [%2];" :: "r"(at(to)), "l"(map), "r"(at(b)), "r"(x), "r"(y) : "memory");
}
__device__ void store(const Map* map, const void* from, int x, int y)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
                 :: "l"(map), "r"(at(from)), "r"(x), "r"(y) : "memory");
}
__device__ void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ void wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ void fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
"""
)
ROWS, COLUMNS = 20, 64
KERNEL = """
extern "C" __global__ void
k(const __grid_constant__ Map a, const __grid_constant__ Map c, unsigned short* out, int x, int y)
{
    __shared__ alignas(1024) unsigned short tile[8 * 64];
    __shared__ u64 bar;
    int t = threadIdx.x;
    if (t == 0) init(&bar, 1);
    __syncthreads();
%s
}
"""
LOAD = "if (t == 0) { expect(&bar, sizeof tile); load(tile, &a, &bar, x, y); }\n"
WRITE = "for (int i = t; i < 512; i += 64) tile[i] = i;\n"
STORE = "store(&c, tile, x, y); commit(); wait_read();"
WRITTEN = f"{WRITE}fence(); __syncthreads();\nif (t == 0) {{ {STORE} }}"
COPY = LOAD + "wait(&bar, 0);\nfor (int i = t; i < 512; i += 64) out[i] = tile[i];"


def run(body, x=0, y=0, swizzle=0, box=(8, 64), seed=None):
    a = np.arange(ROWS * COLUMNS, dtype=np.uint16).reshape(ROWS, COLUMNS) + 1
    c, out = np.zeros_like(a), np.zeros(512, np.uint16)
    kernel = ptxsim.compile(COPIES + KERNEL % body, "k", HOPPER)
    args = (TensorMap(a, box, swizzle), TensorMap(c, box, swizzle), out, np.int32(x), np.int32(y))
    report = ptxsim.launch(kernel, 1, 64, args, seed=seed)
    return report, a, c, out


def box_of(a, x, y):
    """What a copy brings: zeros outside of the array."""
    wide = np.pad(a, ((64, 64), (64, 256)))
    return wide[64 + y : 72 + y, 64 + x : 128 + x]


@pytest.mark.parametrize(("x", "y"), [(0, 0), (8, 5), (0, 16), (-16, -2), (56, 19), (64, 0), (120, 20)])
def test_a_box_lies_where_the_coordinates_say_and_zeros_outside(x, y):
    report, a, _, out = run(COPY, x, y)
    assert report.ok, str(report)
    assert np.array_equal(out.reshape(8, 64), box_of(a, x, y))


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize(("swizzle", "width"), [(128, 64), (64, 32), (32, 16)])
def test_a_swizzle_changes_places_of_16_bytes_in_a_row_of_128(swizzle, width, seed):
    box = (512 // width, width)
    report, a, _, out = run(COPY, swizzle=swizzle, box=(8, width) if width == 64 else box, seed=seed)
    assert report.ok, str(report)
    plain = np.zeros((512 // width, width), np.uint16)
    rows = min(ROWS, 512 // width)
    plain[:rows] = a[:rows, :width]
    chunks = plain.reshape(-1, 8)
    number = np.arange(64)
    place = number ^ (number >> 3 & (swizzle // 16 - 1))
    assert np.array_equal(out.reshape(-1, 8)[place], chunks)


def test_a_store_writes_the_box_and_nothing_outside():
    report, _, c, _ = run(WRITTEN, 32, 16)
    assert report.ok, str(report)
    expected = np.zeros_like(c)
    expected[16:20, 32:64] = np.arange(512).reshape(8, 64)[:4, :32]
    assert np.array_equal(c, expected)


def test_what_lies_outside_of_the_array_is_not_read():
    report, _, c, _ = run(WRITTEN.replace("tile[i] =", "if (i % 64 < 32) tile[i] ="), 32)
    assert report.ok, str(report)
    assert np.array_equal(c[:8, 32:], np.arange(512).reshape(8, 64)[:, :32])


def test_a_box_may_take_columns_by_64_before_rows():
    array = np.arange(16 * 128, dtype=np.uint16).reshape(16, 128)
    by_64 = np.lib.stride_tricks.as_strided(array, (2, 16, 64), (128, 256, 2))
    layout = TensorMap(by_64, (2, 8, 64)).at(0)
    assert layout.shape == (64, 16, 2)
    offset, inside = layout.place((0, 4, 0))
    assert inside.all()
    expected = np.concatenate([array[4:12, :64], array[4:12, 64:]])
    assert np.array_equal(array.ravel()[offset // 2], expected.ravel())


def test_a_map_may_be_of_a_part_of_an_array():
    """Its rows are further apart than they are long, and what lies between them stays."""
    whole, target = (
        np.arange(ROWS * 160, dtype=np.uint16).reshape(ROWS, 160),
        np.zeros((ROWS, 160), np.uint16),
    )
    a, c = whole[2:, 32:96], target[2:, 32:96]
    body = COPY + "\nfence(); __syncthreads(); if (t == 0) { store(&c, tile, x, y); commit(); wait_read(); }"
    kernel = ptxsim.compile(COPIES + KERNEL % body, "k", HOPPER)
    args = TensorMap(a, (8, 64)), TensorMap(c, (8, 64)), np.zeros(512, np.uint16), np.int32(8), np.int32(5)
    report = ptxsim.launch(kernel, 1, 64, args)
    assert report.ok, str(report)
    expected = np.zeros_like(target)
    expected[7:15, 40:96] = whole[7:15, 40:96]
    assert np.array_equal(target, expected)


def test_dynamic_shared_memory_begins_where_its_alignment_says():
    body = """
extern "C" __global__ void k(unsigned* out)
{
    extern __shared__ __align__(1024) unsigned char bytes[];
    __shared__ u64 bar;
    init(&bar, 1);
    bytes[threadIdx.x] = 1;
    out[0] = at(bytes) % 1024;
}
"""
    out = np.ones(1, np.uint32)
    report = ptxsim.launch(ptxsim.compile(COPIES + body, "k", HOPPER), 1, 1, (out,), shared_mem=64)
    assert report.ok, str(report)
    assert out[0] == 0


def test_a_store_that_lies_outside_altogether_writes_nothing():
    report, _, c, _ = run(WRITTEN, 0, 64)
    assert report.ok, str(report)
    assert not c.any()


@pytest.mark.parametrize(("value", "right"), [("i", True), ("i + 64 * t", False)])
def test_stores_of_several_threads_to_one_place(value, right):
    """Of the same values they are no race, as it is with stores of threads themselves."""
    body = (
        f"if (t < 2) for (int i = 0; i < 256; ++i) tile[256 * t + i] = {value};\n"
        "fence(); __syncthreads();\n"
        "if (t < 2) { store(&c, tile + 256 * t, x, y); commit(); wait_read(); }"
    )
    report, _, c, _ = run(body, box=(4, 64))
    assert report.ok == right, str(report)
    assert right or "write-after-write" in {hazard.kind for hazard in report.hazards}
    assert not right or np.array_equal(c[:4].ravel(), np.arange(256))


def test_a_launch_of_copies_alone_gets_on(monkeypatch):
    """As long as they come from new parts of an array."""
    monkeypatch.setattr(work, "PATIENCE", 30_000)
    text = """
extern "C" __global__ void k(const char* from, int step)
{
    __shared__ alignas(128) char tile[256];
    __shared__ u64 bar;
    if (threadIdx.x == 0) init(&bar, 1);
    __syncthreads();
    for (int i = 0; i < 100; ++i) {
        if (threadIdx.x == 0) {
            expect(&bar, 256);
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                         :: "r"(at(tile)), "l"(from + i * step), "r"(at(&bar)) : "memory");
        }
        wait(&bar, i & 1);
        __syncthreads();
    }
}
"""
    kernel = ptxsim.compile(COPIES + text, "k", HOPPER)
    array = np.zeros(100 * 256, np.int8)
    assert ptxsim.launch(kernel, 1, 32, (array, np.int32(256))).ok
    report = ptxsim.launch(kernel, 1, 32, (array, np.int32(0)))
    assert [hazard.kind for hazard in report.hazards] == ["step-limit"]


LEFT = WRITTEN.replace(" wait_read();", "")
LATER = "if (t == 0) { %s load(tile, &a, &bar, x, y); }\nwait(&bar, 0); out[t] = tile[t];"
WRONG = {
    "unwaited-copy": {
        "read-before-the-phase": LOAD + "out[t] = tile[t];",
        "nothing-expected": LATER % "arrive(&bar);",
        "the-parity-of-the-phase-before-the-first": LOAD + "wait(&bar, 1); out[t] = tile[t];",
        "the-parity-of-the-phase-before": LOAD
        + "wait(&bar, 0); out[t] = tile[t];\n__syncthreads();\n"
        + LOAD
        + "wait(&bar, 0); out[t] += tile[t];",
    },
    "deadlock": {
        "too-many-bytes-expected": LATER % "expect(&bar, 1040);",
        "too-few-bytes-expected": LATER % "expect(&bar, 1008);",
    },
    "write-after-read": {
        "the-next-copy-before-all-have-read": LOAD
        + "wait(&bar, 0); out[t] = tile[t];\n"
        + LOAD
        + "wait(&bar, 1); out[t] += tile[t];",
        "the-source-of-a-store-overwritten": LEFT
        + "\n__syncthreads(); tile[t] = 7; __syncthreads();\nif (t == 0) wait_read();",
        "the-wait-for-a-store-is-not-told-to-others": LEFT
        + "\n__syncthreads();\nif (t == 0) wait_read();\ntile[t] = 7;",
    },
    "write-after-write": {
        "written-while-on-its-way": LOAD + "tile[t] = 1; wait(&bar, 0); out[t] = tile[t];",
    },
    "missing-proxy-fence": {
        "a-store-without-a-proxy-fence": f"{WRITE}__syncthreads();\nif (t == 0) {{ {STORE} }}",
    },
    "read-after-write": {
        "a-store-without-a-barrier": f"{WRITE}fence();\nif (t == 0) {{ {STORE} }}",
    },
    "exited-block": {
        "nobody-waits-for-a-store": LEFT,
    },
    "uninitialised-read": {
        "a-store-of-what-nobody-wrote": f"if (t == 0) {{ {STORE} }}",
    },
    "misaligned": {
        "not-aligned": "if (t == 0) { expect(&bar, 1024); load(tile + 8, &a, &bar, x, y); }",
        "a-place-in-a-row-that-no-gpu-takes": LOAD.replace("x, y", "x + 1, y") + "wait(&bar, 0);",
    },
    "out-of-bounds": {
        "out-of-shared-memory": "if (t == 0) { expect(&bar, 1024); load(tile + 64, &a, &bar, x, y); }",
        "no-map": "if (t == 0) { expect(&bar, 1024); load(tile, (Map*)out, &bar, x, y); }",
    },
}


@pytest.mark.parametrize(
    ("kind", "body"),
    [pytest.param(kind, body, id=name) for kind, bodies in WRONG.items() for name, body in bodies.items()],
)
def test_what_is_wrong_with_a_bulk_copy(kind, body):
    report = run(body)[0]
    assert [hazard.kind for hazard in report.hazards][:1] == [kind], str(report)


FENCED = {
    "by all, then a barrier": WRITE + "fence(); __syncthreads(); if (t == 0) { %s }",
    "by the one who stores, behind the barrier": WRITE + "__syncthreads(); if (t == 0) { fence(); %s }",
    "by a third thread, between two barriers": WRITE
    + "__syncthreads(); if (t == 40) fence(); __syncthreads(); if (t == 0) { %s }",
    "by each warp's first lane, which its warp has met": WRITE
    + "__syncwarp(); if (t %% 32 == 0) fence(); __syncthreads(); if (t == 0) { %s }",
    "by all, then an mbarrier": WRITE + "fence(); arrive(&bar); if (t == 0) { wait(&bar, 0); %s }",
}
UNFENCED = {
    "by the one who stores, before the barrier": WRITE + "if (t == 0) fence(); __syncthreads(); if (t == 0) { %s }",
    "by one warp of two": WRITE + "if (t < 32) fence(); __syncthreads(); if (t == 0) { %s }",
    "before the writes": "fence();\n" + WRITE + "__syncthreads(); if (t == 0) { %s }",
    "by the writers, behind the barrier": WRITE + "__syncthreads(); if (t) fence(); if (t == 0) { %s }",
    "by a third thread, which has not met the writers":
        WRITE + "if (t == 40) fence(); __syncthreads(); if (t == 0) { %s }",
    "before an mbarrier, by one": WRITE + "if (t == 0) fence(); arrive(&bar); if (t == 0) { wait(&bar, 0); %s }",
}  # fmt: skip


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("name", [*FENCED, *UNFENCED])
def test_a_proxy_fence_covers_the_writes_that_happen_before_it(name, seed, monkeypatch):
    body = (FENCED | UNFENCED)[name]
    if "arrive" in body:
        monkeypatch.setattr(
            sys.modules[__name__], "KERNEL", KERNEL.replace("init(&bar, 1)", "init(&bar, 64)")
        )
    report = run(body % STORE, seed=seed)[0]
    assert [hazard.kind for hazard in report.hazards] == ["missing-proxy-fence"] * (name in UNFENCED), str(
        report
    )


LINES = r"""
__device__ void bring(void* to, const void* from, u64* b)  // 16 bytes
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];"
                 :: "r"(at(to)), "l"(from), "r"(at(b)) : "memory");
}
__device__ void take(void* to, const void* from)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;" :: "l"(to), "r"(at(from)) : "memory");
}
__device__ void add(void* to, const void* from)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 16;"
                 :: "l"(to), "r"(at(from)) : "memory");
}
__device__ void wait_all() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
__device__ void fence_all() { asm volatile("fence.proxy.async;" ::: "memory"); }

extern "C" __global__ void k(unsigned* g, unsigned* y)
{
    __shared__ alignas(16) unsigned tile[32];
    __shared__ u64 bar;
    int t = threadIdx.x;
    if (t == 0) init(&bar, 1);
    tile[t] = t;
    fence_all();
    __syncthreads();
    BODY
}
"""
BRING = "expect(&bar, 16); bring(tile, g, &bar); wait(&bar, 0); y[0] = tile[1];"
PROXIES = {  # the body, and what is found in it
    "writes to global memory, then lets it be copied": ("if (t == 0) { g[0] = 5; BRING }", "missing-proxy-fence"),
    "another thread writes to global memory":
        ("if (t == 9) g[1] = 5; __syncthreads(); if (t == 0) { BRING }", "missing-proxy-fence"),
    "writes to global memory, then adds to it":
        ("if (t == 0) { g[0] = 5; add(g, tile); commit(); wait_all(); }", "missing-proxy-fence"),
    "writes to global memory, then stores over it":
        ("if (t == 0) { g[0] = 5; take(g, tile); commit(); wait_all(); }", "missing-proxy-fence"),
    "writes to shared memory, then lets it be overwritten":
        ("tile[t] = 7; __syncthreads(); if (t == 0) { BRING }", "missing-proxy-fence"),
    "one thread of all fences before the copy comes":
        ("tile[t] = 7; if (t == 0) fence_all(); __syncthreads(); if (t == 0) { BRING }", "missing-proxy-fence"),
    "fences behind the write to global memory": ("if (t == 0) { g[0] = 5; fence_all(); BRING }", None),
    "the thread that copies fences behind the barrier":
        ("if (t == 9) g[1] = 5; __syncthreads(); if (t == 0) { fence_all(); BRING }", None),
    "fences, then adds": ("if (t == 0) { g[0] = 5; fence_all(); add(g, tile); commit(); wait_all(); }", None),
    "fences what is overwritten": ("tile[t] = 7; fence_all(); __syncthreads(); if (t == 0) { BRING }", None),
    "fences what it read and is overwritten":
        ("y[t] = tile[t]; fence_all(); __syncthreads(); if (t == 0) { BRING }", None),
    "has only read what is overwritten":
        ("y[t] = tile[t]; __syncthreads(); if (t == 0) { BRING }", "missing-proxy-fence"),
    "reads the target of its store, awaited with .read":
        ("if (t == 0) { take(g, tile); commit(); wait_read(); y[0] = g[3]; }", "unwaited-copy"),
    "reads the target of its store, not awaited":
        ("if (t == 0) { take(g, tile); commit(); y[0] = g[3]; wait_all(); }", "unwaited-copy"),
    "another thread reads the target behind .read":
        ("if (t == 0) { take(g, tile); commit(); wait_read(); } __syncthreads(); y[t] = g[t];", "unwaited-copy"),
    "writes to the target behind .read":
        ("if (t == 0) { take(g, tile); commit(); wait_read(); g[2] = 9; }", "write-after-write"),
    "waits, then reads the target": ("if (t == 0) { take(g, tile); commit(); wait_all(); y[0] = g[3]; }", None),
    "waits, then all read the target":
        ("if (t == 0) { take(g, tile); commit(); wait_all(); } __syncthreads(); y[t] = g[t];", None),
    "reads what the store does not reach":
        ("if (t == 0) { take(g, tile); commit(); wait_read(); y[0] = g[4]; }", None),
    "two stores to one place, the first one awaited":
        ("if (t == 0) { take(g, tile); commit(); wait_all(); take(g, tile + 4); commit(); wait_all(); }", None),
}  # fmt: skip


def run_lines(body, size=32):
    kernel = ptxsim.compile(COPIES + LINES.replace("BODY", body.replace("BRING", BRING)), "k", HOPPER)
    return ptxsim.launch(kernel, 1, 32, (np.arange(size, dtype=np.uint32), np.zeros(32, np.uint32)))


@pytest.mark.parametrize(("body", "kind"), PROXIES.values(), ids=PROXIES)
def test_what_stands_between_a_thread_and_the_copy_engine(body, kind):
    report = run_lines(body)
    assert [hazard.kind for hazard in report.hazards][:1] == [kind][: kind is not None], str(report)


@pytest.mark.parametrize(("body", "kind"), PROXIES.values(), ids=PROXIES)
def test_what_lies_behind_all_that_is_watched_breaks_nothing(body, kind, monkeypatch):
    """In a large array, of which only the begin is watched."""
    monkeypatch.setattr("ptxsim.races.shadow.MOST_GRANULES", 512)
    report = run_lines(f"g += 1000; {body}", 1100)
    assert [hazard.kind for hazard in report.hazards][:1] == [kind][: "tile[t]" in body and kind is not None]


def test_what_mends_a_store_that_was_awaited_too_little():
    report = run_lines(PROXIES["reads the target of its store, awaited with .read"][0])
    assert "the bulk store into it" in str(report) and "without .read" in str(report)


def test_a_deadlock_names_both_numbers_of_bytes():
    assert (
        "expect 1040 bytes, of which 1024 came"
        in run(WRONG["deadlock"]["too-many-bytes-expected"])[0].hazards[-1].message
    )


@pytest.mark.parametrize(
    ("array", "box", "swizzle", "words"),
    [
        (np.zeros((8, 64), np.float16), (8,), 0, "2 dimensions and the box 1"),
        (np.zeros((8, 64), np.float16)[:, ::2], (8, 32), 0, "contiguous"),
        (np.zeros((8, 20), np.float16), (8, 8), 0, "multiples of 16 bytes; they are 40"),
        (np.zeros((8, 64), np.float16), (8, 4), 0, "multiple of 16"),
        (np.zeros((300, 64), np.float16), (300, 64), 0, "1 to 256"),
        (np.zeros((8, 64), np.float16), (8, 64), 64, "at most"),
        (np.zeros((8, 64), np.float16), (8, 64), 100, "(0, 32, 64, 128)"),
    ],
)
def test_a_map_that_a_gpu_refuses(array, box, swizzle, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(").replace(")", r"\)")):
        TensorMap(array, box, swizzle)


def test_a_bulk_copy_over_an_mbarrier():
    """One that lies in the tile."""
    body = """
    u64* in_tile = (u64*)tile + 1;
    if (t == 0) { init(in_tile, 1); expect(&bar, sizeof tile); load(tile, &a, &bar, x, y); }
    wait(&bar, 0);
    """
    report, *_ = run(body)
    assert [hazard.cause for hazard in report.hazards] == ["mbarrier-as-data"], str(report)
    assert "thread 0" in report.hazards[0].message


def test_a_wait_whose_answer_nobody_looks_at_brings_no_bytes():
    report, *_ = run(COPY.replace("wait(&bar, 0)", "unheard(&bar, 0); unheard(&bar, 0)"))
    assert [hazard.cause for hazard in report.hazards] == ["phase-not-awaited"], str(report)


RELAXED_EXPECT = """asm volatile("mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 _, [%0], %1;"
    :: "r"(at(&bar)), "r"((int)sizeof tile) : "memory");"""
RELAXED_WAIT = """asm volatile("{ .reg .pred p;\\nagain:\\n"
    "mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 p, [%0], 0;"
    "\\n@!p bra again; }" :: "r"(at(&bar)) : "memory");"""


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ("expect(&bar, sizeof tile);", RELAXED_EXPECT, []),
        ("wait(&bar, 0);", RELAXED_WAIT + 'asm volatile("fence.acq_rel.cta;" ::: "memory");', []),
        ("wait(&bar, 0);", RELAXED_WAIT, ["read-after-write"]),
    ],
    ids=["expects relaxed", "relaxed wait and fence", "relaxed wait"],
)
def test_bytes_come_with_the_phase(old, new, kinds):
    """Whatever the arrival that expects them releases; who waits acquires them."""
    report, *_ = run(COPY.replace(old, new))
    assert [hazard.kind for hazard in report.hazards] == kinds, str(report)


MADE = "__shared__ u64 made;\n"
SEND = "expect(&made, sizeof tile); load(tile, &a, &made, x, y);"
HEAR = "wait(&made, 0);\nfor (int i = t; i < 512; i += 64) out[i] = tile[i];"


@pytest.mark.parametrize(
    "body",
    [
        f"if (t == 0) init(&made, 1);\n__syncthreads();\nif (t == 32) {{ {SEND} }}\n",
        f"if (t == 0) {{ init(&made, 1); {SEND} }}\n__syncthreads();\n",
        f"if (t == 0) init(&made, 1);\nif (t < 32) {{ __syncwarp(); if (t == 1) {{ {SEND} }} }}\n__syncthreads();\n",
    ],
    ids=["another thread behind a barrier", "the thread that made it", "a lane of its warp"],
)
def test_a_copy_comes_to_its_mbarrier_as_a_thread_does(body):
    """By the generic proxy (PTX ISA 9.4, "cp.async.bulk"): no fence lies between."""
    report, a, _, out = run(MADE + body + HEAR)
    assert report.ok, str(report)
    assert np.array_equal(out.reshape(8, 64), box_of(a, 0, 0))


def test_a_copy_by_a_thread_that_need_not_know_of_its_mbarrier():
    report, *_ = run(
        MADE + f"if (t == 0) init(&made, 1);\nif (t == 32) {{ {SEND} }}\n__syncthreads();\n" + HEAR
    )
    assert [hazard.cause for hazard in report.hazards][:1] == ["unknown-mbarrier"], str(report)


IN_PLACE = (
    COPIES
    + r"""
extern "C" __global__ void k(float* x)
{
    __shared__ alignas(128) float tile[64];
    __shared__ u64 bar;
    int t = threadIdx.x;
    if (t == 0) init(&bar, 1);
    __syncthreads();
    if (t == 0) {
        expect(&bar, 256);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
            :: "r"(at(tile)), "l"(x), "r"(at(&bar)) : "memory");
    }
    BEFORE
    x[t] = 2;
    BEHIND
}
"""
)


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
@pytest.mark.parametrize(
    ("before", "right"),
    [
        ("wait(&bar, 0);", True),
        ("if (t < 32) wait(&bar, 0); __syncthreads();", True),
        ("__syncthreads();", False),
        ("if (t < 32) wait(&bar, 0);", False),
    ],
)
def test_who_knows_that_a_copy_has_come_may_write_where_it_came_from(before, right, seed):
    source = IN_PLACE.replace("BEFORE", before).replace("BEHIND", "wait(&bar, 0);")
    x = np.arange(64, dtype=np.float32)
    report = ptxsim.launch(ptxsim.compile(source, "k", HOPPER), 1, 64, (x,), seed=seed)
    assert report.ok == right, str(report)
    assert right or {hazard.kind for hazard in report.hazards} <= {"read-after-write", "write-after-read"}
