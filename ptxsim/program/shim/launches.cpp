// Kernels: how the compiler's own code registers them, and how they are launched.

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "graphs.h"

namespace {

struct Parameter {
    uint64_t offset, bytes;
};

struct Module {
    uint64_t number;
};

struct Function {
    explicit Function(uint64_t number) : number(number) {}

    uint64_t number;
    bool asked = false;
    std::vector<Parameter> parameters;
    uint64_t bytes = 0;
};

// Programs register before any constructor of this library may have run.
std::unordered_map<const void*, Function*>& functions() {
    static auto* all = new std::unordered_map<const void*, Function*>;
    return *all;
}

struct Configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    uint64_t site;
};

thread_local std::vector<Configuration> pushed;
thread_local uint64_t site_of_next = 0;

Function* function_of(const void* handle) {
    auto found = functions().find(handle);
    return found == functions().end() ? nullptr : found->second;
}

std::mutex one_learns;

cudaError_t learn_parameters(Function& function) {
    std::lock_guard<std::mutex> lock(one_learns);  // threads may launch it for the first time at once
    if (function.asked) return cudaSuccess;
    Answer answer = ask("parameters", {function.number});
    if (answer.error) return answer.error;
    for (size_t i = 0; i + 1 < answer.numbers.size(); i += 2) {
        function.parameters.push_back({answer.numbers[i], answer.numbers[i + 1]});
        function.bytes = answer.numbers[i] + answer.numbers[i + 1];
    }
    function.asked = true;
    return cudaSuccess;
}

struct Launch {
    dim3 grid, block;
    size_t shared = 0;
    cudaStream_t stream = nullptr;
    bool cooperative = false;
    dim3 cluster = dim3(0, 0, 0);
    uint64_t site = 0;
};

// With the arguments as they are now.
Work packed(const void* handle, const Launch& how, void** arguments) {
    Function* function = function_of(handle);
    if (!function) return [] { return cudaErrorInvalidDeviceFunction; };
    if (cudaError_t error = learn_parameters(*function)) return [error] { return error; };
    std::string packed(function->bytes, '\0');
    for (size_t i = 0; i < function->parameters.size(); ++i) {
        const Parameter& each = function->parameters[i];
        memcpy(&packed[each.offset], arguments[i], each.bytes);
    }
    return [=] {
        Answer answer = ask("launch",
                            {function->number, how.grid.x, how.grid.y, how.grid.z, how.block.x, how.block.y,
                             how.block.z, how.shared, how.cooperative, how.cluster.x, how.cluster.y, how.cluster.z,
                             stream_of_work(word(how.stream)), how.site},
                            packed.data(), packed.size());
        keep_printed(answer.data);
        return answer.error;
    };
}

cudaError_t launch(const void* handle, const Launch& how, void** arguments) {
    return noted(in_stream(how.stream, packed(handle, how, arguments)));
}

uint64_t site_or(uint64_t site) {
    uint64_t found = site_of_next ? site_of_next : site;
    site_of_next = 0;
    return found;
}

}  // namespace

Work packed_launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared) {
    return packed(function, {grid, block, shared, nullptr, false, {0, 0, 0}, 0}, arguments);
}

extern "C" {

static void** registered(void* wrapper, bool linked) {
    struct Wrapper {
        int magic, version;
        const unsigned char* data;
        void* more;
    };
    const unsigned char* data = static_cast<Wrapper*>(wrapper)->data;
    uint16_t header;
    uint64_t bytes;
    memcpy(&header, data + 6, sizeof header);
    memcpy(&bytes, data + 8, sizeof bytes);
    Answer answer = ask("module", {linked}, data, header + bytes);
    return reinterpret_cast<void**>(new Module{answer.numbers[0]});
}

void** __cudaRegisterFatBinary(void* wrapper) { return registered(wrapper, false); }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void** module, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
    uint64_t in = reinterpret_cast<Module*>(module)->number;
    Answer answer = ask("function", {in}, name, strlen(name));
    functions()[host] = new Function(answer.numbers[0]);
}

void __cudaRegisterVar(void** module, char* host, char*, const char* name, int, size_t bytes, int, int) {
    ask("variable", {reinterpret_cast<Module*>(module)->number, word(host), bytes}, name, strlen(name));
}

void __cudaRegisterManagedVar(void** module, void** host, char*, const char* name, int, size_t bytes, int, int) {
    void open_to_host(void*, size_t, bool);
    Answer answer =
        ask("managed_variable", {reinterpret_cast<Module*>(module)->number, word(host), bytes}, name, strlen(name));
    if (answer.error) return;
    *host = reinterpret_cast<void*>(answer.numbers[0]);
    open_to_host(*host, bytes, true);
}

void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}

// With -rdc=true an object hands itself over to a function that the device linker would make: compile.py makes one.
void ptxsim_register_linked(void (*callback)(void**), void* wrapper) { callback(registered(wrapper, true)); }

void ptxsim_missing(const char* name, uint64_t site) { ask("missing", {site}, name, strlen(name)); }

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) {
    pushed.push_back({grid, block, shared, stream, SITE});
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    if (pushed.empty()) return cudaErrorMissingConfiguration;
    const Configuration& last = pushed.back();
    *grid = last.grid;
    *block = last.block;
    *shared = last.shared;
    *static_cast<cudaStream_t*>(stream) = last.stream;
    site_of_next = last.site;
    pushed.pop_back();
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
    *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host));
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
    return launch(function, {grid, block, shared, stream, false, {0, 0, 0}, site_or(SITE)}, arguments);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t function, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
    return launch(function, {grid, block, shared, stream, false, {0, 0, 0}, site_or(SITE)}, arguments);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                        cudaStream_t stream) {
    return launch(function, {grid, block, shared, stream, true, {0, 0, 0}, SITE}, arguments);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
    Launch how{config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream, false, {0, 0, 0}, SITE};
    for (unsigned i = 0; i < config->numAttrs; ++i) {
        const cudaLaunchAttribute& each = config->attrs[i];
        if (each.id == cudaLaunchAttributeCooperative) how.cooperative = each.val.cooperative;
        if (each.id == cudaLaunchAttributeClusterDimension)
            how.cluster = dim3(each.val.clusterDim.x, each.val.clusterDim.y, each.val.clusterDim.z);
    }
    return launch(function, how, arguments);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* found, const void* handle) {
    Function* function = function_of(handle);
    if (!function) return noted(cudaErrorInvalidDeviceFunction);
    Answer answer = ask("function_attributes", {function->number});
    if (answer.error) return noted(answer.error);
    memset(found, 0, sizeof *found);
    found->sharedSizeBytes = answer.numbers[0];
    found->constSizeBytes = answer.numbers[1];
    found->localSizeBytes = answer.numbers[2];
    found->maxThreadsPerBlock = int(answer.numbers[3]);
    found->numRegs = int(answer.numbers[4]);
    found->ptxVersion = found->binaryVersion = int(answer.numbers[5]);
    found->maxDynamicSharedSizeBytes = int(answer.numbers[6]);
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* handle, cudaFuncAttribute attribute, int value) {
    Function* function = function_of(handle);
    if (!function) return noted(cudaErrorInvalidDeviceFunction);
    return noted(ask("set_function_attribute", {function->number, uint64_t(attribute), uint64_t(value)}).error);
}

cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* handle, int threads,
                                                                   size_t shared, unsigned) {
    Function* function = function_of(handle);
    if (!function) return noted(cudaErrorInvalidDeviceFunction);
    Answer answer = ask("occupancy", {function->number, uint64_t(threads), shared});
    if (!answer.error) *blocks = int(answer.numbers[0]);
    return noted(answer.error);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* handle, int threads, size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, threads, shared, 0);
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* handle, const cudaLaunchConfig_t* config) {
    unsigned size = 1;
    for (unsigned i = 0; i < config->numAttrs; ++i)
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension)
            size = config->attrs[i].val.clusterDim.x * config->attrs[i].val.clusterDim.y *
                   config->attrs[i].val.clusterDim.z;
    int blocks, sms;
    dim3 block = config->blockDim;
    cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, handle, block.x * block.y * block.z,
                                                                      config->dynamicSmemBytes);
    if (error) return error;
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    *clusters = blocks * sms / int(size);
    return cudaSuccess;
}

}  // extern "C"
