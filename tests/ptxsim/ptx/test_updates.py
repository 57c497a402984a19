"""What is an update of one place, that wants an atomic, and what is work shared on an array, that wants barriers."""

import pytest

import ptxsim
from tests.ptxsim.small_kernels import source_of

SHARED = "__shared__ int s[64]; s[t] = in[t]; __syncthreads();\n"
UPDATES = {
    "a bin": ("out[in[t]] += 1;", "atomicAdd()"),
    "a bin, less": ("out[in[t]] -= in[t + 64];", "atomicSub()"),
    "of an array in shared memory": (SHARED + "s[in[t + 64]] += 2;", "atomicAdd()"),
    "a minimum under a test": (
        "if (in[t] < out[in[t + 64]]) out[in[t + 64]] = in[t];",
        "atomicMin() or atomicMax()",
    ),
    "a mark": ("if (out[in[t]] == 0) out[in[t]] = t;", "atomicMin() or atomicMax()"),
    "bits": ("out[in[t]] ^= t;", "atomicXor()"),
    "a sum over a loop": ("for (int i = 0; i < in[64]; i++) out[3] += in[i];", "atomicAdd()"),
    "a product": ("out[0] *= in[t];", "atomicCAS()"),
    "a float": ("((float*)out)[in[t]] -= 2.5f * in[t + 64];", "atomicAdd()"),
    "under a test, by an atomic": (
        "if (in[t] < out[0]) atomicMin(out, in[t]);",
        "atomicMin() or atomicMax()",
    ),
}
NONE = {
    "a scan": SHARED + "for (int d = 1; d < 64; d *= 2) { if (t >= d) s[t] += s[t - d]; __syncthreads(); }\n"
    "out[t] = s[0];",
    "a sum": SHARED + "for (int d = 32; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }\nout[t] = s[0];",
    "a swap": SHARED + "for (int d = 32; d; d /= 2) { int p = t ^ d; if (p > t && s[t] > s[p]) "
    "{ int v = s[t]; s[t] = s[p]; s[p] = v; } __syncthreads(); }\nout[t] = s[t];",
    "a transform in place": "int a = out[t], b = out[t + 64]; out[t] = a + b; out[t + 64] = a - b;",
    "shortest ways": "__shared__ int d[8][8]; int i = t / 8, j = t % 8; d[i][j] = in[t]; for (int k = 0; k < 8; k++) "
    "{ __syncthreads(); d[i][j] = min(d[i][j], d[i][k] + d[k][j]); } out[t] = d[i][j];",
    "neighbours": SHARED + "s[t] = (s[t] + s[(t + 1) % 64]) / 2; out[t] = s[t];",
    "another place": "out[t] = in[t] + 1; out[t + 64] = out[63 - t] + 1;",
    "a place of which the number is read": "out[in[t]] = t;",
}  # fmt: skip


def updates(body: str) -> list[str]:
    kernel = ptxsim.compile(source_of(body), "k", ("-arch=sm_80",))
    return [update.atomic for update in kernel.code.updates]


@pytest.mark.parametrize("name", UPDATES)
def test_an_update_has_its_atomic(name):
    body, atomic = UPDATES[name]
    assert [each.partition(",")[0].startswith(atomic) for each in updates(body)] == [True]


@pytest.mark.parametrize("name", NONE)
def test_work_on_an_array_is_none(name):
    assert not updates(NONE[name])
