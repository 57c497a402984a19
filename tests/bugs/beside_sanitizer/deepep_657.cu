// deepseek-ai/DeepEP, issue 657 (fixed by 674, 2026): a copy through two stages waits until at most one store is left,
// which is the store that still reads the stage it is about to fill.
#include "common.cuh"
extern "C" __global__ void k(const float* x, float* y, int n)
{
    __shared__ alignas(128) float stage[2][128];
    __shared__ alignas(8) u64 full[2];
    if (threadIdx.x != 0) return;
    INIT(&full[0], 1); INIT(&full[1], 1); INIT_SEEN();
    for (int i = 0; i < 2; ++i) { EXPECT(&full[i], 512); LOAD(stage[i], x + i * 128, 512, &full[i]); }
    for (int i = 0; i < n; ++i) {
        wait(&full[i % 2], i / 2 & 1);
        STORE(y + i * 128, stage[i % 2], 512);  //@store
        COMMIT();
        if (i + 2 < n) {
#ifdef FIXED
            WAIT_READ(0);
#else
            WAIT_READ(1);
#endif
            EXPECT(&full[i % 2], 512);
            LOAD(stage[i % 2], x + (i + 2) * 128, 512, &full[i % 2]);  //@load
        }
    }
    WAIT_STORED(0);
}
