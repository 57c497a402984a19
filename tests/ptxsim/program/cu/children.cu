// Kernels that launch kernels: a tree, a stream of its own, launches behind all others.
#include <cstdio>

struct Pair { int low, high; };

__global__ void add(int* to, Pair by, int times)
{
    __shared__ int s[64];
    s[threadIdx.x] = by.low + by.high;
    if (SAFE) __syncthreads();
    for (int i = 0; i < times; ++i) atomicAdd(to, s[blockDim.x - 1 - threadIdx.x]);
}
__global__ void said(const int* sum, int who) { printf("%d: %d\n", who, *sum); }
__global__ void tree(int* sum, int depth)
{
    atomicAdd(sum, 1);
    if (depth == 0) return;
    tree<<<1, 2>>>(sum, depth - 1);
    if (threadIdx.x || depth < 3) return;
    said<<<1, 1, 0, cudaStreamTailLaunch>>>(sum, 1);
    cudaStream_t own;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    add<<<2, 64, 0, own>>>(sum, Pair{3, 97}, 2);
    cudaStreamDestroy(own);
    int* more;
    if (cudaMalloc(&more, 4) == cudaSuccess) cudaFree(more);
}
__global__ void wrong(int* sum) { add<<<1, THREADS>>>(sum, Pair{0, 0}, 1); }

int main()
{
    int* sum;
    cudaMallocManaged(&sum, sizeof *sum);
    *sum = 0;
    tree<<<1, 2>>>(sum, 3);
    said<<<1, 1>>>(sum, 2);
    wrong<<<1, 1>>>(sum);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(sum);
}
