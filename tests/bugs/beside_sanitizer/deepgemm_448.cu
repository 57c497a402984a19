// deepseek-ai/DeepGEMM, pull request 448 (open, 2026-09; issue 449): A comes from registers, and the next ones are loaded
// before the product that reads them is over.
#include "common.cuh"
extern "C" __global__ void k(const unsigned* a, const float4* b, float* y, int n)
{
    __shared__ alignas(128) float4 tile[8][16];
    int t = threadIdx.x;
    tile[t / 16][t % 16] = b[t];
    PROXY_FENCE();
    __syncthreads();
    float d[4];
    unsigned piece[4];
    for (int i = 0; i < n; ++i) {
        for (int e = 0; e < 4; ++e) piece[e] = a[(i * 4 + e) * 128 + t];  //@piece
        WGMMA_FENCE();  //@fence
        WGMMA_A(d, piece, descriptor(tile[i], 128, 256), i);
        WGMMA_COMMIT();
#ifdef FIXED
        WGMMA_WAIT(0);
#else
        if (i == n - 1) WGMMA_WAIT(0);
#endif
    }
    put(y, d, t);
}
