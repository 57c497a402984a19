"""A kernel in pyptx, which has no lines of Python in its PTX: sums of rows. `main` writes it."""

import importlib.metadata

from pyptx import Layout, Tile, kernel, ptx, reg, smem
from pyptx.types import f32, u32

from tests.ptxsim.compilers.texts import keep


def body(x, out, barrier):
    """A row of 128 a block: warps shuffle, lane 0 of each leaves its sum in shared memory, thread 0 adds four."""
    part = smem.alloc(f32, (4, 1))
    source, target = ptx.global_ptrs(x, out)
    thread = reg.from_(ptx.special.tid.x(), u32)
    row = reg.from_(ptx.special.ctaid.x(), u32)
    source += (row * 128 + thread) * 4
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(source))
    ptx.warp.reduce_sum(value)
    with ptx.if_((thread & 31) == 0):
        part[thread >> 5, 0] = value
    if barrier:
        ptx.bar.sync(0)
    with ptx.if_(thread == 0):
        total = reg.scalar(f32, init=0.0)
        for warp in range(4):
            ptx.inst.add.f32(total, total, part[warp, 0])
        target += row * 4
        ptx.inst.st.global_.f32(ptx.addr(target), total)
    ptx.ret()


SHAPES = dict(
    in_specs=(Tile("B", 128, f32, Layout.ROW),),
    out_specs=(Tile("B", 1, f32, Layout.ROW),),
    grid=lambda B: (B, 1, 1),
    block=(128, 1, 1),
    arch="sm_90a",
)


@kernel(**SHAPES)
def row_sums(x, out, *, B):
    body(x, out, barrier=True)


@kernel(**SHAPES)
def row_sums_without_barrier(x, out, *, B):
    body(x, out, barrier=False)


def main():
    for function in (row_sums, row_sums_without_barrier):
        text = function.ptx(B=5)
        keep(f"pyptx_{function.__name__}", text, __file__, f"pyptx {importlib.metadata.version('pyptx')}")


if __name__ == "__main__":
    main()
