"""Places in memory, as messages call them: array and index, and what an index that is far off was meant to be."""

import numpy as np
import pytest

from tests.ptxsim.small_kernels import run, run_on_numbers


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("__shared__ int tile[64]; tile[t] = t; out[t] = tile[63 - t];", "reads tile[63], which"),
        ("__shared__ int tile[2][32]; tile[t / 32][t % 32] = t; out[t] = tile[1 - t / 32][1];", "tile[1][1], which"),
        ("extern __shared__ int tile[]; tile[t] = t; out[t] = tile[63 - t];", "reads tile[63], which"),
        ("__shared__ short s[2][64]; s[1][t] = t; out[t] = *(int*)&s[1][(t + 32) % 64 & ~1];", "reads s[1][32]"),
        ("__shared__ int s[64]; ((char*)s)[4 * t + 2] = t; out[t] = ((char*)s)[254 - 4 * t];", "byte 2 of s[63]"),
        ("struct S { int a[16]; }; __shared__ S s; s.a[t % 16] = t; out[t] = s.a[15 - t % 16];", "byte 60 of s"),
        ("__shared__ int tile[64]; tile[t] = t; out[t] = tile[t + (t == 63)];", "(tile[64], past the end of tile)"),
        ("__shared__ int tile[64]; *(long long*)(tile + t * 2 % 64 + 1) = t; out[t] = t;", "tile[1], byte 4 of shared"),
    ],
)  # fmt: skip
def test_a_place_in_shared_memory(body, place):
    report, _ = run_on_numbers(body, block=64, shared_mem=256 if "extern" in body else 0)
    assert place in str(report), report


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ("n * n - (1LL << 32)", "element 0, 1 * 2^32 too low: 32 bits overflowed"),
        ("(unsigned)n * n + 3 * (1LL << 32) + 5", "element 5, 3 * 2^32 too high: 32 bits overflowed"),
        ("unsigned(t) - 1u", "That is -1 + 2^32: an unsigned index in 32 bits went below 0"),
        ("46341 * (n - 65536 + 46341)", "So far from its array an index has lost its upper bits"),
        ("n * (n / 2)", "So far from its array an index has lost its upper bits"),
        ("n", ""),
        ("-1", ""),
        ("1LL << 45", ""),
    ],
)
def test_an_index_that_overflowed(index, words):
    report = run(
        f"x[{index}] = t;", np.zeros(8, np.float32), np.int32(65536), parameters="float* x, int n", block=1
    )
    assert report.hazards[0].kind == "out-of-bounds"
    assert words in report.hazards[0].message and bool(words) == (
        "in 64 bits" in report.hazards[0].message
    ), report


@pytest.mark.parametrize(
    "body", ["y[t] = **(int**)x;", "((int**)x)[0][t] = 5;", "y[t] = (*(int***)x)[0] == 0;"]
)
@pytest.mark.parametrize("arrays", [1, 2])
def test_a_pointer_that_memory_holds_and_no_array_knows(body, arrays):
    """An address of the host, say. No array is named, and no index blamed, also where the kernel has a single array."""
    x, y = np.array([0x5648_5B10_E200, 0], np.uint64), np.zeros(1, np.int32)
    body = body if arrays == 2 else body.replace("y[t] =", "((int*)x)[2] =")
    report = run(body, *(x, y)[:arrays], parameters=["long* x", "long* x, int* y"][arrays - 1], block=1)
    (hazard,) = report.hazards
    assert (hazard.kind, hazard.cause) == ("out-of-bounds", "no-array"), report
    assert "through address 0x56485b10e200, which is in no array" in hazard.message
