// The driver's API, as far as it is the runtime's by other names: contexts, modules, memory, launches, streams, events.
// There is one context, and every thread has it.

#include <cuda.h>

#include <cstdio>
#include <map>
#include <string>

#include "arrays.h"

struct CUctx_st {};
struct CUfunc_st {};
struct CUmod_st {
    uint64_t number;
    std::map<std::string, CUfunc_st> functions;
};

namespace {

CUctx_st only_context;
thread_local CUcontext current = nullptr;

// The numbers of most errors are the same.
CUresult of_driver(cudaError_t error) {
    switch (error) {
        case cudaErrorInvalidConfiguration:
        case cudaErrorInvalidDevicePointer:
        case cudaErrorInvalidMemcpyDirection:
        case cudaErrorInvalidPitchValue: return CUDA_ERROR_INVALID_VALUE;
        case cudaErrorInvalidDeviceFunction: return CUDA_ERROR_INVALID_HANDLE;
        default: return CUresult(error);
    }
}

void* at(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUresult load(CUmodule* module, const void* image, size_t bytes) {
    Answer answer = ask("module", {0}, image, bytes);
    *module = new CUmod_st{answer.numbers[0], {}};
    return of_driver(answer.error);
}

// A fat binary, one in the wrapper that a program's own code has, or a text.
CUresult load(CUmodule* module, const void* image) {
    struct Wrapper {
        unsigned magic, version;
        const void* data;
    };
    const unsigned fat = 0xba55ed50, wrapped = 0x466243b1;
    unsigned magic;
    memcpy(&magic, image, sizeof magic);
    if (magic == wrapped) return load(module, static_cast<const Wrapper*>(image)->data);
    const char* data = static_cast<const char*>(image);
    if (magic != fat) return load(module, data, strlen(data));
    uint16_t header;
    uint64_t rest;
    memcpy(&header, data + 6, sizeof header);
    memcpy(&rest, data + 8, sizeof rest);
    return load(module, data, header + rest);
}

CUresult launched(CUfunction function, Launch how, void** arguments, void** extra) {
    Function* known = function_of(function);
    if (!known) return CUDA_ERROR_INVALID_HANDLE;
    std::vector<void*> packed;
    if (!arguments && extra) {
        char* buffer = nullptr;
        for (; *extra != CU_LAUNCH_PARAM_END; extra += 2)
            if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = static_cast<char*>(extra[1]);
        if (cudaError_t error = learn_parameters(*known)) return of_driver(error);
        for (const Parameter& each : known->parameters) packed.push_back(buffer + each.offset);
        arguments = packed.data();
    }
    return of_driver(launch(function, how, arguments));
}

CUresult filled(CUdeviceptr to, unsigned value, size_t size, size_t count, uint64_t site, CUstream stream) {
    return of_driver(in_stream(stream, [=] {
        return fill(plane(at(to)), value, size * count, 1, site, word(stream), size);
    }));
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return of_driver(cudaDriverGetVersion(version)); }
CUresult cuGetErrorName(CUresult error, const char** name) {
    *name = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : cudaGetErrorName(cudaError_t(error));
    return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
    *text = cudaGetErrorString(cudaError_t(error));
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) { return of_driver(cudaGetDeviceCount(count)); }
CUresult cuDeviceGet(CUdevice* device, int number) {
    int count = 0;
    cudaGetDeviceCount(&count);
    *device = number;
    return number >= 0 && number < count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
    cudaDeviceProp found;
    cudaError_t error = cudaGetDeviceProperties(&found, device);
    if (!error) snprintf(name, size_t(length), "%s", found.name);
    return of_driver(error);
}
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
    cudaDeviceProp found;
    cudaError_t error = cudaGetDeviceProperties(&found, device);
    *bytes = found.totalGlobalMem;
    return of_driver(error);
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
    return of_driver(cudaDeviceGetAttribute(value, cudaDeviceAttr(which), device));
}
CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
    return of_driver(cudaDeviceGetPCIBusId(text, length, device));
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
    return of_driver(cudaDeviceCanAccessPeer(can, device, peer));
}

CUresult cuCtxGetCurrent(CUcontext* context) {
    *context = current;
    return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
    current = context;
    return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext context) { return cuCtxSetCurrent(context); }
CUresult cuCtxPopCurrent(CUcontext* context) {
    if (context) *context = current;
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
    *context = &only_context;
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
#if CUDA_VERSION >= 13000
CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice) {
#else
CUresult cuCtxCreate(CUcontext* context, unsigned, CUdevice) {
#endif
    *context = current = &only_context;
    return CUDA_SUCCESS;
}
CUresult cuCtxDestroy(CUcontext) { return cuCtxSetCurrent(nullptr); }
CUresult cuCtxGetDevice(CUdevice* device) { return of_driver(cudaGetDevice(device)); }
CUresult cuCtxSynchronize() { return of_driver(cudaDeviceSynchronize()); }

CUresult cuModuleLoadData(CUmodule* module, const void* image) { return load(module, image); }
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) { return load(module, image); }
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
    return load(module, image);
}
CUresult cuModuleLoad(CUmodule* module, const char* name) {
    FILE* file = fopen(name, "rb");
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    std::string image;
    char part[4096];
    while (size_t got = fread(part, 1, sizeof part, file)) image.append(part, got);
    fclose(file);
    return load(module, image.c_str());
}
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    auto known = module->functions.find(name);
    if (known == module->functions.end()) {
        Answer answer = ask("entry", {module->number}, name, strlen(name));
        if (answer.error) return of_driver(answer.error);
        known = module->functions.emplace(name, CUfunc_st()).first;
        functions()[&known->second] = new Function(answer.numbers[0]);
    }
    *function = &known->second;
    return CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal(CUdeviceptr* found, size_t* bytes, CUmodule module, const char* name) {
    Answer answer = ask("named_variable", {module->number}, name, strlen(name));
    if (answer.error) return of_driver(answer.error);
    if (found) *found = answer.numbers[0];
    if (bytes) *bytes = answer.numbers[1];
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared, CUstream stream, void** arguments, void** extra) {
    Launch how{{x, y, z}, {block_x, block_y, block_z}, shared, stream, false, {0, 0, 0}, SITE};
    return launched(function, how, arguments, extra);
}
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned block_x,
                                   unsigned block_y, unsigned block_z, unsigned shared, CUstream stream,
                                   void** arguments) {
    Launch how{{x, y, z}, {block_x, block_y, block_z}, shared, stream, true, {0, 0, 0}, SITE};
    return launched(function, how, arguments, nullptr);
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) {
    return of_driver(cudaFuncSetAttribute(function, cudaFuncAttribute(which), value));
}
CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
    cudaFuncAttributes found;
    cudaError_t error = cudaFuncGetAttributes(&found, function);
    if (error) return of_driver(error);
    switch (which) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = found.maxThreadsPerBlock; break;
        case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = int(found.sharedSizeBytes); break;
        case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = int(found.constSizeBytes); break;
        case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = int(found.localSizeBytes); break;
        case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = found.numRegs; break;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = found.ptxVersion; break;
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = found.binaryVersion; break;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = found.maxDynamicSharedSizeBytes; break;
        default: return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads, size_t shared) {
    return of_driver(cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared));
}
// The largest block with which most threads are on a multiprocessor at once.
CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function, CUoccupancyB2DSize shared_of,
                                          size_t shared, int limit) {
    int most = 0, sms = 0, threads = 0;
    CUresult error = cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    if (limit > 0 && limit < threads) threads = limit;
    for (int size = threads; !error && size > 0; size = (size - 1) / 32 * 32) {
        int blocks = 0;
        error = cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, size,
                                                            shared_of ? shared_of(size) : shared);
        if (blocks * size > most) most = blocks * size, *grid = blocks * sms, *block = size;
    }
    return error;
}

CUresult cuMemAlloc(CUdeviceptr* made, size_t bytes) {
    void* found = nullptr;
    cudaError_t error = bytes ? allocate(&found, bytes, OF_DEVICE, SITE) : cudaErrorInvalidValue;
    *made = word(found);
    return of_driver(error);
}
CUresult cuMemAllocManaged(CUdeviceptr* made, size_t bytes, unsigned) {
    void* found = nullptr;
    cudaError_t error = bytes ? allocate(&found, bytes, MANAGED, SITE) : cudaErrorInvalidValue;
    *made = word(found);
    return of_driver(error);
}
CUresult cuMemAllocAsync(CUdeviceptr* made, size_t bytes, CUstream) {
    void* found = nullptr;
    cudaError_t error = allocate(&found, bytes, OF_DEVICE, SITE);
    *made = word(found);
    return of_driver(error);
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* made, size_t bytes, CUmemoryPool, CUstream) {
    void* found = nullptr;
    cudaError_t error = allocate(&found, bytes, OF_DEVICE, SITE);
    *made = word(found);
    return of_driver(error);
}
CUresult cuMemFree(CUdeviceptr address) { return of_driver(release(at(address), false, SITE)); }
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream) { return of_driver(release(at(address), false, SITE, true)); }
CUresult cuMemAllocHost(void** made, size_t bytes) { return of_driver(allocate(made, bytes, OF_HOST, SITE)); }
CUresult cuMemHostAlloc(void** made, size_t bytes, unsigned) { return of_driver(allocate(made, bytes, OF_HOST, SITE)); }
CUresult cuMemFreeHost(void* address) { return of_driver(release(address, true, SITE)); }
CUresult cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned) {
    *device = word(host);
    return CUDA_SUCCESS;
}
CUresult cuMemGetInfo(size_t* left, size_t* total) { return of_driver(cudaMemGetInfo(left, total)); }
CUresult cuMemGetAddressRange(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
    Answer answer = ask("range", {address});
    if (answer.error) return CUDA_ERROR_NOT_FOUND;
    if (base) *base = answer.numbers[0];
    if (bytes) *bytes = answer.numbers[1];
    return CUDA_SUCCESS;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return of_driver(copied(at(to), at(from), bytes, cudaMemcpyDefault, SITE));
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return of_driver(copied_in(stream, plane(at(to)), plane(at(from)), bytes, 1, cudaMemcpyDefault, SITE));
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
    return of_driver(copied(at(to), from, bytes, cudaMemcpyHostToDevice, SITE));
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
    return of_driver(copied(to, at(from), bytes, cudaMemcpyDeviceToHost, SITE));
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return of_driver(copied(at(to), at(from), bytes, cudaMemcpyDeviceToDevice, SITE));
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    return of_driver(copied_in(stream, plane(at(to)), plane(from), bytes, 1, cudaMemcpyHostToDevice, SITE));
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return of_driver(copied_in(stream, plane(to), plane(at(from)), bytes, 1, cudaMemcpyDeviceToHost, SITE));
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return of_driver(copied_in(stream, plane(at(to)), plane(at(from)), bytes, 1, cudaMemcpyDeviceToDevice, SITE));
}
CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
    return filled(to, value, 1, count, SITE, nullptr);
}
CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count) {
    return filled(to, value, 2, count, SITE, nullptr);
}
CUresult cuMemsetD32(CUdeviceptr to, unsigned value, size_t count) {
    return filled(to, value, 4, count, SITE, nullptr);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    return filled(to, value, 1, count, SITE, stream);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
    return filled(to, value, 2, count, SITE, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
    return filled(to, value, 4, count, SITE, stream);
}

CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return of_driver(cudaStreamCreateWithFlags(stream, flags)); }
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    return of_driver(cudaStreamCreateWithPriority(stream, flags, priority));
}
CUresult cuStreamDestroy(CUstream stream) { return of_driver(cudaStreamDestroy(stream)); }
CUresult cuStreamSynchronize(CUstream stream) { return of_driver(cudaStreamSynchronize(stream)); }
CUresult cuStreamQuery(CUstream stream) { return of_driver(cudaStreamQuery(stream)); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    return of_driver(cudaStreamWaitEvent(stream, event, flags));
}
CUresult cuStreamGetCtx(CUstream, CUcontext* context) {
    *context = &only_context;
    return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned flags) { return of_driver(cudaEventCreateWithFlags(event, flags)); }
CUresult cuEventDestroy(CUevent event) { return of_driver(cudaEventDestroy(event)); }
CUresult cuEventRecord(CUevent event, CUstream stream) { return of_driver(cudaEventRecord(event, stream)); }
CUresult cuEventSynchronize(CUevent event) { return of_driver(cudaEventSynchronize(event)); }
CUresult cuEventQuery(CUevent event) { return of_driver(cudaEventQuery(event)); }
CUresult cuEventElapsedTime(float* ms, CUevent first, CUevent second) {
    return of_driver(cudaEventElapsedTime(ms, first, second));
}

CUresult cuGetProcAddress(const char* name, void** function, int, cuuint64_t, CUdriverProcAddressQueryResult* status) {
    *function = driver_function(name);
    if (status) *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // extern "C"
