"""What a beginner may do to the simulator: it ends, says what is wrong, and leaves other arrays alone."""

import re
import sys
import time

import numpy as np
import pytest

import ptxsim
from ptxsim import CompileError, LaunchError, launch


def run(body, *args, parameters="float* out", before="", grid=(1,), block=(32,), **more):
    """Launch `extern "C" __global__ void k(parameters) { body }`."""
    source = f'{before}\nextern "C" __global__ void k({parameters})\n{{\n{body}\n}}\n'
    return launch(ptxsim.compile(source, "k"), grid, block, args, **more)


def floats(n=32, value=0.0):
    return np.full(n, value, np.float32)


def the_only(report):
    (hazard,) = report.hazards
    return hazard


# ---- indices


@pytest.mark.parametrize(
    ("index", "element"),
    [
        ("(1LL << 31) + threadIdx.x", 2**31),
        ("(long long)threadIdx.x - 40", -40),
        ("(1LL << 40) + threadIdx.x", 2**40),
    ],
)
def test_an_index_far_outside_names_array_and_element(index, element):
    data, out = floats(), floats()
    hazard = the_only(
        run(f"out[threadIdx.x] = in[{index}];", out, data, parameters="float* out, const float* in")
    )
    assert (hazard.kind, hazard.line) == ("out-of-bounds", 4)
    if element < 2**38:
        assert f"at element {element} of in (float32, shape (32,)), which has 32 elements" in hazard.message
    assert not out.any() and not data.any()


def test_an_index_that_overflows_32_bits_is_found():
    out = floats()
    hazard = the_only(
        run("out[n * (int)threadIdx.x] = 1;", out, np.int32(2**30), parameters="float* out, int n")
    )
    assert hazard.kind == "out-of-bounds"
    assert "thread 1 of block 0" in hazard.message


def test_a_negative_index_of_shared_memory_is_said_as_such():
    body = """__shared__ float tile[32];
    tile[threadIdx.x] = 2;
    __syncthreads();
    tile[(int)threadIdx.x - n] = 1;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];"""
    hazard = the_only(run(body, floats(), np.int32(5), parameters="float* out, int n"))
    assert "an access of 4 bytes at byte -20 of shared memory, of which the block has 128" in hazard.message


def test_a_null_pointer_is_called_by_its_name():
    hazard = the_only(run("float* p = (float*)n; p[threadIdx.x] = 1;", np.int64(0), parameters="long long n"))
    assert hazard.kind == "out-of-bounds"
    assert "null pointer" in hazard.message


# ---- memory

USE = "tile[threadIdx.x] = 1; __syncthreads(); out[threadIdx.x] = tile[31 - threadIdx.x];"


@pytest.mark.parametrize("elements", ["12288 + 1", "1 << 18", "1LL << 31"])
def test_a_large_static_array_is_refused_with_the_way_out(elements):
    words = r"take \d+ bytes; .* at most 49152.*dynamic shared memory.*extern __shared__.*shared_mem="
    with pytest.raises(LaunchError, match=words):
        run(f"__shared__ float tile[{elements}]; {USE}", floats())


def test_a_large_dynamic_array_is_refused_with_its_size():
    with pytest.raises(
        LaunchError, match=r"232464 bytes.*0 static, 232464 dynamic.*at most 232448.*smaller tiles"
    ):
        run(f"extern __shared__ float tile[]; {USE}", floats(), shared_mem=227 * 1024 + 16)
    assert run(f"extern __shared__ float tile[]; {USE}", floats(), shared_mem=227 * 1024).ok


def test_a_forgotten_size_of_dynamic_shared_memory_is_guessed():
    hazard = the_only(run(f"extern __shared__ float tile[]; {USE}", floats()))
    assert "the launch gave none: shared_mem=..., in bytes" in hazard.message


OWN_ARRAY = """float own[@N@];
    for (int i = 0; i < n; ++i) own[i * 7919 % @N@] = i;
    out[threadIdx.x] = own[threadIdx.x % n * 7919 % @N@];"""


def test_a_megabyte_for_each_thread_is_refused():
    with pytest.raises(
        LaunchError, match=r"each thread declares.*1048576 bytes; .*at most 524288.*global memory"
    ):
        run(OWN_ARRAY.replace("@N@", "(1 << 18)"), floats(), np.int32(9), parameters="float* out, int n")


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss counts kilobytes on Linux")
@pytest.mark.parametrize("what", ["local", "shared"])
def test_many_blocks_with_much_memory_do_not_fill_the_machine(what):
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if what == "local":  # 64 KB a thread: 4 GB in all
        body = OWN_ARRAY.replace("@N@", "16384")
        report = run(
            body, floats(256), np.int32(9), parameters="float* out, int n", grid=(256,), block=(256,)
        )
    else:  # 200 KB a block: 400 MB in all, and the bookkeeping for each byte
        body = "extern __shared__ float tile[]; tile[threadIdx.x] = 1; out[threadIdx.x] = tile[threadIdx.x];"
        report = run(body, floats(1), grid=(2000,), block=(1,), shared_mem=200_000)
    assert report.ok, report
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_500_000


# ---- numbers


def test_division_by_zero_is_no_error_on_a_gpu():
    out = np.zeros(3, np.int32)
    body = "out[0] = 7 / n; out[1] = 7 % n; out[2] = (int)(1.0f / n > 1e38f);"
    assert run(body, out, np.int32(0), parameters="int* out, int n", block=(1,)).ok
    assert out[2] == 1  # the float quotient is infinite; the integer ones are whatever the hardware gives


def test_nan_goes_through_and_is_no_index_error():
    out, data = floats(), floats(32, np.nan)
    body = "out[threadIdx.x] = in[threadIdx.x] + 1; out[(int)in[threadIdx.x]] = in[0];"
    report = run(body, out, data, parameters="float* out, const float* in")
    assert report.ok, report
    assert np.isnan(out).all()


# ---- barriers

STAGE = "__shared__ float tile[64]; int t = threadIdx.x;\n"


@pytest.mark.parametrize("alive", [32, 40, 63])
def test_threads_that_have_returned_are_not_waited_for(alive):
    body = STAGE + "if (t >= n) return;\ntile[t] = t; __syncthreads(); out[t] = tile[n - 1 - t];"
    out = floats(64, -1)
    report = run(body, out, np.int32(alive), parameters="float* out, int n", block=(64,))
    assert report.ok, report
    assert (out[:alive] == np.arange(alive)[::-1]).all() and (out[alive:] == -1).all()


def test_two_warps_that_wait_for_each_other_are_a_deadlock_with_both_lines():
    body = (
        STAGE
        + """tile[t] = t;
    if (t < 32) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        asm volatile("bar.sync 2, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory");
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
    out[t] = tile[63 - t];"""
    )
    out = floats(64)
    hazard = the_only(run(body, out, block=(64,)))
    assert hazard.kind == "deadlock"
    assert "thread 0 of block 0" in hazard.message and "line 7" in hazard.message
    assert "thread 32 of block 0" in hazard.message and "line 10" in hazard.message
    assert "wait for threads that never come" in hazard.message
    assert not out.any()


@pytest.mark.parametrize(
    ("barrier", "count", "words"),
    [(16, 64, "no barrier 16; a block has barriers 0 to 15"), (1, 48, "wait for 48 threads.*multiple of 32")],
)
def test_barriers_that_do_not_exist_are_refused(barrier, count, words):
    body = 'asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(n) : "memory");'
    args = floats(64), np.int32(barrier), np.int32(count)
    hazard = the_only(run(body, *args, parameters="float* out, int id, int n", block=(64,)))
    assert re.search(words, hazard.message)


def test_counting_barriers_of_launches_of_other_sizes_do_not_mix():
    body = "int n = __syncthreads_count(threadIdx.x % 3 == 0); out[threadIdx.x] = n;"
    for threads in (96, 32, 1024, 64, 96):
        out = floats(threads)
        assert run(body, out, block=(threads,)).ok
        assert (out == -(-threads // 3)).all()


# ---- launches


def test_a_grid_that_would_take_hours_is_refused_at_once():
    start = time.thread_time()
    with pytest.raises(
        LaunchError, match=r"2,199,023,254,528 threads; the simulator takes at most .*smaller problem"
    ):
        run("if (blockIdx.x == 0) out[threadIdx.x] = 1;", floats(1024), grid=(2**31 - 1,), block=(1024,))
    assert time.thread_time() - start < 2


@pytest.mark.parametrize("shape", [(0,), (0, 4), (4, 0)])
def test_arrays_without_elements_may_be_passed(shape):
    empty = np.zeros(shape, np.float32)
    out = floats()
    body = "out[threadIdx.x] = n > 0 ? in[threadIdx.x] : 3;"
    assert run(body, out, empty, np.int32(0), parameters="float* out, const float* in, int n").ok
    assert (out == 3).all()
    hazard = the_only(run(body, out, empty, np.int32(4), parameters="float* out, const float* in, int n"))
    assert hazard.kind == "out-of-bounds"
    assert f"in (float32, shape {shape}), which has 0 elements" in hazard.message


@pytest.mark.parametrize("array", [np.array(["a", "b"]), np.array([None, 1])])
def test_arrays_of_other_things_than_numbers_are_refused(array):
    with pytest.raises(LaunchError, match=r"out is an array of dtype .*a kernel takes arrays of numbers"):
        run("out[0] = 1;", array)


def test_arrays_that_the_kernel_does_not_write_stay_as_they_are():
    """Also after a finding that stops it; what was written before that stays written."""
    out, data, other = floats(64), np.arange(64, dtype=np.float32), floats(64, np.nan)
    body = "out[threadIdx.x] = in[threadIdx.x];\n__syncthreads();\nout[threadIdx.x + 32 * n] = other[threadIdx.x];"
    what = "float* out, const float* in, const float* other, int n"
    hazard = the_only(run(body, out, data, other, np.int32(2), parameters=what))
    assert (hazard.kind, hazard.line) == ("out-of-bounds", 6)
    assert (data == np.arange(64)).all() and np.isnan(other).all()
    assert (out[:32] == data[:32]).all() and not out[32:].any()


def test_writing_through_a_pointer_to_const_does_not_compile():
    with pytest.raises(CompileError, match=r"kernel.cu\(4\): error: expression must be a modifiable lvalue"):
        run("in[threadIdx.x] = 1;", floats(), parameters="const float* in")


# ---- loops and output


@pytest.mark.parametrize(
    "body",
    [
        "while (n) ;\nout[0] = 1;",
        "for (unsigned i = n; i >= 0; --i) out[threadIdx.x] = i;",
        "for (float x = 16777216.0f; x < 16777218.0f; x += 1.0f * n) out[threadIdx.x] = x;",
    ],
)
def test_loops_that_never_end_are_ended(body):
    before = (
        "#pragma nv_diag_suppress 186\n"  # "i >= 0" is always true: the compiler knows, the learner may not
    )
    report = run(body, floats(), np.int32(1), parameters="float* out, int n", before=before, max_steps=3000)
    hazard = the_only(report)
    assert hazard.kind == "step-limit"
    assert "for ever: nothing that it tests changes in a turn" in hazard.message


def test_endless_printing_is_cut_with_a_note():
    body = 'for (int i = 0; out[0] == 0; ++i) printf("turn %d of thread %d\\n", i, threadIdx.x);'
    report = run(body, floats(), grid=(4,), block=(256,), max_steps=80_000)
    assert the_only(report).kind == "step-limit"
    lines = report.output.splitlines()
    assert len(lines) == 10_001
    assert lines[0] == "turn 0 of thread 0"
    assert lines[-1].startswith("... the simulator shows the first 10000 printf calls")
    assert "if (threadIdx.x == 0) printf" in lines[-1]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ('printf("%*d|", 5, 3)', "    3|"),
        ('printf("%*d|", -5, 3)', "3    |"),
        ('printf("%d %s %d", 1, "two", 3)', "1 two 3"),
        ('printf("100%%, %y, %5.2f", 1.0)', "100%, %y,  1.00"),
    ],
)
def test_formats_of_all_kinds_print(call, text):
    assert run(f"{call};", floats(), block=(1,)).output == text


@pytest.mark.parametrize(
    "call",
    [
        'printf("%d %d %f %s", 1)',
        'printf("%s", n)',
        'printf("%2000000000d", 1)',
        'printf("%.2000000000f", 1.0)',
    ],
)
def test_bad_formats_do_no_harm(call):
    report = run(f"{call};", np.int32(5), parameters="int n", block=(1,))
    assert report.ok
    assert len(report.output) < 5000


# ---- what is not there


@pytest.mark.parametrize(
    ("before", "body", "error", "words"),
    [
        (
            "#include <vector>",
            "",
            CompileError,
            r"no headers of the C\+\+ library. printf.* need no #include",
        ),
        (
            "__global__ void other(float* out) { }",
            "other<<<1, 1>>>(out);",
            CompileError,
            "device-side kernel launch",
        ),
        ("int main() { }", "", CompileError, "host functions are not allowed"),
    ],
)
def test_what_the_simulator_lacks_is_said_in_words(before, body, error, words):
    with pytest.raises(error, match=words):
        run(body, floats(), before=before)


# ---- an array in a struct that is passed by value

TABLE = "struct Table { int rows[64]; };"
LOOK_UP = "out[threadIdx.x] = table.rows[first + 2 * threadIdx.x];"


def look_up(first):
    table = np.array((np.arange(64) + 100,), [("rows", "i4", (64,))])[()]
    out = np.zeros(32, np.int32)
    return out, run(
        LOOK_UP, out, table, np.int32(first), parameters="int* out, Table table, int first", before=TABLE
    )


def test_each_lane_reads_its_own_element_of_a_parameter():
    out, report = look_up(1)
    assert report.ok and out.tolist() == list(range(101, 165, 2))


@pytest.mark.parametrize("first", [4, -4])
def test_an_index_outside_of_a_parameter_is_found(first):
    hazard = the_only(look_up(first)[1])
    assert hazard.kind == "out-of-bounds" and "of the kernel's parameters" in hazard.message
