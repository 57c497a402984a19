// deepseek-ai/DeepEP, pull request 642 (merged, 2026-05): "combine" gave other sums at each run on NVL72.
// A warp reads a slot, waits, and the copy engine is asked to overwrite it, with no fence of proxies in between.
#include "common.cuh"
extern "C" __global__ void k(const float* x, float* y, int n)
{
    __shared__ alignas(128) float slot[2][128];
    __shared__ alignas(8) u64 full[2];
    int t = threadIdx.x;
    if (t == 0) { INIT(&full[0], 1); INIT(&full[1], 1); INIT_SEEN(); }
    __syncwarp();
    auto ask = [&](int i) { EXPECT(&full[i % 2], 512); LOAD(slot[i % 2], x + i * 128, 512, &full[i % 2]); };  //@load
    if (t == 0) { ask(0); if (n > 1) ask(1); }
    float sum = 0;
    for (int i = 0; i < n; ++i) {
        wait(&full[i % 2], i / 2 & 1);
        for (int e = t; e < 128; e += 32) sum += slot[i % 2][e];  //@read
#ifdef FIXED
        PROXY_FENCE();
#endif
        __syncwarp();
        if (t == 0 && i + 2 < n) ask(i + 2);  //@load
    }
    y[t] = sum;
}
