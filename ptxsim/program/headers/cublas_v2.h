// cuBLAS's types and names. Products of matrices are made on the host (shim/cublas.cpp); other functions compute nothing
// here, and a program may have them where it does not call them. The compiler comes to this file where there is no other.
#pragma once
#define CUBLAS_API_H_  // by which helper_cuda.h of CUDA's samples knows that cublasStatus_t is there
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <library_types.h>

typedef struct cublasContext* cublasHandle_t;
typedef cudaDataType cublasDataType_t;

enum cublasStatus_t {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_STATUS_LICENSE_ERROR = 16,
};
static inline const char* cublasGetStatusName(cublasStatus_t status) {
    switch (status) {
        case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
        case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
        case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
        case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
        case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
        default: return "CUBLAS_STATUS_INTERNAL_ERROR";
    }
}
static inline const char* cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasAtomicsMode_t { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 };
enum cublasMath_t {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_TENSOR_OP_MATH = 1,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3,
};
enum cublasComputeType_t {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_32I = 72,
    CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };

#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasSetStream cublasSetStream_v2
#define cublasGetStream cublasGetStream_v2
#define cublasSetPointerMode cublasSetPointerMode_v2
#define cublasSetWorkspace cublasSetWorkspace_v2
#define cublasSgemm cublasSgemm_v2
#define cublasDgemm cublasDgemm_v2
#define cublasSgemv cublasSgemv_v2
#define cublasDgemv cublasDgemv_v2
#define cublasSaxpy cublasSaxpy_v2
#define cublasSdot cublasSdot_v2

extern "C" {
cublasStatus_t cublasCreate(cublasHandle_t*);
cublasStatus_t cublasDestroy(cublasHandle_t);
cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t);
cublasStatus_t cublasGetStream(cublasHandle_t, cudaStream_t*);
cublasStatus_t cublasSetPointerMode(cublasHandle_t, cublasPointerMode_t);
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t, cublasAtomicsMode_t);
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t);
cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, size_t);

#define PTXSIM_SIZES cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int
#define PTXSIM_GEMM(T) PTXSIM_SIZES, const T*, const T*, int, const T*, int, const T*, T*, int
#define PTXSIM_GEMV(T) \
    cublasHandle_t, cublasOperation_t, int, int, const T*, const T*, int, const T*, int, const T*, T*, int
#define PTXSIM_STRIDED(T) \
    PTXSIM_SIZES, const T*, const T*, int, long long, const T*, int, long long, const T*, T*, int, long long, int
#define PTXSIM_BATCHED(T) \
    PTXSIM_SIZES, const T*, const T* const[], int, const T* const[], int, const T*, T* const[], int, int
cublasStatus_t cublasSgemm(PTXSIM_GEMM(float));
cublasStatus_t cublasDgemm(PTXSIM_GEMM(double));
cublasStatus_t cublasHgemm(PTXSIM_GEMM(__half));
cublasStatus_t cublasSgemmBatched(PTXSIM_BATCHED(float));
cublasStatus_t cublasDgemmBatched(PTXSIM_BATCHED(double));
cublasStatus_t cublasSgemmStridedBatched(PTXSIM_STRIDED(float));
cublasStatus_t cublasDgemmStridedBatched(PTXSIM_STRIDED(double));
cublasStatus_t cublasHgemmBatched(PTXSIM_BATCHED(__half));
cublasStatus_t cublasHgemmStridedBatched(PTXSIM_STRIDED(__half));
cublasStatus_t cublasSgemv(PTXSIM_GEMV(float));
cublasStatus_t cublasDgemv(PTXSIM_GEMV(double));
cublasStatus_t cublasSaxpy(cublasHandle_t, int, const float*, const float*, int, float*, int);
cublasStatus_t cublasSdot(cublasHandle_t, int, const float*, int, const float*, int, float*);

cublasStatus_t cublasGemmEx(PTXSIM_SIZES, const void*, const void*, cudaDataType, int, const void*, cudaDataType, int,
                            const void*, void*, cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
cublasStatus_t cublasGemmBatchedEx(PTXSIM_SIZES, const void*, const void* const[], cudaDataType, int,
                                   const void* const[], cudaDataType, int, const void*, void* const[], cudaDataType, int,
                                   int, cublasComputeType_t, cublasGemmAlgo_t);
cublasStatus_t cublasGemmStridedBatchedEx(PTXSIM_SIZES, const void*, const void*, cudaDataType, int, long long,
                                          const void*, cudaDataType, int, long long, const void*, void*, cudaDataType,
                                          int, long long, int, cublasComputeType_t, cublasGemmAlgo_t);
#undef PTXSIM_SIZES
#undef PTXSIM_GEMM
#undef PTXSIM_GEMV
#undef PTXSIM_STRIDED
#undef PTXSIM_BATCHED
}

// With the type of the sums as older programs give it.
static inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t turn_a, cublasOperation_t turn_b,
                                          int m, int n, int k, const void* alpha, const void* a, cudaDataType of_a,
                                          int lda, const void* b, cudaDataType of_b, int ldb, const void* beta, void* c,
                                          cudaDataType of_c, int ldc, cudaDataType type, cublasGemmAlgo_t how) {
    cublasComputeType_t sums = type == CUDA_R_16F   ? CUBLAS_COMPUTE_16F
                               : type == CUDA_R_64F ? CUBLAS_COMPUTE_64F
                               : type == CUDA_R_32I ? CUBLAS_COMPUTE_32I
                                                    : CUBLAS_COMPUTE_32F;
    return cublasGemmEx(handle, turn_a, turn_b, m, n, k, alpha, a, of_a, lda, b, of_b, ldb, beta, c, of_c, ldc, sums,
                        how);
}
