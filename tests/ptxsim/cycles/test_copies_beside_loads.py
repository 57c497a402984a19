"""What copies to shared memory cost the loads beside them: the clock on machine code against an H100
(tests/golden/record_copies_beside_loads.py). `python -m tests.ptxsim.cycles.test_copies_beside_loads` prints it."""

import json

import numpy as np
import pytest

import ptxsim
from cupy_or_sim.simulate import compiled
from tests.golden import record_copies_beside_loads as record
from tests.sample import one_in

POINTS = json.loads((record.HERE / record.FILE).read_text(encoding="utf-8"))["points"]


def modelled(size, copies, loads, **_):
    """Cycles of a turn."""
    found = ptxsim.launch_cycles(
        compiled(record.kernel(size, copies, loads)),
        (record.SMS,),
        (record.WARPS * 32,),
        lambda turns: (object(), object(), np.int32(turns), object()),
        record.TURNS,
    )
    return found.cycles_per_k_tile


@pytest.mark.parametrize("point", one_in(4, POINTS), ids=lambda point: "-".join(map(str, point.values())))
def test_loads_beside_copies(point):
    assert modelled(**point) == pytest.approx(point["cycles"], rel=0.07)


def main():
    errors = []
    for point in POINTS:
        cycles = modelled(**point)
        errors.append(cycles / point["cycles"] - 1)
        print(*point.values(), f"{cycles:.0f} {errors[-1]:+.1%}", flush=True)
    print(f"{len(errors)} points, mean error {np.abs(errors).mean():.1%}, most {np.abs(errors).max():.1%}")


if __name__ == "__main__":
    main()
