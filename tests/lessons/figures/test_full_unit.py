"""Which unit is full: the busiest one, if it is busy enough; L2 only where it is not shared memory that was counted."""

import pytest

from course_lib import Gemm, lesson_kernel
from course_lib.notebooks.figures.full_unit import FullUnits, _busy, full_units


def counted(math, start, shared, memory):
    names = "tensor cores busy, %", "cycles with a start, %", "shared memory busy, %", "memory throughput, %"
    return dict(zip(names, (math, start, shared, memory), strict=True))


@pytest.mark.parametrize(
    ("values", "full"),
    [
        (counted(88, 24, 64, 64), "math"),
        (counted(45, 17, 31, 83), "L2"),
        (counted(31, 12, 83, 84), "shared"),
        (counted(74, 20, 30, 30), "waiting"),
        ({}, None),
    ],
)
def test_the_busiest_unit_is_full(values, full):
    assert FullUnits("", "", {"kernel": _busy(values)})["kernel"] == full


def test_what_is_recorded_of_a_kernel():
    found = full_units(Gemm(4096, 4096, 4096, "float16"), {"fastest": lesson_kernel("05_fastest", "fastest")})
    assert found["fastest"] == "math" and "fastest  math" in repr(found)
