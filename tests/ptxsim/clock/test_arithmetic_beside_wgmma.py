"""Arithmetic of other warps beside wgmma: the clock against an H200 (tests/kernels/timed/arithmetic_beside_wgmma.py).

The kernel's branches depend on what another warp stores, so that its loops are played, and not its machine code.
"""

import numpy as np
import pytest

from ptxsim.clock.core import Op
from ptxsim.clock.costs import ALU, FMA, HEAVY, SPECIAL
from ptxsim.clock.operations import Arithmetic, Exit, Math, Product, ProductsWait, Timed
from ptxsim.clock.sm import Stream, run
from tests.kernels.timed import arithmetic_beside_wgmma as timed
from tests.ptxsim.clock.points import measured, named

POINTS = measured(timed)
FLOAT = [Math(pipe=FMA, interval=2.0)]
OTHERS = {
    "none": [],
    **dict.fromkeys(("FMUL", "FFMA", "FADD"), FLOAT),
    "FMNMX": [Arithmetic(pipe=ALU, interval=2.0, stall=2)],
    "MUFU": [Timed(pipe=SPECIAL, interval=8.0, latency=17.0)],
    "IADD": [Arithmetic(pipe=pipe, interval=2.0) for pipe in (HEAVY, ALU, HEAVY, ALU, HEAVY)],
}
LOOK = Op(stall=70)  # whether it is over. M: an FMUL takes 1.27 cycles alone, and not 1
WARPS = 4  # of a warpgroup, one on each sub-core


def loop(ops: list[Op]) -> list[Stream]:
    return [Stream(ops, 0, (0,), (0, len(ops)))] * WARPS


def a_turn(times: list[float]) -> float:
    """The mean of the later half."""
    return float(np.diff(times[len(times) // 2 :]).mean())


def modelled(others: int, instruction: str, **_) -> tuple[float, float]:
    """Cycles of eight wgmma, and of an instruction of each warp beside them."""
    in_line = others == 1
    wgmma = [Product(cycles=timed.COLUMNS / 2, ends=not in_line or at == 7) for at in range(timed.EACH)]
    behind = [ProductsWait(groups=int(in_line))]
    product = [*wgmma, *behind] if in_line else [op for one in wgmma for op in (one, *behind)]
    body = (OTHERS[instruction] * timed.AT_ONCE)[: timed.AT_ONCE]
    streams = loop(product) + (loop([*body, LOOK]) * others if body else [])
    times = run(streams, issues=40_000).times
    return a_turn(times[0]), a_turn(times[-1]) / timed.AT_ONCE if body else 0.0


@pytest.mark.parametrize("point", POINTS, ids=named)
def test_wgmma_and_arithmetic_hold_each_other_up(point):
    product, each = modelled(**point)
    # Beside two warpgroups little is left to wgmma, and IMAD hold them up, which they do not in the clock.
    assert product == pytest.approx(point["product"], rel=0.1 if point["others"] == 1 else 0.5)
    assert each == pytest.approx(point.get("each", 0.0), rel=0.3)


def test_only_what_a_sub_core_has_itself_holds_its_wgmma_up():
    """The first sub-core alone has FMULs: there the tensor cores are done later by as many cycles."""
    product = [Product(cycles=64, ends=True), ProductsWait(), Exit()]
    first = run([Stream(product, 0)] * WARPS + [Stream([*FLOAT * 10, Exit()], 0)]).ends[:WARPS]
    assert np.subtract(first, run([Stream(product, 0)] * WARPS).ends).tolist() == [10, 0, 0, 0]
