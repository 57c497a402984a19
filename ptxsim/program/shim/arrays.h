// An array: memory of the device that textures read. It lies there in rows, one behind the other.
#pragma once

#include "talk.h"

struct cudaArray {
    char* at;
    cudaChannelFormatDesc format;
    cudaExtent extent;  // height or depth 0: it has fewer dimensions
    unsigned flags;

    size_t texel() const { return size_t(format.x + format.y + format.z + format.w) / 8; }
    size_t pitch() const { return extent.width * texel(); }
    size_t height() const { return extent.height ? extent.height : 1; }
    size_t depth() const { return extent.depth ? extent.depth : 1; }
};
