"""A launch that nobody judges: its numbers are the same, and what stops a launch does so."""

import numpy as np
import pytest

import ptxsim
from ptxsim.front.arguments import bind
from ptxsim.front.launch import launch_bound
from ptxsim.machine.launched import Flags
from tests.kernels import blackwell, hopper_wrong
from tests.ptxsim.small_kernels import source_of
from tests.ptxsim.units import test_tensor_memory as tensor_memory
from tests.ptxsim.units import test_warpgroups as warpgroups

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


def test_tensor_cores_compute_for_nobody():
    """With a wgmma of which one warp knows less, and a product in tensor memory."""
    wgmma = f"{warpgroups.HANDED_OVER}if (t < 32) {{\n{warpgroups.WAIT_FOR}}}\n__syncwarp();\n"
    wgmma += f"{warpgroups.SUMS}{warpgroups.STORE}}}\n"
    product = "".join(getattr(tensor_memory, part) for part in ("COLUMNS", "TILES", "PRODUCT"))
    product += f"__syncthreads();{tensor_memory.RESULT}{tensor_memory.END}"
    wgmma = f'{hopper_wrong.MACROS}\nextern "C" __global__ void k(float* out)\n{{{wgmma}}}\n'
    product = (
        f'{blackwell.MACROS}\nextern "C" __global__ void k(float* out, const __half* in)\n{{{product}}}\n'
    )
    numbers = np.zeros(128 * 64, np.float32), np.ones(192 * 16, np.float16)
    for source, options, threads, arguments in (
        (wgmma, hopper_wrong.OPTIONS, 160, numbers[:1]),
        (product, blackwell.OPTIONS, 128, numbers),
    ):
        kernel = ptxsim.compile(source, "k", options)
        bound = bind(kernel, arguments)
        shape = (1, 1, 1), (threads, 1, 1)
        assert not launch_bound(kernel, *shape, bound, flags=Flags(judged=True)).ok
        assert launch_bound(kernel, *shape, bind(kernel, arguments), flags=Flags(judged=False)).ok
        assert (arguments[0][:128] == 16).all()
