"""`matmul` beside cuBLAS, the best of cuBLASLt's 16 and PyTorch, in shapes that nobody chose for it: matmul_GPU.json.

    python -m research.matmul_shapes SEED [COUNT]

COUNT problems drawn with the seed; those of tune.py; some of both in bfloat16 and float32; and how fast large ones run
on and on, with the watts. A (M, K) and B (N, K) contiguous along K, C = A @ B.T. A line is printed for each problem,
and the file goes to the folder that the environment variable OUT names, else to tests/golden; it is written anew behind
each problem, so that a run that is cut short leaves what it has.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from cupy_or_sim import device, power, timing
from cupy_or_sim.kernel import Array
from matmul import matmul
from matmul.given import allowed_lessons
from matmul.hopper_plans import HopperPlan
from matmul.matmul import planned
from matmul.plans import Shape
from ptxsim.gpus import file_name
from research import cublaslt
from tools.author.tune import SHAPES

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"
SIZES = (64, 16384)
LARGE = ((4096, 4096, 4096), (8192, 8192, 8192), (16384, 4096, 4096))
OTHER_TYPES = (
    (1024, 1024, 1024),
    (4096, 4096, 4096),
    (4096, 11008, 4096),
    (3000, 3000, 3000),
    (128, 4096, 4096),
)
"""Of the known ones, in bfloat16 and float32, besides the first FEW of the drawn."""
FEW = 8
LAUNCHES, ROWS, QUICK, TRIES = 40, 9, 8, 8
"""Launches alone, between two events; rows of launches with nothing between; launches to choose one of 16 by; tries."""
FINALISTS = 4
"""Of cuBLASLt's choices: those that are tried in a row."""
MOST_ERROR = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-5}
"""Largest difference from cuBLAS, of the largest element."""
METHOD = (
    "A (M, K) and B (N, K) along K, random normal data, one process. cuBLAS: CuPy's handle, its default algorithm; "
    "best: the fastest of up to 16 that cuBLASLt's heuristic names (64 MiB of workspace), by 8 launches each, in a row "
    "that of the four fastest which is so there. Alone: medians of 40 launches in turn, each between two events; in a "
    "row: 4 to 20 launches with nothing between, medians of 9 rows in turn. Sustained: two seconds"
)


def drawn(seed: int, count: int) -> list[Shape]:
    """M, N and K log-uniform between SIZES, multiples of 8."""
    numbers, (low, high) = random.Random(seed), map(math.log, SIZES)
    shapes = [[8 * round(math.exp(numbers.uniform(low, high)) / 8) for _ in range(3)] for _ in range(count)]
    return [(M, N, K) for M, N, K in shapes]


def main(seed: int, count: int = 40) -> None:
    about = timing.provenance() | {"seed": seed, "method": METHOD}
    found: dict = {"provenance": about, "rows": [], "sustained": []}
    path = Path(os.environ.get("OUT", GOLDEN)) / f"matmul_{file_name(timing.name())}"
    for kind, dtype, shape in problems(seed, count):
        row = {"kind": kind, "dtype": dtype, "shape": shape} | measured(shape, dtype)
        found["rows"].append(row | ({"plan": plan(shape)} if dtype != "float32" else {}))
        write(path, found)
        print(
            kind,
            dtype,
            name(shape),
            ratios(row["alone_us"]),
            "in a row",
            ratios(row["in_a_row_us"]),
            flush=True,
        )
    for shape in LARGE:
        found["sustained"].append({"shape": shape} | on_and_on(shape))
        write(path, found)
        print("sustained", name(shape), found["sustained"][-1], flush=True)


def problems(seed: int, count: int) -> Iterator[tuple[str, str, Shape]]:
    chosen = drawn(seed, count)
    yield from (("drawn", "float16", shape) for shape in chosen)
    yield from (("known", "float16", shape) for shape in (*SHAPES, LARGE[-1]))
    for dtype in "bfloat16", "float32":
        yield from (("drawn", dtype, shape) for shape in chosen[:FEW])
        yield from (("known", dtype, shape) for shape in OTHER_TYPES)


def measured(shape: Shape, dtype: str) -> dict:
    """Microseconds of each, alone and in a row."""
    theirs, best, others = calls(shape, dtype)
    flops = 2 * math.prod(shape)
    quick = np.median(timing.time_in_turn(best, QUICK), axis=1)
    finalists = [best[at] for at in np.argsort(quick)[:FINALISTS]]
    alone = {"cublas": theirs, "best": finalists[0], **others}
    times = np.median(timing.time_in_turn(list(alone.values()), LAUNCHES), axis=1).tolist()
    in_rows = in_a_row(finalists, flops)
    rows = alone | {"best": finalists[int(np.argmin(in_rows))]}
    return {
        "choices": len(best),
        "alone_us": dict(zip(alone, times, strict=True)),
        "in_a_row_us": dict(zip(rows, in_a_row(list(rows.values()), flops), strict=True)),
    }


def on_and_on(shape: Shape) -> dict:
    """Two seconds of each: TFLOP/s, MHz and watts."""
    theirs, best, others = calls(shape, "float16")
    quick, flops = np.median(timing.time_in_turn(best, QUICK), axis=1), 2 * math.prod(shape)
    both = {"cublas": theirs, "best": best[int(np.argmin(quick))], "matmul": others["matmul"]}
    return {whose: power.sustained(call, flops / 6e8, flops) for whose, call in both.items()}


def in_a_row(runs: Sequence[Callable[[], None]], flops: int) -> list[float]:
    """Microseconds of a launch of each among its own kind, with nothing between them, so that they may overlap: medians
    of rows that take turns."""
    launches = min(max(int(5e11 / flops), 4), 20)

    def row(run: Callable[[], None]) -> None:
        for _ in range(launches):
            run()

    for _ in range(TRIES):
        try:
            times = timing.time_in_turn([partial(row, run) for run in runs], ROWS)
            return (np.median(times, axis=1) / launches).tolist()
        except RuntimeError:  # this machine's host was too slow for so many
            launches = max(launches // 2, 4)
    raise SystemExit(f"{TRIES} times the host was slower than the GPU")


def calls(
    shape: Shape, dtype: str
) -> tuple[Callable[[], None], list[Callable[[], None]], dict[str, Callable[[], None]]]:
    """cuBLAS; cuBLASLt's choices; and others by name, `matmul` among them: on the same random arrays, with results that
    agree."""
    A, B, C, D = arrays(*shape, dtype)
    poison = D.copy()
    theirs = cublas(A, B, C, dtype)
    best = cublaslt.calls(A, B, D, dtype)
    others = {"pytorch": call} if (call := pytorch(A, B, D, dtype)) else {}

    def ours() -> None:
        matmul(A, B.T, out=D)

    theirs()
    for whose, run in (
        *((f"cuBLASLt's {at}", run) for at, run in enumerate(best)),
        *others.items(),
        ("matmul", ours),
    ):
        D[...] = poison
        run()
        check_near(D, C, f"{name(shape)} {dtype}: {whose}", dtype)
    return theirs, best, others | {"matmul": ours}


def arrays(M: int, N: int, K: int, dtype: str = "float16") -> list[Array]:
    """A (M, K) and B (N, K) of normal random numbers, and two outputs of NaN; bfloat16 as its bits."""
    cp = device.cp
    operands = [cp.random.standard_normal(shape, np.float32) for shape in ((M, K), (N, K))]
    outputs = [cp.full((M, N), np.nan, np.float32) for _ in range(2)]
    if dtype == "bfloat16":
        return [(each.view(np.uint32) >> 16).astype(np.uint16) for each in (*operands, *outputs)]
    return [each.astype(dtype) for each in (*operands, *outputs)]


def cublas(A: Array, B: Array, C: Array, dtype: str = "float16") -> Callable[[], None]:
    """C = A @ B.T."""
    from cupy.cuda.device import get_cublas_handle
    from cupy_backends.cuda.libs import cublas as blas

    handle, (M, K), N = get_cublas_handle(), A.shape, B.shape[0]
    one, zero = np.array(1, np.float32), np.array(0, np.float32)
    number, kind = cublaslt.TYPES[dtype], (timing.CUBLAS_COMPUTE_32F, timing.CUBLAS_GEMM_DEFAULT)

    def theirs() -> None:
        operands = (B.data.ptr, number, K, A.data.ptr, number, K, zero.ctypes.data, C.data.ptr, number, N)
        blas.gemmEx(handle, blas.CUBLAS_OP_T, blas.CUBLAS_OP_N, N, M, K, one.ctypes.data, *operands, *kind)

    return theirs


def pytorch(A: Array, B: Array, C: Array, dtype: str) -> Callable[[], None] | None:
    """The same by PyTorch, on CuPy's stream; None: it is not installed."""
    try:
        import torch
    except ImportError:
        return None
    kind = {"bfloat16": torch.bfloat16}.get(dtype)
    a, b, c = (torch.as_tensor(each.view(np.int16) if kind else each, device="cuda") for each in (A, B, C))
    if kind:
        a, b, c = (each.view(kind) for each in (a, b, c))

    def call() -> None:
        torch.mm(a, b.T, out=c)

    return call


def check_near(D: Array, C: Array, what: str, dtype: str = "float16") -> None:
    """Stop where D is not C, but for the order of the sums."""
    if dtype == "bfloat16":
        D, C = ((each.astype(np.uint32) << 16).view(np.float32) for each in (D, C))
    off = float(abs(C.astype(np.float32) - D).max() / abs(C).max())
    if not off < MOST_ERROR[dtype]:
        raise SystemExit(f"{what} differs from cuBLAS by {off:.1e} of the largest element")


def ratios(times: dict[str, float]) -> str:
    """How many times as fast `matmul` is as each of the others."""
    return ", ".join(
        f"{whose} {us / times['matmul']:.3f}" for whose, us in times.items() if whose != "matmul"
    )


def write(path: Path, found: dict) -> None:
    rows = ",\n".join(json.dumps(row) for row in found["rows"])
    others = {key: found[key] for key in ("provenance", "sustained")}
    path.write_text(json.dumps(others)[:-1] + f', "rows": [\n{rows}\n]}}\n', encoding="utf-8")


def name(shape: Shape) -> str:
    M, N, K = shape
    return f"{M}^3" if M == N == K else f"{M} x {N} x {K}"


def plan(shape: Shape) -> str:
    """In short: tile, slots, cluster (below x across x together), parts of K."""
    chosen = planned(shape, True, True, allowed_lessons(None))
    if not isinstance(chosen, HopperPlan):
        return f"06: {chosen.tile[0]} x {chosen.tile[1]}, {chosen.split} parts"
    cluster = f"{chosen.below} x {chosen.across} x {chosen.together}"
    return f"{chosen.tile[0]} x {chosen.tile[1]}, {chosen.slots} slots, {cluster}, {chosen.split} parts"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
