"""Loops that count to an end, as the compiler writes them."""

import pytest

import ptxsim
from tests.ptxsim.small_kernels import source_of

SURE = {
    "to a number": "for (int i = 0; i < 1000; i++) out[t] += in[t];",
    "to a parameter": "for (int i = t; i < n; i += 256) out[i] = in[i];",
    "down": "for (unsigned i = n; i > 0; i--) out[t] += in[t];",
    "around others": "for (int i = 0; i < n; i++) for (int j = 0; j < in[i]; j++) out[t] += in[j];",
}
OTHERS = {
    "until it is found, or all were looked at": "int i = 0; while (i < n && in[i] != t) i++; out[t] = i;",
    "until it is near, or long enough": "float x = t; for (int i = 0; (x < 7) & (i < n); i++) x *= in[t]; out[t] = x;",
}
NONE = {
    "until it is near": "float x = t; while (x < 7) x *= in[t]; out[t] = x;",
    "until a flag is set": "while (*(volatile int*)in == 0); out[t] = 1;",
    "inside of one that does not count": "float x = t; while (x < 7) for (int i = 0; i < n; i++) x *= in[i]; *out = x;",
}


def counted(body):
    kernel = ptxsim.compile(source_of(body, "int* out, const int* in, int n"), "k")
    return kernel.code.counted


@pytest.mark.parametrize("body", SURE.values(), ids=SURE)
def test_a_loop_that_ends_by_its_counter_alone(body):
    assert any(each.sure for each in counted(body))


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS)
def test_a_loop_that_may_end_before(body):
    assert [each.sure for each in counted(body)] == [False]


@pytest.mark.parametrize("body", NONE.values(), ids=NONE)
def test_a_loop_that_does_not_count(body):
    assert counted(body) == []
