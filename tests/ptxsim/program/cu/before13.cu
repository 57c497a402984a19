// Names that CUDA had until version 13: headers/cuda12/ supplies them.
#include <cstdio>
#include <nvToolsExt.h>
#ifdef WHOLE
#include <cub/cub.cuh>
#else
#include <cub/block/block_reduce.cuh>
#endif
#include <thrust/functional.h>

struct Twice : thrust::unary_function<int, int> {
    __host__ __device__ int operator()(int x) const { return 2 * x; }
};

__global__ void top(const int* x, int* out) {
    typedef cub::BlockReduce<int, 64> Reduce;
    __shared__ Reduce::TempStorage room;
    int most = Reduce(room).Reduce(thrust::identity<int>()(x[threadIdx.x]), cub::Max());
    if (threadIdx.x == 0) *out = CUB_MAX(most, 0);
}

int main() {
    nvtxRangePushA("all of it");
    cudaDeviceProp prop = {0};
    cudaGetDeviceProperties(&prop, 0);
    cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeFourByte);
    int *x, *out;
    cudaMallocManaged(&x, 64 * sizeof(int));
    cudaMallocManaged(&out, sizeof(int));
    for (int i = 0; i < 64; ++i) x[i] = i;
    cudaMemAdvise(x, 64 * sizeof(int), cudaMemAdviseSetReadMostly, 0);
    cudaMemPrefetchAsync(x, 64 * sizeof(int), 0, 0);
    cudaMemPrefetchAsync(x, 64 * sizeof(int), cudaCpuDeviceId);
    top<<<1, 64>>>(x, out);
    cudaThreadSynchronize();
    printf("%d %d %d %d\n", *out, prop.multiProcessorCount, prop.clockRate, prop.memoryClockRate);
#ifdef WHOLE
    cub::CountingInputIterator<int> count(5);
    cub::ConstantInputIterator<int> same(4);
    cub::TransformInputIterator<int, Twice, int*> twice(x, Twice());
    printf("%d %d %d\n", count[2], same[9], twice[3]);
#endif
    nvtxRangePop();
    cudaFree(x);
    cudaFree(out);
    cudaThreadExit();
}
