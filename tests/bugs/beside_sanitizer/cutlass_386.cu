// NVIDIA/cutlass, pull request 386 (merged, 2021-12): a grouped product starts its next tile where slower warps still read
// the last one.
extern "C" __global__ void k(const float* a, const float* b, float* y, int tiles)
{
    __shared__ float left[16][16], right[16][16];
    int column = threadIdx.x, row = threadIdx.y;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        left[row][column] = a[tile * 256 + row * 16 + column];  //@write
        right[row][column] = b[tile * 256 + row * 16 + column];  //@write
        __syncthreads();
        float sum = 0;
        for (int e = 0; e < 16; ++e) sum += left[row][e] * right[e][column];  //@read
        y[tile * 256 + row * 16 + column] = sum;
#ifdef FIXED
        __syncthreads();
#endif
    }
}
