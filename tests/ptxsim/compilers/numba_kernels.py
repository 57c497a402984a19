"""Kernels in Numba: a sum by halves, a tiled matrix product, sums of warps. `main` writes their PTX."""

import numba_cuda
from numba import cuda, float32

from tests.ptxsim.compilers.texts import keep

ROW, MATRIX = float32[::1], float32[:, ::1]


def total(x, out):
    """128 threads a block; `out[0]` gets the sum of all."""
    part = cuda.shared.array(128, float32)
    thread, i = cuda.threadIdx.x, cuda.grid(1)
    part[thread] = x[i] if i < x.shape[0] else 0.0
    cuda.syncthreads()
    half = 64
    while half > 0:
        if thread < half:
            part[thread] += part[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        cuda.atomic.add(out, 0, part[0])


def total_without_barrier(x, out):
    """The same; nobody waits between two halves."""
    part = cuda.shared.array(128, float32)
    thread, i = cuda.threadIdx.x, cuda.grid(1)
    part[thread] = x[i] if i < x.shape[0] else 0.0
    cuda.syncthreads()
    half = 64
    while half > 0:
        if thread < half:
            part[thread] += part[thread + half]  # @sum
        half //= 2
    if thread == 0:
        cuda.atomic.add(out, 0, part[0])


def product(a, b, c):
    """c = a @ b in tiles of 16 x 16, one thread an element; sizes are multiples of 16."""
    left, right = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    result = float32(0)
    for tile in range(a.shape[1] // 16):
        left[y, x] = a[row, tile * 16 + x]
        right[y, x] = b[tile * 16 + y, column]
        cuda.syncthreads()
        for k in range(16):
            result += left[y, k] * right[k, x]
        cuda.syncthreads()
    c[row, column] = result


def product_one_barrier(a, b, c):
    """The same; the next tile overwrites what slower warps still read."""
    left, right = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    result = float32(0)
    for tile in range(a.shape[1] // 16):
        left[y, x] = a[row, tile * 16 + x]  # @next
        right[y, x] = b[tile * 16 + y, column]  # @next
        cuda.syncthreads()
        for k in range(16):
            result += left[y, k] * right[k, x]
    c[row, column] = result


def warp_sums(x, out):
    """`out[w]` gets the sum of warp w of the only block."""
    value = x[cuda.threadIdx.x]
    for distance in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, distance)
    if cuda.threadIdx.x % 32 == 0:
        out[cuda.threadIdx.x // 32] = value


def warp_sums_half_mask(x, out):
    """The same; the mask leaves out the lanes that are read."""
    value = x[cuda.threadIdx.x]
    for distance in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFF, value, distance)  # @mask
    if cuda.threadIdx.x % 32 == 0:
        out[cuda.threadIdx.x // 32] = value


def main():
    two = [total, total_without_barrier, warp_sums, warp_sums_half_mask]
    for function, signature in [
        *((function, (ROW, ROW)) for function in two),
        *((function, (MATRIX, MATRIX, MATRIX)) for function in (product, product_one_barrier)),
    ]:
        ptx, _ = cuda.compile_ptx(function, signature, cc=(9, 0), lineinfo=True, device=False)
        keep(f"numba_{function.__name__}", ptx, __file__, f"Numba-CUDA {numba_cuda.__version__}")


if __name__ == "__main__":
    main()
