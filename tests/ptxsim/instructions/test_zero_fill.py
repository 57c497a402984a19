"""cp.async that reads fewer bytes than it writes: what it does not read may be outside, or be written meanwhile."""

import numpy as np
import pytest

import ptxsim
from tests.ptxsim.small_kernels import run_on_numbers

SOURCE = r"""
// 32 threads copy 16 bytes each, thread 31 reads only its first `bytes`; meanwhile thread 0 writes a float.
extern "C" __global__ void copy(float* data, float4* out, int from, int bytes, int written) {
    __shared__ float4 slot[32];
    unsigned address = __cvta_generic_to_shared(&slot[threadIdx.x]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(address), "l"(data + from + 4 * threadIdx.x), "r"(threadIdx.x == 31 ? bytes : 16) : "memory");
    if (written >= 0 && threadIdx.x == 0) data[written] = 7;
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[threadIdx.x] = slot[threadIdx.x];
}
"""


def run(size, bytes_read, written=-1):
    data, out = np.arange(1, size + 1, dtype=np.float32), np.full((32, 4), np.nan, np.float32)
    kernel = ptxsim.compile(SOURCE, "copy")
    args = (data, out, np.int32(0), np.int32(bytes_read), np.int32(written))
    return ptxsim.launch(kernel, (1,), (32,), args), out.ravel()


@pytest.mark.parametrize("floats", [0, 1, 2, 3, 4])
def test_an_array_may_end_behind_the_bytes_that_are_read(floats):
    report, out = run(124 + floats, 4 * floats)
    assert report.ok, str(report)
    np.testing.assert_array_equal(out, [*range(1, 125 + floats), *[0] * (4 - floats)])


@pytest.mark.parametrize("floats", [0, 1, 3])
def test_one_byte_too_many_is_out_of_bounds(floats):
    report, _ = run(124 + floats, 4 * floats + 1)
    assert [hazard.cause for hazard in report.hazards] == ["read-beyond-array"]


@pytest.mark.parametrize("wanted", [17, 32, -4], ids=["one-more", "two-copies", "negative"])
def test_no_more_is_read_than_copied(wanted):
    report, _ = run(1024, wanted)
    (hazard,) = report.hazards
    assert (hazard.kind, hazard.cause) == ("out-of-bounds", "more-than-copied"), str(report)
    assert "thread 31" in hazard.message and f"told to read {wanted % 2**32}" in hazard.message


WITH_CONSTANTS = r"""
__shared__ __align__(16) int slot[128];
asm volatile("cp.async.ca.shared.global [%0], [%1], SIZE, READ;" :: "r"(SHARED(slot + 4 * t)), "l"(in + 4 * t));
asm volatile("cp.async.wait_all;" ::: "memory");
out[t] = slot[4 * t];
"""


@pytest.mark.parametrize("size", [4, 8, 16])
def test_a_constant_may_be_too_large_as_well(size):
    body = WITH_CONSTANTS.replace("SIZE", str(size))
    assert run_on_numbers(body.replace("READ", str(size)))[0].ok
    report, _ = run_on_numbers(body.replace("READ", str(size + 4)))
    assert [hazard.cause for hazard in report.hazards] == ["more-than-copied"], str(report)


def test_only_what_is_read_must_hold_still_until_it_has_landed():
    assert run(128, 8, written=126)[0].ok
    kinds = {hazard.kind for hazard in run(128, 8, written=125)[0].hazards}
    assert "write-after-read" in kinds, kinds
