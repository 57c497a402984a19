// A kernel on one GPU that reads memory of another.
#include <cstdio>

#ifdef COUNTS
__device__ int launches;
#endif

__global__ void triple(const int* from, int* to) {
#ifdef COUNTS
    if (threadIdx.x == 0) ++launches;
#endif
    to[threadIdx.x] = 3 * from[threadIdx.x];
}

int main() {
    int count, buses[2] = {0, -1};
    cudaGetDeviceCount(&count);
    for (int i = 0; i < count; ++i) {
        cudaDeviceProp found;
        cudaGetDeviceProperties(&found, i);
        buses[i] = found.pciBusID;
    }
    printf("%d GPUs, buses %d %d, no third: %d\n", count, buses[0], buses[1], cudaSetDevice(2));
    if (count < 2) return 0;

    int can, self;
    cudaDeviceCanAccessPeer(&can, 0, 1);
    cudaDeviceCanAccessPeer(&self, 1, 1);
    cudaSetDevice(1);
    cudaDeviceEnablePeerAccess(0, 0);
    int again = cudaDeviceEnablePeerAccess(0, 0), own = cudaDeviceEnablePeerAccess(1, 0);
    cudaSetDevice(0);
    printf("peers: %d %d %d %d, %d\n", can, self, again, cudaDeviceDisablePeerAccess(1), own);

    int host[3] = {1, 2, 3}, *first, *second;
    cudaMalloc(&first, sizeof host);
    cudaMemcpy(first, host, sizeof host, cudaMemcpyHostToDevice);
    cudaSetDevice(1);
    cudaMalloc(&second, sizeof host);
    cudaMemset(second, 0, sizeof host);
    cudaMemcpyPeer(second, 1, first, 0, sizeof host);
    cudaSetDevice(0);
    cudaStream_t stream;
    triple<<<1, 3>>>(first, first);
    cudaSetDevice(1);
    cudaStreamCreate(&stream);
    triple<<<1, 3, 0, stream>>>(first, second);
    cudaStreamSynchronize(stream);
    cudaMemcpy(host, second, sizeof host, cudaMemcpyDefault);
    printf("on GPU 1: %d %d %d\n", host[0], host[1], host[2]);
    cudaPointerAttributes about[3];
    cudaPointerGetAttributes(&about[0], first);
    cudaPointerGetAttributes(&about[1], second + 1);
    cudaFree(second);
    cudaSetDevice(0);
    cudaFree(first);
    cudaMalloc(&first, 64);
    cudaPointerGetAttributes(&about[2], first);
    printf("pointers: %d %d %d\n", about[0].device, about[1].device, about[2].device);
    cudaFree(first);
}
