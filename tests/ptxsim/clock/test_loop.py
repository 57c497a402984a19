"""How long loops of machine code take, beside the same loops on a GPU (ptxsim/rates, `make calibrate`)."""

import itertools
import json
import re
from functools import cache

import numpy as np
import pytest

from ptxsim.clock.loop import cost_of, loop_cycles
from tests.rules import ROOT
from tests.small_loops import loop_of
from tools.calibrate.small import SMALL

MEASURED = json.loads((ROOT / "ptxsim/rates/nvidia-h200.json").read_text())["cycles"]
ELSEWHERE = "in L2", "STG", "LDGSTS", "HGMMA", "BAR", "CS2R"
"""What the loop's clock knows nothing of."""
WALKED = [small for small in SMALL if not any(part in small.name for part in ELSEWHERE)]
CLOSE = 0.13
NOT_CLOSE = {
    ("FFMA, outer product", 8): "20 % too short; perhaps operands that come from one register bank",
    (
        "LDS.32",
        8,
    ): "18 % too long; port and waits are both nearly full, and the clock's warps meet more often",
    ("LDSM.x1", 8): "as LDS.32",
    ("LDS.32, 2 ways", 4): "18 % too short, where both are nearly full",
    ("LDG.32 in L1, 2 lines", 4): "18 % too short, as LDS.32 with 2 ways",
    ("LDG.32 in L1, 32 lines", 4): "40 % too short; with 8 warps it is right",
    **{
        ("FFMA with LOP3", warps): "30 % too short; two register reads a cycle would explain it, to the cycle"
        for warps in (1, 4, 8, 16, 32)
    },
    **{("FFMA with IMAD", warps): "20 % too short" for warps in (8, 16, 32)},
}


@cache
def off(name: str) -> dict[int, float]:
    """By the number of warps: by what part the clock is longer than the GPU."""
    small = next(small for small in WALKED if small.name == name)
    ways = int((re.search(r"(\d+) (ways|lines)", name) or (0, 1))[1])
    return {
        int(warps): loop_cycles(loop_of(small), int(warps), ways) / small.times / cycles - 1
        for warps, cycles in MEASURED[name]["one SM"].items()
    }


@pytest.mark.parametrize("name", [small.name for small in WALKED])
def test_a_small_loop_takes_as_long_as_on_the_gpu(name):
    wrong = {warps: part for warps, part in off(name).items() if abs(part) > CLOSE}
    assert {(name, warps) for warps in wrong} == {key for key in NOT_CLOSE if key[0] == name}, wrong


def test_all_of_them_are_close_on_average():
    assert np.mean([abs(part) for small in WALKED for part in off(small.name).values()]) < 0.035


def test_more_warps_never_make_a_turn_shorter():
    for small in WALKED[::5]:
        turns = [loop_cycles(loop_of(small), warps) for warps in (1, 4, 8, 16)]
        assert all(b > 0.99 * a for a, b in itertools.pairwise(turns)), (small.name, turns)


@pytest.mark.parametrize(
    ("name", "wavefronts"), [("LDS.32", 1), ("LDS.64", 2), ("LDS.128", 4), ("LDSM.x4", 4), ("STS.128", 4)]
)
def test_wavefronts_of_an_instruction(name, wavefronts):
    small = next(small for small in WALKED if small.name == name)
    memory = [cost.wavefronts for cost in map(cost_of, loop_of(small)) if cost.pipe == "memory"]
    assert memory == [wavefronts] * small.times
