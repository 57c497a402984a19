// Arrays and texture objects. The bytes of an array are copied here; the simulator knows what a texture is made of.

#include <map>

#include "arrays.h"

namespace {

struct Described {
    cudaResourceDesc resource;
    cudaTextureDesc texture;
};
std::map<cudaTextureObject_t, Described> textures;

// From byte `x` of row `y` on, where rows of an array are counted through all of its layers.
Plane from(cudaArray_const_t array, size_t x, size_t y) { return {array->at + y * array->pitch() + x, array->pitch()}; }

bool has(cudaArray_const_t array, size_t x, size_t y, size_t width, size_t height) {
    return array && x + width <= array->pitch() && y + height <= array->height() * array->depth();
}

cudaError_t to_array(cudaArray_t to, size_t x, size_t y, const void* source, size_t pitch, size_t width, size_t height,
                     cudaMemcpyKind kind, uint64_t site, uint64_t stream = NO_STREAM) {
    if (!has(to, x, y, width, height)) return noted(cudaErrorInvalidValue);
    return noted(copy(from(to, x, y), plane(source, pitch), width, height, kind, site, stream));
}

cudaError_t from_array(void* to, size_t pitch, cudaArray_const_t source, size_t x, size_t y, size_t width,
                       size_t height, cudaMemcpyKind kind, uint64_t site, uint64_t stream = NO_STREAM) {
    if (!has(source, x, y, width, height)) return noted(cudaErrorInvalidValue);
    return noted(copy(plane(to, pitch), from(source, x, y), width, height, kind, site, stream));
}

// Bytes that go on in the next row of the array.
cudaError_t in_rows(cudaArray_const_t array, size_t x, size_t y, size_t bytes,
                    const std::function<cudaError_t(size_t x, size_t y, size_t done, size_t bytes)>& row) {
    for (size_t done = 0, now; done < bytes; done += now, x = 0, ++y) {
        now = std::min(bytes - done, array->pitch() - x);
        if (cudaError_t error = row(x, y, done, now)) return error;
    }
    return cudaSuccess;
}

cudaError_t make_array(cudaArray_t* made, const cudaChannelFormatDesc& format, cudaExtent extent, unsigned flags,
                       uint64_t site) {
    cudaArray array{nullptr, format, extent, flags};
    void* at;
    cudaError_t error = allocate(&at, array.pitch() * array.height() * array.depth(), OF_DEVICE, site);
    if (error) return error;
    array.at = static_cast<char*>(at);
    *made = new cudaArray(array);
    return cudaSuccess;
}

uint64_t bits(float number) {
    uint32_t found;
    memcpy(&found, &number, sizeof found);
    return found;
}

}  // namespace

extern "C" {

cudaError_t cudaMallocArray(cudaArray_t* made, const cudaChannelFormatDesc* format, size_t width, size_t height,
                            unsigned flags) {
    return make_array(made, *format, {width, height, 0}, flags, SITE);
}
cudaError_t cudaMalloc3DArray(cudaArray_t* made, const cudaChannelFormatDesc* format, cudaExtent extent,
                              unsigned flags) {
    return make_array(made, *format, extent, flags, SITE);
}
cudaError_t cudaFreeArray(cudaArray_t array) {
    if (!array) return cudaSuccess;
    cudaError_t error = release(array->at, false, SITE);
    delete array;
    return error;
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* found, cudaArray_const_t array) {
    *found = array->format;
    return cudaSuccess;
}
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags, cudaArray_t array) {
    if (format) *format = array->format;
    if (extent) *extent = array->extent;
    if (flags) *flags = array->flags;
    return cudaSuccess;
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* source, size_t pitch, size_t width,
                                size_t height, cudaMemcpyKind kind) {
    return to_array(to, x, y, source, pitch, width, height, kind, SITE);
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* source, size_t pitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    uint64_t site = SITE;
    return in_stream(stream, [=] { return to_array(to, x, y, source, pitch, width, height, kind, site, word(stream)); });
}
cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t source, size_t x, size_t y, size_t width,
                                  size_t height, cudaMemcpyKind kind) {
    return from_array(to, pitch, source, x, y, width, height, kind, SITE);
}
cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t source, size_t x, size_t y,
                                       size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    uint64_t site = SITE;
    return in_stream(stream, [=] { return from_array(to, pitch, source, x, y, width, height, kind, site, word(stream)); });
}
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t source, size_t x,
                                     size_t y, size_t width, size_t height, cudaMemcpyKind kind) {
    if (!has(source, x, y, width, height)) return noted(cudaErrorInvalidValue);
    return to_array(to, to_x, to_y, from(source, x, y).at, source->pitch(), width, height, kind, SITE);
}
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* source, size_t bytes,
                              cudaMemcpyKind kind) {
    uint64_t site = SITE;
    return in_rows(to, x, y, bytes, [=](size_t column, size_t row, size_t done, size_t now) {
        return to_array(to, column, row, static_cast<const char*>(source) + done, 0, now, 1, kind, site);
    });
}
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t source, size_t x, size_t y, size_t bytes,
                                cudaMemcpyKind kind) {
    uint64_t site = SITE;
    return in_rows(source, x, y, bytes, [=](size_t column, size_t row, size_t done, size_t now) {
        return from_array(static_cast<char*>(to) + done, 0, source, column, row, now, 1, kind, site);
    });
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* made, const cudaResourceDesc* of, const cudaTextureDesc* how,
                                    const cudaResourceViewDesc* view) {
    if (!made || !of || !how) return noted(cudaErrorInvalidValue);
    const void* at = nullptr;
    cudaChannelFormatDesc format = {};
    size_t width = 0, height = 1, depth = 1, pitch = 0;
    switch (of->resType) {
        case cudaResourceTypeArray: {
            cudaArray_const_t array = of->res.array.array;
            at = array->at, format = array->format, pitch = array->pitch();
            width = array->extent.width, height = array->height(), depth = array->depth();
            break;
        }
        case cudaResourceTypeLinear:
            at = of->res.linear.devPtr, format = of->res.linear.desc;
            width = of->res.linear.sizeInBytes * 8 / std::max(format.x + format.y + format.z + format.w, 8);
            break;
        case cudaResourceTypePitch2D:
            at = of->res.pitch2D.devPtr, format = of->res.pitch2D.desc, pitch = of->res.pitch2D.pitchInBytes;
            width = of->res.pitch2D.width, height = of->res.pitch2D.height;
            break;
        default: break;
    }
    Answer answer = ask(
        "texture",
        {uint64_t(of->resType), word(at), width, height, depth, pitch, uint64_t(format.x), uint64_t(format.y),
         uint64_t(format.z), uint64_t(format.w), uint64_t(format.f), uint64_t(how->addressMode[0]),
         uint64_t(how->addressMode[1]), uint64_t(how->addressMode[2]), uint64_t(how->filterMode),
         uint64_t(how->readMode), uint64_t(how->normalizedCoords), uint64_t(how->sRGB || how->seamlessCubemap || view), bits(how->borderColor[0]),
         bits(how->borderColor[1]), bits(how->borderColor[2]), bits(how->borderColor[3]), SITE});
    if (answer.error) return noted(answer.error);
    *made = answer.numbers[0];
    textures[*made] = {*of, *how};
    return cudaSuccess;
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture) {
    textures.erase(texture);
    return noted(ask("no_texture", {texture}).error);
}
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* found, cudaTextureObject_t texture) {
    if (!textures.count(texture)) return noted(cudaErrorInvalidValue);
    *found = textures[texture].resource;
    return cudaSuccess;
}
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* found, cudaTextureObject_t texture) {
    if (!textures.count(texture)) return noted(cudaErrorInvalidValue);
    *found = textures[texture].texture;
    return cudaSuccess;
}

}  // extern "C"
