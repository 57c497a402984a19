// With parts_more.cu, and -rdc=true: functions and variables of the device in two files.
#include <cstdio>

extern __device__ int counter;
extern __constant__ float weights[3];
__device__ float weighted(const float* x, int at);

__global__ void apply(const float* x, float* out) {
    out[threadIdx.x] = weighted(x, threadIdx.x);
    atomicAdd(&counter, 1);
}

void set_weights();
int counted();

int main() {
    float *x, *out;
    cudaMallocManaged(&x, 34 * sizeof(float));
    cudaMallocManaged(&out, 32 * sizeof(float));
    for (int i = 0; i < 34; ++i) x[i] = i;
    set_weights();
    apply<<<1, 32>>>(x, out);
    cudaDeviceSynchronize();
    printf("%g %g, %d\n", out[0], out[31], counted());
    cudaFree(x), cudaFree(out);
}
