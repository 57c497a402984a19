"""Each case of this folder: the faulty form gets its word at its line, the mended one runs clean, and its numbers are right."""

import shutil

import pytest

from ptxsim.program import compile as compiler
from tests.bugs import blackwell, blocks, cupy_traps, first_contact, hopper, memory, shared, warps
from tests.bugs.judge import judged
from tests.sample import one_in

THEMES = (shared, warps, blocks, memory, hopper, blackwell, cupy_traps, first_contact)
DEVIATES = {
    # lenient, and races.md says why
    "hopper: arrival at the peer's mbarrier with scope .cta: what it releases is not for the peer (its page calls this lenient)",
}
"""Cases that are not judged as they should be."""
CASES = [
    pytest.param(case, id=name, marks=pytest.mark.xfail(strict=True) if name in DEVIATES else ())
    for theme in THEMES
    for case in theme.CASES
    for name in [f"{theme.__name__.rpartition('.')[2]}: {case.name}"]
]


def nvcc() -> bool:
    try:
        return bool(shutil.which("g++") and compiler.toolkit())
    except compiler.BuildError:
        return False


@pytest.mark.parametrize("case", one_in(4, CASES))
def test_a_bug(case):
    if isinstance(case, first_contact.First) and case.typed.startswith("run") and not nvcc():
        pytest.skip("no g++ or nvcc")
    good, told = judged(case)
    assert good, told


def test_no_two_cases_have_one_name():
    names = [case.id for case in CASES]
    assert len(set(names)) == len(names) > 80 and set(names) >= DEVIATES
