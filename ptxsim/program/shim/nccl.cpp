// NCCL among the ranks of one GPU, which is one: what each rank gets is what it gave.

#include <nccl.h>

#include "talk.h"

struct ncclComm {
    int device;
};

namespace {

ncclResult_t copied(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                    cudaStream_t stream) {
    const size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    if (!comm || size_t(type) >= sizeof bytes / sizeof *bytes) return ncclInvalidArgument;
    if (from == to) return ncclSuccess;
    cudaError_t error = cudaMemcpyAsync(to, from, count * bytes[type], cudaMemcpyDeviceToDevice, stream);
    return error ? ncclUnhandledCudaError : ncclSuccess;
}

ncclResult_t only(int ranks, ncclComm_t* comm, int device) {
    const char why[] =
        "NCCL is here among the ranks of one GPU, which is one: with more the program gets ncclInvalidUsage";
    if (ranks != 1) {
        ask("note", {}, why, sizeof why - 1);
        return ncclInvalidUsage;
    }
    *comm = new ncclComm{device};
    return ncclSuccess;
}

}  // namespace

extern "C" {

const char* ncclGetErrorString(ncclResult_t result) {
    switch (result) {
        case ncclSuccess: return "no error";
        case ncclUnhandledCudaError: return "unhandled cuda error";
        case ncclInvalidArgument: return "invalid argument";
        case ncclInvalidUsage: return "invalid usage";
        default: return "internal error";
    }
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
    *id = {};
    return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId, int) {
    int device = 0;
    cudaGetDevice(&device);
    return only(ranks, comm, device);
}
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
    return only(count, comms, devices ? devices[0] : 0);
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
    delete comm;
    return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) { return ncclCommDestroy(comm); }
ncclResult_t ncclCommCount(ncclComm_t, int* count) {
    *count = 1;
    return ncclSuccess;
}
ncclResult_t ncclCommUserRank(ncclComm_t, int* rank) {
    *rank = 0;
    return ncclSuccess;
}
ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
    *device = comm->device;
    return ncclSuccess;
}
ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return ncclSuccess; }

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t, ncclComm_t comm,
                           cudaStream_t stream) {
    return copied(from, to, count, type, comm, stream);
}
ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t, int,
                        ncclComm_t comm, cudaStream_t stream) {
    return copied(from, to, count, type, comm, stream);
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int, ncclComm_t comm,
                           cudaStream_t stream) {
    return copied(from, to, count, type, comm, stream);
}
ncclResult_t ncclBcast(void*, size_t, ncclDataType_t, int, ncclComm_t comm, cudaStream_t) {
    return comm ? ncclSuccess : ncclInvalidArgument;
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
    return copied(from, to, count, type, comm, stream);
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t,
                               ncclComm_t comm, cudaStream_t stream) {
    return copied(from, to, count, type, comm, stream);
}

}  // extern "C"
