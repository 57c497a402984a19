// What the host sees: pinned and managed memory that a copy and a launch write, with the wait that HOW names.
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void count(int* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = i + 1;
#ifdef SYSTEM
    __threadfence_system();
#endif
}

__managed__ int calls;
__global__ void call() { atomicAdd(&calls, 1); }

int main(int, char** arguments) {
    const char* how = arguments[1];
    auto is = [=](const char* name) { return !strcmp(how, name); };
    const int n = 3000, bytes = n * sizeof(int);
    int *x, *pinned, *managed;
    cudaMalloc(&x, bytes);
    cudaMallocHost(&pinned, bytes);
    cudaMallocManaged(&managed, bytes);
    memset(managed, 0, bytes);
    cudaStream_t one, two;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    cudaEvent_t launched, copied;
    cudaEventCreate(&launched);
    cudaEventCreate(&copied);

    count<<<12, 256, 0, one>>>(x, n);
    count<<<12, 256, 0, one>>>(managed, n);
    call<<<1, 32, 0, one>>>();
    cudaEventRecord(launched, one);
    cudaMemcpyAsync(pinned, x, bytes, cudaMemcpyDeviceToHost, one);
    cudaEventRecord(copied, one);
    int questions = 0;
    volatile int* seen = pinned;
    if (is("stream")) cudaStreamSynchronize(one);
    if (is("device")) cudaDeviceSynchronize();
    if (is("event")) cudaEventSynchronize(copied);
    if (is("earlier-event")) cudaEventSynchronize(launched);
    if (is("other-stream")) cudaStreamSynchronize(two);
    if (is("default-stream")) cudaStreamSynchronize(0);
    if (is("stream-loop")) while (cudaStreamQuery(one) == cudaErrorNotReady) ++questions;
    if (is("event-loop")) while (cudaEventQuery(copied) != cudaSuccess) ++questions;
    if (is("one-question")) cudaStreamQuery(one);
    if (is("memory-loop")) while (!seen[n - 1]) {}
    if (is("abort")) abort();
    printf("%d %d %d, %d questions, %s\n", pinned[n - 1], managed[n - 1], calls, questions,
           cudaGetErrorString(cudaGetLastError()));
    cudaFree(x), cudaFree(managed), cudaFreeHost(pinned);
}
