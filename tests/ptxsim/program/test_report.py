"""The words of a report on a whole program."""

import pytest

from ptxsim.program.report import Leak, ProgramReport


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((1,), "note: 1 byte was never freed: 1 byte at x.cu:3"),
        ((64, 4096), "note: 4,160 bytes were never freed: 64 bytes at x.cu:3, 4,096 bytes at x.cu:3"),
    ],
)
def test_memory_that_was_never_freed(sizes, words):
    report = ProgramReport("x", leaks=tuple(Leak(size, "x.cu:3") for size in sizes))
    assert words in report.lines()
