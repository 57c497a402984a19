"""Numbers in the prose of pages are bound to their record, as those of lessons are."""

import csv
import json
import math
import re

import pytest

from tests.lessons.reading import DEEPER, cells_of
from tests.rules import ROOT
from tools.author import numbers, quoted

PAGE = """# A page
The kernel `fastest` has 514 TFLOP/s. Others take 30 us.

| `fastest` | 99 TFLOP/s |

<!-- measured: begin -->
`fastest` 98 TFLOP/s
<!-- measured: end -->
"""


def test_a_number_beside_a_kernel_that_is_bound_to_nothing_is_listed():
    (alone,) = quoted.unbound(PAGE, {}, everywhere=False)
    assert alone.endswith("... 514 TFLOP/s")
    assert len(quoted.unbound(PAGE, {}, everywhere=True)) == 2
    assert quoted.unbound(PAGE, {"514": "source: a run", "30": "design: so"}, everywhere=True) == []


def test_a_number_that_the_record_does_not_say_is_listed():
    row = "said('docs/measurements.md', '| 05 | `fastest` | {} |')"
    assert quoted.wrong("514 TFLOP/s", {"514": row}) == []
    assert quoted.wrong("530 TFLOP/s", {"530": row}) == ["530 in the page: it is 514"]
    (lost,) = quoted.wrong("3 us", {"3": "said('docs/measurements.md#nowhere', '{} us')"})
    assert lost == "in the page: 3: docs/measurements.md has no heading #nowhere"
    assert quoted.wrong("4 us", {"5": "source: a run"}) == ["5 in the page: not in the text"]


def test_numbers_of_pages_are_those_of_their_record():
    assert quoted.bound().keys() <= set(quoted.pages()) and set(quoted.WHOLE) <= set(quoted.pages())
    assert {page: problems for page, problems in quoted.found() if problems} == {}


@pytest.mark.parametrize("name", DEEPER)
def test_a_number_beside_a_kernel_is_bound_in_what_goes_deeper_too(name):
    for cell in numbers.markdown(cells_of(name)):
        own = cell["metadata"].get("numbers", {})
        assert quoted.unbound("".join(cell["source"]), own, everywhere=False) == [], cell["id"]


def problems(which: str) -> list[tuple[list[int], float, float]]:
    """Of docs/matmul_h100.csv: the sizes, and how many times as fast `matmul` is, alone and in a row."""
    with (ROOT / "docs" / "matmul_h100.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["problems"] == which]
    return [
        (
            [int(size) for size in re.findall(r"\d+", row["M x N x K"].replace("^3", ""))],
            float(row["cuBLAS us"]) / float(row["matmul us"]),
            float(row["cuBLAS us in a row"]) / float(row["matmul us in a row"]),
        )
        for row in rows
    ]


def test_means_are_those_of_their_tables():
    page = " ".join((ROOT / "docs" / "measurements.md").read_text(encoding="utf-8").split())

    def means(rows):
        return *((math.exp(sum(map(math.log, way)) / len(rows)), min(way))
                 for way in (list(zip(*rows))[1], list(zip(*rows))[2])), len(rows)  # fmt: skip

    for title in "known", "drawn":
        (alone, least), (in_row, least_in_row), count = means(problems(title))
        said = f"Alone: geometric mean {alone:.3f}, least {least:.2f}, of {count}; in a row {in_row:.3f} and "
        assert f"{said}{least_in_row:.2f}." in page
    odd = [row for row in problems("known") if any(size % 8 for size in row[0])]
    even = [row for row in problems("known") if row not in odd]
    slow = [row[1] for row in odd if row[1] > 1.5]
    assert len(slow) == 7 and f"of {len(odd)} problems with a size that is no multiple of 8" in page
    assert f"{min(slow):.1f} to {max(slow):.1f} times as fast" in page
    (mean, least), _, count = means(even)
    below = [each for which in ("known", "drawn") for each in problems(which) if each[1] < 0.95]
    named = page.partition("Below 0.95 of cuBLAS alone: ")[2].partition(". ")[0]
    assert len(below) == named.count(",") + 1
    assert f"The other {count}: geometric mean {mean:.3f}, least {least:.2f}." in page


BEST_OF_16 = {
    "40 drawn anew": ("drawn", "float16"),
    "8 of them, bfloat16": ("drawn", "bfloat16"),
    "8 of them, float32": ("drawn", "float32"),
    "20 known, sizes multiples of 8": ("known", "float16"),
    "5 known, bfloat16": ("known", "bfloat16"),
    "5 known, float32": ("known", "float32"),
}
"""Rows of the table beside cuBLASLt: which problems of the record, and in which type."""


def beside_the_best(record: dict, said: str) -> list[str]:
    """Geometric mean and least: alone beside cuBLAS, beside the best; and both in a row."""
    rows = [
        row
        for row in record["rows"]
        if (row["kind"], row["dtype"]) == BEST_OF_16[said]
        and ("multiples of 8" not in said or not any(size % 8 for size in row["shape"]))
    ]
    assert len(rows) == int(said.split()[0])
    found = []
    for way in "alone_us", "in_a_row_us":
        for other in "cublas", "best":
            ratios = [row[way][other] / row[way]["matmul"] for row in rows]
            found.append(f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}; {min(ratios):.2f}")
    return found


def test_the_tables_beside_cublaslt_are_those_of_their_record():
    page = (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
    record = json.loads((ROOT / "tests" / "golden" / "matmul_nvidia-h200.json").read_text(encoding="utf-8"))
    about = record["provenance"]
    for said in (about["date"], str(about["seed"]), about["cublas"], about["driver"]):
        assert said in page.partition("**Beside the best of cuBLASLt.**")[2]
    for said in BEST_OF_16:
        assert f"| {said} | {' | '.join(beside_the_best(record, said))} |" in page
    speeds = {
        whose: [each[whose]["sustained"] for each in record["sustained"]]
        for whose in ("cublas", "best", "matmul")
    }
    names = {"cublas": "cuBLAS", "best": "the best", "matmul": "`matmul`"}
    for whose, each in speeds.items():
        first, second, third = (f"{speed:.0f}" for speed in each)
        assert re.search(rf"{names[whose]} {first}, {second} and {third}\b", " ".join(page.split()))
    behind = {said for said in BEST_OF_16 if float(beside_the_best(record, said)[1].split(";")[0]) < 1}
    assert (
        BEST_OF_16.keys() - behind == {"8 of them, float32"} and "behind the best in all but one row" in page
    )
    readme = (ROOT / "matmul" / "README.md").read_text(encoding="utf-8")
    _, alone, _, in_a_row = (
        (float(mean), least)
        for mean, least in (each.split("; ") for each in beside_the_best(record, "40 drawn anew"))
    )
    assert (
        f"algorithms of cuBLASLt | {alone[0]:.2f}; {alone[1]} | {in_a_row[0]:.2f}; {in_a_row[1]} |" in readme
    )


WHOSE = {
    "seldom": "`seldom`",
    "fastest": "`fastest`",
    "causal": "`fastest`, causal",
    "narrow": "`narrow`, heads of 64",
}
"""Kernels of attention, as their table names them."""


def rows_beside_flash_attention() -> list[str]:
    record = json.loads((ROOT / "tests" / "golden" / "attention_peers_h200.json").read_text(encoding="utf-8"))
    found = []
    for peer, flash, own in zip(*[iter(record["points"])] * 3, strict=True):
        assert (peer["name"], flash["name"]) == ("cuDNN", "FlashAttention-3")
        speeds = (f"{each['tflops']:.0f} / {each['sustained']:.0f}" for each in (own, peer, flash))
        of_flash = " / ".join(f"{own[way] / flash[way]:.2f}" for way in ("tflops", "sustained"))
        whose = WHOSE["causal" if own["causal"] else own["name"]]
        found.append(f"| {whose} | {own['keys']:,} | {' | '.join(speeds)} | {of_flash} |")
    return found


def test_the_table_beside_flash_attention_is_that_of_its_record():
    page = next(cell for cell in cells_of("deeper/10_fastest") if cell["id"] == "flash-attention")
    lines = "".join(page["source"]).splitlines()
    assert [line for line in lines if line.startswith("| `")] == rows_beside_flash_attention()
