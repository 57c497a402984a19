// Each kernel is launched twelve times in a loop. From the sixth time on the host changes what it reads, each time.
#include <cstdio>

const int TIMES = 12, CHANGED = 6, N = 64;
__constant__ int factor[4];
__device__ int shift;

__global__ void variables(int* out, const int* in) { out[threadIdx.x] = in[threadIdx.x] * factor[threadIdx.x % 4] + shift; }
__global__ void texture_of(int* out, cudaTextureObject_t in) { out[threadIdx.x] = tex1Dfetch<int>(in, threadIdx.x); }
__global__ void by_pointer(int* out, int** in) { out[threadIdx.x] = (*in)[threadIdx.x]; }
__global__ void by_copy(int* out, const int* in) {
    __shared__ int part[N];
    unsigned to = (unsigned)__cvta_generic_to_shared(part + threadIdx.x);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\ncp.async.wait_all;" ::"r"(to), "l"(in + threadIdx.x));
    __syncthreads();
    out[threadIdx.x] = part[threadIdx.x];
}

int* made(size_t bytes) {
    int* array;
    cudaMalloc(&array, bytes);
    return array;
}

template <class Change, class Launch>
void loop(const char* name, int* out, Change change, Launch launch) {
    int wrong = 0, number = 0, got[N];
    for (int n = 0; n < TIMES; ++n) {
        if (n == 0 || n >= CHANGED) change(number = n + 1);
        launch();
        cudaMemcpy(got, out, sizeof(got), cudaMemcpyDeviceToHost);
        for (int each : got) wrong += each != number;
    }
    printf("%s %d\n", name, wrong);
}

int main() {
    int* in = made(4 * N);
    int* out = made(4 * N);
    int** pointer = (int**)made(sizeof(int*));
    cudaMemcpy(pointer, &in, sizeof(in), cudaMemcpyHostToDevice);
    cudaResourceDesc memory = {};
    memory.resType = cudaResourceTypeLinear;
    memory.res.linear.devPtr = in;
    memory.res.linear.desc = cudaCreateChannelDesc<int>();
    memory.res.linear.sizeInBytes = 4 * N;
    cudaTextureDesc how = {};
    cudaTextureObject_t texture;
    cudaCreateTextureObject(&texture, &memory, &how, nullptr);

    auto fill = [&](int number) {
        int numbers[N];
        for (int& each : numbers) each = number;
        cudaMemcpy(in, numbers, sizeof(numbers), cudaMemcpyHostToDevice);
    };
    fill(0);
    int zero = 0;
    cudaMemcpyToSymbol(shift, &zero, 4);
    loop("a variable", out, [&](int number) { cudaMemcpyToSymbol(shift, &number, 4); }, [&] { variables<<<1, N>>>(out, in); });
    fill(1);
    cudaMemcpyToSymbol(shift, &zero, 4);
    loop("constants", out, [&](int number) {
        int four[4] = {number, number, number, number};
        cudaMemcpyToSymbol(factor, four, sizeof(four));
    }, [&] { variables<<<1, N>>>(out, in); });
    loop("a texture", out, fill, [&] { texture_of<<<1, N>>>(out, texture); });
    loop("a pointer in memory", out, fill, [&] { by_pointer<<<1, N>>>(out, pointer); });
    loop("cp.async", out, fill, [&] { by_copy<<<1, N>>>(out, in); });
    cudaDestroyTextureObject(texture);
    cudaFree(pointer);
    cudaFree(out);
    cudaFree(in);
}
