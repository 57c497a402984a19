// ggml-org/llama.cpp, pull request 13469 (merged, 2025-05): a barrier that only some warps come to, put in to mend a race,
// meets the next barrier of the others.
extern "C" __global__ void k(const float* x, float* y)
{
    __shared__ float part[128], sum;
    int t = threadIdx.x;
    part[t] = x[t];
#ifdef FIXED
    __syncthreads();
    if (t < 64) part[t] += part[t + 64];
#else
    if (t < 64) {
        __syncthreads();  //@barrier
        part[t] += part[t + 64];  //@read
    }
#endif
    __syncthreads();  //@barrier
    if (t == 0) {
        sum = 0;
        for (int i = 0; i < 64; ++i) sum += part[i];  //@read
    }
    __syncthreads();  //@barrier
    y[t] = sum;  //@read
}
