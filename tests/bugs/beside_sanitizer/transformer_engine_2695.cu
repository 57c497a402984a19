// NVIDIA/TransformerEngine, pull request 2695 (merged, 2026-02): a stage is read by threads, and the next copy into it
// comes behind a barrier, but behind no fence of proxies.
#include "common.cuh"
extern "C" __global__ void k(const float* x, float* y, int n)
{
    __shared__ alignas(128) float stage[128];
    __shared__ alignas(8) u64 full;
    int t = threadIdx.x;
    if (t == 0) { INIT(&full, 1); INIT_SEEN(); }
    __syncthreads();
    float most = 0;
    for (int i = 0; i < n; ++i) {
        if (t == 0) { EXPECT(&full, 512); LOAD(stage, x + i * 128, 512, &full); }  //@load
        wait(&full, i & 1);
        most = fmaxf(most, fabsf(stage[t]));  //@read
#ifdef FIXED
        PROXY_FENCE();
#endif
        __syncthreads();
    }
    y[t] = most;
}
