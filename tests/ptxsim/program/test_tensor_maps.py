"""Maps that the driver makes, and those that it refuses."""

import pytest

from ptxsim.program.tensor_maps import NotSimulated, Refused, encode

TF32, ADDRESS = 11, 1 << 40


def five(*numbers: int) -> tuple[int, ...]:
    return (*numbers, *(1,) * (5 - len(numbers)))


def made(shape: tuple[int, ...], strides: tuple[int, ...], box: tuple[int, ...], step: int = 1) -> bytes:
    lists = five(*shape) + five(4, *strides) + five(*box) + five(step)
    return encode(TF32, len(shape), ADDRESS, 0, 3, 0, lists)


def test_a_dimension_of_one_element_may_have_any_stride():
    """CUTLASS gives a single batch the stride 0."""
    assert len(made((64, 128, 1), (256, 0), (32, 64, 1))) == 128
    assert len(made((64, 1, 16), (16, 256), (32, 1, 16))) == 128


@pytest.mark.parametrize(
    ("refused", "how"),
    [
        (Refused, ((64, 128, 2), (256, 0), (32, 64, 1))),
        (Refused, ((64, 128), (128,), (32, 64))),
        (Refused, ((64, 128), (264,), (32, 64))),
        (Refused, ((64, 128), (256,), (64, 64))),
        (NotSimulated, ((64, 128), (256,), (32, 64), 2)),
    ],
)
def test_maps_that_are_not_made(refused, how):
    with pytest.raises(refused):
        made(*how)
