"""What loads from shared memory cost the multiply-adds beside them: the clock against an H100
(tests/kernels/timed/loads_beside_math.py)."""

import numpy as np
import pytest

import ptxsim
from cupy_or_sim.simulate import compiled
from tests.kernels.timed import loads_beside_math as timed
from tests.ptxsim.clock.points import measured, named
from tests.sample import one_in

POINTS = measured(timed)


def modelled(rows, columns, threads, loads, spread, **_):
    kernel = compiled(timed.kernel(rows, columns, threads, loads, spread, "-arch=compute_90"))

    def args_at(turns):
        return object(), np.float32(1.1), np.float32(0.3), np.int32(turns), object()

    found = ptxsim.launch_cycles(kernel, (timed.SMS,), (threads,), args_at, timed.TURNS, timed.SHARED)
    return rows * columns * threads * timed.PRODUCTS / 128 / found.cycles_per_k_tile


@pytest.mark.parametrize("point", one_in(16, POINTS), ids=named)
def test_multiply_adds_beside_loads(point):
    assert modelled(**point) == pytest.approx(point["share"], rel=0.06)
