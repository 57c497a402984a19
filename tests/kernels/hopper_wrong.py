"""Kernels with one known mistake each in the use of Hopper's instructions. `// HERE` marks the line that the report
must name; the instructions are macros, so that this is the kernel's own line."""

import numpy as np

from tests.kernels.case import WrongCase, poison

OPTIONS = ("--std=c++17", "-arch=sm_90a")
MACROS = r"""
typedef unsigned long long u64;
#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(AT(b)), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(AT(b)) : "memory")
#define FENCE_ASYNC asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define STORE(to, from, n) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" \
    :: "l"(to), "r"(AT(from)), "r"(n) : "memory")
#define DONE asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory")
#define CLUSTER_SYNC asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory")
#define THERE(d, p, block) asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(d) : "r"(AT(p)), "r"(block))
#define WG_FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define WG_COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WG_WAIT(n) asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory")
#define WGMMA(d, a, b, add) asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, " \
    "%4, %5, " #add ", 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b))
// 64 x 16 of A and 8 x 16 of B without swizzle: 8 rows of 16 bytes lie together
#define TILES __shared__ alignas(128) unsigned short A[64 * 16], B[8 * 16]; unsigned t = threadIdx.x; float d[4]; \
    u64 a = AT(A) / 16 | (u64)(1024 / 16) << 16 | (u64)(128 / 16) << 32; \
    u64 b = AT(B) / 16 | (u64)(128 / 16) << 16 | (u64)(128 / 16) << 32; \
    for (unsigned i = t; i < 64 * 16; i += 128) A[i] = 0x3C00; \
    for (unsigned i = t; i < 8 * 16; i += 128) B[i] = 0x3C00
"""
KERNELS = {
    ("missing-proxy-fence", "store_of_what_threads_wrote", 32): """
    __shared__ alignas(128) float tile[32];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(out, tile, 128);  // HERE
        DONE;
    }
""",
    ("missing-proxy-fence", "math_on_what_threads_wrote", 128): """
    TILES;
    __syncthreads();
    WG_FENCE;
    WGMMA(d, a, b, 0);  // HERE
    WG_COMMIT;
    WG_WAIT(0);
    out[t] = d[0];
""",
    ("unwaited-wgmma", "sums_without_a_wait", 128): """
    TILES;
    FENCE_ASYNC;
    __syncthreads();
    WG_FENCE;
    WGMMA(d, a, b, 0);
    WG_COMMIT;
    out[t] = d[0];  // HERE
    WG_WAIT(0);
""",
    ("unwaited-wgmma", "sums_of_the_last_group", 128): """
    TILES;
    FENCE_ASYNC;
    __syncthreads();
    WG_FENCE;
    WGMMA(d, a, b, 0);
    WG_COMMIT;
    WGMMA(d, a, b, 1);
    WG_COMMIT;
    WG_WAIT(1);
    out[t] = d[3];  // HERE
    WG_WAIT(0);
""",
    ("missing-wgmma-fence", "no_fence_before_the_first", 128): """
    TILES;
    FENCE_ASYNC;
    __syncthreads();
    WGMMA(d, a, b, 0);  // HERE
    WG_COMMIT;
    WG_WAIT(0);
    out[t] = d[0];
""",
    ("missing-wgmma-fence", "sums_written_behind_the_fence", 128): """
    TILES;
    FENCE_ASYNC;
    __syncthreads();
    d[1] = d[2] = d[3] = 0;
    WG_FENCE;
    asm volatile("add.f32 %0, %1, 0f3F800000;" : "=f"(d[0]) : "f"((float)threadIdx.x) : "memory");
    WGMMA(d, a, b, 1);  // HERE
    WG_COMMIT;
    WG_WAIT(0);
    out[t] = d[0];
""",
    ("write-after-read", "overwrites_what_a_store_reads", 32): """
    __shared__ alignas(128) float tile[32];
    tile[threadIdx.x] = threadIdx.x;
    FENCE_ASYNC;
    __syncthreads();
    if (threadIdx.x == 0) {
        STORE(out, tile, 128);  // HERE
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
    __syncthreads();
    tile[threadIdx.x] = 7;
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
""",
    ("uninitialised-read", "adds_to_what_nobody_set", 128): """
    TILES;
    FENCE_ASYNC;
    __syncthreads();
    WG_FENCE;
    WGMMA(d, a, b, 1);  // HERE
    WGMMA(d, a, b, 1);
    WG_COMMIT;
    WG_WAIT(0);
    out[t] = d[0];
""",
    ("uninitialised-read", "adds_to_half_of_the_sums", 128): """
    TILES;
    FENCE_ASYNC;
    __syncthreads();
    d[0] = d[1] = 0;
    asm volatile("" : "+f"(d[0]), "+f"(d[1]) :: "memory");
    WG_FENCE;
    WGMMA(d, a, b, 1);  // HERE
    WG_COMMIT;
    WG_WAIT(0);
    out[t] = d[0];
""",
    ("exited-block", "arrives_at_a_block_that_left", 32): """
    __shared__ u64 bar;
    unsigned there;
    if (threadIdx.x == 0) INIT(&bar, 1);
    CLUSTER_SYNC;
    if (threadIdx.x == 0) {
        THERE(there, &bar, 1 - blockIdx.x);
        asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" :: "r"(there) : "memory");  // HERE
    }
    out[blockIdx.x * 32 + threadIdx.x] = 1;
""",
    ("exited-block", "reads_a_block_that_left", 32): """
    __shared__ float tile[32];
    unsigned there;
    float value;
    tile[threadIdx.x] = threadIdx.x;
    CLUSTER_SYNC;
    THERE(there, &tile[threadIdx.x], 1 - blockIdx.x);
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(there) : "memory");  // HERE
    out[blockIdx.x * 32 + threadIdx.x] = value;
""",
    ("mbarrier", "nobody_initialised_it", 32): """
    __shared__ u64 bar;
    ARRIVE(&bar);  // HERE
    out[threadIdx.x] = 1;
""",
    ("mbarrier", "counts_no_arrivals", 32): """
    __shared__ u64 bar;
    if (threadIdx.x == 0) INIT(&bar, 0);  // HERE
    out[threadIdx.x] = 1;
""",
}


def wrong(kind: str, name: str, threads: int, body: str) -> WrongCase:
    blocks = 2 if kind == "exited-block" else 1
    cluster = "__cluster_dims__(2, 1, 1) " if blocks == 2 else ""
    source = f'{MACROS}\nextern "C" __global__ void {cluster}{name}(float* out)\n{{{body}}}\n'
    return WrongCase(
        name,
        kind,
        source,
        lambda: [poison(blocks * threads, np.float32)],
        (blocks,),
        (threads,),
        options=OPTIONS,
    )


WRONG = [wrong(*about, body) for about, body in KERNELS.items()]
