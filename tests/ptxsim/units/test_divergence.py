"""Barriers in both arms of a branch, on one line or two; and code that only looks like it."""

import pytest

from tests.ptxsim.small_kernels import found, run_on_numbers

ORDERS = [{}, {"seed": 1}, {"grid": 3, "seed": 2}, {"grid": 3, "block": 96, "seed": 3}]
TILE = "__shared__ int s[96]; s[t] = in[t]; int u = t ^ 1;\n"
ARMS = "if (WHO) { SYNC out[t] = -s[u]; }BREAKelse { SYNC out[t] = s[u]; }  // HERE"


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("who", ["t % 2", "t < 32", "in[t] < 9"])
@pytest.mark.parametrize("between", [" ", "  // HERE\n"], ids=["one line", "two lines"])
def test_both_arms_of_a_branch(who, between, order):
    body = TILE + ARMS.replace("WHO", who).replace("BREAK", between).replace("SYNC", "__syncthreads();")
    report, _ = run_on_numbers(body, **{"block": 64} | order)
    assert found(report) == (["barrier-divergence"], set()), report
    assert report.hazards[0].cause == "different-barriers"
    assert ("another one in the same line" in report.hazards[0].message) == (between == " ")


RIGHT = {
    "of a block as a whole": TILE + ARMS.replace("WHO", "blockIdx.x % 2").replace("BREAK", " "),
    "of blocks whose first warp ends": TILE
    + "if (t < 32) return;\n"
    + ARMS.replace("WHO", "blockIdx.x % 2").replace("BREAK", " ").replace("[u]", "[t]"),
    "unrolled": TILE + "#pragma unroll\nfor (int i = 0; i < 4; ++i) { __syncthreads(); out[t] = s[u] + i; }",
    "in a loop with a way of its own for a warp": TILE
    + "for (int i = 0; i < in[5]; ++i) { if (t < 32) out[t] = i; __syncthreads(); out[t] = s[u] * i; }",
    "copies of one in a loop, of which threads make fewer turns": TILE
    + "for (int i = t; i < 96; i += 64) { __syncthreads(); out[t] = s[u]; __syncthreads(); }",
    "in a function that is called twice": TILE + "meet(); meet(); out[t] = s[u];",
    "the last turns of a loop": TILE
    + "for (int i = 0; i < in[7]; ++i) { SYNC if (i < in[3]) out[t] = s[u] + i; SYNC }",
}


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("name", RIGHT)
def test_all_threads_of_a_block_come_to_one(name, order):
    before = "__device__ __forceinline__ void meet() { __syncthreads(); }"
    report, _ = run_on_numbers(
        RIGHT[name].replace("SYNC", "__syncthreads();"), before=before, **{"block": 64} | order
    )
    assert not [hazard for hazard in report.hazards if hazard.cause == "different-barriers"], report
