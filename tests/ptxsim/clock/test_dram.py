"""What the clock takes from DRAM: the arrays of which few blocks read the same lines, where L2 cannot
keep what is read."""

import numpy as np
import pytest

from course_lib import kernel_source
from cupy_or_sim.simulate import compiled
from ptxsim.clock.accesses import Access
from ptxsim.clock.memory import ARRAY, Rates
from ptxsim.clock.model import arrays_of_few, setting
from ptxsim.clock.walk import Step
from tests.lessons import GEMMS, kernel

A, B, C = 1, 2, 3


def rates_of(place: tuple[str, str], grid: tuple[int, int], size: int = 4096) -> Rates:
    launch = GEMMS[place]
    made = compiled(kernel(kernel_source(*place), place[1]))

    def args_at(k_tiles: int) -> tuple:
        return None, None, None, np.int32(size), np.int32(size), np.int32(k_tiles * launch.tile[2])

    operands = 2 * size * size * 4
    return setting(made, grid, launch.block, args_at, launch.shared_mem, "H100", operands, 1).rates


VECTOR_COPY = "01_mainloop", "vector_copy"


def test_a_row_of_blocks_reads_one_array_s_lines_apart_and_shares_the_other_s():
    assert rates_of(VECTOR_COPY, (128, 128)).of_few == {A, C}
    assert rates_of(VECTOR_COPY, (8, 128)).of_few == {B, C}, "132 blocks reach farther in the other direction"
    assert rates_of(VECTOR_COPY, (8, 1)).of_few == {A, C}


def test_a_line_that_two_blocks_share_at_the_edge_does_not_count():
    def walk(array: int, first: int) -> list[list[Step]]:
        sectors = tuple(range(array * ARRAY + first, array * ARRAY + first + 8))
        return [[Step(None, True, False, Access(0, sectors)), Step(None, True, False, None)]]

    assert arrays_of_few(walk(A, 0), walk(A, 7)) == {A}
    assert arrays_of_few(walk(A, 0), walk(A, 2)) == arrays_of_few(walk(A, 0), walk(A, 0)) == frozenset()


def test_where_l2_keeps_what_is_read_nothing_comes_from_dram():
    rates = rates_of(VECTOR_COPY, (64, 64), 2048)
    assert not rates.dram and not rates.of_few


@pytest.mark.parametrize(
    ("place", "grid", "in_step"),
    [
        (VECTOR_COPY, (128, 128), 1),
        (("02_producer_consumer", "one_buffer"), (32, 32), 2),
        (("04_padding", "plain_tile"), (64, 64), 8),
    ],
)
def test_blocks_of_an_sm_go_in_step_for_a_few_waves(place, grid, in_step):
    assert rates_of(place, grid).in_step == in_step
