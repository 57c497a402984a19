"""`--arg`: what a text means, and which one is told to be wrong."""

import numpy as np
import pytest

import ptxsim
from ptxsim import LaunchError
from ptxsim.command.arguments import argument, arguments

KERNEL = ptxsim.compile(
    'extern "C" __global__ void k(float* x, const int* y, int n, double a) { x[n] = y[n] * a; }', "k"
)
STRUCT = ptxsim.compile(
    'struct P { float* x; int n; };\nextern "C" __global__ void k(P p) { p.x[0] = p.n; }', "k"
)
RIGHT = ("float32[4]", "int32[4]", "int32=3", "float64=0.5")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int32=5", np.int32(5)),
        ("int=-0x10", np.int32(-16)),
        ("float=1e-3", np.float32(1e-3)),
        ("bool=1", np.bool_(True)),
        ("float32[2]=zeros", np.zeros(2, np.float32)),
        ("half[2]=nan", np.full(2, np.nan, np.float16)),
        ("int16[2,3]=arange", np.arange(6, dtype=np.int16).reshape(2, 3)),
        ("unsigned[2]=ones", np.ones(2, np.uint32)),
    ],
)
def test_what_a_text_means(text, expected):
    found = argument(text)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


def test_random_numbers_are_the_same_each_time():
    np.testing.assert_array_equal(argument("float32[64]"), argument("float32[64]=random"))
    assert argument("null") is None


def test_an_array_from_a_file(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6, dtype=np.float32))
    assert argument(f"float32[6]={tmp_path}/x.npy")[5] == 5
    with pytest.raises(LaunchError, match=r"the file holds float32\[6\]"):
        argument(f"float32[3,2]={tmp_path}/x.npy")


def test_right_ones():
    assert [arg.nbytes for arg in arguments(RIGHT, KERNEL)] == [16, 16, 4, 8]
    assert arguments(("null", "null", *RIGHT[2:]), KERNEL)[:2] == [None, None]


@pytest.mark.parametrize(
    ("number", "text", "words"),
    [
        (1, "5", "it is no array"),
        (1, "float32[4", "it is no array"),
        (1, "floot32[4]", "no type floot32; there are bool, int8"),
        (1, "float32[4]=y.txt", "none of random, zeros, ones, arange, nan and no .npy file"),
        (1, "float32[4]=nobody.npy", "No such file"),
        (1, "float64[4]", r"x is a pointer to float32; give an array, such as float32\[1024\], or null"),
        (1, "int64=0", "x is a pointer to float32"),
        (2, "int32[4]=nan", "int32 has no NaN"),
        (2, "int32[400000000000000000]=zeros", "allocate"),
        (3, "int32=abc", "'abc' is no whole number; write int32=5"),
        (3, "int32=0.5", "'0.5' is no whole number"),
        (3, "int32=3000000000", "3000000000 does not fit into int32"),
        (3, "int64=3", "n is a number of 4 bytes; give int32=5 or float32=0.5"),
        (3, "int32[1]", "n is a number of 4 bytes"),
        (4, "float=0.5", "a is a number of 8 bytes"),
    ],
)
def test_a_wrong_one_is_named_with_what_is_allowed(number, text, words):
    texts = [*RIGHT[: number - 1], text, *RIGHT[number:]]
    with pytest.raises(LaunchError, match=words) as error:
        arguments(texts, KERNEL)
    assert str(error.value).startswith(f"--arg {text} (number {number}): ")


def test_their_number():
    with pytest.raises(LaunchError) as error:
        arguments((), KERNEL)
    assert str(error.value).splitlines() == [
        "k has 4 parameters, and no --arg is given. In their order:",
        "    x: a pointer to float32; give an array, such as float32[1024], or null",
        "    y: a pointer; give an array, such as int32[1024], or null",
        "    n: a number of 4 bytes; give int32=5 or float32=0.5",
        "    a: a number of 8 bytes; give int64=5 or float64=0.5",
    ]


def test_a_struct():
    with pytest.raises(LaunchError, match="p is a struct of 16 bytes, which --arg cannot give"):
        arguments(("float32[4]",), STRUCT)
