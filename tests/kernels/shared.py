"""Threads of a block that work together through shared memory and barriers."""

import numpy as np

from tests.kernels.case import Case, fma32, poison, random

TRANSPOSE = r"""
#define TILE 32
extern "C" __global__ void transpose(const float* in, float* out, int rows, int columns) {
    __shared__ float tile[TILE][TILE + 1];   // one float of padding: a column then touches all banks
    int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    for (int step = 0; step < TILE; step += blockDim.y)
        if (row + step < rows && column < columns)
            tile[threadIdx.y + step][threadIdx.x] = in[(row + step) * columns + column];
    __syncthreads();
    column = blockIdx.y * TILE + threadIdx.x;
    row = blockIdx.x * TILE + threadIdx.y;
    for (int step = 0; step < TILE; step += blockDim.y)
        if (row + step < columns && column < rows)
            out[(row + step) * rows + column] = tile[threadIdx.x][threadIdx.y + step];
}
"""


def transpose_args():
    return [random(1).randn(70, 45).astype("f4"), poison((45, 70), "f4"), np.int32(70), np.int32(45)]


BLOCK_SUM = r"""
extern "C" __global__ void block_sum(const float* x, float* sums, int n) {
    __shared__ float part[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}
"""

BLOCK_SUM_LAST_WARP = r"""
extern "C" __global__ void block_sum_last_warp(const float* x, float* sums, int n) {
    __shared__ float part[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int half = blockDim.x / 2; half >= 32; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t < 32) {                             // one warp is left: __syncwarp is enough
        for (int half = 16; half > 0; half /= 2) {
            float other = part[(t + half) % 32];
            __syncwarp();
            part[t] += other;
            __syncwarp();
        }
        if (t == 0) sums[blockIdx.x] = part[0];
    }
}
"""


def block_sum_args():
    return [random(2).randn(1000).astype("f4"), poison(4, "f4"), np.int32(1000)]


def block_sum_reference(args):
    part = np.concatenate([args[0], np.zeros(24, "f4")]).reshape(4, 256)
    while part.shape[1] > 1:
        half = part.shape[1] // 2
        part = part[:, :half] + part[:, half:]
    return {1: part[:, 0].copy()}


BLOCK_SUM_SHUFFLE = r"""
extern "C" __global__ void block_sum_shuffle(const int* x, int* sums, int n) {
    __shared__ int of_warp[8];
    int t = threadIdx.x, total = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) total += x[i];
    for (int distance = 16; distance > 0; distance /= 2)
        total += __shfl_down_sync(0xffffffffu, total, distance);
    if (t % 32 == 0) of_warp[t / 32] = total;
    __syncthreads();
    if (t < 8) {
        total = of_warp[t];
        for (int distance = 4; distance > 0; distance /= 2) total += __shfl_down_sync(0xffu, total, distance);
        if (t == 0) sums[blockIdx.x] = total;
    }
}
"""


def block_sum_shuffle_args():
    return [random(3).randint(-1000, 1000, 2000).astype("i4"), poison(3, "i4"), np.int32(2000)]


def block_sum_shuffle_reference(args):
    block_of = np.arange(2000) // 256 % 3
    return {1: np.bincount(block_of, weights=args[0]).astype("i4")}


SCAN = r"""
__device__ int scan_warp(int value) {
    int lane = threadIdx.x % 32;
    for (int distance = 1; distance < 32; distance *= 2) {
        int lower = __shfl_up_sync(0xffffffffu, value, distance);
        if (lane >= distance) value += lower;
    }
    return value;
}

extern "C" __global__ void inclusive_scan(const int* x, int* out) {
    __shared__ int of_warp[32];
    int t = threadIdx.x, warp = t / 32, i = blockIdx.x * blockDim.x + t;
    int value = scan_warp(x[i]);
    if (t % 32 == 31) of_warp[warp] = value;
    __syncthreads();
    if (warp == 0) {
        int total = t < blockDim.x / 32 ? of_warp[t] : 0;
        total = scan_warp(total);
        __syncwarp();
        if (t < blockDim.x / 32) of_warp[t] = total;
    }
    __syncthreads();
    out[i] = value + (warp > 0 ? of_warp[warp - 1] : 0);
}
"""


def scan_args():
    return [random(4).randint(-100, 100, (2, 256)).astype("i4"), poison((2, 256), "i4")]


SCAN_TWO_BUFFERS = r"""
extern "C" __global__ void scan_two_buffers(const float* x, float* out, int n) {
    extern __shared__ float buffers[];
    int t = threadIdx.x, from = 0;
    buffers[t] = x[t];
    for (int distance = 1; distance < n; distance *= 2) {
        __syncthreads();
        float value = buffers[from * n + t];
        if (t >= distance) value += buffers[from * n + t - distance];
        from = 1 - from;
        buffers[from * n + t] = value;
    }
    out[t] = buffers[from * n + t];
}
"""


def scan_two_buffers_args():
    return [random(5).randint(-9, 9, 128).astype("f4"), poison(128, "f4"), np.int32(128)]


STENCIL_1D = r"""
#define RADIUS 3
extern "C" __global__ void stencil_1d(const float* in, float* out, int n) {
    __shared__ float tile[128 + 2 * RADIUS];
    int i = blockIdx.x * blockDim.x + threadIdx.x, here = threadIdx.x + RADIUS;
    tile[here] = i < n ? in[i] : 0.0f;
    if (threadIdx.x < RADIUS) {
        int left = i - RADIUS, right = i + (int)blockDim.x;
        tile[here - RADIUS] = left >= 0 ? in[left] : 0.0f;
        tile[here + blockDim.x] = right < n ? in[right] : 0.0f;
    }
    __syncthreads();
    if (i >= n) return;
    float sum = 0.0f;
    #pragma unroll
    for (int d = -RADIUS; d <= RADIUS; ++d) sum += tile[here + d];
    out[i] = sum;
}
"""


def stencil_1d_args():
    return [random(6).randn(500).astype("f4"), poison(500, "f4"), np.int32(500)]


def stencil_1d_reference(args):
    padded = np.pad(args[0], 3)
    total = np.zeros(500, "f4")
    for offset in range(7):
        total += padded[offset : offset + 500]
    return {1: total}


STENCIL_2D = r"""
extern "C" __global__ void stencil_2d(const float* in, float* out, int rows, int columns) {
    __shared__ float tile[10][34];
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    for (int y = threadIdx.y; y < 10; y += 8)
        for (int x = threadIdx.x; x < 34; x += 32) {
            int r = min(max((int)blockIdx.y * 8 + y - 1, 0), rows - 1);
            int c = min(max((int)blockIdx.x * 32 + x - 1, 0), columns - 1);
            tile[y][x] = in[r * columns + c];
        }
    __syncthreads();
    if (row < rows && column < columns) {
        int y = threadIdx.y + 1, x = threadIdx.x + 1;
        float around = tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1];
        out[row * columns + column] = fmaf(-4.0f, tile[y][x], around);
    }
}
"""


def stencil_2d_args():
    return [random(7).randn(20, 50).astype("f4"), poison((20, 50), "f4"), np.int32(20), np.int32(50)]


def stencil_2d_reference(args):
    p = np.pad(args[0], 1, mode="edge")
    around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    return {1: fma32(-4, p[1:-1, 1:-1], around)}


DYNAMIC = r"""
extern __shared__ __align__(16) unsigned char bytes[];

extern "C" __global__ void dynamic_shared(const double* x, double* out, short* parity) {
    double* values = reinterpret_cast<double*>(bytes);
    short* odd = reinterpret_cast<short*>(bytes + blockDim.x * sizeof(double));
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    values[t] = x[i];
    odd[t] = (short)((long long)x[i] & 1);
    __syncthreads();
    int mirror = blockDim.x - 1 - t;
    out[i] = values[mirror] + 0.5 * t;
    parity[i] = odd[mirror];
}
"""


def dynamic_args():
    return [random(8).randint(-500, 500, (3, 70)).astype("f8"), poison((3, 70), "f8"), poison((3, 70), "i2")]


def dynamic_reference(args):
    mirrored = args[0][:, ::-1]
    return {1: mirrored + 0.5 * np.arange(70), 2: (mirrored.astype("i8") & 1).astype("i2")}


COUNTS = r"""
extern "C" __global__ void barrier_counts(const int* x, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int positive = __syncthreads_count(x[i] > 0);
    int all_small = __syncthreads_and(x[i] < 95);
    int any_large = __syncthreads_or(x[i] > 90);
    out[3 * i] = positive;
    out[3 * i + 1] = all_small != 0;
    out[3 * i + 2] = any_large != 0;
}
"""


def counts_args():
    return [random(9).randint(-100, 97, (4, 80)).astype("i4"), poison((4, 80, 3), "i4")]


def counts_reference(args):
    x = args[0]
    of_block = np.stack([(x > 0).sum(1), (x < 95).all(1), (x > 90).any(1)], axis=1)
    return {1: np.repeat(of_block[:, None, :], 80, axis=1).astype("i4")}


BITONIC = r"""
extern "C" __global__ void bitonic_sort(int* x) {
    __shared__ int keys[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    keys[t] = x[i];
    __syncthreads();
    for (int size = 2; size <= blockDim.x; size *= 2)
        for (int distance = size / 2; distance > 0; distance /= 2) {
            int other = t ^ distance;
            if (other > t) {
                bool up = (t & size) == 0;
                int a = keys[t], b = keys[other];
                if ((a > b) == up) {
                    keys[t] = b;
                    keys[other] = a;
                }
            }
            __syncthreads();
        }
    x[i] = keys[t];
}
"""

EXIT_BEFORE_BARRIER = r"""
// A barrier waits for the threads that have not returned: here the last ones of the block are gone.
extern "C" __global__ void exit_before_barrier(const int* x, int* out, int n) {
    __shared__ int row[160];
    int t = threadIdx.x;
    if (t >= n) return;
    row[t] = x[blockIdx.x * n + t];
    __syncthreads();
    out[blockIdx.x * n + t] = row[(t + 37) % n];
}
"""


def exit_args():
    return [random(10).randint(0, 10**6, (2, 70)).astype("i4"), poison((2, 70), "i4"), np.int32(70)]


SOFTMAX = r"""
extern "C" __global__ void softmax(const float* x, float* out, int columns) {
    __shared__ float part[64];
    const float* row = x + blockIdx.x * columns;
    int t = threadIdx.x;
    float largest = row[0];
    for (int c = t; c < columns; c += 64) largest = fmaxf(largest, row[c]);
    part[t] = largest;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) part[t] = fmaxf(part[t], part[t + half]);
        __syncthreads();
    }
    largest = part[0];
    __syncthreads();                          // everybody has read the maximum: the array is free again
    float sum = 0.0f;
    for (int c = t; c < columns; c += 64) sum += expf(row[c] - largest);
    part[t] = sum;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    for (int c = t; c < columns; c += 64) out[blockIdx.x * columns + c] = expf(row[c] - largest) / part[0];
}
"""


def softmax_args():
    return [random(11).randn(5, 150).astype("f4") * np.float32(4), poison((5, 150), "f4"), np.int32(150)]


def softmax_reference(args):
    x = args[0].astype("f8")
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return {1: (powers / powers.sum(axis=1, keepdims=True)).astype("f4")}


SHARED_VECTORS = r"""
// Vectors in shared memory: 16-byte stores, 16- and 8-byte loads, bytes and a struct.
struct Pair { float weight; int index; };

extern "C" __global__ void shared_vectors(const float4* x, float* out, int* picked) {
    __shared__ float4 quads[64];
    __shared__ Pair pairs[64];
    __shared__ unsigned char seen[64];
    int t = threadIdx.x;
    quads[t] = x[t];
    pairs[t] = Pair{x[t].y, 63 - t};
    seen[t] = (unsigned char)(t * 5);
    __syncthreads();
    const float2* halves = reinterpret_cast<const float2*>(quads);
    float2 half = halves[(t * 3) % 128];
    Pair pair = pairs[63 - t];
    out[2 * t] = half.x + quads[(t + 1) % 64].w;
    out[2 * t + 1] = half.y * pair.weight;
    picked[t] = pair.index + seen[(t + 9) % 64];
}
"""


def shared_vectors_args():
    return [random(12).randn(64, 4).astype("f4"), poison((64, 2), "f4"), poison(64, "i4")]


def shared_vectors_reference(args):
    x, t = args[0], np.arange(64)
    half = x.reshape(128, 2)[t * 3 % 128]
    first = half[:, 0] + x[(t + 1) % 64, 3]
    second = half[:, 1] * x[63 - t, 1]
    return {1: np.stack([first, second], axis=1), 2: (t + (t + 9) % 64 * 5 % 256).astype("i4")}


CASES = [
    Case(
        "transpose_padded", TRANSPOSE, "transpose", transpose_args, (2, 3), (32, 8),
        lambda a: {1: a[0].T.copy()},
    ),
    Case("block_sum", BLOCK_SUM, "block_sum", block_sum_args, (4,), (256,), block_sum_reference),
    Case(
        "block_sum_last_warp", BLOCK_SUM_LAST_WARP, "block_sum_last_warp", block_sum_args, (4,), (256,),
        block_sum_reference,
    ),
    Case(
        "block_sum_shuffle", BLOCK_SUM_SHUFFLE, "block_sum_shuffle", block_sum_shuffle_args, (3,), (256,),
        block_sum_shuffle_reference,
    ),
    Case(
        "inclusive_scan", SCAN, "inclusive_scan", scan_args, (2,), (256,),
        lambda a: {1: np.cumsum(a[0], axis=1, dtype="i4")},
    ),
    Case(
        "scan_two_buffers", SCAN_TWO_BUFFERS, "scan_two_buffers", scan_two_buffers_args, (1,), (128,),
        lambda a: {1: np.cumsum(a[0], dtype="f4")}, shared_mem=2 * 128 * 4,
    ),
    Case("stencil_1d", STENCIL_1D, "stencil_1d", stencil_1d_args, (4,), (128,), stencil_1d_reference),
    Case("stencil_2d", STENCIL_2D, "stencil_2d", stencil_2d_args, (2, 3), (32, 8), stencil_2d_reference),
    Case(
        "dynamic_shared", DYNAMIC, "dynamic_shared", dynamic_args, (3,), (70,), dynamic_reference,
        shared_mem=70 * 10,
    ),
    Case("barrier_counts", COUNTS, "barrier_counts", counts_args, (4,), (80,), counts_reference),
    Case(
        "bitonic_sort", BITONIC, "bitonic_sort",
        lambda: [random(13).randint(-10**6, 10**6, (2, 256)).astype("i4")], (2,), (256,),
        lambda a: {0: np.sort(a[0], axis=1)},
    ),
    Case(
        "exit_before_barrier", EXIT_BEFORE_BARRIER, "exit_before_barrier", exit_args, (2,), (160,),
        lambda a: {1: np.roll(a[0], -37, axis=1)},
    ),
    Case(
        "softmax", SOFTMAX, "softmax", softmax_args, (5,), (64,), softmax_reference,
        exact=False, rtol=4e-6, atol=1e-9,
    ),
    Case(
        "shared_vectors", SHARED_VECTORS, "shared_vectors", shared_vectors_args, (1,), (64,),
        shared_vectors_reference,
    ),
]  # fmt: skip
