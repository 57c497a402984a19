// One kernel for each newer kind of finding, and a right one beside it where that helps: `kinds NAME` runs one on a GPU.
// Names that begin with ok_ are right, those with note_ are no fault and get a note; all others are wrong by the PTX ISA.
#include <cstdio>
#include <cstring>
#define AT(p) ((unsigned)__cvta_generic_to_shared(p))
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(AT(b)), "r"(n) : "memory")
#define INIT_FENCE asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define EXPECT(b, n) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(AT(b)), "r"(n) : "memory")
#define WAIT(b, parity) asm volatile("{ .reg .pred p;\nW: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra W; }" \
    :: "r"(AT(b)), "r"(parity) : "memory")
#define PROXY asm volatile("fence.proxy.async;" ::: "memory")
#define LOAD(to, from, n, b) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
    :: "r"(AT(to)), "l"(from), "r"(n), "r"(AT(b)) : "memory")
#define STORE(to, from, n) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" \
    :: "l"(to), "r"(AT(from)), "r"(n) : "memory")
#define ADD(to, from, n) asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" \
    :: "l"(to), "r"(AT(from)), "r"(n) : "memory")
#define COMMIT asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")
#define WAIT_ALL asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")
#define CLUSTER asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory")
#define WG_FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define WG_DONE asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory")
#define WGMMA(d, a, b, add) asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, " \
    "%4, %5, " #add ", 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b))
typedef unsigned long long u64;
#define TILES __shared__ alignas(128) unsigned short A[64 * 16], B[8 * 16]; float d[4] = {0, 0, 0, 0}; \
    u64 a = AT(A) / 16 | (u64)(1024 / 16) << 16 | (u64)(128 / 16) << 32; \
    u64 b = AT(B) / 16 | (u64)(128 / 16) << 16 | (u64)(128 / 16) << 32; \
    for (unsigned i = t; i < 64 * 16; i += 128) A[i] = 0x3C00; \
    for (unsigned i = t; i < 8 * 16; i += 128) B[i] = 0x3C00
#define KERNEL(name) extern "C" __global__ void __launch_bounds__(128) name(int* x, int* y)
#define TILE __shared__ alignas(128) int s[128]; int t = threadIdx.x
#define BARRIER __shared__ u64 full; if (t == 0) { INIT(&full, 1); INIT_FENCE; } __syncthreads()
#define SENT if (t == 0) { STORE(y, s, 512); COMMIT; WAIT_ALL; }

// ---- proxies, shared memory
KERNEL(proxy_store_no_fence) { TILE; s[t] = x[t]; __syncthreads(); SENT; }
KERNEL(proxy_store_fence_of_one) { TILE; s[t] = x[t]; if (t == 0) PROXY; __syncthreads(); SENT; }
KERNEL(proxy_store_fence_before_write) { TILE; PROXY; s[t] = x[t]; __syncthreads(); SENT; }
KERNEL(ok_proxy_store) { TILE; s[t] = x[t]; PROXY; __syncthreads(); SENT; }
KERNEL(ok_proxy_store_fence_behind) { TILE; s[t] = x[t]; __syncthreads(); if (t == 0) PROXY; SENT; }
KERNEL(proxy_load_overwrites) {
    TILE; BARRIER; s[t] = x[t]; y[t + 128] = s[t]; __syncthreads();
    if (t == 0) { EXPECT(&full, 512); LOAD(s, x + 128, 512, &full); }
    WAIT(&full, 0); y[t] = s[t];
}
KERNEL(ok_proxy_load_overwrites) {
    TILE; BARRIER; s[t] = x[t]; __syncthreads(); y[t + 128] = s[127 - t]; PROXY; __syncthreads();
    if (t == 0) { EXPECT(&full, 512); LOAD(s, x + 128, 512, &full); }
    WAIT(&full, 0); y[t] = s[t];
}
// ---- proxies, global memory
KERNEL(proxy_global_load) {
    TILE; BARRIER;
    if (t == 0) { x[0] = 5; EXPECT(&full, 512); LOAD(s, x, 512, &full); }
    WAIT(&full, 0); y[t] = s[t];
}
KERNEL(ok_proxy_global_load) {
    TILE; BARRIER;
    if (t == 0) { x[0] = 5; PROXY; EXPECT(&full, 512); LOAD(s, x, 512, &full); }
    WAIT(&full, 0); y[t] = s[t];
}
KERNEL(proxy_global_add) {
    TILE; s[t] = 1; y[t] = t; PROXY; __syncthreads();
    if (t == 0) { y[0] = 5; ADD(y, s, 512); COMMIT; WAIT_ALL; }
}
// ---- stores
KERNEL(store_not_awaited) {
    TILE; s[t] = x[t]; PROXY; __syncthreads();
    if (t == 0) { STORE(y, s, 512); COMMIT; WAIT_READ; y[128] = y[3]; }
}
KERNEL(ok_store_awaited) {
    TILE; s[t] = x[t]; PROXY; __syncthreads();
    if (t == 0) { STORE(y, s, 512); COMMIT; WAIT_ALL; y[128] = y[3]; }
}
KERNEL(store_source_overwritten) {
    TILE; BARRIER; s[t] = x[t]; PROXY; __syncthreads();
    if (t == 0) { STORE(y, s, 512); COMMIT; EXPECT(&full, 512); LOAD(s, x + 128, 512, &full); WAIT_READ; WAIT(&full, 0); }
    __syncthreads();
}
KERNEL(block_leaves_before_store) { TILE; s[t] = x[t]; PROXY; __syncthreads(); if (t == 0) { STORE(y, s, 512); COMMIT; } }
// ---- masks
KERNEL(mask_of_lanes_that_exit) { int t = threadIdx.x, v = x[t]; if (t % 32 < 16) y[t] = __shfl_xor_sync(~0u, v, 1); else y[t] = 0; }
KERNEL(mask_lanes_elsewhere) {
    int t = threadIdx.x, v = x[t];
    if (t % 32 < 16) y[t] = __shfl_xor_sync(~0u, v, 1);
    else { __syncwarp(0xffff0000u); y[t] = v + 1; }
}
KERNEL(mask_syncwarp_elsewhere) { int t = threadIdx.x; if (t % 32 < 16) { y[t] = 1; __syncwarp(); y[t + 128] = 2; } else y[t] = 3; }
KERNEL(mask_without_myself) { int t = threadIdx.x; y[t] = __shfl_sync(0xfffffffeu, x[t], 1); }
KERNEL(note_activemask) {
    __shared__ int s[256]; int t = threadIdx.x; s[t] = x[t];
    if (x[t] % 3) { unsigned m = __activemask(); s[t + 128] = s[t]; __syncwarp(m); y[t] = s[128 + t / 32 * 32 + __ffs(m) - 1]; }
}
// ---- clusters
KERNEL(__cluster_dims__(2) peer_store_before_start) {
    TILE; unsigned rank, there; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(AT(&s[t])), "r"(rank ^ 1));
    asm volatile("st.shared::cluster.s32 [%0], %1;" :: "r"(there), "r"(t) : "memory");
    CLUSTER; y[blockIdx.x * 128 + t] = s[t]; CLUSTER;
}
KERNEL(__cluster_dims__(2) peer_read_before_start) {
    TILE; unsigned rank, there, v; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)); s[t] = t; __syncthreads();
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(AT(&s[t])), "r"(rank ^ 1));
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(there) : "memory");
    y[blockIdx.x * 128 + t] = v; CLUSTER;
}
KERNEL(__cluster_dims__(2) peer_exits_early) {
    TILE; unsigned rank, there, v; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)); s[t] = t; CLUSTER;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(AT(&s[t])), "r"(rank ^ 1));
    if (rank) asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(there) : "memory");
    y[blockIdx.x * 128 + t] = rank ? v : 0;
}
KERNEL(__cluster_dims__(2) ok_peer) {
    TILE; unsigned rank, there; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank)); CLUSTER;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(AT(&s[t])), "r"(rank ^ 1));
    asm volatile("st.shared::cluster.s32 [%0], %1;" :: "r"(there), "r"(t) : "memory");
    CLUSTER; y[blockIdx.x * 128 + t] = s[t];
}
// ---- mbarriers
KERNEL(ok_mbarrier_no_init_fence) {
    TILE; __shared__ u64 full; if (t == 0) INIT(&full, 1); __syncthreads();
    if (t == 0) { EXPECT(&full, 512); LOAD(s, x, 512, &full); }
    WAIT(&full, 0); y[t] = s[t];
}
KERNEL(mbarrier_known_to_nobody) {
    TILE; __shared__ u64 full; if (t == 0) { INIT(&full, 1); INIT_FENCE; EXPECT(&full, 512); LOAD(s, x, 512, &full); }
    WAIT(&full, 0); y[t] = s[t];
}
KERNEL(mbarrier_phase_not_awaited) {
    TILE; BARRIER; if (t == 0) { EXPECT(&full, 512); LOAD(s, x, 512, &full); } y[t] = s[t]; WAIT(&full, 0);
}
KERNEL(mbarrier_one_waits) {
    TILE; BARRIER; if (t == 0) { EXPECT(&full, 512); LOAD(s, x, 512, &full); WAIT(&full, 0); } y[t] = s[t];
}
KERNEL(slot_overwritten_before_read) {
    TILE; BARRIER; if (t == 0) { EXPECT(&full, 512); LOAD(s, x, 512, &full); } WAIT(&full, 0); y[t] = s[127 - t];
    if (t == 0) { EXPECT(&full, 512); LOAD(s, x + 128, 512, &full); } WAIT(&full, 1); y[t + 128] = s[t];
}
// ---- wgmma and setmaxnreg
KERNEL(ok_wgmma_zeros_before_fence) {
    int t = threadIdx.x; TILES; PROXY; __syncthreads(); WG_FENCE; WGMMA(d, a, b, 1); WG_DONE; y[t] = d[0];
}
KERNEL(wgmma_no_fence) {
    int t = threadIdx.x; TILES; d[0] = x[t]; PROXY; __syncthreads(); WGMMA(d, a, b, 1); WG_DONE; y[t] = d[0];
}
KERNEL(wgmma_no_proxy_fence) {
    int t = threadIdx.x; TILES; __syncthreads(); WG_FENCE; WGMMA(d, a, b, 1); WG_DONE; y[t] = d[0];
}
extern "C" __global__ void note_setmaxnreg_ignored(int* x, int* y) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;"); y[threadIdx.x] = x[threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(128, 1) setmaxnreg_wrong_way(int* x, int* y) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;\nsetmaxnreg.dec.sync.aligned.u32 80;"); y[threadIdx.x] = x[threadIdx.x];
}
#ifndef __CUDACC_RTC__
#define ROW(name, grid) if (!strcmp(argv[1], #name)) name<<<grid, 128>>>(x, y), found = true
int main(int argc, char** argv) {
    int *x, *y, host[256], out[256]; bool found = false;
    for (int i = 0; i < 256; ++i) host[i] = 7 * i + 1;
    cudaMalloc(&x, sizeof host); cudaMalloc(&y, sizeof host);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice); cudaMemset(y, 0, sizeof host);
    ROW(proxy_store_no_fence, 1); ROW(proxy_store_fence_of_one, 1); ROW(proxy_store_fence_before_write, 1);
    ROW(ok_proxy_store, 1); ROW(ok_proxy_store_fence_behind, 1); ROW(proxy_load_overwrites, 1);
    ROW(ok_proxy_load_overwrites, 1); ROW(proxy_global_load, 1); ROW(ok_proxy_global_load, 1);
    ROW(proxy_global_add, 1); ROW(store_not_awaited, 1); ROW(ok_store_awaited, 1); ROW(store_source_overwritten, 1);
    ROW(block_leaves_before_store, 1); ROW(mask_of_lanes_that_exit, 1); ROW(mask_lanes_elsewhere, 1);
    ROW(mask_syncwarp_elsewhere, 1); ROW(mask_without_myself, 1); ROW(note_activemask, 1);
    ROW(peer_store_before_start, 2); ROW(peer_read_before_start, 2); ROW(peer_exits_early, 2); ROW(ok_peer, 2);
    ROW(ok_mbarrier_no_init_fence, 1); ROW(mbarrier_known_to_nobody, 1); ROW(mbarrier_phase_not_awaited, 1);
    ROW(mbarrier_one_waits, 1); ROW(slot_overwritten_before_read, 1); ROW(ok_wgmma_zeros_before_fence, 1);
    ROW(wgmma_no_fence, 1); ROW(wgmma_no_proxy_fence, 1); ROW(note_setmaxnreg_ignored, 1); ROW(setmaxnreg_wrong_way, 1);
    cudaError_t error = cudaDeviceSynchronize();
    cudaMemcpy(out, y, sizeof out, cudaMemcpyDeviceToHost);
    unsigned sum = 0; for (int i = 0; i < 256; ++i) sum = sum * 31 + out[i];
    printf("%s: %s, sum %08x\n", argv[1], found ? cudaGetErrorString(error) : "no such kernel", sum);
    return !found;
}
#endif
