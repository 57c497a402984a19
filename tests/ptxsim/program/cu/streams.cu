// Two halves of an array in two streams, then all of it in the first one.
#include <cstdio>

__global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}

int main() {
    const int n = 512;
    float *x, *pinned;
    cudaMallocHost(&pinned, n * sizeof(float));
    cudaMalloc(&x, n * sizeof(float));
    for (int i = 0; i < n; ++i) pinned[i] = i;
    cudaStream_t one, two;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    cudaEvent_t half;
    cudaEventCreate(&half);
    cudaMemcpyAsync(x, pinned, n / 2 * sizeof(float), cudaMemcpyHostToDevice, one);
    cudaMemcpyAsync(x + n / 2, pinned + n / 2, n / 2 * sizeof(float), cudaMemcpyHostToDevice, two);
    scale<<<1, n / 2, 0, two>>>(x + n / 2, n / 2);
#ifndef NO_EVENT
    cudaEventRecord(half, two);
    cudaStreamWaitEvent(one, half, 0);
#endif
    scale<<<2, n / 2, 0, one>>>(x, n);
#ifndef NO_WAIT
    cudaStreamSynchronize(one);
#endif
    cudaMemcpy(pinned, x, n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g %g\n", pinned[1], pinned[n - 1]);
    cudaFree(x), cudaFreeHost(pinned);
}
