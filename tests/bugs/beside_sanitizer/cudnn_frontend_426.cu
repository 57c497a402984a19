// NVIDIA/cudnn-frontend, pull request 426 (merged, 2026-07): 32 lanes write, one of them arrives: its arrival releases
// what it wrote itself, and not what the others did.
#include "common.cuh"
extern "C" __global__ void k(const float* x, float* y)
{
    __shared__ float weights[32];
    __shared__ alignas(8) u64 loaded;
    int t = threadIdx.x;
    if (t == 0) INIT(&loaded, 1);
    __syncthreads();
    if (t < 32) {
        weights[t] = x[t];  //@write
#ifdef FIXED
        __syncwarp();
#endif
        if (t == 0) ARRIVE(&loaded);
    } else {
        wait(&loaded, 0);
        y[t - 32] = weights[31 - t % 32];  //@read
    }
}
