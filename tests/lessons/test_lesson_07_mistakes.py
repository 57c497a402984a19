"""The mistakes that lessons 07 and 08 name, in each of their kernels that can have them: hazard and line.

Which variants `Gemm.check` rejects stands in the rooms lesson_07_*.py and lesson_08*.py. Here the microscope is aimed:
a learner must be sent to the line that is wrong, or to the one that suffers from it.
"""

import pytest

from course_lib import Gemm
from course_lib.lessons import sources
from tests.lessons import hopper_home, kernel, replaced
from tests.sample import sample

READS_SUMS, STARTS, LOADS_A = "wgmma_m64n256k16(", "start_k_tile(", "load_rows(TM"
WAITS = "mbarrier_wait(&s.full"
_ONE_SLOT = "mbarrier_expect(&s.full, (TM + TN) * TK * sizeof(__half));"
_SLOT = "mbarrier_expect(&s.full[slot], sizeof(Slot));"
_EXIT = "    cluster_sync();                                   // until", "    // until"
RINGS = "ring", "roles", "persistent", "cluster", "complete"

MISTAKES = {
    "the other phase of full": [
        ("one_slot", "k_tile % 2)", "(k_tile + 1) % 2)", "unwaited-copy", READS_SUMS),
        *((name, "full[slot], turn % 2", "full[slot], (turn + 1) % 2", "unwaited-copy", STARTS) for name in RINGS),
    ],
    "the other phase of empty": [
        *((name, "(turn + 1) % 2", "turn % 2", "deadlock", WAITS) for name in RINGS[1:]),
    ],
    "expects nothing": [
        ("one_slot", _ONE_SLOT, "", "deadlock", WAITS),
        *((name, _SLOT, "", "deadlock", WAITS) for name in RINGS),
    ],
    "arrives and expects no bytes": [
        ("one_slot", _ONE_SLOT, "mbarrier_arrive(&s.full);", "unwaited-copy", READS_SUMS),
        *((name, _SLOT, "mbarrier_arrive(&s.full[slot]);", "unwaited-copy", STARTS) for name in RINGS),
    ],
    "too few bytes": [
        ("one_slot", "(TM + TN) * TK * sizeof", "TM * TK * sizeof", "unwaited-copy", READS_SUMS),
        *((name, "sizeof(Slot)", "sizeof(Slot) / 2", "unwaited-copy", STARTS) for name in RINGS),
    ],
    "too many bytes": [
        ("one_slot", "(TM + TN) * TK * sizeof", "(TM + TN) * TK * 2 * sizeof", "deadlock", WAITS),
        *((name, "sizeof(Slot)", "sizeof(Slot) * 2", "deadlock", WAITS) for name in RINGS),
    ],
    "frees a slot that wgmma still reads": [
        ("one_slot", "        wgmma_wait<0>();\n", "", "write-after-read", LOADS_A),
        *((name, "wgmma_wait<1>();  ", "wgmma_wait<2>();  ", "write-after-read", LOADS_A) for name in RINGS),
    ],
    "no proxy fence": [
        ("complete", "                fence_async();\n", "", "missing-proxy-fence", "store_box("),
    ],
    "leaves its cluster early": [
        *((name, *_EXIT, "exited-block", "mbarrier_arrive_at(") for name in RINGS[3:]),
    ],
}  # fmt: skip
CASES = [(mistake, *case) for mistake, cases in MISTAKES.items() for case in cases]


def report_of(name, old, new):
    """What one tile of five k-tiles finds, and the source."""
    source = replaced(sources.kernel_source(hopper_home(name), name), old, new)
    return (
        Gemm(8192, 8192, 8192, "float16").one_block(
            kernel(source, name), sources.kernel_launch(hopper_home(name), name)
        ),
        source,
    )


@pytest.mark.parametrize(
    ("name", "old", "new", "kind", "text"),
    [
        pytest.param(*case, id=f"{mistake}-{case[0]}")
        for mistake, *case in sample(CASES, lambda case: case[0])
    ],
)
def test_a_mistake_is_named_with_its_line(name, old, new, kind, text):
    report, source = report_of(name, old, new)
    first = report.hazards[0]
    assert first.kind == kind
    assert text in source.splitlines()[first.line - 1]


def test_a_deadlock_tells_the_bytes_that_were_expected_and_came():
    report, _ = report_of("roles", "sizeof(Slot)", "sizeof(Slot) * 2")
    assert "told to expect 98304 bytes, of which 49152 came" in report.hazards[0].message


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("s.A + mine * TK", "s.A + mine", "Row 64 of C is made with row 1 of A"),
        (
            "matrix_descriptor(s.B);",
            "matrix_descriptor(s.B) - (512ull >> 4 << 32);",
            "Column 8 of C is made with",
        ),
    ],
    ids=["warpgroup", "stride"],
)
def test_a_wrong_descriptor_leaves_no_hazard_and_a_word_on_the_rows(old, new, words, capsys):
    report, _ = report_of("one_slot", old, new)
    assert report.ok
    assert words in capsys.readouterr().out
