// inclusionAI/humming, pull request 56 (merged, 2026-08): the leader copies the next tile to both blocks of a cluster
// when its own results are out, while the other block still reads its own from the same memory.
#include "common.cuh"
extern "C" __global__ void __cluster_dims__(2) k(const float* x, float* y, int n)
{
    __shared__ alignas(128) float tile[128];
    __shared__ alignas(8) u64 full;
    int t = threadIdx.x;
    if (t == 0) { INIT(&full, 1); INIT_SEEN(); }
    CLUSTER_SYNC();
    for (int i = 0; i < n; ++i) {
        if (t == 0) EXPECT(&full, 512);
        if (t == 0 && rank() == 0) LOAD_ALL(tile, x + i * 128, 512, &full, 3);  //@load
        wait(&full, i & 1);
        float result = tile[t] * (1 + rank());  //@read
        __syncthreads();
        tile[t] = result;  //@write
        __syncthreads();
        y[(i * 2 + rank()) * 128 + t] = tile[127 - t];  //@read
        PROXY_FENCE();
#ifdef FIXED
        CLUSTER_SYNC();
#else
        __syncthreads();
#endif
    }
    CLUSTER_SYNC();
}
