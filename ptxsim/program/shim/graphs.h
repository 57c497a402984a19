// What a graph is made of.
#pragma once

#include <memory>

#include "talk.h"

struct CUgraphNode_st {
    Work work;
    std::vector<const CUgraphNode_st*> behind;
};

struct CUgraph_st {
    std::vector<std::shared_ptr<CUgraphNode_st>> nodes;

    // Of a stream that is recorded: behind what came before.
    void record(Work work);
};

struct CUgraphExec_st {
    std::vector<Work> works;
};

inline cudaError_t all_of(const std::vector<Work>& works) {
    for (const Work& each : works)
        if (cudaError_t error = each()) return error;
    return cudaSuccess;
}

// The launch of a kernel, with its arguments as they are now.
Work packed_launch(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared);
