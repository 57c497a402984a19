// ggml-org/llama.cpp, pull request 13742 (merged, 2025-05): each warp looks through the whole mask whether the step may be
// left out, and goes on at once: its next mask can change what slower warps decide.
extern "C" __global__ void k(const float* mask, const float* x, float* y, int n)
{
    __shared__ float line[128];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = 0; i < n; ++i) {
        line[t] = mask[i * 128 + t];  //@write
        __syncthreads();
        bool skip = true;
        for (int e = t % 32; e < 128; e += 32) skip = skip && line[e] == 0;  //@read
#ifdef FIXED
        if (__syncthreads_and(skip)) continue;
#else
        if (__all_sync(0xffffffff, skip)) continue;
#endif
        sum += line[t] * x[i * 128 + t];  //@read
        __syncthreads();
    }
    y[t] = sum;
}
