"""Find the fastest plan of `matmul` for 30 problems on the GPU of this machine: `make tune`. It takes some minutes.

Writes matmul/sweeps/<gpu>.json, from which `matmul` takes its plans on this GPU, and lesson 06 its pictures. What was
measured there of another program (CUTLASS 2) is kept, with its own provenance.
"""

import sys
import time

from course_lib.lessons.environment import measures_here
from cupy_or_sim import keys, timing
from matmul import matmul_source, plans, sweep_file, tuner
from matmul.matmul import LESSON
from ptxsim.gpus import file_name
from ptxsim.ground import whole

CUBES = (512, 1024, 2048, 4096, 8192)
SHAPES = (
    *((size, size, size) for size in CUBES),
    (2048, 2048, 256), (4096, 4096, 128), (128, 4096, 4096), (16, 4096, 4096), (1, 4096, 4096), (8192, 1024, 4096),
    (4096, 11008, 4096), (4096, 4096, 11008), (2048, 12288, 4096), (8192, 128, 8192), (1000, 1000, 1000),
    (1500, 1500, 1500), (2000, 2000, 2000), (3000, 3000, 3000), (4100, 4100, 4100), (1023, 1025, 1024),
    (777, 888, 1000), (4095, 4097, 4096), (129, 129, 4096), (64, 64, 65536), (300, 5000, 640), (2049, 2047, 512),
    (100, 100, 100), (5000, 120, 2504), (4000, 4008, 1001),
)  # fmt: skip
POWER = tuple((size, size, size) for size in (3000, 4096, 8192))
"""Problems whose fastest plan also runs on and on, for two seconds. A launch from Python takes some 40 us: a smaller
problem would wait for it."""
METHOD = (
    "each plan: median of 20 launches (10 above 1e11 products) timed with events, queued behind a spinning kernel; the "
    "three fastest again, there and back, between two turns of cuBLAS; the chosen one exact on whole numbers"
)


def main(shapes: tuple[plans.Shape, ...] = SHAPES, power: tuple[plans.Shape, ...] = POWER) -> int:
    """0 when the file was written, 2 without a GPU."""
    if not measures_here("make tune"):
        return 2
    start, name = time.monotonic(), timing.name()
    found = tuner.sweep(shapes)
    old = plans.on_file(name)
    peers = {shape: row.get("cutlass2_us") for shape, row in sweep_file.chosen_of(old).items()}
    chosen = {
        shape: {"plan": each.plan, "us": each.us, "cublas_us": each.cublas_us}
        | ({"cutlass2_us": peers[shape]} if peers.get(shape) else {})
        for shape, each in found.items()
    }
    drawn = [
        {"shape": shape, **tuner.Problem(shape).sustained(plan)}
        for shape in power
        if shape in found and (plan := found[shape].plan)
    ]
    used = [[*key, number] for key, number in sorted(tuner.registers(found).items())]
    about = timing.provenance() | {"layout": "float16, TN", "clock": "median us, L2 warm", "method": METHOD}
    about |= {"kernel": keys.source_key(LESSON, matmul_source(6)), "seconds": round(time.monotonic() - start)}
    others = {"cutlass2": old["cutlass2"]} if "cutlass2" in old else {}
    others |= {"power": drawn, "registers": used}
    path = plans.FOLDER / file_name(name)
    times = {shape: each.times for shape, each in found.items()}
    whole.write(path, sweep_file.text(about, chosen, times, others))
    print(
        f"{sum(map(len, times.values()))} plans of {len(times)} problems are in {path.name}: {about['seconds']} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
