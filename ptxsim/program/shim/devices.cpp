// The GPU that the program was built for, whose limits the simulator knows: one, or several alike.

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

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

int gpus() {
    static int count = int(ask("device", {}).numbers[1]);
    return count;
}

bool is_gpu(int device) { return device >= 0 && device < gpus(); }

thread_local int current_gpu = 0;
std::mutex one_opens;
std::set<std::pair<int, int>> open_peers;  // a GPU, and one whose memory it may reach

std::map<int, size_t> limits = {{cudaLimitStackSize, 1024},
                                {cudaLimitPrintfFifoSize, 1 << 20},
                                {cudaLimitMallocHeapSize, 8 << 20}};

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
    *count = gpus();
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = current_gpu;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    if (!is_gpu(device)) return noted(cudaErrorInvalidDevice);
    if (device != current_gpu) ask("use_device", {uint64_t(device)});
    current_gpu = device;
    return cudaSuccess;
}
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
    if (!is_gpu(device)) return noted(cudaErrorInvalidDevice);
    *value = attribute(which);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* found, int device) {
    if (!is_gpu(device)) return noted(cudaErrorInvalidDevice);
    memset(found, 0, sizeof *found);
    Answer answer = ask("device", {});
    snprintf(found->name, sizeof found->name, "%s", answer.data.c_str());
    found->totalGlobalMem = answer.numbers[0];
    found->pciBusID = device;
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

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
    if (!is_gpu(device)) return noted(cudaErrorInvalidDevice);
    snprintf(text, size_t(length), "0000:%02x:00.0", unsigned(device) & 0xff);
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
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    if (!is_gpu(device) || !is_gpu(peer)) return noted(cudaErrorInvalidDevice);
    *can = device != peer;
    return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    if (!is_gpu(peer) || peer == current_gpu) return noted(cudaErrorInvalidDevice);
    std::lock_guard<std::mutex> lock(one_opens);
    return noted(open_peers.emplace(current_gpu, peer).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled);
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    if (!is_gpu(peer)) return noted(cudaErrorInvalidDevice);
    std::lock_guard<std::mutex> lock(one_opens);
    return noted(open_peers.erase({current_gpu, peer}) ? cudaSuccess : cudaErrorPeerAccessNotEnabled);
}
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr which, int device, int peer) {
    if (!is_gpu(device) || !is_gpu(peer) || device == peer) return noted(cudaErrorInvalidDevice);
    *value = which == cudaDevP2PAttrAccessSupported || which == cudaDevP2PAttrNativeAtomicSupported;
    return cudaSuccess;
}
cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTarget, cudaFlushGPUDirectRDMAWritesScope) {
    return cudaSuccess;
}
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

}  // extern "C"
