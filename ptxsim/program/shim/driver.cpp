// The driver's functions that programs of the runtime ask for by name, and tensor maps, which are among them.

#include <cuda.h>
#include <dlfcn.h>

#include <cstring>

#include "talk.h"

namespace {

CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, unsigned rank, void* address, const cuuint64_t* shape,
                      const cuuint64_t* strides, const cuuint32_t* box, const cuuint32_t* steps,
                      CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                      CUtensorMapFloatOOBfill fill) {
    if (rank < 1 || rank > 5) return CUDA_ERROR_INVALID_VALUE;
    uint64_t all[20] = {};  // five of each
    for (unsigned i = 0; i < rank; ++i) {
        all[i] = shape[i];
        all[5 + i] = i ? strides[i - 1] : 0;
        all[10 + i] = box[i];
        all[15 + i] = steps[i];
    }
    Answer answer = ask("tensor_map", {uint64_t(type), rank, word(address), interleave, swizzle, fill}, all, sizeof all);
    if (!answer.error) memcpy(map, answer.data.data(), sizeof *map);
    return CUresult(answer.error);
}

// Whatever version of it stands in driver_api.cpp; nullptr where none does.
void* driver_function(const char* name) {
    if (strncmp(name, "cu", 2) || !strncmp(name, "cuda", 4)) return nullptr;
    for (const char* version : {"", "_v2", "_v3", "_v4"})
        if (void* found = dlsym(RTLD_DEFAULT, (std::string(name) + version).c_str())) return found;
    ask("unknown_entry", {}, name, strlen(name));
    return nullptr;
}

cudaError_t find(const char* name, void** function, cudaDriverEntryPointQueryResult* status) {
    *function = driver_function(name);
    if (status) *status = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return *function || status ? cudaSuccess : noted(cudaErrorSymbolNotFound);
}

}  // namespace

extern "C" {

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* shape, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    return encode_tiled(map, type, rank, address, shape, strides, box, steps, interleave, swizzle, promotion, fill);
}

cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* status) {
    return find(name, function, status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
    return find(name, function, status);
}

}  // extern "C"
