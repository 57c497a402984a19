// Streams and events. What is put into a stream is done at once: in the order of the program's own calls, which
// every stream and every event allows; the simulator shows the host what it wrote when it waits (late.py). What is put
// into a stream that is recorded waits in a graph.

#include <chrono>
#include <cstdio>

#include "graphs.h"

struct CUstream_st {
    unsigned flags = 0;
    int priority = 0;
    CUgraph_st* recorded = nullptr;
};

struct CUevent_st {
    bool set = false;
    std::chrono::steady_clock::time_point time;
    CUgraph_st* recorded = nullptr;
};

namespace {

std::string printed;

// The default streams have numbers for handles.
bool is_default(cudaStream_t stream) { return word(stream) < 3; }

CUgraph_st* graph_of(cudaStream_t stream) { return is_default(stream) ? nullptr : stream->recorded; }

// What the host waits for, as orders.py numbers it.
enum Waits : uint64_t { FOR_STREAM, FOR_EVENT, FOR_DEVICE };

cudaError_t waited(Waits what, const void* handle = nullptr) {
    print_what_was_printed();
    return noted(ask("wait", {what, word(handle)}).error);
}

// "Not ready" is an answer, and no error that cudaGetLastError gives.
cudaError_t asked(Waits what, const void* handle) {
    Answer answer = ask("query", {what, word(handle)});
    if (answer.error == cudaErrorNotReady) return answer.error;
    print_what_was_printed();
    return noted(answer.error);
}

thread_local cudaStream_t stream_of_graph = nullptr;
thread_local bool runs_graph = false;

cudaError_t set(cudaEvent_t event, cudaStream_t stream) {
    event->recorded = graph_of(stream);
    event->set = true;
    if (!event->recorded) ask("record", {word(event), stream_of_work(word(stream))});
    event->time = std::chrono::steady_clock::now();
    return cudaSuccess;
}

}  // namespace

void keep_printed(const std::string& text) { printed += text; }

void print_what_was_printed() {
    fwrite(printed.data(), 1, printed.size(), stdout);
    printed.clear();
}

cudaError_t in_stream(cudaStream_t stream, Work work) {
    if (CUgraph_st* graph = graph_of(stream)) {
        graph->record(std::move(work));
        return cudaSuccess;
    }
    return work();
}

void host_function(cudaStream_t stream) { ask("host_function", {stream_of_work(word(stream))}); }

uint64_t stream_of_work(uint64_t asked) { return runs_graph ? word(stream_of_graph) : asked; }

cudaError_t in_graph(cudaStream_t stream, const std::function<cudaError_t()>& works) {
    stream_of_graph = stream;
    runs_graph = true;
    cudaError_t error = works();
    runs_graph = false;
    return error;
}

__attribute__((destructor)) static void at_the_end() { print_what_was_printed(); }

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    *stream = new CUstream_st{flags, priority, nullptr};
    return noted(ask("stream", {word(*stream), flags & cudaStreamNonBlocking}).error);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    if (is_default(stream)) return noted(cudaErrorInvalidResourceHandle);
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return waited(FOR_STREAM, stream); }
cudaError_t cudaStreamQuery(cudaStream_t stream) { return asked(FOR_STREAM, stream); }
cudaError_t cudaDeviceSynchronize() { return waited(FOR_DEVICE); }
cudaError_t cudaThreadSynchronize() { return waited(FOR_DEVICE); }

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
    *flags = is_default(stream) ? 0 : stream->flags;
    return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    *priority = is_default(stream) ? 0 : stream->priority;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    if (!is_default(stream) && event->recorded) stream->recorded = event->recorded;
    if (graph_of(stream)) return cudaSuccess;
    return noted(ask("wait_event", {word(stream), word(event)}).error);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void* data, unsigned) {
    return noted(in_stream(stream, [=] {
        host_function(stream);
        call(stream, cudaSuccess, data);
        return cudaSuccess;
    }));
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void* data) {
    return noted(in_stream(stream, [=] {
        host_function(stream);
        call(data);
        return cudaSuccess;
    }));
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, size_t, unsigned) { return cudaSuccess; }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    *event = new CUevent_st;
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return noted(set(event, stream)); }
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
    return noted(set(event, stream));
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return asked(FOR_EVENT, event); }
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return waited(FOR_EVENT, event); }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t first, cudaEvent_t second) {
    if (!first->set || !second->set) return noted(cudaErrorInvalidResourceHandle);
    *ms = std::chrono::duration<float, std::milli>(second->time - first->time).count();
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
    if (is_default(stream)) return noted(cudaErrorStreamCaptureUnsupported);
    stream->recorded = new CUgraph_st;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    *graph = stream->recorded;
    stream->recorded = nullptr;
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    *status = graph_of(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }

}  // extern "C"
