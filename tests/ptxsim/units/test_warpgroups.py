"""wgmma and setmaxnreg are for whole warpgroups: four warps, the first one's number a multiple of 4."""

import numpy as np
import pytest

from ptxsim import compile, launch
from tests.kernels.hopper_wrong import MACROS, OPTIONS

READY = "TILES;\nFENCE_ASYNC;\n__syncthreads();\n"
SUMS = "WG_FENCE;\nWGMMA(d, a, b, 0);\nWG_COMMIT;\nWG_WAIT(0);\n"
STORE = "out[t] = d[0];\n"
HALF_WAITS = "WG_FENCE;\nWGMMA(d, a, b, 0);\nWG_COMMIT;\nif (t < 64)\nWG_WAIT(0);\n"
HALF_COMMITS = "WG_FENCE;\nWGMMA(d, a, b, 0);\nif (t >= 32)\nWG_COMMIT;\nWG_WAIT(0);\n"
WAIT_FOR = """unsigned done = 0;
while (!done) asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; "
    "selp.u32 %0, 1, 0, p; }"
    : "=r"(done) : "r"(AT(&bar)) : "memory");
"""
GIVE = 'asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");\n'


def run(body, threads, seed=None):
    bounds = f"__launch_bounds__({threads}, 1)"
    source = f'{MACROS}\nextern "C" __global__ void {bounds} kernel(float* out)\n{{\n{body}\n}}\n'
    out = np.full(threads, -1, np.float32)
    return source, launch(compile(source, "kernel", OPTIONS), 1, threads, (out,), seed=seed), out


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(
    ("threads", "body", "line", "words"),
    [
        (128, f"{READY}if (t < 64) {{\n{SUMS}{STORE}}}", "WG_FENCE", "warps 0 to 3 only 0, 1 came"),
        (128, f"{READY}if (t >= 96) {{\n{SUMS}{STORE}}}", "WG_FENCE", "All threads from 0 to 127 must"),
        (
            256,
            f"{READY}if (t >= 64 && t < 192) {{\n{SUMS}{STORE}}}",
            "WG_FENCE",
            "warps 0 to 3 only 2, 3 came",
        ),
        (96, READY + SUMS + STORE, "WG_FENCE", "The block has 96 threads; give it a multiple of 128"),
        (32, READY + SUMS + STORE, "WG_FENCE", "The block has 32 threads"),
        (160, READY + SUMS + STORE, "WG_FENCE", "warps 4 to 7 only 4 came"),
        (
            128,
            READY + HALF_WAITS + "out[t] = 1;",
            "WG_WAIT",
            "wgmma.wait_group is one instruction of a whole warpgroup",
        ),
        (
            128,
            "if (threadIdx.x < 64)\n" + GIVE + "out[threadIdx.x] = 1;",
            "asm",
            "setmaxnreg is one instruction",
        ),
        (
            256,
            "if (threadIdx.x >= 160) {\n" + GIVE + "out[threadIdx.x] = 1; }",
            "asm",
            "warps 4 to 7 only 5, 6, 7",
        ),
        (96, GIVE + "out[threadIdx.x] = 1;", "asm", "The block has 96 threads"),
    ],
)
def test_a_part_of_a_warpgroup_is_told(threads, body, line, words, seed):
    source, report, _ = run(body, threads, seed)
    (hazard,) = report.hazards
    assert (hazard.kind, hazard.cause) == ("barrier-divergence", "part-of-warpgroup"), report
    assert source.splitlines()[hazard.line - 1].startswith(line)
    assert words in hazard.message


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(
    ("threads", "body", "line"),
    [
        (128, f"{READY}if (t < 64) {{\n{SUMS}{STORE}}}\n__syncthreads();", "WG_FENCE"),
        (256, f"{READY}if (t >= 64 && t < 192) {{\n{SUMS}{STORE}}}\n__syncthreads();", "WG_FENCE"),
        (128, READY + HALF_COMMITS + STORE, "WG_"),
        (128, "if (threadIdx.x < 64)\n" + GIVE + "__syncthreads(); out[threadIdx.x] = 1;", "asm"),
        (
            256,
            f"__shared__ u64 bar;\nif (threadIdx.x == 0) INIT(&bar, 128);\n{READY}if (t >= 128) {{\n{WAIT_FOR}"
            f"out[t] = 1;\n}} else {{\nif (t >= 64) {{\n{SUMS}{STORE}}}\nBAR_1;\nARRIVE(&bar);\n}}".replace(
                "BAR_1", 'asm volatile("bar.sync 1, 128;")'
            ),
            "WG_FENCE",
        ),
    ],
)
def test_a_warpgroup_that_waits_for_its_other_warps_is_told(threads, body, line, seed):
    source, report, _ = run(body, threads, seed)
    (hazard,) = report.hazards
    assert (hazard.kind, hazard.cause) == ("deadlock", "part-of-warpgroup"), report
    assert source.splitlines()[hazard.line - 1].startswith(line)
    assert "all 128 threads must take the same way" in hazard.message


def test_a_warpgroup_whose_warps_wait_at_an_mbarrier_lacks_what_that_lacks():
    made = "__shared__ u64 bar;\nif (threadIdx.x == 0) INIT(&bar, 1);\n"
    _, report, _ = run(f"{made}{READY}if (t < 32) {{\n{WAIT_FOR}}}\n{SUMS}{STORE}", 128)
    assert report.hazards[0].cause == "missing-arrival", report


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize(
    ("threads", "body", "right"),
    [
        (128, READY + SUMS + STORE, slice(0, 128)),
        (256, READY + SUMS + STORE, slice(0, 256)),
        (256, f"{READY}if (t >= 128) {{\n{SUMS}{STORE}}}", slice(128, 256)),
        (384, f"{READY}if (t < 128) return;\n{SUMS}{STORE}", slice(128, 384)),
        (160, f"{READY}if (t < 128) {{\n{SUMS}{STORE}}}\n__syncthreads();", slice(0, 128)),
        (256, f"{READY}for (int k = 0; k <= int(t) / 128; ++k) {{\n{SUMS}{STORE}}}", slice(0, 256)),
    ],
)
def test_whole_warpgroups_are_right(threads, body, right, seed):
    _, report, out = run(body, threads, seed)
    assert report.ok, report
    assert (out[right] == 16).all()


HANDED_OVER = """__shared__ alignas(128) unsigned short A[64 * 16], B[8 * 16];
__shared__ u64 bar;
unsigned t = threadIdx.x;
float d[4];
u64 a = AT(A) / 16 | (u64)(1024 / 16) << 16 | (u64)(128 / 16) << 32;
u64 b = AT(B) / 16 | (u64)(128 / 16) << 16 | (u64)(128 / 16) << 32;
if (t == 0) INIT(&bar, 32);
__syncthreads();
if (t >= 128) {
for (unsigned i = t - 128; i < 64 * 16; i += 32) A[i] = 0x3C00;
for (unsigned i = t - 128; i < 8 * 16; i += 32) B[i] = 0x3C00;
FENCE_ASYNC;
ARRIVE(&bar);
} else {
"""
"""A warp fills the tiles; the warpgroup before it multiplies them."""


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
@pytest.mark.parametrize(
    "who", ["t < 128", "t < 32", "t % 32 == 0 && t < 32", "t >= 96", "t < 96", "t / 32 != 1"]
)
def test_each_warp_of_a_warpgroup_has_to_know_what_is_read(who, seed):
    """A wgmma joins the threads of a warp and no more: a warp that has not waited begins too early."""
    body = f"{HANDED_OVER}if ({who}) {{\n{WAIT_FOR}}}\n__syncwarp();\n{SUMS}{STORE}}}\n"
    source, report, _ = run(body, 160, seed)
    kinds = {hazard.kind for hazard in report.hazards}
    assert kinds == (set() if who == "t < 128" else {"read-after-write"}), report
    for hazard in report.hazards:
        assert "WGMMA" in source.splitlines()[hazard.line - 1]


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_meeting_of_the_warpgroup_hands_on_what_one_warp_waited_for(seed):
    meet = 'asm volatile("bar.sync 1, 128;" ::: "memory");'
    body = f"{HANDED_OVER}if (t < 32) {{\n{WAIT_FOR}}}\n{meet}\n{SUMS}{STORE}}}\n"
    _, report, out = run(body, 160, seed)
    assert report.ok and (out[:128] == 16).all(), report


BROUGHT = """__shared__ alignas(128) unsigned short A[64 * 16], B[8 * 16];
__shared__ u64 bar;
unsigned t = threadIdx.x;
float d[4];
u64 a = AT(A) / 16 | (u64)(1024 / 16) << 16 | (u64)(128 / 16) << 32;
u64 b = AT(B) / 16 | (u64)(128 / 16) << 16 | (u64)(128 / 16) << 32;
if (t == 0) {
INIT(&bar, 1);
asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
for (unsigned i = t; i < 8 * 16; i += 128) B[i] = 0x3C00;
for (unsigned i = t + 256; i < 64 * 16; i += 128) A[i] = 0x3C00;
FENCE_ASYNC;
__syncthreads();
if (t == 0) {
asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" :: "r"(AT(&bar)) : "memory");
asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];"
    :: "r"(AT(A)), "l"(out), "r"(AT(&bar)) : "memory");
}
__syncwarp();
"""
"""A thread of the warpgroup itself starts a copy into A."""


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
@pytest.mark.parametrize("who", ["t < 128", "t < 32", "t < 96"])
def test_each_warp_waits_for_what_a_thread_of_its_own_warpgroup_copies(who, seed):
    body = f"{BROUGHT}if ({who}) {{\n{WAIT_FOR}}}\n__syncwarp();\n{SUMS}{STORE}"
    _, report, _ = run(body, 128, seed)
    kinds = {hazard.kind for hazard in report.hazards}
    allowed = {"read-after-write", "unwaited-copy"}
    assert not kinds if who == "t < 128" else kinds and kinds <= allowed, report
