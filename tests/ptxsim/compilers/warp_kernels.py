"""Kernels in NVIDIA Warp: a scaled sum, forces of neighbours, sums of tiles. `main` writes their PTX, one text."""

import sys
import tempfile
from pathlib import Path

import warp as wp

from tests.ptxsim.compilers.texts import keep

wp.config.quiet = True


@wp.kernel(enable_backward=False)
def scaled_sum(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel(enable_backward=False)
def scaled_neighbour(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    """The last thread reads past the end."""
    i = wp.tid()
    y[i] = a * x[i + 1] + y[i]


@wp.kernel(enable_backward=False)
def forces(place: wp.array(dtype=wp.vec3), force: wp.array(dtype=wp.vec3), n: int):
    i = wp.tid()
    total = wp.vec3(0.0, 0.0, 0.0)
    for j in range(n):
        way = place[j] - place[i]
        total += way / (wp.dot(way, way) + 0.01)
    force[i] = total


@wp.kernel(enable_backward=False)
def forces_in_place(place: wp.array(dtype=wp.vec3), force: wp.array(dtype=wp.vec3), n: int):
    """Moves a body while others look at it."""
    i = wp.tid()
    total = wp.vec3(0.0, 0.0, 0.0)
    for j in range(n):
        way = place[j] - place[i]
        total += way / (wp.dot(way, way) + 0.01)
    place[i] = place[i] + total
    force[i] = total


@wp.kernel(enable_backward=False)
def row_sums(x: wp.array2d(dtype=float), out: wp.array(dtype=float)):
    """One row of 128 a block, by its threads together."""
    i, _ = wp.tid()
    row = wp.tile_load(x[i], shape=128)
    wp.tile_store(out, wp.tile_sum(row), offset=i)


def main():
    wp.init()
    with tempfile.TemporaryDirectory() as folder:
        wp.compile_aot_module(
            sys.modules[__name__], arch=90, module_dir=folder, use_ptx=True, strip_hash=True
        )
        (text,) = Path(folder).glob("*.ptx")
        keep("warp", text.read_text(), __file__, f"Warp {wp.__version__}")


if __name__ == "__main__":
    main()
