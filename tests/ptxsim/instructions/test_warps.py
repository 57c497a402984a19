"""Lanes of a warp: whom a mask names, who is there, and what an exchange gives. An H100 gives the same
numbers."""

import re

import numpy as np
import pytest

from tests.ptxsim.small_kernels import found, run, run_on_numbers

T = np.arange(32)
SUM_OF_THIRDS = [T[i::3].sum() for i in range(3)]

RIGHT = [
    ("ballot", "out[t] = __ballot_sync(t < 16 ? 0xffff : 0xffff0000, t % 2);",
     np.where(T < 16, 0xAAAA, 0xAAAA0000)),
    ("any", "out[t] = __any_sync(t < 16 ? 0xffff : 0xffff0000, t == 3);", T < 16),
    ("all", "out[t] = __all_sync(t < 16 ? 0xffff : 0xffff0000, t < 16);", T < 16),
    ("match", "out[t] = __match_any_sync(t < 16 ? 0xffff : 0xffff0000, t % 8);",
     (0x0101 << T % 8) << 16 * (T // 16)),
    ("match-all", "int p; __match_all_sync(t < 16 ? 0xffff : 0xffff0000, t / 16 + (t == 31), &p); out[t] = p;", T < 16),
    ("redux", "out[t] = __reduce_add_sync(t < 16 ? 0xffff : 0xffff0000, t);", np.where(T < 16, 120, 376)),
    ("match-and-redux", "out[t] = __reduce_add_sync(__match_any_sync(0xffffffff, t % 3), t);",
     [SUM_OF_THIRDS[i] for i in T % 3]),
    ("shuffle", "out[t] = __shfl_sync(t < 16 ? 0xffff : 0xffff0000, t, t ^ 5);", T ^ 5),
    ("reduction-by-steps-down",
     "int v = t; for (int i = 8; i; i /= 2) v += __shfl_down_sync(t < 16 ? 0xffff : 0xffff0000, v, i, 16);\n"
     "out[t] = __shfl_sync(t < 16 ? 0xffff : 0xffff0000, v, 0, 16);", np.where(T < 16, 120, 376)),
    ("branch-of-half-a-warp", "out[t] = t < 16 ? __reduce_add_sync(0xffff, t) : -1;", np.where(T < 16, 120, -1)),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), [pytest.param(*case[1:], id=case[0]) for case in RIGHT])
@pytest.mark.parametrize("seed", [None, 1])
def test_lanes_exchange_with_those_of_their_mask(body, expected, seed):
    report, out = run_on_numbers(body, seed=seed)
    assert report.ok, report
    assert (out[:32].view(np.uint32) == np.asarray(expected).astype(np.int64).astype(np.uint32)).all()


TILED = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
"""


def test_a_tile_of_16_is_for_itself():
    body = """auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    out[t] = cg::reduce(tile, t, cg::plus<int>());
    out[t + 32] = tile.shfl(t, 5);
    out[t + 64] = tile.ballot(t % 2);
    out[t + 96] = tile.any(t == 3);"""
    report, out = run_on_numbers(body, before=TILED)
    assert report.ok, report
    expected = np.where(T < 16, 120, 376), T // 16 * 16 + 5, np.full(32, 0xAAAA), T < 16
    assert (out[:128].reshape(4, 32) == np.stack(expected)).all()


WRONG = [
    ("inactive-lane", "out[t] = 0; if (t < 16)\nout[t] = __shfl_sync(0xffff, t, 20); // HERE", "not in its mask"),
    ("exited-lane", "if (t >= 16) return;\nout[t] = __shfl_sync(0xffffffff, t, 20); // HERE", "has exited"),
    ("no-such-lane", "out[t] = __shfl_xor_sync(0xffffffff, t, 16); // HERE", "does not exist.*24 threads"),
    ("shuffle-outside-its-own-mask", "out[t] = __shfl_sync(0xfffffffe, t, 1); // HERE", "thread 0 .*in which"),
    ("ballot-outside-its-own-mask", "out[t] = __ballot_sync(0xffff, 1); // HERE", "thread 16 .*in which"),
    ("redux-outside-its-own-mask", "out[t] = __reduce_add_sync(0xffff, 1); // HERE", "thread 16 .*in which"),
    ("syncwarp-outside-its-own-mask", "__syncwarp(0xffff); // HERE\nout[t] = t;", "thread 16 .*in which"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "words"), [pytest.param(*case[1:], id=case[0]) for case in WRONG])
def test_a_lane_that_is_not_there_is_found(body, words):
    report, _ = run_on_numbers(body, block=24 if "24" in words else 32)
    kinds, elsewhere = found(report)
    assert kinds == ["warp-mask"] and not elsewhere, report
    assert re.search(words, report.hazards[0].message), report


def test_a_lane_that_never_comes_to_a_shuffle_is_a_deadlock():
    report, _ = run_on_numbers(
        "if (t < 16)\nout[t] = __shfl_sync(0xffffffff, t, 3); // HERE\n__syncwarp(); // HERE\nout[t + 32] = out[t];"
    )
    assert found(report) == (["deadlock"], set()), report


LDMATRIX = """__shared__ alignas(16) unsigned short tile[256];
for (int i = t; i < 256; i += 32) tile[i] = i;
__syncthreads();
unsigned at = SHARED(tile + {}), x, y;
asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{%0, %1}}, [%2];" : "=r"(x), "=r"(y) : "r"(at)); // HERE
out[t] = x; out[t + 32] = y;"""


def test_ldmatrix_x2_names_the_thread_that_gives_the_address():
    report, _ = run_on_numbers(LDMATRIX.format("t % 16 * 8 + (t == 5)"))
    assert found(report) == (["misaligned"], set()), report
    assert report.hazards[0].message.startswith("thread 5 of block 0"), report


def test_ldmatrix_x2_does_not_look_at_the_other_addresses():
    report, out = run_on_numbers(LDMATRIX.format("(t < 16 ? t * 8 : 100000 + t)"))
    assert report.ok, report
    low = T // 4 * 8 + T % 4 * 2
    assert (out[:32] == (low | low + 1 << 16)).all() and (out[32:64] == (low + 64 | low + 65 << 16)).all()


GUARDED = """int n = -7;
asm volatile("{{ .reg .pred p, q; setp.lt.u32 p, %1, 64; setp.ne.u32 q, %2, 0;"
             "@p bar.red.popc.u32 %0, 1, 64, q; }}" : "+r"(n) : "r"(t), "r"(t % 2) : "memory");
out[t] = n;"""


def test_the_guard_of_a_reduction_over_the_block_counts():
    report, out = run_on_numbers(GUARDED.replace("{{", "{").replace("}}", "}"), block=96)
    assert report.ok, report
    assert (out[:64] == 32).all() and (out[64:96] == -7).all()


OF_TWO_GROUPS = """int n = -7;
asm volatile("{ .reg .pred q; setp.gt.u32 q, %2, 40; bar.red.popc.u32 %0, %1, %3, q; }"
             : "+r"(n) : "r"(t < 64 ? 1 : 2), "r"(t), "r"(t < 64 ? 64 : 96) : "memory");
out[t] = n;"""


@pytest.mark.parametrize("seed", [None, 1])
def test_reductions_over_two_named_barriers_at_once(seed):
    report, out = run_on_numbers(OF_TWO_GROUPS, block=160, seed=seed)
    assert report.ok, report
    assert (out[:64] == 23).all() and (out[64:160] == 96).all()


COPY_BUT = """__shared__ alignas(16) int tile[32]; tile[t] = 7;
asm volatile("{{ .reg .pred p; .reg .b64 hint; setp.eq.u32 p, %2, 3;"
             "createpolicy.fractional.L2::evict_first.b64 hint, 1.0;"
             "{}; }}" :: "r"(SHARED(tile + t)), "l"(in + t), "r"(t), "r"(t % 2 ? 4 : 0) : "memory");
asm volatile("cp.async.wait_all;" ::: "memory");
out[t] = tile[t];"""


@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        ("cp.async.ca.shared.global [%0], [%1], 4, p", np.where(T == 3, 0, T)),
        ("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 4, hint", T),
        ("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 4, %3, hint", T * (T % 2)),
        ("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 4, p, hint", np.where(T == 3, 0, T)),
        ("cp.async.ca.shared.global.L2::128B [%0], [%1], 4, %3", T * (T % 2)),
    ],
)
def test_the_operands_of_a_copy_are_told_apart(copy, expected):
    report, out = run_on_numbers(COPY_BUT.format(copy))
    assert report.ok, report
    assert (out[:32] == expected).all()


def test_atomic_sums_of_subnormals_are_flushed_in_global_memory_only():
    """As on the H100 (PTX ISA, "atom": in shared memory subnormals count)."""
    out = np.zeros(2, np.float32)
    body = """__shared__ float cell; cell = 0; __syncthreads();
    atomicAdd(out, 1e-40f); atomicAdd(&cell, 1e-40f); out[1] = cell;"""
    assert run(body, out, parameters="float* out", block=1, options=("-ftz=false",)).ok
    assert out[0] == 0 and out[1] == np.float32(1e-40)
