// The GPU that the program was built for: there is one, and the simulator knows its limits.

#include <cstdio>
#include <cstring>
#include <map>

#include "talk.h"

namespace {

const std::map<uint64_t, uint64_t>& attributes() {
    static std::map<uint64_t, uint64_t> known;
    if (known.empty()) {
        Answer answer = ask("attributes", {});
        for (size_t i = 0; i + 1 < answer.numbers.size(); i += 2) known[answer.numbers[i]] = answer.numbers[i + 1];
    }
    return known;
}

int attribute(cudaDeviceAttr which) {
    auto found = attributes().find(which);
    return found == attributes().end() ? 0 : int(found->second);
}

std::map<int, size_t> limits = {{cudaLimitStackSize, 1024},
                                {cudaLimitPrintfFifoSize, 1 << 20},
                                {cudaLimitMallocHeapSize, 8 << 20}};

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return noted(device == 0 ? cudaSuccess : cudaErrorInvalidDevice); }
cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
cudaError_t cudaSetValidDevices(int*, int) { return cudaSuccess; }
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) { return cudaGetDevice(device); }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
    *flags = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceReset() {
    print_what_was_printed();
    return noted(ask("reset", {}).error);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
    if (device != 0) return noted(cudaErrorInvalidDevice);
    *value = attribute(which);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* found, int device) {
    if (device != 0) return noted(cudaErrorInvalidDevice);
    memset(found, 0, sizeof *found);
    Answer answer = ask("device", {});
    snprintf(found->name, sizeof found->name, "%s", answer.data.c_str());
    found->totalGlobalMem = answer.numbers[0];
    found->sharedMemPerBlock = attribute(cudaDevAttrMaxSharedMemoryPerBlock);
    found->sharedMemPerBlockOptin = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    found->sharedMemPerMultiprocessor = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    found->reservedSharedMemPerBlock = attribute(cudaDevAttrReservedSharedMemoryPerBlock);
    found->regsPerBlock = attribute(cudaDevAttrMaxRegistersPerBlock);
    found->regsPerMultiprocessor = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
    found->warpSize = attribute(cudaDevAttrWarpSize);
    found->memPitch = 0x7fffffff;
    found->maxThreadsPerBlock = attribute(cudaDevAttrMaxThreadsPerBlock);
    found->maxThreadsPerMultiProcessor = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
    found->maxBlocksPerMultiProcessor = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
    const cudaDeviceAttr block[] = {cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimY, cudaDevAttrMaxBlockDimZ};
    const cudaDeviceAttr grid[] = {cudaDevAttrMaxGridDimX, cudaDevAttrMaxGridDimY, cudaDevAttrMaxGridDimZ};
    for (int axis = 0; axis < 3; ++axis) {
        found->maxThreadsDim[axis] = attribute(block[axis]);
        found->maxGridSize[axis] = attribute(grid[axis]);
    }
    found->totalConstMem = attribute(cudaDevAttrTotalConstantMemory);
    found->major = attribute(cudaDevAttrComputeCapabilityMajor);
    found->minor = attribute(cudaDevAttrComputeCapabilityMinor);
    found->multiProcessorCount = attribute(cudaDevAttrMultiProcessorCount);
    found->textureAlignment = 512;
    found->unifiedAddressing = 1;
    found->managedMemory = 1;
    found->concurrentManagedAccess = 1;
    found->canMapHostMemory = 1;
    found->concurrentKernels = 1;
    found->asyncEngineCount = attribute(cudaDevAttrAsyncEngineCount);
    found->cooperativeLaunch = 1;
    found->streamPrioritiesSupported = 1;
    found->memoryPoolsSupported = 1;
    found->hostRegisterSupported = 1;
    found->clusterLaunch = found->major >= 9;
    found->memoryBusWidth = attribute(cudaDevAttrGlobalMemoryBusWidth);
    found->l2CacheSize = attribute(cudaDevAttrL2CacheSize);
#if CUDART_VERSION < 13000
    found->clockRate = attribute(cudaDevAttrClockRate);
    found->memoryClockRate = attribute(cudaDevAttrMemoryClockRate);
#endif
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int) {
    snprintf(text, size_t(length), "0000:00:00.0");
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    *value = limits[limit];
    return cudaSuccess;
}
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
    limits[limit] = value;
    if (limit == cudaLimitMallocHeapSize) ask("heap", {value});
    return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
    *config = cudaFuncCachePreferNone;
    return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
    *config = cudaSharedMemBankSizeFourByte;
    return cudaSuccess;
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaFuncSetSharedMemConfig(const void*, cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
    *can = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return noted(cudaErrorInvalidDevice); }
cudaError_t cudaDeviceDisablePeerAccess(int) { return noted(cudaErrorInvalidDevice); }
cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTarget, cudaFlushGPUDirectRDMAWritesScope) {
    return cudaSuccess;
}
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

}  // extern "C"
