// The instruction: a wgmma of any type, width and layout.
#pragma once
#include <course/cluster.cuh>
#include <course/named_barrier.cuh>
#include <course/stmatrix.cuh>
#include <course/wgmma.cuh>

template <typename T> constexpr bool is_half = false;         // or bfloat16
template <> constexpr bool is_half<__half> = true;

// A wgmma of TYPE with N columns. REGISTERS names those of its sums; behind them come the two descriptors, whether it adds, and
// for each operand whether its boxes run across k.
#define TWO(t) "%" #t "0,%" #t "1"
#define FOUR(t) TWO(t) ",%" #t "2,%" #t "3"
#define SIX(t) FOUR(t) ",%" #t "4,%" #t "5"
#define EIGHT(t) SIX(t) ",%" #t "6,%" #t "7"
#define LAST_TEN(t) EIGHT(t) ",%" #t "8,%" #t "9"
#define TEN(t) LAST_TEN(t) ","
#define THIRTY TEN() TEN(1) TEN(2)
#define SIXTY THIRTY TEN(3) TEN(4) TEN(5)
#define NINETY SIXTY TEN(6) TEN(7) TEN(8)
#define SUMS4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SUMS8(i) SUMS4(i), SUMS4(i + 4)
#define SUMS16(i) SUMS8(i), SUMS8(i + 8)
#define SUMS32(i) SUMS16(i), SUMS16(i + 16)
#define SUMS64(i) SUMS32(i), SUMS32(i + 32)
#define WGMMA_OF(TYPE, COLUMNS, REGISTERS, A, B, ADD, A_ACROSS, B_ACROSS, ...) \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #ADD ", 0;" \
                 " wgmma.mma_async.sync.aligned.m64n" #COLUMNS "k16.f32." TYPE "." TYPE " {" REGISTERS "}, %" #A ", %" #B ", p, 1, 1, %" #A_ACROSS ", %" #B_ACROSS "; }" \
                 : __VA_ARGS__ : "l"(a), "l"(b), "r"(add), "n"(!A_ALONG_K), "n"(!B_ALONG_K))
#define WGMMA(COLUMNS, ...) \
    if constexpr (N == COLUMNS) { \
        if constexpr (is_half<T>) WGMMA_OF("f16", COLUMNS, __VA_ARGS__); else WGMMA_OF("bf16", COLUMNS, __VA_ARGS__); \
    }

// d += a @ b.T, or d = a @ b.T where `add` is 0: 64 rows of A and N of B, 16 deep.
template <typename T, bool A_ALONG_K, bool B_ALONG_K, int N>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], unsigned long long a, unsigned long long b, int add)
{
    static_assert(N % 16 == 0 && N <= 256, "the widths below");
    WGMMA(16, EIGHT(), 8, 9, 10, 11, 12, SUMS8(0))
    WGMMA(32, TEN() SIX(1), 16, 17, 18, 19, 20, SUMS16(0))
    WGMMA(48, TEN() TEN(1) FOUR(2), 24, 25, 26, 27, 28, SUMS16(0), SUMS8(16))
    WGMMA(64, THIRTY TWO(3), 32, 33, 34, 35, 36, SUMS32(0))
    WGMMA(80, THIRTY LAST_TEN(3), 40, 41, 42, 43, 44, SUMS32(0), SUMS8(32))
    WGMMA(96, THIRTY TEN(3) EIGHT(4), 48, 49, 50, 51, 52, SUMS32(0), SUMS16(32))
    WGMMA(112, THIRTY TEN(3) TEN(4) SIX(5), 56, 57, 58, 59, 60, SUMS32(0), SUMS16(32), SUMS8(48))
    WGMMA(128, SIXTY FOUR(6), 64, 65, 66, 67, 68, SUMS64(0))
    WGMMA(144, SIXTY TEN(6) TWO(7), 72, 73, 74, 75, 76,
          SUMS64(0), SUMS8(64))
    WGMMA(160, SIXTY TEN(6) LAST_TEN(7), 80, 81, 82, 83, 84,
          SUMS64(0), SUMS16(64))
    WGMMA(176, SIXTY TEN(6) TEN(7) EIGHT(8), 88, 89, 90, 91, 92,
          SUMS64(0), SUMS16(64), SUMS8(80))
    WGMMA(192, NINETY SIX(9), 96, 97, 98, 99, 100,
          SUMS64(0), SUMS32(64))
    WGMMA(208, NINETY TEN(9) FOUR(10), 104, 105, 106, 107, 108,
          SUMS64(0), SUMS32(64), SUMS8(96))
    WGMMA(224, NINETY TEN(9) TEN(10) TWO(11), 112, 113, 114, 115, 116,
          SUMS64(0), SUMS32(64), SUMS16(96))
    WGMMA(240, NINETY TEN(9) TEN(10) LAST_TEN(11), 120, 121, 122, 123, 124,
          SUMS64(0), SUMS32(64), SUMS16(96), SUMS8(112))
    WGMMA(256, NINETY TEN(9) TEN(10) TEN(11) EIGHT(12), 128, 129, 130, 131, 132,
          SUMS64(0), SUMS64(64))
}
