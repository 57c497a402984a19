"""Who does what a report says is done: for each sentence a kernel that gets it, and the same kernel mended."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import ptxsim
from ptxsim.ground import memory, work
from ptxsim.instructions import asserts, control, copy_async, tensor, wmma
from ptxsim.instructions import barrier as barrier_instructions
from ptxsim.instructions import mbarrier as mbarrier_instructions
from ptxsim.instructions import registers as register_instructions
from ptxsim.machine import stuck
from ptxsim.races import advice, findings, sentences, words_of_tensor_memory, wrong_place
from ptxsim.units import barriers, divergence, mbarriers, registers, unset
from tests.ptxsim.races.mended import CASES, Mended
from tests.ptxsim.races.mended_ends import CASES as ENDS
from tests.ptxsim.small_kernels import source_of
from tests.sample import one_in

ORDERS = (None, 1, 2, 3, 4)
FITS = {
    name: re.compile(re.sub(r"\\\{.*?\\\}", ".+?", re.escape(words)).replace(r"\ ", " "), re.S)
    for name, words in sentences.MENDS.items()
}
"""By the name of a sentence, what it may look like in a report."""


def run(case: Mended, mended: bool, seed: int | None) -> tuple[ptxsim.Report, np.ndarray]:
    bounds = f"__cluster_dims__({case.cluster}) " if case.cluster > 1 else case.bounds
    source = source_of(case.form(mended), before=case.before).replace(" void k(", f" void {bounds}k(")
    out = np.full(256, -1, np.int32)
    block = case.blocks[mended] if case.blocks else case.block
    kernel = ptxsim.compile(source, "k", case.options)
    report = ptxsim.launch(
        kernel,
        case.grids[mended],
        block,
        (out, np.arange(256, dtype=np.int32)),
        case.shared[mended],
        case.steps[mended],
        seed,
        case.cooperative[mended],
        case.turns[mended],
    )
    return report, out


def told(case: Mended, report: ptxsim.Report) -> bool:
    fits = FITS.get(case.says, re.compile(re.escape(case.says)))
    return any(fits.search(each.message) and case.words in each.message for each in report.hazards)


@pytest.mark.parametrize("case", one_in(4, [*CASES, *ENDS]), ids=lambda case: case.says)
def test_who_does_what_it_says_is_done(case):
    reports = [run(case, False, seed)[0] for seed in ORDERS]
    assert any(told(case, report) for report in reports), "\n".join(map(str, reports))
    assert not any(report.ok for report in reports), "\n".join(map(str, reports))
    left = []
    for seed in ORDERS:
        report, out = run(case, True, seed)
        assert report.ok and not report.notes, report
        left.append(out)
    assert case.chance or all(np.array_equal(out, left[0]) for out in left)


def test_every_sentence_is_tried():
    assert {case.says for case in CASES} == sentences.MENDS.keys()


def test_no_sentence_stands_elsewhere():
    """What decides about advice calls `mend`, and has no words of its own; every sentence is called for."""
    named = set()
    for module in (advice, wrong_place, findings, divergence, words_of_tensor_memory):
        tree = ast.parse(Path(module.__file__).read_text())
        texts = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        named |= sentences.MENDS.keys() & set(texts)
        docs = {getattr(node.value, "value", "") for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        if module in (advice, wrong_place):
            assert not [text for text in texts if len(text.split()) > 7 and text not in docs], module
    assert named == sentences.MENDS.keys()


ENDINGS = (
    memory,
    work,
    barriers,
    mbarriers,
    registers,
    unset,
    stuck,
    asserts,
    control,
    copy_async,
    tensor,
    wmma,
)
ENDINGS += (barrier_instructions, mbarrier_instructions, register_instructions)
NOT_TRIED = {
    "which is memory of the host": "`ptxsim run` alone says it",
    "which was freed before": "the same",
    "the memory that cooperative groups": "a place",
    ", and for a good part of it": "it takes fifteen seconds",
    "recursion: device function": "the simulator has none: test_calls.py",
    "jumps to target": "no C++ makes such a table",
    "the targets of brx.idx": "the same, of PTX by hand",
    "wait_group takes": "the compiler refuses it before",
    "its operands are": "of inline PTX that no assembler takes",
    "mma.sync with these types": "the same",
    ": ptxas ignores setmaxnreg": "a note",
}
"""Sentences by how they begin, and why nobody mends them here."""


def texts_of(module) -> list[tuple[str, ...]]:
    """Its sentences, of more than six words: of each the parts between what is filled in. What the simulator does not
    know is none, and neither are notes."""
    tree = ast.parse(Path(module.__file__).read_text())
    whole = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    within = {id(part) for node in whole for part in ast.walk(node) if part is not node}
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = [tuple(part.value for part in node.values if isinstance(part, ast.Constant)) for node in whole]
    found += [
        (node.value,)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in within | docs
    ]
    return [
        parts for parts in found if len(" ".join(parts).split()) > 6 and "simulate" not in " ".join(parts)
    ]


def test_every_sentence_of_an_ending_is_tried():
    messages = "\n".join(each.message for case in ENDS for each in run(case, False, None)[0].hazards)
    missing = [
        (module.__name__, parts)
        for module in ENDINGS
        for parts in texts_of(module)
        if not any(part.strip(". ,") in messages for part in parts if len(part.split()) > 2)
        and not "".join(parts).startswith(tuple(NOT_TRIED))
    ]
    assert not missing, "\n".join(map(str, missing))
