// What a program asks of NVML, cuRAND and NCCL on the host.
#include <curand.h>
#include <nccl.h>
#include <nvml.h>

#include <cmath>
#include <cstdio>
#include <vector>

const int N = 20000;

__global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}

// The mean, and how far from it the numbers lie.
template <class T>
void tell(const char* name, const std::vector<T>& x) {
    double sum = 0, squares = 0;
    for (T each : x) sum += each, squares += double(each) * each;
    double mean = sum / x.size();
    printf("%s %.1f %.1f\n", name, mean, std::sqrt(squares / x.size() - mean * mean));
}

void clocks() {
    unsigned count, mhz, bound = 0;
    char bus[32];
    nvmlDevice_t device;
    nvmlInit();
    nvmlDeviceGetCount(&count);
    cudaDeviceGetPCIBusId(bus, sizeof bus, 0);
    int found = nvmlDeviceGetHandleByPciBusId(bus, &device), nobody = nvmlDeviceGetHandleByPciBusId("nowhere", &device);
    nvmlDeviceGetHandleByIndex(0, &device);
    nvmlDeviceGetClockInfo(device, NVML_CLOCK_MEM, &mhz);
    printf("%u %d %d %u, %s\n", count, found, nobody, mhz, nvmlErrorString(nvmlDeviceGetPowerUsage(device, &bound)));
    nvmlShutdown();
}

void numbers() {
    curandGenerator_t of_device, of_host;
    curandCreateGenerator(&of_device, CURAND_RNG_PSEUDO_DEFAULT);
    curandCreateGeneratorHost(&of_host, CURAND_RNG_PSEUDO_MT19937);
    float* x;
    cudaMalloc(&x, N * sizeof(float));
    std::vector<float> first(N), second(N);
    auto drawn = [&](std::vector<float>& to) {
        curandSetPseudoRandomGeneratorSeed(of_device, 1234);
        int error = curandGenerateUniform(of_device, x, N);
        cudaMemcpy(to.data(), x, N * sizeof(float), cudaMemcpyDeviceToHost);
        return error;
    };
    int error = drawn(first) + drawn(second);
    tell("uniform", first);
    printf("the same again: %d, error %d\n", first == second, error);
    std::vector<double> normal(N);
    curandGenerateNormalDouble(of_host, normal.data(), N, 5, 2);
    tell("normal", normal);
    curandDestroyGenerator(of_device);
    curandDestroyGenerator(of_host);
    cudaFree(x);
}

void ranks() {
    float *from, *to, got;
    cudaMalloc(&from, 16);
    cudaMalloc(&to, 16);
    cudaMemset(from, 0, 16);
    ncclComm_t comm, several[2];
    int device = 0, error = ncclCommInitAll(&comm, 1, &device);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    ncclAllReduce(from, to, 4, ncclFloat, ncclSum, comm, stream);
    cudaStreamSynchronize(stream);
    scale<<<1, 32>>>(to, 4);
    cudaMemcpy(&got, to, 4, cudaMemcpyDeviceToHost);
    ncclCommDestroy(comm);
    printf("ranks %d %g, %s\n", error, got, ncclGetErrorString(ncclCommInitAll(several, 2, nullptr)));
    cudaFree(from);
    cudaFree(to);
}

int main() {
    clocks();
    numbers();
    ranks();
}
