"""Masks: lanes that are named and never come, and masks that chance makes."""

import pytest

from tests.ptxsim.small_kernels import found, run_on_numbers

SM_80 = ("-arch=compute_80",)
TILE = "__shared__ int s[64]; s[t] = in[t];\n"


def run(body, **more):
    return run_on_numbers(body, options=SM_80, **more)


NAMED_AND_ABSENT = {
    "shuffle": "int v = in[t]; if (t < 16)\nv = __shfl_sync(~0u, v, 3); // HERE\nout[t] = v;",
    "ballot": "int v = in[t]; if (t % 2)\nv = __ballot_sync(~0u, v > 3); // HERE\nout[t] = v;",
    "syncwarp": TILE
    + "if (t < 16) { s[t] += 1;\n__syncwarp(); // HERE\nout[t + 32] = s[15 - t]; }\nout[t] = t;",
    "reduction": "int v = in[t]; if (v % 3)\nv = __reduce_add_sync(~0u, v); // HERE\nout[t] = v;",
    "a-loop-that-some-leave-earlier": "int v = 0;\n#pragma unroll 1\nfor (int i = t; i < in[40]; i += 32)\n"
    "v += __shfl_xor_sync(~0u, in[i], 1); // HERE\nout[t] = v;",
    "a-mask-of-too-many": "int v = in[t]; if (t < 8)\nv = __shfl_sync(0xffff, v, 3); // HERE\nout[t] = v;",
}
ALL_COME = {
    "who-has-left-before": "if (t < 16) return; out[t] = __shfl_sync(~0u, in[t], 20);",
    "a-ballot-before-the-branch": "int v = in[t]; unsigned m = __ballot_sync(~0u, t < 16);\n"
    "if (t < 16) v = __shfl_sync(m, v, 3); out[t] = v;",
    "both-ways": "int v = in[t]; if (t % 32 < 16) v = __shfl_sync(0xffff, v, 3); \n"
    "else v = __shfl_sync(0xffff0000, v, 20);\nout[t] = v;",
    "a-branch-of-whole-warps": "int v = in[t]; if (t < 32) v = __shfl_sync(~0u, v, 3); out[t] = v;",
    "a-loop-of-one-length": "int v = 0;\n#pragma unroll 1\nfor (int i = t; i < in[64]; i += 32)\n"
    "v += __shfl_xor_sync(~0u, in[i], 1);\nout[t] = v;",
    "halves-in-the-block's-last-warp": "int v = in[t]; if (t >= 40) return;\nfor (int i = 0; i < 3; ++i)\n"
    "v += __shfl_xor_sync(~0u, v, 4); out[t] = v;",
}


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("name", NAMED_AND_ABSENT)
def test_a_lane_that_is_named_and_never_comes(name, seed):
    report, _ = run(NAMED_AND_ABSENT[name], seed=seed)
    assert found(report) == (["warp-mask"], set()), str(report)
    assert report.hazards[0].cause == "lane-passes-by"


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("name", ALL_COME)
def test_all_that_are_named_come(name, seed):
    report, _ = run(ALL_COME[name], seed=seed, block=64)
    assert report.ok and not report.notes, str(report)


BY_CHANCE = {
    "syncwarp": TILE + "if (s[t] % 3) { unsigned m = __activemask(); s[t + 32] = s[t]; __syncwarp(m);\n"
    "out[t] = s[31 + __ffs(m)]; }",
    "shuffle": "int v = in[t]; if (v % 3) out[t] = __shfl_sync(__activemask(), v, __ffs(__activemask()) - 1);",
    "ballot": "int v = in[t]; if (t < 16) { unsigned m = __activemask() & 0xffff; out[t] = __ballot_sync(m, v); }",
    "sum": "int v = in[t]; if (t >= 5) out[t] = __reduce_add_sync(__activemask(), v);",
}
NO_CHANCE = {
    "a-whole-warp": "int v = in[t]; out[t] = __shfl_sync(__activemask(), v, 4);",
    "only-counted": "int v = in[t]; if (v % 3) out[t] = v + 0 * __popc(__activemask());",
    "cooperative-groups": "auto g = cooperative_groups::coalesced_threads(); if (in[t] % 3) {\n"
    "auto h = cooperative_groups::coalesced_threads(); out[t] = h.any(1) + g.size() - 32; }",
}


@pytest.mark.parametrize("name", BY_CHANCE)
def test_a_mask_that_chance_makes_gets_a_word(name):
    report, usual = run(BY_CHANCE[name])
    assert report.ok and report.hazards == (), str(report)
    assert len(report.notes) >= 1 and all("__activemask()" in note for note in report.notes)
    assert "note: " in str(report) and "note: " in report._repr_html_()
    others = [run(BY_CHANCE[name], seed=seed)[1] for seed in range(6)]
    assert any((other != usual).any() for other in others), "another order splits the branch"


@pytest.mark.parametrize("name", NO_CHANCE)
def test_a_mask_that_chance_does_not_make(name):
    before = "#include <cooperative_groups.h>\n" if name == "cooperative-groups" else ""
    report, _ = run(NO_CHANCE[name], before=before)
    assert report.ok and not report.notes, str(report)


def test_what_holds_for_any_mask_holds_in_every_order():
    """One lane of those that run together adds for all (NVIDIA: opportunistic warp-level programming)."""
    body = (
        "if (in[t] % 3) { unsigned m = __activemask(); int first = __ffs(m) - 1, at = 0;\n"
        "if (t == first) at = atomicAdd(&out[255], __popc(m));\n"
        "at = __shfl_sync(m, at, first); out[at + 1 + __popc(m & ((1u << t) - 1))] = 1; }"
    )
    for seed in (None, 0, 1, 2, 3):
        report, out = run(body, seed=seed)
        assert report.ok, str(report)
        assert (out[:21] == 1).all() and (out[21:255] == -1).all()
