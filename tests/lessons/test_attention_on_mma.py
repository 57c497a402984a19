"""deeper/10_mma is for an A100 and an RTX 30 or 40: its kernel fits there twice, and loads without bank conflicts."""

import pytest

from course_lib import OPTIONS, course_header
from course_lib.check.attention import Attention
from course_lib.check.verdict import CheckFailed
from course_lib.lessons import sources
from ptxsim import occupancy
from ptxsim.compiler import nvrtc
from ptxsim.gpus import A100, RTX_3090, RTX_4090, SUB_CORES
from tests.lessons import kernel
from tests.lessons.reading import cells_of
from tools.author.numbers import text_shown

NOTEBOOK, NAME = "10_mma", "on_mma"
SOURCE, LAUNCH = sources.kernel_source(NOTEBOOK, NAME), sources.kernel_launch(NOTEBOOK, NAME)
SLOT = 64 * 128 * 2


def with_slots(slots: int) -> str:
    return sources.edited(SOURCE, ("SLOTS = 2", f"SLOTS = {slots}"))


def test_what_the_page_prints_of_its_gpus_is_what_is_known_of_them():
    cells = {cell["id"]: text_shown(cell) for cell in cells_of(f"deeper/{NOTEBOOK}")}
    for gpu in A100, RTX_3090:
        fit = [occupancy(gpu, LAUNCH.threads, 255, slots * SLOT).blocks for slots in (2, 3, 4, 5)]
        said = f"{gpu.name}: blocks on an SM with 2, 3, 4, 5 slots: {', '.join(map(str, fit))}\n"
        assert said in cells["three-slots"]
        cycles = 4 * 128 // SUB_CORES * gpu.rates.mma.value
        assert f"{gpu.name}: tensor cores {cycles:,}, shared memory 1,280\n" in cells["check-on-mma"]


@pytest.mark.parametrize("slots", [2, 3])
@pytest.mark.parametrize("gpu", [A100, RTX_3090, RTX_4090], ids=lambda gpu: gpu.name)
def test_two_blocks_fit_on_its_gpus_and_nothing_spills(gpu, slots):
    needs = nvrtc.resources(with_slots(slots), NAME, OPTIONS, arch=gpu.arch)
    assert needs.spill_stores == needs.spill_loads == 0
    assert occupancy(gpu, LAUNCH.threads, needs.registers, slots * SLOT).blocks == 2


def counted(source: str, slots: int):
    """Of a launch of two blocks for each of two heads."""
    problem = Attention(2, 128, 5 * 64)
    launch = LAUNCH.but(shared_mem=slots * SLOT)
    _, report = problem.simulated(kernel(source, NAME), problem.inputs, launch)
    assert report.ok
    return report.counters.total


@pytest.mark.parametrize("slots", [2, 3, 4, 5])
def test_with_any_number_of_slots_it_is_right_and_its_accesses_are_ideal(slots):
    source = with_slots(slots)
    assert Attention(1, 64, 64).check(kernel(source, NAME), LAUNCH.but(shared_mem=slots * SLOT))
    total = counted(source, slots)
    assert total.shared_wavefronts == total.shared_wavefronts_ideal
    assert total.global_sectors == total.global_sectors_ideal


def test_a_tile_without_its_swizzle_is_seen():
    header = sources.edited(
        course_header("mma_tile.cuh"),
        ("#pragma once", ""),
        ("(chunk ^ row * TK / 64 % (TK / 8)) * 8", "chunk * 8"),
    )
    total = counted(sources.edited(SOURCE, ("#include <course/mma_tile.cuh>", header)), 2)
    assert total.shared_wavefronts > 2 * total.shared_wavefronts_ideal


BARRIER = "    __syncthreads();                                  // all have read the last slot\n"
GROUP = "        commit_group();                               // an empty group"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (BARRIER, "", "write-after-read"),
        (GROUP, "        if (item < 2 * tiles) commit_group();         // no empty group", "unwaited-copy"),
    ],
    ids=["the last barrier", "empty groups"],
)
def test_what_two_slots_do_not_need_three_do(old, new, words):
    changed = (old, new)
    assert Attention(1, 64, 64).check(kernel(sources.edited(SOURCE, changed), NAME), LAUNCH)
    with pytest.raises(CheckFailed, match=words):
        Attention(1, 64, 64).check(
            kernel(sources.edited(with_slots(3), changed), NAME), LAUNCH.but(shared_mem=3 * SLOT)
        )
