// lablup/mlxcel, pull request 923 (merged, 2026-07; their issue 910): results go to the memory of the tiles while copies
// that were started for a step that never comes are still on their way into it.
extern "C" __global__ void k(const float4* x, float* y, int n)
{
    __shared__ alignas(16) union { float4 tile[2][32]; float result[256]; } memory;
    int t = threadIdx.x;
    auto copy = [&](int i) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(&memory.tile[i % 2][t])), "l"(x + min(i, n - 1) * 32 + t) : "memory");  //@copy
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    float sum = 0;
    copy(0);  //@copy
    for (int i = 0; i < n; ++i) {
        copy(i + 1);  //@copy
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        float4 four = memory.tile[i % 2][t];
        sum += four.x + four.y + four.z + four.w;
    }
#ifdef FIXED
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
#endif
    memory.result[t] = sum;  //@write
    __syncthreads();
    y[t] = memory.result[31 - t];  //@read
}
