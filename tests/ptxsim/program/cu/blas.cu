// Products of matrices by cuBLAS, each beside the host's own sum. Matrices lie column by column.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdio>
#include <vector>

const int M = 5, N = 4, K = 3, BATCH = 2, LDC = 7;

template <class T, class S>
bool right(const std::vector<T>& a, const std::vector<T>& b, const S* c, double alpha, double before) {
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            double sum = 0;
            for (int l = 0; l < K; ++l) sum += double(float(a[l + i * K])) * double(float(b[l + j * K]));
            if (double(float(c[i + j * LDC])) != alpha * sum + before) return false;
        }
    return true;
}

template <class T>
std::vector<T> numbers(int count, int from) {
    std::vector<T> made(count);
    for (int i = 0; i < count; ++i) made[i] = T(float((i + from) % 7 - 3));
    return made;
}

template <class T>
T* on_device(const std::vector<T>& values) {
    T* made;
    cudaMalloc(&made, values.size() * sizeof(T));
    cudaMemcpy(made, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
    return made;
}

// C = 2 A^T B + 3 C, where C is all ones; `call` makes it.
template <class T, class S, class Call>
void product(const char* name, Call call) {
    auto a = numbers<T>(M * K * BATCH, 0), b = numbers<T>(N * K * BATCH, 2);
    std::vector<S> c(LDC * N * BATCH, S(1.0f));
    T *da = on_device(a), *db = on_device(b);
    S* dc = on_device(c);
    int status = call(da, db, dc);
    cudaMemcpy(c.data(), dc, c.size() * sizeof(S), cudaMemcpyDeviceToHost);
    printf("%s %d %s\n", name, status, right(a, b, c.data(), 2, 3) && float(c[M]) == 1 ? "right" : "wrong");
    cudaFree(da);
    cudaFree(db);
    cudaFree(dc);
}

int main() {
    cublasHandle_t handle;
    cublasCreate(&handle);
    float two = 2, three = 3;
    double two_d = 2, three_d = 3;
    __half two_h = 2.0f, three_h = 3.0f;
    int two_i = 2, three_i = 3;
    const auto T = CUBLAS_OP_T;
    const auto N_ = CUBLAS_OP_N;
    product<float, float>("Sgemm", [&](float* a, float* b, float* c) {
        return cublasSgemm(handle, T, N_, M, N, K, &two, a, K, b, K, &three, c, LDC);
    });
    product<float, float>("Sgemv, row by row", [&](float* a, float* b, float* c) {
        for (int i = 0; i < M; ++i) cublasSgemv(handle, T, K, N, &two, b, K, a + i * K, 1, &three, c + i, LDC);
        return 0;
    });
    product<double, double>("Dgemv, turned", [&](double* a, double* b, double* c) {
        auto host = numbers<double>(M * K, 0), turned = host;
        for (int i = 0; i < M * K; ++i) turned[i / K + i % K * M] = host[i];
        cudaMemcpy(a, turned.data(), M * K * sizeof(double), cudaMemcpyHostToDevice);
        for (int j = 0; j < N; ++j) cublasDgemv(handle, N_, M, K, &two_d, a, M, b + j * K, 1, &three_d, c + j * LDC, 1);
        return 0;
    });
    product<double, double>("Dgemm", [&](double* a, double* b, double* c) {
        return cublasDgemm(handle, T, N_, M, N, K, &two_d, a, K, b, K, &three_d, c, LDC);
    });
    product<__half, __half>("Hgemm", [&](__half* a, __half* b, __half* c) {
        return cublasHgemm(handle, T, N_, M, N, K, &two_h, a, K, b, K, &three_h, c, LDC);
    });
    product<__half, float>("GemmEx of half", [&](__half* a, __half* b, float* c) {
        return cublasGemmEx(handle, T, N_, M, N, K, &two, a, CUDA_R_16F, K, b, CUDA_R_16F, K, &three, c, CUDA_R_32F, LDC,
                            CUDA_R_32F, CUBLAS_GEMM_DEFAULT);
    });
    product<__nv_bfloat16, __nv_bfloat16>("GemmEx of bf16", [&](__nv_bfloat16* a, __nv_bfloat16* b, __nv_bfloat16* c) {
        return cublasGemmEx(handle, T, N_, M, N, K, &two, a, CUDA_R_16BF, K, b, CUDA_R_16BF, K, &three, c, CUDA_R_16BF,
                            LDC, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    });
    product<signed char, int>("GemmEx of int8", [&](signed char* a, signed char* b, int* c) {
        return cublasGemmEx(handle, T, N_, M, N, K, &two_i, a, CUDA_R_8I, K, b, CUDA_R_8I, K, &three_i, c, CUDA_R_32I,
                            LDC, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT);
    });
    product<float, float>("SgemmStridedBatched", [&](float* a, float* b, float* c) {
        return cublasSgemmStridedBatched(handle, T, N_, M, N, K, &two, a, K, M * K, b, K, N * K, &three, c, LDC, LDC * N,
                                         BATCH);
    });
    product<float, float>("SgemmBatched", [&](float* a, float* b, float* c) {
        float **da = on_device<float*>({a + M * K, a}), **db = on_device<float*>({b + N * K, b}),
              **dc = on_device<float*>({c + LDC * N, c});
        int status = cublasSgemmBatched(handle, T, N_, M, N, K, &two, da, K, db, K, &three, dc, LDC, BATCH);
        cudaFree(da);
        cudaFree(db);
        cudaFree(dc);
        return status;
    });
#ifdef TOO_SMALL
    product<float, float>("too small", [&](float* a, float* b, float* c) {
        return cublasSgemm(handle, T, N_, M, N, 100 * K, &two, a, 100 * K, b, 100 * K, &three, c, LDC);
    });
#endif
    cublasDestroy(handle);
}
