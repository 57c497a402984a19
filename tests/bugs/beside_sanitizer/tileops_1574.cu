// tile-ai/TileOPs, pull request 1574 (merged, 2026-06): 128 threads write the tile, and one of them has it stored with
// neither a barrier nor a fence of proxies in between.
#include "common.cuh"
extern "C" __global__ void k(const float* x, float* y)
{
    __shared__ alignas(128) float tile[128];
    int t = threadIdx.x;
    tile[t] = 2 * x[blockIdx.x * 128 + t];  //@write
#ifdef FIXED
    PROXY_FENCE();
    NAMED_BARRIER(1, 128);
#endif
    if (t == 0) { STORE(y + blockIdx.x * 128, tile, 512); COMMIT(); WAIT_STORED(0); }  //@store
}
