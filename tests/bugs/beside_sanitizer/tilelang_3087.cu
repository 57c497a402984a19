// tile-ai/tilelang, pull request 3087 (merged, 2026-08): one mbarrier that ends a phase at each step is awaited with the
// parity of a ring of slots; every other wait is over at once, and a slot is overwritten under the product.
#include "common.cuh"
extern "C" __global__ void k(const float* x, float* y, int n)
{
    __shared__ alignas(128) float slot[2][128];
    __shared__ alignas(8) u64 done;
    int t = threadIdx.x;
    if (t == 0) { INIT(&done, 1); INIT_SEEN(); }
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < n; ++i) {
        if (t == 0) { EXPECT(&done, 512); LOAD(slot[i % 2], x + i * 128, 512, &done); }
#ifdef FIXED
        wait(&done, i & 1);
#else
        wait(&done, i / 2 & 1);  //@wait
#endif
        sum += slot[i % 2][127 - t];  //@read
        PROXY_FENCE();
        __syncthreads();
    }
    y[t] = sum;
}
