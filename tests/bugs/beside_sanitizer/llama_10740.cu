// ggml-org/llama.cpp, pull request 10740 (merged, 2024-12): an array with a place for each lane of a warp is set to zero by
// all threads of the block.
extern "C" __global__ void k(const float* x, float* y)
{
    __shared__ float part[32];
    int t = threadIdx.x;
    float sum = x[t];
    for (int way = 16; way; way /= 2) sum += __shfl_xor_sync(0xffffffff, sum, way);
#ifdef FIXED
    if (t < 32) part[t] = 0;
#else
    part[t] = 0;  //@write
#endif
    __syncthreads();
    if (t % 32 == 0) part[t / 32] = sum;
    __syncthreads();
    if (t >= 32) return;
    sum = part[t];
    for (int way = 16; way; way /= 2) sum += __shfl_xor_sync(0xffffffff, sum, way);
    y[t] = sum;
}
