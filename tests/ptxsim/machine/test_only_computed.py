"""A launch that nobody judges: its numbers are the same, and what stops a launch does so."""

import numpy as np
import pytest

import ptxsim
from ptxsim.front.arguments import bind
from ptxsim.front.launch import launch_bound
from ptxsim.machine.launched import Flags
from tests.ptxsim.small_kernels import source_of

NEIGHBOUR = "__shared__ int s[64]; s[t] = in[t]; BARRIER out[t] = s[(t + 1) % 64];"
UNTOLD = {
    "race in shared memory": NEIGHBOUR.replace("BARRIER", ""),
    "race of two warps in global memory": "out[t] = in[t]; out[63 - t] += 1;",
    "race of two blocks": "out[t] = blockIdx.x;",
    "shared memory that nobody wrote": "__shared__ int s[64]; if (t == 0) s[0] = 1; out[t] = s[t] == 1;",
    "a local array that nobody wrote": "int a[8]; for (int i = 0; i < t % 8; i++) a[i] = i; out[t] = a[in[t + 1] % 8];",
}
TOLD = {
    "out-of-bounds": "out[t + 1000] = in[t];",
    "misaligned": "*(int*)((char*)out + 2) = in[t];",
    "deadlock": 'if (t < 32) asm volatile("bar.sync 1, 64;"); out[t] = 1;',
    "barrier-divergence": "if (t < 7) __syncthreads(); out[t] = 1;",
}


def ran(body, judged, grid=2):
    """The kinds of what is found, and the numbers."""
    kernel = ptxsim.compile(source_of(body), "k")
    out, numbers = np.full(256, -1, np.int32), np.arange(256, dtype=np.int32)
    bound = bind(kernel, (out, numbers))
    report = launch_bound(kernel, (grid, 1, 1), (64, 1, 1), bound, flags=Flags(judged=judged))
    return [each.kind for each in report.hazards], out


@pytest.mark.parametrize("body", UNTOLD.values(), ids=UNTOLD)
def test_nobody_looks_for_races_or_for_what_was_never_written(body):
    (kinds, numbers), (none, computed) = ran(body, True), ran(body, False)
    assert kinds and not none
    assert (numbers == computed).all()


@pytest.mark.parametrize(("kind", "body"), TOLD.items(), ids=TOLD)
def test_what_cannot_be_done_is_told(kind, body):
    assert kind in ran(body, judged=False)[0]


def test_a_right_kernel_gives_the_same():
    body = NEIGHBOUR.replace("BARRIER", "__syncthreads();")
    kinds, numbers = ran(body, judged=False, grid=1)
    assert not kinds
    assert (numbers[:64] == (np.arange(64) + 1) % 64).all()
