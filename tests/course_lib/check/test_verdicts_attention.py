"""`Attention`: its exact inputs, and its verdicts on a right kernel and on wrong ones."""

import numpy as np
import pytest

from course_lib import HOPPER, cp
from course_lib.check.attention import Attention, D
from course_lib.check.attention_mistakes import ONLINE, UNSEEN, Form, Online, attention
from course_lib.check.kinds import of_record
from course_lib.check.verdict import CheckFailed
from course_lib.lessons import sources

SOURCE = sources.kernel_source("10_attention", "in_turn")
LAUNCH = sources.kernel_launch("10_attention", "in_turn")
PROBLEM = Attention(16, 4096, 4096)
RESCALE_AND_PACK = """            rescale(o, factor);
            pack(weights, scores);
"""
RESCALE, PACK = RESCALE_AND_PACK.splitlines(keepends=True)
SOFTMAX = "            softmax(scores, most, sum, factor, scale);\n"
FACTOR = "factor[h] = exp2_of((most[h] - largest) * scale);"
WAIT = "            wgmma_wait<0>();\n"
SCORES, VALUES = "start_scores(scores, s.Q[mine], s.K[slot]);\n", "start_values(o, weights, s.V[slot]);\n"
TURNS = """tile < tiles; ++tile) {
            int slot = tile % SLOTS, turn = tile / SLOTS;
            float"""
SUM_OF_OTHERS = """            float before[2] = {sum[0], sum[1]};
            softmax(scores, most, sum, factor, scale);
            for (int h = 0; h < 2 && tile == tiles - 1; ++h) sum[h] = before[h] * factor[h];
"""
WRONG: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "O is not rescaled": ("o-not-rescaled", [(RESCALE_AND_PACK, PACK)]),
    "nothing is rescaled": ("no-rescale", [(FACTOR, "factor[h] = 1;")]),
    "O is rescaled twice": ("rescaled-twice", [(RESCALE_AND_PACK, 2 * RESCALE + PACK)]),
    "the sum is not rescaled": ("sum-not-rescaled", [("        sum[h] *= factor[h];\n", "")]),
    "the tile's maximum, without factors": (
        "tile-maximum",
        [("float largest = most[h];", "float largest = -1e30f;"), (FACTOR, "factor[h] = 1;")],
    ),
    "a maximum of one thread": ("wrong-numbers", [("        largest = largest_of_row(largest);\n", "")]),
    "a sum of one thread": ("wrong-numbers", [("1 / sum_of_row(sum[h])", "1 / sum[h]")]),
    "no division": ("not-divided", [("        rescale(o, factor);\n        store", "        store")]),
    "without the last tile": ("no-last-tile", [(TURNS, TURNS.replace("tiles;", "tiles - 1;"))]),
    "a sum without the last tile": ("sum-misses-last", [(SOFTMAX, SUM_OF_OTHERS)]),
    "head 0's keys for all": ("one-head", [("first = blockIdx.y * keys", "first = 0")]),
    "the scale left out": ("random-data", [("weight * scale - largest * scale", "weight - largest")]),
    "infinity minus infinity": (
        "not-stored",
        [
            ("{-1e30f, -1e30f}", "{-1e30f * 1e30f, -1e30f * 1e30f}"),
            (FACTOR, FACTOR.replace("largest", "most[h]")),
        ],
    ),
    "softmax before its scores": ("unwaited-wgmma", [(SCORES + WAIT, SCORES)]),
    "the next turn before its values": ("unwaited-wgmma", [(VALUES + WAIT, VALUES)]),
    "values before they have come": (
        "unwaited-copy",
        [("            mbarrier_wait(&s.v_full[slot], turn % 2);\n", "")],
    ),
}


def kernel(*changes: tuple[str, str]):
    text = SOURCE
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return cp.RawKernel(text, "in_turn", options=HOPPER)


def test_a_right_kernel_passes():
    assert "exact for 1 to 8 k-tiles" in PROBLEM.check(kernel(), LAUNCH)


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_kernel_is_told_what_is_wrong(what: str):
    word, changes = WRONG[what]
    with pytest.raises(CheckFailed) as failed:
        PROBLEM.check(kernel(*changes), LAUNCH)
    said = [*failed.value.causes, *(hazard.kind for hazard in failed.value.hazards)]
    assert word in said, (said, str(failed.value))


@pytest.mark.parametrize(
    ("heads", "queries", "keys", "form"),
    [
        (2, 64, 128, {}),
        (1, 128, 384, {}),
        (1, 64, 4096, {}),
        (2, 165, 339, {"causal": True}),
        (2, 300, 300, {"causal": True, "group": 2}),
    ],
)
def test_exact_inputs_are_exact(heads: int, queries: int, keys: int, form: dict):
    """Weights are powers of two, a row of them sums to one, and no float32 of any order of tiles is rounded."""
    exact = Attention(heads, queries, keys, **form).exact()
    Q, K, V = exact.integers(seed=3)
    q, k, _ = next(exact.form.of_each_head(Q, K, V))
    scores = exact.form.scores(q, k)
    seen = np.arange(keys) < exact.form.sees(queries, keys)[:, None]
    assert (seen == (scores != UNSEEN)).all() and (not form or not seen.all())
    weights = np.exp2(scores)
    sums = np.log2(weights.sum(axis=1))
    assert (scores == scores.round()).all() and (sums == sums.round()).all()
    weights[weights < 2.0**-100] = np.nan
    smallest, largest = np.nanmin(weights, axis=1), np.nanmax(weights, axis=1)
    assert (np.nansum(weights, axis=1) * abs(V).max() / smallest < 2**24).all()
    assert (smallest / largest >= 2.0**-24).all()
    expected = exact.expected(Q, K, V)
    assert expected.shape == (heads * queries, D) and (expected != 0).mean() > 0.9


def test_a_largest_score_often_stands_behind_the_first_tile():
    """Else no wrong factor would show."""
    for form in {}, {"causal": True}:
        exact = Attention(1, 384, 384, **form).exact()
        q, k, _ = next(exact.form.of_each_head(*exact.integers(seed=0)))
        assert (exact.form.scores(q, k).argmax(axis=1) >= 128).mean() > 0.1, form


def test_a_record_knows_its_form():
    for form in {}, {"causal": True}, {"group": 4}, {"causal": True, "group": 2}:
        problem = Attention(8, 256, 512, **form)
        assert repr(of_record(problem.record())) == repr(problem)
        assert of_record(problem.record()).form == problem.form


def test_every_mistake_makes_other_numbers():
    """Of three tiles, each mistake another one than all others."""
    random = np.random.default_rng(1)
    scores, V = random.normal(0, 3, (64, 96)), random.normal(0, 1, (96, 16))
    right = attention(np.eye(64), scores.T, V, Form(1, 1.0))
    assert np.allclose(Online()(scores, V, 32), right)
    made = [solve(scores, V, 32) for _, _, solve in ONLINE]
    for at, one in enumerate(made):
        assert all(abs(one - other).max() > 0.1 for other in [right, *made[:at]]), ONLINE[at][0]


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="start at 1"):
        Attention(0, 128, 128)
    with pytest.raises(ValueError, match="multiple of 64"):
        Attention(1, 96, 128).grid(LAUNCH)


def test_forms_are_checked():
    with pytest.raises(ValueError, match="group=3 divides"):
        Attention(4, 64, 128, group=3)
    with pytest.raises(ValueError, match="see no key"):
        Attention(4, 256, 128, causal=True)
    causal = Attention(4, 100, 100, causal=True, any_length=True)
    assert causal.grid(LAUNCH) == (2, 4) and causal.like(64, 128, 32).keys == 64


def test_flops_and_bytes():
    problem = Attention(2, 256, 512)
    assert problem.flops == 2 * 2 * 2 * 256 * 512 * 128
    assert problem.operands == 2 * 128 * (2 * 256 + 2 * 2 * 512)
    assert Attention(2, 256, 512, group=2).operands == 2 * 128 * (2 * 256 + 2 * 512)
    assert Attention(1, 4, 6, causal=True).flops == 4 * 128 * (3 + 4 + 5 + 6)
    assert problem.record() == {"shape": [2, 256, 512], "dtype": "float16", "layout": "heads of 128"}
