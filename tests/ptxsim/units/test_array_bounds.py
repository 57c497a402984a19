"""An index that runs out of one shared array into another, and what only looks like it."""

import pytest

from tests.ptxsim.small_kernels import found, run_on_numbers

ORDERS = [{}, {"seed": 1}, {"grid": 3, "seed": 2}]
FILL = "for (int i = t; i < 64; i += 32) { a[i] = 0; b[i] = 7; }\n__syncthreads();\n"
TWO = "__shared__ int a[64]; __shared__ int b[64];\n" + FILL
DYNAMIC = "__shared__ int a[64]; extern __shared__ int b[];\n" + FILL
TAIL = "__syncthreads(); out[t] = a[t] + a[t + 32] + b[t] + b[t + 32];"

# By name: what comes before, the faulty line and the mended one, and what the message says.
WRONG = {
    "past the end": (TWO, "a[2 * t + 2] = 1;", "a[2 * t] = 1;", "a[64], past the end of a (256 bytes)"),
    "before the beginning": (TWO, "b[t - 1] = 1;", "b[t] = 1;", "before the beginning of b (256 bytes), where a[63]"),
    "a read": (TWO, "out[t] = a[t + 33];", "out[t] = a[t + 32];", "past the end of a (256 bytes), where b[0] lies"),
    "static into dynamic": (DYNAMIC, "a[t + 48] = 1;", "a[t] = 1;", "a[64], past the end of a (256 bytes)"),
    "dynamic into static": (DYNAMIC, "b[t - 9] = 1;", "b[t] = 1;", "b[-9], before the beginning of b"),
    "an index out of memory": (TWO, "a[in[t] + 33] = 1;", "a[in[t]] = 1;", "a[64], past the end of a (256 bytes)"),
    "an index of an atomic": (TWO, "a[atomicAdd(b, 1) + 30] = 1;", "a[atomicAdd(b, 1)] = 1;", "past the end of a"),
    "an atomic": (TWO, "atomicAdd(&a[t + 33], 1);", "atomicAdd(&a[t + 32], 1);", "a[64], past the end of a"),
    "a copy": (TWO, "COPY(&a[t + 33], in + t); WAIT(0);", "COPY(&a[t + 32], in + t); COMMIT; WAIT(0);", "a[64], past"),
    "two dimensions": (
        "__shared__ int a[8][8]; __shared__ int b[64];\n"
        "for (int i = t; i < 64; i += 32) { a[i / 8][i % 8] = 0; b[i] = 7; }\n__syncthreads();\n",
        "a[t % 8 + 1][0] = 1;",
        "a[t % 8][0] = 1;",
        "a[8][0], past the end of a (256 bytes), where b[0] lies",
    ),
    "through a pointer": (TWO, "int* p = a + t; p[33] = 1;", "int* p = a + t; p[32] = 1;", "a[64], past the end of a"),
}  # fmt: skip


def tail(head):
    return TAIL.replace("a[t] + a[t + 32]", "a[t / 8][t % 8]") if "a[8]" in head else TAIL


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_into_the_array_beside_it(name, order):
    head, faulty, mended, words = WRONG[name]
    for line, right in ((faulty, False), (mended, True)):
        body = f"{head}{line}  // HERE\n{tail(head)}"
        report, _ = run_on_numbers(body, shared_mem=256 * ("extern" in head), **order)
        bounds = [hazard for hazard in report.hazards if hazard.kind == "out-of-bounds"]
        assert len(bounds) == (not right), report
        if not right:
            assert bounds[0].cause == "beyond-shared-array" and words in bounds[0].message, report
            assert bounds[0].line not in found(report)[1], report


RIGHT = {
    "one of two arrays": TWO + "int* p = in[t] % 2 ? a : b; p[in[t] + 31] = 1;\n" + TAIL,
    "two buffers that change places": TWO
    + "int *p = a, *q = b;\nfor (int i = 0; i < in[3]; ++i)\n"
    "{ p[t + 32] = i; __syncthreads(); int* r = p; p = q; q = r; }\n"
    + TAIL,
    "arrays in a struct": "__shared__ struct { int a[64], b[64]; } s; __shared__ int more[8];\n"
    "int* p = s.a; more[t % 8] = 0; p[t + 64] = t; p[t] = t; __syncthreads(); out[t] = s.b[t];",
    "a part of dynamic memory": "extern __shared__ int d[]; __shared__ int one; int *a = d, *b = d + 64; one = 0;\n"
    "a[t] = t; b[t] = t; __syncthreads(); out[t] = a[t] + d[64 + t] + one;",
    "addresses out of a table": TWO + "__shared__ int* table[2]; if (t == 0) { table[0] = a; table[1] = b; }\n"
    "__syncthreads(); table[in[t] % 2][in[t]] = 1;\n" + TAIL,
    "an integer that holds an address": TWO
    + "unsigned at = SHARED(b) + 4 * t;\nasm volatile(\"st.shared.u32 [%0], %1;\" :: \"r\"(at), \"r\"(t));\n"
    + TAIL,
    "a union of types": "__shared__ union { float f[64]; double d[64]; } s; __shared__ int one; one = 0;\ns.f[t] = t;\n"
    "__syncthreads(); int kept = (int)s.f[t ^ 1]; __syncthreads(); s.d[t] = kept; __syncthreads();\n"
    "out[t] = (int)s.d[t] + one;",
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_what_is_in_its_array(name, order):
    report, _ = run_on_numbers(RIGHT[name], shared_mem=512 * ("extern" in RIGHT[name]), **order)
    assert not [hazard for hazard in report.hazards if hazard.kind == "out-of-bounds"], report


def test_an_access_out_of_its_array_has_no_effect():
    report, out = run_on_numbers(TWO + "a[t + 33] = 1;\n__syncthreads(); out[t] = b[t]; out[t + 32] = a[t];")
    assert not report.ok and (out[:32] == 7).all()


@pytest.mark.parametrize("names", [("a", "b"), ("a",)])
def test_several_dynamic_arrays_get_a_note(names):
    declared = " ".join(f"extern __shared__ int {name}[];" for name in names)
    body = declared + "".join(f"{name}[t] = t; __syncthreads();" for name in names) + "out[t] = a[t ^ 1];"
    report, _ = run_on_numbers(body, shared_mem=512)
    assert report.ok, report
    assert bool(report.notes) == (len(names) > 1)
    assert not report.notes or "a and b are extern __shared__ arrays" in report.notes[0]


def test_a_single_array_is_bounded_by_the_block():
    report, _ = run_on_numbers("__shared__ int a[32]; a[t + 1] = t; out[t] = a[t + 1];")
    assert [hazard.cause for hazard in report.hazards] == ["beyond-shared-memory"], report
