// sgl-project/sglang, pull request 32954 (merged, 2026-08; issue 32907): a block of a pair ends while the other one is
// still about to arrive at its mbarrier: "CTA Not Present", after minutes of service.
#include "common.cuh"
extern "C" __global__ void __cluster_dims__(2) k(const float* x, float* y)
{
    __shared__ alignas(8) u64 bar;
    int t = threadIdx.x;
    if (t == 0) { INIT(&bar, 1); INIT_SEEN(); }
    CLUSTER_SYNC();
    y[blockIdx.x * 128 + t] = x[blockIdx.x * 128 + t] + 1;
    if (t == 0) ARRIVE_AT(&bar, rank() ^ 1);  //@arrive
#ifdef FIXED
    CLUSTER_SYNC();
#endif
}
