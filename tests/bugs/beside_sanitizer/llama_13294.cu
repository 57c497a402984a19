// ggml-org/llama.cpp, pull request 13294 (merged, 2025-05): a block makes several tiles, and the table of the next one
// is written while slower warps still look up rows of this one.
extern "C" __global__ void k(const int* ids, const float* x, float* y, int n)
{
    __shared__ int row[64];
    int t = threadIdx.x;
    for (int i = 0; i < n; ++i) {
#ifdef FIXED
        __syncthreads();
#endif
        if (t < 64) row[t] = ids[i * 64 + t];  //@write
        __syncthreads();
        y[i * 128 + t] = x[row[t / 2] * 2 + t % 2];  //@read
    }
}
