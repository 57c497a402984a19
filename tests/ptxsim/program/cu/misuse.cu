// Each line of main is a mistake of its own.
#include <cstdio>

struct Pair {
    float* x;
    int n;
};

__global__ void beyond(float* x) { x[threadIdx.x] = 1; }
__global__ void through(Pair pair) { pair.x[threadIdx.x] += 1; }
__global__ void wide() {}

int main(int count, char**) {
    float *a, *b, host[200];
    cudaMalloc(&a, 100 * sizeof(float));
    cudaMalloc(&b, 100 * sizeof(float));
    beyond<<<1, 128>>>(a);
    through<<<1, 64>>>(Pair{b, 100});
    cudaFree(b);
    beyond<<<1, 64>>>(b);
    beyond<<<1, 32>>>(host);
    wide<<<1, 2048>>>();
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost);
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    cudaFree(b);
    fflush(stdout);
    return count > 1 && a[3] > 0;
}
