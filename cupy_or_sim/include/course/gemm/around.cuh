// What runs beside it: rows to aligned rows before it, parts of K added behind it.
#pragma once
#include <course/gemm/dependent.cuh>
#include <course/gemm/rows.cuh>

// C = finish(sum of the parts), where K was split: part after part, so that each run gives the same bits.
template <typename T, typename Out>
__global__ void reduce(const float* sums, int parts, Out* C, const T* bias, float alpha, float beta, int by_row,
                       int activation, int M, int N, int sums_stride, int c_stride)
{
    wait_for_kernel_before();
    Finish<T, Out> finish = {C, bias, alpha, beta, by_row, activation, M, N, c_stride};
    int column = (blockIdx.x * 32 + threadIdx.x) * 4;
    if (column >= N) return;
    float across[4];
    for (int i = 0; i < 4; ++i) across[i] = bias && !by_row && column + i < N ? float(bias[column + i]) : 0.0f;
    for (int row = blockIdx.y * 4 + threadIdx.y; row < M; row += gridDim.y * 4) {
        float sum[4] = {};
        #pragma unroll 8                              // eight loads on their way
        for (int part = 0; part < parts; ++part) {
            float4 four = *(const float4*)&sums[(part * (long long)M + row) * sums_stride + column];
            sum[0] += four.x, sum[1] += four.y, sum[2] += four.z, sum[3] += four.w;
        }
        if ((c_stride | N) % 4 == 0 && (size_t)C % 16 == 0) finish.template store<4, false>(sum, across, row, column);
        else for (int i = 0; i < 4; ++i) finish.template store<1, false>({sum[i]}, {across[i]}, row, column + i);
    }
}

// Copy rows of `width` halves, `apart` halves from one to the next, to rows of `stride`, a multiple of 64 (128 bytes), with zeros
// behind them; each warp one row. blockIdx.y says of which matrix; of a batch it has `products`, `next` halves from one to the next.
// Word: the widest type of 2, 4 or 8 bytes at whose multiples all rows begin.
template <typename Word>
__global__ void pad(const Word* from, uint4* to, int rows, int width, int stride, int products, long long apart, long long next,
                    const Word* from1, uint4* to1, int rows1, int width1, int stride1, int products1, long long apart1,
                    long long next1)
{
    let_next_kernel_begin();
    constexpr int HALVES = sizeof(Word) / 2, WORDS = 8 / HALVES;
    union { Word words[WORDS]; uint4 all; } chunk;
    if (blockIdx.y) {
        from = from1, to = to1, rows = rows1, width = width1, stride = stride1;
        products = products1, apart = apart1, next = next1;
    }
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    for (int product = blockIdx.z; product < products; product += gridDim.z) {
        const Word* words = from + (product * next + row * apart) / HALVES;
        uint4* chunks = to + (product * (long long)rows + row) * (stride / 8);
        for (int i = threadIdx.x; i < stride / 8; i += 32) {
            for (int w = 0; w < WORDS; ++w) chunk.words[w] = (i * WORDS + w) * HALVES < width ? words[i * WORDS + w] : Word();
            chunks[i] = chunk.all;
        }
    }
}
