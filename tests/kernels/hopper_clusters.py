"""mbarriers and clusters: phases, arrivals, and what blocks of a cluster send each other."""

import numpy as np

from ptxsim import TensorMap
from tests.kernels.case import Case, poison
from tests.kernels.hopper_common import COMMON, OPTIONS


def mbarrier_case() -> Case:
    source = f"""{COMMON}
__device__ unsigned test(u64* b, unsigned parity)
{{
    unsigned done;
    asm volatile("{{ .reg .pred p;\\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\\nselp.u32 %0, 1, 0, p; }}"
                 : "=r"(done) : "r"(at(b)), "r"(parity) : "memory");
    return done;
}}
__device__ u64 arrive(u64* b, int n)
{{
    u64 state;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;" : "=l"(state) : "r"(at(b)), "r"(n) : "memory");
    return state;
}}
__device__ unsigned pending(u64 state)
{{
    unsigned n;
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(n) : "l"(state));
    return n;
}}
extern "C" __global__ void phases(unsigned* out)
{{
    __shared__ u64 bar;
    if (threadIdx.x == 0) {{
        init(&bar, 5);
        for (int turn = 0; turn < 4; ++turn) {{
            *out++ = test(&bar, 0); *out++ = test(&bar, 1);
            *out++ = pending(arrive(&bar, 2));
            *out++ = test(&bar, turn % 2);
            *out++ = pending(arrive(&bar, 3));
            *out++ = test(&bar, 0); *out++ = test(&bar, 1);
        }}
        asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];" :: "r"(at(&bar)) : "memory");
        arrive(&bar, 4);
        *out++ = test(&bar, 0);
        *out++ = pending(arrive(&bar, 4));
        *out++ = test(&bar, 1);
    }}
}}
"""

    def reference(args: list) -> dict:
        found = []
        for turn in range(4):
            before = [0, 1] if turn % 2 == 0 else [1, 0]
            found += [*before, 5, 0, 3, *before[::-1]]
        return {0: np.array([*found, 1, 4, 1], np.uint32)}

    return Case(
        "mbarrier.phases", source, "phases", lambda: [poison(31, np.uint32)], (1,), (32,), reference, options=OPTIONS
    )  # fmt: skip


def cluster_case() -> Case:
    """Two clusters of four blocks: their numbers, remote loads, stores, arrivals, and a copy to all blocks at once."""
    source = f"""{COMMON}
extern "C" __global__ void __cluster_dims__(4, 1, 1) neighbours(const __grid_constant__ Map map, unsigned* out)
{{
    __shared__ alignas(128) unsigned tile[4 * 32];
    __shared__ unsigned mine[32], given[32];
    __shared__ u64 bar, came;
    unsigned rank, size, id, there, value, t = threadIdx.x;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(id));
    mine[t] = 1000 * blockIdx.x + t;
    if (t == 0) {{
        init(&bar, 1);
        init(&came, 32 * 4);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }}
    cluster_sync();
    unsigned next = (rank + 1) % size;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(&mine[t])), "r"(next));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory");
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(&given[t])), "r"(next));
    asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(there), "r"(rank * 100 + t) : "memory");
    for (unsigned block = 0; block < size; ++block) {{
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(&came)), "r"(block));
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(there) : "memory");
    }}
    asm volatile("{{\\n.reg .pred p;\\nagain:\\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\\n"
                 "@!p bra again;\\n}}" :: "r"(at(&came)) : "memory");
    if (t == 0) {{
        expect(&bar, sizeof tile);
        asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {{%3}}], [%2], %4;" :: "r"(at(tile + 32 * rank)), "l"(&map), "r"(at(&bar)),
                     "r"(32 * (id * 4 + rank)), "h"((unsigned short)15) : "memory");
    }}
    wait(&bar, 0);
    out += blockIdx.x * 7 * 32;
    out[t] = rank * 16 + size * 4 + id;
    out[32 + t] = value;
    out[64 + t] = given[t];
    for (int i = 0; i < 4; ++i) out[96 + 32 * i + t] = tile[32 * i + t];
    cluster_sync();
}}
"""
    values = np.arange(8 * 32, dtype=np.uint32) * 3

    def make() -> list:
        return [TensorMap(values.copy(), (32,)), poison(8 * 7 * 32, np.uint32)]

    def reference(args: list) -> dict:
        found, t = np.zeros((8, 7, 32), np.uint32), np.arange(32)
        for block in range(8):
            rank, first = block % 4, block // 4 * 4
            found[block, 0] = rank * 16 + 16 + block // 4
            found[block, 1] = 1000 * (first + (rank + 1) % 4) + t
            found[block, 2] = (rank - 1) % 4 * 100 + t
            found[block, 3:] = values.reshape(8, 32)[first : first + 4]
        return {1: found.ravel()}

    return Case("cluster.neighbours", source, "neighbours", make, (8,), (32,), reference, options=OPTIONS)


def copies_at_mbarrier_case() -> Case:
    """cp.async.mbarrier.arrive: with it counted by the phase (noinc), and without."""
    source = f"""{COMMON}
extern "C" __global__ void late_arrivals(unsigned* out, const unsigned* in)
{{
    __shared__ alignas(16) unsigned tile[2][256];
    __shared__ u64 bar[2];
    int t = threadIdx.x;
    if (t == 0) {{ init(&bar[0], 64); init(&bar[1], 64); }}
    __syncthreads();
    for (int turn = 0; turn < 4; ++turn) {{
        for (int i = 0; i < 2; ++i)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                         :: "r"(at(&tile[i][4 * t])), "l"(in + turn * 512 + i * 256 + 4 * t) : "memory");
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(at(&bar[0])) : "memory");
        asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" :: "r"(at(&bar[1])) : "memory");
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(at(&bar[1])) : "memory");
        wait(&bar[turn % 2], turn % 2);
        wait(&bar[1 - turn % 2], turn % 2);
        for (int i = t; i < 512; i += 64) out[turn * 512 + i] = tile[i / 256][i % 256 ^ 85];
        __syncthreads();
    }}
}}
"""
    given = np.arange(2048, dtype=np.uint32) * 3 + 1
    expected = given.reshape(-1, 256)[:, np.arange(256) ^ 85].ravel()
    return Case(
        "mbarrier.copies", source, "late_arrivals", lambda: [poison(2048, np.uint32), given.copy()], (1,), (64,),
        lambda args: {0: expected}, options=OPTIONS,
    )  # fmt: skip


def box_of_clusters_case() -> Case:
    """Clusters in three dimensions: their numbers, and a message to the next block by release and acquire."""
    grid, cluster = np.array((4, 2, 4)), np.array((2, 2, 2))
    source = f"""{COMMON}
extern "C" __global__ void __cluster_dims__(2, 2, 2) box_of_clusters(unsigned* out)
{{
    __shared__ unsigned given, flag;
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z), given_there, flag_there, seen = 0;
    given = flag = 0;
    cluster_sync();
    out += block * 10;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(out[0]));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(out[1]));
    asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(out[2]));
    asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(out[3]));
    asm("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(out[4]));
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(out[5]));
    asm("mov.u32 %0, %%clusterid.y;" : "=r"(out[6]));
    asm("mov.u32 %0, %%clusterid.z;" : "=r"(out[7]));
    asm("mov.u32 %0, %%nclusterid.z;" : "=r"(out[8]));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(given_there) : "r"(at(&given)), "r"((out[0] + 1) % out[1]));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(flag_there) : "r"(at(&flag)), "r"((out[0] + 1) % out[1]));
    asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(given_there), "r"(block) : "memory");
    asm volatile("st.release.cluster.shared::cluster.u32 [%0], 1;" :: "r"(flag_there) : "memory");
    while (!seen) asm volatile("ld.acquire.cluster.shared::cta.u32 %0, [%1];" : "=r"(seen) : "r"(at(&flag)) : "memory");
    out[9] = given;
    cluster_sync();
}}
"""

    def reference(args: list) -> dict:
        x, y, z = (part.ravel() for part in np.meshgrid(*map(np.arange, grid), indexing="ij"))
        place = np.stack([x, y, z], axis=1)
        place = place[np.lexsort(place.T)]  # x is the fastest
        inside, whole = place % cluster, place // cluster
        rank = inside @ (1, 2, 4)
        of = {(*w, r): number for number, (w, r) in enumerate(zip(whole.tolist(), rank.tolist()))}
        before = [of[(*w, (r - 1) % 8)] for w, r in zip(whole.tolist(), rank.tolist())]
        columns = [rank, 0 * rank + 8, *inside.T, *whole.T, 0 * rank + 2, before]
        return {0: np.stack(columns, axis=1).astype(np.uint32).ravel()}

    return Case(
        "cluster.three_dimensions", source, "box_of_clusters", lambda: [poison(320, np.uint32)], (4, 2, 4), (1,),
        reference, options=OPTIONS,
    )  # fmt: skip


SENT = {  # name: what a thread sends to its place in the neighbour, which has 100 + t, and what is there then
    "st.u32": ("SEND(row, t)", lambda t: t),
    "st.v2.u32": ("if (t % 2 == 0) SEND_2(row, t)", lambda t: t),
    "st.v4.u32": ("if (t % 4 == 0) SEND_4(row, t)", lambda t: t),
    "st.b64": ("if (t % 2 == 0) SEND_LONG(row, t | (u64)(t + 1) << 32)", lambda t: t),
    "red.add.u32": ('RED(row, t, "add.u32")', lambda t: 100 + 2 * t),
    "red.add.s32": ('RED(row, -t, "add.s32")', lambda t: 100 + 0 * t),
    "red.min.s32": ('RED(row, 8 - t, "min.s32")', lambda t: 8 - t),
    "red.min.u32": ('RED(row, 8 - t, "min.u32")', lambda t: np.where(t > 8, 100 + t, 8 - t)),
    "red.max.s32": ('RED(row, 8 - t, "max.s32")', lambda t: 100 + t),
    "red.max.u32": ('RED(row, 8 - t, "max.u32")', lambda t: np.where(t > 8, 8 - t, 100 + t)),
    "red.inc.u32": ('RED(row, 110, "inc.u32")', lambda t: np.where(t >= 10, 0, 101 + t)),
    "red.dec.u32": ('RED(row, 110, "dec.u32")', lambda t: np.where(t > 10, 110, 99 + t)),
    "red.and.b32": ('RED(row, 30, "and.b32")', lambda t: 100 + t & 30),
    "red.or.b32": ('RED(row, 30, "or.b32")', lambda t: 100 + t | 30),
    "red.xor.b32": ('RED(row, 30, "xor.b32")', lambda t: 100 + t ^ 30),
}


def sends_case() -> Case:
    """Stores and reductions into the other block that its mbarrier counts, and a plain copy for both blocks."""
    sends = "\n".join(
        f"    {{ unsigned row = there + {128 * i}; {how}; }}" for i, (how, _) in enumerate(SENT.values())
    )
    kind = "shared::cluster.mbarrier::complete_tx::bytes"
    source = f"""{COMMON}
#define SEND(to, v) asm volatile("st.async.{kind}.u32 [%0], %1, [%2];" :: "r"(to), "r"(v), "r"(counts) : "memory")
#define SEND_2(to, v) asm volatile("st.async.{kind}.v2.u32 [%0], {{%1, %2}}, [%3];" \\
    :: "r"(to), "r"(v), "r"(v + 1), "r"(counts) : "memory")
#define SEND_4(to, v) asm volatile("st.async.{kind}.v4.u32 [%0], {{%1, %2, %3, %4}}, [%5];" \\
    :: "r"(to), "r"(v), "r"(v + 1), "r"(v + 2), "r"(v + 3), "r"(counts) : "memory")
#define SEND_LONG(to, v) asm volatile("st.async.{kind}.b64 [%0], %1, [%2];" :: "r"(to), "l"(v), "r"(counts) : "memory")
#define RED(to, v, what) asm volatile("red.async.relaxed.cluster.{kind}." what " [%0], %1, [%2];" \\
    :: "r"(to), "r"(v), "r"(counts) : "memory")
extern "C" __global__ void __cluster_dims__(2, 1, 1) sends(unsigned* out, const unsigned* in)
{{
    __shared__ alignas(16) unsigned rows[{len(SENT)}][32], both[64];
    __shared__ u64 bar;
    int t = threadIdx.x;
    unsigned there, counts;
    for (int i = 0; i < {len(SENT)}; ++i) rows[i][t] = 100 + t;
    if (t == 0) {{
        init(&bar, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        expect(&bar, sizeof(rows) + sizeof(both));
    }}
    cluster_sync();
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at(&rows[0][t])), "r"(1 - blockIdx.x));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(counts) : "r"(at(&bar)), "r"(1 - blockIdx.x));
{sends}
    if (t == 0 && blockIdx.x == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                     " [%0], [%1], %2, [%3], %4;"
                     :: "r"(at(both)), "l"(in), "r"((int)sizeof(both)), "r"(at(&bar)), "h"((short)3) : "memory");
    asm volatile("{{\\n.reg .pred p;\\nagain:\\n"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\\n@!p bra again;\\n}}"
                 :: "r"(at(&bar)) : "memory");
    out += blockIdx.x * (sizeof(rows) + sizeof(both)) / 4;
    for (int i = 0; i < {len(SENT)}; ++i) out[i * 32 + t] = rows[i][t];
    for (int i = t; i < 64; i += 32) out[{32 * len(SENT)} + i] = both[i];
    cluster_sync();
}}
"""
    given, t = np.arange(64, dtype=np.uint32) * 5 + 3, np.arange(32)
    one = np.concatenate([*((then(t) & 0xFFFFFFFF).astype(np.uint32) for _, then in SENT.values()), given])
    return Case(
        "cluster.sends", source, "sends", lambda: [poison(2 * one.size, np.uint32), given.copy()], (2,), (32,),
        lambda args: {0: np.tile(one, 2)}, options=OPTIONS,
    )  # fmt: skip


CASES = [mbarrier_case(), cluster_case(), copies_at_mbarrier_case(), box_of_clusters_case(), sends_case()]
