"""Every form of a pure instruction has a case: each modifier that its builder takes, and each type.

What a builder takes it says to `Opcode.only`, so it is asked while the cases are built.
"""

import pytest

from ptxsim.instructions import forms
from ptxsim.instructions.registry import PURE
from ptxsim.ptx.opcode import Opcode
from tests.kernels import instruction_cases, newer
from tests.ptxsim.instructions import exact
from tests.ptxsim.instructions.test_instructions import APPROXIMATIONS, OF_HALVES

ELSEWHERE = {("cvt", "satfinite"): "cvt.rn.satfinite."}
"""Of a form that is tried by a kernel of tests/kernels/newer.py alone: the kernel's text."""
NOT_THERE = {("tanh", "ftz"): "PTX has no such form"}
"""What a builder takes along, and why no case has it."""


def cases() -> set[str]:
    """The opcodes that are tried with numbers."""
    frozen = (word.rstrip(";") for form in instruction_cases.every_form() for word in form.text.split())
    return {
        word
        for word in (*exact.CASES, *APPROXIMATIONS, *OF_HALVES, *frozen)
        if word.partition(".")[0] in PURE
    }


def without_a_case(cases: set[str], monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """(root, modifier or type) of each that is known to a builder and stands in no opcode of the cases."""
    known = {(root, kind) for root, types in forms.FORMS.items() for kind in types}
    plain = Opcode.only

    def only(op: Opcode, *allowed: str) -> None:
        known.update((op.root, modifier) for modifier in allowed)
        plain(op, *allowed)

    monkeypatch.setattr(Opcode, "only", only)
    tried = set()
    for op in map(Opcode, cases):
        PURE[op.root](op)
        tried |= {(op.root, word) for word in op.modifiers}
    return known - tried


def test_every_form_of_an_instruction_has_a_case(monkeypatch):
    missing = without_a_case(cases(), monkeypatch) - NOT_THERE.keys() - ELSEWHERE.keys()
    named = ", ".join(f"{root} with .{word}" for root, word in sorted(missing))
    assert not missing, (
        f"no case tries {named}. What the PTX manual says of "
        "it is written into tests/ptxsim/instructions/exact.py, and, to be compared with a GPU, into "
        "tests/kernels/instruction_cases.py"
    )
    texts = "".join(case.source for case in newer.CASES)
    assert all(text in texts for text in ELSEWHERE.values())


def test_a_new_form_of_an_old_root_is_missed(monkeypatch):
    """A modifier and a type that PTX has not, so that they stay without a case."""
    tried = {word for op in map(Opcode, cases()) if op.root == "lop3" for word in op.modifiers}
    monkeypatch.setitem(forms.FORMS, "lop3", dict(forms.FORMS["lop3"]))
    forms.form("lop3", "b32", "b0", modifiers=("no_such", *tried))(lambda op: None)
    assert {("lop3", "no_such"), ("lop3", "b0")} <= without_a_case(cases(), monkeypatch)


def test_no_exception_is_stale(monkeypatch):
    assert NOT_THERE.keys() | ELSEWHERE.keys() <= without_a_case(cases(), monkeypatch)
