"""How long a load from shared memory takes behind copies: the clock against an H100
(tests/kernels/timed/loads_behind_copies.py)."""

import numpy as np
import pytest

from cupy_or_sim.simulate import compiled
from ptxsim import machine_code
from ptxsim.clock.instructions import ops_of
from ptxsim.clock.memory import Rates
from ptxsim.clock.sm import Stream, run
from ptxsim.clock.walk import constants_of, walk_block
from tests.kernels.timed import loads_behind_copies as timed
from tests.ptxsim.clock.points import measured, named
from tests.sample import one_in

POINTS = measured(timed)
ALONE = Rates(l2_bytes=Rates().l2_alone)
TURNS = 3


def modelled(row, warps, copies, **_):
    """From a turn's first clock reading to its second, of the warps' median."""
    code = machine_code(compiled(timed.kernel(row, warps, copies)), "sm_90")
    arguments = [
        (0, (1 << 40).to_bytes(8, "little")),
        (8, (2 << 40).to_bytes(8, "little")),
        (16, TURNS.to_bytes(4, "little")),
    ]
    block = 32 * warps, 1, 1
    steps = walk_block(code, constants_of(arguments, block, (1, 1, 1)), (0, 0, 0), block, (1, 1, 1), loaded=0)
    known: dict = {}
    readings = {each.address for each in code if "SR_CLOCKLO" in each.text}
    streams = []
    for ops in (ops_of(of_warp, known) for of_warp in steps):
        streams.append(Stream(ops, 0, tuple(at for at, op in enumerate(ops) if op.at in readings)))
    return float(np.median([times[-1] - times[-2] for times in run(streams, ALONE).times]))


@pytest.mark.parametrize(
    "point", one_in(3, (each for each in POINTS if each["warps"] * each["copies"] >= 64)), ids=named
)
def test_a_load_waits_for_the_copies_before_it(point):
    assert modelled(**point) == pytest.approx(point["cycles"], rel=0.2)


@pytest.mark.parametrize("point", one_in(10, POINTS), ids=named)
def test_behind_a_few_it_is_less_exact(point):
    assert modelled(**point) == pytest.approx(point["cycles"], rel=0.5)
