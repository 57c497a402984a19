"""Bytes between the members of a struct may be copied within shared memory, and not used."""

import numpy as np
import pytest

from tests.ptxsim.small_kernels import found, run

BODY = """struct P {{ {members} }};
__shared__ P s[64], out[64];
s[t].{first} = t; {second}
__syncthreads();
out[t] = s[63 - t];
__syncthreads();
P mine = out[t]; // HERE
y[t] = {result};"""
STRUCTS = [
    "char a; int b;",
    "float a; short b;",
    "double a; char b;",
    "short a; char b; short c;",
    "char a; double b;",
]


def launch(members, second, result, seed=None):
    body = BODY.format(members=members, first="a", second=second, result=result)
    y = np.full(64, -1, np.int32)
    return run(body, y, parameters="int* y", block=64, seed=seed), y


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("members", STRUCTS)
def test_a_struct_with_padding_is_copied(members, seed):
    last = members[-2]
    second = " ".join(f"s[t].{name} = 2;" for name in "bc" if name <= last)
    report, y = launch(members, second, "(int)mine.a + (int)mine.b", seed)
    assert report.ok, report
    assert (y == 65 - np.arange(64)).all()


@pytest.mark.parametrize("members", STRUCTS)
def test_a_member_that_nobody_wrote_is_used(members):
    report, _ = launch(members, "", "(int)mine.a + (int)mine.b")
    kinds, elsewhere = found(report)
    assert kinds == ["uninitialised-read"] and not elsewhere, report


def test_a_part_is_written_later():
    report, _ = launch("char a; int b;", "", "1")
    assert report.ok, report


@pytest.mark.parametrize("seed", [None, 1])
def test_what_is_written_over_it_is_written(seed):
    body = """__shared__ int s[64], out[64];
for (int i = 0; i < 2; ++i) {
    if (i) s[t] = t;
    __syncthreads();
    out[t] = s[63 - t];
    __syncthreads();
}
y[t] = out[t];"""
    y = np.full(64, -1, np.int32)
    report = run(body, y, parameters="int* y", block=64, seed=seed)
    assert report.ok, report
    assert (y == 63 - np.arange(64)).all()


def test_a_load_that_is_used_too_is_no_copy():
    body = """__shared__ int s[64], out[64];
if (t < 32) s[t] = t;
__syncthreads();
int mine = s[63 - t]; // HERE
out[t] = mine;
__syncthreads();
y[t] = mine + out[t ^ 1];"""
    report = run(body, np.zeros(64, np.int32), parameters="int* y", block=64)
    assert found(report) == (["uninitialised-read"], set()), report
