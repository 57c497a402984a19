"""Shared arrays as the source declares them: what a byte of one is called, and when nothing is said."""

import pytest

from ptxsim.compiler.shared_arrays import shapes


@pytest.mark.parametrize(
    ("source", "size", "offset", "index"),
    [
        ("__shared__ float a[256];", 1024, 1020, "[255]"),
        ("__shared__ alignas(128) float a[2][128];", 1024, 516, "[1][1]"),
        ("__shared__ unsigned long long b[3], a[3];", 24, 16, "[2]"),
        ("constexpr int N = 4 * 8;\n__shared__ half a[2][N];", 128, 66, "[1][1]"),
        ("#define N (1 << 5)\n__shared__ int a[N];", 128, 4, "[1]"),
        ("enum { M = 3, N = 32u };\n__shared__ int a[M][N];", 384, 132, "[1][1]"),
        ("template <int N> __global__ void k() { __shared__ int a[2][N];", 128, 64, "[1][0]"),
        ("using u64 = unsigned long long; __shared__ __align__(8) u64 a[2];", 16, 8, "[1]"),
        ("typedef unsigned int word; __shared__ word a[2][2];", 16, 12, "[1][1]"),
        ("__shared__ cuda::barrier<cuda::thread_scope_block> a[4];", 32, 24, "[3]"),
        ("__shared__ Pair<int, 2> a[4];", 32, 12, "[1]"),
        ("__shared__ float a;", 4, 0, ""),
        ("extern __shared__ __align__(16) float a[];", 0, 1020, "[255]"),
        ("extern __shared__ unsigned char a[];", 0, 17, "[17]"),
        ("__shared__ float a[8]; // __shared__ half a[16];", 32, 8, "[2]"),
        ("__shared__ float a[8]; __shared__ half a[8];", 16, 8, "[4]"),
    ],
)
def test_an_index(source, size, offset, index):
    assert shapes(source, (), {"a": size})["a"].index(offset) == index


def test_a_macro_of_the_command_line():
    assert shapes("__shared__ T a[2][N];", ("-std=c++17", "-DN=16"), {"a": 128})["a"].index(64) == "[1][0]"


@pytest.mark.parametrize(
    ("source", "size"),
    [
        ("__shared__ float a[8];", 64),  # another array of this name
        ("__shared__ T a[M][N];", 64),
        ("__shared__ float a[16]; __shared__ half a[2][16];", 64),
        ("extern __shared__ T a[];", 0),
        ("__shared__ float a[1 / 0][2 << -1];", 64),
        ("__shared__ float b[16];", 64),
    ],
)
def test_nothing_is_said_of_what_is_not_known(source, size):
    assert not shapes(source, (), {"a": size})
