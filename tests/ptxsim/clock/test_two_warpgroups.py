"""Two warpgroups that want the tensor cores: the clock against an H200 (research/clock.md)."""

import pytest

from ptxsim.clock.core import Op
from ptxsim.clock.operations import Exit, Meet, Product, ProductsWait
from ptxsim.clock.sm import Stream, run

EACH, CYCLES, WARPS = 8, 64.0, 4
"""wgmma of a group, of a wgmma, and of a warpgroup."""
ALONE = 627
MEASURED = {0: (1013, 1013, 1132), 50: (819, 949, 1130), 200: (629, 629, 1130), 400: (629, 629, 1130)}
"""By how many cycles later the second begins: between which times the first ends, and when the second does."""
NEAR = 1.1 * CYCLES
"""By how much a time may be off. How far apart two begin that are to begin at once is not known: a wgmma, perhaps."""
GROUP = [Meet(), *(Product(cycles=CYCLES, ends=at == EACH - 1) for at in range(EACH))]


def ends(*begins: int, groups: int = 1) -> list[float]:
    """Of warpgroups that begin at these times, each with so many groups, for which it waits together."""
    behind = [*GROUP * groups, ProductsWait(), Exit()]
    streams = [Stream([Op(stall=1 + begin), *behind], 0) for begin in begins for _ in range(WARPS)]
    found = run(streams).ends
    warpgroups = [found[at : at + WARPS] for at in range(0, len(found), WARPS)]
    assert all(max(each) - min(each) < 3 for each in warpgroups), "their warps end together"
    return [each[0] for each in warpgroups]


@pytest.mark.parametrize("late", MEASURED)
def test_what_was_issued_first_is_served_first(late):
    (alone,), (first, second) = ends(0), ends(0, late)
    least, most, last = MEASURED[late]
    assert least - NEAR < first - alone + ALONE < most + NEAR
    assert second - alone + ALONE == pytest.approx(last, abs=NEAR)


def test_who_is_in_the_middle_of_a_group_goes_first_where_the_line_is_full():
    """So the second groups do not take turns, which the first ones did."""
    first, second = ends(0, 0, groups=2)
    assert second - first == pytest.approx(EACH * CYCLES, abs=NEAR)


def test_a_group_is_waited_for_until_the_last_warp_has_issued_its_part():
    late = [
        Stream([Op(stall=1 + 100 * (at == 0)), *GROUP[1:], ProductsWait(), Exit()], 0) for at in range(WARPS)
    ]
    found = run(late).ends
    assert max(found) - min(found) < 3
    assert found[0] == pytest.approx(ends(100)[0], abs=3)
