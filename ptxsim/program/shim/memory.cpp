// Memory: allocations, copies and fills. The simulator says whether one is right, and fills;
// bytes from or to other memory of the host are moved here.

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "arrays.h"

void open_to_host(void* at, size_t bytes, bool open);
void give_back(void* at, size_t bytes);
bool share_pages(void* at, size_t bytes, uint64_t offset);

namespace {

enum Kind : uint64_t { OF_DEVICE, OF_HOST, MANAGED };

std::mutex one_notes;
std::map<uint64_t, int> gpu_of;  // by its first address, memory that is not of the first GPU

void note_gpu(const void* at) {
    int gpu = 0;
    cudaGetDevice(&gpu);
    std::lock_guard<std::mutex> lock(one_notes);
    gpu_of.erase(word(at));
    if (gpu) gpu_of[word(at)] = gpu;
}

int gpu_at(const void* pointer) {
    Answer answer = ask("range", {word(pointer)});
    std::lock_guard<std::mutex> lock(one_notes);
    auto found = answer.error ? gpu_of.end() : gpu_of.find(answer.numbers[0]);
    return found == gpu_of.end() ? 0 : found->second;
}

cudaError_t allocate(void** at, size_t bytes, Kind kind, uint64_t site) {
    if (!at) return noted(cudaErrorInvalidValue);
    *at = nullptr;
    if (!bytes) return cudaSuccess;
    Answer answer = ask("allocate", {bytes, kind, site});
    if (answer.error) return noted(answer.error);
    *at = reinterpret_cast<void*>(answer.numbers[0]);
    if (kind != OF_DEVICE) open_to_host(*at, bytes, true);
    note_gpu(*at);
    return cudaSuccess;
}

cudaError_t release(void* at, bool of_host, uint64_t site, bool in_stream = false) {
    if (!at) return cudaSuccess;
    Answer answer = ask("release", {word(at), of_host, in_stream, site});
    if (answer.error) return noted(answer.error);
    open_to_host(at, answer.numbers[0], false);
    give_back(at, answer.numbers[0]);
    return cudaSuccess;
}

// Rows of `width` bytes, each `pitch` behind the one before.
struct Plane {
    char* at;
    size_t pitch;

    char* row(size_t number) const { return at + number * pitch; }
};

cudaError_t copy(Plane to, Plane from, size_t width, size_t height, cudaMemcpyKind kind, uint64_t site,
                 uint64_t stream = NO_STREAM) {
    if (!width || !height) return cudaSuccess;
    print_what_was_printed();
    Answer answer = ask("copy", {word(to.at), to.pitch, word(from.at), from.pitch, width, height, kind,
                                 stream_of_work(stream), site});
    if (answer.error) return answer.error;
    bool moved = answer.numbers[0];
    for (size_t row = 0; row < height && !moved; ++row)
        memmove(reachable(to.row(row)), reachable(from.row(row)), width);
    return cudaSuccess;
}

// Of each `element` bytes.
cudaError_t fill(Plane to, unsigned value, size_t width, size_t height, uint64_t site, uint64_t stream = NO_STREAM,
                 size_t element = 1) {
    if (!width || !height) return cudaSuccess;
    return ask("fill", {word(to.at), to.pitch, width, height, stream_of_work(stream), site, value, element}).error;
}

Plane plane(const void* at, size_t pitch = 0) { return {static_cast<char*>(const_cast<void*>(at)), pitch}; }

cudaError_t copied(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, uint64_t site) {
    return noted(copy(plane(to), plane(from), bytes, 1, kind, site));
}

cudaError_t copied_in(cudaStream_t stream, Plane to, Plane from, size_t width, size_t height, cudaMemcpyKind kind,
                      uint64_t site) {
    return noted(in_stream(stream, [=] { return copy(to, from, width, height, kind, site, word(stream)); }));
}

cudaError_t address_of(const void* symbol, size_t offset, void** at) {
    Answer answer = ask("symbol", {word(symbol)});
    if (answer.error) return noted(answer.error);
    *at = reinterpret_cast<void*>(answer.numbers[0] + offset);
    return cudaSuccess;
}

cudaError_t copy_3d(const cudaMemcpy3DParms& all, uint64_t site, uint64_t stream = NO_STREAM) {
    cudaArray_const_t array = all.srcArray ? all.srcArray : all.dstArray;
    size_t element = array ? array->texel() : 1;  // widths are counted in elements of an array, where there is one
    for (size_t z = 0; z < all.extent.depth; ++z) {
        auto slice = [=](const cudaPitchedPtr& in, cudaArray_const_t array, const cudaPos& at) {
            if (array)
                return Plane{array->at + ((at.z + z) * array->height() + at.y) * array->pitch() + at.x * element,
                             array->pitch()};
            return Plane{static_cast<char*>(in.ptr) + ((at.z + z) * in.ysize + at.y) * in.pitch + at.x, in.pitch};
        };
        cudaError_t error = copy(slice(all.dstPtr, all.dstArray, all.dstPos), slice(all.srcPtr, all.srcArray, all.srcPos),
                                 all.extent.width * element, all.extent.height, all.kind, site, stream);
        if (error) return error;
    }
    return cudaSuccess;
}

cudaError_t fill_3d(const cudaPitchedPtr& to, int value, const cudaExtent& extent, uint64_t site,
                    uint64_t stream = NO_STREAM) {
    for (size_t z = 0; z < extent.depth; ++z) {
        Plane slice{static_cast<char*>(to.ptr) + z * to.ysize * to.pitch, to.pitch};
        if (cudaError_t error = fill(slice, value, extent.width, extent.height, site, stream)) return error;
    }
    return cudaSuccess;
}

const size_t PITCH = 512;

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** at, size_t bytes) { return allocate(at, bytes, OF_DEVICE, SITE); }
cudaError_t cudaMallocHost(void** at, size_t bytes) { return allocate(at, bytes, OF_HOST, SITE); }
cudaError_t cudaHostAlloc(void** at, size_t bytes, unsigned) { return allocate(at, bytes, OF_HOST, SITE); }
cudaError_t cudaMallocManaged(void** at, size_t bytes, unsigned) { return allocate(at, bytes, MANAGED, SITE); }

cudaError_t cudaMallocPitch(void** at, size_t* pitch, size_t width, size_t height) {
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    return allocate(at, *pitch * height, OF_DEVICE, SITE);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* at, cudaExtent extent) {
    at->pitch = (extent.width + PITCH - 1) / PITCH * PITCH;
    at->xsize = extent.width;
    at->ysize = extent.height;
    return allocate(&at->ptr, at->pitch * extent.height * extent.depth, OF_DEVICE, SITE);
}

cudaError_t cudaFree(void* at) { return release(at, false, SITE); }
cudaError_t cudaFreeHost(void* at) { return release(at, true, SITE); }

cudaError_t cudaMallocAsync(void** at, size_t bytes, cudaStream_t) { return allocate(at, bytes, OF_DEVICE, SITE); }
cudaError_t cudaFreeAsync(void* at, cudaStream_t) { return release(at, false, SITE, true); }
cudaError_t cudaMallocFromPoolAsync(void** at, size_t bytes, cudaMemPool_t, cudaStream_t) {
    return allocate(at, bytes, OF_DEVICE, SITE);
}

static int pool;
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* found, int) {
    *found = reinterpret_cast<cudaMemPool_t>(&pool);
    return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* found, int device) { return cudaDeviceGetDefaultMemPool(found, device); }
cudaError_t cudaDeviceSetMemPool(int, cudaMemPool_t) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }

cudaError_t cudaHostRegister(void* at, size_t bytes, unsigned) {
    const uint64_t page = 4096;
    uint64_t first = word(at) / page * page, end = (word(at) + bytes + page - 1) / page * page;
    Answer answer = ask("register_host", {word(at), bytes, first, end - first, SITE});
    if (answer.error) return noted(answer.error);
    bool shared = share_pages(reinterpret_cast<void*>(first), end - first, answer.numbers[0]);
    return noted(shared ? cudaSuccess : cudaErrorNotSupported);
}
cudaError_t cudaHostUnregister(void* at) { return noted(ask("unregister_host", {word(at)}).error); }

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
    Answer answer = ask("pointer", {word(host)});
    if (answer.error || answer.numbers[0] == cudaMemoryTypeUnregistered) return noted(cudaErrorInvalidValue);
    *device = host;
    return cudaSuccess;
}
cudaError_t cudaHostGetFlags(unsigned* flags, void*) {
    *flags = cudaHostAllocMapped;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* found, const void* pointer) {
    Answer answer = ask("pointer", {word(pointer)});
    if (answer.error) return noted(answer.error);
    memset(found, 0, sizeof *found);
    found->type = cudaMemoryType(answer.numbers[0]);
    found->device = found->type == cudaMemoryTypeUnregistered ? -2 : gpu_at(pointer);
    if (found->type != cudaMemoryTypeUnregistered) found->devicePointer = const_cast<void*>(pointer);
    if (found->type != cudaMemoryTypeDevice) found->hostPointer = const_cast<void*>(pointer);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    Answer answer = ask("memory_left", {});
    *free = answer.numbers[0];
    *total = answer.numbers[1];
    return noted(answer.error);
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return copied(to, from, bytes, kind, SITE);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return copied_in(stream, plane(to), plane(from), bytes, 1, kind, SITE);
}
cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
    return copied(to, from, bytes, cudaMemcpyDeviceToDevice, SITE);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
    return copied_in(stream, plane(to), plane(from), bytes, 1, cudaMemcpyDeviceToDevice, SITE);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
    if (to_pitch < width || from_pitch < width) return noted(cudaErrorInvalidPitchValue);
    return noted(copy(plane(to, to_pitch), plane(from, from_pitch), width, height, kind, SITE));
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    if (to_pitch < width || from_pitch < width) return noted(cudaErrorInvalidPitchValue);
    return copied_in(stream, plane(to, to_pitch), plane(from, from_pitch), width, height, kind, SITE);
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* all) { return noted(copy_3d(*all, SITE)); }
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* all, cudaStream_t stream) {
    uint64_t site = SITE;
    return noted(in_stream(stream, [=, parameters = *all] { return copy_3d(parameters, site, word(stream)); }));
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) { return noted(fill(plane(to), value, bytes, 1, SITE)); }
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
    uint64_t site = SITE;
    return noted(in_stream(stream, [=] { return fill(plane(to), value, bytes, 1, site, word(stream)); }));
}
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
    return noted(fill(plane(to, pitch), value, width, height, SITE));
}
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
    uint64_t site = SITE;
    return noted(in_stream(stream, [=] { return fill(plane(to, pitch), value, width, height, site, word(stream)); }));
}
cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
    return noted(fill_3d(to, value, extent, SITE));
}
cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
    uint64_t site = SITE;
    return noted(in_stream(stream, [=] { return fill_3d(to, value, extent, site, word(stream)); }));
}

cudaError_t cudaGetSymbolAddress(void** at, const void* symbol) { return address_of(symbol, 0, at); }
cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
    Answer answer = ask("symbol", {word(symbol)});
    if (!answer.error) *bytes = answer.numbers[1];
    return noted(answer.error);
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
    void* at;
    cudaError_t error = address_of(symbol, offset, &at);
    return error ? error : copied(at, from, bytes, kind, SITE);
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
    void* at;
    cudaError_t error = address_of(symbol, offset, &at);
    return error ? error : copied(to, at, bytes, kind, SITE);
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
    void* at;
    cudaError_t error = address_of(symbol, offset, &at);
    return error ? error : copied_in(stream, plane(at), plane(from), bytes, 1, kind, SITE);
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
    void* at;
    cudaError_t error = address_of(symbol, offset, &at);
    return error ? error : copied_in(stream, plane(to), plane(at), bytes, 1, kind, SITE);
}

#if CUDART_VERSION >= 13000
cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, cudaMemLocation) { return cudaSuccess; }
#else
cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
#endif

}  // extern "C"
