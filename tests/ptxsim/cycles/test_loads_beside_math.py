"""What loads from shared memory cost the multiply-adds beside them: the clock on machine code against an H100
(tests/golden/record_loads_beside_math.py). `python -m tests.ptxsim.cycles.test_loads_beside_math` prints it."""

import json

import numpy as np
import pytest

import ptxsim
from cupy_or_sim.simulate import compiled
from tests.golden import record_loads_beside_math as record
from tests.sample import one_in

POINTS = json.loads((record.HERE / record.FILE).read_text(encoding="utf-8"))["points"]


def modelled(rows, columns, threads, loads, spread, **_):
    kernel = compiled(record.kernel(rows, columns, threads, loads, spread, "-arch=compute_90"))

    def args_at(turns):
        return object(), np.float32(1.1), np.float32(0.3), np.int32(turns), object()

    found = ptxsim.launch_cycles(kernel, (record.SMS,), (threads,), args_at, record.TURNS, record.SHARED)
    return rows * columns * threads * record.PRODUCTS / 128 / found.cycles_per_k_tile


@pytest.mark.parametrize("point", one_in(4, POINTS), ids=lambda point: "-".join(map(str, point.values())))
def test_multiply_adds_beside_loads(point):
    assert modelled(**point) == pytest.approx(point["share"], rel=0.06)


def main():
    errors = []
    for point in POINTS:
        share = modelled(**point)
        errors.append(share / point["share"] - 1)
        print(*point.values(), f"{share:.3f} {errors[-1]:+.1%}", flush=True)
    print(f"{len(errors)} points, mean error {np.abs(errors).mean():.1%}, most {np.abs(errors).max():.1%}")


if __name__ == "__main__":
    main()
