// A tile copied by the copy engine, through a tensor map that the driver makes.
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime.h>

const int ROWS = 8, COLUMNS = 32;

__global__ void tile_to(const __grid_constant__ CUtensorMap map, float* out) {
    __shared__ alignas(128) float tile[ROWS * COLUMNS];
    __shared__ unsigned long long full;
    unsigned to = unsigned(__cvta_generic_to_shared(tile)), at = unsigned(__cvta_generic_to_shared(&full));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at));
        asm volatile("fence.proxy.async;");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at), "r"(unsigned(sizeof tile)));
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                to),
            "l"(&map), "r"(32), "r"(8), "r"(at)
            : "memory");
    }
    __syncthreads();
#ifndef NO_WAIT
    unsigned done = 0;
    while (!done)
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
            : "=r"(done)
            : "r"(at)
            : "memory");
#endif
    for (int i = threadIdx.x; i < ROWS * COLUMNS; i += blockDim.x) out[i] = tile[i];
}

__global__ void __cluster_dims__(2, 1, 1) rank(unsigned* out) {
    unsigned of_cluster;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(of_cluster));
    if (threadIdx.x == 0) out[blockIdx.x] = of_cluster;
}

__global__ void any_cluster(unsigned* out) {
    unsigned of_cluster, size;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(of_cluster));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    if (threadIdx.x == 0) out[blockIdx.x] = 10 * size + of_cluster;
}

int main() {
    const int rows = 32, columns = 64;
    float *x, *out, *h = new float[rows * columns];
    for (int i = 0; i < rows * columns; ++i) h[i] = i;
    cudaMalloc(&x, rows * columns * sizeof(float));
    cudaMalloc(&out, ROWS * COLUMNS * sizeof(float));
    cudaMemcpy(x, h, rows * columns * sizeof(float), cudaMemcpyHostToDevice);

    void* found = nullptr;
    cudaDriverEntryPointQueryResult status;
    cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status);
    auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
    cuuint64_t shape[] = {columns, rows}, strides[] = {columns * sizeof(float)};
    cuuint32_t box[] = {COLUMNS, ROWS}, steps[] = {1, 1};
    CUtensorMap map;
    CUresult made = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, x, shape, strides, box, steps,
                           CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                           CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    printf("%d\n", made);
    tile_to<<<1, 64>>>(map, out);
    cudaMemcpy(h, out, ROWS * COLUMNS * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g %g\n", h[0], h[ROWS * COLUMNS - 1]);

    unsigned* ranks;
    cudaMallocManaged(&ranks, 4 * sizeof(unsigned));
    rank<<<4, 32>>>(ranks);
    cudaDeviceSynchronize();
    printf("%u %u %u %u\n", ranks[0], ranks[1], ranks[2], ranks[3]);
    cudaLaunchConfig_t how = {};
    how.gridDim = 4;
    how.blockDim = 32;
    cudaLaunchAttribute cluster;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = 4, cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    how.attrs = &cluster;
    how.numAttrs = 1;
    cudaLaunchKernelEx(&how, any_cluster, ranks);
    cudaDeviceSynchronize();
    printf("%u %u %u %u\n", ranks[0], ranks[1], ranks[2], ranks[3]);
    box[0] = 30;
    printf("%d\n", encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, x, shape, strides, box, steps,
                          CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                          CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    cudaFree(x), cudaFree(out), cudaFree(ranks);
}
