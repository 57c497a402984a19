"""Lesson 06's kernels beside each other, `matmul` and cuBLAS: timed on a GPU, recorded elsewhere."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial

import numpy as np

from course_lib.check.gemm import Gemm
from course_lib.instruments.spans import Spans, spans
from course_lib.instruments.timed import Timed, timed
from course_lib.lessons.sources import edited
from cupy_or_sim import device, timing
from cupy_or_sim.kernel import Array
from matmul.matmul import matmul

from . import single
from .single import NOTES, call, large, parts, prepared

SMS = 132
"""Of an H100: blocks that stay."""
TAIL = 3712, 1280
"""C of 145 tiles of 128 x 256: 13 more than an H100 has SMs."""
OF_LESSON_06 = partial(matmul, lesson=6)


def stream_k_times(K: int) -> Timed:
    """A block for each tile, blocks that stay, and stream-K, on 145 tiles."""
    source, kinds = parts("gemm", "stream_k"), ("gemm", "persistent", "stream_k")
    return timed(
        f"stream-K, {TAIL[0]} x {TAIL[1]} x {K}", partial(_rivals, kinds, source, (*TAIL, K)), source
    )


def persistent_times(size: int = 8192) -> Timed:
    """A block for each tile and blocks that stay, where there are many tiles."""
    source, shape = parts("gemm", "persistent"), (size,) * 3
    title = f"persistent, {size} x {size} x {size}"
    return timed(title, partial(_rivals, ("gemm", "persistent"), source, shape), source)


def _rivals(kinds: Iterable[str], source: str, shape: tuple[int, int, int]) -> Mapping[str, Callable]:
    M, N, _ = shape
    gemm = Gemm(*shape, "float16")
    (A, B), C = gemm.inputs, device.cp.empty((M, N), np.float16)
    ours = {kind: call(prepared(kind, source, (A, B, C), large(), SMS)) for kind in kinds}
    return ours | {"matmul": lambda: OF_LESSON_06(A, B.T, C), "cuBLAS": timing.cublas(gemm)}


@cache
def noted() -> str:
    """The source of all three kernels, where each block notes every piece of its work."""
    notes = ", long long* notes)"
    return parts("note") + edited(
        parts("gemm", "stream_k"),
        ("int c_stride TRACE_ARG)", f"int c_stride{notes}"),
        ("b_stride, int c_stride)", f"b_stride, int c_stride{notes}"),
        ("typename Of::Sums sum = {};", "Note note = {notes}; typename Of::Sums sum = {};"),
    )


def sms_at_work() -> Spans:
    """What each SM makes, and when, of 145 tiles with K = 4096: a panel for each of the three kernels."""
    return spans(f"SMs, {TAIL[0]} x {TAIL[1]} x 4096", _watched, noted())


def _watched() -> Mapping[str, np.ndarray]:
    """(SM, begin, end) in microseconds of each piece: the third launch, when all data are in L2."""
    gemm, found = Gemm(*TAIL, 4096, "float16"), {}
    A, B = gemm.inputs
    for kind in "gemm", "persistent", "stream_k":
        notes, C = device.cp.zeros((NOTES, 3), np.int64), device.cp.empty(TAIL, np.float16)
        run = call(prepared(kind, noted(), (A, B, C), large(), SMS, notes=notes))
        for _ in range(3):
            notes.fill(0)
            run()
        rows = device.cp.asnumpy(notes)
        found[kind] = rows[1 : rows[0, 0] + 1] / [1, 1000, 1000]
    return found


def layer_times(K: int) -> Timed:
    """relu(A @ B + bias) of 4096 x 4096 x K in several ways."""
    source = parts("gemm", "around", "separate")
    return timed(f"bias and ReLU, 4096 x 4096 x {K}", partial(layer, 4096, 4096, K), source)


def layer(M: int, N: int, K: int) -> Mapping[str, Callable]:
    """{label: launch} of each way to compute a layer."""
    gemm, C = Gemm(M, N, K, "float16"), device.cp.empty((M, N), np.float16)
    (A, B), random = gemm.inputs, np.random.default_rng(2)
    bias = device.cp.asarray(random.standard_normal(N).astype(np.float16))
    streams = [device.cp.cuda.Stream(non_blocking=True) for _ in range(2)]
    cublas = timing.cublas(gemm, C)

    def plain() -> None:
        OF_LESSON_06(A, B.T, out=C)

    def finish() -> None:
        bias_and_relu(C, bias)

    def fused(activation: str) -> None:
        OF_LESSON_06(A, B.T, out=C, bias=bias, activation=activation)

    return {
        "plain": plain,
        "fused": partial(fused, "relu"),
        "fused, GELU": partial(fused, "gelu"),
        "three kernels": in_turn(plain, finish),
        "in 4 pieces, two streams": lambda: in_pieces(A, B.T, bias, C, 4, streams),
        "cuBLAS": cublas,
        "cuBLAS + two kernels": in_turn(cublas, finish),
    }


def in_turn(*calls: Callable[[], None]) -> Callable[[], None]:
    """One call that makes these, one after the other."""

    def all_of_them() -> None:
        for each in calls:
            each()

    return all_of_them


def bias_and_relu(C: Array, bias: Array) -> None:
    """Add a bias to each column, then cut at 0: two kernels, which read C and write it."""
    for kernel, grid, block, args in single.bias_and_relu(C, bias):
        kernel(grid, block, args)


def in_pieces(A: Array, B: Array, bias: Array, C: Array, pieces: int, streams: Iterable) -> None:
    """relu(A @ B + bias), C in pieces of rows: bias and ReLU of one while the next one is multiplied."""
    multiply, finish = streams
    caller = device.cp.cuda.get_current_stream()
    multiply.wait_event(caller.record())  # A, B and bias are there
    rows = -(-len(C) // pieces)
    for first in range(0, len(C), rows):
        piece = slice(first, first + rows)
        with multiply:
            OF_LESSON_06(A[piece], B, out=C[piece])
        finish.wait_event(multiply.record())  # this piece of C is written
        with finish:
            bias_and_relu(C[piece], bias)
    caller.wait_event(finish.record())
