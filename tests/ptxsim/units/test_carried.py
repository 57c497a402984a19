"""Bytes that nobody has written may be copied, as those between the members of a struct, and not used."""

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
    "double a; int b;",
    "int a; double b;",
    "double a; short b;",
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


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("members", STRUCTS)
def test_a_struct_with_padding_goes_to_global_memory(members, seed):
    """And comes back; its members are right."""
    second = " ".join(f"s[t].{name} = 2;" for name in "bc" if name <= members[-2])
    body = f"""struct P {{ {members} }};
__shared__ P s[64];
s[t].a = t; {second}
__syncthreads();
((P*)to)[64 * blockIdx.x + t] = s[63 - t];
__syncthreads();
P mine = ((P*)to)[64 * blockIdx.x + 63 - t];
y[64 * blockIdx.x + t] = (int)mine.a + (int)mine.b;"""
    y = np.full(128, -1, np.int32)
    report = run(
        body, y, np.zeros(4096, np.uint8), parameters="int* y, char* to", block=64, grid=2, seed=seed
    )
    assert report.ok, report
    assert (y == np.tile(np.arange(64), 2) + 2).all()


WORDS = "__shared__ __align__(16) unsigned char s[256];\ns[4 * t] = t;\n__syncthreads();\n"
ROW = "__shared__ __align__(16) float s[64];\nif (t % 4 < 3) s[t] = t;\n__syncthreads();\n"
ROW += "float4 v = ((float4*)s)[t % 16];"
UNUSED = {
    "a byte of a word": WORDS + "y[t] = ((unsigned*)s)[63 - t] & 0xff;",
    "a byte by a permutation": WORDS + "y[t] = __byte_perm(((unsigned*)s)[63 - t], 0, 0x4440);",
    "a word into which the rest is put": WORDS
    + "unsigned* w = (unsigned*)s;\nw[t] = (w[t] & 0xff) | 0x100;\n"
    "__syncthreads();\ny[t] = w[63 - t];",
    "three of four": ROW + "\ny[t] = v.x + v.y + v.z;",
    "the fourth under a condition": ROW
    + "\nfloat sum = v.x + v.y + v.z; if (blockDim.x == 65) sum += v.w; y[t] = sum;",
    "the fourth chosen away": ROW + "\ny[t] = v.x + (blockDim.x == 65 ? v.w * 2 : 0);",
    "half of a word by an atomic": "__shared__ __align__(4) unsigned short s[128];\ns[2 * t] = t;\n__syncthreads();\n"
    "unsigned *w = (unsigned*)s + (t + 1) % 64, old = *w, was;\n"
    "do { was = old; old = atomicCAS(w, was, (was & 0xffff0000) | ((was + 1) & 0xffff)); } while (old != was);\n"
    "__syncthreads();\ny[t] = s[2 * t];",
}
USED = {
    "a word": WORDS + "y[t] = ((unsigned*)s)[63 - t];  // HERE",
    "a sum": WORDS + "y[t] = ((unsigned*)s)[63 - t] + 1;  // HERE",
    "a branch": WORDS + "if (((unsigned*)s)[63 - t] > 99) y[t] = 1;  // HERE",
    "an address": WORDS + "y[((unsigned*)s)[63 - t] >> 4 & 63] = 1;  // HERE",
    "an atomic": WORDS + "atomicAdd(y, ((int*)s)[63 - t]);  // HERE",
    "all four": ROW + "  // HERE\ny[t] = v.x + v.y + v.z + v.w;",
    "the fourth in a loop": ROW
    + "  // HERE\nfloat sum = 0; for (int i = 0; i < y[0] + 3; ++i) sum += v.w; y[t] = sum;",
}
ORDERS = [{}, {"seed": 1}, {"seed": 2}, {"grid": 3}]


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("name", UNUSED)
def test_a_part_that_nobody_wrote_is_not_used(name, order):
    report = run(UNUSED[name].replace("y[t]", "y[64 * blockIdx.x + t]"), np.zeros(192, np.int32), parameters="int* y",
                 block=64, **order)  # fmt: skip
    assert report.ok, report


@pytest.mark.parametrize("order", ORDERS[:3], ids=str)
@pytest.mark.parametrize("name", USED)
def test_a_part_that_nobody_wrote_is_used(name, order):
    report = run(USED[name], np.ones(64, np.int32), parameters="int* y", block=64, **order)
    unwritten = [each for each in report.hazards if each.kind == "uninitialised-read"]
    assert [each.cause for each in unwritten] == ["never-written"] and len(found(report)[0]) < 3, report
    assert "// HERE" in report.kernel.source.splitlines()[unwritten[0].line - 1], report


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
