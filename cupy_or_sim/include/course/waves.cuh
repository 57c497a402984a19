// Note which SM a block runs on, and from when to when: `waves` puts this object into a kernel.
//
// The first warp notes the begin, and the last one to leave the end. A row of `waves` for each block, filled with
// zeros before the launch:
//
//       [begin in ns, end in ns, begin in cycles of its SM, end in cycles, number of the SM]
#pragma once

class Wave {
public:
    __device__ __forceinline__ explicit Wave(unsigned long long* waves)
        : row(waves + 5 * (blockIdx.x + gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z)))
    {
        if (threadIdx.x + threadIdx.y + threadIdx.z) return;
        unsigned sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        row[0] = ns();
        row[2] = cycles();
        row[4] = sm;
    }

    __device__ __forceinline__ ~Wave()
    {
        if ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32) return;
        atomicMax(row + 1, ns());
        atomicMax(row + 3, cycles());
    }

private:
    unsigned long long* row;

    __device__ static unsigned long long ns()
    {
        unsigned long long now;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        return now;
    }

    __device__ static unsigned long long cycles()
    {
        unsigned long long now;
        asm volatile("mov.u64 %0, %%clock64;" : "=l"(now));
        return now;
    }
};
