"""For each sentence of ptxsim/races/sentences.py a kernel that gets it, and the same kernel mended as it says.

A body has both forms: `$faulty$mended$`. Where a sentence names two ways out, each has a row.
"""

import re
from dataclasses import dataclass

from tests.kernels.blackwell import MACROS as MACROS_OF_BLACKWELL
from tests.kernels.blackwell import OPTIONS as BLACKWELL
from tests.kernels.hopper_wrong import MACROS
from tests.ptxsim.units.test_mbarrier import OPS

FORMS = re.compile(r"\$(.*?)\$(.*?)\$", re.S)
HOPPER = ("-arch=sm_90a",)
IN_TENSOR_MEMORY = """
unsigned w = t / 32, v[4] = {t, t, t, t};
__shared__ unsigned at;
__shared__ u64 done;
if (w == 0) ALLOC(&at, 64);
if (t == 0) { INIT(&done, 1); INIT_FENCE; }
__syncthreads();
unsigned mine = at + (w % 4 * 32 << 16);
"""
GIVEN_BACK = "\n__syncthreads(); if (w == 0) FREE(at, 64);"
ONES = """
__shared__ alignas(1024) unsigned A[128 * 8], B[64 * 8];
for (unsigned i = t; i < 128 * 8; i += 256) A[i] = B[i / 2] = 0x3C003C00;
FENCE_ASYNC;
__syncthreads();
if (t == 0) { MMA(at, PLAIN(A, 128), PLAIN(B, 64), WHAT(128, 64), 0); COMMIT(&done); }
"""
BULK = r"""
#define STORE(g, b, n) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" \
    :: "l"(g), "r"(SHARED(b)), "r"(n) : "memory")
#define LOAD(b, g, n, bar) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes " \
    "[%0], [%1], %2, [%3];" :: "r"(SHARED(b)), "l"(g), "r"(n), "r"(SHARED(bar)) : "memory")
#define COMMIT_BULK asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(n) : "memory")
#define WAIT_ALL(n) asm volatile("cp.async.bulk.wait_group %0;" :: "n"(n) : "memory")
#define PROXY asm volatile("fence.proxy.async;" ::: "memory")
#define ALL_COPIES asm volatile("cp.async.wait_all;" ::: "memory")
#define CLUSTER asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")
__device__ int peer(const void* p, unsigned block)
{
    unsigned there, value;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(SHARED(p)), "r"(block));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory");
    return value;
}
"""


@dataclass(frozen=True)
class Mended:
    """`says`: of sentences.MENDS; `words` must stand in the message, too. `block`: threads of one, or `blocks`, of the
    faulty launch and of the mended one; `grids`: blocks of the two. `cluster`: blocks of one. `chance`: what the mended
    kernel leaves depends on the order. `shared`, `cooperative`, `steps` and `turns` of the two launches: as `launch`
    takes them. `bounds`: of the kernel's launch."""

    says: str
    body: str
    words: str = ""
    block: int = 64
    blocks: tuple = ()
    grids: tuple[int, int] = (1, 1)
    before: str = ""
    options: tuple[str, ...] = ()
    cluster: int = 1
    chance: bool = False
    shared: tuple[int, int] = (0, 0)
    cooperative: tuple[bool, bool] = (False, False)
    steps: tuple[int | None, int | None] = (None, None)
    turns: tuple[str | None, str | None] = (None, None)
    bounds: str = ""

    def form(self, mended: bool) -> str:
        return FORMS.sub(lambda found: found[1 + mended], self.body)


def blackwell(says: str, body: str, *words: str) -> Mended:
    body = f"{IN_TENSOR_MEMORY}{body}{GIVEN_BACK}".replace(
        "__syncthreads()", "BEFORE; __syncthreads(); AFTER"
    )
    return Mended(says, body, *words, block=256, before=MACROS_OF_BLACKWELL,
                  options=BLACKWELL)  # fmt: skip


def hopper(says: str, body: str, *words: str, **more) -> Mended:
    return Mended(says, body, *words, before=OPS + BULK, options=HOPPER, **more)


TILE = "__shared__ int tile[128];\n"
ZERO = "if (t == 0) s = 0;\n__syncthreads();\n"
S = "__shared__ int s;\n" + ZERO
READ = "\n__syncthreads();\nif (t == 0) out[0] = s;"
QUEUE = """
__shared__ int queue[4];
__shared__ volatile int head, tail;
if (t == 0) head = tail = 0;
__syncthreads();
if (t == 0) for (int i = 0; i < 20; ++i) {
    while (i - tail >= 4) { }
    FENCE queue[i % 4] = in[i]; FENCE
    head = i + 1;
}
if (t == 32) for (int i = 0; i < 20; ++i) {
    while (head <= i) { }
    FENCE out[i] = queue[i % 4]; FENCE
    tail = i + 1;
}
""".replace("FENCE", "$$__threadfence_block();$")
LOCK = """
int* lock = out + 99; int* n = out + 98;
if (t % 32 == 0) {
while (atomicCAS(lock, -1, 1) != -1) { }
TAKEN *n += 1; GIVEN
atomicExch(lock, -1); }
"""
FENCE, ADDED, NARROW = "__threadfence();", "$$__threadfence();$", "$__threadfence_block();$__threadfence();$"
FLAG = """
int *y = out, *flag = out + 64;
if (t == 0 && blockIdx.x == 0) { y[0] = 5; THERE atomicExch(flag, 1); }
if (t == 0 && blockIdx.x == 1) { while (atomicAdd(flag, 0) != 1) { } HERE y[1] = y[0]; }
"""
ELECTED = """
__shared__ u64 full; __shared__ int w[128];
if (t == 0) init(&full, 1);
__syncthreads();
if (t < 64) { w[t] = in[t]; $$BARRIER;$ if (t == 0) arrive(&full); }
else { wait(&full, 0); out[t] = w[127 - t]; }
"""
TO_ANOTHER = """
__shared__ int last; out[64 * blockIdx.x + t] = in[t]; $$__syncthreads();$
if (t == 0) { __threadfence(); last = atomicAdd(out + 255, 1); __threadfence(); }
__syncthreads(); if (last == 0) out[128 + t] = out[t] + out[64 + t];
"""
WGMMA = (
    MACROS.replace("+= 128", "+= blockDim.x")
    .replace("unsigned t = threadIdx.x;", "")
    .replace("ARRIVE(", "COME(")
)
FREED = """
TILES; __shared__ u64 empty;
if (t == 0) INIT(&empty, 128);
FENCE_ASYNC;
__syncthreads();
if (t < 128) {
    WG_FENCE; WGMMA(d, a, b, 0); WG_COMMIT;
    $COME(&empty); WG_WAIT(0);$WG_WAIT(0); COME(&empty);$
    out[t] = d[0];
} else if (t == 128) {
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p;\\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\\nselp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(AT(&empty)) : "memory");
    A[0] = 1;
}
"""
COPIED = TILE + "COPY(&tile[t], in + t); "
LOADED = """
__shared__ alignas(128) int b[64]; __shared__ u64 full;
if (t == 0) init(&full, 1);
__syncthreads();
if (t == 0) { expect(&full, 256); LOAD(b, in, 256, &full); }
"""
STORED = """
__shared__ alignas(128) int b[64];
b[t] = t; PROXY; __syncthreads();
"""

HEARD = """
if (t == 0 && blockIdx.x == 1) { while (atomicAdd(out + 99, 0) != 1) { } __threadfence(); out[98] = out[1]; }
"""

CASES = [
    # ---- a barrier
    Mended("barrier", TILE + "tile[t] = t; $$__syncthreads();$ out[t] = tile[63 - t];", "A __syncthreads()"),
    Mended("barrier", TILE + "tile[t] = t; __syncthreads(); out[t] = tile[63 - t]; $$__syncthreads();$ tile[t] = 0;",
           "between that read and this write"),
    Mended("barrier", TILE + "tile[t] = t; $$__syncwarp();$ out[t] = tile[t ^ 1];", "A __syncwarp()"),
    Mended("barrier", "volatile " + TILE + "tile[t] = t; $$__syncwarp();$ out[t] = tile[t ^ 1];",
           "no order either. A __syncwarp()"),
    Mended("barrier-outside", S + "if (t == 5) s = 7; $$__syncthreads();$ if (t == 40) out[0] = s;",
           "all threads of the block come"),
    Mended("barrier-outside", TILE + "tile[t] = t; $$__syncthreads();$ if (t < 20) out[t] = tile[t + 40];"),
    Mended("barrier-outside", S + "if (t == 5) s = 7; $$__syncwarp();$ if (t == 6) out[0] = s;",
           "all threads of the warp come"),
    Mended("syncwarp-of-some", TILE + "$$unsigned mask = __ballot_sync(0xffffffff, in[t] % 32 < 16);$"
           "if (in[t] % 32 < 16) { tile[t] = t; $$__syncwarp(mask);$ out[t] = tile[t ^ 1]; }", "here it is 0xffff"),
    Mended("two-branches", "__shared__ int s[64]; s[t] = in[t]; __syncthreads();\n"
           "for (int d = 1; d < 64; d *= 2) { int v = 0; $if (t >= d) s[t] += s[t - d];$"
           "if (t >= d) v = s[t - d]; __syncthreads(); if (t >= d) s[t] += v;$\n__syncthreads(); } out[t] = s[t];",
           "between that read and this write"),
    Mended("two-branches", TILE + "$if (t % 64 < 20) { tile[t] = t; out[t] = tile[(t + 64) % 128]; }"
           "$if (t % 64 < 20) tile[t] = t; __syncthreads(); if (t % 64 < 20) out[t] = tile[(t + 64) % 128];$",
           block=128),
    Mended("two-branches", TILE + "$for (int i = t; i < 96; i += 64) { tile[i] = i; out[i] = tile[(i + 32) % 96]; }"
           "$for (int i = t; i < 96; i += 64) tile[i] = i;\n__syncthreads();\n"
           "for (int i = t; i < 96; i += 64) out[i] = tile[(i + 32) % 96];$"),
    Mended("bar.sync", TILE + "if (t < 64) { tile[t] = t; $$asm volatile(\"bar.sync 1, 64;\" ::: \"memory\");$ "
           "out[t] = tile[t ^ 32]; }", "the 2 warps that take it", block=128),
    # ---- two writers
    Mended("one-writer", "__shared__ int s;\n$s = t;$if (t == 63) s = t;$\n__syncthreads(); out[t] = s;"),
    Mended("one-writer", TILE + "$tile[t / 2] = t;$tile[t] = t;$\n__syncthreads(); out[t] = tile[t];"),
    Mended("one-writer-or", S + "if (t == 5) s = 7;\n$$__syncthreads();$\nif (t == 40) s = 8;" + READ),
    Mended("one-writer-or", S + "$if (t == 5) s = 7;$$\nif (t == 40) s = 8;" + READ),
    # ---- updates
    Mended("atomic", S + "$s += 1;$atomicAdd(&s, 1);$" + READ, ": atomicAdd()"),
    Mended("atomic", S + "$s += 1;$atomicAdd(&s, 1);$" + READ, ": atomicAdd()", block=32),
    Mended("atomic", S + "$s -= t;$atomicSub(&s, t);$" + READ, ": atomicSub()"),
    Mended("atomic", S + "$s = max(s, in[t]);$atomicMax(&s, in[t]);$" + READ, ": atomicMax()"),
    Mended("atomic", S + "$s |= 1 << t % 32;$atomicOr(&s, 1 << t % 32);$" + READ, ": atomicOr()"),
    Mended("atomic", S + "$if (in[t] > s) s = in[t];$atomicMax(&s, in[t]);$" + READ, "in place of the test"),
    Mended("atomic", "__shared__ float s;\n" + ZERO + "$s -= t;$atomicAdd(&s, -float(t));$" + READ,
           "atomicAdd() of the negative value"),
    Mended("atomic", S + "$s = s * 3 + 1;$int old = s, was; do { was = old; old = atomicCAS(&s, was, was * 3 + 1); } "
           "while (old != was);$".replace("old = s,", "old = atomicAdd(&s, 0),") + READ, "atomicCAS(), in a loop"),
    Mended("atomic", "__shared__ unsigned long long s;\n" + ZERO + "$s += t;$atomicAdd(&s, (unsigned long long)t);$"
           + READ, "as unsigned long long"),
    Mended("atomic", "__shared__ $short$int$ s;\n" + ZERO + "$s += 1;$atomicAdd(&s, 1);$" + READ, "of 32 bits"),
    Mended("atomic", "$out[in[t] % 7] += 1;$atomicAdd(&out[in[t] % 7], 1);$"),
    Mended("atomic", "$out[t] += 1;$atomicAdd(&out[t], 1);$", grids=(3, 3)),
    Mended("atomic", "if (t == 0) { bool last = $out[0]$atomicAdd(out, 1)$ + 2 == gridDim.x; "
           "$out[0] += 1;$$ if (last) out[1] = 7; }", grids=(3, 3)),
    Mended("atomic", "volatile int* y = out; $y[0] += t;$atomicAdd(out, t);$", "no order either"),
    Mended("atomic-too", S + "if (t < 32) atomicAdd(&s, 1); else if (t == 40) $s += 5;$atomicAdd(&s, 5);$" + READ),
    Mended("read-by-atomic", S + "$if (in[t] > s)$$ atomicMax(&s, in[t]);" + READ),
    Mended("read-by-atomic", "if (in[t] > $out[0]$atomicAdd(out, 0)$) atomicMax(out, in[t]);", grids=(2, 2)),
    Mended("wider-scope", "$atomicAdd_block(out, 1);$atomicAdd(out, 1);$", "its block alone", grids=(3, 3)),
    Mended("wider-scope", "cuda::atomic_ref<int, cuda::thread_scope_$block$device$> n(out[0]); "
           "n.fetch_add(1, cuda::memory_order_relaxed);", before="#include <cuda/atomic>\n", grids=(3, 3)),
    hopper("wider-scope", "asm volatile(\"red.relaxed.$cluster$gpu$.global.add.u32 [%0], 1;\" :: \"l\"(out) : "
           "\"memory\");", "its cluster alone", grids=(4, 4), cluster=2),
    # ---- flags of one block
    Mended("flag", QUEUE, "there between that write and the setting, here between the wait and this read"),
    Mended("flag", "__shared__ int v; __shared__ volatile int ready; if (t == 0) ready = 0; __syncthreads();\n"
           "if (t == 0) { v = in[5]; $$__threadfence_block();$ ready = 1; }\n"
           "if (t == 32) { while (!ready) { } $$__threadfence_block();$ out[0] = v; }"),
    Mended("flag", "__shared__ int v, ready; if (t == 0) ready = 0; __syncthreads();\n"
           "if (t == 0) { v = in[5]; $$__threadfence_block();$ atomicExch(&ready, 1); }\n"
           "if (t == 32) { while (atomicAdd(&ready, 0) == 0) { } $$__threadfence_block();$ out[0] = v; }"),
    Mended("wgmma-read", FREED, block=160, before=WGMMA, options=HOPPER),
    hopper("elected-in-warp", ELECTED.replace("t < 64", "t < 32").replace("127", "63")
           .replace("BARRIER", "__syncwarp()"), "a __syncwarp() is missing"),
    hopper("elected", ELECTED.replace("BARRIER", 'asm volatile("bar.sync 1, 64;" ::: "memory")'), block=128),
    hopper("elected", ELECTED.replace("$$BARRIER;$ if (t == 0) arrive(&full);",
                                      "$if (t == 0) arrive(&full);$arrive(&full);$")
           .replace("init(&full, 1)", "init(&full, $1$64$)"), "every thread arrives for itself", block=128),
    Mended("elected-in-block", TO_ANOTHER, "a __syncthreads() (where only one warp", grids=(2, 2), chance=True),
    Mended("left-out", TILE + "tile[t] = t;\n$if (t < 32)$$\n$BAR(1, 32)$__syncthreads()$;\nout[t] = tile[t ^ 32];"),
    Mended("barrier-in-branch", TILE + "tile[t] = t;\n$if (t != 5)$$\n__syncthreads();\nout[t] = tile[63 - t];"),
    Mended("one-barrier-for-all", TILE + "if (t < 32) {\ntile[t] = 1; $__syncthreads();$$\n} else {\ntile[t] = 2; "
           "$__syncthreads();$$\n}\n$$__syncthreads();$\nout[t] = tile[63 - t];"),
    Mended("mask-of-branch", "$$int v = __shfl_xor_sync(~0u, t, 1);$\n"
           "if (t < 20) out[t] = $__shfl_xor_sync(~0u, t, 1)$v$;\nout[t + 64] = t;", block=32),
    Mended("mask-of-branch", "unsigned mask = $~0u$__ballot_sync(~0u, t < 20)$;\n"
           "if (t < 20) out[t] = __shfl_xor_sync(mask, t, 1);\nout[t + 64] = t;", block=32),
    # ---- locks
    Mended("lock", LOCK.replace("TAKEN", FENCE).replace("GIVEN", ADDED), "before it is given back", block=96),
    Mended("lock", LOCK.replace("GIVEN", FENCE).replace("TAKEN", ADDED), "behind the taking", grids=(3, 3)),
    Mended("lock-twice", LOCK.replace("GIVEN", ADDED).replace("TAKEN", ADDED), block=96),
    # ---- two blocks
    Mended("fence-behind-flag", FLAG.replace("THERE", FENCE).replace("HERE", ADDED), grids=(2, 2)),
    Mended("no-flag", FLAG.replace("atomicExch(flag, 1);", "$$atomicExch(flag, 1);$")
           .replace("while (atomicAdd(flag, 0) != 1) { }", "$$while (atomicAdd(flag, 0) != 1) { }$")
           .replace("THERE", FENCE).replace("HERE", ADDED), grids=(2, 2)),
    Mended("blocks", FLAG.replace("THERE", ADDED).replace("HERE", ADDED), grids=(2, 2)),
    Mended("blocks-fenced-here", FLAG.replace("THERE", ADDED).replace("HERE", FENCE), grids=(2, 2)),
    Mended("narrow-fence", FLAG.replace("THERE", NARROW).replace("HERE", NARROW), grids=(2, 2)),
    Mended("narrow-fence", FLAG.replace("THERE", NARROW).replace("HERE", FENCE), grids=(2, 2)),
    Mended("narrow-fence", FLAG.replace("THERE", ADDED).replace("HERE", NARROW), grids=(2, 2)),
    Mended("one-block-writes", "$$if (blockIdx.x == 0)$ out[t] = blockIdx.x;", grids=(2, 2)),
    Mended("one-block-writes", "out[$t$blockIdx.x * 64 + t$] = blockIdx.x;", grids=(2, 2)),
    hopper("cluster", TILE + "tile[t] = blockIdx.x; $__syncthreads()$CLUSTER$; out[64 * blockIdx.x + t] = "
           "peer(&tile[t], 1 - blockIdx.x % 2); CLUSTER;", grids=(2, 2), cluster=2),
    # ---- one place by mistake
    Mended("unread-index", TILE + "tile[t] = in[t]; out[t] = tile[t ^ in[0]];", "threadIdx.y, and the launch has 4",
           blocks=((16, 4), (16, 1))),
    Mended("unread-index", "out[t] = t; __syncthreads(); out[t + 64] = out[63 - t];", "blockIdx.x", grids=(2, 1)),
    Mended("wrapped-index", "int n = in[16] * 4096; $unsigned$size_t$ at = $$size_t$(in[blockIdx.x]) * n * n;\n"
           "if (at + t < 256) out[at + t] = blockIdx.x;", "65,536 * 65,536 = 4,294,967,296, of which they hold 0",
           grids=(2, 2)),
    Mended("overlap", "__shared__ double mem[128]; int* first = (int*)mem; double* second = mem + $4$32$;\n"
           "first[t] = t; second[t] = 1; __syncthreads(); out[t] = first[t];"),
    # ---- copies
    Mended("wait-for-group", COPIED + "COMMIT; $$WAIT(0); __syncthreads();$ out[t] = tile[t ^ 32];"),
    Mended("commit", COPIED + "$$COMMIT;$ WAIT(0); out[t] = tile[t];"),
    hopper("wait-first", COPIED + "$$ALL_COPIES; __syncthreads();$ out[t] = tile[t]; $ALL_COPIES;$$"),
    hopper("wait-before-barrier", COPIED + "$$ALL_COPIES;$ __syncthreads(); out[t] = tile[t ^ 32]; $ALL_COPIES;$$"),
    hopper("wait-before-copy", "__shared__ int tile[64];\n$ALL_COPIES;$$\nCOPY(&tile[t], in + t);\n$$ALL_COPIES;$\n"
           "__syncthreads(); out[t] = tile[t ^ 32];"),
    hopper("wait-passed-by", COPIED + "\n$if (t < 32)$$ ALL_COPIES;\n__syncthreads(); out[t] = tile[t ^ 32];"),
    Mended("barrier-behind-wait", COPIED + "COMMIT; $__syncthreads(); WAIT(0);$WAIT(0); __syncthreads();$ "
           "out[t] = tile[t ^ 32];"),
    hopper("wait-for-phase", LOADED + "$$wait(&full, 0);$ out[t] = b[t]; wait(&full, 0);"),
    hopper("wrong-parity", LOADED + "wait(&full, $1$0$); out[t] = b[t]; wait(&full, 0);", "a fresh mbarrier"),
    hopper("wrong-parity", LOADED + "wait(&full, 0); out[t] = b[t]; PROXY; __syncthreads();\n"
           "if (t == 0) { expect(&full, 256); LOAD(b, in + 64, 256, &full); }\n__syncthreads();\n"
           "wait(&full, $0$1$); out[t] += b[t]; wait(&full, 1);", "the phase before"),
    hopper("wait-for-store", STORED + "if (t == 0) { STORE(out, b, 256); COMMIT_BULK; $WAIT_READ(0)$WAIT_ALL(0)$; "
           "out[64] = out[5]; WAIT_ALL(0); }"),
    hopper("source-still-read", STORED + "if (t == 0) { STORE(out, b, 256); COMMIT_BULK; $$WAIT_READ(0);$ b[3] = 9; "
           "WAIT_READ(0); }"),
    hopper("store-still-reads", "__shared__ u64 full; if (t == 0) init(&full, 1);" + STORED +
           "if (t == 0) { STORE(out, b, 256); COMMIT_BULK; $$WAIT_READ(0);$ expect(&full, 256); "
           "LOAD(b, in, 256, &full); wait(&full, 0); WAIT_READ(0); }"),
    hopper("store-read", STORED + "if (t == 0 && blockIdx.x == 0) { STORE(out, b, 256); COMMIT_BULK; "
           "$WAIT_READ(0)$WAIT_ALL(0)$; __threadfence(); atomicExch(out + 99, 1); }" + HEARD,
           "wait_group.read alone", grids=(2, 2)),
    hopper("store-unwaited", STORED + "if (t == 0 && blockIdx.x == 0) { STORE(out, b, 256); COMMIT_BULK; "
           "$$WAIT_ALL(0);$ __threadfence(); atomicExch(out + 99, 1); }" + HEARD,
           grids=(2, 2)),
    # ---- tensor memory
    blackwell("wait-for-product", ONES + "$__syncthreads()$WAIT(&done, 0)$; AFTER;\n"
              "LD(v, mine); WAIT_LD; out[t] = v[0];"),
    blackwell("wait-for-tensor-store", "if (w == 0) { ST(mine, v); $$WAIT_ST;$ }\n__syncthreads();\n"
              "if (w == 4) { LD(v, mine); WAIT_LD; out[t] = v[0]; }"),
    blackwell("order-in-tensor-memory", "if (w == 0) { ST(mine, v); WAIT_ST; }\n__syncthreads();\n"
              "if (w == 4) { LD(v, mine); WAIT_LD; out[t] = v[0]; }\n$$__syncthreads();$\n"
              "if (w == 0) { ST(mine, v); WAIT_ST; }", "tcgen05.wait::ld"),
    # ---- proxies and caches
    hopper("proxy-fence", "__shared__ alignas(128) int b[64];\nb[t] = t; $$PROXY;$ __syncthreads();\n"
           "if (t == 0) { STORE(out, b, 256); COMMIT_BULK; WAIT_READ(0); }"),
    hopper("proxy-fence-read", LOADED + "wait(&full, 0); out[t] = b[t]; $$PROXY;$ __syncthreads();\n"
           "if (t == 0) { expect(&full, 256); LOAD(b, in + 64, 256, &full); }\nwait(&full, 1);"),
    Mended("read-only-cache", "out[t] = t; __syncthreads(); out[t + 64] = $__ldg(out + 63 - t)$out[63 - t]$;"),
]  # fmt: skip
