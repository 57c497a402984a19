// Sums that another block finishes.
#pragma once

// The sums of a tile that another block finishes: FOURS float4 of each thread, and a flag that says that they are there.
template <int THREADS, int ROWS, int COLUMNS>
struct Left {
    static constexpr int FOURS = ROWS * COLUMNS;
    float4* sums;
    int* flag;

    __device__ Left(float4* all, int* flags, int block) : sums(all + block * FOURS * THREADS), flag(flags + block) {}
    __device__ __forceinline__ void leave(const float (&sum)[ROWS][COLUMNS][4]) const
    {
        for (int i = 0; i < FOURS; ++i) {
            const float (&of)[4] = sum[i / COLUMNS][i % COLUMNS];
            sums[i * THREADS + threadIdx.x] = make_float4(of[0], of[1], of[2], of[3]);
        }
        __syncthreads();                              // all threads have written
        if (threadIdx.x == 0) asm volatile("st.release.gpu.global.s32 [%0], 1;" :: "l"(flag) : "memory");
    }
    __device__ __forceinline__ void take(float (&sum)[ROWS][COLUMNS][4]) const
    {
        if (threadIdx.x == 0) {
            for (int there = 0; !there;)
                asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(there) : "l"(flag) : "memory");
            *flag = 0;                                // for the next launch
        }
        __syncthreads();                              // all threads know that the sums are there
        for (int i = 0; i < FOURS; ++i) {
            float4 more = sums[i * THREADS + threadIdx.x];
            float (&of)[4] = sum[i / COLUMNS][i % COLUMNS];
            of[0] += more.x, of[1] += more.y, of[2] += more.z, of[3] += more.w;
        }
    }
};
