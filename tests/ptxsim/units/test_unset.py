"""Variables that nobody has set: found where results depend on them, and nowhere else."""

import numpy as np
import pytest

import ptxsim
from tests.ptxsim.small_kernels import found, run

ORDERS = [{}, {"seed": 1}, {"seed": 2}, {"grid": 3}, {"grid": 3, "block": 96, "seed": 3}]
SIZE = 1024
MMA = """asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "  // HERE
    "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
    : "r"(in[t]), "r"(in[t + 32]), "r"(in[t + 64]), "r"(in[t + 96]), "r"(in[t + 128]), "r"(in[t + 160]));  // HERE
"""


def told(body, **more):
    """The report of a kernel of int* out and int* in, which is 1, 2, 3, ..."""
    return run(body, np.full(SIZE, -1, np.int32), np.arange(1, SIZE + 1, dtype=np.int32), **more)


# By name: the text of the mended form, in which SET is the value that the faulty one lacks.
MATTERS = {
    "a sum": "int sum SET;\nfor (int i = 0; i < in[t] % 8 + 1; ++i) sum += in[i];  // HERE\nout[t] = sum;",
    "a sum of floats, through shared memory": "__shared__ float s[128]; float sum SET;\n"
    "for (int i = 0; i < in[0] + 3; ++i) sum += in[t + i];  // HERE\n"
    "s[t] = sum; __syncthreads(); out[t] = (int)s[t ^ 1];",
    "a sum over lanes": "int sum SET; for (int i = 0; i < in[0] + 1; ++i) sum += in[i];  // HERE\n"
    "for (int o = 16; o; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);\nout[t] = sum;",
    "a way": "int go SET; for (int i = 0; i < in[t] % 4; ++i) go += in[i];  // HERE\n"
    "if (go > 3) out[t] = 1;  // HERE",
    "an index": "int at SET; for (int i = 0; i < in[t] % 4; ++i) at += in[i];  // HERE\n"
    "atomicAdd(&out[at & 63], 1);",
    "an index into shared memory": "__shared__ int s[128]; s[t] = t; __syncthreads(); int at SET;\n"
    "for (int i = 0; i < in[t] % 4 + 1; ++i) at += in[i];  // HERE\nout[t] = s[at & 31];",
    "half of the lanes": "int v SET; if (t % 2) v = in[t] * 3;\nint w = v * in[t + 1];  // HERE\nout[t] = w;",
    "an atomic": "int n SET; if (t % 2) n = in[t];\natomicAdd(out, n);  // HERE",
    "the maximum so far": "int best SET; for (int i = 0; i < in[0] + 6; ++i) "
    "if (in[t + i] > best) best = in[t + i];  // HERE\nout[t] = best;",
    "the sums of an mma": f"float c[4] SET;\n{MMA}for (int i = 0; i < 4; ++i) out[4 * t + i] = (int)c[i];",
    "a sum in a device function": "out[t] = total(in, in[0] + 4);  // HERE",
}
MENDS = {"the maximum so far": "= -1", "the sums of an mma": "= {}"}
"""What is not mended by = 0."""
BEFORE = {
    "a sum in a device function": "__device__ int total(const int* x, int n) {\n"
    "int sum SET; for (int i = 0; i < n; ++i) sum += x[i];  // HERE\nreturn sum; }\n",
}
"""What stands above the kernel."""


@pytest.mark.parametrize("name", MATTERS)
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_what_matters_is_found_and_mended_it_is_clean(name, order):
    body, mend, before = MATTERS[name], MENDS.get(name, "= 0"), BEFORE.get(name, "")
    if "mma" in name:
        order = order | {"block": 32}
    report = told(body.replace("SET", ""), before=before.replace("SET", ""), **order)
    kinds, elsewhere = found(report)
    assert kinds == ["uninitialised-read"] and not elsewhere, report
    assert report.hazards[0].cause == ("sums-not-set" if "mma" in name else "variable-not-set")
    assert "Give it a value first" in report.hazards[0].message
    mended = told(body.replace("SET", mend), before=before.replace("SET", mend), **order)
    assert not [each for each in mended.hazards if each.kind == "uninitialised-read"], mended


DOES_NOT = {
    "used where it was set": "int v; if (t % 2) v = in[t]; int w = 0; if (t % 2) w = v * 3; out[t] = w;",
    "used in the same lanes, behind a loop": "int v; for (int i = 0; i < in[t]; ++i) v = in[i]; out[t] = v;",
    "the first of a search": "int best, at; for (int i = 0; i < in[t]; ++i)\n"
    "if (i == 0 || in[i] < best) { best = in[i]; at = i; } out[t] = best * at;",
    "chosen away": "int v; if (in[t] < 9) v = in[t]; out[t] = in[t] < 9 ? v * 5 + 1 : 0;",
    "computed, and dropped": "int v[4]; for (int i = 0; i < 4; ++i) if (i < in[t] % 5) v[i] = in[i];\n"
    "int sum = 0; for (int i = 0; i < 4; ++i) sum += i < in[t] % 5 ? v[i] * v[i] : 0; out[t] = sum;",
    "garbage of idle lanes, in shared memory, read by nobody": "__shared__ int s[128]; int v; if (t < 9) v = in[t];\n"
    "s[t] = v * 3 + 1; __syncthreads(); if (t < 9) out[t] = s[t];",
    "overwritten in shared memory": "__shared__ int s[128]; int v; if (t < 9) v = in[t];\n"
    "s[t] = v * 3 + 1; __syncthreads(); if (t >= 9) s[t] = t; __syncthreads(); out[t] = s[t];",
    "an item behind the end, exchanged with others": "__shared__ int s[128]; int v; if (t < 9) v = in[t]; s[t] = v;\n"
    "__syncthreads(); v = s[t / 16]; out[t] = v;",
    "one half of a word": "short2 v; v.x = (short)in[t]; out[t] = v.x * 3;",
    "a struct with a part that is not set": "struct Found { int is, at; } f; f.is = in[t] < 9;\n"
    "if (f.is) f.at = in[t] * 7; ((Found*)out)[t] = f;",
    "of lanes that a mask leaves out": "int v; if (t % 32 < 8) v = in[t];\n"
    "unsigned who = __ballot_sync(~0u, t % 32 < 8 && v > 3); out[t] = who;",
    "a value of inline PTX, under a predicate": "int v; asm volatile(\"{ .reg .pred p; setp.lt.s32 p, %1, 20;\\n\\t\"\n"
    '"@p mov.s32 %0, 5; }" : "+r"(v) : "r"(in[t])); if (in[t] < 20) out[t] = v + 1;',
    "both sides of a predicate": "int v; asm volatile(\"{ .reg .pred p; setp.lt.s32 p, %1, 20;\\n\\t\"\n"
    '"@p mov.s32 %0, 5; @!p mov.s32 %0, 6; }" : "=r"(v) : "r"(in[t])); out[t] = v + 1;',
    "rows of an mma that nobody stores": "float c[4]; c[0] = c[1] = 0;\n" + MMA
    + "out[2 * t] = (int)c[0]; out[2 * t + 1] = (int)c[1];",
}  # fmt: skip


@pytest.mark.parametrize("name", DOES_NOT)
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_what_does_not_matter_is_no_finding(name, order):
    order = order | {"block": 32} if "mma" in name else order
    report = told(DOES_NOT[name], **order)
    assert not [each for each in report.hazards if each.kind == "uninitialised-read"], report


def test_the_report_names_the_first_use_and_where_it_goes():
    report = told("int sum;\nfor (int i = 0; i < in[t] % 8 + 1; ++i) sum += in[i];  // HERE\nout[t] = sum;")
    assert "what is stored at line 14 depends on it" in report.hazards[0].message, report


def test_a_right_program_has_no_second_values():
    source = 'extern "C" __global__ void k(int* y) { int s = 0; for (int i = 0; i < y[0]; ++i) s += y[i]; y[9] = s; }'
    assert not ptxsim.compile(source, "k").code.unset.registers


def test_carries_are_of_their_own_value():
    """The second run of an add.cc leaves the carry of the first."""
    body = (
        'int v; if (t < 9) v = in[t]; unsigned low, high; asm volatile("add.cc.u32 %0, %2, %3; addc.u32 %1, 0, 0;"\n'
        ': "=r"(low), "=r"(high) : "r"(v), "r"(0xffffffff)); if (t < 9) out[t] = high;'
    )
    out = np.full(SIZE, -1, np.int32)
    report = run(body, out, np.arange(1, SIZE + 1, dtype=np.int32))
    assert report.ok and (out[:9] == 1).all(), report
