// tile-ai/TileOPs, pull request 1550 (merged, 2026-06): one thread has waited until its store has read the tile, and the
// others, which did not wait, fill it with the next results.
#include "common.cuh"
extern "C" __global__ void k(const float* x, float* y, int n)
{
    __shared__ alignas(128) float tile[128];
    int t = threadIdx.x;
    for (int i = 0; i < n; ++i) {
        float result = 2 * x[i * 128 + t];
#ifdef FIXED
        NAMED_BARRIER(1, 128);
#endif
        tile[t] = result;  //@write
        PROXY_FENCE();
        NAMED_BARRIER(2, 128);
        if (t == 0) { STORE(y + i * 128, tile, 512); COMMIT(); WAIT_READ(0); }  //@store
    }
    if (t == 0) WAIT_STORED(0);
}
