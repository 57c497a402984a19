"""A missing wgmma.fence is one in the source: what the compiler moves behind a fence is none."""

import numpy as np
import pytest

import ptxsim

SOURCE = r"""
#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory")
using u64 = unsigned long long;
__device__ void mma(float (&d)[4], u64 a, u64 b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%%0, %%1, %%2, %%3}, %%4, %%5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b) : "memory");
}
__device__ void fenced(float (&d)[4], u64 a, u64 b)
{
    FENCE;
    mma(d, a, b);
}
__device__ void fenced_and_doubled(float (&d)[4], u64 a, u64 b)
{
    FENCE;
    for (int i = 0; i < 4; ++i) d[i] *= 2;
    mma(d, a, b);
}
__device__ u64 matrix(void* p)
{
    unsigned at = __cvta_generic_to_shared(p);
    return ((at & 0x3ffff) >> 4) | (8ull << 16) | (16ull << 32);
}
extern "C" __global__ void k(float* out, int n)
{
    __shared__ alignas(128) unsigned short s[64 * 16 + 8 * 16];
    int t = threadIdx.x;
    for (int i = t; i < 64 * 16 + 8 * 16; i += 128) s[i] = 0x3c00;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    u64 a = matrix(s), b = matrix(s + 1024);
    float d[4], e[4];
    for (int i = 0; i < 4; ++i) e[i] = 0;
%s
    for (int i = 0; i < 4; ++i) out[4 * t + i] = d[i] + e[i];
}
"""
ALL = "for (int i = 0; i < 4; ++i) "
END = "mma(d, a, b);\nCOMMIT; WAIT;"
RIGHT = {
    "zeros": (f"{ALL}d[i] = 0;\nFENCE;\n{END}", 16),
    "other constants": (f"{ALL}d[i] = i;\nFENCE;\n{END}", 16),
    "one value for all": (f"{ALL}d[i] = t * 0;\nFENCE;\n{END}", 16),
    "read and computed": (f"{ALL}d[i] = out[4 * t + i] * 2;\nFENCE;\n{END}", 18),
    "kept as well": (f"{ALL}e[i] = d[i] = out[4 * t + i] * 2;\nFENCE;\n{END}", 20),
    "two products": (f"{ALL}d[i] = e[i] = 0;\nFENCE;\nmma(d, a, b);\nmma(e, a, b);\nCOMMIT; WAIT;", 32),
    "a chain": (f"{ALL}d[i] = 0;\nFENCE;\nmma(d, a, b);\n{END}", 32),
    "unrolled": (f"{ALL}d[i] = 0;\n{ALL} {{\nFENCE;\n{END} }}", 64),
    "in a helper": (f"{ALL}d[i] = 0;\nfenced(d, a, b);\nCOMMIT; WAIT;", 16),
    "computed between two products": (f"{ALL}d[i] = 0;\nFENCE;\n{END}\n{ALL}d[i] *= 2;\nFENCE;\n{END}", 48),
}
ONCE = f"FENCE;\n#pragma unroll 1\nfor (int j = 0; j < n; ++j) {{\n{END} }}"
"""One fence, and many products that add to the same sums."""
RIGHT |= {
    "zeros, in a branch": (f"{ALL}d[i] = 0;\nFENCE;\nif (n) {{\n{END} }}", 16),
    "zeros, in both branches": (f"{ALL}d[i] = 0;\nFENCE;\nif (n > 9) {{\n{END} }} else {{\n{END} }}", 16),
    "zeros, in front of a loop": (f"{ALL}d[i] = 0;\n{ONCE}", 48),
    "zeros, in front of a loop that the compiler unrolls": (
        f"{ALL}d[i] = 0;\nFENCE;\nfor (int j = 0; j < n; ++j) {{\nmma(d, a, b);\nCOMMIT; }}\nWAIT;",
        48,
    ),
    "a choice, in a branch": (f"{ALL}d[i] = n > 9 ? 1 : 0;\nFENCE;\nif (n) {{\n{END} }}", 16),
    "a number, in a branch": (f"{ALL}d[i] = n;\nFENCE;\nif (n) {{\n{END} }}", 19),
    "a number, in front of a loop": (f"{ALL}d[i] = n;\n{ONCE}", 51),
    "loaded, in front of a loop": (f"{ALL}d[i] = out[4 * t + i];\n{ONCE}", 49),
    "kept as well, in a branch": (f"{ALL}e[i] = d[i] = out[4 * t + i] * 2;\nFENCE;\nif (n) {{\n{END} }}", 20),
    "kept as well, in front of a loop": (f"{ALL}e[i] = d[i] = out[4 * t + i] * 2;\n{ONCE}", 52),
    "a loop around it": (
        f"#pragma unroll 1\nfor (int m = 0; m < n; ++m) {{\n{ALL}d[i] = 0;\n{ONCE}\n{ALL}e[i] += d[i]; }}",
        192,
    ),
}
WRONG = {
    "no fence": f"{ALL}d[i] = 0;\n{END}",
    "computed behind the fence": f"{ALL}d[i] = out[4 * t + i];\nFENCE;\n{ALL}d[i] *= 2;\n{END}",
    "copied from what was computed behind the fence": (
        f"{ALL}d[i] = 0;\nFENCE;\n{ALL}e[i] = out[4 * t + i];\n{ALL}d[i] = e[i];\n{END}"
    ),
    "no fence for the second product": f"{ALL}d[i] = 0;\nFENCE;\n{END}\n{ALL}d[i] *= 2;\n{END}",
    "set again without a fence": f"{ALL}d[i] = 0;\nFENCE;\n{END}\n{ALL}e[i] += d[i];\n{ALL}d[i] = 0;\n{END}",
    "a fence for the first turn alone": (
        f"{ALL}d[i] = 0;\n#pragma unroll 1\nfor (int j = 0; j < 3; ++j) {{\n{ALL}d[i] *= 2;\n"
        f"if (j == 0) FENCE;\n{END} }}"
    ),
    "computed in a branch": f"{ALL}d[i] = out[4 * t + i];\nFENCE;\nif (n) {{\n{ALL}d[i] *= 2;\n{END} }}",
    "no fence in a branch": f"{ALL}d[i] = 0;\nif (n) {{\n{END} }}",
    "zeros behind the wait of the turn before": (
        f"FENCE;\n#pragma unroll 1\nfor (int j = 0; j < n; ++j) {{\n{ALL}d[i] = 0;\n{END}\n{ALL}e[i] += d[i]; }}"
    ),
    "zeros behind the waits of a loop": (
        f"FENCE;\n#pragma unroll 1\nfor (int m = 0; m < n; ++m) {{\n{ALL}d[i] = 0;\n{ONCE[6:]}\n{ALL}e[i] += d[i]; }}"
    ),
    "in a helper": f"{ALL}d[i] = out[4 * t + i];\nfenced_and_doubled(d, a, b);\nCOMMIT; WAIT;",
}


def run(body, seed=None):
    out = np.ones(512, np.float32)
    kernel = ptxsim.compile(SOURCE % body, "k", ("-arch=sm_90a",))
    return ptxsim.launch(kernel, 1, 128, (out, np.int32(3)), seed=seed), out


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("name", RIGHT)
def test_what_the_compiler_moves_is_no_missing_fence(name, seed):
    body, number = RIGHT[name]
    report, out = run(body, seed)
    assert report.ok, str(report)
    assert out[0] == number


@pytest.mark.parametrize("name", WRONG)
def test_a_fence_is_missing(name):
    report, _ = run(WRONG[name])
    assert [hazard.kind for hazard in report.hazards] == ["missing-wgmma-fence"], str(report)
