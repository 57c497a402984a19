// cuBLAS: its handles, and products of matrices, which the simulator's process makes (blas.py).

#include <cublas_v2.h>

#include <algorithm>
#include <cstring>

#include "talk.h"

struct cublasContext {
    cudaStream_t stream;
};

namespace {

struct Matrix {
    const void* at;
    cudaDataType type;
    int step;
    long long stride;
};

// A factor of the host's or of the device's.
uint64_t factor(const void* at, cudaDataType type) {
    const char* here = reachable(at);
    double value = type == CUDA_R_16F   ? __half2float(*reinterpret_cast<const __half*>(here))
                   : type == CUDA_R_32F ? *reinterpret_cast<const float*>(here)
                   : type == CUDA_R_32I ? *reinterpret_cast<const int*>(here)
                                        : *reinterpret_cast<const double*>(here);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

cudaDataType of_factors(cublasComputeType_t type) {
    switch (type) {
        case CUBLAS_COMPUTE_16F: return CUDA_R_16F;
        case CUBLAS_COMPUTE_64F: return CUDA_R_64F;
        case CUBLAS_COMPUTE_32I: return CUDA_R_32I;
        default: return CUDA_R_32F;
    }
}

bool known(cudaDataType type) {
    const cudaDataType all[] = {CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_R_8I, CUDA_R_32I, CUDA_R_16BF};
    return std::find(std::begin(all), std::end(all), type) != std::end(all);
}

// As cuBLAS gets them.
struct Sizes {
    cublasHandle_t handle;
    cublasOperation_t turn_a, turn_b;
    int m, n, k;
};

cublasStatus_t product(const char* call, const Sizes& of, const void* alpha, Matrix a, Matrix b, const void* beta,
                       Matrix c, cudaDataType factors, int times, uint64_t site) {
    if (!of.handle) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!known(a.type) || !known(b.type) || !known(c.type)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (of.m < 0 || of.n < 0 || of.k < 0 || times < 0 || a.step < std::max(1, of.turn_a ? of.k : of.m) ||
        b.step < std::max(1, of.turn_b ? of.n : of.k) || c.step < std::max(1, of.m))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!of.m || !of.n || !times) return CUBLAS_STATUS_SUCCESS;
    uint64_t first = factor(alpha, factors), second = factor(beta, factors);
    auto work = [=] {
        return ask("gemm",
                   {stream_of_work(word(of.handle->stream)), site, of.turn_a, of.turn_b, uint64_t(of.m), uint64_t(of.n),
                    uint64_t(of.k), uint64_t(times), first, second, word(a.at), a.type, uint64_t(a.step),
                    uint64_t(a.stride), word(b.at), b.type, uint64_t(b.step), uint64_t(b.stride), word(c.at), c.type,
                    uint64_t(c.step), uint64_t(c.stride)},
                   call, strlen(call))
            .error;
    };
    return in_stream(of.handle->stream, work) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

// Each with matrices of its own, whose addresses lie in memory of the device.
cublasStatus_t products(const char* call, const Sizes& of, const void* alpha, const void* const* a, Matrix like_a,
                        const void* const* b, Matrix like_b, const void* beta, void* const* c, Matrix like_c,
                        cudaDataType factors, int times, uint64_t site) {
    auto at = [](const void* const* list, int i) { return reinterpret_cast<const void* const*>(reachable(list))[i]; };
    for (int i = 0; i < times; ++i) {
        like_a.at = at(a, i), like_b.at = at(b, i), like_c.at = at(c, i);
        if (auto error = product(call, of, alpha, like_a, like_b, beta, like_c, factors, 1, site)) return error;
    }
    return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
    *handle = new cublasContext{nullptr};
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
    *stream = handle->stream;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode(cublasHandle_t, cublasPointerMode_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t, cublasAtomicsMode_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; }

#define SIZES cublasHandle_t handle, cublasOperation_t turn_a, cublasOperation_t turn_b, int m, int n, int k
#define GIVEN {handle, turn_a, turn_b, m, n, k}
#define GEMM(call, T, type)                                                                                          \
    cublasStatus_t cublas##call(SIZES, const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c, \
                                int ldc) {                                                                           \
        return product("cublas" #call, GIVEN, alpha, {a, type, lda, 0}, {b, type, ldb, 0}, beta, {c, type, ldc, 0},  \
                       type, 1, SITE);                                                                               \
    }
#define STRIDED(call, T, type)                                                                                       \
    cublasStatus_t cublas##call(SIZES, const T* alpha, const T* a, int lda, long long sa, const T* b, int ldb,       \
                                long long sb, const T* beta, T* c, int ldc, long long sc, int times) {               \
        return product("cublas" #call, GIVEN, alpha, {a, type, lda, sa}, {b, type, ldb, sb}, beta,                   \
                       {c, type, ldc, sc}, type, times, SITE);                                                       \
    }
#define BATCHED(call, T, type)                                                                                       \
    cublasStatus_t cublas##call(SIZES, const T* alpha, const T* const a[], int lda, const T* const b[], int ldb,     \
                                const T* beta, T* const c[], int ldc, int times) {                                   \
        using List = const void* const*;                                                                             \
        return products("cublas" #call, GIVEN, alpha, List(a), {nullptr, type, lda, 0}, List(b),                     \
                        {nullptr, type, ldb, 0}, beta, (void* const*)c, {nullptr, type, ldc, 0}, type, times, SITE); \
    }
GEMM(Sgemm, float, CUDA_R_32F)
GEMM(Dgemm, double, CUDA_R_64F)
GEMM(Hgemm, __half, CUDA_R_16F)
STRIDED(SgemmStridedBatched, float, CUDA_R_32F)
STRIDED(DgemmStridedBatched, double, CUDA_R_64F)
STRIDED(HgemmStridedBatched, __half, CUDA_R_16F)
BATCHED(SgemmBatched, float, CUDA_R_32F)
BATCHED(DgemmBatched, double, CUDA_R_64F)
BATCHED(HgemmBatched, __half, CUDA_R_16F)

// x as a row, and the matrix turned, give y as a row.
#define GEMV(call, T, type)                                                                                          \
    cublasStatus_t cublas##call(cublasHandle_t handle, cublasOperation_t turn, int m, int n, const T* alpha,         \
                                const T* a, int lda, const T* x, int incx, const T* beta, T* y, int incy) {          \
        if (incx < 1 || incy < 1) return CUBLAS_STATUS_NOT_SUPPORTED;                                                \
        Sizes of = {handle, CUBLAS_OP_N, turn ? CUBLAS_OP_N : CUBLAS_OP_T, 1, turn ? n : m, turn ? m : n};           \
        return product("cublas" #call, of, alpha, {x, type, incx, 0}, {a, type, lda, 0}, beta, {y, type, incy, 0},   \
                       type, 1, SITE);                                                                               \
    }
GEMV(Sgemv, float, CUDA_R_32F)
GEMV(Dgemv, double, CUDA_R_64F)
#undef GEMV

cublasStatus_t cublasGemmEx(SIZES, const void* alpha, const void* a, cudaDataType of_a, int lda, const void* b,
                            cudaDataType of_b, int ldb, const void* beta, void* c, cudaDataType of_c, int ldc,
                            cublasComputeType_t type, cublasGemmAlgo_t) {
    return product("cublasGemmEx", GIVEN, alpha, {a, of_a, lda, 0}, {b, of_b, ldb, 0}, beta, {c, of_c, ldc, 0},
                   of_factors(type), 1, SITE);
}
cublasStatus_t cublasGemmStridedBatchedEx(SIZES, const void* alpha, const void* a, cudaDataType of_a, int lda,
                                          long long sa, const void* b, cudaDataType of_b, int ldb, long long sb,
                                          const void* beta, void* c, cudaDataType of_c, int ldc, long long sc,
                                          int times, cublasComputeType_t type, cublasGemmAlgo_t) {
    return product("cublasGemmStridedBatchedEx", GIVEN, alpha, {a, of_a, lda, sa}, {b, of_b, ldb, sb}, beta,
                   {c, of_c, ldc, sc}, of_factors(type), times, SITE);
}
cublasStatus_t cublasGemmBatchedEx(SIZES, const void* alpha, const void* const a[], cudaDataType of_a, int lda,
                                   const void* const b[], cudaDataType of_b, int ldb, const void* beta, void* const c[],
                                   cudaDataType of_c, int ldc, int times, cublasComputeType_t type, cublasGemmAlgo_t) {
    return products("cublasGemmBatchedEx", GIVEN, alpha, a, {nullptr, of_a, lda, 0}, b, {nullptr, of_b, ldb, 0}, beta,
                    c, {nullptr, of_c, ldc, 0}, of_factors(type), times, SITE);
}
#undef SIZES
#undef GIVEN
#undef GEMM
#undef STRIDED
#undef BATCHED

}  // extern "C"
