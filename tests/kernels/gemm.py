"""Matrix products, C = A @ B.T with A (M, K), B (N, K), C (M, N).

Float and double are column-major (order "F": contiguous along M and N), half is row-major (contiguous
along K), as in the lessons. Every sum runs over K in order, one fma per step, so the result is decided
by IEEE rules bit for bit.
"""

from fractions import Fraction

import numpy as np

from tests.kernels.case import Case, fma32, poison, random

NAIVE = r"""
#include <cuda_fp16.h>
template <typename Number>
__device__ void naive(const Number* A, const Number* B, Number* C, int M, int N, int K) {
    int m = blockIdx.x * blockDim.x + threadIdx.x, n = blockIdx.y * blockDim.y + threadIdx.y;
    if (m >= M || n >= N) return;
    Number sum = Number(0);
    for (int k = 0; k < K; ++k) sum += A[m + k * M] * B[n + k * N];
    C[m + n * M] = sum;
}

extern "C" __global__ void gemm_naive_float(const float* A, const float* B, float* C, int M, int N, int K) {
    naive(A, B, C, M, N, K);
}

extern "C" __global__ void gemm_naive_double(const double* A, const double* B, double* C, int M, int N,
                                             int K) {
    naive(A, B, C, M, N, K);
}

extern "C" __global__ void gemm_naive_half(const __half* A, const __half* B, __half* C, int M, int N, int K) {
    int m = blockIdx.x * blockDim.x + threadIdx.x, n = blockIdx.y * blockDim.y + threadIdx.y;
    if (m >= M || n >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += __half2float(A[m * K + k]) * __half2float(B[n * K + k]);
    C[m * N + n] = __float2half(sum);
}
"""

TILED_FLOAT = r"""
// 256 threads make a 64x64 tile of C, 4x4 elements each, from k-tiles of 16.
extern "C" __global__ void __launch_bounds__(256)
gemm_fp32_64x64x16(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float4 As[16][16], Bs[16][16];            // [k][m / 4], [k][n / 4]
    int t = threadIdx.x;
    int quad = t % 16, row = t / 16;                     // what this thread copies, and what it computes
    const float* from_a = A + blockIdx.x * 64 + quad * 4 + row * M;
    const float* from_b = B + blockIdx.y * 64 + quad * 4 + row * N;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        As[row][quad] = *reinterpret_cast<const float4*>(from_a + k0 * M);
        Bs[row][quad] = *reinterpret_cast<const float4*>(from_b + k0 * N);
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            float4 a = As[k][quad], b = Bs[k][row];
            float as[4] = {a.x, a.y, a.z, a.w}, bs[4] = {b.x, b.y, b.z, b.w};
            #pragma unroll
            for (int n = 0; n < 4; ++n)
                #pragma unroll
                for (int m = 0; m < 4; ++m) sum[n][m] += as[m] * bs[n];
        }
        __syncthreads();
    }
    float* to = C + blockIdx.x * 64 + quad * 4 + (blockIdx.y * 64 + row * 4) * M;
    #pragma unroll
    for (int n = 0; n < 4; ++n)
        *reinterpret_cast<float4*>(to + n * M) = make_float4(sum[n][0], sum[n][1], sum[n][2], sum[n][3]);
}
"""

TILED_HALF = r"""
#include <cuda_fp16.h>
// 64 threads make a 32x32 tile of C, 4x4 elements each, from k-tiles of 16; sums in float.
extern "C" __global__ void gemm_tiled_half(const __half* A, const __half* B, __half* C, int M, int N, int K) {
    __shared__ __align__(16) __half As[32][24], Bs[32][24];   // [m][k], [n][k], padded by 8
    int t = threadIdx.x, row = t / 2, chunk = t % 2 * 8;
    int first_m = blockIdx.x * 32, first_n = blockIdx.y * 32;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        *reinterpret_cast<uint4*>(&As[row][chunk]) =
            *reinterpret_cast<const uint4*>(&A[(first_m + row) * K + k0 + chunk]);
        *reinterpret_cast<uint4*>(&Bs[row][chunk]) =
            *reinterpret_cast<const uint4*>(&B[(first_n + row) * K + k0 + chunk]);
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                    sum[i][j] += __half2float(As[t / 8 + 8 * i][k]) * __half2float(Bs[t % 8 + 8 * j][k]);
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            C[(first_m + t / 8 + 8 * i) * N + first_n + t % 8 + 8 * j] = __float2half(sum[i][j]);
}
"""

TILED_DOUBLE = r"""
// 64 threads make a 16x16 tile of C, 2x2 elements each, from k-tiles of 8.
extern "C" __global__ void gemm_tiled_double(const double* A, const double* B, double* C, int M, int N,
                                             int K) {
    __shared__ double2 As[8][8], Bs[8][8];
    int t = threadIdx.x, pair = t % 8, row = t / 8;
    int m = blockIdx.x * 16 + pair * 2, n = blockIdx.y * 16;
    double sum[2][2] = {};
    for (int k0 = 0; k0 < K; k0 += 8) {
        As[row][pair] = *reinterpret_cast<const double2*>(&A[m + (k0 + row) * M]);
        Bs[row][pair] = *reinterpret_cast<const double2*>(&B[n + pair * 2 + (k0 + row) * N]);
        __syncthreads();
        #pragma unroll 2
        for (int k = 0; k < 8; ++k) {
            double2 a = As[k][pair], b = Bs[k][row];
            sum[0][0] += a.x * b.x;
            sum[0][1] += a.y * b.x;
            sum[1][0] += a.x * b.y;
            sum[1][1] += a.y * b.y;
        }
        __syncthreads();
    }
    for (int j = 0; j < 2; ++j)
        for (int i = 0; i < 2; ++i) C[m + i + (n + row * 2 + j) * M] = sum[j][i];
}
"""


def gemm_args(M, N, K, dtype, order="F", seed=1):
    """[A, B, C, M, N, K] for a kernel; A and B random normal, C poisoned."""
    rng = random(seed)
    A, B = rng.randn(M, K).astype(dtype), rng.randn(N, K).astype(dtype)
    return [
        np.asarray(A, order=order), np.asarray(B, order=order), poison((M, N), dtype, order),
        np.int32(M), np.int32(N), np.int32(K),
    ]  # fmt: skip


def gemm_float(args):
    """Float and half: float32 sums, fma after fma along K."""
    A, B, C = args[:3]
    total = np.zeros(C.shape, "f4")
    for k in range(A.shape[1]):
        total = fma32(A[:, k, None], B[None, :, k], total)
    return {2: total.astype(C.dtype)}


def gemm_double(args):
    """Double: each fma exactly, by fractions, then rounded once."""
    A, B = args[:2]
    rows, columns = ([[Fraction(v) for v in row] for row in x.tolist()] for x in (A, B))

    def dot(a, b):
        total = 0.0
        for x, y in zip(a, b, strict=True):
            total = float(x * y + Fraction(total))
        return total

    return {2: np.array([[dot(a, b) for b in columns] for a in rows])}


CASES = [
    Case(
        "gemm_naive_float", NAIVE, "gemm_naive_float", lambda: gemm_args(33, 19, 21, "f4"), (3, 3), (16, 8),
        gemm_float,
    ),
    Case(
        "gemm_naive_double", NAIVE, "gemm_naive_double", lambda: gemm_args(17, 20, 11, "f8"), (2, 3), (16, 8),
        gemm_double,
    ),
    Case(
        "gemm_naive_half", NAIVE, "gemm_naive_half", lambda: gemm_args(33, 19, 21, "f2", "C"), (3, 3),
        (16, 8), gemm_float,
    ),
    Case(
        "gemm_fp32_64x64x16", TILED_FLOAT, "gemm_fp32_64x64x16", lambda: gemm_args(128, 64, 48, "f4"), (2, 1),
        (256,), gemm_float,
    ),
    Case(
        "gemm_tiled_half", TILED_HALF, "gemm_tiled_half", lambda: gemm_args(64, 32, 48, "f2", "C"), (2, 1),
        (64,), gemm_float,
    ),
    Case(
        "gemm_tiled_double", TILED_DOUBLE, "gemm_tiled_double", lambda: gemm_args(32, 16, 24, "f8"), (2, 1),
        (64,), gemm_double,
    ),
]  # fmt: skip
