// What the kernels of this folder share: mbarriers, bulk copies, wgmma and clusters, an instruction each.
#pragma once
typedef unsigned long long u64;
__device__ __forceinline__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
#define INIT(bar, count) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(bar)), "r"(count) : "memory")
#define INIT_SEEN() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define ARRIVE(bar) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(bar)) : "memory")
#define EXPECT(bar, bytes) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(bar)), "r"(bytes) : "memory")
#define LOAD(to, from, bytes, bar) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(to)), "l"(from), "r"(bytes), "r"(at(bar)) : "memory")
#define LOAD_ALL(to, from, bytes, bar, mask) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(at(to)), "l"(from), "r"(bytes), "r"(at(bar)), "h"((short)(mask)) : "memory")
#define STORE(to, from, bytes) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(at(from)), "r"(bytes) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ(groups) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(groups) : "memory")
#define WAIT_STORED(groups) asm volatile("cp.async.bulk.wait_group %0;" ::"n"(groups) : "memory")
#define PROXY_FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define NAMED_BARRIER(id, threads) asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory")
#define CLUSTER_SYNC() asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")
__device__ __forceinline__ void wait(u64* bar, unsigned parity)
{
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra DONE; bra AGAIN; DONE: }" ::"r"(at(bar)), "r"(parity) : "memory");
}
__device__ __forceinline__ unsigned rank()
{
    unsigned r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}
__device__ __forceinline__ unsigned of_peer(const void* p, unsigned r)
{
    unsigned a;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(at(p)), "r"(r));
    return a;
}
#define ARRIVE_AT(bar, r) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(of_peer(bar, r)) : "memory")
// 64 x 8 x 16, float16 to float32, tiles of 8 x 8 without a swizzle; A in shared memory or in four registers.
__device__ __forceinline__ u64 descriptor(const void* p, unsigned along_k, unsigned along_rows)
{
    return (u64)((at(p) & 0x3FFFF) >> 4) | (u64)(along_k / 16) << 16 | (u64)(along_rows / 16) << 32;
}
#define WGMMA(d, a, b, keep) asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; }" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b), "r"(keep) : "memory")
#define WGMMA_A(d, a, b, keep) asm volatile("{ .reg .pred p; setp.ne.b32 p, %9, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, p, 1, 1, 0; }" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep) : "memory")
#define WGMMA_FENCE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define WGMMA_COMMIT() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WGMMA_WAIT(groups) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory")
// The sums of a thread, where they belong in 64 x 8.
__device__ __forceinline__ void put(float* y, const float* d, int t)
{
    for (int e = 0; e < 4; ++e) y[(t / 32 * 16 + t % 32 / 4 + e / 2 * 8) * 8 + t % 4 * 2 + e % 2] = d[e];
}
