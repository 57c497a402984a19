"""`--arg`: what a text means, and which one is told to be wrong."""

import time
from pathlib import Path

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
        (1, "float64[4]", r"x is a pointer to float; give an array, such as float32\[1024\], or null"),
        (1, "int64=0", "x is a pointer to float"),
        (1, "int32[4]", r"x is a pointer to float; give an array, such as float32\[1024\]"),
        (1, "uint8[4]=zeros", "x is a pointer to float"),
        (2, "float32[4]", r"y is a pointer to int; give an array, such as int32\[1024\], or null"),
        (2, "int32[4]=nan", "int32 has no NaN"),
        (2, "int32[400000000000000000]=zeros", "at most 67,108,864 here"),
        (3, "float32=3", "n is a whole number of 4 bytes; give int32=5"),
        (3, "int32=abc", "'abc' is no whole number; write int32=5"),
        (3, "int32=0.5", "'0.5' is no whole number"),
        (3, "int32=3000000000", "3000000000 does not fit into int32"),
        (3, "int64=3", "n is a whole number of 4 bytes; give int32=5"),
        (3, "int32[1]", "n is a whole number of 4 bytes"),
        (4, "float=0.5", "a is a number of 8 bytes"),
    ],
)
def test_a_wrong_one_is_named_with_what_is_allowed(number, text, words):
    texts = [*RIGHT[: number - 1], text, *RIGHT[number:]]
    with pytest.raises(LaunchError, match=words) as error:
        arguments(texts, KERNEL)
    assert str(error.value).startswith(f"--arg {text} (number {number}): ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{" * 20_000 + "int=1" + "}" * 20_000, "more than 20 structs"),
        ("int32[9,9999999]", "it has 89,999,991 elements; an array takes at most 67,108,864 here"),
        (f"int32[{'9' * 5000}]", "digits"),
        (f"int32[{','.join('1' * 100)}]", "dimension"),
        ("float32[8]=zip.npy", "zip.npy is an archive of arrays"),
        ("float32[8]=huge.npy", r"the file holds float32\[268435456\]"),
    ],
)
def test_what_asks_for_too_much_is_refused_before_it_is_made(text, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("zip.npy", "wb") as file:
        np.savez(file, x=np.zeros(8, np.float32))
    np.save("huge.npy", np.broadcast_to(np.float32(0), 8))
    file = Path("huge.npy")
    head = file.read_bytes()[:128].replace(b"(8,), }" + b" " * 8, b"(268435456,), }")
    with open(file, "wb") as sparse:
        sparse.write(head)
        sparse.truncate(len(head) + (1 << 30))
    begin = time.thread_time()
    with pytest.raises(LaunchError, match=words):
        arguments((text, *RIGHT[1:]), KERNEL)
    assert time.thread_time() - begin < 1


def test_their_number():
    with pytest.raises(LaunchError) as error:
        arguments((), KERNEL)
    assert str(error.value).splitlines() == [
        "k has 4 parameters, and no --arg is given. In their order:",
        "    x: a pointer to float; give an array, such as float32[1024], or null",
        "    y: a pointer to int; give an array, such as int32[1024], or null",
        "    n: a whole number of 4 bytes; give int32=5",
        "    a: a number of 8 bytes; give float64=0.5",
    ]


def test_a_struct():
    told = r"p is a struct of 16 bytes; give its members, such as \{float32\[1024\]; int32=5\}"
    for text in ("float32[4]", "null", "int32=5"):
        with pytest.raises(LaunchError, match=told):
            arguments((text,), STRUCT)
    with pytest.raises(LaunchError, match=told + "; these members make 8 bytes"):
        arguments(("{int32=4; int32=5}",), STRUCT)
    with pytest.raises(LaunchError, match="'x' is no whole number"):
        arguments(("{float32[4]; int32=x}",), STRUCT)


STRUCTS = """
struct Inner { char c; double* at; short n; };
struct Outer { int n; Inner inner; const float* x; };
extern "C" __global__ void k(Outer p, int* out) {
    p.inner.at[threadIdx.x] = p.x[threadIdx.x + p.n] + p.inner.n + p.inner.c;
    if (threadIdx.x == 1) p.inner.at[0] = 1;
    out[threadIdx.x] = p.n;
}
"""


def test_a_struct_in_a_struct_with_arrays_whose_races_are_found():
    kernel = ptxsim.compile(STRUCTS, "k")
    texts = ("{int=1; {int8=2; float64[4]=zeros; int16=30}; float32[8]=arange}", "int32[4]=zeros")
    args = arguments(texts, kernel)
    report = ptxsim.launch(kernel, 1, 4, args)
    assert [hazard.kind for hazard in report.hazards] == ["write-after-write"]
    assert "element 0 of member 2 of member 2 of p (float64, shape (4,))" in report.hazards[0].message
    np.testing.assert_array_equal(args[0].members[1].members[1], [1, 34, 35, 36])


def test_an_index_behind_an_array_of_a_struct():
    kernel = ptxsim.compile(STRUCTS, "k")
    args = arguments(("{int=5; {int8=2; float64[4]=zeros; int16=30}; float32[8]}", "int32[4]"), kernel)
    report = ptxsim.launch(kernel, 1, 4, args)
    assert report.hazards[0].kind == "out-of-bounds"
    assert (
        "element 8 of member 3 of p (float32, shape (8,)), which has 8 elements" in report.hazards[0].message
    )


MAP_IN_STRUCT = (
    'struct P { short n; int* a; float f; };\nextern "C" __global__ void k(P p) { p.a[p.n] = p.f; }'
)


def test_a_struct_of_the_library():
    kernel, out = ptxsim.compile(MAP_IN_STRUCT, "k"), np.zeros(4, np.int32)
    assert ptxsim.launch(kernel, 1, 1, (ptxsim.Struct(np.int16(2), out, np.float32(7)),)).ok
    assert out.tolist() == [0, 0, 7, 0]
    with pytest.raises(LaunchError, match="p has 24 bytes in the kernel, and the members given make 16"):
        ptxsim.launch(kernel, 1, 1, (ptxsim.Struct(out, np.float32(7)),))
    with pytest.raises(
        LaunchError, match="member 1 of p is a int; pass an array, None, a Struct, or a NumPy scalar"
    ):
        ptxsim.launch(kernel, 1, 1, (ptxsim.Struct(2, out, np.float32(7)),))
