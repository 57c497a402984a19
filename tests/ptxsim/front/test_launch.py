"""What is refused before a launch, and how a launch ends that cannot end well."""

import signal
import time

import numpy as np
import pytest

import ptxsim
from ptxsim import LaunchError, launch
from ptxsim.machine.machine import Machine

SCALE = r"""
extern "C" __global__ void scale(float* out, const float* in, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * in[i];
}
"""


def scale_arguments(n=100):
    return [np.zeros(n, np.float32), np.arange(n, dtype=np.float32), np.float32(2), np.int32(n)]


def run(source, name, *args, grid=(1,), block=(32,), **more):
    return launch(ptxsim.compile(source, name), grid, block, args, **more)


def test_a_good_launch_changes_the_output_in_place():
    args = scale_arguments()
    report = run(SCALE, "scale", *args, grid=(4,))
    assert report.ok
    assert (args[0] == 2 * args[1]).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (dict(block=(2048,)), "at most 1024"),
        (dict(block=(32, 64)), "at most 1024"),
        (dict(block=(1, 1, 128)), "at most 1024"),
        (dict(block=(0,)), "at least 1"),
        (dict(grid=(0,)), "at least 1"),
        (dict(grid=(4, 0)), "at least 1"),
        (dict(grid=(1, 70000)), "too large"),
        (dict(grid=(1.5,)), "integers"),
        (dict(grid=(1, 1, 1, 1)), "one to three"),
        (dict(shared_mem=300_000), "at most 232448"),
        (dict(shared_mem=-1), "0 or more"),
    ],
)
def test_bad_shapes_are_refused(change, words):
    args = scale_arguments()
    with pytest.raises(LaunchError, match=words):
        run(SCALE, "scale", *args, **change)
    assert not args[0].any()


@pytest.mark.parametrize(
    ("position", "value", "words"),
    [
        (0, 7, "out is a pointer"),
        (0, np.int64(7), "out is a pointer"),
        (1, [1.0, 2.0], "in is a pointer"),
        (1, np.zeros((10, 10), np.float32)[:, ::2], "in is a view with gaps"),
        (2, 2.0, "factor has 4 bytes"),
        (3, 2**32, "n has 4 bytes in the kernel, and 4294967296 .int. needs more"),
        (3, 1.0, "n is a whole number of 4 bytes in the kernel, but the argument is 1.0; pass np.int32"),
        (
            3,
            np.zeros(1, np.int32),
            r"n is a whole number of 4 bytes .* is an array; pass np.int32\(n.item\(\)\)",
        ),
        (3, "100", "n is a str"),
    ],
)
def test_bad_arguments_are_refused_by_name(position, value, words):
    args = scale_arguments()
    args[position] = value
    with pytest.raises(LaunchError, match=words):
        run(SCALE, "scale", *args)


def test_an_array_on_the_other_side_is_refused():
    class OnTheGpu:
        __cuda_array_interface__ = None

    args = scale_arguments()
    args[0] = OnTheGpu()
    with pytest.raises(LaunchError, match=r"cp\.asnumpy"):
        run(SCALE, "scale", *args)


def test_the_number_of_arguments_is_checked():
    with pytest.raises(LaunchError, match=r"4 parameters \(out, in, factor, n\), but 3"):
        run(SCALE, "scale", *scale_arguments()[:3])


def test_an_unknown_kernel_name_lists_what_there_is():
    with pytest.raises(LaunchError, match="it has scale"):
        ptxsim.compile(SCALE, "scales")


def test_arrays_that_overlap_share_their_memory():
    base = np.arange(64, dtype=np.float32)
    report = run(SCALE, "scale", base, base[32:], np.float32(1), np.int32(32))
    assert report.ok
    assert (base[:32] == base[32:]).all()


ENDLESS = r"""
extern "C" __global__ void spin(int* flag) { while (atomicAdd(flag, 1) >= 0) { } }
"""


def test_an_endless_loop_ends_within_its_limit():
    flag = np.zeros(1, np.int32)
    report = run(ENDLESS, "spin", flag, max_steps=5000)
    assert [h.kind for h in report.hazards] == ["step-limit"]
    assert report.hazards[0].line == 2


def test_ctrl_c_stops_a_launch():
    # By a timer, not by a thread of this process: Python may lose a signal that another of its threads sends.
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    start = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            run(ENDLESS, "spin", np.zeros(1, np.int32), max_steps=10**9)
    finally:
        signal.setitimer(
            signal.ITIMER_REAL, 0
        )  # else it ends all tests, where the launch has ended before it
        signal.signal(signal.SIGALRM, before)
    assert time.perf_counter() - start < 30  # a thousand million steps take hours
    assert run(SCALE, "scale", *scale_arguments()).ok  # and the next launch works


RECURSION = r"""
__device__ __noinline__ int down(int n, int* x) { x[n] = n; return n == 0 ? 0 : 1 + down(n - 1, x) * x[n]; }
extern "C" __global__ void deep(int* out, int n) { out[threadIdx.x] = down(n, out); }
"""


def test_recursion_is_refused_in_words():
    with pytest.raises(LaunchError, match=r"recursion.*Write it as a loop"):
        ptxsim.compile(RECURSION, "deep")


UNKNOWN = r"""
extern "C" __global__ void odd(int* out)
{
    int x;
    asm("vset4.u32.u32.eq %0, 1, 2, 3;" : "=r"(x));
    out[0] = x;
}
"""


def test_an_unknown_instruction_stops_with_its_name_and_line():
    (hazard,) = run(UNKNOWN, "odd", np.zeros(1, np.int32)).hazards
    assert hazard.kind == "unsupported-instruction"
    assert hazard.line == 5
    assert "vset4" in hazard.message


FLAG = r"""
extern "C" __global__ void handshake(int* out)
{
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        while (atomicAdd((int*)&flag, 0) < 3) { }
        out[threadIdx.x] = 1;
    } else if (threadIdx.x == 32) {
        for (int i = 0; i < 3; ++i) atomicAdd((int*)&flag, 1);
    }
}
"""


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_warp_that_spins_does_not_starve_the_others(seed):
    out = np.zeros(32, np.int32)
    report = run(FLAG, "handshake", out, block=(64,), seed=seed)
    assert report.ok, report
    assert out.all()


PIPE = r"""
// One warp fills two slots, the other empties them; named barriers 1, 2: slot is full; 3, 4: slot is empty.
extern "C" __global__ void pipe(const int* in, int* out, int n)
{
    __shared__ int slot[2][32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int i = 0; i < n; ++i) {
            asm volatile("bar.sync %0, 64;" :: "r"(3 + i % 2) : "memory");
            slot[i % 2][lane] = in[32 * i + lane];
            asm volatile("bar.arrive %0, 64;" :: "r"(1 + i % 2) : "memory");
        }
    } else {
        asm volatile("bar.arrive 3, 64;" ::: "memory");
        asm volatile("bar.arrive 4, 64;" ::: "memory");
        int sum = 0;
        for (int i = 0; i < n; ++i) {
            asm volatile("bar.sync %0, 64;" :: "r"(1 + i % 2) : "memory");
            sum += slot[i % 2][lane ^ 1];
            if (i + 2 < n) asm volatile("bar.arrive %0, 64;" :: "r"(3 + i % 2) : "memory");
        }
        out[lane] = sum;
    }
}
"""


def pipe(source, seed=None):
    data = np.arange(32 * 9, dtype=np.int32)
    out = np.zeros(32, np.int32)
    report = run(source, "pipe", data, out, np.int32(9), block=(64,), seed=seed)
    return report, (out == data.reshape(9, 32).sum(axis=0)[np.arange(32) ^ 1]).all()


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_warps_in_different_loops_meet_at_named_barriers(seed):
    report, right = pipe(PIPE, seed)
    assert report.ok, report
    assert right


def test_a_forgotten_arrival_is_a_deadlock_that_names_both_sides():
    (hazard,) = pipe(PIPE.replace("if (i + 2 < n) asm", "if (false) asm"))[0].hazards
    assert hazard.kind == "deadlock"
    assert "line 9" in hazard.message
    assert "line 18" in hazard.message


@pytest.mark.parametrize(("seed", "kind"), [(None, "deadlock"), (1, "write-after-read")])
def test_a_producer_that_does_not_wait_is_found(seed, kind):
    """Its second arrival can complete the barrier before the consumer comes; or it overwrites a full slot."""
    report, _ = pipe(PIPE.replace('asm volatile("bar.sync %0, 64;" :: "r"(3 + i % 2) : "memory");', ""), seed)
    assert kind in [h.kind for h in report.hazards]


GROUPS = r"""
extern "C" __global__ void groups(const float* x, float* y)
{
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    asm volatile("bar.sync %0, %1;" :: "r"(BARRIER), "n"(COUNT) : "memory");
    y[t] = s[t ^ PARTNER];
}
"""


def groups(**names):
    source = GROUPS
    for name, value in names.items():
        source = source.replace(name, str(value))
    x, y = np.arange(128, dtype=np.float32), np.full(128, np.nan, np.float32)
    return run(source, "groups", x, y, block=(128,)), x, y


def test_warps_that_come_together_may_name_different_barriers():
    report, x, y = groups(BARRIER="1 + t / 64", COUNT=64, PARTNER=32)
    assert report.ok, report
    assert (y == x[np.arange(128) ^ 32]).all()
    report, _, _ = groups(BARRIER="1 + t / 64", COUNT=64, PARTNER=64)  # of the other group
    assert [hazard.kind for hazard in report.hazards] == ["read-after-write"]


def test_a_barrier_takes_no_more_threads_than_it_was_told():
    """The fourth warp waits for the next round, and nobody comes."""
    report, _, _ = groups(BARRIER="1", COUNT=96, PARTNER=32)
    assert [hazard.kind for hazard in report.hazards] == ["read-after-write", "deadlock"]


CONFLICT = r"""
extern "C" __global__ void last_wins(int* out) { if (threadIdx.x == 0) out[0] = blockIdx.x; }
extern "C" __global__ void all_agree(int* out) { if (threadIdx.x == 0) out[0] = 7; }
"""


def test_blocks_of_different_batches_conflict_too():
    """512 blocks of 64 threads do not run at once in the simulator."""
    (hazard,) = run(CONFLICT, "last_wins", np.zeros(1, np.int32), grid=(512,), block=(64,)).hazards
    assert hazard.kind == "block-conflict"
    assert run(CONFLICT, "all_agree", np.zeros(1, np.int32), grid=(512,), block=(64,)).ok


def test_variables_of_the_module_do_not_slow_launches_down():
    variables = "\n".join(f"__constant__ int v{i} = {i};" for i in range(1000))  # headers may bring as many
    body = "\n".join(f"out[n + (int)out[{i}]] = v0;" for i in range(300))
    source = f'{variables}\nextern "C" __global__ void k(float* out, int n) {{ if (n) {{ {body} }} }}'
    kernel, out = ptxsim.compile(source, "k"), np.zeros(1024, np.float32)
    seconds = []
    for _ in range(3):
        begin = time.process_time()
        assert launch(kernel, (1,), (1,), (out, np.int32(0))).ok
        seconds.append(time.process_time() - begin)
    assert min(seconds) < 0.05


TABLES = r"""
__device__ const char* words[] = {"none", "one", "two"};
__device__ int numbers[4] = {10, 11, 12, 13};
struct Place { int* at; long long n; };
__device__ Place places[] = {{numbers + 2, 2}, {numbers, 4}};
extern "C" __global__ void table(int* out, int which)
{
    out[0] = words[which][1];
    out[1] = places[which - 1].at[1];
    out[2] = places[which - 1].n;
}
"""


@pytest.mark.parametrize(("which", "expected"), [(1, [ord("n"), 13, 2]), (2, [ord("w"), 11, 4])])
def test_variables_that_hold_addresses_of_others(which, expected):
    out = np.zeros(3, np.int32)
    report = run(TABLES, "table", out, np.int32(which), block=(1,))
    assert report.ok, str(report)
    assert out.tolist() == expected


@pytest.mark.parametrize(
    ("cluster", "grid", "words"),
    [
        ("2", (3,), "3 blocks along x, and k has clusters of 2 along it.*a multiple of 2, for example 4"),
        ("2", (1, 4), "1 block along x, and k has clusters of 2"),
        ("1, 4", (2, 6), "6 blocks along y, and k has clusters of 4 along it.*for example 8"),
        ("4, 8", (4, 8), r"clusters of \(4, 8, 1\) blocks; a cluster has at most 16"),
    ],
)
def test_a_grid_that_clusters_do_not_fill(cluster, grid, words):
    source = f'extern "C" __global__ void __cluster_dims__({cluster}) k(int* out) {{ out[0] = 1; }}'
    kernel = ptxsim.compile(source, "k", ("-arch=sm_90",))
    with pytest.raises(LaunchError, match=words):
        launch(kernel, grid, (32,), (np.zeros(1, np.int32),))


TWO_ARRAYS = r"""
extern "C" __global__ void two(float* out)
{
    __shared__ float first[32], second[32];
    first[threadIdx.x] = 1; second[threadIdx.x] = 2;
    __syncthreads();
    out[threadIdx.x] = first[31 - threadIdx.x] + second[threadIdx.x + 1];
}
"""


def test_what_leaves_shared_memory_is_told_by_the_array_that_it_left():
    report = run(TWO_ARRAYS, "two", np.zeros(32, np.float32))
    (hazard,) = report.hazards
    assert hazard.kind == "out-of-bounds"
    assert (
        "at byte 256 of shared memory (second[32], past the end of second), of which the block has 256"
        in hazard.message
    )


BESIDE_FUNCTIONS = """
__shared__ float large[8000], small[100];
__noinline__ __device__ float of_small(int i) { return small[i]; }
extern "C" __global__ void own(float* out)
{
    __shared__ float tile[8000];
    tile[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = tile[31 - threadIdx.x];
}
extern "C" __global__ void by_name(float* out)
{
    large[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = large[31 - threadIdx.x];
}
extern "C" __global__ void by_a_call(float* out)
{
    small[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = of_small(31 - threadIdx.x);
}
"""


@pytest.mark.parametrize(("name", "size"), [("own", 32_000), ("by_name", 32_000), ("by_a_call", 400)])
def test_a_shared_array_beside_the_functions_takes_room_where_it_is_used(name, size):
    """As ptxas has it: all three kernels together would take more than a block may have."""
    kernel = ptxsim.compile(BESIDE_FUNCTIONS, name)
    assert kernel.code.program.static_shared == ptxsim.resources(kernel).static_shared == size
    report = run(BESIDE_FUNCTIONS, name, out := np.zeros(32, np.float32))
    assert report.ok and out.sum() == 32


DYNAMIC = r"""
extern "C" __global__ void dynamic(float* out)
{
    __shared__ volatile float one;  // volatile: the compiler leaves it there
    extern __shared__ float more[];
    if (threadIdx.x == 0) one = 1;
    *(float4*)&more[4 * threadIdx.x] = make_float4(1, 2, 3, 4);
    __syncthreads();
    out[threadIdx.x] = more[127 - threadIdx.x] + one;
}
"""


def test_dynamic_shared_memory_begins_at_a_multiple_of_16_bytes():
    """As on an H100, whatever stands before it."""
    report = run(DYNAMIC, "dynamic", out := np.zeros(32, np.float32), shared_mem=512)
    assert report.ok and out[:4].tolist() == [5, 4, 3, 2]


def test_a_failure_of_the_simulator_is_not_told_as_one_of_the_kernel(monkeypatch):
    def fail(machine):
        raise TypeError("Cannot cast array data")

    monkeypatch.setattr(Machine, "run", fail)
    with pytest.raises(
        ptxsim.SimulatorError, match=r"failed while it ran scale: TypeError: Cannot cast.*not in the"
    ):
        run(SCALE, "scale", *scale_arguments(), grid=(4,))


TAKES_A_NUMBER = r"""
extern "C" __global__ void CLUSTERS number(int* begun, int* order)
{
    if (threadIdx.x == 0) order[atomicAdd(begun, 1)] = blockIdx.x;
}
"""


@pytest.mark.parametrize(
    ("clusters", "in_turn", "order"),
    [
        ("", "up", [0, 1, 2, 3, 4, 5]),
        ("", "down", [5, 4, 3, 2, 1, 0]),
        ("__cluster_dims__(2)", "up", [0, 1, 2, 3, 4, 5]),
        ("__cluster_dims__(2)", "down", [4, 5, 2, 3, 0, 1]),
    ],
)
def test_blocks_in_turn(clusters, in_turn, order):
    source = TAKES_A_NUMBER.replace("CLUSTERS", clusters)
    kernel = ptxsim.compile(source, "number", ("-arch=sm_90a",))
    begun, found = np.zeros(1, np.int32), np.full(6, -1, np.int32)
    assert launch(kernel, 6, 32, (begun, found), in_turn=in_turn).ok
    assert found.tolist() == order


SETS_BACK = r"""
extern "C" __global__ void count(int* counted)
{
    if (threadIdx.x) return;
    if (blockIdx.x == 0) atomicExch(counted, 0);
    atomicAdd(counted, 1);
}
"""


@pytest.mark.parametrize(("in_turn", "left"), [("up", 4), ("down", 1)])
def test_blocks_in_turn_show_who_loses_counts(in_turn, left):
    counted = np.zeros(1, np.int32)
    assert run(SETS_BACK, "count", counted, grid=4, in_turn=in_turn).ok
    assert counted[0] == left


WAITS = r"""
extern "C" __global__ void wait(int* flags)
{
    asm volatile("st.release.gpu.s32 [%0], 1;" :: "l"(flags + blockIdx.x) : "memory");
    int there = blockIdx.x == 0;
    while (!there)
        asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(there) : "l"(flags + blockIdx.x - 1) : "memory");
}
"""


@pytest.mark.parametrize(("in_turn", "ends"), [(None, True), ("up", True), ("down", False)])
def test_a_block_in_turn_waits_for_nobody_behind_it(in_turn, ends):
    report = run(WAITS, "wait", np.zeros(4, np.int32), grid=4, in_turn=in_turn, max_steps=100_000)
    assert report.ok == ends
    assert ends or report.hazards[-1].kind in ("deadlock", "step-limit")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"in_turn": "back"}, '"up", "down" or None'),
        ({"in_turn": "up", "cooperative": True}, "all blocks at once"),
    ],
)
def test_turns_that_cannot_be_are_refused(more, words):
    with pytest.raises(LaunchError, match=words):
        run(SETS_BACK, "count", np.zeros(1, np.int32), **more)
