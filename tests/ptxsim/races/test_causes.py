"""A finding carries its cause as a word: a declared one, and the right one."""

import pytest

from ptxsim.races.hazards import CAUSES, KINDS, Hazard
from ptxsim.units.mbarriers import Lack, cause_of_deadlock
from tests.ptxsim.small_kernels import run_on_numbers

TILE = "__shared__ int tile[64];\n"
MBARRIER = "__shared__ unsigned long long bar;\n"
INIT = 'asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(unsigned(__cvta_generic_to_shared(&bar))));\n'
ARRIVE = INIT.replace("init.shared.b64 [%0], 1", "arrive.shared.b64 _, [%0]")


def test_a_word_is_declared_once():
    words = [each.name for each in KINDS + CAUSES]
    assert len(words) == len(set(words))


@pytest.mark.parametrize(("kind", "cause"), [("trap", "no-bariere"), ("no-barrier", "no-barrier")])
def test_a_finding_has_a_declared_kind_and_cause(kind, cause):
    with pytest.raises(ValueError, match="no declared kind and cause"):
        Hazard(kind, cause, 1, None, "words")


@pytest.mark.parametrize(
    ("cause", "body"),
    [
        ("no-barrier", TILE + "tile[t] = t; __syncthreads(); out[t] = tile[t ^ 32]; tile[t] = 0;"),
        ("two-writers", TILE + "tile[t / 2] = t; out[t] = tile[t / 2];"),
        ("never-written", TILE + "out[t] = tile[t];"),
        ("local-array", "int mine[9]; for (int i = 0; i < in[t] % 2; i++) mine[i] = i; out[t] = mine[in[t] % 9];"),
        ("not-in-own-mask", "out[t] = __shfl_sync(0xfffffffeu, t, 1);"),
        ("beyond-shared-memory", TILE + "tile[t + in[1]] = t; __syncthreads(); out[t] = tile[in[t]];"),
        ("read-beyond-array", "out[t] = in[t + (1 << 20)];"),
        ("write-beyond-array", "out[t + (1 << 20)] = in[t];"),
        ("no-array", "out[t] = *(int*)(long long)in[0];"),
        ("different-counts", "if (t < 32) BAR(1, 64); else BAR(1, 96); out[t] = t;"),
        ("part-of-warps", "BAR(1, 33); out[t] = t;"),
        ("no-mbarrier", MBARRIER + ARRIVE),
        ("mbarrier-made-again", MBARRIER + "for (int i = 0; i < in[0] + 2; ++i) { if (t == 0)\n" + INIT + "}"),
        ("too-many-arrivals", MBARRIER + "if (t)\nreturn;\n" + INIT + ARRIVE.replace("_, [%0]", "_, [%0], 2")),
        ("unknown-mbarrier", MBARRIER + "if (t == 0)\n" + INIT + "__syncwarp(); if (t == 32)\n" + ARRIVE),
        ("trap", "__trap();"),
        ("deadlock", "if (t < 32) BAR(1, 64); out[t] = t;"),
    ],
)  # fmt: skip
def test_the_cause_says_what_is_missing(cause, body):
    """Of copies and barriers: test_messages.py."""
    report, _ = run_on_numbers(body, block=64)
    assert report.hazards[0].cause == cause, report


ONE, MANY, BYTES = Lack("", 0, 1, 0), Lack("", 1, 3, 0), Lack("", 0, 0, 64)


@pytest.mark.parametrize(
    ("cause", "lacks"),
    [
        ("missing-arrivals-and-bytes", [BYTES, Lack("", 0, 1, 64)]),
        ("missing-bytes", [MANY, BYTES]),
        ("missing-arrivals", [ONE, MANY]),
        ("stuck-in-first-phases", [ONE, ONE]),
        ("missing-arrival", [ONE]),
        ("", []),
    ],
)
def test_a_deadlock_at_mbarriers_says_what_they_lack(cause, lacks):
    assert cause_of_deadlock(lacks) == cause
