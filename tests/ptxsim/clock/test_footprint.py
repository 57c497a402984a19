"""What a launch touches of global memory, found without an array; and DRAM's share of a launch's time."""

import json
import re

import numpy as np
import pytest

import ptxsim
from ptxsim.clock import measured
from ptxsim.clock.footprint import Footprint, footprint
from ptxsim.clock.model import parameters
from ptxsim.clock.walk import Untraceable, constants_of, walk_block
from ptxsim.front.kernel import literals, machine_code
from tests.kernels.golden import FOLDER

GIB = 1 << 30
SOURCE = r"""
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
extern "C" {
__global__ void copy(const float4* a, float4* b) { b[AT] = a[AT]; }
__global__ void in_place(float* a) { a[AT] = 2 * a[AT]; }
__global__ void three_rows(const float* a, float* b, int n)
{
    int x = blockIdx.x * 256 + threadIdx.x, y = blockIdx.y;
    b[y * n + x] = a[max(y - 1, 0) * n + x] + a[y * n + x] + a[(y + 1) * n + x];
}
__global__ void of_a_row(const float* a, const float* row, float* b)
{
    b[AT] = a[AT] + row[threadIdx.x];
}
__global__ void every_second(const float* a, float* b) { b[AT] = a[2 * AT]; }
__global__ void strides(const float* a, float* b, int n)
{
    for (int i = AT; i < n; i += gridDim.x * blockDim.x) b[i] = a[i];
}
__global__ void histogram(const int* a, int* counts) { atomicAdd(&counts[a[AT]], 1); }
__global__ void in_shared(const int* a, int* counts)
{
    __shared__ int mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&mine[a[AT] & 255], 1);
    __syncthreads();
    counts[threadIdx.x] = mine[threadIdx.x];
}
__global__ void roots(const float* a, float* b) { b[AT] = 1 / sqrtf(a[AT]) + 1 / a[AT] + a[AT] / 3; }
__global__ void some(const float* a, float* b) { float x = a[AT]; if (x > 0) b[AT] = x; }
__global__ void transposed(const float* a, float* b, int n)
{
    __shared__ float tile[32][33];
    for (int i = threadIdx.y; i < 32; i += 8)
        tile[i][threadIdx.x] = a[(blockIdx.y * 32 + i) * n + blockIdx.x * 32 + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8)
        b[(blockIdx.x * 32 + i) * n + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][i];
}
}
"""


def touched(name: str, grid: tuple, block: tuple, *args) -> Footprint:
    kernel = ptxsim.compile(SOURCE, name)
    code = machine_code(kernel, "sm_90")
    constants = constants_of(parameters(kernel, args), block, grid, "sm_90", literals(kernel, "sm_90"))
    return footprint(lambda at: walk_block(code, constants, at, block, grid), grid)


@pytest.mark.parametrize(
    ("name", "grid", "block", "args", "read", "written", "whole"),
    [
        ("copy", (1000, 1, 1), (256, 1, 1), (None, None), 1000 * 4096, 1000 * 4096, 2 * 1000 * 4096),
        ("in_place", (1000, 1, 1), (256, 1, 1), (None,), 1000 * 1024, 1000 * 1024, 1000 * 1024),
        ("every_second", (64, 1, 1), (256, 1, 1), (None, None), 64 * 2048, 64 * 1024, 64 * 3072),
        ("of_a_row", (64, 1, 1), (256, 1, 1), (None,) * 3, 65 * 1024, 64 * 1024, 129 * 1024),
        (
            "three_rows",
            (8, 500, 1),
            (256, 1, 1),
            (None, None, np.int32(2048)),
            502 * 8192,
            500 * 8192,
            1002 * 8192,
        ),
        ("transposed", (16, 8, 1), (32, 8, 1), (None, None, np.int32(512)), 512 * 1024, 512 * 1024, 1 << 20),
        ("strides", (64, 1, 1), (256, 1, 1), (None, None, np.int32(65536)), 1 << 18, 1 << 18, 1 << 19),
    ],
)
def test_it_counts_each_byte_of_an_array_once(name, grid, block, args, read, written, whole):
    found = touched(name, grid, block, *args)
    assert (found.bytes_read, found.bytes_written, found.size) == (read, written, whole)


def test_what_blocks_share_is_new_to_one_of_them():
    rows = touched("three_rows", (8, 500, 1), (256, 1, 1), None, None, np.int32(2048))
    assert rows.new[1] == pytest.approx(1 / 3, rel=0.01) and rows.new[2] == 1
    assert touched("of_a_row", (64, 1, 1), (256, 1, 1), None, None, None).new[2] == 1 / 64


def test_a_copy_takes_as_long_as_dram_does():
    kernel = ptxsim.compile(SOURCE, "copy")
    long, short = (
        ptxsim.launch_cycles(kernel, (size // 4096,), (256,), (None, None)) for size in (GIB, 16 << 20)
    )
    assert long.ms == pytest.approx(2 * GIB / 2.85e9, rel=0.05), "2.85 TB/s are an H100's"
    assert short.ms < 0.8 * long.ms / 64, "32 MiB stay in L2"
    shares = long.by_line()
    assert sum(sum(each.values()) for each in shares.values()) == pytest.approx(1)
    assert max(shares[4], key=shares[4].get) == "global memory", "whose line is the copy's"


def test_a_loop_s_turns_may_be_told_and_say_the_same():
    kernel = ptxsim.compile(SOURCE, "strides")
    blocks, turns = 1056, 64

    def args_at(n: int) -> tuple:
        return None, None, np.int32(n * blocks * 256)

    whole = ptxsim.launch_cycles(kernel, (blocks,), (256,), args_at(turns), gpu="H200")
    told = ptxsim.launch_cycles(kernel, (blocks,), (256,), args_at, turns, gpu="H200")
    assert told.ms == pytest.approx(whole.ms, rel=0.1)


@pytest.mark.parametrize("name", ["histogram", "in_shared", "some"])
def test_where_data_decide_it_says_so(name):
    kernel = ptxsim.compile(SOURCE, name)
    with pytest.raises(Untraceable, match="depends on data"):
        ptxsim.launch_cycles(kernel, (1024,), (256,), (None, None))


def test_a_root_and_a_reciprocal_take_their_short_way():
    kernel = ptxsim.compile(SOURCE, "roots")
    assert ptxsim.launch_cycles(kernel, (1024,), (256,), (None, None)).ms > 0


def test_a_gpu_without_a_rate_of_dram_has_none_of_it():
    kernel = ptxsim.compile(SOURCE, "copy")
    assert ptxsim.launch_cycles(kernel, (1 << 16,), (256,), (None, None), gpu="A100").ms > 0


def test_a_rates_file_says_what_dram_does(tmp_path, monkeypatch):
    kernel = ptxsim.compile(SOURCE, "copy")
    rates = json.loads((measured.RATES / "nvidia-h200.json").read_text())

    def played(**dram: float) -> float:
        (tmp_path / "nvidia-h200.json").write_text(json.dumps(rates | {"dram": dram}))
        return ptxsim.launch_cycles(kernel, (1 << 16,), (256,), (None, None), gpu="H200").ms

    monkeypatch.setattr(measured, "RATES", tmp_path)
    slow = played(read=1, third=1, half=0.5, written=1)
    assert slow == pytest.approx(2 * played(read=2, third=2, half=1.0, written=2), rel=0.05)
    for wrong in ({"read": 1}, {"read": 1, "third": 1, "half": 500, "written": 1}):
        with pytest.raises(ValueError, match="run that again"):
            played(**wrong)


DRAM = json.loads((FOLDER / "dram_nvidia-h200.json").read_text())
FEW = {
    "one_each, 256 threads, 0 KB, 65536 blocks": 0.12,
    "one_each, 128 threads, 200 KB, 131072 blocks": 0.15,
    "one_each, 256 threads, 100 KB, 65536 blocks": 0.25,
    "one_each, 1024 threads, 200 KB, 16384 blocks": 0.15,
}
"""Of copies with little in flight: by what part the clock may be off."""


@pytest.mark.parametrize("label", FEW)
def test_copies_with_little_in_flight_take_as_long_as_on_the_gpu(label):
    threads, shared, blocks = (int(number) for number in re.findall(r"\d+", label))
    kernel = ptxsim.compile(SOURCE, "copy")
    played = ptxsim.launch_cycles(kernel, (blocks,), (threads,), (None, None), 1, shared << 10, "H200")
    assert 1000 * played.ms == pytest.approx(DRAM["few"][label][1], rel=FEW[label])


@pytest.mark.parametrize("threads", [32, 256])
def test_blocks_that_do_nothing_follow_each_other_as_on_the_gpu(threads):
    nothing = ptxsim.compile('extern "C" __global__ void nothing(float* a) { if (!a) a[0] = 0; }', "nothing")
    played = ptxsim.launch_cycles(nothing, (13200,), (threads,), (None,), gpu="H200")
    assert 1000 * played.ms == pytest.approx(DRAM["blocks"][f"{threads} threads, 13200 blocks"][1], rel=0.1)
