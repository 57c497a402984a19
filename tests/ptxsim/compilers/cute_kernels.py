"""Kernels in NVIDIA's CuTe DSL: numbers in reverse order by shared memory, a tile turned. `main` writes their PTX."""

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor as tensor

from tests.ptxsim.compilers.texts import keep


@cute.kernel
def reverse_kernel(a: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    part = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(128), 16)
    part[thread] = a[block * 128 + thread]
    cute.arch.sync_threads()
    a[block * 128 + thread] = part[127 - thread]


@cute.kernel
def reverse_without_barrier_kernel(a: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    part = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(128), 16)
    part[thread] = a[block * 128 + thread]
    a[block * 128 + thread] = part[127 - thread]  # @read


@cute.kernel
def turn_kernel(a: cute.Tensor, b: cute.Tensor):
    """b = a turned, in tiles of 32 x 32 with 32 x 8 threads."""
    x, y, _ = cute.arch.thread_idx()
    column, row, _ = cute.arch.block_idx()
    layout = cute.make_layout((32, 32), stride=(33, 1))
    tile = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float32, layout, 16)
    for i in cutlass.range_constexpr(4):
        tile[y + 8 * i, x] = a[row * 32 + y + 8 * i, column * 32 + x]
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(4):
        b[column * 32 + y + 8 * i, row * 32 + x] = tile[x, y + 8 * i]


@cute.kernel
def turn_wrong_block_kernel(a: cute.Tensor, b: cute.Tensor):
    """All blocks of a row write to one place."""
    x, y, _ = cute.arch.thread_idx()
    column, row, _ = cute.arch.block_idx()
    layout = cute.make_layout((32, 32), stride=(33, 1))
    tile = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float32, layout, 16)
    for i in cutlass.range_constexpr(4):
        tile[y + 8 * i, x] = a[row * 32 + y + 8 * i, column * 32 + x]
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(4):
        b[y + 8 * i, row * 32 + x] = tile[x, y + 8 * i]  # @store


@cute.jit
def reverse(a: cute.Tensor):
    reverse_kernel(a).launch(grid=(4, 1, 1), block=(128, 1, 1))


@cute.jit
def reverse_without_barrier(a: cute.Tensor):
    reverse_without_barrier_kernel(a).launch(grid=(4, 1, 1), block=(128, 1, 1))


@cute.jit
def turn(a: cute.Tensor, b: cute.Tensor):
    turn_kernel(a, b).launch(grid=(3, 2, 1), block=(32, 8, 1))


@cute.jit
def turn_wrong_block(a: cute.Tensor, b: cute.Tensor):
    turn_wrong_block_kernel(a, b).launch(grid=(3, 2, 1), block=(32, 8, 1))


def main():
    line = tensor(cutlass.Float32, (512,))
    wide = tensor(cutlass.Float32, (64, 96), stride_order=(1, 0))
    high = tensor(cutlass.Float32, (96, 64), stride_order=(1, 0))
    for name, function, shapes in [
        ("reverse", reverse, (line,)),
        ("reverse_without_barrier", reverse_without_barrier, (line,)),
        ("turn", turn, (wide, high)),
        ("turn_wrong_block", turn_wrong_block, (wide, high)),
    ]:
        options = "--keep-ptx --gpu-arch sm_90a --generate-line-info"
        kernel = cute.compile(function, *shapes, options=options)
        keep(f"cute_{name}", kernel.__ptx__, __file__, f"CuTe DSL {cutlass.__version__}")


if __name__ == "__main__":
    main()
