"""What copies to shared memory cost the loads beside them: the clock against an H100
(tests/golden/record_copies_beside_loads.py). `python -m tests.ptxsim.clock.test_copies_beside_loads` prints it."""

import numpy as np
import pytest

import ptxsim
from cupy_or_sim.simulate import compiled
from tests.golden import record_copies_beside_loads as record
from tests.ptxsim.clock.points import measured, named, table
from tests.sample import one_in

POINTS = measured(record)


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


@pytest.mark.parametrize("point", one_in(4, POINTS), ids=named)
def test_loads_beside_copies(point):
    assert modelled(**point) == pytest.approx(point["cycles"], rel=0.07)


if __name__ == "__main__":
    table(POINTS, modelled)
