// ggml-org/llama.cpp, pull request 24360 (merged, 2026-06): a scan over time writes the next step's B and C over those
// that slower warps still multiply by.
extern "C" __global__ void k(const float* b, const float* c, const float* x, float* y, int n)
{
    __shared__ float shared_b[16], shared_c[16];
    int t = threadIdx.x;
    float state[16] = {};
    for (int i = 0; i < n; ++i) {
        if (t < 16) {
            shared_b[t] = b[i * 16 + t];  //@write
            shared_c[t] = c[i * 16 + t];  //@write
        }
        __syncthreads();
        float sum = 0;
        for (int e = 0; e < 16; ++e) {
            state[e] = state[e] / 2 + shared_b[e] * x[i * 128 + t];  //@read
            sum += state[e] * shared_c[e];  //@read
        }
        y[i * 128 + t] = sum;
#ifdef FIXED
        __syncthreads();
#endif
    }
}
