"""What needs a real GPU: time GEMM kernels, and say which machine they ran on.

Its functions are called only where `cp` is CuPy.
"""

import datetime
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from . import device, power
from .kernel import Array, Kernel

CUBLAS = "cuBLAS"  # the label of its row
CUDA_R_32F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT = 0, 2, 68, -1  # in NVIDIA's headers
CUBLAS_ERROR = {
    "float32": 1e-5,
    "float16": 4e-4,
}  # relative; measured 2e-6 and 2.1e-4 (C is rounded to float16)
PAUSE = 0.3
"""Seconds before a burst of launches."""
METHOD = (
    "median of launches timed with events, queued behind a spinning kernel, after 5 warm-ups; random normal "
    "data; L2 cache warm; SM clock counted while more launches run; cuBLAS in the same process before and after"
)
_SPIN = """extern "C" __global__ void spin(long long cycles)
{
    long long start = clock64();
    while (clock64() - start < cycles) {}
}"""
_CLOCK_RATE = """extern "C" __global__ void clock_rate(long long* cycles_and_ns)
{
    long long start, from, now, begin;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start) :: "memory");
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(from) :: "memory"); while (from - start < 500000);
    begin = clock64();
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now) :: "memory"); while (now - from < 200000);
    cycles_and_ns[0] = clock64() - begin;
    cycles_and_ns[1] = now - from;
}"""


class NoPeer(RuntimeError):
    """The library to compare with is not installed, or does not solve this problem."""


def measure(gemm: Any, launches: dict[str, tuple]) -> dict[str, dict]:
    """Time every kernel, {label: (kernel, launch)}, and the peer before and after them: an entry for each. Of a peer
    that is not installed the entry says so, as its `origin`."""
    flops = gemm.flops
    repeats = 60 if flops < 2e10 else 20  # short launches vary more
    runs = {
        label: gemm.prepare(kernel, gemm.inputs, launch)[1] for label, (kernel, launch) in launches.items()
    }

    def kernels() -> dict[str, dict]:
        return {
            label: {"registers": launches[label][0].num_regs, **_entry(run, burst(run, repeats), flops)}
            for label, run in runs.items()
        }

    try:
        call = gemm.peers_call()
    except NoPeer as why:
        return _sustained(gemm, runs, kernels()) | {gemm.peer: {"origin": f"not measured: {why}"}}
    before, entries, after = burst(call, repeats), kernels(), burst(call, repeats)
    drift = {"before_us": round(np.median(before), 2), "after_us": round(np.median(after), 2)}
    entries[gemm.peer] = drift | _entry(call, np.append(before, after), flops)
    entries = _sustained(gemm, {**runs, gemm.peer: call}, entries)
    return {label: entry | {"peer_tflops": entries[gemm.peer]["tflops"]} for label, entry in entries.items()}


def _sustained(gemm: Any, runs: dict[str, Callable[[], None]], entries: dict[str, dict]) -> dict[str, dict]:
    """The entries, and what two seconds of launches say where tensor cores work. To be called after all bursts, which
    want a cool chip."""
    if gemm.dtype != "float16":
        return entries
    return {
        label: entry | power.sustained(runs[label], entry["median_us"], gemm.flops)
        for label, entry in entries.items()
    }


def _entry(run: Callable[[], None], times: np.ndarray, flops: int) -> dict:
    """What times in microseconds say of a launch of so many floating-point operations, and the clock under it."""
    p10, median, p90 = np.percentile(times, (10, 50, 90)).round(2).tolist()
    speed = {"tflops": round(flops / median / 1e6, 2), "median_us": median, "p10_us": p10, "p90_us": p90}
    mhz = sm_clock_mhz(run, median)
    sms = device.cp.cuda.Device().attributes["MultiProcessorCount"]
    clock = {"sm_clock_mhz": mhz, "flop_per_clock": round(flops / median / mhz / sms)}
    return {"gpu": name(), **speed, "repeats": len(times), **clock, "date": today()}


def cublas(gemm: Any, C: Array = None) -> Callable[[], None]:
    """A function that calls cublasGemmEx once, with float32 sums, on the same arrays, with no copies, into `C` or an
    array of its own.

    Its first result is compared with float64 on a few rows: TF32 or float16 sums, which the environment may
    switch on, are another and faster problem. They are ten times less exact than what is compared here.
    """
    from cupy.cuda.device import get_cublas_handle
    from cupy_backends.cuda.libs import cublas as blas

    A, B, new, *_ = gemm.arguments(*gemm.inputs)
    C = new if C is None else C
    M, N, K = gemm.M, gemm.N, gemm.K
    handle = get_cublas_handle()
    one, zero = np.array(1, np.float32), np.array(0, np.float32)
    kind = {"float32": CUDA_R_32F, "float16": CUDA_R_16F}[gemm.dtype]
    # cuBLAS is column-major. A row-major C (M, N) is a column-major C.T (N, M) = B @ A.T there.
    if gemm.order == "F":
        shape, left, right = (blas.CUBLAS_OP_N, blas.CUBLAS_OP_T, M, N, K), (A, M), (B, N)
    else:
        shape, left, right = (blas.CUBLAS_OP_T, blas.CUBLAS_OP_N, N, M, K), (B, K), (A, K)

    def call() -> None:
        (a, a_stride), (b, b_stride) = left, right
        operands = (a.data.ptr, kind, a_stride, b.data.ptr, kind, b_stride)
        result = (C.data.ptr, kind, shape[2], CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT)
        blas.gemmEx(handle, *shape, one.ctypes.data, *operands, zero.ctypes.data, *result)

    call()
    a, b, c = (device.cp.asnumpy(array).astype(np.float64) for array in (A[:32], B, C[:32]))
    error, limit = np.linalg.norm(c - a @ b.T) / (np.linalg.norm(c) or 1.0), CUBLAS_ERROR[gemm.dtype]
    if not error < limit:
        raise RuntimeError(
            f"cuBLAS has a relative error of {error:.1e}, above {limit:.0e}: its sums are not float32. "
            "Is TF32 or reduced precision switched on?"
        )
    return call


def burst(run: Callable[[], object], repeats: int) -> np.ndarray:
    """`time_launches` after a pause: what ran before has heated the chip, and its clock is held down for a while."""
    time.sleep(PAUSE)
    return time_launches(run, repeats)


def time_launches(run: Callable[[], object], repeats: int) -> np.ndarray:
    """Microseconds of each of `repeats` launches, with the GPU kept busy from the first to the last."""
    return time_in_turn((run,), repeats)[0]


def time_in_turn(runs: Sequence[Callable[[], object]], repeats: int) -> np.ndarray:
    """Microseconds [run, repeat] of several launches that take turns, with the GPU kept busy throughout.

    A spinning kernel holds the GPU back until all launches are queued, so no gap of the host is measured. It
    also gives the clocks time to rise.
    """
    Event = device.cp.cuda.Event
    for run in dict.fromkeys(runs):
        for _ in range(3):
            run()
    spin_ms = 20.0
    while spin_ms < 1000:
        device.cp.cuda.Device().synchronize()
        _spin(int(spin_ms * 2e6))
        gate = Event()
        gate.record()
        pairs = [(run, Event(), Event()) for _ in range(repeats) for run in runs]
        for _ in range(2):
            runs[-1]()
        for run, begin, end in pairs:
            begin.record()
            run()
            end.record()
        host_was_ahead = not gate.done
        pairs[-1][2].synchronize()
        if host_was_ahead:
            us = [1000 * device.cp.cuda.get_elapsed_time(begin, end) for _, begin, end in pairs]
            return np.array(us).reshape(repeats, len(runs)).T
        spin_ms *= 2
    raise RuntimeError("the launches could not be queued ahead of the GPU. Does each of them wait for it?")


def sm_clock_mhz(run: Callable[[], None], us: float) -> int:
    """The SM clock while launches of `us` microseconds each keep the GPU busy for 3 ms.

    One more thread, on a stream of higher priority, counts cycles among their blocks. Tensor cores draw so much
    power that the clock falls under their load; right behind it, it is up again.
    """
    cuda, count = device.cp.cuda, device.cp.zeros(2, dtype=np.int64)
    cuda.Device().synchronize()
    with cuda.Stream(non_blocking=True):
        for _ in range(int(3000 / us) + 2):
            run()
    with cuda.Stream(non_blocking=True, priority=-1):
        _helper("clock_rate", _CLOCK_RATE)((1,), (1,), (count,))
    cuda.Device().synchronize()
    cycles, ns = device.cp.asnumpy(count).tolist()
    return round(1000 * cycles / ns)


def _spin(cycles: int) -> None:
    _helper("spin", _SPIN)((1,), (1,), (np.int64(cycles),))


@cache
def _helper(name: str, source: str) -> Kernel:
    return device.cp.RawKernel(source, name)


def today() -> str:
    return datetime.date.today().isoformat()


def name() -> str:
    """The name of the GPU in use, as its driver gives it."""
    cuda = device.cp.cuda
    return cuda.runtime.getDeviceProperties(cuda.Device().id)["name"].decode()


@cache
def capability() -> str:
    """The compute capability of the GPU in use, as "9.0"."""
    digits = device.cp.cuda.Device().compute_capability  # "90", "120"
    return f"{digits[:-1]}.{digits[-1]}"


def provenance() -> dict:
    """The machine, the software and the method of a measurement."""
    cp = device.cp
    runtime = cp.cuda.runtime.runtimeGetVersion()
    query = "--query-gpu=driver_version,clocks.max.sm"
    asked = _output("nvidia-smi", query, "--format=csv,noheader,nounits")
    driver, _, max_clock = asked.partition("\n")[0].partition(", ")
    return {
        "gpu": name(),
        "sm_count": cp.cuda.Device().attributes["MultiProcessorCount"],
        "max_sm_clock_mhz": int(max_clock) if max_clock.isdigit() else None,
        "driver": driver or "unknown",
        "cuda": f"{runtime // 1000}.{runtime % 1000 // 10}",
        "nvrtc": "{}.{}".format(*cp.cuda.nvrtc.getVersion()),
        "cublas": cublas_version(),
        "cupy": cp.__version__,
        "date": today(),
        "commit": commit(),
        "l2": "warm",
        "method": METHOD,
    }


def cublas_version() -> str:
    """Of the cuBLAS that is compared with, as "13.2.0"."""
    from cupy.cuda.device import get_cublas_handle
    from cupy_backends.cuda.libs import cublas as blas

    number = blas.getVersion(get_cublas_handle())  # 10000 major + 100 minor + patch
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def commit() -> str:
    """What was measured, as git names it."""
    named = _output("git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty")
    return os.environ.get("COURSE_COMMIT") or named or "unknown"


def _output(*command: str) -> str:
    """What a command prints, or "" when it is missing or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
