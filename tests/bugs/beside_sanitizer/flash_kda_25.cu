// MoonshotAI/FlashKDA, pull request 25 (merged, 2026-07): the state is set to zero by threads; with an empty sequence no
// iteration runs, and so not the fence in it, before the copy engine stores the state.
#include "common.cuh"
extern "C" __global__ void k(const float* x, float* y, int n)
{
    __shared__ alignas(128) float state[128];
    int t = threadIdx.x;
    state[t] = 0;  //@write
#ifdef FIXED
    PROXY_FENCE();
#endif
    for (int i = 0; i < n; ++i) {
        state[t] += x[i * 128 + t];
        PROXY_FENCE();
    }
    __syncthreads();
    if (t == 0) { STORE(y, state, 512); COMMIT(); WAIT_STORED(0); }  //@store
}
