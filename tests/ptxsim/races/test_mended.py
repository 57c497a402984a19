"""Who does what a report says is done: for each sentence a kernel that gets it, and the same kernel mended."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import ptxsim
from ptxsim.races import advice, findings, sentences, wrong_place
from ptxsim.units import divergence
from tests.ptxsim.races.mended import CASES, Mended
from tests.ptxsim.small_kernels import source_of

ORDERS = (None, 1, 2, 3, 4)
FITS = {
    name: re.compile(re.sub(r"\\\{.*?\\\}", ".+?", re.escape(words)).replace(r"\ ", " "), re.S)
    for name, words in sentences.MENDS.items()
}
"""By the name of a sentence, what it may look like in a report."""


def run(case: Mended, mended: bool, seed: int | None) -> tuple[ptxsim.Report, np.ndarray]:
    cluster = f"__cluster_dims__({case.cluster}) " if case.cluster > 1 else ""
    source = source_of(case.form(mended), before=case.before).replace(" void k(", f" void {cluster}k(")
    out = np.full(256, -1, np.int32)
    block = case.blocks[mended] if case.blocks else case.block
    kernel = ptxsim.compile(source, "k", case.options)
    return ptxsim.launch(
        kernel, case.grids[mended], block, (out, np.arange(256, dtype=np.int32)), seed=seed
    ), out


def told(case: Mended, report: ptxsim.Report) -> bool:
    return any(FITS[case.says].search(each.message) and case.words in each.message for each in report.hazards)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.says)
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
    for module in (advice, wrong_place, findings, divergence):
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
