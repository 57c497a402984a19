"""Stores that the compiler joins have no line in the PTX, and a finding names one of them all the same."""

import pytest

from ptxsim.compiler.joined import barrier_behind, store_behind
from tests.ptxsim.small_kernels import found, run_on_numbers

SOURCE = """int a[3], b;
b = a[1];      // a[0] = 1;
/* a[0] = 2;
*/ a[i + 1] = 3;
if (a[0] == 4) b = 5;
a[0].x += 6; b++;
atomicAdd(&a[7], 1);
for (;;) { __syncthreads(); grid.sync(); }
"""


@pytest.mark.parametrize(
    ("line", "name", "found"),
    [
        (1, "a", 4),
        (4, "a", 4),
        (5, "a", 6),
        (7, "a", 7),
        (8, "a", 0),
        (1, "b", 2),
        (3, "b", 5),
        (6, "b", 6),
        (7, "b", 0),
    ],
)
def test_the_next_store_to_an_array(line, name, found):
    assert store_behind(SOURCE, line, name) == found


def test_the_next_barrier():
    assert (barrier_behind(SOURCE, 2), barrier_behind(SOURCE, 9)) == (8, 0)


LOOPS = {
    "once before and once in the loop": (
        "__shared__ int s[64]; s[t] = t; int u = t + 64 * blockIdx.x;\n"
        "for (int n = in[5]; n > 0;) { __syncthreads(); out[u] += s[63 - t];  // HERE\n"
        "n -= 1;\nBARRIER s[t] = n;  // HERE\n}"
    ),
    "behind a barrier that counts": (
        "__shared__ int s[64]; int left = in[t] + 1, low = 0; s[t] = left;\nwhile (__syncthreads_or(left > 0)) {\n"
        "low += s[63 - t];  // HERE\nleft = max(left - 9, 0);\nBARRIER\ns[t] = left;  // HERE\n}\n"
        "out[t + 64 * blockIdx.x] = low;"
    ),
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize(
    "order", [{}, {"seed": 1}, {"seed": 2}, {"seed": 3}, {"grid": 3, "seed": 4}], ids=str
)
def test_a_race_of_a_joined_store_is_told_at_a_store(name, order):
    report, _ = run_on_numbers(LOOPS[name].replace("BARRIER", ""), block=64, **order)
    kinds, elsewhere = found(report)
    assert set(kinds) & {"write-after-read", "read-after-write"} and not elsewhere, report
    mended, _ = run_on_numbers(LOOPS[name].replace("BARRIER", "__syncthreads();"), block=64, **order)
    assert mended.ok, mended
