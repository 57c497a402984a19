// The functions of CUDA 12 that went with CUDA 13, or take other arguments there.
#pragma once
#include_next <cuda_runtime_api.h>

#define cudaThreadSynchronize cudaDeviceSynchronize
#define cudaThreadExit cudaDeviceReset
#define cudaThreadGetLimit cudaDeviceGetLimit
#define cudaThreadSetLimit cudaDeviceSetLimit
#define cudaThreadGetCacheConfig cudaDeviceGetCacheConfig
#define cudaThreadSetCacheConfig cudaDeviceSetCacheConfig

#ifdef __cplusplus
#define PTXSIM_INLINE __attribute__((always_inline)) inline  // so that a call has its line in the program

// What cudaDeviceProp told until CUDA 13, behind what it still tells.
struct cudaDeviceProp12 : cudaDeviceProp {
    int clockRate, memoryClockRate, computeMode, deviceOverlap, kernelExecTimeoutEnabled;
    int singleToDoublePrecisionPerfRatio, cooperativeMultiDeviceLaunch, maxTexture1DLinear;
};
PTXSIM_INLINE cudaError_t cudaGetDeviceProperties12(cudaDeviceProp12* found, int device) {
    cudaError_t error = cudaGetDeviceProperties(found, device);
    if (error) return error;
    found->computeMode = found->kernelExecTimeoutEnabled = found->cooperativeMultiDeviceLaunch = 0;
    found->deviceOverlap = 1;
    found->maxTexture1DLinear = 1 << 28;
    cudaDeviceGetAttribute(&found->clockRate, cudaDevAttrClockRate, device);
    cudaDeviceGetAttribute(&found->memoryClockRate, cudaDevAttrMemoryClockRate, device);
    return cudaDeviceGetAttribute(&found->singleToDoublePrecisionPerfRatio, cudaDevAttrSingleToDoublePrecisionPerfRatio,
                                  device);
}
#define cudaDeviceProp cudaDeviceProp12
#define cudaGetDeviceProperties cudaGetDeviceProperties12

PTXSIM_INLINE cudaMemLocation cudaLocation12(int device) {
    return {device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, device};
}
PTXSIM_INLINE cudaError_t cudaMemPrefetchAsync(const void* at, size_t bytes, int device, cudaStream_t stream = 0) {
    return cudaMemPrefetchAsync(at, bytes, cudaLocation12(device), 0, stream);
}
PTXSIM_INLINE cudaError_t cudaMemAdvise(const void* at, size_t bytes, cudaMemoryAdvise advice, int device) {
    return cudaMemAdvise(at, bytes, advice, cudaLocation12(device));
}
PTXSIM_INLINE cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                   const cudaGraphNode_t* to, size_t count) {
    return cudaGraphAddDependencies(graph, from, to, nullptr, count);
}
PTXSIM_INLINE cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                      const cudaGraphNode_t* to, size_t count) {
    return cudaGraphRemoveDependencies(graph, from, to, nullptr, count);
}
PTXSIM_INLINE cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                            size_t* count) {
    return cudaGraphGetEdges(graph, from, to, nullptr, count);
}
PTXSIM_INLINE cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* found, size_t* count) {
    return cudaGraphNodeGetDependencies(node, found, nullptr, count);
}
PTXSIM_INLINE cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                                           size_t count, cudaGraphNodeParams* how) {
    return cudaGraphAddNode(node, graph, before, nullptr, count, how);
}
#undef PTXSIM_INLINE
#endif
