// Kernels of memory.py: they move data, and compute little.
#include <cuda_fp16.h>

#define AT (blockIdx.x * blockDim.x + threadIdx.x)
extern "C" {

__global__ void copy2(const float2* a, float2* b) { b[AT] = a[AT]; }

__global__ void copy_backwards(const float* a, float* b) { b[gridDim.x * blockDim.x - 1 - AT] = a[AT]; }

__global__ void scale(float4* a)
{
    float4 x = a[AT];
    a[AT] = make_float4(2 * x.x, 2 * x.y, 2 * x.z, 2 * x.w);
}

__global__ void axpy(const float* x, float* y) { y[AT] = 1.5f * x[AT] + y[AT]; }

__global__ void triad(const float4* a, const float4* b, float4* c)
{
    float4 x = a[AT], y = b[AT];
    c[AT] = make_float4(x.x + 3 * y.x, x.y + 3 * y.y, x.z + 3 * y.z, x.w + 3 * y.w);
}

__global__ void to_half(const float4* a, uint4* b)
{
    float4 x = a[2 * AT], y = a[2 * AT + 1];
    __half2 h[4] = {__floats2half2_rn(x.x, x.y), __floats2half2_rn(x.z, x.w), __floats2half2_rn(y.x, y.y),
                    __floats2half2_rn(y.z, y.w)};
    b[AT] = *(uint4*)h;
}

__device__ float gelu_of(float x) { return x / (1 + __expf(-1.702f * x)); }

__global__ void gelu(const float4* a, float4* b)
{
    float4 x = a[AT];
    b[AT] = make_float4(gelu_of(x.x), gelu_of(x.y), gelu_of(x.z), gelu_of(x.w));
}

__device__ float polynomial_of(float x)
{
    float sum = 0.5f;
    #pragma unroll
    for (int i = 0; i < 64; ++i) sum = sum * x + 0.25f * (i + 1);
    return sum;
}

__global__ void polynomial(const float4* a, float4* b)
{
    float4 x = a[AT];
    b[AT] = make_float4(polynomial_of(x.x), polynomial_of(x.y), polynomial_of(x.z), polynomial_of(x.w));
}

__global__ void planes(const float* a, float* b)
{
    int n = gridDim.x * blockDim.x;
    for (int i = 0; i < 3; ++i) b[AT + i * n] = a[3 * AT + i];
}

__global__ void every_other(const float* a, float* b) { b[AT] = a[2 * AT]; }

__global__ void every_eighth(const float* a, float* b) { b[AT] = a[8 * AT]; }

__global__ void upsample(const float* a, float* b) { b[AT] = a[AT / 2]; }

__global__ void transpose_reads(const float* a, float* b, int n)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    b[x * n + y] = a[y * n + x];
}

__global__ void transpose_writes(const float* a, float* b, int n)
{
    int x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 8 + threadIdx.y;
    b[y * n + x] = a[x * n + y];
}

__global__ void transpose_tile(const float* a, float* b, int n)
{
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32, y = blockIdx.y * 32;
    for (int i = threadIdx.y; i < 32; i += 8) tile[i][threadIdx.x] = a[(y + i) * n + x + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8) b[(x + i) * n + y + threadIdx.x] = tile[threadIdx.x][i];
}

__global__ void transpose_padded(const float* a, float* b, int n)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32, y = blockIdx.y * 32;
    for (int i = threadIdx.y; i < 32; i += 8) tile[i][threadIdx.x] = a[(y + i) * n + x + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8) b[(x + i) * n + y + threadIdx.x] = tile[threadIdx.x][i];
}

__global__ void tree_sums(const float4* a, float* b)
{
    __shared__ float sums[256];
    float4 x = a[AT];
    sums[threadIdx.x] = x.x + x.y + x.z + x.w;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) b[blockIdx.x] = sums[0];
}

__device__ float of_warp(float x)
{
    for (int i = 16; i > 0; i /= 2) x += __shfl_xor_sync(~0u, x, i);
    return x;
}

__device__ float of_block(float x)
{
    __shared__ float sums[32];
    x = of_warp(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < blockDim.x / 32; ++i) sum += sums[i];
    return sum;
}

__global__ void shuffle_sums(const float4* a, float* b)
{
    float sum = 0;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        float4 x = a[blockIdx.x * 1024 + i * 256 + threadIdx.x];
        sum += x.x + x.y + x.z + x.w;
    }
    sum = of_block(sum);
    if (threadIdx.x == 0) b[blockIdx.x] = sum;
}

__global__ void block_scan(const float* a, float* b)
{
    __shared__ float kept[2][512];
    int t = threadIdx.x, now = 0;
    kept[0][t] = a[AT];
    for (int far = 1; far < 512; far *= 2) {
        __syncthreads();
        kept[1 - now][t] = kept[now][t] + (t >= far ? kept[now][t - far] : 0);
        now = 1 - now;
    }
    b[AT] = kept[now][t];
}

__global__ void shuffle_scan(const float4* a, float4* b)
{
    __shared__ float sums[8];
    float4 x = a[AT];
    x.y += x.x; x.z += x.y; x.w += x.z;
    float mine = x.w;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int i = 1; i < 32; i *= 2) {
        float other = __shfl_up_sync(~0u, mine, i);
        if (lane >= i) mine += other;
    }
    if (lane == 31) sums[warp] = mine;
    __syncthreads();
    float before = mine - x.w;
    for (int i = 0; i < 8; ++i) before += i < warp ? sums[i] : 0;
    b[AT] = make_float4(x.x + before, x.y + before, x.z + before, x.w + before);
}

__global__ void stencil1(const float* a, float* b)
{
    __shared__ float kept[262];
    int t = threadIdx.x, last = gridDim.x * 256 - 1, at = AT;
    kept[t + 3] = a[at];
    if (t < 3) {
        kept[t] = a[max(at - 3, 0)];
        kept[t + 259] = a[min(at + 256, last)];
    }
    __syncthreads();
    float sum = 0;
    #pragma unroll
    for (int i = 0; i < 7; ++i) sum += kept[t + i];
    b[at] = sum;
}

__global__ void stencil2(const float* a, float* b, int n)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x > 0 && x < n - 1 && y > 0 && y < n - 1)
        b[y * n + x] = 0.25f * (a[y * n + x - 1] + a[y * n + x + 1] + a[(y - 1) * n + x] + a[(y + 1) * n + x]);
}

__global__ void stencil2_tile(const float* a, float* b, int n)
{
    __shared__ float kept[10][34];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32 + tx, y = blockIdx.y * 8 + ty;
    kept[ty + 1][tx + 1] = a[y * n + x];
    if (ty == 0) {
        kept[0][tx + 1] = a[max(y - 1, 0) * n + x];
        kept[9][tx + 1] = a[min(y + 8, n - 1) * n + x];
    }
    if (tx == 0) {
        kept[ty + 1][0] = a[y * n + max(x - 1, 0)];
        kept[ty + 1][33] = a[y * n + min(x + 32, n - 1)];
    }
    __syncthreads();
    b[y * n + x] = 0.25f * (kept[ty][tx + 1] + kept[ty + 2][tx + 1] + kept[ty + 1][tx] + kept[ty + 1][tx + 2]);
}

__global__ void stencil3(const float* a, float* b, int n)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z = blockIdx.z;
    if (x > 0 && x < n - 1 && y > 0 && y < n - 1 && z > 0 && z < n - 1) {
        int at = (z * n + y) * n + x;
        b[at] = a[at - 1] + a[at + 1] + a[at - n] + a[at + n] + a[at - n * n] + a[at + n * n] - 6 * a[at];
    }
}

__global__ void row_of_warp(const float* a, float* b, int n)
{
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int i = 0; i < n; i += 32) sum += a[row * n + i + lane];
    sum = of_warp(sum);
    if (lane == 0) b[row] = sum;
}

__global__ void row_of_block(const float4* a, float* b, int n)
{
    float4 x = a[AT];
    float sum = of_block(x.x + x.y + x.z + x.w);
    if (threadIdx.x == 0) b[blockIdx.x] = sum;
}

__global__ void row_of_thread(const float4* a, float* b, int n)
{
    float sum = 0;
    for (int i = 0; i < n / 4; ++i) {
        float4 x = a[(size_t)AT * (n / 4) + i];
        sum += x.x + x.y + x.z + x.w;
    }
    b[AT] = sum;
}

__global__ void column_of_thread(const float* a, float* b, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i += 16)
        #pragma unroll
        for (int j = 0; j < 16; ++j) sum += a[(size_t)(i + j) * (gridDim.x * 256) + AT];
    b[AT] = sum;
}

__global__ void softmax(const float4* a, float4* b, int n)
{
    __shared__ float most[8];
    float4 x = a[AT];
    float largest = fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w));
    for (int i = 16; i > 0; i /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, i));
    if (threadIdx.x % 32 == 0) most[threadIdx.x / 32] = largest;
    __syncthreads();
    for (int i = 0; i < 8; ++i) largest = fmaxf(largest, most[i]);
    x = make_float4(__expf(x.x - largest), __expf(x.y - largest), __expf(x.z - largest), __expf(x.w - largest));
    float part = 1 / of_block(x.x + x.y + x.z + x.w);
    b[AT] = make_float4(x.x * part, x.y * part, x.z * part, x.w * part);
}

__global__ void softmax_of_warp(const float* a, float* b, int n)
{
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float x[8], largest = -1e30f, sum = 0;
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        x[i] = a[row * 256 + i * 32 + lane];
        largest = fmaxf(largest, x[i]);
    }
    for (int i = 16; i > 0; i /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, i));
    #pragma unroll
    for (int i = 0; i < 8; ++i) sum += x[i] = __expf(x[i] - largest);
    float part = 1 / of_warp(sum);
    #pragma unroll
    for (int i = 0; i < 8; ++i) b[row * 256 + i * 32 + lane] = x[i] * part;
}

__global__ void layer_norm(const float4* a, float4* b, int n)
{
    float4 x[2];
    int each = 256 / blockDim.x;  // float4 of a thread, for rows of 1024
    float sum = 0, squares = 0;
    #pragma unroll
    for (int i = 0; i < 2; ++i)
        if (i < each) {
            x[i] = a[blockIdx.x * 256 + i * blockDim.x + threadIdx.x];
            sum += x[i].x + x[i].y + x[i].z + x[i].w;
        }
    float mean = of_block(sum) / 1024;
    #pragma unroll
    for (int i = 0; i < 2; ++i)
        if (i < each) {
            x[i] = make_float4(x[i].x - mean, x[i].y - mean, x[i].z - mean, x[i].w - mean);
            squares += x[i].x * x[i].x + x[i].y * x[i].y + x[i].z * x[i].z + x[i].w * x[i].w;
        }
    float part = rsqrtf(of_block(squares) / 1024 + 1e-5f);
    #pragma unroll
    for (int i = 0; i < 2; ++i)
        if (i < each)
            b[blockIdx.x * 256 + i * blockDim.x + threadIdx.x] =
                make_float4(x[i].x * part, x[i].y * part, x[i].z * part, x[i].w * part);
}

__global__ void bias_relu(const float4* a, float4* b, int n)
{
    const float4* bias = a;  // the first row
    float4 x = a[AT], y = bias[threadIdx.x];
    b[AT] = make_float4(fmaxf(x.x + y.x, 0), fmaxf(x.y + y.y, 0), fmaxf(x.z + y.z, 0), fmaxf(x.w + y.w, 0));
}

__global__ void matvec(const float4* a, const float4* x, int n)
{
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int i = lane; i < n / 4; i += 32) {
        float4 one = a[(size_t)row * (n / 4) + i], other = x[i];
        sum += one.x * other.x + one.y * other.y + one.z * other.z + one.w * other.w;
    }
    sum = of_warp(sum);
    if (lane == 0) ((float*)x)[n + row] = sum;
}

__global__ void grid_stride(const float4* a, float4* b, int n)
{
    for (int i = AT; i < n; i += gridDim.x * blockDim.x) b[i] = a[i];
}

__global__ void through_shared(const float4* a, float4* b)
{
    __shared__ float4 kept[256];
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(&kept[threadIdx.x])),
                 "l"(&a[AT]));
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    b[AT] = kept[threadIdx.x ^ 1];
}
}
