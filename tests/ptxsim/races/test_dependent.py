"""Values that another order changes: volatile and relaxed accesses, which are no race, and nothing orders."""

import re

import numpy as np
import pytest

import ptxsim
from ptxsim.ptx.waits import waiting_loads

HELPERS = """
__device__ int relaxed(const int* p) { int v; asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p)); return v; }
__device__ void put(int* p, int v) { asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" :: "l"(p), "r"(v)); }
__device__ int acquired(const int* p) { int v; asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
__device__ void release(int* p, int v) { asm volatile("st.release.gpu.global.s32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
"""  # noqa: E501


def kernel(body: str) -> ptxsim.Kernel:
    lines = body.strip().splitlines()
    source = HELPERS + 'extern "C" __global__ void k(const int* x, int* y)\n{\n    int i = threadIdx.x;\n'
    return ptxsim.compile(source + "\n".join(lines) + "\n}\n", "k")


def run(body: str, threads: int = 64, blocks: int = 1) -> ptxsim.Report:
    x = np.arange(1024, dtype=np.int32) + 1
    return ptxsim.launch(kernel(body), blocks, threads, (x, np.zeros(1024, np.int32)))


CHANCE = {
    "the other end of an array, volatile": ("""
    volatile __shared__ int t[64];
    t[i] = x[i];
    y[i] = t[63 - i];
    """, 64, 1),
    "a neighbour's, in one warp": ("""
    volatile __shared__ int t[32];
    t[i] = x[i];
    y[i] = t[i ^ 1];
    """, 32, 1),
    "a reduction without __syncwarp": ("""
    volatile __shared__ int t[64];
    t[i] = x[i];
    __syncthreads();
    if (i < 32) { t[i] += t[i + 32]; t[i] += t[i + 16]; t[i] += t[i + 8]; }
    if (i == 0) y[0] = t[0];
    """, 64, 1),
    "a flag that nobody waits for": ("""
    volatile __shared__ int flag;
    if (i == 0) flag = 0;
    __syncthreads();
    if (i == 32) flag = 1;
    if (i == 0) y[0] = flag;
    """, 64, 1),
    "read before it is written": ("""
    volatile __shared__ int t[64];
    t[i] = x[i];
    __syncthreads();
    y[i] = t[63 - i];
    t[i] = 0;
    """, 64, 1),
    "who writes last": ("""
    volatile __shared__ int winner;
    winner = i;
    __syncthreads();
    y[i] = winner;
    """, 64, 1),
    "who writes last, of two warps": ("""
    volatile __shared__ int winner;
    if (i == 0) winner = 1;
    if (i == 32) winner = 2;
    __syncthreads();
    y[i] = winner;
    """, 64, 1),
    "another block's, volatile": ("""
    volatile int* all = y;
    all[blockIdx.x] = blockIdx.x + 1;
    all[100 + blockIdx.x] = all[(blockIdx.x + 1) % 4];
    """, 1, 4),
    "another block's, relaxed": ("""
    put(y + blockIdx.x, blockIdx.x + 1);
    y[100 + blockIdx.x] = relaxed(y + (blockIdx.x + 1) % 4);
    """, 1, 4),
    "acquired, and never released": ("""
    put(y + blockIdx.x, blockIdx.x + 1);
    y[100 + blockIdx.x] = acquired(y + (blockIdx.x + 1) % 4);
    """, 1, 4),
}  # fmt: skip

MEANT = {
    "a barrier": ("""
    volatile __shared__ int t[64];
    t[i] = x[i];
    __syncthreads();
    y[i] = t[63 - i];
    """, 64, 1),
    "__syncwarp": ("""
    volatile __shared__ int t[32];
    t[i] = x[i];
    __syncwarp();
    y[i] = t[31 - i];
    """, 32, 1),
    "a wait for a flag": ("""
    volatile __shared__ int flag;
    if (i == 0) flag = 0;
    __syncthreads();
    if (i == 32) { y[1] = 5; __threadfence_block(); flag = 1; }
    if (i == 0) { while (flag == 0) ; __threadfence_block(); y[0] = y[1]; }
    """, 64, 1),
    "a wait for a flag of another block": ("""
    if (blockIdx.x == 1) { y[1] = 5; release(y + 9, 1); }
    if (blockIdx.x == 0) { while (acquired(y + 9) == 0) __nanosleep(20); y[0] = y[1]; }
    """, 1, 2),
    "a chain of blocks": ("""
    if (blockIdx.x) while (acquired(y + 100 + blockIdx.x - 1) == 0) ;
    y[blockIdx.x] = blockIdx.x ? y[blockIdx.x - 1] + 1 : 1;
    release(y + 100 + blockIdx.x, 1);
    """, 1, 4),
    "a wait for one of two words": ("""
    volatile int* state = y + 9;
    if (blockIdx.x == 1) { *state = 1; __threadfence(); *state = 2; }
    if (blockIdx.x == 0) { int seen; do seen = *state; while (seen == 0); y[0] = 7; }
    """, 1, 2),
    "a chain of blocks behind a barrier that counts": ("""
    int state = 0;
    while (__syncthreads_and(state != blockIdx.x)) if (i == 0) state = acquired(y);
    if (i < 8) y[100 + i] += i;
    __syncthreads();
    if (i == 0) release(y, blockIdx.x + 1);
    """, 64, 4),
    "a look back at the blocks before": ("""
    volatile int* state = y;
    int b = blockIdx.x;
    state[b] = b ? 1 : 2;
    for (int j = b - 1, n = 0; j >= 0;) { int s = state[j]; if (s == 2) break; if (s == 1) { ++n; --j; } }
    __threadfence();
    state[b] = 2;
    """, 1, 8),
    "rows that try again until their parents are done": ("""
    volatile int* done = y;
    for (int j = 0; j <= i;) {
        if (j == i) { y[500 + i] = i; __threadfence_block(); done[i] = 1; ++j; }
        else if (done[j]) ++j;
    }
    """, 64, 1),
    "all write the same": ("""
    volatile __shared__ int flag;
    if (i == 0) flag = 0;
    __syncthreads();
    flag = 1;
    __syncthreads();
    y[i] = flag;
    """, 64, 1),
    "a counter of atomics, looked at": ("""
    volatile int* counter = y + 512;
    atomicAdd(y + 512, 1);
    y[i] = *counter;
    """, 64, 1),
    "the last block sums what all have written": ("""
    __shared__ bool last;
    volatile int* part = y + 100;
    if (i == 0) {
        part[blockIdx.x] = blockIdx.x + 7;
        __threadfence();
        last = atomicAdd(y + 500, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && i == 1) { int sum = 0; for (int b = 0; b < gridDim.x; ++b) sum += part[b]; y[0] = sum; }
    """, 32, 4),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANCE)
def test_what_another_order_changes_is_told(name):
    report = run(*CHANCE[name])
    assert {hazard.kind for hazard in report.hazards} == {"order-dependent"}
    assert not report.ok


@pytest.mark.parametrize("name", MEANT)
def test_what_is_meant_so_is_not(name):
    assert run(*MEANT[name]).ok


def test_both_lines_are_named():
    (hazard,) = run(CHANCE["the other end of an array, volatile"][0]).hazards
    line = (
        kernel(CHANCE["the other end of an array, volatile"][0]).source.splitlines().index("    t[i] = x[i];")
        + 1
    )
    assert hazard.line == line + 1 and f"thread 63 changes at line {line}" in hazard.message


def test_a_load_waits_if_a_loop_goes_on_or_ends_by_what_it_brings():
    asked = kernel("""
    volatile int* flag = y;
    while (flag[0] == 0) __nanosleep(20);
    int sum = 0;
    for (int n = 0; n < x[0]; ++n) sum += flag[1 + n];
    while (flag[9] == 0) atomicAdd(y + 10, 1);
    while (flag[20] < 7) flag[20] += 1;
    for (int n = 0; n < 9;) if (flag[21 + n]) ++n;
    y[11] = sum;
    """)
    code, lines = asked.code, asked.source.splitlines()
    waits = {code.where(pc).line for pc in waiting_loads(code.program.instructions, code.flow)}
    assert waits == {n for n, line in enumerate(lines, 1) if re.search(r"flag.(0|9|21 . n).( ==|\))", line)}
