"""Time the course's attention, cuDNN's and FlashAttention-3's in one process, and freeze it: attention_peers_h200.json.

    python -m research.record_attention_peers fa3.so

It needs CuPy, PyTorch, compute capability 9.0 and four minutes. `fa3.so` is built from the folder hopper/ of
Dao-AILab/flash-attention without PyTorch, with one function in C: int fa3_forward(q, k, v, o, lse, heads, queries,
keys, columns, causal, float scale, stream), pointers and ints, heads one behind the other. The file goes to the folder
that the environment variable OUT names, else to tests/golden.
"""

import ctypes
import math
import sys
from collections.abc import Callable

import numpy as np

from course_lib import HOPPER, cp
from course_lib.check.attention import Attention
from course_lib.lessons import sources
from cupy_or_sim import timing
from research.points import freeze
from tests.rules import ROOT

FILE = ROOT / "tests" / "golden" / "attention_peers_h200.json"
ROWS = 2**18
"""Keys of all heads together."""
SECONDS = 2.0
LENGTHS = 1024, 4096, 16384
KERNELS = (
    ("10_fastest", "fastest", {}),
    ("10_fastest", "fastest", {"causal": True}),
    ("10_attention", "seldom", {}),
    ("10_heads_of_64", "narrow", {"columns": 64}),
)

Call = Callable[[], object]


def flash_attention(library: ctypes.CDLL, problem: Attention) -> tuple[object, Call]:
    """Its result, and a function that lets FlashAttention-3 compute it once."""
    Q, K, V = problem.inputs
    result, sums = cp.full_like(Q, cp.nan), cp.empty((problem.heads, problem.queries), cp.float32)
    pointers = (ctypes.c_void_p(each.data.ptr) for each in (Q, K, V, result, sums))
    shape = problem.heads, problem.queries, problem.keys, problem.N, int(problem.form.causal)
    stream = ctypes.c_void_p(cp.cuda.get_current_stream().ptr)
    given = (*pointers, *shape, ctypes.c_float(1 / math.sqrt(problem.N)), stream)

    def call() -> None:
        if library.fa3_forward(*given):
            raise RuntimeError(f"FlashAttention-3 ends {problem} with an error")
        _ = sums  # lives as long as the call

    call()
    return result, call


def ours(notebook: str, name: str, problem: Attention) -> tuple[object, Call]:
    """Its result, and a function that launches the course's kernel once."""
    source, launch = sources.kernel_source(notebook, name), sources.kernel_launch(notebook, name)
    if problem.form.causal:
        source = sources.edited(source, ("CAUSAL = false", "CAUSAL = true"))
    result, call = problem.prepare(cp.RawKernel(source, name, options=HOPPER), problem.inputs, launch)
    call()
    return result, call


def speeds(call: Call, flops: int) -> dict[str, float]:
    """TFLOP/s in a burst, and running on and on."""
    for _ in range(5):
        call()
    us = float(np.median(timing.burst(call, 30)))
    launches = int(SECONDS * 1e6 / us)
    begin, end = cp.cuda.Event(), cp.cuda.Event()
    for launch in range(launches + launches // 2):
        if launch == launches:
            begin.record()
        call()
    end.record()
    end.synchronize()
    each = cp.cuda.get_elapsed_time(begin, end) * 1e3 / (launches // 2)
    return {"tflops": round(flops / us / 1e6, 1), "sustained": round(flops / each / 1e6, 1)}


def main() -> None:
    library, rows = ctypes.CDLL(sys.argv[1]), []
    for notebook, name, form in KERNELS:
        tile = sources.kernel_launch(notebook, name).tile[0]
        for keys in LENGTHS:
            whole = keys if name == "fastest" else -(-keys // tile) * tile
            problem = Attention(ROWS // keys, whole, keys, any_length=name == "fastest", **form)
            made = {
                "FlashAttention-3": flash_attention(library, problem),
                name: ours(notebook, name, problem),
            }
            expected, limit = problem.expected(*problem.inputs), problem.limit(*problem.inputs)
            for who, (result, _) in made.items():
                if not bool((abs(result - expected) <= limit).all()):
                    raise RuntimeError(f"{who}'s result of {problem} is wrong")
            del expected, limit
            calls = {"cuDNN": problem.peers_call()} | {who: call for who, (_, call) in made.items()}
            about = {"heads": problem.heads, "queries": whole, "keys": keys, "columns": problem.N}
            about["causal"] = problem.form.causal
            rows += [about | {"name": who} | speeds(call, problem.flops) for who, call in calls.items()]
            print(*rows[-len(calls) :], sep="\n", flush=True)
    freeze(FILE, rows)


if __name__ == "__main__":
    main()
