"""mbarriers, the copy engine, wgmma, clusters."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import ptxsim
from tests.bugs.case import BULK, HOPPER, Case, ints, nans, told_by

CASES = []


def case(name, report, body, *a, **k):
    CASES.append(Case(name, report, BULK + body, *a, options=HOPPER, **k))


WG = r"""
__device__ __forceinline__ u64 desc(const void* p, unsigned lbo, unsigned sbo) {
    return (u64)((at(p) & 0x3FFFF) >> 4) | (u64)(lbo / 16) << 16 | (u64)(sbo / 16) << 32;
}
#define MMA_D(d, a, b, keep) asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; }" \
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b), "r"(keep) : "memory")
#define MMA_FENCE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define MMA_COMMIT() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define MMA_WAIT(n) asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory")
#define PUT(y, d, t) for (int e = 0; e < 4; ++e) y[((t) / 32 * 16 + (t) % 32 / 4 + e / 2 * 8) * 8 + (t) % 4 * 2 + e % 2] = d[e]
"""


def tiles(n, seed=3):
    """n tiles of A (64 x 16) and of B (8 x 16), as wgmma reads them; the sum of their products."""
    a, b = ints((n, 64, 16), seed, "f2"), ints((n, 8, 16), seed + 1, "f2")
    product = np.einsum("nik,njk->ij", a.astype("f4"), b.astype("f4")).reshape(-1)
    return np.concatenate([cores(a), cores(b)], 1), product.astype("f4")


def cores(matrices):
    """In core matrices of 8 x 8."""
    n, rows, _ = matrices.shape
    return matrices.reshape(n, rows // 8, 8, 2, 8).transpose(0, 1, 3, 2, 4).reshape(n, -1)


case(
    "one mbarrier a step, awaited with the parity of the step",
    "tile-ai/tilelang#2927",
    r"""
extern "C" __global__ void k(const float* x, float* y) {
    __shared__ alignas(128) float buf[4][128];
    __shared__ alignas(8) u64 bar[4];
    int t = threadIdx.x;
    if (t == 0) { for (int s = 0; s < 4; ++s) INIT(&bar[s], 1); PROXY(); }
    __syncthreads();
    float sum = 0;
    for (int s = 0; s < 4; ++s) {
        if (t == 0) { EXPECT(&bar[s], 512); LOAD(buf[s], x + s * 128, 512, &bar[s]); }
        wait(&bar[s], «s & 1¦0»); //@w
        sum += buf[s][127 - t]; //@r
    }
    y[t] = sum;
}""",
    lambda m: (ints((4, 128)), nans(128)),
    lambda a: [(1, a[0].reshape(4, 128).sum(0)[::-1].astype("f4"))],
    ("phase-not-awaited", "unwaited-copy"),
    "r",
    block=128,
    words=("parity",),
)  # before the first run: ("parity", "phase"); "Wait for the phase of its mbarrier" matched, with the wait one line above

case(
    "mbarrier's memory used again for data, without mbarrier.inval",
    "triton-lang/triton#10106",
    r"""
extern "C" __global__ void k(const float* x, float* y) {
    __shared__ alignas(128) float buf[128];
    __shared__ alignas(16) union { u64 bar; float scratch[4]; } u;
    int t = threadIdx.x;
    if (t == 0) { INIT(&u.bar, 1); PROXY(); }
    __syncthreads();
    if (t == 0) { EXPECT(&u.bar, 512); LOAD(buf, x, 512, &u.bar); }
    wait(&u.bar, 0);
    __syncthreads();
    «¦if (t == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(at(&u.bar)) : "memory"); __syncthreads();»
    if (t < 4) u.scratch[t] = buf[t]; //@s
    __syncthreads();
    y[t] = u.scratch[t % 4]; //@r
}""",
    lambda m: (ints(128), nans(128)),
    lambda a: [(1, np.tile(a[0][:4], 32))],
    ("mbarrier-as-data", "mbarrier"),
    "s r",
    block=128,
    words=("inval",),
)

case(
    "the wait stands outside the branch that copies: a round without a copy hangs",
    "tile-ai/tilelang#3137, #2002",
    r"""
extern "C" __global__ void k(const float* x, const int* use, float* y, int n) {
    __shared__ alignas(128) float buf[128];
    __shared__ alignas(8) u64 full;
    int t = threadIdx.x, done = 0;
    if (t == 0) { INIT(&full, 1); PROXY(); }
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < n; ++i) {
        if (use[i]) {
            if (t == 0) { EXPECT(&full, 512); LOAD(buf, x + i * 128, 512, &full); }
            «} wait(&full, i & 1); {¦wait(&full, done++ & 1);» //@w
            «if (use[i])¦» sum += buf[127 - t];
        }
        PROXY();
        __syncthreads();
    }
    y[t] = sum;
}""",
    lambda m: (ints((4, 128)), np.array([1, 0, 1, 1], "i4"), nans(128), np.int32(4)),
    lambda a: [(2, (a[0] * a[1][:, None]).sum(0)[::-1].astype("f4"))],
    ("missing-arrival", "deadlock", "missing-arrivals-and-bytes"),
    "w",
    block=128,
    words=("arriv",),
)

case(
    "wgmma whose A is the end of the shared memory: legal (compute-sanitizer called it out of bounds)",
    "NVIDIA/compute-sanitizer-samples#19",
    WG
    + r"""
extern "C" __global__ void k(const float4* x, float* y) {
    extern __shared__ __align__(128) float4 mem[];
    int t = threadIdx.x;
    float4 *b = mem, *a = mem + 16;
    for (int i = t; i < 128; i += 128) a[i] = x[i];
    if (t < 16) b[t] = x[128 + t];
    PROXY();
    __syncthreads();
    float d[4];
    MMA_FENCE();
    MMA_D(d, desc(a, 128, 256), desc(b, 128, 256), 0);
    MMA_COMMIT(); MMA_WAIT(0);
    PUT(y, d, t);
}""",
    lambda m: (tiles(1)[0].view("f4").reshape(-1), nans(512)),
    lambda a: [(1, tiles(1)[1])],
    block=128,
    shared=144 * 16,
    only_mended=True,
)

case(
    "sums never set to zero, the first wgmma has scale-d = 0: legal",
    "pranjalssh/fast.cu#10, tile-ai/tilelang#235",
    WG
    + r"""
extern "C" __global__ void k(const float4* x, float* y, int n) {
    __shared__ alignas(128) float4 tile[3][144];
    int t = threadIdx.x;
    for (int i = t; i < 144 * n; i += 128) tile[i / 144][i % 144] = x[i];
    PROXY();
    __syncthreads();
    float d[4];
    MMA_FENCE();
    for (int i = 0; i < n; ++i) MMA_D(d, desc(tile[i], 128, 256), desc(tile[i] + 128, 128, 256), «1¦(int)(i > 0)»); //@m
    MMA_COMMIT(); MMA_WAIT(0);
    PUT(y, d, t);
}""",
    lambda m: (tiles(3)[0].view("f4").reshape(-1), nans(512), np.int32(3)),
    lambda a: [(1, tiles(3)[1])],
    ("sums-not-set", "uninitialised-read"),
    "m",
    block=128,
)


TMA = r"""
struct alignas(64) Map { char bytes[128]; };
#define TENSOR(to, m, c, r, b) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" :: "r"(at(to)), "l"(m), "r"(c), "r"(r), "r"(at(b)) : "memory")
"""


case(
    "box over the edge of the matrix, whole box expected: legal, zeros (a reviewer called it a read past the end)",
    "flashinfer-ai/flashinfer#3424 (review)",
    TMA
    + r"""
extern "C" __global__ void k(const __grid_constant__ Map m, float* y) {
    __shared__ alignas(128) float buf[8 * 32];
    __shared__ alignas(8) u64 full;
    int t = threadIdx.x;
    if (t == 0) { INIT(&full, 1); PROXY(); }
    __syncthreads();
    if (t == 0) { EXPECT(&full, «640¦1024»); TENSOR(buf, &m, 0, 15, &full); }
    wait(&full, 0); //@w
    for (int i = t; i < 256; i += 32) y[i] = buf[i];
}""",
    lambda m: (ptxsim.TensorMap(ints((20, 32)), (8, 32)), nans(256)),
    lambda a: [(1, np.concatenate([ints((20, 32))[15:].reshape(-1), np.zeros(96, "f4")]))],
    ("mbarrier", "deadlock", "missing-bytes", "too-many-bytes", "unwaited-copy"),
    "w",
    words=("bytes",),
    why="PTX ISA: complete_tx counts the whole box, out-of-bounds elements too; expecting the 5 rows alone is wrong",
)

case(
    "tensor map as an ordinary pointer to global memory that this launch has changed, no tensormap fence",
    "NVIDIA/cutlass#3091, llvm/llvm-project#133218",
    TMA
    + r"""
extern "C" __global__ void k(const __grid_constant__ Map m, Map* copy, float* y) {
    __shared__ alignas(128) float buf[8 * 32];
    __shared__ alignas(8) u64 full;
    int t = threadIdx.x;
    «copy->bytes[t] = m.bytes[t]; copy->bytes[t + 32] = m.bytes[t + 32]; copy->bytes[t + 64] = m.bytes[t + 64]; copy->bytes[t + 96] = m.bytes[t + 96];¦» //@c
    if (t == 0) { INIT(&full, 1); PROXY(); }
    __syncthreads();
    if (t == 0) { EXPECT(&full, 1024); TENSOR(buf, «copy¦&m», 0, 0, &full); } //@l
    wait(&full, 0);
    for (int i = t; i < 256; i += 32) y[i] = buf[i];
}""",
    lambda m: (ptxsim.TensorMap(ints((20, 32)), (8, 32)), np.zeros(128, "u1"), nans(256)),
    lambda a: [(2, ints((20, 32))[:8].reshape(-1))],
    ("missing-proxy-fence", "unsupported-instruction"),
    "l",
    words=("tensormap", "proxy"),
    why="PTX ISA: the tensormap proxy; fence.proxy.tensormap::generic is needed",
)

case(
    "the same with fence.proxy.tensormap between: legal",
    "llvm/llvm-project#133218, NVIDIA/cudnn-frontend#898",
    TMA
    + r"""
extern "C" __global__ void k(const __grid_constant__ Map m, Map* copy, float* y) {
    __shared__ alignas(128) float buf[8 * 32];
    __shared__ alignas(8) u64 full;
    int t = threadIdx.x;
    copy->bytes[t] = m.bytes[t]; copy->bytes[t + 32] = m.bytes[t + 32]; copy->bytes[t + 64] = m.bytes[t + 64]; copy->bytes[t + 96] = m.bytes[t + 96];
    if (t == 0) { INIT(&full, 1); PROXY(); }
    __syncthreads();
    if (t == 0) {
        asm volatile("fence.proxy.tensormap::generic.release.gpu; fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(copy) : "memory");
        EXPECT(&full, 1024); TENSOR(buf, copy, 0, 0, &full);
    }
    wait(&full, 0);
    for (int i = t; i < 256; i += 32) y[i] = buf[i];
}""",
    lambda m: (ptxsim.TensorMap(ints((20, 32)), (8, 32)), np.zeros(128, "u1"), nans(256)),
    lambda a: [(2, ints((20, 32))[:8].reshape(-1))],
    only_mended=True,
)

case(
    "zero sums, one fence, wgmma behind an if: legal (smallest form of the loop above)",
    "NVIDIA/Fuser#3139 (reduced)",
    WG
    + r"""
extern "C" __global__ void k(const float4* x, float* y, int n) {
    __shared__ alignas(128) float4 tile[144];
    int t = threadIdx.x;
    for (int i = t; i < 144; i += 128) tile[i] = x[i];
    PROXY();
    __syncthreads();
    float d[4] = {0, 0, 0, 0};
    MMA_FENCE();
    if (n) { MMA_D(d, desc(tile, 128, 256), desc(tile + 128, 128, 256), 1); MMA_COMMIT(); }
    MMA_WAIT(0);
    PUT(y, d, t);
}""",
    lambda m: (tiles(1)[0].view("f4").reshape(-1), nans(512), np.int32(1)),
    lambda a: [(1, tiles(1)[1])],
    block=128,
    only_mended=True,
)


@dataclass
class MapRefused:
    """`faulty` makes a map that must be refused with one of the words; that of `mended` is right."""

    name: str
    report: str
    faulty: Callable
    mended: Callable
    words: tuple

    def told(self, messages):
        try:
            self.faulty()
        except ValueError as error:
            messages.append(str(error))
            return told_by(str(error), self.words)
        return "MISSED"

    def told_mended(self, messages):
        self.mended()
        return "clean"


def zeros(shape, dtype="f2"):
    return np.zeros(shape, dtype)


CASES += [
    MapRefused(
        "rows of 1733 floats: stride is no multiple of 16 bytes",
        "tile-ai/tilelang#1931, #460",
        lambda: ptxsim.TensorMap(zeros((64, 1733), "f4"), (8, 32)),
        lambda: ptxsim.TensorMap(zeros((64, 1736), "f4"), (8, 32)),
        ("16 bytes",),
    ),
    MapRefused(
        "row of the box wider than the swizzle",
        "tile-ai/tilelang#2630",
        lambda: ptxsim.TensorMap(zeros((64, 128)), (8, 48), 32),
        lambda: ptxsim.TensorMap(zeros((64, 128)), (8, 16), 32),
        ("swizzle",),
    ),
    MapRefused(
        "box of 512 rows",
        "NVIDIA/cutlass#947, NVIDIA/recsys-examples#86 (which only print all fields)",
        lambda: ptxsim.TensorMap(zeros((1024, 64)), (512, 64)),
        lambda: ptxsim.TensorMap(zeros((1024, 64)), (256, 64)),
        ("256",),
    ),
]

case(
    "bulk copy of 252 bytes (63 floats)",
    "tile-ai/tilelang#2506, #2646",
    r"""
extern "C" __global__ void k(const float* x, float* y) {
    __shared__ alignas(128) float buf[64];
    __shared__ alignas(8) u64 full;
    int t = threadIdx.x;
    if (t == 0) { INIT(&full, 1); PROXY(); }
    __syncthreads();
    if (t == 0) { EXPECT(&full, «252¦256»); LOAD(buf, x, «252¦256», &full); } //@l
    wait(&full, 0);
    if (t < 63) y[t] = buf[t];
}""",
    lambda m: (ints(64), nans(63)),
    lambda a: [(1, a[0][:63])],
    ("misaligned",),
    "l",
    block=64,
    words=("16",),
)

case(
    "bulk copy from an array that begins at byte 4",
    "NVIDIA/cccl#3198",
    r"""
extern "C" __global__ void k(const float* x, float* y) {
    __shared__ alignas(128) float buf[64];
    __shared__ alignas(8) u64 full;
    int t = threadIdx.x;
    if (t == 0) { INIT(&full, 1); PROXY(); }
    __syncthreads();
    if (t == 0) { EXPECT(&full, 256); LOAD(buf, x + «1¦4», 256, &full); } //@l
    wait(&full, 0);
    y[t] = buf[t];
}""",
    lambda m: (ints(72), nans(64)),
    lambda a: [(1, a[0][4:68])],
    ("misaligned",),
    "l",
    block=64,
    words=("16",),
)

case(
    "arrival at the peer's mbarrier with scope .cta: what it releases is not for the peer (its page calls this lenient)",
    "NVIDIA/cutlass#3647",
    r"""
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(float* g, float* y) {
    __shared__ alignas(8) u64 ready;
    int t = threadIdx.x;
    if (t == 0) { INIT(&ready, 32); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
    CLUSTER();
    if (rank() == 1) {
        g[t] = t + 1; //@w
        «asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" :: "r"(peer(&ready, 0)) : "memory");¦ARRIVE_AT(&ready, 0);»
    } else {
        «wait(&ready, 0);¦asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0; @p bra D; bra W; D: }" :: "r"(at(&ready)) : "memory");»
        y[t] = g[31 - t]; //@r
    }
    CLUSTER();
}""",
    lambda m: (np.zeros(32, "f4"), nans(32)),
    lambda a: [(1, np.arange(32, 0, -1, dtype="f4"))],
    ("block-conflict", "read-after-write"),
    "r w",
    grid=2,
)

case(
    "multicast mask names a third block of a cluster of two",
    "iree-org/wave#437, facebookexperimental/triton#2261 (mask from the wrong geometry)",
    r"""
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(const float* x, float* y) {
    __shared__ alignas(128) float buf[64];
    __shared__ alignas(8) u64 full;
    int t = threadIdx.x;
    if (t == 0) { INIT(&full, 1); asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); EXPECT(&full, 256); }
    CLUSTER();
    if (rank() == 0 && t == 0) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, [%2], %3;" :: "r"(at(buf)), "l"(x), "r"(at(&full)), "h"((short)«5¦3») : "memory"); //@l
    wait(&full, 0); //@w
    y[blockIdx.x * 64 + t] = buf[t];
    CLUSTER();
}""",
    lambda m: (ints(64), nans(128)),
    lambda a: [(1, np.tile(a[0], 2))],
    ("out-of-bounds", "no-such-block", "deadlock"),
    "l w",
    grid=2,
    block=64,
)
