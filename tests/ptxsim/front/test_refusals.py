"""What the simulator cannot run, and what is no launch at all: refused in words, never by an error of Python's own."""

import re

import numpy as np
import pytest

import ptxsim
from ptxsim import LaunchError, launch
from tests.ptxsim.small_kernels import found, run, run_on_numbers

HOPPER = ("-arch=sm_90a",)
TILE = "__shared__ alignas(128) int tile[64];\n"

NOT_THERE = {
    "mip map": ("mip maps, gathers", "out[t] = tex2DLod<int>(in[t], t, t, 1); // HERE"),
    "surface": ("surfaces", "surf2Dwrite(t, (cudaSurfaceObject_t)in[t], t * 4, 0); // HERE"),
    "tensor copy im2col": ("im2col", TILE + 'asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global'
                           '.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2, %2}], [%0], {%3};" ::'
                           ' "r"(SHARED(tile)), "l"(in), "r"(t), "h"((short)0) : "memory"); // HERE'),
    "tensor map replaced": ("tensor maps made or changed", TILE + 'asm volatile("tensormap.replace.tile.box_dim.shared'
                            '::cta.b1024.b32 [%0], 0, %1;" :: "r"(SHARED(tile)), "r"(t) : "memory"); // HERE'),
    "sparse wgmma": ("sparse", 'asm volatile("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%0, %0, %0, %0},'
                     ' %1, %1, %2, 0, 1, 1, 1, 0, 0;" : "+f"(*(float*)&t) : "l"(0ull), "r"(t)); // HERE'),
    "wmma of bits": ("not for those of fewer bits", "#include <mma.h>\nusing namespace nvcuda::wmma;\n" + TILE +
                     "fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major> a;\n"
                     "load_matrix_sync(a, tile, 128); // HERE\nout[t] = a.x[0];"),
    "size in a register": ("the size of a cp.async takes a constant", TILE +
                           'asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"'
                           ' :: "r"(SHARED(tile)), "l"(in), "r"(t) : "memory"); // HERE'),
    "groups in a register": ("wait_group takes a constant",
                             'asm volatile("cp.async.wait_group %0;" :: "r"(t) : "memory"); // HERE'),
    "mma without lists": ("four lists of registers.*4 of D, 4 of A, 2 of B, 4 of C", 'asm volatile("mma.sync.aligned'
                          '.m16n8k16.row.col.f32.f16.f16.f32 %0, %0, %0, %0;" :: "r"(t)); // HERE'),
    "mma with short lists": ("four lists of registers", 'asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16'
                             ' {%0, %0}, {%0}, {%0}, {%0, %0};" : "+r"(t)); // HERE'),
    "mma without types": ("f16 and bf16 inputs", 'asm volatile("mma.sync.aligned.m16n8k16.row.col '
                          '{%0, %0, %0, %0}, {%0, %0, %0, %0}, {%0, %0}, {%0, %0, %0, %0};" : "+r"(t)); // HERE'),
    "mma of bits": ("as m16n8k8 and k16 for f16", 'asm volatile("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32'
                    '.xor.popc '
                    '{%0, %0}, {%0}, {%0}, {%0, %0};" : "+r"(t)); // HERE'),
    "mma by rows": (r"is \.row\.col", 'asm volatile("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 '
                    '{%0, %0, %0, %0}, {%0, %0, %0, %0}, {%0, %0}, {%0, %0, %0, %0};" : "+r"(t)); // HERE'),
    "a list where a value belongs": ("has a list of registers where a value is read", 'asm volatile("add.u32 %0, {%0, '
                                     '%0}, 1;" : "+r"(t)); // HERE'),
    "a list where a register belongs": ("has a list of registers where a register is written", 'asm volatile("add.u32 '
                                        '{%0, %0}, %0, 1;" : "+r"(t)); // HERE'),
    "labels in place": ("a list of labels", 'asm volatile("{ brx.idx %0, {L1, L2};\\n'
                        ' L1: mov.u32 %0, 1;\\n L2: mov.u32 %0, 2; }" : "+r"(t)); // HERE'),
}  # fmt: skip


def split(text):
    """#include lines, and what follows them, stand before the kernel."""
    lines = text.split("\n")
    first = [line for line in lines if re.match("#include|using namespace|namespace", line)]
    return "\n".join(first) + "\n", "\n".join(line for line in lines if line not in first)


@pytest.mark.parametrize(("words", "body"), NOT_THERE.values(), ids=NOT_THERE)
def test_what_is_not_there_is_called_by_its_name(words, body):
    before, body = split(body)
    report, _ = run_on_numbers(body, before=before, options=HOPPER)
    assert found(report) == (["unsupported-instruction"], set()), report
    message = report.hazards[0].message
    assert re.search(words, message), report
    assert len(message) < 450 and "(items=" not in message


def test_a_jump_behind_the_table_is_found():
    body = """asm volatile("{ ts: .branchtargets L1, L2; brx.idx %0, ts; L1: mov.u32 %0, 1; L2: mov.u32 %0, 2; }"
    : "+r"(t)); // HERE"""
    report, _ = run_on_numbers(body)
    assert found(report)[0] == ["out-of-bounds"]
    assert "thread 2 of block 0: jumps to target 2 of a table of 2" in report.hazards[0].message


# ---- launches


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.ma.masked_array(np.zeros(32, np.int32), np.zeros(32)), "out is a masked array; pass its data"),
        (np.zeros(32, ">i4"), r"out.*whose bytes are in another order.*out.astype\('int32'\)"),
        (memoryview(b"abc"), "out is a pointer in the kernel"),
    ],
)
def test_arrays_that_no_gpu_has_are_refused(array, words):
    with pytest.raises(LaunchError, match=words):
        run("out[t] = t;", array, parameters="int* out")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.zeros(1), "x is a .* of 8 bytes in the kernel, no pointer; the argument is an array"),
        (None, "x is a NoneType"),
        (
            2**70,
            "x is a float of 8 bytes in the kernel, but the argument is 1180591620717411303424; pass np.float64",
        ),
    ],
)
def test_what_is_no_double_is_refused(value, words):
    with pytest.raises(LaunchError, match=words):
        run("out[0] = x;", np.zeros(1), value, parameters="double* out, double x", block=1)


@pytest.mark.parametrize(
    "how", [dict(shared_mem=1024.0), dict(shared_mem="1"), dict(max_steps="5"), dict(seed=-1), dict(seed=0.5)]
)
def test_sizes_and_seeds_are_whole_numbers(how):
    (name,) = how
    with pytest.raises(LaunchError, match=f"{name} is .*whole"):
        run("out[t] = t;", np.zeros(32, np.int32), parameters="int* out", **how)


@pytest.mark.parametrize("source", [b'extern "C" __global__ void k(int* out) {}', None, ["k"]])
def test_a_source_is_a_string(source):
    with pytest.raises(LaunchError, match="source and name are strings"):
        ptxsim.compile(source, "k")


def test_options_are_a_tuple_and_no_string():
    with pytest.raises(LaunchError, match="options and name_expressions are tuples"):
        ptxsim.compile('extern "C" __global__ void k(int* out) {}', "k", "-arch=sm_90")


def test_a_matrix_is_an_array():
    out = np.zeros((4, 8), np.int32).view(np.matrix)
    assert run("out[t] = t;", out, parameters="int* out").ok
    assert (np.asarray(out).ravel() == np.arange(32)).all()


def test_a_null_pointer_may_be_passed_and_not_followed():
    out = np.zeros(32, np.int32)
    assert run("out[t] = in ? in[t] : 5;", out, None).ok
    assert (out == 5).all()
    report = run("out[t] = in[t]; // HERE", out, None)
    assert found(report) == (["out-of-bounds"], set()) and "null pointer" in report.hazards[0].message


TWO_LISTS = """template <typename T, int N> struct P { T x[N]; };
#if 0
extern "C" __global__ void k(int n)
#endif
extern "C" __global__ void k(P<float,4>* p, int n) { p[threadIdx.x].x[0] = n; }"""


def test_the_names_of_parameters_refuse_no_launch():
    out = np.zeros((32, 4), np.float32)
    assert launch(ptxsim.compile(TWO_LISTS, "k"), 1, 32, (out, np.int32(3))).ok
    assert (out[:, 0] == 3).all()


# ---- how a kernel ends


def test_an_assert_names_line_thread_and_expression():
    report, _ = run_on_numbers("assert(t < 5); // HERE\nout[t] = t;")
    assert found(report) == (["assertion-failed"], set()), report
    (line,) = (hazard.line for hazard in report.hazards)
    assert report.hazards[0].message.startswith(f"thread 5 of block 0: assert(t < 5) in line {line} is false")


def test_an_assert_that_holds_says_nothing():
    report, out = run_on_numbers("assert(t < 32);\nout[t] = t;")
    assert report.ok and (out[:32] == np.arange(32)).all()


def test_trap_is_called_by_its_name():
    report, _ = run_on_numbers("if (t == 5)\n__trap(); // HERE\nout[t] = t;")
    assert found(report) == (["trap"], set())
    assert "thread 5 of block 0" in report.hazards[0].message and "__trap()" in report.hazards[0].message


@pytest.mark.parametrize(
    "body", ["out[(1LL << 38) + t] = 1; // HERE", "out[t] = in[(1LL << 38) + t]; // HERE"]
)
def test_an_index_far_away_never_lands_in_the_next_array(body):
    arrays = np.zeros(32, np.float32), np.zeros(32, np.float32)
    report = run(body, *arrays, parameters="float* out, const float* in")
    assert found(report) == (["out-of-bounds"], set()), report
    assert "element 274877906944 of" in report.hazards[0].message


def test_a_local_array_that_nobody_wrote_is_found():
    body = "int own[64]; for (int i = 0; i < n; ++i) own[i * 7 % 64] = i;\nout[t] = own[n + 1]; // HERE"
    report = run(body, np.zeros(32, np.int32), np.int32(3), parameters="int* out, int n")
    assert found(report) == (["uninitialised-read"], set()), report


def test_calls_that_multiply_are_refused():
    """Every call is replaced by what it calls: 17 functions that call the next one twice would be 131,072 copies."""
    functions = ["__device__ __noinline__ int f0(int x) { return x + 1; }"]
    functions += [
        f"__device__ __noinline__ int f{i + 1}(int x) {{ return f{i}(x) + f{i}(x + 1); }}" for i in range(16)
    ]
    with pytest.raises(LaunchError, match="call each other so often"):
        run_on_numbers("out[t] = f16(t);", before="\n".join(functions))
    report, out = run_on_numbers("out[t] = f4(t);", before="\n".join(functions[:5]))
    assert report.ok and out[0] == 16 + 32  # of 16 calls each adds 1, and as often 0 to 4


WRAPS = r"""
extern "C" __global__ void wraps(float* y)
{
    __shared__ float s[128];
    unsigned t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(s) - 4 * t;
    float v;
    asm volatile("ld.shared.f32 %0, [%1+508];" : "=f"(v) : "r"(at));
    y[t] = v;
}
"""


def test_a_shared_address_of_32_bits_wraps():
    """A compiler may take an index apart into a base below 0 and an offset (NVRTC 13.5 does)."""
    y = np.full(128, np.nan, np.float32)
    report = launch(ptxsim.compile(WRAPS, "wraps"), (1,), (128,), [y])
    assert report.ok, str(report)
    assert (y == np.arange(128)[::-1]).all()
