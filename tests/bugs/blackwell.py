"""tcgen05: tensor memory, products in flight, pairs of blocks."""

import numpy as np

from tests.bugs.case import Case
from tests.kernels.blackwell import MACROS, OPTIONS

CASES = []
BEGIN = r"""
    unsigned t = threadIdx.x, w = t / 32;
    __shared__ unsigned at;
    __shared__ u64 done;
    if (w == 0) ALLOC(&at, 128);
    if (t == 0) { INIT(&done, 1); INIT_FENCE; }
    __syncthreads();
    unsigned mine = at + (w % 4 * 32 << 16);
    unsigned v[4] = {t, t, t, t}, u[4] = {0, 0, 0, 0};
"""
END = r"""
    __syncthreads();
    if (w == 0) FREE(at, 128); //@f
"""
ONES = r"""
    __shared__ alignas(1024) unsigned A[128 * 8], B[64 * 8];
    for (unsigned i = t; i < 128 * 8; i += blockDim.x) A[i] = B[i / 2] = 0x3C003C00;
    FENCE_ASYNC;
    __syncthreads();
"""
PAIRS = (
    MACROS.replace("cta_group::1", "cta_group::2")
    + r"""
#define CLUSTER asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory")
#define COMMIT_BOTH(b) asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster" \
    ".multicast::cluster.b64 [%0], %1;" :: "r"(AT(b)), "h"((short)3) : "memory")
#define COPY_2(to, map, y, b) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
    :: "r"(AT(to)), "l"(map), "r"(y), "r"(AT(b)) : "memory")
"""
)


def case(name, report, body, want, kinds, lines="", block=128, **more):
    """`body`: of a kernel with `y`, of 32-bit numbers; `want`: what stands there, for each thread."""
    pair = more.pop("pair", False)
    bounds = "__cluster_dims__(2) " if pair else ""
    source = f'{PAIRS if pair else MACROS}\nextern "C" __global__ void {bounds}k(unsigned* y)\n{{{body}}}\n'
    threads = (2 if pair else 1) * block
    CASES.append(
        Case(name, report, source, lambda m: (np.full(threads, 77, "u4"),), lambda a: [(0, want(np.arange(threads)))],
             kinds, lines, grid=2 if pair else 1, block=block, options=OPTIONS, **more)
    )  # fmt: skip


def sixteen(t):
    """A product of ones of K = 16, as bits of a float32."""
    return np.full(len(t), 16, "f4").view("u4")


case(
    "lanes that drop what they loaded arrive, and the columns are freed: no wait::ld",
    "NVIDIA/cutlass#3652 (open)",
    f"""{BEGIN}
    ST(mine, v);
    WAIT_ST;
    LD(u, mine);
    «¦WAIT_LD;»
    y[t] = t;
    if (t % 32 < 16) y[t] = u[0];
    {END}""",
    lambda t: t,
    ("tensor-memory-read",),
    "f",
)
case(
    "a warp stores, arrives without wait::st, and another warp loads",
    "NVIDIA/cutlass#3653 (open)",
    f"""{BEGIN}
    if (w < 4) {{
        ST(mine, v);
        «¦WAIT_ST;»
    }}
    __syncthreads();
    if (w >= 4) {{
        LD(u, mine); //@l
        WAIT_LD;
    }}
    y[t] = w < 4 ? t : u[0] + 128;
    {END}""",
    lambda t: t,
    ("tensor-store-not-awaited",),
    "l",
    block=256,
)
case(
    "a stage is released behind its load without wait::ld, and filled anew",
    "flashinfer-ai/flashinfer#5334 (open)",
    f"""{BEGIN}
    if (w < 4) {{
        ST(mine, v);
        WAIT_ST;
        LD(u, mine);
        «¦WAIT_LD;»
    }}
    __syncthreads();
    if (w >= 4) {{
        ST(mine, v); //@s
        WAIT_ST;
    }}
    y[t] = w < 4 ? u[0] : t;
    {END}""",
    lambda t: t,
    ("tensor-memory-read",),
    "s",
    block=256,
)
case(
    "sums are released behind their load without wait::ld, and the next product writes there",
    "vllm-project/flash-attention#182 (merged)",
    f"""{BEGIN}{ONES}
    if (t == 0) {{
        MMA(at, PLAIN(A, 128), PLAIN(B, 64), WHAT(128, 64), 0);
        COMMIT(&done);
    }}
    WAIT(&done, 0);
    LD(u, mine);
    «¦WAIT_LD;»
    __syncthreads();
    if (t == 0) {{
        MMA(at, PLAIN(A, 128), PLAIN(B, 64), WHAT(128, 64), 0); //@m
        COMMIT(&done);
    }}
    y[t] = u[0];
    __syncthreads();
    WAIT(&done, 1);
    {END}""",
    sixteen,
    ("tensor-memory-read",),
    "m",
)
case(
    "the columns of the next product overlap those that are still loaded",
    "NVIDIA/cudnn-frontend#396 (merged)",
    f"""{BEGIN}{ONES}
    __shared__ u64 next;
    if (t == 0) {{
        INIT(&next, 1);
        INIT_FENCE;
        MMA(at, PLAIN(A, 128), PLAIN(B, 64), WHAT(128, 64), 0);
        COMMIT(&done);
    }}
    __syncthreads();
    WAIT(&done, 0);
    if (t == 0) {{
        MMA(at + «32¦64», PLAIN(A, 128), PLAIN(B, 64), WHAT(128, 64), 0); //@m
        COMMIT(&next);
    }}
    __syncwarp();
    LD(u, mine + 60); //@l
    WAIT_LD;
    y[t] = u[0];
    WAIT(&next, 0);
    {END}""",
    sixteen,
    ("product-not-awaited", "no-order-in-tensor-memory", "tensor-memory-read"),
    "m l",
)
case(
    "a warp frees what other warps still load",
    "PaddlePaddle/flash-attention#138 (merged)",
    f"""{BEGIN}
    ST(mine, v);
    WAIT_ST;
    LD(u, mine); //@l
    WAIT_LD;
    y[t] = u[0];
    «¦__syncthreads();»
    if (w == 0) FREE(at, 128); //@f
    """,
    lambda t: t,
    ("no-order-in-tensor-memory", "tensor-memory-read", "columns-not-held"),
)
case(
    "the warp that frees waits for nobody: the product may still write",
    "triton-lang/triton#7994 (merged)",
    f"""{BEGIN}{ONES}
    if (t == 0) {{
        MMA(at, PLAIN(A, 128), PLAIN(B, 64), WHAT(128, 64), 0);
        COMMIT(&done);
    }}
    __syncthreads();
    y[t] = t;
    «¦WAIT(&done, 0);»
    {END}""",
    lambda t: t,
    ("product-not-awaited",),
    "f",
)
case(
    "the address is read with no order behind tcgen05.alloc",
    "NVIDIA/cutlass#2835 (open)",
    """
    unsigned t = threadIdx.x, w = t / 32;
    __shared__ unsigned at;
    if (w == 0) ALLOC(&at, 64);
    «¦__syncthreads();»
    unsigned first = at; //@r
    y[t] = first + t;
    __syncthreads();
    if (w == 0) FREE(at, 64);
    """,
    lambda t: t,
    ("no-barrier", "never-written", "read-after-write"),
)
case(
    "nobody asks for columns",
    "NVIDIA/cutlass#2230 (fixed)",
    """
    unsigned t = threadIdx.x, w = t / 32, v[4] = {t, t, t, t};
    __shared__ unsigned at;
    at = 0;
    «¦if (w == 0) ALLOC(&at, 64);»
    __syncthreads();
    ST(w * 32 << 16, v); //@s
    WAIT_ST;
    LD(v, w * 32 << 16);
    WAIT_LD;
    y[t] = v[0];
    __syncthreads();
    «¦if (w == 0) FREE(at, 64);»
    """.replace("    at = 0;\n", ""),
    lambda t: t,
    ("columns-not-held",),
    "s",
)
case(
    "examples without tcgen05.fence: no machine instruction comes of it, so a note and no finding",
    "tile-ai/tilelang#1980 (merged)",
    f"""{BEGIN}{ONES}
    if (t == 0) {{
        MMA(at, PLAIN(A, 128), PLAIN(B, 64), WHAT(128, 64), 0);
        COMMIT(&done);
    }}
    WAIT(&done, 0);
    «¦AFTER;»
    LD(u, mine);
    WAIT_LD;
    y[t] = u[0];
    {END}""",
    sixteen,
    (),
    note=("after_thread_sync is missing",),
)
PAIR = """
    unsigned t = threadIdx.x, w = t / 32, rank = blockIdx.x;
    __shared__ unsigned at;
    __shared__ u64 done;
    __shared__ alignas(1024) unsigned A[128 * 8], B[32 * 8];
    for (unsigned i = t; i < 128 * 8; i += 128) A[i] = B[i / 4] = 0x3C003C00;
    FENCE_ASYNC;
    if (t == 0) { INIT(&done, 1); INIT_FENCE; }
    BEFORE
    if (w == 0) ALLOC(&at, 64); //@a
    CLUSTER;
    if (rank == 0 && t == 0) {
        MMA(at, PLAIN(A, 128), PLAIN(B, 32), WHAT(256, 64), 0); //@m
        COMMIT_BOTH(&done);
    }
    WAITS
    unsigned u[4];
    LD(u, at + (w * 32 << 16));
    WAIT_LD;
    y[rank * 128 + t] = u[0];
    __syncthreads();
    if (w == 0) FREE(at, 64); //@f
    AFTER
"""


def pair(name, report, before, waits, after, kinds, lines="", **more):
    body = PAIR.replace("BEFORE", before).replace("WAITS", waits).replace("AFTER", after)
    case(name, report, body, sixteen, kinds, lines, pair=True, **more)


WAITED = "WAIT(&done, 0);"
pair(
    "a pair asks for columns before both its blocks have started",
    "NVIDIA/cutlass#3316, #3435",
    "«__syncthreads();¦CLUSTER;»",
    WAITED,
    "CLUSTER;",
    ("use-before-start",),
    "a",
)
pair(
    "the odd block of a pair does not wait for the product of both",
    "NVIDIA/cutlass#3643 (open)",
    "CLUSTER;",
    "«if (rank == 0)¦» WAIT(&done, 0); __syncthreads();",
    "CLUSTER;",
    ("product-not-awaited", "no-order-in-tensor-memory"),
)
pair(
    "the odd block of a pair exits while the product still reads its half",
    "sgl-project/sglang#32907, #32954 (merged); triton-lang/triton#10656",
    "CLUSTER;",
    f"«if (rank == 1) {{ y[128 + t] = 0x41800000; if (w == 0) FREE(at, 64); return; }}¦» {WAITED}",
    "CLUSTER;",
    ("exit-before-use",),
)
case(
    "a block of a pair expects the bytes of four copies where two come",
    "tile-ai/tilelang#2644 (open, unconfirmed)",
    """
    unsigned t = threadIdx.x, rank = blockIdx.x;
    __shared__ u64 came;
    __shared__ alignas(128) unsigned tile[32];
    if (t == 0) {
        INIT(&came, 1);
        INIT_FENCE;
        EXPECT(&came, 128 * «2¦1»);
        COPY_2(tile, y + rank * 32, 128, &came);
    }
    __syncthreads();
    WAIT(&came, 0); //@w
    y[rank * 32 + t] = tile[t] - 77 + rank * 32 + t;
    CLUSTER;
    """,
    lambda t: t,
    ("missing-bytes",),
    "w",
    block=32,
    pair=True,
)
