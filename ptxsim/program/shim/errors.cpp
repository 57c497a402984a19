// Errors: the last one of each thread, and their names.

#include "talk.h"

namespace {
thread_local cudaError_t last = cudaSuccess;
}

cudaError_t noted(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady) last = error;
    return error;
}

extern "C" {

cudaError_t cudaGetLastError() {
    cudaError_t error = last;
    last = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError() { return last; }

const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
#define NAME(error) \
    case error: return #error;
        NAME(cudaSuccess)
        NAME(cudaErrorInvalidValue)
        NAME(cudaErrorMemoryAllocation)
        NAME(cudaErrorInitializationError)
        NAME(cudaErrorCudartUnloading)
        NAME(cudaErrorInvalidConfiguration)
        NAME(cudaErrorInvalidPitchValue)
        NAME(cudaErrorInvalidSymbol)
        NAME(cudaErrorInvalidDevicePointer)
        NAME(cudaErrorInvalidMemcpyDirection)
        NAME(cudaErrorInvalidDeviceFunction)
        NAME(cudaErrorNoDevice)
        NAME(cudaErrorInvalidDevice)
        NAME(cudaErrorInvalidKernelImage)
        NAME(cudaErrorNoKernelImageForDevice)
        NAME(cudaErrorInvalidPtx)
        NAME(cudaErrorInvalidResourceHandle)
        NAME(cudaErrorSymbolNotFound)
        NAME(cudaErrorNotReady)
        NAME(cudaErrorIllegalAddress)
        NAME(cudaErrorLaunchOutOfResources)
        NAME(cudaErrorLaunchTimeout)
        NAME(cudaErrorPeerAccessAlreadyEnabled)
        NAME(cudaErrorPeerAccessNotEnabled)
        NAME(cudaErrorAssert)
        NAME(cudaErrorHostMemoryAlreadyRegistered)
        NAME(cudaErrorHostMemoryNotRegistered)
        NAME(cudaErrorLaunchFailure)
        NAME(cudaErrorCooperativeLaunchTooLarge)
        NAME(cudaErrorNotSupported)
        NAME(cudaErrorStreamCaptureUnsupported)
        NAME(cudaErrorStreamCaptureInvalidated)
        NAME(cudaErrorUnknown)
#undef NAME
        default: return "unrecognized error code";
    }
}

const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaSuccess: return "no error";
        case cudaErrorInvalidValue: return "invalid argument";
        case cudaErrorMemoryAllocation: return "out of memory";
        case cudaErrorInitializationError: return "initialization error";
        case cudaErrorInvalidConfiguration: return "invalid configuration argument";
        case cudaErrorInvalidPitchValue: return "invalid pitch argument";
        case cudaErrorInvalidSymbol: return "invalid device symbol";
        case cudaErrorInvalidDevicePointer: return "invalid device pointer";
        case cudaErrorInvalidMemcpyDirection: return "invalid copy direction for memcpy";
        case cudaErrorInvalidDeviceFunction: return "invalid device function";
        case cudaErrorNoDevice: return "no CUDA-capable device is detected";
        case cudaErrorInvalidDevice: return "invalid device ordinal";
        case cudaErrorNoKernelImageForDevice: return "no kernel image is available for execution on the device";
        case cudaErrorInvalidPtx: return "a PTX JIT compilation failed";
        case cudaErrorInvalidResourceHandle: return "invalid resource handle";
        case cudaErrorSymbolNotFound: return "named symbol not found";
        case cudaErrorNotReady: return "device not ready";
        case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
        case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
        case cudaErrorLaunchTimeout: return "the launch timed out and was terminated";
        case cudaErrorPeerAccessNotEnabled: return "peer access has not been enabled";
        case cudaErrorAssert: return "device-side assert triggered";
        case cudaErrorLaunchFailure: return "unspecified launch failure";
        case cudaErrorCooperativeLaunchTooLarge: return "too many blocks in cooperative launch";
        case cudaErrorNotSupported: return "operation not supported";
        default: return cudaGetErrorName(error);
    }
}

}  // extern "C"
