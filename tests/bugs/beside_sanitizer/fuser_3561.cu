// NVIDIA/Fuser, issue 3561 (fixed by 3616, 2025): the slot is told to be free before the product has read it.
#include "common.cuh"
extern "C" __global__ void k(const float4* x, float* y, int n)
{
    __shared__ alignas(128) float4 slot[2][144];
    __shared__ alignas(8) u64 full[2], empty[2];
    int t = threadIdx.x;
    if (t == 0) for (int s = 0; s < 2; ++s) { INIT(&full[s], 1); INIT(&empty[s], 128); }
    if (t == 0) INIT_SEEN();
    __syncthreads();
    if (t >= 128) {
        if (t == 128)
            for (int i = 0; i < n; ++i) {
                wait(&empty[i % 2], i / 2 & 1 ^ 1);
                EXPECT(&full[i % 2], 2304);
                LOAD(slot[i % 2], x + i * 144, 2304, &full[i % 2]);  //@load
            }
        return;
    }
    float d[4];
    for (int i = 0; i < n; ++i) {
        wait(&full[i % 2], i / 2 & 1);
        WGMMA_FENCE();
        WGMMA(d, descriptor(slot[i % 2], 128, 256), descriptor(slot[i % 2] + 128, 128, 256), i);  //@product
        WGMMA_COMMIT();
#ifdef FIXED
        WGMMA_WAIT(0);
#endif
        ARRIVE(&empty[i % 2]);
    }
    WGMMA_WAIT(0);
    put(y, d, t);
}
