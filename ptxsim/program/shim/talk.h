// A question to the simulator, which is another process, and its answer.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

// Where in the program a function of this file was called.
#define SITE reinterpret_cast<uint64_t>(__builtin_return_address(0))

struct Answer {
    cudaError_t error;
    std::vector<uint64_t> numbers;
    std::string data;
};

Answer ask(const char* what, std::initializer_list<uint64_t> numbers, const void* data = nullptr, size_t bytes = 0);

inline uint64_t word(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// The error as the next cudaGetLastError gives it, too.
cudaError_t noted(cudaError_t error);

// Work of a stream: done now, or kept for later where the stream is recorded into a graph.
using Work = std::function<cudaError_t()>;
cudaError_t in_stream(cudaStream_t stream, Work work);

// A synchronous call: it is in the default stream, and the host waits for it.
const uint64_t NO_STREAM = ~uint64_t(0);

// The stream in which work is done: that of the graph that runs, or the one that was asked for.
uint64_t stream_of_work(uint64_t asked);
cudaError_t in_graph(cudaStream_t stream, const std::function<cudaError_t()>& works);

// A stream comes to a function of the host, which may look at what the stream did.
void host_function(cudaStream_t stream);

// What kernels printed since the last time.
void print_what_was_printed();
void keep_printed(const std::string& text);

// A device address as memory that the host may touch.
char* reachable(const void* pointer);
