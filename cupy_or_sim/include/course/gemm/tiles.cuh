// How 16 bytes of a tile are placed, copied and loaded, for every type and layout of `matmul`.
#pragma once
#include <course/cp_async.cuh>
#include <course/mma.cuh>
#include <course/timeline.cuh>
#include <cuda_bf16.h>

// Where a chunk of 16 bytes lies in a tile of WIDTH (16, 32, 64, 128, 256) halves a row, in bytes. Eight rows that follow
// each other keep the same chunk in eight different groups of banks.
template <int WIDTH>
__device__ int place(int row, int chunk)
{
    return row * WIDTH * 2 + (chunk ^ row * min(WIDTH, 64) / 64 % min(WIDTH / 8, 8)) * 16;
}

// Start to copy 16 bytes; where `inside` is false, nothing is read and 16 zeros arrive.
__device__ __forceinline__ void copy_or_zero(unsigned to_shared, const void* from_global, bool inside)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                 :: "r"(to_shared), "l"(from_global), "r"(inside ? 16 : 0) : "memory");
}

// Four 8 x 8 matrices; TRANSPOSED: their rows and columns change places on the way to the registers.
template <bool TRANSPOSED>
__device__ __forceinline__ void load_matrices(unsigned (&out)[4], unsigned address)
{
    if constexpr (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]) : "r"(address) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]) : "r"(address) : "memory");
}

// d += a @ b.T as in lesson 04; the last argument only says of which type the operands are.
__device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, __half)
{
    mma_m16n8k16(d, a, b0, b1);
}
__device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, __nv_bfloat16)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
