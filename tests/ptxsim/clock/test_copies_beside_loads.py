"""What copies to shared memory cost the loads beside them: the clock against an H100
(tests/kernels/timed/copies_beside_loads.py)."""

import numpy as np
import pytest

import ptxsim
from cupy_or_sim.simulate import compiled
from tests.kernels.timed import copies_beside_loads as timed
from tests.ptxsim.clock.points import measured, named
from tests.sample import one_in

POINTS = measured(timed)


def modelled(size, copies, loads, **_):
    """Cycles of a turn."""
    found = ptxsim.launch_cycles(
        compiled(timed.kernel(size, copies, loads)),
        (timed.SMS,),
        (timed.WARPS * 32,),
        lambda turns: (object(), object(), np.int32(turns), object()),
        timed.TURNS,
    )
    return found.cycles_per_k_tile


@pytest.mark.parametrize("point", one_in(10, POINTS), ids=named)
def test_loads_beside_copies(point):
    assert modelled(**point) == pytest.approx(point["cycles"], rel=0.07)
