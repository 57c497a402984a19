"""What lesson 10 and its further exercises say beside their checks."""

import csv
import json
import re

from course_lib.check.attention import Attention
from course_lib.check.job import Job
from course_lib.check.verdict import ONE_BLOCK, check
from course_lib.lessons import sources
from course_lib.notebooks.answers import bank_10, lesson_10
from tests.kernels.timed.arithmetic_beside_wgmma import FILE
from tests.lessons import kernel, replaced, solved_function
from tests.lessons.reading import by_id, cells_of, text_of
from tests.rules import ROOT

SOLUTIONS = {
    cell["id"]: text_of(cell) for cell in cells_of(sources.NOTEBOOKS / "exercises" / "10_attention.ipynb")
}


def test_in_turns_results_may_go_out_through_the_slots_of_the_keys():
    """10.14: where both run ahead that is a race."""
    source = replaced(sources.kernel_source("10_attention", "turns"), "s.Q[mine], o, 3", "s.K[mine], o, 3")
    job = Job(kernel(source, "turns"), Attention(1, 128, 128), lesson_10.LAUNCH)
    assert check(job, 0, lesson_10.MOST_STEPS, ONE_BLOCK, lesson_10.HEADS_OF_TILES)


def test_the_table_of_keys_is_what_the_solution_gives():
    solution = SOLUTIONS["bank-10-keys-solution"]
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \|$", solution, re.MULTILINE)
    counted = solved_function("most_keys")
    assert [tuple(map(int, row)) for row in rows] == [
        (head, *counted(None, solution)(head, 2, 2, 200, True)) for head in (64, 128, 256)
    ]


def test_block_0_with_47_keys_before_reads_five_tiles_and_tests_two():
    assert bank_10._text(32, 47).tiles() == [(5, 3)]
    assert (
        "three whole tiles; its last one sees 79, and they lie in five. Two are"
        in SOLUTIONS["bank-10-causal-solution"]
    )
    of_many = [tiles - whole for past in range(64) for tiles, whole in bank_10._text(64, past).tiles()]
    assert {*of_many} == {2, 3}  # "a block tests two or three tiles"


def test_the_table_of_instructions_beside_a_product_is_the_record():
    record = json.loads(FILE.read_text(encoding="utf-8"))
    found = {each["instruction"]: each for each in record["points"] if each["others"] == 1}
    alone = found.pop("none")["product"]
    found.pop("IADD")  # of which ptxas makes IMAD and IADD3, three to two
    text = text_of(by_id("10_attention")["turns-read"])
    assert f"| nothing | {alone:.0f} | | | |" in text
    for name, each in found.items():
        costs = (each["product"] - alone) * each["each"] / each["product"]
        cycles = f"{each['each']:.2f} | {each['alone']:.2f} | {costs:.2f}"
        assert f", {name} | {each['product']:,.0f} | {cycles} |" in text
    assert text.count("\n| ") == 2 + len(found)
    assert f"({record['gpu']}, {record['date']}, `research/record_arithmetic_beside_wgmma.py`)" in text


def test_what_a_mark_moved_is_that_of_the_timelines():
    rows = csv.DictReader((ROOT / "docs" / "timelines.csv").read_text(encoding="utf-8").splitlines())
    (moved,) = (row["what does not hold"] for row in rows if row["kernel"] == "side_by_side")
    by = re.findall(r"overlap by (\d+) cycles, so a mark moved one", moved)
    assert (
        re.findall(r"by (\d+) cycles: a mark moved one", text_of(by_id("10_attention")["company-read"])) == by
    )


def test_scores_that_grow_by_62_and_63_stand_on_both_sides_of_8():
    """10.3: at the lesson's scale."""
    assert lesson_10.LESS * lesson_10.SCALE < 8 < lesson_10.MORE * lesson_10.SCALE < 8.1
