"""deeper/10_fastest's kernel, causal and with shared keys, and what the check says of wrong masks."""

import pytest

from course_lib.check.attention import Attention
from course_lib.check.verdict import CheckFailed
from course_lib.lessons import sources
from tests.lessons import kernel

SOURCE = sources.kernel_source("deeper/10_fastest", "fastest")
LAUNCH = sources.kernel_launch("deeper/10_fastest", "fastest")
CAUSAL = ("CAUSAL = false", "CAUSAL = true")
MASK = "sees + i / 2 % 2 * lower"
WRONG = {
    "the key behind the query, too": ("mask-one-more", [(MASK, f"{MASK} + 1")]),
    "not the query's own key": ("mask-one-less", [(MASK, f"{MASK} - 1")]),
    "queries and keys counted from the first": (
        "mask-from-the-first",
        [("more = keys - queries + 1", "more = 1")],
    ),
    "the lower row as the upper one": ("wrong-numbers", [(MASK, "sees")]),
    "a mask in the last tile alone": (
        "wrong-numbers",
        [("if ((tile + 1) * KEYS > all_see)", "if (count == 0)")],
    ),
    "infinity minus infinity": ("not-stored", [("UNSEEN = -0x1p100f", "UNSEEN = -1.0f / 0.0f")]),
    "rows behind the last one are stored": (
        "out-of-bounds|wrong-numbers",
        [("if (row < rows)", "if (true)")],
    ),
    "keys of the next head": (
        "wrong-numbers",
        [("all_see = CAUSAL ? min(keys, query + more) : keys", "all_see = 1 << 30")],
    ),
    "no shared keys": ("wrong-numbers|one-head", [("head / GROUP * keys", "head % GROUP * keys")]),
}


def problem(**form) -> Attention:
    return Attention(4, 400, 400, any_length=True, **form)


def changed(*changes: tuple[str, str]):
    return kernel(sources.edited(SOURCE, *changes), "fastest")


@pytest.mark.parametrize("form", [{}, {"causal": True}, {"causal": True, "group": 2}], ids=str)
def test_each_form_is_right(form: dict):
    changes = [CAUSAL] if "causal" in form else []
    changes += [("GROUP = 1", "GROUP = 2")] if "group" in form else []
    assert "check passed" in problem(**form).check(changed(*changes), LAUNCH)


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_one_is_told_what_is_wrong(what: str):
    words, changes = WRONG[what]
    shared = [("GROUP = 1", "GROUP = 2")] if "shared" in what else []
    with pytest.raises(CheckFailed) as failed:
        problem(causal=True, group=1 + len(shared)).check(changed(CAUSAL, *shared, *changes), LAUNCH)
    said = [*failed.value.causes, *(hazard.kind for hazard in failed.value.hazards)]
    assert set(words.split("|")) & set(said), (said, str(failed.value))
