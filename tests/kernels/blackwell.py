"""Instructions of Blackwell as macros."""

OPTIONS = ("--std=c++17", "-arch=sm_100a")
MACROS = r"""
#include <cuda_fp16.h>
typedef unsigned long long u64;
struct alignas(64) CUtensorMap { unsigned char bytes[128]; };
#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(AT(b)), "r"(n) : "memory")
#define INIT_FENCE asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define WAIT(b, parity) asm volatile("{\n.reg .pred p;\nagain:\n" \
    "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%0], %1;\n@!p bra again;\n}" \
    :: "r"(AT(b)), "r"(parity) : "memory")
#define EXPECT(b, n) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" \
    :: "r"(AT(b)), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" :: "r"(AT(b)) : "memory")
#define FENCE_ASYNC asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define COPY(to, map, x, y, b) asm volatile("cp.async.bulk.tensor.2d.shared::cta.global" \
    ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" \
    :: "r"(AT(to)), "l"(map), "r"(x), "r"(y), "r"(AT(b)) : "memory")
#define ALLOC(to, n) asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" \
    :: "r"(AT(to)), "r"(n) : "memory")
#define FREE(at, n) asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" :: "r"(at), "r"(n))
#define RELINQUISH asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;")
#define MMA(d, a, b, what, add) asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\n" \
    "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;\n}" \
    :: "r"(d), "l"(a), "l"(b), "r"(what), "r"(add) : "memory")
#define MMA_T(d, a, b, what, add) asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\n" \
    "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, p;\n}" \
    :: "r"(d), "r"(a), "l"(b), "r"(what), "r"(add) : "memory")
#define CP(shape, at, a) asm volatile("tcgen05.cp.cta_group::1." shape " [%0], %1;" :: "r"(at), "l"(a) : "memory")
#define COMMIT(b) asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" \
    :: "r"(AT(b)) : "memory")
#define BEFORE asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory")
#define AFTER asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory")
#define WAIT_LD asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory")
#define WAIT_ST asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory")
#define LD(v, at) asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%0, %1, %2, %3}, [%4];" \
    : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at))
#define ST(at, v) asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1, %2, %3, %4};" \
    :: "r"(at), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory")
// a matrix in shared memory: rows of 8 numbers lie 8 by 8 together, then the next 8 of K, then the next 8 rows
#define PLAIN(p, rows) \
    ((u64)((AT(p) & 0x3FFFF) >> 4) | (u64)((rows) * 16 >> 4) << 16 | (u64)(128 >> 4) << 32 | 1ull << 46)
#define WHAT(m, n) (1u << 4 | (n) >> 3 << 17 | (m) >> 4 << 24)
"""
PAIRS = (
    MACROS.replace("cta_group::1", "cta_group::2")
    + r"""
#define CLUSTER_SYNC asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory")
#define RELAXED_SYNC asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory")
#define COMMIT_TO(b, mask) asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster" \
    ".multicast::cluster.b64 [%0], %1;" :: "r"(AT(b)), "h"((short)(mask)) : "memory")
#define COPY_TO(to, map, x, y, b) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global" \
    ".mbarrier::complete_tx::bytes.cta_group::2 [%0], [%1, {%2, %3}], [%4];" \
    :: "r"(AT(to)), "l"(map), "r"(x), "r"(y), "r"(b) : "memory")
"""
)
ASK = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
QUERY = "clusterlaunchcontrol.query_cancel"
CLC = f"""{MACROS}
#define CLUSTER asm volatile("barrier.cluster.arrive.aligned;\\nbarrier.cluster.wait.aligned;" ::: "memory")
#define TRY(to, b) asm volatile("{ASK}.b128 [%0], [%1];" :: "r"(AT(to)), "r"(AT(b)) : "memory")
#define TRY_FOR_ALL(to, b) asm volatile("{ASK}.multicast::cluster::all.b128 [%0], [%1];" \\
    :: "r"(AT(to)), "r"(AT(b)) : "memory")
#define READ(more, x, y, from) asm volatile("{{\\n.reg .b128 answer;\\n.reg .pred p;\\n" \\
    "ld.shared.b128 answer, [%3];\\n" \\
    "{QUERY}.is_canceled.pred.b128 p, answer;\\nselp.u32 %0, 1, 0, p;\\n" \\
    "@p {QUERY}.get_first_ctaid.v4.b32.b128 {{%1, %2, _, _}}, answer;\\n}}" \\
    : "=r"(more), "+r"(x), "+r"(y) : "r"(AT(from)) : "memory")
"""
ALONE = """
    unsigned t = threadIdx.x, x = blockIdx.x, y = blockIdx.y, phase = 0, more = 1;
    __shared__ alignas(16) uint4 answer;
    __shared__ u64 came;
    if (t == 0) { INIT(&came, 1); INIT_FENCE; }
    __syncthreads();
    while (more) {
        if (t == 0) {
            EXPECT(&came, 16);
            TRY(&answer, &came);
        }
        out[(y * gridDim.x + x) * 64 + t] += 1 + x;
        WAIT(&came, phase);
        phase ^= 1;
        READ(more, x, y, &answer);
        FENCE_ASYNC;
        __syncthreads();
    }
"""
TOGETHER = """
    unsigned t = threadIdx.x, rank = blockIdx.x % 2, x = blockIdx.x - rank, y = blockIdx.y, phase = 0, more = 1;
    __shared__ alignas(16) uint4 answer;
    __shared__ u64 came;
    if (t == 0) { INIT(&came, 1); INIT_FENCE; }
    while (more) {
        CLUSTER;
        if (t == 0) {
            EXPECT(&came, 16);
            if (rank == 0) TRY_FOR_ALL(&answer, &came);
        }
        out[(y * gridDim.x + x + rank) * 64 + t] += 1 + x + rank;
        WAIT(&came, phase);
        phase ^= 1;
        READ(more, x, y, &answer);
        FENCE_ASYNC;
    }
    CLUSTER;
"""
"""Persistent blocks that take over the tiles of blocks, or of clusters of two, that have not begun."""
