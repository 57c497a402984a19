"""The same for what ends a launch, for addresses, and for values that nobody has set or written: a kernel that gets the
sentence, and the same kernel mended as it says. These sentences stand where they are made; `says` is a phrase of one.
"""

from tests.ptxsim.races.mended import HOPPER, Mended, hopper

GRID = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
WMMA = """#include <mma.h>
using namespace nvcuda::wmma;
#define LOAD(from, apart) { fragment<matrix_a, 16, 16, 16, half, row_major> a; load_matrix_sync(a, from, apart); \\
    out[t] = int(float(a.x[0])); }
"""
REGISTERS = """
#define DEC(n) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(n))
#define INC(n) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(n))
#define WGMMA_FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
"""
MMA = """asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
"{%0,%1,%2,%3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(in[t]), "r"(in[t]), "r"(in[t]), "r"(in[t]),
"r"(in[t]), "r"(in[t]));
"""
TWO = "__shared__ u64 bar; __shared__ alignas(128) int b[64];\nif (t == 0) init(&bar, $1$2$); __syncthreads();\n"
WAITS = "if (t == 0) { atomicAdd(out, 1); while (atomicAdd(out, 0) < int(ALL) - 1) { } }"
READY = "__shared__ u64 bar; if (t == 0) init(&bar, 64); __syncthreads();\n"
FUNCTIONS = """typedef int (*F)(int);
__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int once(int x) { return x; }
__device__ __noinline__ int sum(int x, int y) { return x + y; }
"""
BYTES = "__shared__ alignas(16) unsigned char s[256]; s[4 * t] = t; "


def bounded(says: str, body: str, *blocks: int) -> Mended:
    """With a number of registers at the launch."""
    bounds = f"__launch_bounds__({max(blocks)}, 1) "
    return Mended(says, body, blocks=(blocks[0], blocks[-1]), before=REGISTERS, options=HOPPER, bounds=bounds)


CASES = [
    # ---- deadlocks
    Mended("They wait for threads that never come. Barrier 1 of block 0 has 32 of 64 threads: threads 0 to 31 came, "
           "threads 32 to 63 have exited", "$if (t < 32) BAR(1, 64);$BAR(1, 64);$ out[t] = t;"),
    Mended("threads 32 to 63 wait elsewhere", "$if (t < 32) BAR(1, 64); else BAR(2, 64);$BAR(1, 64);$ out[t] = t;"),
    hopper("lacks 1 of 2 arrivals", "__shared__ u64 bar; if (t == 0) init(&bar, 2); __syncthreads();\n"
           "if (t == $0$0 || t == 32$) arrive(&bar); wait(&bar, 0); out[t] = t;"),
    hopper("for the end of phase 0", "__shared__ u64 bar; if (t == 0) init(&bar, 2); __syncthreads();\n"
           "if (t == $0$0 || t == 32$) { u64 s = arrive_state(&bar); while (!test(&bar, s)) { } }", "again and again"),
    hopper("was told to expect 512 bytes, of which 256 came", "__shared__ u64 bar; __shared__ alignas(128) int b[64];\n"
           "if (t == 0) init(&bar, 1); __syncthreads();\n"
           "if (t == 0) { expect(&bar, $512$256$); LOAD(b, in, 256, &bar); } wait(&bar, 0); out[t] = b[t];"),
    Mended("and nobody is left to change it", "__shared__ volatile int go; if (t == 0) go = 0; __syncthreads();\n"
           "if (t == 32) { while (!go) { } out[0] = 1; } $$if (t == 0) go = 1;$"),
    Mended("Each block of the grid must come to each grid.sync(), as often as all others",
           "auto grid = cg::this_grid(); for (int i = 0; i < $int(blockIdx.x) + 1$3$; ++i) grid.sync(); out[t] = 1;",
           "for the other blocks of the grid", before=GRID, grids=(3, 3), cooperative=(True, True)),
    Mended("1 blocks of the grid begin only when these have ended",
           WAITS.replace("ALL", "$2$blockIdx.x + 1$"), grids=(2, 2),
           turns=("up", "up")),
    Mended("give the launch at most 132 blocks", WAITS.replace("ALL", "gridDim.x"), "have not begun", block=32,
           grids=(134, 132), shared=(200 << 10, 200 << 10)),
    Mended("or let a block wait only for those of lower numbers", WAITS.replace("ALL", "$gridDim.x$blockIdx.x + 1$"),
           block=32, grids=(134, 134), shared=(200 << 10, 200 << 10)),
    Mended("goes round in the loop at line", "__shared__ int go; if (t == 0) go = 0; __syncthreads();\n"
           "$$volatile int* p = &go;$ if (t == 32) { while (!$go$*p$) { } out[0] = 1; }\n"
           "if (t == 0) $go$*p$ = 1;", "one that others write is volatile"),
    Mended("or is read by an atomic", "__shared__ int go; if (t == 0) go = 0; __syncthreads();\n"
           "if (t == 32) { while (!$go$atomicAdd(&go, 0)$) { } out[0] = 1; }\n"
           "if (t == 0) $go = 1$atomicExch(&go, 1)$;"),
    Mended("Either a loop goes on for ever", "for (unsigned i = 0; i $>= 0$< 50$; ++i) atomicAdd(out, in[i % 7]);",
           "steps=20,000 allows", steps=(20_000, 20_000), block=32),
    Mended("or give a larger max_steps=", "for (int i = 0; i < 2000; ++i) atomicAdd(out, in[i % 7]);", block=32,
           steps=(2_000, 200_000)),
    # ---- what a kernel does to itself
    Mended("assert(at < 64) in line", "int at = $in[t]$in[t] % 64$ + 0; assert(at < 64); out[at] = 1;", block=96),
    Mended("the kernel ended itself, with __trap() or by a check of the compiler",
           "if (in[t] $>$<$ 0) __trap(); out[t] = 1;"),
    Mended("grid.sync() ends a launch that is not cooperative: in ptxsim launch(..., cooperative=True)",
           "cg::this_grid().sync(); out[t] = 1;", before=GRID, grids=(2, 2), cooperative=(False, True)),
    Mended("Only code of the device may take the address of a __device__ function",
           "out[t] = ($(F)(long)in[0]$in[t] ? twice : once$)(in[t]);", before=FUNCTIONS),
    Mended("through a pointer to functions with other parameters, or another result",
           "out[t] = (in[t] < 99 ? $(F)sum$twice$ : once)(in[t]);", before=FUNCTIONS),
    # ---- barriers that count threads
    Mended("and names 96 threads; others in this round named 64", "BAR_OF(1, t < 32 ? $64$96$ : 96); out[t] = t;",
           block=96, before='#define BAR_OF(id, n) asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(n))\n'),
    Mended("barriers count whole warps: a multiple of 32", "BAR(1, $48$64$); out[t] = t;"),
    Mended("a block has barriers 0 to 15", "BAR($16$15$, 64); out[t] = t;"),
    Mended("all 32 lanes of the warp must execute this instruction together",
           f"float c[4] = {{}}; $if (t % 32 < 30)$$ {MMA} out[t] = int(c[0]);"),
    bounded("give it a multiple of 128", "WGMMA_FENCE; out[t] = t;", 96, 128),
    bounded("does not come to it: all 128 threads must take the same way",
            "$if (t < 64)$$ WGMMA_FENCE; __syncthreads(); out[t] = t;", 128),
    bounded("must take the same way to it", "$if (t < 64)$$ WGMMA_FENCE; out[t] = t;", 128),
    # ---- mbarriers
    hopper("mbarrier.init counts 1 to",
           "__shared__ u64 bar; if (t == 0) init(&bar, $0$1$); __syncthreads(); out[t] = 1;"),
    hopper("wait for phase p with the parity p % 2",
           READY + "arrive(&bar); wait(&bar, 0); __syncthreads(); $if (t == 0) init(&bar, 64); __syncthreads();$$\n"
           "arrive(&bar); wait(&bar, $0$1$); out[t] = t;", "Nobody resets an mbarrier"),
    hopper("mbarrier.inval and a barrier come first",
           READY + "arrive(&bar); wait(&bar, 0); __syncthreads(); $$if (t == 0) inval(&bar); __syncthreads();$\n"
           "if (t == 0) init(&bar, 32); __syncthreads(); if (t < 32) arrive(&bar); wait(&bar, 0); out[t] = t;"),
    hopper("nobody has called mbarrier.init for it",
           "__shared__ u64 bar; $$if (t == 0) init(&bar, 64); __syncthreads();$\n"
           "arrive(&bar); wait(&bar, 0); out[t] = t;"),
    hopper("a phase counts at most 1048575 bytes", "__shared__ u64 bar; if (t == 0) init(&bar, 1); __syncthreads();\n"
           "if (t == 0) expect(&bar, $1 << 20$0$); wait(&bar, 0); out[t] = t;"),
    hopper("Let who arrives again wait for the end of that phase first",
           "__shared__ u64 bar; __shared__ alignas(128) int b[64];\nif (t == 0) init(&bar, 1); __syncthreads();\n"
           "if (t == 0) { expect(&bar, 256); $$LOAD(b, in, 256, &bar);$ }\n$$wait(&bar, 0); __syncthreads();$\n"
           "if (t == 0) { expect(&bar, 0); $LOAD(b, in, 256, &bar);$$ }\nwait(&bar, 1); out[t] = b[t];"),
    hopper("or let mbarrier.init count all arrivals of a phase", TWO + "if (t % 32 == 0) { expect(&bar, 128); "
           "LOAD(b + t, in + t, 128, &bar); }\nwait(&bar, 0); out[t] = b[t];"),
    hopper("arrivals at once, and the phase lacks 1 of 1", "__shared__ u64 bar; if (t == 0) init(&bar, $1$2$); "
           "__syncthreads();\nif (t == 0) arrive_many(&bar, 2); wait(&bar, 0); out[t] = t;"),
    hopper("a parity is 0 or 1, and that of phase p is p % 2",
           READY + "for (int p = 0; p < 3; ++p) { arrive(&bar); wait(&bar, $p$p % 2$); } out[t] = t;"),
    hopper("Only mbarrier instructions may use that place",
           READY + "arrive(&bar); wait(&bar, 0); $if (t == 0) bar = 0;$$ out[t] = t;"),
    hopper("it has 8 bytes of shared memory, at a multiple of 8",
           "extern __shared__ char raw[]; u64* bar = (u64*)(raw + $4$8$);\n"
           "if (t == 0) init(bar, 64); __syncthreads(); arrive(bar); wait(bar, 0); out[t] = t;", shared=(16, 16)),
    hopper("First the blocks of the cluster meet",
           "__shared__ u64 bar; if ($blockIdx.x % 2 == 0 && $$t == 0) init(&bar, 1); $__syncthreads()$CLUSTER$;\n"
           "unsigned there; asm volatile(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(there) : \"r\"(at(&bar)), "
           "\"r\"(1 - blockIdx.x % 2));\n"
           "if (t == 0 $&& blockIdx.x % 2 == 0$$) asm volatile(\"mbarrier.arrive.release.cluster.shared::cluster.b64 "
           "_, [%0];\" :: \"r\"(there) : \"memory\");\n$$wait(&bar, 0); $CLUSTER; out[64 * blockIdx.x + t] = t;",
           "may still have to call mbarrier.init", grids=(2, 2), cluster=2),
    # ---- registers of warpgroups
    bounded("name 168 or fewer, or take more with setmaxnreg.inc", "DEC($176$168$); if (t < 256) out[t] = t;", 384),
    bounded("or take more with setmaxnreg.inc",
            "if (t < 128) DEC(24); else { $DEC$INC$(176); } if (t < 256) out[t] = t;", 384),
    bounded("name 168 or more, or give some back with setmaxnreg.dec",
            "if (t < 128) INC($40$168$); else INC(168); if (t < 256) out[t] = t;", 384),
    bounded("or give some back with setmaxnreg.dec",
            "if (t < 128) { $INC$DEC$(40); } else INC(232); if (t < 256) out[t] = t;", 384),
    bounded("Give back more there",
            "if (t < 128) DEC($40$24$); else INC(240); if (t < 256) out[t] = t;", 384),
    bounded("or ask for no more than 232",
            "if (t < 128) DEC(40); else INC($240$232$); if (t < 256) out[t] = t;", 384),
    bounded("setmaxnreg takes a multiple of 8 from 24 to 256", "DEC($100$96$); if (t < 256) out[t] = t;", 128),
    # ---- what nobody has set
    Mended("uses a variable to which nothing has been assigned",
           "int sum$$ = 0$;\nfor (int i = 0; i < in[t] % 8 + 1; ++i) "
           "sum += in[i];\nout[t] = sum;", "Give it a value first"),
    Mended("adds to sums that nobody has set", f"float c[4]$$ = {{}}$;\n{MMA}for (int i = 0; i < 4; ++i) "
           "out[4 * t + i] = int(c[i]);", block=32),
    Mended("which nobody has written, and what is stored depends on it", BYTES + "$$for (int i = 1; i < 4; ++i) "
           "s[4 * t + i] = 0;$\n__syncthreads();\nout[t] = ((int*)s)[63 - t] + 1;", "It is to be written before"),
    Mended("or left out by a mask or a condition",
           BYTES + "__syncthreads();\nout[t] = (((int*)s)[63 - t]$$ & 0xff$) + 1;"),
    # ---- addresses
    Mended("the address must be a multiple of 8", "((int2*)(out + $3$4$))[t] = make_int2(1, 2);"),
    Mended("the address must be a multiple of 8",
           "__shared__ alignas(8) int s[130]; s[t] = s[t + 64] = t; s[128 + t % 2] = 0;\n"
           "__syncthreads(); int2 v = ((int2*)(s + $1$2$))[t]; out[t] = v.x + v.y;", chance=True),
    Mended("the address must be a multiple of 8", "int s[6]; for (int i = 0; i < 6; ++i) s[i] = in[i];\n"
           "int2 v = ((int2*)(s + $1$2$))[in[0]]; out[t] = v.x + v.y;"),
    Mended("which has 256 elements", "out[t + $200$192$] = t;"),
    Mended("through a null pointer", "int* p = $(int*)(long long)in[0]$out + t$; *p = 1;"),
    Mended("which is in no array", "int* p = (int*)(in[1] $* 0x123456789ll$* 0 + (long long)out$) + t; *p = 1;"),
    Mended("Compute the index in 64 bits, such as size_t(row) * columns", "int n = 1 << 16 << in[0];\n"
           "out[$(unsigned)(n * in[1] - n - 1)$(size_t)n * in[1] - n$ + t % 2] = 1;", "went below 0", chance=True),
    Mended("That is element 0, 1 * 2^32 too high", "$unsigned$long long$ before = t - 1; out[size_t(before) + 1] = t;"),
    Mended("So far from its array an index has lost its upper bits", "int n = in[2] << 14, m = n * 2;\n"
           "int* p = out - (1ll << 30); p[$$(long long)$n * m / 2 + t] = t;", "in 64 bits"),
    Mended("past the end of a",
           "__shared__ int a[64], b[64]; a[t] = b[t] = t; __syncthreads(); out[t] = a[(t + $1$0$)] + b[t];",
           "where b"),
    Mended("before the beginning of b", "__shared__ int a[64], b[64]; a[t] = b[t] = t; __syncthreads();\n"
           "out[t] = b[t - $in[1]$in[0]$] + a[t];"),
    Mended("of which the block has 256 bytes",
           "__shared__ int s[64]; s[t + $1$0$] = t; out[t] = s[t + $1$0$];", "past the end of s"),
    Mended("the launch gave none: shared_mem=..., in bytes", "extern __shared__ int s[]; s[t] = t; out[t] = s[t];",
           shared=(0, 256)),
    Mended("of a thread's local arrays, which have", "int s[4]; for (int i = 0; i < 4; ++i) s[i] = in[i];\n"
           "out[t] = s[in[$4$3$]];"),
    Mended("reads a part of a local array that it never wrote",
           "int s[8]; for (int i = 0; i < $4$8$; ++i) s[in[i]] = in[t];\n"
           "out[t] = s[in[5]];"),
    Mended("one for all threads of the block is declared __shared__",
           "$$__shared__ $int s[64]; s[in[t]] = t; __syncthreads();\n"
           "out[t] = s[63 - in[t]];"),
    Mended("the address must be a multiple of 4", "atomicAdd((int*)((char*)out + $2$4$), 1);"),
    Mended("Its last operand says how many bytes of the source are read, 0 to 4", "__shared__ int s[64];\n"
           "asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4, %2;\" :: \"r\"(SHARED(s + t)), \"l\"(in + t), "
           "\"r\"($-1$0$));\nCOMMIT; WAIT(0); out[t] = s[t];"),
    # ---- wmma
    Mended("the pointer of a wmma matrix of f16 is", "__shared__ alignas(32) half s[256 + 16];\n"
           "for (int i = t; i < 272; i += 32) s[i] = 0; __syncthreads();\n"
           "LOAD(s + $4$16$, 16)", "must be a multiple of 32 bytes", before=WMMA, block=32),
    Mended("its leading dimension must be a multiple of 8", "__shared__ alignas(32) half s[16 * 24];\n"
           "for (int i = t; i < 384; i += 32) s[i] = 0; __syncthreads();\n"
           "LOAD(s, $20$24$)", before=WMMA, block=32),
]  # fmt: skip
