// The instruction: a wgmma of any type, width and layout.
#pragma once
#include <course/cluster.cuh>
#include <course/named_barrier.cuh>
#include <course/stmatrix.cuh>
#include <course/wgmma.cuh>

template <typename T> constexpr bool is_half = false;         // or bfloat16
template <> constexpr bool is_half<__half> = true;

// A wgmma of TYPE with N columns. SUMS names its registers; behind them come the two descriptors, whether it adds, and for
// each operand whether its boxes run across k.
#define TEN(t) "%" #t "0,%" #t "1,%" #t "2,%" #t "3,%" #t "4,%" #t "5,%" #t "6,%" #t "7,%" #t "8,%" #t "9,"
#define THIRTY TEN() TEN(1) TEN(2)
#define SIXTY THIRTY TEN(3) TEN(4) TEN(5)
#define NINETY SIXTY TEN(6) TEN(7) TEN(8)
#define FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SUMS32(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12), FOUR(i + 16), FOUR(i + 20), FOUR(i + 24), FOUR(i + 28)
#define WGMMA_OF(TYPE, N, SUMS, A, B, ADD, A_ACROSS, B_ACROSS, ...) \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, " ADD ", 0; wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE \
                 " {" SUMS "}, " A ", " B ", p, 1, 1, " A_ACROSS ", " B_ACROSS "; }" \
                 : __VA_ARGS__ : "l"(a), "l"(b), "r"(add), "n"(!A_ALONG_K), "n"(!B_ALONG_K))
#define WGMMA(...) { if constexpr (is_half<T>) WGMMA_OF("f16", __VA_ARGS__); else WGMMA_OF("bf16", __VA_ARGS__); }

// d += a @ b.T, or d = a @ b.T where `add` is 0: 64 rows of A and N of B, 16 deep.
template <typename T, bool A_ALONG_K, bool B_ALONG_K, int N>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], unsigned long long a, unsigned long long b, int add)
{
    if constexpr (N == 64)
        WGMMA(64, THIRTY "%30,%31", "%32", "%33", "%34", "%35", "%36", SUMS32(0))
    if constexpr (N == 128)
        WGMMA(128, SIXTY "%60,%61,%62,%63", "%64", "%65", "%66", "%67", "%68", SUMS32(0), SUMS32(32))
    if constexpr (N == 192)
        WGMMA(192, NINETY "%90,%91,%92,%93,%94,%95", "%96", "%97", "%98", "%99", "%100", SUMS32(0), SUMS32(32), SUMS32(64))
    if constexpr (N == 256)
        WGMMA(256, NINETY TEN(9) TEN(10) TEN(11) "%120,%121,%122,%123,%124,%125,%126,%127", "%128", "%129", "%130", "%131",
              "%132", SUMS32(0), SUMS32(32), SUMS32(64), SUMS32(96))
}
