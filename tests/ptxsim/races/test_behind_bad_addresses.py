"""An access out of bounds, or a misaligned one, is reported and does nothing; what stands behind it is still judged."""

import numpy as np
import pytest

import ptxsim
from ptxsim.races.hazards import BAD_ADDRESS, FATAL, RACES

SIZE = 64


def run(body, *args, grid=1, parameters="int* out, int* flag, int n"):
    source = f'extern "C" __global__ void k({parameters})\n{{\nint t = threadIdx.x;\n{body}\n}}'
    return ptxsim.launch(ptxsim.compile(source, "k"), grid, SIZE, args)


def arrays():
    return np.zeros(SIZE, np.int32), np.zeros(4, np.int32)


def kinds(report):
    return [hazard.kind for hazard in report.hazards]


def test_bad_addresses_do_not_end_a_launch():
    assert sorted(BAD_ADDRESS) == ["misaligned", "out-of-bounds"] and not BAD_ADDRESS & (FATAL | RACES)


@pytest.mark.parametrize(
    ("name", "grid", "body"),
    [
        (
            "read-after-write",
            1,
            "__shared__ int tile[64]; out[t + n] = t; tile[t] = t; out[t] = tile[63 - t];",
        ),
        ("block-conflict", 2, "int mine = out[n + t]; flag[0] = blockIdx.x + mine;"),
        ("block-conflict", 2, "int got = atomicAdd(&flag[n], 1); if (t == 0) flag[1] = got + blockIdx.x;"),
    ],
)
def test_the_race_behind_one_is_found(name, grid, body):
    out, flag = arrays()
    assert kinds(run(body, out, flag, np.int32(SIZE), grid=grid)) == ["out-of-bounds", name]


STORE = "out[t + n] = t + 1;"
BYTE = "*(int*)((char*)out + 4 * t + n) = t + 1;"


@pytest.mark.parametrize(
    ("kind", "body", "n", "written"),
    [
        ("out-of-bounds", STORE, 8, [0] * 8 + list(range(1, 57))),
        ("out-of-bounds", STORE, -8, list(range(9, 65)) + [0] * 8),
        ("misaligned", BYTE.replace("+ n", "+ (t == 3 ? n : 0)"), 2, [1, 2, 3, 0, *range(5, 65)]),
        ("out-of-bounds", "out[t] = atomicAdd(&flag[t / n], 1) + 1;", 8, None),
    ],
)
def test_the_other_lanes_do_their_access_and_the_memory_around_stays(kind, body, n, written):
    memory = bytearray(b"\x07" * 12 * SIZE)  # an array's memory is all of that of its base: here the middle
    out = np.frombuffer(memoryview(memory)[4 * SIZE : 8 * SIZE], np.int32)
    out[:], (_, flag) = 0, arrays()
    report = run(body, out, flag, np.int32(n))
    assert kinds(report) == [kind] and not report.stopped
    assert set(memory[: 4 * SIZE] + memory[8 * SIZE :]) == {7}
    if written is None:  # an atomic that misses brings 0
        assert flag.tolist() == [8] * 4 and out.tolist() == [*range(1, 9)] * 4 + [1] * 32
    else:
        assert out.tolist() == written


@pytest.mark.parametrize(
    "read",
    [
        "flag[t + 4]",
        "((volatile int*)flag)[t + 4]",
        "*(int*)(long long)n",
        "((int4*)flag)[t + 1].z",
        "tile[t + n]",
        "mine[t + n]",
    ],
)
def test_a_load_brings_zero(read):
    out, flag = arrays()
    body = f"""__shared__ int tile[1]; int mine[2] = {{1, 2}};
    tile[0] = 9; __syncthreads(); mine[t & 1] = t;
    int r = {read};
    out[t] = r + 5;"""
    report = run(body, out, flag, np.int32(64))
    assert kinds(report) == ["out-of-bounds"] and (out == 5).all(), report


def test_findings_of_one_place_are_counted_and_the_first_message_stays():
    out, flag = arrays()
    report = run("for (int i = 0; i < n; ++i) out[t + 32 + i] = i;\nflag[4] = 1;", out, flag, np.int32(3))
    places = [h for h in report.hazards if h.kind == "out-of-bounds"]
    assert [(h.line, h.count) for h in places] == [(4, 32 + 33 + 34), (5, SIZE)]
    assert places[0].message.startswith("thread 32 of block 0: ") and "element 64 of" in places[0].message


def test_a_copy_from_outside_brings_zeros_and_one_to_the_outside_moves_nothing():
    body = """__shared__ alignas(16) int tile[64];
    tile[t] = 5; __syncthreads();
    unsigned to = (unsigned)__cvta_generic_to_shared(tile + 4 * (t + n));
    if (t < 17) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(flag + 4 * (t % 2)));
    asm volatile("cp.async.wait_all;" ::: "memory"); __syncthreads();
    out[t] = tile[t];"""
    out, flag = arrays()
    flag[:] = 1
    report = run(body, out, flag, np.int32(0))
    assert kinds(report) == ["out-of-bounds"] and report.hazards[0].count == 1 + 8
    assert out.tolist() == ([1] * 4 + [0] * 4) * 8


def test_ldmatrix_reads_the_rows_that_are_there():
    body = """__shared__ alignas(16) int tile[64];
    tile[t] = t + 1; __syncthreads();
    unsigned from = (unsigned)__cvta_generic_to_shared(tile + 4 * (t % 32)), d0, d1, d2, d3;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(d0), "=r"(d1), "=r"(d2), "=r"(d3) : "r"(from));
    if (t < 32) { out[t] = d1; out[t + 32] = d2; }"""
    out, flag = arrays()
    assert kinds(run(body, out, flag, np.int32(0))) == ["out-of-bounds"]
    assert out.tolist() == [*range(33, 65)] + [0] * 32


def test_what_loops_for_ever_out_of_bounds_ends_by_its_steps():
    source = 'extern "C" __global__ void k(volatile int* a) { for (int i = 0; ; ++i) a[i] = i; }'
    report = ptxsim.launch(ptxsim.compile(source, "k"), 1, 1, (np.zeros(8, np.int32),), max_steps=100_000)
    assert kinds(report) == ["out-of-bounds", "step-limit"] and report.stopped
