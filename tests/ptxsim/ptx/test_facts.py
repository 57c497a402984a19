"""Every instruction has one row with its facts, and whoever asks for facts reads that row."""

from dataclasses import fields

import pytest

from ptxsim.instructions.registry import CONTROL, MACHINE, PURE
from ptxsim.machine import decode  # noqa: F401, it registers all instructions
from ptxsim.observe.counters import Counts
from ptxsim.ptx.facts import FACTS, Facts, root_of
from ptxsim.ptx.opcode import Opcode


def without_row(registered: set[str], pure: set[str]) -> list[str]:
    return sorted(registered - pure - set(FACTS))


def test_every_instruction_has_a_row():
    assert without_row({*MACHINE, *CONTROL}, set(PURE)) == [], "give each a row in ptxsim/ptx/facts.py"


def test_every_row_is_of_an_instruction():
    assert sorted(set(FACTS) - {*PURE, *MACHINE, *CONTROL}) == []


def test_an_instruction_without_a_row_is_found():
    assert without_row({*MACHINE, "teleport"}, set(PURE)) == ["teleport"]


def test_a_pure_one_touches_no_memory_and_waits_for_nobody():
    wrong = [
        root
        for root in set(FACTS) & set(PURE)
        if FACTS[root].reads or FACTS[root].writes or FACTS[root].trace or FACTS[root].waits_for
    ]
    assert wrong == []


def test_what_an_instruction_counts_as_is_a_field():
    known = {field.name for field in fields(Counts)}
    assert {name for facts in FACTS.values() for name in (facts.counted_as, facts.shared_as)} - {""} <= known


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("bar.warp.sync", "bar.warp"),
        ("bar.sync", "bar"),
        ("st.async.weak.b32", "st.async"),
        ("add.s32", "add"),
    ],
)
def test_a_root_has_two_words_where_a_row_has(text, root):
    assert root_of(text) == root


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 1.0),
        ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 0.67),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 1.0),
        ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 1.0),
        ("fma.rn.f32", 0.0),
    ],
)
def test_an_mma_is_priced_by_the_bytes_of_its_depth(text, cost):
    assert Opcode(text).facts.mma(text) == cost


def test_an_instruction_without_a_row_is_pure():
    assert Opcode("add.s32").facts == Facts()
