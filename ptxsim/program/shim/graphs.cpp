// Graphs: work that waits to be launched together. Their nodes run one after the other, each behind those that it
// depends on.

#include <algorithm>
#include <map>
#include <set>

#include "graphs.h"

namespace {

// In the order in which they were added, but none before those that it depends on.
std::vector<Work> in_order(const CUgraph_st& graph) {
    std::vector<Work> works;
    std::set<const CUgraphNode_st*> done;
    while (done.size() < graph.nodes.size()) {
        size_t before = done.size();
        for (const auto& node : graph.nodes) {
            auto is_done = [&](const CUgraphNode_st* each) { return done.count(each) > 0; };
            if (done.count(node.get()) || !std::all_of(node->behind.begin(), node->behind.end(), is_done)) continue;
            works.push_back([node] { return node->work(); });
            done.insert(node.get());
        }
        if (done.size() == before) break;  // a circle
    }
    return works;
}

cudaError_t added(cudaGraph_t graph, cudaGraphNode_t* made, const cudaGraphNode_t* behind, size_t count, Work work) {
    auto node = std::make_shared<CUgraphNode_st>();
    node->work = std::move(work);
    node->behind.assign(behind, behind + count);
    graph->nodes.push_back(node);
    if (made) *made = node.get();
    return cudaSuccess;
}

cudaError_t instantiated(cudaGraphExec_t* made, cudaGraph_t graph) {
    *made = new CUgraphExec_st{in_order(*graph)};
    return (*made)->works.size() == graph->nodes.size() ? cudaSuccess : noted(cudaErrorInvalidValue);
}

Work work_of(const cudaKernelNodeParams& node) {
    return packed_launch(node.func, node.gridDim, node.blockDim, node.kernelParams, node.sharedMemBytes);
}

Work work_of(const cudaMemsetParams& node) {
    return [node] {
        if (node.elementSize == 1)
            return cudaMemset2D(node.dst, node.height > 1 ? node.pitch : 0, int(node.value), node.width, node.height);
        std::vector<char> row(node.width * node.elementSize);
        for (size_t at = 0; at < row.size(); ++at) row[at] = char(node.value >> 8 * (at % node.elementSize));
        for (size_t y = 0; y < node.height; ++y) {
            char* to = static_cast<char*>(node.dst) + y * node.pitch;
            if (cudaError_t error = cudaMemcpy(to, row.data(), row.size(), cudaMemcpyDefault)) return error;
        }
        return cudaSuccess;
    };
}

}  // namespace

void CUgraph_st::record(Work work) {
    cudaGraphNode_t last = nodes.empty() ? nullptr : nodes.back().get();
    added(this, nullptr, &last, last ? 1 : 0, std::move(work));
}

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
    *graph = new CUgraph_st;
    return cudaSuccess;
}
cudaError_t cudaGraphClone(cudaGraph_t* copy, cudaGraph_t graph) {
    *copy = new CUgraph_st{*graph};
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* behind, size_t count,
                                   const cudaKernelNodeParams* how) {
    return added(graph, node, behind, count, work_of(*how));
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* behind, size_t count,
                                   const cudaMemcpy3DParms* how) {
    return added(graph, node, behind, count, [how = *how] { return cudaMemcpy3D(&how); });
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* behind,
                                     size_t count, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    return added(graph, node, behind, count, [=] { return cudaMemcpy(to, from, bytes, kind); });
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* behind, size_t count,
                                   const cudaMemsetParams* how) {
    return added(graph, node, behind, count, work_of(*how));
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* behind, size_t count,
                                 const cudaHostNodeParams* how) {
    return added(graph, node, behind, count, [how = *how] {
        host_function(nullptr);
        how.fn(how.userData);
        return cudaSuccess;
    });
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* behind,
                                  size_t count) {
    return added(graph, node, behind, count, [] { return cudaSuccess; });
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* behind,
                                       size_t count, cudaGraph_t child) {
    return added(graph, node, behind, count, [works = in_order(*child)] { return all_of(works); });
}
#if CUDART_VERSION >= 13000
cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData*, size_t count) {
#else
cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count) {
#endif
    for (size_t i = 0; i < count; ++i) to[i]->behind.push_back(from[i]);
    return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    for (size_t i = 0; nodes && i < *count && i < graph->nodes.size(); ++i) nodes[i] = graph->nodes[i].get();
    *count = graph->nodes.size();
    return cudaSuccess;
}
// A graph that was instantiated asks its nodes what to do.
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t, cudaGraphNode_t node, const cudaKernelNodeParams* how) {
    node->work = work_of(*how);
    return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* how) {
    node->work = work_of(*how);
    return cudaSuccess;
}

#if CUDART_VERSION >= 12000
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
    return instantiated(made, graph);
}
#else
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, cudaGraphNode_t*, char*, size_t) {
    return instantiated(made, graph);
}
#endif
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
    return instantiated(made, graph);
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t made, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
    made->works = in_order(*graph);
    if (info) info->result = cudaGraphExecUpdateSuccess;
    return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
    return noted(in_stream(stream, [=, works = graph->works] { return in_graph(stream, [&] { return all_of(works); }); }));
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
    delete graph;
    return cudaSuccess;
}

}  // extern "C"
