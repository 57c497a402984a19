// The register tile of lesson 03's fastest kernel: a warp computes 64 x 64 of a block's tile, each thread 8 x 16 of it.
// A thread's 8 rows are two groups of 4, 32 rows apart; its 16 columns are four groups of 4, 16 columns apart.
#pragma once

// Four floats of a fragment in one load of 16 bytes; `address` is one of shared memory, which has 32 bits. As inline PTX: of
// *(float4*)out = *(const float4*)from NVRTC makes one load or two here, by chance of the process that it runs in.
__device__ __forceinline__ void load_four(float* out, unsigned address)
{
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(out[0]), "=f"(out[1]), "=f"(out[2]), "=f"(out[3]) : "r"(address) : "memory");
}

// The fragments of A and of B for one k; the addresses are those of the thread's first row and column.
__device__ __forceinline__ void load_fragments(float (&a)[8], float (&b)[16], unsigned As_k, unsigned Bs_k)
{
    for (int i = 0; i < 8; i += 4) load_four(&a[i], As_k + i * 32);
    for (int j = 0; j < 16; j += 4) load_four(&b[j], Bs_k + j * 16);
}

// Store the sums, 16 bytes at a time; C points to the thread's first row and column, M is the number of rows of C.
// Adding 0 moves four sums to four new registers in a row, as the store needs them. Without it the compiler chooses the
// registers of the whole mainloop for the sake of this store, and then more FMAs read two operands from one bank.
__device__ __forceinline__ void store_tile(float* C, int M, const float (&acc)[16][8])
{
    for (int j = 0; j < 16; ++j)
        for (int i = 0; i < 8; i += 4)
            *(float4*)&C[i * 8 + (j % 4 + j / 4 * 16) * M] =
                make_float4(acc[j][i] + 0.0f, acc[j][i + 1] + 0.0f, acc[j][i + 2] + 0.0f, acc[j][i + 3] + 0.0f);
}
