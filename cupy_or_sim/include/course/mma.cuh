// One tensor-core instruction and the load that feeds it, as lesson 04 explains them. They need compute capability 8.0.
// PTX ISA, "Warp Level Matrix Instructions: ldmatrix", "Matrix Fragments for mma.m16n8k16".
#pragma once
#include <cuda_fp16.h>

// Four 8 x 8 matrices of halves out of shared memory: lane l names row l % 8 of matrix l / 8, `bytes` behind `row`.
__device__ __forceinline__ void ldmatrix_x4(unsigned (&out)[4], const void* row, int bytes = 0)
{
    unsigned address = __cvta_generic_to_shared(row) + bytes;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3]) : "r"(address) : "memory");
}

// d += a @ b.T for 16 rows of A and 8 rows of B, 16 deep: float16 operands, float32 sums.
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
