"""Which share of the tensor cores' rate variants of attention reach: the clock against an H200
(tests/kernels/timed/attention.py)."""

import numpy as np
import pytest

import ptxsim
from cupy_or_sim.simulate import compiled
from tests.kernels.timed import attention as timed
from tests.ptxsim.clock.points import measured
from tests.sample import one_in

SHARES = {point["variant"]: point["share"] for point in measured(timed)}
AHEAD = "AHEAD=1"
"""Its two warpgroups begin in step, and nothing keeps them apart but the line for the tensor cores."""


def modelled(variant: str) -> float:
    changed = timed.named(variant)
    tiles = timed.blocks(**changed)
    found = ptxsim.launch_cycles(
        compiled(timed.kernel(**changed)),
        (tiles,),
        (128 * (changed.get("WG", 2) + 1),),
        lambda n: (None, None, None, None, np.int32(n * timed.KEYS), np.int32(tiles), np.float32(0.13)),
        timed.LENGTH // timed.KEYS,
        timed.shared(**changed),
        operands=4 * 2 * timed.HEADS * timed.LENGTH * timed.DEPTH,
    )
    return timed.FLOP / found.cycles / timed.SMS / timed.FLOP_A_CYCLE


def test_every_variant_was_measured():
    assert list(SHARES) == timed.VARIANTS


@pytest.mark.parametrize("variant", one_in(5, [AHEAD, *(each for each in SHARES if each != AHEAD)]))
def test_softmax_beside_wgmma(variant):
    assert modelled(variant) == pytest.approx(SHARES[variant], rel=0.1)
