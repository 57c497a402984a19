// Streams, events, callbacks, graphs, pinned, registered and managed memory, in one program.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                     \
    do {                                                                                \
        cudaError_t error = (call);                                                     \
        if (error) {                                                                    \
            printf("line %d: %s\n", __LINE__, cudaGetErrorName(error));                 \
            return 1;                                                                   \
        }                                                                               \
    } while (0)

__global__ void add(int* x, int n, int more) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += more;
}

struct Node {
    int value;
    Node* next;
};

__global__ void walk(Node* first, int* sum) {
    for (Node* at = first; at; at = at->next) *sum += at->value;
}

static int said = 0;

int main() {
    const int n = 300;
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    int blocks;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
    printf("%s, %d.%d, %d SMs, %d blocks\n", device.name, device.major, device.minor, device.multiProcessorCount, blocks);

    cudaStream_t one, two;
    cudaEvent_t done;
    CHECK(cudaStreamCreate(&one));
    CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&done));
    int *pinned, *x;
    CHECK(cudaMallocHost(&pinned, n * sizeof(int)));
    CHECK(cudaMallocAsync(&x, n * sizeof(int), one));
    for (int i = 0; i < n; ++i) pinned[i] = i;
    CHECK(cudaMemcpyAsync(x, pinned, n * sizeof(int), cudaMemcpyHostToDevice, one));
    add<<<2, 256, 0, one>>>(x, n, 10);
    CHECK(cudaEventRecord(done, one));
    CHECK(cudaStreamWaitEvent(two, done, 0));
    add<<<2, 256, 0, two>>>(x, n, 100);
    CHECK(cudaLaunchHostFunc(two, [](void* to) { *static_cast<int*>(to) += 1; }, &said));
    CHECK(cudaMemcpyAsync(pinned, x, n * sizeof(int), cudaMemcpyDeviceToHost, two));
    CHECK(cudaStreamSynchronize(two));
    printf("%d %d, %d said\n", pinned[0], pinned[n - 1], said);

    cudaGraph_t graph;
    cudaGraphExec_t ready;
    CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
    add<<<2, 256, 0, one>>>(x, n, 1000);
    CHECK(cudaMemcpyAsync(pinned, x, n * sizeof(int), cudaMemcpyDeviceToHost, one));
    CHECK(cudaStreamEndCapture(one, &graph));
    int last = 2000;
    void* arguments[] = {&x, const_cast<int*>(&n), &last};
    cudaKernelNodeParams how = {};
    how.func = reinterpret_cast<void*>(add);
    how.gridDim = 2;
    how.blockDim = 256;
    how.kernelParams = arguments;
    cudaGraphNode_t nodes[2], node;
    size_t count = 2;
    CHECK(cudaGraphGetNodes(graph, nodes, &count));
    CHECK(cudaGraphAddKernelNode(&node, graph, &nodes[1], 1, &how));
    last = 0;
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    printf("%d before,", pinned[0]);
    CHECK(cudaGraphLaunch(ready, one));
    CHECK(cudaGraphLaunch(ready, one));
    CHECK(cudaStreamSynchronize(one));
    printf(" %d after\n", pinned[0]);

    std::vector<int> own(2000, 5);
    CHECK(cudaHostRegister(own.data() + 3, 1000 * sizeof(int), cudaHostRegisterDefault));
    add<<<4, 256>>>(own.data() + 3, 1000, 2);
    CHECK(cudaDeviceSynchronize());
    printf("%d %d %d %d\n", own[2], own[3], own[1002], own[1003]);
    CHECK(cudaHostUnregister(own.data() + 3));

    Node* list;
    int* sum;
    CHECK(cudaMallocManaged(&list, 3 * sizeof(Node)));
    CHECK(cudaMallocManaged(&sum, sizeof(int)));
    for (int i = 0; i < 3; ++i) list[i] = {i + 1, i < 2 ? &list[i + 1] : nullptr};
    *sum = 0;
    walk<<<1, 1>>>(list, sum);
    CHECK(cudaDeviceSynchronize());
    printf("sum %d\n", *sum);

    float ms;
    cudaEvent_t end;
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventElapsedTime(&ms, done, end));
    cudaPointerAttributes what;
    CHECK(cudaPointerGetAttributes(&what, x + 7));
    printf("%s, a device's: %d\n", ms > 0 ? "time passes" : "no time", what.type == cudaMemoryTypeDevice);
    size_t pitch;
    char* rows;
    CHECK(cudaMallocPitch(&rows, &pitch, 100, 3));
    CHECK(cudaMemset2D(rows, pitch, 7, 100, 3));
    char back[300];
    CHECK(cudaMemcpy2D(back, 100, rows, pitch, 100, 3, cudaMemcpyDeviceToHost));
    printf("%d %d\n", back[0], back[299]);
    CHECK(cudaFree(rows));
    CHECK(cudaFreeAsync(x, one));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(list));
    CHECK(cudaFree(sum));
    printf("%s\n", cudaGetErrorString(cudaSetDevice(3)));
    return 0;
}
